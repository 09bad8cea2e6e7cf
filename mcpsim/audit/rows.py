"""The members of a row that say where it belongs, checked."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from mcpsim.audit.model import Side
from mcpsim.recording.importing import MAX_TIME_MS


class BadRow(ValueError):
    """A row is not of the interchange form; the text says why."""


def names_of(row: Mapping[str, Any]) -> tuple[Side, bool, str, str, str, str]:
    """Whose side a row is from, whether it is HTTP, the connection's name, the hop, and who is on each side
    of it.

    Raises:
        BadRow: one of them is not what it must be.
    """
    side: Any = row.get("from")
    if side != "client" and side != "server":
        raise BadRow('`from` must be "client" or "server".')
    transport = row.get("transport", "stdio")
    if transport not in ("stdio", "http"):
        raise BadRow('`transport` must be "stdio" or "http".')
    connection = row.get("connection", "")
    if isinstance(connection, bool) or not isinstance(connection, str | int):
        raise BadRow("`connection` must be a name or a number.")
    hop = row.get("hop", "")
    client, server = "client", "server"
    if hop != "":
        client, _, server = hop.partition("-") if isinstance(hop, str) else ("", "", "")
        if not client or not server or client == server:
            raise BadRow('`hop` must be like "client-gateway".')
    return side, transport == "http", text_of(connection), hop, client, server


def text_of(name: str | float) -> str:
    """A name or a number as text.

    Raises:
        BadRow: the number has more digits than Python writes.
    """
    try:
        return str(name)
    except ValueError:
        raise BadRow("A number in it has more digits than can be written.") from None


def time_of(row: Mapping[str, Any]) -> float | None:
    """The time of a row in milliseconds, or None.

    Raises:
        BadRow: it is no time.
    """
    at_ms = row.get("t_ms")
    if at_ms is None:
        return None
    if isinstance(at_ms, bool) or not isinstance(at_ms, int | float) or not 0 <= at_ms <= MAX_TIME_MS:
        raise BadRow("`t_ms` must be milliseconds from 0.")
    return at_ms


def body_of(row: Mapping[str, Any]) -> bytes | None:
    """The bytes of a row with `raw` or `raw_b64`; None without.

    Raises:
        BadRow: there is no text where one must be, or no Base64.
    """
    for key in ("raw", "raw_b64"):
        if key not in row:
            continue
        value = row[key]
        if not isinstance(value, str):
            raise BadRow(f"`{key}` must be a string.")
        if key == "raw":
            return value.encode("utf-8", "surrogatepass")
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError) as error:
            raise BadRow(f"`raw_b64` is not Base64: {error}.") from None
    return None
