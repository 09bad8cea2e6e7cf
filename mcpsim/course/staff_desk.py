"""A help desk that shows the tools of the staff to the staff alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mcpsim.eras.modern import Route
from mcpsim.server import Server

STAFF: Final = frozenset({"ada"})
OF_STAFF: Final = frozenset({"close_ticket"})


def staff_desk(**settings: Any) -> Server:
    """A desk with a tool for everybody, `open_ticket`, and one for the staff, `close_ticket`.

    Only `ada` is staff. Her list has both tools, all others have one, and a call of the other is refused.
    A list may depend on who asks; it is to say so then, by a `cacheScope` of `private`.

    https://modelcontextprotocol.io/specification/2026-07-28/server/tools#capabilities

    Args:
        settings: as for `Server`, such as `cache_scope="public"`, which is wrong here.
    """
    settings.setdefault("ttl_ms", 60_000)
    settings.setdefault("cache_scope", "private")
    desk = _StaffDesk("staff-desk", authorise=may_use, **settings)

    @desk.tool()
    def open_ticket(text: str) -> str:
        """Open a ticket."""
        return f"Opened: {text}"

    @desk.tool()
    def close_ticket(number: str) -> str:
        """Close a ticket."""
        return f"Closed {number}"

    return desk


def may_use(principal: str, name: str) -> bool:
    """Whether somebody may use a tool, and sees it in the list."""
    return name not in OF_STAFF or principal in STAFF


class _StaffDesk(Server):
    """A server whose list of tools depends on who asks."""

    def route(self, method: str) -> Route | None:
        found = super().route(method)
        return _OwnTools(found) if found is not None and method == "tools/list" else found


@dataclass(frozen=True, slots=True)
class _OwnTools:
    """`tools/list`, with the tools that the caller may use."""

    plain: Route

    def check(self, params: dict[str, Any], version: str) -> Any:
        return self.plain.check(params, version)

    def authorise(self, principal: str, arguments: Any) -> None:
        self.plain.authorise(principal, arguments)

    async def run(self, context: Any, arguments: Any) -> dict[str, Any]:
        result = await self.plain.run(context, arguments)
        own = [tool for tool in result["tools"] if may_use(context.principal, tool["name"])]
        return {**result, "tools": own}
