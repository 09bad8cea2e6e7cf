"""What every modern request says of itself in `_meta`, how a request without it is refused, and who says who
they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mcpsim.audit.model import Call, Connection, Item
from mcpsim.audit.rule import MODERN, MUST, SHOULD, Found, Level, Rule, calls, each, messages, requests
from mcpsim.audit.rules.envelopes import is_object, members, speaks_modern
from mcpsim.eras.methods import METHODS
from mcpsim.eras.revisions import era_of
from mcpsim.errors import HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_VERSION
from mcpsim.messages.meta import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION, SERVER_INFO
from mcpsim.recording.words import show

PAGE: Final = "basic/index#meta"
_REQUIRED: Final = ((PROTOCOL_VERSION, str, "a string"), (CLIENT_CAPABILITIES, dict, "an object"))
_NAMED: Final = {"name": "", "version": ""}
_OWN_KEYS: Final = frozenset({PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES})
_SHARED: Final = frozenset(
    row.name for row in METHODS if row.revisions - MODERN and row.direction != "to_client"
)
_HANDSHAKE: Final = re.compile(
    r"(?:not|un)[ -]?initiali[sz]ed|initiali[sz]e first|before initiali[sz]|must (?:be )?initiali[sz]e",
    re.IGNORECASE,
)
_VERSION_HEADER: Final = "mcp-protocol-version"


def _faults(request: Item) -> list[str]:
    """What a modern request lacks of what is required, in words."""
    if "_meta" not in request.params:
        return ["it has no `_meta`"]
    if not is_object(request.params["_meta"]):
        return [f"its `_meta` is {show(request.params['_meta'])}, and no object"]
    faults: list[str] = []
    for key, kind, words in _REQUIRED:
        if key not in request.meta:
            bare = key.partition("/")[2]
            found = f" (only `{bare}`, which is another key)" if bare in request.meta else ""
            faults.append(f"`{key}` is missing{found}")
        elif not isinstance(request.meta[key], kind):
            faults.append(f"`{key}` is {show(request.meta[key])}, and not {words}")
    return faults


def _required(item: Item) -> Iterator[Found]:
    faults = _faults(item) if item.sender == "client" else []
    if faults:
        yield Found(
            item,
            f"This {show(item.method)} is not complete: {', and '.join(faults)}. Every request says its "
            "protocol version and the capabilities of the client.",
            hint=f"Put {PROTOCOL_VERSION} and {CLIENT_CAPABILITIES} into `_meta` of each request.",
        )


def _refused(connection: Connection) -> Iterator[Found]:
    lacking = [
        call
        for call in connection.calls
        if call.asked_by == "client"
        and call.era == "modern"
        and call.revision in MODERN
        and call.answer is not None
        and _faults(call.request)
        and not _may_be_legacy_on_http(call)
    ]
    if not lacking:
        return
    modern = speaks_modern(connection)
    served = {call.method for call in connection.calls if call.answer is not None and call.answer.result}
    for call in lacking:
        answer = call.answer
        if answer is None or (not modern and answer.kind == "error"):
            continue
        if answer.kind == "response":
            yield from _answered_well(call, answer, modern)
        elif answer.code != INVALID_PARAMS and not _has_reason(call, answer, served):
            own = not _OWN_KEYS.isdisjoint(call.request.meta)
            sure = own or call.request.is_http or call.method not in _SHARED
            level: Level | None = None if sure else SHOULD
            yield Found(
                answer,
                f"The request lacks what is required in `_meta`, and is refused with the code {answer.code}; "
                f"the code for that is {INVALID_PARAMS}."
                + ("" if sure else " (A server of both eras may have taken it for a legacy request.)"),
                level=level,
            )


def _may_be_legacy_on_http(call: Call) -> bool:
    """Whether a request without version in its body has none in its header either: then a server of both eras
    takes it for a legacy one."""
    exchange = call.request.exchange
    if exchange is None or PROTOCOL_VERSION in call.request.meta or "headers" not in call.request.row:
        return False
    return era_of(exchange.headers.get(_VERSION_HEADER) or "") != "modern"


def _answered_well(call: Call, answer: Item, modern: bool) -> Iterator[Found]:
    own = not _OWN_KEYS.isdisjoint(call.request.meta)
    # On a pipe it may have been taken for a legacy request.
    if (
        "resultType" in answer.result
        or call.request.is_http
        or own
        or (modern and call.method not in _SHARED)
    ):
        yield Found(
            answer,
            f"The request lacks what is required in `_meta`, and is answered well. It must be refused with "
            f"{INVALID_PARAMS}.",
        )


def _has_reason(call: Call, answer: Item, served: set[str]) -> bool:
    """Whether there may be another reason to refuse a request, which was looked at first."""
    if answer.code == METHOD_NOT_FOUND:
        return call.method != "server/discover" and call.method not in served
    if answer.code == HEADER_MISMATCH:
        return answer.is_http
    if answer.code == UNSUPPORTED_VERSION:
        return PROTOCOL_VERSION in call.request.meta
    status = None if answer.exchange is None else answer.exchange.status
    return status is not None and (status in (401, 403, 404, 405, 406, 413, 415, 429) or status >= 500)


def _status(call: Call) -> Iterator[Found]:
    answer, exchange = call.answer, call.request.exchange
    if answer is None or answer.code != INVALID_PARAMS or exchange is None or not _faults(call.request):
        return
    if exchange.status not in (None, 400) and not _may_be_legacy_on_http(call):
        yield Found(
            answer,
            f"A request that lacks what is required in `_meta` is refused with the HTTP status "
            f"{exchange.status}; it must be 400.",
        )


def _wants_handshake(connection: Connection) -> Iterator[Found]:
    found: list[Found] = []
    for item in connection.items:
        if item.kind != "error" or item.sender != "server" or item.era != "modern" or item.call is None:
            continue
        text = getattr(item.message, "message", "")
        if _HANDSHAKE.search(text) and not _faults(item.call.request) and item.revision in MODERN:
            found.append(
                Found(
                    item,
                    f"The server refuses a request that says all about itself, and speaks of a handshake: "
                    f"{show(text)}. Probably it waits for a request that this revision does not have.",
                    level=SHOULD,
                )
            )
    if found and speaks_modern(connection):
        yield from found


def _names_client(connection: Connection) -> Iterator[Found]:
    for item in connection.items:
        if item.kind != "request" or item.sender != "client" or item.era != "modern":
            continue
        # What lacks more is told of by another rule.
        if CLIENT_INFO not in item.meta and item.revision in MODERN and not _faults(item):
            yield Found(
                item,
                f"This {show(item.method)} does not say which client it comes from: `{CLIENT_INFO}` is "
                "missing in `_meta`. It should be in every request, unless that is switched off on purpose.",
            )
            return


def _names_server(connection: Connection) -> Iterator[Found]:
    for item in connection.items:
        # Without resultType it may be a legacy server's.
        modern = item.sender == "server" and item.revision in MODERN and "resultType" in item.result
        if modern and SERVER_INFO not in item.meta:
            yield Found(
                item,
                f"This result does not say which server it comes from: `{SERVER_INFO}` is missing in "
                "`_meta`. It should be in every result, unless that is switched off on purpose.",
            )
            return


def _identity(item: Item) -> Sequence[Found]:
    key = CLIENT_INFO if item.kind == "request" else SERVER_INFO
    info = item.meta.get(key, _NAMED)
    if isinstance(members(info).get("name"), str) and isinstance(members(info).get("version"), str):
        return ()
    return [
        Found(item, f"`{key}` is {show(info)}; it must be an object with `name` and `version` as strings.")
    ]


META: Final[tuple[Rule, ...]] = (
    Rule(
        "request-says-version-and-capabilities",
        MUST,
        "client",
        MODERN,
        {"modern": PAGE},
        "Every request has the protocol version and the client's capabilities in `_meta`.",
        on=requests(),
        check=_required,
    ),
    Rule(
        "incomplete-request-is-refused",
        MUST,
        "server",
        MODERN,
        {"modern": PAGE},
        "A request without version or capabilities is refused with -32602.",
        on=each(Connection),
        check=_refused,
    ),
    Rule(
        "incomplete-request-is-refused-with-400",
        MUST,
        "server",
        MODERN,
        {"modern": PAGE},
        "On HTTP a request without version or capabilities is refused with the status 400.",
        on=calls(needs=("http",)),
        check=_status,
    ),
    Rule(
        "request-needs-no-handshake",
        MUST,
        "server",
        MODERN,
        {"modern": "basic/index#statelessness"},
        "A server takes a request by what the request itself says, without an earlier one.",
        on=each(Connection),
        check=_wants_handshake,
    ),
    Rule(
        "request-names-its-client",
        SHOULD,
        "client",
        MODERN,
        {"modern": PAGE},
        "Every request names the client in `_meta`.",
        on=each(Connection),
        check=_names_client,
    ),
    Rule(
        "result-names-its-server",
        SHOULD,
        "server",
        MODERN,
        {"modern": PAGE},
        "Every result names the server in `_meta`.",
        on=each(Connection),
        check=_names_server,
    ),
    Rule(
        "identity-has-name-and-version",
        MUST,
        "sender",
        MODERN,
        {"modern": "schema#implementation"},
        "Whoever names a client or a server says its name and its version.",
        on=messages(),
        check=_identity,
    ),
)
