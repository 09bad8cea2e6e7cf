"""What a server does for each method, in both eras: check the parameters, then run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcpsim.eras.modern import Route
from mcpsim.server.members import Members
from mcpsim.server.operations.calling import CallTool
from mcpsim.server.operations.checking import check_params as check_params
from mcpsim.server.operations.completing import Complete
from mcpsim.server.operations.discover import Discover
from mcpsim.server.operations.listing import ListMembers
from mcpsim.server.operations.prompting import GetPrompt
from mcpsim.server.operations.reading import ReadResource

if TYPE_CHECKING:
    from mcpsim.server.server import Server


def operations_of(
    server: Server,
    tools: Members[Any],
    resources: Members[Any],
    templates: Members[Any],
    prompts: Members[Any],
) -> Mapping[str, Route]:
    """What answers each method."""
    return {
        "server/discover": Discover(server),
        "tools/list": ListMembers(server, "tools/list", "tools", tools),
        "tools/call": CallTool(server),
        "resources/list": ListMembers(server, "resources/list", "resources", resources),
        "resources/templates/list": ListMembers(
            server, "resources/templates/list", "resourceTemplates", templates
        ),
        "resources/read": ReadResource(server),
        "prompts/list": ListMembers(server, "prompts/list", "prompts", prompts),
        "prompts/get": GetPrompt(server),
        "completion/complete": Complete(server),
    }
