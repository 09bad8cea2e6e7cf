"""Exercise: a request that does not say who sends it is valid."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.plain import texts_of
from mcpsim.course.exercises.set_04_stateless.worlds import worlds
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import exchanges, require_valid
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.course.servers import basket_shop, help_desk
from mcpsim.messages import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION
from mcpsim.recording import Recording

METHOD: Final = "tools/list"

OPTIONAL: Final = Rule(
    "Clients SHOULD include `clientInfo` in every request, unless they are configured not to. It is not "
    "required, and a request without it is valid.",
    "basic/index#meta",
)
REQUIRED: Final = Rule(
    "`protocolVersion` and `clientCapabilities` MUST be in the `_meta` of every request; a server MUST "
    "refuse a request without one of them with -32602.",
    "basic/index#meta",
)
WHOLE: Final = Rule(
    "`clientInfo` may be left out. Where it is there, it has a name and a version.", "basic/index#meta"
)


def grade(answer: object, learner: Learner) -> Passed:
    """Play the story against two servers."""
    for make in (help_desk, basket_shop):
        for transport, seed in worlds():
            server = make()
            run = learner.play(
                answer, server=server, transport=transport, seed=seed, title=TITLE, judge=_judge
            )
            names = [tool.name for tool in server.tools]
            if texts_of(run.value) != names:
                raise NotYet(
                    f"The request is right. The server listed {show(names)}, and {name_of(answer)} returned "
                    f"{show(run.value)}.",
                    None,
                    "`client.request` returns the result as a dict; its `tools` have names.",
                    run.recording,
                )
            require_valid(run.recording)
    return Passed("The server did not know who asked, and answered all the same.", OPTIONAL)


def _judge(recording: Recording) -> None:
    found = exchanges(recording, METHOD)
    if not found:
        raise NotYet(f"It sends no `{METHOD}` request.", look="`client.request` sends any request.")
    asked = found[-1]
    missing = [key for key in (PROTOCOL_VERSION, CLIENT_CAPABILITIES) if key not in asked.meta]
    if missing:
        raise NotYet(
            f"Its `_meta` lacks {', '.join(missing)}, and the answer is {asked.said()}.",
            REQUIRED,
            "Take `clientInfo` out, and nothing else.",
        )
    if CLIENT_INFO in asked.meta:
        if asked.result is None:
            raise NotYet(
                f"`clientInfo` is {show(asked.meta[CLIENT_INFO])}, and the answer is {asked.said()}.",
                WHOLE,
                "Leave the key out, value and all.",
            )
        raise NotYet(
            f"`clientInfo` is still there: {show(asked.meta[CLIENT_INFO])}.",
            OPTIONAL,
            "In `meta={key: None}` the None takes the key out of the request's `_meta`.",
        )
    if asked.result is None:
        raise NotYet(f"The answer is {asked.said()}.", OPTIONAL, "Take `clientInfo` out, and nothing else.")


TITLE: Final = "A request without a name"

TASK: Final = Task(
    name="nameless",
    title=TITLE,
    text=f"""\
Write a story that sends a valid `{METHOD}` request without `clientInfo`, and returns the names of the
tools, in a list. The key is `{CLIENT_INFO}`.""",
    answer="without_a_name",
    starter='''\
async def without_a_name(client):
    """List the tools without saying who asks; return their names."""
    return ...''',
    hints=(
        "`client.request` puts all three keys into `_meta` by itself. One of them has to go.",
        "`meta={key: None}` takes a key out of the request's `_meta`.",
        'The result is a dict. `[tool["name"] for tool in result["tools"]]` are the names.',
    ),
    solution=(
        f'''\
INFO = "{CLIENT_INFO}"


async def without_a_name(client):
    result = await client.request("tools/list", meta={{INFO: None}})
    return [tool["name"] for tool in result["tools"]]''',
    ),
    why="A server needs the version and the capabilities to answer. It does not need to know who asks, and "
    "SHOULD NOT behave otherwise for it: `clientInfo` is what the client says of itself, and nobody "
    "checks it.",
    grade=grade,
    pages=(("`_meta`", "basic/index#meta"),),
    play="simulate(without_a_name, server=help_desk(), check=False)",
)
