"""What a server offers: tools, resources, resource templates and prompts, and the news of them.

It may change while clients are served.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import mcp_types
from pydantic import BaseModel

from mcpsim.eras.revisions import COMPLETIONS_CAPABILITY_REVISIONS, LATEST_MODERN
from mcpsim.errors import RegistrationError
from mcpsim.server.changes import Change, Changes
from mcpsim.server.definitions import check_definition
from mcpsim.server.members import Members
from mcpsim.server.prompts import Prompt
from mcpsim.server.resources import Resource, ResourceTemplate
from mcpsim.server.tools import Tool
from mcpsim.utilities.uri_templates import Values
from mcpsim.utilities.uris import is_uri

Group = Literal["tools", "resources", "prompts"]
What = Literal["tool named", "resource at", "resource template named", "prompt named"]

GROUPS: Final[tuple[Group, ...]] = ("tools", "resources", "prompts")
MAX_TOOL_NAME: Final = 128

_RESOURCE_UPDATED: Final = "notifications/resources/updated"
_MODELS: Final[Mapping[What, type[BaseModel]]] = {
    "tool named": mcp_types.Tool,
    "resource at": mcp_types.Resource,
    "resource template named": mcp_types.ResourceTemplate,
    "prompt named": mcp_types.Prompt,
}


class Offer:
    """What a server offers.

    Attributes:
        name: the server's name, for errors.
        list_changed: whether it declares `listChanged`, and tells of it.
        subscribe: whether it declares `resources.subscribe`, and tells of updates.
        changes: where whoever serves clients listens for what changes.
    """

    def __init__(self, name: str, *, list_changed: bool, subscribe: bool) -> None:
        self.name = name
        self.list_changed = list_changed
        self.subscribe = subscribe
        self.changes = Changes()
        self._tools: Members[Tool] = Members()
        self._resources: Members[Resource] = Members()
        self._templates: Members[ResourceTemplate] = Members()
        self._prompts: Members[Prompt] = Members()
        # What was offered once stays: a list may become empty, but not disappear.
        self._offered: set[Group] = set()
        self._completes = False

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools, ordered by name: the same set always gives the same list, however it was registered.

        https://modelcontextprotocol.io/specification/2026-07-28/server/tools#capabilities
        """
        return self._tools.all

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The resources, ordered by URI."""
        return self._resources.all

    @property
    def resource_templates(self) -> tuple[ResourceTemplate, ...]:
        """The resource templates, ordered by their text."""
        return self._templates.all

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts, ordered by name."""
        return self._prompts.all

    def tool_named(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    def prompt_named(self, name: str) -> Prompt | None:
        """The prompt of that name, or None."""
        return self._prompts.get(name)

    def template_named(self, uri_template: str) -> ResourceTemplate | None:
        """The resource template with exactly that text, or None."""
        return self._templates.get(uri_template)

    def resource_at(self, uri: str) -> tuple[Resource | ResourceTemplate, Values] | None:
        """What a URI leads to, with the variables where it is a template; None where it leads nowhere.

        A resource of its own goes before any template, and of several templates that fit the one that has
        most characters outside of its expressions.
        """
        resource = self._resources.get(uri)
        if resource is not None:
            return resource, {}
        found = [
            (template, values)
            for template in self._templates.all
            if (values := template.match(uri)) is not None
        ]
        return max(found, key=lambda one: one[0].template.literal_length, default=None)

    def is_offered(self, method: str) -> bool:
        """Whether a method belongs to a group that was offered, or to no group."""
        group = method.partition("/")[0]
        if group == "completion":
            return self._completes
        return group not in GROUPS or group in self._offered

    def offered_capabilities(self, version: str) -> dict[str, Any]:
        """What is declared of the members.

        Args:
            version: the revision in which it is said.
        """
        declared: dict[str, Any] = {
            group: {"listChanged": True} if self.list_changed else {}
            for group in GROUPS
            if group in self._offered
        }
        if self.subscribe and "resources" in declared:
            declared["resources"]["subscribe"] = True
        if self._completes and version in COMPLETIONS_CAPABILITY_REVISIONS:
            declared["completions"] = {}
        return declared

    def add_tool(self, tool: Tool) -> None:
        """Register a tool.

        Raises:
            RegistrationError: the name is taken, empty, or longer than 128 characters, or its
                definition is not valid.
        """
        if not 1 <= len(tool.name) <= MAX_TOOL_NAME:
            raise RegistrationError(
                f"A tool's name has 1 to {MAX_TOOL_NAME} characters, not {len(tool.name)}."
            )
        self._add("tools", "tool named", self._tools, tool.name, tool)

    def add_resource(self, resource: Resource) -> None:
        """Register a resource.

        Raises:
            RegistrationError: the URI is taken, or the definition is not valid.
        """
        self._add("resources", "resource at", self._resources, resource.uri, resource)

    def add_resource_template(self, template: ResourceTemplate) -> None:
        """Register a resource template.

        Raises:
            RegistrationError: the template is taken, or the definition is not valid.
        """
        text = template.uri_template
        self._add("resources", "resource template named", self._templates, text, template)
        self._completes |= bool(template.completers)

    def add_prompt(self, prompt: Prompt) -> None:
        """Register a prompt.

        Raises:
            RegistrationError: the name is taken or empty, or the definition is not valid.
        """
        if not prompt.name:
            raise RegistrationError("A prompt's name has one character or more.")
        self._add("prompts", "prompt named", self._prompts, prompt.name, prompt)
        self._completes |= bool(prompt.completers)

    def _add(self, group: Group, what: What, members: Members[Any], key: str, member: Any) -> None:
        if key in members:
            raise RegistrationError(f"{self.name} has a {what} {key!r} already.")
        check_definition(f"The {what} {key!r}", member.definition(LATEST_MODERN), _MODELS[what])
        members.add(key, member)
        # The first member of a group declares it; nobody was told before, so nobody waits for its changes.
        if group in self._offered:
            self._list_changed(group)
        self._offered.add(group)

    def remove_tool(self, name: str) -> None:
        """Take a tool out. A call that is being worked on goes on.

        Raises:
            KeyError: there is no tool of that name.
        """
        self._remove("tools", "tool named", self._tools, name)

    def remove_resource(self, uri: str) -> None:
        """Take a resource out, or a resource template by its text.

        Raises:
            KeyError: there is neither.
        """
        members: Members[Any] = self._templates if uri in self._templates else self._resources
        self._remove("resources", "resource at", members, uri)

    def remove_prompt(self, name: str) -> None:
        """Take a prompt out.

        Raises:
            KeyError: there is no prompt of that name.
        """
        self._remove("prompts", "prompt named", self._prompts, name)

    def _remove(self, group: Group, what: What, members: Members[Any], key: str) -> None:
        if key not in members:
            raise KeyError(f"{self.name} has no {what} {key!r}.")
        members.remove(key)
        self._list_changed(group)

    def _list_changed(self, group: Group) -> None:
        if self.list_changed:
            self.changes.publish(Change(f"notifications/{group}/list_changed"))

    def resource_updated(self, uri: str) -> None:
        """Tell everybody who subscribed to a resource that it has changed. Without `subscribe=True`, which
        declares that the server does so, nothing is told.

        Raises:
            ValueError: it is no URI.

        https://modelcontextprotocol.io/specification/2026-07-28/server/resources#subscriptions
        """
        if not is_uri(uri):
            raise ValueError(f"{uri!r} is no URI by RFC 3986.")
        if self.subscribe:
            self.changes.publish(Change(_RESOURCE_UPDATED, uri))
