"""The legacy half of an HTTP endpoint: sessions that a header names.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from mcpsim.eras import legacy
from mcpsim.messages import Batch, Message, Request, Response
from mcpsim.recording.scribe import Scribe
from mcpsim.server.dispatch import Dispatcher, Tokens
from mcpsim.server.http_reply import BAD_REQUEST, NOT_FOUND, OK, AnswerStream, Refusal, send_json
from mcpsim.server.http_streams import ResumableAnswer, SessionStreams
from mcpsim.server.server import Server
from mcpsim.server.sessions import ServedSession, Taken, answer_batch
from mcpsim.transports.http import (
    LAST_EVENT_ID_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_ID_HEADER,
    Headers,
    HttpRequest,
)
from mcpsim.transports.streams import HttpReply

MAX_SESSIONS: Final = 1_000
#: How many of them a recording shows as remembered at one time.
MAX_SHOWN: Final = 20

PrincipalOf = Callable[[Headers], str]


@dataclass(frozen=True, slots=True)
class HttpSession:
    """A session of an endpoint, and its streams."""

    served: ServedSession
    streams: SessionStreams

    def close(self) -> None:
        """The session is over."""
        self.served.close()
        self.streams.close()


class HttpSessions:
    """The sessions of an endpoint, by id.

    A JSON-RPC answer to a request of a session always has the status 200, also where it is an error: the
    legacy revisions give statuses to what the transport refuses only, and a client would take 404 for the
    end of its session.

    Args:
        resumable: whether the streams of sessions can be resumed.
        retry_ms: how long a client shall wait before it resumes one, in milliseconds.
        changed: called whenever something changed of what is remembered.
    """

    def __init__(
        self,
        server: Server,
        scribe: Scribe,
        tokens: Tokens,
        principal_of: PrincipalOf,
        *,
        resumable: bool,
        retry_ms: int,
        changed: Callable[[], None],
    ) -> None:
        self._server = server
        self._scribe = scribe
        self._tokens = tokens
        self._principal_of = principal_of
        self._resumable = resumable
        self._retry_ms = retry_ms
        self._changed = changed
        self._sessions: dict[str, HttpSession] = {}

    def batches(self, request: HttpRequest) -> bool:
        """Whether the request belongs to a session whose revision knows batches."""
        found = self._named_by(request)
        return found is not None and found.served.session.batches

    def check(self, request: HttpRequest) -> None:
        """Check the session that a request names.

        Raises:
            Refusal: it names none, or one that is not there, or speaks another version than the session.
        """
        self._session_of(request)

    def named(self, id: str) -> ServedSession | None:
        """The session of that id, or None."""
        found = self._sessions.get(id)
        return None if found is None else found.served

    def _named_by(self, request: HttpRequest) -> HttpSession | None:
        id = request.headers.get(SESSION_ID_HEADER)
        found = self._sessions.get(id) if id is not None else None
        # An id is a name and no proof: for anybody but the one who opened it the session is not there.
        if found is not None and found.served.principal != self._principal_of(request.headers):
            return None
        return found

    async def take(self, message: Message | Batch, request: HttpRequest, reply: HttpReply) -> None:
        """Answer one POST.

        Raises:
            Refusal: the transport's rules refuse it.
        """
        if isinstance(message, Batch):
            found = self._session_of(request)
            stream = self._answer_stream(found, reply)
            before = found.served.session.mark
            members = found.served.take_batch(message, stream, reply.exchange)
            self._note_change(found, before)
            await self._answer_batch(found.served, members, stream)
        elif isinstance(message, Request) and SESSION_ID_HEADER not in request.headers:
            await self._without_session(message, request, AnswerStream(reply, self._scribe))
        else:
            found = self._session_of(request)
            stream = self._answer_stream(found, reply)
            before = found.served.session.mark
            # A client that goes away has not cancelled: that takes a notification. The work goes on. What it
            # sends is kept where streams can be resumed, and lost otherwise.
            taken = found.served.take(message, stream, reply.exchange)
            self._note_change(found, before)
            if not isinstance(message, Request):
                if not taken.wanted:
                    raise Refusal(BAD_REQUEST, "Nobody waits for this response.")
                await stream.accept()
            elif taken.work is not None:
                await stream.answer(await taken.work())
            else:
                await stream.answer(taken.answer)

    def _answer_stream(self, found: HttpSession, reply: HttpReply) -> AnswerStream:
        if found.streams.resumable:
            return ResumableAnswer(reply, self._scribe, found.streams)
        return AnswerStream(reply, self._scribe)

    async def _without_session(self, message: Request, request: HttpRequest, stream: AnswerStream) -> None:
        if message.method == "ping":
            # It may come before the handshake, when there is no session to name.
            self._check_version(request, self._server.legacy_versions, "this server")
            await stream.answer(Response(message.id, {}))
            return
        if message.method != "initialize":
            raise self._missing(message.method)
        session = legacy.Session(self._server.legacy_versions)
        dispatcher = Dispatcher(self._server, self._scribe, self._tokens)
        streams = SessionStreams(resumable=self._resumable, retry_ms=self._retry_ms, scribe=self._scribe)
        served = ServedSession(session, dispatcher, streams.put, self._principal_of(request.headers))
        taken = served.take(message, stream)
        headers: dict[str, str] = {}
        if session.phase is not legacy.Phase.NEW:
            session.id = self._tokens("session")
            streams.primes = session.version in legacy.PRIMED_REVISIONS
            self._begin(HttpSession(served, streams))
            headers[SESSION_ID_HEADER] = session.id
        await stream.answer(taken.answer, headers=headers)

    async def _answer_batch(self, found: ServedSession, members: list[Taken], stream: AnswerStream) -> None:
        expected = any(member.answer is not None or member.work is not None for member in members)
        answers = await answer_batch(members, found.dispatcher)
        if answers is not None:
            await stream.finish(answers)
        elif expected:
            await stream.abandon()
        elif not any(member.wanted for member in members):
            raise Refusal(BAD_REQUEST, "Nobody waits for these responses.")
        else:
            await stream.accept()

    async def delete(self, request: HttpRequest, reply: HttpReply) -> None:
        """End the session that a DELETE names.

        Raises:
            Refusal: it names none.
        """
        found = self._session_of(request)
        found.close()
        del self._sessions[found.served.session.id]
        self._changed()
        await send_json(reply, OK)

    async def listen(self, request: HttpRequest, reply: HttpReply) -> None:
        """Answer a GET: open a standing stream, or resume one that the request names; returns when its
        connection is gone.

        Raises:
            Refusal: it names no session, or a stream that cannot be resumed.
        """
        found = self._session_of(request)
        last_event_id = request.headers.get(LAST_EVENT_ID_HEADER)
        if last_event_id is None:
            await found.streams.stand(reply)
        else:
            await found.streams.resume(last_event_id, reply)

    def _session_of(self, request: HttpRequest) -> HttpSession:
        """The session that a request names, after the version header was checked."""
        if SESSION_ID_HEADER not in request.headers:
            raise self._missing(request.method)
        found = self._named_by(request)
        if found is None:
            raise Refusal(NOT_FOUND, "There is no such session (any more); initialize again.")
        # The header must not be invalid or unsupported; that it names the negotiated version is a SHOULD for
        # the client. A session has one version, and a message that says another is refused all the same:
        # nobody could tell by which revision it is to be read. Clients before 2025-06-18 send no header.
        self._check_version(request, (found.served.session.version,), "this session")
        return found

    def _check_version(self, request: HttpRequest, spoken: Sequence[str], who: str) -> None:
        version = request.headers.get(PROTOCOL_VERSION_HEADER)
        if version is not None and version not in spoken:
            raise Refusal(
                BAD_REQUEST,
                f"{PROTOCOL_VERSION_HEADER} says {version!r}; {who} speaks {', '.join(spoken)}.",
            )

    def _missing(self, what: str) -> Refusal:
        return Refusal(
            BAD_REQUEST,
            f"{what} came without the header {SESSION_ID_HEADER}. This server speaks "
            f"{', '.join(self._server.legacy_versions)}, and these begin with a handshake: send initialize "
            "first, its response gives a session id out.",
        )

    def _begin(self, session: HttpSession) -> None:
        self._sessions[session.served.session.id] = session
        if len(self._sessions) > MAX_SESSIONS:
            # A server may end a session at any time; the oldest has most likely been left behind.
            oldest = next(iter(self._sessions))
            self._scribe.note(f"The session {oldest} is ended: there are more than {MAX_SESSIONS}.")
            self._sessions.pop(oldest).close()
        self._changed()

    def close(self) -> None:
        """End all sessions, in order of their beginning."""
        if not self._sessions:
            return
        while self._sessions:
            self._sessions.pop(next(iter(self._sessions))).close()
        self._changed()

    def _note_change(self, found: HttpSession, before: object) -> None:
        if found.served.session.mark != before:
            self._changed()

    def remembers(self) -> dict[str, Any]:
        """The sessions as plain values, for a recording.

        Of very many only the first are shown: every one that begins writes them all down.
        """
        shown = islice(self._sessions.values(), MAX_SHOWN)
        sessions = [one.served.session.remembers() for one in shown]
        more = len(self._sessions) - len(sessions)
        if len(sessions) < 2:
            return sessions[0] if sessions else {}
        return {"sessions": sessions, **({"more sessions": more} if more else {})}
