"""A legacy session, seen from the server: what becomes of each message, on every transport.

https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, cast

import anyio

from mcpsim.eras import legacy
from mcpsim.eras.capabilities import declares
from mcpsim.eras.legacy import Action, Phase
from mcpsim.eras.methods import METHODS
from mcpsim.eras.methods import method as method_row
from mcpsim.errors import (
    INVALID_PARAMS,
    URL_ELICITATION_REQUIRED,
    MalformedMessage,
    McpSimError,
    ProtocolError,
)
from mcpsim.messages import (
    Batch,
    ErrorResponse,
    Message,
    Notification,
    Request,
    Response,
    write_message,
)
from mcpsim.server.changes import Change, Listening
from mcpsim.server.context import ASK_TIMEOUT_S, Asked, Context, Send
from mcpsim.server.dispatch import Answer, Dispatcher, Flight, Questions, initialize_result, write_answer
from mcpsim.server.operations.checking import check_params
from mcpsim.utilities.subscriptions import CAPABILITY_OF, RESOURCE_UPDATED
from mcpsim.utilities.uris import is_uri

Work = Callable[[], Awaitable[Answer | None]]
Unrelated = Callable[[bytes], None]

_NAMES: Final = frozenset(row.name for row in METHODS)


def _set_level(session: legacy.Session, params: dict[str, Any]) -> None:
    session.log_level = params["level"]


def _subscribe(session: legacy.Session, params: dict[str, Any]) -> None:
    # A resource may be subscribed to before it is there; what is no URI never will be.
    # https://modelcontextprotocol.io/specification/2025-11-25/server/resources#security-considerations
    uri = params["uri"]
    if not is_uri(uri):
        raise ProtocolError(
            INVALID_PARAMS, f"resources/subscribe: params.uri must be an absolute URI, not {uri!r}."
        )
    session.subscribe(uri)


def _unsubscribe(session: legacy.Session, params: dict[str, Any]) -> None:
    session.unsubscribe(params["uri"])


# The requests that change what is remembered of the client, and do nothing else. Each has an empty result.
# https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging#setting-log-level
# https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions
SETTINGS: Final[dict[str, Callable[[legacy.Session, dict[str, Any]], None]]] = {
    "logging/setLevel": _set_level,
    "resources/subscribe": _subscribe,
    "resources/unsubscribe": _unsubscribe,
}


class Taken(NamedTuple):
    """What became of a message.

    Attributes:
        answer: what to answer at once, or None.
        work: what has to run to get the answer (None: it was cancelled), or None.
        wanted: False for a response to what was never asked.
    """

    answer: Answer | None = None
    work: Work | None = None
    wanted: bool = True


@dataclass(slots=True)
class ServedSession:
    """A session with one legacy client, and what is in work for it.

    While the session operates it listens at the server's hub, and tells its client of what changes: of lists
    as far as the server declared it at the handshake, of the resources that the client subscribed to.

    Attributes:
        unrelated: sends what belongs to no request of the client: the pipe, or a standing stream.
        principal: who opened the session, or "".
    """

    session: legacy.Session
    dispatcher: Dispatcher
    unrelated: Unrelated
    principal: str = ""
    questions: Questions = field(default_factory=Questions)
    _listening: Listening | None = None

    def take(self, message: Message, send: Send, exchange: int = 0) -> Taken:
        """Take one message in.

        Args:
            send: where a handler's own messages go.
            exchange: the number of the HTTP exchange in the recording, or 0.
        """
        try:
            action = self.session.take(message)
            if isinstance(message, Request):
                return self._take_request(message, action, send, exchange)
        except ProtocolError as error:
            # Only requests are refused by an error; what else has no place in a phase is ignored.
            id = message.id if isinstance(message, Request) else None
            return Taken(ErrorResponse(id, error.code, error.message, error.data))
        if isinstance(message, Notification):
            self._take_notification(message, action)
            return Taken()
        if action is not Action.IGNORE and self.questions.take(message):
            return Taken()
        self.dispatcher.scribe.note("Ignored: a response that nobody waits for.")
        # It may have crossed the cancellation of its request on the way, which is no fault of the client's.
        # https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#timing-considerations
        return Taken(wanted=isinstance(message.id, int) and 0 < message.id < self.questions.next_id)

    def _take_request(self, request: Request, action: Action, send: Send, exchange: int) -> Taken:
        if action is Action.ANSWER_INITIALIZE:
            self.session.open(request.params or {})
            result = initialize_result(self.dispatcher.server, self.session)
            self.session.declared = result["capabilities"]
            return Taken(Response(request.id, result))
        if action is Action.ANSWER_PING:
            return Taken(Response(request.id, {}))
        if request.method in SETTINGS:
            return self._set(request)
        flight = self.dispatcher.take_off(request.id)
        return Taken(work=partial(self._run, request, flight, send, exchange))

    def _set(self, request: Request) -> Taken:
        params = request.params or {}
        legacy.check_method(request.method, self.session.version, self.session.declared)
        check_params(request.method, params, self.session.version)
        SETTINGS[request.method](self.session, params)
        return Taken(Response(request.id, {}))

    async def _run(self, request: Request, flight: Flight, send: Send, exchange: int) -> Answer | None:
        answer = await self.dispatcher.legacy(
            self.session, request, flight, send, self.questions, self.principal, exchange
        )
        if isinstance(answer, ErrorResponse) and answer.code == URL_ELICITATION_REQUIRED:
            for visit in _visits(answer.data):
                self.session.begin_visit(visit)
        return answer

    def _take_notification(self, message: Notification, action: Action) -> None:
        if action is Action.IGNORE:
            self.dispatcher.scribe.note(f"Ignored: {message.method}. {self._why_ignored(message.method)}")
        elif action is Action.BEGIN:
            self._listening = self.dispatcher.server.changes.listen(self._tell)
        elif message.method == "notifications/cancelled":
            self.dispatcher.cancel(message)
        elif message.method == "notifications/progress":
            # A client may report it; only to a server that gave a token with its question.
            token = (message.params or {}).get("progressToken")
            self.dispatcher.scribe.note(
                f"Ignored: progress for the token {token!r}. This server does not follow its own requests."
            )
        else:
            row = method_row(message.method, self.session.version)
            if row is None or row.kind != "notification" or row.direction == "to_client":
                self.dispatcher.scribe.note(
                    f"Ignored: {message.method}. This server knows no such notification of a client in "
                    f"{self.session.version}."
                )

    def _why_ignored(self, name: str) -> str:
        if name not in _NAMES:
            return "This server knows no message of this name."
        if self.session.phase is Phase.NEW:
            return "No session has begun."
        return f"The session is in the phase {self.session.phase}."

    def _tell(self, change: Change) -> None:
        if change.visit is not None:
            if self.session.end_visit(change.visit):
                params = {"elicitationId": change.visit}
                self.unrelated(write_message(Notification(change.method, params)))
            return
        capability = CAPABILITY_OF.get(change.method)
        if capability is None or not declares(self.session.declared, capability):
            return
        if change.method != RESOURCE_UPDATED:
            self.unrelated(write_message(Notification(change.method, None)))
        elif change.uri in self.session.subscriptions:
            self.unrelated(write_message(Notification(change.method, {"uri": change.uri})))

    async def ask(
        self, method: str, params: dict[str, Any] | None = None, *, timeout_s: float = ASK_TIMEOUT_S
    ) -> dict[str, Any]:
        """Send a request to the client that belongs to none of its requests, and wait for the result.

        Args:
            timeout_s: how long to wait, in seconds.

        Raises:
            McpSimError: the session does not operate: before `notifications/initialized` a server sends no
                request but a ping. Also as `Context.request`.
            RequestTimeout, ProtocolError: as `Context.request`.

        https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization
        """
        phase = self.session.phase
        if phase is not Phase.OPERATING and not (phase is Phase.INITIALIZING and method == "ping"):
            raise McpSimError(
                f"{method}: the session is {phase}. A server sends requests once notifications/initialized "
                "has come, a ping once initialize was answered, and nothing when it is over."
            )

        async def send(data: bytes) -> None:
            self.unrelated(data)

        async def ask(requests: Asked, timeout_s: float) -> list[Answer]:
            return await self.questions.ask(context, requests, timeout_s)

        dispatcher = self.dispatcher
        context = Context(
            server=dispatcher.server,
            id="",
            method="",
            era="legacy",
            version=self.session.version,
            capabilities=self.session.capabilities,
            meta={},
            principal=self.principal,
            send=send,
            note=dispatcher.scribe.note,
            tokens=dispatcher.tokens,
            clock=dispatcher.clock,
            questions=ask,
            session=self.session,
        )
        return await context.request(method, params, timeout_s=timeout_s)

    def take_batch(self, batch: Batch, send: Send, exchange: int = 0) -> list[Taken]:
        """Take in the members of a batch, in order."""
        return [self._take_member(member, send, exchange) for member in batch.members]

    def _take_member(self, member: Message | MalformedMessage, send: Send, exchange: int) -> Taken:
        if not isinstance(member, MalformedMessage):
            return self.take(member, send, exchange)
        if member.expects_answer:
            return Taken(ErrorResponse(member.id, member.code, member.message, member.data))
        self.dispatcher.scribe.note(f"Not answered, because it is no request: {member.message}")
        return Taken()

    def close(self) -> None:
        """The transport is closed: stop what is in work, in request order."""
        self.session.phase = Phase.CLOSED
        if self._listening is not None:
            self._listening.close()
        self.dispatcher.cancel_all()


def _visits(data: Any) -> list[str]:
    """The ids of the elicitations that an error names; a handler may have made it by hand."""
    named: Any = cast("dict[str, Any]", data).get("elicitations") if isinstance(data, dict) else None
    rows = cast("list[Any]", named) if isinstance(named, list) else []
    ids = [cast("dict[str, Any]", row).get("elicitationId") for row in rows if isinstance(row, dict)]
    return [id for id in ids if isinstance(id, str)]


async def answer_batch(members: Sequence[Taken], dispatcher: Dispatcher) -> bytes | None:
    """Run what the members of a batch ask for, all at the same time, and write their answers as one array.

    The answers stand in the order of the requests. None where there is nothing to answer.
    https://modelcontextprotocol.io/specification/2025-03-26/basic/index#batching
    """
    answers = [member.answer for member in members]

    async def run(index: int, work: Work) -> None:
        answers[index] = await work()

    async with anyio.create_task_group() as tasks:
        for index, member in enumerate(members):
            if member.work is not None:
                tasks.start_soon(run, index, member.work, name=f"server: member {index + 1} of a batch")
    written = [write_answer(answer, dispatcher.scribe) for answer in answers if answer is not None]
    return b"[" + b",".join(written) + b"]" if written else None
