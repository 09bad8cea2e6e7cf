"""Exercise: a cache for several principals that hears of changes."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final, cast

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_integer, as_text
from mcpsim.course.exercises.set_04_stateless.worlds import SEEDS
from mcpsim.course.exercises.set_07_caching.kept import (
    FRESH,
    INTERIM,
    KEY,
    PRIVATE,
    RETRY,
    SIX,
    STAYS,
    TOLD,
)
from mcpsim.course.exercises.showing import show
from mcpsim.course.exercises.traffic import exchanges, require_valid
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.course.servers import price_list
from mcpsim.transports.link import StreamableHttp

READ: Final = "resources/read"
PEOPLE: Final = ("ada", "ben", "cleo")
STEPS: Final = 150


@dataclass(frozen=True, slots=True)
class Kind:
    """A request that comes again and again.

    Attributes:
        told_by: the notification that concerns it, or None.
        never: why its result is never served, or None.
    """

    method: str
    params: dict[str, Any]
    scope: str
    ttl_ms: int
    told_by: tuple[str, dict[str, Any]] | None = None
    never: Rule | None = None
    result_type: str = "complete"


_UPDATED: Final = "notifications/resources/updated"


def _of(uri: str, scope: str, ttl_ms: int) -> Kind:
    return Kind(READ, {"uri": uri}, scope, ttl_ms, (_UPDATED, {"uri": uri}))


def _kinds() -> tuple[Kind, ...]:
    tools = ("notifications/tools/list_changed", dict[str, Any]())
    prompts = ("notifications/prompts/list_changed", dict[str, Any]())
    resources = ("notifications/resources/list_changed", dict[str, Any]())
    answers = {"1": {"action": "accept", "content": {"year": 1999}}}
    return (
        _of("price://paper", "public", 30_000),
        _of("price://ink", "public", 45_000),
        _of("balance://mine", "private", 30_000),
        _of("letters://mine", "private", 60_000),
        Kind("tools/list", {}, "private", 60_000, tools),
        Kind("prompts/list", {}, "public", 20_000, prompts),
        Kind("resources/list", {}, "public", 40_000, resources),
        Kind("resources/list", {"cursor": ""}, "public", 40_000, resources),
        Kind("resources/list", {"cursor": "p2"}, "public", 15_000, resources),
        Kind("server/discover", {}, "public", 60_000),
        Kind(READ, {"uri": "clock://now"}, "public", 0, never=FRESH),
        Kind("tools/call", {"name": "add", "arguments": {}}, "public", 60_000, never=SIX),
        Kind(READ, {"uri": "book://atlas"}, "private", 60_000, never=INTERIM, result_type="input_required"),
        Kind(
            READ,
            {"uri": "book://almanac", "inputResponses": answers, "requestState": "s"},
            "private",
            60_000,
            never=RETRY,
        ),
    )


@dataclass(slots=True)
class _Put:
    """A result that was handed to the cache."""

    serial: int
    kind: Kind
    principal: str
    result: dict[str, Any]
    received_ms: int
    invalidated: bool = False


class _Desk:
    """The learner's cache, its calls, and what is known of what it holds."""

    def __init__(self, cache: Any, learner: Learner) -> None:
        self._cache = cache
        self._learner = learner
        self.puts: list[_Put] = []
        self.served = 0

    def call(self, name: str, *arguments: Any) -> Any:
        """Call one of the cache's methods."""
        method = self._learner.call(partial(getattr, self._cache, name, None))
        if method is None:
            raise NotYet(
                f"What your class makes has no method `{name}`.",
                look="The three methods are `get`, `put` and `notified`.",
            )
        value = self._learner.call(method, *arguments)
        if is_placeholder(value):
            raise NotAttempted
        return value

    def good(self, kind: Kind, principal: str, now_ms: int) -> _Put | None:
        """What should be served."""
        fitting = (
            put
            for put in reversed(self.puts)
            if put.kind is kind and (kind.scope == "public" or put.principal == principal)
        )
        last = next(fitting, None)
        fresh = last is not None and not last.invalidated and now_ms < last.received_ms + kind.ttl_ms
        return last if fresh and kind.never is None else None

    def ask(self, kind: Kind, principal: str, now_ms: int) -> bool:
        """Ask the cache, and look at what it gives. Whether it gave something."""
        expected = self.good(kind, principal, now_ms)
        value = self.call("get", kind.method, copy.deepcopy(kind.params), principal, now_ms)
        asked = f"{principal} needs {kind.method} {show(kind.params, 90)}"
        if value is None:
            if expected is not None:
                age = now_ms - expected.received_ms
                raise NotYet(
                    f"{asked}. `get` returned None, and a {kind.scope} result came {age} ms ago for "
                    f"{expected.principal}, with a `ttlMs` of {kind.ttl_ms}.",
                    STAYS,
                    "It is fresh, and for this caller: nobody needs to ask the server.",
                )
            return False
        found = self._put_of(value)
        if found is None:
            raise NotYet(
                f"{asked}. `get` returned {show(value)}, which nobody has put in.",
                None,
                "Return a result as it came, or None. Is something shared between two objects of your class?",
            )
        if expected is None or found is not expected:
            raise self._fault(asked, found, kind, principal, now_ms)
        self.served += 1
        return True

    def _put_of(self, value: object) -> _Put | None:
        """Which of the results this is, by its number: what a stranger's object equals is no proof."""
        members: dict[Any, Any] = dict(cast("dict[Any, Any]", value)) if isinstance(value, dict) else {}
        number = as_integer(members.get("number"))
        return self.puts[number - 1] if number is not None and 1 <= number <= len(self.puts) else None

    def _fault(self, asked: str, found: _Put, kind: Kind, principal: str, now_ms: int) -> NotYet:
        age = now_ms - found.received_ms
        by = f"{found.kind.method} {show(found.kind.params, 90)}"
        came = f"It came {age} ms ago for {found.principal}, by {by}"
        if found.kind.never is not None and found.kind.ttl_ms > 0:
            rule, why = found.kind.never, "and may not be kept at all"
        elif found.kind is not kind:
            rule, why = KEY, "which is another request"
        elif found.kind.scope == "private" and found.principal != principal:
            rule, why = PRIVATE, "and is private"
        elif found.invalidated:
            rule, why = TOLD, "and a notification has come since"
        else:
            rule, why = FRESH, f"with a `ttlMs` of {kind.ttl_ms}, and is stale"
        return NotYet(
            f"{asked}. `get` returned a result that is not for this. {came}, {why}.",
            rule,
            "Your answers to the two exercises before this one decide: does it fit, and is it fresh?",
        )

    def put(self, kind: Kind, principal: str, now_ms: int) -> None:
        """Hand a new result to the cache."""
        serial = len(self.puts) + 1
        result = {
            "resultType": kind.result_type,
            "ttlMs": kind.ttl_ms,
            "cacheScope": kind.scope,
            "number": serial,
        }
        self.puts.append(_Put(serial, kind, principal, copy.deepcopy(result), now_ms))
        self.call("put", kind.method, copy.deepcopy(kind.params), principal, result, now_ms)

    def notify(self, method: str, params: dict[str, Any], now_ms: int) -> None:
        """Let the cache hear of a change."""
        for put in self.puts:
            put.invalidated = put.invalidated or put.kind.told_by == (method, params)
        self.call("notified", method, copy.deepcopy(params), now_ms)


