"""The legacy handshake and its session: what comes first, what waits for what, and pings."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from mcpsim.audit.model import Call, Connection, Exchange, Item, Session
from mcpsim.audit.rule import (
    LEGACY,
    MUST,
    NOTE,
    SHOULD,
    Found,
    Rule,
    calls,
    each,
)
from mcpsim.audit.rules.http_common import has_odd_head
from mcpsim.audit.same_ids import given_before
from mcpsim.eras.revisions import TIMEOUT_CANCELS_REVISIONS
from mcpsim.recording.interchange import CLOSINGS
from mcpsim.recording.words import show

INITIALIZE: Final = "initialize"
INITIALIZED: Final = "notifications/initialized"
PING: Final = "ping"
#: Requests that may come at any time.
ALWAYS: Final = frozenset({INITIALIZE, PING})

#: A first request with a greater id is hardly the first one of its client.
FIRST_IDS: Final = 1
#: A clock that shows so much, in milliseconds, tells the date, and not the time since the trace began.
DATES_MS: Final = 10**9
#: A ping that was not answered for so long, while other messages came, is not answered promptly.
SILENCE_MS: Final = 30_000
#: So many pings of one side within so long are excessive.
MANY_PINGS: Final = 20
PINGS_WITHIN_MS: Final = 10_000

#: What a server sends of its own accord to those that know of it by its capabilities.
_CHANGES: Final = frozenset(
    {
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
    }
)

PAGE: Final = "basic/lifecycle"


def _is_sent(item: Item) -> bool:
    return item.kind in ("request", "notification") and item.era == "legacy"


def _comes_first(connection: Connection) -> Iterator[Found]:
    yield from _before_the_first(connection)
    for session in connection.sessions:
        answer = session.initialize.answer
        if answer is None or answer.kind != "error":
            continue
        for item in session.items:
            late = item.index > answer.index and item.sender == "client" and _is_sent(item)
            if late and item.kind == "request" and item.method not in ALWAYS:
                yield Found(
                    item,
                    f"{show(item.method)} is sent although the server refused initialize: there is no "
                    "session.",
                    "Send initialize again, with what the error asks for, or close the connection.",
                )
                break


def _before_the_first(connection: Connection) -> Iterator[Found]:
    if connection.began_late:
        return
    for item in connection.items:
        if item.session is not None and item.method == INITIALIZE:
            return
        if not _is_sent(item) or item.method == PING or item.session is not None:
            continue
        exchange = item.exchange
        if item.sender == "server":
            # Without any handshake in it, the trace began after it.
            if not connection.sessions or (exchange is not None and exchange.headers.get("mcp-session-id")):
                continue
            yield Found(
                item,
                f"The server sends {show(item.method)} before the client sent initialize; the handshake "
                "comes "
                "first.",
                "Send nothing before initialize is answered.",
                party=connection.server,
            )
            return
        cut_off = _looks_cut_off(item)
        yield Found(
            item,
            f"{show(item.method)} comes before any initialize; the handshake has to be the first interaction."
            + (_where_it_began(item) if cut_off else ""),
            "Send initialize, wait for its result, send notifications/initialized, and go on from there.",
            party=connection.client,
            level=NOTE if cut_off else None,
        )
        return


def _looks_cut_off(first: Item) -> bool:
    """Whether the trace probably begins after a handshake: the message speaks of what came before it."""
    if first.exchange is not None and first.exchange.headers.get("mcp-protocol-version") is not None:
        return True
    if first.connection.sessions:
        return False
    if any(one.sender == "server" and _needs_a_session(one) for one in first.connection.items):
        return True
    if first.kind == "notification" or _comes_later(first):
        return True
    # Clients count their requests, mostly from 0 or 1.
    return isinstance(first.id, int) and first.id > FIRST_IDS


def _where_it_began(first: Item) -> str:
    if first.exchange is not None and first.exchange.headers.get("mcp-session-id"):
        return " It is in a session that was begun on another connection, or before the trace."
    return " Probably the trace begins after it."


def _comes_later(first: Item) -> bool:
    """Whether the clock of a trace had run for a while before its first row."""
    begin = first.connection.items[0]
    return begin.index == 0 and 0 < (begin.at_ms or 0) < DATES_MS


def _needs_a_session(item: Item) -> bool:
    """Whether a server sends what it sends only to a client that has told it what it can do."""
    if item.kind == "request":
        return item.method != PING
    return item.kind == "notification" and item.method in _CHANGES


def _waits_for_result(session: Session) -> Iterator[Found]:
    answer = session.initialize.answer
    if answer is None and _shows_no_answer(session):
        return
    for item in session.items:
        if item is answer:
            return
        if item.sender != "client" or item.kind != "request" or item.era != "legacy":
            continue
        if item.method not in ALWAYS:
            yield Found(
                item,
                f"{show(item.method)} is sent before the server answered initialize; only pings should be.",
                "Wait for the result: it says which revision and which capabilities there are.",
            )


def _shows_no_answer(session: Session) -> bool:
    """Whether the result of initialize was there, but is not in the trace."""
    exchange = session.initialize.request.exchange
    return session.initialized is not None or (exchange is not None and bool(exchange.answers))


def _server_waits(session: Session) -> Iterator[Found]:
    for item in session.items:
        if item is session.initialized:
            return
        if (
            item.sender == "server"
            and item.kind == "request"
            and item.era == "legacy"
            and item.method != PING
        ):
            yield Found(
                item,
                f"The server asks for {show(item.method)} before the client sent {INITIALIZED}.",
                "Until then send pings and log messages only.",
            )


def _says_initialized(session: Session) -> Iterator[Found]:
    answer = session.initialize.answer
    if answer is None or answer.kind != "response":
        return
    first: Item | None = None
    early: Item | None = None
    for item in session.items:
        if item.sender != "client" or item.era != "legacy":
            continue
        if item.method == INITIALIZED and item.kind == "notification":
            if item.index > answer.index:
                return
            early = early or item
        answered = item.call is not None and item.call.request is item and item.call.answer is not None
        if item.index > answer.index and item.kind == "request" and item.method not in ALWAYS and answered:
            first = first or item
    if early is not None:
        yield Found(
            early,
            f"{INITIALIZED} is sent before the result of initialize came, and not after it.",
            "Wait for the result, and then send it.",
        )
    elif first is not None:
        yield Found(
            first,
            f"The client goes on with {show(first.method)} and never sends {INITIALIZED}.",
            f"Send {INITIALIZED} as soon as the result of initialize is there.",
        )


def _operates_early(session: Session) -> Iterator[Found]:
    answer, initialized = session.initialize.answer, session.initialized
    if answer is None or answer.kind != "response" or initialized is None:
        return
    for item in session.items:
        if item is initialized:
            return
        is_request = item.sender == "client" and item.kind == "request" and item.era == "legacy"
        if is_request and item.index > answer.index and item.method not in ALWAYS:
            yield Found(
                item,
                f"{show(item.method)} is sent before {INITIALIZED}. No rule forbids it, but many servers "
                "refuse "
                "it.",
                f"Send {INITIALIZED} first: it says that normal work begins.",
            )


def _begins_once(connection: Connection) -> Iterator[Found]:
    if connection.is_http:
        return
    before: Session | None = None
    ends = [item.index for item in connection.items if item.event in CLOSINGS]
    for session in connection.sessions:
        if before is not None and before.initialize.answer is not None:
            answer, again = before.initialize.answer, session.initialize.request
            # A server that was started anew begins anew.
            if answer.kind == "response" and not any(answer.index < end < again.index for end in ends):
                yield Found(
                    session.initialize.request,
                    "initialize is sent once more on a connection that is initialized already.",
                    "Begin a new connection instead; servers may well refuse this one.",
                )
        before = session


def _pong(call: Call) -> Iterator[Found]:
    answer = call.answer
    if answer is None or answer.era != "legacy" or call.request.session is None:
        return
    if call.request.batch is not None:
        # A batch is refused as a whole, whatever is in it.
        return
    if call in given_before(call.connection):
        # It is refused for its id, or what came is the answer to the other one.
        return
    if answer.kind == "error":
        exchange = answer.exchange
        # A status of its own says that the session or the right to ask is gone; that is no answer to a ping.
        if exchange is None or answer.sender == "client" or _is_refusal_of_ping(call, exchange):
            yield Found(
                answer,
                f"A ping is answered by the error {show(answer.code)}; the answer is an empty result, in "
                "every phase of a session.",
                "Answer ping before any other check.",
                party=answer.party,
            )
        return
    more = [name for name in answer.result if name != "_meta"]
    if more:
        # Servers of both eras may add the discriminator everywhere.
        only_type = more == ["resultType"]
        yield Found(
            answer,
            f"The answer to a ping holds {show(more[0])}; it should be an empty result.",
            party=answer.party,
            level=NOTE if only_type else None,
        )


def _is_refusal_of_ping(call: Call, exchange: Exchange) -> bool:
    """Whether an HTTP error speaks of the ping, and not of a head that the server may refuse."""
    return exchange.status in (None, 200) or (exchange.status == 400 and not has_odd_head(call.request))


def _promptly(session: Session) -> Iterator[Found]:
    waiting: dict[str, deque[Item]] = {"client": deque(), "server": deque()}
    for item in session.items:
        if item.at_ms is None or item.era != "legacy":
            continue
        asked = waiting["server" if item.sender == "client" else "client"]
        while asked and item.at_ms - (asked[0].at_ms or 0) > SILENCE_MS:
            ping = asked.popleft()
            call = ping.call
            answer = None if call is None else call.answer
            if answer is None or answer.index > item.index:
                seconds = round((item.at_ms - (ping.at_ms or 0)) / 1000)
                yield Found(
                    ping,
                    f"This ping has no answer after {seconds} s, while the other side sends other messages; "
                    "probably it does not answer pings.",
                    "Answer ping at once, with an empty result.",
                    party=ping.other,
                    level=SHOULD,
                )
        if item.kind == "request" and item.method == PING:
            waiting[item.sender].append(item)


def _not_too_often(session: Session) -> Iterator[Found]:
    latest: dict[str, deque[float]] = {"client": deque(), "server": deque()}
    told: set[str] = set()
    for item in session.items:
        if item.kind != "request" or item.method != PING or item.at_ms is None or item.sender in told:
            continue
        times = latest[item.sender]
        times.append(item.at_ms)
        if len(times) < MANY_PINGS:
            continue
        if item.at_ms - times.popleft() <= PINGS_WITHIN_MS:
            told.add(item.sender)
            yield Found(
                item,
                f"{MANY_PINGS} pings within {PINGS_WITHIN_MS // 1000} s are more than a connection needs.",
                "Let some seconds pass between two pings.",
                party=item.party,
            )


def _cancels_what_it_leaves(connection: Connection) -> Iterator[Found]:
    left: list[Item] = []
    resumed = last = -1
    for item in connection.items:
        exchange = item.exchange
        if item.event == "exchange_timeout" and item.sender == "client" and item.era == "legacy":
            left.append(item)
        elif item.sender == "client" and item.kind != "event":
            last = item.index
            if exchange is not None and exchange.headers.get("last-event-id") is not None:
                resumed = item.index
    for item in left:
        # Who resumes a stream waits on; and what comes next may lie behind the end of the trace.
        if item.index > last or item.index < resumed or item.exchange is None:
            continue
        for call in item.exchange.calls:
            if call.answer is None and call.cancelled is None and call.method != INITIALIZE:
                yield Found(
                    item,
                    f"The client has waited too long for {show(call.method)}, and does not cancel it.",
                    "Send notifications/cancelled with the id of the request.",
                    level=None if call.revision in TIMEOUT_CANCELS_REVISIONS else NOTE,
                )


def _legacy(anchor: str, page: str = PAGE) -> dict[Any, str]:
    return {"legacy": f"{page}#{anchor}"}


LIFECYCLE: Final[tuple[Rule, ...]] = (
    Rule(
        "initialize-is-first",
        MUST,
        "sender",
        LEGACY,
        _legacy("initialization"),
        "The handshake, begun by the client's initialize, is the first interaction; only a ping may come "
        "before.",
        on=each(Connection),
        check=_comes_first,
    ),
    Rule(
        "requests-wait-for-initialize-result",
        SHOULD,
        "client",
        LEGACY,
        _legacy("initialization"),
        "A client requests nothing but pings before initialize is answered.",
        on=each(Session),
        check=_waits_for_result,
    ),
    Rule(
        "server-requests-wait-for-initialized",
        SHOULD,
        "server",
        LEGACY,
        _legacy("initialization"),
        "A server requests nothing but pings before notifications/initialized has come.",
        on=each(Session),
        check=_server_waits,
    ),
    Rule(
        "initialized-is-sent",
        MUST,
        "client",
        LEGACY,
        _legacy("initialization"),
        "After the result of initialize the client sends notifications/initialized.",
        on=each(Session),
        check=_says_initialized,
    ),
    Rule(
        "requests-after-initialized",
        NOTE,
        "client",
        LEGACY,
        _legacy("initialization"),
        "Normal work begins with notifications/initialized; many servers refuse requests that come before.",
        on=each(Session),
        check=_operates_early,
    ),
    Rule(
        "initialize-is-sent-once",
        NOTE,
        "client",
        LEGACY,
        _legacy("lifecycle-phases"),
        "A connection over stdio has one handshake.",
        on=each(Connection),
        check=_begins_once,
    ),
    Rule(
        "ping-answered-with-empty-result",
        MUST,
        "sender",
        LEGACY,
        _legacy("behavior-requirements", "basic/utilities/ping"),
        "Whoever gets a ping answers it with an empty result, in every phase.",
        on=calls(PING),
        check=_pong,
    ),
    Rule(
        "ping-answered-promptly",
        MUST,
        "sender",
        LEGACY,
        _legacy("behavior-requirements", "basic/utilities/ping"),
        "Whoever gets a ping answers it at once.",
        on=each(Session),
        check=_promptly,
    ),
    Rule(
        "ping-not-too-often",
        SHOULD,
        "sender",
        LEGACY,
        _legacy("implementation-considerations", "basic/utilities/ping"),
        "Pings do not burden the connection.",
        on=each(Session),
        check=_not_too_often,
    ),
    Rule(
        "timeout-cancels-request",
        SHOULD,
        "client",
        LEGACY,
        _legacy("timeouts"),
        "Whoever stops waiting for an answer cancels the request.",
        on=each(Connection, needs=("event",)),
        check=_cancels_what_it_leaves,
    ),
)
