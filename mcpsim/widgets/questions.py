"""Whom a client asks when a server asks it: its user, or the host that it is part of.

A recording tells when a callback of a client was called and what came of it. Whoever it stands for is a lane
of its own: what is between them is not MCP, and crosses no wire.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from mcpsim.messages import ErrorResponse, Request, Response
from mcpsim.recording import Event, Frame, Recording, events
from mcpsim.widgets.text import compact_text

USER: Final = "user"
HOST: Final = "host"
WHO: Final[Mapping[str, str]] = {
    "elicitation/create": USER,
    "sampling/createMessage": HOST,
    "roots/list": HOST,
}
_ENDS: Final = frozenset({events.HANDLER_FINISHED, events.HANDLER_CANCELLED})

# Party, connection, method, and the id or key as JSON.
_Key = tuple[str, int, str, str]


class Question(NamedTuple):
    """What a client was asked, and passes on to somebody.

    Attributes:
        who: "user" or "host".
        lane: the lane of whoever is asked.
        method, params: the question.
        frame: the number of the frame that brought it.
    """

    who: str
    lane: str
    method: str
    params: Mapping[str, Any]
    frame: int


def questions_of(recording: Recording) -> dict[int, Question]:
    """The question of each event at which somebody is asked, answers, or is not asked any more, by its index.

    Only what the client had received by then counts: a handler of a server may have any name.
    """
    asking = {event.party for event in recording.events if _method(event)}
    if not asking:
        return {}
    frames = {frame.number: frame for frame in recording.frames}
    lanes = _Lanes(recording, len(asking) > 1)
    waiting: dict[_Key, list[Question]] = {}
    running: dict[_Key, list[Question]] = {}
    found: dict[int, Question] = {}
    for index, event in enumerate(recording.events):
        if event.kind == events.DELIVERED and event.party in asking and event.frame in frames:
            brought: dict[_Key, list[Question]] = {}
            for method, id, params in _asked(frames[event.frame]):
                key = (event.party, event.connection, method, compact_text(id))
                lane = lanes.of(event.party, WHO[method])
                brought.setdefault(key, []).append(Question(WHO[method], lane, method, params, event.frame))
            waiting.update(brought)
        method = _method(event)
        if not method:
            continue
        key = (event.party, event.connection, method, compact_text((event.detail or {}).get("id")))
        if event.kind == events.HANDLER_STARTED and waiting.get(key):
            found[index] = waiting[key].pop(0)
            running.setdefault(key, []).append(found[index])
        elif event.kind in _ENDS and running.get(key):
            found[index] = running[key].pop(0)
    return found


class _Lanes(NamedTuple):
    recording: Recording
    several: bool

    def of(self, party: str, who: str) -> str:
        # A party of the recording may be called so itself.
        return f"{who} of {party}" if self.several or who in self.recording.parties else who


def _method(event: Event) -> str:
    if event.kind != events.HANDLER_STARTED and event.kind not in _ENDS:
        return ""
    name = (event.detail or {}).get("name")
    return name if isinstance(name, str) and name in WHO else ""


def _asked(frame: Frame) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Method, id and parameters of each question that a frame brings."""
    match frame.parsed:
        case Request(id=id, method=method, params=params) if method in WHO:
            yield method, id, params or {}
        case Response(result=result):
            for key, one in _object(result.get("inputRequests")).items():
                method = _object(one).get("method")
                if isinstance(method, str) and method in WHO:
                    yield method, key, _object(_object(one).get("params"))
        case ErrorResponse(data=data):
            # The visits that a legacy server wants first; the client has one key for all of them.
            listed = _object(data).get("elicitations")
            for one in cast("list[Any]", listed) if isinstance(listed, list) else ():
                yield "elicitation/create", "url", _object(one)
        case _:
            return


def _object(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
