"""Exercise: which clients and servers understand each other, and in which era."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.specimens import grade_words
from mcpsim.course.exercises.tables import meanings, open_answers, rows
from mcpsim.course.exercises.verdict import Rule
from mcpsim.eras.pages import LEGACY, spec_url
from mcpsim.eras.revisions import LATEST_LEGACY, LATEST_MODERN, LEGACY_REVISIONS

MATRIX: Final = "basic/versioning#compatibility-matrix"
NEGOTIATION: Final = "basic/lifecycle#version-negotiation"
PROBE: Final = "basic/transports/stdio#backward-compatibility"

_OLDEST, _SECOND, _THIRD, _LATEST = LEGACY_REVISIONS

WORDS: Final[Mapping[str, str]] = {
    "modern": "they understand each other, and speak a modern version",
    "legacy": "they understand each other, and speak a legacy version",
    "fails": "they do not understand each other",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """A client and a server.

    Attributes:
        client, server: the versions that each speaks, the newest first.
        word: what comes of it.
        seen: how that comes.
        rule: what decides.
        more: what else there is to know.
    """

    client: tuple[str, ...]
    server: tuple[str, ...]
    word: str
    seen: str
    rule: Rule
    more: str = ""


PAIRS: Final[Mapping[str, Pair]] = {
    "A": Pair(
        (LATEST_MODERN, _LATEST),
        (LATEST_MODERN, _LATEST),
        "modern",
        "Both are dual-era. The client begins the modern way, and the first answer is good.",
        Rule(
            "A request with modern `_meta` is served by the modern rules, also by a dual-era server.", MATRIX
        ),
    ),
    "B": Pair(
        (LATEST_MODERN,),
        (_LATEST, _THIRD),
        "fails",
        "The server wants `initialize`, and this client never sends it.",
        Rule("Modern client, legacy server: fails. The client tells its user.", MATRIX),
    ),
    "C": Pair(
        (_LATEST, _THIRD),
        (LATEST_MODERN, _THIRD),
        "legacy",
        f"The client proposes {_LATEST}. The server answers with {_THIRD}, and the client speaks that too.",
        Rule(
            "A server that does not support the proposed version MUST answer with another one that it "
            "supports.",
            NEGOTIATION,
            LEGACY,
        ),
    ),
    "D": Pair(
        (_LATEST,),
        (LATEST_MODERN, _OLDEST),
        "fails",
        f"The server answers `initialize` with {_OLDEST}. Both speak a legacy version, but not the same.",
        Rule(
            "A client that does not support the version in the answer SHOULD disconnect.", NEGOTIATION, LEGACY
        ),
    ),
    "E": Pair(
        (LATEST_MODERN, _LATEST),
        (_LATEST,),
        "legacy",
        "The probe was not answered. That is the sign of a legacy server, and the client falls back.",
        Rule(
            "An error that is not modern, or no answer within a reasonable time: the server is legacy.", PROBE
        ),
        "It does not answer anything that comes before `initialize`.",
    ),
    "F": Pair(
        (_LATEST, _THIRD, _SECOND, _OLDEST),
        (LATEST_MODERN,),
        "fails",
        "The server refuses `initialize`, and a legacy client knows nothing else.",
        Rule("Legacy clients have no way to go forward. The server SHOULD name its versions.", MATRIX),
    ),
    "G": Pair(
        (LATEST_MODERN,),
        (LATEST_MODERN, _LATEST),
        "modern",
        "The session belongs to the other client. This one is served by what each of its requests says.",
        Rule("A dual-era server MAY serve both eras concurrently on the same endpoint.", MATRIX),
        "It is an HTTP endpoint, and a legacy client has a session there.",
    ),
    "H": Pair(
        (LATEST_MODERN, _THIRD),
        (LATEST_MODERN, _LATEST),
        "modern",
        "They have no legacy version in common, and need none.",
        Rule("Dual-era client, modern server: works. The client stays modern.", MATRIX),
    ),
}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the words, letter by letter."""
    return grade_words(
        answer,
        PAIRS,
        tuple(WORDS),
        name="pairs",
        look="First: do both speak a modern version? If not: what does the client propose, and what comes "
        "back?",
        passed="All eight are right. Modern where both can, legacy where `initialize` ends with a version "
        "that "
        "both speak.",
    )


_ROWS: Final = rows(
    (letter, ", ".join(pair.client), ", ".join(pair.server), pair.more) for letter, pair in PAIRS.items()
)

TASK: Final = Task(
    name="pairs",
    title="Who understands whom",
    text=f"""\
Each row is a client and a server, with the versions that they speak, the newest first. Both keep to the
rules. A dual-era client finds out what the server speaks, and prefers the modern version; in `initialize` a
client proposes the newest legacy version that it speaks, and a server that does not speak it answers with the
newest that it speaks. What comes of it?

| | client | server | about the server |
|---|---|---|---|
{_ROWS}

| word | meaning |
|---|---|
{meanings(WORDS)}

The legacy rules: [version negotiation, {LATEST_LEGACY}]({spec_url(LEGACY, NEGOTIATION)}).""",
    answer="pairs",
    starter=open_answers("pairs", PAIRS, in_line=4),
    hints=(
        f"{LATEST_MODERN} on both sides: modern. That settles three.",
        "For the others: does the client know `initialize`, and does the server? Then compare what the "
        "server answers with what the client speaks.",
        "Three are modern, two legacy, and three fail.",
    ),
    solution=(
        """\
pairs = {
    "A": "modern", "B": "fails", "C": "legacy", "D": "fails",
    "E": "legacy", "F": "fails", "G": "modern", "H": "modern",
}""",
    ),
    why="One era in common is needed, and within the legacy era one version in common, found by one proposal "
    "and one answer.",
    grade=grade,
    pages=(("compatibility matrix", MATRIX), ("stdio", PROBE)),
)
