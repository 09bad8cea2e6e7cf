"""What several rules about messages ask. It holds no rule itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeGuard, cast

from mcpsim.audit.model import Connection, Item
from mcpsim.eras.revisions import Era
from mcpsim.errors import HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION

Members = Mapping[str, Any]
NOTHING: Final[Members] = {}

#: The error codes that only a modern server sends.
MODERN_CODES: Final = frozenset({HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION})


def on_both(page: str) -> dict[Era, str]:
    """A page and anchor that both eras have."""
    return {"modern": page, "legacy": page}


def is_object(value: Any) -> TypeGuard[Members]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def members(value: Any) -> Members:
    """A JSON value as an object; {} where it is none."""
    return cast("Members", value) if isinstance(value, dict) else NOTHING


def is_whole_float(value: Any) -> bool:
    """Whether a value is a whole number that is written with a fraction, such as 1.0."""
    return isinstance(value, float) and value.is_integer()


def shows_modern(item: Item) -> bool:
    """Whether what a server sent shows that it speaks a modern revision."""
    if item.sender != "server":
        return False
    return "resultType" in item.result or item.code in MODERN_CODES


def speaks_modern(connection: Connection) -> bool:
    """Whether the server of a connection shows anywhere that it speaks a modern revision.

    A legacy server may answer a modern request, and with whatever code it likes. So what binds only modern
    servers is found with certainty only where this is true. Goes through the whole connection: ask once.
    """
    return any(map(shows_modern, connection.items))
