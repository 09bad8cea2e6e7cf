"""Exercise: is a rule broken here?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.neutral import shown
from mcpsim.course.exercises.set_15_wire_forensics.exhibits import (
    Exhibit,
    both_count,
    id_free_again,
    misbehaving,
    out_of_order,
)
from mcpsim.course.exercises.set_15_wire_forensics.rules import (
    BAD_CURSOR,
    ID_FREE_AGAIN,
    NO_REQUESTS,
    NO_SUCH_RESOURCE,
    ONE_ANSWER,
    PING,
    PROGRESS_RISES,
    PROGRESS_WORDS,
    SAME_ID,
)
from mcpsim.course.exercises.specimens import Specimen, grade_words
from mcpsim.course.exercises.tables import open_answers

MUST, SHOULD, NOTHING = "MUST", "SHOULD", "nothing"
WORDS: Final = (MUST, SHOULD, NOTHING)


class Charge(NamedTuple):
    """A short trace, and what the rules say of it."""

    exhibit: Exhibit
    specimen: Specimen


CHARGES: Final[Mapping[str, Charge]] = {
    "A": Charge(
        misbehaving("server-answers-twice"),
        Specimen(MUST, "The request 1 is answered twice, and nobody has asked a second time.", ONE_ANSWER),
    ),
    "B": Charge(
        out_of_order,
        Specimen(NOTHING, "Each answer has the id of its request, and no rule fixes the order.", SAME_ID),
    ),
    "C": Charge(
        misbehaving("server-gives-the-new-code-in-an-old-session"),
        Specimen(
            SHOULD, "A session, and a resource that is not there: the code is -32602.", NO_SUCH_RESOURCE
        ),
    ),
    "D": Charge(
        id_free_again,
        Specimen(NOTHING, "A modern client, and the first request was answered before.", ID_FREE_AGAIN),
    ),
    "E": Charge(
        misbehaving("server-reports-the-same-progress"),
        Specimen(MUST, "`progress` is 1 three times, while the words go on.", PROGRESS_RISES),
    ),
    "F": Charge(
        misbehaving("server-reports-progress-without-words"),
        Specimen(SHOULD, "`progress` rises. The message is blank.", PROGRESS_WORDS),
    ),
    "G": Charge(
        both_count,
        Specimen(NOTHING, "A session, and the server pings its client, with an id of its own.", PING),
    ),
    "H": Charge(
        misbehaving("server-asks-over-stdio"),
        Specimen(MUST, "No handshake, so this is no session, and the server sends a request.", NO_REQUESTS),
    ),
    "I": Charge(
        misbehaving("server-breaks-down-at-an-old-cursor"),
        Specimen(
            SHOULD, "An hour later the cursor is not known any more, and the code is -32603.", BAD_CURSOR
        ),
    ),
}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the words."""
    return grade_words(
        answer,
        {letter: charge.specimen for letter, charge in CHARGES.items()},
        WORDS,
        name="verdicts",
        look=lambda letter: (
            "Which era is it? Then: what would have to be there, or must not be? "
            f"`{shown(f'ex.charge({letter!r})')}` in a cell of its own opens the player."
        ),
        passed="All nine are right. A third of what looks odd is odd only.",
    )


TASK: Final = Task(
    name="guilty",
    title="Guilty or not",
    text="""\
Nine short traces, each with something that looks odd. What does the specification say of it, in the revision
that is spoken there?

- `"MUST"`: something that has to hold, or must not be, is broken.
- `"SHOULD"`: a recommendation is not followed.
- `"nothing"`: it is allowed.

All other things in these traces are in order.""",
    answer="verdicts",
    starter=open_answers("verdicts", CHARGES, in_line=5),
    hints=(
        "Look for `initialize` first: C and G are sessions, the others are not. The same thing may be "
        "allowed in one era and forbidden in the other.",
        "Two of them are about codes of errors. Those two are recommended, and not required.",
        "Each of the three words occurs three times.",
    ),
    solution=(
        """\
verdicts = {
    "A": "MUST", "B": "nothing", "C": "SHOULD", "D": "nothing", "E": "MUST",
    "F": "SHOULD", "G": "nothing", "H": "MUST", "I": "SHOULD",
}""",
    ),
    why="MUST, SHOULD and nothing are three different things to say to somebody. The era decides which.",
    grade=grade,
    pages=(
        ("requests and responses", "basic/index#messages"),
        ("progress", "basic/patterns/progress#progress-flow"),
        ("stdio", "basic/transports/stdio#receiving-messages"),
    ),
    show="print(ex.charges())",
)
