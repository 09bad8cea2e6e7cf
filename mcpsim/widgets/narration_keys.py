"""Which row of a narration table fits: the most telling one first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, cast

from mcpsim.eras.pages import LEGACY, MODERN
from mcpsim.eras.revisions import BATCHING_REVISIONS, era_of
from mcpsim.errors import ERROR_CODES, METHOD_NOT_FOUND, MalformedMessage
from mcpsim.messages import (
    CLIENT_CAPABILITIES,
    PROTOCOL_VERSION,
    Batch,
    ErrorResponse,
    Notification,
    Request,
    Response,
    from_object,
    meta_of,
)
from mcpsim.recording import Frame
from mcpsim.widgets.reading import (
    BATCH,
    CANCELLED,
    HTTP,
    MALFORMED,
    STDERR,
    Reading,
    headers_of,
    is_event_stream,
    params_of,
)
from mcpsim.widgets.situation import Situation
from mcpsim.widgets.threads import LISTS, is_retry

#: The results that may be kept: their pages are told of at
#: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#cacheable-results
CACHEABLE: Final = LISTS | {"server/discover", "resources/read"}


def rules_of(frame: Frame, reading: Reading) -> str:
    """The era whose rules are at work: the message's, except where a modern server refuses a handshake."""
    message, call = frame.parsed, reading.call
    if isinstance(message, ErrorResponse) and call is not None and call.request.method == "initialize":
        row = ERROR_CODES.get(message.code)
        data: Any = message.data
        names_modern = isinstance(data, dict) and _are_all(MODERN, cast("Any", data).get("supported"))
        if message.code == METHOD_NOT_FOUND or (row is not None and row.eras == (MODERN,)) or names_modern:
            return MODERN
    return reading.era


def keys_of(at: Situation) -> tuple[str, ...]:
    """The rows that fit a frame, the most telling one first; the last of them is in every table."""
    frame, reading = at.frame, at.reading
    message = frame.parsed
    if at.origin is not None:
        return tuple(_passed_on_keys(at))
    if at.own:
        return tuple(_own_keys(at))
    match message:
        case Request():
            return tuple(_request_keys(message, reading))
        case Notification():
            return tuple(_notification_keys(at, message))
        case Response():
            return tuple(_response_keys(message, reading))
        case ErrorResponse():
            return (*_refusal_keys(at), *_error_keys(frame, message, reading))
        case _:
            return tuple(_wire_keys(frame, reading, at.opening))


def _passed_on_keys(at: Situation) -> Iterator[str]:
    frame, reading = at.frame, at.reading
    if not reading.from_server:
        if isinstance(frame.parsed, Request) and frame.parsed.method == "initialize":
            yield "passed on initialize"
        if at.replicas > 1:
            yield "passed on request among replicas"
        yield "passed on request"
    elif isinstance(frame.parsed, Response) and _may_be_kept(frame.parsed, reading):
        if reading.call is not None and is_retry(reading.call.request):
            yield "passed on result of a retry"
        yield "passed on result that may be kept"
    elif frame.parsed is None or isinstance(frame.parsed, Notification):
        yield "passed on piece"
    yield "passed on"


def _may_be_kept(response: Response, reading: Reading) -> bool:
    method = reading.call.request.method if reading.call is not None else ""
    return reading.era == MODERN and method in CACHEABLE and "cacheScope" in response.result


def _own_keys(at: Situation) -> Iterator[str]:
    message = at.frame.parsed
    if isinstance(message, Response):
        if _may_be_kept(message, at.reading):
            if message.result["cacheScope"] != "public":
                yield "own kept private result"
            yield "own kept result"
        yield "own result"
    elif message is None:
        yield "own status"
    yield "own answer"


def _refusal_keys(at: Situation) -> Iterator[str]:
    """Where the status of HTTP says more than the error in the body."""
    status = (at.frame.head or {}).get("status")
    asked = headers_of(at.opening.head if at.opening else None)
    if status == 403 and "origin" in asked:
        yield "error origin"
    if status == 404 and at.reading.era == LEGACY and "mcp-session-id" in asked:
        yield "error session"


