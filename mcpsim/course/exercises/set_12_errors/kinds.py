"""Exercise: tool error or protocol error?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.set_12_errors.rules import (
    META,
    PROTOCOL_ERROR,
    RESOURCE_MODERN,
    TO_THE_MODEL,
    TOOL_ERROR,
)
from mcpsim.course.exercises.specimens import Situation, grade_words
from mcpsim.course.exercises.tables import open_answers, things

TOOL: Final = "tool"
PROTOCOL: Final = "protocol"
WORDS: Final = (TOOL, PROTOCOL)


SITUATIONS: Final[Mapping[str, Situation]] = {
    "A": Situation(
        "`tools/call` of `book_flight`; the date of departure was yesterday",
        TOOL,
        "The request is in order. The tool does not take that date, and the model can choose another one.",
        TOOL_ERROR,
    ),
    "B": Situation(
        "`tools/call` of `book_fligth`; the server has `book_flight`",
        PROTOCOL,
        "No tool of that name is there to say anything.",
        PROTOCOL_ERROR,
    ),
    "C": Situation(
        "`tools/call` of `book_flight`; the airline's service is down",
        TOOL,
        "The server is well; what the tool needs is not. The model may try again later, or say so.",
        TOOL_ERROR,
    ),
    "D": Situation(
        "`tools/call` without a `name`",
        PROTOCOL,
        "A call has to name its tool: the request is malformed.",
        PROTOCOL_ERROR,
    ),
    "E": Situation(
        "`tools/call` of `book_flight`; the flight is fully booked",
        TOOL,
        "A rule of the business: it worked as it should, and the answer is no.",
        TOOL_ERROR,
    ),
    "F": Situation(
        "`resources/read` of a URI that leads nowhere",
        PROTOCOL,
        "Only the result of a tool call has `isError`.",
        RESOURCE_MODERN,
    ),
    "G": Situation(
        "`tools/call` of `book_flight`; the request has no `clientCapabilities`",
        PROTOCOL,
        "The server refuses the request before any tool runs.",
        META,
    ),
}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare letter by letter."""
    return grade_words(
        answer,
        SITUATIONS,
        WORDS,
        name="kinds",
        look="Did a tool get to work at all? And could a model do something about it?",
        passed="All seven are right.",
        rule=TO_THE_MODEL,
    )


TASK: Final = Task(
    name="kinds",
    title="Tool error or protocol error",
    text=f"""\
A modern server cannot do what it was asked for. Should it answer with a tool error (`"tool"`) or with a
protocol error (`"protocol"`)?

| | what happens |
|---|---|
{things(SITUATIONS)}""",
    answer="kinds",
    starter=open_answers("kinds", SITUATIONS, in_line=4),
    hints=(
        "A tool error is the result of a tool call. What is no tool call cannot end in one.",
        "Ask whether there was a tool that could have said something.",
        "Three are tool errors, four are protocol errors.",
    ),
    solution=(
        """\
kinds = {
    "A": "tool", "B": "protocol", "C": "tool", "D": "protocol",
    "E": "tool", "F": "protocol", "G": "protocol",
}""",
    ),
    why="What the model can change goes to the model. What is wrong with the request itself goes to the "
    "program "
    "that made it.",
    grade=grade,
    pages=(
        ("tools", "server/tools#error-handling"),
        ("resources", "server/resources#error-handling"),
        ("`_meta`", "basic/index#meta"),
    ),
)
