"""The events of a session's streams, kept so that a client can have them once more (legacy, HTTP).

Every event has an id that names its stream and its place in it, such as "2-5", so that the last id that a
client received says which stream broke, and after which event. An id is unique in its session.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

MAX_EVENTS: Final = 1_000
MAX_BYTES: Final = 16_000_000

_ID: Final = re.compile(r"([1-9][0-9]{0,17})-(0|[1-9][0-9]{0,17})")


class UnknownEvent(Exception):
    """There is nothing to resume after this event; the text says why."""


class Place(NamedTuple):
    """Where an event stands: the number of its stream, and its own number there, from 1.

    0 stands for the beginning of the stream: the priming event.
    """

    stream: int
    number: int

    def __str__(self) -> str:
        return f"{self.stream}-{self.number}"


@dataclass(slots=True)
class _Kept:
    """The events of one stream that are still there; `first` is the number of the oldest of them."""

    first: int = 1
    events: deque[bytes] = field(default_factory=deque[bytes])

    @property
    def last(self) -> int:
        return self.first + len(self.events) - 1


class EventLog:
    """The log of one session. When it is full, its oldest events are dropped, whatever stream they are of.

    Args:
        max_events, max_bytes: how much is kept, all streams together.
    """

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._streams: dict[int, _Kept] = {}
        self._order: deque[int] = deque()
        self._size = 0

    def __len__(self) -> int:
        """How many events are kept."""
        return len(self._order)

    def add(self, stream: int, data: bytes) -> Place:
        """Keep the next event of a stream; returns its place."""
        kept = self._streams.setdefault(stream, _Kept())
        kept.events.append(data)
        place = Place(stream, kept.last)
        self._order.append(stream)
        self._size += len(data)
        while self._order and (len(self._order) > self._max_events or self._size > self._max_bytes):
            self._drop_oldest()
        return place

    def _drop_oldest(self) -> None:
        kept = self._streams[self._order.popleft()]
        self._size -= len(kept.events.popleft())
        kept.first += 1

    def check(self, place: Place) -> None:
        """Check that everything after an event can still be sent.

        Raises:
            UnknownEvent: some of it was dropped, or there was no such event yet.
        """
        kept = self._streams.get(place.stream, _Kept())
        if place.number > kept.last:
            raise UnknownEvent(f"There was no event {place} yet.")
        if place.number + 1 < kept.first:
            raise UnknownEvent(f"What came after the event {place} is no longer kept.")

    def next(self, place: Place) -> tuple[Place, bytes] | None:
        """The first event that is kept after a place in the same stream, or None."""
        kept = self._streams.get(place.stream)
        if kept is None or place.number >= kept.last:
            return None
        number = max(place.number + 1, kept.first)
        return Place(place.stream, number), kept.events[number - kept.first]

    def forget(self, stream: int) -> None:
        """Drop all events of a stream. Its numbers are not given out again."""
        kept = self._streams.pop(stream, None)
        if kept is not None and kept.events:
            self._size -= sum(map(len, kept.events))
            self._order = deque(one for one in self._order if one != stream)


def read_place(text: str) -> Place:
    """Read an event id.

    Raises:
        UnknownEvent: this server gives no such ids.
    """
    match = _ID.fullmatch(text)
    if match is None:
        raise UnknownEvent("This server gave no such event id.")
    return Place(int(match[1]), int(match[2]))
