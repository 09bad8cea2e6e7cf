"""A server at an HTTP endpoint: what arrives is a request head with a body, what leaves is a response.

No sockets here: a simulated link or a real HTTP server brings requests and takes responses.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
"""

from __future__ import annotations

from typing import Any, Final

import anyio

from mcpsim.eras import modern
from mcpsim.eras.negotiation import choose_era_of_server
from mcpsim.eras.revisions import era_of
from mcpsim.errors import MalformedMessage, McpSimError, ProtocolError
from mcpsim.messages import (
    Batch,
    ErrorResponse,
    Message,
    Notification,
    Request,
    RequestId,
    read_batch,
    read_message,
)
from mcpsim.recording.scribe import Scribe
from mcpsim.server.asking import Clock
from mcpsim.server.context import ASK_TIMEOUT_S
from mcpsim.server.dispatch import Dispatcher, Tokens, current_ms
from mcpsim.server.http_reply import (
    EVENT_STREAM,
    FORBIDDEN,
    JSON,
    METHOD_NOT_ALLOWED,
    NOT_ACCEPTABLE,
    UNSUPPORTED_MEDIA_TYPE,
    AnswerStream,
    Refusal,
    modern_status,
)
from mcpsim.server.http_sessions import HttpSessions, PrincipalOf
from mcpsim.server.keeping_alive import KeptAlive
from mcpsim.server.server import Server
from mcpsim.server.subscriptions import OpenSubscriptions
from mcpsim.transports.http import (
    LAST_EVENT_ID_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_ID_HEADER,
    HttpRequest,
    accepts,
    origin_allowed,
)
from mcpsim.transports.streams import HttpReply

#: How long a client shall wait before it takes a stream up again, in milliseconds.
RETRY_MS: Final = 1_000


