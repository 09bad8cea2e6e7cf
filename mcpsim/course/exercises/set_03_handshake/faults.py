"""Exercise: find the fault in the recording of a handshake."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.neutral import neutral, shown
from mcpsim.course.exercises.set_03_handshake.rules import (
    ANOTHER_VERSION,
    CLIENT_WAITS,
    EMPTY_ANSWER,
    INITIALIZATION,
    NEGOTIATED_ONLY,
    NEGOTIATION,
    OPERATION,
    PING,
    READY,
    SERVER_WAITS,
)
from mcpsim.course.exercises.specimens import Specimen, grade_words
from mcpsim.course.exercises.tables import open_answers
from mcpsim.course.misbehaving import MISBEHAVING
from mcpsim.course.servers import help_desk
from mcpsim.eras.pages import LEGACY
from mcpsim.eras.revisions import LEGACY_REVISIONS
from mcpsim.recording import Recording
from mcpsim.simulation import simulate

NOTHING: Final = "nothing"
NOT_READY: Final = "never ready"
EARLY: Final = "too early"
VERSION: Final = "version"
UNDECLARED: Final = "not declared"
PINGED: Final = "ping"
WORDS: Final = (NOTHING, NOT_READY, EARLY, VERSION, UNDECLARED, PINGED)


async def _list(client: Client) -> None:
    """List the tools."""
    await client.list_tools()


async def _early_pings(client: Client) -> None:
    """Ping before and within the handshake."""
    await client.ping()
    await client.initialize()
    await client.ping()
    await client.initialized()
    await client.list_tools()


def _plays(name: str) -> Callable[[], Recording]:
    return lambda: MISBEHAVING[name].play().recording


def _well(story: Callable[..., Any], **setting: Any) -> Callable[[], Recording]:
    def played() -> Recording:
        connect = setting.get("connect", True)
        server = help_desk(era="legacy", versions=setting.get("versions"))
        return simulate(story, server=server, era="legacy", connect=connect).recording

    return played


# What plays it, and what there is to see.
RECORDINGS: Final[Mapping[str, tuple[Callable[[], Recording], Specimen]]] = {
    "A": (
        _plays("client-never-says-initialized"),
        Specimen(
            NOT_READY, "After the result of `initialize` the client goes straight on to its request.", READY
        ),
    ),
    "B": (
        _well(_list, versions=LEGACY_REVISIONS[:2]),
        Specimen(
            NOTHING,
            "The server answers with another version than was proposed, and the client goes on: it speaks "
            "that one, too. A counter-offer is no fault.",
            ANOTHER_VERSION,
        ),
    ),
    "C": (
        _plays("server-asks-too-early"),
        Specimen(
            EARLY,
            "The server sends `roots/list` together with its result, before the client has said that it is "
            "ready.",
            SERVER_WAITS,
        ),
    ),
    "D": (
        _plays("server-answers-latest"),
        Specimen(
            VERSION,
            'The server answers with "latest". That is no version, so it cannot be one that it supports.',
            ANOTHER_VERSION,
        ),
    ),
    "E": (
        _plays("client-uses-what-was-not-declared"),
        Specimen(
            UNDECLARED,
            "The server declares `tools` and nothing else, and the client asks for its prompts.",
            NEGOTIATED_ONLY,
        ),
    ),
    "F": (
        _well(_early_pings, connect=False),
        Specimen(
            NOTHING,
            "Before and within the handshake there is nothing but pings. They are excepted.",
            CLIENT_WAITS,
        ),
    ),
    "G": (
        _plays("server-answers-ping-with-more"),
        Specimen(PINGED, 'The result of the ping has a member: `{"alive": true}`.', EMPTY_ANSWER),
    ),
    "H": (
        _plays("client-cannot-wait-for-the-result"),
        Specimen(
            EARLY,
            "The client sends `tools/list` together with `initialize`, and waits for no result.",
            CLIENT_WAITS,
        ),
    ),
}
SPECIMENS: Final = {letter: specimen for letter, (_, specimen) in RECORDINGS.items()}


def recordings() -> dict[str, Recording]:
    """The recordings by letter."""
    return {
        letter: neutral(play(), f"Recording {letter}", notes=False)
        for letter, (play, _) in RECORDINGS.items()
    }


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the words, recording by recording."""
    return grade_words(
        answer,
        SPECIMENS,
        WORDS,
        name="faults",
        look="Go through the steps in order: what was agreed on so far, and who may send what now?",
        passed="All eight are right: six have a fault, and two only look unusual.",
    )


TASK: Final = Task(
    era=LEGACY,
    name="faults",
    title="Find the fault",
    text=f"""\
Eight recordings of legacy sessions. In some of them one side does what it must not or should not do. Say of
each what the fault is, with one of six words:

- `"nothing"`: there is none;
- `"never ready"`: the client does not say that it is ready;
- `"too early"`: a request is sent before its time;
- `"version"`: the version in the answer is none that it could be;
- `"not declared"`: something is used that was not declared;
- `"ping"`: a ping is not answered as it should be.

Judge by what can be seen: where a server's answer may be right, it counts as right.

`{shown('ex.recordings()["A"]')}` shows one in the player, without what the audit
finds. Try so first. `ex.recordings()["A"]` alone shows it with the findings.""",
    answer="faults",
    starter=open_answers("faults", RECORDINGS, in_line=2),
    hints=(
        "First look for the three messages of the handshake, in order. Is one missing, and does something "
        "come between them?",
        "What may come between them: pings. What may differ: the version in the answer, if it is one that "
        "both speak.",
        "Then the rest: which capabilities did the server declare in its result, and what does the result of "
        "a ping look like?",
    ),
    solution=(
        """\
faults = {
    "A": "never ready", "B": "nothing",
    "C": "too early", "D": "version",
    "E": "not declared", "F": "nothing",
    "G": "ping", "H": "too early",
}""",
    ),
    why="A server may refuse what comes too early, and need not: the error in a recording is a sign, "
    "and not the fault itself.",
    grade=grade,
    pages=(
        ("initialization", INITIALIZATION),
        ("version negotiation", NEGOTIATION),
        ("operation", OPERATION),
        ("ping", PING),
    ),
    show="""\
for letter, recording in ex.recordings().items():
    print(letter)
    print(recording.transcript())""",
)
