"""Exercise: a version from the future, and the error that lists the versions of the server."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.plain import texts_of
from mcpsim.course.exercises.set_04_stateless.worlds import worlds
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import Exchange, exchanges, require_valid
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.course.servers import help_desk
from mcpsim.eras.revisions import LATEST_LEGACY, LATEST_MODERN, ServerEra
from mcpsim.errors import UNSUPPORTED_VERSION
from mcpsim.messages import PROTOCOL_VERSION
from mcpsim.recording import Recording

PREFIX: Final = PROTOCOL_VERSION[: PROTOCOL_VERSION.index("/") + 1]
FUTURE: Final = "2027-01-01"
METHOD: Final = "tools/list"

DECLARES: Final = Rule(
    "Every request declares the protocol version that it uses, in its `_meta`.", "basic/index#meta"
)
LISTS: Final = Rule(
    "A server that does not implement the requested version MUST answer with the error -32022, which lists "
    "the versions that it supports.",
    "basic/versioning#protocol-version-negotiation",
)

# What the servers of the check support: a right answer has to take the list from the error.
SERVERS: Final[tuple[tuple[ServerEra, tuple[str, ...] | None], ...]] = (
    ("both", None),
    ("modern", None),
    ("both", (LATEST_MODERN, LATEST_LEGACY)),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Play the story against servers that support different versions."""
    for era, versions in SERVERS:
        for transport, seed in worlds():
            server = help_desk(era=era, versions=versions)
            run = learner.play(
                answer, server=server, transport=transport, seed=seed, title=TITLE, judge=_judge
            )
            supported = list(server.supported_versions)
            if texts_of(run.value) != supported:
                raise NotYet(
                    f"The server listed {show(supported)}, and {name_of(answer)} returned {show(run.value)}.",
                    LISTS,
                    "The list is in the error's `data`, under `supported`.",
                    run.recording,
                )
            require_valid(run.recording)
    return Passed(
        f"Each server answered {FUTURE} with -32022 and the list of what it supports, and you returned that "
        "list.",
        LISTS,
    )


def _judge(recording: Recording) -> None:
    asked = exchanges(recording)
    ahead = [one for one in asked if one.meta.get(PROTOCOL_VERSION) == FUTURE]
    if not ahead:
        _require_key(asked)
        declared = sorted({show(one.meta.get(PROTOCOL_VERSION)) for one in asked})
        seen = f"Its requests declare {', '.join(declared)}" if declared else "It sends no request"
        raise NotYet(
            f"{seen}; none declares {show(FUTURE)}.",
            DECLARES,
            "`client.request` takes `meta={…}`: keys that go into the request's `_meta`.",
        )
    if ahead[0].code != UNSUPPORTED_VERSION:
        raise NotYet(
            f"The request that declares {show(FUTURE)} was answered with {ahead[0].said()}, not with "
            f"{UNSUPPORTED_VERSION}.",
            LISTS,
            "Change the version alone, and leave the rest of the request in order.",
        )


def _require_key(asked: tuple[Exchange, ...]) -> None:
    """The version is not under a key that only looks like its own."""
    for one in asked:
        bare = next((key for key in one.meta if key != PROTOCOL_VERSION and one.meta[key] == FUTURE), None)
        if bare is not None:
            raise NotYet(
                f"A request has {show(FUTURE)} in its `_meta`, under the key {show(bare)}. No server looks "
                f"there. Its version is still {show(one.meta.get(PROTOCOL_VERSION))}.",
                DECLARES,
                f"The key is `{PROTOCOL_VERSION}`: with the prefix `{PREFIX}`.",
            )


TITLE: Final = "A version from the future"

TASK: Final = Task(
    name="future",
    title=TITLE,
    text=f"""\
Write a story that sends one `{METHOD}` request whose version is `{FUTURE}`, and returns the list of versions
that the server names in its error. The check plays it against several servers, on both transports.""",
    answer="from_the_future",
    starter='''\
async def from_the_future(client):
    """Ask in a version that nobody speaks yet; return the versions that the server supports."""
    return ...''',
    hints=(
        '`await client.request("tools/list", meta={key: value})` changes one key of the request\'s `_meta`. '
        "The key "
        "of the version is `io.modelcontextprotocol/protocolVersion`.",
        "The error comes as an exception, a `ProtocolError`. Catch it. It has `code`, `message` and `data`.",
        "`error.data` is a dict with two keys, `supported` and `requested`.",
    ),
    solution=(
        """\
VERSION = "io.modelcontextprotocol/protocolVersion"


async def from_the_future(client):
    try:
        await client.request("tools/list", meta={VERSION: "2027-01-01"})
    except ProtocolError as error:
        return error.data["supported"]""",
    ),
    why="The error is more than a refusal: it says what would have been accepted, so that the client can "
    "go on.",
    grade=grade,
    pages=(("version negotiation", "basic/versioning#protocol-version-negotiation"),),
    play="simulate(from_the_future, server=help_desk(), check=False)",
)
