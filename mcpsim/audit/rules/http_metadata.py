"""The headers that repeat what the body of a modern request says: version, method and name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from mcpsim.audit.model import Call, Item
from mcpsim.audit.rule import MODERN, MUST, NOTE, Found, Rule, notifications, requests
from mcpsim.audit.rules.http_common import MODERN_PAGE, posted, shows_head
from mcpsim.audit.rules.http_encoding import Fault, difference
from mcpsim.messages import PROTOCOL_VERSION, Request
from mcpsim.recording.words import show
from mcpsim.transports.http import (
    METHOD_HEADER,
    NAME_HEADER,
    NAME_SOURCE,
    PROTOCOL_VERSION_HEADER,
    Headers,
    Mirrored,
    header_problems,
    mirrored,
)


def _headers_of(item: Item) -> Headers | None:
    """The headers of a request; None where the trace does not show them."""
    exchange = posted(item)
    if exchange is None or exchange.request is not item or not shows_head(item):
        return None
    return exchange.headers


def _row(item: Item, name: str) -> Mirrored | None:
    """What the header of this name has to say; None where there is no such header for the method."""
    if not isinstance(item.message, Request):
        return None
    return next((row for row in mirrored(item.message) if row.header == name), None)


def _missing(name: str) -> Callable[[Item], Iterator[Found]]:
    def check(item: Item) -> Iterator[Found]:
        headers = _headers_of(item)
        if headers is None or name in headers:
            return
        row = _row(item, name)
        if row is None or (row.value is None and name == NAME_HEADER):
            return
        says = "" if row.value is None else f"; the body says {show(row.value)} ({row.source})"
        yield Found(item, f"The request has no {name} header{says}.")

    return check


def _different(name: str, value: Callable[[Item], Any]) -> Callable[[Item], Iterator[Found]]:
    """A header that is not encoded: it says what the body says, letter by letter."""

    def check(item: Item) -> Iterator[Found]:
        headers, expected = _headers_of(item), value(item)
        if headers is None or not isinstance(expected, str):
            return
        for said in headers.get_all(name):
            if said.strip(" \t") != expected:
                row = _row(item, name)
                source = "" if row is None else f" ({row.source})"
                yield Found(item, f"{name} says {show(said)}, and the body says {show(expected)}{source}.")
                return

    return check


def _name(fault: Fault) -> Callable[[Item], Iterator[Found]]:
    def check(item: Item) -> Iterator[Found]:
        member = NAME_SOURCE.get(item.method)
        headers = None if member is None else _headers_of(item)
        expected = item.params.get(member) if member is not None else None
        if headers is None or not isinstance(expected, str):
            return
        for text in headers.get_all(NAME_HEADER):
            differs = difference(text, expected)
            if differs is not None and differs.fault == fault:
                yield Found(item, f"{NAME_HEADER} {differs.sentence}.")
                return

    return check


def _of_notification(item: Item) -> Iterator[Found]:
    exchange = posted(item)
    if exchange is None or exchange.request is not item or not shows_head(item):
        return
    missing = [name for name in (PROTOCOL_VERSION_HEADER, METHOD_HEADER) if name not in exchange.headers]
    if missing:
        yield Found(
            item,
            f"This notification has no {' and no '.join(missing)} header. The section Protocol Version "
            "Header wants the version on every POST; the note in Sending Messages says that the headers of "
            "notifications are not defined.",
        )


def problems_of(call: Call) -> list[str]:
    """What is wrong with the standard headers of a modern request; [] also where the trace does not show
    them."""
    item = call.request
    exchange = posted(item)
    if exchange is None or not shows_head(item) or not isinstance(item.message, Request):
        return []
    problems = header_problems(exchange.headers, item.message)
    return problems and header_problems(_each_once(exchange.headers), item.message)


def _each_once(headers: Headers) -> Headers:
    """Headers without lines that say once more what another line says: how to take those is not defined."""
    return Headers(
        tuple(dict.fromkeys((name.lower(), value.strip(" \t")) for name, value in headers.items()))
    )


_VERSION: Final = f"{MODERN_PAGE}#protocol-version-header"
_STANDARD: Final = f"{MODERN_PAGE}#standard-request-headers"
_ENCODING: Final = f"{MODERN_PAGE}#value-encoding"


def _header(id: str, page: str, sentence: str, check: Callable[[Item], Iterator[Found]]) -> Rule:
    return Rule(
        id, MUST, "client", MODERN, {"modern": page}, sentence, on=requests(needs=("http",)), check=check
    )


HTTP_METADATA: Final[tuple[Rule, ...]] = (
    _header(
        "http-version-header",
        _VERSION,
        "Every POST has the MCP-Protocol-Version header.",
        _missing(PROTOCOL_VERSION_HEADER),
    ),
    _header(
        "http-version-header-agrees",
        _VERSION,
        "The MCP-Protocol-Version header says what the metadata in the body says.",
        _different(PROTOCOL_VERSION_HEADER, lambda item: item.meta.get(PROTOCOL_VERSION)),
    ),
    _header(
        "http-method-header", _STANDARD, "Every request has the Mcp-Method header.", _missing(METHOD_HEADER)
    ),
    _header(
        "http-method-header-agrees",
        _STANDARD,
        "The Mcp-Method header is the method in the body.",
        _different(METHOD_HEADER, lambda item: item.method),
    ),
    _header(
        "http-name-header",
        _STANDARD,
        "A call of a tool, a prompt or a resource has the Mcp-Name header.",
        _missing(NAME_HEADER),
    ),
    _header(
        "http-name-header-agrees",
        f"{MODERN_PAGE}#client-behavior",
        "The Mcp-Name header is the name or the URI in the body.",
        _name("other"),
    ),
    _header(
        "http-name-is-encoded",
        _STANDARD,
        "A name that a header cannot hold as it is, is encoded in Base64.",
        _name("plain"),
    ),
    _header(
        "http-name-lookalike-is-encoded",
        _ENCODING,
        "A name that looks like an encoded one is encoded as well.",
        _name("lookalike"),
    ),
    _header(
        "http-name-encoding-is-exact",
        _ENCODING,
        "The marks of an encoded name are exactly =?base64? and ?=.",
        _name("marker"),
    ),
    Rule(
        "http-notification-headers",
        NOTE,
        "client",
        MODERN,
        {"modern": _VERSION},
        "A notification has the headers of a request, as far as it can; the specification does not say.",
        on=notifications(needs=("http",)),
        check=_of_notification,
    ),
)
