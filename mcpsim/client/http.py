"""The client's side of Streamable HTTP: every message is a POST of its own.

Under the legacy revisions a stream can break, or the server can close its connection, and the client takes it
up again where the server gave its events ids: it waits as long as the server asked for, and sends a GET with
the last id. A standing stream, opened with GET, brings what belongs to no request. Under the modern protocol
there is neither.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio.abc import TaskGroup

from mcpsim.client.wire import CLOSE_TIMEOUT_S, Arrived, Deliver, Pending, SessionEnded, Settle
from mcpsim.errors import ConnectionClosed, FramingError, McpSimError, UnexpectedResponse
from mcpsim.messages.envelopes import show_text
from mcpsim.recording.scribe import Scribe
from mcpsim.transports.http import (
    LAST_EVENT_ID_HEADER,
    SESSION_ID_HEADER,
    Headers,
    HttpHead,
    HttpRequest,
    SseReader,
)
from mcpsim.transports.streams import HttpExchange, HttpTransport

EVENT_STREAM: Final = "text/event-stream"
BAD_REQUEST: Final = 400
NOT_FOUND: Final = 404
MAX_BODY_BYTES: Final = 64_000_000

#: How long to wait before a stream is taken up again where the server did not say, in milliseconds.
RETRY_MS: Final = 1_000
STANDING_S: Final = 1.0
#: How many times in a row a stream is taken up again without bringing anything new.
MAX_ATTEMPTS: Final = 5
#: How many times it is taken up again as soon as the server asks for. After that every time waits a little: a
#: server that closes each connection at once, and wants us back at once, would keep us busy for ever.
MAX_IN_HASTE: Final = 20
UNHURRIED_MS: Final = 100

Take = Callable[[bytes], Awaitable[bool]]

_VISIBLE: Final = re.compile("[\x21-\x7e]+")

_ENDED: Final = "HTTP 404: the server does not know the session any more."

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
        self._tasks: TaskGroup | None = None
        self._standing: anyio.CancelScope | None = None
        self._stood = anyio.Event()
        self.session_id = ""
        self._keeps_session = False

    def keep_session(self, keep: bool) -> None:
        self._keeps_session = keep
        if not keep:
            self.session_id = ""

    def start(self, tasks: TaskGroup, deliver: Deliver, settle: Settle) -> None:
        self._deliver = deliver
        self._tasks = tasks

    async def stand(self, headers: Headers) -> None:
        if self._standing is not None:
            self._standing.cancel()
        if self._tasks is None:
            return
        self._standing, self._stood = anyio.CancelScope(), anyio.Event()
        place = _Place()
        self._tasks.start_soon(
            self._stand, headers, self._standing, self._stood, place, name="client: standing stream"
        )
        # It is an exchange of its own: the server may see a later request first, and has nowhere then to send
        # what belongs to no request. Some servers hold the head back until there is something to send.
        with anyio.move_on_after(STANDING_S):
            await place.begun.wait()

    async def _stand(
        self, headers: Headers, scope: anyio.CancelScope, stood: anyio.Event, place: _Place
    ) -> None:
        # An answer has no business here; it would be taken for one on the stream of another request.
        nobody = Pending()

        async def take(body: bytes) -> bool:
            await self._hand_over(body, nobody)
            return False

        try:
            with scope:
                await self._follow(headers, take, place)
        except UnexpectedResponse as error:
            self._scribe.note(f"There is no standing stream: {error}")
        except McpSimError as error:
            self._scribe.note(f"The standing stream is given up: {error}")
        finally:
            place.begun.set()
            stood.set()

    async def request(self, data: bytes, headers: Headers, pending: Pending) -> None:
        session = self.session_id
        exchange = await self._open("POST", headers, data)
        try:
            head = await exchange.head()
            if head.status == NOT_FOUND and session:
                await _whole(exchange)
                pending.fail(self._session_ended(session))
            else:
                await self._read(exchange, head, headers, pending)
        except BaseException:
            exchange.abort()
            raise

    def _session_ended(self, session: str) -> SessionEnded:
        # Unless a new one was begun meanwhile.
        if self.session_id == session:
            self.session_id = ""
        return SessionEnded(_ENDED)

    async def _read(self, exchange: HttpExchange, head: HttpHead, headers: Headers, pending: Pending) -> None:
        self._remember_session(head)
        bodies = 0

        async def take(body: bytes) -> bool:
            nonlocal bodies
            bodies += 1
            await self._hand_over(body, pending)
            # The answer ends the stream; whatever would follow it belongs to nobody.
            return pending.done.is_set()

        place = _Place()
        try:
            await self._each(exchange, head, take, place)
        except ConnectionClosed:
            if not self._can_resume(place):
                raise
        if not pending.done.is_set() and self._can_resume(place):
            await self._resume(headers, take, place)
        if pending.done.is_set():
            return
        if head.status >= BAD_REQUEST or not _is_stream(head):
            what = "something that is no answer" if bodies else "no JSON-RPC body"
            pending.fail(UnexpectedResponse(f"HTTP {head.status} with {what}.", head.status))
        else:
            pending.fail(ConnectionClosed("The response stream ended before the answer."))

    async def _resume(self, headers: Headers, take: Take, place: _Place) -> None:
        session = self.session_id
        try:
            await self._follow(headers, take, place)
        except SessionEnded:
            raise self._session_ended(session) from None
        except UnexpectedResponse as error:
            raise UnexpectedResponse(
                f"The response stream ended before the answer, and cannot be taken up again: {error}"
            ) from None

    def _can_resume(self, place: _Place) -> bool:
        # Streams of the modern protocol cannot be resumed, whatever ids their events have.
        return self._keeps_session and place.last_event_id is not None

    async def _follow(self, headers: Headers, take: Take, place: _Place) -> None:
        """Hold on to a stream with GET until `take` has enough.

        Args:
            place: up to where it is known; a stream that is new begins at once.

        Raises:
            UnexpectedResponse: the server does not offer the stream.
            ConnectionClosed: it broke too many times without bringing anything new.

        https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
        """
        headers = headers.without("Content-Type").with_("Accept", EVENT_STREAM)
        attempts = times = 0
        resumes = place.last_event_id is not None
        while attempts < MAX_ATTEMPTS:
            if resumes:
                times += 1
                wait_ms = RETRY_MS if place.retry_ms is None else place.retry_ms
                await anyio.sleep(max(wait_ms, UNHURRIED_MS if times > MAX_IN_HASTE else 0) / 1000)
            before = place.events
            try:
                if await self._get(headers, take, place):
                    return
            except ConnectionClosed as error:
                self._scribe.note(f"A stream broke: {error}")
            attempts = 0 if place.events > before else attempts + 1
            resumes = True
        raise ConnectionClosed(f"The stream ended {MAX_ATTEMPTS} times without anything new.")

    async def _get(self, headers: Headers, take: Take, place: _Place) -> bool:
        session = self.session_id
        if place.last_event_id is not None:
            headers = headers.with_(LAST_EVENT_ID_HEADER, place.last_event_id)
        exchange = await self._open("GET", headers, b"")
        try:
            head = await exchange.head()
            place.begun.set()
            if _is_stream(head):
                return await self._each(exchange, head, take, place)
            body = await _whole(exchange)
        except BaseException:
            exchange.abort()
            raise
        if head.status == NOT_FOUND and session:
            # Not yet forgotten: where this is the standing stream, the next request has to find out as well,
            # and begins the new session.
            raise SessionEnded(_ENDED)
        raise _unexpected(head, body)

    async def _hand_over(self, body: bytes, pending: Pending) -> Arrived | None:
        return None if self._deliver is None else await self._deliver(body, pending)

    async def _each(self, exchange: HttpExchange, head: HttpHead, take: Take, place: _Place) -> bool:
        """Hand each message of a response to `take`; returns whether it said that it has enough."""
        if not _is_stream(head):
            body = await _whole(exchange)
            return bool(body) and await take(body)
        reader = SseReader()
        try:
            while (chunk := await _piece(exchange)) is not None:
                for event in reader.feed(chunk):
                    if isinstance(event, FramingError):
                        self._scribe.note(f"Skipped: {event}")
                    elif event.data:
                        place.events += 1
                        if await take(event.data):
                            return True
        finally:
            place.move(reader, self._scribe)
        return False

    def send_now(self, data: bytes, pending: Pending) -> bool:
        """Never: an exchange has a head to wait for."""
        return False

    def forget(self, pending: Pending) -> None:
        """Nothing was sent that way."""

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
            raise _unexpected(head, body)

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
            await self._each(exchange, head, take, _Place())
        except BaseException:
            exchange.abort()
            raise

    async def close(self, headers: Headers) -> None:
        if self._standing is not None:
            self._standing.cancel()
            await self._stood.wait()
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
        except McpSimError as error:
            self._scribe.note(f"The session could not be ended: {error}")

    async def _open(self, method: str, headers: Headers, body: bytes) -> HttpExchange:
        if self.session_id and SESSION_ID_HEADER not in headers:
            headers = headers.with_(SESSION_ID_HEADER, self.session_id)
        if self._principal and "Authorization" not in headers:
            headers = headers.with_("Authorization", f"Bearer {self._principal}")
        return await self._transport.open(HttpRequest(method, self._path, headers, body))

    def _remember_session(self, head: HttpHead) -> None:
        # Under the modern protocol a session header means nothing and is not kept.
        given = head.headers.get(SESSION_ID_HEADER) if self._keeps_session else None
        if not given or given == self.session_id:
            return
        if _VISIBLE.fullmatch(given):
            self.session_id = given
        else:
            # https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
            self._scribe.note(
                f"Ignored: the session id {show_text(given)}. It must consist of visible ASCII characters."
            )


@dataclass(slots=True)
class _Place:
    """Up to where a stream was read.

    Attributes:
        last_event_id: the last event's id, or None where there was none.
        retry_ms: how long the server asks to wait, in milliseconds, or None.
        events: how many events with data there were.
        begun: set when the server has answered the first request for the stream, or will not.
    """

    last_event_id: str | None = None
    retry_ms: int | None = None
    events: int = 0
    begun: anyio.Event = field(default_factory=anyio.Event)

    def move(self, reader: SseReader, scribe: Scribe) -> None:
        """Take over what one connection brought; it may have been closed before it brought anything."""
        id = reader.last_event_id
        if id is not None and not id.isascii():
            scribe.note(f"The stream cannot be resumed: no header can carry the event id {show_text(id)}.")
            self.last_event_id = None
        elif id is not None:
            # The empty id takes the last one back: there is nothing to resume after.
            self.last_event_id = id or None
        if reader.retry_ms is not None:
            self.retry_ms = reader.retry_ms


def _unexpected(head: HttpHead, body: bytes) -> UnexpectedResponse:
    text = f": {body[:_SHOWN].decode('utf-8', 'replace')}" if body else "."
    return UnexpectedResponse(f"HTTP {head.status}{text}", head.status)


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
