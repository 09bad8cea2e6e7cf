"""Play a story: client, server and link on the virtual clock, from synchronous code.

The same (story, peers, transport, seed, faults) gives the same recording, byte for byte, everywhere.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from random import Random
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup

from mcpsim.client.client import Client
from mcpsim.client.http import HttpWire
from mcpsim.client.stdio import StdioWire
from mcpsim.client.wire import Wire
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import Deadlock, SimulationError
from mcpsim.recording import Recorder, Recording, Scribe
from mcpsim.recording.events import NOTE, Event
from mcpsim.recording.run import Run, single, title_of
from mcpsim.server.http import HttpServing
from mcpsim.server.server import Server
from mcpsim.server.stdio import StdioServing
from mcpsim.simulation.loop import PROGRESS_LIMIT, STEP_BUDGET, VirtualTimeLoop
from mcpsim.simulation.watchdog import LIMIT_S
from mcpsim.transports.faults import Fault, FaultPlan
from mcpsim.transports.link import HttpLink, Stdio, StreamableHttp, Wiring, stdio_pair

Story = Callable[..., Awaitable[Any]]
Clients = Client | Mapping[str, Client] | None
SERVER_LANE = "server"
CLIENT_LANE = "client"


def simulate(
    story: Story,
    *,
    server: Server,
    client: Clients = None,
    transport: Stdio | StreamableHttp | None = None,
    era: ClientEra | None = None,
    seed: int | str = 0,
    faults: Sequence[Fault] = (),
    connect: bool = True,
    check: bool = True,
    title: str | None = None,
    step_budget: int = STEP_BUDGET,
    step_limit_s: float = LIMIT_S,
    event_limit: int = PROGRESS_LIMIT,
) -> Run:
    """Play `story` and return what happened.

    Args:
        story: an async function that plays the client's part. It is called with the client, or with each
            client in order where there are several.
        server: the server; it may serve many runs.
        client: the client's description; or several by the name of their lane; None for a plain one.
        transport: `Stdio()` (the default) or `StreamableHttp()`, with latency.
        era: the era of a plain client: "modern" (the default), "legacy" or "auto". Not beside `client`.
        seed: where every random draw comes from.
        faults: what goes wrong on the way.
        connect: whether each client opens the connection (handshake or probe) before the story begins.
        check: whether an error of the story is raised. Otherwise it is in the run's `error`.
        title: what the run shows; the story's first docstring line or its name by default.
        step_budget: how many steps may pass while nothing happens, before the run counts as stuck.
        step_limit_s: how long one step may take, in seconds of the wall clock, before it counts as stuck.
        event_limit: how many events there may be on the wire, before the run counts as one without an end.

    Raises:
        Deadlock, Stuck, RealWorldCall: the simulation cannot go on; the text says why.
        Exception: whatever the story raises, unless `check` is false.
    """
    simulation = Simulation(
        story,
        server=server,
        client=client,
        transport=transport,
        era=era,
        seed=seed,
        faults=faults,
        connect=connect,
        title=title,
        step_budget=step_budget,
        step_limit_s=step_limit_s,
        event_limit=event_limit,
    )
    run = simulation.finish()
    if check and run.error is not None:
        raise run.error
    return run


class Simulation:
    """A run that can be taken step by step, from separate synchronous calls. Arguments as of `simulate`.

    Whoever does not run it to its end calls `close()`, or uses it in a `with` block.
    """

    def __init__(
        self,
        story: Story,
        *,
        server: Server,
        client: Clients = None,
        transport: Stdio | StreamableHttp | None = None,
        era: ClientEra | None = None,
        seed: int | str = 0,
        faults: Sequence[Fault] = (),
        connect: bool = True,
        title: str | None = None,
        step_budget: int = STEP_BUDGET,
        step_limit_s: float = LIMIT_S,
        event_limit: int = PROGRESS_LIMIT,
    ) -> None:
        if client is not None and era is not None:
            raise ValueError("Say the era in the client's description: Client(era=...).")
        described = client if client is not None else Client(era=era or "modern")
        if inspect.isgeneratorfunction(story) or inspect.isasyncgenfunction(story):
            raise TypeError(
                f"{title_of(story)!r} is a generator. A story is an async function without yield."
            )
        named = described if isinstance(described, Mapping) else {CLIENT_LANE: described}
        self._clients = {lane: one.fresh() for lane, one in named.items()}
        if not self._clients or SERVER_LANE in self._clients:
            raise ValueError(f"There must be a client, and none may be named {SERVER_LANE!r}.")
        self._story = story
        self._server = server
        self._transport = transport if transport is not None else Stdio()
        self._seed = seed
        self._connect = connect
        self._token_counts: dict[str, int] = {}
        self._loop = VirtualTimeLoop(
            step_budget=step_budget,
            step_limit_s=step_limit_s,
            progress=lambda: self._recorder.wire_events,
            progress_limit=event_limit,
        )
        self._recorder = Recorder(self._loop.microseconds)
        self._plan = FaultPlan(tuple(faults))
        self._wiring = Wiring(
            self._loop.microseconds, self._loop.set_alarm, self._recorder, self._transport, self._plan, seed
        )
        self._header: dict[str, Any] = {
            "title": title or title_of(story),
            "parties": [*self._clients, SERVER_LANE],
            "transport": self._transport.name,
            "era": {lane: one.preferred_era for lane, one in self._clients.items()},
            "server_era": server.era,
            "seed": seed,
            "faults": [fault.describe() for fault in faults],
            "source": "simulation",
        }
        self._main: asyncio.Task[Any] | None = None
        self._told: _Told | None = None
        self._run: Run | None = None

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def recording(self) -> Recording:
        """What has happened so far."""
        return self._run.recording if self._run is not None else self._recorder.recording(self._header)

    @property
    def at_us(self) -> int:
        """The virtual clock, in microseconds."""
        return self._loop.now_us

    @property
    def finished(self) -> bool:
        """Whether the run is over."""
        return self._run is not None

    def step(self) -> bool:
        """Run until something happens on the wire; False when the run is over.

        Raises:
            Deadlock, Stuck, RealWorldCall: as `simulate`.
        """
        if self._run is not None:
            return False
        main = self._started()
        seen = self._recorder.wire_events
        self._drive(lambda: main.done() or self._recorder.wire_events > seen)
        return self._run is None or self._recorder.wire_events > seen

    def finish(self) -> Run:
        """Run to the end. An error of the story is in the run's `error`.

        Raises:
            Deadlock, Stuck, RealWorldCall: as `simulate`.
        """
        if self._run is None:
            self._drive(self._started().done)
        return cast("Run", self._run)

    def close(self) -> None:
        """Give an unfinished run up and free what it holds. What was recorded so far stays.

        Raises:
            SimulationError: the simulation is running: the call comes from inside of it.
        """
        if self._loop.is_running():
            raise SimulationError("This simulation is running: it cannot be closed from inside.")
        if self._run is None:
            self._end()

    def _started(self) -> asyncio.Task[Any]:
        if self._main is None:
            self._main = self._loop.create_task(self._play(), name="the story")
        return self._main

    def _drive(self, done: Callable[[], bool]) -> None:
        main = self._started()
        try:
            self._loop.run_until(done)
        except Deadlock as error:
            if self._told is None:
                self._end(error=error)
                raise
            # The story is over, and somebody waits for ever for a message that was lost.
            self._note_who_waits()
            self._conclude(None)
        except SimulationError as error:
            if not self._loop.is_running():
                self._end(error=error)
            raise
        except BaseException:
            self._end()
            raise
        else:
            if main.done():
                self._conclude(_error_of(main))

    def _conclude(self, error: BaseException | None) -> None:
        told = self._told
        if error is None and told is not None:
            self._end(value=told.value, error=told.error)
            return
        error = SimulationError("The story was stopped before its end.") if error is None else single(error)
        self._end(error=error if isinstance(error, Exception) else None)
        if not isinstance(error, Exception):
            raise error

    def _end(self, *, value: Any = None, error: Exception | None = None) -> None:
        # The recording first: what is cancelled now is not part of the story.
        self._note_unasked_errors()
        recording = self._recorder.recording(self._header)
        run = self._run = Run(recording, value=value, error=error, unused_faults=self._plan.unused())
        at_us = self._loop.now_us
        stubborn = self._loop.cancel_all()
        if stubborn:
            text = f"Cancelled at the end of the run, and would not end: {'; '.join(stubborn)}."
            note = Event(at_us, NOTE, next(iter(self._clients)), detail={"text": text})
            self._run = replace(run, recording=Recording(recording.header, (*recording.events, note)))
        if self._main is not None and self._main.done() and not self._main.cancelled():
            # Nobody else will ask for it, and asyncio complains about errors that nobody asked for.
            self._main.exception()

    def _note_unasked_errors(self) -> None:
        for task in self._loop.unasked_errors():
            error = task.exception() if task is not self._main else None
            # What ends the whole run is told as such.
            if isinstance(error, Exception) and not isinstance(error, SimulationError):
                self._recorder.note(
                    next(iter(self._clients)),
                    f"The task {task.get_name()!r} ended with an error that nobody asked for: "
                    f"{type(error).__name__}: {error}",
                )

    def _note_who_waits(self) -> None:
        waiting = self._loop.waiting()
        lane = SERVER_LANE if SERVER_LANE in waiting else next(iter(self._clients))
        self._recorder.note(lane, f"The run ends here, because nothing more can happen. Waiting: {waiting}.")

    async def _play(self) -> None:
        async with anyio.create_task_group() as tasks:
            endpoint = self._endpoint()
            async with AsyncExitStack() as stack:
                for lane, client in self._clients.items():
                    wire, scribe = self._wire(lane, client, tasks, endpoint)
                    await stack.enter_async_context(client.attached(wire, scribe))
                await self._tell()

    async def _tell(self) -> None:
        # An error of the story does not tear the peers down: they close their connections as they always do,
        # and the recording shows it.
        clients = self._clients.values()
        try:
            if self._connect:
                for client in clients:
                    await client.connect()
            value = self._story(*clients)
            if inspect.isawaitable(value):
                value = await value
        except Exception as error:
            self._told = _Told(error=error)
        else:
            self._told = _Told(value)

    def _endpoint(self) -> HttpServing | None:
        if not isinstance(self._transport, StreamableHttp):
            return None
        return HttpServing(
            self._server,
            scribe=Scribe(self._recorder, SERVER_LANE),
            tokens=self._token,
            principal_of=lambda headers: (headers.get("Authorization") or "").removeprefix("Bearer "),
        )

    def _wire(
        self, lane: str, client: Client, tasks: TaskGroup, endpoint: HttpServing | None
    ) -> tuple[Wire, Scribe]:
        if endpoint is not None:
            link = HttpLink(self._wiring, lane, SERVER_LANE, endpoint.handle, tasks)
            scribe = Scribe(self._recorder, lane, link.connection)
            return HttpWire(link, scribe, principal=client.principal), scribe
        ours, theirs, connection = stdio_pair(self._wiring, lane, SERVER_LANE)
        serving = StdioServing(
            self._server,
            theirs,
            scribe=Scribe(self._recorder, SERVER_LANE, connection),
            tokens=self._token,
            principal=client.principal,
        )
        tasks.start_soon(serving.run, name=f"server: connection {connection}")
        scribe = Scribe(self._recorder, lane, connection)
        return StdioWire(ours, scribe), scribe

    def _token(self, purpose: str) -> str:
        """The next token for a purpose: hexadecimal, from the seed."""
        n = self._token_counts.get(purpose, 0) + 1
        self._token_counts[purpose] = n
        return f"{Random(f'{self._seed}:token:{purpose}:{n}').getrandbits(128):032x}"


@dataclass(frozen=True, slots=True)
class _Told:
    """How the story ended, while the peers still close their connections."""

    value: Any = None
    error: Exception | None = None


def _error_of(main: asyncio.Task[Any]) -> BaseException | None:
    if main.cancelled():
        return SimulationError("The story was cancelled, and nobody but itself could do that.")
    return main.exception()
