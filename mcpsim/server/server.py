"""A server: its name, what it offers, and which eras it speaks. It holds nothing about any client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from mcpsim.eras.modern import Route
from mcpsim.eras.revisions import (
    LATEST_MODERN,
    LEGACY_REVISIONS,
    MODERN_REVISIONS,
    ServerEra,
    check_era,
    known_members,
    supported_by,
)
from mcpsim.errors import INVALID_REQUEST, ProtocolError
from mcpsim.messages import Request
from mcpsim.server.asking import StateKeepers
from mcpsim.server.changes import ELICITATION_COMPLETE, Change
from mcpsim.server.operations import operations_of
from mcpsim.server.registering import Registering
from mcpsim.server.resources import check_hints
from mcpsim.server.subscriptions import END_OF_SUBSCRIPTIONS, Listen
from mcpsim.utilities.parameter_headers import ParameterHeader

MIN_STATE_KEY: Final = 16


class Server(Registering):
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
        log_limit_per_s: how many log messages one request may send within a second; more are dropped, and a
            note says so. None: there is no limit.
        progress_interval_ms: progress that comes sooner than this after the one before is not sent, in
            milliseconds; except for the last.
        state_ttl_ms: for how long the state of a request that asked for input is good, in milliseconds.
        single_use_state: whether such a state is good once only. The server then remembers for that long
            which ones were used.
        state_key: the secret that seals the state; None to make one. Servers that stand in for one another
            need the same.
        authorise: called before a handler runs, with the principal, and with the name of the tool or prompt
            or the URI of the resource; returns whether the principal may have it. None: everybody may have
            everything. What the lists show, and who is told of changes, are other matters.

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
        log_limit_per_s: int | None = None,
        progress_interval_ms: int = 0,
        state_ttl_ms: int = 300_000,
        single_use_state: bool = False,
        state_key: bytes | None = None,
        authorise: Callable[[str, str], bool] | None = None,
    ) -> None:
        check_era(era, get_args(ServerEra))
        check_hints(ttl_ms, cache_scope)
        if page_size is not None and page_size < 1:
            raise ValueError(f"page_size must be 1 or more, or None, not {page_size}.")
        if state_ttl_ms <= 0:
            raise ValueError(f"state_ttl_ms must be more than 0 milliseconds, not {state_ttl_ms}.")
        if progress_interval_ms < 0:
            raise ValueError(
                f"progress_interval_ms must be 0 or more milliseconds, not {progress_interval_ms}."
            )
        if log_limit_per_s is not None and log_limit_per_s < 1:
            raise ValueError(f"log_limit_per_s must be 1 or more, or None, not {log_limit_per_s}.")
        if state_key is not None and len(state_key) < MIN_STATE_KEY:
            raise ValueError(f"state_key must have {MIN_STATE_KEY} bytes or more, not {len(state_key)}.")
        of_era = supported_by(era)
        unknown = [one for one in versions or () if one not in of_era]
        if unknown or versions == ():
            raise ValueError(f"versions must be some of {', '.join(of_era)}, not {unknown}.")
        super().__init__(name, list_changed=list_changed, subscribe=subscribe)
        self.version = version
        self.title = title
        self.instructions = instructions
        self.ttl_ms = ttl_ms
        self.cache_scope = cache_scope
        self.page_size = page_size
        self.supported_versions: tuple[str, ...] = (
            of_era if versions is None else tuple(one for one in of_era if one in versions)
        )
        # A dual-era server that is left with the versions of one era is a server of that era.
        self.era: ServerEra = (
            "modern" if not self.legacy_versions else "legacy" if not self.modern_versions else "both"
        )
        self.server_info: Mapping[str, Any] | None = None if anonymous else self.identity
        self.logging = logging
        self.log_limit_per_s = log_limit_per_s
        self.progress_interval_ms = progress_interval_ms
        self.state_ttl_ms = state_ttl_ms
        self.single_use_state = single_use_state
        self.state_keepers = StateKeepers(state_key)
        self._authorise = authorise
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

    def capabilities(self, version: str = LATEST_MODERN) -> dict[str, Any]:
        """What the server declares.

        Args:
            version: the revision in which it is said.
        """
        declared = self.offered_capabilities(version)
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
        return self._operations.get(method) if self.is_offered(method) else None

    def end_subscriptions(self) -> None:
        """End all subscriptions at this server in good order, wherever it is served (modern).

        https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#graceful-closure
        """
        self.changes.publish(END_OF_SUBSCRIPTIONS)

    def elicitation_complete(self, elicitation_id: str) -> None:
        """Tell the client that was asked for a visit to a URL, and nobody else, that the visit is done.

        For whoever learns of it, such as the web page itself. The request that asked may be over since long;
        its session must still be there, and, on HTTP, its standing stream. Only the revision 2025-11-25 has
        such a notification; where there is nobody to tell, this does nothing.

        Args:
            elicitation_id: the name of the visit, as `Context.elicit_url` or `Context.require_url` took it.

        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
        """
        self.changes.publish(Change(ELICITATION_COMPLETE, visit=elicitation_id))

    def check_authorised(self, principal: str, doing: str, name: str) -> None:
        """Check that a principal may have what it asks for.

        Args:
            doing: what it wants to do with it, such as "call".
            name: a tool's or prompt's name, or a URI.

        Raises:
            ProtocolError: -32600. The specification leaves the error of a refused operation to the server
                (on HTTP, authorization has its own page and statuses).
        """
        if self._authorise is not None and not self._authorise(principal, name):
            who = principal or "An unnamed caller"
            raise ProtocolError(INVALID_REQUEST, f"{who} may not {doing} {name}.")
