"""Exercise: find the ten faults in the trace of the lesson."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.neutral import shown
from mcpsim.course.exercises.plain import as_integer, as_text
from mcpsim.course.exercises.set_15_wire_forensics.rules import (
    BOTH_ASK,
    CANCELLATION,
    HEADERS,
    ID_ONCE,
    NEGOTIATED,
    NOT_FOUND,
    OPAQUE,
    PROGRESS_ENDS,
    RESULT_TYPE,
    SAME_ID,
    STDIO_CANCEL,
)
from mcpsim.course.exercises.showing import show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule

ROWS: Final = 48


@dataclass(frozen=True, slots=True)
class Fault:
    """One of the ten.

    Attributes:
        word: what the answer calls it.
        rows: where it shows: each of them counts, and so do all.
        audited: the rule of the audit that finds it; "" where no program can.
    """

    word: str
    rows: tuple[int, ...]
    audited: str


FAULTS: Final = (
    Fault("crossed answers", (11, 12), ""),
    Fault("header", (16,), "http-name-header-agrees"),
    Fault("late progress", (21,), "progress-stops-at-completion"),
    Fault("id used again", (22,), "request-id-is-new-in-its-session-legacy"),
    Fault("not declared", (24,), "client-keeps-to-negotiated-capabilities"),
    Fault("hidden failure", (25,), ""),
    Fault("wrong id", (28,), "response-answers-a-request"),
    Fault("status", (32,), "http-method-not-found-is-404"),
    Fault("cursor", (35,), "pagination-cursor-is-opaque"),
    Fault("no resultType", (40,), "result-has-resulttype"),
)
WORDS: Final[Mapping[str, str]] = {
    "answered twice": "a request has a second answer",
    "capabilities": "a modern request does not say what its client can do",
    "crossed answers": "an answer holds what another request asked for",
    "cursor": "a client changes a cursor",
    "header": "a header says something else than the body",
    "hidden failure": "a tool failed, and its result looks like a success",
    "id used again": "a client uses an id that it must not use again",
    "late progress": "progress is reported after the answer",
    "no resultType": "a modern result does not say its type",
    "not declared": "a client asks for what the server did not declare",
    "session": "a request belongs to a session that does not exist",
    "silent cancellation": "a client stops waiting, and does not say so",
    "standing progress": "progress does not rise",
    "status": "the HTTP status does not fit the error",
    "wrong code": "an error has the code of another fault",
    "wrong id": "an answer has another id than its request",
}
_WORD_AT: Final = {row: fault.word for fault in FAULTS for row in fault.rows}

#: What is there to say of a row in which nothing is wrong, but which may look so.
INNOCENT: Final[Mapping[int, tuple[str, Rule | None]]] = {
    3: ("The first use of an id is in order.", ID_ONCE),
    4: ("The server asks here, with an id of its own.", BOTH_ASK),
    5: ("It answers the ping of the server.", BOTH_ASK),
    8: ("It is answered late, and nothing forbids that.", SAME_ID),
    9: ("The request is in order. Look at its answer.", None),
    10: ("The request is in order. Look at its answer.", None),
    13: ("It rises, and the call is under way.", PROGRESS_ENDS),
    15: ("This is the ticket that was asked for. Other answers can be compared with it.", None),
    17: ("This error is the right answer to a wrong request.", HEADERS),
    18: ("The request is in order. Look at its answer.", None),
    19: ("It rises, and the call is under way.", PROGRESS_ENDS),
    20: ("The answer is in order. Look at what comes after it.", PROGRESS_ENDS),
    23: ("This error is the right answer to a wrong request.", ID_ONCE),
    26: ("The request is in order. Look at its answer.", SAME_ID),
    27: ("This error is the right answer to a wrong request.", NEGOTIATED),
    29: (
        "Nobody has asked this server what it offers, and nobody has to. Look at the answer.",
        NOT_FOUND,
    ),
    30: ("It comes after the answers to later requests. The id tells them apart.", SAME_ID),
    33: ("It has no answer because it was cancelled in row 43.", STDIO_CANCEL),
    34: ("The cursor is in order. Look at how it comes back.", OPAQUE),
    36: ("So a connection over stdio ends: no message is needed.", None),
    37: ("This error is the right answer to a wrong request.", OPAQUE),
    38: ("The request is in order. Look at its answer.", RESULT_TYPE),
    39: ("So a connection over stdio ends: no message is needed.", None),
    41: ("It has no answer because it was cancelled in row 45.", CANCELLATION),
    42: ("It came before the stream was closed.", STDIO_CANCEL),
    43: ("Over HTTP this is how a client cancels.", STDIO_CANCEL),
    44: ("It came before the cancellation.", CANCELLATION),
    45: ("Over stdio this is how a client cancels.", STDIO_CANCEL),
    46: ("So a connection over stdio ends: no message is needed.", None),
    47: ("So a connection over stdio ends: no message is needed.", None),
}


def grade(answer: object, learner: Learner) -> Passed:
    """Look at every row that is named, and say how many faults are found."""
    given = _filled_in(answer)
    wrong = [row for row in sorted(given) if _WORD_AT.get(row) != given[row]]
    found = [fault for fault in FAULTS if any(given.get(row) == fault.word for row in fault.rows)]
    right = sorted(row for row in given if row not in wrong)
    counted = f"{len(found)} of {len(FAULTS)} faults are found" + (f": {_listed(right)}." if right else ".")
    if wrong:
        row = wrong[0]
        if row in _WORD_AT:
            raise NotYet(
                f"{counted} Something is wrong in row {row}, but not {show(given[row])}.",
                look=f"Look at row {row} once more, and at the rows of its connection before it.",
            )
        why, rule = INNOCENT.get(row, ("Nothing is wrong there.", None))
        raise NotYet(
            f"{counted} Row {row} is none of them. {why}", rule, "Take it out, or find its neighbour."
        )
    if len(found) < len(FAULTS):
        raise NotYet(
            f"{counted} Nothing in the answer is wrong.",
            look="Go through each connection alone: ids, headers, status, ends, and what the texts say.",
        )
    return Passed(
        "All ten are found. The audit sees eight of them; two only show to somebody who reads the texts."
    )


def _filled_in(answer: object) -> dict[int, str]:
    wanted = "`faults` is a dict: the number of a row, and what is wrong in it, in one of the words."
    if not isinstance(answer, dict):
        raise NotYet(f"The answer is {show(answer)}.", look=wanted)
    given = dict(cast("Mapping[Any, Any]", answer).items())
    if not given:
        raise NotYet("The answer has no row.", look=wanted)
    filled = {
        key: value for key, value in given.items() if not is_placeholder(key) and not is_placeholder(value)
    }
    if not filled:
        raise NotAttempted
    rows: dict[int, str] = {}
    for key, value in filled.items():
        row, word = as_integer(key), as_text(value)
        if row is None or not 0 <= row < ROWS:
            raise NotYet(f"There is no row {show(key)}.", look=f"Rows have the numbers 0 to {ROWS - 1}.")
        if word not in WORDS:
            raise NotYet(
                f"Row {row}: {show(value)} is none of the words.", look="The words stand in the task."
            )
        rows[row] = word
    return rows


def _listed(rows: list[int]) -> str:
    if len(rows) == 1:
        return f"row {rows[0]}"
    return f"rows {', '.join(map(str, rows[:-1]))} and {rows[-1]}"


_WORDS: Final = "\n".join(f'| `"{word}"` | {meaning} |' for word, meaning in WORDS.items())

TASK: Final = Task(
    name="ten_faults",
    title="Ten faults",
    text=f"""\
