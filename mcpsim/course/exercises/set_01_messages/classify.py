"""Exercise: say what each of the twelve messages is."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.plain import as_integer, as_text
from mcpsim.course.exercises.set_01_messages.twelve import NOT_A_MESSAGE, NOT_JSON, TWELVE, WORDS
from mcpsim.course.exercises.specimens import grade_words
from mcpsim.course.exercises.tables import open_answers
from mcpsim.errors import INVALID_REQUEST, PARSE_ERROR


def word_of(value: object) -> str | None:
    """The word of an answer; a code may be given as a number. None where it is not one of the words."""
    code = as_integer(value)
    word = as_text(value) if code is None else _CODES.get(code)
    return word if word in WORDS else None


_CODES: Final = {PARSE_ERROR: NOT_JSON, INVALID_REQUEST: NOT_A_MESSAGE}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the words, letter by letter."""
    return grade_words(
        answer,
        TWELVE,
        WORDS,
        name="answers",
        look=_look,
        passed="All twelve are right: seven are messages, five are none.",
        read=word_of,
    )


def _look(letter: str) -> str:
    if TWELVE[letter].meant is None:
        return "Look at the fields of the outermost object, one by one."
    return (
        "What is wrong with it is the last line of what this raises, in a cell of your own: "
        f'`import mcpsim; mcpsim.read_message(ex.twelve["{letter}"])`.'
    )


TASK: Final = Task(
    name="classify",
    title="Classify twelve messages",
    text="""\
Twelve lines were found on a wire. They are from the legacy era, because its messages are short; what makes a
message a request or a notification is the same in both eras.

Say what each one is, with one of six words:

- `"request"`, `"notification"`, `"result"` or `"error"`;
- `"-32700"`: none of them, because it is not JSON in UTF-8;
- `"-32600"`: none of them, although it is JSON.

The two codes say what is wrong. Whether an error is sent back is another question. MCP's pages say that a
notification MUST NOT be answered, and nothing of what only should have been one. Over stdio our server
answers neither that nor a broken response: our reading. JSON-RPC 2.0 reads the first otherwise: its own
example answers `{"jsonrpc": "2.0", "method": 1, "params": "bar"}` with -32600 and the id null. Over HTTP,
where every POST gets a response, our server sends -32600 without an id.""",
    answer="answers",
    starter=open_answers("answers", TWELVE, in_line=2),
    hints=(
        "Two questions decide most of them: is there a `method`, and is there an `id`? Look at the "
        "outermost object only.",
        "Then look at the values. Which values may an id have? May `result` and `error` stand together?",
        "Five of the twelve are no messages. Two of those are not JSON in UTF-8; look at the punctuation "
        "and at the bytes. "
        '`import mcpsim; mcpsim.read_message(ex.twelve["A"])` reads one message, or raises an error whose '
        "last line says what is wrong with it.",
    ),
    solution=(
        """\
answers = {
    "A": "request", "B": "notification",
    "C": "result", "D": "error",
    "E": "-32600", "F": "result",
    "G": "-32600", "H": "-32700",
    "I": "-32600", "J": "request",
    "K": "notification", "L": "-32700",
}""",
    ),
    why="The fields of the outermost object decide, and an id is a string or an integer: 0 and the empty "
    "string are ids, null is none.",
    grade=grade,
    pages=(("messages", "basic/index#messages"),),
    show="""\
for letter, data in ex.twelve.items():
    print(letter, data)""",
)
