"""The short name of a step: what it is, and the part that tells it from others of its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from mcpsim.errors import ERROR_CODES, MalformedMessage
from mcpsim.messages import Batch, ErrorResponse, Notification, Request, Response, describe
from mcpsim.recording import Head, events
from mcpsim.recording.interchange import CUT
from mcpsim.widgets.facts import event_name
from mcpsim.widgets.narration_questions import question_label
from mcpsim.widgets.reading import Conversation, Reading
from mcpsim.widgets.steps import Step
from mcpsim.widgets.text import compact_text, decoded, one_line

GIST: Final = 120
NOTE: Final = 400


_SHORT: Final[Mapping[str, str]] = {
    "subscriptions/listen": "listen",
    "resources/templates/list": "templates/list",
    "resources/subscribe": "subscribe",
    "resources/unsubscribe": "unsubscribe",
    "completion/complete": "complete",
    "sampling/createMessage": "createMessage",
    "elicitation/create": "elicitation",
    "notifications/subscriptions/acknowledged": "acknowledged",
}


def kind_of(step: Step, conversation: Conversation) -> str:
    """The kind of a step, one of those that `player_data` names."""
    if step.frame is not None:
        return conversation.readings[step.frame.number].kind
    if step.question is not None and step.event.kind != events.HANDLER_CANCELLED:
        return "question" if step.event.kind == events.HANDLER_STARTED else "answer"
    return {events.NOTE: "note", events.CLOSED: "closed"}.get(step.event.kind, "handler")


def label_of(step: Step, reading: Reading | None) -> tuple[str, str]:
    """What a step is, and the part of it that tells it from others of its kind."""
    detail = step.event.detail or {}
    frame = step.frame
    if step.question is not None:
        label, gist = question_label(step, step.question)
        return label, one_line(gist, GIST)
    if frame is None:
        if step.event.kind == events.NOTE:
            return one_line(_plainly(str(detail.get("text", ""))), NOTE), ""
        if step.event.kind == events.CLOSED:
            how = str(detail.get("how", ""))
            if how == CUT:
                # Nobody closes it: it breaks.
                return "the connection is cut", ""
            return f"closes {event_name(step.event)}", "" if how in ("closed", "aborted") else one_line(
                how, 60
            )
        id = detail.get("id")
        number = f" #{compact_text(id)}" if isinstance(id, str | int) else ""
        return "stops the work", one_line(f"{detail.get('name', '')}{number}", 60)
    message = frame.parsed
    head = _head_label(frame.head)
    if frame.channel:
        return one_line(frame.channel, 20), one_line(decoded(frame.body), GIST)
    if message is None:
        return head or ("event without a message" if frame.is_http else "an empty line"), ""
    if isinstance(message, MalformedMessage):
        return "not a message", one_line(decoded(frame.body), GIST)
    if isinstance(message, Batch):
        return f"a batch of {len(message.members)}", ""
    label = describe(message)
    if isinstance(message, ErrorResponse) and message.code in ERROR_CODES:
        label = f"{label} {ERROR_CODES[message.code].name}"
    elif isinstance(message, Response) and reading is not None and reading.call is not None:
        label = f"{label} {one_line(reading.call.request.method, 60)}"
    return one_line(f"{_failed(frame.head)}{label}", GIST), _gist(message)


def short_of(step: Step, label: str) -> str:
    """The label for where there is little room: the id and the kind stay, the rest goes."""
    message = step.frame.parsed if step.frame is not None and not step.frame.channel else None
    if isinstance(message, Request | Notification):
        given = describe(message)
        method = _SHORT.get(message.method, message.method.removeprefix("notifications/"))
        return one_line(given.replace(message.method, method, 1), GIST)
    if step.frame is None or not isinstance(message, Response | ErrorResponse):
        return label
    return one_line(f"{_failed(step.frame.head)}{describe(message)}", GIST)


def _failed(head: Head | None) -> str:
    """The status of HTTP before a message that comes with it, where the request has failed."""
    status = (head or {}).get("status")
    return f"HTTP {status} " if isinstance(status, int) and status >= 400 else ""


def _plainly(text: str) -> str:
    """A label is drawn as it is: it has no type of its own for code."""
    return text.replace("`", "")


def _gist(message: Request | Notification | Response | ErrorResponse) -> str:
    if isinstance(message, ErrorResponse):
        return one_line(_plainly(message.message), GIST)
    body = message.result if isinstance(message, Response) else message.params or {}
    for key, write in _TELLING.items():
        if key in body and (text := write(body)):
            return one_line(text, GIST)
    rest = {key: value for key, value in body.items() if key not in ("_meta", "resultType")}
    return one_line(compact_text(rest), GIST) if rest else ""


def _plain(key: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda body: str(body[key]) if isinstance(body[key], str | int | float) else ""


def _name(body: Mapping[str, Any]) -> str:
    name = str(body["name"]) if isinstance(body["name"], str) else ""
    answers = ", ".join(_object(body.get("inputResponses")))
    return f"{name}, answers {answers}" if answers else name


def _progress(body: Mapping[str, Any]) -> str:
    of = f" of {compact_text(body['total'])}" if "total" in body else ""
    return f"{compact_text(body['progress'])}{of}"


def _result_type(body: Mapping[str, Any]) -> str:
    asked = ", ".join(_object(body.get("inputRequests")))
    found = "" if body["resultType"] == "complete" else str(body["resultType"])
    return f"{found}: {asked}" if asked else found


def _content(body: Mapping[str, Any]) -> str:
    pieces = cast("list[Any]", body["content"]) if isinstance(body["content"], list) else []
    first = cast("dict[str, Any]", pieces[0]) if pieces and isinstance(pieces[0], dict) else {}
    mark = "isError: " if body.get("isError") is True else ""
    return f"{mark}{first.get('text', first.get('type', ''))}"


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _wanted(wanted: Mapping[str, Any]) -> list[str]:
    flags = [key for key, value in wanted.items() if value is True]
    return [*flags, *(str(uri) for uri in _list(wanted.get("resourceSubscriptions")))]


def _contents(body: Mapping[str, Any]) -> str:
    first = _object(next(iter(_list(body["contents"])), None))
    return str(first.get("text", first.get("mimeType", first.get("uri", ""))))


def _count(key: str, noun: str) -> Callable[[Mapping[str, Any]], str]:
    def write(body: Mapping[str, Any]) -> str:
        if not isinstance(body[key], list):
            return ""
        count = len(cast("list[Any]", body[key]))
        more = ", more to come" if body.get("nextCursor") is not None else ""
        return f"{count} {noun}{'' if count == 1 else 's'}{more}"

    return write


# The first key that a body has says what it is about.
_TELLING: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "resultType": _result_type,
    "name": _name,
    "uri": _plain("uri"),
    "cursor": lambda body: f"cursor {compact_text(body['cursor'])}",
    "progress": _progress,
    "requestId": lambda body: f"#{compact_text(body['requestId'])}",
    "protocolVersion": _plain("protocolVersion"),
    "content": _content,
    "tools": _count("tools", "tool"),
    "resources": _count("resources", "resource"),
    "resourceTemplates": _count("resourceTemplates", "template"),
    "prompts": _count("prompts", "prompt"),
    "level": lambda body: ": ".join(
        [str(body["level"]), *([compact_text(body["data"])] if "data" in body else [])]
    ),
    "notifications": lambda body: ", ".join(_wanted(_object(body["notifications"]))),
    "contents": _contents,
    "messages": _count("messages", "message"),
    "completion": lambda body: ", ".join(
        str(one) for one in _list(_object(body["completion"]).get("values"))
    ),
    "argument": lambda body: (
        f"{_object(body['argument']).get('name')}: {_object(body['argument']).get('value')}"
    ),
    "roots": _count("roots", "root"),
    "message": _plain("message"),
    "action": _plain("action"),
}


def _head_label(head: Head | None) -> str:
    if head is None:
        return ""
    if "status" in head:
        return f"HTTP {head['status']}"
    return one_line(f"HTTP {head.get('method', '')}".strip(), 30)