The trace of the lesson has ten faults. Find them: a dict from the number of a row to what is wrong in it.

| word | what is wrong |
|---|---|
{_WORDS}

Not all of the words occur. Name the row in which the rule is broken, and not the one in which somebody
complains about it. The check says how many you have, so you may begin with one: row 16 stands there
already, for the lesson has found it.

Read first. Then let the audit help: `ex.recording().audit()`. It does not find all of them. `ex.rows()` gives
all rows in full, `{shown("ex.recording()")}` the player without what the audit finds.""",
    answer="faults",
    starter="""\
faults = {
    16: ...,
}""",
    hints=(
        'One connection at a time: `print(ex.trace("c1"))`. In each of them there are three or four.',
        "The audit names eight rules with their rows. Say in the words of the task what each of them means.",
        "The last two are in results that no program can judge: what was asked for, and what came? "
        '`for row in ex.rows(): print(row.get("message"))`.',
    ),
    solution=(
        """\
faults = {
    11: "crossed answers", 12: "crossed answers",
    16: "header", 28: "wrong id",
    21: "late progress", 22: "id used again",
    24: "not declared", 25: "hidden failure",
    32: "status", 35: "cursor", 40: "no resultType",
}""",
    ),
    why="The clients made four of them, the server six. Each error in this trace but one is a right answer "
    "to a wrong request, so most of the faults are not where the errors are.",
    grade=grade,
    pages=(
        ("messages", "basic/index#messages"),
        ("headers", "basic/transports/streamable-http#request-metadata"),
        ("results of tools", "server/tools#error-handling"),
    ),
    points=30,
)
