"""Legacy sessions over HTTP: the session id, what 404 means, the version header.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from mcpsim.audit.model import Connection, Exchange, Item, Session, Trace
from mcpsim.audit.order import is_later_by
from mcpsim.audit.rule import LEGACY, MUST, NOTE, SHOULD, Bound, Found, Level, Rule, each
from mcpsim.audit.rules.http_common import (
    LEGACY_PAGE,
    STREAMABLE,
    answered,
    is_mcp,
    is_success,
    shows_head,
)
from mcpsim.errors import METHOD_NOT_FOUND
from mcpsim.recording.words import show
from mcpsim.transports.http import SESSION_ID_HEADER

_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")
#: What a server may answer for other reasons than a session id that is not there.
_OTHER_REFUSALS: Final = frozenset({404, 409, 410, 422, 428})
#: So long after a 404, in milliseconds, a client has read it, whatever else it was doing.
_READ_MS: Final = 20.0


def is_initialize(item: Item) -> bool:
    return item.method == "initialize"


def _granted(session: Session) -> Item | None:
    """The result that brought the session's id over HTTP, where its revision has such ids."""
    answer = session.initialize.answer
    if not session.connection.is_http or session.revision not in STREAMABLE:
        return None
    return answer if answer is not None and answer.kind == "response" else None


def _visible(session: Session) -> Iterator[Found]:
    answer = _granted(session)
    if answer is not None and session.id and not _VISIBLE.fullmatch(session.id):
        yield Found(
            answer,
            f"The session id {show(session.id)} must hold visible ASCII characters only (0x21 to 0x7E).",
        )


def legacy_requests(connection: Connection) -> Iterator[tuple[Exchange, Item]]:
    """The legacy HTTP requests with their headers, but for `initialize`."""
    if not connection.is_http or not connection.sessions:
        return
    for exchange in connection.exchanges:
        item = exchange.request
        if item is None or item.era != "legacy" or not shows_head(item) or is_initialize(item):
            continue
        if not is_mcp(exchange):
            continue
        yield exchange, item


class Opened:
    """The sessions of a connection, as far as they are open when a request is sent."""

    def __init__(self, connection: Connection) -> None:
        self._granted = [
            (answer.index, session)
            for session in connection.sessions
            if (answer := _granted(session)) is not None
        ]
        self._next = 0
        self.sessions: set[Session] = set()
        self.ids: set[str] = set()
        self.revisions: set[str] = set()
        self.all_visible = True

    def at(self, item: Item) -> Session | None:
        """The last one whose result had come before this item; None where there is none.

        `sessions`, `ids` and `revisions` are then those of all that had come, and `all_visible` says whether
        each id is a valid one.
        """
        while self._next < len(self._granted) and self._granted[self._next][0] < item.index:
            session = self._granted[self._next][1]
            self.sessions.add(session)
            self.ids.add(session.id)
            self.revisions.add(session.revision)
            self.all_visible = self.all_visible and _VISIBLE.fullmatch(session.id) is not None
            self._next += 1
        return self._granted[self._next - 1][1] if self._next else None


def _is_over(session: Session, item: Item) -> bool:
    """Whether a session had ended, from either side, before an item."""
    lost = session.lost
    deleting = None if session.deleted is None else session.deleted.request
    return (lost is not None and lost.index < item.index) or (
        deleting is not None and deleting.index < item.index
    )


def _id_sent(connection: Connection) -> Iterator[Found]:
    sessions = Opened(connection)
    for exchange, item in legacy_requests(connection):
        granted = sessions.at(item)
        # A client may have given up its session, and an id that is not valid it need not send.
        if granted is None or not sessions.all_visible:
            continue
        # Where the wire doubled an initialize, there are two sessions, and only one of them is used.
        if _is_over(granted, item) or granted.initialize.request.disturbed:
            continue
        said = exchange.headers.get(SESSION_ID_HEADER)
        if said is None:
            yield Found(
                item,
                f"The request has no {SESSION_ID_HEADER} header; the server gave the session an id, so every "
                "later request has it.",
            )
        elif not connection.began_late and said not in sessions.ids:
            yield Found(
                item,
                f"{SESSION_ID_HEADER} is {show(said)}; the server gave the id {show(granted.id)}.",
            )


