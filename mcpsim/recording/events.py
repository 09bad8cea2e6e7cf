"""The events of a recording.

A *frame* is one thing that travels: a line on stdio, the body of an HTTP request with its head, a JSON
response with its head, one server-sent event (the first one of a stream carries the response's head).
A frame has one `sent` event and at most one `delivered` or `dropped` event, joined by `frame`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypedDict

SENT: Final = "sent"
DELIVERED: Final = "delivered"
DROPPED: Final = "dropped"
CLOSED: Final = "closed"
HANDLER_STARTED: Final = "handler_started"
HANDLER_FINISHED: Final = "handler_finished"
HANDLER_CANCELLED: Final = "handler_cancelled"
NOTE: Final = "note"
STATE: Final = "state"

KINDS: Final = (
    SENT,
    DELIVERED,
    DROPPED,
    CLOSED,
    HANDLER_STARTED,
    HANDLER_FINISHED,
    HANDLER_CANCELLED,
    NOTE,
    STATE,
)


class Head(TypedDict, total=False):
    """The head of an HTTP request (`method`, `path`) or response (`status`), with `headers` as an
    ordered list of name and value."""

    method: str
    path: str
    status: int
    headers: list[list[str]]


class Event(NamedTuple):
    """One thing that happened.

    Attributes:
        at_us: when, in whole microseconds since the run began.
        kind: one of `KINDS`.
        party: where it happened: the sender of a sent frame, the receiver of a delivered one, the
            party that ran the handler, that remembers the state, that closed.
        peer: the other party of a frame or of a closed channel, otherwise "".
        frame: the number of the frame, from 1; 0 for events that are not about a frame.
        exchange: the number of the HTTP exchange, from 1; 0 on stdio.
        connection: the number of the connection, from 1. Every client has one of its own.
        data: the bytes of a sent frame; of a delivered one only where they were changed on the way.
        detail: what else there is to say, as plain JSON values:
            sent: `head` (HTTP), `copy_of` (the frame that a fault doubled), `channel` ("stderr");
            dropped: `why`; closed: `what` ("stdin", "stdout", "exchange"), `how`;
            handler events: `name`, `id`, and when finished `outcome`; note: `text`;
            handlers are a server's, or the callbacks by which a client asks its user or host: these have
            the method of the question as `name`, and as `id` its id or its key among the input requests;
            state: everything that the party remembers from here on.
    """

    at_us: int
    kind: str
    party: str
    peer: str = ""
    frame: int = 0
    exchange: int = 0
    connection: int = 1
    data: bytes | None = None
    detail: dict[str, Any] | None = None


def milliseconds(us: int) -> str:
    """A time for people: whole microseconds as milliseconds, with three decimals or none."""
    return str(us // 1000) if us % 1000 == 0 else f"{us // 1000}.{us % 1000:03d}"
