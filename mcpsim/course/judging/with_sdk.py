"""The official Python SDK's client, as a visitor. Importing this module imports the SDK."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters

from mcpsim.course.judging.tour import Plan
from mcpsim.eras.revisions import LATEST_MODERN

PATIENCE_S: Final = 60.0


class Wrong(Exception):
    """What the visitor did not like."""


async def visit(where: str | Sequence[str], era: str, plan: Plan, has: Mapping[str, bool]) -> str:
    """Read all lists and resources, and call every tool.

    Args:
        where: the server's URL, or the command that starts it.
        era: "modern" or "legacy".
        plan: what the tools are called with, and what is answered.
        has: whether the server has "tools", and "resources". A modern client need not ask for that.

    Returns:
        What was seen, in a sentence.

    Raises:
        Wrong: a tool failed.
        Exception: whatever the SDK raises.
    """
    server = (
        where if isinstance(where, str) else StdioServerParameters(command=where[0], args=list(where[1:]))
    )

    async def fill_in(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        if isinstance(params, types.ElicitRequestFormParams):
            return types.ElicitResult(action="accept", content=plan.fill_in(params.requested_schema))
        return types.ElicitResult(action="accept")

    async def write(context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        text = types.TextContent(type="text", text="A text that a model wrote.")
        return types.CreateMessageResult(role="assistant", content=text, model="judge")

    async def offer_roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[])

    with anyio.fail_after(PATIENCE_S):
        async with Client(
            server,
            mode=LATEST_MODERN if era == "modern" else "legacy",
            read_timeout_seconds=PATIENCE_S,
            elicitation_callback=fill_in,
            sampling_callback=write,
            list_roots_callback=offer_roots,
        ) as client:
            return await _look(client, plan, has)


async def _look(client: Client, plan: Plan, has: Mapping[str, bool]) -> str:
    tools: list[types.Tool] = []
    resources: list[types.Resource] = []
    if has["tools"]:
        tools = [tool for page in await _pages(client.list_tools) for tool in page.tools]
    if has["resources"]:
        resources = [one for page in await _pages(client.list_resources) for one in page.resources]
    for one in resources:
        await client.read_resource(one.uri)
    for tool in tools:
        result = await client.call_tool(tool.name, plan.arguments(tool), progress_callback=_hear)
        if result.is_error:
            text = " ".join(block.text for block in result.content if isinstance(block, types.TextContent))
            raise Wrong(f"{tool.name} failed: {text}")
    return f"Tools called: {len(tools)}, resources read: {len(resources)}."


async def _pages(fetch: Callable[..., Any]) -> list[Any]:
    pages: list[Any] = []
    cursor: str | None = None
    while not pages or cursor is not None:
        page = await fetch(cursor=cursor)
        pages.append(page)
        cursor = page.next_cursor
    return pages


async def _hear(progress: float, total: float | None, message: str | None) -> None:
    """Progress is heard, so that the server sends it."""
