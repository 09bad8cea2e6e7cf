"""Exercise: time to live and notifications together."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.set_04_stateless.worlds import SEEDS
from mcpsim.course.exercises.set_07_caching.kept import FRESH, NO_TTL, STAYS, TOLD, Entry
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule

TOOLS: Final = "notifications/tools/list_changed"
PROMPTS: Final = "notifications/prompts/list_changed"
RESOURCES: Final = "notifications/resources/list_changed"
UPDATED: Final = "notifications/resources/updated"
PROGRESS: Final = "notifications/progress"

TTL_MS: Final = 60_000

News = tuple[int, str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """A kept result, what was heard, and whether it is fresh.

    Attributes:
        news: what came, each with its time after the receipt, in milliseconds; before it where negative.
        after_ms: when it is needed, after the receipt.
    """

    what: str
    method: str
    fresh: bool
    rule: Rule
    news: tuple[News, ...] = ()
    after_ms: int = 30_000
    ttl_ms: int | None = TTL_MS
    params: dict[str, Any] = field(default_factory=dict[str, Any])


def _cases(rng: Random) -> Iterator[Case]:
    at_ms = rng.randrange(1_000, 29_000)
    uri, other = (f"price://{word}" for word in rng.sample(["paper", "ink", "glue", "chalk"], 2))
    changed, unchanged = {"uri": uri}, {"uri": other}
    yield Case("in its time, and nothing was heard", "tools/list", True, STAYS)
    yield Case("in its last fresh millisecond", "prompts/list", True, STAYS, after_ms=TTL_MS - 1)
    yield Case("at the very end of its time", "tools/list", False, FRESH, after_ms=TTL_MS)
    yield Case("long after its time", "server/discover", False, FRESH, after_ms=3 * TTL_MS)
    yield Case("needed at once, with a `ttlMs` of 0", "tools/list", False, NO_TTL, after_ms=0, ttl_ms=0)
    yield Case(
        "needed at once, with a negative `ttlMs`", "tools/list", False, NO_TTL, after_ms=0, ttl_ms=-500
    )
    yield Case("needed at once, without a `ttlMs`", "tools/list", False, NO_TTL, after_ms=0, ttl_ms=None)
    for method, notification in (
        ("tools/list", TOOLS),
        ("prompts/list", PROMPTS),
        ("resources/list", RESOURCES),
    ):
        what = "in its time, and the server said that this list has changed"
        yield Case(what, method, False, TOLD, ((at_ms, notification, {}),))
        yield Case(
            f"a page, {what}", method, False, TOLD, ((at_ms, notification, {}),), params={"cursor": "x"}
        )
        before = "in its time, and the list had changed before the result came"
        yield Case(before, method, True, STAYS, ((-at_ms, notification, {}),))
    yield Case(
        "in its time, and another list has changed",
        "tools/list",
        True,
        STAYS,
        ((at_ms, PROMPTS, {}), (at_ms, RESOURCES, {})),
    )
    yield Case(
        "in its time, and a resource was updated", "resources/list", True, STAYS, ((at_ms, UPDATED, changed),)
    )
    yield Case(
        "in its time, and this resource was updated",
        "resources/read",
        False,
        TOLD,
        ((at_ms, UPDATED, changed),),
        params=changed,
    )
    yield Case(
        "in its time, and another resource was updated",
        "resources/read",
        True,
        STAYS,
        ((at_ms, UPDATED, unchanged),),
        params=changed,
    )
    yield Case(
        "in its time, and the list of tools has changed",
        "resources/read",
        True,
        STAYS,
        ((at_ms, TOOLS, {}),),
        params=changed,
    )
    yield Case(
        "in its time, and much was heard, this resource among it",
        "resources/read",
        False,
        TOLD,
        ((-5, TOOLS, {}), (at_ms, UPDATED, changed), (at_ms, UPDATED, unchanged)),
        params=changed,
    )
    yield Case(
        "in its time, and this resource was updated before it came and not since",
        "resources/read",
        True,
        STAYS,
        ((-at_ms, UPDATED, changed), (at_ms, UPDATED, unchanged)),
        params=changed,
    )
    token = {"progressToken": 1, "progress": 1}
    yield Case(
        "in its time, and only progress was heard", "tools/list", True, STAYS, ((at_ms, PROGRESS, token),)
    )
    yield Case(
        "in its time, and nothing can be heard of it", "server/discover", True, STAYS, ((at_ms, TOOLS, {}),)
    )
    yield Case(
        "in its time, and the notification came this very moment",
        "tools/list",
        False,
        TOLD,
        ((30_000, TOOLS, {}),),
    )
    yield Case(
        "after its time, and something else was heard",
        "prompts/list",
        False,
        FRESH,
        ((at_ms, TOOLS, {}),),
        after_ms=TTL_MS + 1,
    )


def grade(answer: object, learner: Learner) -> Passed:
    """Ask about entries in the light of what was heard."""
    values: list[tuple[Case, Any]] = []
    for seed in SEEDS:
        rng = Random(f"still-fresh:{seed}")
        for case in _cases(rng):
            received = rng.randrange(100_000, 900_000)
            result: dict[str, Any] = {"resultType": "complete", "cacheScope": "public"}
            if case.ttl_ms is not None:
                result["ttlMs"] = case.ttl_ms
            entry = Entry(case.method, dict(case.params), "ada", result, received)
            news = [(received + at_ms, method, copy.deepcopy(params)) for at_ms, method, params in case.news]
            now_ms = received + case.after_ms
            on = f"an entry that is {case.what}"
            value = learner.call(answer, entry, news, now_ms, on=on, rule=case.rule)
            values.append((case, value))
    if all(is_placeholder(value) for _, value in values):
        raise NotAttempted
    for case, value in values:
        if value is not True and value is not False:
            raise NotYet(
                f"{name_of(answer)} returned {show(value)}.", look="Return True or False, whatever comes in."
            )
        if value is not case.fresh:
            heard = ", ".join(map(_heard, case.news)) or "nothing"
            raise NotYet(
                f"A result of {case.method}, {case.what}. `ttlMs` is {show(case.ttl_ms)}; it is needed "
                f"{case.after_ms} ms after it came. Heard: {heard}. {name_of(answer)} returned {value}.",
                case.rule,
                "Two questions: is its time not over yet? Has nothing been heard of it since it came?",
            )
    return Passed(
        f"All {len(values)} questions are answered right. Time and news are two reasons to be stale, and "
        "either is enough.",
        TOLD,
    )


def _heard(news: News) -> str:
    at_ms, method, _ = news
    return f"{method} {abs(at_ms)} ms {'before' if at_ms < 0 else 'after'} that"


TASK: Final = Task(
    name="still_fresh",
    title="Fresh, by time and by news",
    text="""\
