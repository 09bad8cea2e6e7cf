"""The first stories: a call, its progress, stopping it, errors, versions, capabilities, ping, handles."""

from __future__ import annotations

from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.servers import basket_shop, help_desk, old_desk, picky_desk
from mcpsim.course.stories.story import ALL, BOTH, LEGACY, MODERN, Story, text_of, told
from mcpsim.errors import ProtocolError
from mcpsim.messages.meta import CLIENT_CAPABILITIES, PROTOCOL_VERSION


async def first_call(client: Client) -> str:
    """List the tools and call one."""
    await client.list_tools()
    result = await client.call_tool("find_ticket", {"number": "T-1001"})
    return text_of(result)


async def report_with_progress(client: Client) -> list[str]:
    """A long tool call that reports progress."""
    seen: list[str] = []

    def show(progress: float, total: float | None, message: str | None) -> None:
        seen.append(f"{progress:g}/{total:g} {message}")

    await client.call_tool("export_report", {"parts": 3}, on_progress=show)
    return seen


async def report_stopped(client: Client) -> str:
    """A long tool call that the user stops after half a second."""
    seen: list[float] = []

    def show(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    with anyio.move_on_after(0.5) as scope:
        await client.call_tool("export_report", {"parts": 5}, on_progress=show)
    await anyio.sleep(0.5)
    return f"stopped after part {len(seen)}" if scope.cancelled_caught else "finished"


async def two_kinds_of_error(client: Client) -> list[str]:
    """A tool error, which the model reads, and a protocol error, which the program reads."""
    result = await client.call_tool("find_ticket", {"number": "T-9999"})
    seen = [f"tool error: {text_of(result)}"]
    try:
        await client.call_tool("find_tiket", {"number": "T-1001"})
    except ProtocolError as error:
        seen.append(f"protocol error: {error}")
    return seen


async def ask_what_it_is(client: Client) -> list[str]:
    """Ask a modern server what it is: server/discover is optional."""
    found = await client.discover()
    return list(found.supported_versions)


async def version_from_the_future(client: Client) -> str:
    """A request that declares a version which the server does not speak."""
    try:
        await client.request("tools/list", meta={PROTOCOL_VERSION: "2099-01-01"})
    except ProtocolError as error:
        return str(error)
    return "accepted"


async def capability_missing(client: Client) -> list[str]:
    """The same call twice: without the capability that it needs, and with it."""
    call = {"name": "book_visit", "arguments": {"day": "Monday"}}
    seen: list[str] = []
    declared: tuple[dict[str, Any], ...] = ({}, {"elicitation": {}})
    for capabilities in declared:
        try:
            await client.request("tools/call", call, meta={CLIENT_CAPABILITIES: capabilities})
            seen.append("booked")
        except ProtocolError as error:
            seen.append(f"{error.code}")
    return seen


async def ping_both_ways(client: Client) -> str:
    """A legacy ping from the client, and one from the server while a tool runs."""
    await client.ping()
    return text_of(await client.call_tool("check_client"))


async def basket_by_handle(client: Client) -> str:
    """State that outlives a request travels as a handle in the arguments."""
    made = await client.request("tools/call", {"name": "create_basket", "arguments": {}})
    handle = made["structuredContent"]["basket_id"]
    for item in ("ink", "paper"):
        result = await client.call_tool("add_item", {"basket_id": handle, "item": item})
    return text_of(result)


BASICS: Final[tuple[Story, ...]] = (
    told(first_call, help_desk, ALL),
    told(report_with_progress, help_desk, ALL),
    told(report_stopped, help_desk, ALL),
    told(two_kinds_of_error, help_desk, ALL),
    told(ask_what_it_is, help_desk, MODERN),
    told(version_from_the_future, help_desk, MODERN),
    told(capability_missing, picky_desk, MODERN),
    told(ping_both_ways, old_desk, LEGACY),
    told(basket_by_handle, basket_shop, BOTH),
)
