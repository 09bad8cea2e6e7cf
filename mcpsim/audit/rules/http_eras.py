"""What earlier revisions had on HTTP and the modern one has not: GET, DELETE, sessions, resumption."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcpsim.audit.model import Connection, Exchange, Item
from mcpsim.audit.rule import MODERN, NOTE, SHOULD, Found, Level, Rule, each
from mcpsim.audit.rules.http_common import (
    MODERN_PAGE,
    answered,
    first_of,
    is_mcp,
    shows_head,
    speaks_modern,
)
from mcpsim.audit.rules.negotiation import listed_by
from mcpsim.eras.revisions import LEGACY_REVISIONS
from mcpsim.recording.words import show
from mcpsim.transports.http import LAST_EVENT_ID_HEADER, SESSION_ID_HEADER

_EARLIER: Final = f"{MODERN_PAGE}#earlier-streamable-http-revisions"
#: What a server may answer before it looks at what is asked.
_FIRST_ANSWERS: Final = frozenset({401, 403, 405, 429})


def _only_modern(connection: Connection) -> bool:
    """Whether its server has named its revisions, and none of them is a legacy one."""
    listed: set[str] = set()
    for item in connection.items:
        if item.sender == "server" and item.kind in ("response", "error"):
            listed.update(listed_by(item))
    shaken = any(session.initialize.answer is not None for session in connection.sessions)
    return bool(listed) and not listed & set(LEGACY_REVISIONS) and not shaken


def _get_or_delete(connection: Connection) -> Iterator[Found]:
    others = [one for one in connection.exchanges if one.http_method in ("GET", "DELETE") and is_mcp(one)]
    if not others or not _only_modern(connection):
        return
    for exchange in others:
        answer, status = answered(exchange), exchange.status
        if answer is None or status is None or status in _FIRST_ANSWERS or status >= 500:
            continue
        yield Found(
            answer,
            f"The server answered {exchange.http_method} with {status}; one that has modern revisions only "
            "should answer 405.",
        )


def _mints(connection: Connection) -> Iterator[Found]:
    minted = [
        (answer, exchange)
        for exchange in connection.exchanges
        if exchange.era == "modern"
        and SESSION_ID_HEADER in exchange.response_headers
        and (answer := answered(exchange)) is not None
    ]
    if not minted:
        return
    # A server of both eras may give an id before it looks which of them a request is of.
    level: Level = SHOULD if _only_modern(connection) else NOTE
    for answer, exchange in minted:
        yield Found(
            answer,
            f"The response to a modern request has {SESSION_ID_HEADER}: "
            f"{show(exchange.response_headers.get(SESSION_ID_HEADER))}; this revision has no sessions.",
            level=level,
        )


def _headers_of_old(exchange: Exchange) -> Iterator[Found]:
    item = first_of(exchange)
    if item is None or item.era != "modern" or exchange.http_method != "POST" or not shows_head(item):
        return
    for name in (SESSION_ID_HEADER, LAST_EVENT_ID_HEADER):
        if name in exchange.headers:
            yield Found(
                item,
                f"This modern request has the header {name}, which belongs to earlier revisions; the server "
                "will ignore it.",
            )


def _methods_of_old(connection: Connection) -> Iterator[Found]:
    others = [
        item
        for one in connection.exchanges
        if one.http_method in ("GET", "DELETE") and (item := _modern_request(one)) is not None
    ]
    if not others or connection.sessions or not speaks_modern(connection):
        return
    for item in others:
        method = "" if item.exchange is None else item.exchange.http_method
        yield Found(
            item,
            f"The client sends {method} to a modern server; this revision has POST only.",
            hint="Open a subscriptions/listen request for changes; there is no session to end.",
        )


def _modern_request(exchange: Exchange) -> Item | None:
    return exchange.request if exchange.era == "modern" and is_mcp(exchange) else None


HTTP_ERAS: Final[tuple[Rule, ...]] = (
    Rule(
        "http-modern-server-has-post-only",
        SHOULD,
        "server",
        MODERN,
        {"modern": _EARLIER},
        "A server that has modern revisions only answers GET and DELETE with 405.",
        on=each(Connection, needs=("http",)),
        check=_get_or_delete,
    ),
    Rule(
        "http-modern-server-gives-no-session-id",
        SHOULD,
        "server",
        MODERN,
        {"modern": _EARLIER},
        "A server that has modern revisions only gives out no session ids.",
        on=each(Connection, needs=("http",)),
        check=_mints,
    ),
    Rule(
        "http-modern-client-has-post-only",
        NOTE,
        "client",
        MODERN,
        {"modern": _EARLIER},
        "A modern client sends POST only.",
        on=each(Connection, needs=("http",)),
        check=_methods_of_old,
    ),
    Rule(
        "http-modern-request-has-no-session",
        NOTE,
        "client",
        MODERN,
        {"modern": _EARLIER},
        "A modern request has no session id and resumes nothing.",
        on=each(Exchange),
        check=_headers_of_old,
    ),
)
