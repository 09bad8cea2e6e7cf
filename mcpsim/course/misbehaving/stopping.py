"""Peers that do not stop what has to stop, or stop it in the wrong way."""

from __future__ import annotations

from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.lifecycle_parts import modern
from mcpsim.course.misbehaving.tasks import CALL, REPORT, with_tasks
from mcpsim.course.servers import help_desk
from mcpsim.errors import McpSimError
from mcpsim.messages import Response
from mcpsim.server import Server
from mcpsim.simulation.world import Host

#: How long the report takes, in seconds.
LONG_S: Final = 30.0


def slow_desk(*, stubborn: bool) -> Server:
    """A server with a report that takes long.

    Args:
        stubborn: whether the report is finished whatever happens.
    """
    desk = Server("slow-desk")

    @desk.tool()
    async def write_report() -> str:
        """Write a long report."""
        with anyio.CancelScope(shield=stubborn):
            await anyio.sleep(LONG_S)
        return "report.pdf"

    return desk


def stubborn_desk() -> Server:
    """It finishes its report although nobody is there any more."""
    return slow_desk(stubborn=True)


def willing_desk() -> Server:
    """It stops its work when its input ends."""
    return slow_desk(stubborn=False)


async def leave_before_the_report(client: Client, *, host: Host) -> None:
    """Start another process of the server, call a tool there, and close its stdin before it has answered."""
    await client.list_tools()
    async with host.start_again(client) as other:
        call = modern("report", CALL, name="write_report", arguments={})
        await other.send_raw(call)
    await anyio.sleep(LONG_S)


async def _begin(client: Client) -> str:
    params: dict[str, Any] = {**REPORT, "task": {"ttl": 60_000}}
    reply = await client.send_raw({"jsonrpc": "2.0", "id": "call", "method": CALL, "params": params})
    answer = reply.answer
    if not isinstance(answer, Response):
        raise McpSimError("The call did not become a task.")
    return str(answer.result["task"]["taskId"])


async def cancel_the_request(client: Client) -> None:
    """Call a tool as a task, and cancel the request, which is answered already."""
    await _begin(client)
    params = {"requestId": "call", "reason": "no longer needed"}
    await client.send_raw({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})


async def cancel_the_task(client: Client) -> None:
    """Call a tool as a task, and cancel the task."""
    await client.request("tasks/cancel", {"taskId": await _begin(client)})


STOPPING: Final[tuple[Misbehaviour, ...]] = (
    Misbehaviour(
        "server-stays-when-its-input-has-ended",
        "server",
        "stdio-server-exits",
        "The server works on for half a minute after its stdin was closed.",
        leave_before_the_report,
        stubborn_desk,
        "modern",
        "stdio",
        good_server=willing_desk,
    ),
)

STOPPING_TASKS: Final[tuple[Misbehaviour, ...]] = (
    Misbehaviour(
        "client-cancels-a-task-like-a-request",
        "client",
        "cancellation-not-of-task",
        "The client cancels a request that has become a task, and not the task.",
        cancel_the_request,
        help_desk,
        "legacy",
        "stdio",
        scenery=with_tasks,
        good_story=cancel_the_task,
    ),
)
