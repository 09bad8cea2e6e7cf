"""The version header of legacy requests over HTTP.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from mcpsim.audit.model import Connection, Exchange
from mcpsim.audit.rule import LEGACY, MUST, SHOULD, Bound, Found, Level, Rule, each
from mcpsim.audit.rules.http_common import LEGACY_PAGE, answered, is_success
from mcpsim.audit.rules.http_sessions import Opened, is_initialize, legacy_requests
from mcpsim.eras.revisions import LEGACY_REVISIONS, MODERN_REVISIONS, VERSION_HEADER_REVISIONS
from mcpsim.recording.words import show
from mcpsim.transports.http import PROTOCOL_VERSION_HEADER

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _version_missing(connection: Connection) -> Iterator[Found]:
    sessions = Opened(connection)
    for exchange, item in legacy_requests(connection):
        sessions.at(item)
        session = item.session
        if session is None or session not in sessions.sessions:
            continue
        if session.revision in VERSION_HEADER_REVISIONS and PROTOCOL_VERSION_HEADER not in exchange.headers:
            yield Found(
                item,
                f"The request has no {PROTOCOL_VERSION_HEADER} header; after initialize each one has it.",
            )


def _version_differs(connection: Connection) -> Iterator[Found]:
    sessions = Opened(connection)
    for exchange, item in legacy_requests(connection):
        sessions.at(item)
        session = item.session
        said = exchange.headers.get(PROTOCOL_VERSION_HEADER)
        if said is None or session is None or session not in sessions.sessions:
            continue
        if not session.id and said in sessions.revisions:
            # Several clients of a server without session ids, perhaps, which nothing tells apart.
            continue
        if said != session.revision and session.revision in VERSION_HEADER_REVISIONS:
            yield Found(
                item,
                f"{PROTOCOL_VERSION_HEADER} is {show(said)}, and {show(session.revision)} was negotiated.",
            )


def _version_invalid(exchange: Exchange) -> Iterator[Found]:
    item, answer = exchange.request, answered(exchange)
    said = exchange.headers.get(PROTOCOL_VERSION_HEADER)
    if said is None or item is None or answer is None or item.era != "legacy" or is_initialize(item):
        return
    if item.revision not in VERSION_HEADER_REVISIONS or not is_success(exchange.status):
        return
    # What both had agreed on is no mistake of this request, such as the revision of a draft.
    agreed = item.session is not None and item.session.initialize.result.get("protocolVersion") == said
    if not agreed and not _exists(said):
        yield Found(
            answer,
            f"The server took a request with {PROTOCOL_VERSION_HEADER}: {show(said)}, which is no revision "
            "of the protocol; it must answer 400.",
        )


def _exists(version: str) -> bool:
    """Whether there is such a revision, or may be one that is not known here."""
    known = (*LEGACY_REVISIONS, *MODERN_REVISIONS)
    if version in known:
        return True
    return _DATE.fullmatch(version) is not None and version > max(known)


def _rule(
    id: str,
    bound: Bound,
    sentence: str,
    on: Any,
    check: Callable[[Any], Iterator[Found]],
    level: Level = MUST,
) -> Rule:
    page = f"{LEGACY_PAGE}#protocol-version-header"
    return Rule(
        id, level, bound, LEGACY, {"legacy": page}, sentence, on=each(on, needs=("http",)), check=check
    )


HTTP_VERSIONS: Final[tuple[Rule, ...]] = (
    _rule(
        "http-version-header-legacy",
        "client",
        "After initialize every request has the MCP-Protocol-Version header.",
        Connection,
        _version_missing,
    ),
    _rule(
        "http-version-header-is-negotiated",
        "client",
        "The MCP-Protocol-Version header is the version that was negotiated.",
        Connection,
        _version_differs,
        SHOULD,
    ),
    _rule(
        "http-invalid-version-is-400",
        "server",
        "A request with a version header that is no revision is answered with 400.",
        Exchange,
        _version_invalid,
    ),
)
