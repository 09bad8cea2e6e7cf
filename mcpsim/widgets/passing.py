"""What goes through a gateway: which frame is one that came in before, on its way on.

A party that is asked, and asks others itself, stands between client and server. What it sends on is the same
message once more; what it sends without having got it is its own answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from mcpsim.messages import ErrorResponse, Notification, Request, Response
from mcpsim.recording import Frame, Recording
from mcpsim.widgets.reading import HTTP, STDERR, Conversation, Reading
from mcpsim.widgets.text import compact_text

# One way there and back: an HTTP exchange, or a request on stdio by its frame.
_Hop = tuple[str, int]
# What has to be the same in a message that is passed on.
_Print = tuple[str, str, str]


class Passing(NamedTuple):
    """What goes through gateways.

    Attributes:
        gateways: the parties that stand between others.
        origins: for the number of a frame that is passed on, the number of the frame that came in.
        onward: the same the other way round.
        own: the numbers of the frames that a gateway answers with by itself.
        behind: for a gateway, the parties that it passes requests on to, in order of the first one.
    """

    gateways: frozenset[str]
    origins: Mapping[int, int]
    onward: Mapping[int, int]
    own: frozenset[int]
    behind: Mapping[str, tuple[str, ...]]


NOTHING: Final = Passing(frozenset(), {}, {}, frozenset(), {})


def passing_of(recording: Recording, conversation: Conversation) -> Passing:
    """Find what is passed on. The time it takes grows linearly with the number of frames."""
    askers: set[str] = set()
    asked: set[str] = set()
    for frame in recording.frames:
        reading = conversation.readings[frame.number]
        if not reading.from_server and reading.kind != STDERR and frame.sender != frame.receiver:
            askers.add(frame.sender)
            asked.add(frame.receiver)
    gateways = frozenset(askers & asked)
    return _Pairing(conversation, gateways).pair(recording) if gateways else NOTHING


@dataclass(slots=True)
class _Pairing:
    conversation: Conversation
    gateways: frozenset[str]
    came_in: dict[tuple[str, _Print], deque[Frame]] = field(
        default_factory=dict[tuple[str, _Print], deque[Frame]]
    )
    came_back: dict[tuple[_Hop, _Print], deque[Frame]] = field(
        default_factory=dict[tuple[_Hop, _Print], deque[Frame]]
    )
    # Where each request stands that was neither passed on nor answered yet.
    waiting: dict[_Hop, tuple[deque[Frame], Frame]] = field(
        default_factory=dict[_Hop, tuple[deque[Frame], Frame]]
    )
    hops: dict[_Hop, _Hop] = field(default_factory=dict[_Hop, _Hop])
    origins: dict[int, int] = field(default_factory=dict[int, int])
    own: set[int] = field(default_factory=set[int])
    behind: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])

    def pair(self, recording: Recording) -> Passing:
        for frame in recording.frames:
            reading = self.conversation.readings[frame.number]
            if reading.kind == STDERR:
                continue
            if reading.from_server:
                self._backward(frame, reading)
            else:
                self._forward(frame, reading)
        onward = {came_in: number for number, came_in in self.origins.items()}
        behind = {gateway: tuple(parties) for gateway, parties in self.behind.items()}
        return Passing(self.gateways, self.origins, onward, frozenset(self.own), behind)

    def _forward(self, frame: Frame, reading: Reading) -> None:
        if frame.receiver in self.gateways:
            waiting = self.came_in.setdefault((frame.receiver, _asked(frame)), deque())
            waiting.append(frame)
            self.waiting[_hop(frame, reading)] = waiting, frame
        if frame.sender in self.gateways:
            self.behind.setdefault(frame.sender, {}).setdefault(frame.receiver)
            waiting = self.came_in.get((frame.sender, _asked(frame)))
            if waiting:
                origin = waiting.popleft()
                self.waiting.pop(_hop(origin, self.conversation.readings[origin.number]), None)
                self.origins[frame.number] = origin.number
                back = _hop(origin, self.conversation.readings[origin.number])
                self.hops[back] = _hop(frame, reading)

    def _backward(self, frame: Frame, reading: Reading) -> None:
        hop = _hop(frame, reading)
        if frame.receiver in self.gateways:
            self.came_back.setdefault((hop, _told(frame, reading)), deque()).append(frame)
        if frame.sender in self.gateways:
            onward = self.hops.get(hop)
            came = None if onward is None else self.came_back.get((onward, _told(frame, reading)))
            if came:
                self.origins[frame.number] = came.popleft().number
            elif hop not in self.hops or isinstance(frame.parsed, Response | ErrorResponse) or frame.head:
                self.own.add(frame.number)
                self._settle(hop)

    def _settle(self, hop: _Hop) -> None:
        """What a gateway answers by itself is not passed on any more: the next request like it is another."""
        waiting, frame = self.waiting.pop(hop, (None, None))
        if waiting is not None and frame is not None:
            waiting.remove(frame)


def _hop(frame: Frame, reading: Reading) -> _Hop:
    if frame.exchange:
        return ("exchange", frame.exchange)
    return ("call", reading.call.frame if reading.call is not None else frame.number)


def _asked(frame: Frame) -> _Print:
    match frame.parsed:
        case Request(method=method, params=params) | Notification(method=method, params=params):
            kept = {key: value for key, value in (params or {}).items() if key != "_meta"}
            return type(frame.parsed).__name__, method, compact_text(kept)
        case Response(result=result):
            return "Response", "", compact_text(result)
        case _:
            method = str((frame.head or {}).get("method", ""))
            return "other", method, "" if frame.head else frame.body.decode("utf-8", "replace")


def _told(frame: Frame, reading: Reading) -> _Print:
    match frame.parsed:
        case Request(method=method) | Notification(method=method):
            return reading.kind, method, ""
        case _ if reading.kind == HTTP:
            return reading.kind, str((frame.head or {}).get("status", "")), ""
        case _:
            return reading.kind, "", ""
