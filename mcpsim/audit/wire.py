"""What the wire did to the frames of a recording: whoever sent them is not to blame for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from mcpsim.messages import Batch, ErrorResponse, Notification, Request, Response
from mcpsim.messages.meta import SUBSCRIPTION_ID
from mcpsim.recording.events import Event
from mcpsim.recording.frames import Frame, message_bytes

#: What travels longer than this was held back: whoever sent it did not mean it to come so late.
HELD_BACK_US: Final = 2_000_000
_CANCELS: Final = b'"notifications/cancelled"'
_TOKENS: Final = ("progressToken", SUBSCRIPTION_ID)


@dataclass(slots=True)
class Wire:
    """Where the wire lost, changed, doubled or held back what was sent, or put it in another order.

    What came as it was sent may all the same be about something that did not: the end of a response, the
    answer to a request, its cancellation, and a message that somebody hands on.
    """

    _doubled: set[int] = field(default_factory=set[int])
    # Each frame that came otherwise than it was sent, or twice, by who got it: somebody may hand it on.
    _taken: set[tuple[str, bytes]] = field(default_factory=set[tuple[str, bytes]])
    # The HTTP exchanges in which something came otherwise than it was sent.
    _broken: set[int] = field(default_factory=set[int])
    # Who got something that was changed: in which exchange, and for which ids that stood in it.
    _misled: set[tuple[str, int, str]] = field(default_factory=set[tuple[str, int, str]])
    # The requests whose answers were lost.
    _unanswered: set[tuple[str, int, str]] = field(default_factory=set[tuple[str, int, str]])
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
            if frame.arrived_data != frame.data:
                wire._misled.update((frame.receiver, *where) for where in _readings(frame))
            if frame.copy_of:
                wire._taken.add((frame.receiver, frame.body))
            if frame.fate == "dropped" and isinstance(frame.parsed, Response | ErrorResponse):
                wire._unanswered.add((frame.receiver, frame.connection, repr(frame.parsed.id)))
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
        disturbed = (
            otherwise
            or (may_overtake and frame.number < latest)
            or frame.copy_of > 0
            or frame.number in self._doubled
            or (frame.arrived_us is not None and frame.arrived_us - frame.sent_us >= HELD_BACK_US)
            or (frame.sender, frame.body) in self._taken
            or self._cancels_unseen(frame)
            or self._is_misled(frame)
            or self._is_unanswered(frame)
        )
        if disturbed:
            # Whoever gets it may hand it on.
            self._taken.add((frame.receiver, _arrived(frame)))
        return disturbed

    def broke(self, closing: Event) -> bool:
        """Whether an HTTP exchange ends here in which something did not come as it was sent."""
        return closing.exchange > 0 and closing.exchange in self._broken

    def _cancels_unseen(self, frame: Frame) -> bool:
        message = frame.parsed if _CANCELS in frame.data else None
        if not isinstance(message, Notification):
            return False
        number = self._unseen.get(_key(frame, (message.params or {}).get("requestId")), frame.number)
        return number < frame.number

    def _is_misled(self, frame: Frame) -> bool:
        if not self._misled:
            return False
        if frame.exchange:
            return (frame.sender, frame.exchange, "") in self._misled
        return any((frame.sender, 0, id) in self._misled for id in _ids(frame.parsed))

    def _is_unanswered(self, frame: Frame) -> bool:
        if not self._unanswered or not isinstance(frame.parsed, Request):
            return False
        return _key(frame, frame.parsed.id) in self._unanswered


def _readings(frame: Frame) -> Iterator[tuple[int, str]]:
    """What somebody may answer to who got this frame: over HTTP in its exchange, otherwise by its ids."""
    if frame.exchange:
        yield frame.exchange, ""
    else:
        yield from ((0, id) for id in _ids(replace(frame, data=frame.arrived_data).parsed))


def _ids(message: object) -> Iterator[str]:
    """The ids that stand in a message; that of an unreadable one, and of its answer, is None."""
    if isinstance(message, Batch):
        for member in message.members:
            yield from _ids(member)
    elif isinstance(message, Request | Notification):
        params = message.params or {}
        meta = params.get("_meta")
        named = cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}
        ids = (params.get("requestId"), params.get("progressToken"), *(named.get(one) for one in _TOKENS))
        yield from (repr(one) for one in ids if one is not None)
        if isinstance(message, Request):
            yield repr(message.id)
    else:
        yield repr(message.id if isinstance(message, Response | ErrorResponse) else None)


def _arrived(frame: Frame) -> bytes:
    return message_bytes(frame.arrived_data, frame.head, http=frame.is_http)


def _came_otherwise(frame: Frame) -> bool:
    return frame.fate != "delivered" or frame.arrived_data != frame.data


def _key(frame: Frame, id: object) -> tuple[str, int, str]:
    # 1 and "1" are two different ids.
    return frame.sender, frame.connection, repr(id)