def _request_keys(request: Request, reading: Reading) -> Iterator[str]:
    params = request.params or {}
    modern = reading.era == MODERN
    if modern and reading.from_server:
        yield "request from server"
    known = f"request {request.method}"
    if modern and request.method in ("ping", "logging/setLevel", "resources/subscribe"):
        yield known
    if modern and not _has_metadata(request):
        yield "request without metadata"
    if modern and is_retry(request):
        if "inputResponses" not in params:
            yield "request retry with state only"
        yield "request retry"
    if params.get("cursor") is not None:
        yield "request page"
    if params.get("mode") == "url":
        yield f"{known} url"
    yield known
    yield "request"


def _has_metadata(request: Request) -> bool:
    meta = meta_of(request.params)
    return PROTOCOL_VERSION in meta and CLIENT_CAPABILITIES in meta


def _notification_keys(at: Situation, message: Notification) -> Iterator[str]:
    frame, reading = at.frame, at.reading
    known = f"notification {message.method}"
    if message.method == "notifications/cancelled":
        call = reading.call
        if reading.from_server and reading.era == MODERN:
            subscription = call is not None and call.request.method == "subscriptions/listen"
            yield f"{known} from server" if subscription else f"{known} misused"
        elif frame.is_http:
            yield f"{known} http"
        if call is None:
            yield f"{known} of nothing"
        elif call.sender == frame.sender:
            yield f"{known} {call.request.method}"
            if call.ended is not None and call.ended < frame.index:
                yield f"{known} of nothing"
    elif message.method == "notifications/message" and not at.level_set:
        yield f"{known} unasked"
    yield known
    yield "notification"


def _response_keys(message: Response, reading: Reading) -> Iterator[str]:
    call, result = reading.call, message.result
    if reading.era == MODERN and not reading.from_server:
        yield "response from client"
    if call is None:
        yield "response unknown"
        return
    if reading.late:
        yield "response cancelled" if call.outcome == CANCELLED else "response again"
    if reading.era == MODERN:
        kind = result.get("resultType")
        if kind is None:
            yield "response without type"
        elif kind == "input_required":
            if not result.get("inputRequests"):
                yield "response input_required with state only"
            yield "response input_required"
        elif kind != "complete":
            yield "response unknown type"
    method = call.request.method
    if reading.era == MODERN and method == "resources/read" and is_retry(call.request):
        yield "response resources/read retry"
    if method in LISTS:
        yield "response page" if result.get("nextCursor") is not None else "response list"
    if method == "tools/call" and result.get("isError") is True:
        yield "response tool error"
    if method == "initialize" and result.get("protocolVersion") != params_of(call.request).get(
        "protocolVersion"
    ):
        yield "response initialize counter"
    if method == "ping" and result.keys() - {"_meta"}:
        yield "response ping with members"
    if method == "server/discover" and _are_all(LEGACY, result.get("supportedVersions")):
        yield "response server/discover legacy"
    yield f"response {method}"
    yield "response"


def _are_all(era: str, versions: Any) -> bool:
    if not isinstance(versions, list) or not versions:
        return False
    return all(isinstance(version, str) and era_of(version) == era for version in cast("list[Any]", versions))


def _error_keys(frame: Frame, message: ErrorResponse, reading: Reading) -> Iterator[str]:
    call = reading.call
    method = call.request.method if call else ""
    if call is not None and reading.late and call.outcome == CANCELLED:
        yield "error cancelled"
    if method == "initialize" and (rules_of(frame, reading) == MODERN or _is_about_versions(message)):
        yield "error initialize"
    row = ERROR_CODES.get(message.code)
    only_modern = row is not None and row.eras == (MODERN,)
    if call is not None and method == "server/discover" and not only_modern and _has_metadata(call.request):
        yield f"error probe {'http' if frame.is_http else 'stdio'}"
        yield "error probe"
    known = f"error {message.code}"
    if call is None:
        yield f"{known} unknown"
    elif reading.era == MODERN and not _has_metadata(call.request):
        yield f"{known} without metadata"
    elif reading.era == MODERN and is_retry(call.request):
        yield f"{known} retry"
    if call is not None and params_of(call.request).get("cursor") is not None:
        yield f"{known} page"
    if method == "ping":
        yield "error ping"
    yield f"{known} {method}"
    yield known
    if reading.era == MODERN and -32099 <= message.code <= -32020:
        yield "error reserved"
    if reading.era == MODERN and -32019 <= message.code <= -32000:
        yield "error implementation"
    yield "error"


