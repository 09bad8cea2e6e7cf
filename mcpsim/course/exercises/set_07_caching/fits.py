"""Exercise: is this kept result an answer to this request, for this caller?"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.set_04_stateless.worlds import SEEDS
from mcpsim.course.exercises.set_07_caching.kept import (
    INTERIM,
    KEY,
    PRIVATE,
    PUBLIC,
    RETRY,
    SIX,
    UNSAID,
    Entry,
)
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule

Params = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A kept result, a request, and whether the one answers the other.

    Attributes:
        what: the difference, in a few words.
        method, params: of the request that brought the result.
        asked_method, asked_params: of the request now; None for the same.
        scope: the result's scope.
        same: whether it is the same caller.
        fits: the answer.
        rule: the rule that decides.
        result: more members of the result; those that are None are left out.
    """

    what: str
    method: str
    params: Params
    fits: bool
    rule: Rule
    asked_method: str | None = None
    asked_params: Params | None = None
    scope: str = "public"
    same: bool = True
    result: Params | None = None


_READ: Final = "resources/read"
_LIST: Final = "resources/list"
_ANSWERS: Final[Mapping[str, Any]] = {"1": {"action": "accept", "content": {"year": 1999}}}


def _cases(rng: Random) -> Iterator[Case]:
    uri = f"price://{rng.choice(('paper', 'ink', 'glue'))}-{rng.randrange(100)}"
    read: Params = {"uri": uri}
    page: Params = {"cursor": f"c{rng.randrange(100)}"}
    yield Case("the same request, public, of the same caller", _READ, read, True, PUBLIC)
    yield Case("the same request, public, of another caller", _READ, read, True, PUBLIC, same=False)
    yield Case("the same request, private, of the same caller", _READ, read, True, PRIVATE, scope="private")
    yield Case(
        "the same request, private, of another caller",
        _READ,
        read,
        False,
        PRIVATE,
        scope="private",
        same=False,
    )
    unsaid: Params = {"cacheScope": None}
    yield Case(
        "the same request, without a `cacheScope`, of the same caller",
        _READ,
        read,
        True,
        UNSAID,
        result=unsaid,
    )
    yield Case(
        "the same request, without a `cacheScope`, of another caller",
        _READ,
        read,
        False,
        UNSAID,
        same=False,
        result=unsaid,
    )
    yield Case("another URI", _READ, read, False, KEY, asked_params={"uri": f"{uri}0"})
    yield Case("a URI in other letters", _READ, read, False, KEY, asked_params={"uri": uri.upper()})
    yield Case("another method", "tools/list", {}, False, KEY, asked_method="prompts/list")
    yield Case("another cursor", _LIST, page, False, KEY, asked_params={"cursor": "other"})
    yield Case("a cursor where there was none", _LIST, {}, False, KEY, asked_params=page)
    yield Case("no cursor where there was one", _LIST, page, False, KEY, asked_params={})
    yield Case("an empty cursor where there was none", _LIST, {}, False, KEY, asked_params={"cursor": ""})
    yield Case(
        "the same cursor, the empty one", _LIST, {"cursor": ""}, True, KEY, asked_params={"cursor": ""}
    )
    yield Case("the same page", _LIST, page, True, KEY)
    one, two = rng.sample(range(100), 2)
    filtered = {"uri": uri, "com.example/filter": {"year": one, "tags": ["a", "b"]}}
    turned = {"com.example/filter": {"tags": ["a", "b"], "year": one}, "uri": uri}
    other = {"uri": uri, "com.example/filter": {"year": two, "tags": ["a", "b"]}}
    yield Case("the same parameters in another order", _READ, filtered, True, KEY, asked_params=turned)
    yield Case("another value inside of a parameter", _READ, filtered, False, KEY, asked_params=other)
    yield Case("one parameter less", _READ, filtered, False, KEY, asked_params=read)
    answered = {**read, "inputResponses": _ANSWERS, "requestState": "s1"}
    yield Case(
        "a result of a retry, and the request without the answers",
        _READ,
        answered,
        False,
        RETRY,
        asked_params=read,
    )
    yield Case("a result of a retry, and the same retry", _READ, answered, False, RETRY, scope="private")
    state = {**read, "requestState": "s2"}
    yield Case("a result of a retry with a request state alone, and the same", _READ, state, False, RETRY)
    yield Case("a kept result, and a retry", _READ, read, False, RETRY, asked_params=answered)
    call = {"name": "set_price", "arguments": {"amount": rng.randrange(1, 9)}}
    yield Case("the same tool call", "tools/call", call, False, SIX)
    yield Case("the same prompt", "prompts/get", {"name": "letter"}, False, SIX)
    asking: Params = {"resultType": "input_required", "inputRequests": {}}
    yield Case("an interim result, and the same request", _READ, read, False, INTERIM, result=asking)
    yield Case("`server/discover`, of another caller", "server/discover", {}, True, SIX, same=False)
    yield Case("templates, of the same caller", "resources/templates/list", {}, True, SIX, scope="private")
    yield Case("prompts, of the same caller", "prompts/list", {}, True, SIX, scope="private")