def _missing_id_status(connection: Connection) -> Iterator[Found]:
    sessions = Opened(connection)
    for exchange, item in legacy_requests(connection):
        granted, answer = sessions.at(item), answered(exchange)
        if granted is None or "" in sessions.ids or answer is None:
            continue
        if SESSION_ID_HEADER not in exchange.headers and exchange.status in _OTHER_REFUSALS:
            yield Found(
                answer,
                f"The server refused a request without {SESSION_ID_HEADER} with {exchange.status}; a server "
                "that requires the header should answer 400.",
            )


def _ended(connection: Connection) -> dict[str, Item]:
    """The ids of the sessions that a client has ended, each with the answer that says so."""
    ended: dict[str, Item] = {}
    for exchange in connection.exchanges:
        named, answer = exchange.headers.get(SESSION_ID_HEADER), answered(exchange)
        if (
            exchange.http_method == "DELETE"
            and named
            and answer is not None
            and exchange.status in (200, 204)
        ):
            ended.setdefault(named, answer)
    return ended


def _not_gone(connection: Connection) -> Iterator[Found]:
    ended = _ended(connection) if connection.is_http else {}
    for exchange in connection.exchanges if ended else ():
        item, answer = exchange.request, answered(exchange)
        gone = ended.get(exchange.headers.get(SESSION_ID_HEADER) or "")
        if item is None or answer is None or gone is None or item.index <= gone.index:
            continue
        # To end what is over does no harm.
        if exchange.http_method == "DELETE":
            continue
        if is_success(exchange.status) or exchange.status == 400:
            yield Found(
                answer,
                f"The server answered {exchange.status} to a request of a session that had been ended (row "
                f"{gone.index}); it must answer 404.",
            )


def _not_anew(connection: Connection) -> Iterator[Found]:
    if not connection.is_http:
        return
    lost: dict[str, Item] = {}
    served = last_success(connection)
    for item in connection.items:
        exchange = item.exchange
        if exchange is None or item.era != "legacy":
            continue
        named = exchange.headers.get(SESSION_ID_HEADER)
        if not named:
            continue
        if item.sender == "server":
            # A method that is not there is not a session that is not there. Nor is a stream that the server
            # does not have, if it goes on serving the session.
            other = item.code == METHOD_NOT_FOUND or (
                exchange.http_method == "GET" and served.get(named, -1) > item.index
            )
            if exchange.status == 404 and not other:
                lost.setdefault(named, item)
            continue
        gone = lost.get(named)
        if gone is None or exchange.request is not item or exchange.http_method == "DELETE":
            continue
        if not is_initialize(item) and (gone.at_ms is None or is_later_by(_READ_MS, gone, item)):
            yield Found(
                item,
                f"The client goes on with the session id {show(named)}, for which the server had answered "
                f"404 (row {gone.index}); it must start a new session.",
                hint=f"Send initialize without {SESSION_ID_HEADER}, and then the request once more.",
            )


def _initialize_with_id(connection: Connection) -> Iterator[Found]:
    if not connection.is_http:
        return
    lost: set[str] = set()
    for exchange in connection.exchanges:
        item = exchange.request
        named = exchange.headers.get(SESSION_ID_HEADER)
        if item is None or not named or item.era != "legacy":
            continue
        if is_initialize(item):
            yield Found(
                item,
                f"This initialize has {SESSION_ID_HEADER}: {show(named)}; a new session begins without.",
                level=MUST if named in lost else NOTE,
            )
        if exchange.status == 404:
            lost.add(named)


