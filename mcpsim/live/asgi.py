"""A server as an ASGI application: what a real HTTP server brings goes to the endpoint that lessons use too.

Here is only what HTTP has and a simulation has not: bodies that come in pieces, clients that go away, other
paths, and names of hosts.

https://asgi.readthedocs.io/en/stable/specs/www.html
https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any, Final

import anyio

from mcpsim.live.telling import StderrScribe, random_token, wall_clock_ms
from mcpsim.messages import DEFAULT_LIMITS
from mcpsim.recording import Scribe
from mcpsim.server import HttpServing, Server
from mcpsim.server.http import RETRY_MS
from mcpsim.server.http_reply import NOT_FOUND, Refusal
from mcpsim.server.http_sessions import PrincipalOf
from mcpsim.transports.http import Headers, HttpHead, HttpRequest
from mcpsim.transports.link import is_event_stream

ENDPOINT_PATH: Final = "/mcp"
CONTENT_TOO_LARGE: Final = 413
MISDIRECTED_REQUEST: Final = 421
SERVICE_UNAVAILABLE: Final = 503

#: How long requests in work may take to finish when a server ends, in seconds.
SHUTDOWN_S: Final = 5.0
KEEP_ALIVE_S: Final = 15.0

_LAST_WORDS_S: Final = 1.0
_POLL_S: Final = 0.005

Scope = MutableMapping[str, Any]
AsgiEvent = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiEvent]]
Send = Callable[[AsgiEvent], Awaitable[None]]

_LOOPBACK_HOST: Final = re.compile(
    r"(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE
)


def bearer(headers: Headers) -> str:
    """The bearer token of a request, as the name of who asks: "" where there is none.

    Nothing is proved by it. A server for others must check tokens, and hand in its own `principal_of`.
    """
    scheme, _, token = (headers.get("Authorization") or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


class AsgiApp:
    """An ASGI 3 application with one MCP endpoint. Made by `asgi_app`.

    Attributes:
        path: the path of the endpoint.
    """

    def __init__(
        self,
        serving: HttpServing,
        path: str,
        *,
        allowed_hosts: frozenset[str] | None,
        max_body_bytes: int,
    ) -> None:
        self.path = path
        self._serving = serving
        self._allowed_hosts = allowed_hosts
        self._max_body_bytes = max_body_bytes
        self._visits: list[_Visit] = []
        self._closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request, or the life of the whole application, as ASGI has it."""
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "lifespan":
                await self._lifespan(receive, send)
            case "websocket":
                # Before it was accepted: the HTTP server answers 403.
                await send({"type": "websocket.close"})
            case other:
                raise ValueError(f"This application serves HTTP, not {other!r}.")

    async def shut_down(self, within_s: float = SHUTDOWN_S) -> None:
        """End what is in work, as the specification wants it ended. To be called before the HTTP server waits
        for its responses to end.

        Subscriptions get their result, standing streams of legacy clients end. Every other request may
        finish; what does not in time is stopped, and answered with 503 or the end of its stream. Meanwhile
        every new request is answered with 503. At the end no session is left: the server may be served
        elsewhere, and must not tell this endpoint of what changes.

        Args:
            within_s: how long requests may take to finish, in seconds.

        https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#graceful-closure
        """
        self._closing = True
        try:
            self._serving.end_subscriptions()
            for visit in self._visits:
                if visit.is_standing:
                    visit.give_up()
            await self._no_visits_within(within_s)
            for visit in self._visits:
                visit.give_up()
            await self._no_visits_within(_LAST_WORDS_S)
        finally:
            self._serving.close()
            self._closing = False

    async def _no_visits_within(self, seconds: float) -> None:
        deadline = anyio.current_time() + seconds
        while self._visits and anyio.current_time() < deadline:
            await anyio.sleep(_POLL_S)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            kind = (await receive())["type"]
            if kind == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif kind == "lifespan.shutdown":
                await self.shut_down()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply = AsgiReply(send)
        headers = Headers(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        )
        try:
            self._check(scope, headers)
            body = await self._body(headers, receive)
        except Refusal as refusal:
            await refusal.send(reply)
            return
        if body is None:
            return
        request = HttpRequest(scope["method"], self.path, headers, body)
        visit = _Visit(reply, is_standing=request.method == "GET")
        self._visits.append(visit)
        try:
            with visit.scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_watch, receive, reply)
                    await self._serving.handle(request, reply)
                    tasks.cancel_scope.cancel()
            if visit.given_up:
                await reply.break_off()
        finally:
            self._visits.remove(visit)

    def _check(self, scope: Scope, headers: Headers) -> None:
        if self._closing:
            raise Refusal(SERVICE_UNAVAILABLE, "This server is about to end.")
        path = scope["path"].removeprefix(scope.get("root_path") or "")
        if path != self.path:
            raise Refusal(NOT_FOUND, f"There is nothing at {path}; the MCP endpoint is {self.path}.")
        if self._allowed_hosts is None:
            return
        # Of several, and of none, nobody can say which one the client meant.
        hosts = headers.get_all("Host")
        host = hosts[0] if len(hosts) == 1 else ""
        if host not in self._allowed_hosts and not _LOOPBACK_HOST.fullmatch(host):
            raise Refusal(MISDIRECTED_REQUEST, f"The host {', '.join(hosts)!r} is not allowed here.")

    async def _body(self, headers: Headers, receive: Receive) -> bytes | None:
        """The body of the request; None where the client went away in the middle of it.

        Raises:
            Refusal: it is larger than the limit. The rest of it is not read.
        """
        too_large = Refusal(
            CONTENT_TOO_LARGE, f"The body has more than {self._max_body_bytes} bytes, which is the limit."
        )
        length = headers.get("Content-Length") or "0"
        if length.isdecimal() and (len(length) > 20 or int(length) > self._max_body_bytes):
            raise too_large
        body = bytearray()
        while True:
            event = await receive()
            if event["type"] != "http.request":
                return None
            body += event.get("body", b"")
            if len(body) > self._max_body_bytes:
                raise too_large
            if not event.get("more_body", False):
                return bytes(body)


