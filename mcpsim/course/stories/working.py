"""Stories of work that takes time: progress, timeouts, cancellation and its races."""

from __future__ import annotations

from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.servers import help_desk, workshop
from mcpsim.course.stories.story import ALL, BOTH, LEGACY, STDIO, Story, text_of, told
from mcpsim.errors import RequestTimeout
from mcpsim.transports.faults import Delay, Reorder


async def two_reports_at_once(client: Client) -> list[str]:
    """Two long calls at the same time: the token says which of them the progress is about."""
    seen: list[str] = []

    async def export(name: str, parts: int) -> None:
        def show(progress: float, total: float | None, message: str | None) -> None:
            seen.append(f"{name} {progress:g}/{total:g}")

        await client.call_tool("export_report", {"parts": parts}, on_progress=show)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(export, "long", 4)
        tasks.start_soon(export, "short", 2)
    return seen


async def progress_without_a_total(client: Client) -> list[float]:
    """Progress in fractions, of work whose end is not known; the server sends no more than four a second."""
    seen: list[float] = []

    def show(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    await client.call_tool("search", {"seconds": 1}, on_progress=show)
    return seen


async def kept_waiting_by_progress(client: Client) -> str:
    """A call takes longer than its timeout of 0.5 s; each progress notification begins the time anew."""
    result = await client.call_tool("search", {"seconds": 2}, timeout_s=0.5, reset_on_progress=True)
    return text_of(result)


async def never_longer_than_the_maximum(client: Client) -> str:
    """Progress keeps coming, and the client gives up all the same when its maximum is reached."""
    try:
        await client.call_tool("search", {"seconds": 60}, timeout_s=0.5, reset_on_progress=True)
    except RequestTimeout as error:
        return str(error)
    return "answered"


async def answer_took_too_long(client: Client) -> str:
    """A call that takes longer than the client waits: it is cancelled, and the handler cleans up."""
    try:
        await client.call_tool("saw", {"seconds": 5}, timeout_s=1)
    except RequestTimeout:
        await anyio.sleep(0.2)
        return text_of(await client.call_tool("look_around"))
    return "answered"


async def cancel_crosses_the_answer(client: Client) -> str:
    """The client stops a call while the answer is already on its way."""
    with anyio.move_on_after(0.53) as scope:
        await client.call_tool("saw", {"seconds": 0.5})
    await anyio.sleep(0.2)
    return "stopped" if scope.cancelled_caught else "answered"


async def cancel_what_is_not_there(client: Client) -> int:
    """Cancelling a request that never was, and one that is answered already: both are ignored."""
    await client.call_tool("look_around")
    # In a session the first request is `initialize`, which nobody may cancel.
    looked = 1 if client.era == "modern" else 2
    for id in (looked, "never-sent"):
        await client.notify("notifications/cancelled", {"requestId": id, "reason": "To see what happens."})
    await anyio.sleep(0.1)
    return len((await client.list_tools()).tools)


async def cancel_before_it_begins(client: Client) -> str:
    """The cancellation overtakes its request on the way: it stops nothing, and the work is done in vain."""
    with anyio.move_on_after(0.1):
        await client.call_tool("saw", {"seconds": 0.3})
    await anyio.sleep(1)
    return text_of(await client.call_tool("look_around"))


async def handshake_is_not_cancelled(client: Client) -> str:
    """The answer to initialize takes too long: the client gives up, and sends no cancellation."""
    try:
        await client.initialize()
    except RequestTimeout as error:
        return str(error)
    return "answered"


def impatient(era: Any) -> Client:
    """A client that waits three seconds at most, whatever happens."""
    return Client(era=era, max_timeout_s=3)


def hasty(era: Any) -> Client:
    """A client that waits one second for the answer to its handshake."""
    return Client(era=era, timeout_s=1)


WORKING: Final[tuple[Story, ...]] = (
    told(two_reports_at_once, help_desk, ALL),
    told(progress_without_a_total, workshop, ALL),
    told(kept_waiting_by_progress, workshop, ALL),
    told(never_longer_than_the_maximum, workshop, ALL, clients=impatient),
    told(answer_took_too_long, workshop, ALL),
    told(cancel_crosses_the_answer, workshop, ALL),
    told(cancel_what_is_not_there, workshop, BOTH, STDIO, breaks=("cancellation-names-a-request",)),
    told(
        cancel_before_it_begins,
        workshop,
        BOTH,
        STDIO,
        faults=(Reorder("tools/call", by_ms=300),),
    ),
    told(
        handshake_is_not_cancelled,
        workshop,
        LEGACY,
        clients=hasty,
        faults=(Delay("result of initialize", by_ms=3_000),),
        connect=False,
    ),
)
