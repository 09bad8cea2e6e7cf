"""The fields that matter in a message, in a few plain words each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from mcpsim.eras.pages import LEGACY, MODERN, spec_url
from mcpsim.messages import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    PROGRESS_TOKEN,
    PROTOCOL_VERSION,
    SERVER_INFO,
    SUBSCRIPTION_ID,
)
from mcpsim.widgets.field import BOTH, Field
from mcpsim.widgets.field_features import FEATURES
from mcpsim.widgets.pretty import Path

#: How many members are looked at where a path says "any".
TRIED: Final = 50


class Explanation(NamedTuple):
    """What a field of one message says: its keys, a text, and the page where that stands."""

    path: Path
    text: str
    url: str


_META: Final = ("params", "_meta")
_RESULT_META: Final = ("result", "_meta")
_LISTS: Final = "tools/list resources/list resources/templates/list prompts/list"
_REQUESTS: Final = "basic/index#requests basic/index#requests"

_HTTP: Final = "basic/transports/streamable-http"
_OLD_HTTP: Final = "basic/transports#session-management"

FIELDS: Final[tuple[Field, ...]] = (
    Field(
        ("header", "mcp-protocol-version"),
        MODERN,
        "",
        "The protocol version once more, outside of the body. It MUST be the same as in `_meta`.",
        f"{_HTTP}#protocol-version-header",
    ),
    Field(
        ("header", "mcp-protocol-version"),
        LEGACY,
        "",
        "The version that the handshake agreed on. A client MUST send it with every request after that.",
        "basic/transports#protocol-version-header",
    ),
    Field(
        ("header", "mcp-method"),
        MODERN,
        "",
        "The method once more, so that a gateway can route the request without reading the body.",
        f"{_HTTP}#standard-request-headers",
    ),
    Field(
        ("header", "mcp-name"),
        MODERN,
        "",
        "The name of the tool or prompt, or the URI of the resource, once more.",
        f"{_HTTP}#standard-request-headers",
    ),
    Field(
        ("header", "mcp-session-id"),
        LEGACY,
        "",
        "The session: handed out at `initialize`. The client MUST send it with all its later requests.",
        _OLD_HTTP,
    ),
    Field(
        ("header", "mcp-session-id"),
        MODERN,
        "",
        "The modern protocol has no sessions: a server SHOULD ignore this header.",
        f"{_HTTP}#earlier-streamable-http-revisions",
    ),
    Field(
        ("header", "last-event-id"),
        LEGACY,
        "",
        "The last event that the client got: the server MAY go on after it.",
        "basic/transports#resumability-and-redelivery",
    ),
    Field(
        ("header", "accept"),
        BOTH,
        "",
        "What the client can read. With a POST it MUST list both JSON and event streams.",
        f"{_HTTP}#sending-messages basic/transports#sending-messages-to-the-server",
    ),
    Field(
        ("header", "origin"),
        BOTH,
        "",
        "Which web page sends this. The server MUST check it.",
        f"{_HTTP} basic/transports#security-warning",
    ),
    Field(("id",), BOTH, "", 'Joins request and answer. `1` and `"1"` are two ids.', _REQUESTS),
    Field(
        ("method",),
        BOTH,
        "",
        "What is wanted (a request), or what is reported (a notification, which has no id).",
        "basic/index#messages basic/index#messages",
    ),
    Field(
        (*_META, PROTOCOL_VERSION),
        MODERN,
        "",
        "The protocol version of this one request. It MUST be there every time.",
        "basic/index#meta",
    ),
    Field(
        (*_META, CLIENT_CAPABILITIES),
        MODERN,
        "",
        "What the client can do, said anew with each request. It MUST be there, even when it is empty.",
        "basic/index#meta",
    ),
    Field(
        (*_META, CLIENT_INFO),
        MODERN,
        "",
        "Who the client says that it is. It SHOULD be there, and nobody should trust it.",
        "basic/index#meta",
    ),
    Field(
        (*_META, LOG_LEVEL),
        MODERN,
        "",
        "Send log messages from this level on. Without it the server MUST NOT send any for this request.",
        "server/utilities/logging#per-request-log-level",
    ),
    Field(
        (*_META, PROGRESS_TOKEN),
        BOTH,
        "",
        "The sender wants progress reports under this token. It MUST be unique among open requests.",
        "basic/patterns/progress#progress-flow basic/utilities/progress#progress-flow",
    ),
    Field(
        (*_META, SUBSCRIPTION_ID),
        MODERN,
        "",
        "The subscription that this belongs to: the id of its `subscriptions/listen` request.",
        "basic/patterns/subscriptions#receiving-notifications",
    ),
    Field(
        ("params", "protocolVersion"),
        LEGACY,
        "initialize",
        "The version that the client offers: one that it supports, and SHOULD be the latest.",
        "basic/lifecycle#version-negotiation",
    ),
    Field(
        ("params", "capabilities"),
        LEGACY,
        "initialize",
        "What the client can do. Said once, and remembered for the whole session.",
        "basic/lifecycle#capability-negotiation",
    ),
    Field(
        ("params", "clientInfo"),
        LEGACY,
        "initialize",
        "The name and version of the client.",
        "basic/lifecycle#initialization",
    ),
    Field(
        ("params", "name"),
        BOTH,
        "tools/call",
        "Which tool.",
        "server/tools#calling-tools server/tools#calling-tools",
    ),
    Field(
        ("params", "name"),
        BOTH,
        "prompts/get",
        "Which prompt.",
        "server/prompts#getting-a-prompt server/prompts#getting-a-prompt",
    ),
    Field(
        ("params", "arguments"),
        BOTH,
        "tools/call",
        "The arguments of the tool. The server MUST validate them, against the tool's `inputSchema`.",
        "server/tools#security-considerations server/tools#security-considerations",
    ),
    Field(
        ("params", "uri"),
        BOTH,
        "resources/read resources/subscribe resources/unsubscribe notifications/resources/updated",
        "Which resource.",
        "server/resources#resource server/resources#resource",
    ),
    Field(
        ("params", "cursor"),
        BOTH,
        _LISTS,
        "Where the next page begins. Only the server knows what is in it.",
        "server/utilities/pagination#pagination-model server/utilities/pagination#pagination-model",
    ),
    Field(
        ("params", "inputResponses"),
        MODERN,
        "",
        "The answers to what the server asked for, under the names that it gave.",
        "basic/patterns/mrtr#inputresponses",
    ),
    Field(
        ("params", "requestState"),
        MODERN,
        "",
        "The server's own notes, given back unchanged. The server MUST treat them as written by an attacker.",
        "basic/patterns/mrtr#server-requirements-basic-workflow",
    ),
    Field(
        ("params", "notifications"),
        MODERN,
        "subscriptions/listen notifications/subscriptions/acknowledged",
        "Which kinds of notifications. What is not named here is not subscribed to.",
        "basic/patterns/subscriptions#notification-filter",
    ),
    Field(
        ("params", "progressToken"),
        BOTH,
        "notifications/progress",
        "The token that came with the request.",
        "basic/patterns/progress#progress-flow basic/utilities/progress#progress-flow",
    ),
    Field(
        ("params", "progress"),
        BOTH,
        "notifications/progress",
        "How far the work is. It MUST be more than in the report before.",
        "basic/patterns/progress#progress-flow basic/utilities/progress#progress-flow",
    ),
    Field(
        ("params", "total"),
        BOTH,
        "notifications/progress",
        "How much there is, if that is known.",
        "basic/patterns/progress#progress-flow basic/utilities/progress#progress-flow",
    ),
    Field(
        ("params", "requestId"),
        BOTH,
        "notifications/cancelled",
        "The id of the request that is cancelled.",
        "basic/patterns/cancellation#cancellation-flow basic/utilities/cancellation#cancellation-flow",
    ),
    Field(
        ("params", "requestedSchema"),
        LEGACY,
        "elicitation/create",
        "The form: a flat object with simple values only.",
        "client/elicitation#requested-schema",
    ),
    Field(
        ("result", "resultType"),
        MODERN,
        "",
        '`"complete"`: done. `"input_required"`: the server needs something first. It MUST be there.',
        "basic/index#resulttype",
    ),
    Field(
        ("result", "inputRequests"),
        MODERN,
        "",
        "What the server needs to know, each question under a name of its own.",
        "basic/patterns/mrtr#inputrequests",
    ),
    Field(
        ("result", "requestState"),
        MODERN,
        "",
        "The server's own notes. The client MUST give them back unchanged, and MUST NOT look inside.",
        "basic/patterns/mrtr#inputrequiredresult",
    ),
    Field(
        ("result", "ttlMs"),
        MODERN,
        "",
        "How long the client may take the result for fresh, in milliseconds. `0`: not at all.",
        "server/utilities/caching#time-to-live-ttl-field",
    ),
    Field(
        ("result", "cacheScope"),
        MODERN,
        "",
        '`"public"`: anyone may get the kept result. `"private"`: it MUST NOT be shared between callers.',
        "server/utilities/caching#cache-scope-field",
    ),
    Field(
        ("result", "nextCursor"),
        BOTH,
        _LISTS,
        "There is more: send this back to get the next page.",
        "server/utilities/pagination#response-format server/utilities/pagination#response-format",
    ),
    Field(
        ("result", "isError"),
        BOTH,
        "tools/call",
        "`true`: the tool call failed, and the content says how. This is for the model to read.",
        "server/tools#error-handling server/tools#error-handling",
    ),
    Field(
        ("result", "content"),
        BOTH,
        "tools/call",
        "What the tool returned, in pieces for the model.",
        "server/tools#tool-result server/tools#tool-result",
    ),
    Field(
        ("result", "structuredContent"),
        BOTH,
        "tools/call",
        "What the tool returned, as data. If the tool has an `outputSchema`, it MUST fit that.",
        "server/tools#output-schema server/tools#output-schema",
    ),
    Field(
        ("result", "tools"),
        BOTH,
        "tools/list",
        "The tools, each with the schema of its arguments.",
        "server/tools#tool server/tools#tool",
    ),
    Field(
        ("result", "supportedVersions"),
        MODERN,
        "server/discover",
        "The versions that the server speaks.",
        "server/discover#discoverresult",
    ),
    Field(
        ("result", "capabilities"),
        MODERN,
        "server/discover",
        "What the server offers.",
        "server/discover#discoverresult",
    ),
    Field(
        ("result", "protocolVersion"),
        LEGACY,
        "initialize",
        "The version for the whole session, as the server decides.",
        "basic/lifecycle#version-negotiation",
    ),
    Field(
        ("result", "capabilities"),
        LEGACY,
        "initialize",
        "What the server can do. Said once, and remembered for the whole session.",
        "basic/lifecycle#capability-negotiation",
    ),
    Field(
        ("result", "serverInfo"),
        LEGACY,
        "initialize",
        "The name and version of the server.",
        "basic/lifecycle#initialization",
    ),
    Field(
        (*_RESULT_META, SERVER_INFO),
        MODERN,
        "",
        "Who the server says that it is. It SHOULD be there, and nobody should trust it.",
        "basic/index#meta",
    ),
    Field(
        (*_RESULT_META, SUBSCRIPTION_ID),
        MODERN,
        "",
        "The subscription that ends here.",
        "basic/patterns/subscriptions#graceful-closure",
    ),
    Field(
        ("result", "action"),
        LEGACY,
        "elicitation/create",
        "What the user did: accept, decline or cancel.",
        "client/elicitation#response-actions",
    ),
    Field(
        ("error", "code"),
        BOTH,
        "",
        "What kind of failure, for programs. It MUST be an integer.",
        "basic/index#error-codes basic/index#error-responses",
    ),
    Field(
        ("error", "message"),
        BOTH,
        "",
        "The same for people, in a sentence.",
        "basic/index#error-responses basic/index#error-responses",
    ),
    Field(
        ("error", "data"),
        BOTH,
        "",
        "Anything more that helps. It MAY be missing.",
        "basic/index#error-responses basic/index#error-responses",
    ),
)


def explain(
    value: Any, method: str, era: str, headers: Mapping[str, str], event: Mapping[str, str] | None = None
) -> Iterator[Explanation]:
    """The fields of one message that have a row in the table, in the order of the table.

    Args:
        value: the JSON value of the message; anything that is not an object has no fields.
        method: the message's method, or that of the request that it answers.
        era: "modern" or "legacy".
        headers: the HTTP headers, names in small letters; {} on stdio.
        event: the fields of the stream's event that carries it, such as its id.
    """
    beside = {"header": headers, "event": event or {}}
    for row in _rows(method if method in _METHODS else "", era):
        named = beside.get(row.path[0])
        path = _named(named, row.path) if named is not None else _found(value, row.path)
        if path:
            yield Explanation(path, row.text, spec_url(era, _page(row.page, era)))


#: The methods that have rows of their own.
_METHODS: Final = frozenset(method for row in (*FIELDS, *FEATURES) for method in row.methods.split())


@lru_cache(maxsize=2 * len(_METHODS) + 2)
def _rows(method: str, era: str) -> tuple[Field, ...]:
    return tuple(
        row
        for row in (*FIELDS, *FEATURES)
        if row.era in (BOTH, era) and (not row.methods or method in row.methods.split(" "))
    )


def _named(names: Mapping[str, str], path: tuple[str, ...]) -> Path:
    where, name = path
    if name.endswith("*"):
        name = next((each for each in names if each.startswith(name[:-1])), name)
    return (where, name) if name in names else ()


def _found(value: Any, path: tuple[str, ...]) -> Path:
    """The path with the keys that stand for its "*"; empty where the value does not have it."""
    if not path:
        return ()
    key, *rest = path
    if key != "*":
        return _deeper(value, key, tuple(rest))
    keys: list[Any] = []
    if isinstance(value, dict):
        keys = list(cast("dict[str, Any]", value))
    elif isinstance(value, list):
        keys = list(range(len(cast("list[Any]", value))))
    return next((found for each in keys[:TRIED] if (found := _deeper(value, each, tuple(rest)))), ())


def _deeper(value: Any, key: str | int, rest: tuple[str, ...]) -> Path:
    holds = isinstance(value, list) if isinstance(key, int) else isinstance(value, dict) and key in value
    if not holds:
        return ()
    below = _found(value[key], rest) if rest else (key,)
    return (key, *below) if rest and below else below


def _page(pages: str, era: str) -> str:
    modern, _, legacy = pages.partition(" ")
    return legacy if era == LEGACY and legacy else modern
