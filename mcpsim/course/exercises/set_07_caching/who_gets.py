"""Exercise: who may be given this result out of a cache?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.set_07_caching.kept import (
    FRESH,
    INTERIM,
    NO_TTL,
    PRIVATE,
    PUBLIC,
    RETRY,
    SIX,
    TOLD,
)
from mcpsim.course.exercises.specimens import Situation, grade_words
from mcpsim.course.exercises.tables import open_answers, things
from mcpsim.course.exercises.verdict import Rule

ANYBODY: Final = "anybody"
ADA: Final = "ada"
NOBODY: Final = "nobody"
WORDS: Final = (ANYBODY, ADA, NOBODY)


SITUATIONS: Final[Mapping[str, Situation]] = {
    "A": Situation(
        '`tools/list`, `"ttlMs": 60000, "cacheScope": "public"`',
        ANYBODY,
        "It is fresh, and for everybody.",
        PUBLIC,
    ),
    "B": Situation(
        '`tools/list`, `"ttlMs": 60000, "cacheScope": "private"`',
        ADA,
        "It is fresh, and for one authorization context.",
        PRIVATE,
    ),
    "C": Situation(
        '`resources/read`, `"ttlMs": 5000, "cacheScope": "public"`',
        NOBODY,
        "After ten seconds it is stale, whoever it is for.",
        FRESH,
    ),
    "D": Situation(
        '`tools/call`, `"ttlMs": 60000, "cacheScope": "public"`: the server was generous with its hints',
        NOBODY,
        "A call is no cacheable method, whatever its result says.",
        SIX,
    ),
    "E": Situation(
        '`server/discover`, `"ttlMs": 60000, "cacheScope": "public"`',
        ANYBODY,
        "`server/discover` is one of the six, and the result is fresh and for everybody.",
        SIX,
    ),
    "F": Situation(
        '`resources/read`, `"resultType": "input_required"`',
        NOBODY,
        "It is a question, and no content.",
        INTERIM,
    ),
    "G": Situation(
        '`resources/read` with `inputResponses`, `"ttlMs": 60000, "cacheScope": "private"`',
        NOBODY,
        "It answers a retry, and depends on what the user said. ada herself may answer otherwise next time.",
        RETRY,
    ),
    "H": Situation(
        '`prompts/list`, `"ttlMs": -1, "cacheScope": "public"`',
        NOBODY,
        "A negative time counts as 0.",
        NO_TTL,
    ),
    "I": Situation(
        '`tools/list`, `"cacheScope": "private"` and no `ttlMs`',
        NOBODY,
        "No time counts as 0.",
        NO_TTL,
    ),
    "J": Situation(
        'the second page of `resources/list`, `"ttlMs": 20000, "cacheScope": "private"`',
        ADA,
        "A page is a result of its own. It is fresh, and for one authorization context.",
        PRIVATE,
    ),
    "K": Situation(
        '`tools/list` of a server that lets nobody in without a token, `"ttlMs": 60000, "cacheScope": '
        '"public"`',
        ANYBODY,
        "Public is public, even if it comes from an endpoint that asks for a token.",
        Rule(
            "Servers MUST be aware that a `public` result may be shared between callers, even if it comes "
            "from an authenticated endpoint.",
            "server/utilities/caching#security-considerations",
        ),
    ),
    "L": Situation(
        '`tools/list`, `"ttlMs": 60000, "cacheScope": "public"`; after five seconds '
        "`notifications/tools/list_changed` came",
        NOBODY,
        "It would be fresh, and the notification says that it is not right any more.",
        TOLD,
    ),
}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare letter by letter."""
    return grade_words(
        answer,
        SITUATIONS,
        WORDS,
        name="who",
        look="Three questions, in this order: may it be kept at all? Is it fresh? For whom is it?",
        passed="All twelve are right: first whether it may be kept at all, then for how long, then for whom.",
    )


TASK: Final = Task(
    name="who_gets",
    title="Who may be given it?",
    text=f"""\
A gateway keeps results. ada asked, and this result came. Ten seconds later somebody sends the same request.
Who may be given the kept result, by the rules and recommendations of 2026-07-28? `"anybody"`, `"ada"` (and
her authorization context), or `"nobody"`: then the server is asked again.

| | method and result |
|---|---|
{things(SITUATIONS)}

Nothing changed in between, and no notification came, unless it says so.""",
    answer="who",
    starter=open_answers("who", SITUATIONS, in_line=4),
    hints=(
        "Ask three questions, in this order: may it be kept at all? Is it still fresh? For whom is it?",
        "Three of them may not be kept at all: a method that is none of the six, a result that is no final "
        "one, and one that depends on what a user said.",
        "Three times anybody, twice ada, and seven times nobody.",
    ),
    solution=(
        """\
who = {
    "A": "anybody", "B": "ada", "C": "nobody", "D": "nobody",
    "E": "anybody", "F": "nobody", "G": "nobody", "H": "nobody",
    "I": "nobody", "J": "ada", "K": "anybody", "L": "nobody",
}""",
    ),
    why="The scope says for whom, the time says for how long, and neither matters where a result may not be "
    "kept at all.",
    grade=grade,
    pages=(
        ("cacheable results", "server/utilities/caching#cacheable-results"),
        ("cache key", "server/utilities/caching#cache-key"),
        ("cache scope", "server/utilities/caching#cache-scope-field"),
    ),
)
