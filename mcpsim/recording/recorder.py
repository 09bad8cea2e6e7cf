"""The pen: collects events while peers talk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcpsim.recording import events
from mcpsim.recording.events import Event, Head
from mcpsim.recording.recording import Recording


class Recorder:
    """Collects events with the time of `clock`.

    Args:
        clock: returns whole microseconds since the run began.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._frames = 0
        self._exchanges = 0
        self._connections = 0
        # Plain tuples: a named one takes four times as long to make, and the garbage collector looks at it
        # again and again. Every call has six.
        self._rows: list[tuple[Any, ...]] = []
        self._add = self._rows.append
        self._events: list[Event] = []
        self.wire_events = 0

    @property
    def events(self) -> list[Event]:
        """What was collected so far."""
        self._events += map(Event._make, self._rows)
        self._rows.clear()
        return self._events

    @property
    def count(self) -> int:
        """How many events there are so far."""
        return len(self._events) + len(self._rows)

    @property
    def next_frame(self) -> int:
        """The number that the next frame gets."""
        return self._frames + 1

    def new_connection(self) -> int:
        """The number of the next connection, from 1."""
        self._connections += 1
        return self._connections

    def new_exchange(self) -> int:
        """The number of the next HTTP exchange, from 1."""
        self._exchanges += 1
        return self._exchanges

    def sent(
        self,
        sender: str,
        receiver: str,
        data: bytes,
        *,
        connection: int,
        exchange: int = 0,
        head: Head | None = None,
        copy_of: int = 0,
        channel: str = "",
    ) -> int:
        """Write down a frame as its sender lets go of it; returns the frame's number."""
        self._frames = frame = self._frames + 1
        detail: dict[str, Any] | None = None
        if head is not None or copy_of or channel:
            detail = {}
            if head is not None:
                detail["head"] = head
            if copy_of:
                detail["copy_of"] = copy_of
            if channel:
                detail["channel"] = channel
        self.wire_events += 1
        at_us = self._clock()
        self._add((at_us, events.SENT, sender, receiver, frame, exchange, connection, data, detail))
        return frame

    def delivered(
        self,
        frame: int,
        receiver: str,
        sender: str,
        *,
        connection: int,
        exchange: int = 0,
        changed: bytes | None = None,
    ) -> None:
        """Write down that a frame arrived, with its bytes where they differ from what was sent."""
        self.wire_events += 1
        at_us = self._clock()
        self._add((at_us, events.DELIVERED, receiver, sender, frame, exchange, connection, changed, None))

    def dropped(
        self, frame: int, sender: str, receiver: str, why: str, *, connection: int, exchange: int = 0
    ) -> None:
        """Write down that a frame will never arrive, and why."""
        self.wire_events += 1
        self._add(
            (
                self._clock(),
                events.DROPPED,
                sender,
                receiver,
                frame,
                exchange,
                connection,
                None,
                {"why": why},
            )
        )

    def closed(
        self, party: str, peer: str, what: str, how: str, *, connection: int, exchange: int = 0
    ) -> None:
        """Write down that `party` closed `what` ("stdin", "stdout", "exchange"), and how."""
        self.wire_events += 1
        self._add(
            (
                self._clock(),
                events.CLOSED,
                party,
                peer,
                0,
                exchange,
                connection,
                None,
                {"what": what, "how": how},
            )
        )

    def handler(
        self,
        kind: str,
        party: str,
        name: str,
        id: str | int,
        connection: int,
        exchange: int = 0,
        outcome: str = "",
    ) -> None:
        """Write down that a handler started, finished (with its outcome) or was cancelled."""
        detail: dict[str, Any] = {"name": name, "id": id}
        if outcome:
            detail["outcome"] = outcome
        self._add((self._clock(), kind, party, "", 0, exchange, connection, None, detail))

    def note(self, party: str, text: str, *, connection: int = 1, exchange: int = 0) -> None:
        """Write down a remark: something that the party noticed or decided."""
        self._add((self._clock(), events.NOTE, party, "", 0, exchange, connection, None, {"text": text}))

    def state(self, party: str, remembers: Mapping[str, Any], *, connection: int = 1) -> None:
        """Write down everything that `party` remembers from now on."""
        self._add((self._clock(), events.STATE, party, "", 0, 0, connection, None, dict(remembers)))

    def recording(self, header: Mapping[str, Any]) -> Recording:
        """What was collected so far, frozen."""
        return Recording(dict(header), tuple(self.events))
