"""Exercise: which lines may stand on a server's standard output?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.set_02_layers_and_transports.rules import (
    NO_REQUESTS,
    ONLY_MESSAGES,
    STDIO,
    UTF_8,
)
from mcpsim.course.exercises.specimens import Specimen, grade_words
from mcpsim.course.exercises.tables import open_answers

MAY: Final = "message"
NOT_JSON: Final = "not JSON"
NO_MESSAGE: Final = "no message"
WRONG_WAY: Final = "wrong way"
WORDS: Final = (MAY, NOT_JSON, NO_MESSAGE, WRONG_WAY)

LINES: Final[Mapping[str, bytes]] = {
    "A": b"help-desk 1.0 is ready\n",
    "B": b'{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text",'
    b'"text":"one\\ntwo"}]}}\n',
    "C": b'{"level":"info","event":"ticket found"}\n',
    "D": b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}\n',
    "E": b'50 %{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}\n',
    "F": b'{"jsonrpc":"2.0","id":7,"method":"roots/list"}\n',
    "G": b'{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unknown tool: find"}}\n',
    "H": b'{"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","content":[{"type":"text",'
    b'"text":"B\xfcro 3"}]}}\n',
    "I": b'  {"jsonrpc": "2.0", "id": 5, "result": {"resultType": "complete", "content": []}}\n',
    "J": b'[{"jsonrpc":"2.0","id":6,"result":{"resultType":"complete","content":[]}}]\n',
}

_ANY: Final = "A response, an error and a notification may all stand there."

SPECIMENS: Final[Mapping[str, Specimen]] = {
    "A": Specimen(NOT_JSON, "It is a line for people. Its place is `stderr`.", ONLY_MESSAGES),
    "B": Specimen(
        MAY,
        r"It is a response. The newline of its text is written as `\n`, two characters: the message is one "
        "line.",
        ONLY_MESSAGES,
    ),
    "C": Specimen(
        NO_MESSAGE,
        "It is a JSON object, but it has no `jsonrpc`, and neither `method` nor `result` nor `error`.",
        ONLY_MESSAGES,
    ),
    "D": Specimen(MAY, f"It is a notification. {_ANY}", ONLY_MESSAGES),
    "E": Specimen(
        NOT_JSON,
        "Something was printed without a newline, and the response stands behind it on the same line. A "
        "reader of lines gets both as one.",
        ONLY_MESSAGES,
    ),
    "F": Specimen(WRONG_WAY, "It is well-formed: a request. This server is modern.", NO_REQUESTS),
    "G": Specimen(MAY, f"It is an error response. {_ANY}", ONLY_MESSAGES),
    "H": Specimen(NOT_JSON, "The byte 0xFC stands alone: an ü in Latin-1. In UTF-8 it has two bytes.", UTF_8),
    "I": Specimen(
        MAY, "It is a response. Blanks between the parts of a JSON text mean nothing.", ONLY_MESSAGES
    ),
    "J": Specimen(NO_MESSAGE, "It is an array with a response in it: a batch of JSON-RPC.", ONLY_MESSAGES),
}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the words, line by line."""
    return grade_words(
        answer,
        SPECIMENS,
        WORDS,
        name="lines",
        look=lambda letter: (
            "Read the bytes from the first to the last. In a cell of your own, "
            f'`import mcpsim; mcpsim.read_message(ex.lines["{letter}"].rstrip())` reads them as a message, '
            "or raises an error whose last line says why not."
        ),
        passed="All ten are right: four of the lines may stand there.",
    )


TASK: Final = Task(
    name="noise",
    title="Which lines may stand on stdout?",
    text="""\
The ten lines below were written to the `stdout` of a modern server. Say of each what it is, with one of four
words:

- `"message"`: it may stand there;
- `"not JSON"`: it cannot be read as JSON in UTF-8;
- `"no message"`: it is JSON, but no message;
- `"wrong way"`: it is a message that a modern server never sends.""",
    answer="lines",
    starter=open_answers("lines", SPECIMENS, in_line=2),
    hints=(
        "A reader takes one line at a time, the whole of it, and reads it as JSON. Ask first: is it JSON? "
        "Then: is it one object with `jsonrpc`? Then: who may send it?",
        "Three of them cannot be read as JSON in UTF-8. In one of these, something stands before well-formed "
        "JSON; in another it is a single byte.",
        "In the modern era servers send responses and notifications, and no requests.",
    ),
    solution=(
        """\
lines = {
    "A": "not JSON", "B": "message",
    "C": "no message", "D": "message",
    "E": "not JSON", "F": "wrong way",
    "G": "message", "H": "not JSON",
    "I": "message", "J": "no message",
}""",
    ),
    why="The line counts as a whole. A response behind a stray print is lost, although every byte of it is "
    "right.",
    grade=grade,
    pages=(("stdio", STDIO),),
    show="""\
for letter, line in ex.lines.items():
    print(letter, line)""",
)
