"""What was declared, and what the revision has: capabilities and methods, by the table of the methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from mcpsim.audit.model import Item, Side
from mcpsim.audit.rule import (
    ALL,
    LEGACY,
    MODERN,
    MUST,
    NOTE,
    SHOULD,
    Found,
    On,
    Rule,
    messages,
    notifications,
    requests,
    results,
)
from mcpsim.eras.capabilities import declares
from mcpsim.eras.methods import METHODS, Method
from mcpsim.eras.methods import method as method_row
from mcpsim.eras.revisions import OPERATION_IS_DEMANDED
from mcpsim.recording.words import show

OPERATION: Final = "basic/lifecycle#operation"

_GATED: Final = tuple(row for row in METHODS if row.capability)


def _is_sent(item: Item) -> bool:
    return item.kind in ("request", "notification")


def _names(kind: str, declared_by: str, direction: str) -> tuple[str, ...]:
    chosen = (
        row.name
        for row in _GATED
        if (row.kind, row.declared_by, row.direction) == (kind, declared_by, direction)
    )
    return tuple(dict.fromkeys(chosen))


def _gate(item: Item) -> Method | None:
    """The row of a method in the item's revision, where a capability opens it."""
    row = method_row(item.method, item.revision)
    return row if row is not None and row.capability else None


def _server_offers(item: Item) -> Mapping[str, Any] | None:
    """What the server has declared when a client's message is sent; None where that is not known (yet)."""
    if item.era == "modern":
        return None if item.call is None else item.call.server_capabilities
    session = item.session
    answer = None if session is None else session.initialize.answer
    if session is None or answer is None or answer.index > item.index:
        return None
    return session.server_capabilities


def _asked_for(item: Item) -> Iterator[Found]:
    row, offered = _gate(item), _server_offers(item)
    if row is not None and offered is not None and not declares(offered, row.capability):
        yield Found(
            item,
            f"The client sends {show(item.method)}, and the server did not declare {row.capability}.",
            f"Look for {row.capability} in the capabilities of the server before using it.",
        )


def _own_roots(item: Item) -> Iterator[Found]:
    row, session = _gate(item), item.session
    if row is None or session is None or declares(session.client_capabilities, row.capability):
        return
    yield Found(
        item,
        f"The client sends {show(item.method)}, and did not declare {row.capability}.",
        f"Declare {row.capability} in initialize.",
    )


def _by_revision(check: Callable[[Item], Iterator[Found]]) -> Callable[[Item], Iterator[Found]]:
    """A check of what the section about operation demands; its first two texts only recommend it."""

    def graded(item: Item) -> Iterator[Found]:
        for found in check(item):
            yield found if item.revision in OPERATION_IS_DEMANDED else replace(found, level=SHOULD)

    return graded


def _client_uses(item: Item) -> Iterator[Found]:
    if item.sender != "client":
        return
    if item.kind == "notification":
        yield from _own_roots(item)
    elif item.kind == "request":
        yield from _asked_for(item)


def _server_uses(item: Item) -> Iterator[Found]:
    row, session = _gate(item), item.session
    if row is None or session is None or item.sender != "server" or not _is_sent(item):
        return
    if row.declared_by == "client":
        who, declared = "client", session.client_capabilities
    else:
        who, declared = "server", session.server_capabilities
    if declared is not None and not declares(declared, row.capability):
        yield Found(
            item,
            f"The server sends {show(item.method)}, and the {who} did not declare {row.capability}.",
            f"Send it only where the {who} declared {row.capability} in the handshake.",
        )


def _serves(item: Item) -> Iterator[Found]:
    call = item.call
    row = None if call is None else _gate(call.request)
    if call is None or row is None or item.sender != "server":
        return
    offered = _server_offers(call.request)
    group = row.capability.split(".")[0]
    if offered is not None and not declares(offered, group):
        yield Found(
            item,
            f"The server answers {show(item.method)} with a result, and did not declare {group}.",
            f"Declare {group} among the server's capabilities.",
        )


