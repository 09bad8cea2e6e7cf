"""A server: its name, its tools, and which eras it speaks. It holds nothing about any client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from mcpsim.eras.modern import Route
from mcpsim.eras.revisions import LEGACY_REVISIONS, MODERN_REVISIONS, ServerEra, supported_by
from mcpsim.errors import INVALID_REQUEST, FramingError, ProtocolError, RegistrationError
from mcpsim.messages import Request, write_json
from mcpsim.server.operations import CallTool, Discover, ListTools, Operation
from mcpsim.server.tools import Tool, tool_from_function

Handler = TypeVar("Handler", bound=Callable[..., Any])

CACHE_SCOPES: Final = ("public", "private")
MAX_TOOL_NAME: Final = 128


class Server:
    """An MCP server.

    Args:
        name: the server's name, as it tells it to clients.
        version: the version of the server's software.
        era: "both" (a dual-era server), "modern" or "legacy".
        versions: the protocol versions that it speaks; None for all of its era. With versions of one era
            only, "both" means that era.
        instructions: a hint for models on how to use the server, or "".
        ttl_ms: for how long clients may take its lists for fresh, in milliseconds. 0: not at all.
        cache_scope: "private" (a cached list is for the same caller only) or "public" (for everybody).
        anonymous: whether to leave the server's identity out of results. The specification asks servers to
            include it unless they are told not to.
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
        era: ServerEra = "both",
        versions: tuple[str, ...] | None = None,
        instructions: str = "",
        ttl_ms: int = 0,
        cache_scope: str = "private",
        anonymous: bool = False,
        authorise: Callable[[str, str], bool] | None = None,
    ) -> None:
        if ttl_ms < 0:
            raise ValueError(f"ttl_ms must be 0 or more milliseconds, not {ttl_ms}.")
        if cache_scope not in CACHE_SCOPES:
            raise ValueError(f"cache_scope must be one of {', '.join(CACHE_SCOPES)}, not {cache_scope!r}.")
        of_era = supported_by(era)
        unknown = [one for one in versions or () if one not in of_era]
        if unknown or versions == ():
            raise ValueError(f"versions must be some of {', '.join(of_era)}, not {unknown}.")
        self.name = name
        self.version = version
        self.instructions = instructions
        self.ttl_ms = ttl_ms
        self.cache_scope = cache_scope
        self.supported_versions: tuple[str, ...] = (
            of_era if versions is None else tuple(one for one in of_era if one in versions)
        )
        # A dual-era server that is left with the versions of one era is a server of that era.
        self.era: ServerEra = (
            "modern" if not self.legacy_versions else "legacy" if not self.modern_versions else "both"
        )
        self.server_info: Mapping[str, Any] | None = None if anonymous else self.identity
        self._authorise = authorise
        self._tools: dict[str, Tool] = {}
        self._operations: Mapping[str, Operation] = {
            "server/discover": Discover(self),
            "tools/list": ListTools(self),
            "tools/call": CallTool(self),
        }

    def __repr__(self) -> str:
        return f"<Server {self.name!r} {self.version}: {len(self._tools)} tools, era {self.era}>"

    @property
    def identity(self) -> dict[str, Any]:
        """The server's name and version, as they go on the wire."""
        return {"name": self.name, "version": self.version}

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
        return tuple(self._tools[name] for name in sorted(self._tools))

    def tool_named(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    def tool(
        self,
        name: str | None = None,
        *,
        description: str | None = None,
        title: str = "",
        input_schema: Mapping[str, Any] | None = None,
        requires: Mapping[str, Any] | None = None,
        annotations: Mapping[str, Any] | None = None,
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

        Raises:
            RegistrationError: the name is taken or not usable, or the schema is not valid.
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
            )
            self.add_tool(tool)
            return handler

        return register

    def add_tool(self, tool: Tool) -> None:
        """Register a tool.

        Raises:
            RegistrationError: the name is taken, empty, or longer than 128 characters, or JSON cannot carry
                the tool's definition.
        """
        if tool.name in self._tools:
            raise RegistrationError(f"{self.name} has a tool named {tool.name!r} already.")
        if not 1 <= len(tool.name) <= MAX_TOOL_NAME:
            raise RegistrationError(
                f"A tool's name has 1 to {MAX_TOOL_NAME} characters, not {len(tool.name)}."
            )
        try:
            write_json(tool.definition())
        except FramingError as error:
            raise RegistrationError(f"Tool {tool.name!r}: its definition cannot be sent. {error}") from None
        self._tools[tool.name] = tool

    def capabilities(self) -> dict[str, Any]:
        """What the server declares."""
        return {"tools": {}} if self._tools else {}

    def cache_hints(self) -> dict[str, Any]:
        """`ttlMs` and `cacheScope` of the server's lists."""
        return {"ttlMs": self.ttl_ms, "cacheScope": self.cache_scope}

    def required_capabilities(self, request: Request) -> Mapping[str, Any]:
        """The client capabilities that this request needs, as a capabilities object."""
        if request.method != "tools/call" or request.params is None:
            return {}
        name = request.params.get("name")
        tool = self._tools.get(name) if isinstance(name, str) else None
        return tool.requires if tool is not None else {}

    def route(self, method: str) -> Route | None:
        """What answers a method, or None. Methods of a group without members are not there."""
        if method.startswith("tools/") and not self._tools:
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
