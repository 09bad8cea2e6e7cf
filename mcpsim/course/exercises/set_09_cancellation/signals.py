"""Exercise: what a client or a server sends to take a request back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.specimens import Situation, grade_words
from mcpsim.course.exercises.tables import meanings, open_answers, things
from mcpsim.course.exercises.verdict import Rule
from mcpsim.eras.pages import LEGACY, spec_url
from mcpsim.eras.revisions import LATEST_LEGACY

MODERN_PAGE: Final = "basic/patterns/cancellation"
LEGACY_PAGE: Final = "basic/utilities/cancellation"
SENDING: Final = "basic/transports#sending-messages-to-the-server"

WORDS: Final[Mapping[str, str]] = {
    "notification": "send `notifications/cancelled` with the id of the request",
    "close": "close the response stream of the request, and send nothing",
    "tasks/cancel": "send the request `tasks/cancel`",
    "nothing": "send no cancellation",
}


SITUATIONS: Final[Mapping[str, Situation]] = {
    "A": Situation(
        "modern, stdio: the user presses Stop during a `tools/call`",
        "notification",
        "All messages share one pipe, so there is no stream to close.",
        Rule(
            "stdio: the client MUST send `notifications/cancelled` with the id of the request.",
            f"{MODERN_PAGE}#transport-specific-cancellation",
        ),
    ),
    "B": Situation(
        "modern, Streamable HTTP: the user presses Stop during a `tools/call`",
        "close",
        "Each request has a response stream of its own.",
        Rule(
            "Streamable HTTP: closing the response stream is the signal. No message is required or expected.",
            f"{MODERN_PAGE}#transport-specific-cancellation",
        ),
    ),
    "C": Situation(
        "legacy, Streamable HTTP: the user presses Stop during a `tools/call`",
        "notification",
        "In a session a stream may break and be resumed, so its end says nothing.",
        Rule(
            "A disconnection SHOULD NOT be taken for a cancellation. To cancel, the client SHOULD send "
            "`notifications/cancelled`.",
            SENDING,
            LEGACY,
        ),
    ),
    "D": Situation(
        "legacy, stdio: the answer to `initialize` takes too long",
        "nothing",
        "One request can never be taken back: the client gives the connection up instead.",
        Rule(
            "The `initialize` request MUST NOT be cancelled by clients.",
            f"{LEGACY_PAGE}#behavior-requirements",
            LEGACY,
        ),
    ),
    "E": Situation(
        f"legacy ({LATEST_LEGACY}): a `tools/call` was answered with a task, and the task still works",
        "tasks/cancel",
        "The request is answered already. What is still at work is the task.",
        Rule(
            "For a request with a task, `tasks/cancel` MUST be used in place of `notifications/cancelled`.",
            f"{LEGACY_PAGE}#behavior-requirements",
            LEGACY,
        ),
    ),
    "F": Situation(
        "modern, Streamable HTTP: a client no longer wants to hear of changes (`subscriptions/listen`)",
        "close",
        "A subscription is a request that stays open, and it ends like any other.",
        Rule(
            "The client ends a subscription by closing the stream (HTTP), or by `notifications/cancelled` "
            "with the id of `subscriptions/listen` (stdio).",
            "basic/patterns/subscriptions#cancellation",
        ),
    ),
    "G": Situation(
        "modern, stdio: the user presses Stop, and the answer came a minute ago",
        "nothing",
        "The client knows that the request is not in progress any more.",
        Rule(
            "A cancellation MUST only name requests that are believed to be still in progress.",
            f"{MODERN_PAGE}#behavior-requirements",
        ),
    ),
    "H": Situation(
        "legacy, stdio: the *server* has sent `elicitation/create`, and does not need the answer any more",
        "notification",
        "It is the server's own request, and in a session each side may cancel its own.",
        Rule(
            "Either side can cancel. A cancellation MUST only name requests that were sent in the same "
            "direction.",
            f"{LEGACY_PAGE}#behavior-requirements",
            LEGACY,
        ),
    ),
    "I": Situation(
        "modern, stdio: the *server* is too busy to finish a `tools/call`",
        "nothing",
        "It can answer with an error. It cannot take back a request that is not its own.",
        Rule(
            "Servers MUST NOT send `notifications/cancelled` for anything but the end of a subscription.",
            MODERN_PAGE,
        ),
    ),
}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the signals, letter by letter."""
    return grade_words(
        answer,
        SITUATIONS,
        tuple(WORDS),
        name="signals",
        look="Four questions: which era, which transport, whose request is it, and is it still in progress?",
        passed="All nine are right. The transport decides how, and the era and the sender decide whether.",
    )


TASK: Final = Task(
    name="signals",
    title="How is it cancelled",
    text=f"""\
What should be sent to cancel the request in each situation? In H and I it is the server that would like to
be rid of it.

| | situation |
|---|---|
{things(SITUATIONS)}

| word | meaning |
|---|---|
{meanings(WORDS)}

(A legacy client over HTTP may close the stream as well. What is asked for is what says that it cancels.)

The legacy rules: [cancellation, {LATEST_LEGACY}]({spec_url(LEGACY, LEGACY_PAGE)}),
[Streamable HTTP, {LATEST_LEGACY}]({spec_url(LEGACY, SENDING)}).""",
    answer="signals",
    starter=open_answers("signals", SITUATIONS, in_line=3),
    hints=(
        "Sort them by era first, then by transport. Over which transport and in which era does a stream end "
        "for good when it is closed?",
        "Who may cancel: the one who sent the request. What: only what is in progress, and never "
        "`initialize`.",
        "Three get the notification, two a closed stream, one the other request, and three nothing.",
    ),
    solution=(
        """\
signals = {
    "A": "notification", "B": "close", "C": "notification",
    "D": "nothing", "E": "tasks/cancel", "F": "close",
    "G": "nothing", "H": "notification", "I": "nothing",
}""",
    ),
    why="On a shared pipe a message has to say it. Where each request has a stream of its own, the end of "
    "that stream says it, unless streams can be resumed.",
    grade=grade,
    pages=(
        ("cancellation", f"{MODERN_PAGE}#transport-specific-cancellation"),
        ("who may cancel", f"{MODERN_PAGE}#behavior-requirements"),
    ),
)