def _logs(item: Item) -> Iterator[Found]:
    call, session = item.call, item.session
    if item.era == "legacy":
        offered = None if session is None else session.server_capabilities
    else:
        offered = None if call is None else call.server_capabilities
    if offered is not None and not declares(offered, "logging"):
        yield Found(
            item,
            "The server sends log messages, and did not declare logging.",
            "Declare logging among the server's capabilities.",
        )


def _changes(item: Item) -> Iterator[Found]:
    row, call = _gate(item), item.call
    offered = None if call is None else call.server_capabilities
    if row is not None and offered is not None and not declares(offered, row.capability):
        yield Found(
            item,
            f"The server sends {show(item.method)}, and did not declare {row.capability}: clients may not "
            "expect "
            "it.",
            f"Declare {row.capability}.",
        )


_KNOWN: Final = frozenset(row.name for row in METHODS)
_DIRECTIONS: Final[Mapping[str, str]] = {"client": "to_server", "server": "to_client"}

#: What came in the place of a method that a modern client still uses.
_INSTEAD: Final[Mapping[str, str]] = {
    "initialize": "Put version and capabilities into the _meta of every request; server/discover tells "
    "the rest.",
    "notifications/initialized": "Leave it out: there is no handshake.",
    "ping": "Leave it out; any request shows whether the server is there.",
    "logging/setLevel": "Put the level into the _meta of each request that should be logged.",
    "resources/subscribe": "Name the resource in subscriptions/listen.",
    "resources/unsubscribe": "Cancel the subscriptions/listen request.",
    "notifications/roots/list_changed": "Leave it out: a server asks for roots when it needs them.",
}

#: Names that some courses and other protocols have, and MCP never had.
_NEVER: Final[Mapping[str, str]] = {
    "shutdown": "there is no message for the end: close stdin, or end the HTTP session",
    "exit": "there is no message for the end: close stdin, or end the HTTP session",
    "notifications/exit": "there is no message for the end: close stdin, or end the HTTP session",
    "initialized": "the notification is called notifications/initialized",
    "cancelled": "the notification is called notifications/cancelled",
    "notifications/cancel": "the notification is called notifications/cancelled",
    "$/cancelRequest": "the notification is called notifications/cancelled",
    "progress": "the notification is called notifications/progress",
    "$/progress": "the notification is called notifications/progress",
    "tools/execute": "the method is called tools/call",
    "tools/invoke": "the method is called tools/call",
    "resources/get": "the method is called resources/read",
    "prompts/read": "the method is called prompts/get",
}


@lru_cache(maxsize=512)
def _is_there(method: str, revision: str, sender: Side) -> bool:
    row = method_row(method, revision)
    if row is None or row.kind == "input request":
        return False
    return row.direction in ("both", _DIRECTIONS[sender])


def _in_session(item: Item) -> Iterator[Found]:
    if not _is_sent(item) or item.method not in _KNOWN or item.session is None:
        return
    if not _is_there(item.method, item.revision, item.sender):
        yield Found(
            item,
            f"The session speaks {item.revision}; there a {item.sender} has no {show(item.method)} to send.",
            "Use what the negotiated revision has.",
            party=item.party,
        )


def _modern_method(item: Item) -> Sequence[Found]:
    if not _is_sent(item) or item.method not in _KNOWN:
        return ()
    if _is_there(item.method, item.revision, item.sender):
        return ()
    if item.kind == "request" and item.sender == "server":
        return ()  # A server sends no requests at all; another rule says so.
    text = f"{item.revision} has no {show(item.method)} for a {item.sender} to send."
    return [Found(item, text, _INSTEAD.get(item.method, ""), party=item.party)]


def _never_was(item: Item) -> Iterator[Found]:
    if _is_sent(item):
        yield Found(
            item,
            f"MCP has no {show(item.method)}: {_NEVER[item.method]}.",
            party=item.party,
        )


