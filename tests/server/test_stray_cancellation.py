"""A handler that lets out a cancellation which nobody asked for, and an answer that nobody could read."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

from mcpsim import Client, ProtocolError, Server, Stdio, StreamableHttp
from tests.support.checked import simulate_checked

TRANSPORTS = [Stdio(), StreamableHttp()]
ERAS = ["modern", "legacy"]


def desk() -> Server:
    server = Server("desk")

    @server.tool()
    async def cancels_its_own_helper() -> str:
        helper = asyncio.ensure_future(anyio.sleep(100))
        await asyncio.sleep(0)
        helper.cancel()
        await helper
        return "never"

    @server.tool()
    async def raises_it() -> str:
        raise asyncio.CancelledError

    @server.tool()
    def shouts(size: int) -> str:
        return "x" * size

    @server.tool()
    def works() -> str:
        return "fine"

    return server


@pytest.mark.parametrize("transport", TRANSPORTS, ids=["stdio", "http"])
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("tool", ["cancels_its_own_helper", "raises_it"])
def test_it_is_an_internal_error_and_the_server_goes_on(tool: str, era: Any, transport: Any) -> None:
    async def story(client: Client) -> Any:
        with pytest.raises(ProtocolError) as raised:
            await client.call_tool(tool)
        assert raised.value.code == -32603
        return (await client.call_tool("works")).content[0]

    run = simulate_checked(story, server=desk(), era=era, transport=transport)
    assert run.value.text == "fine"
    assert "let the cancellation of something else out" in run.transcript(width=300)


@pytest.mark.parametrize("transport", TRANSPORTS, ids=["stdio", "http"])
@pytest.mark.parametrize("era", ERAS)
def test_an_answer_beyond_the_limit_is_an_error_that_names_the_limit(era: Any, transport: Any) -> None:
    async def story(client: Client) -> Any:
        with pytest.raises(ProtocolError, match="the limit is 4000000"):
            await client.call_tool("shouts", {"size": 4_000_000})
        return (await client.call_tool("shouts", {"size": 3_000_000})).content[0]

    run = simulate_checked(story, server=desk(), era=era, transport=transport)
    assert len(run.value.text) == 3_000_000
