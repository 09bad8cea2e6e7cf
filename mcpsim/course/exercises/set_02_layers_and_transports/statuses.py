"""Exercise: what does an HTTP response tell a client?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.set_02_layers_and_transports.rules import (
    ACCEPTED,
    HTTP,
    JSON_OR_EVENTS,
    NO_GET,
    NOT_FOUND,
    VALIDATION,
)
from mcpsim.course.exercises.specimens import Specimen, grade_words
from mcpsim.course.exercises.tables import open_answers, rows

ANSWERED: Final = "answered"
READ_ON: Final = "read on"
TAKEN: Final = "taken in"
REFUSED: Final = "refused"
BROKEN: Final = "broken"
WORDS: Final = (ANSWERED, READ_ON, TAKEN, REFUSED, BROKEN)

SPECIMENS: Final[Mapping[str, Specimen]] = {
    "A": Specimen(ANSWERED, "A request, 200, and one JSON object: the response.", JSON_OR_EVENTS),
    "B": Specimen(
        READ_ON,
        "An event stream. What came so far is a notification; the response to the request is still to come.",
        JSON_OR_EVENTS,
    ),
    "C": Specimen(TAKEN, "A notification, 202, and no body: the server has it.", ACCEPTED),
    "D": Specimen(BROKEN, "A request, and 202. Nobody will ever answer it on this exchange.", JSON_OR_EVENTS),
    "E": Specimen(BROKEN, "A notification, and 200 with a body.", ACCEPTED),
    "F": Specimen(REFUSED, "404 with -32601: the server does not have the method.", NOT_FOUND),
    "G": Specimen(BROKEN, "-32601 in the body, and the status says that all is well.", NOT_FOUND),
    "H": Specimen(REFUSED, "400 with -32020: a header does not match the body.", VALIDATION),
    "I": Specimen(BROKEN, "The body is a response, and the `Content-Type` is `text/plain`.", JSON_OR_EVENTS),
    "J": Specimen(REFUSED, "405: this server has nothing for a GET. That is what it should say.", NO_GET),
    "K": Specimen(
        REFUSED, "A notification, and 400: the server does not take it in. A body is optional.", ACCEPTED
    ),
    "L": Specimen(
        ANSWERED,
        "The event stream has brought the response, with the id of the request. Nothing more is to come.",
        JSON_OR_EVENTS,
    ),
}

_EXCHANGES: Final = (
    ("A", "request 1", "200", "`application/json`", '`{"jsonrpc":"2.0","id":1,"result":{…}}`'),
    ("B", "request 2", "200", "`text/event-stream`", '`data: {"jsonrpc":"2.0","method":"notifications/…`'),
    ("C", "notification", "202", "", ""),
    ("D", "request 3", "202", "", ""),
    ("E", "notification", "200", "`application/json`", "`{}`"),
    ("F", "request 4", "404", "`application/json`", "the error -32601"),
    ("G", "request 5", "200", "`application/json`", "the error -32601"),
    ("H", "request 6", "400", "`application/json`", "the error -32020"),
    ("I", "request 7", "200", "`text/plain`", '`{"jsonrpc":"2.0","id":7,"result":{…}}`'),
    ("J", "(a GET)", "405", "", ""),
    ("K", "notification", "400", "", ""),
    ("L", "request 8", "200", "`text/event-stream`", '`data: {"jsonrpc":"2.0","id":8,"result":{…}}`'),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the words, exchange by exchange."""
    return grade_words(
        answer,
        SPECIMENS,
        WORDS,
        name="exchanges",
        look="Three questions: what was posted? Does the status fit it? Is the response there, or can it "
        "still come?",
        passed="All twelve are right. Four of the servers break a rule.",
    )


TASK: Final = Task(
    name="statuses",
    title="What does the response say?",
    text=f"""\
A modern client has sent something, and this came back so far. The server speaks the modern revision only.

| | sent | status | `Content-Type` | body |
|---|---|---|---|---|
{rows(_EXCHANGES)}

Say of each what it means, with one of five words:

- `"answered"`: the response is there;
- `"read on"`: the response is still to come on this exchange;
- `"taken in"`: the server has it, and nothing more will come;
- `"refused"`: the server did not do it, and said so as it should;
- `"broken"`: the server breaks a rule.""",
    answer="exchanges",
    starter=open_answers("exchanges", SPECIMENS, in_line=2),
    hints=(
        "A request gets JSON or an event stream, or an HTTP error. A notification gets 202 without a body, "
        "or an HTTP error. Whatever is none of these is broken.",
        "Which errors have a status that the specification names? -32601 belongs to 404, and -32020 to 400.",
        "In an event stream, look at the message: a notification has a method and no id, a response has the "
        "id of the request.",
    ),
    solution=(
        """\
exchanges = {
    "A": "answered", "B": "read on",
    "C": "taken in", "D": "broken",
    "E": "broken", "F": "refused",
    "G": "broken", "H": "refused",
    "I": "broken", "J": "refused",
    "K": "refused", "L": "answered",
}""",
    ),
    why="What was posted decides which responses are right: 202 is right for a notification and wrong for a "
    "request.",
    grade=grade,
    pages=(
        ("sending messages", f"{HTTP}#sending-messages"),
        ("protocol version header", f"{HTTP}#protocol-version-header"),
    ),
)
