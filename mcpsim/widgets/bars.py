"""What goes on for a while: handlers at work, open streams, fresh cache entries, sessions, people who think.

A bar says only what the recording says: when a handler began and ended, when a stream was opened and closed,
what a party remembers. How far a handler is comes from the progress notifications that were sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from mcpsim.messages import Notification
from mcpsim.recording import Event, Recording, events
from mcpsim.widgets.reading import CANCELLED, Call, Conversation
from mcpsim.widgets.remembered import fresh_until_us, rows_of
from mcpsim.widgets.steps import Steps
from mcpsim.widgets.text import clock, compact_text, one_line

HANDLER: Final = "handler"
ASKED: Final = "asked"
STREAM: Final = "stream"
FRESH: Final = "fresh"
SESSION: Final = "session"

#: Of one kind at one party that go on at the same time, so many are drawn side by side.
DEEPEST: Final = 6
#: How many kept results of a party are looked at.
MOST_KEPT: Final = 100

_ENDS: Final = {events.HANDLER_FINISHED: "finished", events.HANDLER_CANCELLED: "cancelled"}
_LISTEN: Final = "subscriptions/listen"
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"


@dataclass(frozen=True, slots=True)
class Mark:
    """A report on the way: at which event, how far (0 to 1, or None without a total), and in words."""

    index: int
    part: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that goes on for a while.

    Attributes:
        kind: "handler", "asked" (a user or host who has not answered yet), "stream", "fresh", "session".
        party: the lane.
        name: what it is, in short.
        start: the event at which it begins.
        stop: the event at which it ends; None where it ends with the time `until_us` or not at all.
        until_us: when a kept result stops to be fresh, in microseconds since the run began.
        end: "finished", "cancelled", "closed", "broken", "stale", "dropped", or "" where the recording ends
            first.
        outcome: what came of a handler.
        depth: how many others of its place go on at this party when it begins.
        marks: the progress that was reported.
    """

    kind: str
    party: str
    name: str
    start: int
    stop: int | None = None
    until_us: int | None = None
    end: str = ""
    outcome: str = ""
    depth: int = 0
    marks: tuple[Mark, ...] = ()


def bars_of(
    recording: Recording, steps: Steps, conversation: Conversation, *, until: int | None = None
) -> tuple[Bar, ...]:
    """All bars, in the order in which they begin.

    Args:
        until: leave out the event at this index and all after it.
    """
    limit = len(recording.events) if until is None else until
    found = [
        *_handlers(recording, steps, conversation, limit),
        *_streams(recording, conversation),
        *_remembered(recording, limit),
    ]
    shown = [_within(bar, limit) for bar in found if bar.start < limit]
    return tuple(_side_by_side(sorted(shown, key=lambda bar: bar.start), recording))


def _within(bar: Bar, limit: int) -> Bar:
    if bar.stop is None or bar.stop < limit:
        return bar
    return replace(bar, stop=None, end="", outcome="")


# ---------------------------------------------------------------------------------------------- handlers

# Party, connection, id and name of a handler.
_Running = tuple[str, int, str, str]


def _handlers(recording: Recording, steps: Steps, conversation: Conversation, limit: int) -> Iterator[Bar]:
    questions = {step.index: step.question for step in steps.all if step.question is not None}
    marks = _marks(recording, conversation)
    running: dict[_Running, list[int]] = {}
    for index, event in enumerate(recording.events[:limit]):
        if event.kind == events.HANDLER_STARTED:
            running.setdefault(_key(event), []).append(index)
        elif event.kind in _ENDS and (starts := running.get(_key(event))):
            start = starts.pop(0)
            outcome = str((event.detail or {}).get("outcome", ""))
            yield _handler(recording, start, questions, marks, index, _ENDS[event.kind], outcome)
    for starts in running.values():
        for start in starts:
            yield _handler(recording, start, questions, marks, None, "", "")


