"""What the order and the times of a trace prove.

A trace is written down beside the client: what the client sends stands where it left, what the server sends
where it arrived. So a message of the server that stands behind one of the client may have been on its way
already. Two things tell otherwise. A pipe is read in order: whoever answered a later request had read all
that came before it. And nothing is on its way for ever.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from mcpsim.audit.model import Connection, Item, Side, Trace

#: Longer than this, in milliseconds, nothing is on its way.
ON_ITS_WAY_MS: Final = 3_000.0
#: Longer than this, in milliseconds, a program does not leave unread what has arrived.
UNREAD_MS: Final = 1_000.0


def elapsed_ms(first: Item, second: Item) -> float | None:
    """How long after `first` the item `second` stands; None where the trace has no times."""
    if first.at_ms is None or second.at_ms is None:
        return None
    return second.at_ms - first.at_ms


def is_later_by(milliseconds: float, first: Item, second: Item) -> bool:
    """Whether `second` stands at least so much later than `first`; False where there are no times."""
    elapsed = elapsed_ms(first, second)
    return elapsed is not None and elapsed >= milliseconds


class Reading:
    """What the peer of one side had read, and when it shows. Nothing on HTTP: its streams overtake each
    other.

    Args:
        connection: whose messages.
        side: who wrote what the other side read.
    """

    __slots__ = ("_answered", "_asked")

    def __init__(self, connection: Connection, side: Side = "client") -> None:
        pairs = sorted(
            (call.request.index, call.answer.index)
            for call in connection.calls
            if call.asked_by == side
            and call.answer is not None
            and not call.request.disturbed
            and not call.answer.disturbed
            and not connection.is_http
        )
        self._asked = [asked for asked, _ in pairs]
        # Backwards: the earliest answer to this request or to a later one.
        earliest: list[int] = []
        for _, answered in reversed(pairs):
            earliest.append(min(answered, earliest[-1]) if earliest else answered)
        self._answered = earliest[::-1]

    def had_read(self, sent: Item, later: Item) -> bool:
        """Whether the peer had read `sent` when it wrote `later`: it had answered a request that came after
        `sent` before."""
        place = bisect_right(self._asked, sent.index)
        return place < len(self._asked) and self._answered[place] < later.index


def is_one_stream(first: Item, second: Item) -> bool:
    """Whether two messages of one side came in the order in which they were sent."""
    if first.exchange is second.exchange:
        return True
    # The stream of the second was asked for when the first had arrived.
    opening = None if second.exchange is None else second.exchange.request
    return opening is not None and second.sender == "server" and first.index < opening.index


def burst(items: Iterable[Item], count: int, window_ms: float) -> Item | None:
    """The first item that is one of `count` within `window_ms` milliseconds, or None."""
    recent: deque[float] = deque()
    for item in items:
        if item.at_ms is None:
            continue
        recent.append(item.at_ms)
        while recent[0] < item.at_ms - window_ms:
            recent.popleft()
        if len(recent) >= count:
            return item
    return None


def ways(trace: Trace) -> Iterator[tuple[Connection, ...]]:
    """The connections between the same two parties: a pipe is one, HTTP may be many of one client."""
    over_http: dict[str, list[Connection]] = {}
    for connection in trace.connections:
        if connection.is_http:
            over_http.setdefault(connection.hop, []).append(connection)
        else:
            yield (connection,)
    for several in over_http.values():
        yield tuple(several)


def ways_with(trace: Trace, names: Iterable[str]) -> Iterator[tuple[Connection, ...]]:
    """Those of them on which one of these names occurs."""
    sought = frozenset(names)
    for way in ways(trace):
        if not all(sought.isdisjoint(connection.occurs) for connection in way):
            yield way


def hides_requests(way: Iterable[Connection], side: Side) -> bool:
    """Whether a side sent what is no message here: what seems to be missing may stand in it."""
    return any(
        item.kind in ("malformed", "unreadable") and item.sender == side
        for connection in way
        for item in connection.items
    )
