"""Anything that may go wrong in a built-in story, and what must hold all the same.

plan = Plan.drawn(random)          # a story, an era, a transport with jitter, and faults
ending = played(plan)              # a word for how it ended; AssertionError where an invariant is broken
"""

from __future__ import annotations

import functools
import traceback
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any
from unittest.mock import patch

import anyio

from mcpsim import McpSimError, Run, Stdio, StreamableHttp
from mcpsim.client.caller import Caller
from mcpsim.course import STORIES, Story
from mcpsim.errors import SimulationError
from mcpsim.messages import Batch, ErrorResponse, Request, Response
from mcpsim.recording import Recording
from mcpsim.transports.faults import (
    CLIENT_HOP,
    SERVER_HOP,
    Change,
    Crash,
    Cut,
    Delay,
    Drop,
    Duplicate,
    Fault,
    Reorder,
)
from tests.support.checked import faults_of
from tests.support.invariants import (
    assert_nothing_after_a_cancellation,
    assert_ordered,
    assert_whole_handlers,
)

# No story takes longer, however often it waits for an answer that does not come; in virtual seconds.
LONGEST_S = 3_600
# What stands in a message of a story whose point is that it is wrong, by the story's name.
WRONG_ON_PURPOSE = {"version-from-the-future": {"tools/list", "notifications/cancelled"}}
NAMES = (
    "*",
    "initialize",
    "result of initialize",
    "notifications/initialized",
    "server/discover",
    "result of server/discover",
    "tools/call",
    "result of tools/call",
    "notifications/progress",
    "notifications/cancelled",
    "notifications/message",
    "notifications/subscriptions/acknowledged",
    "elicitation/create",
    "result of elicitation/create",
    "subscriptions/listen",
    "result of subscriptions/listen",
)
TIMES_MS = (0, 1, 15, 100, 700, 1_500, 6_000, 100_000)
CHANGES = (
    (b'"', b"'"),
    (b"{", b""),
    (b"}", b"}}"),
    (b"result", b"error"),
    (b"error", b"result"),
    (b"1", b"2"),
    (b"1", b"1.5"),
    (b"2", b"1e400"),
    (b"id", b"\xff"),
    (b":", b"\n"),
    (b'"id":', b'"id":null,"was":'),
    (b'"id":', b'"id":[],"was":'),
    (b'"method"', b'"methods"'),
    (b'"params"', b'"parameters"'),
    (b'"jsonrpc":"2.0"', b'"jsonrpc":"1.0"'),
    (b"2026-07-28", b"2031-01-01"),
    (b"2025-11-25", b"1999-01-01"),
    (b"complete", b"input_required"),
    (b"input_required", b"complete"),
    (b"requestState", b"requestStates"),
    (b"string", b"strung"),
    (b"tools", b"fools"),
    (b"content", b"contents"),
    (b"text", b"\\ud800"),
    (b"progress", b"process"),
    (b"true", b"false"),
    (b"0", b"[]"),
    (b"[", b"[null,"),
    (b"{", b'{"x":' + b"[" * 200 + b"]" * 200 + b","),
    (b"e", "é\u2028\0".encode()),
)


@dataclass(frozen=True)
class Plan:
    """One run of a story with all that goes wrong in it.

    Attributes:
        latency_ms, jitter_ms: of the transport.
    """

    story: str
    era: Any
    way: str
    latency_ms: float = 5.0
    jitter_ms: float = 0.0
    seed: int = 0
    faults: tuple[Fault, ...] = ()

    def __str__(self) -> str:
        link = f"{self.way}, {self.latency_ms:g} ms + {self.jitter_ms:g} ms, seed {self.seed}"
        return f"{self.story} ({self.era}, {link}): {list(self.faults)}"

    @staticmethod
    def drawn(random: Random, stories: Sequence[str] = tuple(STORIES)) -> Plan:
        """Any plan; what shall go wrong is mostly about messages that the story has."""
        name = random.choice(stories)
        story = STORIES[name]
        era, way = random.choice(story.eras), random.choice(story.ways)
        faults = tuple(_fault(random, name, era, way) for _ in range(random.randint(0, 4)))
        jitter_ms = random.choice((0.0, 0.0, 5.0, 80.0))
        return Plan(name, era, way, random.choice((0.0, 5.0, 40.0)), jitter_ms, random.randint(0, 9), faults)

    def smaller(self) -> Iterator[Plan]:
        """Plans with one thing less that goes wrong."""
        for index in range(len(self.faults)):
            yield replace(self, faults=(*self.faults[:index], *self.faults[index + 1 :]))
        plain = {"latency_ms": 5.0, "jitter_ms": 0.0, "seed": 0}
        for member, value in plain.items():
            if getattr(self, member) != value:
                yield replace(self, **{member: value})


