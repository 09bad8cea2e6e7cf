"""Peers that misbehave with tasks, an experiment of one legacy revision.

Our server knows no tasks. `with_tasks` plays one that does: it declares them, and answers in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Json,
    Letter,
    change_answer,
    change_error,
    change_result,
    on_message,
    on_nth,
    one_after_the_other,
    set_in_params,
    set_in_result,
    with_memory,
    without_in_result,
)
from mcpsim.course.servers import help_desk
from mcpsim.errors import INVALID_PARAMS, METHOD_NOT_FOUND
from mcpsim.transports.twists import MakeTwist

CALL: Final = "tools/call"
RELATED: Final = "io.modelcontextprotocol/related-task"
REPORT: Final = {"name": "find_ticket", "arguments": {"number": "T-1001"}}
MADE: Final = "2025-12-01T08:00:00Z"
DECLARED: Final[Json] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}


class _Desk:
    """A server with tasks. A task has ended when it is asked after for the second time."""

    def __init__(self) -> None:
        self.tasks: dict[str, Json] = {}
        self.results: dict[str, Json] = {}
        self.asked: dict[str, int] = {}

    def __call__(self, letter: Letter) -> Any:
        if letter.kind not in ("result", "error"):
            return None
        answer = self._answer(letter)
        if answer is None:
            return None
        body = {name: value for name, value in letter.message.items() if name not in ("result", "error")}
        return letter.out.with_message({**body, **answer})

    def _answer(self, letter: Letter) -> Json | None:
        params: Json = letter.request.get("params", {})
        result: Json = letter.message.get("result", {})
        if letter.method == "initialize":
            return {"result": {**result, "capabilities": {**result["capabilities"], "tasks": DECLARED}}}
        if letter.method == "tools/list":
            tools = [{**tool, "execution": {"taskSupport": "optional"}} for tool in result["tools"]]
            return {"result": {**result, "tools": tools}}
        if letter.method == CALL and "task" in params:
            return {"result": {"task": self._begin(result)}}
        if letter.method == "tasks/list":
            return {"result": {"tasks": list(self.tasks.values())}}
        if letter.method.startswith("tasks/"):
            return self._about(letter.method, params.get("taskId", ""))
        return None

    def _begin(self, result: Json) -> Json:
        id = f"{(len(self.tasks) + 1) * 7919 % 10007:04d}-ticket"
        self.results[id] = result
        self.tasks[id] = self._told(id, "working")
        return self.tasks[id]

    def _told(self, id: str, status: str) -> Json:
        second = self.asked.get(id, 0)
        return {
            "taskId": id,
            "status": status,
            "createdAt": MADE,
            "lastUpdatedAt": MADE.replace("00Z", f"{second:02d}Z"),
            "ttl": 3_600_000,
            "pollInterval": 1_000,
        }

    def _about(self, method: str, id: str) -> Json:
        if id not in self.tasks:
            return {"error": {"code": INVALID_PARAMS, "message": "There is no such task."}}
        status = self.tasks[id]["status"]
        if method == "tasks/get":
            self.asked[id] = self.asked.get(id, 0) + 1
            if status == "working" and self.asked[id] > 1:
                self.tasks[id] = self._told(id, "completed")
            return {"result": self.tasks[id]}
        if method == "tasks/cancel":
            if status != "working":
                return {"error": {"code": INVALID_PARAMS, "message": f"The task is {status}."}}
            self.tasks[id] = self._told(id, "cancelled")
            return {"result": self.tasks[id]}
        return {"result": {**self.results[id], "_meta": {RELATED: {"taskId": id}}}}


with_tasks: Final = with_memory(_Desk)


async def to_its_end(client: Client) -> Any:
    """Call a tool as a task, ask after it until it has ended, fetch its result twice, and list the tasks."""
    await client.request("tools/list", {})
    id = await begin(client)
    for _ in range(2):
        await anyio.sleep(1)
        await client.request("tasks/get", {"taskId": id})
    for _ in range(2):
        await client.request("tasks/result", {"taskId": id})
    await client.request("tasks/list", {})
    await anyio.sleep(1)
    await client.request("tasks/get", {"taskId": id})


async def cancelled(client: Client) -> Any:
    """Cancel a task, and look at it."""
    id = await begin(client)
    await client.request("tasks/cancel", {"taskId": id})
    await anyio.sleep(1)
    await client.request("tasks/get", {"taskId": id})


async def cancelled_too_late(client: Client) -> Any:
    """Cancel a task that has ended."""
    id = await begin(client)
    for _ in range(2):
        await anyio.sleep(1)
        await client.request("tasks/get", {"taskId": id})
    await client.send_raw(request("tasks/cancel", {"taskId": id}))


async def no_such_task(client: Client) -> Any:
    """Ask after a task that is not there."""
    await client.send_raw(request("tasks/get", {"taskId": "none"}))


async def two_tasks(client: Client) -> Any:
    """Make two tasks."""
    return [await begin(client) for _ in range(2)]


async def impatient(client: Client) -> Any:
    """Ask after a task again and again, without a pause."""
    id = await begin(client)
    for _ in range(2):
        await client.request("tasks/get", {"taskId": id})


async def patient(client: Client) -> Any:
    """Ask after a task as often as its pollInterval says."""
    id = await begin(client)
    for _ in range(2):
        await anyio.sleep(1)
        await client.request("tasks/get", {"taskId": id})


async def as_a_task(client: Client) -> Any:
    """Call a tool as a task."""
    await client.request("tools/list", {})
    return await client.request(CALL, {**REPORT, "task": {"ttl": 60_000}})


async def as_always(client: Client) -> Any:
    """Call a tool."""
    await client.request("tools/list", {})
    return await client.request(CALL, REPORT)


async def call_first(client: Client) -> Any:
    """Call a tool, and look at what it says of itself afterwards."""
    await client.send_raw(request(CALL, REPORT))
    await client.request("tools/list", {})


async def list_tasks(client: Client) -> Any:
    """List the tasks of a server that has none."""
    await client.send_raw(request("tasks/list", {}))


async def begin(client: Client) -> str:
    """Call a tool as a task; returns its id."""
    made = await client.request(CALL, {**REPORT, "task": {"ttl": 60_000}})
    return str(made["task"]["taskId"])


def request(method: str, params: Json) -> Json:
    """A request by hand, for what an error may answer."""
    return {"jsonrpc": "2.0", "id": "by hand", "method": method, "params": params}


def _supporting(support: str) -> MakeTwist:
    def change(result: Json) -> None:
        for tool in result["tools"]:
            tool["execution"] = {"taskSupport": support}

    return change_result("tools/list", change)


def _plain_result(result: Json) -> Json:
    return {"content": [{"type": "text", "text": "The printer on floor 2 prints blank pages."}]}


def _refuse(letter: Letter) -> Any:
    """What a server says to a call without the task that its tool needs."""
    if letter.kind != "result" or "task" in letter.request["params"]:
        return None
    error = {"code": METHOD_NOT_FOUND, "message": "This tool is called as a task."}
    return letter.out.with_message({"jsonrpc": "2.0", "id": letter.message["id"], "error": error})


def _carry_out(message: Json) -> Json:
    return {"jsonrpc": "2.0", "id": message["id"], "result": _plain_result({})}


def _number(result: Json) -> None:
    result["task"]["taskId"] = 1


def _the_same(result: Json) -> None:
    result["task"]["taskId"] = "7919-ticket"


def _by_server(
    name: str, rule: str, sentence: str, twist: MakeTwist, story: Callable[..., Any] = to_its_end
) -> Misbehaviour:
    return Misbehaviour(
        name, "server", rule, sentence, story, help_desk, "legacy", "stdio", twist=twist, scenery=with_tasks
    )


def _by_client(
    name: str,
    rule: str,
    sentence: str,
    story: Callable[..., Any],
    good_story: Callable[..., Any] | None,
    **more: Any,
) -> Misbehaviour:
    return Misbehaviour(
        name,
        "client",
        rule,
        sentence,
        story,
        help_desk,
        "legacy",
        "stdio",
        good_story=good_story,
        **more,
    )


TASKS: Final[tuple[Misbehaviour, ...]] = (
    _by_client(
        "client-asks-for-a-task-unasked",
        "task-of-a-tool-needs-capability",
        "The client calls a tool as a task at a server that has no tasks.",
        as_a_task,
        as_always,
    ),
    _by_client(
        "client-lists-tasks-unasked",
        "task-operation-needs-capability",
        "The client lists the tasks of a server that has none.",
        list_tasks,
        as_always,
    ),
    _by_client(
        "client-asks-after-a-task-without-a-pause",
        "task-poll-interval-is-kept",
        "The client asks after a task as often as it can.",
        impatient,
        patient,
        scenery=with_tasks,
    ),
    _by_client(
        "client-names-a-task-twice",
        "task-needs-no-second-name",
        "The client names a task in the params and once more in _meta.",
        to_its_end,
        None,
        scenery=with_tasks,
        twist=set_in_params("tasks/get", "_meta", RELATED, to={"taskId": "7919-ticket"}),
    ),
    _by_server(
        "server-answers-a-task-with-a-result",
        "task-is-the-answer",
        "The server declares tasks, its tool takes them, and the answer is the result itself.",
        change_result(CALL, _plain_result),
        as_a_task,
    ),
    _by_server(
        "server-numbers-its-tasks",
        "task-id-is-a-string",
        "The server gives a task a number for an id.",
        change_result(CALL, _number),
        as_a_task,
    ),
    _by_server(
        "server-has-one-id-for-all-tasks",
        "task-ids-are-unique",
        "The server gives two tasks the same id.",
        change_result(CALL, _the_same),
        two_tasks,
    ),
    _by_server(
        "server-tells-of-another-task",
        "task-of-the-params-is-meant",
        "The server answers with another task than the one that was asked after.",
        on_nth(2, set_in_result("tasks/get", "taskId", to="another")),
    ),
    _by_server(
        "server-makes-up-a-status",
        "task-status-is-known",
        "The server gives a task a status that there is not.",
        on_nth(1, set_in_result("tasks/get", "status", to="paused")),
    ),
    _by_server(
        "server-begins-at-the-end",
        "task-begins-working",
        "The server makes a task that is completed.",
        set_in_result(CALL, "task", "status", to="completed"),
        as_a_task,
    ),
    _by_server(
        "server-changes-what-is-completed",
        "task-end-is-final",
        "The server says that a completed task has failed.",
        on_nth(3, set_in_result("tasks/get", "status", to="failed")),
    ),
    _by_server(
        "server-cancels-by-and-by",
        "task-is-cancelled-before-the-answer",
        "The server answers tasks/cancel while the task still works.",
        set_in_result("tasks/cancel", "status", to="working"),
        cancelled,
    ),
    _by_server(
        "server-refuses-a-late-cancel-in-its-own-way",
        "task-that-has-ended-is-not-cancelled",
        "The server refuses to cancel a task that has ended with a code of its own.",
        change_error("tasks/cancel", lambda error: {**error, "code": -32000}),
        cancelled_too_late,
    ),
    _by_server(
        "server-does-not-say-when-a-task-was-made",
        "task-says-when-it-was-made",
        "The server does not say when a task was made.",
        without_in_result("tasks/get", "createdAt"),
    ),
    _by_server(
        "server-does-not-say-when-a-task-changed",
        "task-says-when-it-changed",
        "The server does not say when a task has changed.",
        without_in_result(CALL, "task", "lastUpdatedAt"),
    ),
    _by_server(
        "server-does-not-say-how-long-a-task-is-kept",
        "task-says-how-long-it-is-kept",
        "The server does not say for how long a task is kept.",
        without_in_result("tasks/get", "ttl"),
    ),
    _by_server(
        "server-gives-a-task-for-a-result",
        "task-result-is-the-result",
        "The server answers tasks/result without what the tool gave.",
        without_in_result("tasks/result", "content"),
    ),
    _by_server(
        "server-changes-a-result",
        "task-result-stays-the-same",
        "The server gives another result the second time.",
        on_nth(2, set_in_result("tasks/result", "content", to=[{"type": "text", "text": "Repaired."}])),
    ),
    _by_server(
        "server-does-not-name-the-task-of-a-result",
        "task-result-names-its-task",
        "The server does not say of which task a result is.",
        without_in_result("tasks/result", "_meta", RELATED),
    ),
    _by_server(
        "server-says-nothing-of-a-failure",
        "task-failure-has-a-message",
        "The server says that a task has failed, and not why.",
        on_nth(2, set_in_result("tasks/get", "status", to="failed")),
        patient,
    ),
    _by_server(
        "server-hides-a-task",
        "task-list-is-whole",
        "The server leaves a task out of the list that it finds when asked.",
        set_in_result("tasks/list", "tasks", to=[]),
    ),
    _by_server(
        "server-misses-a-task-in-its-own-way",
        "task-that-is-not-there-is-invalid-params",
        "The server answers for a task that is not there with a code of its own.",
        change_error("tasks/get", lambda error: {**error, "code": -32001}),
        no_such_task,
    ),
    _by_server(
        "server-refuses-a-task-without-a-word",
        "task-errors-say-why",
        "The server refuses to tell of a task, and says nothing.",
        change_error("tasks/get", lambda error: {**error, "message": ""}),
        no_such_task,
    ),
    Misbehaviour(
        "client-calls-as-a-task-what-takes-none",
        "client",
        "task-of-a-tool-that-takes-none",
        "The client calls a tool as a task, although the tool says that it takes none.",
        as_a_task,
        help_desk,
        "legacy",
        "stdio",
        good_story=as_always,
        scenery=one_after_the_other(with_tasks, _supporting("forbidden")),
    ),
    Misbehaviour(
        "client-calls-without-the-task-that-is-needed",
        "client",
        "task-is-what-the-tool-requires",
        "The client calls a tool without a task, although the tool says that it needs one.",
        as_always,
        help_desk,
        "legacy",
        "stdio",
        good_story=as_a_task,
        scenery=one_after_the_other(with_tasks, _supporting("required"), on_message(_refuse, method=CALL)),
    ),
    Misbehaviour(
        "server-takes-calls-without-the-needed-task",
        "server",
        "task-less-call-is-refused",
        "The server carries out a call without a task, although the tool needs one.",
        call_first,
        help_desk,
        "legacy",
        "stdio",
        twist=change_answer(CALL, _carry_out),
        scenery=one_after_the_other(with_tasks, _supporting("required"), on_message(_refuse, method=CALL)),
    ),
)
