"""`tools/call`.

https://modelcontextprotocol.io/specification/2026-07-28/server/tools#calling-tools
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpsim.errors import INVALID_PARAMS, ProtocolError
from mcpsim.server.context import Context
from mcpsim.server.operations.checking import check_params
from mcpsim.server.tools import Tool

if TYPE_CHECKING:
    from mcpsim.server.server import Server


@dataclass(frozen=True, slots=True)
class CallTool:
    """`tools/call`."""

    server: Server

    def check(self, params: dict[str, Any], version: str) -> tuple[Tool, Mapping[str, Any]]:
        check_params("tools/call", params, version)
        name = params["name"]
        tool = self.server.tool_named(name)
        if tool is None:
            raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {name}")
        return tool, params.get("arguments", {})

    def authorise(self, principal: str, arguments: tuple[Tool, Mapping[str, Any]]) -> None:
        """Raises ProtocolError where the server's `authorise` refuses this principal this tool."""
        self.server.check_authorised(principal, "call", arguments[0].name)

    def is_plain(self, arguments: tuple[Tool, Mapping[str, Any]]) -> bool:
        return arguments[0].is_plain

    def begin(
        self, context: Context, arguments: tuple[Tool, Mapping[str, Any]]
    ) -> dict[str, Any] | Coroutine[Any, Any, dict[str, Any]]:
        tool, given = arguments
        return tool.begin(context, given)

    async def run(self, context: Context, arguments: tuple[Tool, Mapping[str, Any]]) -> dict[str, Any]:
        tool, given = arguments
        return await tool.call(context, given)
