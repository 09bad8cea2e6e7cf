"""One plain sentence for each step: what just happened, and which rule is at work.

The sentences are rows of two tables, one an era. This module finds the row and fills in the facts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from mcpsim.eras.pages import LEGACY, MODERN, SPECIFICATION, spec_url
from mcpsim.eras.revisions import BATCHING_REVISIONS, era_of
from mcpsim.errors import ERROR_CODES, METHOD_NOT_FOUND, MalformedMessage
from mcpsim.messages import (
    CLIENT_CAPABILITIES,
    PROGRESS_TOKEN,
    PROTOCOL_VERSION,
    Batch,
    ErrorResponse,
    Notification,
    Request,
    Response,
    from_object,
    meta_of,
)
from mcpsim.recording import Event, Frame, Recording, events
from mcpsim.widgets import narration_legacy, narration_modern
from mcpsim.widgets.narration_modern import Line
from mcpsim.widgets.reading import (
    BATCH,
    CANCELLED,
    HTTP,
    MALFORMED,
    STDERR,
    Call,
    Conversation,
    Reading,
    headers_of,
    is_event_stream,
    params_of,
)
from mcpsim.widgets.steps import Step, Steps
from mcpsim.widgets.text import compact_text, decoded, one_line

LINES: Final[Mapping[str, Mapping[str, Line]]] = {
    MODERN: narration_modern.LINES,
    LEGACY: narration_legacy.LINES,
}
SHORT: Final = 90
NO_VERSION: Final = "(it names none)"

#: Names that are common nouns in a sentence: "the client".
_NOUNS: Final = frozenset({"client", "server", "host", "user", "gateway", "proxy", "model"})
_LISTS: Final[Mapping[str, tuple[str, str, str]]] = {
    "tools/list": ("tools", "tool", "tools"),
    "resources/list": ("resources", "resource", "resources"),
    "resources/templates/list": ("resourceTemplates", "resource template", "resources"),
    "prompts/list": ("prompts", "prompt", "prompts"),
}
_FILTERS: Final[Mapping[str, str]] = {
    "toolsListChanged": "changes of the list of tools",
    "promptsListChanged": "changes of the list of prompts",
    "resourcesListChanged": "changes of the list of resources",
}
_ASKED: Final[Mapping[str, str]] = {
    "elicitation/create": "an answer from the user",
    "sampling/createMessage": "an answer from the model",
    "roots/list": "the list of roots",
}
_CLOSED_THINGS: Final[Mapping[str, str]] = {
    "exchange": "the response stream",
    "stdin": "standard input",
    "stdout": "standard output",
}


class Narration(NamedTuple):
    """What the player says at a step. `rule` and `url` are "" where no rule is at work."""

    what: str
    rule: str
    url: str


class Narrator:
    """Tells the steps of one recording.

    Args:
        conversation: the recording as it was read.
        steps: its steps, for the numbers in sentences such as "a copy of step 3".
    """

    def __init__(self, recording: Recording, conversation: Conversation, steps: Steps) -> None:
        self._conversation = conversation
        self._step_of_frame = {step.frame.number: step.number for step in steps.all if step.frame}
        self._stdin_closed = {
            event.connection: index
            for index, event in reversed(tuple(enumerate(recording.events)))
            if event.kind == events.CLOSED and (event.detail or {}).get("what") == "stdin"
        }

    def tell(self, step: Step) -> Narration:
        """The sentence and the rule of one step."""
        if step.frame is not None:
            return self._frame(step.frame, self._conversation.readings[step.frame.number])
        if step.event.kind == events.NOTE:
            text = str((step.event.detail or {}).get("text", ""))
            return Narration(f"Note by {the(step.event.party)}: {one_line(text, 400)}", "", "")
        if step.event.kind == events.CLOSED:
            return self._closed(step)
        era = self._conversation.eras.get(step.event.connection, MODERN)
        facts = _party_facts(step.event.party, step.event.peer)
        facts["name"] = quote((step.event.detail or {}).get("name"), "a request")
        return _narration(era, ("handler cancelled",), facts)

    def _frame(self, frame: Frame, reading: Reading) -> Narration:
        facts = _party_facts(frame.sender, frame.receiver)
        facts |= _message_facts(frame, reading)
        opening = self._conversation.openings.get(frame.exchange)
        told = _narration(_rules_of(frame, reading), _keys(frame, reading, opening), facts)
        more = "".join(self._fate(frame, reading))
        if frame.fate == "dropped" and frame.parsed is not None:
            waits = isinstance(frame.parsed, Request | Response | ErrorResponse)
            line = LINES[reading.era]["lost request" if waits else "lost notification"]
            return Narration(told.what + more, line.rule, url_of(reading.era, line))
        return told._replace(what=told.what + more)

    def _fate(self, frame: Frame, reading: Reading) -> Iterator[str]:
        token = meta_of(params_of(frame.parsed)).get(PROGRESS_TOKEN)
        if isinstance(frame.parsed, Request) and token is not None:
            yield f" It wants progress reports under the token {quote(token)}."
        if frame.copy_of:
            original = self._step_of_frame.get(frame.copy_of)
            which = f"step {original}" if original else "an earlier message"
            yield f" This is a copy of {which}: a fault sent it twice."
        if frame.arrived_data != frame.data:
            yield " A fault changes it on the way: look at the raw bytes."
        if frame.fate == "dropped":
            yield f" It is lost on the way{f': {one_line(frame.why, SHORT)}' if frame.why else ''}."
        elif frame.fate == "in flight":
            yield " It has not arrived when the recording ends."

    def _closed(self, step: Step) -> Narration:
        event = step.event
        detail = event.detail or {}
        what, how = str(detail.get("what", "")), str(detail.get("how", ""))
        call = self._conversation.closings.get(step.index)
        era = call.era if call else self._conversation.eras.get(event.connection, MODERN)
        facts = _party_facts(event.party, event.peer)
        facts["what"] = _CLOSED_THINGS.get(what, one_line(what, SHORT))
        facts["target"] = target(call)
        streams = self._conversation.streams
        streaming = event.exchange in streams and streams[event.exchange] < step.index
        facts["stream"] = "the response stream" if streaming else "the HTTP exchange"
        facts["reason"] = f" ({one_line(how, SHORT)})" if how and how not in ("closed", "aborted") else ""
        if what == "stdout" and self._stdin_closed.get(event.connection, step.index) < step.index:
            return _narration(era, ("closed stdout at shutdown",), facts)
        if what != "exchange":
            return _narration(era, (f"closed {what}", "closed"), facts)
        # Who answers and then closes has ended the stream in order, though both are still on their way.
        told = call is not None and event.party != call.sender and call.answers > 0
        waiting = call is not None and call.ended is None and not told
        if waiting and how == "timed out":
            return _narration(era, ("closed exchange timeout",), facts)
        if waiting and call is not None:
            side = "client" if event.party == call.sender else "server"
            return _narration(era, (f"closed exchange by {side}",), facts)
        return _narration(era, ("closed exchange" if streaming else "closed exchange without stream",), facts)


def the(party: str) -> str:
    """A party's name within a sentence: "the client", or a name as it is."""
    shown = one_line(party, 40)
    return f"the {shown}" if shown.split(" ")[0] in _NOUNS else shown or "someone"


