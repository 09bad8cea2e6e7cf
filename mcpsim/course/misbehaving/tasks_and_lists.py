"""Peers that misbehave in how tasks are made, asked after, listed and kept apart."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Json,
    Letter,
    add_before,
    change_answer,
    change_result,
    on_message,
    on_nth,
    one_after_the_other,
    set_in_result,
    with_memory,
    without_in_result,
)
from mcpsim.course.misbehaving.lifecycle_parts import refusal
from mcpsim.course.misbehaving.questioning import kim_and_lee
from mcpsim.course.misbehaving.tasks import (
    CALL,
    DECLARED,
    MADE,
    REPORT,
    as_always,
    begin,
    patient,
    request,
    to_its_end,
    two_tasks,
    with_tasks,
)
from mcpsim.course.servers import help_desk
from mcpsim.errors import METHOD_NOT_FOUND, McpSimError
from mcpsim.server import Server
from mcpsim.transports.http import EVENT_STREAM_TYPE
from mcpsim.transports.twists import MakeTwist

GET: Final = "tasks/get"
LIST: Final = "tasks/list"
RESULT: Final = "tasks/result"
OWN: Final = "my-task"
#: The id of the first task that `with_tasks` makes.
FIRST: Final = "7919-ticket"


def slow_desk() -> Server:
    """A server whose tool takes a quarter of a minute."""
    return _desk(15.0)


def quick_desk() -> Server:
    """A server whose tool answers at once."""
    return _desk(0.0)


def _desk(seconds: float) -> Server:
    desk = Server("help-desk")

    @desk.tool()
    async def find_ticket(number: str) -> str:
        """Look up one ticket."""
        await anyio.sleep(seconds)
        return f"{number}: The printer on floor 2 prints blank pages."

    return desk


async def with_an_id(client: Client) -> None:
    """Call a tool as a task, and say in the call what the id of the task shall be."""
    await client.request(CALL, {**REPORT, "task": {"ttl": 60_000, "taskId": OWN}})


async def slowly(client: Client) -> None:
    """Call a tool as a task, and wait for as long as it takes."""
    await client.request(CALL, {**REPORT, "task": {"ttl": 60_000}}, timeout_s=60)


async def fetch_early(client: Client) -> None:
    """Ask for the result of a task that has just begun, and then look at the task."""
    id = await begin(client)
    with suppress(McpSimError):
        await client.request(RESULT, {"taskId": id}, timeout_s=5)
    await client.request(GET, {"taskId": id})


async def fetch_at_the_end(client: Client) -> None:
    """Look at a task until it has ended, and ask for its result."""
    id = await begin(client)
    for _ in range(2):
        await anyio.sleep(1)
        await client.request(GET, {"taskId": id})
    await client.request(RESULT, {"taskId": id})


async def forget_a_task(client: Client) -> None:
    """Call a tool as a task, look at it once, and do something else for more than a minute."""
    id = await begin(client)
    await anyio.sleep(1)
    await client.request(GET, {"taskId": id})
    await anyio.sleep(90)
    await client.request("tools/list", {})


async def wait_for_news(client: Client) -> None:
    """Call a tool as a task, and ask for its result when a notification says that it has ended."""
    id = await begin(client)
    await anyio.sleep(3)
    await client.request("tools/list", {})
    await client.request(RESULT, {"taskId": id})


async def look_and_hear_news(client: Client) -> None:
    """Look at a task, whatever a notification says."""
    id = await begin(client)
    for _ in range(3):
        await anyio.sleep(1)
        await client.request(GET, {"taskId": id})
    await client.request("tools/list", {})
    await client.request(RESULT, {"taskId": id})


def pages(cursor: str) -> Callable[..., Any]:
    """A story that lists the tasks, and goes on with a cursor."""

    async def list_them(client: Client) -> None:
        await begin(client)
        await client.request(LIST, {})
        await client.request(LIST, {"cursor": cursor})

    return list_them


async def call_then_list(client: Client) -> None:
    """Call a tool as a task, and look at what it says of itself afterwards."""
    await client.send_raw(request(CALL, {**REPORT, "task": {"ttl": 60_000}}))
    await client.request("tools/list", {})


async def lee_looks(kim: Client, lee: Client) -> None:
    """One user makes a task, and another one looks at it."""
    id = await begin(kim)
    with suppress(McpSimError):
        await lee.request(GET, {"taskId": id})


async def kim_looks(kim: Client, lee: Client) -> None:
    """One user makes a task and looks at it."""
    await kim.request(GET, {"taskId": await begin(kim)})


# --- What they do wrong --------------------------------------------------------------------------------


def _task(id: str, status: str = "working") -> Json:
    return {
        "taskId": id,
        "status": status,
        "createdAt": MADE,
        "lastUpdatedAt": MADE,
        "ttl": 60_000,
        "pollInterval": 1_000,
    }


def _many(result: Json) -> None:
    result["tasks"] += [_task(f"{number * 7919}-ticket", "completed") for number in range(2, 103)]


def _has_ended(letter: Letter) -> Json:
    return {"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": _task(FIRST, "completed")}


def _as_events(letter: Letter) -> Any:
    return letter.out.with_header("Content-Type", EVENT_STREAM_TYPE)


def _counted() -> Callable[[Letter], Any]:
    made: list[str] = []

    def change(letter: Letter) -> Any:
        task = letter.message["result"].get("task")
        if task is None:
            return None
        made.append(f"task-{len(made) + 1}")
        task["taskId"] = made[-1]
        return letter.out.with_message(letter.message)

    return change


def _takes_no_tasks(result: Json) -> None:
    for tool in result["tools"]:
        tool["execution"] = {"taskSupport": "forbidden"}


def _with_a_task(message: Json) -> Json:
    return {"jsonrpc": "2.0", "id": message["id"], "result": {"task": _task(FIRST)}}


_ONE_PAGE: Final = on_nth(1, set_in_result(LIST, "nextCursor", to="bmV4dA"))
_FORBIDDING: Final = one_after_the_other(
    with_tasks,
    change_result("tools/list", _takes_no_tasks),
    change_answer(CALL, refusal(METHOD_NOT_FOUND, "This tool takes no tasks.")),
)


def _peer(
    party: Any,
    name: str,
    rule: str,
    sentence: str,
    story: Callable[..., Any],
    twist: MakeTwist | None,
    *,
    way: Any = "stdio",
    server: Callable[[], Server] = help_desk,
    scenery: MakeTwist = with_tasks,
    **more: Any,
) -> Misbehaviour:
    return Misbehaviour(
        name, party, rule, sentence, story, server, "legacy", way, twist=twist, scenery=scenery, **more
    )


TASKS_AND_LISTS: Final[tuple[Misbehaviour, ...]] = (
    _peer(
        "server",
        "server-takes-the-id-of-a-task-from-its-client",
        "task-id-is-made-by-the-receiver",
        "The server gives a task the id that the client has made up.",
        with_an_id,
        set_in_result(CALL, "task", "taskId", to=OWN),
    ),
    _peer(
        "server",
        "server-works-before-it-makes-a-task",
        "task-comes-at-once",
        "The server makes a task of a call when the work is done already.",
        slowly,
        None,
        server=slow_desk,
        good_server=quick_desk,
    ),
    _peer(
        "server",
        "server-gives-results-before-the-end",
        "task-result-waits-for-the-end",
        "The server answers tasks/result, and the task still works after that.",
        fetch_early,
        None,
        good_story=fetch_at_the_end,
    ),
    _peer(
        "server",
        "server-calls-a-failure-completed",
        "task-of-a-failed-tool-is-failed",
        "The server says that a task is completed whose tool has failed.",
        to_its_end,
        set_in_result(RESULT, "isError", to=True),
    ),
    _peer(
        "client",
        "client-forgets-a-task",
        "task-is-asked-after-to-its-end",
        "The client asks after a task once, and forgets it while it still works.",
        forget_a_task,
        None,
        good_story=patient,
    ),
    _peer(
        "client",
        "client-waits-for-news-of-a-task",
        "task-notifications-are-not-relied-on",
        "The client waits for a notification that a task has ended, and never asks after it.",
        wait_for_news,
        None,
        scenery=one_after_the_other(with_tasks, add_before("tools/list", _has_ended)),
        good_story=look_and_hear_news,
    ),
    _peer(
        "server",
        "server-streams-what-is-polled",
        "task-get-is-answered-plainly",
        "The server answers tasks/get with an event stream.",
        patient,
        on_message(_as_events, "result", method=GET),
        way="http",
    ),
    _peer(
        "client",
        "client-makes-up-a-cursor-of-tasks",
        "task-list-cursor-is-opaque",
        "The client asks for a page of the tasks by its number.",
        pages("2"),
        None,
        scenery=one_after_the_other(with_tasks, _ONE_PAGE),
        good_story=pages("bmV4dA"),
    ),
    _peer(
        "server",
        "server-lists-all-tasks-at-once",
        "task-list-comes-in-pages",
        "The server lists more than a hundred tasks on one page.",
        to_its_end,
        change_result(LIST, _many),
    ),
    _peer(
        "server",
        "server-shows-a-task-to-anybody",
        "task-belongs-to-its-principal",
        "The server shows the task of one user to another.",
        lee_looks,
        None,
        way="http",
        clients=kim_and_lee,
        good_story=kim_looks,
    ),
    _peer(
        "server",
        "server-counts-its-tasks",
        "task-ids-cannot-be-guessed",
        "The server counts its tasks, so that anybody can guess the next id.",
        two_tasks,
        with_memory(_counted, "result", method=CALL),
        way="http",
    ),
    _peer(
        "server",
        "server-lists-tasks-to-strangers",
        "task-list-is-not-for-strangers",
        "The server lists tasks although it cannot tell who asks.",
        as_always,
        set_in_result("initialize", "capabilities", "tasks", to=DECLARED),
        way="http",
        scenery=one_after_the_other(
            with_tasks, without_in_result("initialize", "capabilities", "tasks", "list")
        ),
    ),
    _peer(
        "server",
        "server-makes-a-task-of-a-tool-that-takes-none",
        "task-of-a-tool-that-takes-none-is-refused",
        "The server makes a task of a call, although its tool says that it takes none.",
        call_then_list,
        change_answer(CALL, _with_a_task),
        scenery=_FORBIDDING,
    ),
)
