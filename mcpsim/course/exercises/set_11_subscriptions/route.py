"""Exercise: to which subscription a message belongs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_integer, as_text
from mcpsim.course.exercises.set_11_subscriptions.rules import (
    ACKNOWLEDGED,
    BY_ID,
    CANCELLED,
    GRACEFUL,
    LISTEN,
    SAME_ID,
    TORN_DOWN,
    UPDATED,
)
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.course.servers import notice_board
from mcpsim.messages import ErrorResponse, Notification, Request, Response, to_object
from mcpsim.messages.meta import SUBSCRIPTION_ID
from mcpsim.simulation import simulate
from mcpsim.transports.link import Stdio

Id = str | int
Ids = Sequence[Id]
SEEDS: Final = (1, 2, 3)
OTHER_WAYS: Final = Rule(
    "Progress and log messages flow on the way of the answer to their own request, and never on a "
    "subscription.",
    "basic/transports/streamable-http#receiving-messages",
)


@dataclass(frozen=True, slots=True)
class Case:
    """A message of the server, the subscriptions that are open, and the one that it belongs to."""

    what: str
    message: dict[str, Any]
    open: Ids
    expected: Id | None
    rule: Rule


def _told(method: str, id: Id, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": {**params, "_meta": {SUBSCRIPTION_ID: id}}}


def _result(id: Id) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", "_meta": {SUBSCRIPTION_ID: id}}}


def _cases(rng: Random) -> Iterator[Case]:
    number, other, closed = rng.sample(range(2, 99), 3)
    word = rng.choice(("watch", "board", "tools"))
    # Number and text, side by side: the ids of two subscriptions.
    both: Ids = rng.sample([number, str(number), word, other], 4)
    tools, uri = "notifications/tools/list_changed", "notice://monday"
    for id in (number, str(number), word):
        yield Case("a change", _told(tools, id), both, id, BY_ID)
        yield Case("an update", _told(UPDATED, id, uri=uri), both, id, BY_ID)
        yield Case("an acknowledgement", _told(ACKNOWLEDGED, id, notifications={}), both, id, BY_ID)
        yield Case("the result of a subscription", _result(id), both, id, GRACEFUL)
    yield Case("a change for an id that is not open", _told(tools, closed), both, None, BY_ID)
    yield Case("an update for the text of an id", _told(UPDATED, str(other), uri=uri), both, None, BY_ID)
    yield Case(
        "an update for the number of an id", _told(UPDATED, closed, uri=uri), [str(closed)], None, BY_ID
    )
    yield Case("a result for the text of an id", _result(str(other)), both, None, SAME_ID)
    yield Case("a result of another request", _result(closed), both, None, SAME_ID)
    for id in (0, ""):
        yield Case(f"a change for the id {id!r}", _told(tools, id), [other, id], id, BY_ID)
        yield Case(f"a result for the id {id!r}", _result(id), [other, id], id, GRACEFUL)
    cancelled = {"jsonrpc": "2.0", "method": CANCELLED, "params": {"requestId": number}}
    yield Case("the server's cancellation of a subscription", cancelled, both, number, TORN_DOWN)
    cancelled = {"jsonrpc": "2.0", "method": CANCELLED, "params": {"requestId": closed, "reason": "Bye"}}
    yield Case("the server's cancellation of another request", cancelled, both, None, TORN_DOWN)
    yield Case("a change without an id", {"jsonrpc": "2.0", "method": tools}, both, None, BY_ID)
    bare = {"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": word}}
    yield Case("an update without an id", bare, both, None, BY_ID)
    progress = {"progressToken": number, "progress": 1}
    yield Case(
        "progress with the token of another request",
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress},
        both,
        None,
        OTHER_WAYS,
    )
    log = {"level": "info", "data": {SUBSCRIPTION_ID: number}}
    yield Case(
        "a log message",
        {"jsonrpc": "2.0", "method": "notifications/message", "params": log},
        both,
        None,
        OTHER_WAYS,
    )
    error = {"code": -32603, "message": "It failed"}
    yield Case("an error without an id", {"jsonrpc": "2.0", "error": error}, both, None, SAME_ID)
    yield Case(
        "an error that answers a subscription",
        {"jsonrpc": "2.0", "id": number, "error": error},
        both,
        number,
        SAME_ID,
    )
    yield Case("a change where none is open", _told(tools, number), [], None, BY_ID)


def belongs_to(message: dict[str, Any], open: Ids) -> Id | None:
    """The subscription of a message, or None."""
    params = message.get("params", {})
    if "method" not in message:
        named = message.get("id")
    elif message["method"] == CANCELLED:
        named = params.get("requestId")
    else:
        named = params.get("_meta", {}).get(SUBSCRIPTION_ID)
    return next((id for id in open if type(id) is type(named) and id == named), None)


def grade(answer: object, learner: Learner) -> Passed:
    """Ask about made-up messages, then about all that a server sends to a client with three subscriptions."""
    asked = 0
    for seed in SEEDS:
        for case in (*_cases(Random(f"route:{seed}")), *_played(seed)):
            _compare(answer, learner, case)
            asked += 1
    return Passed(f"All {asked} messages go to the subscription to which they belong, or to none.", BY_ID)


def _compare(answer: object, learner: Learner, case: Case) -> None:
    message = json.loads(json.dumps(case.message))
    value = learner.call(answer, message, list(case.open), on=case.what, rule=case.rule)
    if is_placeholder(value):
        raise NotAttempted
    given = as_text(value) if isinstance(value, str) else as_integer(value)
    if value is not None and given is None:
        raise NotYet(
            f"For {case.what}, {name_of(answer)} returned {show(value)}.",
            look="Return one of the ids, or None.",
        )
    if type(given) is not type(case.expected) or given != case.expected:
        raise NotYet(
            f"What comes is {case.what}: {show(case.message)}. Open are {show(list(case.open))}. "
            f"{name_of(answer)} returned {show(given)}, and {show(case.expected)} was expected.",
            case.rule,
            "Three places have an id: `_meta` of a notification, `requestId` of a cancellation, and `id` of "
            "a "
            "response.",
        )


def _played(seed: int) -> Iterator[Case]:
    """What a server sends in a run, with what was open at that time."""
    board = notice_board(era="modern")
    rng = Random(f"board:{seed}")

    async def pin(client: Client, day: str) -> None:
        await anyio.sleep(rng.uniform(0, 0.3))
        await client.call_tool("pin", {"day": day, "text": f"{seed}"})

    async def story(client: Client) -> None:
        async with (
            client.listen(resources_list_changed=True),
            client.listen(resource_subscriptions=["notice://monday"]),
            client.listen(resource_subscriptions=["notice://monday", "notice://friday"]),
            anyio.create_task_group() as tasks,
        ):
            for day in ("monday", "friday", "tuesday", "friday", "monday"):
                tasks.start_soon(partial(pin, client, day))
            await anyio.sleep(rng.uniform(0.4, 0.6))
            board.end_subscriptions()
            await anyio.sleep(0.5)

    run = simulate(story, server=board, era="modern", transport=Stdio(jitter_ms=30.0), seed=seed)
    open_: list[Id] = []
    for frame in run.recording.frames:
        match frame.parsed:
            case Request(method=method, id=id) if method == LISTEN:
                open_.append(id)
            case Response() | ErrorResponse() | Notification() if frame.sender == "server":
                message = to_object(frame.parsed)
                yield Case("a message of a run", message, tuple(open_), belongs_to(message, open_), BY_ID)
            case _:
                pass


TASK: Final = Task(
    name="route",
    title="Whose is it",
    text=f"""\
