"""Exercise: which code, in which revision?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.plain import as_integer, filled_in, require_complete
from mcpsim.course.exercises.set_12_errors.rules import (
    CAPABILITY,
    HEADERS,
    NO_METHOD,
    RESOURCE_LEGACY,
    RESOURCE_MODERN,
    STANDARD,
    UNKNOWN_TOOL,
    URL_REQUIRED,
    VERSION,
)
from mcpsim.course.exercises.showing import show
from mcpsim.course.exercises.tables import open_answers, rows
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.eras.pages import LEGACY, MODERN
from mcpsim.eras.revisions import LATEST_LEGACY, LATEST_MODERN
from mcpsim.errors import (
    ERROR_CODES,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_VERSION,
    URL_ELICITATION_REQUIRED,
)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, in which era, the code, and the rule."""

    text: str
    era: str
    code: int
    rule: Rule

    @property
    def revision(self) -> str:
        """The latest revision of the era."""
        return LATEST_MODERN if self.era == MODERN else LATEST_LEGACY


FAULTS: Final[Mapping[str, Fault]] = {
    "A": Fault("`resources/read`: there is no such resource", MODERN, INVALID_PARAMS, RESOURCE_MODERN),
    "B": Fault("`resources/read`: there is no such resource", LEGACY, RESOURCE_NOT_FOUND, RESOURCE_LEGACY),
    "C": Fault("a line arrives that is no JSON", LEGACY, PARSE_ERROR, STANDARD),
    "D": Fault("`prompts/list` reaches a server without prompts", MODERN, METHOD_NOT_FOUND, NO_METHOD),
    "E": Fault("`tools/call`: there is no such tool", MODERN, INVALID_PARAMS, UNKNOWN_TOOL),
    "F": Fault(
        "the request declares a version that the server does not speak", MODERN, UNSUPPORTED_VERSION, VERSION
    ),
    "G": Fault(
        "the request needs a capability of the client that it does not declare",
        MODERN,
        MISSING_CLIENT_CAPABILITY,
        CAPABILITY,
    ),
    "H": Fault(
        "over HTTP: the header `Mcp-Name` says something else than the body", MODERN, HEADER_MISMATCH, HEADERS
    ),
    "I": Fault(
        "the user has to visit a page before the request can be processed; the server answers with an error",
        LEGACY,
        URL_ELICITATION_REQUIRED,
        URL_REQUIRED,
    ),
}
LETTERS: Final = tuple(FAULTS)


def grade(answer: object, learner: Learner) -> Passed:
    """Compare letter by letter, and say what a wrong code means."""
    given = filled_in(answer, LETTERS, "codes")
    codes = {letter: as_integer(value) for letter, value in given.items()}
    for letter, code in codes.items():
        if code is None:
            raise NotYet(f"{letter}: the answer is {show(given[letter])}.", look="A code is an integer.")
    wrong = [letter for letter, code in codes.items() if code != FAULTS[letter].code]
    if wrong:
        letter = wrong[0]
        fault, code = FAULTS[letter], codes[letter] or 0
        raise NotYet(
            f"{len(codes) - len(wrong)} of {len(FAULTS)} are right. {letter}: {show(code)} is not it. "
            f"{_meaning(code, fault)}",
            fault.rule,
            "The index of error codes in the glossary has them all, with the revisions in which they are "
            "sent.",
        )
    require_complete(given, LETTERS)
    return Passed(
        "All nine are right. The same fault may have one code in one revision and another in the next."
    )


def _meaning(code: int, fault: Fault) -> str:
    row = ERROR_CODES.get(code)
    if row is None:
        return "Neither JSON-RPC nor MCP defines it."
    if fault.era not in row.eras:
        return f"It is {row.name}, and is not sent in {fault.revision}."
    return f"It is {row.name}: {row.meaning}"


_ROWS: Final = rows((letter, one.revision, one.text) for letter, one in FAULTS.items())

TASK: Final = Task(
    name="codes",
    title="The code of a fault",
    text=f"""\
Which code does the server's error have? The revision counts.

| | revision | what is wrong |
|---|---|---|
{_ROWS}""",
    answer="codes",
    starter=open_answers("codes", FAULTS, in_line=3),
    hints=(
        "Look at the era first. Two codes are legacy only, three are modern only.",
        "Whatever is wrong with the parameters, and has no code of its own, is -32602.",
        "The three modern codes, from -32020 on: header, capability, version.",
    ),
    solution=(
        """\
codes = {
    "A": -32602, "B": -32002, "C": -32700,
    "D": -32601, "E": -32602, "F": -32022,
    "G": -32021, "H": -32020, "I": -32042,
}""",
    ),
    why="Programs decide by codes. Where two revisions differ, a client that speaks both has to know both.",
    grade=grade,
    pages=(
        ("error codes", "basic/index#error-codes"),
        ("resources", "server/resources#error-handling"),
        ("server validation", "basic/transports/streamable-http#server-validation"),
    ),
)
