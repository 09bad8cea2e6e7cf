"""Walking through the pages of a list.

https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from mcpsim.errors import INVALID_PARAMS, ProtocolError, RepeatedCursor, TooManyPages
from mcpsim.messages import write_json

MAX_PAGES: Final = 1000

PageT = TypeVar("PageT")

# What a page says of itself, and not of the list. It may differ although the page is the same.
_BESIDE_THE_LIST = frozenset({"_meta", "ttlMs", "cacheScope", "resultType"})


async def walk(
    method: str,
    fetch: Callable[[str | None], Awaitable[PageT]],
    content: Callable[[PageT], Mapping[str, Any]],
    max_pages: int,
) -> AsyncGenerator[PageT]:
    """Give out the pages of a list, from the first one to the one without `nextCursor`.

    A cursor is opaque: the only thing that it says is that there is another page. So a cursor that came
    before is not the end, and no fault by itself. It is followed; and where it brings the page that it
    brought before, the list goes in circles.

    Args:
        fetch: brings the page at a cursor; None for the first page.
        content: a page as plain JSON values.
        max_pages: how many pages there may be.

    Raises:
        RepeatedCursor: the same cursor brought the same page once more.
        TooManyPages: there is a page after the last one that may be read.
        ProtocolError: as `fetch`; where a cursor of this walk is refused, the error has a note about it.
    """
    seen: dict[str, bytes] = {}
    cursor: str | None = None
    for number in range(1, max_pages + 1):
        try:
            page = await fetch(cursor)
        except ProtocolError as error:
            if error.code == INVALID_PARAMS and cursor is not None:
                error.add_note(
                    f"The cursor that came with page {number - 1} of {method} is not valid any more. "
                    "Begin again at the first page."
                )
            raise
        members = content(page)
        if cursor is not None:
            shown = _digest(members)
            if seen.get(cursor) == shown:
                raise RepeatedCursor(
                    f"{method} goes in circles: page {number} came with the cursor {cursor!r}, which came "
                    "before and brought the very same page. A list has to end with a page without nextCursor."
                )
            seen[cursor] = shown
        yield page
        following = members.get("nextCursor")
        if following is None:
            return
        cursor = following
    raise TooManyPages(f"{method} has more than {max_pages} pages; that is the limit of this walk.")


def _digest(members: Mapping[str, Any]) -> bytes:
    listed = {key: value for key, value in members.items() if key not in _BESIDE_THE_LIST}
    return hashlib.sha256(write_json(listed)).digest()
