"""The four lists: `tools/list`, `resources/list`, `resources/templates/list`, `prompts/list`.

https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mcpsim.server.context import Context
from mcpsim.server.members import Members
from mcpsim.server.operations.checking import check_params

if TYPE_CHECKING:
    from mcpsim.server.server import Server


class Definable(Protocol):
    """A member of a list."""

    def definition(self, version: str) -> dict[str, Any]:
        """The member as the list shows it in a revision."""
        ...


@dataclass(frozen=True, slots=True)
class ListMembers:
    """A page of a list, always in the same order.

    Attributes:
        method: the method of the list.
        key: the member of the result that holds the page.
        members: what is listed.
    """

    server: Server
    method: str
    key: str
    members: Members[Any]

    def check(self, params: dict[str, Any], version: str) -> tuple[tuple[Definable, ...], str | None]:
        check_params(self.method, params, version)
        return self.members.page(self.method, params.get("cursor"), self.server.page_size)

    def authorise(self, principal: str, arguments: Any) -> None:
        """Everybody sees the same list."""

    async def run(
        self, context: Context, arguments: tuple[tuple[Definable, ...], str | None]
    ) -> dict[str, Any]:
        page, next_cursor = arguments
        result: dict[str, Any] = {self.key: [member.definition(context.version) for member in page]}
        if next_cursor is not None:
            result["nextCursor"] = next_cursor
        # The same on every page: the scope must not differ between the pages of a list.
        return {**result, **self.server.cache_hints()}
