"""`server/discover`: versions, capabilities, instructions.

https://modelcontextprotocol.io/specification/2026-07-28/server/discover
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpsim.server.context import Context
from mcpsim.server.operations.checking import check_params

if TYPE_CHECKING:
    from mcpsim.server.server import Server


@dataclass(frozen=True, slots=True)
class Discover:
    """`server/discover`."""

    server: Server

    def check(self, params: dict[str, Any], version: str) -> None:
        check_params("server/discover", params, version)

    def authorise(self, principal: str, arguments: Any) -> None:
        """Everybody may ask what a server is."""

    async def run(self, context: Context, arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = {
            "supportedVersions": list(self.server.supported_versions),
            "capabilities": self.server.capabilities(context.version),
        }
        if self.server.instructions:
            result["instructions"] = self.server.instructions
        return {**result, **self.server.cache_hints()}
