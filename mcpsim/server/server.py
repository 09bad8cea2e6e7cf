"""A server: its name, what it offers, and which eras it speaks. It holds nothing about any client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar

import mcp_types
from pydantic import BaseModel

from mcpsim.eras.modern import Route
from mcpsim.eras.revisions import (
    COMPLETIONS_CAPABILITY_REVISIONS,
    LATEST_MODERN,
    LEGACY_REVISIONS,
    MODERN_REVISIONS,
    ServerEra,
    known_members,
    supported_by,
)
from mcpsim.errors import INVALID_REQUEST, ProtocolError, RegistrationError
from mcpsim.messages import Request
from mcpsim.server.asking import StateKeepers
from mcpsim.server.changes import Change, Changes
from mcpsim.server.completion import Completer
from mcpsim.server.definitions import check_definition
from mcpsim.server.members import Members
from mcpsim.server.operations import operations_of
from mcpsim.server.prompts import Prompt, prompt_from_function
from mcpsim.server.resources import (
    Hints,
    Resource,
    ResourceTemplate,
    resource_from_function,
    template_from_function,
)
from mcpsim.server.subscriptions import Listen
from mcpsim.server.tools import Tool, tool_from_function
from mcpsim.utilities.parameter_headers import ParameterHeader
from mcpsim.utilities.uri_templates import Values

Handler = TypeVar("Handler", bound=Callable[..., Any])
Group = Literal["tools", "resources", "prompts"]

GROUPS: Final[tuple[Group, ...]] = ("tools", "resources", "prompts")

CACHE_SCOPES: Final = ("public", "private")
MAX_TOOL_NAME: Final = 128

_RESOURCE_UPDATED: Final = "notifications/resources/updated"

What = Literal["tool named", "resource at", "resource template named", "prompt named"]
_MODELS: Final[Mapping[What, type[BaseModel]]] = {
    "tool named": mcp_types.Tool,
    "resource at": mcp_types.Resource,
    "resource template named": mcp_types.ResourceTemplate,
    "prompt named": mcp_types.Prompt,
}
MIN_STATE_KEY: Final = 16


class Server:
    """An MCP server.

    Args:
        name: the server's name, as it tells it to clients.
        version: the version of the server's software.
        title: the server's name for people, or "".
        era: "both" (a dual-era server), "modern" or "legacy".
        versions: the protocol versions that it speaks; None for all of its era. With versions of one era
            only, "both" means that era.
        instructions: a hint for models on how to use the server, or "".
        ttl_ms: for how long clients may take its lists for fresh, in milliseconds. 0: not at all.
        cache_scope: "private" (a cached list is for the same caller only) or "public" (for everybody).
        page_size: how many members a page of each list has at most; None: all of them.
        list_changed: whether to declare `listChanged`, and to tell when tools, resources or prompts are
            added or removed while clients are served.
        subscribe: whether to declare `resources.subscribe`, and to tell of `resource_updated`.
        anonymous: whether to leave the server's identity out of results. The specification asks servers to
            include it unless they are told not to.
        logging: whether handlers may send log messages (deprecated in 2026-07-28).
        progress_interval_ms: progress that comes sooner than this after the one before is not sent, in
            milliseconds; except for the last.
        state_ttl_ms: for how long the state of a request that asked for input is good, in milliseconds.
        single_use_state: whether such a state is good once only. The server then remembers for that long
            which ones were used.
        state_key: the secret that seals the state; None to make one. Servers that stand in for one another
            need the same.
        authorise: called with the principal and a tool's name before the tool runs; returns whether the
            principal may call it. None: everybody may.

    Raises:
        ValueError: an argument is out of its range; the text says which and what would be right.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str = "1.0.0",
        title: str = "",
        era: ServerEra = "both",
        versions: tuple[str, ...] | None = None,
        instructions: str = "",
        ttl_ms: int = 0,
        cache_scope: str = "private",
        page_size: int | None = None,
        list_changed: bool = False,
        subscribe: bool = False,
        anonymous: bool = False,
        logging: bool = False,
        progress_interval_ms: int = 0,
        state_ttl_ms: int = 300_000,
        single_use_state: bool = False,
        state_key: bytes | None = None,
        authorise: Callable[[str, str], bool] | None = None,
    ) -> None:
        _check_hints(ttl_ms, cache_scope)
        if page_size is not None and page_size < 1:
            raise ValueError(f"page_size must be 1 or more, or None, not {page_size}.")
        if state_ttl_ms <= 0:
            raise ValueError(f"state_ttl_ms must be more than 0 milliseconds, not {state_ttl_ms}.")
        if progress_interval_ms < 0:
            raise ValueError(
                f"progress_interval_ms must be 0 or more milliseconds, not {progress_interval_ms}."
            )
        if state_key is not None and len(state_key) < MIN_STATE_KEY:
            raise ValueError(f"state_key must have {MIN_STATE_KEY} bytes or more, not {len(state_key)}.")
        of_era = supported_by(era)
        unknown = [one for one in versions or () if one not in of_era]
        if unknown or versions == ():
            raise ValueError(f"versions must be some of {', '.join(of_era)}, not {unknown}.")
        self.name = name
        self.version = version
        self.title = title
        self.instructions = instructions
        self.ttl_ms = ttl_ms
        self.cache_scope = cache_scope
        self.page_size = page_size
        self.list_changed = list_changed
        self.subscribe = subscribe
        self.changes = Changes()
        self.supported_versions: tuple[str, ...] = (
            of_era if versions is None else tuple(one for one in of_era if one in versions)
        )
        # A dual-era server that is left with the versions of one era is a server of that era.
        self.era: ServerEra = (
            "modern" if not self.legacy_versions else "legacy" if not self.modern_versions else "both"
        )
        self.server_info: Mapping[str, Any] | None = None if anonymous else self.identity
        self.logging = logging
        self.progress_interval_ms = progress_interval_ms
        self.state_ttl_ms = state_ttl_ms
        self.single_use_state = single_use_state
        self.state_keepers = StateKeepers(state_key)
        self._authorise = authorise
        self._tools: Members[Tool] = Members()
        self._resources: Members[Resource] = Members()
        self._templates: Members[ResourceTemplate] = Members()
        self._prompts: Members[Prompt] = Members()
        # What was offered once stays: a list may become empty, but not disappear.
        self._offered: set[Group] = set()
        self._completes = False
        self._operations: Mapping[str, Route] = {
            **operations_of(self, self._tools, self._resources, self._templates, self._prompts),
            "subscriptions/listen": Listen(self),
        }

    def __repr__(self) -> str:
        counts = {
            "tools": len(self._tools),
            "resources": len(self._resources),
            "resource templates": len(self._templates),
            "prompts": len(self._prompts),
        }
        shown = ", ".join(f"{count} {what}" for what, count in counts.items() if count or what == "tools")
        return f"<Server {self.name!r} {self.version}: {shown}, era {self.era}>"

    @property
    def identity(self) -> dict[str, Any]:
        """The server's name, title and version, as they go on the wire."""
        return self.identity_in(LATEST_MODERN)

    def identity_in(self, version: str) -> dict[str, Any]:
        """The server's identity, as a revision knows it."""
        titled = {"title": self.title} if self.title else {}
        identity = {"name": self.name, **titled, "version": self.version}
        return known_members("implementation", identity, version)

    @property
    def legacy_versions(self) -> tuple[str, ...]:
        """The legacy revisions that the server speaks, the newest first."""
        return tuple(one for one in self.supported_versions if one in LEGACY_REVISIONS)

    @property
    def modern_versions(self) -> tuple[str, ...]:
        """The modern revisions that the server speaks, the newest first."""
        return tuple(one for one in self.supported_versions if one in MODERN_REVISIONS)

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

    def tool(
        self,
        name: str | None = None,
        *,
        description: str | None = None,
        title: str = "",
        input_schema: Mapping[str, Any] | None = None,
        requires: Mapping[str, Any] | None = None,
        annotations: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | Literal[True] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Register a function as a tool. A parameter named `context` gets the Context.

        Args:
            name: the tool's name; the function's by default.
            description: for the model; the function's docstring by default.
            title: for people.
            input_schema: a JSON Schema with `"type": "object"` at its root; by default it comes from the
                function's type hints.
            requires: the client capabilities without which a call is refused (modern: -32021), as a
                capabilities object such as `{"elicitation": {}}`.
            annotations: hints about the tool's behaviour, as they go on the wire.
            output_schema: a JSON Schema for the structured result, which every result is then checked
                against; True makes it from the hint of what the function returns. With one, the result of
                the function is always structured content; a CallToolResult may say what the text is.
            icons: as they go on the wire.
            meta: the `_meta` of the definition.

        Raises:
            RegistrationError: the name is taken or not usable, or a schema is not valid, or its
                `x-mcp-header` annotations break a rule.
        """

        def register(handler: Handler) -> Handler:
            tool = tool_from_function(
                handler,
                name=name,
                description=description,
                input_schema=input_schema,
                title=title,
                requires=dict(requires or {}),
                annotations=dict(annotations or {}),
                output_schema=output_schema,
                icons=tuple(icons or ()),
                meta=dict(meta or {}),
            )
            self.add_tool(tool)
            return handler

        return register

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str = "",
        description: str | None = None,
        mime_type: str = "",
        size: int | None = None,
        annotations: Mapping[str, Any] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        meta: Mapping[str, Any] | None = None,
        ttl_ms: int | None = None,
        cache_scope: str | None = None,
    ) -> Callable[[Handler], Handler]:
        """Register a function as a resource. A parameter named `context` gets the Context.

        The function returns text (str), a blob (bytes), or contents as dictionaries, one or several. It may
        raise ResourceNotFound.
        https://modelcontextprotocol.io/specification/2026-07-28/server/resources

        Args:
            uri: the resource's address.
            name: its name; the function's by default.
            title: for people.
            description: for the model; the function's docstring by default.
            mime_type: the type of what is read, or "".
            size: in bytes before any encoding; None where it is not known.
            annotations: who it is for, how important it is, when it was changed last; as they go on the wire.
            icons: as they go on the wire.
            meta: the `_meta` of the definition.
            ttl_ms: for how long clients may take what they read for fresh, in milliseconds; None: as the
                server says for its lists.
            cache_scope: "private" or "public"; None: as the server says for its lists.

        Raises:
            RegistrationError: the URI is taken or none, or the function cannot be called without arguments.
            ValueError: a hint for caches is out of its range.
        """
        hints = _hints(ttl_ms, cache_scope)

        def register(handler: Handler) -> Handler:
            resource = resource_from_function(
                handler,
                uri,
                name=name,
                description=description,
                hints=hints,
                title=title,
                mime_type=mime_type,
                size=size,
                annotations=dict(annotations or {}),
                icons=tuple(icons or ()),
                meta=dict(meta or {}),
            )
            self.add_resource(resource)
            return handler

        return register

    def resource_template(
        self,
        uri_template: str,
        *,
        name: str | None = None,
        title: str = "",
        description: str | None = None,
        mime_type: str = "",
        annotations: Mapping[str, Any] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        meta: Mapping[str, Any] | None = None,
        ttl_ms: int | None = None,
        cache_scope: str | None = None,
        complete: Mapping[str, Completer] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Register a function as a resource template. It gets the variables by keyword, as decoded strings;
        they come from whoever sent the URI, and may hold `/` and `..`.

        https://modelcontextprotocol.io/specification/2026-07-28/server/resources#resource-templates

        Args:
            uri_template: the URIs, as RFC 6570 has it.
            complete: suggestions for variables, by name: each a function of what was typed and of the
                variables that stand already, which returns a list of strings.
            name, title, description, mime_type, annotations, icons, meta, ttl_ms, cache_scope: as for
                `resource`.

        Raises:
            RegistrationError: the template is taken or none, or does not fit the function's parameters.
            ValueError: a hint for caches is out of its range.
        """
        hints = _hints(ttl_ms, cache_scope)

        def register(handler: Handler) -> Handler:
            template = template_from_function(
                handler,
                uri_template,
                name=name,
                description=description,
                hints=hints,
                complete=complete,
                title=title,
                mime_type=mime_type,
                annotations=dict(annotations or {}),
                icons=tuple(icons or ()),
                meta=dict(meta or {}),
            )
            self.add_resource_template(template)
            return handler

        return register

    def prompt(
        self,
        name: str | None = None,
        *,
        title: str = "",
        description: str | None = None,
        complete: Mapping[str, Completer] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Register a function as a prompt. Its parameters are the prompt's arguments, which are strings; one
        without a default is required. A parameter named `context` gets the Context.

        The function returns text (a message of the user), messages as dictionaries with `role` and
        `content`, or PromptMessages, one or several.
        https://modelcontextprotocol.io/specification/2026-07-28/server/prompts

        Args:
            name: the prompt's name; the function's by default.
            title: for people.
            description: the function's docstring by default.
            complete: suggestions for arguments, by name: each a function of what was typed and of the
                arguments that stand already, which returns a list of strings.
            icons: as they go on the wire.
            meta: the `_meta` of the definition.

        Raises:
            RegistrationError: the name is taken or not usable, or a parameter cannot be an argument.
        """

        def register(handler: Handler) -> Handler:
            prompt = prompt_from_function(
                handler,
                name=name,
                description=description,
                complete=complete,
                title=title,
                icons=tuple(icons or ()),
                meta=dict(meta or {}),
            )
            self.add_prompt(prompt)
            return handler

        return register

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
        self._tools.remove(name)
        self._list_changed("tools")

    def remove_resource(self, uri: str) -> None:
        """Take a resource out, or a resource template by its text.

        Raises:
            KeyError: there is neither.
        """
        (self._resources if uri in self._resources else self._templates).remove(uri)
        self._list_changed("resources")

    def remove_prompt(self, name: str) -> None:
        """Take a prompt out.

        Raises:
            KeyError: there is no prompt of that name.
        """
        self._prompts.remove(name)
        self._list_changed("prompts")

    def _list_changed(self, group: Group) -> None:
        if self.list_changed:
            self.changes.publish(Change(f"notifications/{group}/list_changed"))

    def resource_updated(self, uri: str) -> None:
        """Tell everybody who subscribed to a resource that it has changed. Without `subscribe=True`, which
        declares that the server does so, nothing is told.

        https://modelcontextprotocol.io/specification/2026-07-28/server/resources#subscriptions
        """
        if self.subscribe:
            self.changes.publish(Change(_RESOURCE_UPDATED, uri))

    def capabilities(self, version: str = LATEST_MODERN) -> dict[str, Any]:
        """What the server declares.

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
        if self.logging:
            declared["logging"] = {}
        return declared

    def cache_hints(self, ttl_ms: int | None = None, cache_scope: str | None = None) -> dict[str, Any]:
        """`ttlMs` and `cacheScope` as they go on the wire; the server's own for what is None."""
        return {
            "ttlMs": self.ttl_ms if ttl_ms is None else ttl_ms,
            "cacheScope": self.cache_scope if cache_scope is None else cache_scope,
        }

    def required_capabilities(self, request: Request) -> Mapping[str, Any]:
        """The client capabilities that this request needs, as a capabilities object."""
        if request.method != "tools/call" or request.params is None:
            return {}
        name = request.params.get("name")
        tool = self._tools.get(name) if isinstance(name, str) else None
        return tool.requires if tool is not None else {}

    def parameter_headers(self, request: Request) -> tuple[ParameterHeader, ...]:
        """The arguments of this request that HTTP headers have to repeat."""
        if request.method != "tools/call" or request.params is None:
            return ()
        name = request.params.get("name")
        tool = self._tools.get(name) if isinstance(name, str) else None
        return tool.headers if tool is not None else ()

    def route(self, method: str) -> Route | None:
        """What answers a method, or None. Methods of a group that was never offered are not there."""
        group = method.partition("/")[0]
        if group in GROUPS and group not in self._offered:
            return None
        if method == "completion/complete" and not self._completes:
            return None
        return self._operations.get(method)

    def authorise_call(self, principal: str, tool: str) -> None:
        """Check that a principal may call a tool.

        Raises:
            ProtocolError: -32600. The specification leaves the error of a refused operation to the server
                (on HTTP, authorization has its own page and statuses).
        """
        if self._authorise is not None and not self._authorise(principal, tool):
            raise ProtocolError(INVALID_REQUEST, f"{principal or 'An unnamed caller'} may not call {tool}.")


def _hints(ttl_ms: int | None, cache_scope: str | None) -> Hints:
    _check_hints(0 if ttl_ms is None else ttl_ms, "private" if cache_scope is None else cache_scope)
    return Hints(ttl_ms, cache_scope)


def _check_hints(ttl_ms: int, cache_scope: str) -> None:
    if ttl_ms < 0:
        raise ValueError(f"ttl_ms must be 0 or more milliseconds, not {ttl_ms}.")
    if cache_scope not in CACHE_SCOPES:
        raise ValueError(f"cache_scope must be one of {', '.join(CACHE_SCOPES)}, not {cache_scope!r}.")