def _group(rule: str, what: str, capability: str, methods: tuple[str, ...], page: str) -> Rule:
    return Rule(
        rule,
        MUST,
        "server",
        ALL,
        {"modern": page, "legacy": page},
        f"A server that supports {what} declares {capability}.",
        on=results(*methods),
        check=_serves,
    )


_OFFERS: Final = _names("request", "server", "to_server")
_ROOTS: Final = _names("notification", "client", "to_server")
# Log messages have a rule of their own.
_CHANGES: Final = tuple(
    name for name in _names("notification", "server", "to_client") if name != "notifications/message"
)
_FROM_SERVER: Final = (
    *_names("request", "client", "to_client"),
    *_names("notification", "client", "to_client"),
    *_CHANGES,
)

DECLARED: Final[tuple[Rule, ...]] = (
    Rule(
        "client-keeps-to-negotiated-capabilities",
        MUST,
        "client",
        LEGACY,
        {"legacy": OPERATION},
        "A client uses only what the server declared in the handshake, and what it declared itself.",
        on=On("message", (*_OFFERS, *_ROOTS)),
        check=_by_revision(_client_uses),
    ),
    Rule(
        "server-keeps-to-negotiated-capabilities",
        MUST,
        "server",
        LEGACY,
        {"legacy": OPERATION},
        "A server uses only what the client declared in the handshake, and what it declared itself.",
        on=On("message", _FROM_SERVER),
        check=_by_revision(_server_uses),
    ),
    Rule(
        "method-in-negotiated-revision",
        MUST,
        "sender",
        LEGACY,
        {"legacy": OPERATION},
        "In a session both sides use the methods of the negotiated revision.",
        on=messages(),
        check=_by_revision(_in_session),
    ),
    Rule(
        "request-of-declared-capability",
        NOTE,
        "client",
        MODERN,
        {"modern": "server/discover#discoverresult"},
        "What the server does not declare in its answer to server/discover is not worth asking for.",
        on=requests(*_OFFERS),
        check=_asked_for,
    ),
    Rule(
        "changes-of-declared-capability",
        NOTE,
        "server",
        MODERN,
        {"modern": "server/discover#discoverresult"},
        "A server announces changes where it declared that it does.",
        on=notifications(*_CHANGES),
        check=_changes,
    ),
    Rule(
        "method-in-this-revision",
        NOTE,
        "sender",
        MODERN,
        {"modern": "changelog#major-changes"},
        "What an earlier revision had is not there any more.",
        on=messages(),
        check=_modern_method,
    ),
    Rule(
        "method-that-never-was",
        NOTE,
        "sender",
        ALL,
        {"modern": "schema", "legacy": "schema"},
        "Some method names are in no revision, however often they are taught.",
        on=On("message", tuple(_NEVER)),
        check=_never_was,
    ),
    _group(
        "server-declares-tools",
        "tools",
        "the tools capability",
        ("tools/list", "tools/call"),
        "server/tools#capabilities",
    ),
    _group(
        "server-declares-prompts",
        "prompts",
        "the prompts capability",
        ("prompts/list", "prompts/get"),
        "server/prompts#capabilities",
    ),
    _group(
        "server-declares-resources",
        "resources",
        "the resources capability",
        ("resources/list", "resources/templates/list", "resources/read", "resources/subscribe"),
        "server/resources#capabilities",
    ),
    _group(
        "server-declares-completions",
        "completions",
        "the completions capability",
        ("completion/complete",),
        "server/utilities/completion#capabilities",
    ),
    Rule(
        "server-declares-logging",
        MUST,
        "server",
        ALL,
        {
            "modern": "server/utilities/logging#capabilities",
            "legacy": "server/utilities/logging#capabilities",
        },
        "A server that sends log messages declares the logging capability.",
        on=notifications("notifications/message"),
        check=_logs,
    ),
)
