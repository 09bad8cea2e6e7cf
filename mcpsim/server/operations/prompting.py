"""`prompts/get`.

https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#getting-a-prompt
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpsim.errors import INVALID_PARAMS, ProtocolError
from mcpsim.server.context import Context
from mcpsim.server.operations.checking import check_params
from mcpsim.server.prompts import Prompt

if TYPE_CHECKING:
    from mcpsim.server.server import Server


@dataclass(frozen=True, slots=True)
class GetPrompt:
    """`prompts/get`."""

    server: Server

    def check(self, params: dict[str, Any], version: str) -> tuple[Prompt, Mapping[str, str]]:
        check_params("prompts/get", params, version)
        name = params["name"]
        prompt = self.server.prompt_named(name)
        if prompt is None:
            raise ProtocolError(INVALID_PARAMS, f"Unknown prompt: {name}")
        arguments = params.get("arguments", {})
        prompt.check(arguments)
        return prompt, arguments

    def authorise(self, principal: str, arguments: tuple[Prompt, Mapping[str, str]]) -> None:
        """Raises ProtocolError where the server's `authorise` refuses this principal this prompt."""
        self.server.check_authorised(principal, "get the prompt", arguments[0].name)

    async def run(self, context: Context, arguments: tuple[Prompt, Mapping[str, str]]) -> dict[str, Any]:
        prompt, given = arguments
        return await prompt.get(context, given)
