"""Exercise: which of these is a MUST, which a SHOULD, and which no rule at all?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.set_06_pagination.rules import (
    EMPTY,
    END,
    INVALID,
    ONE_SCOPE,
    OPAQUE,
    ORDER,
    SIZE,
)
from mcpsim.course.exercises.specimens import grade_words
from mcpsim.course.exercises.tables import open_answers, things
from mcpsim.course.exercises.verdict import Rule

MUST: Final = "MUST"
SHOULD: Final = "SHOULD"
NONE: Final = "none"
WORDS: Final = (MUST, SHOULD, NONE)


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that a peer may do, how strongly it is asked for, and the rule."""

    text: str
    word: str
    rule: Rule

    @property
    def seen(self) -> str:
        """The claim again: what decides is on the page, and there is nothing else to see."""
        return f'"{self.text}"'


CLAIMS: Final[Mapping[str, Claim]] = {
    "A": Claim("A client sends a cursor back unchanged, and does not look into it.", MUST, OPAQUE),
    "B": Claim("A client asks on where `nextCursor` is an empty string.", MUST, EMPTY),
    "C": Claim("A client takes a missing `nextCursor` for the end of the list.", SHOULD, END),
    "D": Claim("A client does not rely on a page size.", MUST, SIZE),
    "E": Claim(
        "A server puts the same number of members on every page but the last.",
        NONE,
        Rule(f"{SIZE.text} Nothing asks the server for pages of one size.", SIZE.page),
    ),
    "F": Claim("A server answers a cursor that it never gave out with -32602.", SHOULD, INVALID),
    "G": Claim("A server gives all pages of a list the same `cacheScope`.", MUST, ONE_SCOPE),
    "H": Claim("A server lists the same tools in the same order every time.", SHOULD, ORDER),
}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare letter by letter."""
    return grade_words(
        answer,
        CLAIMS,
        WORDS,
        name="strength",
        look="Read the page that the link leads to, and look for the words in capitals.",
        passed="All eight are right. What keeps a client from guessing is a MUST; how a server recovers is a "
        "SHOULD; how long a page is, is nobody's business but the server's.",
    )


TASK: Final = Task(
    name="cursor_rules",
    title="Rules of pages",
    text=f"""\
How strongly does the revision 2026-07-28 ask for each of these? `"MUST"` (a MUST NOT of the opposite counts
too), `"SHOULD"`, or `"none"` where no rule asks for it.

| | |
|---|---|
{things(CLAIMS)}""",
    answer="strength",
    starter=open_answers("strength", CLAIMS, in_line=4),
    hints=(
        "Two of the eight are not on the page about pagination: look at caching, and at tools.",
        "Four are a MUST, three are a SHOULD, and one is no rule.",
        "Whatever a client might guess about a cursor or a page is forbidden with a MUST NOT. That it "
        "should recognise the end is, on the page, a SHOULD.",
    ),
    solution=(
        """\
strength = {
    "A": "MUST", "B": "MUST", "C": "SHOULD", "D": "MUST",
    "E": "none", "F": "SHOULD", "G": "MUST", "H": "SHOULD",
}""",
    ),
    why="A MUST keeps two sides together that do not know each other. A SHOULD leaves room for a good "
    "reason, and an author who gives one.",
    grade=grade,
    pages=(
        ("pagination", "server/utilities/pagination#implementation-guidelines"),
        ("caching of pages", "server/utilities/caching#interaction-with-pagination"),
        ("tools", "server/tools#capabilities"),
    ),
)
