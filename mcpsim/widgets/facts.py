"""The facts of a message, as words for a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from mcpsim.errors import ERROR_CODES, MalformedMessage
from mcpsim.messages import Batch, ErrorResponse, Notification, Request, Response
from mcpsim.recording import Event, Frame
from mcpsim.widgets.reading import Call, headers_of, params_of
from mcpsim.widgets.situation import Situation
from mcpsim.widgets.text import compact_text, decoded, one_line
from mcpsim.widgets.threads import Place

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
#: The members of a subscription filter that are true or false, in words.
FILTERS: Final[Mapping[str, str]] = {
    "toolsListChanged": "changes of the list of tools",
    "promptsListChanged": "changes of the list of prompts",
    "resourcesListChanged": "changes of the list of resources",
}
_ASKED: Final[Mapping[str, str]] = {
    "elicitation/create": "an answer from the user",
    "sampling/createMessage": "an answer from the model",
    "roots/list": "the list of roots",
}
_ACTIONS: Final[Mapping[str, str]] = {
    "accept": "the user accepted",
    "decline": "the user declined",
    "cancel": "the user dismissed it",
}
_GATEWAY_STATUS: Final[Mapping[int, str]] = {
    400: "it does not let the request through",
    502: "it got no usable answer from a server",
    504: "no answer came in time",
}
_CLOSED_THINGS: Final[Mapping[str, str]] = {
    "exchange": "the response stream",
    "stdin": "standard input",
    "stdout": "standard output",
}


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


class _Facts(dict[str, str]):
    """Facts with "" for what a message should have said and did not."""

    def __missing__(self, key: str) -> str:
        return ""


def party_facts(sender: str, receiver: str) -> dict[str, str]:
    """Who does it, and to whom."""
    name = the(sender)
    capital = name[:1].upper() + name[1:] if name.startswith("the ") else name
    return {"Sender": capital, "sender": name, "receiver": the(receiver) if receiver else "the other side"}


def closed_thing(what: str) -> str:
    """What was closed, within a sentence."""
    return _CLOSED_THINGS.get(what, one_line(what, SHORT))


def message_facts(at: Situation) -> Mapping[str, str]:
    """The facts that the sentence about a frame may name."""
    frame, reading = at.frame, at.reading
    message, call = frame.parsed, reading.call
    about = call.request if call is not None else message
    facts = _Facts(party_facts(frame.sender, frame.receiver))
    if at.behind:
        facts["receiver"] = f"{the(at.behind)}, by way of {the(frame.receiver)},"
    elif at.asker:
        facts["receiver"] = the(at.asker)
    params = params_of(message)
    asked = params_of(about)
    method = about.method if isinstance(about, Request | Notification) else ""
    facts["method"] = f"`{one_line(method, 80)}`"
    facts["target"] = target(call)
    facts["name"] = quote(asked.get("name"), "without a name")
    facts["uri"] = quote(params.get("uri", asked.get("uri")), "without a URI")
    facts["page_url"] = quote(params.get("url"), "without a URL")
    facts["cursor"] = quote(asked.get("cursor"))
    facts["level"] = quote(params.get("level", asked.get("level")))
    facts["action"] = quote(params.get("action"))
    facts["result_type"] = quote(params.get("resultType"))
    facts["text"] = _text(frame)
    facts["count"] = _count(message, method)
    facts["versions"] = _versions(message)
    facts["feature"] = _LISTS.get(method, ("", "", ""))[2]
    facts["wanted"] = _wanted(params.get("notifications"))
    facts["asked"] = _asked(params)
    facts["brought"] = _brought(params, at.place)
    facts["state"] = _state(params, at.place)
    facts["requested"] = quote(asked.get("protocolVersion"), "no version")
    facts["thing"] = _thing(at)
    facts["typed"] = _typed(asked)
    if isinstance(message, Response | ErrorResponse):
        facts["id"] = quote(message.id)
    if isinstance(message, ErrorResponse):
        facts |= _error_facts(message)
    if isinstance(message, Notification):
        facts |= _notification_facts(params, call, frame)
    head = frame.head or {}
    facts["status"] = str(head.get("status", ""))
    facts["meaning"] = _GATEWAY_STATUS.get(head.get("status", 0), "")
    facts["http_method"] = one_line(str(head.get("method", "")), 20)
    facts["event"] = quote(headers_of(head).get("last-event-id"))
    facts["last_event"] = quote(headers_of(at.opening.head if at.opening else None).get("last-event-id"))
    facts["origin"] = quote(headers_of(at.opening.head if at.opening else None).get("origin"))
    return facts


def _thing(at: Situation) -> str:
    """A frame within a sentence, as something that is passed on."""
    frame, call = at.frame, at.reading.call
    head = frame.head or {}
    match frame.parsed:
        case Request():
            return target(call)
        case Notification(method=method):
            return f"`{one_line(method, 80)}`"
        case Response(result=result):
            kind = (
                "the `input_required` result"
                if result.get("resultType") == "input_required"
                else "the result"
            )
            return f"{kind} of {target(call)}" if call else kind
        case ErrorResponse(code=code):
            given = head.get("status", 0)
            status = f" with the HTTP status {given}" if given >= 400 else ""
            return f"the error {compact_text(code)}{f' to {target(call)}' if call else ''}{status}"
        case None if "method" in head:
            return f"the HTTP {one_line(str(head['method']), 20)}"
        case None if "status" in head:
            return f"the status {head['status']}"
        case None if frame.is_http:
            return "a piece of the stream without a message"
        case _:
            return "what came"


def _typed(asked: Mapping[str, Any]) -> str:
    argument = asked.get("argument")
    if not isinstance(argument, dict):
        return "what the user has typed so far"
    given = cast("dict[str, Any]", argument)
    return f"{quote(given.get('value'))}, typed so far for {quote(given.get('name'))}"


def _error_facts(message: ErrorResponse) -> dict[str, str]:
    given: Any = message.data
    data = cast("dict[str, Any]", given) if isinstance(given, dict) else dict[str, Any]()
    row = ERROR_CODES.get(message.code)
    return {
        "code": f"{compact_text(message.code)}{f' ({row.name})' if row else ''}",
        "requested": quote(data.get("requested"), "that was asked for"),
        "versions": _join(data.get("supported")) or "others, which it does not name",
    }


def _notification_facts(params: Mapping[str, Any], call: Call | None, frame: Frame) -> dict[str, str]:
    progress, total = params.get("progress"), params.get("total")
    reached = one_line(compact_text(progress), 30) if progress is not None else "without a value"
    if total is not None:
        reached = f"{reached} of {one_line(compact_text(total), 30)}"
    reason = params.get("reason")
    id = params.get("requestId")
    over = call is not None and call.ended is not None and call.ended < frame.index
    return {
        "on": f" on {target(call)}" if call else "",
        "progress": reached,
        "reason": f": {quote(reason)}" if reason is not None else "",
        "target": target(call) if call else f"the request #{quote(id)}, which was not sent here",
        "over": ", which is over already" if over else "",
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
    parts = [text for key, text in FILTERS.items() if wanted.get(key) is True]
    uris = wanted.get("resourceSubscriptions")
    if isinstance(uris, list) and uris:
        parts.append(_number(len(cast("list[Any]", uris)), "resource"))
    return _and(parts) or "nothing"


def _asked(params: Mapping[str, Any]) -> str:
    """What an `input_required` result asks for."""
    found = params.get("inputRequests")
    if not isinstance(found, dict) or not found:
        return ""
    members = cast("dict[str, Any]", found)
    return f": {_and(list(dict.fromkeys(_question(member) for member in members.values()))[:4])}"


def _question(member: Any) -> str:
    method = _method(member)
    params: Any = cast("dict[str, Any]", member).get("params") if isinstance(member, dict) else None
    mode = cast("dict[str, Any]", params).get("mode") if isinstance(params, dict) else None
    if method == "elicitation/create" and mode == "url":
        return "that the user visits a page"
    return _ASKED.get(str(method), quote(method))


def _brought(params: Mapping[str, Any], place: Place | None) -> str:
    """The answers of a retry, and how they fit what was asked for."""
    found = params.get("inputResponses")
    if not isinstance(found, dict):
        return ""
    answers = cast("dict[str, Any]", found)
    before = place.before if place is not None else None
    wanted: Any = before.get("inputRequests") if before is not None else None
    known = cast("dict[str, Any]", wanted) if isinstance(wanted, dict) else dict[str, Any]()
    shown = [
        f"{quote(key)}{_said(answer, before is None or key in known)}"
        for key, answer in list(answers.items())[:4]
    ]
    missing = [quote(key) for key in known if key not in answers]
    left = f". There is no answer for {_and(missing[:4])}" if missing else ""
    return f"{': ' if shown else ''}{_and(shown)}{left}"


def _said(answer: Any, wanted: bool) -> str:
    action: Any = cast("dict[str, Any]", answer).get("action") if isinstance(answer, dict) else None
    words = [_ACTIONS[action]] if isinstance(action, str) and action in _ACTIONS else []
    if not wanted:
        words.append("nobody asked for it")
    return f" ({', '.join(words)})" if words else ""


def _state(params: Mapping[str, Any], place: Place | None) -> str:
    """How the request state of a retry relates to the one that came."""
    if place is None or place.before is None or place.exact:
        return ""
    given = "requestState" in place.before
    if "requestState" not in params:
        return " It does not bring the `requestState` back."
    if not given:
        return " It brings a `requestState`, though none came."
    return " Its `requestState` is not the one that came."


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