def _fault(random: Random, name: str, era: Any, way: str) -> Fault:
    seen = _names_of(name, era, way)
    message = random.choice(sorted(seen)) if seen and random.random() < 0.8 else random.choice(NAMES)
    nth = random.randint(1, max(2, seen.get(message, 0)))
    story = STORIES[name]
    gateway = "gateway" in story.setting
    hop = random.choice(("", CLIENT_HOP, SERVER_HOP)) if gateway else ""
    kind = random.choice((Drop, Cut, Duplicate, Delay, Reorder, Change, Change, Crash))
    if kind is Crash:
        restart = random.choice((None, *TIMES_MS)) if way == "http" else None
        replicas = story.setting.get("replicas", 1)
        servers = ("server",) if replicas == 1 else tuple(f"server-{n + 1}" for n in range(replicas))
        process = random.choice(("", *servers, *(("gateway",) if gateway else ())))
        if random.random() < 0.3:
            return Crash(at_ms=random.choice(TIMES_MS), restart_after_ms=restart, process=process)
        after_ms = random.choice((0, 0, *TIMES_MS))
        return Crash(message, nth=nth, after_ms=after_ms, restart_after_ms=restart, process=process)
    if kind in (Delay, Reorder):
        return kind(message, nth=nth, hop=hop, by_ms=random.choice(TIMES_MS))
    if kind is Change:
        old, new = random.choice(CHANGES)
        return Change(message, nth=nth, hop=hop, old=old, new=new)
    return kind(message, nth=nth, hop=hop)


@functools.cache
def _names_of(name: str, era: Any, way: str) -> Counter[str]:
    """How often each message goes by where the story is played as it is."""
    run = STORIES[name].play(era=era, transport=Stdio() if way == "stdio" else StreamableHttp(), check=False)
    counted: Counter[str] = Counter()
    asked: dict[tuple[int, str, Any], str] = {}
    for frame in run.recording.frames:
        message = frame.parsed
        if isinstance(message, Response | ErrorResponse):
            counted["result of " + asked.get((frame.connection, frame.receiver, message.id), "")] += 1
        elif hasattr(message, "method"):
            if isinstance(message, Request):
                asked[frame.connection, frame.sender, message.id] = message.method
            counted[message.method] += 1  # type: ignore[union-attr]
    return counted


@dataclass
class Calls:
    """How each request of the clients ended. A request is open until it has an outcome."""

    open: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def counted(self) -> Iterator[Calls]:
        """Count every request that any client makes meanwhile."""
        real = Caller._call

        async def call(caller: Caller, method: str, *more: Any, **named: Any) -> dict[str, Any]:
            self.open[method] += 1
            outcome = "undocumented"
            try:
                result = await real(caller, method, *more, **named)
                outcome = "result"
                return result
            except McpSimError as error:
                outcome = type(error).__name__
                raise
            except anyio.get_cancelled_exc_class():
                outcome = "cancelled"
                raise
            finally:
                self.open[method] -= 1
                self.ended[outcome] += 1

        with patch.object(Caller, "_call", call):
            yield self


def played(plan: Plan) -> str:
    """Play it and look at what happened.

    Returns:
        how it ended, in a word or two: "finished", "still listening", or the name of an error.

    Raises:
        AssertionError: an invariant is broken; the text says which one.
        Exception: whatever else came out of it, which never should.
    """
    story = STORIES[plan.story]
    calls = Calls()
    waited: list[str] = []
    bounded = replace(story, story=_bounded(story, calls, waited))
    kind = Stdio if plan.way == "stdio" else StreamableHttp
    transport = kind(latency_ms=plan.latency_ms, jitter_ms=plan.jitter_ms)
    with calls.counted():
        run = bounded.play(era=plan.era, transport=transport, seed=plan.seed, faults=plan.faults, check=False)
    assert not +calls.open, f"requests without an outcome: {dict(+calls.open)}"
    assert "undocumented" not in calls.ended, "a request ended with an error that is not documented"
    _check_recording(run.recording, WRONG_ON_PURPOSE.get(plan.story, set()))
    ending = _ending(run)
    return waited[0] if waited else ending


