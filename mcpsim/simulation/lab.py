"""One connection to a running server, driven by hand: bytes in, one after the other, and whatever comes back.

There is no story and no client here. Whoever holds the connection says what is sent and how much time passes,
in separate synchronous calls, on the virtual clock. Everything is recorded as in any other run.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from typing import Any, Final, TypeVar, cast

import anyio
from anyio.abc import TaskGroup

from mcpsim.errors import ConnectionClosed, McpSimError, SimulationError
from mcpsim.recording import Recorder, Recording, Scribe
from mcpsim.recording.run import single
from mcpsim.server.server import Server
from mcpsim.server.stdio import StdioServing
from mcpsim.simulation.endpoints import ServerEndpoint
from mcpsim.simulation.loop import NumberedTask, VirtualTimeLoop
from mcpsim.simulation.process import Endpoint, HttpProcess, Line
from mcpsim.simulation.tokens import SeededTokens
from mcpsim.simulation.world import CLIENT_LANE, SERVER_LANE, principal_of
from mcpsim.transports.faults import FaultPlan
from mcpsim.transports.http import HttpRequest
from mcpsim.transports.link import End, Stdio, StreamableHttp, Wiring, stdio_pair
from mcpsim.transports.streams import HttpExchange

T = TypeVar("T")

# A hand sends one message at a time: what needs more than this is a handler that never ends.
EVENT_LIMIT: Final = 20_000
STEP_BUDGET: Final = 50_000
STEP_LIMIT_S: Final = 2.0
#: The longest time that can pass at once, in milliseconds.
MAX_WAIT_MS: Final = 24 * 3_600_000
_US_PER_MS: Final = 1_000


class _PausingLoop(VirtualTimeLoop):
    """A loop that may stand still for ever, with tasks that wait, and nobody complains."""

    def rests_until(self, limit_us: int) -> bool:
        """Whether nothing is left to be done before `limit_us` is over, as things are."""
        if self._ready:
            return False
        heap = self._heap
        while heap and heap[0][2].cancelled():
            heapq.heappop(heap)
            self._cancelled_timers -= 1
        return not heap or heap[0][0] > limit_us

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
        **more: Any,
    ) -> NumberedTask[T]:
        """Start a task. Whoever drops the connection drops it too, and that is no mistake."""
        task = super().create_task(coro, name=name, context=context, **more)
        cast("Any", task)._log_destroy_pending = False
        return task


class LabConnection:
    """A connection to a server that is served for as long as somebody holds it.

    Args:
        server: what is served. It may be served elsewhere at the same time.
        transport: `Stdio()` (one process, two pipes) or `StreamableHttp()`, with latency.
        seed: where session ids, state and cursors come from.
        title: the title of the recording.

    Attributes:
        failure: why nothing can happen here any more, or "".
    """

    def __init__(
        self,
        server: Server,
        *,
        transport: Stdio | StreamableHttp | None = None,
        seed: int | str = 0,
        title: str = "Message lab",
    ) -> None:
        self._server = server
        self._transport = transport if transport is not None else Stdio()
        self._loop = _PausingLoop(
            step_budget=STEP_BUDGET,
            step_limit_s=STEP_LIMIT_S,
            progress=lambda: self._recorder.wire_events,
            progress_limit=EVENT_LIMIT,
        )
        self._recorder = Recorder(self._loop.microseconds)
        self._wiring = Wiring(
            self._loop.microseconds,
            self._loop.set_alarm,
            self._recorder,
            self._transport,
            FaultPlan((), (CLIENT_LANE,)),
            seed,
            self._loop.is_quiet,
        )
        self._tokens = SeededTokens(seed)
        self._header: dict[str, Any] = {
            "title": title,
            "parties": [CLIENT_LANE, SERVER_LANE],
            "transport": self._transport.name,
            "server_era": server.era,
            "seed": seed,
            "faults": [],
            "source": "simulation",
        }
        self.failure = ""
        self._frozen: Recording | None = None
        self._end: End | None = None
        self._line: Line | None = None
        self._process: HttpProcess | None = None
        self._exchanges: dict[int, HttpExchange] = {}
        self._main = self._loop.create_task(self._serve(), name="the lab")
        self._run(self._loop.now_us)

    def __enter__(self) -> LabConnection:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def is_http(self) -> bool:
        """Whether what is sent are HTTP requests."""
        return isinstance(self._transport, StreamableHttp)

    @property
    def at_us(self) -> int:
        """The virtual clock, in microseconds."""
        return self._loop.now_us

    @property
    def recording(self) -> Recording:
        """What has happened so far."""
        return self._frozen or self._recorder.recording(self._header)

    @property
    def event_count(self) -> int:
        """How many events there are so far: the position of the next one in the recording."""
        return len(self._recorder.events)

    @property
    def open_exchanges(self) -> tuple[int, ...]:
        """The HTTP exchanges whose response is not over, in order of opening."""
        return tuple(self._exchanges)

    @property
    def is_resting(self) -> bool:
        """Whether nothing will ever happen here unless something is sent."""
        return self._frozen is not None or self._loop.rests_until(1 << 62)

    def send_line(self, data: bytes) -> None:
        """Put bytes into the server's standard input, exactly as they are. Nothing happens until time passes.

        Raises:
            McpSimError: this is an HTTP connection, or it is closed.
        """
        end = self._end
        if end is None:
            raise McpSimError("This server is reached over HTTP: send it an HTTP request.")
        self._check_open()
        self._do(end.send(data), "client: send")

    def send_request(self, request: HttpRequest) -> int:
        """Send an HTTP request; returns the number of its exchange in the recording.

        Raises:
            McpSimError: this is a stdio connection, or it is closed.
        """
        line = self._line
        if line is None:
            raise McpSimError("This server is reached over stdio: send it a line.")
        self._check_open()
        opened: list[int] = []
        self._do(self._exchange(line, request, opened), "client: HTTP request")
        # Nothing has to travel for that.
        self._run(self._loop.now_us, lambda: bool(opened))
        return opened[0] if opened else 0

    def abort(self, exchange: int) -> None:
        """Close the response stream of an exchange from the client's side.

        Raises:
            McpSimError: there is no such exchange open.
        """
        found = self._exchanges.get(exchange)
        if found is None:
            raise McpSimError(f"There is no HTTP exchange {exchange} open.")
        self._check_open()
        self._do(_now(found.abort), "client: close the stream")

    def hang_up(self) -> None:
        """Close the connection as a client does: its standard input, or every stream that is open."""
        self._check_open()
        if self._end is not None:
            self._do(self._end.aclose(), "client: close stdin")
        for exchange in tuple(self._exchanges.values()):
            self._do(_now(exchange.abort), "client: close the stream")

    def settle(self, within_ms: float) -> None:
        """Let everything happen that happens within so many milliseconds, and stop as soon as nothing is left
        to be done in them: the clock does not move for nothing."""
        limit = self._loop.now_us + _microseconds(within_ms)
        self._run(limit)

    def wait(self, ms: float) -> None:
        """Let so many milliseconds pass.

        Raises:
            ValueError: it is no time from 0 to a day.
        """
        limit = self._loop.now_us + _microseconds(ms)
        rung: list[None] = []
        if not self._frozen:
            self._loop.set_alarm(limit, lambda: rung.append(None))
        self._run(limit)

    def close(self) -> None:
        """Give the connection up and free what it holds. What was recorded stays."""
        if self._frozen is not None:
            return
        if self._loop.is_running():
            raise SimulationError("This server is running just now: it cannot be closed from inside.")
        self._freeze()

    def _check_open(self) -> None:
        if self._frozen is not None:
            raise McpSimError(self.failure or "The connection is closed.")

    def _do(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._loop.create_task(self._guarded(work), name=name)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except ConnectionClosed as error:
            self._recorder.note(CLIENT_LANE, str(error))

    def _run(self, limit_us: int, enough: Callable[[], bool] = lambda: False) -> None:
        if self._frozen is not None:
            return
        loop, main = self._loop, self._main
        try:
            loop.run_until(lambda: main.done() or enough() or loop.rests_until(limit_us))
        except (Exception, SystemExit) as error:
            if loop.is_running():
                raise
            self._fail(_told(error))
        except BaseException:
            self._freeze()
            raise
        else:
            if main.done():
                ended = None if main.cancelled() else main.exception()
                self._fail("The server stopped." if ended is None else _told(ended))

    def _fail(self, why: str) -> None:
        self.failure = f"The server cannot go on. {why}"
        self._recorder.note(SERVER_LANE, self.failure)
        self._freeze()

    def _freeze(self) -> None:
        self._frozen = self._recorder.recording(self._header)
        if self._process is not None:
            self._process.close()
        self._exchanges.clear()
        self._loop.cancel_all()

    async def _serve(self) -> None:
        async with anyio.create_task_group() as tasks:
            if self.is_http:
                self._process = HttpProcess(self._wiring, SERVER_LANE, self._endpoint)
                self._line = Line(self._wiring, CLIENT_LANE, self._process, tasks)
            else:
                self._start_pipes(tasks)
            await anyio.sleep_forever()

    def _endpoint(self, scribe: Scribe) -> Endpoint:
        transport = self._transport
        assert isinstance(transport, StreamableHttp)
        return ServerEndpoint(
            self._server,
            scribe=scribe,
            tokens=self._tokens,
            principal_of=principal_of,
            keep_alive_s=transport.keep_alive_s,
            resumable=transport.resumable,
            retry_ms=transport.retry_ms,
        )

    def _start_pipes(self, tasks: TaskGroup) -> None:
        ours, theirs, connection = stdio_pair(self._wiring, CLIENT_LANE, SERVER_LANE)
        scribe = Scribe(self._recorder, SERVER_LANE, connection)
        serving = StdioServing(self._server, theirs, scribe=scribe, tokens=self._tokens)
        tasks.start_soon(serving.run, name=f"server: connection {connection}")
        tasks.start_soon(_read_away, ours, name="client: read")
        self._end = ours

    async def _exchange(self, line: Line, request: HttpRequest, opened: list[int]) -> None:
        exchange = await line.open(request)
        # The link counts exchanges, and the one just opened is the latest.
        number = cast("Any", exchange).back.exchange
        opened.append(number)
        self._exchanges[number] = exchange
        try:
            await exchange.head()
            while True:
                await exchange.receive()
        except anyio.EndOfStream:
            pass
        finally:
            self._exchanges.pop(number, None)


async def _read_away(end: End) -> None:
    """Read what comes: the recording has it."""
    try:
        while True:
            await end.receive()
    except (anyio.EndOfStream, ConnectionClosed):
        pass


async def _now(act: Callable[[], None]) -> None:
    act()


def _told(error: BaseException) -> str:
    # What a handler raises comes in the groups of the tasks around it.
    found = single(error)
    return f"{type(found).__name__}: {found}"


def _microseconds(ms: float) -> int:
    if not 0 <= ms <= MAX_WAIT_MS:
        raise ValueError(f"Time passes in milliseconds from 0 to {MAX_WAIT_MS:,} (a day), not {ms!r}.")
    return round(ms * _US_PER_MS)