def grade(answer: object, learner: Learner) -> Passed:
    """Use the cache at random, by several people, then let a host use it over the wire."""
    if not callable(answer):
        raise NotYet(
            f"This is not a class: it is of type {type(answer).__name__}.",
            look="Pass the class itself: the check makes its objects.",
        )
    served = 0
    for seed in SEEDS:
        desk = _Desk(learner.call(answer), learner)
        _use(desk, Random(f"host-cache:{seed}"))
        served += desk.served
    _in_a_few_moments(_Desk(learner.call(answer), learner))
    _on_the_wire(answer, learner)
    return Passed(
        f"{len(SEEDS) * STEPS} times somebody of {len(PEOPLE)} needed something or heard something. {served} "
        "times the cache had it, and it was never somebody else's, stale, or an answer to another question.",
        PRIVATE,
    )


def _in_a_few_moments(desk: _Desk) -> None:
    """What chance may not bring: a notification while all pages are kept, and the last moment of a result."""
    first, empty, second = (kind for kind in _kinds() if kind.method == "resources/list")
    pages = (first, empty, second)
    for kind in pages:
        desk.put(kind, "ada", 1_000)
    desk.notify("notifications/resources/list_changed", {}, 2_000)
    for kind in pages:
        desk.ask(kind, "ben", 3_000)
    desk.put(first, "ada", 4_000)
    desk.ask(first, "ben", 4_000 + first.ttl_ms - 1)
    desk.ask(first, "ben", 4_000 + first.ttl_ms)


def _use(desk: _Desk, rng: Random) -> None:
    """Let people need things, and things change, one after the other."""
    kinds = _kinds()
    news = [kind.told_by for kind in kinds if kind.told_by is not None]
    now_ms = rng.randrange(1_000, 9_000)
    for _ in range(STEPS):
        now_ms += rng.choice((100, 1_000, 4_000, 9_000))
        if rng.random() < 0.1:
            desk.notify(*rng.choice(news), now_ms)
            continue
        kind, who = rng.choice(kinds), rng.choice(PEOPLE)
        if not desk.ask(kind, who, now_ms):
            # The server's answer takes a while.
            desk.put(kind, who, now_ms + 40)


