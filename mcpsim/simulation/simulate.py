"""Play a story: client, server and link on the virtual clock, from synchronous code.

The same (story, peers, transport, seed, faults) gives the same recording, byte for byte, everywhere.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

import anyio

from mcpsim.client.client import Client
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import Deadlock, SimulationError
from mcpsim.gateway.gateway import Gateway
from mcpsim.recording import Recorder, Recording
from mcpsim.recording.events import NOTE, Event
from mcpsim.recording.run import Run, single, title_of, value_of
from mcpsim.server.server import Server
from mcpsim.simulation.interventions import Answer, Intervention, Stop
from mcpsim.simulation.loop import STEP_BUDGET, VirtualTimeLoop
from mcpsim.simulation.tokens import SeededTokens
from mcpsim.simulation.watchdog import LIMIT_S
from mcpsim.simulation.world import CLIENT_LANE, SERVER_LANE, Cast, Host, World
from mcpsim.transports.faults import Crash, Fault, FaultPlan
from mcpsim.transports.link import Stdio, StreamableHttp, Wiring
from mcpsim.transports.twists import MakeTwist

Story = Callable[..., Awaitable[Any]]
Clients = Client | Mapping[str, Client] | None
# A call is four of them, and eight through a gateway.
EVENT_LIMIT: Final = 500_000


def simulate(
    story: Story,
    *,
    server: Server,
    client: Clients = None,
    transport: Stdio | StreamableHttp | None = None,
    gateway: Gateway | None = None,
    replicas: int = 1,
    era: ClientEra | None = None,
    seed: int | str = 0,
    faults: Sequence[Fault] = (),
    twist: MakeTwist | None = None,
    connect: bool = True,
    check: bool = True,
    title: str | None = None,
    step_budget: int = STEP_BUDGET,
    step_limit_s: float = LIMIT_S,
    event_limit: int = EVENT_LIMIT,
) -> Run:
    """Play `story` and return what happened.

    Args:
        story: an async function that plays the client's part. It is called with the client, or with each
            client in order where there are several. Where it takes a keyword-only argument `host`, that is
            what the host program can do: start a server process again (see
            `mcpsim.simulation.world.Host`).
        server: the server; it may serve many runs.
        client: the client's description; or several by the name of their lane; None for a plain one.
        transport: `Stdio()` or `StreamableHttp()`, with latency; by default the first, and the second where
            there is a gateway.
        gateway: an HTTP intermediary between the clients and the server, or None.
        replicas: how many processes of the server there are behind the gateway. Sessions and subscriptions
            belong to one of them; what the handlers keep, they share.
        era: the era of a plain client: "modern" (the default), "legacy" or "auto". Not beside `client`.
        seed: where every random draw comes from.
        faults: what goes wrong on the way.
        twist: makes what changes the messages of a peer as it sends them, so that it misbehaves; it is called
            for this run alone. See `mcpsim.transports.twists`.
        connect: whether each client opens the connection (handshake or probe) before the story begins.
        check: whether an error of the story is raised. Otherwise it is in the run's `error`.
        title: what the run shows; the story's first docstring line or its name by default.
        step_budget: how many steps may pass while nothing happens, before the run counts as stuck.
        step_limit_s: how long one step may take, in seconds of the wall clock, before it counts as stuck.
        event_limit: how many events there may be on the wire, before the run counts as one without an end.

    Raises:
        Deadlock, Stuck, RealWorldCall: the simulation cannot go on; the text says why.
        TypeError: an argument is not of its kind, or the story returns a call that it did not await.
        ValueError: the arguments do not go together, as a gateway on stdio; the text says why.
        Exception: whatever the story raises, unless `check` is false.
    """
    simulation = Simulation(
        story,
        server=server,
        client=client,
        transport=transport,
        gateway=gateway,
        replicas=replicas,
        era=era,
        seed=seed,
        faults=faults,
        twist=twist,
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


def _check_story(story: object) -> None:
    if inspect.iscoroutine(story):
        story.close()
        raise TypeError(f"Give the story itself, without calling it: simulate({story.__name__}, ...).")
    if not callable(story):
        raise TypeError(f"A story is an async function, not {_kind(story)}.")
    if inspect.isgeneratorfunction(story) or inspect.isasyncgenfunction(story):
        raise TypeError(f"{title_of(story)!r} is a generator. A story is an async function without yield.")


def _check_kinds(server: object, client: object, transport: object, gateway: object, faults: object) -> None:
    """What is given in the wrong form would otherwise fail deep inside, with a text about something else."""
    if not isinstance(server, Server):
        raise TypeError(f"server must be a Server, such as Server('desk'), not {_kind(server)}.")
    clients = cast("Mapping[str, object]", client) if isinstance(client, Mapping) else {CLIENT_LANE: client}
    for one in clients.values():
        if one is not None and not isinstance(one, Client):
            raise TypeError(
                "client must be a Client, or several by the name of their lane, such as "
                f"{{'ann': Client(), 'bob': Client()}}, not {_kind(one)}."
            )
    if transport is not None and not isinstance(transport, (Stdio, StreamableHttp)):
        raise TypeError(f"transport must be Stdio() or StreamableHttp(), not {_kind(transport)}.")
    if gateway is not None and not isinstance(gateway, Gateway):
        raise TypeError(f"gateway must be a Gateway(), not {_kind(gateway)}.")
    if not isinstance(faults, Sequence) or not all(
        isinstance(one, Fault) for one in cast("Sequence[object]", faults)
    ):
        raise TypeError(f"faults must be a list of faults, such as [Drop('tools/call')], not {faults!r}.")


def _kind(thing: object) -> str:
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"{thing!r:.40}"


@dataclass(frozen=True, slots=True)
class Replay:
    """How a run is played again.

    Attributes:
        arguments: what `Simulation` was told.
        peers: makes the server and the clients anew, as `server` and `client` of these arguments; None where
            the same objects play again, with whatever they keep between runs.
    """

    arguments: Mapping[str, Any]
    peers: Callable[[], Mapping[str, Any]] | None = None

    def simulation(
        self, faults: Sequence[Fault] = (), interventions: Sequence[Intervention] = ()
    ) -> Simulation:
        """The same once more, with what else goes wrong and what people do differently.

        Where one of these faults and one of the first run are about the same message, it is the new one that
        happens.
        """
        told = dict(self.arguments)
        if self.peers is not None:
            told |= self.peers()
        told["faults"] = (*faults, *told["faults"])
        told["interventions"] = (*told["interventions"], *interventions)
        simulation = Simulation(told.pop("story"), **told)
        if self.peers is not None:
            simulation.again = replace(simulation.again, peers=self.peers)
        return simulation


class Simulation:
    """A run that can be taken step by step, from separate synchronous calls. Arguments as of `simulate`, and
    `interventions`: what people do that the story does not say.

    Whoever does not run it to its end calls `close()`, or uses it in a `with` block.

    Attributes:
        again: how it is played again.
    """

    def __init__(
        self,
        story: Story,
        *,
        server: Server,
        client: Clients = None,
        transport: Stdio | StreamableHttp | None = None,
        gateway: Gateway | None = None,
        replicas: int = 1,
        era: ClientEra | None = None,
        seed: int | str = 0,
        faults: Sequence[Fault] = (),
        twist: MakeTwist | None = None,
        connect: bool = True,
        title: str | None = None,
        step_budget: int = STEP_BUDGET,
        step_limit_s: float = LIMIT_S,
        event_limit: int = EVENT_LIMIT,
        interventions: Sequence[Intervention] = (),
    ) -> None:
        if client is not None and era is not None:
            raise ValueError("Say the era in the client's description: Client(era=...).")
        _check_story(story)
        _check_kinds(server, client, transport, gateway, faults)
        self.again = Replay(
            {
                "story": story,
                "server": server,
                "client": client,
                "transport": transport,
                "gateway": gateway,
                "replicas": replicas,
                "era": era,
                "seed": seed,
                "faults": tuple(faults),
                "twist": twist,
                "connect": connect,
                "title": title,
                "step_budget": step_budget,
                "step_limit_s": step_limit_s,
                "event_limit": event_limit,
                "interventions": tuple(interventions),
            }
        )
        described = client if client is not None else Client(era=era or "modern")
        named = described if isinstance(described, Mapping) else {CLIENT_LANE: described}
        self._clients = {lane: one.fresh() for lane, one in named.items()}
        if transport is None:
            transport = Stdio() if gateway is None else StreamableHttp()
        self._cast = Cast(server, transport, gateway, replicas)
        self._cast.check_clients(tuple(self._clients))
        self._story = story
        self._seed = seed
        self._connect = connect
        self._loop = VirtualTimeLoop(
            step_budget=step_budget,
            step_limit_s=step_limit_s,
            progress=lambda: self._recorder.wire_events,
            progress_limit=event_limit,
        )
        self._recorder = Recorder(self._loop.microseconds)
        self._plan = FaultPlan(tuple(faults), tuple(self._clients))
        self._cast.check_crashes(self._plan.crashes)
        self._wiring = Wiring(
            self._loop.microseconds,
            self._loop.set_alarm,
            self._recorder,
            transport,
            self._plan,
            seed,
            self._loop.is_quiet,
            None if twist is None else twist(),
        )
        self._header: dict[str, Any] = {
            "title": title or title_of(story),
            "parties": [*self._clients, *self._cast.lanes],
            "transport": transport.name,
            "era": {lane: one.preferred_era for lane, one in self._clients.items()},
            "server_era": server.era,
            "seed": seed,
            "faults": [fault.describe() for fault in faults],
            **self._cast.describe(),
            "source": "simulation",
        }
        if interventions:
            self._header["interventions"] = [one.describe() for one in interventions]
        self._answers = tuple(one for one in interventions if isinstance(one, Answer))
        self._to_come = deque(self._timed(interventions))
        self._world: World | None = None
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
        self._drive(lambda: main.done() or self._recorder.wire_events > seen, stepwise=True)
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

    def _drive(self, done: Callable[[], bool], *, stepwise: bool = False) -> None:
        main = self._started()
        try:
            self._run_to(done, stepwise=stepwise)
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

    def _timed(self, interventions: Sequence[Intervention]) -> list[tuple[int, Callable[[], object]]]:
        """What happens as soon as there are so many events, in order."""
        found: list[tuple[int, Callable[[], object]]] = [
            (crash.after_events, partial(self._let_die, crash))
            for crash in self._plan.crashes
            if crash.after_events is not None
        ]
        stops = [one for one in interventions if isinstance(one, Stop)]
        found += [(stop.after_events, partial(self._stop, stop)) for stop in stops]
        return sorted(found, key=lambda one: one[0])

    def _run_to(self, done: Callable[[], bool], *, stepwise: bool) -> None:
        recorder = self._recorder
        while self._to_come:
            count, act = self._to_come[0]
            self._loop.run_until(partial(_either, done, recorder, count), stepwise=True)
            if recorder.count < count:
                return
            self._to_come.popleft()
            # After what is ready now: it belongs to the moment of the last event.
            self._loop.call_soon(act)
        self._loop.run_until(done, stepwise=stepwise)

    def _let_die(self, crash: Crash) -> None:
        if self._world is not None:
            self._world.die(crash)

    def _stop(self, stop: Stop) -> None:
        if self._world is not None:
            self._world.stop(stop.connection, stop.id)

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
        run = self._run = Run(
            recording, value=value, error=error, unused_faults=self._plan.unused(), again=self.again
        )
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
        lane = self._cast.servers[0] if SERVER_LANE in waiting else next(iter(self._clients))
        self._recorder.note(lane, f"The run ends here, because nothing more can happen. Waiting: {waiting}.")

    async def _play(self) -> None:
        with ExitStack() as at_the_end:
            async with anyio.create_task_group() as tasks:
                world = World(self._cast, self._wiring, SeededTokens(self._seed), tasks, self._answers)
                self._world = world
                at_the_end.callback(world.close)
                world.start()
                async with AsyncExitStack() as stack:
                    for lane, client in self._clients.items():
                        wire, scribe = world.wire(lane, client)
                        client.server_is_modern = bool(self._cast.server.modern_versions)
                        await stack.enter_async_context(client.attached(wire, scribe))
                    await self._tell(world)
                world.hang_up()

    async def _tell(self, world: World) -> None:
        # An error of the story does not tear the peers down: they close their connections as they always do,
        # and the recording shows it.
        clients = self._clients.values()
        try:
            if self._connect:
                for client in clients:
                    await client.connect()
            value = await value_of(self._story(*clients, **self._beside(world)))
        except Exception as error:
            self._told = _Told(error=error)
        else:
            self._told = _Told(value)

    def _beside(self, world: World) -> dict[str, Any]:
        """What the story gets beside the clients."""
        try:
            parameter = inspect.signature(self._story).parameters.get("host")
        except (TypeError, ValueError):
            # Some callables do not tell their parameters.
            return {}
        if parameter is None or parameter.kind is not parameter.KEYWORD_ONLY:
            return {}
        return {"host": Host(world, self._clients, connect=self._connect)}


def _either(done: Callable[[], bool], recorder: Recorder, count: int) -> bool:
    return recorder.count >= count or done()


@dataclass(frozen=True, slots=True)
class _Told:
    """How the story ended, while the peers still close their connections."""

    value: Any = None
    error: Exception | None = None


def _error_of(main: asyncio.Task[Any]) -> BaseException | None:
    if main.cancelled():
        return SimulationError("The story was cancelled, and nobody but itself could do that.")
    return main.exception()
