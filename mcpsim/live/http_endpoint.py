"""A real HTTP endpoint, seen from the client: requests go out, responses come back, and all is written down.

The observer stands beside the client. A request is delivered when its last byte is with the operating system,
and a response when it comes out of there: when the other side reads and writes, nobody here can see.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import SplitResult

import anyio
import anyio.lowlevel
import httpx2
from anyio.abc import TaskGroup

from mcpsim.client.http import MAX_BODY_BYTES
from mcpsim.errors import ConnectionClosed, FramingError, McpSimError, UnexpectedResponse
from mcpsim.live.process import CLIENT_LANE, MAX_OUTPUT_BYTES, MAX_OUTPUT_LINES, SERVER_LANE
from mcpsim.live.sse_cutter import SseCutter
from mcpsim.recording import Recorder
from mcpsim.recording.events import Head
from mcpsim.transports.http import Headers, HttpHead, HttpRequest
from mcpsim.transports.link import is_event_stream, plain_head

CONNECT_TIMEOUT_S: Final = 10.0

# Whoever gets a recording must not get the keys of whoever made it.
SECRET_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
NOT_RECORDED: Final = "(not recorded)"

# How long the head of a stream waits to be written down together with the first event, in seconds.
_HEAD_WAITS_S: Final = 0.05
# How long responses that were answered already may take to end, in seconds.
_LAST_WORDS_S: Final = 0.5
_REDIRECTS: Final = range(300, 400)
_POLL_S: Final = 0.005


def http_client(*, environment: bool) -> httpx2.AsyncClient:
    """What sends requests.

    Args:
        environment: whether to heed what environment variables say about proxies.
    """
    return httpx2.AsyncClient(
        follow_redirects=False,
        trust_env=environment,
        # Whoever asks has a timeout of his own.
        timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S),
        headers={"User-Agent": "mcpsim"},
    )


class HttpEndpoint:
    """Carries HTTP requests to one URL: an HttpTransport that writes down all that passes.

    Args:
        url: the endpoint, checked.
        http: sends the requests.
        recorder: where to write.
        tasks: where each exchange is read.
        headers: sent with every request, and not recorded.
    """

    def __init__(
        self,
        url: SplitResult,
        http: httpx2.AsyncClient,
        recorder: Recorder,
        tasks: TaskGroup,
        headers: Mapping[str, str],
    ) -> None:
        self.connection = recorder.new_connection()
        self.recorder = recorder
        self.http = http
        self.address = f"{url.scheme}://{url.netloc}{url.path or '/'}"
        self._url = url.geturl()
        self.tasks = tasks
        self._headers = dict(headers)
        self._secret = SECRET_HEADERS | {name.lower() for name in headers}
        self._open: dict[int, HttpVisit] = {}
        self._bytes = 0
        self._frames = 0
        self._last_status: int | None = None

    async def open(self, request: HttpRequest) -> HttpVisit:
        """Send a request; what comes back is read in a task of its own."""
        # Before the frame is written down: a cancelled call must leave nothing in the recording.
        await anyio.lowlevel.checkpoint_if_cancelled()
        lines = [*request.headers.items(), *self._headers.items()]
        if "Accept-Encoding" not in request.headers:
            # A compressed stream comes late, and a recording would hold what nobody can read.
            lines.append(("Accept-Encoding", "identity"))
        try:
            prepared = self.http.build_request(
                request.method, self._url, headers=lines, content=request.body or None
            )
        except ValueError as error:
            raise FramingError(f"The request cannot be sent over HTTP: {error}") from error
        exchange = self.recorder.new_exchange()
        frame = self.recorder.sent(
            CLIENT_LANE,
            SERVER_LANE,
            request.body,
            connection=self.connection,
            exchange=exchange,
            head=self._without_secrets(
                HttpRequest(request.method, request.path, _headers_of(prepared.headers), b"")
            ),
        )
        visit = self._open[exchange] = HttpVisit(self, prepared, exchange, frame)
        self.tasks.start_soon(visit.run, name=f"live: HTTP exchange {exchange}")
        return visit

    async def aclose(self) -> None:
        """Give the exchanges that are still open a moment to end, then leave them."""
        deadline = anyio.current_time() + _LAST_WORDS_S
        while any(one.answered for one in self._open.values()) and anyio.current_time() < deadline:
            await anyio.sleep(_POLL_S)
        for visit in tuple(self._open.values()):
            visit.abort()

    def seen(self) -> str:
        """How things stand with the endpoint, for the text of an error."""
        if self._last_status is None:
            return f"The endpoint {self.address} has not answered."
        return f"The last response of the endpoint {self.address} was HTTP {self._last_status}."

    # For the visits

    def arrived(self, data: bytes, exchange: int, head: HttpHead | None = None) -> None:
        """Write down what came back.

        Raises:
            ConnectionClosed: it is more than a recording may hold.
        """
        frame = self.recorder.sent(
            SERVER_LANE,
            CLIENT_LANE,
            data,
            connection=self.connection,
            exchange=exchange,
            head=None if head is None else self._without_secrets(head),
        )
        self.recorder.delivered(
            frame, CLIENT_LANE, SERVER_LANE, connection=self.connection, exchange=exchange
        )
        if head is not None:
            self._last_status = head.status
        self._bytes += len(data)
        self._frames += 1
        if self._bytes > MAX_OUTPUT_BYTES or self._frames > MAX_OUTPUT_LINES:
            raise ConnectionClosed(
                f"The server sent more than a recording may hold ({MAX_OUTPUT_BYTES} bytes, "
                f"{MAX_OUTPUT_LINES} events and responses)."
            )

    def closed(self, party: str, peer: str, how: str, exchange: int) -> None:
        """Write down how an exchange ended."""
        self.recorder.closed(party, peer, "exchange", how, connection=self.connection, exchange=exchange)

    def forget(self, exchange: int) -> None:
        """An exchange is over."""
        self._open.pop(exchange, None)

    def _without_secrets(self, head: HttpHead | HttpRequest) -> Head:
        plain = plain_head(head)
        lines = plain.get("headers", [])
        plain["headers"] = [
            [name, NOT_RECORDED if name.lower() in self._secret else value] for name, value in lines
        ]
        return plain


class HttpVisit:
    """One HTTP exchange: an HttpExchange. Made by `HttpEndpoint.open`."""

    def __init__(self, endpoint: HttpEndpoint, request: httpx2.Request, exchange: int, frame: int) -> None:
        self._endpoint = endpoint
        self._request = request
        self._exchange = exchange
        self._frame = frame
        self._scope = anyio.CancelScope()
        # Unbounded: what waits in it was written down, and what is written down is bounded.
        self._arriving, self._chunks = anyio.create_memory_object_stream[bytes](math.inf)
        self._head: HttpHead | None = None
        self._head_is_due = False
        self._has_head = anyio.Event()
        self._failure: Exception | None = None
        self._delivered = False
        self._given_up = False
        self._over = False

    @property
    def answered(self) -> bool:
        """Whether the head of the response is here."""
        return self._head is not None

    async def head(self) -> HttpHead:
        await self._has_head.wait()
        if self._failure is not None:
            raise self._failure
        assert self._head is not None
        return self._head

    async def receive(self) -> bytes:
        if self._given_up and self._failure is not None:
            # At once, and not after all that waits to be read.
            raise self._failure
        try:
            return await self._chunks.receive()
        except anyio.EndOfStream:
            if self._failure is not None:
                raise self._failure from None
            raise

    def abort(self) -> None:
        if self._over:
            return
        with suppress(ConnectionClosed):
            self._write_head_down()
        self._end(ConnectionClosed("The response stream was closed by the client."))
        self._endpoint.closed(CLIENT_LANE, SERVER_LANE, "aborted", self._exchange)
        self._scope.cancel()

    # The reading

    async def run(self) -> None:
        """Send the request and read the response to its end. Never raises for what the server does."""
        try:
            with self._scope:
                await self._talk()
        except (httpx2.HTTPError, OSError) as error:
            self._broke(error)
        except McpSimError as error:
            # We do not want the rest of it.
            self._given_up = True
            self._end(error)
            self._endpoint.closed(CLIENT_LANE, SERVER_LANE, "aborted", self._exchange)
        finally:
            self._end(ConnectionClosed("The connection is closed."))
            self._arriving.close()
            self._endpoint.forget(self._exchange)

    async def _talk(self) -> None:
        self._request.extensions["trace"] = self._trace
        response = await self._endpoint.http.send(self._request, stream=True)
        try:
            self._deliver_request()
            head = HttpHead(response.status_code, _headers_of(response.headers))
            if is_event_stream(head):
                await self._take_stream(head, response)
            else:
                await self._take_whole(head, response)
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    async def _trace(self, name: str, info: Mapping[str, Any]) -> None:
        if name.endswith("send_request_body.complete"):
            self._deliver_request()

    def _deliver_request(self) -> None:
        if not self._delivered:
            self._delivered = True
            self._endpoint.recorder.delivered(
                self._frame,
                SERVER_LANE,
                CLIENT_LANE,
                connection=self._endpoint.connection,
                exchange=self._exchange,
            )

    async def _take_whole(self, head: HttpHead, response: httpx2.Response) -> None:
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                self._endpoint.arrived(b"", self._exchange, head)
                raise UnexpectedResponse(
                    f"HTTP {head.status}: the response has more than {MAX_BODY_BYTES} bytes; it is not read."
                )
        self._endpoint.arrived(bytes(body), self._exchange, head)
        self._check(head)
        if body:
            self._arriving.send_nowait(bytes(body))
        self._head = head
        self._end()

    async def _take_stream(self, head: HttpHead, response: httpx2.Response) -> None:
        self._check(head)
        self._head, self._head_is_due = head, True
        self._has_head.set()
        self._endpoint.tasks.start_soon(self._write_head_down_in_time)
        cutter = SseCutter()
        try:
            async for chunk in response.aiter_raw():
                for piece in cutter.feed(chunk):
                    self._write_down(piece)
                self._arriving.send_nowait(chunk)
        finally:
            rest = cutter.finish()
            if rest and not self._over:
                self._write_down(rest)
        self._write_head_down()
        self._end()
        self._endpoint.closed(SERVER_LANE, CLIENT_LANE, "complete", self._exchange)

    def _check(self, head: HttpHead) -> None:
        coding = head.headers.get("Content-Encoding") or "identity"
        if coding.lower() != "identity":
            raise UnexpectedResponse(
                f"HTTP {head.status}: the response is compressed ({coding}), and we did not ask for that.",
                head.status,
            )
        if head.status in _REDIRECTS:
            there = head.headers.get("Location") or "nowhere"
            raise UnexpectedResponse(
                f"HTTP {head.status}: the endpoint sends us to {there}. We do not follow; if you trust that "
                "address, connect to it.",
                head.status,
            )

    def _write_down(self, piece: bytes) -> None:
        head, self._head_is_due = (self._head if self._head_is_due else None), False
        self._endpoint.arrived(piece, self._exchange, head)

    def _write_head_down(self) -> None:
        if self._head_is_due:
            self._write_down(b"")

    async def _write_head_down_in_time(self) -> None:
        await anyio.sleep(_HEAD_WAITS_S)
        if not self._over:
            # Whether it is too much is found out again by whoever reads.
            with suppress(ConnectionClosed):
                self._write_head_down()

    def _end(self, failure: Exception | None = None) -> None:
        """The exchange is over: well, or with a failure. The first end counts."""
        if not self._over:
            self._over, self._failure = True, failure
            self._has_head.set()

    def _broke(self, error: Exception) -> None:
        endpoint, why = self._endpoint, _why(error)
        if self._over:
            return
        if self._delivered:
            self._write_head_down()
            where = "in the middle of the response" if self.answered else "before a response came"
            self._end(ConnectionClosed(f"The connection to {endpoint.address} broke {where}: {why}."))
            endpoint.closed(CLIENT_LANE, SERVER_LANE, "cut", self._exchange)
            return
        if isinstance(error, httpx2.LocalProtocolError):
            self._end(FramingError(f"The request cannot be sent over HTTP: {why}."))
        else:
            self._end(ConnectionClosed(f"The endpoint {endpoint.address} cannot be reached: {why}."))
        endpoint.recorder.dropped(
            self._frame,
            CLIENT_LANE,
            SERVER_LANE,
            why,
            connection=endpoint.connection,
            exchange=self._exchange,
        )


def _why(error: Exception) -> str:
    """What went wrong, in the words of whoever noticed it first."""
    if isinstance(error, httpx2.ConnectTimeout):
        return f"no connection within {CONNECT_TIMEOUT_S:g} s"
    told, cause = str(error).removesuffix("."), error.__cause__ or error.__context__
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno is not None:
            # The event loop puts words of its own in the place of the system's.
            told = os.strerror(cause.errno)
        cause = cause.__cause__ or cause.__context__
    return told or type(error).__name__


def _headers_of(headers: httpx2.Headers) -> Headers:
    return Headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.raw)
