"""Exercise: public or private, and why?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.plain import as_integer, as_text, filled_in, items_of, require_complete
from mcpsim.course.exercises.showing import show
from mcpsim.course.exercises.tables import things
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.server.resources import CACHE_SCOPES

CHOOSING: Final = "server/utilities/caching#choosing-a-cache-scope"
SECURITY: Final = "server/utilities/caching#security-considerations"

REASONS: Final[Mapping[int, str]] = {
    1: "every caller gets the same result",
    2: "the result depends on who asks",
    3: "the request has to carry a token",
    4: "the result may change before its `ttlMs` is over",
}
SAME, DEPENDS = 1, 2

PUBLIC: Final = Rule(
    "`public` says that a result holds nothing of one user: anybody's cache MAY serve it to anybody. It "
    "fits lists that are identical for all users.",
    CHOOSING,
)
PRIVATE: Final = Rule(
    "`private` fits results that depend on the user. A cache MUST NOT be shared across authorization "
    "contexts then.",
    CHOOSING,
)
TOKEN: Final = Rule(
    "Servers MUST be aware that a `public` result may be shared between callers, even if it comes from an "
    "endpoint that asks for a token. What counts is whether the result is the same.",
    SECURITY,
)
HINT: Final = Rule(
    "`ttlMs` is a hint how long a result stays fresh, whoever may use it. The scope says who.",
    "server/utilities/caching#cacheable-model",
)


@dataclass(frozen=True, slots=True)
class Situation:
    """One situation, and what fits it."""

    text: str
    scope: str
    reason: int
    seen: str
    rule: Rule


SITUATIONS: Final[Mapping[str, Situation]] = {
    "A": Situation(
        "`tools/list` of a server that asks everybody for a token, and then shows everybody the same tools",
        "public",
        SAME,
        "The token opens the door; behind it everybody sees the same list.",
        TOKEN,
    ),
    "B": Situation(
        "`tools/list` of a server that leaves out the tools that the caller's token does not permit",
        "private",
        DEPENDS,
        "Two callers may get two lists.",
        PRIVATE,
    ),
    "C": Situation(
        "`resources/read` of the address `calendar://me/today`",
        "private",
        DEPENDS,
        "Each caller reads a calendar of their own under the same address.",
        PRIVATE,
    ),
    "D": Situation(
        "`server/discover` of a server that answers all callers alike, but gets a new version every night",
        "public",
        SAME,
        "It changes over time, and at any time it is the same for everybody.",
        HINT,
    ),
}
LETTERS: Final = tuple(SITUATIONS)


def grade(answer: object, learner: Learner) -> Passed:
    """Compare scope and reason, letter by letter."""
    given = filled_in(answer, LETTERS, "choices")
    for letter, value in given.items():
        scope, reason = _pair(letter, value)
        situation = SITUATIONS[letter]
        if scope != situation.scope:
            meaning = PUBLIC if scope == "public" else situation.rule
            raise NotYet(f"{letter}: {scope} does not fit. {situation.seen}", meaning, _LOOK)
        if reason != situation.reason:
            raise NotYet(
                f"{letter}: {scope} fits, and the reason is another one than {reason} ({REASONS[reason]}). "
                f"{situation.seen}",
                TOKEN if reason == 3 else HINT if reason == 4 else situation.rule,
                _LOOK,
            )
    require_complete(given, LETTERS)
    return Passed("All four fit. It is always one question: is the result the same for everybody?", PUBLIC)


def _pair(letter: str, value: object) -> tuple[str, int]:
    pair = items_of(value) or []
    scope = as_text(pair[0]) if len(pair) == 2 else None
    reason = as_integer(pair[1]) if len(pair) == 2 else None
    if scope not in CACHE_SCOPES or reason not in REASONS:
        raise NotYet(
            f"{letter}: the answer is {show(value)}.",
            look='Give a scope and the number of a reason, such as ("public", 3).',
        )
    return scope, reason


_LOOK: Final = "Ask of each: may one caller be shown what another caller got?"
_REASONS: Final = "\n".join(f"{number}. {text}" for number, text in REASONS.items())

TASK: Final = Task(
    name="scope",
    title="Public or private",
    text=f"""\
A result that may be cached says in `cacheScope` for whom: `"public"` for everybody, `"private"` for callers
of the same authorization context. Choose one for each situation, with the number of the reason that
decides:

| situation | what is asked for |
|---|---|
{things(SITUATIONS)}

Reasons:

{_REASONS}""",
    answer="choices",
    starter="""\
choices = {
    "A": ...,  # for example ("public", 3)
    "B": ...,
    "C": ...,
    "D": ...,
}""",
    hints=(
        "Two of the four reasons never decide the scope.",
        "Think of two callers with two tokens. Would they get the same bytes?",
        "Two are public and two are private.",
    ),
    solution=(
        """\
choices = {
    "A": ("public", 1),
    "B": ("private", 2),
    "C": ("private", 2),
    "D": ("public", 1),
}""",
    ),
    why="The scope says who may see a stored result, not how one gets to it and not for how long. It is no "
    "access control either: a server MUST check by itself who may use what.",
    grade=grade,
    pages=(
        ("cache scope", "server/utilities/caching#cache-scope-field"),
        ("security", "server/utilities/caching#security-considerations"),
    ),
)
