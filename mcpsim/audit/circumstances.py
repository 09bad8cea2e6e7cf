"""What stands around an error: the questions that tell its meanings apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from mcpsim.audit.model import Item
from mcpsim.eras.capabilities import declares
from mcpsim.eras.methods import METHODS, Method
from mcpsim.eras.methods import method as method_row
from mcpsim.eras.revisions import LEGACY_REVISIONS, MODERN_REVISIONS
from mcpsim.messages.meta import CLIENT_CAPABILITIES, PROTOCOL_VERSION

Test = Callable[[Item], bool]

SESSION_HEADER: Final = "mcp-session-id"
VERSION_HEADER: Final = "mcp-protocol-version"

_KNOWN: Final = frozenset(row.name for row in METHODS)
_PAGED: Final = frozenset(row.name for row in METHODS if row.paginated)


def request_of(item: Item) -> Item | None:
    """The request that an error answers, or that a status came for."""
    if item.call is not None:
        return item.call.request
    return None if item.exchange is None else item.exchange.request


def params_of(item: Item) -> Mapping[str, Any]:
    """The params of that request; {} without."""
    request = request_of(item)
    return {} if request is None else request.params


def version_of(item: Item) -> Any:
    """The version that the request declares (modern) or proposes (initialize); None without."""
    request = request_of(item)
    if request is None:
        return None
    if request.method == "initialize" and PROTOCOL_VERSION not in request.meta:
        return request.params.get("protocolVersion")
    return request.meta.get(PROTOCOL_VERSION)


def member_of_data(item: Item, name: str) -> Any:
    """A member of the error's `data`; None without."""
    data: Any = getattr(item.message, "data", None)
    return cast("dict[str, Any]", data).get(name) if isinstance(data, dict) else None


def versions_of(item: Item) -> list[str]:
    """The versions that the error says are supported; [] where it does not."""
    found = member_of_data(item, "supported")
    return (
        [one for one in cast("list[Any]", found) if isinstance(one, str)] if isinstance(found, list) else []
    )


def both(*tests: Test) -> Test:
    """Whether all of these are so."""
    return lambda item: all(test(item) for test in tests)


def either(*tests: Test) -> Test:
    """Whether one of these is so."""
    return lambda item: any(test(item) for test in tests)


def says(*words: str) -> Test:
    """Whether the text of the error holds one of these words, in lower case."""

    def test(item: Item) -> bool:
        text = getattr(item.message, "message", "")
        lower = text.lower() if isinstance(text, str) else ""
        return any(word in lower for word in words)

    return test


def asks(*methods: str) -> Test:
    """Whether the request has one of these methods."""
    return lambda item: item.method in methods


def has_status(*statuses: int) -> Test:
    """Whether it came with one of these HTTP statuses."""
    return lambda item: item.exchange is not None and item.exchange.status in statuses


def used(*http_methods: str) -> Test:
    """Whether the HTTP request had one of these methods."""
    return lambda item: item.exchange is not None and item.exchange.http_method in http_methods


def sends(header: str) -> Test:
    """Whether the HTTP request had this header."""
    return lambda item: item.exchange is not None and item.exchange.headers.get(header) is not None


def brings(*names: str) -> Test:
    """Whether the params hold one of these members."""
    return lambda item: any(name in params_of(item) for name in names)


def always(item: Item) -> bool:
    """Whatever is so."""
    return True


def is_unlinked(item: Item) -> bool:
    """Whether it answers no request that is known."""
    return item.call is None


def is_legacy(item: Item) -> bool:
    """Whether it belongs to the legacy era."""
    return item.era == "legacy"


def is_modern(item: Item) -> bool:
    """Whether it belongs to the modern era."""
    return item.era == "modern"


def is_from_client(item: Item) -> bool:
    """Whether the client sends the error."""
    return item.sender == "client"


def declares_modern(item: Item) -> bool:
    """Whether the request declares a modern version in its `_meta`."""
    request = request_of(item)
    return request is not None and PROTOCOL_VERSION in request.meta


def before_handshake(item: Item) -> bool:
    """Whether a request of the client's, without modern metadata, came before any handshake."""
    request = request_of(item)
    if request is None or request.kind != "request" or request.sender != "client" or declares_modern(item):
        return False
    # Where these are there, the trace began after the handshake.
    if item.connection.began_late or sends(SESSION_HEADER)(request) or sends(VERSION_HEADER)(request):
        return False
    return request.phase == "before" and request.method != "initialize"