def _handler(
    recording: Recording,
    start: int,
    questions: Mapping[int, Any],
    marks: Mapping[tuple[str, int, str], list[Mark]],
    stop: int | None,
    end: str,
    outcome: str,
) -> Bar:
    event = recording.events[start]
    question = questions.get(start)
    if question is not None:
        return Bar(ASKED, question.lane, question.method, start, stop, None, end, outcome)
    id = compact_text((event.detail or {}).get("id"))
    last = len(recording.events) if stop is None else stop
    own = tuple(m for m in marks.get((event.party, event.connection, id), ()) if start <= m.index <= last)
    name = f"{(event.detail or {}).get('name', '')}"
    return Bar(
        HANDLER,
        event.party,
        f"{one_line(name, 60)} #{one_line(id, 40)}",
        start,
        stop,
        None,
        end,
        outcome,
        0,
        own,
    )


def _key(event: Event) -> _Running:
    detail = event.detail or {}
    return event.party, event.connection, compact_text(detail.get("id")), str(detail.get("name", ""))


def _marks(recording: Recording, conversation: Conversation) -> dict[tuple[str, int, str], list[Mark]]:
    """The progress reports that each handler's party sent, by party, connection and id of the request."""
    found: dict[tuple[str, int, str], list[Mark]] = {}
    for frame in recording.frames:
        message = frame.parsed
        if not isinstance(message, Notification) or message.method != "notifications/progress":
            continue
        call = conversation.readings[frame.number].call
        if call is None:
            continue
        params = message.params or {}
        done, total = _number(params.get("progress")), _number(params.get("total"))
        if done is None or frame.copy_of:
            continue
        part = min(1.0, max(0.0, done / total)) if total is not None and total > 0 else None
        text = compact_text(params["progress"]) + (
            "" if total is None else f" of {compact_text(params['total'])}"
        )
        key = (frame.sender, frame.connection, compact_text(call.request.id))
        found.setdefault(key, []).append(Mark(frame.index, part, one_line(text, 40)))
    return found


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


# ----------------------------------------------------------------------------------------------- streams


def _streams(recording: Recording, conversation: Conversation) -> Iterator[Bar]:
    """Event streams over HTTP, and subscriptions on stdio, at whoever opened them."""
    closed: dict[int, int] = {}
    last: dict[int, int] = {}
    arrived: dict[int, int] = {}
    for index, event in enumerate(recording.events):
        if event.exchange and event.kind == events.CLOSED:
            closed.setdefault(event.exchange, index)
        if event.exchange and event.kind in (events.SENT, events.DELIVERED, events.DROPPED):
            last[event.exchange] = index
        if event.kind == events.DELIVERED:
            arrived.setdefault(event.frame, index)
    calls = {call.exchange: call for call in reversed(conversation.calls) if call.exchange}
    for exchange, start in conversation.streams.items():
        opening = conversation.openings.get(exchange)
        if opening is None:
            continue
        call = calls.get(exchange)
        name = "stream" if call is None else f"stream of {_called(call)}"
        if exchange in closed:
            how = str((recording.events[closed[exchange]].detail or {}).get("how", ""))
            end = "broken" if how in ("cut", "timed out") else "closed"
            yield Bar(STREAM, opening.sender, name, start, closed[exchange], None, end)
        elif call is not None and call.ended is not None:
            yield Bar(STREAM, opening.sender, name, start, max(start, last[exchange]), None, "closed")
        else:
            yield Bar(STREAM, opening.sender, name, start)
    yield from _subscriptions(recording, conversation, arrived)


def _subscriptions(
    recording: Recording, conversation: Conversation, arrived: Mapping[int, int]
) -> Iterator[Bar]:
    begun: set[int] = set()
    for frame in recording.frames:
        message, call = frame.parsed, conversation.readings[frame.number].call
        if frame.exchange or call is None or call.request.method != _LISTEN or call.frame in begun:
            continue
        if not isinstance(message, Notification) or message.method != _ACKNOWLEDGED:
            continue
        start = arrived.get(frame.number)
        if start is None:
            continue
        begun.add(call.frame)
        end = "" if call.ended is None else "cancelled" if call.outcome == CANCELLED else "closed"
        stop = call.ended if call.ended is None or call.ended > start else start
        yield Bar(STREAM, call.sender, f"subscription #{_id(call)}", start, stop, None, end)


def _called(call: Call) -> str:
    return f"{one_line(call.request.method, 60)} #{_id(call)}"


def _id(call: Call) -> str:
    return one_line(compact_text(call.request.id), 40)


