"""What a server answers where a resource is not there, or must not be given.

https://modelcontextprotocol.io/specification/2026-07-28/server/resources#error-handling
https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcpsim.audit.model import Connection, Item
from mcpsim.audit.rule import ALL, LEGACY, MODERN, MUST, NOTE, SHOULD, Found, Rule, each, errors
from mcpsim.audit.rules.envelopes import speaks_modern
from mcpsim.audit.rules.listed import RESOURCES, TEMPLATES, Asked, asked, is_complete, listings
from mcpsim.audit.rules.texts import error_text, names_missing, says_internal
from mcpsim.errors import INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND, UriTemplateError
from mcpsim.recording.words import show
from mcpsim.utilities.uri_templates import read_template
from mcpsim.utilities.uris import is_uri, leads_up

READ: Final = "resources/read"
_NO_SUCH: Final = names_missing("resource")
_ENCODED: Final = re.compile(r"%([0-9A-Fa-f]{2})")
MAX_TEMPLATES: Final = 100
MAX_TRIES: Final = 10_000


def _says_missing(item: Item) -> bool:
    return _NO_SUCH.search(error_text(item)) is not None


def _modern_code(connection: Connection) -> Iterator[Found]:
    wrong = [
        item
        for item in connection.items
        if item.kind == "error"
        and item.method == READ
        and item.revision in MODERN
        and item.code != INVALID_PARAMS
        and (item.code == RESOURCE_NOT_FOUND or _says_missing(item))
    ]
    if not wrong:
        return
    # Where there was a handshake, a request from before it may have reached a server of an earlier revision.
    sure = not connection.sessions or speaks_modern(connection)
    for item in wrong:
        doubt = "" if sure else " (A server of an earlier revision may do that.)"
        yield Found(
            item,
            f"A resource that does not exist is answered by {item.code}; the code for it is {INVALID_PARAMS}."
            f"{doubt}",
            level=None if sure else NOTE,
        )


def _legacy_code(item: Item) -> Iterator[Found]:
    if item.code != RESOURCE_NOT_FOUND and _says_missing(item):
        yield Found(
            item,
            f"A resource that does not exist is answered by {item.code}; in this revision the code for it is "
            f"{RESOURCE_NOT_FOUND}.",
            hint="Choose the code by the negotiated revision. A client takes both for not found.",
        )


def _internal_code(item: Item) -> Iterator[Found]:
    if item.code != INTERNAL_ERROR and says_internal(item):
        yield Found(
            item,
            f"The error calls itself an internal one and has the code {item.code}; the code for it is "
            f"{INTERNAL_ERROR}.",
        )


def _reads(connection: Connection) -> Iterator[tuple[Item, str]]:
    """Complete results of resources that were read, and what was asked for."""
    for call in connection.calls:
        uri: Any = call.request.params.get("uri")
        answer = call.answer
        if call.method != READ or call.asked_by != "client" or answer is None or answer.kind != "response":
            continue
        if isinstance(uri, str) and is_complete(answer):
            yield answer, uri


def _is_filled(item: Item) -> bool:
    found: Any = item.result.get("contents")
    return isinstance(found, list) and bool(found)  # pyright: ignore[reportUnknownArgumentType]


def _empty(connection: Connection) -> Iterator[Found]:
    known: dict[Item, Asked] | None = None
    may_be: _Templates | None = None
    for answer, uri in _reads(connection):
        if answer.revision not in MODERN or answer.result.get("contents") != []:
            continue
        if known is None or may_be is None:
            every = asked(connection, RESOURCES, READ)
            known = {one.call.answer: one for one in every if one.call.answer is not None}
            may_be = _Templates(connection)
        one = known.get(answer)
        if one is not None and one.after is not None and uri in one.after.entries:
            continue
        missing = one is not None and one.is_unknown(uri) and may_be.known and not may_be.match(uri)
        reason = (
            "The server lists neither this resource nor a template for it, so it probably does not exist."
            if missing
            else "Whether the resource exists does not show."
        )
        yield Found(
            answer,
            f"{show(uri)} is answered by an empty list of contents. {reason} A resource that does not exist "
            f"is an error, {INVALID_PARAMS}.",
            level=SHOULD if missing else NOTE,
        )


class _Templates:
    """The templates of a server, as far as they were listed.

    Attributes:
        known: whether the whole list was told, and nothing has changed it.
    """

    def __init__(self, connection: Connection) -> None:
        told = listings(connection, TEMPLATES)
        self.known = bool(told) and told[-1].complete and told[-1].changed is None
        texts = list(dict.fromkeys(name for one in told for name in one.entries))
        self._texts = texts
        self._tries = 0

    def match(self, uri: str) -> bool:
        """Whether a URI may be one of a template. Also where it would take too long to tell."""
        self._tries += len(self._texts)
        if len(self._texts) > MAX_TEMPLATES or self._tries > MAX_TRIES:
            return True
        return any(_matches(text, uri) for text in self._texts)


def _matches(text: str, uri: str) -> bool:
    try:
        return read_template(text).match(uri) is not None
    except UriTemplateError:
        return True


#: What may be percent-encoded in a URI, and often is not.
_TO_ENCODE: Final = re.compile(r"[^!-~]")


def _unvalidated(connection: Connection) -> Iterator[Found]:
    odd = [(item, uri) for item, uri in _reads(connection) if not is_uri(uri) and _is_filled(item)]
    if not odd:
        return
    told = {uri for one in listings(connection, RESOURCES) for uri in one.entries}
    for item, uri in odd:
        if uri not in told:
            yield Found(
                item,
                f"The server gives contents for {show(uri)}, which is no URI. It probably does not validate "
                "what it is asked for.",
                hint=f"Refuse it: {INVALID_PARAMS}.",
                # Many write a URI with the letters of its text, and mean the one with these encoded.
                level=NOTE if is_uri(_TO_ENCODE.sub("-", uri)) else SHOULD,
            )


def _traversal(connection: Connection) -> Iterator[Found]:
    folders: set[str] | None = None
    for item, uri in _reads(connection):
        if item.revision not in MODERN or not uri.lower().startswith("file://") or not leads_up(uri):
            continue
        if not _is_filled(item):
            continue
        if folders is None:
            told = (name for one in listings(connection, RESOURCES) for name in one.entries)
            folders = {_folder(name) for name in told if name.lower().startswith("file://")}
        if _climbs_out(uri, folders):
            yield Found(
                item,
                f"The server gives contents for {show(uri)}, whose steps upwards lead out of what it offers. "
                "It probably does not check paths.",
                hint="Resolve the path first, and refuse what lies outside of the folder that is served.",
                level=SHOULD,
            )


def _folder(uri: str) -> str:
    return uri.rpartition("/")[0] + "/"


def _decoded(text: str) -> str:
    """A text without percent-encoding, octet by octet: enough to see its dots and slashes."""
    return _ENCODED.sub(lambda found: chr(int(found[1], 16)), text)


def _climbs_out(uri: str, folders: set[str]) -> bool:
    """Whether the steps of a path lead above its root, or away from every folder with a listed resource."""
    left: list[str] = []
    for step in _decoded(uri[len("file://") :]).replace("\\", "/").split("/")[1:]:
        if step == "..":
            if not left:
                return True
            left.pop()
        elif step not in ("", "."):
            left.append(step)
    reached = "file:///" + "/".join(left)
    return bool(folders) and not any(reached.startswith(_decoded(folder)) for folder in folders)


def _at(anchor: str) -> Mapping[Any, str]:
    return {"modern": f"server/resources#{anchor}", "legacy": f"server/resources#{anchor}"}


RESOURCE_ERRORS: Final[tuple[Rule, ...]] = (
    Rule(
        "resource-not-found-code",
        MUST,
        "server",
        MODERN,
        {"modern": "server/resources#error-handling"},
        "A resource that does not exist is answered by the error -32602.",
        on=each(Connection, needs=("resources/read", "error")),
        check=_modern_code,
    ),
    Rule(
        "resource-not-found-code-legacy",
        SHOULD,
        "server",
        LEGACY,
        {"legacy": "server/resources#error-handling"},
        "A resource that does not exist is answered by the error -32002.",
        on=errors(READ),
        check=_legacy_code,
    ),
    Rule(
        "resource-internal-error-code",
        SHOULD,
        "server",
        ALL,
        _at("error-handling"),
        "An internal error about resources has the code -32603.",
        on=errors("resources/list", "resources/templates/list", READ),
        check=_internal_code,
    ),
    Rule(
        "resource-missing-is-not-empty",
        MUST,
        "server",
        MODERN,
        {"modern": "server/resources#error-handling"},
        "A resource that does not exist is not answered by an empty list of contents.",
        on=each(Connection, needs=("resources/read",)),
        check=_empty,
    ),
    Rule(
        "resource-uris-validated",
        MUST,
        "server",
        ALL,
        _at("security-considerations"),
        "A server validates the URIs that it is asked for.",
        on=each(Connection, needs=("resources/read",)),
        check=_unvalidated,
    ),
    Rule(
        "resource-path-traversal",
        MUST,
        "server",
        MODERN,
        {"modern": "server/resources#security-considerations"},
        "A server gives nothing for a file path that leads out of what it serves.",
        on=each(Connection, needs=("resources/read",)),
        check=_traversal,
    ),
)
