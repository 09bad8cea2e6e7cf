"""Exercise: which part of a call reaches whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.specimens import Situation, grade_words
from mcpsim.course.exercises.tables import meanings, open_answers, things
from mcpsim.course.exercises.verdict import Rule

WORDS: Final[Mapping[str, str]] = {
    "not sent": "in no message of MCP: it stays among user, model and host",
    "peers": "in a message, and only client and server need it",
    "user": "in a message, for the user or from the user; the model does not need it",
    "model": "in a message, and the host hands it to the model",
}


PIECES: Final[Mapping[str, Situation]] = {
    "A": Situation(
        'what the user typed: "I need the report of the third quarter"',
        "not sent",
        "The server gets a tool's name and arguments. What the user said stays with the host.",
        Rule(
            "Servers should not be able to read the whole conversation. The full history stays with the "
            "host.",
            "architecture/index#design-principles",
        ),
    ),
    "B": Situation(
        "the `description` of a tool, out of the result of `tools/list`",
        "model",
        "By what else should a model choose a tool?",
        Rule(
            "Tools are model-controlled: the model finds and uses them by what it understands of them.",
            "server/tools#user-interaction-model",
        ),
    ),
    "C": Situation(
        "the `progressToken` of the call",
        "peers",
        "It tells to which request a notification belongs. Nobody has to read it.",
        Rule(
            "A sender that wants progress puts a token into the request; notifications repeat it.",
            "basic/patterns/progress#progress-flow",
        ),
    ),
    "D": Situation(
        'the `message` of a progress notification: "Part 3"',
        "user",
        "It comes while the call runs. The model gets something to read when the call is over.",
        Rule(
            "The message of a progress notification SHOULD be readable for humans.",
            "basic/patterns/progress#progress-flow",
        ),
    ),
    "E": Situation(
        "that the user agreed to the call, before it was sent",
        "not sent",
        "The call itself looks the same, whether somebody was asked or not.",
        Rule(
            "There SHOULD always be a human who can deny a call. How a host does it is no part of the "
            "protocol.",
            "server/tools#user-interaction-model",
        ),
    ),
    "F": Situation(
        'the `message` of an `elicitation/create`: "May the report name customers?"',
        "user",
        "The server asks the user, by way of the client. The answer goes back the same way.",
        Rule(
            "Elicitation lets a server ask the user for something, through the client.",
            "client/elicitation#user-interaction-model",
        ),
    ),
    "G": Situation(
        "the `requestState` of an `input_required` result",
        "peers",
        "The server wrote it for itself. The client carries it back.",
        Rule(
            "Clients MUST echo the exact `requestState`, and MUST NOT look into it.",
            "basic/patterns/mrtr#client-requirements-basic-workflow",
        ),
    ),
    "H": Situation(
        'the text of a result with `isError: true`: "There is no quarter 5"',
        "model",
        "It says what to do better, and the model wrote the arguments.",
        Rule(
            "Clients SHOULD give tool execution errors to the model, so that it can correct itself.",
            "server/tools#error-handling",
        ),
    ),
    "I": Situation(
        'what the model writes at the end: "Here is your report"',
        "not sent",
        "The call is over by then. Host and user have it among themselves.",
        Rule(
            "Servers should not be able to read the whole conversation. The full history stays with the "
            "host.",
            "architecture/index#design-principles",
        ),
    ),
    "J": Situation(
        "what the client can do: `io.modelcontextprotocol/clientCapabilities`",
        "peers",
        "It tells the server whether it may ask something. The model does not choose by it.",
        Rule(
            "Every request carries the client's capabilities in `_meta`; the server may not ask for more.",
            "basic/index#meta",
        ),
    ),
}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the words, letter by letter."""
    return grade_words(
        answer,
        PIECES,
        tuple(WORDS),
        name="sees",
        look="Two questions: does it stand in a message between client and server? If so, who has to read "
        "it?",
        passed="All ten are right. The model reads little of a call, and the server nothing of what was "
        "said.",
    )


TASK: Final = Task(
    name="sees",
    title="Who gets to see it",
    text=f"""\
Think of the host of the lesson and of a modern call of `write_report`. Where does each piece of information
go? A host may show its user more than it has to; what counts is who has to get it for the call to work.

| | piece |
|---|---|
{things(PIECES)}

| word | meaning |
|---|---|
{meanings(WORDS)}""",
    answer="sees",
    starter=open_answers("sees", PIECES, in_line=5),
    hints=(
        "Play the run of the lesson, and look for each piece in its messages. Three are not there.",
        "`ScriptedModel.has_read` holds all that the model got: what of the messages is in it?",
        "Three are not sent, three are for client and server alone, two are for the user, and two for the "
        "model.",
    ),
    solution=(
        """\
sees = {
    "A": "not sent", "B": "model", "C": "peers", "D": "user", "E": "not sent",
    "F": "user", "G": "peers", "H": "model", "I": "not sent", "J": "peers",
}""",
    ),
    why="MCP is what client and server say to each other. The host stands between them and the people: it "
    "decides what of that becomes text for the model, what is shown to the user, and what nobody has to "
    "read.",
    grade=grade,
    pages=(
        ("tools", "server/tools#user-interaction-model"),
        ("design principles", "architecture/index#design-principles"),
        ("elicitation", "client/elicitation#user-interaction-model"),
    ),
)
