"""Twists: what a peer of a simulation is about to send, and a hook that changes it before it does.

A fault is of the way: the message was right, and something happened to it. A twist is of the sender: what
comes out of it is what that peer sent, and a recording shows nothing else. The peer itself runs its normal
code and knows nothing of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from mcpsim.messages import Notification, Request, write_json
from mcpsim.transports.http import (
    EVENT_STREAM_TYPE,
    METHOD_HEADER,
    NAME_HEADER,
    Headers,
    HttpHead,
    HttpRequest,
    SseEvent,
    SseReader,
    encode_header_value,
    mirrored,
    sse_event,
)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What one peer is about to send to another: a message, or something without one.

    Attributes:
        sender, receiver: their lanes, such as "client", "server", "gateway", "server-2".
        data: the JSON text, without the framing of the transport; b"" where there is none, as with a
            `202 Accepted`, a GET, or an event that only has an id.
        head: the head of the HTTP request; that of the response with the first thing that is sent of it;
            otherwise None.
        exchange: the number of the HTTP exchange; 0 on stdio.
        connection: the number of the connection.
        unframed: whether `data` goes out as it is: on stdio without a newline after it, in an event stream
            without being made an event.
        added: whether a twist made it: it is not what the peer's own code sends.
    """

    sender: str
    receiver: str
    data: bytes
    head: HttpHead | HttpRequest | None = None
    exchange: int = 0
    connection: int = 0
    unframed: bool = False
    added: bool = False

    @property
    def is_http(self) -> bool:
        """Whether it belongs to an HTTP exchange."""
        return self.exchange > 0

    @property
    def message(self) -> dict[str, Any] | None:
        """The message as a dict that may be changed; None where it is no JSON object."""
        if not self.data:
            return None
        try:
            value = json.loads(self.data)
        except (ValueError, RecursionError):
            return None
        return cast("dict[str, Any]", value) if isinstance(value, dict) else None

    @property
    def method(self) -> str:
        """The method of a request or a notification, otherwise ""."""
        method = (self.message or {}).get("method")
        return method if isinstance(method, str) else ""

    @property
    def headers(self) -> Headers:
        """The headers of its head; empty where it has none."""
        return Headers() if self.head is None else self.head.headers

    def with_message(self, message: Mapping[str, Any] | list[Any]) -> Outgoing:
        """The same with another message, or with a batch.

        Raises:
            FramingError: JSON cannot carry it.
        """
        return self.with_data(write_json(message))

    def with_data(self, data: bytes) -> Outgoing:
        """The same with other bytes as the body, whatever they are."""
        return replace(self, data=data)

    def with_raw(self, data: bytes) -> Outgoing:
        """The same with bytes that go out as they are, without the framing of the transport."""
        return replace(self, data=data, unframed=True)

    def with_head(self, head: HttpHead | HttpRequest | None) -> Outgoing:
        """The same with another head, or without one."""
        return replace(self, head=head)

    def with_headers(self, headers: Headers) -> Outgoing:
        """The same with other headers; unchanged where it has no head."""
        return self if self.head is None else replace(self, head=replace(self.head, headers=headers))

    def with_header(self, name: str, value: str | None) -> Outgoing:
        """The same with one header set, or left out where `value` is None; unchanged where it has no head."""
        headers = self.headers
        return self.with_headers(headers.without(name) if value is None else headers.with_(name, value))

    def with_status(self, status: int) -> Outgoing:
        """The same with another HTTP status; unchanged where it has no response head."""
        if not isinstance(self.head, HttpHead):
            return self
        return replace(self, head=replace(self.head, status=status))

    def beside(self, message: Mapping[str, Any]) -> Outgoing:
        """One more message of the same sender to the same receiver, to be sent before or after this one.

        Over HTTP a message of the client goes out in an exchange of its own, whose response nobody reads,
        with headers that fit it. One of the server goes into the same event stream.

        Raises:
            FramingError: JSON cannot carry it.
        """
        one = replace(self.with_message(message), added=True, unframed=False)
        if not isinstance(one.head, HttpRequest):
            return replace(one, head=None)
        return one.with_headers(fitting(one.head.headers, message))


def fitting(headers: Headers, message: Mapping[str, Any]) -> Headers:
    """Headers of a modern request, made to repeat another message; those of a legacy one stay."""
    if METHOD_HEADER not in headers:
        return headers
    headers = headers.without(METHOD_HEADER).without(NAME_HEADER)
    method, params = message.get("method"), message.get("params")
    if not isinstance(method, str):
        return headers
    given = cast("dict[str, Any]", params) if isinstance(params, dict) else None
    fitted = Request(0, method, given) if "id" in message else Notification(method, given)
    for row in mirrored(fitted):
        if row.value is not None:
            headers = headers.with_(row.header, encode_header_value(row.value) if row.encoded else row.value)
    return headers


Twist = Callable[[Outgoing], "Iterable[Outgoing] | Outgoing | None"]
"""Says what is sent instead: None for what it was, an empty list for nothing, or one or several.

It sees what all peers of the run send, in order. The first that is given out for a response of HTTP carries
its head; of several for an HTTP request that one is the peer's own which is not `added`.
"""

MakeTwist = Callable[[], Twist]
"""Makes a twist for one run: it may remember things, and each run begins anew."""


def framed(one: Outgoing, before: bytes = b"") -> bytes:
    """The bytes that go out for it.

    Args:
        before: the bytes of the event whose place it takes: its id, type and retry time stay.
    """
    if one.unframed:
        return one.data
    if not one.is_http:
        return one.data + b"\n"
    if not is_streamed(one.head):
        return one.data
    event = next((found for found in SseReader().feed(before) if isinstance(found, SseEvent)), _PLAIN)
    return sse_event(one.data, event=event.event, id=event.id, retry_ms=event.retry_ms)


_PLAIN: Final = SseEvent("message", b"")


def is_streamed(head: HttpHead | HttpRequest | None) -> bool:
    """Whether what comes with this head, or without one, is an event of a stream."""
    if head is None:
        return True
    kind = head.headers.get("Content-Type") or ""
    return isinstance(head, HttpHead) and kind.lower().startswith(EVENT_STREAM_TYPE)


def several(given: Iterable[Outgoing] | Outgoing | None, asked: Outgoing) -> tuple[Outgoing, ...]:
    """What a twist gave out, as a tuple."""
    if given is None:
        return (asked,)
    return (given,) if isinstance(given, Outgoing) else tuple(given)
