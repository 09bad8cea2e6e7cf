"""Exercise: capabilities belong to one request, and nobody keeps them for the next."""

from __future__ import annotations

from typing import Any, Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.plain import integers_of
from mcpsim.course.exercises.set_04_stateless.worlds import worlds
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import Exchange, exchanges, require_valid
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.course.servers import picky_desk
from mcpsim.errors import INVALID_PARAMS, MISSING_CLIENT_CAPABILITY
from mcpsim.messages import CLIENT_CAPABILITIES
from mcpsim.recording import Recording

METHOD: Final = "tools/call"
TOOL: Final = "book_visit"
ORDINALS: Final = ("first", "second", "third")

STATELESS: Final = Rule(
    "A server MUST NOT rely on earlier requests for capabilities: every request brings its own.",
    "basic/index#statelessness",
)
REQUIRED: Final = Rule(
    "`clientCapabilities` MUST be in the `_meta` of every request. The server MUST refuse a request "
    "without it with -32602.",
    "basic/index#meta",
)
NEEDED: Final = Rule(
    "If a request needs a capability that it does not declare, the server MUST answer with -32021, which "
    "says what is missing. An empty object declares that there are none.",
    "basic/index#meta",
)


def grade(answer: object, learner: Learner) -> Passed:
    """Play the story, and look at the three calls."""
    for transport, seed in worlds():
        run = learner.play(
            answer, server=picky_desk(), transport=transport, seed=seed, title=TITLE, judge=_judge
        )
        if integers_of(run.value) != [INVALID_PARAMS, MISSING_CLIENT_CAPABILITY]:
            raise NotYet(
                f"The calls are right. {name_of(answer)} returned {show(run.value)}.",
                None,
                "Return a list of two numbers: the codes of the second and of the third answer.",
                run.recording,
            )
        require_valid(run.recording)
    return Passed(
        "The first call was booked. The second was refused although it followed the first on the same "
        "connection, and the third was refused for what it declared itself.",
        STATELESS,
    )


def _judge(recording: Recording) -> None:
    calls = [one for one in exchanges(recording, METHOD) if _tool(one) == TOOL]
    for call, place in zip(calls, ORDINALS, strict=False):
        _CHECKS[place](call)
    if len(calls) != len(ORDINALS):
        look = _CATCH if calls else f'`await client.request("{METHOD}", CALL)` makes one call.'
        raise NotYet(f"It calls {TOOL} {_times(len(calls))}; it should be three times.", STATELESS, look)


_CATCH: Final = (
    "An error comes as an exception. Catch it where you make the call, so that the next call can follow."
)


def _first(call: Exchange) -> None:
    if call.result is None:
        raise NotYet(
            f"The first call declares {_declared(call)} and was answered with {call.said()}.",
            NEEDED,
            "Declare `elicitation`: the tool wants to be able to ask the user. What stands in the error's "
            "`data`?",
        )


def _second(call: Exchange) -> None:
    if CLIENT_CAPABILITIES in call.meta:
        raise NotYet(
            f"The second call declares {_declared(call)}. It should not have the key at all.",
            REQUIRED,
            "An empty object is an answer: no capabilities. In `meta={key: None}` the None takes the key "
            "out.",
        )
    if call.code != INVALID_PARAMS:
        raise NotYet(
            f"The second call was answered with {call.said()}, not with {INVALID_PARAMS}.",
            REQUIRED,
        )


def _third(call: Exchange) -> None:
    if CLIENT_CAPABILITIES not in call.meta:
        raise NotYet(
            "The third call has no `clientCapabilities` either.",
            NEEDED,
            "Declare something, but not what the tool needs.",
        )
    if call.code != MISSING_CLIENT_CAPABILITY:
        raise NotYet(
            f"The third call declares {_declared(call)} and was answered with {call.said()}, not with "
            f"{MISSING_CLIENT_CAPABILITY}.",
            NEEDED,
            "Declare something, but not what the tool needs.",
        )


_CHECKS: Final = dict(zip(ORDINALS, (_first, _second, _third), strict=True))


def _tool(one: Exchange) -> Any:
    return (one.request.params or {}).get("name")


def _declared(call: Exchange) -> str:
    return (
        show(call.meta[CLIENT_CAPABILITIES]) if CLIENT_CAPABILITIES in call.meta else "no capabilities at all"
    )


def _times(count: int) -> str:
    return "once" if count == 1 else "never" if count == 0 else f"{count} times"


TITLE: Final = "Capabilities of one request"

TASK: Final = Task(
    name="capabilities",
    title=TITLE,
    text="""\
The server of this exercise is `picky_desk()`. Its tool `book_visit` needs a client that can ask the user: the
capability `elicitation`. Write a story that calls `book_visit` three times:

1. with the capability: it is booked;
2. the same call, but without `clientCapabilities` in its `_meta`;
3. the same call with `clientCapabilities` again, but without `elicitation` in it: an empty object will do.

Return a list with the error codes of the second and the third answer. Does the server remember what the first
call declared?""",
    answer="three_calls",
    starter='''\
CALL = {"name": "book_visit", "arguments": {"day": "Monday"}}


async def three_calls(client):
    """Book a visit, then twice in vain; return the two error codes."""
    return ...''',
    hints=(
        '`await client.request("tools/call", CALL, meta={key: value})` sets one key of `_meta`. The key is '
        "`io.modelcontextprotocol/clientCapabilities`.",
        'The value is an object, such as `{"elicitation": {}}`. With the value None, `client.request` '
        "takes the key out of `_meta`.",
        "The second and the third call raise a `ProtocolError`. Put each into a `try` of its own, and keep "
        "`error.code`.",
    ),
    solution=(
        """\
CALL = {"name": "book_visit", "arguments": {"day": "Monday"}}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


async def code_of(client, capabilities):
    try:
        await client.request("tools/call", CALL, meta={CAPABILITIES: capabilities})
    except ProtocolError as error:
        return error.code""",
        """\
async def three_calls(client):
    await code_of(client, {"elicitation": {}})
    return [await code_of(client, None), await code_of(client, {"sampling": {}})]""",
    ),
    why="All three travel on one connection, and still each is judged by what it brings along.",
    grade=grade,
    pages=(
        ("statelessness", "basic/index#statelessness"),
        ("`_meta`", "basic/index#meta"),
    ),
    play="simulate(three_calls, server=picky_desk(), check=False)",
)