def quote(value: Any, otherwise: str = "(none)") -> str:
    """A value from the wire within a sentence."""
    if isinstance(value, str):
        return f"“{one_line(value, SHORT)}”"
    return otherwise if value is None else one_line(compact_text(value), SHORT)


def target(call: Call | None) -> str:
    """A request within a sentence: "`tools/call` #1"."""
    if call is None:
        return "a request that is not known here"
    id = call.request.id
    return f"`{one_line(call.request.method, 60)}` #{one_line(compact_text(id), 40)}"


def url_of(era: str, line: Line) -> str:
    """The address of the page where the rule of a line stands."""
    return f"{SPECIFICATION}/{line.revision}/{line.page}" if line.revision else spec_url(era, line.page)


def _narration(era: str, keys: tuple[str, ...], facts: Mapping[str, str]) -> Narration:
    lines = LINES[era]
    line = next(lines[key] for key in keys if key in lines)
    return Narration(line.what.format_map(facts).rstrip(), line.rule.format_map(facts), url_of(era, line))


def _party_facts(sender: str, receiver: str) -> dict[str, str]:
    name = the(sender)
    capital = name[:1].upper() + name[1:] if name.startswith("the ") else name
    return {"Sender": capital, "sender": name, "receiver": the(receiver) if receiver else "the other side"}


