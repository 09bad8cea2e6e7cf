"""A server at an HTTP endpoint: what arrives is a request head with a body, what leaves is a response.

No sockets here: a simulated link or a real HTTP server brings requests and takes responses.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from mcpsim.eras import legacy, modern
from mcpsim.eras.legacy import Action
from mcpsim.eras.negotiation import choose_era_of_server
from mcpsim.eras.revisions import era_of
from mcpsim.errors import ERROR_CODES, INVALID_REQUEST, MalformedMessage, ProtocolError
from mcpsim.messages import (
    Batch,
    ErrorResponse,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
    read_batch,
    read_message,
    write_message,
)
from mcpsim.recording.scribe import Scribe
from mcpsim.server.dispatch import Answer, Dispatcher, Flight, Questions, Tokens, initialize_result
from mcpsim.server.server import Server
from mcpsim.transports.http import (
    PROTOCOL_VERSION_HEADER,
    SESSION_ID_HEADER,
    Headers,
    HttpHead,
    HttpRequest,
    accepts,
    origin_allowed,
    sse_event,
)
from mcpsim.transports.streams import HttpReply

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"
OK: Final = 200
ACCEPTED: Final = 202
BAD_REQUEST: Final = 400
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
METHOD_NOT_ALLOWED: Final = 405
NOT_ACCEPTABLE: Final = 406
UNSUPPORTED_MEDIA_TYPE: Final = 415

PrincipalOf = Callable[[Headers], str]


@dataclass(slots=True)
class LegacySession:
    """A session of the legacy protocol, with what is in work for it."""

    session: legacy.Session
    dispatcher: Dispatcher
    questions: Questions = field(default_factory=Questions)


class Refusal(Exception):
    """The transport refuses: a status, and a JSON-RPC error where there is something to say."""

    def __init__(self, status: int, text: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(status, text)
        self.id: RequestId | None = None
        self.status = status
        self.text = text
        self.headers = headers or {}


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
        self._sessions: dict[str, LegacySession] = {}

    async def handle(self, request: HttpRequest, reply: HttpReply) -> None:
        """Answer one HTTP request. Never raises for what the client sent."""
        try:
            self._check_transport(request)
            if request.method == "DELETE":
                await self._delete(request, reply)
            else:
                await self._post(request, reply)
        except Refusal as refusal:
            body = b""
            if refusal.text:
                body = write_message(ErrorResponse(refusal.id, INVALID_REQUEST, refusal.text))
            await _send_json(reply, refusal.status, body, refusal.headers)

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
        named = self._sessions.get(request.headers.get(SESSION_ID_HEADER) or "")
        try:
            batches = named is not None and named.session.batches
            message = read_batch(request.body) if batches else read_message(request.body)
        except MalformedMessage as error:
            body = write_message(ErrorResponse(error.id, error.code, error.message, error.data))
            await _send_json(reply, _status(error.code), body)
            return
        if isinstance(message, Batch):
            if named is not None:
                await self._legacy_batch(named, message, request, reply)
            return
        if self._era(message, request, named) == "modern":
            await self._modern(message, request, reply)
            return
        try:
            await self._legacy(message, request, reply)
        except Refusal as refusal:
            # An error response repeats the id of a request whose id could be read.
            refusal.id = message.id if isinstance(message, Request) else None
            raise

    def _era(self, message: Message, request: HttpRequest, named: LegacySession | None) -> str:
        if self._server.era != "both":
            return self._server.era
        # A session header, even a stale one, or a legacy version header is the mark of a legacy client.
        # A modern request may carry a session header by mistake; its metadata says what it is.
        header_era = era_of(request.headers.get(PROTOCOL_VERSION_HEADER) or "")
        has_session = (
            named is not None or request.headers.get(SESSION_ID_HEADER) is not None or header_era == "legacy"
        )
        if header_era == "modern" and not isinstance(message, Request):
            return "modern"
        return choose_era_of_server(message, has_session=has_session)

    # The modern protocol: every request by itself.

    async def _modern(self, message: Message, request: HttpRequest, reply: HttpReply) -> None:
        if isinstance(message, Notification):
            # The core protocol has no notification from client to server on HTTP; it is taken in and
            # does nothing. Cancelling is closing the response stream.
            await _send_json(reply, ACCEPTED, b"")
            return
        visit = modern.Visit(
            self._server, request.body, request.headers, self._principal_of(request.headers), message
        )
        dispatcher = Dispatcher(self._server, self._scribe, self._tokens)
        stream = _Stream(reply)
        try:
            modern.admit(visit)
            flight = dispatcher.take_off(visit.request.id)
        except ProtocolError as error:
            id = message.id if isinstance(message, Request) else None
            await stream.answer(ErrorResponse(id, error.code, error.message, error.data))
            return
        reply.on_abort(flight.cancel)
        await stream.answer(await dispatcher.modern(visit, flight, stream.event, reply.exchange))

    # The legacy protocol: sessions.

    async def _legacy(self, message: Message, request: HttpRequest, reply: HttpReply) -> None:
        if isinstance(message, Request) and message.method == "initialize":
            await self._initialize(message, reply)
            return
        if isinstance(message, Request) and message.method == "ping" and not self._session_id(request):
            # A ping may come before the handshake, when there is no session to name.
            await _send_json(reply, OK, write_message(Response(message.id, {})))
            return
        found = self._session_of(request)
        session = found.session
        try:
            action = session.take(message)
        except ProtocolError as error:
            id = message.id if isinstance(message, Request) else None
            body = write_message(ErrorResponse(id, error.code, error.message, error.data))
            await _send_json(reply, BAD_REQUEST, body)
            return
        if isinstance(message, Request):
            await self._legacy_request(found, message, action, request, reply)
            return
        if isinstance(message, Notification):
            self._legacy_notification(found, message, action)
        elif action is Action.IGNORE or not found.questions.take(message):
            raise Refusal(BAD_REQUEST, "Nobody waits for this response.")
        await _send_json(reply, ACCEPTED, b"")

    def _legacy_notification(self, found: LegacySession, message: Notification, action: Action) -> None:
        if action is Action.BEGIN:
            self._remember(found)
        elif message.method == "notifications/cancelled":
            id = (message.params or {}).get("requestId")
            if not found.dispatcher.cancel(id):
                self._scribe.note(f"Nothing to cancel: no request with the id {id!r} is in work.")

    async def _initialize(self, message: Request, reply: HttpReply) -> None:
        session = legacy.Session(self._server.legacy_versions)
        try:
            session.take(message)
            session.open(message.params or {})
        except ProtocolError as error:
            body = write_message(ErrorResponse(message.id, error.code, error.message, error.data))
            await _send_json(reply, BAD_REQUEST, body)
            return
        session.id = self._tokens("session")
        dispatcher = Dispatcher(self._server, self._scribe, self._tokens)
        self._sessions[session.id] = found = LegacySession(session, dispatcher)
        self._remember(found)
        body = write_message(Response(message.id, initialize_result(self._server, session)))
        await _send_json(reply, OK, body, {SESSION_ID_HEADER: session.id})

    async def _legacy_request(
        self, found: LegacySession, message: Request, action: Action, request: HttpRequest, reply: HttpReply
    ) -> None:
        stream = _Stream(reply)
        if action is Action.ANSWER_PING:
            await stream.answer(Response(message.id, {}))
            return
        try:
            flight = found.dispatcher.take_off(message.id)
        except ProtocolError as error:
            await stream.answer(ErrorResponse(message.id, error.code, error.message, error.data))
            return
        # A client that goes away has not cancelled: that takes a notification. The work goes on, and what
        # it sends is lost, because this server's streams cannot be resumed.
        await stream.answer(await self._legacy_answer(found, message, flight, request, stream, reply))

    async def _legacy_answer(
        self,
        found: LegacySession,
        message: Request,
        flight: Flight,
        request: HttpRequest,
        stream: _Stream,
        reply: HttpReply,
    ) -> Answer | None:
        return await found.dispatcher.legacy(
            found.session,
            message,
            flight,
            stream.event,
            found.questions,
            self._principal_of(request.headers),
            reply.exchange,
        )

    async def _legacy_batch(
        self, found: LegacySession, batch: Batch, request: HttpRequest, reply: HttpReply
    ) -> None:
        self._session_of(request)
        stream = _Stream(reply)
        answers: list[bytes] = []
        for member in batch.members:
            if isinstance(member, MalformedMessage):
                if member.expects_answer:
                    answers.append(
                        write_message(ErrorResponse(member.id, member.code, member.message, member.data))
                    )
                continue
            answer = await self._legacy_member(found, member, request, stream, reply)
            if answer is not None:
                answers.append(write_message(answer))
        if answers:
            await stream.finish(b"[" + b",".join(answers) + b"]", OK)
        else:
            await _send_json(reply, ACCEPTED, b"")

    async def _legacy_member(
        self, found: LegacySession, member: Message, request: HttpRequest, stream: _Stream, reply: HttpReply
    ) -> Answer | None:
        try:
            action = found.session.take(member)
            if not isinstance(member, Request):
                if isinstance(member, Notification):
                    self._legacy_notification(found, member, action)
                else:
                    found.questions.take(member)
                return None
            if action is Action.ANSWER_PING:
                return Response(member.id, {})
            flight = found.dispatcher.take_off(member.id)
        except ProtocolError as error:
            id = member.id if isinstance(member, Request) else None
            return ErrorResponse(id, error.code, error.message, error.data)
        return await self._legacy_answer(found, member, flight, request, stream, reply)

    async def _delete(self, request: HttpRequest, reply: HttpReply) -> None:
        found = self._session_of(request)
        found.dispatcher.cancel_all()
        found.session.phase = legacy.Phase.CLOSED
        del self._sessions[found.session.id]
        self._scribe.state({})
        await _send_json(reply, OK, b"")

    def _session_id(self, request: HttpRequest) -> str | None:
        return request.headers.get(SESSION_ID_HEADER)

    def _session_of(self, request: HttpRequest) -> LegacySession:
        """The session that a request names, after the version header was checked."""
        id = self._session_id(request)
        if id is None:
            raise Refusal(
                BAD_REQUEST, f"The {SESSION_ID_HEADER} header is missing; initialize gives one out."
            )
        found = self._sessions.get(id)
        if found is None:
            raise Refusal(NOT_FOUND, "There is no such session (any more); initialize again.")
        version = request.headers.get(PROTOCOL_VERSION_HEADER)
        if version is not None and version not in self._server.legacy_versions:
            raise Refusal(
                BAD_REQUEST,
                f"{PROTOCOL_VERSION_HEADER}: {version!r} is not a version that this server has sessions in.",
            )
        return found

    def _remember(self, found: LegacySession) -> None:
        sessions = [one.session.remembers() for one in self._sessions.values()]
        self._scribe.state(sessions[0] if len(sessions) == 1 else {"sessions": sessions})


class _Stream:
    """The answer to one request: plain JSON where nothing comes before it, an event stream otherwise."""

    def __init__(self, reply: HttpReply) -> None:
        self._reply = reply
        self._streaming = False

    async def event(self, data: bytes) -> None:
        head = None
        if not self._streaming:
            self._streaming = True
            head = _stream_head()
        await self._reply.send(head, sse_event(data))

    async def answer(self, answer: Answer | None) -> None:
        if answer is None:
            # Cancelled. Where the client still listens (legacy), the stream ends without an answer.
            if not self._streaming:
                await self._reply.send(_stream_head(), b"")
            await self._reply.end()
            return
        status = _status(answer.code) if isinstance(answer, ErrorResponse) else OK
        await self.finish(write_message(answer), status)

    async def finish(self, data: bytes, status: int) -> None:
        if self._streaming:
            await self._reply.send(None, sse_event(data))
            await self._reply.end()
        else:
            await _send_json(self._reply, status, data)


def _stream_head() -> HttpHead:
    # The second header asks reverse proxies not to hold events back.
    return HttpHead(OK, Headers({"Content-Type": EVENT_STREAM, "X-Accel-Buffering": "no"}))


def _status(code: int) -> int:
    # The specification fixes 400 for -32602 only where `_meta` lacks a required field. One status for one
    # code is simpler to rely on, and the official SDK does the same. It fixes none for -32603; what went
    # wrong is inside the server's handler and HTTP itself worked, so it is 200.
    row = ERROR_CODES.get(code)
    if code == -32602:
        return BAD_REQUEST
    return row.http_status if row is not None and row.http_status is not None else OK


async def _send_json(
    reply: HttpReply, status: int, body: bytes, headers: dict[str, str] | None = None
) -> None:
    named = {"Content-Type": JSON, **(headers or {})} if body else dict(headers or {})
    await reply.send(HttpHead(status, Headers(named)), body)
    await reply.end()
