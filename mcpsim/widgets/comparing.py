"""Which message each message is compared with, and what is not the same in both.

A retry is compared with the first try, a page with the page before, a request with the same one sent earlier,
an answer with the answer to the request that its own request is compared with, a report with the report
before, what a gateway passes on with what it got, and what arrived with what was sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mcpsim.errors import MalformedMessage
from mcpsim.messages import ErrorResponse, Notification, Request, Response, read_json
from mcpsim.recording import Frame, Recording
from mcpsim.recording.frames import message_bytes
from mcpsim.widgets.differences import ADDED, CHANGED, REMOVED, Difference, differences
from mcpsim.widgets.facts import the
from mcpsim.widgets.observed import is_observed
from mcpsim.widgets.passing import Passing
from mcpsim.widgets.pretty import Path
from mcpsim.widgets.reading import Call, Conversation, Reading, headers_of, params_of
from mcpsim.widgets.text import compact_text, one_line
from mcpsim.widgets.threads import PAGES, ROUNDS, Place

#: How many differences the player shows of one message.
MAX_ROWS: Final = 30

_ORDER: Final[Mapping[str, int]] = {CHANGED: 0, ADDED: 1, REMOVED: 2}


class Comparison(NamedTuple):
    """What one message is held against.

    Attributes:
        frame: the number of the other message's frame; 0 for what was sent, where a fault changed it.
        what: what the other one is, in words.
        found: what is not the same.
    """

    frame: int
    what: str
    found: tuple[Difference, ...]


@dataclass(slots=True)
class Comparing:
    """The comparisons of a recording; `of` gives those of one frame."""

    pairs: Mapping[int, tuple[int, str]]
    frames: Mapping[int, Frame]

    def of(self, frame: Frame) -> Iterator[Comparison]:
        """What this frame is held against, the most telling first."""
        if frame.arrived_data != frame.data and not frame.channel:
            found = _on_the_way(frame)
            if found is not None:
                yield Comparison(0, "what was sent, before a fault changed it", found)
        number, what = self.pairs.get(frame.number, (0, ""))
        other = self.frames.get(number)
        if other is not None:
            found = (*_heads(other, frame), *differences(_body(other), _body(frame)))
            yield Comparison(number, what, found)

    def rows(self, frame: Frame, lines: Mapping[Path, int], steps: Mapping[int, int]) -> list[dict[str, Any]]:
        """The comparisons of one frame as plain values, for the player.

        Args:
            lines: the line of each path of the message that is shown, from 0.
            steps: the step of each frame.

        Returns:
            For each comparison `step` (0 for what was sent), `what`, `rows` (each of them [path, "added",
            "removed" or "changed", before, after, line or -1]) and `more` (how many are left out).
        """
        found: list[dict[str, Any]] = []
        for each in self.of(frame):
            step = steps.get(each.frame, 0)
            if each.frame and not step:
                continue
            # Members that went and came as wholes come after those that are another value now.
            order = sorted(each.found, key=lambda one: _ORDER[one.kind] if one.name else 0)
            rows = [
                [
                    _label(one),
                    one.kind,
                    one.before,
                    one.after,
                    lines.get(one.path, -1) if each.frame and one.kind != REMOVED else -1,
                ]
                for one in order[:MAX_ROWS]
            ]
            found.append({"step": step, "what": each.what, "rows": rows, "more": len(each.found) - len(rows)})
        return found


def comparing(
    recording: Recording, conversation: Conversation, passing: Passing, places: Mapping[int, Place]
) -> Comparing:
    """Find what each message is compared with. The time it takes grows linearly with the number of frames."""
    finder = _Finder(conversation, passing, places, is_observed(recording))
    for frame in recording.frames:
        finder.see(frame, conversation.readings[frame.number])
    return Comparing(finder.pairs, {frame.number: frame for frame in recording.frames})


@dataclass(slots=True)
class _Finder:
    conversation: Conversation
    passing: Passing
    places: Mapping[int, Place]
    # Two connections of a trace may be two clients that know nothing of each other.
    is_apart: bool
    pairs: dict[int, tuple[int, str]] = field(default_factory=dict[int, tuple[int, str]])
    # Of each request, which one it is compared with, and the words for the answer of that.
    models: dict[int, tuple[int, str]] = field(default_factory=dict[int, tuple[int, str]])
    parts: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    asked: dict[tuple[int, str, str, str, str], int] = field(
        default_factory=dict[tuple[int, str, str, str, str], int]
    )
    answers: dict[int, int] = field(default_factory=dict[int, int])
    reports: dict[tuple[int, str, str], int] = field(default_factory=dict[tuple[int, str, str], int])

    def see(self, frame: Frame, reading: Reading) -> None:
        origin = self.passing.origins.get(frame.number, 0)
        found = frame.copy_of, "the first copy of it"
        if not frame.copy_of:
            found = self._model(frame, reading)
        if origin:
            found = origin, f"what {the(frame.sender)} got"
        if found[0]:
            self.pairs[frame.number] = found

    def _model(self, frame: Frame, reading: Reading) -> tuple[int, str]:
        call = reading.call
        match frame.parsed:
            case Request() if call is not None and call.frame == frame.number:
                return self._request(call)
            case Response() | ErrorResponse() if call is not None:
                self.answers.setdefault(call.frame, frame.number)
                model, what = self.models.get(call.frame, (0, ""))
                return self.answers.get(model, 0), what
            case Notification(method=method):
                key = (call.frame if call is not None else 0, method, _target(params_of(frame.parsed)))
                before = self.reports.get(key, 0)
                self.reports[key] = frame.number
                return before, "the notification before"
            case _:
                return 0, ""

    def _request(self, call: Call) -> tuple[int, str]:
        place = self.places.get(call.frame)
        model, what, answer = 0, "", ""
        on = call.connection if self.is_apart else 0
        who = (on, call.sender, call.receiver, call.request.method, _target(params_of(call.request)))
        if place is not None:
            first = place.thread.call.frame
            self.parts.setdefault((first, place.part), call.frame)
            if place.thread.kind == ROUNDS and place.part > 1:
                model, what, answer = first, "the first try", "the answer to the first try"
            elif place.thread.kind == PAGES and place.part > 1:
                model = self.parts.get((first, place.part - 1), 0)
                what, answer = f"the request for page {place.part - 1}", f"page {place.part - 1}"
        if not model and (place is None or place.part == 1):
            model, what = self.asked.get(who, 0), "an earlier request of this kind"
            answer = "the answer to an earlier request of this kind"
            self.asked[who] = call.frame
        if model:
            self.models[call.frame] = (model, answer)
        return model, what


def _target(params: Mapping[str, Any]) -> str:
    named = params.get("name", params.get("uri", params.get("ref")))
    return compact_text(named) if named is not None else ""


def _body(frame: Frame) -> Any:
    match frame.parsed:
        case Request(id=id, method=method, params=params):
            return {"id": id, "method": method, **({"params": params} if params is not None else {})}
        case Notification(method=method, params=params):
            return {"method": method, **({"params": params} if params is not None else {})}
        case Response(id=id, result=result):
            return {"id": id, "result": result}
        case ErrorResponse(id=id, code=code, message=message, data=data):
            more = {"data": data} if data is not None else {}
            return {"id": id, "error": {"code": code, "message": message, **more}}
        case _:
            return {}


def _heads(before: Frame, after: Frame) -> Iterator[Difference]:
    """What is not the same in the HTTP heads; nothing where one of the two has none."""
    old, new = before.head, after.head
    if old is None or new is None:
        return
    for name, words in (("method", "HTTP method"), ("path", "HTTP path"), ("status", "HTTP status")):
        if name in old and name in new:
            yield from (each._replace(path=(words,)) for each in differences(old[name], new[name]))
    for each in differences(headers_of(old), headers_of(new)):
        yield each._replace(path=("header", *each.path))


def _on_the_way(frame: Frame) -> tuple[Difference, ...] | None:
    try:
        sent, arrived = (
            read_json(message_bytes(data, frame.head, http=frame.is_http))
            for data in (frame.data, frame.arrived_data)
        )
    except MalformedMessage:
        return None
    return differences(sent, arrived)


def _label(one: Difference) -> str:
    if one.path and one.path[0] == "header":
        return f"header {one_line(str(one.path[1]), 80)}"
    shown = ".".join(one_line(str(key), 60) for key in one.path) or "the whole message"
    return f"{shown} (“{one.name}”)" if one.name else shown
