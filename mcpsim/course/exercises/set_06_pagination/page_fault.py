"""Exercise: what does each client do wrong with its list?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.neutral import shown
from mcpsim.course.exercises.plain import as_integer, filled_in, require_complete
from mcpsim.course.exercises.set_06_pagination.logs import (
    CHANGED,
    EMPTY,
    LETTERS,
    LOGS,
    NO_FAULT,
    OTHER_LIST,
    PAST_THE_END,
    SHORT,
)
from mcpsim.course.exercises.set_06_pagination.rules import BEGIN_ANEW, END, OPAQUE, POSITION, SIZE
from mcpsim.course.exercises.set_06_pagination.rules import EMPTY as EMPTY_CURSOR
from mcpsim.course.exercises.showing import show
from mcpsim.course.exercises.tables import open_answers
from mcpsim.course.exercises.verdict import NotYet, Rule

FAULTS: Final[Mapping[int, str]] = {
    NO_FAULT: "nothing",
    CHANGED: "it changes a cursor that it got",
    EMPTY: "it takes an empty cursor for none",
    SHORT: "it takes a short page for the last one",
    PAST_THE_END: "it goes on although there is no `nextCursor`",
    OTHER_LIST: "it sends the cursor of one list with another list",
}
RULES: Final[Mapping[int, Rule]] = {
    CHANGED: OPAQUE,
    EMPTY: EMPTY_CURSOR,
    SHORT: SIZE,
    PAST_THE_END: END,
    OTHER_LIST: POSITION,
}
RIGHT: Final[Mapping[str, Rule]] = {"B": EMPTY_CURSOR, "E": BEGIN_ANEW}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare letter by letter."""
    given = filled_in(answer, LETTERS, "faults")
    logs = LOGS()
    for letter, value in given.items():
        number = as_integer(value)
        if number not in FAULTS:
            raise NotYet(f"{letter}: the answer is {show(value)}.", look="Give a number from 0 to 5.")
        log = logs[letter]
        if number != log.fault:
            raise NotYet(
                f"{letter}: {number} ({FAULTS[number]}) is not it. {log.seen}",
                RULES.get(log.fault, RIGHT.get(letter)),
                "Follow the log line by line: which cursor came, and what is asked for next?",
                log.play(),
            )
    require_complete(given, LETTERS)
    return Passed("All seven are right. Two of the clients that look strange do everything right.")


_FAULTS: Final = "\n".join(f"- {number}: {text}" for number, text in FAULTS.items())

TASK: Final = Task(
    name="page_fault",
    title="Find the fault",
    text=f"""\
Seven clients, each at a server of its own. Each wanted to read a list to its end. What does each of them do
wrong? Give the number:

{_FAULTS}

`print(ex.logs())` shows what crossed the wire, in short; `{shown('ex.recording("A")')}`
shows one of them in the player, without what the audit finds.""",
    answer="faults",
    starter=open_answers("faults", LETTERS, in_line=4),
    hints=(
        "Look at each page's `nextCursor`, and then at the request behind it. They should be the same text, "
        "or there should be no request.",
        "A page without members is no fault, and neither is a cursor that looks like a number. An error is "
        "no fault of the client, if it sent what it got.",
        "Every number occurs once, and 0 twice.",
    ),
    solution=(
        """\
faults = {
    "A": 3, "B": 0, "C": 2, "D": 1,
    "E": 0, "F": 4, "G": 5,
}""",
    ),
    why="Only two things count: is there a `nextCursor`, and is it sent back as it came, with the same list?",
    grade=grade,
    pages=(
        ("guidelines", "server/utilities/pagination#implementation-guidelines"),
        ("pagination model", "server/utilities/pagination#pagination-model"),
    ),
    show="print(ex.logs())",
)