def _same_id(trace: Trace) -> Iterator[Found]:
    given: dict[tuple[str, str], Item] = {}
    for connection in trace.connections:
        for session in connection.sessions:
            answer = _granted(session)
            if answer is None or not session.id or answer.disturbed:
                continue
            # Two hops have ids of their own; a gateway may hand one through.
            first = given.setdefault((connection.hop, session.id), answer)
            if first is not answer:
                yield Found(
                    answer,
                    f"The session id {show(session.id)} was given before (row {first.index}); an id should "
                    "be unique, and nobody should be able to guess it.",
                )


def _not_deleted(connection: Connection) -> Iterator[Found]:
    """A client that begins a new session while nothing tells that the old one is over, and never uses that
    again."""
    if not connection.is_http:
        return
    last: dict[Session, int] = {}
    ended = {
        exchange.headers.get(SESSION_ID_HEADER)
        for exchange in connection.exchanges
        if exchange.http_method == "DELETE"
    }
    for exchange in connection.exchanges:
        if exchange.request is not None and exchange.request.session is not None:
            last[exchange.request.session] = exchange.request.index
    for old, new in zip(connection.sessions, connection.sessions[1:], strict=False):
        if _granted(old) is None or not old.id or old.lost is not None or old.id in ended:
            continue
        begun, granted = new.initialize.request, _granted(new)
        if granted is None or last.get(old, 0) > begun.index:
            continue
        if any(item.session is new and item.index > granted.index for item in new.items):
            yield Found(
                begun,
                f"The client starts a new session and probably leaves {show(old.id)} behind; a session that "
                f"is no longer needed should be ended with DELETE and {SESSION_ID_HEADER}.",
                level=NOTE,
            )


def last_success(connection: Connection) -> dict[str, int]:
    """When each session id was last served."""
    served: dict[str, int] = {}
    for exchange in connection.exchanges:
        answer = answered(exchange)
        if answer is not None and is_success(exchange.status) and exchange.http_method == "POST":
            served[exchange.headers.get(SESSION_ID_HEADER) or ""] = answer.index
    return served


def _rule(
    id: str,
    bound: Bound,
    anchor: str,
    sentence: str,
    on: Any,
    check: Callable[[Any], Iterator[Found]],
    level: Level = MUST,
) -> Rule:
    return Rule(
        id,
        level,
        bound,
        LEGACY,
        {"legacy": f"{LEGACY_PAGE}#{anchor}"},
        sentence,
        on=each(on) if on is Session else each(on, needs=("http",)),
        check=check,
    )


_MANAGEMENT: Final = "session-management"

HTTP_SESSIONS: Final[tuple[Rule, ...]] = (
    _rule(
        "http-session-id-is-visible-ascii",
        "server",
        _MANAGEMENT,
        "A session id holds visible ASCII characters only.",
        Session,
        _visible,
    ),
    _rule(
        "http-session-id-is-sent",
        "client",
        _MANAGEMENT,
        "A client that was given a session id sends it with every later request.",
        Connection,
        _id_sent,
    ),
    _rule(
        "http-session-id-missing-is-400",
        "server",
        _MANAGEMENT,
        "A server that requires a session id answers 400 to a request without one.",
        Connection,
        _missing_id_status,
        SHOULD,
    ),
    _rule(
        "http-ended-session-is-404",
        "server",
        _MANAGEMENT,
        "A server answers 404 to the requests of a session that is over.",
        Connection,
        _not_gone,
    ),
    _rule(
        "http-404-starts-a-new-session",
        "client",
        _MANAGEMENT,
        "A client whose session id is answered with 404 starts a new session.",
        Connection,
        _not_anew,
    ),
    _rule(
        "http-initialize-has-no-session-id",
        "client",
        _MANAGEMENT,
        "A new session begins with an initialize request without a session id.",
        Connection,
        _initialize_with_id,
    ),
    _rule(
        "http-session-id-is-unique",
        "server",
        _MANAGEMENT,
        "A session id is unique, and cannot be guessed.",
        Trace,
        _same_id,
        SHOULD,
    ),
    _rule(
        "http-session-is-deleted",
        "client",
        _MANAGEMENT,
        "A client ends a session that it no longer needs with DELETE.",
        Connection,
        _not_deleted,
        SHOULD,
    ),
)
