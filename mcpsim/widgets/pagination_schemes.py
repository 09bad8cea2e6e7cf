"""A server whose cursors can hide different things: the same list, the same messages, other gaps.

What is in a cursor is its server's business. A client never looks inside, and never makes one up.

https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#interaction-with-pagination
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, get_args

from mcpsim.eras.modern import Route
from mcpsim.errors import INVALID_PARAMS, InvalidCursor, ProtocolError
from mcpsim.server.members import Members
from mcpsim.server.operations.listing import ListMembers
from mcpsim.server.resources import Resource
from mcpsim.server.server import Server
from mcpsim.utilities.pagination import page_of, read_cursor, write_cursor

Scheme = Literal["keyset", "offset", "snapshot"]

LIST: Final = "resources/list"
SCHEMES: Final[tuple[Scheme, ...]] = get_args(Scheme)
_SCHEME_OF_URIS: Final = "item://"


def uri_of(key: int) -> str:
    """The URI of an item; in the order of URIs, items are in the order of their keys."""
    return f"{_SCHEME_OF_URIS}{key:06}"


def key_of(uri: str) -> int:
    """The key of an item, by its URI."""
    return int(uri.removeprefix(_SCHEME_OF_URIS))


class ListingServer(Server):
    """A server that lists items, and hides one of three things in a cursor.

    Args:
        scheme: "keyset", the last key that a page showed; "offset", how many items came before; or
            "snapshot", which copy of the list the server keeps for this client, and how far it is in it.
        page_size: how many items a page has at most.
    """

    def __init__(self, scheme: Scheme, page_size: int, **settings: Any) -> None:
        super().__init__("shelf", page_size=page_size, **settings)
        self.pages = _Pages(self, scheme)
        self._list = ListMembers(self, LIST, "resources", self.pages)

    def route(self, method: str) -> Route | None:
        found = super().route(method)
        return self._list if method == LIST and found is not None else found

    def put(self, key: int, name: str) -> None:
        """Add an item."""
        self.resource(uri_of(key), name=name)(lambda: name)

    @property
    def keys(self) -> tuple[int, ...]:
        """The items, in order."""
        return tuple(key_of(one.uri) for one in self.resources)


class _Pages(Members[Resource]):
    """The resources of a server, given out in pages by a scheme."""

    __slots__ = ("_copies", "_scheme", "_server")

    def __init__(self, server: ListingServer, scheme: Scheme) -> None:
        super().__init__()
        self._server = server
        self._scheme: Scheme = scheme
        # Only "snapshot" keeps anything, and it keeps it for ever: a real server would have to forget some
        # day.
        self._copies: list[tuple[Resource, ...]] = []

    def page(
        self, method: str, cursor: str | None, size: int | None
    ) -> tuple[tuple[Resource, ...], str | None]:
        try:
            inside = None if cursor is None else read_cursor(method, cursor)
        except InvalidCursor:
            raise ProtocolError(
                INVALID_PARAMS, "Invalid cursor: this server gave none like it out."
            ) from None
        if self._scheme == "keyset":
            return self._behind_a_key(method, inside, size)
        if self._scheme == "offset":
            return self._from(method, self._server.resources, 0 if inside is None else int(inside), size, "")
        return self._from_a_copy(method, inside, size)

    def _behind_a_key(
        self, method: str, after: str | None, size: int | None
    ) -> tuple[tuple[Resource, ...], str | None]:
        by_uri = {one.uri: one for one in self._server.resources}
        uris, more = page_of(tuple(by_uri), after, size)
        return tuple(by_uri[uri] for uri in uris), write_cursor(method, uris[-1]) if more else None

    def _from_a_copy(
        self, method: str, inside: str | None, size: int | None
    ) -> tuple[tuple[Resource, ...], str | None]:
        if inside is None:
            self._copies.append(self._server.resources)
            return self._from(method, self._copies[-1], 0, size, f"{len(self._copies)}:")
        copy, start = map(int, inside.split(":"))
        return self._from(method, self._copies[copy - 1], start, size, f"{copy}:")

    def _from(
        self, method: str, members: Sequence[Resource], start: int, size: int | None, copy: str
    ) -> tuple[tuple[Resource, ...], str | None]:
        end = len(members) if size is None else start + size
        more = end < len(members)
        return tuple(members[start:end]), write_cursor(method, f"{copy}{end}") if more else None

    def ahead(self, cursor: str | None) -> tuple[int, ...]:
        """The items that a client would get from here to the end, if nothing changed any more."""
        found: list[int] = []
        while cursor is not None:
            page, cursor = self.page(LIST, cursor, self._server.page_size)
            found += [key_of(one.uri) for one in page]
        return tuple(found)

    def inside(self, cursor: str) -> str:
        """What is hidden in a cursor: a key, a count, or a copy and a count."""
        return read_cursor(LIST, cursor)
