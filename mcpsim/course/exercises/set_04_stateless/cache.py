"""Exercise: may this stored result be served to this caller, now?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.set_04_stateless.worlds import SEEDS
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import exchanges, require_valid
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.course.servers import help_desk
from mcpsim.transports.link import StreamableHttp

FRESH: Final = Rule(
    "A result is fresh while now < time received + `ttlMs`; the client SHOULD take it for fresh so long. "
    "Both times are the client's own, in milliseconds.",
    "server/utilities/caching#freshness-calculation",
)
NO_TTL: Final = Rule(
    "With a `ttlMs` of 0 a result SHOULD be considered stale at once. A negative one, or none at all, "
    "SHOULD be taken for 0.",
    "server/utilities/caching#time-to-live-ttl-field",
)
PRIVATE: Final = Rule(
    "A `private` result MAY be used again for the same authorization context, and a cache of it MUST NOT "
    "be shared across contexts: another token needs another cache.",
    "server/utilities/caching#cache-scope-field",
)
NO_SCOPE: Final = Rule(
    "Only of `public` is it said that a cache MAY serve a result to any user. The schema has `public` and "
    "`private`, and requires one of the two. No page says what none, or another text, means: that nothing "
    "may be shared then is our reading.",
    "server/utilities/caching#cache-scope-field",
)
PUBLIC: Final = Rule(
    "Anybody's cache MAY store a `public` result and serve it to any user.",
    "server/utilities/caching#cache-scope-field",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored result.

    Attributes:
        result: the result as it came, a dict with `ttlMs` and `cacheScope`, unless an older server or a
            careless one sent it.
        principal: who asked for it.
        received_ms: when it came, in milliseconds of the client's clock.
    """

    result: dict[str, Any]
    principal: str
    received_ms: int


@dataclass(frozen=True, slots=True)
class Case:
    """A question to the function, the answer, and the rule that decides."""

    what: str
    ttl_ms: int | None
    scope: str | None
    same: bool
    after_ms: int
    may: bool
    rule: Rule