def _bounded(story: Story, calls: Calls, waited: list[str]) -> Any:
    """The story, stopped after a long time. It may then wait for what it listens to, and for nothing else."""

    @functools.wraps(story.story)
    async def told(*clients: Any, **more: Any) -> Any:
        with anyio.move_on_after(LONGEST_S) as scope:
            return await story.story(*clients, **more)
        assert scope.cancelled_caught
        # The requests were cancelled with the story: those are counted as they were before.
        waited.append("still listening")
        assert story.name in LISTENS, "it never ends"
        assert not calls.ended["cancelled"], "a request without an answer never ended"
        return None

    return told


# Stories that wait until they are told of something: where the message is lost, they wait for ever.
LISTENS = frozenset(
    {"watch-a-notice", "two-subscriptions", "subscription-breaks-off", "told-that-it-changed"}
)


def _ending(run: Run) -> str:
    if run.error is None:
        return "finished"
    for error in _leaves(run.error):
        assert not isinstance(error, SimulationError), f"the simulation could not go on: {error!r}"
        assert isinstance(error, McpSimError) or _is_the_storys(error), f"an undocumented error: {error!r}"
    return type(next(_leaves(run.error))).__name__


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error


def _is_the_storys(error: BaseException) -> bool:
    """Whether a line of the story itself raised it, such as one that looks for a member in a result."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and "/course/stories/" in frames[-1].filename.replace("\\", "/")


def _check_recording(recording: Recording, wrong: set[str]) -> None:
    forwarded = _forwarded(recording)
    if forwarded:
        # The server answers what the gateway handed on, under the id that could still be read in it.
        wrong = wrong | {"error of a request that was never sent"}
    stray = [
        fault for fault in faults_of(recording) if fault.name not in wrong and fault.frame not in forwarded
    ]
    assert not stray, f"a message is not valid: {stray[0]}"
    assert_ordered(recording)
    assert_whole_handlers(recording)
    assert_nothing_after_a_cancellation(recording)
    assert_answered_once(recording, forwarded)
    assert Recording.from_jsonl(recording.to_jsonl()) == recording, "the recording does not survive its file"


def _forwarded(recording: Recording) -> set[int]:
    """The frames by which a gateway hands on what it got, where a fault has changed anything behind it.

    Whoever wrote it is judged on the way to the gateway, where what was asked is known as it arrived.
    """
    if all(frame.arrived_data == frame.data for frame in recording.frames):
        return set()
    taken = {
        replace(frame, data=frame.arrived_data).body
        for frame in recording.frames
        if frame.receiver == "gateway"
    }
    return {frame.number for frame in recording.frames if frame.sender == "gateway" and frame.body in taken}


def assert_answered_once(recording: Recording, forwarded: Collection[int] = ()) -> None:
    """Nobody answers a request more often than it arrived; an event that is sent again is the same answer.

    Args:
        forwarded: the frames by which somebody hands on what another one says.
    """
    frames = {frame.number: frame for frame in recording.frames}
    events: set[bytes] = set()
    arrived: Counter[Any] = Counter()
    for event in recording.events:
        frame = frames.get(event.frame)
        if frame is None or frame.channel:
            continue
        if event.kind == "delivered":
            for message in _members(replace(frame, data=frame.arrived_data).parsed):
                if getattr(message, "id", None) is not None and not isinstance(
                    message, Response | ErrorResponse
                ):
                    arrived[event.connection, event.party, repr(message.id)] += 1
        elif event.kind == "sent" and not (
            frame.copy_of or frame.number in forwarded or frame.data in events
        ):
            if frame.exchange and b"\nid: " in frame.data:
                events.add(frame.data)
            for message in _members(frame.parsed):
                if isinstance(message, Response | ErrorResponse) and message.id is not None:
                    key = event.connection, event.party, repr(message.id)
                    arrived[key] -= 1
                    assert arrived[key] >= 0, f"an answer too many: {frame.body!r}"


def _members(message: Any) -> tuple[Any, ...]:
    return tuple(message.members) if isinstance(message, Batch) else (message,)
