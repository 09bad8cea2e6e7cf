"""Peers that misbehave in caching and pagination."""

from __future__ import annotations

from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import without_in_result
from mcpsim.course.servers import help_desk


async def list_the_tools(client: Client) -> Any:
    """Ask for the tools."""
    return await client.request("tools/list", {})


CACHING: Final[tuple[Misbehaviour, ...]] = (
    Misbehaviour(
        "server-leaves-ttl-out",
        "server",
        "caching-ttl-required",
        "The server says of its tool list whom it is for, and not for how long it is good.",
        list_the_tools,
        help_desk,
        "modern",
        "stdio",
        twist=without_in_result("tools/list", "ttlMs"),
    ),
)
