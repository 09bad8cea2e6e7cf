"""Exercise: what may be sent again when no answer came."""

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

SESSIONS: Final = "basic/transports#session-management"

WORDS: Final[Mapping[str, str]] = {
    "again": "send it again without asking anybody, as a new request with a new id",
    "look first": "find out whether it was done, or ask the user; then decide",
    "new session": "begin a new session first",
    "nothing": "there is nothing to send again",
}

LOST: Final = Rule(
    "A response stream that breaks loses its request. What is sent in its place MUST be a new request with a "
    "new id.",
    "changelog#major-changes",
)
IDEMPOTENT: Final = Rule(
    "Only where `idempotentHint` is true does a repetition with the same arguments change nothing more. The "
    "default is false.",
    "schema#toolannotations-idempotenthint",
)


SITUATIONS: Final[Mapping[str, Situation]] = {
    "A": Situation(
        "modern, HTTP: `tools/list`; the stream breaks before the result",
        "again",
        "A list changes nothing, however often it is read.",
        LOST,
    ),
    "B": Situation(
        "modern, HTTP: `tools/call` of `send_money`, a tool without annotations; the stream breaks",
        "look first",
        "The money may be on its way: the request may be lost, or only its answer.",
        IDEMPOTENT,
    ),
    "C": Situation(
        "modern, stdio: `resources/read`; the server process ends before it answers",
        "again",
        "Reading changes nothing, and a fresh process knows as much as the old one.",
        Rule(
            "The client SHOULD start the process again, and can retry what was in flight.",
            "basic/transports/stdio#unexpected-termination",
        ),
    ),
    "D": Situation(
        "modern, HTTP: `tools/call` of `delete_oldest_file`, which has `idempotentHint: true`; the server is "
        "one that the host knows nothing about; the stream breaks",
        "look first",
        "The hint is the word of a stranger, and the name of the tool says something else.",
        Rule(
            "Clients MUST consider annotations untrusted unless they come from trusted servers.",
            "server/tools#tool",
        ),
    ),
    "E": Situation(
        "modern, HTTP: `tools/call` of `place_order`, with an order number that the host chose; a server "
        "that "
        "the host trusts says `idempotentHint: true`; the stream breaks",
        "again",
        "With the same number it is the same order, and it is placed once.",
        Rule(
            "`idempotentHint: true`: a repetition with the same arguments has no additional effect.",
            "schema#toolannotations-idempotenthint",
        ),
    ),
    "F": Situation(
        "legacy, HTTP: `tools/list` with a session id; the answer is HTTP 404",
        "new session",
        "The session is gone. With its id, the next request would have the same answer.",
        Rule(
            "A client that gets 404 for a session id MUST start a new session, by an `initialize` without "
            "it.",
            SESSIONS,
            LEGACY,
        ),
    ),
    "G": Situation(
        "modern, HTTP: `tools/call` of `book_trip`; the result has `isError: true` and says that there are "
        "no "
        "trips on Sundays",
        "nothing",
        "No answer was lost. This is one, and the model can read it.",
        Rule(
            "Tool execution errors come as results; clients SHOULD give them to the model.",
            "server/tools#error-handling",
        ),
    ),
    "H": Situation(
        "modern, HTTP: `subscriptions/listen`; after an hour the stream breaks, because a replica is "
        "restarted",
        "again",
        "The other replicas know nothing of this subscription, and need not.",
        Rule(
            "A stream's state belongs to its request. If the channel is lost, the client sends the request "
            "again.",
            "basic/patterns/index#subscribe-and-notify",
        ),
    ),
    "I": Situation(
        "modern, HTTP: `tools/call` of `book_trip`, without annotations; the server asked for the day; the "
        "retry with the answer and the `requestState` was sent, and the stream breaks",
        "look first",
        "This retry is the request that books, and it may have done so.",
        Rule(
            "What protects a `requestState` does not by itself make it good for one use only.",
            "basic/patterns/mrtr#server-requirements-basic-workflow",
        ),
    ),
    "J": Situation(
        "modern, HTTP: `tools/call` of `weather`, which has `readOnlyHint: true`; a server that the host "
        "trusts; the stream breaks",
        "again",
        "A tool that changes nothing may run twice.",
        Rule(
            "`readOnlyHint: true`: the tool does not modify its environment.",
            "schema#toolannotations-readonlyhint",
        ),
    ),
}


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the words, letter by letter."""
    return grade_words(
        answer,
        SITUATIONS,
        tuple(WORDS),
        name="resend",
        look="Three questions: did an answer come? May the work have been done? Would it do harm to do it "
        "twice?",
        passed="All ten are right. A lost answer says nothing of the work; what the request does decides.",
    )


TASK: Final = Task(
    name="resend",
    title="May it be sent again",
    text=f"""\
A host has no result, or one that it does not like. What may it do next?

| | situation |
|---|---|
{things(SITUATIONS)}

| word | meaning |
|---|---|
{meanings(WORDS)}

The changelog says *how* a lost request is sent again. Whether that does harm, it cannot say: that depends on
what the request does.

The legacy rule: [session management, {LATEST_LEGACY}]({spec_url(LEGACY, SESSIONS)}).""",
    answer="resend",
    starter=open_answers("resend", SITUATIONS, in_line=5),
    hints=(
        "Begin with those that change nothing: they may be sent again whatever happened.",
        "For the others ask whom you believe. A hint of a server that you trust is worth something; no hint "
        "means no.",
        "Five may be sent again at once. Three want a look first. One needs a session, and one has its "
        "answer.",
    ),
    solution=(
        """\
resend = {
    "A": "again", "B": "look first", "C": "again", "D": "look first", "E": "again",
    "F": "new session", "G": "nothing", "H": "again", "I": "look first", "J": "again",
}""",
    ),
    why="A request may be lost, or its answer: from outside both look the same. So what counts is what "
    "happens if the work is done twice.",
    grade=grade,
    pages=(
        ("lost requests", "changelog#major-changes"),
        ("annotations", "schema#toolannotations"),
        ("statelessness", "basic/index#statelessness"),
    ),
)