def while_initializing(item: Item) -> bool:
    """Whether a request of the client's came before `notifications/initialized`."""
    request = request_of(item)
    if request is None or request.sender != "client" or request.method == "initialize":
        return False
    return request.phase == "initializing"


def lacks_meta(item: Item) -> bool:
    """Whether a request to a modern server lacks what its `_meta` must hold."""
    request = request_of(item)
    if request is None or request.sender != "client" or request.era != "modern":
        return False
    version, capabilities = request.meta.get(PROTOCOL_VERSION), request.meta.get(CLIENT_CAPABILITIES)
    return not isinstance(version, str) or not isinstance(capabilities, dict)


def is_of_another_revision(item: Item) -> bool:
    """Whether the revision does not have the method, and another one has it."""
    request = request_of(item)
    if request is None or request.method not in _KNOWN or not request.revision:
        return False
    return method_row(request.method, request.revision) is None


def is_in_no_revision(item: Item) -> bool:
    """Whether no revision has the method."""
    return item.call is not None and item.method not in _KNOWN


def _gate(item: Item) -> tuple[Method, Mapping[str, Any]] | None:
    """The row of the method and what the side that answers has declared, where both are known."""
    call = item.call
    row = None if call is None else method_row(call.method, call.revision)
    if call is None or row is None or not row.capability:
        return None
    declared = call.server_capabilities if row.declared_by == "server" else call.capabilities
    return None if declared is None else (row, declared)


def capability_of(item: Item) -> str:
    """The capability that the method needs, or ""."""
    gate = _gate(item)
    return "" if gate is None else gate[0].capability


def is_undeclared(item: Item) -> bool:
    """Whether the method needs a capability that whoever answers did not declare."""
    gate = _gate(item)
    return gate is not None and not declares(gate[1], gate[0].capability)


def is_declared(item: Item) -> bool:
    """Whether the method needs a capability, and whoever answers declared it."""
    gate = _gate(item)
    return gate is not None and declares(gate[1], gate[0].capability)


def has_cursor(item: Item) -> bool:
    """Whether the request asks for a further page of a list."""
    return item.method in _PAGED and "cursor" in params_of(item)


def lists_versions(item: Item) -> bool:
    """Whether the error lists versions."""
    return bool(versions_of(item))


def lists_legacy_only(item: Item) -> bool:
    """Whether the error lists versions, and none of them is modern."""
    return lists_versions(item) and not any(one in MODERN_REVISIONS for one in versions_of(item))


def lists_modern_only(item: Item) -> bool:
    """Whether the error lists versions, a modern one among them, and no legacy one."""
    listed = versions_of(item)
    return any(one in MODERN_REVISIONS for one in listed) and not any(
        one in LEGACY_REVISIONS for one in listed
    )


def lists_both_eras(item: Item) -> bool:
    """Whether the error lists a modern version and a legacy one."""
    listed = versions_of(item)
    return any(one in MODERN_REVISIONS for one in listed) and any(one in LEGACY_REVISIONS for one in listed)


def lists_what_it_refuses(item: Item) -> bool:
    """Whether the modern version that is refused stands among the supported ones."""
    version = version_of(item)
    return version in MODERN_REVISIONS and version in versions_of(item)


def names_legacy_version(item: Item) -> bool:
    """Whether the request declares a legacy revision in its `_meta`."""
    return declares_modern(item) and version_of(item) in LEGACY_REVISIONS


def was_cancelled(item: Item) -> bool:
    """Whether the request was cancelled before."""
    cancelled = None if item.call is None else item.call.cancelled
    return cancelled is not None and cancelled.index < item.index


def _round_before(item: Item) -> Mapping[str, Any]:
    """The result that asked for what this request brings; {} where there is none."""
    call = item.call
    rounds = None if call is None else call.rounds
    if call is None or rounds is None or call.round == 0:
        return {}
    return rounds.calls[call.round - 1].result


def lacks_state(item: Item) -> bool:
    """Whether a retry leaves out the request state that the server gave."""
    return "requestState" in _round_before(item) and not brings("requestState")(item)


def lacks_answers(item: Item) -> bool:
    """Whether a retry leaves out an answer that the server asked for."""
    asked, given = _round_before(item).get("inputRequests"), params_of(item).get("inputResponses")
    if not isinstance(asked, dict):
        return False
    names = set(cast("dict[str, Any]", asked))
    return not isinstance(given, dict) or not names <= set(cast("dict[str, Any]", given))
