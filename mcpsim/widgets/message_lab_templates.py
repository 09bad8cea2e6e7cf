"""What can be sent next in the message lab: templates, and which of them the protocol allows now. Pure.

The methods come from the table of methods, and whether a legacy message may come now from the table of the
session. Names, addresses, cursors and ids are those of the server that is there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, cast

from mcpsim.eras import legacy
from mcpsim.eras.capabilities import declares
from mcpsim.eras.legacy import Phase
from mcpsim.eras.methods import METHODS, Method
from mcpsim.eras.modern import LOG_LEVELS, is_modern, request_meta
from mcpsim.eras.pages import LEGACY, MODERN, spec_url
from mcpsim.eras.revisions import BATCHING_REVISIONS, VERSION_HEADER_REVISIONS
from mcpsim.errors import FramingError, ParameterHeaderError
from mcpsim.messages import PROGRESS_TOKEN, Message, Request, RequestId
from mcpsim.transports.http import (
    EVENT_STREAM_TYPE,
    JSON_TYPE,
    PROTOCOL_VERSION_HEADER,
    SESSION_ID_HEADER,
    Headers,
    modern_headers,
)
from mcpsim.utilities.parameter_headers import ParameterHeader, annotations, mirrored_arguments
from mcpsim.widgets.message_lab_known import Known, Open, Questioned
from mcpsim.widgets.message_lab_samples import answer_to, sample
from mcpsim.widgets.text import one_line

CLIENT_INFO: Final = {"name": "message-lab", "version": "1.0.0"}
#: What the templates say that this client can do.
CLIENT_CAPABILITIES: Final[Mapping[str, Any]] = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}

NEXT: Final = "What the last answers suggest"
MODERN_GROUP: Final = "Modern protocol: each request by itself"
LEGACY_GROUP: Final = "Legacy protocol: a session"
BROKEN: Final = "Broken on purpose"

ENDPOINT: Final = "/mcp"
#: How many tools have a template of their own.
MAX_TOOLS: Final = 6


@dataclass(frozen=True, slots=True)
class Template:
    """Something to send.

    Attributes:
        key: its name, for programs.
        group: where it stands in the list.
        era: "modern", "legacy", or "" for both.
        label: its name, for people.
        body: the text of the message.
        method: of HTTP.
        headers: of HTTP.
        allowed: whether the protocol allows it now.
        level: "MUST", "SHOULD", or "" where the reason is no rule of the specification.
        reason: why it is not allowed, or what is wrong with it on purpose; "" where there is nothing to say.
        url: where the specification says so, or "".
        hint: what it is good for just now, or "".
    """

    key: str
    group: str
    era: str
    label: str
    body: str
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    allowed: bool = True
    level: str = ""
    reason: str = ""
    url: str = ""
    hint: str = ""


class Verdict(NamedTuple):
    """Whether the protocol allows something now; the attributes are those of `Template`."""

    allowed: bool = True
    level: str = ""
    reason: str = ""
    url: str = ""


YES: Final = Verdict()


def templates(known: Known, era: str = "both") -> tuple[Template, ...]:
    """Everything there is to send, in the order of the list: in each group first what is allowed now.

    A group of which nothing is allowed now comes after the others; what is broken on purpose comes last.

    Args:
        era: "modern" or "legacy" for the templates of one era only; otherwise "both".
    """
    found = (*_suggested(known), *_modern(known), *_legacy(known), *_broken(known))
    offered = [one for one in found if era == "both" or one.era in (era, "")]
    groups = list(dict.fromkeys(one.group for one in offered))
    open_now = {one.group for one in offered if one.allowed}
    groups.sort(key=lambda group: (group == BROKEN, group not in open_now))
    return tuple(sorted(offered, key=lambda one: (groups.index(one.group), not one.allowed)))


# ------------------------------------------------------------------------------------------- modern


def _modern(known: Known) -> Iterator[Template]:
    for row in METHODS:
        if known.modern_version in row.revisions and row.kind == "request" and row.direction != "to_client":
            verdict, hint = modern_verdict(row, known), _hint(row, known)
            if row.name == "tools/call":
                for params in _calls(known):
                    name = _named(row.name, params)
                    key = f"modern {name}"
                    yield _modern_template(known, row.name, params, verdict, label=name, key=key, hint=hint)
                continue
            params = _MODERN_PARAMS.get(row.name, _plain)(known)
            yield _modern_template(known, row.name, params, verdict, hint=hint)
    yield _modern_cancel(known)


def _named(method: str, params: Mapping[str, Any]) -> str:
    return f"{method} {one_line(str(params.get('name')), 60)}"


def modern_verdict(row: Method, known: Known) -> Verdict:
    """Whether a modern request makes sense now. There is no order among them, and no state."""
    if not known.modern_versions:
        url = spec_url(MODERN, "basic/versioning#protocol-version-negotiation")
        return Verdict(False, "", "This server speaks no modern revision.", url)
    if row.declared_by == "server" and not declares(known.modern_declared, row.capability):
        reason = f"This server does not declare `{row.capability}`: it has no such method (-32601)."
        return Verdict(False, "", reason, spec_url(MODERN, "server/discover#discoverresult"))
    return YES


def _hint(row: Method, known: Known) -> str:
    if row.name == "server/discover":
        return "What the server can do. It need not come first."
    source = _SOURCES.get(row.name)
    if source and known.members.get(source) and source not in known.listed:
        return f"The name is from the server's code: `{source}` was not asked for yet."
    return ""


_SOURCES: Final[Mapping[str, str]] = {
    "tools/call": "tools/list",
    "resources/read": "resources/list",
    "prompts/get": "prompts/list",
    "resources/subscribe": "resources/list",
}


def _modern_template(
    known: Known,
    method: str,
    params: Mapping[str, Any],
    verdict: Verdict = YES,
    *,
    group: str = MODERN_GROUP,
    label: str = "",
    key: str = "",
    hint: str = "",
) -> Template:
    meta: dict[str, Any] = request_meta(known.modern_version, CLIENT_CAPABILITIES, CLIENT_INFO)
    if method == "tools/call":
        meta[PROGRESS_TOKEN] = known.next_id
    request = Request(known.next_id, method, {**params, "_meta": meta})
    return Template(
        key or f"modern {method}",
        group,
        MODERN,
        label or method,
        _text(request.id, method, request.params),
        headers=_modern_headers(known, request) if known.is_http else (),
        allowed=verdict.allowed,
        level=verdict.level,
        reason=verdict.reason,
        url=verdict.url,
        hint=hint,
    )


def _modern_headers(known: Known, request: Request) -> tuple[tuple[str, str], ...]:
    """The headers that fit a request, with those that a tool wants for its arguments."""
    params = request.params or {}
    given: Any = params.get("arguments")
    arguments = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    try:
        return modern_headers(
            request, None, mirrored_arguments(_annotated(known, request), arguments)
        ).items()
    except (FramingError, ParameterHeaderError):
        # A value that no header can carry: whoever sends it sees what the server says to that.
        return _plain_headers()


def _annotated(known: Known, request: Request) -> tuple[ParameterHeader, ...]:
    if request.method != "tools/call":
        return ()
    name = (request.params or {}).get("name")
    tools = known.members.get("tools/list", ())
    tool = next((one for one in tools if isinstance(name, str) and one.get("name") == name), None)
    return () if tool is None else annotations(tool.get("inputSchema"))


def fitting_headers(known: Known, message: Message | None) -> tuple[tuple[str, str], ...]:
    """The headers that the protocol wants for a message; None for what is none."""
    if isinstance(message, Request) and is_modern(message):
        return _modern_headers(known, message)
    opens = isinstance(message, Request) and message.method == "initialize"
    return _plain_headers() if opens else _legacy_headers(known)


def _modern_cancel(known: Known) -> Template:
    url = spec_url(MODERN, "basic/patterns/cancellation#behavior-requirements")
    waiting = known.waiting_in(MODERN)
    verdict = YES
    if known.is_http:
        verdict = Verdict(
            False,
            "",
            "On HTTP a client cancels by closing the response stream: there is a button for it while one is "
            "open. The server accepts this notification and does nothing.",
            spec_url(MODERN, "basic/transports/streamable-http#cancellation"),
        )
    elif not waiting:
        reason = "It MUST name a request that is believed to be in progress, and none is."
        verdict = Verdict(False, "MUST", reason, url)
    id = waiting[-1].id if waiting else max(1, known.next_id - 1)
    params = {"requestId": id, "reason": "Not needed any more"}
    headers = _plain_headers((PROTOCOL_VERSION_HEADER, known.modern_version)) if known.is_http else ()
    return Template(
        "modern notifications/cancelled",
        MODERN_GROUP,
        MODERN,
        "notifications/cancelled",
        _text(None, "notifications/cancelled", params),
        "POST",
        headers,
        *verdict,
    )


# ------------------------------------------------------------------------------------------- legacy


def _legacy(known: Known) -> Iterator[Template]:
    version = known.legacy_version
    for row in METHODS:
        if version not in row.revisions or row.direction == "to_client":
            continue
        if row.kind == "request":
            verdict, hint = legacy_verdict(row, known), _hint(row, known)
            if row.name == "tools/call":
                for call in _calls(known):
                    name, params = _named(row.name, call), {**call, "_meta": {PROGRESS_TOKEN: known.next_id}}
                    key = f"legacy {name}"
                    yield _legacy_template(known, row.name, params, verdict, label=name, key=key, hint=hint)
                continue
            params = _LEGACY_PARAMS.get(row.name, _plain)(known)
            yield _legacy_template(known, row.name, params, verdict, hint=hint)
        elif row.kind == "notification":
            yield _legacy_notification(known, row)
    if known.is_http:
        yield from _legacy_http(known)


def legacy_verdict(row: Method, known: Known) -> Verdict:
    """Whether a legacy request may come now: by the table of the session, and what was negotiated."""
    if not known.legacy_versions:
        url = spec_url(MODERN, "basic/versioning#backward-compatibility-with-initialization-based-versions")
        return Verdict(False, "", "This server speaks no legacy revision: it has no sessions.", url)
    if known.phase == Phase.CLOSED:
        return Verdict(False, "", "The connection is closed. Start again.", "")
    phase = Phase(known.phase) if known.phase else Phase.NEW
    if row.name == "initialize":
        if phase is Phase.NEW or known.is_http:
            return YES
        reason = "The handshake MUST be the first thing in a session, and this session had it already."
        return Verdict(False, "MUST", reason, _LIFECYCLE)
    if (phase, legacy.Arrival.REQUEST if row.name != "ping" else legacy.Arrival.PING) not in legacy.TABLE:
        return _too_early(phase)
    if row.declared_by == "server" and not declares(known.declared, row.capability):
        reason = f"{_NEGOTIATED}, and the server did not declare `{row.capability}`."
        return Verdict(False, "MUST", reason, spec_url(LEGACY, "basic/lifecycle#operation"))
    return YES


def _too_early(phase: Phase) -> Verdict:
    if phase is Phase.NEW:
        reason = (
            "Before `initialize` is answered, a client SHOULD NOT send any request but a ping. This server "
            "refuses it."
        )
        return Verdict(False, "SHOULD", reason, _LIFECYCLE)
    reason = (
        "After the handshake the client MUST send `notifications/initialized`, and it has not come. This "
        "server refuses requests until then, which is its own choice."
    )
    return Verdict(False, "MUST", reason, _LIFECYCLE)


_NEGOTIATED: Final = "Both sides MUST only use what was negotiated"
_LIFECYCLE: Final = spec_url(LEGACY, "basic/lifecycle#initialization")


def _legacy_notification(known: Known, row: Method) -> Template:
    verdict = YES
    phase = Phase(known.phase) if known.phase else Phase.NEW
    params: dict[str, Any] | None = None
    if not known.legacy_versions:
        verdict = legacy_verdict(row, known)
    elif row.name == "notifications/initialized":
        verdict = _initialized_verdict(phase)
    elif row.name == "notifications/cancelled":
        waiting = [one for one in known.waiting_in(LEGACY) if one.method != "initialize"]
        id = waiting[-1].id if waiting else max(1, known.next_id - 1)
        params = {"requestId": id, "reason": "Not needed any more"}
        if not waiting:
            reason = "It MUST name a request that is believed to be in progress, and none is."
            url = spec_url(LEGACY, "basic/utilities/cancellation#behavior-requirements")
            verdict = Verdict(False, "MUST", reason, url)
    elif row.name == "notifications/progress":
        params = {"progressToken": 1, "progress": 1, "total": 2}
        reason = (
            "It MUST name a token that the server gave with a request of its own. This server gives none."
        )
        url = spec_url(LEGACY, "basic/utilities/progress#behavior-requirements")
        verdict = Verdict(False, "MUST", reason, url)
    elif phase is Phase.NEW:
        verdict = Verdict(False, "MUST", "The handshake MUST be the first thing in a session.", _LIFECYCLE)
    elif row.declared_by == "client" and not declares(known.client, row.capability):
        reason = f"{_NEGOTIATED}, and `initialize` did not declare `{row.capability}`."
        verdict = Verdict(False, "MUST", reason, spec_url(LEGACY, "basic/lifecycle#operation"))
    return Template(
        f"legacy {row.name}",
        LEGACY_GROUP,
        LEGACY,
        row.name,
        _text(None, row.name, params),
        "POST",
        _legacy_headers(known) if known.is_http else (),
        *verdict,
    )


def _initialized_verdict(phase: Phase) -> Verdict:
    if phase is Phase.INITIALIZING:
        return YES
    if phase is Phase.NEW:
        return Verdict(
            False, "MUST", "`initialize` comes first: the handshake MUST begin the session.", _LIFECYCLE
        )
    return Verdict(False, "", "It came already. It ends the handshake, and that is over.", _LIFECYCLE)


def _legacy_template(
    known: Known,
    method: str,
    params: Mapping[str, Any] | None,
    verdict: Verdict = YES,
    *,
    group: str = LEGACY_GROUP,
    label: str = "",
    key: str = "",
    hint: str = "",
) -> Template:
    headers = _plain_headers() if method == "initialize" else _legacy_headers(known)
    return Template(
        key or f"legacy {method}",
        group,
        LEGACY,
        label or method,
        _text(known.next_id, method, params or None),
        "POST",
        headers if known.is_http else (),
        *verdict,
        hint=hint,
    )


def _legacy_headers(known: Known) -> tuple[tuple[str, str], ...]:
    more: list[tuple[str, str]] = []
    if known.session_id:
        more.append((SESSION_ID_HEADER, known.session_id))
    if known.version in VERSION_HEADER_REVISIONS:
        more.append((PROTOCOL_VERSION_HEADER, known.version))
    return _plain_headers(*more)


def _plain_headers(*more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return (("Content-Type", JSON_TYPE), ("Accept", f"{JSON_TYPE}, {EVENT_STREAM_TYPE}"), *more)


def _legacy_http(known: Known) -> Iterator[Template]:
    verdict = YES
    if not known.session_id:
        reason = "There is no session to name: `initialize` gives one out."
        verdict = Verdict(False, "", reason, spec_url(LEGACY, "basic/transports#session-management"))
    session = tuple(
        line for line in _legacy_headers(known) if line[0] in (SESSION_ID_HEADER, PROTOCOL_VERSION_HEADER)
    )
    yield Template(
        "legacy GET",
        LEGACY_GROUP,
        LEGACY,
        "GET: open a standing stream",
        "",
        "GET",
        (("Accept", EVENT_STREAM_TYPE), *session),
        *verdict,
        hint="For what belongs to no request. A client MAY open one.",
    )
    yield Template(
        "legacy DELETE",
        LEGACY_GROUP,
        LEGACY,
        "DELETE: end the session",
        "",
        "DELETE",
        session,
        *verdict,
        hint="Clients that do not need a session any more SHOULD end it so.",
    )


# ------------------------------------------------------------------------------------------- suggested


def _suggested(known: Known) -> Iterator[Template]:
    yield from _next_page(known)
    for number, asked in enumerate(reversed(known.questioned[-3:])):
        yield _retry(known, asked, number)
    for one in reversed(tuple(known.asked.values())[-3:]):
        yield _response(known, one)
    for one in known.waiting_in(MODERN):
        if one.method == "subscriptions/listen" and not known.is_http:
            yield _end_subscription(one)


def _next_page(known: Known) -> Iterator[Template]:
    page = known.page
    if page is None:
        return
    hint = "The last page named a cursor: there is more."
    params = {
        **{name: value for name, value in page.params.items() if name != "_meta"},
        "cursor": page.cursor,
    }
    more: dict[str, Any] = {"group": NEXT, "label": f"Next page of {page.method}", "hint": hint}
    if page.era == MODERN:
        yield _modern_template(known, page.method, params, key="next page", **more)
    else:
        yield _legacy_template(known, page.method, params, key="next page", **more)


def _retry(known: Known, asked: Questioned, number: int) -> Template:
    params = {
        name: value
        for name, value in asked.params.items()
        if name not in ("_meta", "inputResponses", "requestState")
    }
    if asked.requests:
        params["inputResponses"] = {key: answer_to(request) for key, request in asked.requests.items()}
    if asked.state is not None:
        params["requestState"] = asked.state
    hint = "With an answer to each question, and the state back unchanged. It has a new id: a MUST."
    label = f"Try {asked.method} again, with answers"
    key = "retry" if not number else f"retry {number + 1}"
    return _modern_template(known, asked.method, params, group=NEXT, label=label, key=key, hint=hint)


def _response(known: Known, asked: Open) -> Template:
    body = {
        "jsonrpc": "2.0",
        "id": asked.id,
        "result": answer_to({"method": asked.method, "params": asked.params}),
    }
    return Template(
        f"response {asked.id}",
        NEXT,
        LEGACY,
        f"Answer the server's {asked.method}",
        _pretty(body),
        "POST",
        _legacy_headers(known) if known.is_http else (),
        hint="The server asked, and its handler waits for the answer.",
    )


def _end_subscription(one: Open) -> Template:
    params = {"requestId": one.id, "reason": "Not needed any more"}
    return Template(
        f"end subscription {one.id}",
        NEXT,
        MODERN,
        f"End the subscription #{one.id}",
        _text(None, "notifications/cancelled", params),
        hint="On stdio a client ends it by cancelling the request that opened it.",
    )


# ------------------------------------------------------------------------------------------- broken


def _broken(known: Known) -> Iterator[Template]:
    if known.modern_versions:
        yield from _broken_modern(known)
    if known.legacy_versions:
        yield from _broken_legacy(known)
    yield from _broken_json(known)
    if known.is_http:
        yield from _broken_http(known)


def _first(known: Known) -> Template:
    """A good request, to spoil."""
    params = _MODERN_PARAMS["tools/call"](known)
    return _modern_template(known, "tools/call", params) if known.modern_versions else _ping(known)


def _ping(known: Known) -> Template:
    return _legacy_template(known, "ping", None)


def _spoil(
    good: Template, key: str, label: str, reason: str, page: str, level: str = "MUST", **changed: Any
) -> Template:
    era = good.era or MODERN
    return replace(
        good,
        key=key,
        group=BROKEN,
        label=label,
        allowed=False,
        level=level,
        reason=reason,
        url=spec_url(era, page),
        hint="",
        **changed,
    )


def _edited(template: Template, edit: Callable[[dict[str, Any]], object]) -> str:
    body: dict[str, Any] = json.loads(template.body)
    edit(body)
    return _pretty(body)


def _broken_modern(known: Known) -> Iterator[Template]:
    call = _first(known)
    without = _edited(call, lambda body: body["params"].pop("_meta"))
    yield _spoil(
        call,
        "no _meta",
        "No _meta",
        "Every request MUST carry version and capabilities in `_meta`.",
        "basic/index#meta",
        body=without,
    )
    unknown = "1999-12-31"
    spoiled = call.body.replace(known.modern_version, unknown)
    headers = tuple(
        (name, unknown if name == PROTOCOL_VERSION_HEADER else value) for name, value in call.headers
    )
    yield _spoil(
        call,
        "unknown version",
        "Unknown version",
        "No server speaks this version. The error lists those that it speaks.",
        "basic/versioning#protocol-version-negotiation",
        "",
        body=spoiled,
        headers=headers,
    )
    unnamed = _modern_template(known, "tools/call", {"name": "no_such_tool", "arguments": {}})
    yield _spoil(
        unnamed,
        "unknown tool",
        "Unknown tool",
        "The server has no tool of this name.",
        "server/tools#error-handling",
        "",
    )
    made_up = _modern_template(known, "tools/list", {"cursor": "made-up"})
    yield _spoil(
        made_up,
        "made-up cursor",
        "Cursor made up",
        "Clients MUST treat cursors as opaque: they send back what they were given, and nothing else.",
        "server/utilities/pagination#implementation-guidelines",
    )
    nowhere = _modern_template(known, "tools/burn", {})
    yield _spoil(
        nowhere, "unknown method", "Unknown method", "No revision has it.", "basic/index#error-codes", ""
    )
    both = _modern_template(known, "initialize", _LEGACY_PARAMS["initialize"](known))
    yield _spoil(
        both,
        "modern initialize",
        "initialize, with modern _meta",
        "The modern protocol has no handshake.",
        "basic/versioning#backward-compatibility-with-initialization-based-versions",
        "",
    )


def _broken_legacy(known: Known) -> Iterator[Template]:
    if known.used:
        method = "tools/list" if known.phase == Phase.OPERATING else "ping"
        again = replace(_ping(known), body=_text(known.used[-1], method, None))
        yield _spoil(
            again,
            "duplicate id",
            "An id that was used",
            "In a legacy session an id MUST NOT be used twice. In the modern protocol it MUST NOT be that of "
            "a request which is still open.",
            "basic/index#requests",
        )
    proposed = _legacy_template(
        known, "initialize", {**_LEGACY_PARAMS["initialize"](known), "protocolVersion": "1999-12-31"}
    )
    yield _spoil(
        proposed,
        "initialize, unknown version",
        "initialize, unknown version",
        "The server answers with a version that it speaks. Whether to go on is the client's matter.",
        "basic/lifecycle#version-negotiation",
        "",
    )
    ping: dict[str, Any] = {"jsonrpc": "2.0", "id": known.next_id, "method": "ping"}
    batch = _pretty([ping, {**ping, "id": known.next_id + 1}])
    inside = known.version in BATCHING_REVISIONS
    reason = "Only one legacy revision has batches"
    said = (
        f"{reason}, and this session speaks it."
        if inside
        else f"{reason} ({', '.join(sorted(BATCHING_REVISIONS))}). In all others the message is one object."
    )
    found = _spoil(_ping(known), "batch", "A batch", said, "basic/index#messages", "", body=batch)
    yield replace(found, group=NEXT, allowed=True, hint=said, reason="") if inside else found
    for version in sorted(BATCHING_REVISIONS & set(known.legacy_versions)):
        params = {**_LEGACY_PARAMS["initialize"](known), "protocolVersion": version}
        old = _legacy_template(known, "initialize", params, legacy_verdict(_INITIALIZE, known))
        yield replace(
            old, key=f"initialize {version}", label=f"initialize, {version}", hint="The one with batches."
        )


_INITIALIZE: Final = next(row for row in METHODS if row.name == "initialize")


def _broken_json(known: Known) -> Iterator[Template]:
    good = replace(_first(known), era="")
    page = "basic/index#messages"
    yield _spoil(
        good,
        "bad JSON",
        "Bad JSON",
        "The text ends too early.",
        page,
        body=good.body.rstrip().removesuffix("}"),
    )
    yield _spoil(
        good,
        "null id",
        "Null id",
        "The id of a request MUST NOT be null.",
        "basic/index#requests",
        body=_edited(good, lambda body: body.update(id=None)),
    )
    yield _spoil(
        good,
        "no jsonrpc",
        "No jsonrpc member",
        'Every message MUST say `"jsonrpc": "2.0"`.',
        page,
        body=_edited(good, lambda body: body.pop("jsonrpc")),
    )
    yield _spoil(
        good,
        "params array",
        "Params as an array",
        "JSON-RPC allows it, MCP does not: `params` is an object.",
        "basic/index#requests",
        body=_edited(good, lambda body: body.update(params=["a", "b"])),
    )
    yield _spoil(
        good,
        "key twice",
        "A key twice",
        "What two readers make of it can differ, so this server reads none of it.",
        page,
        "",
        body=good.body.replace('"method":', '"method": "ping",\n  "method":', 1),
    )


def _broken_http(known: Known) -> Iterator[Template]:
    call = _first(known)
    headers = Headers(call.headers)
    where = "basic/transports/streamable-http" if known.modern_versions else "basic/transports"
    post = "#sending-messages" if known.modern_versions else "#sending-messages-to-the-server"
    origin = "#security-endpoint" if known.modern_versions else "#security-warning"
    if known.modern_versions:
        yield _spoil(
            call,
            "header differs",
            "Header differs from body",
            "The headers MUST say what the body says.",
            f"{where}#server-validation",
            headers=headers.with_("Mcp-Method", "tools/list").items(),
        )
        yield _spoil(
            call,
            "header missing",
            "Header missing",
            "Every request MUST name its method in `Mcp-Method`.",
            f"{where}#standard-request-headers",
            headers=headers.without("Mcp-Method").items(),
        )
    yield _spoil(
        call,
        "accept",
        "Takes no event stream",
        "`Accept` MUST list both kinds of answer.",
        where + post,
        headers=headers.with_("Accept", JSON_TYPE).items(),
    )
    yield _spoil(
        call,
        "content type",
        "Body said to be text",
        "The body is JSON, and the header says something else.",
        where + post,
        "",
        headers=headers.with_("Content-Type", "text/plain").items(),
    )
    yield _spoil(
        call,
        "origin",
        "From a foreign page",
        "A server MUST refuse a page from elsewhere (403): it could be a trap for its user.",
        where + origin,
        "",
        headers=(*call.headers, ("Origin", "https://elsewhere.example")),
    )
    yield _spoil(
        call, "PUT", "PUT in place of POST", "A message goes by POST: a MUST.", where + post, method="PUT"
    )
    if known.legacy_versions:
        lines = (*_plain_headers(), (SESSION_ID_HEADER, "made-up"))
        yield _spoil(
            replace(_ping(known), headers=lines),
            "made-up session",
            "A session that is not there",
            "The server answers 404, and the client MUST begin a new session.",
            "basic/transports#session-management",
            "",
        )


# ------------------------------------------------------------------------------------------- parameters

Params = Callable[[Known], dict[str, Any]]


def _plain(known: Known) -> dict[str, Any]:
    return {}


def _member(known: Known, method: str, name: str, otherwise: str) -> str:
    for one in known.members.get(method, ()):
        if isinstance(one.get(name), str):
            return cast("str", one[name])
    return otherwise


def _call(known: Known, at: int = 0) -> dict[str, Any]:
    tools = known.members.get("tools/list", [])
    tool = tools[at] if at < len(tools) else {"name": "a_tool"}
    schema: Any = tool.get("inputSchema")
    arguments: Any = sample(cast("dict[str, Any]", schema)) if isinstance(schema, dict) else {}
    return {"name": tool.get("name"), "arguments": arguments if isinstance(arguments, dict) else {}}


def _calls(known: Known) -> Iterator[dict[str, Any]]:
    """One call for each of the first tools."""
    for at in range(max(1, min(MAX_TOOLS, len(known.members.get("tools/list", []))))):
        yield _call(known, at)


def _read(known: Known) -> dict[str, Any]:
    return {"uri": _member(known, "resources/list", "uri", "example://a-resource")}


def _prompt(known: Known) -> dict[str, Any]:
    prompts = known.members.get("prompts/list", [])
    prompt = prompts[0] if prompts else {"name": "a_prompt"}
    rows: Any = prompt.get("arguments")
    names = [row.get("name") for row in cast("list[dict[str, Any]]", rows or []) if row.get("required")]
    return {"name": prompt.get("name"), "arguments": {str(name): "text" for name in names}}


def _complete(known: Known) -> dict[str, Any]:
    prompts = known.members.get("prompts/list", [])
    for prompt in prompts:
        rows: Any = prompt.get("arguments")
        for row in cast("list[dict[str, Any]]", rows or []):
            ref = {"type": "ref/prompt", "name": prompt.get("name")}
            return {"ref": ref, "argument": {"name": row.get("name"), "value": ""}}
    template = _member(known, "resources/templates/list", "uriTemplate", "example://{name}")
    name = template.partition("{")[2].partition("}")[0].strip("+#./;?&*") or "name"
    return {"ref": {"type": "ref/resource", "uri": template}, "argument": {"name": name, "value": ""}}


def _listen(known: Known) -> dict[str, Any]:
    wanted: dict[str, Any] = {"toolsListChanged": True, "resourcesListChanged": True}
    if known.members.get("resources/list"):
        wanted["resourceSubscriptions"] = [_read(known)["uri"]]
    return {"notifications": wanted}


def _initialize(known: Known) -> dict[str, Any]:
    newest = known.legacy_versions[0] if known.legacy_versions else known.legacy_version
    capabilities = {**CLIENT_CAPABILITIES, "roots": {"listChanged": True}}
    return {"protocolVersion": newest, "capabilities": capabilities, "clientInfo": CLIENT_INFO}


_SHARED: Final[Mapping[str, Params]] = {
    "tools/call": _call,
    "resources/read": _read,
    "prompts/get": _prompt,
    "completion/complete": _complete,
}
_MODERN_PARAMS: Final[Mapping[str, Params]] = {**_SHARED, "subscriptions/listen": _listen}
_LEGACY_PARAMS: Final[Mapping[str, Params]] = {
    **_SHARED,
    "initialize": _initialize,
    "resources/subscribe": _read,
    "resources/unsubscribe": _read,
    "logging/setLevel": lambda known: {"level": LOG_LEVELS[1]},
}


def _text(id: RequestId | None, method: str, params: Mapping[str, Any] | None) -> str:
    body: dict[str, Any] = {"jsonrpc": "2.0"}
    if id is not None:
        body["id"] = id
    body["method"] = method
    if params is not None:
        body["params"] = params
    return _pretty(body)


def _pretty(value: Any) -> str:
    # What a peer said may hold anything, and the browser gets it as ASCII anyway.
    return json.dumps(value, indent=2, ensure_ascii=False)
