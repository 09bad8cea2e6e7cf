"""A gateway at work: requests come in, go on to a replica, and what comes back goes back.

Bytes pass through as they come: what the gateway does not know it does not touch. It adds one thing to
requests, the `Via` header, which HTTP wants. A stream goes on event by
event, and closes both ways: a client that goes away closes the way to the server, a server whose connection
breaks breaks the client's.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

import anyio

from mcpsim.errors import ConnectionClosed
from mcpsim.gateway.gateway import Gateway
from mcpsim.gateway.policies import Untrusted, signed
from mcpsim.gateway.shared_cache import Asked, SharedCache
from mcpsim.gateway.stickiness import Stickiness
from mcpsim.messages import write_message
from mcpsim.recording.scribe import Scribe
from mcpsim.transports.http import (
    EVENT_STREAM_TYPE,
    JSON_TYPE,
    Headers,
    HttpHead,
    HttpRequest,
    SseEvent,
    SseReader,
)
from mcpsim.transports.streams import HttpExchange, HttpReply, HttpTransport

OK: Final = 200
BAD_REQUEST: Final = 400
BAD_GATEWAY: Final = 502
GATEWAY_TIMEOUT: Final = 504

Connect = Callable[[str], HttpTransport]
"""Gives the way to a replica, by its name."""


class BreakableReply(HttpReply, Protocol):
    """A way back that can be broken, so that the client does not take what it got for all there is."""

    def break_off(self) -> None:
        """Break the connection."""
        ...


class _Reached(NamedTuple):
    replica: str
    exchange: HttpExchange


class GatewayServing:
    """What a gateway remembers in one run, and its endpoint.

    Args:
        gateway: its description.
        scribe: where to write down what it decides.
        clock: whole microseconds that never go back.
        replicas: the names of the replicas.
    """

    def __init__(
        self, gateway: Gateway, *, scribe: Scribe, clock: Callable[[], int], replicas: Sequence[str]
    ) -> None:
        self._gateway = gateway
        self._scribe = scribe
        self._clock = clock
        self._replicas = tuple(replicas)
        self._turn = 0
        self._cache = SharedCache(gateway) if gateway.cache else None
        self._sticky = Stickiness() if gateway.sticky else None

    async def handle(self, request: HttpRequest, reply: BreakableReply, connect: Connect) -> None:
        """Answer one HTTP request, from the cache or by a replica. Never raises for what a peer sent."""
        with anyio.CancelScope() as scope:
            reply.on_abort(scope.cancel)
            asked = None if self._cache is None else self._cache.look_up(request, self._now_ms())
            if asked is None or not await self._answer_from_cache(asked, reply):
                await self._forward(request, reply, connect, asked)

    async def _answer_from_cache(self, asked: Asked, reply: HttpReply) -> bool:
        answer = None if self._cache is None else self._cache.answer(asked, self._now_ms())
        if answer is None or asked.found is None:
            return False
        left_ms = asked.found.fresh_until_ms - self._now_ms()
        self._scribe.note(
            f"{asked.request.method} is answered from the cache: the result is {asked.found.scope}, and "
            f"fresh for another {left_ms:g} ms.",
            reply.exchange,
        )
        await _send(reply, OK, write_message(answer))
        return True

    async def _forward(
        self, request: HttpRequest, reply: BreakableReply, connect: Connect, asked: Asked | None
    ) -> None:
        headers = signed(self._gateway.forwarded(request.headers))
        onward = HttpRequest(request.method, request.path, headers, request.body)
        try:
            reached = await self._reach(onward, connect)
        except Untrusted as refusal:
            await self._refuse(reply, BAD_REQUEST, str(refusal))
            return
        if reached is None:
            await self._refuse(reply, BAD_GATEWAY, "No replica can be reached.")
            return
        try:
            await self._pass_back(onward, reached, reply, asked)
        except BaseException:
            # The client is gone, or the gateway ends.
            reached.exchange.abort()
            raise

    async def _reach(self, request: HttpRequest, connect: Connect) -> _Reached | None:
        """Open an exchange with the replica whose turn it is, or with the next one that lets us.

        Where a connection is refused nothing was sent, so that nothing can happen twice. Once something was
        sent, nobody knows how far it came, and the gateway does not send it again.
        """
        for replica in self._order(request.headers):
            try:
                return _Reached(replica, await connect(replica).open(request))
            except ConnectionClosed as error:
                self._scribe.note(f"{replica} cannot be reached: {error}")
        return None

    def _order(self, headers: Headers) -> Iterator[str]:
        """The replicas, beginning with the one that shall get the request."""
        known = None if self._sticky is None else self._sticky.place_of(headers)
        if known is not None:
            first = self._replicas.index(known)
        else:
            first = self._gateway.choose(headers, self._turn, len(self._replicas))
            self._turn += 1
        yield from (*self._replicas[first:], *self._replicas[:first])

    async def _pass_back(
        self, request: HttpRequest, reached: _Reached, reply: BreakableReply, asked: Asked | None
    ) -> None:
        replica, exchange = reached
        head: HttpHead | None = None
        try:
            with anyio.move_on_after(self._gateway.timeout_s):
                head = await exchange.head()
        except ConnectionClosed as error:
            await self._refuse(reply, BAD_GATEWAY, f"{replica} did not answer: {error}")
            return
        if head is None:
            exchange.abort()
            seconds = f"{self._gateway.timeout_s:g}"
            await self._refuse(reply, GATEWAY_TIMEOUT, f"{replica} did not answer within {seconds} s.")
            return
        if self._sticky is not None and self._sticky.learn(request, head, replica):
            self._remember()
        back = HttpHead(head.status, self._gateway.forwarded(head.headers))
        if _is_stream(head):
            await self._pass_stream(replica, exchange, back, reply)
        else:
            await self._pass_body(replica, exchange, back, reply, asked)

    async def _pass_body(
        self, replica: str, exchange: HttpExchange, head: HttpHead, reply: HttpReply, asked: Asked | None
    ) -> None:
        body = bytearray()
        try:
            while (chunk := await _piece(exchange)) is not None:
                body += chunk
        except ConnectionClosed as error:
            await self._refuse(reply, BAD_GATEWAY, f"The response of {replica} broke off: {error}")
            return
        if asked is not None and self._takes(asked, head, bytes(body)):
            self._remember()
        await reply.send(head, bytes(body))
        await reply.end()

    def _takes(self, asked: Asked, head: HttpHead, body: bytes) -> bool:
        return self._cache is not None and self._cache.take(asked, head, body, self._now_ms())

    async def _pass_stream(
        self, replica: str, exchange: HttpExchange, head: HttpHead, reply: BreakableReply
    ) -> None:
        chunk: bytes | None = b""
        reader = SseReader()
        try:
            # The head goes on together with the first event where that is there already, and alone otherwise.
            with anyio.move_on_after(0):
                chunk = await _piece(exchange)
            self._hear(reader, chunk or b"", reply)
            await reply.send(head, chunk or b"")
            if chunk is None:
                await reply.end()
                return
            while (chunk := await _piece(exchange)) is not None:
                self._hear(reader, chunk, reply)
                await reply.send(None, chunk)
        except ConnectionClosed as error:
            self._scribe.note(f"The stream of {replica} broke off: {error}", reply.exchange)
            reply.break_off()
            return
        await reply.end()

    def _hear(self, reader: SseReader, chunk: bytes, reply: HttpReply) -> None:
        """Listen to what passes by, before it goes on: who asks because of it must not get what was kept."""
        if self._cache is None:
            return
        for event in reader.feed(chunk):
            told = self._cache.hear(event.data) if isinstance(event, SseEvent) else ""
            if told:
                self._scribe.note(told, reply.exchange)
                self._remember()

    async def _refuse(self, reply: HttpReply, status: int, why: str) -> None:
        """Answer for the gateway itself: a status without a body, because no MCP server has spoken.

        https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation
        """
        self._scribe.note(f"HTTP {status}. {why}", reply.exchange)
        await _send(reply, status)

    def _now_ms(self) -> float:
        now_us = self._clock()
        return now_us // 1000 if now_us % 1000 == 0 else now_us / 1000

    def _remember(self) -> None:
        state: dict[str, Any] = {}
        if self._sticky is not None:
            state["sessions"] = self._sticky.rows()
        if self._cache is not None:
            state["cache"] = self._cache.rows(self._now_ms())
        self._scribe.state(state)


def _is_stream(head: HttpHead) -> bool:
    return (head.headers.get("Content-Type") or "").lower().startswith(EVENT_STREAM_TYPE)


async def _piece(exchange: HttpExchange) -> bytes | None:
    try:
        return await exchange.receive()
    except anyio.EndOfStream:
        return None


async def _send(reply: HttpReply, status: int, body: bytes = b"") -> None:
    headers = Headers({"Content-Type": JSON_TYPE}) if body else Headers()
    await reply.send(HttpHead(status, headers), body)
    await reply.end()
