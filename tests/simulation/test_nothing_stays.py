"""A server outlives the runs that it is served in. After each of them nobody listens at it any more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest

from mcpsim import (
    Client,
    Crash,
    Deadlock,
    Drop,
    Gateway,
    McpSimError,
    Server,
    Simulation,
    Stdio,
    StreamableHttp,
    simulate,
)

TRANSPORTS = pytest.mark.parametrize(
    "transport",
    [Stdio(), StreamableHttp(), StreamableHttp(resumable=True)],
    ids=["stdio", "http", "resumable"],
)
ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


def desk() -> Server:
    server = Server("desk", list_changed=True, subscribe=True)

    @server.tool()
    async def touch() -> str:
        server.resource_updated("file:///a")
        return "touched"

    @server.tool()
    async def wait() -> str:
        await anyio.sleep(1000)
        return "waited"

    @server.resource("file:///a")
    def a() -> str:
        return "a"

    return server


async def listens(client: Client) -> None:
    """Listen as the era has it, hear of one change."""
    if client.era == "legacy":
        await client.subscribe("file:///a")
        await client.call_tool("touch")
        return
    async with client.listen(resource_subscriptions=["file:///a"]) as subscription:
        await client.call_tool("touch")
        async for _ in subscription:
            return


async def listens_and_fails(client: Client) -> None:
    await listens(client)
    raise McpSimError("enough")


async def listens_for_ever(client: Client) -> None:
    if client.era == "legacy":
        await client.subscribe("file:///a")
        await anyio.Event().wait()
    async with client.listen(resource_subscriptions=["file:///a"]) as subscription:
        async for _ in subscription:
            pass


async def leaves_work_behind(client: Client) -> None:
    await listens(client)
    with anyio.move_on_after(5):
        await client.call_tool("wait")


@TRANSPORTS
@ERAS
@pytest.mark.parametrize("story", [listens, listens_and_fails, listens_for_ever, leaves_work_behind])
def test_nobody_listens_after_a_run(
    story: Callable[[Client], Any], era: Any, transport: Stdio | StreamableHttp
) -> None:
    server = desk()
    heard: list[int] = []

    async def counting(client: Client) -> None:
        # The server has taken in all of the handshake when it answers what comes after it.
        await client.list_tools()
        if client.era == "legacy":
            heard.append(len(server.changes))
        await story(client)

    with suppress(Deadlock, McpSimError):
        simulate(counting, server=server, era=era, transport=transport)
    assert heard == ([1] if era == "legacy" else [])
    assert len(server.changes) == 0


@TRANSPORTS
@ERAS
def test_nobody_listens_after_a_run_that_is_given_up(era: Any, transport: Stdio | StreamableHttp) -> None:
    server = desk()
    with Simulation(listens_for_ever, server=server, era=era, transport=transport) as simulation:
        while not len(server.changes):
            assert simulation.step()
    assert len(server.changes) == 0


@ERAS
@pytest.mark.parametrize("gateway", [None, Gateway()])
def test_nobody_listens_for_a_process_that_has_died(era: Any, gateway: Gateway | None) -> None:
    server = desk()
    heard: list[int] = []

    async def story(client: Client) -> None:
        with anyio.move_on_after(20):
            if era == "legacy":
                await client.subscribe("file:///a")
                await anyio.sleep(10)
            else:
                try:
                    async with client.listen(resource_subscriptions=["file:///a"]):
                        heard.append(len(server.changes))
                        await anyio.sleep(10)
                except McpSimError:
                    await anyio.sleep(10)
        heard.append(len(server.changes))

    crash = Crash(at_ms=5_000, restart_after_ms=10)
    simulate(story, server=server, era=era, transport=StreamableHttp(), gateway=gateway, faults=[crash])
    assert heard == ([0] if era == "legacy" else [1, 0])
    assert len(server.changes) == 0


def test_a_session_that_could_not_be_ended_is_ended_with_the_run_and_the_recording_does_not_tell() -> None:
    server = desk()

    async def story(client: Client) -> None:
        await client.call_tool("touch")

    # The seventh thing on the way is the DELETE at the end.
    run = simulate(story, server=server, era="legacy", transport=StreamableHttp(), faults=[Drop("*", nth=7)])
    last = [event for event in run.recording.events if event.kind == "state" and event.party == "server"][-1]
    assert last.detail
    assert last.detail["phase"] == "operating"
    assert len(server.changes) == 0
