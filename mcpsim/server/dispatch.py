"""From an admitted request to its answer: the same for every transport.

Each request has a cancel scope of its own, so that several can be stopped one by one, in request order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from mcpsim.eras import legacy, modern
from mcpsim.errors import INTERNAL_ERROR, INVALID_REQUEST, ConnectionClosed, ProtocolError
from mcpsim.messages import ErrorResponse, Request, RequestId, Response, meta_of, write_message
from mcpsim.recording.scribe import Scribe
from mcpsim.server.context import Context, Send
from mcpsim.server.server import Server

Answer = Response | ErrorResponse

Tokens = Callable[[str], str]
"""Makes an unguessable token for a purpose. In a simulation it comes from the seed."""


@dataclass(slots=True)
class Flight:
    """A request that is being worked on."""

    id: RequestId
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    context: Context | None = None

    def cancel(self) -> None:
        """Stop the work; nothing more is sent for this request."""
        if self.context is not None:
            self.context.silent = True
        self.scope.cancel()


@dataclass(slots=True)
class Questions:
    """The requests that a legacy server has sent to its client and that are not answered yet."""

    next_id: int = 1
    waiting: dict[RequestId, tuple[anyio.Event, list[Response | ErrorResponse]]] = field(
        default_factory=dict[RequestId, tuple[anyio.Event, list[Response | ErrorResponse]]]
    )

    async def ask(self, send: Send, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        """Send a request and wait for its result. Raises ProtocolError where the client answers so."""
        id, self.next_id = self.next_id, self.next_id + 1
        answered, answers = anyio.Event(), list[Response | ErrorResponse]()
        self.waiting[id] = (answered, answers)
        try:
            await send(write_message(Request(id, method, params)))
            await answered.wait()
        finally:
            del self.waiting[id]
        answer = answers[0]
        if isinstance(answer, ErrorResponse):
            raise ProtocolError(answer.code, answer.message, answer.data)
        return answer.result

    def take(self, answer: Response | ErrorResponse) -> bool:
        """Hand an answer to whoever waits for it; False where nobody does."""
        entry = self.waiting.get(answer.id) if answer.id is not None else None
        if entry is None or entry[1]:
            return False
        entry[1].append(answer)
        entry[0].set()
        return True


@dataclass(slots=True)
class Dispatcher:
    """Runs admitted requests of one connection or endpoint.

    `flights` holds the requests in work by id; it is empty whenever nothing is in work.
    """

    server: Server
    scribe: Scribe
    tokens: Tokens
    flights: dict[RequestId, Flight] = field(default_factory=dict[RequestId, Flight])

    def take_off(self, id: RequestId) -> Flight:
        """Enter a request in the table of those in work.

        Raises:
            ProtocolError: -32600, a request with this id is in work already.
        """
        if id in self.flights:
            raise ProtocolError(INVALID_REQUEST, f"A request with the id {id!r} is still being worked on.")
        self.flights[id] = flight = Flight(id)
        return flight

    def cancel(self, id: Any) -> bool:
        """Stop the work on a request; False where there is none with this id (that is no fault)."""
        flight = self.flights.get(id) if isinstance(id, str | int) else None
        if flight is None:
            return False
        flight.cancel()
        return True

    def cancel_all(self) -> None:
        """Stop all work, in request order."""
        for flight in tuple(self.flights.values()):
            flight.cancel()

    async def modern(
        self, visit: modern.Visit, flight: Flight, send: Send, exchange: int = 0
    ) -> Answer | None:
        """Steps 8 and 9 of an admitted request. None where it was cancelled: nothing may be sent then."""
        request = visit.request
        visit.context = flight.context = Context(
            id=request.id,
            method=request.method,
            era="modern",
            version=visit.version,
            capabilities=visit.capabilities,
            meta=visit.meta,
            principal=visit.principal,
            send=send,
            note=self.scribe.note,
            tokens=self.tokens,
        )
        try:
            return await self._run(flight, request, modern.run_handler(visit), exchange)
        finally:
            modern.forget(visit)

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
        params = request.params or {}
        context = flight.context = Context(
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
            ask=lambda method, given: questions.ask(send, method, given),
        )
        try:
            legacy.check_method(request.method, session.version, self.server.capabilities())
            required = self.server.required_capabilities(request)
            missing = modern.missing_capabilities(required, session.capabilities) if required else {}
            if missing:
                raise ProtocolError(
                    INVALID_REQUEST,
                    f"{request.method} needs client capabilities that initialize did not declare: "
                    f"{', '.join(missing)}.",
                )
            route = self.server.route(request.method)
            if route is None:
                raise ProtocolError(-32601, f"Method not found: {request.method}")
            arguments = route.check(params, session.version)
            route.authorise(principal, arguments)
        except ProtocolError as error:
            del self.flights[request.id]
            return ErrorResponse(request.id, error.code, error.message, error.data)
        return await self._run(flight, request, _without_hints(route.run(context, arguments)), exchange)

    async def _run(self, flight: Flight, request: Request, work: Any, exchange: int) -> Answer | None:
        name = request.method
        if name == "tools/call" and request.params is not None:
            name = f"tools/call {request.params.get('name')}"
        scribe = self.scribe
        scribe.started(name, request.id, exchange)
        answer: Answer | None = None
        outcome = "error"
        try:
            with flight.scope:
                try:
                    result: Mapping[str, Any] = await work
                    answer = Response(request.id, dict(result))
                    outcome = "tool error" if result.get("isError") is True else "result"
                except ProtocolError as error:
                    answer = ErrorResponse(request.id, error.code, error.message, error.data)
                except ConnectionClosed:
                    flight.cancel()
                except Exception as error:
                    scribe.note(f"{name} raised {type(error).__name__}: {error}", exchange)
                    answer = ErrorResponse(request.id, INTERNAL_ERROR, "Internal error")
        finally:
            self.flights.pop(request.id, None)
        if flight.scope.cancel_called:
            # Also where the handler finished in the same moment: a cancelled request is not answered.
            scribe.cancelled(name, request.id, exchange)
            return None
        scribe.finished(name, request.id, exchange, outcome)
        return answer


async def _without_hints(work: Any) -> dict[str, Any]:
    # The legacy revisions have no cache hints.
    result = await work
    return {key: value for key, value in result.items() if key not in ("ttlMs", "cacheScope")}


def initialize_result(server: Server, session: legacy.Session) -> dict[str, Any]:
    """The result of `initialize`, after the session was opened."""
    result: dict[str, Any] = {
        "protocolVersion": session.version,
        "capabilities": server.capabilities(),
        "serverInfo": server.identity,
    }
    if server.instructions:
        result["instructions"] = server.instructions
    return result
