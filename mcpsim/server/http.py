"""A server at an HTTP endpoint: what arrives is a request head with a body, what leaves is a response.

No sockets here: a simulated link or a real HTTP server brings requests and takes responses.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
"""

from __future__ import annotations

from mcpsim.eras import modern
from mcpsim.eras.negotiation import choose_era_of_server
from mcpsim.eras.revisions import era_of
from mcpsim.errors import MalformedMessage, ProtocolError
from mcpsim.messages import Batch, ErrorResponse, Message, Notification, Request, read_batch, read_message
from mcpsim.recording.scribe import Scribe
from mcpsim.server.dispatch import Dispatcher, Tokens
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
from mcpsim.server.server import Server
from mcpsim.transports.http import (
    PROTOCOL_VERSION_HEADER,
    SESSION_ID_HEADER,
    HttpRequest,
    accepts,
    origin_allowed,
)
from mcpsim.transports.streams import HttpReply


class HttpServing:
    """Serves one endpoint. All that it remembers are the sessions of legacy clients.

    Args:
        server: what to serve.
        scribe: where to write down what the server knows.
        tokens: makes unguessable names, for session ids too.
        principal_of: who the headers say is asking.
        allowed_origins: values of `Origin` that are welcome beside loopback ones.
    """

    def __init__(
        self,
        server: Server,
        *,
        scribe: Scribe,
        tokens: Tokens,
        principal_of: PrincipalOf = lambda headers: "",
        allowed_origins: frozenset[str] = frozenset(),
    ) -> None:
        self._server = server
        self._scribe = scribe
        self._tokens = tokens
        self._principal_of = principal_of
        self._allowed_origins = allowed_origins
        self._sessions = HttpSessions(server, scribe, tokens, principal_of)

    async def handle(self, request: HttpRequest, reply: HttpReply) -> None:
        """Answer one HTTP request. Never raises for what the client sent."""
        try:
            self._check_transport(request)
            if request.method == "DELETE":
                await self._sessions.delete(request, reply)
            else:
                await self._post(request, reply)
        except Refusal as refusal:
            await refusal.send(reply)

    def _check_transport(self, request: HttpRequest) -> None:
        if not origin_allowed(request.headers, self._allowed_origins):
            raise Refusal(FORBIDDEN, f"The origin {request.headers.get('Origin')!r} is not allowed here.")
        if request.method == "DELETE" and self._server.legacy_versions:
            return
        if request.method != "POST":
            # Legacy clients may ask for a standing stream with GET; this server has none to offer.
            allowed = "POST, DELETE" if self._server.legacy_versions else "POST"
            raise Refusal(METHOD_NOT_ALLOWED, "", {"Allow": allowed})
        if not (accepts(request.headers, JSON) and accepts(request.headers, EVENT_STREAM)):
            raise Refusal(NOT_ACCEPTABLE, f"The Accept header must list {JSON} and {EVENT_STREAM}.")
        content_type = (request.headers.get("Content-Type") or "").split(";")[0].strip().lower()
        if content_type != JSON:
            raise Refusal(UNSUPPORTED_MEDIA_TYPE, f"The Content-Type must be {JSON}, not {content_type!r}.")

    async def _post(self, request: HttpRequest, reply: HttpReply) -> None:
        named = self._sessions.named_by(request)
        stream = AnswerStream(reply, self._scribe)
        try:
            batches = named is not None and named.session.batches
            message = read_batch(request.body) if batches else read_message(request.body)
        except MalformedMessage as error:
            refused = ErrorResponse(error.id, error.code, error.message, error.data)
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
        dispatcher = Dispatcher(self._server, self._scribe, self._tokens)
        try:
            flight = dispatcher.admit(visit)
        except ProtocolError as error:
            id = message.id if isinstance(message, Request) else None
            refused = ErrorResponse(id, error.code, error.message, error.data)
            await stream.answer(refused, status=modern_status(refused))
            return
        reply.on_abort(flight.cancel)
        answer = await dispatcher.modern(visit, flight, stream.event, reply.exchange)
        await stream.answer(answer, status=modern_status(answer))
