"""What several rules about messages ask. It holds no rule itself."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any, Final, TypeGuard, cast

from mcpsim.audit.model import Connection, Item
from mcpsim.audit.old_transport import is_old_transport
from mcpsim.audit.once import once
from mcpsim.eras.revisions import Era
from mcpsim.errors import HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION
from mcpsim.messages.meta import SERVER_INFO
from mcpsim.transports.http import JSON_TYPE, SseEvent, SseReader

Members = Mapping[str, Any]
NOTHING: Final[Members] = {}

#: The error codes that only a modern server sends.
MODERN_CODES: Final = frozenset({HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION})


#: What a client says of itself where it registers: one of these is always there.
_REGISTERED: Final = frozenset({"redirect_uris", "grant_types", "token_endpoint_auth_method"})

ACCEPTED: Final = 202

#: How many items back the request of a strange answer is looked for.
LOOK_BACK: Final = 50


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


def is_utf_8(raw: bytes) -> bool:
    """Whether bytes are UTF-8."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _refuse(constant: str) -> Any:
    # NaN and infinities: Python reads and writes them, and JSON has none.
    raise ValueError(constant)


def is_json(raw: bytes) -> bool:
    """Whether bytes are JSON for most readers, if not for ours: a key may stand twice, a text may be long.

    Also true where nobody can tell, as of a text that is nested very deep.
    """
    try:
        json.loads(raw.decode("utf-8-sig"), parse_constant=_refuse)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def is_of_stream(item: Item) -> bool:
    """Whether a server sent it as a server-sent event."""
    exchange = item.exchange
    return (
        item.sender == "server" and exchange is not None and (exchange.is_stream or item.sse_id is not None)
    )


def events_of(raw: bytes) -> list[SseEvent]:
    """The server-sent events in a text; what is not ended yet counts as ended."""
    found = SseReader().feed(raw.rstrip(b"\r\n") + b"\n\n")
    return [one for one in found if isinstance(one, SseEvent)]


def is_registration(item: Item) -> bool:
    """Whether a body of a client is one with which it registers at a server of authorization (RFC 7591)."""
    value = members(item.value)
    return item.kind == "malformed" and not _REGISTERED.isdisjoint(value) and "jsonrpc" not in value


def is_meant_as_message(item: Item) -> bool:
    """Whether what is no message should have been one.

    On HTTP an error has whatever body the server likes, a GET may be for something else, a form or a
    registration is for a server of authorization, and server-sent events of other types are not for us.
    """
    exchange = item.exchange
    if exchange is not None and item.raw is not None and is_of_stream(item):
        return any(one.event == "message" for one in events_of(item.raw))
    if exchange is None or "jsonrpc" in members(item.value) or exchange.is_stream:
        return True
    if item.sender == "client":
        kind = (exchange.headers.get("content-type") or JSON_TYPE).split(";")[0].strip().lower()
        return exchange.http_method == "POST" and kind == JSON_TYPE and not is_registration(item)
    if exchange.status == ACCEPTED or is_old_transport(item.connection):
        # A body beside a 202 is for the rules of HTTP; the first transport has the messages elsewhere.
        return False
    first = exchange.request
    said = exchange.response_headers.get("content-type")
    if said is None and item.raw is not None and not item.raw.lstrip().startswith((b"{", b"[")):
        # Some text, of which nothing says that it is JSON.
        return False
    kind = (said or JSON_TYPE).split(";")[0].strip().lower()
    taken = (exchange.status or 200) < 300 and kind == JSON_TYPE
    return taken and (first is None or first.message is not None)


def is_echo(item: Item) -> bool:
    """Whether the id of what is no message is that of something the other side sent, which is no message for
    the same reason."""
    answer = members(item.value)
    if "id" not in answer:
        return False
    exchange = item.exchange
    if exchange is not None and item.sender == "server":
        before = [] if exchange.request is None else [exchange.request]
    else:
        items = item.connection.items
        end = bisect_left(items, item.index, key=lambda one: one.index)
        before = [one for one in items[max(0, end - LOOK_BACK) : end] if one.sender != item.sender]
    return any(_has_id(members(one.value), answer["id"]) for one in before)


def _has_id(message: Members, id: Any) -> bool:
    return "id" in message and type(message["id"]) is type(id) and message["id"] == id


def shows_modern(item: Item) -> bool:
    """Whether what a server sent shows that it speaks a modern revision."""
    if item.sender != "server":
        return False
    if item.kind == "error":
        return item.code in MODERN_CODES
    return "resultType" in item.result or (
        item.kind == "response" and (SERVER_INFO in item.meta or "ttlMs" in item.result)
    )


@once
def speaks_modern(connection: Connection) -> bool:
    """Whether the server of a connection shows anywhere that it speaks a modern revision.

    A legacy server may answer a modern request, and with whatever code it likes. So what binds only modern
    servers is found with certainty only where this is true. Goes through the whole connection: ask once.
    """
    return any(map(shows_modern, connection.items))
