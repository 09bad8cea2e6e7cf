"""What the rules of HTTP have in common: what a trace shows of an exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from mcpsim.audit.model import Connection, Exchange, Item
from mcpsim.audit.old_transport import is_old_transport
from mcpsim.audit.once import once
from mcpsim.audit.rule import ALL, MODERN, MUST, Bound, Found, Level, Rule, each
from mcpsim.audit.rules.envelopes import is_registration
from mcpsim.eras.revisions import STREAMABLE_HTTP_REVISIONS, VERSION_HEADER_REVISIONS, Era
from mcpsim.errors import HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION
from mcpsim.transports.http import (
    EVENT_STREAM_TYPE,
    LAST_EVENT_ID_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_ID_HEADER,
)

#: Legacy revisions with Streamable HTTP, and all that have it. The very first one has another transport.
STREAMABLE: Final = STREAMABLE_HTTP_REVISIONS
HTTP_REVISIONS: Final = STREAMABLE_HTTP_REVISIONS | MODERN

MODERN_PAGE: Final = "basic/transports/streamable-http"
LEGACY_PAGE: Final = "basic/transports"
SENDING: Final[Mapping[Era, str]] = {
    "modern": f"{MODERN_PAGE}#sending-messages",
    "legacy": f"{LEGACY_PAGE}#sending-messages-to-the-server",
}

MODERN_CODES: Final = frozenset({HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION})
MESSAGES: Final = frozenset({"request", "notification", "response", "error"})
BODIES: Final = MESSAGES | {"batch", "malformed", "unreadable"}
_READABLE: Final = BODIES - {"unreadable"}
_OWN_HEADERS: Final = (PROTOCOL_VERSION_HEADER, SESSION_ID_HEADER, LAST_EVENT_ID_HEADER)


def shows_head(item: Item | None) -> bool:
    """Whether the trace shows the headers that came with it, so that one which is not there is missing."""
    return item is not None and "headers" in item.row


def answered(exchange: Exchange) -> Item | None:
    """The first thing that came back, or None."""
    return exchange.answers[0] if exchange.answers else None


def is_success(status: int | None) -> bool:
    """Whether a status says that all is well."""
    return status is not None and 200 <= status <= 299


def media_type(value: str | None) -> str:
    """The media type of a `Content-Type`, without its parameters, in lower case; "" where there is none."""
    return (value or "").split(";")[0].strip().lower()


def posted(item: Item) -> Exchange | None:
    """The exchange of a message that a client sent by itself, by POST."""
    exchange = item.exchange
    if exchange is None or item.sender != "client" or item.batch is not None:
        return None
    return exchange if exchange.http_method == "POST" else None


@once
def speaks_modern(connection: Connection) -> bool:
    """Whether its server has shown that it knows the modern protocol: by a result, or an error that only
    that protocol has."""
    return any(
        "resultType" in item.result or item.code in MODERN_CODES
        for item in connection.items
        if item.sender == "server" and item.kind in ("response", "error")
    )


def is_mcp(exchange: Exchange) -> bool:
    """Whether a request is surely for the MCP endpoint, and not to another page of that server, such as
    one of its authorization."""
    if is_old_transport(exchange.connection):
        return False
    if exchange.http_method == "POST":
        first = exchange.request
        return first is not None and first.kind in _READABLE and not is_registration(first)
    headers = exchange.headers
    return any(name in headers for name in _OWN_HEADERS) or EVENT_STREAM_TYPE in (headers.get("Accept") or "")


def is_resumption(exchange: Exchange) -> bool | None:
    """Whether a GET resumes a stream; None where the trace does not show its headers."""
    if not shows_head(exchange.request):
        return None
    return LAST_EVENT_ID_HEADER in exchange.headers


def has_odd_head(item: Item) -> bool:
    """Whether a server may refuse a legacy message by the head of its HTTP request alone: it lacks the id or
    the revision of its session, or names another one."""
    exchange, session = item.exchange, item.session
    if exchange is None or session is None or item.sender != "client" or item is session.initialize.request:
        return False
    said = exchange.headers.get(PROTOCOL_VERSION_HEADER)
    needs_version = session.revision in VERSION_HEADER_REVISIONS
    odd_version = needs_version if said is None else said != session.revision
    return odd_version or (bool(session.id) and exchange.headers.get(SESSION_ID_HEADER) != session.id)


def first_of(exchange: Exchange) -> Item | None:
    """What the client sent to the MCP endpoint, where its revision has Streamable HTTP."""
    item = exchange.request
    return item if item is not None and item.revision in HTTP_REVISIONS and is_mcp(exchange) else None


def about_sending(
    id: str,
    bound: Bound,
    sentence: str,
    check: Callable[[Exchange], Iterator[Found]],
    level: Level = MUST,
) -> Rule:
    """A rule of the section about what a client sends, and how that is answered."""
    return Rule(id, level, bound, ALL, SENDING, sentence, on=each(Exchange), check=check)