def _rules_of(frame: Frame, reading: Reading) -> str:
    """The era whose rules are at work: the message's, except where a modern server refuses a handshake."""
    message, call = frame.parsed, reading.call
    if isinstance(message, ErrorResponse) and call is not None and call.request.method == "initialize":
        row = ERROR_CODES.get(message.code)
        if message.code == METHOD_NOT_FOUND or (row is not None and row.eras == (MODERN,)):
            return MODERN
    return reading.era


def _keys(frame: Frame, reading: Reading, opening: Frame | None) -> tuple[str, ...]:
    message = frame.parsed
    match message:
        case Request():
            return tuple(_request_keys(message, reading))
        case Notification():
            return tuple(_notification_keys(frame, message, reading))
        case Response():
            return tuple(_response_keys(message, reading))
        case ErrorResponse():
            return tuple(_error_keys(frame, message, reading))
        case _:
            return tuple(_wire_keys(frame, reading, opening))


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
    if modern and _is_retry(request):
        yield "request retry"
    if params.get("cursor") is not None:
        yield "request page"
    yield known
    yield "request"


def _has_metadata(request: Request) -> bool:
    meta = meta_of(request.params)
    return PROTOCOL_VERSION in meta and CLIENT_CAPABILITIES in meta


def _is_retry(request: Request) -> bool:
    params = request.params or {}
    return "inputResponses" in params or "requestState" in params


def _notification_keys(frame: Frame, message: Notification, reading: Reading) -> Iterator[str]:
    known = f"notification {message.method}"
    if message.method == "notifications/cancelled":
        call = reading.call
        if reading.from_server:
            subscription = call is not None and call.request.method == "subscriptions/listen"
            yield f"{known} from server" if subscription else f"{known} misused"
        elif frame.is_http:
            yield f"{known} http"
        if call is not None and call.sender == frame.sender:
            yield f"{known} {call.request.method}"
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
            yield "response input_required"
        elif kind != "complete":
            yield "response unknown type"
    method = call.request.method
    if method in _LISTS:
        yield "response page" if result.get("nextCursor") is not None else "response list"
    if method == "tools/call" and result.get("isError") is True:
        yield "response tool error"
    if method == "initialize" and result.get("protocolVersion") != params_of(call.request).get(
        "protocolVersion"
    ):
        yield "response initialize counter"
    if method == "ping" and result.keys() - {"_meta"}:
        yield "response ping with members"
    if method == "server/discover" and _is_all_legacy(result.get("supportedVersions")):
        yield "response server/discover legacy"
    yield f"response {method}"
    yield "response"


def _is_all_legacy(versions: Any) -> bool:
    if not isinstance(versions, list) or not versions:
        return False
    return all(
        isinstance(version, str) and era_of(version) == LEGACY for version in cast("list[Any]", versions)
    )


def _error_keys(frame: Frame, message: ErrorResponse, reading: Reading) -> Iterator[str]:
    call = reading.call
    method = call.request.method if call else ""
    if call is not None and reading.late and call.outcome == CANCELLED:
        yield "error cancelled"
    if method == "initialize" and (_rules_of(frame, reading) == MODERN or _is_about_versions(message)):
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
    elif reading.era == MODERN and _is_retry(call.request):
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
        yield "http GET stream" if is_event_stream(head) else "http GET answered"
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


class _Facts(dict[str, str]):
    """Facts with "" for what a message should have said and did not."""

    def __missing__(self, key: str) -> str:
        return ""


def _message_facts(frame: Frame, reading: Reading) -> dict[str, str]:
    message, call = frame.parsed, reading.call
    about = call.request if call is not None else message
    facts = _Facts()
    params = params_of(message)
    asked = params_of(about)
    method = about.method if isinstance(about, Request | Notification) else ""
    facts["method"] = f"`{one_line(method, 80)}`"
    facts["target"] = target(call)
    facts["name"] = quote(asked.get("name"), "without a name")
    facts["uri"] = quote(params.get("uri", asked.get("uri")), "without a URI")
    facts["cursor"] = quote(asked.get("cursor"))
    facts["level"] = quote(params.get("level"))
    facts["action"] = quote(params.get("action"))
    facts["result_type"] = quote(params.get("resultType"))
    facts["text"] = _text(frame)
    facts["count"] = _count(message, method)
    facts["versions"] = _versions(message)
    facts["feature"] = _LISTS.get(method, ("", "", ""))[2]
    facts["wanted"] = _wanted(params.get("notifications"))
    facts["answers"] = _answers(params)
    facts["requested"] = quote(asked.get("protocolVersion"), "no version")
    if isinstance(message, Response | ErrorResponse):
        facts["id"] = quote(message.id)
    if isinstance(message, ErrorResponse):
        facts |= _error_facts(message)
    if isinstance(message, Notification):
        facts |= _notification_facts(params, call)
    head = frame.head or {}
    facts["status"] = str(head.get("status", ""))
    facts["http_method"] = one_line(str(head.get("method", "")), 20)
    facts["event"] = quote(headers_of(head).get("last-event-id"))
    return facts


