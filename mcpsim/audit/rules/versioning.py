"""Modern versions: what is refused and how, discovery, extensions, and a server's side of the two eras."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, cast

from mcpsim.audit.model import Call, Connection, Item
from mcpsim.audit.rule import (
    ALL,
    MODERN,
    MUST,
    NOTE,
    SHOULD,
    Found,
    Rule,
    each,
    errors,
    inside,
    messages,
    requests,
)
from mcpsim.audit.rules.envelopes import speaks_modern
from mcpsim.audit.rules.negotiation import error_data, listed_by, named_versions
from mcpsim.eras.negotiation import RECOGNISED_MODERN_ERRORS
from mcpsim.eras.revisions import MODERN_REVISIONS
from mcpsim.errors import INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_VERSION
from mcpsim.messages.meta import CLIENT_CAPABILITIES, PROTOCOL_VERSION, is_valid_meta_key
from mcpsim.recording.words import show

DISCOVER: Final = "server/discover"
PAGE: Final = "basic/versioning"
NEGOTIATION_PAGE: Final = f"{PAGE}#protocol-version-negotiation"
FALLBACK: Final = f"{PAGE}#backward-compatibility-with-initialization-based-versions"
EXTENSIONS: Final = f"{PAGE}#extension-negotiation"
A_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def declared_version(call: Call | None) -> str | None:
    """The version that a modern request declares; None where it declares none."""
    version = None if call is None else call.request.meta.get(PROTOCOL_VERSION)
    return version if isinstance(version, str) else None


def _serves_unsupported(connection: Connection) -> Iterator[Found]:
    listed: list[str] = []
    for item in connection.items:
        if item.sender != "server" or item.kind not in ("response", "error"):
            continue
        version = declared_version(item.call)
        if item.kind == "response" and item.method == DISCOVER:
            versions = listed_by(item)
            if version is not None and versions and version not in versions:
                yield Found(
                    item,
                    f"The request declares {show(version)}, which is not among the supported versions "
                    f"{show(versions)}, and yet it is answered well. basic/versioning"
                    "#protocol-version-negotiation wants -32022 then; by basic/transports/stdio"
                    "#backward-compatibility a client takes its version from the result.",
                    "Answer -32022 with the list. A client uses a version from the list either way.",
                    level=NOTE,
                )
            listed = versions or listed
        elif item.kind == "error":
            listed = (listed_by(item) if item.code == UNSUPPORTED_VERSION else []) or listed
        elif version is not None and listed and version not in listed:
            yield Found(
                item,
                f"The request declares {show(version)}, and the server, which supports {show(listed)}, "
                "answers "
                "it all the same.",
                "Refuse it with -32022 and the list of the supported versions.",
            )


def _refuses_otherwise(connection: Connection) -> Iterator[Found]:
    modern: bool | None = None
    for item in connection.items:
        if item.kind != "error" or item.sender != "server" or item.code == UNSUPPORTED_VERSION:
            continue
        version = declared_version(item.call)
        if version is None or item.code in RECOGNISED_MODERN_ERRORS:
            continue
        data = error_data(item)
        versions = named_versions(data.get("supported"))
        text = getattr(item.message, "message", "").lower()
        named = bool(versions) and "requested" in data
        said = "protocol version" in text and ("support" in text or "unknown" in text)
        if not (named or said):
            continue
        modern = speaks_modern(connection) if modern is None else modern
        if modern or any(one in MODERN_REVISIONS for one in versions):
            yield Found(
                item,
                f"The version {show(version)} is refused with the code {show(item.code)}; an unsupported "
                "version "
                "has the code -32022.",
                "Answer -32022, with supported and requested as data.",
                level=None if named else SHOULD,
            )


def _lists(item: Item) -> Iterator[Found]:
    if item.code != UNSUPPORTED_VERSION or item.sender != "server":
        return
    # In a legacy session a server may have given this code a meaning of its own.
    if item.era == "legacy" and item.method != "initialize":
        return
    data = error_data(item)
    supported: Any = data.get("supported")
    versions = named_versions(supported)
    version = declared_version(item.call)
    if not versions or len(versions) != len(supported):
        yield Found(
            item,
            f"The error -32022 says {show(supported)} for the supported versions; it should be a list of "
            "them.",
            "Put every version that the server supports into data.supported.",
        )
    elif version in versions and version in MODERN_REVISIONS:
        yield Found(
            item,
            f"The server refuses {show(version)} and lists it among the versions that it supports.",
            "List what the server supports, and serve what it lists.",
        )
    requested = data.get("requested")
    if not isinstance(requested, str):
        yield Found(
            item,
            "The error -32022 does not say in data.requested which version it refuses.",
            "Repeat the version that the request declares.",
        )
    elif version is not None and requested != version:
        yield Found(
            item,
            f"The error says that {show(requested)} was requested; the request declares {show(version)}.",
            level=NOTE,
        )


def _repeats(connection: Connection) -> Iterator[Found]:
    refused: dict[str, int] = {}
    for call in connection.calls:
        answer, version = call.answer, declared_version(call)
        if version is None or answer is None or answer.code != UNSUPPORTED_VERSION:
            continue
        # Sent before the first refusal was there, it is no repetition.
        if version in refused and refused[version] < call.request.index:
            yield Found(
                call.request,
                f"The server has refused {show(version)} before, and the client declares it again.",
                "Take a version from the list of the error, or tell the user that there is none in common.",
            )
        refused.setdefault(version, answer.index)


def _discovers(connection: Connection) -> Iterator[Found]:
    modern: bool | None = None
    for call in connection.calls:
        answer, meta = call.answer, call.request.meta
        if call.method != DISCOVER or answer is None or answer.code != METHOD_NOT_FOUND:
            continue
        if declared_version(call) not in MODERN_REVISIONS or CLIENT_CAPABILITIES not in meta:
            continue
        modern = speaks_modern(connection) if modern is None else modern
        if modern:
            yield Found(
                answer,
                "A server that speaks a modern version does not have server/discover.",
                "Implement it: every modern server must.",
            )


def _names_of_extensions(item: Item) -> Iterator[Found]:
    declared: Any = None
    if item.kind == "request":
        declared = item.meta.get(CLIENT_CAPABILITIES)
    elif item.kind == "response" and item.method == DISCOVER:
        declared = item.result.get("capabilities")
    if not isinstance(declared, dict) or "extensions" not in declared:
        return
    extensions: Any = cast("dict[str, Any]", declared)["extensions"]
    if not isinstance(extensions, dict):
        return
    for name in cast("dict[str, Any]", extensions):
        if "/" not in name or not is_valid_meta_key(name) or name.endswith("/"):
            yield Found(
                item,
                f"The extension {show(name)} has not the form of an identifier with a prefix.",
                "Name it like com.example/thing.",
                party=item.party,
            )


_OF_TASKS: Final = ("tasks/get", "tasks/update", "tasks/cancel")
_TASKS: Final = "io.modelcontextprotocol/tasks"


def _not_agreed(item: Item) -> Iterator[Found]:
    call = item.call
    offered = None if call is None else call.server_capabilities
    if call is None or offered is None or item.sender != "client":
        return
    extensions: Any = offered.get("extensions")
    if not isinstance(extensions, dict) or _TASKS not in extensions:
        yield Found(
            item,
            f"The client uses {show(item.method)} of the extension {_TASKS}, which the server did not "
            "declare.",
            "Use the core protocol with a server that does not declare the extension.",
        )


def _names_its_versions(connection: Connection) -> Iterator[Found]:
    modern: bool | None = None
    for session in connection.sessions:
        answer = session.initialize.answer
        if answer is None or answer.kind != "error":
            continue
        text = getattr(answer.message, "message", "") + show(getattr(answer.message, "data", None), 2_000)
        if A_DATE.search(text):
            continue
        # That initialize is not there says that no legacy version is; of the rest it depends on the server.
        if answer.code != METHOD_NOT_FOUND and answer.code not in RECOGNISED_MODERN_ERRORS:
            if answer.code != INVALID_PARAMS:
                continue
            modern = speaks_modern(connection) if modern is None else modern
            if not modern:
                continue
        yield Found(
            answer,
            "The error that answers initialize does not name the versions that the server supports; the "
            "user of "
            "a legacy client learns nothing else.",
            "Name them in the message, or in data.supported.",
        )


def _remembers(connection: Connection) -> Iterator[Found]:
    probed = legacy = False
    for item in connection.items:
        if item.kind == "error" and item.method == DISCOVER and item.code not in RECOGNISED_MODERN_ERRORS:
            probed = True
        elif item.kind == "response" and item.method == "initialize":
            legacy = probed
        elif item.kind in ("event", "error", "empty") and (item.kind == "event" or item.sender == "server"):
            # Where something fails, the client may well find out anew.
            legacy = False
        elif legacy and item.kind == "request" and item.method == DISCOVER:
            yield Found(
                item,
                "The client asks once more which era the server is of, after it found out that it is legacy.",
                "Remember the era as long as the server process lives, or for the origin.",
            )
            return


VERSIONING: Final[tuple[Rule, ...]] = (
    Rule(
        "unsupported-version-is-refused",
        MUST,
        "server",
        ALL,
        {"modern": NEGOTIATION_PAGE},
        "A server refuses a request that declares a version which it does not support.",
        on=each(Connection, among=("error", DISCOVER)),
        check=_serves_unsupported,
    ),
    Rule(
        "unsupported-version-has-its-code",
        MUST,
        "server",
        ALL,
        {"modern": NEGOTIATION_PAGE},
        "An unsupported version is refused with -32022.",
        on=each(Connection, needs=("error",)),
        check=_refuses_otherwise,
    ),
    Rule(
        "unsupported-version-lists-supported",
        MUST,
        "server",
        ALL,
        {"modern": NEGOTIATION_PAGE},
        "The error -32022 lists the versions that the server supports, and repeats the one that was "
        "requested.",
        on=errors(),
        check=_lists,
    ),
    Rule(
        "refused-version-is-not-repeated",
        SHOULD,
        "client",
        ALL,
        {"modern": NEGOTIATION_PAGE},
        "After -32022 a client takes a version that both support, or tells its user.",
        on=each(Connection, needs=("error",)),
        check=_repeats,
    ),
    Rule(
        "discover-is-there",
        MUST,
        "server",
        MODERN,
        {"modern": "server/discover"},
        "Every modern server has server/discover.",
        on=each(Connection, needs=("error", DISCOVER)),
        check=_discovers,
    ),
    Rule(
        "extension-has-prefix",
        MUST,
        "sender",
        MODERN,
        {"modern": EXTENSIONS},
        "The identifier of an extension has the form of a _meta key with a prefix.",
        on=messages(needs=inside("extensions")),
        check=_names_of_extensions,
    ),
    Rule(
        "extension-is-agreed",
        MUST,
        "client",
        MODERN,
        {"modern": EXTENSIONS},
        "What belongs to an extension is used only where both sides declare it.",
        on=requests(*_OF_TASKS),
        check=_not_agreed,
    ),
    Rule(
        "modern-server-names-its-versions",
        SHOULD,
        "server",
        MODERN,
        {"modern": FALLBACK},
        "A server without legacy versions names those that it has, in any error to initialize.",
        on=each(Connection, needs=("initialize",), any_era=True),
        check=_names_its_versions,
    ),
    Rule(
        "era-is-remembered",
        SHOULD,
        "client",
        MODERN,
        {"modern": FALLBACK},
        "A client finds out once which era a server is of.",
        on=each(Connection, needs=("error", DISCOVER)),
        check=_remembers,
    ),
)