# When who reads what, in seconds; the price changes after the sixth visit.
VISITS: Final = (
    (1, "ada", "price://paper"),
    (2, "ben", "price://paper"),
    (3, "ada", "balance://mine"),
    (4, "ben", "balance://mine"),
    (5, "ada", "balance://mine"),
    (6, "ben", "balance://mine"),
    (12, "ben", "price://paper"),
    (13, "ada", "price://paper"),
    (45, "ada", "price://paper"),
    (46, "ben", "balance://mine"),
)
CHANGED_BEFORE: Final = 12
SEEN: Final = (
    "4 a pack",
    "4 a pack",
    "ada has 12",
    "ben has 30",
    "ada has 12",
    "ben has 30",
    "5 a pack",
    "5 a pack",
    "5 a pack",
    "ben has 30",
)
ASKED: Final = 6


def _on_the_wire(answer: Any, learner: Learner) -> None:
    for seed in SEEDS:
        cache = learner.call(answer)
        run = learner.play(
            _host(cache),
            server=price_list(),
            client={name: Client(name, principal=name) for name in ("ada", "ben")},
            transport=StreamableHttp(jitter_ms=5.0),
            seed=seed,
            title=TITLE,
            written=answer,
        )
        require_valid(run.recording)
        for (at_s, who, uri), seen, expected in zip(VISITS, run.value, SEEN, strict=True):
            if as_text(seen) != expected:
                raise NotYet(
                    f"A host used your cache. At {at_s} s {who} read {uri} and got {show(seen)}; it is "
                    f"{show(expected)}.",
                    PRIVATE if uri == "balance://mine" else TOLD,
                    "Look at the messages: who asked the server, and who did not?",
                    run.recording,
                )
        asked = len(exchanges(run.recording, READ))
        if asked != ASKED:
            raise NotYet(
                f"A host used your cache. {len(VISITS)} readings became {asked} requests; it should be "
                f"{ASKED}.",
                STAYS,
                "Look at the messages: which of the requests was needless?",
                run.recording,
            )


def _host(cache: Any) -> Any:
    async def story(ada: Client, ben: Client) -> list[str]:
        clients = {"ada": ada, "ben": ben}
        changed = False
        seen: list[str] = []
        async with ada.listen(resource_subscriptions=["price://paper"]) as subscription:
            for at_s, who, uri in VISITS:
                if at_s >= CHANGED_BEFORE and not changed:
                    changed = True
                    await ada.call_tool("set_price", {"amount": 5})
                    async for news in subscription:
                        cache.notified(news.method, {"uri": "price://paper"}, _now_ms())
                        break
                await anyio.sleep(max(0.0, at_s - anyio.current_time()))
                result = cache.get(READ, {"uri": uri}, who, _now_ms())
                if result is None:
                    result = await clients[who].request(READ, {"uri": uri})
                    cache.put(READ, {"uri": uri}, who, result, _now_ms())
                seen.append(result["contents"][0]["text"])
        return seen

    return story


def _now_ms() -> int:
    return round(anyio.current_time() * 1000)


TITLE: Final = "A cache for a host"

TASK: Final = Task(
    name="host_cache",
    title=TITLE,
    text="""\
One host, several users, one server. Write the cache that all of them share.

- `put` is called with every result that comes from the server: of any method, final or not, of retries too.
- `get` is called before the server is asked. Return the result, or None: then the host asks the server.
- `notified` is called with every notification. It concerns results as in the exercise before this one, and
  only those that came before it.

`params` are dicts without `_meta`. All times are of one clock that never goes back. The host makes one
object of your class for each server: nothing may be shared between two of them.""",
    answer="HostCache",
    starter='''\
class HostCache:
    """Keeps results for several principals."""

    def get(self, method, params, principal, now_ms):
        return ...

    def put(self, method, params, principal, result, now_ms):
        return ...

    def notified(self, method, params, now_ms):
        return ...''',
    hints=(
        "You have written both halves already: `fits` says whether a kept result answers a request, and "
        "`is_fresh` whether it is fresh. What is left is to remember.",
        "Keep a list of entries and a list of news. `get` goes through the entries and returns the first "
        "that fits and is fresh.",
        "`ex.Entry(method, params, principal, result, now_ms)` makes an entry. Make the two lists in "
        "`__init__`: a list in the class itself belongs to all objects.",
    ),
    solution=(
        """\
class Kept:
    def __init__(self):
        self.entries, self.news = [], []

    def get(self, method, params, principal, now_ms):
        kept = [one for one in self.entries if fits(one, method, params, principal)]
        return next((one.result for one in kept if is_fresh(one, self.news, now_ms)), None)""",
        """\
class HostCache(Kept):
    def put(self, *entry):
        self.entries.append(ex.Entry(*entry))

    def notified(self, method, params, now_ms):
        self.news.append((now_ms, method, params))""",
    ),
    why="Nothing is decided when a result is kept, all of it when it is needed. A real cache would also "
    "forget what is stale.",
    grade=grade,
    pages=(
        ("cache key", "server/utilities/caching#cache-key"),
        ("cache scope", "server/utilities/caching#cache-scope-field"),
        ("notifications", "server/utilities/caching#interaction-with-notifications"),
    ),
    points=20,
)