def grade(answer: object, learner: Learner) -> Passed:
    """Ask about entries that differ in one thing."""
    asked = 0
    values: list[tuple[Case, Entry, str, Any]] = []
    for seed in SEEDS:
        rng = Random(f"fits:{seed}")
        for case in _cases(rng):
            owner, other = rng.sample(["ada", "ben", "cleo", "dan"], 2)
            caller = owner if case.same else other
            hints = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": case.scope}
            result = {**hints, **(case.result or {})}
            said = {name: value for name, value in result.items() if value is not None}
            entry = Entry(case.method, copy.deepcopy(case.params), owner, said, 0)
            params = case.params if case.asked_params is None else case.asked_params
            value = learner.call(
                answer,
                entry,
                case.asked_method or case.method,
                copy.deepcopy(params),
                caller,
                on=f"an entry and {case.what}",
                rule=case.rule,
            )
            values.append((case, entry, caller, value))
            asked += 1
    if all(is_placeholder(value) for *_, value in values):
        raise NotAttempted
    for case, entry, caller, value in values:
        if value is not True and value is not False:
            raise NotYet(
                f"{name_of(answer)} returned {show(value)}.", look="Return True or False, whatever comes in."
            )
        if value is not case.fits:
            now = case.params if case.asked_params is None else case.asked_params
            scope = entry.result.get("cacheScope", "no scope")
            raise NotYet(
                f"{case.what[0].upper()}{case.what[1:]}. Kept for {show(entry.principal)}: {entry.method} "
                f"with {show(case.params, 90)}, {scope}. Now {show(caller)} asks for "
                f"{case.asked_method or case.method} with {show(now, 90)}. {name_of(answer)} returned "
                f"{value}.",
                case.rule,
                "Four questions: may it be kept at all? Is it no retry? Is it the same request? Is it for "
                "this caller?",
            )
    return Passed(f"All {asked} questions are answered right. Nobody got what was for somebody else.", KEY)


TASK: Final = Task(
    name="fits",
    title="Does it answer this request?",
    text="""\
The heart of a cache: does a kept result answer this request, for this caller? Leave the time out of it for
now. Exercise 04 had the caller; here the whole request counts.

- `entry.method`, `entry.params` and `entry.principal` are of the request that brought `entry.result`;
- `method`, `params` and `principal` are of the request now.

The parameters are dicts without `_meta`. A careless host has put *everything* into the cache: results of any
method, interim results, results of retries. What a result without `cacheScope` is, the page does not say: be
careful, and take it for private.""",
    answer="fits",
    starter='''\
def fits(entry, method, params, principal):
    """Whether the kept result answers this request for this caller: True or False."""
    return ...''',
    hints=(
        "Two dicts are equal where they have the same keys and values, in any order. An empty cursor is not "
        "the same as none.",
        "Four things must all be true: a method of the six and a complete result; no retry, neither then nor "
        "now; the same method and parameters; public, or the same principal.",
        'A retry has `"inputResponses"` or `"requestState"` among its parameters, or both.',
    ),
    solution=(
        """\
CACHEABLE = {
    "server/discover", "tools/list", "prompts/list",
    "resources/list", "resources/templates/list", "resources/read",
}


def fits(entry, method, params, principal):
    final = method in CACHEABLE and entry.result.get("resultType", "complete") == "complete"
    retry = {"inputResponses", "requestState"} & {*entry.params, *params}
    same = (entry.method, entry.params) == (method, params)
    own = entry.result.get("cacheScope") == "public" or entry.principal == principal
    return final and not retry and same and own""",
    ),
    why="The method and the parameters are the key. What depends on more than the key must not be kept, and "
    "what depends on the caller must not be given to another.",
    grade=grade,
    pages=(
        ("cache key", "server/utilities/caching#cache-key"),
        ("cacheable results", "server/utilities/caching#cacheable-results"),
        ("cache scope", "server/utilities/caching#cache-scope-field"),
    ),
)
