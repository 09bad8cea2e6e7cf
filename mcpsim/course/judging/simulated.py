"""The judges that need nothing but this package: they play runs in the simulator, and read the recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcpsim.audit.rule import MUST, SHOULD
from mcpsim.client import Client
from mcpsim.course.judging.ruling import Outcome, Ruling
from mcpsim.course.judging.tour import (
    Called,
    Plan,
    Tour,
    User,
    call_once,
    get_by,
    look_at_everything,
    stop_it,
)
from mcpsim.eras.pages import SPECIFICATION
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import INTERNAL_ERROR, MISSING_CLIENT_CAPABILITY, SimulationError
from mcpsim.recording import Recording
from mcpsim.recording.events import HANDLER_CANCELLED, HANDLER_FINISHED, HANDLER_STARTED, NOTE
from mcpsim.server import Server
from mcpsim.simulation import Run, simulate
from mcpsim.transports.faults import Cut, Delay, Drop, Duplicate, Fault
from mcpsim.transports.link import Stdio, StreamableHttp

SERVER: Final = "server"
SEEDS: Final = (1, 2)
JITTER_MS: Final = 15.0
#: A tool that takes this long can be stopped.
LONG_S: Final = 0.5
#: So long a handler may clean up.
GRACE_S: Final = 1.0
#: Where in its work a tool is stopped; and once as soon as the call has arrived, and once so shortly before
#: the answer came that it may be tidying up already, in seconds.
STOPS: Final = (0.3, 0.7)
AT_ONCE_S: Final = 0.05
AT_LAST_S: Final = 0.09
STEP_LIMIT_S: Final = 5.0
EVENT_LIMIT: Final = 20_000
_US: Final = 1_000_000
_RAISED: Final = " raised "

AtRest = Callable[[], object]


@dataclass(frozen=True, slots=True)
class World:
    """One setting of a run."""

    era: ClientEra
    transport: Stdio | StreamableHttp
    seed: int

    def __str__(self) -> str:
        way = "stdio" if isinstance(self.transport, Stdio) else "Streamable HTTP"
        return f"{self.era}, {way}"


@dataclass(frozen=True, slots=True)
class Accident:
    """Something that goes wrong on the way of a call."""

    what: str
    fault: Callable[[int], Fault]


ACCIDENTS: Final = (
    Accident("an answer that comes late", lambda nth: Delay("result of tools/call", nth=nth, by_ms=5_000)),
    Accident("an answer that is lost", lambda nth: Drop("result of tools/call", nth=nth)),
    Accident("a call that arrives twice", lambda nth: Duplicate("tools/call", nth=nth)),
    Accident("a connection that breaks before the call", lambda nth: Cut("tools/call", nth=nth)),
    Accident("a connection that breaks before the answer", lambda nth: Cut("result of tools/call", nth=nth)),
)


class Found(Exception):
    """A judge has found something: what, and in which run."""

    def __init__(self, seen: str, recording: Recording | None = None) -> None:
        super().__init__(seen)
        self.seen = seen
        self.recording = recording


class Simulator:
    """Plays runs with one server, and keeps what they leave.

    Args:
        make: makes the server, once a run.
        plan: how it is tried.
        at_rest: says after each run whether nothing is left of it; None: nobody can say.
    """

    def __init__(self, make: Callable[[], Server], plan: Plan, at_rest: AtRest | None = None) -> None:
        self._make = make
        self._plan = plan
        self._at_rest = at_rest
        self._recordings: list[tuple[str, Recording]] = []
        self._tours: list[tuple[World, Tour, Recording]] = []

    def rulings(self) -> tuple[Ruling, ...]:
        """What all judges of this kind say."""
        said: list[Ruling] = []
        for judge, ask in self._judges():
            if said and not self._tours:
                unasked = "Nothing more was tried: the first look at the server did not come to its end."
                said.append(Ruling(judge, Outcome.NOT_ASKED, unasked))
                continue
            try:
                said.append(Ruling(judge, Outcome.PASSED, ask()))
            except Found as found:
                said.append(Ruling(judge, Outcome.NOT_YET, found.seen, found.recording))
        return tuple(said)

    def _judges(self) -> tuple[tuple[str, Callable[[], str]], ...]:
        return (
            ("lists", self._lists),
            ("calls", self._calls),
            ("questions", self._questions),
            ("stop", self._stop),
            ("faults", self._faults),
            ("audit", self._audit),
        )

    # The judges

    def _lists(self) -> str:
        tours: list[tuple[World, Tour, Recording]] = []
        for world in self._worlds():
            user = User(self._plan)

            async def story(client: Client, user: User = user) -> Tour:
                return await look_at_everything(client, self._plan, user)

            run = self._play(story, user.client(world.era), world, "Look at everything")
            if run.error is not None:
                raise Found(f"In {world}: {_told(run.error)}.", run.recording)
            tours.append((world, run.value, run.recording))
        self._tours = tours
        first = tours[0][1]
        for world, tour, recording in tours:
            for method, names in tour.lists.items():
                if len(set(names)) < len(names):
                    raise Found(f"In {world}: {method} has a name twice: {', '.join(names)}.", recording)
            if tour.lists != first.lists:
                raise Found(
                    f"The lists differ from run to run. In {tours[0][0]}: {_listed(first)}. "
                    f"In {world}: {_listed(tour)}.",
                    recording,
                )
        if not any(first.lists.values()):
            raise Found("The server has no tool, no resource and no prompt.", tours[0][2])
        return f"{_listed(first)}. The same, in the same order, in {_count(len(tours), 'run')}."

    def _calls(self) -> str:
        for world, tour, recording in self._tours:
            for name, called in tour.called.items():
                if called.failed:
                    raise Found(f"In {world}: {name} failed: {called.text}", recording)
            self._check_handlers(world, recording)
        called = self._called
        if not called:
            raise Found("There is no tool to call.")
        told = sum(one.steps > 0 for one in called.values())
        asked = sum(one.questions > 0 for one in called.values())
        return (
            f"Each of {_count(len(called), 'tool')} gave a result in {_count(len(self._tours), 'run')}; "
            f"{told} told of progress, {asked} asked the user."
        )

    def _questions(self) -> str:
        asking = [name for name, called in self._called.items() if called.questions]
        if not asking:
            return "No tool asks the user anything."
        runs = 0
        for name in asking:
            for reply in ("decline", "cancel", ""):
                for world in self._worlds(SEEDS[:1]):
                    self._reply(name, reply, world)
                    runs += 1
        return (
            f"{', '.join(asking)}: declined, dismissed, and called by a client that cannot ask, in "
            f"{_count(runs, 'run')}. There was an answer every time."
        )

    def _reply(self, name: str, reply: str, world: World) -> None:
        user = User(self._plan, reply)

        async def story(client: Client) -> str:
            return await call_once(client, name, self._arguments[name])

        client = user.client(world.era) if reply else Client("judge", era=world.era)
        run = self._play(story, client, world, f"The user's reply is: {reply or 'none'}")
        when = f"In {world}, {_REPLIES[reply]}, "
        if run.error is not None:
            raise Found(f"{when}{name} did not come to an answer: {_told(run.error)}.", run.recording)
        self._check_handlers(world, run.recording)
        refusals = () if reply else (str(MISSING_CLIENT_CAPABILITY),)
        if run.value not in ("result", "tool error", *refusals) and (
            reply or run.value == str(INTERNAL_ERROR)
        ):
            raise Found(f"{when}{name} ended with the error {run.value}.", run.recording)

    def _stop(self) -> str:
        long = {name: called for name, called in self._called.items() if called.seconds >= LONG_S}
        if not long:
            return "No tool takes half a second, so none can be stopped."
        runs = 0
        for name, called in long.items():
            within = (part * called.seconds for part in STOPS)
            for after_s in (AT_ONCE_S, *within, called.seconds - AT_LAST_S):
                for world in self._worlds(SEEDS[:1]):
                    self._stop_at(name, round(after_s, 3), world)
                    runs += 1
        return (
            f"{', '.join(long)}: stopped at once, early, late and at the end in {_count(runs, 'run')}. The "
            f"work ended within {GRACE_S:g} s{self._at_rest_too()}."
        )

    def _stop_at(self, name: str, after_s: float, world: World) -> None:
        user = User(self._plan)

        async def story(client: Client) -> float:
            return await stop_it(client, name, self._arguments[name], after_s)

        run = self._play(story, user.client(world.era), world, f"Stop {name} after {after_s:g} s")
        when = f"In {world}: {name} was stopped after {after_s:g} s"
        if run.error is not None:
            raise Found(f"{when}: {_told(run.error)}.", run.recording)
        self._check_handlers(world, run.recording)
        late = _last_end_s(run.recording) - run.value
        if late > GRACE_S:
            raise Found(f"{when}, and its handler went on for {late:.1f} s.", run.recording)

    def _faults(self) -> str:
        names = list(self._called)
        runs = 0
        for index, accident in enumerate(ACCIDENTS):
            for number, world in enumerate(self._worlds(SEEDS[index % len(SEEDS) :][:1])):
                nth = 1 + (index + number) % max(1, len(names))
                self._accident(accident, nth, world)
                runs += 1
        return (
            f"In {_count(runs, 'run')} something went wrong on the way: "
            f"{_series([one.what for one in ACCIDENTS])}. "
            f"The next client was served as ever{self._at_rest_too()}."
        )

    def _accident(self, accident: Accident, nth: int, world: World) -> None:
        unlucky, next_one = User(self._plan), User(self._plan)

        seconds = {name: called.seconds for name, called in self._called.items()}

        async def story(first: Client, second: Client) -> Tour:
            await get_by(first, self._arguments, seconds)
            return await look_at_everything(second, self._plan, next_one)

        clients = {"unlucky": unlucky.client(world.era), "next": next_one.client(world.era)}
        run = self._play(story, clients, world, accident.what.capitalize(), [accident.fault(nth)])
        when = f"In {world}, after {accident.what}: "
        if run.error is not None:
            raise Found(f"{when}{_told(run.error)}.", run.recording)
        self._check_handlers(world, run.recording)
        expected, tour = self._tours[0][1], run.value
        if tour.lists != expected.lists:
            raise Found(f"{when}the next client is shown other lists: {_listed(tour)}.", run.recording)
        for name, called in tour.called.items():
            if called.failed:
                raise Found(f"{when}the next client's call of {name} failed: {called.text}", run.recording)

    def _audit(self) -> str:
        messages = 0
        for title, recording in self._recordings:
            report = recording.audit()
            messages += report.messages
            for level in (MUST, SHOULD):
                for finding in report.of_level(level):
                    if finding.party == SERVER:
                        raise Found(
                            f"{finding.rule} ({level}), in the run {title!r}: {finding.message}\n"
                            f"{SPECIFICATION}/{finding.spec}",
                            recording,
                        )
        return (
            f"{messages} messages in {_count(len(self._recordings), 'run')}: the server broke no rule, "
            "neither MUST nor SHOULD."
        )

    # What they share

    @property
    def _called(self) -> Mapping[str, Called]:
        return self._tours[0][1].called

    @property
    def _arguments(self) -> dict[str, Mapping[str, Any]]:
        return {name: self._plan.calls.get(name, {}) for name in self._called}

    def _worlds(self, seeds: Sequence[int] = SEEDS) -> Iterator[World]:
        eras: tuple[ClientEra, ...] = ("modern", "legacy")
        spoken = self._make().era
        for seed in seeds:
            for era in eras:
                if spoken in ("both", era):
                    yield World(era, Stdio(jitter_ms=JITTER_MS), seed)
                    yield World(era, StreamableHttp(jitter_ms=JITTER_MS), seed)

    def _play(
        self,
        story: Callable[..., Any],
        client: Client | Mapping[str, Client],
        world: World,
        title: str,
        faults: Sequence[Fault] = (),
    ) -> Run:
        where = f"{title} ({world})"
        try:
            run = simulate(
                story,
                server=self._make(),
                client=client,
                transport=world.transport,
                seed=world.seed,
                faults=faults,
                check=False,
                title=title,
                step_limit_s=STEP_LIMIT_S,
                event_limit=EVENT_LIMIT,
            )
        except SimulationError as error:
            raise Found(f"{where}: the run could not go on. {error}") from None
        self._recordings.append((where, run.recording))
        if self._at_rest is not None and not self._at_rest():
            # What is left now may be left for good. The other judges shall not be told of it again.
            self._at_rest = None
            raise Found(f"{where}: something is left in the end; at_rest() says so.", run.recording)
        return run

    def _check_handlers(self, world: World, recording: Recording) -> None:
        for event in recording.events:
            text = (event.detail or {}).get("text", "")
            if event.kind == NOTE and event.party == SERVER and _RAISED in text:
                raise Found(f"In {world}: {text}", recording)

    def _at_rest_too(self) -> str:
        return "" if self._at_rest is None else ", and nothing was left"


_REPLIES: Final = {
    "decline": "with a user who declines",
    "cancel": "with a user who dismisses the question",
    "": "with a client that cannot ask its user",
}


def _last_end_s(recording: Recording) -> float:
    """When the last handler of the server ended, in seconds; for one that never did, the end of the run."""
    ends = (HANDLER_FINISHED, HANDLER_CANCELLED)
    handlers = [event for event in recording.events if event.party == SERVER]
    started = sum(event.kind == HANDLER_STARTED for event in handlers)
    ended = [event.at_us for event in handlers if event.kind in ends]
    last = recording.events[-1].at_us if len(ended) < started else max(ended, default=0)
    return last / _US


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(".")


def _listed(tour: Tour) -> str:
    found = [
        _count(len(tour.names(method)), one) + (f" on {len(pages)} pages" if len(pages) > 1 else "")
        for method, one in _ONE.items()
        if (pages := tour.pages.get(method)) and tour.names(method)
    ]
    return _series(found) if found else "nothing"


_ONE: Final = {
    "tools/list": "tool",
    "resources/list": "resource",
    "resources/templates/list": "resource template",
    "prompts/list": "prompt",
}


def _series(texts: Sequence[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