A client subscribes to changes, and writes down every notification that it hears. Is a kept result still
fresh?

- `entry.method`, `entry.params`, `entry.result` and `entry.received_ms` are of the kept result;
- `news` is a list of tuples `(at_ms, method, params)`: when the notification came, and what it was;
- `now_ms` is the time now. All times are of the same clock.

| this notification | concerns |
|---|---|
| `notifications/tools/list_changed` | `tools/list` |
| `notifications/prompts/list_changed` | `prompts/list` |
| `notifications/resources/list_changed` | `resources/list` |
| `notifications/resources/updated` | `resources/read` of the `uri` in its `params` |

What was heard before the result came does not concern it: the result is newer.""",
    answer="is_fresh",
    starter='''\
def is_fresh(entry, news, now_ms):
    """Whether the kept result is fresh: True or False."""
    return ...''',
    hints=(
        "It is fresh where its time is not over and no notification of it has come since. Begin with the "
        "time.",
        "The table of the task fits into a dict: from the method of a notification to the method that it "
        "concerns. A page of a list is concerned like the list.",
        "`any(...)` over the news: it came at or after `entry.received_ms`, and it concerns the entry. For "
        "`notifications/resources/updated`, `uri` must be the same as well.",
    ),
    solution=(
        """\
CONCERNS = {
    "notifications/tools/list_changed": "tools/list",
    "notifications/prompts/list_changed": "prompts/list",
    "notifications/resources/list_changed": "resources/list",
    "notifications/resources/updated": "resources/read",
}


def concerns(entry, method, params):
    updated = method == "notifications/resources/updated"
    same = not updated or entry.params.get("uri") == params["uri"]
    return CONCERNS.get(method) == entry.method and same""",
        """\
def is_fresh(entry, news, now_ms):
    since = [one for one in news if one[0] >= entry.received_ms]
    told = any(concerns(entry, method, params) for _, method, params in since)
    return not told and now_ms < entry.received_ms + entry.result.get("ttlMs", 0)""",
    ),
    why="`ttlMs` is what the server believed when it answered. A notification is what it knows now.",
    grade=grade,
    pages=(
        ("notifications", "server/utilities/caching#interaction-with-notifications"),
        ("freshness", "server/utilities/caching#freshness-calculation"),
    ),
)
