"""What the wire did to the frames of a recording: whoever sent them is not to blame for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from mcpsim.messages import Notification, Request
from mcpsim.recording.events import Event
from mcpsim.recording.frames import Frame, message_bytes

#: What travels longer than this was held back: whoever sent it did not mean it to come so late.
HELD_BACK_US: Final = 2_000_000
_CANCELS: Final = b'"notifications/cancelled"'


@dataclass(slots=True)
class Wire:
    """Where the wire lost, changed, doubled or held back what was sent, or put it in another order.

    What came as it was sent may all the same be about something that did not: the end of a response, the
    cancellation of a request, and a message that somebody hands on.
    """

    _doubled: set[int] = field(default_factory=set[int])
    # Each frame that came otherwise than it was sent, or twice, by who got it: somebody may hand it on.
    _taken: set[tuple[str, bytes]] = field(default_factory=set[tuple[str, bytes]])
    # The HTTP exchanges in which something came otherwise than it was sent.
    _broken: set[int] = field(default_factory=set[int])
    # The frame of each request that an observer has not seen yet, or not as it was sent.
    _unseen: dict[tuple[str, int, str], int] = field(default_factory=dict[tuple[str, int, str], int])
    _latest: dict[tuple[str, int, int], int] = field(default_factory=dict[tuple[str, int, int], int])

    @classmethod
    def of(cls, frames: Sequence[Frame]) -> Wire:
        """What it did to these frames."""
        wire = cls()
        cancels = any(_CANCELS in frame.data for frame in frames)
        for frame in frames:
            if frame.copy_of:
                wire._doubled.add(frame.copy_of)
            if _came_otherwise(frame):
                wire._broken.add(frame.exchange)
            if frame.copy_of or frame.arrived_data != frame.data:
                body = message_bytes(frame.arrived_data, frame.head, http=frame.is_http)
                wire._taken.add((frame.receiver, body))
            if cancels and isinstance(frame.parsed, Request):
                wire._unseen[_key(frame, frame.parsed.id)] = frame.number
        return wire

    def disturbed(self, frame: Frame, *, may_overtake: bool) -> bool:
        """Whether it did something to this frame, or to what this frame is about.

        Each frame is asked about once, in the order in which an observer sees them.

        Args:
            may_overtake: whether that order is the one of arrival.
        """
        lane = frame.sender, frame.connection, frame.exchange
        latest = self._latest.get(lane, 0)
        self._latest[lane] = max(frame.number, latest)
        otherwise = _came_otherwise(frame)
        if self._unseen and not otherwise and isinstance(frame.parsed, Request):
            self._unseen.pop(_key(frame, frame.parsed.id), None)
        return (
            otherwise
            or (may_overtake and frame.number < latest)
            or frame.copy_of > 0
            or frame.number in self._doubled
            or (frame.arrived_us is not None and frame.arrived_us - frame.sent_us >= HELD_BACK_US)
            or (frame.sender, frame.body) in self._taken
            or self._cancels_unseen(frame)
        )

    def broke(self, closing: Event) -> bool:
        """Whether an HTTP exchange ends here in which something did not come as it was sent."""
        return closing.exchange > 0 and closing.exchange in self._broken

    def _cancels_unseen(self, frame: Frame) -> bool:
        message = frame.parsed if _CANCELS in frame.data else None
        if not isinstance(message, Notification):
            return False
        number = self._unseen.get(_key(frame, (message.params or {}).get("requestId")), frame.number)
        return number < frame.number


def _came_otherwise(frame: Frame) -> bool:
    return frame.fate != "delivered" or frame.arrived_data != frame.data


def _key(frame: Frame, id: object) -> tuple[str, int, str]:
    # 1 and "1" are two different ids.
    return frame.sender, frame.connection, repr(id)
