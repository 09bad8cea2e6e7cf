"""Exercise: whose fault is it?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.neutral import shown
from mcpsim.course.exercises.set_15_wire_forensics.exhibits import (
    crossing,
    header_of_the_client,
    header_of_the_gateway,
    id_of_the_gateway,
    id_of_the_server,
    misbehaving,
    old_client,
)
from mcpsim.course.exercises.set_15_wire_forensics.guilty import Charge
from mcpsim.course.exercises.set_15_wire_forensics.rules import (
    CANCELLATION,
    HEADERS,
    ID_ONCE,
    NO_FALL_FORWARD,
    NOT_FOUND,
    SAME_ID,
)
from mcpsim.course.exercises.specimens import Specimen, grade_words
from mcpsim.course.exercises.tables import open_answers

CLIENT, SERVER, GATEWAY, NOBODY = "client", "server", "gateway", "nobody"
WORDS: Final = (CLIENT, SERVER, GATEWAY, NOBODY)

CASES: Final[Mapping[str, Charge]] = {
    "A": Charge(
        header_of_the_gateway,
        Specimen(
            GATEWAY, "The header left the client as `find_ticket` and the gateway as `add_hours`.", HEADERS
        ),
    ),
    "B": Charge(
        misbehaving("client-uses-an-id-again"),
        Specimen(
            CLIENT, 'The id "a" was used before in this session. The error says so, and is right.', ID_ONCE
        ),
    ),
    "C": Charge(
        id_of_the_server,
        Specimen(
            SERVER, 'The id arrived as 1, and left the server as "1". The gateway only handed it on.', SAME_ID
        ),
    ),
    "D": Charge(
        crossing,
        Specimen(
            NOBODY, "The answer had left when the cancellation was sent, and arrived after it.", CANCELLATION
        ),
    ),
    "E": Charge(
        header_of_the_client,
        Specimen(CLIENT, "The header said `add_hours` when it left the client.", HEADERS),
    ),
    "F": Charge(
        misbehaving("server-says-all-is-well"),
        Specimen(SERVER, "The error is right, and its status is 200.", NOT_FOUND),
    ),
    "G": Charge(
        id_of_the_gateway,
        Specimen(GATEWAY, 'The server answered 1, and "gw-1" is what the client got.', SAME_ID),
    ),
    "H": Charge(
        old_client,
        Specimen(NOBODY, "Each of the two does what its own era asks of it.", NO_FALL_FORWARD),
    ),
}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the words."""
    return grade_words(
        answer,
        {letter: case.specimen for letter, case in CASES.items()},
        WORDS,
        name="by",
        look=lambda letter: (
            "Follow the thing that is wrong back to where it was right. "
            f"`{shown(f'ex.case({letter!r})')}` in a cell of its own opens the player."
        ),
        passed="All eight are right. A gateway has two sides, and a trace of both shows what it changed.",
    )


TASK: Final = Task(
    name="whose",
    title="Whose fault is it?",
    text="""\
Eight cases in which a call came to nothing, or nearly. Who made the fault: `"client"`, `"server"`,
`"gateway"`, or `"nobody"`?

These traces show every hop, and the time at which each message *left*. Whoever only hands on what is wrong
already has not made the fault.""",
    answer="by",
    starter=open_answers("by", CASES, in_line=4),
    hints=(
        "An error names what is wrong. Who sends it is rarely the one who did it.",
        "Where there is a gateway, compare what came in with what went out: header, id, body.",
        "Each of the four words occurs twice.",
    ),
    solution=(
        """\
by = {
    "A": "gateway", "B": "client", "C": "server", "D": "nobody",
    "E": "client", "F": "server", "G": "gateway", "H": "nobody",
}""",
    ),
    why="The client of A and that of E saw the same error. Only the trace of both hops tells them apart.",
    grade=grade,
    pages=(
        ("server validation", "basic/transports/streamable-http#server-validation"),
        ("responses", "basic/index#responses"),
        ("timing", "basic/patterns/cancellation#timing-considerations"),
        ("who understands whom", "basic/versioning#compatibility-matrix"),
    ),
    show="print(ex.cases())",
)
