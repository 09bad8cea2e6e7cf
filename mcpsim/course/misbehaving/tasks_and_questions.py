"""Peers that misbehave with tasks that need something of the other side, or that tell how far they are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import anyio
import mcp_types

from mcpsim.client import Client
from mcpsim.course.misbehaving.answering import ELICIT
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Json,
    Letter,
    add_before,
    change_answer,
    change_params,
    on_message,
    on_nth,
    one_after_the_other,
    set_in_result,
)
from mcpsim.course.misbehaving.provoked import instead
from mcpsim.course.misbehaving.tasks import CALL, MADE, RELATED, REPORT, begin, with_tasks
from mcpsim.course.servers import help_desk, travel_desk
from mcpsim.course.stories.asking import obliging, one_question
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import McpSimError
from mcpsim.transports.twists import MakeTwist

GET: Final = "tasks/get"
RESULT: Final = "tasks/result"
PROGRESS: Final = "notifications/progress"
#: The id of the first task that `with_tasks` makes.
FIRST: Final = "7919-ticket"
OF_THE_TASK: Final[Json] = {RELATED: {"taskId": FIRST}}
FORM: Final[Json] = {
    "type": "object",
    "properties": {"agreed": {"type": "boolean", "title": "Do it", "default": True}},
    "required": ["agreed"],
}


def slow_user(era: ClientEra) -> Client:
    """A client whose user thinks for two seconds."""

    async def think(asked: mcp_types.ElicitRequestFormParams) -> Json:
        await anyio.sleep(2)
        return {"agreed": True}

    return Client(era=era, elicit=think)


async def _fetch(client: Client, id: str, timeout_s: float = 4) -> None:
    with suppress(McpSimError):
        await client.request(RESULT, {"taskId": id}, timeout_s=timeout_s)


async def answer_and_look(client: Client) -> None:
    """Call a tool as a task, answer its question, and look at the task a while later."""
    id = await begin(client)
    await _fetch(client, id)
    await anyio.sleep(4)
    await client.request(GET, {"taskId": id})


async def look_while_it_waits(client: Client) -> None:
    """Call a tool as a task, and look at it while its question waits for an answer."""
    id = await begin(client)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_fetch, client, id)
        await anyio.sleep(0.5)
        await client.request(GET, {"taskId": id})


async def only_look(client: Client) -> None:
    """Look at a task again and again, although it needs input."""
    id = await begin(client)
    for _ in range(4):
        await anyio.sleep(1)
        await client.request(GET, {"taskId": id})


async def look_and_fetch(client: Client) -> None:
    """Look at a task, and ask for its result, with which comes what it needs."""
    id = await begin(client)
    await anyio.sleep(1)
    await client.request(GET, {"taskId": id})
    await _fetch(client, id)


async def follow(client: Client) -> None:
    """Call a tool as a task, and follow it to its end by progress."""
    params = {**REPORT, "task": {"ttl": 60_000}}
    made = await client.request(CALL, params, meta={"progressToken": "report"})
    id = made["task"]["taskId"]
    for _ in range(2):
        await anyio.sleep(1)
        await client.request(GET, {"taskId": id}, meta={"progressToken": "look"})
    await client.request(RESULT, {"taskId": id})
    await anyio.sleep(1)


# --- What the desk does beside its tasks ---------------------------------------------------------------


def _asks(letter: Letter) -> Any:
    """A question in the place of the result, which is kept back."""
    params = {"mode": "form", "message": "Shall I?", "requestedSchema": FORM, "_meta": OF_THE_TASK}
    return letter.out.beside({"jsonrpc": "2.0", "id": "question", "method": ELICIT, "params": params})


def _names_the_task(result: Json) -> None:
    result["result"]["_meta"] = OF_THE_TASK


def _without_meta(held: Json) -> None:
    held.pop("_meta", None)


def _without_meta_in_result(message: Json) -> None:
    message["result"].pop("_meta", None)


#: A task that asks its client, who answers as it should.
WITH_A_QUESTION: Final = one_after_the_other(
    with_tasks,
    on_message(_asks, "result", "error", method=RESULT),
    change_answer(ELICIT, _names_the_task),
)
NEEDS_INPUT: Final = set_in_result(GET, "status", to="input_required")


def _progress(
    done: float, token: str = "report", meta: Json | None = OF_THE_TASK
) -> Callable[[Letter], Json]:
    params: Json = {"progressToken": token, "progress": done, **({} if meta is None else {"_meta": meta})}
    return lambda letter: {"jsonrpc": "2.0", "method": PROGRESS, "params": params}


def _told(done: float, **more: Any) -> MakeTwist:
    return on_nth(1, add_before(GET, _progress(done, **more)))


def _as_a_task(params: Json) -> None:
    params["task"] = {"ttl": 60_000}


_OF_THE_CLIENT: Final[Json] = {
    "taskId": "q-4711",
    "status": "working",
    "createdAt": MADE,
    "lastUpdatedAt": MADE,
    "ttl": 60_000,
}


def _peer(
    party: Any,
    name: str,
    rule: str,
    sentence: str,
    story: Callable[..., Any],
    twist: MakeTwist | None,
    *,
    way: Any = "stdio",
    server: Any = help_desk,
    scenery: MakeTwist | None = WITH_A_QUESTION,
    **more: Any,
) -> Misbehaviour:
    more.setdefault("clients", obliging)
    return Misbehaviour(
        name, party, rule, sentence, story, server, "legacy", way, twist=twist, scenery=scenery, **more
    )


TASKS_AND_QUESTIONS: Final[tuple[Misbehaviour, ...]] = (
    _peer(
        "server",
        "server-asks-and-does-not-name-the-task",
        "task-question-names-its-task",
        "The server asks what a task needs, and does not say which task.",
        answer_and_look,
        change_params(ELICIT, _without_meta),
        way="http",
    ),
    _peer(
        "client",
        "client-answers-and-does-not-name-the-task",
        "task-answer-names-its-task",
        "The client answers the question of a task, and does not say which task.",
        answer_and_look,
        change_answer(ELICIT, _without_meta_in_result),
    ),
    _peer(
        "server",
        "server-waits-and-says-that-it-works",
        "task-that-waits-says-so",
        "The server waits for an answer, and says that the task works.",
        look_while_it_waits,
        set_in_result(GET, "status", to="working"),
        scenery=one_after_the_other(WITH_A_QUESTION, NEEDS_INPUT),
        clients=slow_user,
    ),
    _peer(
        "server",
        "server-needs-input-for-ever",
        "task-goes-on-after-input",
        "The server has got its answer, and says that the task still needs input.",
        answer_and_look,
        NEEDS_INPUT,
    ),
    _peer(
        "client",
        "client-does-not-ask-what-is-needed",
        "task-input-is-asked-for",
        "The client sees that a task needs input, and does not ask what that is.",
        only_look,
        None,
        scenery=one_after_the_other(WITH_A_QUESTION, NEEDS_INPUT),
        good_story=look_and_fetch,
    ),
    _peer(
        "server",
        "server-tells-progress-of-no-task",
        "task-progress-names-its-task",
        "The server reports the progress of a task, and does not say which task.",
        follow,
        _told(0.5, meta=None),
        scenery=with_tasks,
    ),
    _peer(
        "server",
        "server-takes-another-token-for-a-task",
        "task-progress-keeps-token",
        "The server reports the progress of a task with the token of another request.",
        follow,
        _told(0.5, token="look"),
        scenery=with_tasks,
    ),
    _peer(
        "server",
        "server-reports-progress-after-the-end",
        "task-progress-stops",
        "The server still reports the progress of a task that is completed.",
        follow,
        add_before(RESULT, _progress(0.9)),
        scenery=with_tasks,
    ),
    _peer(
        "server",
        "server-wants-a-task-undeclared",
        "task-is-asked-where-declared",
        "The server wants its question to become a task, and the client has not declared that.",
        one_question,
        change_params(ELICIT, _as_a_task),
        server=travel_desk,
        scenery=None,
    ),
    _peer(
        "client",
        "client-makes-a-task-undeclared",
        "task-support-is-declared",
        "The client makes a task of a question, and has not declared that it does.",
        one_question,
        change_answer(ELICIT, instead(task=_OF_THE_CLIENT)),
        server=travel_desk,
        scenery=None,
        provocation=change_params(ELICIT, _as_a_task),
    ),
)
