"""Cursors of a server that keeps nothing: where a page ended is written in the cursor itself.

A cursor names the last key that its page showed. The next page begins behind that key, wherever it stands
then: where the list has changed between two pages, a client sees a gap or a member twice, as it may with
any real server.

https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#interaction-with-pagination
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from mcpsim.errors import InvalidCursor

# Not a secret: it tells a mistake from a cursor. Nothing that a cursor can name is hidden from its owner.
_CHECK_BYTES: Final = 6


def write_cursor(list_name: str, last_key: str) -> str:
    """The cursor behind a key of a list.

    Args:
        list_name: which list it is; a cursor is good for its own list only.
        last_key: the last key that the page showed.
    """
    key = last_key.encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(_check(list_name, key) + key).decode("ascii").rstrip("=")


def read_cursor(list_name: str, cursor: str) -> str:
    """The key behind which the page of a cursor begins.

    Raises:
        InvalidCursor: `write_cursor` never gave this string out for this list. The empty string is one.
    """
    try:
        data = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        key = data[_CHECK_BYTES:].decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError):
        raise InvalidCursor(f"This is no cursor of {list_name}.") from None
    # Written again, because Base64 has several spellings of the same bytes.
    if write_cursor(list_name, key) != cursor:
        raise InvalidCursor(f"This is no cursor of {list_name}.")
    return key


def _check(list_name: str, key: bytes) -> bytes:
    name = list_name.encode("utf-8")
    return hashlib.sha256(len(name).to_bytes(4, "big") + name + key).digest()[:_CHECK_BYTES]


def page_of(keys: Sequence[str], after: str | None, size: int | None) -> tuple[Sequence[str], bool]:
    """The keys of one page, and whether more follow.

    Args:
        keys: all keys of the list, in order.
        after: the key behind which the page begins; it need not be in the list any more. None: at the start.
        size: how many keys a page has at most; None: all.
    """
    start = 0 if after is None else bisect_right(keys, after)
    end = len(keys) if size is None else start + size
    return keys[start:end], end < len(keys)