# ------------------------------------------------------------------------------------ what is remembered


@dataclass(slots=True)
class _Kept:
    """What one party holds at the moment, and since which event."""

    session: Bar | None = None
    fresh: dict[str, Bar] = field(default_factory=dict[str, Bar])


def _remembered(recording: Recording, limit: int) -> Iterator[Bar]:
    kept: dict[tuple[str, int], _Kept] = {}
    for index, event in enumerate(recording.events[:limit]):
        if event.kind == events.STATE:
            holds = kept.setdefault((event.party, event.connection), _Kept())
            yield from _sessions(holds, event, index)
            yield from _entries(holds, event, index)
    end_us = recording.events[limit - 1].at_us if limit else 0
    for holds in kept.values():
        if holds.session is not None:
            yield holds.session
        for bar in holds.fresh.values():
            yield _ran_out(bar) if bar.until_us is not None and bar.until_us <= end_us else bar


def _sessions(holds: _Kept, event: Event, index: int) -> Iterator[Bar]:
    state = event.detail or {}
    name = ""
    if "phase" in state and "version" in state:
        id = state.get("session id")
        name = f"session {one_line(id, 8)}" if isinstance(id, str) else "session"
    before = holds.session
    if before is not None and before.name != name:
        yield replace(before, stop=index, end="closed")
        holds.session = None
    if name and holds.session is None:
        holds.session = Bar(SESSION, event.party, name, index)


def _entries(holds: _Kept, event: Event, index: int) -> Iterator[Bar]:
    listed = (event.detail or {}).get("cache")
    lines = cast("list[Any]", listed)[:MOST_KEPT] if isinstance(listed, list) else []
    now: dict[str, int] = {}
    for line in lines:
        one = {"cache": [line]}
        for until_us in fresh_until_us(one):
            if until_us > event.at_us:
                now[next(iter(rows_of(one, event.at_us))).removeprefix("kept: ")] = until_us
    for name, bar in list(holds.fresh.items()):
        if bar.until_us == now.get(name):
            continue
        del holds.fresh[name]
        ran_out = bar.until_us is not None and bar.until_us <= event.at_us
        yield _ran_out(bar) if ran_out else replace(bar, stop=index, until_us=None, end="dropped")
    for name, until_us in now.items():
        if name not in holds.fresh:
            holds.fresh[name] = Bar(FRESH, event.party, name, index, None, until_us)


def _ran_out(bar: Bar) -> Bar:
    return replace(bar, end="stale")


# ----------------------------------------------------------------------------------------- side by side


def _side_by_side(bars: list[Bar], recording: Recording) -> Iterator[Bar]:
    """Give each bar the first place that is free when it begins. Handlers have places of their own."""
    free: dict[tuple[str, bool], list[tuple[int, int]]] = {}
    for bar in bars:
        began_us = recording.events[bar.start].at_us
        place = (bar.party, bar.kind in (HANDLER, ASKED))
        taken = free.setdefault(place, [])
        # What ended before this one began gives its place back.
        now = (bar.start, began_us)
        depth = 0
        while depth < len(taken) and not _over(taken[depth], now):
            depth += 1
        ends = (
            bar.stop if bar.stop is not None else len(recording.events),
            bar.until_us if bar.stop is None and bar.end == "stale" and bar.until_us is not None else -1,
        )
        if depth < len(taken):
            taken[depth] = ends
        elif depth < DEEPEST:
            taken.append(ends)
        yield replace(bar, depth=min(depth, DEEPEST)) if depth else bar


def _over(ends: tuple[int, int], now: tuple[int, int]) -> bool:
    stop, until_us = ends
    return stop <= now[0] or 0 <= until_us <= now[1]


def words_of(bar: Bar) -> str:
    """A bar in words, for whoever does not see it."""
    name = one_line(bar.name, 120)
    said = {
        HANDLER: f"works on {name}",
        ASKED: f"is asked ({name})",
        STREAM: f"has a {name} open" if bar.name.startswith("s") else name,
        FRESH: f"keeps {name}, fresh",
        SESSION: f"is in the {name}" if bar.name == SESSION else f"is in {name}",
    }[bar.kind]
    until = f" until {clock(bar.until_us)}" if bar.until_us is not None else ""
    return said + until
