"""A process that serves: it can die of a fault, and be started again without a memory of before.

What leaves a dead process does not leave it, and what it would write down is not written: tasks of an earlier
life may still have to come to their end, and nobody sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NoReturn, Protocol

import anyio
from anyio.abc import TaskGroup

from mcpsim.errors import ConnectionClosed
from mcpsim.messages import RequestId
from mcpsim.recording import Scribe
from mcpsim.recording.events import HANDLER_CANCELLED
from mcpsim.recording.frames import message_bytes
from mcpsim.transports.faults import Crash
from mcpsim.transports.http import HttpHead, HttpRequest
from mcpsim.transports.link import TO_SERVER, End, Exchange, HttpLink, Wiring, plain_head
from mcpsim.transports.streams import HttpExchange, HttpReply

_US_PER_MS: Final = 1_000
_REFUSED: Final = "nobody listens there: the process is dead"


@dataclass(slots=True)
class Life:
    """The time between a start of a process and its death.

    Attributes:
        running: the handlers at work, by what their events are known by.
        remembers: whether there is anything that will be forgotten.
        exchanges: the HTTP exchanges that are open, by number, in order of opening.
        work: what is cancelled at the end, by exchange.
    """

    alive: bool = True
    running: dict[tuple[str, RequestId, int, int], None] = field(
        default_factory=dict[tuple[str, RequestId, int, int], None]
    )
    remembers: bool = False
    exchanges: dict[int, Exchange] = field(default_factory=dict[int, Exchange])
    work: dict[int, anyio.CancelScope] = field(default_factory=dict[int, anyio.CancelScope])


@dataclass(frozen=True, slots=True)
class MortalScribe(Scribe):
    """Writes for one life of a process, and nothing after it."""

    life: Life = field(default_factory=Life)

    def note(self, text: str, exchange: int = 0) -> None:
        if self.life.alive:
            Scribe.note(self, text, exchange)

    def state(self, remembers: Mapping[str, Any]) -> None:
        if self.life.alive:
            self.life.remembers = bool(remembers)
            Scribe.state(self, remembers)

    def started(self, name: str, id: RequestId, exchange: int = 0) -> None:
        if self.life.alive:
            self.life.running[(name, id, self.connection, exchange)] = None
            Scribe.started(self, name, id, exchange)

    def finished(self, name: str, id: RequestId, exchange: int, outcome: str) -> None:
        if self.life.alive:
            self.life.running.pop((name, id, self.connection, exchange), None)
            Scribe.finished(self, name, id, exchange, outcome)

    def cancelled(self, name: str, id: RequestId, exchange: int) -> None:
        if self.life.alive:
            self.life.running.pop((name, id, self.connection, exchange), None)
            Scribe.cancelled(self, name, id, exchange)


class Process:
    """The part of a process that is the same on both transports.

    Args:
        lane: its lane, such as "server-2".

    Attributes:
        mortal: whether there is any fault that could end it.
        life: the present one, or the last.
    """

    def __init__(self, wiring: Wiring, lane: str) -> None:
        self._wiring = wiring
        self.lane = lane
        self.mortal = bool(wiring.plan.crashes)
        self.life = Life()

    def scribe(self, connection: int = 1) -> MortalScribe:
        """The pen of the present life."""
        return MortalScribe(self._wiring.recorder, self.lane, connection, self.life)

    def meets(self, body: bytes, sender: str, receiver: str, connection: int) -> bool:
        """Whether the process dies of this message, here and now. A later death is prepared."""
        if not self.mortal:
            return False
        crash = self._wiring.plan.crash(
            body, sender=sender, receiver=receiver, connection=connection, process=self.lane
        )
        if crash is None:
            return False
        if not crash.after_ms:
            return self.die(crash)
        at_us = self._wiring.clock() + round(crash.after_ms * _US_PER_MS)
        self._wiring.set_alarm(at_us, partial(self._die_if_it_lives, crash, self.life))
        return False

    def _die_if_it_lives(self, crash: Crash, life: Life) -> None:
        # A process that was started again meanwhile has not seen the message.
        if self.life is life:
            self.die(crash)

    def die(self, crash: Crash) -> bool:
        """Die of a fault; False where it is dead already."""
        life = self.life
        if not life.alive:
            return False
        life.alive = False
        self._wiring.plan.happened(crash)
        recorder = self._wiring.recorder
        recorder.note(self.lane, f"The process of {self.lane} dies.")
        for name, id, connection, exchange in life.running:
            recorder.handler(HANDLER_CANCELLED, self.lane, name, id, connection=connection, exchange=exchange)
        if life.remembers:
            recorder.state(self.lane, {})
        self._break(life)
        if crash.restart_after_ms is not None:
            at_us = self._wiring.clock() + round(crash.restart_after_ms * _US_PER_MS)
            self._wiring.set_alarm(at_us, self._start_again)
        return True

    def _break(self, life: Life) -> None:
        """Break the connections, in order of their opening, and end the work."""
        raise NotImplementedError

    def _start_again(self) -> None:
        raise NotImplementedError


class Endpoint(Protocol):
    """What a process serves in one life."""

    async def serve(self, request: HttpRequest, reply: ProcessReply, client: str) -> None:
        """Answer a request that comes from the lane `client`."""
        ...

    def close(self) -> None:
        """Stop what is in work, in request order, and leave nothing of it behind."""
        ...


class HttpProcess(Process):
    """A process with an HTTP endpoint.

    Args:
        lane: its lane.
        begin: makes what serves in a new life; its memory begins empty.
    """

    def __init__(self, wiring: Wiring, lane: str, begin: Callable[[Scribe], Endpoint]) -> None:
        super().__init__(wiring, lane)
        self._begin = begin
        self._endpoint = begin(self.scribe())

    def close(self) -> None:
        """The run is over; how it is cleared away is no part of it."""
        self.life.alive = False
        self._endpoint.close()

    def _start_again(self) -> None:
        self.life = Life()
        self._endpoint = self._begin(self.scribe())
        self._wiring.recorder.note(
            self.lane, f"The process of {self.lane} is started again. It remembers nothing of before."
        )

    def _break(self, life: Life) -> None:
        for exchange in tuple(life.exchanges.values()):
            if not (exchange.there.is_broken or exchange.back.is_broken):
                exchange.cut()
        life.exchanges.clear()
        self._endpoint.close()
        for scope in tuple(life.work.values()):
            scope.cancel()

    async def handle(self, request: HttpRequest, reply: HttpReply, line: Line) -> None:
        """Take a request in."""
        life = self.life
        if self.meets(request.body, line.client, self.lane, line.connection) or not life.alive:
            return
        with anyio.CancelScope() as scope:
            life.work[reply.exchange] = scope
            try:
                await self._endpoint.serve(request, ProcessReply(self, life, reply, line), line.client)
            finally:
                life.work.pop(reply.exchange, None)


class ProcessReply:
    """The way back of one HTTP exchange, as a process that may die sees it."""

    def __init__(self, process: HttpProcess, life: Life, reply: HttpReply, line: Line) -> None:
        self._process = process
        self._life = life
        self._reply = reply
        self._line = line
        reply.on_abort(self._forget)

    @property
    def exchange(self) -> int:
        """The exchange's number in the recording."""
        return self._reply.exchange

    async def send(self, head: HttpHead | None, body: bytes) -> None:
        """Send the head (the first time) and a piece of the body."""
        if self._life.alive and not self._is_last(head, body):
            await self._reply.send(head, body)

    def _is_last(self, head: HttpHead | None, body: bytes) -> bool:
        """Whether the process dies instead of sending this."""
        process, line = self._process, self._line
        if not process.mortal:
            return False
        message = message_bytes(body, None if head is None else plain_head(head), http=True)
        return process.meets(message, process.lane, line.client, line.connection)

    async def end(self) -> None:
        """Finish the response."""
        if self._life.alive:
            self._forget()
            await self._reply.end()

    def on_abort(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the client goes away before the end."""
        self._reply.on_abort(callback)

    def break_off(self) -> None:
        """Break the connection: what was sent is no complete response, and the client notices."""
        exchange = self._life.exchanges.pop(self.exchange, None)
        if exchange is not None:
            exchange.cut()

    def _forget(self) -> None:
        self._life.exchanges.pop(self.exchange, None)


class Line:
    """The way from one lane to a process: carries HTTP requests, and is refused where the process is dead.

    Args:
        client: the lane that asks.
        behalf: for whom it asks, where it is a gateway.
    """

    def __init__(
        self, wiring: Wiring, client: str, process: HttpProcess, tasks: TaskGroup, behalf: str = ""
    ) -> None:
        self._wiring = wiring
        self._process = process
        self._refused = 0
        self._label = f"{behalf}-{client}-{process.lane}" if behalf else f"{client}-{process.lane}"
        self._link = HttpLink(wiring, client, process.lane, self._handle, tasks, label=self._label)
        self.client = client
        self.connection = self._link.connection

    async def open(self, request: HttpRequest) -> HttpExchange:
        """Send a request.

        Raises:
            ConnectionClosed: the process is dead.
        """
        if not self._process.life.alive:
            await self._refuse(request)
        exchange = await self._link.open(request)
        self._process.life.exchanges[exchange.back.exchange] = exchange
        return exchange

    def hang_up(self) -> None:
        """The client is gone: nothing of it is left on the way."""
        self._link.hang_up()

    async def _handle(self, request: HttpRequest, reply: HttpReply) -> None:
        await self._process.handle(request, reply, self)

    async def _refuse(self, request: HttpRequest) -> NoReturn:
        recorder, lane = self._wiring.recorder, self._process.lane
        exchange = recorder.new_exchange()
        frame = recorder.sent(
            self.client,
            lane,
            request.body,
            connection=self.connection,
            exchange=exchange,
            head=plain_head(request),
        )
        self._refused += 1
        travel_us = self._wiring.travel_us(f"{self._label}:{TO_SERVER}", f"refused {self._refused}")
        await anyio.sleep(travel_us / 1_000_000)
        recorder.dropped(frame, self.client, lane, _REFUSED, connection=self.connection, exchange=exchange)
        raise ConnectionClosed(f"The connection to {lane} was refused: nobody listens there.")


class StdioProcess(Process):
    """A process that a host has started, and that reads and writes pipes. Only the host starts it again.

    It is the stream of the server in it.

    Args:
        end: the process's end of the pipes.
    """

    def __init__(self, wiring: Wiring, lane: str, client: str, end: End, connection: int) -> None:
        super().__init__(wiring, lane)
        self._client = client
        self._end = end
        self._connection = connection

    async def receive(self) -> bytes:
        """The next bytes of the client."""
        data = await self._end.receive()
        for line in data.splitlines(keepends=True):
            body = message_bytes(line, None, http=False)
            if self.meets(body, self._client, self.lane, self._connection):
                raise ConnectionClosed("The process is dead.")
        return data

    async def send(self, data: bytes) -> None:
        """Send bytes to the client."""
        body = message_bytes(data, None, http=False)
        if self.life.alive and not self.meets(body, self.lane, self._client, self._connection):
            await self._end.send(data)
        else:
            raise ConnectionClosed("The process is dead.")

    async def aclose(self) -> None:
        """Close the output."""
        if self.life.alive:
            await self._end.aclose()

    def _break(self, life: Life) -> None:
        # What the process has written is in the pipe, and arrives; what it has not read is lost with it.
        self._wiring.recorder.closed(
            self.lane, self._client, "stdout", "the process died", connection=self._connection
        )
        self._end.incoming.break_off("the process died")
        self._end.outgoing.finish()
