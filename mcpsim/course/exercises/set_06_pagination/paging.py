"""A server whose lists are cut into pages by a function: for lists that do what a real one may do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from mcpsim.eras.modern import Route
from mcpsim.errors import INVALID_PARAMS, InvalidCursor, ProtocolError
from mcpsim.server import Server
from mcpsim.server.members import Members
from mcpsim.server.operations.listing import ListMembers
from mcpsim.server.resources import Resource

LIST: Final = "resources/list"
REPORTS: Final = "report://"

Turn: TypeAlias = Callable[[str | None], tuple[Sequence[str], str | None]]
"""Gives the names of the page at a cursor, and the next cursor. Raises InvalidCursor."""


class PagedServer(Server):
    """A server of reports, whose list comes in the pages that a function gives.

    Args:
        turn: gives the pages.
        names: all reports that a page may show.
    """

    def __init__(self, turn: Turn, names: Sequence[str], **settings: Any) -> None:
        # A page size of its own would be one more opinion: the function alone decides.
        super().__init__("archive", **settings)
        for name in names:
            self.resource(uri_of(name), name=name, mime_type="text/plain")(_text)
        self._list = ListMembers(self, LIST, "resources", _Pages(self, turn))

    def route(self, method: str) -> Route | None:
        found = super().route(method)
        return self._list if method == LIST and found is not None else found


class _Pages(Members[Resource]):
    """The resources of a server, as a function gives them out."""

    __slots__ = ("_server", "_turn")

    def __init__(self, server: Server, turn: Turn) -> None:
        super().__init__()
        self._server = server
        self._turn = turn

    def page(
        self, method: str, cursor: str | None, size: int | None
    ) -> tuple[tuple[Resource, ...], str | None]:
        try:
            names, following = self._turn(cursor)
        except InvalidCursor:
            raise ProtocolError(INVALID_PARAMS, "Invalid cursor.") from None
        by_uri = {one.uri: one for one in self._server.resources}
        return tuple(by_uri[uri_of(name)] for name in names), following


def uri_of(name: str) -> str:
    """The URI of a report."""
    return f"{REPORTS}{name}"


def _text() -> str:
    return "A report."
