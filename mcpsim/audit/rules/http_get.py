"""The streams that a client opens with GET, and what a server sends on several streams. Legacy.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcpsim.audit.model import Call, Connection, Exchange, Item, Session
from mcpsim.audit.order import is_later_by
from mcpsim.audit.rule import LEGACY, MUST, SHOULD, Found, Rule, each, messages, notifications
from mcpsim.audit.rules.http import accept_fault
from mcpsim.audit.rules.http_common import (
    LEGACY_PAGE,
    MESSAGES,
    STREAMABLE,
    answered,
    is_mcp,
    is_resumption,
    is_success,
    media_type,
    shows_head,
)
from mcpsim.audit.rules.http_sessions import last_success
from mcpsim.recording.words import show
from mcpsim.transports.http import EVENT_STREAM_TYPE, SESSION_ID_HEADER

PROGRESS: Final = "notifications/progress"
#: Two equal notifications within this time, in milliseconds, are most likely one.
_TOGETHER_MS: Final = 50.0


def _get_accept(exchange: Exchange) -> Iterator[Found]:
    item = exchange.request
    if exchange.http_method != "GET" or item is None or item.revision not in STREAMABLE:
        return
    if shows_head(item) and is_mcp(exchange):
        yield from accept_fault(item, exchange.headers, (EVENT_STREAM_TYPE,))


def _get_response(item: Item) -> Iterator[Found]:
    exchange = item.exchange
    if exchange is None or item.sender != "server" or item.kind not in ("response", "error"):
        return
    # The error of an HTTP refusal is not on a stream.
    if exchange.http_method != "GET" or not exchange.is_stream or item.revision not in STREAMABLE:
        return
    if is_resumption(exchange) is False and is_mcp(exchange):
        yield Found(
            item,
            f"The response to {show(item.id)} came on the stream of a GET that resumes nothing; it belongs "
            "in the stream of its request.",
        )


def _get_related(item: Item) -> Iterator[Found]:
    exchange, call = item.exchange, item.call
    if exchange is None or item.sender != "server" or exchange.http_method != "GET" or call is None:
        return
    if item.revision not in STREAMABLE or is_resumption(exchange) is not False or not is_mcp(exchange):
        return
    is_open = call.answer is None or call.answer.index > item.index
    if call.asked_by == "client" and is_open and call.request.exchange is not exchange:
        yield Found(
            item,
            f"This progress of the running request {show(call.request.id)} came on the stream of GET; it "
            "should come in the stream of that request.",
        )


def _broadcast(connection: Connection) -> Iterator[Found]:
    """The same message on two streams that are open at the same time."""
    if not connection.is_http:
        return
    seen: dict[tuple[Session | None, Call | None, str, str], Item] = {}
    for item in connection.items:
        exchange = item.exchange
        if exchange is None or item.sender != "server" or item.kind not in MESSAGES or item.disturbed:
            continue
        if item.revision not in STREAMABLE or not exchange.is_stream:
            continue
        if exchange.http_method == "GET" and is_resumption(exchange) is not False:
            continue
        # A progress token may come again, with another request.
        about = item.call if item.method == PROGRESS else None
        key = item.session, about, item.kind, _body(item)
        first = seen.setdefault(key, item)
        seen[key] = item
        other = first.exchange
        if first is item or other is exchange or other is None:
            continue
        if item.kind in ("response", "error") and item.call in exchange.calls:
            continue
        surely = item.kind != "notification" or item.method == PROGRESS
        # Two requests at the same time may log the same words, each on its own stream.
        likely = "GET" in (exchange.http_method, other.http_method) and not is_later_by(
            _TOGETHER_MS, first, item
        )
        if surely or (likely and item.at_ms is not None):
            yield Found(
                item,
                f"This message came on another stream before (row {first.index})"
                f"{'' if surely else ', most likely'}; each is sent on one stream only.",
                level=MUST if surely else SHOULD,
            )


def _body(item: Item) -> str:
    try:
        return repr(item.value)
    except RecursionError:
        return f"row {item.index}"


def _get_answer(connection: Connection) -> Iterator[Found]:
    if not connection.is_http:
        return
    alive = last_success(connection)
    for exchange in connection.exchanges:
        item, answer = exchange.request, answered(exchange)
        if exchange.http_method != "GET" or item is None or answer is None or item.revision not in STREAMABLE:
            continue
        if not is_mcp(exchange) or not _is_of_session(exchange, connection):
            continue
        status, value = exchange.status, exchange.response_headers.get("Content-Type")
        if is_success(status) and shows_head(answer) and not exchange.is_stream:
            said = "no Content-Type" if value is None else f"the Content-Type {show(media_type(value))}"
            yield Found(
                answer, f"A GET was answered {status} with {said}; it must open a stream or give 405."
            )
        elif status == 404 and alive.get(exchange.headers.get(SESSION_ID_HEADER) or "", -1) > answer.index:
            yield Found(
                answer,
                "A GET was answered with 404, and the session is not over; a server without such a stream "
                "must answer 405.",
            )


def _is_of_session(exchange: Exchange, connection: Connection) -> bool:
    """Whether a GET may be taken for the stream of Streamable HTTP: there is a session of such a revision."""
    return any(session.revision in STREAMABLE for session in connection.sessions[:1]) or bool(
        exchange.headers.get(SESSION_ID_HEADER)
    )


_GET: Final = f"{LEGACY_PAGE}#listening-for-messages-from-the-server"

HTTP_GET: Final[tuple[Rule, ...]] = (
    Rule(
        "http-get-accepts-events",
        MUST,
        "client",
        LEGACY,
        {"legacy": _GET},
        "The Accept header of a GET lists text/event-stream.",
        on=each(Exchange),
        check=_get_accept,
    ),
    Rule(
        "http-get-stream-has-no-responses",
        MUST,
        "server",
        LEGACY,
        {"legacy": _GET},
        "The stream of a GET that resumes nothing carries no responses.",
        on=messages(needs=("http",)),
        check=_get_response,
    ),
    Rule(
        "http-get-stream-is-about-no-request",
        SHOULD,
        "server",
        LEGACY,
        {"legacy": _GET},
        "The messages on the stream of a GET are about no running request.",
        on=notifications(PROGRESS, needs=("http",)),
        check=_get_related,
    ),
    Rule(
        "http-message-on-one-stream",
        MUST,
        "server",
        LEGACY,
        {"legacy": f"{LEGACY_PAGE}#multiple-connections"},
        "A server sends each message on one stream only.",
        on=each(Connection, needs=("http",)),
        check=_broadcast,
    ),
    Rule(
        "http-get-is-stream-or-405",
        MUST,
        "server",
        LEGACY,
        {"legacy": _GET},
        "A GET is answered with a stream of events or with 405.",
        on=each(Connection, needs=("http",)),
        check=_get_answer,
    ),
)
