"""Frames: the events of one travelling thing, joined."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcpsim.errors import MalformedMessage
from mcpsim.messages import Batch, Message, read_batch
from mcpsim.recording import events
from mcpsim.recording.events import Event, Head
from mcpsim.transports.http import SseEvent, SseReader


@dataclass(frozen=True)
class Frame:
    """One thing that travelled from `sender` to `receiver`.

    Attributes:
        number: from 1, in the order of sending.
        index: position of its `sent` event in the recording, from 0.
        data: the bytes as they were sent.
        arrived_data: the bytes as they arrived; the same unless a fault changed them.
        sent_us: when it left, in microseconds since the run began.
        arrived_us: when it arrived; None where it never did.
        fate: "delivered", "dropped", or "in flight" (the run ended before it arrived).
        why: why it was dropped, otherwise "".
        exchange: the number of the HTTP exchange; 0 on stdio.
        head: the head of the HTTP request or response, or None.
        copy_of: the number of the frame that this one doubles, or 0.
        channel: "stderr" for a line that is not part of the protocol, otherwise "".
    """

    number: int
    index: int
    sender: str
    receiver: str
    data: bytes
    arrived_data: bytes
    sent_us: int
    arrived_us: int | None
    fate: str
    why: str
    exchange: int
    connection: int
    head: Head | None
    copy_of: int
    channel: str

    @property
    def is_http(self) -> bool:
        """Whether the frame belongs to an HTTP exchange."""
        return self.exchange > 0

    @cached_property
    def body(self) -> bytes:
        """The bytes of the JSON-RPC message: without the newline, without the SSE framing."""
        return message_bytes(self.data, self.head, http=self.is_http)

    @cached_property
    def parsed(self) -> Message | Batch | MalformedMessage | None:
        """The message that the frame carries; the error where it is not a message; None where there
        is no body (a `202 Accepted`, a priming event, a keep-alive comment)."""
        if self.channel or not self.body.strip():
            return None
        try:
            return read_batch(self.body)
        except MalformedMessage as error:
            return error


def _is_event_stream(head: Head | None) -> bool:
    # Only the first frame of a stream has a head: a frame without one is a later event of a stream.
    if head is None:
        return True
    return any(
        name.lower() == "content-type" and value.lower().startswith("text/event-stream")
        for name, value in head.get("headers", ())
    )


def message_bytes(data: bytes, head: Head | None, *, http: bool) -> bytes:
    """Take the transport's framing off: what is left is the JSON text, or b"" where there is none."""
    if not http:
        return data.removesuffix(b"\n").removesuffix(b"\r")
    if not _is_event_stream(head):
        return data
    found = SseReader().feed(data)
    return b"\n".join(event.data for event in found if isinstance(event, SseEvent))


def frames_of(sequence: Iterable[Event]) -> tuple[Frame, ...]:
    """Join the events of each frame, in the order of sending."""
    ends: dict[int, Event] = {}
    starts: list[tuple[int, Event]] = []
    for index, event in enumerate(sequence):
        if event.kind == events.SENT:
            starts.append((index, event))
        elif event.kind in (events.DELIVERED, events.DROPPED):
            ends[event.frame] = event
    return tuple(_join(index, start, ends.get(start.frame)) for index, start in starts)


def _join(index: int, start: Event, end: Event | None) -> Frame:
    detail: dict[str, Any] = start.detail or {}
    data = start.data or b""
    arrived = end is not None and end.kind == events.DELIVERED
    return Frame(
        number=start.frame,
        index=index,
        sender=start.party,
        receiver=start.peer,
        data=data,
        arrived_data=end.data if arrived and end is not None and end.data is not None else data,
        sent_us=start.at_us,
        arrived_us=end.at_us if arrived and end is not None else None,
        fate="in flight" if end is None else "delivered" if arrived else "dropped",
        why=(end.detail or {}).get("why", "") if end is not None else "",
        exchange=start.exchange,
        connection=start.connection,
        head=detail.get("head"),
        copy_of=detail.get("copy_of", 0),
        channel=detail.get("channel", ""),
    )
