"""What a server does for each method, in both eras: check the parameters, then run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp_types.methods import validate_client_request
from pydantic import ValidationError

from mcpsim.errors import INVALID_PARAMS, ProtocolError
from mcpsim.messages import PROGRESS_TOKEN, is_progress_token, meta_of
from mcpsim.server.context import Context
from mcpsim.server.tools import Tool

if TYPE_CHECKING:
    from mcpsim.server.server import Server


def check_params(method: str, params: dict[str, Any], version: str) -> None:
    """Check the parameters of a request against the schema of its revision.

    Raises:
        ProtocolError: -32602, naming the first fault.
    """
    # Two things that the official models let pass and the schema does not: null for a member that may be
    # left out, and a progress token that is no string or integer.
    for name in _NEVER_NULL:
        if name in params and params[name] is None:
            raise ProtocolError(INVALID_PARAMS, f"{method}: params.{name} is null; leave it out instead.")
    meta = meta_of(params)
    if PROGRESS_TOKEN in meta and not is_progress_token(meta[PROGRESS_TOKEN]):
        raise ProtocolError(INVALID_PARAMS, f"{method}: the progress token must be a string or an integer.")
    try:
        validate_client_request(method, version, params)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"])) or "params"
        raise ProtocolError(INVALID_PARAMS, f"{method}: {where}: {fault['msg']}") from None


_NEVER_NULL: Final = ("_meta", "arguments", "cursor")


@dataclass(frozen=True, slots=True)
class Discover:
    """`server/discover`: versions, capabilities, instructions.

    https://modelcontextprotocol.io/specification/2026-07-28/server/discover
    """

    server: Server

    def check(self, params: dict[str, Any], version: str) -> None:
        check_params("server/discover", params, version)

    def authorise(self, principal: str, arguments: Any) -> None:
        """Everybody may ask what a server is."""

    async def run(self, context: Context, arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = {
            "supportedVersions": list(self.server.supported_versions),
            "capabilities": self.server.capabilities(),
        }
        if self.server.instructions:
            result["instructions"] = self.server.instructions
        return {**result, **self.server.cache_hints()}


@dataclass(frozen=True, slots=True)
class ListTools:
    """`tools/list`: always in the same order.

    https://modelcontextprotocol.io/specification/2026-07-28/server/tools#listing-tools
    """

    server: Server

    def check(self, params: dict[str, Any], version: str) -> None:
        check_params("tools/list", params, version)
        if "cursor" in params:
            raise ProtocolError(INVALID_PARAMS, "Invalid cursor: this server gave none out.")

    def authorise(self, principal: str, arguments: Any) -> None:
        """Everybody sees the same list."""

    async def run(self, context: Context, arguments: Any) -> dict[str, Any]:
        tools = [tool.definition() for tool in self.server.tools]
        return {"tools": tools, **self.server.cache_hints()}


@dataclass(frozen=True, slots=True)
class CallTool:
    """`tools/call`.

    https://modelcontextprotocol.io/specification/2026-07-28/server/tools#calling-tools
    """

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
        self.server.authorise_call(principal, arguments[0].name)

    async def run(self, context: Context, arguments: tuple[Tool, Mapping[str, Any]]) -> dict[str, Any]:
        tool, given = arguments
        return await tool.call(context, given)


Operation = Discover | ListTools | CallTool
