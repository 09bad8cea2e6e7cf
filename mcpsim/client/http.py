"""The client's side of Streamable HTTP: every message is a POST of its own.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio.abc import TaskGroup

from mcpsim.client.wire import CLOSE_TIMEOUT_S, Arrived, Deliver, Pending, SessionEnded
from mcpsim.errors import ConnectionClosed, FramingError, UnexpectedResponse
from mcpsim.recording.scribe import Scribe
from mcpsim.transports.http import SESSION_ID_HEADER, Headers, HttpHead, HttpRequest, SseReader
from mcpsim.transports.streams import HttpExchange, HttpTransport

EVENT_STREAM: Final = "text/event-stream"
BAD_REQUEST: Final = 400
NOT_FOUND: Final = 404
MAX_BODY_BYTES: Final = 64_000_000

# How much of the body of an error without a message is worth showing.
_SHOWN: Final = 500


class HttpWire:
    """POSTs to one MCP endpoint.

    Args:
        transport: carries the requests.
        scribe: where to write down what the client notices.
        path: the endpoint's path.
        principal: sent as a bearer token, or "".

    Attributes:
        session_id: the session that a legacy server gave out, or "".
    """

    is_http = True

    def __init__(
        self, transport: HttpTransport, scribe: Scribe, *, path: str = "/mcp", principal: str = ""
    ) -> None:
        self._transport = transport
        self._scribe = scribe
        self._path = path
        self._principal = principal
        self._deliver: Deliver | None = None
        self.session_id = ""
        self._keeps_session = False

    def keep_session(self, keep: bool) -> None:
        self._keeps_session = keep
        if not keep:
            self.session_id = ""

    def start(self, tasks: TaskGroup, deliver: Deliver) -> None:
        self._deliver = deliver

    async def request(self, data: bytes, headers: Headers, pending: Pending) -> None:
        session = self.session_id
        exchange = await self._open("POST", headers, data)
        try:
            head = await exchange.head()
            if head.status == NOT_FOUND and session:
                await _whole(exchange)
                pending.fail(self._session_ended(session))
            else:
                await self._read(exchange, head, pending)
        except BaseException:
            exchange.abort()
            raise

    def _session_ended(self, session: str) -> SessionEnded:
        # Unless a new one was begun meanwhile.
        if self.session_id == session:
            self.session_id = ""
        return SessionEnded("HTTP 404: the server does not know the session any more.")

    async def _read(self, exchange: HttpExchange, head: HttpHead, pending: Pending) -> None:
        self._remember_session(head)
        bodies = 0

        async def take(body: bytes) -> bool:
            nonlocal bodies
            bodies += 1
            await self._hand_over(body, pending)
            # The answer ends the stream; whatever would follow it belongs to nobody.
            return pending.done.is_set() and _is_stream(head)

        await self._each(exchange, head, take)
        if pending.done.is_set():
            return
        if head.status >= BAD_REQUEST or not _is_stream(head):
            what = "something that is no answer" if bodies else "no JSON-RPC body"
            pending.fail(UnexpectedResponse(f"HTTP {head.status} with {what}."))
        else:
            pending.fail(ConnectionClosed("The response stream ended before the answer."))

    async def _hand_over(self, body: bytes, pending: Pending) -> Arrived | None:
        return None if self._deliver is None else await self._deliver(body, pending)

    async def _each(
        self, exchange: HttpExchange, head: HttpHead, take: Callable[[bytes], Awaitable[bool]]
    ) -> None:
        """Hand each message of a response to `take`, until it says that it has enough."""
        if not _is_stream(head):
            body = await _whole(exchange)
            if body:
                await take(body)
            return
        events = SseReader()
        while (chunk := await _piece(exchange)) is not None:
            for event in events.feed(chunk):
                if isinstance(event, FramingError):
                    self._scribe.note(f"Skipped: {event}")
                elif event.data and await take(event.data):
                    return

    async def post(self, data: bytes, headers: Headers) -> None:
        session = self.session_id
        exchange = await self._open("POST", headers, data)
        try:
            head = await exchange.head()
            body = await _whole(exchange)
        except BaseException:
            exchange.abort()
            raise
        if head.status == NOT_FOUND and session:
            raise self._session_ended(session)
        if head.status >= BAD_REQUEST:
            text = f": {body[:_SHOWN].decode('utf-8', 'replace')}" if body else "."
            raise UnexpectedResponse(f"HTTP {head.status}{text}")

    async def raw(self, data: bytes, headers: Headers, pending: Pending) -> None:
        exchange = await self._open("POST", headers, data)

        async def take(body: bytes) -> bool:
            arrived = await self._hand_over(body, pending)
            if arrived is not None:
                pending.keep(arrived)
            return False

        try:
            head = await exchange.head()
            pending.status, pending.headers = head.status, head.headers
            self._remember_session(head)
            await self._each(exchange, head, take)
        except BaseException:
            exchange.abort()
            raise

    async def close(self, headers: Headers) -> None:
        if not self.session_id:
            return
        with anyio.move_on_after(CLOSE_TIMEOUT_S) as scope:
            await self._delete(headers.without("Content-Type").without("Accept"))
        if scope.cancelled_caught:
            self._scribe.note(f"The endpoint did not end the session within {CLOSE_TIMEOUT_S:g} s.")
        self.session_id = ""

    async def _delete(self, headers: Headers) -> None:
        try:
            exchange = await self._open("DELETE", headers, b"")
            try:
                # Any status will do: a server may refuse to end sessions.
                await exchange.head()
            except BaseException:
                exchange.abort()
                raise
        except ConnectionClosed:
            self._scribe.note("The endpoint could not be reached to end the session.")

    async def _open(self, method: str, headers: Headers, body: bytes) -> HttpExchange:
        if self.session_id and SESSION_ID_HEADER not in headers:
            headers = headers.with_(SESSION_ID_HEADER, self.session_id)
        if self._principal and "Authorization" not in headers:
            headers = headers.with_("Authorization", f"Bearer {self._principal}")
        return await self._transport.open(HttpRequest(method, self._path, headers, body))

    def _remember_session(self, head: HttpHead) -> None:
        # Under the modern protocol a session header means nothing and is not kept.
        if self._keeps_session:
            self.session_id = head.headers.get(SESSION_ID_HEADER) or self.session_id


def _is_stream(head: HttpHead) -> bool:
    return (head.headers.get("Content-Type") or "").lower().startswith(EVENT_STREAM)


async def _whole(exchange: HttpExchange) -> bytes:
    body = bytearray()
    while (chunk := await _piece(exchange)) is not None:
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise UnexpectedResponse(f"The response has more than {MAX_BODY_BYTES} bytes.")
    return bytes(body)


async def _piece(exchange: HttpExchange) -> bytes | None:
    try:
        return await exchange.receive()
    except anyio.EndOfStream:
        return None