A client has several subscriptions on one pipe, and other requests beside them. Write the function that says
to which subscription a message of the server belongs.

- `message` is a dict, as it came out of JSON: a notification or a response.
- `open` is a list of the ids of the subscriptions that are open: integers and texts.

Return the id of the subscription, or None if the message belongs to none of them. What ends a subscription
belongs to it as well: its result, an error that answers it, and the server's `notifications/cancelled` that
names it (which need not carry the id in `_meta`).

The id stands in `_meta` under `{SUBSCRIPTION_ID}`.""",
    answer="route",
    starter='''\
def route(message, open):
    """The id of the subscription to which the message belongs, or None."""
    return ...''',
    hints=(
        "First find the id that the message names. Where it stands depends on the kind of message.",
        'A response: `message.get("id")`. `notifications/cancelled`: `params["requestId"]`. Any other '
        "notification: in `_meta`. `params` and `_meta` may be missing.",
        '`named in open` keeps 1 and "1" apart, and finds 0 and "". Return `named` if it is in there.',
    ),
    solution=(
        f"""\
SUBSCRIPTION = "{SUBSCRIPTION_ID}"

def route(message, open):
    params = message.get("params", {{}})
    if "method" not in message:
        named = message.get("id")
    elif message["method"] == "notifications/cancelled":
        named = params.get("requestId")
    else:
        named = params.get("_meta", {{}}).get(SUBSCRIPTION)
    return named if named in open else None""",
    ),
    why="Nothing else tells them apart: two subscriptions may be about the same, and on a pipe everything "
    "comes on one way.",
    grade=grade,
    pages=(
        ("receiving notifications", "basic/patterns/subscriptions#receiving-notifications"),
        ("graceful closure", "basic/patterns/subscriptions#graceful-closure"),
    ),
)
