"""`completion/complete`.

https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mcpsim.eras.revisions import COMPLETION_CONTEXT_REVISIONS
from mcpsim.errors import INVALID_PARAMS, ProtocolError
from mcpsim.server.completion import Completer, completion_result
from mcpsim.server.context import Context
from mcpsim.server.operations.checking import check_params
from mcpsim.server.resources import Resource

if TYPE_CHECKING:
    from mcpsim.server.server import Server


class Wanted(NamedTuple):
    """What is to be completed, and how.

    Attributes:
        completer: None where the argument has no suggestions.
        context_arguments: the arguments that stand already; empty in revisions that cannot tell.
    """

    completer: Completer | None
    value: str
    context_arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Complete:
    """`completion/complete`."""

    server: Server

    def check(self, params: dict[str, Any], version: str) -> Wanted:
        check_params("completion/complete", params, version)
        argument = params["argument"]
        names, completers, whose = self._referred(params["ref"])
        name = argument["name"]
        if name not in names:
            raise ProtocolError(INVALID_PARAMS, f"{whose} has no argument named {name}.")
        context: dict[str, Any] = params.get("context", {}) if version in COMPLETION_CONTEXT_REVISIONS else {}
        return Wanted(completers.get(name), argument["value"], context.get("arguments", {}))

    def _referred(self, ref: Mapping[str, Any]) -> tuple[tuple[str, ...], Mapping[str, Completer], str]:
        """The arguments of what a reference names, their completers, and what to call it."""
        if ref["type"] == "ref/prompt":
            prompt = self.server.prompt_named(ref["name"])
            if prompt is None:
                raise ProtocolError(INVALID_PARAMS, f"Unknown prompt: {ref['name']}")
            names = tuple(argument.name for argument in prompt.arguments)
            return names, prompt.completers, f"Prompt {prompt.name}"
        uri = ref["uri"]
        template = self.server.template_named(uri)
        if template is None:
            found = self.server.resource_at(uri)
            if found is None:
                raise ProtocolError(INVALID_PARAMS, f"Unknown resource or template: {uri}")
            if isinstance(found[0], Resource):
                return (), {}, f"Resource {uri}"
            template = found[0]
        names = tuple(variable.name for variable in template.template.variables)
        return names, template.completers, f"Resource template {template.uri_template}"

    def authorise(self, principal: str, arguments: Any) -> None:
        """Everybody gets the same suggestions."""

    async def run(self, context: Context, arguments: Wanted) -> dict[str, Any]:
        return await completion_result(*arguments)
