"""Stories of what HTTP brings along: headers, origins, streams that break, are resumed or kept alive."""

from __future__ import annotations

from typing import Final

import anyio

from mcpsim.client import Client
from mcpsim.client.wire import OnProgress
from mcpsim.course.servers import help_desk, notice_board, region_desk
from mcpsim.course.stories.story import BOTH, HTTP, LEGACY, MODERN, Story, text_of, told
from mcpsim.errors import ConnectionClosed, ProtocolError
from mcpsim.transports.faults import Change, Cut


async def argument_in_a_header(client: Client) -> str:
    """A tool wants one of its arguments in a header too, so that a gateway can route without the body."""
    await client.list_tools()
    return text_of(await client.call_tool("weather", {"region": "Île-de-France", "days": 2}))


async def header_and_body_differ(client: Client) -> str:
    """The header says another region than the body: the server must refuse it."""
    call = {"name": "weather", "arguments": {"region": "north"}}
    try:
        await client.request("tools/call", call, headers={"Mcp-Param-Region": "south"})
    except ProtocolError as error:
        return str(error)
    return "accepted"


async def tool_with_an_invalid_header(client: Client) -> list[str]:
    """The definition of a tool asks for a header without a name: the client leaves the tool out."""
    return [tool.name for tool in (await client.list_tools()).tools]


async def from_another_page(client: Client) -> list[str]:
    """A web page of somebody else tries to reach the server: its origin is refused, a local one is not."""
    seen: list[str] = []
    for origin in ("https://evil.example", "http://localhost:8888"):
        try:
            await client.request("tools/list", headers={"Origin": origin})
            seen.append("served")
        except ProtocolError as error:
            seen.append(error.message)
    return seen


async def stream_is_lost(client: Client) -> str:
    """The stream of an answer breaks: the modern protocol cannot resume it, only ask again."""
    seen: list[float] = []
    try:
        result = await client.call_tool("export_report", {"parts": 3}, on_progress=noted(seen))
        return text_of(result)
    except ConnectionClosed:
        await anyio.sleep(1)
        return text_of(await client.call_tool("export_report", {"parts": 1}))


async def stream_is_resumed(client: Client) -> list[float]:
    """The stream of an answer breaks: the client fetches the rest with Last-Event-ID."""
    seen: list[float] = []
    await client.call_tool("export_report", {"parts": 4}, on_progress=noted(seen))
    return seen


async def quiet_stream_is_kept_alive(client: Client) -> int:
    """Nothing happens for a minute: comments keep the stream open, and mean nothing to the client."""
    async with client.listen(resource_subscriptions=["notice://monday"]):
        await anyio.sleep(60)
    return len(client.notifications)


def noted(seen: list[float]) -> OnProgress:
    """A callback that writes down how far the work is."""

    def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    return note


CARRYING: Final[tuple[Story, ...]] = (
    told(argument_in_a_header, region_desk, MODERN, HTTP),
    told(header_and_body_differ, region_desk, MODERN, HTTP),
    told(
        tool_with_an_invalid_header,
        region_desk,
        MODERN,
        HTTP,
        faults=(Change("result of tools/list", old=b'"x-mcp-header":"Days"', new=b'"x-mcp-header":""'),),
    ),
    told(from_another_page, help_desk, BOTH, HTTP),
    told(stream_is_lost, help_desk, MODERN, HTTP, faults=(Cut("notifications/progress", nth=2),)),
    told(
        stream_is_resumed,
        help_desk,
        LEGACY,
        HTTP,
        faults=(Cut("notifications/progress", nth=2),),
        endpoint={"resumable": True, "retry_ms": 300},
    ),
    told(quiet_stream_is_kept_alive, notice_board, MODERN, HTTP, endpoint={"keep_alive_s": 15}),
)
