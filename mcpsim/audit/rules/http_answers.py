"""What a server answers over HTTP: types, bodies, status codes; and whose requests it takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from mcpsim.audit.model import Call, Connection, Exchange, Item
from mcpsim.audit.rule import ALL, MODERN, MUST, NOTE, Found, Rule, each
from mcpsim.audit.rules.http_common import (
    BODIES,
    HTTP_REVISIONS,
    LEGACY_PAGE,
    MODERN_PAGE,
    about_sending,
    answered,
    first_of,
    is_success,
    media_type,
    shows_head,
    speaks_modern,
)
from mcpsim.eras.revisions import ORIGIN_IS_403_REVISIONS, Era
from mcpsim.errors import HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION
from mcpsim.recording.interchange import INTERMEDIARIES
from mcpsim.recording.words import show
from mcpsim.transports.http import EVENT_STREAM_TYPE, JSON_TYPE, origin_allowed

METHOD_NOT_ALLOWED: Final = 405
ACCEPTED: Final = 202


def _post_refused(connection: Connection) -> Iterator[Found]:
    served = False
    for exchange in connection.exchanges:
        first, answer = first_of(exchange), answered(exchange)
        if first is None or answer is None or exchange.http_method != "POST":
            continue
        if exchange.status == METHOD_NOT_ALLOWED and served:
            yield Found(
                answer,
                "The server answered a POST with 405 after it had served others; its MCP endpoint must "
                "support POST.",
            )
        served = served or (is_success(exchange.status) and any(one.result for one in exchange.answers))


def _needs_no_answer(item: Item) -> bool:
    if item.kind == "notification":
        return True
    return item.era == "legacy" and item.kind in ("response", "error")


def _notification_status(exchange: Exchange) -> Iterator[Found]:
    item, answer = first_of(exchange), answered(exchange)
    if item is None or answer is None or exchange.http_method != "POST" or not _needs_no_answer(item):
        return
    if not is_success(exchange.status):
        return
    if exchange.status != ACCEPTED:
        yield Found(
            answer,
            f"The server answered a {item.kind} with {exchange.status}; what it accepts it answers with 202 "
            "Accepted, what it cannot accept with an HTTP error.",
        )


def _accepted_with_body(exchange: Exchange) -> Iterator[Found]:
    item = first_of(exchange)
    if item is None or exchange.status != ACCEPTED or not _needs_no_answer(item):
        return
    body = next((one for one in exchange.answers if one.kind in BODIES), None)
    if body is not None:
        yield Found(body, f"The 202 for a {item.kind} has a body; it must have none.")


def _is_given_up(call: Call, answer: Item) -> bool:
    cancelled = call.cancelled
    return call.answer is None and cancelled is not None and cancelled.index < answer.index


def _answer_type(exchange: Exchange) -> Iterator[Found]:
    item, answer = first_of(exchange), answered(exchange)
    if item is None or answer is None or not exchange.calls or exchange.http_method != "POST":
        return
    if item.era == "legacy" and all(_is_given_up(call, answer) for call in exchange.calls):
        # A request that was cancelled gets no response, and how its exchange ends then is not said.
        return
    status = exchange.status
    if status in (ACCEPTED, 204, 205):
        yield Found(
            answer,
            f"The server answered a request with {status}; it must return {JSON_TYPE} or {EVENT_STREAM_TYPE} "
            "with the response.",
        )
        return
    value = exchange.response_headers.get("Content-Type")
    if not shows_head(answer) or media_type(value) in (JSON_TYPE, EVENT_STREAM_TYPE):
        return
    if is_success(status) and value is None:
        yield Found(
            answer, f"The response has no Content-Type; it must be {JSON_TYPE} or {EVENT_STREAM_TYPE}."
        )
    elif value is not None and (is_success(status) or answer.message is not None):
        yield Found(
            answer,
            f"The Content-Type of this response is {show(value)}; it must be {JSON_TYPE} or "
            f"{EVENT_STREAM_TYPE}.",
        )


def _several_bodies(exchange: Exchange) -> Iterator[Found]:
    item = first_of(exchange)
    if item is None or item.kind != "request" or exchange.is_stream:
        return
    array = next((one for one in exchange.answers if one.kind == "batch"), None)
    if array is not None:
        yield Found(array, "The server answered one request with an array; the body must be one JSON object.")
        return
    if media_type(exchange.response_headers.get("Content-Type")) != JSON_TYPE:
        return
    bodies = [one for one in exchange.answers if one.kind in BODIES]
    if len(bodies) > 1:
        yield Found(
            bodies[1],
            f"A response of the type {JSON_TYPE} holds more than one message; it must be one JSON object.",
            hint=f"Send several messages as {EVENT_STREAM_TYPE}.",
        )


def _result_status(exchange: Exchange) -> Iterator[Found]:
    item, status = first_of(exchange), exchange.status
    if item is None or status is None or status < 300:
        return
    for one in exchange.answers:
        if one.kind == "response":
            yield Found(one, f"A result came with the HTTP status {status}; results come with 200.")
            return


# --- Status codes of errors -----------------------------------------------------------------------


def _status_check(code: int, status: int, name: str) -> Callable[[Exchange], Iterator[Found]]:
    def check(exchange: Exchange) -> Iterator[Found]:
        if exchange.status in (None, status) or exchange.era != "modern":
            return
        for one in exchange.answers:
            if one.kind == "error" and one.code == code:
                # Somebody on the way may choose the status of what it refuses, as long as it is an error.
                if one.party in INTERMEDIARIES and (exchange.status or 0) >= 400:
                    return
                yield Found(
                    one, f"{code} ({name}) came with the HTTP status {exchange.status}; it must be {status}."
                )
                return

    return check


#: What a client that speaks both eras asks first, to see whether a server is modern.
PROBE: Final = "server/discover"


#: Who has the list has the other as well.
_WITH_A_LIST: Final[Mapping[str, str]] = {
    "tools/list": "tools/call",
    "prompts/list": "prompts/get",
    "resources/list": "resources/read",
}


def _method_not_found(connection: Connection) -> Iterator[Found]:
    errors = [
        one
        for one in connection.items
        if one.code == METHOD_NOT_FOUND
        and one.sender == "server"
        and one.era == "modern"
        and one.exchange is not None
        and one.exchange.status not in (None, 404)
    ]
    if not errors:
        return
    sure = speaks_modern(connection)
    known = {call.method for call in connection.calls if call.answer is not None and call.answer.result}
    known.update(other for method, other in _WITH_A_LIST.items() if method in known)
    for one in errors:
        # What it serves at other times is not what it lacks: the code means something else here.
        if one.method not in known and one.exchange is not None and (sure or one.method != PROBE):
            yield Found(
                one,
                f"{METHOD_NOT_FOUND} (method not found) came with the HTTP status {one.exchange.status}; it "
                f"must be 404.{'' if sure else ' (A server of an earlier revision may do that.)'}",
                level=None if sure else NOTE,
            )


# --- Origin ---------------------------------------------------------------------------------------

_ORIGIN: Final = re.compile(r"null|[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@,]+")
_LOOPBACK_HOST: Final = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]+)?", re.IGNORECASE)


def _origin(exchange: Exchange) -> Iterator[Found]:
    item, answer = exchange.request, answered(exchange)
    origin = exchange.headers.get("Origin")
    if origin is None or item is None or answer is None or item.revision not in HTTP_REVISIONS:
        return
    if is_success(exchange.status) and not _ORIGIN.fullmatch(origin.strip()):
        # The earlier revisions do not say how it is refused.
        right = (
            "answer 403" if item.revision in ORIGIN_IS_403_REVISIONS else "validate it and refuse the request"
        )
        yield Found(
            answer,
            f"The server took a request whose Origin is {show(origin)}, which is no origin; it must {right}.",
        )


def _foreign_origin(exchange: Exchange) -> Iterator[Found]:
    item, answer = exchange.request, answered(exchange)
    origin = exchange.headers.get("Origin")
    if origin is None or item is None or answer is None or not is_success(exchange.status):
        return
    if not _ORIGIN.fullmatch(origin.strip()) or origin_allowed(exchange.headers):
        return
    if _LOOPBACK_HOST.fullmatch((exchange.headers.get("Host") or "").strip()):
        yield Found(
            answer,
            f"A server on this machine took a request of a page from {show(origin)}; is that page allowed?",
            hint="A server on localhost should take requests of known pages only, against DNS rebinding.",
        )


_ORIGIN_PAGES: Final[Mapping[Era, str]] = {
    "modern": f"{MODERN_PAGE}#security-endpoint",
    "legacy": f"{LEGACY_PAGE}#security-warning",
}


def _status(id: str, code: int, status: int, name: str, page: str) -> Rule:
    sentence = f"On HTTP the error {code} ({name}) comes with the status {status}."
    check = _status_check(code, status, name)
    return Rule(id, MUST, "server", MODERN, {"modern": page}, sentence, on=each(Exchange), check=check)


HTTP_ANSWERS: Final[tuple[Rule, ...]] = (
    Rule(
        "http-endpoint-takes-post",
        MUST,
        "server",
        ALL,
        {"modern": f"{MODERN_PAGE}", "legacy": f"{LEGACY_PAGE}#streamable-http"},
        "The MCP endpoint supports POST.",
        on=each(Connection, needs=("http",)),
        check=_post_refused,
    ),
    about_sending(
        "http-notification-gets-202",
        "server",
        "A notification that is accepted is answered with 202, one that is not with an HTTP error.",
        _notification_status,
    ),
    about_sending(
        "http-202-has-no-body", "server", "The 202 for a notification has no body.", _accepted_with_body
    ),
    about_sending(
        "http-request-gets-json-or-events",
        "server",
        "A request is answered with application/json or with text/event-stream.",
        _answer_type,
    ),
    about_sending(
        "http-json-is-one-object",
        "server",
        "A response of the type application/json is one JSON object.",
        _several_bodies,
    ),
    about_sending("http-result-is-no-http-error", "server", "A result comes with 200.", _result_status, NOTE),
    _status(
        "http-header-mismatch-is-400",
        HEADER_MISMATCH,
        400,
        "header mismatch",
        f"{MODERN_PAGE}#server-validation",
    ),
    _status(
        "http-unsupported-version-is-400",
        UNSUPPORTED_VERSION,
        400,
        "unsupported protocol version",
        f"{MODERN_PAGE}#protocol-version-header",
    ),
    _status(
        "http-missing-capability-is-400",
        MISSING_CLIENT_CAPABILITY,
        400,
        "missing client capability",
        "basic/index#meta",
    ),
    Rule(
        "http-method-not-found-is-404",
        MUST,
        "server",
        MODERN,
        {"modern": f"{MODERN_PAGE}#protocol-version-header"},
        f"On HTTP the error {METHOD_NOT_FOUND} (method not found) comes with the status 404.",
        on=each(Connection, needs=("http",)),
        check=_method_not_found,
    ),
    Rule(
        "http-origin-is-checked",
        MUST,
        "server",
        ALL,
        _ORIGIN_PAGES,
        "A request with an Origin that is not valid is answered with 403.",
        on=each(Exchange),
        check=_origin,
    ),
    Rule(
        "http-local-server-and-foreign-page",
        NOTE,
        "server",
        ALL,
        _ORIGIN_PAGES,
        "A server on the user's machine serves pages of known origins only.",
        on=each(Exchange),
        check=_foreign_origin,
    ),
)
