"""The streams of server-sent events: what may stand in them, and when they end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from mcpsim.audit.model import Call, Connection, Exchange, Item
from mcpsim.audit.order import is_later_by
from mcpsim.audit.rule import (
    ALL,
    LEGACY,
    MODERN,
    MUST,
    SHOULD,
    Found,
    Rule,
    each,
    notifications,
)
from mcpsim.audit.rules.cancellation import is_task
from mcpsim.audit.rules.http_common import (
    MESSAGES,
    MODERN_PAGE,
    SENDING,
    STREAMABLE,
    answered,
    first_of,
    is_resumption,
    shows_head,
)
from mcpsim.eras.revisions import POLLED_STREAM_REVISIONS, Era
from mcpsim.messages import ErrorResponse
from mcpsim.recording.interchange import CUT
from mcpsim.recording.words import show

LISTEN: Final = "subscriptions/listen"
PROGRESS: Final = "notifications/progress"
#: What a modern client gets on the stream of a subscription, and nowhere else.
_CHANGES: Final = frozenset(
    {
        "notifications/subscriptions/acknowledged",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    }
)
#: So long after its last message, in milliseconds, a stream is surely not about to end.
_LINGERS_MS: Final = 1000.0


def is_post_stream(exchange: Exchange | None) -> bool:
    """Whether it is the stream that answers a request."""
    return exchange is not None and exchange.http_method == "POST" and bool(exchange.calls)


# --- The stream of a POST -------------------------------------------------------------------------


def _belongs_elsewhere(item: Item) -> str:
    """Why a notification in the stream of a request is not about that request, or ""."""
    exchange = item.exchange
    if exchange is None or item.sender != "server" or not is_post_stream(exchange):
        return ""
    own = exchange.calls
    if item.method == PROGRESS and item.call is not None and item.call not in own:
        return (
            f"This progress is about the request {show(item.call.request.id)}, and came in the stream of "
            f"{show(own[0].request.id)}."
        )
    return ""


def _unrelated(item: Item) -> Iterator[Found]:
    why = _belongs_elsewhere(item) or _misplaced_change(item)
    if why:
        yield Found(item, f"{why} What stands in the stream of a request must be about that request.")


def _misplaced_change(item: Item) -> str:
    exchange, call = item.exchange, item.call
    if exchange is None or call is None or item.method not in _CHANGES or not is_post_stream(exchange):
        return ""
    # A change that nobody asked for is for the rules about subscriptions.
    if item.sender != "server" or call in exchange.calls or exchange.calls[0].method == LISTEN:
        return ""
    return (
        f"{item.method} came in the stream of a {show(exchange.calls[0].method)} request; it belongs in that "
        "of its subscription."
    )


def _unrelated_legacy(item: Item) -> Iterator[Found]:
    # What belongs to a task may come on any stream.
    if item.revision not in STREAMABLE or (item.call is not None and is_task(item.call)):
        return
    why = _belongs_elsewhere(item)
    if why:
        yield Found(item, f"{why} What stands in the stream of a request should be about that request.")


def _goes_on(exchange: Exchange) -> Iterator[Found]:
    if first_of(exchange) is None or not is_post_stream(exchange) or not exchange.is_stream:
        return
    waiting: set[Call | None] = set(exchange.calls)
    last: Item | None = None
    for item in exchange.answers:
        if last is not None and item is not last and not item.disturbed:
            # Something sent at once after it may be what ends the stream.
            if item.kind in MESSAGES or is_later_by(_LINGERS_MS, last, item):
                yield Found(
                    item, "The stream goes on after the final response; that should be what ends the stream."
                )
                return
        elif item.kind in ("response", "error"):
            waiting.discard(item.call)
            last = item if not waiting else None


def _buffered(exchange: Exchange) -> Iterator[Found]:
    answer = answered(exchange)
    if answer is None or exchange.era != "modern" or not exchange.is_stream or not shows_head(answer):
        return
    said = exchange.response_headers.get("X-Accel-Buffering")
    if (said or "").strip().lower() != "no":
        what = "has no X-Accel-Buffering header" if said is None else f"says X-Accel-Buffering: {show(said)}"
        yield Found(
            answer, f"This stream {what}; X-Accel-Buffering: no keeps proxies from holding events back."
        )


def _not_primed(exchange: Exchange) -> Iterator[Found]:
    item, answer = first_of(exchange), answered(exchange)
    if item is None or answer is None or item.revision not in POLLED_STREAM_REVISIONS:
        return
    if not is_post_stream(exchange) or not exchange.is_stream or answer.disturbed:
        return
    if answer.kind == "comment" and answer.sse_id is not None:
        return
    # Without ids there is nothing to resume, and a server need not have them.
    if any(one.sse_id is not None for one in exchange.answers):
        yield Found(
            answer,
            "This stream does not begin with an event that has an id and empty data; a client whose "
            "connection breaks before the first message cannot resume it.",
        )


def _without_response(exchange: Exchange) -> Iterator[Found]:
    item, closed = first_of(exchange), exchange.closed
    if item is None or item.era != "legacy" or not is_post_stream(exchange) or not exchange.is_stream:
        return
    # A connection that breaks is nobody's doing, and a stream with ids may only have been interrupted.
    if not closed_by_server(closed) or any(one.sse_id is not None for one in exchange.answers):
        return
    open_calls = [call for call in exchange.calls if call.answer is None and call.cancelled is None]
    session = item.session
    if open_calls and closed is not None and (session is None or session.lost is None):
        yield Found(
            closed,
            f"The server ended the stream without a response to {show(open_calls[0].request.id)}; the stream "
            "should bring one.",
        )


def closed_by_server(closed: Item | None) -> bool:
    """Whether the server closed it, and not a broken wire."""
    if closed is None or closed.sender != "server" or closed.event != "response_stream_closed":
        return False
    return closed.row.get("detail") != CUT


# --- Disconnections (legacy) ----------------------------------------------------------------------

_SPEAKS: Final = re.compile(
    r"\b(?:client|peer|stream|connection)\b.{0,40}\b(?:disconnect|closed|gone|lost)", re.I
)


def _taken_for_cancellation(exchange: Exchange) -> Iterator[Found]:
    item, closed = first_of(exchange), exchange.closed
    if item is None or closed is None or item.era != "legacy" or closed.sender == "server":
        return
    for call in exchange.calls:
        answer = call.answer
        if (
            answer is None
            or answer.index < closed.index
            or answer.kind != "error"
            or call.cancelled is not None
        ):
            continue
        text = answer.message.message[:500] if isinstance(answer.message, ErrorResponse) else ""
        if "cancel" in text.lower() or _SPEAKS.search(text):
            yield Found(
                answer,
                f"The client's connection ended in row {closed.index}, and the server probably took that for "
                f"a cancellation: {show(text)}. Only notifications/cancelled cancels a request.",
            )


def _left_without_cancelling(connection: Connection) -> Iterator[Found]:
    if not connection.is_http:
        return
    # After the last resumption nobody came back for anything.
    resumed = max(
        (
            exchange.request.index
            for exchange in connection.exchanges
            if exchange.request is not None and exchange.http_method == "GET" and is_resumption(exchange)
        ),
        default=-1,
    )
    for exchange in connection.exchanges:
        item, closed = first_of(exchange), exchange.closed
        if item is None or closed is None or item.era != "legacy" or closed.sender != "client":
            continue
        # Only the end of the session tells that the client is not about to come back.
        ending = (
            None if item.session is None or item.session.deleted is None else item.session.deleted.request
        )
        if ending is None or ending.index < closed.index or resumed > closed.index:
            continue
        left = [call for call in exchange.calls if call.answer is None and call.cancelled is None]
        if left:
            yield Found(
                closed,
                f"The client closed the stream of {show(left[0].request.id)} and never came back for the "
                "response. To cancel a request it should send notifications/cancelled: a closed connection "
                "does not say so.",
            )


def _after_the_end(exchange: Exchange) -> Iterator[Found]:
    first, closed = first_of(exchange), exchange.closed
    if first is None or closed is None or first.era != "modern" or closed.sender != "client":
        return
    for call in exchange.calls:
        # The response is for another rule: about that the pages differ.
        for item in call.notifications:
            if item.sender == "server" and is_later_by(_LINGERS_MS, closed, item) and not item.disturbed:
                yield Found(
                    item,
                    f"The server still sends messages for the request {show(call.request.id)}, whose stream "
                    f"the client had closed (row {closed.index}); that is its cancellation.",
                    hint="Stop the work when the connection of a request ends.",
                )
                break


_RECEIVING: Final = f"{MODERN_PAGE}#receiving-messages"
_POST: Final = SENDING["legacy"]
_BOTH: Final[Mapping[Era, str]] = {"modern": _RECEIVING, "legacy": _POST}

HTTP_STREAMS: Final[tuple[Rule, ...]] = (
    Rule(
        "http-stream-is-about-its-request",
        MUST,
        "server",
        MODERN,
        {"modern": _RECEIVING},
        "The notifications in the stream of a request are about that request.",
        on=notifications(needs=("http",)),
        check=_unrelated,
    ),
    Rule(
        "http-stream-is-about-its-request-legacy",
        SHOULD,
        "server",
        LEGACY,
        {"legacy": _POST},
        "The messages in the stream of a request are about that request.",
        on=notifications(PROGRESS, needs=("http",)),
        check=_unrelated_legacy,
    ),
    Rule(
        "http-response-ends-the-stream",
        SHOULD,
        "server",
        ALL,
        _BOTH,
        "The final response ends the stream.",
        on=each(Exchange),
        check=_goes_on,
    ),
    Rule(
        "http-closed-stream-is-silent",
        MUST,
        "server",
        MODERN,
        {"modern": f"{MODERN_PAGE}#cancellation"},
        "When the client has closed the stream of a request, nothing more is sent for it.",
        on=each(Exchange),
        check=_after_the_end,
    ),
    Rule(
        "http-stream-is-not-buffered",
        SHOULD,
        "server",
        MODERN,
        {"modern": _RECEIVING},
        "A stream has the header X-Accel-Buffering: no.",
        on=each(Exchange),
        check=_buffered,
    ),
    Rule(
        "http-stream-is-primed",
        SHOULD,
        "server",
        POLLED_STREAM_REVISIONS,
        {"legacy": _POST},
        "A stream begins with an event that has an id and empty data.",
        on=each(Exchange),
        check=_not_primed,
    ),
    Rule(
        "http-stream-brings-the-response",
        SHOULD,
        "server",
        LEGACY,
        {"legacy": _POST},
        "The stream of a request brings its response before it ends.",
        on=each(Exchange),
        check=_without_response,
    ),
    Rule(
        "http-disconnection-is-no-cancellation",
        SHOULD,
        "server",
        LEGACY,
        {"legacy": _POST},
        "That a connection ends does not cancel the request.",
        on=each(Exchange),
        check=_taken_for_cancellation,
    ),
    Rule(
        "http-cancellation-is-said",
        SHOULD,
        "client",
        LEGACY,
        {"legacy": _POST},
        "A client cancels a request with notifications/cancelled, and not by leaving.",
        on=each(Connection, needs=("http", "event")),
        check=_left_without_cancelling,
    ),
)
