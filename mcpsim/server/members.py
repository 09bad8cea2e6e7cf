"""The members of one list of a server: its tools, its resources, its templates or its prompts."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Generic, TypeVar

from mcpsim.errors import INVALID_PARAMS, InvalidCursor, ProtocolError
from mcpsim.utilities.pagination import page_of, read_cursor, write_cursor

Member = TypeVar("Member")


class Members(Generic[Member]):
    """Members by key, always in the order of their keys: the same set gives the same list, however it was
    put together.

    https://modelcontextprotocol.io/specification/2026-07-28/server/tools#capabilities
    """

    __slots__ = ("_by_key", "_keys")

    def __init__(self) -> None:
        self._by_key: dict[str, Member] = {}
        self._keys: list[str] = []

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    @property
    def all(self) -> tuple[Member, ...]:
        """All members, in order."""
        return tuple(self._by_key[key] for key in self._keys)

    def get(self, key: str) -> Member | None:
        """The member of that key, or None."""
        return self._by_key.get(key)

    def add(self, key: str, member: Member) -> None:
        """Enter a member under a key that is free."""
        insort(self._keys, key)
        self._by_key[key] = member

    def remove(self, key: str) -> None:
        """Take a member out.

        Raises:
            KeyError: there is none of that key.
        """
        del self._by_key[key]
        del self._keys[bisect_left(self._keys, key)]

    def page(
        self, method: str, cursor: str | None, size: int | None
    ) -> tuple[tuple[Member, ...], str | None]:
        """The members of one page, and the cursor of the next one or None.

        Args:
            method: which list this is; a cursor of another one is not valid.
            cursor: where the page begins; None: at the start.
            size: how many members a page has at most; None: all.

        Raises:
            ProtocolError: -32602, the cursor is none that a page of this list ended with.
        """
        after = None if cursor is None else _place(method, cursor, size)
        keys, has_more = page_of(self._keys, after, size)
        return tuple(self._by_key[key] for key in keys), write_cursor(method, keys[-1]) if has_more else None


def _place(method: str, cursor: str, size: int | None) -> str:
    try:
        return read_cursor(method, cursor)
    except InvalidCursor:
        why = (
            "this server gave none out."
            if size is None
            else f"this server gave out none like it for {method}; begin again without a cursor."
        )
        raise ProtocolError(INVALID_PARAMS, f"Invalid cursor: {why}") from None
