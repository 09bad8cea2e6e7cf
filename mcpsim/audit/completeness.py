"""What a session lacks, which breaks no rule by itself.

A trace may simply end before something comes. So nobody is blamed here: it is only said what was still
awaited. Where a connection was closed or cut, or a request cancelled, nothing is awaited any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Final

from mcpsim.audit.building import SESSION_HEADER, key_of
from mcpsim.audit.model import Call, Connection, Exchange, Item, Session, Trace
from mcpsim.audit.order import ways
from mcpsim.recording.words import show

HANDSHAKE: Final = "handshake-not-finished"
REQUEST: Final = "request-without-answer"
ACKNOWLEDGEMENT: Final = "subscription-without-acknowledgement"
STREAM: Final = "stream-without-end"
INPUT: Final = "input-not-given"

_REFUSED: Final = 400
_LISTEN: Final = "subscriptions/listen"


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that is not there, and that something else waits for.

    Attributes:
        kind: "handshake-not-finished", "request-without-answer", "subscription-without-acknowledgement",
            "stream-without-end" or "input-not-given".
        item: what waits.
        message: one sentence.
    """

    kind: str
    item: Item
    message: str


def gaps(trace: Trace) -> Iterator[Gap]:
    """What is still awaited when a trace ends, in the order of the rows."""
    found = [gap for connection in trace.connections for look in _LOOKS for gap in look(connection)]
    for way in ways(trace):
        found += [*_handshakes(way), *_requests(way)]
    yield from sorted(found, key=lambda gap: gap.item.index)


def _is_over(item: Item) -> bool:
    """Whether what began with this was ended from outside: its connection, its stream or its session."""
    closed = item.connection.closed
    if closed is not None and closed.index >= item.index:
        return True
    exchange = item.exchange
    if exchange is not None and (exchange.closed is not None or (exchange.status or 0) >= _REFUSED):
        return True
    return item.session is not None and _is_left(item.session, item)


def _is_left(session: Session, item: Item) -> bool:
    """Whether a session was deleted, or lost by its server, after this."""
    deletion = None if session.deleted is None else session.deleted.request
    return any(end is not None and end.index >= item.index for end in (deletion, session.lost))


def _handshakes(way: Iterable[Connection]) -> Iterator[Gap]:
    # Over HTTP what ends a handshake may come to another connection than what began it.
    finished = {
        item.exchange.headers.get(SESSION_HEADER)
        for connection in way
        for item in connection.items
        if item.method == "notifications/initialized" and item.exchange is not None
    }
    for session in (session for connection in way for session in connection.sessions):
        call, connection = session.initialize, session.connection
        answer = call.answer
        if _is_over(call.request) or call.cancelled is not None:
            continue
        if answer is None:
            # Some logs leave answers out: a client that goes on has had one.
            goes_on = session.initialized is not None
            so = (
                "the client went on all the same, so perhaps it was not logged"
                if goes_on
                else "there is no session"
            )
            yield Gap(HANDSHAKE, call.request, f"{_named(call)} has no answer when the trace ends: {so}.")
        elif answer.kind == "response" and session.initialized is None and session.id not in finished:
            yield Gap(
                HANDSHAKE,
                call.request,
                f"The handshake is not finished when the trace ends: the {connection.client} has not sent"
                " `notifications/initialized`.",
            )


def _requests(way: Iterable[Connection]) -> Iterator[Gap]:
    # Over HTTP an answer may come on another connection, when a stream was resumed.
    strays = {
        key_of("server" if item.sender == "client" else "client", item.id)
        for connection in way
        for item in connection.items
        if connection.is_http and item.kind in ("response", "error") and item.call is None
    }
    for connection in way:
        yield from _requests_on(connection, strays)


def _requests_on(connection: Connection, strays: Set[object]) -> Iterator[Gap]:
    seen: set[object] = set()
    for call in connection.calls:
        request = call.request
        key = key_of(request.sender, request.id)
        # The transport doubled it: one answer is enough.
        is_copy = request.disturbed and key in seen
        seen.add(key)
        if call.answer is not None or call.cancelled is not None or is_copy or key in strays:
            continue
        if call.method in ("initialize", _LISTEN) or _is_over(request):
            continue
        yield Gap(
            REQUEST,
            request,
            f"{_named(call)} of the {request.party} has no answer when the trace ends.",
        )


def _subscriptions(connection: Connection) -> Iterator[Gap]:
    for subscription in connection.subscriptions:
        call = subscription.call
        if subscription.end is not None or call.answer is not None or _is_over(call.request):
            continue
        if subscription.acknowledged is None:
            yield Gap(
                ACKNOWLEDGEMENT,
                call.request,
                f"The {connection.server} has not acknowledged {_named(call)} when the trace ends.",
            )
        else:
            yield Gap(
                STREAM, call.request, f"The subscription {show(call.request.id)} is open when the trace ends."
            )


def _streams(connection: Connection) -> Iterator[Gap]:
    for exchange in connection.exchanges:
        request = exchange.request
        if exchange.http_method != "GET" or not exchange.is_stream or request is None:
            continue
        if not _is_over(request) and not _is_resumed(exchange):
            yield Gap(STREAM, request, "This stream of the server's messages is open when the trace ends.")


def _is_resumed(exchange: Exchange) -> bool:
    """Whether it only brings the rest of an earlier stream, which ends with an answer."""
    return exchange.headers.get("last-event-id") is not None and any(
        item.kind in ("response", "error") for item in exchange.answers
    )


def _inputs(connection: Connection) -> Iterator[Gap]:
    for rounds in connection.rounds:
        last = rounds.calls[-1]
        answer = last.answer
        if answer is None or answer.result.get("resultType") != "input_required":
            continue
        if last.cancelled is not None or _is_closed(connection, answer):
            continue
        yield Gap(
            INPUT,
            answer,
            f"The {connection.server} asks for input for {_named(last)}, and the {connection.client} has not"
            " brought it when the trace ends.",
        )


def _is_closed(connection: Connection, item: Item) -> bool:
    return connection.closed is not None and connection.closed.index >= item.index


def _named(call: Call) -> str:
    return f"`{show(call.method)[1:-1]}` {show(call.request.id)}"


_LOOKS: Final[tuple[Callable[[Connection], Iterator[Gap]], ...]] = (
    _subscriptions,
    _streams,
    _inputs,
)