CASES: Final = (
    Case("fresh, public, for the same caller", 60_000, "public", True, 1_000, True, FRESH),
    Case("fresh, private, for the same caller", 60_000, "private", True, 1_000, True, PRIVATE),
    Case("fresh, public, for another caller", 60_000, "public", False, 1_000, True, PUBLIC),
    Case("fresh, private, for another caller", 60_000, "private", False, 1_000, False, PRIVATE),
    Case("long stale, private, for the same caller", 60_000, "private", True, 120_000, False, FRESH),
    Case("long stale, public, for another caller", 60_000, "public", False, 120_000, False, FRESH),
    Case("in its last fresh millisecond", 5_000, "public", True, 4_999, True, FRESH),
    Case("at the very end of its time", 5_000, "public", True, 5_000, False, FRESH),
    Case("stale for one millisecond", 5_000, "private", True, 5_001, False, FRESH),
    Case("never fresh: `ttlMs` is 0", 0, "public", True, 0, False, NO_TTL),
    Case("never fresh: `ttlMs` is negative", -1, "private", True, 0, False, NO_TTL),
    Case("without a `ttlMs`", None, "public", True, 0, False, NO_TTL),
    Case("of a legacy server: it has no `ttlMs` and no `cacheScope`", None, None, True, 0, False, NO_TTL),
    Case("fresh, for another caller, and has no `cacheScope`", 60_000, None, False, 1_000, False, NO_SCOPE),
    Case(
        "fresh, for another caller, and its `cacheScope` is none that there is",
        60_000,
        "tenant",
        False,
        1_000,
        False,
        NO_SCOPE,
    ),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Ask the function about made-up entries, then let a host use it on the virtual clock."""
    questions = list(_questions())
    values = [
        (
            case,
            entry,
            principal,
            now,
            learner.call(answer, entry, principal, now, on=f"an entry that is {case.what}", rule=case.rule),
        )
        for case, entry, principal, now in questions
    ]
    if all(is_placeholder(value) for *_, value in values):
        raise NotAttempted
    for case, entry, principal, now, value in values:
        if value is not True and value is not False:
            raise NotYet(
                f"{name_of(answer)} returned {show(value)}.", look="Return True or False, whatever comes in."
            )
        if value is not case.may:
            raise NotYet(
                f"The entry is {case.what}. It was received for {show(entry.principal)} at "
                f"{entry.received_ms} ms with {_hints(entry)}; {show(principal)} asks at {now} ms. "
                f"{name_of(answer)} returned {value}.",
                case.rule,
                "Two questions: is it fresh, and is it for this caller? Both must be answered with yes.",
            )
    _use(answer, learner)
    return Passed(
        f"All {len(questions)} questions are answered right, and a host that asks your function went to the "
        "server exactly when it had to."
    )


def _questions() -> Iterator[tuple[Case, Entry, str, int]]:
    for seed in SEEDS:
        for case in CASES:
            rng = Random(f"cache:{seed}:{case.what}")
            owner, other = rng.sample(["token-1", "token-2", "token-3", "token-4"], 2)
            received = rng.randrange(10_000, 900_000)
            result: dict[str, Any] = {"tools": []}
            if case.scope is not None or case.ttl_ms is not None:
                result["resultType"] = "complete"
            if case.scope is not None:
                result["cacheScope"] = case.scope
            if case.ttl_ms is not None:
                result["ttlMs"] = case.ttl_ms
            yield (
                case,
                Entry(result, owner, received),
                owner if case.same else other,
                received + case.after_ms,
            )


def _hints(entry: Entry) -> str:
    hints = {key: entry.result[key] for key in ("ttlMs", "cacheScope") if key in entry.result}
    return show(hints)


# When which of two callers wants the list, in seconds of the virtual clock.
VISITS: Final = ((0.0, 0), (10.0, 1), (30.0, 0), (59.0, 1), (71.0, 0), (75.0, 1), (140.0, 1))
TTL_MS: Final = 60_000
ASKED: Final = {"public": 3, "private": 5}


def _use(answer: object, learner: Learner) -> None:
    for scope, expected in ASKED.items():
        for seed in SEEDS:
            clients = {f"client {n}": Client(principal=f"token-{n}") for n in (1, 2)}
            run = learner.play(
                _host(answer),
                server=help_desk(ttl_ms=TTL_MS, cache_scope=scope),
                client=clients,
                transport=StreamableHttp(jitter_ms=5.0),
                seed=seed,
                title=f"A host with a cache ({scope})",
                written=answer,
            )
            require_valid(run.recording)
            asked = len(exchanges(run.recording, "tools/list"))
            if asked != expected:
                raise NotYet(
                    f"A host with two callers wanted a {scope} list {len(VISITS)} times. It asked the "
                    f"server {asked} times, and should have asked {expected} times.",
                    PUBLIC if scope == "public" else PRIVATE,
                    "Does your function give the same answer to the same question every time?",
                    run.recording,
                )


def _host(may_serve: Any) -> Any:
    async def story(*clients: Client) -> None:
        entries: list[Entry] = []
        for at_s, who in VISITS:
            await anyio.sleep(max(0.0, at_s - anyio.current_time()))
            client = clients[who]
            now = round(anyio.current_time() * 1000)
            if any(may_serve(entry, client.principal, now) for entry in entries):
                continue
            result = await client.request("tools/list")
            entries.append(Entry(result, client.principal, round(anyio.current_time() * 1000)))

    return story


TASK: Final = Task(
    name="cache",
    title="May it be served?",
    text="""\
A host keeps results and asks this function before it goes to the server: may this stored result be served,
now, to this caller? Write it.

- `entry.result` is the result as it came, a dict that should hold `ttlMs` and `cacheScope`;
- `entry.principal` is who asked for it, `entry.received_ms` when it came;
- `principal` is who asks now, `now_ms` is the time now, on the same clock.

A legacy server sends neither of the two fields. A careless one sends no `ttlMs`, or a negative one; or it
sends no `cacheScope`, or one that is neither `"public"` nor `"private"`. No page says for whom such a result
is. Take the safe side: do not serve it to another caller. Method and parameters of the request are the same:
the host has checked that.""",
    answer="may_serve",
    starter='''\
def may_serve(entry, principal, now_ms):
    """Whether a stored result may be served to this caller, now: True or False."""
    return ...''',
    hints=(
        "There are two questions, and both must be answered with yes: is the result still fresh, and may "
        "this caller see it?",
        "Fresh is: now is less than the time of receipt plus `ttlMs`. At that very moment it is stale. All "
        "of this is in milliseconds.",
        '`entry.result.get("ttlMs", 0)` is 0 where there is none. A negative one needs no special case, if '
        'you add and compare. `entry.result.get("cacheScope")` is None where there is none.',
    ),
    solution=(
        """\
def may_serve(entry, principal, now_ms):
    fresh = now_ms < entry.received_ms + entry.result.get("ttlMs", 0)
    for_this_caller = entry.result.get("cacheScope") == "public" or entry.principal == principal
    return fresh and for_this_caller""",
    ),
    why="Time and audience are two hints that do not know of each other. Neither is a promise: the list "
    "may have changed all the same.",
    grade=grade,
    pages=(("cacheable model", "server/utilities/caching#cacheable-model"),),
)