class _Visit:
    """A request in work."""

    def __init__(self, reply: AsgiReply, *, is_standing: bool) -> None:
        self.scope = anyio.CancelScope()
        self.is_standing = is_standing
        self.given_up = False
        self._reply = reply

    def give_up(self) -> None:
        """Stop the work; the client is still there."""
        self.given_up = not self._reply.is_over
        self._reply.abort()
        self.scope.cancel()


async def _watch(receive: Receive, reply: AsgiReply) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    reply.abort()


class AsgiReply:
    """The way back of one HTTP exchange: an HttpReply.

    A stream goes out piece by piece; any other body as a whole, so that it has a length.
    """

    exchange = 0

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = anyio.Lock()
        self._head: HttpHead | None = None
        self._body = bytearray()
        self._streaming = False
        self._ended = False
        self._aborted = False
        self._callbacks: list[Callable[[], None]] = []

    @property
    def is_over(self) -> bool:
        """Whether the response has ended, or nobody waits for it any more."""
        return self._aborted or self._ended

    async def send(self, head: HttpHead | None, body: bytes) -> None:
        # A keep-alive comment must not come between the head and the first event.
        async with self._lock:
            if self.is_over:
                return
            if head is not None:
                self._head = head
                self._streaming = is_event_stream(head)
                if self._streaming:
                    await self._start(head)
            if not self._streaming:
                self._body += body
            elif body:
                await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def end(self) -> None:
        async with self._lock:
            if self.is_over:
                return
            self._ended = True
            if not self._streaming and self._head is not None:
                length = str(len(self._body))
                await self._start(self._head, (b"content-length", length.encode("ascii")))
            await self._send({"type": "http.response.body", "body": bytes(self._body), "more_body": False})

    async def _start(self, head: HttpHead, *more: tuple[bytes, bytes]) -> None:
        lines = (
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in head.headers.items()
        )
        await self._send({"type": "http.response.start", "status": head.status, "headers": [*lines, *more]})

    def on_abort(self, callback: Callable[[], None]) -> None:
        if self._aborted:
            callback()
        else:
            self._callbacks.append(callback)

    def abort(self) -> None:
        """The client is gone. After the end of the response that means nothing."""
        if self.is_over:
            return
        self._aborted = True
        for callback in self._callbacks:
            callback()

    async def break_off(self) -> None:
        """The work was stopped, and the client still waits: tell it in the way of HTTP."""
        if not self._streaming:
            await self._start(HttpHead(SERVICE_UNAVAILABLE, Headers()), (b"content-length", b"0"))
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def asgi_app(
    server: Server,
    path: str = ENDPOINT_PATH,
    *,
    allowed_hosts: Collection[str] | None = (),
    allowed_origins: Collection[str] = (),
    principal_of: PrincipalOf = bearer,
    max_body_bytes: int = DEFAULT_LIMITS.max_bytes,
    keep_alive_s: float | None = KEEP_ALIVE_S,
    standing_streams: bool = True,
    resumable: bool = False,
    retry_ms: int = RETRY_MS,
    scribe: Scribe | None = None,
) -> AsgiApp:
    """Make an ASGI 3 application of a server, for any HTTP server that takes such applications.

    Args:
        server: what to serve.
        path: the path of the endpoint.
        allowed_hosts: values of the `Host` header that are welcome beside loopback ones. A web page that
            has its own name resolved to this machine sends its own name (DNS rebinding). None allows any
            host, for a server that the world may reach by names that it does not know.
        allowed_origins: values of `Origin` that are welcome beside loopback ones.
        principal_of: who the headers say is asking; by default the bearer token itself, unchecked.
        max_body_bytes: the largest body of a request; a larger one is refused with 413.
        keep_alive_s, standing_streams, resumable, retry_ms: as for `HttpServing`. A quiet stream gets a
            comment every 15 seconds: what stands between client and server takes it for dead otherwise.
        scribe: takes the server's notes; None writes them to stderr.

    Raises:
        ValueError: the path does not begin with a slash, or a number is out of its range.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
    """
    if not path.startswith("/"):
        raise ValueError(f"The path of the endpoint must begin with a slash: {path!r} does not.")
    serving = HttpServing(
        server,
        scribe=scribe if scribe is not None else StderrScribe(),
        tokens=random_token,
        principal_of=principal_of,
        allowed_origins=frozenset(allowed_origins),
        keep_alive_s=keep_alive_s,
        standing_streams=standing_streams,
        resumable=resumable,
        retry_ms=retry_ms,
        state_clock=wall_clock_ms,
    )
    return AsgiApp(
        serving,
        path,
        allowed_hosts=None if allowed_hosts is None else frozenset(allowed_hosts),
        max_body_bytes=max_body_bytes,
    )