def _is_about_versions(message: ErrorResponse) -> bool:
    data: Any = message.data
    if isinstance(data, dict) and ("supported" in data or "requested" in data):
        return True
    words = message.message.lower()
    return "version" in words and "support" in words


def _wire_keys(frame: Frame, reading: Reading, opening: Frame | None) -> Iterator[str]:
    side = "server" if reading.from_server else "client"
    if reading.kind == STDERR:
        yield "stderr"
    elif reading.kind == BATCH:
        if reading.version in BATCHING_REVISIONS:
            yield "batch agreed"
        if frame.is_http and not reading.from_server:
            yield "batch http"
        elif _is_json_answer(frame):
            yield "batch http from server"
        yield "batch"
    elif reading.kind == MALFORMED:
        if _not_utf8(frame.body):
            yield "malformed encoding"
        if _has_fraction_id(frame.body):
            yield "malformed id"
        yield f"malformed {'http' if frame.is_http else 'stdio'} from {side}"
        yield "malformed"
    elif reading.kind == HTTP:
        yield from _http_keys(frame, reading, opening)


def _is_json_answer(frame: Frame) -> bool:
    head = frame.head
    return head is not None and "status" in head and not is_event_stream(head)


def _http_keys(frame: Frame, reading: Reading, opening: Frame | None) -> Iterator[str]:
    head = frame.head
    if head is None or ("status" not in head and "method" not in head):
        yield "http comment" if _is_comment(frame.data) else "http event"
        return
    if "method" in head:
        if head["method"] == "GET" and "last-event-id" in headers_of(head):
            yield "http GET resume"
        yield f"http {head['method']}"
        yield "http request"
        return
    status = head.get("status", 0)
    asked = opening.head.get("method") if opening is not None and opening.head is not None else "POST"
    if asked == "GET" and status < 400:
        if is_event_stream(head):
            if "last-event-id" in headers_of(opening.head if opening else None):
                yield "http GET stream resumed"
            yield "http GET stream"
        # The modern protocol has no GET stream, so it makes no difference there.
        yield "http GET answered"
    if asked == "DELETE" and 200 <= status < 300:
        yield "http DELETE answered"
    if opening is not None and isinstance(opening.parsed, Notification) and 200 <= status < 300:
        yield "http 202" if status == 202 else "http not 202"
    if status == 202 and opening is not None and asked == "POST" and not _takes_202(opening, reading.era):
        yield "http 202 misplaced"
    if status == 405 and opening is not None and asked == "POST":
        yield "http 405 to POST"
    if status == 404 and "mcp-session-id" not in headers_of(opening.head if opening else None):
        yield "http 404 without session"
    yield f"http {status}"
    if status >= 400:
        yield "http error"
    if is_event_stream(head):
        yield "http stream"
    yield "http response"


def _takes_202(opening: Frame, era: str) -> bool:
    """Whether 202 is the answer to what was posted: notifications, and the responses of a legacy client."""
    posted = opening.parsed
    members = posted.members if isinstance(posted, Batch) else (posted,)
    fit = Notification if era == MODERN else Notification | Response | ErrorResponse
    return all(isinstance(member, fit) for member in members)


def _is_comment(data: bytes) -> bool:
    lines = [line for line in data.splitlines() if line]
    return bool(lines) and all(line.startswith(b":") for line in lines)


def _has_fraction_id(data: bytes) -> bool:
    """Whether this is a message but for its id, which is a whole number written as `1.0` or `1e0`."""
    try:
        value: Any = json.loads(data)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    members = cast("dict[str, Any]", value)
    id = members.get("id")
    if not isinstance(id, float) or not id.is_integer():
        return False
    try:
        from_object({**members, "id": int(id)})
    except MalformedMessage:
        return False
    return True


def _not_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False
