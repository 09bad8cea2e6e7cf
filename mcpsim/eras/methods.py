"""One table: every core method of the protocol, and what each revision says about it.

Built from the schemas of the revisions. The experimental tasks of 2025-11-25 are left out: they are an
extension now.
https://modelcontextprotocol.io/specification/2026-07-28/schema
https://modelcontextprotocol.io/specification/2025-11-25/schema
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from mcpsim.eras.revisions import LEGACY_REVISIONS, MODERN_REVISIONS

Direction = Literal["to_server", "to_client", "both"]
Kind = Literal["request", "notification", "input request"]

L: Final = frozenset(LEGACY_REVISIONS)
M: Final = frozenset(MODERN_REVISIONS)
FIRST: Final = frozenset({"2024-11-05"})
ELICITING: Final = frozenset({"2025-06-18", "2025-11-25"})
URL_ELICITING: Final = frozenset({"2025-11-25"})


@dataclass(frozen=True, slots=True)
class Method:
    """One row.

    Attributes:
        name: the method as it stands on the wire.
        kind: request, notification, or (modern) an input request: embedded in a result, never sent by itself.
        direction: who may send it.
        group: the part of the protocol that it belongs to.
        revisions: the revisions in which it exists in this form.
        capability: the capability that gates it, as a path into the capabilities object, or "".
        declared_by: who has to declare that capability, or "".
        paginated: whether it takes `cursor` and returns `nextCursor`.
        cacheable: whether a complete result carries `ttlMs` and `cacheScope` (modern only).
        may_ask: whether the answer may be `input_required` (modern only).
    """

    name: str
    kind: Kind
    direction: Direction
    group: str
    revisions: frozenset[str]
    capability: str = ""
    declared_by: Literal["client", "server", ""] = ""
    paginated: bool = False
    cacheable: bool = False
    may_ask: bool = False


def _client_request(
    name: str, group: str, revisions: frozenset[str], capability: str = "", **more: Any
) -> Method:
    return Method(
        name, "request", "to_server", group, revisions, capability, "server" if capability else "", **more
    )


METHODS: Final[tuple[Method, ...]] = (
    _client_request("initialize", "lifecycle", L),
    Method("notifications/initialized", "notification", "to_server", "lifecycle", L),
    Method("ping", "request", "both", "lifecycle", L),
    _client_request("server/discover", "lifecycle", M, cacheable=True),
    _client_request("tools/list", "tools", L | M, "tools", paginated=True, cacheable=True),
    _client_request("tools/call", "tools", L | M, "tools", may_ask=True),
    Method(
        "notifications/tools/list_changed",
        "notification",
        "to_client",
        "tools",
        L | M,
        "tools.listChanged",
        "server",
    ),
    _client_request("resources/list", "resources", L | M, "resources", paginated=True, cacheable=True),
    _client_request(
        "resources/templates/list", "resources", L | M, "resources", paginated=True, cacheable=True
    ),
    _client_request("resources/read", "resources", L | M, "resources", cacheable=True, may_ask=True),
    _client_request("resources/subscribe", "resources", L, "resources.subscribe"),
    _client_request("resources/unsubscribe", "resources", L, "resources.subscribe"),
    Method(
        "notifications/resources/list_changed",
        "notification",
        "to_client",
        "resources",
        L | M,
        "resources.listChanged",
        "server",
    ),
    Method(
        "notifications/resources/updated",
        "notification",
        "to_client",
        "resources",
        L | M,
        "resources.subscribe",
        "server",
    ),
    _client_request("prompts/list", "prompts", L | M, "prompts", paginated=True, cacheable=True),
    _client_request("prompts/get", "prompts", L | M, "prompts", may_ask=True),
    Method(
        "notifications/prompts/list_changed",
        "notification",
        "to_client",
        "prompts",
        L | M,
        "prompts.listChanged",
        "server",
    ),
    # The method is older than its capability, which came with 2025-03-26.
    _client_request("completion/complete", "completion", FIRST),
    _client_request("completion/complete", "completion", (L | M) - FIRST, "completions"),
    _client_request("logging/setLevel", "logging", L, "logging"),
    Method("notifications/message", "notification", "to_client", "logging", L | M, "logging", "server"),
    Method("notifications/progress", "notification", "both", "progress", L),
    Method("notifications/progress", "notification", "to_client", "progress", M),
    Method("notifications/cancelled", "notification", "both", "cancellation", L | M),
    _client_request("subscriptions/listen", "subscriptions", M),
    Method("notifications/subscriptions/acknowledged", "notification", "to_client", "subscriptions", M),
    Method("sampling/createMessage", "request", "to_client", "sampling", L, "sampling", "client"),
    Method("sampling/createMessage", "input request", "to_client", "sampling", M, "sampling", "client"),
    Method("roots/list", "request", "to_client", "roots", L, "roots", "client"),
    Method("roots/list", "input request", "to_client", "roots", M, "roots", "client"),
    Method(
        "notifications/roots/list_changed",
        "notification",
        "to_server",
        "roots",
        L,
        "roots.listChanged",
        "client",
    ),
    Method("elicitation/create", "request", "to_client", "elicitation", ELICITING, "elicitation", "client"),
    Method("elicitation/create", "input request", "to_client", "elicitation", M, "elicitation", "client"),
    Method(
        "notifications/elicitation/complete",
        "notification",
        "to_client",
        "elicitation",
        URL_ELICITING,
        "elicitation.url",
        "client",
    ),
)

BY_NAME_AND_REVISION: Final[Mapping[tuple[str, str], Method]] = {
    (row.name, revision): row for row in METHODS for revision in sorted(row.revisions)
}


def method(name: str, revision: str) -> Method | None:
    """The row of a method in a revision, or None where the revision does not have it."""
    return BY_NAME_AND_REVISION.get((name, revision))
