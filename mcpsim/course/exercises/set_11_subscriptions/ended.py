"""Exercise: what ended a subscription, if anything did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.set_11_subscriptions.rules import (
    AGREED,
    COMMENT,
    ENDS,
    GRACEFUL,
    PAGE,
    RECONNECT,
    SAME_ID,
    TORN_DOWN,
)
from mcpsim.course.exercises.specimens import Situation, grade_words
from mcpsim.course.exercises.tables import meanings, open_answers, things
from mcpsim.course.exercises.verdict import Rule

WORDS: Final[Mapping[str, str]] = {
    "server": "the server has ended it in good order",
    "client": "the client has ended it",
    "broken": "it broke off: listen again, and read again what it was about",
    "open": "it has not ended",
}


SCENES: Final[Mapping[str, Situation]] = {
    "A": Situation(
        "stdio: a result with the id 7 comes", "server", "It is the answer to the request, at last.", GRACEFUL
    ),
    "B": Situation(
        "HTTP: the stream ends, and no result has come",
        "broken",
        "In good order a result would have come first.",
        RECONNECT,
    ),
    "C": Situation(
        "stdio: the server sends `notifications/cancelled` with `requestId` 7",
        "server",
        "The server takes the subscription down, and says so. A result may follow.",
        TORN_DOWN,
    ),
    "D": Situation(
        "HTTP: the client closes the stream", "client", "That is how a client cancels over HTTP.", ENDS
    ),
    "E": Situation(
        "stdio: the server's process exits, and a new one is started",
        "broken",
        "The new process knows nothing of the subscription.",
        Rule(
            "stdio: after the connection is made again, the client MUST send `subscriptions/listen` again.",
            f"{PAGE}#graceful-closure",
        ),
    ),
    "F": Situation(
        "HTTP: nothing for a minute, then a line that begins with a colon",
        "open",
        "It is a comment. It keeps the connection alive.",
        COMMENT,
    ),
    "G": Situation(
        'stdio: a result with the id `"7"` comes', "open", "It answers another request, if any.", SAME_ID
    ),
    "H": Situation(
        "HTTP: the acknowledgement comes, and its filter is empty",
        "open",
        "Nothing will come on it, but it is open until somebody ends it.",
        AGREED,
    ),
    "I": Situation(
        "stdio: the client sends `notifications/cancelled` with `requestId` 7",
        "client",
        "That is how a client cancels on a pipe.",
        ENDS,
    ),
    "J": Situation(
        "stdio: a result with the id 8 comes, of a `tools/call`",
        "open",
        "Requests do not end each other.",
        SAME_ID,
    ),
    "K": Situation(
        "HTTP: a result with the id 7 comes, and then the stream ends",
        "server",
        "The result came first, so the end of the stream is no surprise.",
        GRACEFUL,
    ),
}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the words, letter by letter."""
    return grade_words(
        answer,
        SCENES,
        tuple(WORDS),
        name="ends",
        look="Who did it: the client, the server, or neither of them? And is it about the id 7 at all?",
        passed="All eleven are right. A subscription is a request: its result, a cancellation or a lost way "
        "ends "
        "it, and nothing else.",
    )


TASK: Final = Task(
    name="ended",
    title="What ended it",
    text=f"""\
A modern client has sent `subscriptions/listen` with the id 7 (an integer), and until now all went well. What
does it know when this happens?

| | what happens |
|---|---|
{things(SCENES)}

| word | meaning |
|---|---|
{meanings(WORDS)}""",
    answer="ends",
    starter=open_answers("ends", SCENES, in_line=4),
    hints=(
        "A result for the id 7 is the sign of a good end. What does it mean where none came?",
        'A cancellation is of the side that sends it. 7 and `"7"` are two ids.',
        "Three times the server, twice the client, twice it broke off, and four times it is open.",
    ),
    solution=(
        """\
ends = {
    "A": "server", "B": "broken", "C": "server", "D": "client",
    "E": "broken", "F": "open", "G": "open", "H": "open",
    "I": "client", "J": "open", "K": "server",
}""",
    ),
    why="A client has to tell a good end from a break: after a break it may have missed something.",
    grade=grade,
    pages=(
        ("cancellation", f"{PAGE}#cancellation"),
        ("graceful closure", f"{PAGE}#graceful-closure"),
        ("what servers cancel", "basic/patterns/cancellation"),
    ),
)