def _error_facts(message: ErrorResponse) -> dict[str, str]:
    given: Any = message.data
    data = cast("dict[str, Any]", given) if isinstance(given, dict) else dict[str, Any]()
    row = ERROR_CODES.get(message.code)
    return {
        "code": f"{compact_text(message.code)}{f' ({row.name})' if row else ''}",
        "requested": quote(data.get("requested"), "that was asked for"),
        "versions": _join(data.get("supported")) or "others, which it does not name",
    }


def _notification_facts(params: Mapping[str, Any], call: Call | None) -> dict[str, str]:
    progress, total = params.get("progress"), params.get("total")
    reached = one_line(compact_text(progress), 30) if progress is not None else "without a value"
    if total is not None:
        reached = f"{reached} of {one_line(compact_text(total), 30)}"
    reason = params.get("reason")
    id = params.get("requestId")
    return {
        "on": f" on {target(call)}" if call else "",
        "progress": reached,
        "reason": f": {quote(reason)}" if reason is not None else "",
        "target": target(call) if call else f"the request #{quote(id)}, which is not open here",
    }


def _text(frame: Frame) -> str:
    match frame.parsed:
        case ErrorResponse(message=text):
            return one_line(text, SHORT).rstrip(". ")
        case MalformedMessage(message=text):
            return one_line(text, 200)
        case Request(params=params) | Notification(params=params):
            params = params or {}
            said = params.get("message", params.get("data"))
            if said is None:
                return ""
            progress = "progress" in params
            return f", {quote(said)}" if progress else quote(said)
        case _:
            return quote(decoded(frame.body)) if frame.channel else ""


def _count(message: object, method: str) -> str:
    if isinstance(message, Batch):
        return _number(len(message.members), "message")
    params = params_of(message)
    if method == "completion/complete":
        completion = params.get("completion")
        values = cast("dict[str, Any]", completion).get("values") if isinstance(completion, dict) else None
        return _number(len(cast("list[Any]", values)) if isinstance(values, list) else 0, "value")
    key, noun, _ = _LISTS.get(method, ("", "item", ""))
    found = params.get(key)
    if not isinstance(found, list):
        return f"no list of {noun}s"
    return _number(len(cast("list[Any]", found)), noun)


def _number(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def _versions(message: object) -> str:
    params = params_of(message)
    return _join(params.get("supportedVersions")) or quote(params.get("protocolVersion"), NO_VERSION)


def _join(value: Any) -> str:
    if not isinstance(value, list) or not value:
        return ""
    return one_line(", ".join(str(item) for item in cast("list[Any]", value)[:8]), SHORT)


def _wanted(value: Any) -> str:
    if not isinstance(value, dict):
        return "nothing in particular"
    wanted = cast("dict[str, Any]", value)
    parts = [text for key, text in _FILTERS.items() if wanted.get(key) is True]
    uris = wanted.get("resourceSubscriptions")
    if isinstance(uris, list) and uris:
        parts.append(_number(len(cast("list[Any]", uris)), "resource"))
    return _and(parts) or "nothing"


def _answers(params: Mapping[str, Any]) -> str:
    found = params.get("inputRequests", params.get("inputResponses"))
    if not isinstance(found, dict) or not found:
        return ""
    members = cast("dict[str, Any]", found)
    if "inputRequests" in params:
        asked = [_ASKED.get(str(_method(member)), quote(_method(member))) for member in members.values()]
        return f": {_and(list(dict.fromkeys(asked))[:4])}"
    return f": {_and([quote(key) for key in list(members)[:4]])}"


def _method(member: Any) -> Any:
    return cast("dict[str, Any]", member).get("method") if isinstance(member, dict) else None


def _and(parts: list[str]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def event_name(event: Event) -> str:
    """What a `closed` event is called in a label."""
    what = str((event.detail or {}).get("what", ""))
    return _CLOSED_THINGS.get(what, one_line(what, 40))
