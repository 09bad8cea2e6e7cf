"""What the progress bars show, as plain data: each call of a recording, and what is known of it when.

Pure functions. A bar moves only by a `notifications/progress` that arrived; nothing is guessed between two.

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from mcpsim.eras.pages import spec_url
from mcpsim.messages import PROGRESS_TOKEN, ErrorResponse, Notification, Request, Response, meta_of
from mcpsim.recording import Event, Frame, Recording, events
from mcpsim.widgets.reading import Call, Conversation, read
from mcpsim.widgets.text import clock, compact_text, one_line

MAX_LABEL: Final = 80
MAX_MESSAGE: Final = 160
MAX_CALLS: Final = 50

# What the client knows.
WAITS: Final = "waits for the answer"
STOPPED: Final = "has stopped waiting"
ANSWERED: Final = "has the answer"
FAILED: Final = "has an error"
# What the server does.
UNAWARE: Final = "has not got the request yet"
WORKS: Final = "works"
ENDED: Final = "has stopped the work"
DONE: Final = "has done the work"

RULES: Final = (
    "Only a request that carries a `progressToken` may get progress, and the server MAY send none. The value "
    "MUST increase with each notification; the total MAY be missing. After a cancellation the server SHOULD "
    "stop the work, and the client SHOULD ignore an answer that comes all the same."
)


@dataclass(slots=True)
class _Bar:
    """A call, while the recording is read."""

    call: Call
    client: str = WAITS
    server: str = UNAWARE
    progress: float | None = None
    total: float | None = None
    message: str = ""
    outcome: str = ""
    changes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def name(self) -> str:
        return f"#{one_line(str(self.call.request.id), 20)}"

    def note(self, moment: int) -> None:
        """What is known from this moment on."""
        self.changes.append(
            {
                "moment": moment,
                "client": self.client,
                "server": self.server,
                "progress": self.progress,
                "total": self.total,
                "value": _value(self.progress, self.total),
                "message": self.message,
                "outcome": self.outcome,
                "flight": self.client == WAITS,
            }
        )


def bars_data(recording: Recording) -> dict[str, Any]:
    """The calls of a recording, and its moments, as plain JSON values.

    A call is a `tools/call`, or another request that carries a progress token. `moments` are what happened to
    the calls, in order; each call has `changes`: what is known of it from the moment with that number on,
    beginning with 1. Before its first change a call is not sent yet.
    """
    return _Reading(recording, read(recording)).data()


def label_of(request: Request) -> str:
    """A call in few words: its name and arguments, or its method."""
    params: Mapping[str, Any] = request.params or {}
    if request.method != "tools/call":
        return one_line(str(params.get("uri", params.get("name", request.method))), MAX_LABEL)
    arguments: Any = params.get("arguments")
    given = ""
    if isinstance(arguments, Mapping):
        pairs = cast("Mapping[str, Any]", arguments).items()
        given = ", ".join(f"{key}: {compact_text(value)}" for key, value in pairs)
    return one_line(f"{params.get('name', '?')}({given})", MAX_LABEL)


def _is_shown(call: Call) -> bool:
    token = PROGRESS_TOKEN in meta_of(call.request.params)
    return call.request.method == "tools/call" or token


class _Reading:
    """One reading of a recording from front to back."""

    def __init__(self, recording: Recording, conversation: Conversation) -> None:
        self.recording = recording
        self.conversation = conversation
        self.frames = {frame.number: frame for frame in recording.frames}
        shown = [call for call in conversation.calls if _is_shown(call)]
        self.bars = {call.frame: _Bar(call) for call in shown[:MAX_CALLS]}
        self.more = max(0, len(shown) - MAX_CALLS)
        self.moments: list[dict[str, Any]] = []

    def data(self) -> dict[str, Any]:
        for index, event in enumerate(self.recording.events):
            for bar, text in self._told(index, event):
                self.moments.append(
                    {"at_us": event.at_us, "at": clock(event.at_us), "call": bar.name, "text": text}
                )
                bar.note(len(self.moments))
        modern = any(bar.call.era == "modern" for bar in self.bars.values())
        era = "modern" if modern else "legacy"
        page = "basic/patterns/" if modern else "basic/utilities/"
        return {
            "calls": [
                {"id": bar.name, "label": label_of(bar.call.request), "changes": bar.changes}
                for bar in self.bars.values()
            ],
            "more": self.more,
            "moments": self.moments,
            "rules": RULES,
            "urls": [spec_url(era, page + "progress"), spec_url(era, page + "cancellation")],
        }

    def _told(self, index: int, event: Event) -> Iterator[tuple[_Bar, str]]:
        """What an event says of which call, in words."""
        if event.kind == events.CLOSED:
            call = self.conversation.closings.get(index)
            bar = self.bars.get(call.frame) if call is not None else None
            if bar is not None and event.party == bar.call.sender:
                yield from self._closed(bar)
        elif event.kind in (events.HANDLER_STARTED, events.HANDLER_FINISHED, events.HANDLER_CANCELLED):
            bar = self._of_handler(event)
            if bar is not None:
                yield from self._handled(bar, event)
        elif event.frame and (frame := self.frames.get(event.frame)) is not None:
            call = self.conversation.readings[frame.number].call
            bar = self.bars.get(call.frame) if call is not None else None
            if bar is not None:
                yield from self._travelled(bar, event, frame)

    def _of_handler(self, event: Event) -> _Bar | None:
        id = (event.detail or {}).get("id")
        return next(
            (
                bar
                for bar in self.bars.values()
                if bar.call.request.id == id
                and bar.call.connection == event.connection
                and bar.call.exchange in (0, event.exchange)
            ),
            None,
        )

    def _handled(self, bar: _Bar, event: Event) -> Iterator[tuple[_Bar, str]]:
        if event.kind == events.HANDLER_STARTED:
            bar.server = WORKS
            yield bar, "The server begins the work."
        elif event.kind == events.HANDLER_CANCELLED:
            bar.server = ENDED
            yield bar, "The server stops the work."
        else:
            bar.server = DONE
            yield bar, "The server has done the work."

    def _closed(self, bar: _Bar) -> Iterator[tuple[_Bar, str]]:
        if bar.client != WAITS:
            return
        if bar.call.era == "modern":
            bar.client = STOPPED
            bar.outcome = "stopped"
            yield bar, "The client closes the response stream: on Streamable HTTP that is the cancellation."
        else:
            yield bar, "The client closes the stream. In this era that does not cancel the request."

    def _travelled(self, bar: _Bar, event: Event, frame: Frame) -> Iterator[tuple[_Bar, str]]:
        match frame.parsed:
            case Request() if event.kind == events.SENT and frame.number == bar.call.frame:
                yield bar, "The client sends the request."
            case Request() if event.kind == events.DROPPED and frame.number == bar.call.frame:
                yield bar, f"The request does not arrive: {_why(event)}."
            case Notification(method="notifications/cancelled") if frame.sender == bar.call.sender:
                yield from self._cancelled(bar, event)
            case Notification(method="notifications/progress", params=params):
                yield from self._progress(bar, event, params or {})
            case Response() | ErrorResponse() as answer:
                yield from self._answer(bar, event, answer)
            case _:
                return

    def _cancelled(self, bar: _Bar, event: Event) -> Iterator[tuple[_Bar, str]]:
        if event.kind == events.SENT:
            if bar.client == WAITS:
                bar.client = STOPPED
                bar.outcome = "stopped"
            yield bar, f"The client sends `notifications/cancelled` for request {bar.name}."
        elif event.kind == events.DROPPED:
            yield bar, f"The cancellation does not arrive: {_why(event)}."
        elif bar.server == DONE:
            yield bar, "The cancellation arrives when the work is done already: the server may ignore it."
        else:
            yield bar, "The cancellation arrives."

    def _progress(self, bar: _Bar, event: Event, params: Mapping[str, Any]) -> Iterator[tuple[_Bar, str]]:
        if event.kind == events.DROPPED:
            yield bar, f"A progress notification does not arrive: {_why(event)}."
        if event.kind != events.DELIVERED:
            return
        value = _number(params.get("progress"))
        total = _number(params.get("total"))
        said = _value(value, total)
        if bar.client != WAITS:
            yield bar, f"Progress arrives ({said}) when nobody waits any more: it is ignored."
        elif value is None:
            yield bar, "A progress notification arrives whose progress is no number: it is ignored."
        elif bar.progress is not None and value <= bar.progress:
            yield bar, f"Progress arrives ({said}) that does not increase, as it MUST: it is ignored."
        else:
            bar.progress, bar.total = value, total
            message = params.get("message")
            bar.message = one_line(message, MAX_MESSAGE) if isinstance(message, str) else ""
            yield bar, f"Progress arrives: {said}." + (f" {bar.message}" if bar.message else "")

    def _answer(
        self, bar: _Bar, event: Event, answer: Response | ErrorResponse
    ) -> Iterator[tuple[_Bar, str]]:
        if event.kind == events.SENT:
            yield bar, "The server sends the answer."
        elif event.kind == events.DROPPED:
            yield bar, f"The answer does not arrive: {_why(event)}."
        elif bar.client == STOPPED:
            bar.outcome = "stopped; the answer came too late"
            yield bar, "The answer arrives too late: the client has stopped waiting, and ignores it."
        elif bar.client == WAITS:
            failed = isinstance(answer, ErrorResponse) or answer.result.get("isError") is True
            bar.client = FAILED if failed else ANSWERED
            bar.outcome = _outcome(answer)
            yield bar, f"The {'error' if failed else 'answer'} arrives: {bar.outcome}"
        else:
            yield bar, "One more answer arrives: it is ignored."


def _why(event: Event) -> str:
    why: Any = (event.detail or {}).get("why")
    return one_line(why, MAX_MESSAGE) if isinstance(why, str) and why else "it is lost on the way"


def _outcome(answer: Response | ErrorResponse) -> str:
    if isinstance(answer, ErrorResponse):
        return one_line(f"{answer.code}: {answer.message}", MAX_MESSAGE)
    content: Any = answer.result.get("content")
    first: Any = cast("list[Any]", content)[0] if isinstance(content, list) and content else None
    text: Any = cast("Mapping[str, Any]", first).get("text") if isinstance(first, Mapping) else None
    return one_line(text if isinstance(text, str) else compact_text(answer.result), MAX_MESSAGE)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def _value(progress: float | None, total: float | None) -> str:
    if progress is None:
        return "no progress yet"
    return f"{progress:g}, no total" if total is None else f"{progress:g} of {total:g}"


def at(call: Mapping[str, Any], moment: int) -> Mapping[str, Any] | None:
    """What is known of a call at a moment; None where it is not sent yet."""
    return next((one for one in reversed(call["changes"]) if one["moment"] <= moment), None)


def moment_at(data: Mapping[str, Any], at_us: int) -> int:
    """The last moment that is not later than this, in microseconds since the run began."""
    return sum(one["at_us"] <= at_us for one in data["moments"])


def pressed(call: Mapping[str, Any], moment: int) -> dict[str, Any]:
    """What is to be seen of a Stop from the moment of the press until the call is in flight no more.

    Moments at the same time that were not shown yet come first, so it may take more than one step.
    """
    ends = next((one for one in call["changes"] if one["moment"] > moment and not one["flight"]), None)
    if ends is None:
        return {"moment": moment, "until": None, "sent": False}
    return {"moment": moment, "until": ends["moment"], "sent": ends["client"] == STOPPED}


def _last(call: Mapping[str, Any]) -> Mapping[str, Any]:
    return call["changes"][-1]


def bars_text(data: Mapping[str, Any]) -> str:
    """What the calls came to, as text."""
    lines = ["Progress bars"]
    for call in data["calls"]:
        last = _last(call)
        lines.append(
            f"{call['id']} {call['label']}: {last['value']}; the client {last['client']}, "
            f"the server {last['server']}" + (f"; {last['outcome']}" if last["outcome"] else "")
        )
    return "\n".join([*lines, *(f"{one['at']}: {one['call']} {one['text']}" for one in data["moments"])])


def bars_html(data: Mapping[str, Any]) -> str:
    """What the calls came to, as a table that runs nothing."""
    heads = ("Call", "Progress", "The client", "The server", "Outcome")
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    rows = ""
    for call in data["calls"]:
        last = _last(call)
        cells = (last["value"], last["client"], last["server"], last["outcome"])
        texts = "".join(f"<td>{html.escape(text)}</td>" for text in cells)
        rows += f'<tr><th scope="row">{html.escape(call["id"] + " " + call["label"])}</th>{texts}</tr>'
    return (
        "<table><caption>Progress bars: what each call came to</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )
