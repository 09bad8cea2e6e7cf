"""Exercise: what may be sent at which moment?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.set_03_handshake.rules import (
    CANCELLATION,
    CLIENT_WAITS,
    EITHER_PINGS,
    INITIALIZATION,
    INITIALIZE_STAYS,
    NEGOTIATED_ONLY,
    OPERATION,
    SERVER_WAITS,
)
from mcpsim.course.exercises.specimens import Specimen, grade_words
from mcpsim.course.exercises.tables import open_answers, rows
from mcpsim.eras.pages import LEGACY

YES: Final = "yes"
SHOULD_NOT: Final = "SHOULD NOT"
MUST_NOT: Final = "MUST NOT"
WORDS: Final = (YES, SHOULD_NOT, MUST_NOT)

_WAITING: Final = "the client waits for the result of `initialize`"
_NOT_READY: Final = "the server has answered `initialize`; `notifications/initialized` is still to come"
_OPEN: Final = "the session is open"

# When, what is sent, the verdict.
MOMENTS: Final[Mapping[str, tuple[str, str, Specimen]]] = {
    "A": (
        _WAITING,
        "the client sends `ping`",
        Specimen(YES, "It is a ping, and pings are excepted.", CLIENT_WAITS),
    ),
    "B": (
        _WAITING,
        "the client sends `tools/list`",
        Specimen(SHOULD_NOT, "It is a request, and no ping.", CLIENT_WAITS),
    ),
    "C": (
        _WAITING,
        "the client loses patience, and sends `notifications/cancelled` for it",
        Specimen(MUST_NOT, "One request cannot be cancelled by a client: this one.", INITIALIZE_STAYS),
    ),
    "D": (
        _NOT_READY,
        "the server sends `ping`",
        Specimen(YES, "It is a ping, and pings are excepted.", SERVER_WAITS),
    ),
    "E": (
        _NOT_READY,
        "the server, which declared `logging`, sends `notifications/message`",
        Specimen(YES, "It is a log message. What has to wait are other requests.", SERVER_WAITS),
    ),
    "F": (
        _NOT_READY,
        "the server sends `sampling/createMessage`; the client declared `sampling`",
        Specimen(SHOULD_NOT, "It is a request, and the client has not said that it is ready.", SERVER_WAITS),
    ),
    "G": (
        f'{_OPEN}; the server declared `{{"tools": {{}}}}`',
        "the client sends `resources/list`",
        Specimen(MUST_NOT, "Resources were not declared.", NEGOTIATED_ONLY),
    ),
    "H": (
        f"{_OPEN}; the client declared `{{}}`",
        "the server sends `elicitation/create`",
        Specimen(MUST_NOT, "The client declared nothing, so nothing may be asked of it.", NEGOTIATED_ONLY),
    ),
    "I": (
        f'{_OPEN}; the client declared `{{"roots": {{}}}}`',
        "the server sends `roots/list`",
        Specimen(YES, "An empty object declares the capability.", NEGOTIATED_ONLY),
    ),
    "J": (
        f"{_OPEN}; both declared `{{}}`",
        "the server sends `ping` in the middle of a call",
        Specimen(YES, "A ping needs no capability.", EITHER_PINGS),
    ),
}
SPECIMENS: Final = {letter: specimen for letter, (_, _, specimen) in MOMENTS.items()}

_TABLE: Final = rows((letter, when, what) for letter, (when, what, _) in MOMENTS.items())


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the words, moment by moment."""
    return grade_words(
        answer,
        SPECIMENS,
        WORDS,
        name="moments",
        look="Who sends it? Is it a request? Does a capability gate it, and who declared that?",
        passed="All ten are right. Mind the difference: two are advised against, three are forbidden.",
    )


TASK: Final = Task(
    era=LEGACY,
    name="moments",
    title="What may be sent when?",
    text=f"""\
Ten moments of a legacy session.

| | when | what |
|---|---|---|
{_TABLE}

May it be sent? Say it with the word of the specification: `"yes"`, `"SHOULD NOT"` or `"MUST NOT"`.""",
    answer="moments",
    starter=open_answers("moments", MOMENTS, in_line=2),
    hints=(
        "What comes too early is advised against; there are exceptions. What was not negotiated is "
        "forbidden.",
        "Before the handshake is over, the sentences of the specification are about *requests*. Is each of "
        "these one?",
        "One request of the client is never cancelled. And a capability is declared by an object, however "
        "empty.",
    ),
    solution=(
        """\
moments = {
    "A": "yes", "B": "SHOULD NOT",
    "C": "MUST NOT", "D": "yes",
    "E": "yes", "F": "SHOULD NOT",
    "G": "MUST NOT", "H": "MUST NOT",
    "I": "yes", "J": "yes",
}""",
    ),
    why="Order is advice to the sender, negotiation is a rule. A peer that meets a request that came "
    "too early may answer it all the same.",
    grade=grade,
    pages=(
        ("initialization", INITIALIZATION),
        ("operation", OPERATION),
        ("cancellation", CANCELLATION),
    ),
)
