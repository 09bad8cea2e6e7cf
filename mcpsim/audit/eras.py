"""Which era and revision each message belongs to.

A request with modern metadata says it itself; `initialize` begins a session, and what belongs to the session
has its revision. An answer has the revision of its request. What says nothing is told by what there is only
in one era (a method, a header, `resultType` in its answer), and last by what else the connection speaks.
"""

from __future__ import annotations

from typing import Final

from mcpsim.audit.model import Call, Connection, Item, Session, Trace
from mcpsim.eras.methods import METHODS
from mcpsim.eras.revisions import (
    LATEST_LEGACY,
    LATEST_MODERN,
    LEGACY_REVISIONS,
    MODERN_REVISIONS,
    Era,
    era_of,
)
from mcpsim.errors import HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION
from mcpsim.messages.meta import PROTOCOL_VERSION, SUBSCRIPTION_ID

VERSION_HEADER: Final = "mcp-protocol-version"
RESULT_TYPE: Final = "resultType"

_IN_LEGACY: Final = frozenset(row.name for row in METHODS if row.revisions & frozenset(LEGACY_REVISIONS))
_IN_MODERN: Final = frozenset(row.name for row in METHODS if row.revisions & frozenset(MODERN_REVISIONS))
_ONLY_MODERN: Final = _IN_MODERN - _IN_LEGACY
_ONLY_LEGACY: Final = _IN_LEGACY - _IN_MODERN
_MODERN_CODES: Final = frozenset({HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION})
#: What is about a request that came before it.
_FOLLOWING: Final = frozenset(
    {"notifications/progress", "notifications/cancelled", "notifications/elicitation/complete"}
)

Told = tuple[Era, str]


def tell_eras(trace: Trace, assumed: str = LATEST_LEGACY) -> None:
    """Fill in `era`, `revision` and `phase` of each item.

    Args:
        trace: what was read.
        assumed: the revision of what is legacy, and where nothing shows of which revision.
    """
    for connection in trace.connections:
        _tell(connection, assumed)


def session_revision(session: Session) -> str:
    """The revision of a legacy session, for the rules: what was agreed, or else what was proposed, or else
    the newest one, where that is none that a handshake can agree on."""
    if session.revision in LEGACY_REVISIONS:
        return session.revision
    proposed = session.initialize.request.params.get("protocolVersion")
    return proposed if proposed in LEGACY_REVISIONS else LATEST_LEGACY


def _tell(connection: Connection, assumed: str) -> None:
    spoken = _by_default(connection)
    if spoken is None:
        connection.is_guessed = True
        spoken = "legacy", assumed
    seen: set[Session] = set()
    connection.began_late = _began_late(connection)
    for item in connection.items:
        told = _told(item, spoken)
        if told is not None:
            item.era, item.revision = told
        session = item.session
        if item.era != "legacy":
            continue
        if session is None:
            item.phase = "before"
            continue
        if session.initialized is item:
            seen.add(session)
        known = session in seen and session.initialized is not item
        item.phase = "operation" if known else "initializing"


def _by_default(connection: Connection) -> Told | None:
    """What a message is that nothing tells anything about: what the connection speaks where it speaks one era
    only. None where there is nothing to go by: then it is legacy, for a modern request has its metadata."""
    modern = legacy = False
    declared: set[str] = set()
    for item in connection.items:
        if item.kind == "request":
            modern = modern or PROTOCOL_VERSION in item.meta or item.method in _ONLY_MODERN
            version = item.meta.get(PROTOCOL_VERSION)
            if isinstance(version, str):
                declared.add(version)
            legacy = legacy or item.method in _ONLY_LEGACY
        elif item.kind == "response":
            modern = modern or RESULT_TYPE in item.result
        if legacy:
            break
    if modern and not legacy:
        # A revision that is not known here, where no other is spoken, is that of all the rest as well.
        unknown = declared.isdisjoint(MODERN_REVISIONS) and len(declared) == 1
        return "modern", declared.pop() if unknown else LATEST_MODERN
    if connection.sessions:
        return "legacy", session_revision(connection.sessions[0])
    return None


def _told(item: Item, spoken: Told) -> Told | None:
    if item.kind in ("request", "notification"):
        return _of_sent(item, spoken)
    if item.kind in ("response", "error"):
        return _of_answer(item, spoken)
    if item.kind == "stderr":
        return None
    return _of_rest(item, spoken)


def _of_sent(item: Item, spoken: Told) -> Told:
    if PROTOCOL_VERSION in item.meta and item.sender == "client":
        version = item.meta[PROTOCOL_VERSION]
        return "modern", version if isinstance(version, str) else LATEST_MODERN
    session = item.session
    if item.method == "initialize" and session is not None:
        return "legacy", session_revision(session)
    call = item.call
    if call is not None and call.request is not item and call.request.revision:
        return _as(call)
    if SUBSCRIPTION_ID in item.meta or item.method in _ONLY_MODERN:
        return spoken if spoken[0] == "modern" else ("modern", LATEST_MODERN)
    told = _by_header(item)
    if told is not None and (session is None or told[0] == "modern"):
        return told
    if session is not None:
        return "legacy", session_revision(session)
    exchange = item.exchange
    if exchange is not None and exchange.request is not None and exchange.request is not item:
        first = exchange.request
        if first.era is not None:
            return first.era, first.revision
    if call is not None and call.request is item and call.answer is not None:
        answer = call.answer
        if RESULT_TYPE in answer.result or answer.code in _MODERN_CODES:
            return "modern", LATEST_MODERN
        if answer.kind == "response" and spoken[0] == "legacy":
            return "legacy", spoken[1]
    return spoken


def _as(call: Call) -> Told:
    return call.era or "legacy", call.revision


def _by_header(item: Item) -> Told | None:
    exchange = item.exchange
    version = None if exchange is None else exchange.headers.get(VERSION_HEADER)
    if version is None:
        return None
    era = era_of(version)
    return None if era is None else (era, version)


def _of_answer(item: Item, spoken: Told) -> Told:
    call = item.call
    if call is None:
        told = _by_header(item)
        if told is not None:
            return told
        if RESULT_TYPE in item.result or item.code in _MODERN_CODES:
            return "modern", LATEST_MODERN
        if item.session is not None:
            return "legacy", session_revision(item.session)
        return spoken
    era, revision = _as(call)
    if era == "modern" and item.code == UNSUPPORTED_VERSION and revision not in MODERN_REVISIONS:
        # It refuses a revision in the words of the one that it knows.
        return era, LATEST_MODERN
    return era, revision


def _of_rest(item: Item, spoken: Told) -> Told:
    exchange = item.exchange
    if exchange is not None:
        first = exchange.request
        if first is not None and first is not item and first.era is not None:
            return first.era, first.revision
        told = _by_header(item)
        if told is not None:
            return told
    if item.session is not None:
        return "legacy", session_revision(item.session)
    if item.call is not None and item.call.revision:
        return _as(item.call)
    return spoken


def _began_late(connection: Connection) -> bool:
    """Whether the first message shows that others came before it."""
    for item in connection.items:
        if item.kind in ("response", "error"):
            return item.call is None and item.id is not None
        if item.kind == "notification" and (item.method in _FOLLOWING or SUBSCRIPTION_ID in item.meta):
            return not connection.sessions
        if item.kind in ("request", "notification"):
            exchange = item.exchange
            named = exchange is not None and exchange.headers.get("mcp-session-id")
            return bool(named) and not connection.sessions
    return False