class HttpServing:
    """Serves one endpoint. All that it remembers are the sessions of legacy clients, and the subscriptions
    of modern ones for as long as their streams are open.

    Args:
        server: what to serve.
        scribe: where to write down what the server knows.
        tokens: makes unguessable names, for session ids too.
        principal_of: who the headers say is asking.
        allowed_origins: values of `Origin` that are welcome beside loopback ones.
        keep_alive_s: after how many quiet seconds an event stream gets a comment; None for never.
        standing_streams: whether legacy clients may open a stream with GET. Without it they hear of nothing
            that belongs to no request of theirs.
        resumable: whether legacy clients may take a broken stream up again: events have ids and are kept for
            a while. Streams of the modern protocol cannot be resumed.
        retry_ms: how long a client shall wait before it does so, in milliseconds.
        state_clock: the time by which request state expires, in whole milliseconds. Servers that stand in for
            one another need the same; by default it is the event loop's, which is one of a simulation.

    Raises:
        ValueError: `keep_alive_s` or `retry_ms` is out of its range; the text says what would be right.
    """

    def __init__(
        self,
        server: Server,
        *,
        scribe: Scribe,
        tokens: Tokens,
        principal_of: PrincipalOf = lambda headers: "",
        allowed_origins: frozenset[str] = frozenset(),
        keep_alive_s: float | None = None,
        standing_streams: bool = True,
        resumable: bool = False,
        retry_ms: int = RETRY_MS,
        state_clock: Clock = current_ms,
    ) -> None:
        if keep_alive_s is not None and not keep_alive_s > 0:
            raise ValueError(f"keep_alive_s must be more than 0 seconds, or None; not {keep_alive_s}.")
        if retry_ms < 0:
            raise ValueError(f"retry_ms must be 0 or more milliseconds, not {retry_ms}.")
        self._server = server
        self._scribe = scribe
        self._tokens = tokens
        self._state_clock = state_clock
        self._principal_of = principal_of
        self._allowed_origins = allowed_origins
        self._keep_alive_s = keep_alive_s
        self._resumable = resumable
        self._standing_streams = standing_streams
        self._sessions = HttpSessions(
            server,
            scribe,
            tokens,
            principal_of,
            resumable=resumable,
            retry_ms=retry_ms,
            changed=self._note_state,
        )
        self._subscriptions = OpenSubscriptions(announces=False, changed=self._note_state)

    def end_subscriptions(self, reason: str = "The server ends its subscriptions.") -> int:
        """End all subscriptions at this endpoint in good order (modern); returns how many.

        https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#graceful-closure
        """
        return self._subscriptions.end_all(reason)

    def close(self) -> None:
        """End all that the endpoint keeps for its clients, in order of their beginning.

        Subscriptions end in good order (modern); sessions end with what is in work for them, and with their
        standing streams (legacy). Nothing of the endpoint listens at the server's `changes` any more, as soon
        as the tasks that serve its subscriptions have run. What comes later is answered as by an endpoint
        that has just begun.
        """
        self.end_subscriptions()
        self._sessions.close()

    async def ask(
        self,
        session: str,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        timeout_s: float = ASK_TIMEOUT_S,
    ) -> dict[str, Any]:
        """Send a request that belongs to none of a client's requests (legacy), and wait for its result. It
        goes on the standing stream of the client's session.

        Args:
            session: the session's id.
            timeout_s: how long to wait, in seconds.

        Raises:
            McpSimError: there is no such session; also as `Context.request`.
            RequestTimeout, ProtocolError: as `Context.request`.
        """
        found = self._sessions.named(session)
        if found is None:
            raise McpSimError(f"There is no session {session!r}.")
        return await found.ask(method, params, timeout_s=timeout_s)

    async def handle(self, request: HttpRequest, reply: HttpReply) -> None:
        """Answer one HTTP request. Never raises for what the client sent."""
        if self._keep_alive_s is None:
            await self._handle(request, reply)
            return
        kept = KeptAlive(reply, self._keep_alive_s)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kept.run, name="server: keep alive")
            await self._handle(request, kept)
            tasks.cancel_scope.cancel()

    async def _handle(self, request: HttpRequest, reply: HttpReply) -> None:
        try:
            self._check_transport(request)
            if request.method == "DELETE":
                await self._sessions.delete(request, reply)
            elif request.method == "GET":
                await self._sessions.listen(request, reply)
            else:
                await self._post(request, reply)
        except Refusal as refusal:
            if refusal.status == NOT_ACCEPTABLE:
                # What the client takes in return says nothing against its message: the error has its id.
                refusal.id = _id_in(request.body)
            await refusal.send(reply)

    def _check_transport(self, request: HttpRequest) -> None:
        if not origin_allowed(request.headers, self._allowed_origins):
            raise Refusal(FORBIDDEN, f"The origin {request.headers.get('Origin')!r} is not allowed here.")
        if request.method in self._legacy_methods(request):
            if request.method == "GET" and not accepts(request.headers, EVENT_STREAM):
                raise Refusal(NOT_ACCEPTABLE, f"The Accept header of a GET must list {EVENT_STREAM}.")
            return
        if request.method != "POST":
            allowed = ", ".join(("POST", *self._legacy_methods(request)))
            raise Refusal(METHOD_NOT_ALLOWED, "", {"Allow": allowed})
        if not (accepts(request.headers, JSON) and accepts(request.headers, EVENT_STREAM)):
            raise Refusal(NOT_ACCEPTABLE, f"The Accept header must list {JSON} and {EVENT_STREAM}.")
        content_type = (request.headers.get("Content-Type") or "").split(";")[0].strip().lower()
        if content_type != JSON:
            raise Refusal(UNSUPPORTED_MEDIA_TYPE, f"The Content-Type must be {JSON}, not {content_type!r}.")

    def _legacy_methods(self, request: HttpRequest) -> tuple[str, ...]:
        """The HTTP methods beside POST that this request may use: none under the modern protocol."""
        spoken = request.headers.get(PROTOCOL_VERSION_HEADER) or ""
        speaks_modern = era_of(spoken) == "modern" and self._server.era != "legacy"
        if not self._server.legacy_versions or speaks_modern:
            return ()
        resumes = LAST_EVENT_ID_HEADER in request.headers and self._resumable
        return ("GET", "DELETE") if self._standing_streams or resumes else ("DELETE",)

    def _note_state(self) -> None:
        self._scribe.state({**self._sessions.remembers(), **self._subscriptions.remembers()})

    async def _post(self, request: HttpRequest, reply: HttpReply) -> None:
        stream = AnswerStream(reply, self._scribe)
        try:
            batches = self._sessions.batches(request)
            message = read_batch(request.body) if batches else read_message(request.body)
        except MalformedMessage as error:
            self._check_session(request)
            # The error about a response or a notification has no id.
            id = error.id if error.expects_answer else None
            refused = ErrorResponse(id, error.code, error.message, error.data)
            await stream.answer(refused, status=modern_status(refused))
            return
        if isinstance(message, Batch) or self._era(message, request) == "legacy":
            try:
                await self._sessions.take(message, request, reply)
            except Refusal as refusal:
                # An error response repeats the id of a request whose id could be read.
                refusal.id = message.id if isinstance(message, Request) else None
                raise
        else:
            await self._modern(message, request, reply, stream)

    def _check_session(self, request: HttpRequest) -> None:
        """What names a session that is over gets 404, also where it cannot be read: only the session says
        whether an array is a batch.

        Raises:
            Refusal: there is no such session.
        """
        names_one = SESSION_ID_HEADER in request.headers and self._server.era != "modern"
        if names_one and era_of(request.headers.get(PROTOCOL_VERSION_HEADER) or "") != "modern":
            self._sessions.check(request)

    def _era(self, message: Message, request: HttpRequest) -> str:
        if self._server.era != "both":
            return self._server.era
        # A session header, even a stale one, or a legacy version header is the mark of a legacy client.
        # A modern request may carry a session header by mistake; its metadata says what it is.
        header_era = era_of(request.headers.get(PROTOCOL_VERSION_HEADER) or "")
        if header_era == "modern" and not isinstance(message, Request):
            return "modern"
        has_session = SESSION_ID_HEADER in request.headers or header_era == "legacy"
        return choose_era_of_server(message, has_session=has_session)

    async def _modern(
        self, message: Message, request: HttpRequest, reply: HttpReply, stream: AnswerStream
    ) -> None:
        """Every request by itself: what answers it is made here and forgotten here."""
        if isinstance(message, Notification):
            # The core protocol has no notification from client to server on HTTP; it is taken in and
            # does nothing. Cancelling is closing the response stream.
            await stream.accept()
            return
        principal = self._principal_of(request.headers)
        visit = modern.Visit(self._server, request.body, request.headers, principal, message)
        dispatcher = Dispatcher(self._server, self._scribe, self._tokens, state_clock=self._state_clock)
        try:
            flight = dispatcher.admit(visit)
        except ProtocolError as error:
            id = message.id if isinstance(message, Request) else None
            refused = ErrorResponse(id, error.code, error.message, error.data)
            await stream.answer(refused, status=modern_status(refused))
            return
        self._subscriptions.bind(visit)
        reply.on_abort(flight.cancel)
        answer = await dispatcher.modern(visit, flight, stream.event, reply.exchange)
        await stream.answer(answer, status=modern_status(answer))


def _id_in(body: bytes) -> RequestId | None:
    """The id of a request; None where this is none."""
    try:
        message = read_message(body)
    except MalformedMessage:
        return None
    return message.id if isinstance(message, Request) else None
