"""From an admitted request to its answer: the same for every transport.

Each request has a cancel scope of its own, so that several can be stopped one by one, in request order.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, cast

import anyio

from mcpsim.eras import legacy, modern
from mcpsim.eras.capabilities import missing_capabilities
from mcpsim.eras.methods import method as method_row
from mcpsim.errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    ConnectionClosed,
    FramingError,
    ProtocolError,
    RequestTimeout,
)
from mcpsim.messages import (
    DEFAULT_LIMITS,
    ErrorResponse,
    Notification,
    Request,
    RequestId,
    Response,
    is_request_id,
    meta_of,
    write_for_readers,
    write_message,
)
from mcpsim.recording.scribe import Scribe
from mcpsim.server.asking import Clock, Desk, Pause, Round, pause_in
from mcpsim.server.context import Asked, Context, Send
from mcpsim.server.operations.calling import CallTool
from mcpsim.server.server import Server

Answer = Response | ErrorResponse
ANSWERS: Final = (Response, ErrorResponse)

#: How many requests of one connection or session may be in work at the same time.
MAX_IN_WORK: Final = 10_000

Tokens = Callable[[str], str]
"""Makes an unguessable token for a purpose. In a simulation it comes from the seed."""

End = Callable[[Pause], Mapping[str, Any]]
"""Makes the result that ends a round."""

ExitAs = Callable[[SystemExit], BaseException]


def current_ms() -> int:
    """The time of the event loop in whole milliseconds: the virtual one in a simulation."""
    # By way of whole microseconds: as a float, 1.001 s are a little less than 1001 ms.
    return round(anyio.current_time() * 1_000_000) // 1000


@dataclass(slots=True)
class Flight:
    """A request that is being worked on.

    Attributes:
        round: what earlier rounds of it brought, where the request says that there were some.
        unread: whether it was cancelled because nobody reads the answers of its connection.
    """

    id: RequestId
    context: Context | None = None
    round: Round | None = None
    unread: bool = False
    _scope: anyio.CancelScope | None = None

    @property
    def scope(self) -> anyio.CancelScope:
        """What the work runs in. Made when it is needed: work that waits for nothing needs none."""
        if self._scope is None:
            self._scope = anyio.CancelScope()
        return self._scope

    def cancel(self, *, gone: bool = False) -> None:
        """Stop the work; nothing more is sent for this request but the withdrawal of its questions.

        Args:
            gone: whether there is nobody any more to send even that to.
        """
        if self.context is not None:
            self.context.silent = True
            self.context.gone = gone
        self.scope.cancel()


@dataclass(slots=True)
class Questions:
    """The requests that a legacy server has sent to its client and that are not answered yet."""

    next_id: int = 1
    waiting: dict[RequestId, tuple[anyio.Event, list[Answer]]] = field(
        default_factory=dict[RequestId, tuple[anyio.Event, list[Answer]]]
    )

    async def ask(self, context: Context, requests: Asked, timeout_s: float) -> list[Answer]:
        """Send requests in the course of another one, and wait for all their answers.

        Raises:
            FramingError: JSON cannot carry one of them, or no reader would take it; none was sent.
            RequestTimeout: not all were answered within `timeout_s` seconds; the others are withdrawn.
        """
        first = self.next_id
        named = [Request(first + at, method, params) for at, (method, params) in enumerate(requests)]
        written = [(request, write_for_readers(request)) for request in named]
        self.next_id += len(named)
        asked: dict[RequestId, str] = {}
        try:
            with anyio.move_on_after(timeout_s):
                try:
                    for request, data in written:
                        id = request.id
                        asked[id] = request.method
                        self.waiting[id] = (anyio.Event(), [])
                        await context.send(data)
                    for id in asked:
                        await self.waiting[id][0].wait()
                except anyio.get_cancelled_exc_class():
                    for id in asked:
                        if not self.waiting[id][1]:
                            await _withdraw(context, id)
                    raise
        finally:
            answers = {id: self.waiting.pop(id)[1] for id in asked}
        late = [f"{method} #{id}" for id, method in asked.items() if not answers[id]]
        if late:
            raise RequestTimeout(f"No answer to {', '.join(late)} within {timeout_s:g} s; it was cancelled.")
        return [answers[id][0] for id in asked]

    def take(self, answer: Answer) -> bool:
        """Hand an answer to whoever waits for it; False where nobody does."""
        entry = self.waiting.get(answer.id) if answer.id is not None else None
        if entry is None or entry[1]:
            return False
        entry[1].append(answer)
        entry[0].set()
        return True


async def _withdraw(context: Context, id: RequestId) -> None:
    if context.gone:
        return
    with anyio.CancelScope(shield=True):
        try:
            # Also where the request that it belongs to is over: a question that nobody needs is still open.
            await context.send(write_message(Notification("notifications/cancelled", {"requestId": id})))
        except ConnectionClosed:
            context.note(f"The cancellation of #{id} could not be sent: the connection is gone.")


@dataclass(slots=True)
class Dispatcher:
    """Runs admitted requests of one connection or endpoint.

    Attributes:
        flights: the requests in work by id; empty whenever nothing is in work.
        clock: the time in whole milliseconds.
        state_clock: the time by which request state expires. Servers that stand in for one another need the
            same, as they need the same key.
        exit_as: makes what goes up in the place of a handler's SystemExit; None: itself does. An event loop
            of asyncio lets that out there and then, and leaves all tasks as they are.
    """

    server: Server
    scribe: Scribe
    tokens: Tokens
    flights: dict[RequestId, Flight] = field(default_factory=dict[RequestId, Flight])
    clock: Clock = current_ms
    state_clock: Clock = current_ms
    exit_as: ExitAs | None = None

    def take_off(self, id: RequestId) -> Flight:
        """Enter a request in the table of those in work.

        Raises:
            ProtocolError: -32600, a request with this id is in work already; -32603, too many are.
        """
        if id in self.flights:
            raise ProtocolError(INVALID_REQUEST, f"A request with the id {id!r} is still being worked on.")
        if len(self.flights) >= MAX_IN_WORK:
            raise ProtocolError(INTERNAL_ERROR, f"There are {MAX_IN_WORK} requests in work already.")
        self.flights[id] = flight = Flight(id)
        return flight

    def cancel(self, message: Notification) -> None:
        """Take in `notifications/cancelled`: stop the work on the request that it names.

        What names no request in work is ignored, as the specification has it: it may have crossed the
        answer on the way.
        https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation#error-handling
        """
        id: Any = (message.params or {}).get("requestId")
        # `true` is not an id, although Python would find it under 1.
        flight = self.flights.get(id) if is_request_id(id) else None
        if flight is None:
            self.scribe.note(f"Nothing to cancel: no request with the id {id!r} is in work.")
            return
        reason: Any = (message.params or {}).get("reason")
        if isinstance(reason, str) and reason:
            self.scribe.note(f"The client cancelled its request #{id}: {reason}")
        flight.cancel()

    def cancel_all(self, *, unread: bool = False) -> None:
        """Stop all work, in request order.

        Args:
            unread: because nobody reads the answers. Who says that has said it of all: of what has not begun
                nothing more is told.
        """
        for flight in tuple(self.flights.values()):
            if unread and not flight.scope.cancel_called:
                flight.unread = True
            flight.cancel(gone=True)

    def admit(self, visit: modern.Visit) -> Flight:
        """Steps 1 to 7 of a modern request, and the check of what it says about rounds before it.

        Raises:
            ProtocolError: the request is refused.
        """
        try:
            modern.admit(visit)
        except ProtocolError:
            raise
        except Exception as error:
            raise self._own_fault(visit.request.method, error) from error
        flight = self.take_off(visit.request.id)
        if "requestState" in visit.params or "inputResponses" in visit.params:
            try:
                flight.round = self._begin_round(visit)
            except ProtocolError:
                del self.flights[flight.id]
                raise
        return flight

    def _begin_round(self, visit: modern.Visit) -> Round | None:
        method = visit.request.method
        row = method_row(method, visit.version)
        if row is None or not row.may_ask:
            self.scribe.note(f"{method} never asks; what it carries as an answer is left aside.")
            return None
        return self._desk().begin(visit.principal, method, visit.params, visit.version, self.scribe.note)

    def _desk(self) -> Desk:
        server = self.server
        keeper = server.state_keepers.of(self.scribe.recorder, self.tokens)
        return Desk(
            server.name, keeper, server.state_ttl_ms, server.single_use_state, self.state_clock, self.tokens
        )

    async def modern(
        self, visit: modern.Visit, flight: Flight, send: Send, exchange: int = 0
    ) -> Answer | None:
        """Steps 8 and 9 of an admitted request. None where it was cancelled: nothing may be sent then."""
        request = visit.request
        if self._called_off(flight):
            return None
        visit.context = flight.context = self._modern_context(visit, flight, send)
        name = _name_of(request)
        self.scribe.started(name, request.id, exchange)
        work, pause = modern.run_handler(visit), partial(self._pause, visit)
        try:
            return await self._run(flight, request, name, work, exchange, pause)
        finally:
            modern.forget(visit)

    def is_plain(self, visit: modern.Visit, flight: Flight) -> bool:
        """Whether the handler of an admitted request is a plain function, for `begin`."""
        route = visit.route
        return isinstance(route, CallTool) and route.is_plain(visit.arguments) and flight.round is None

    def begin(self, visit: modern.Visit, flight: Flight, send: Send) -> Answer | Awaitable[Answer | None]:
        """Steps 8 and 9 of an admitted request whose handler is a plain function, at once.

        A task and a cancel scope for it would take longer than all the rest. It is for when nobody could tell
        the difference: when nothing else can happen before the handler returns.

        Returns:
            The answer. Where the function returned something to be awaited, what makes the answer of it: that
            belongs in a task of its own.
        """
        request, route = visit.request, cast("CallTool", visit.route)
        context = visit.context = flight.context = self._modern_context(visit, flight, send)
        name = _name_of(request)
        self.scribe.started(name, request.id)
        outcome = "error"
        try:
            # What the handler sets in its context must not be there for the next request.
            result = copy_context().run(route.begin, context, visit.arguments)
            if not isinstance(result, dict):
                return self._go_on(visit, flight, name, result)
            result = modern.complete(result, visit)
            answer, outcome = self._answer_of(result, request.id, name, context, partial(self._pause, visit))
        except BaseException as error:
            answer, outcome = self._answer_to(error, request.id, name, context, partial(self._pause, visit))
        self._end(flight)
        modern.forget(visit)
        self.scribe.finished(name, request.id, 0, outcome)
        return answer

    def _end(self, flight: Flight) -> None:
        self.flights.pop(flight.id, None)
        if flight.context is not None:
            # A handler may have kept its context; progress after the answer would break the protocol.
            flight.context.silent = True

    async def _go_on(
        self, visit: modern.Visit, flight: Flight, name: str, rest: Awaitable[dict[str, Any]]
    ) -> Answer | None:
        async def work() -> dict[str, Any]:
            return modern.complete(await rest, visit)

        try:
            pause = partial(self._pause, visit)
            return await self._run(flight, visit.request, name, work(), 0, pause)
        finally:
            modern.forget(visit)

    def _modern_context(self, visit: modern.Visit, flight: Flight, send: Send) -> Context:
        return Context(
            self.server,
            visit.request.id,
            visit.request.method,
            "modern",
            visit.version,
            visit.capabilities,
            visit.meta,
            visit.principal,
            send,
            self.scribe.note,
            self.tokens,
            self.clock,
            round=flight.round,
        )

    def _pause(self, visit: modern.Visit, pause: Pause) -> Mapping[str, Any]:
        round_ = visit.context.round or Round(visit.version, self.scribe.note)
        asked = self._desk().end(round_, pause, visit.principal, visit.request.method, visit.params)
        return modern.complete(asked, visit)

    async def legacy(
        self,
        session: legacy.Session,
        request: Request,
        flight: Flight,
        send: Send,
        questions: Questions,
        principal: str,
        exchange: int = 0,
    ) -> Answer | None:
        """Answer a request of an operating session. None where it was cancelled."""
        if self._called_off(flight):
            return None

        async def ask(requests: Asked, timeout_s: float) -> list[Answer]:
            return await questions.ask(context, requests, timeout_s)

        context = flight.context = Context(
            server=self.server,
            id=request.id,
            method=request.method,
            era="legacy",
            version=session.version,
            capabilities=session.capabilities,
            meta=meta_of(request.params),
            principal=principal,
            send=send,
            note=self.scribe.note,
            tokens=self.tokens,
            clock=self.clock,
            questions=ask,
            session=session,
        )
        try:
            work = self._legacy_work(session, request, principal, context)
        except ProtocolError as error:
            del self.flights[request.id]
            return ErrorResponse(request.id, error.code, error.message, error.data)
        name = _name_of(request)
        self.scribe.started(name, request.id, exchange)
        return await self._run(flight, request, name, work, exchange)

    def _legacy_work(
        self, session: legacy.Session, request: Request, principal: str, context: Context
    ) -> Awaitable[dict[str, Any]]:
        """What has to run for a request, after everything that can be checked before it was."""
        try:
            legacy.check_method(request.method, session.version, session.declared)
            required = self.server.required_capabilities(request)
            missing = missing_capabilities(required, session.capabilities) if required else {}
            if missing:
                raise ProtocolError(
                    INVALID_REQUEST,
                    f"{request.method} needs client capabilities that initialize did not declare: "
                    f"{', '.join(missing)}.",
                )
            route = self.server.route(request.method)
            if route is None:
                raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {request.method}")
            arguments = route.check(request.params or {}, session.version)
            route.authorise(principal, arguments)
        except ProtocolError:
            raise
        except Exception as error:
            raise self._own_fault(request.method, error) from error
        return _without_hints(route.run(context, arguments))

    def _called_off(self, flight: Flight) -> bool:
        """Whether a request was cancelled before its work began; then it never begins."""
        if not flight.scope.cancel_called:
            return False
        self.flights.pop(flight.id, None)
        if not flight.unread:
            self.scribe.note(f"#{flight.id} was cancelled before its handler began.")
        return True

    async def _run(
        self,
        flight: Flight,
        request: Request,
        name: str,
        work: Awaitable[Mapping[str, Any]],
        exchange: int,
        pause: End | None = None,
    ) -> Answer | None:
        scribe = self.scribe
        answer: Answer | None = None
        outcome = "error"
        try:
            with flight.scope:
                try:
                    result = await work
                    answer, outcome = self._answer_of(result, request.id, name, flight.context, pause)
                except BaseException as error:
                    answer, outcome = self._answer_to(error, request.id, name, flight.context, pause)
        finally:
            self._end(flight)
        if flight.scope.cancel_called:
            # Also where the handler finished in the same moment: a cancelled request is not answered.
            scribe.cancelled(name, request.id, exchange)
            return None
        scribe.finished(name, request.id, exchange, outcome)
        return answer

    def _answer_of(
        self, result: Mapping[str, Any], id: RequestId, name: str, context: Context | None, end: End | None
    ) -> tuple[Answer, str]:
        """The answer where a handler returned, and how it ended."""
        swallowed = self._swallowed(name, context)
        if swallowed is not None and end is not None:
            return self._paused(id, name, swallowed, end), "input required"
        return Response(id, dict(result)), "tool error" if result.get("isError") is True else "result"

    def _swallowed(self, name: str, context: Context | None) -> Pause | None:
        """The pause of a round that its handler did not let out: it went on, with no answer to its question.

        The client is asked nevertheless. A result that came about without the answer is worth nothing.
        """
        if context is None or context.round is None or context.round.unanswered is None:
            return None
        asked = ", ".join(map(repr, context.round.unanswered))
        what = f"asked ({asked})" if asked else "sent the client away"
        self.scribe.note(
            f"{name} {what} and went on: it swallowed the pause. What came of it is left aside, and the "
            "round ends here. Let out what is no Exception."
        )
        return Pause(context.round.unanswered)

    def _answer_to(
        self, error: BaseException, id: RequestId, name: str, context: Context | None, pause: End | None
    ) -> tuple[Answer, str]:
        """The answer where a handler ended with an exception, and how it ended. Raises what is no answer."""
        if isinstance(error, ProtocolError):
            return ErrorResponse(id, error.code, error.message, error.data), "error"
        if isinstance(error, Exception):
            swallowed = self._swallowed(name, context)
            if swallowed is not None and pause is not None:
                return self._paused(id, name, swallowed, pause), "input required"
            return ErrorResponse(id, INTERNAL_ERROR, self._own_fault(name, error).message), "error"
        if isinstance(error, anyio.get_cancelled_exc_class()):
            if anyio.current_effective_deadline() == -math.inf:
                raise error
            # Nobody has cancelled this request: the handler awaited something of its own that was.
            self.scribe.note(f"{name} let the cancellation of something else out.")
            return ErrorResponse(id, INTERNAL_ERROR, "Internal error"), "error"
        if isinstance(error, SystemExit) and self.exit_as is not None:
            raise self.exit_as(error) from None
        if not isinstance(error, Pause | BaseExceptionGroup):
            raise error
        found = pause_in(cast("BaseException", error))
        if found is None or pause is None:
            return self._torn(id, name, cast("BaseException", error)), "error"
        if context is not None and context.round is not None and context.round.unanswered:
            # One may get out alone while others were asked beside it: all that is open is asked at once.
            found = Pause(context.round.unanswered)
        return self._paused(id, name, found, pause), "input required"

    def _paused(self, id: RequestId, name: str, pause: Pause, end: End) -> Answer:
        try:
            return Response(id, dict(end(pause)))
        except Exception as error:
            return ErrorResponse(id, INTERNAL_ERROR, self._own_fault(name, error).message)

    def _torn(self, id: RequestId, name: str, error: BaseException) -> Answer:
        """The answer where some tasks of a handler asked, and others failed."""
        failed, rest = BaseExceptionGroup(name, [error]).split((Pause, Exception))
        if rest is not None or failed is None:
            raise error
        return ErrorResponse(id, INTERNAL_ERROR, self._own_fault(name, failed).message)

    def _own_fault(self, name: str, error: BaseException) -> ProtocolError:
        """The error for a fault of our own. What went wrong is for the recording, not for the client."""
        self.scribe.note(f"{name} raised {type(error).__name__}: {error}")
        return ProtocolError(INTERNAL_ERROR, "Internal error")


def write_answer(answer: Answer, scribe: Scribe) -> bytes:
    """The bytes of an answer. Where JSON cannot carry it, or readers would refuse its size, that is a
    fault of our own: -32603 goes out instead."""
    try:
        data = write_message(answer)
    except FramingError as error:
        scribe.note(f"The answer to #{answer.id} could not be written: {error}")
        return write_message(ErrorResponse(answer.id, INTERNAL_ERROR, "Internal error"))
    if len(data) <= DEFAULT_LIMITS.max_bytes:
        return data
    text = f"The answer has {len(data)} bytes; the limit is {DEFAULT_LIMITS.max_bytes}."
    scribe.note(f"#{answer.id}: {text}")
    return write_message(ErrorResponse(answer.id, INTERNAL_ERROR, text))


def _name_of(request: Request) -> str:
    """What a recording calls a handler: the method, and of a call the tool."""
    if request.method == "tools/call" and request.params is not None:
        return f"tools/call {request.params.get('name')}"
    return request.method


async def _without_hints(work: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    # The legacy revisions have no cache hints.
    result = await work
    return {key: value for key, value in result.items() if key not in ("ttlMs", "cacheScope")}


def initialize_result(server: Server, session: legacy.Session) -> dict[str, Any]:
    """The result of `initialize`, after the session was opened."""
    result: dict[str, Any] = {
        "protocolVersion": session.version,
        "capabilities": server.capabilities(session.version),
        "serverInfo": server.identity_in(session.version),
    }
    if server.instructions:
        result["instructions"] = server.instructions
    return result
