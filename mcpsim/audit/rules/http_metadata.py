"""The headers that repeat what the body of a modern request says: version, method and name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from mcpsim.audit.model import Call, Connection, Exchange, Item
from mcpsim.audit.rule import MODERN, MUST, NOTE, SHOULD, Found, Rule, calls, each, notifications, requests
from mcpsim.audit.rules.http_common import MODERN_PAGE, posted, shows_head, speaks_modern
from mcpsim.audit.rules.http_encoding import Fault, difference
from mcpsim.audit.words import show
from mcpsim.errors import HEADER_MISMATCH, INVALID_REQUEST
from mcpsim.messages import Request
from mcpsim.recording.interchange import INTERMEDIARIES
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

#: The code of this error in drafts of the revision.
DRAFT_HEADER_MISMATCH: Final = -32001


def _row(item: Item, name: str) -> tuple[Headers, Mirrored] | None:
    """The headers of a request, and what the header of this name has to say; None where that is not known."""
    exchange = posted(item)
    if exchange is None or exchange.request is not item or not shows_head(item):
        return None
    if not isinstance(item.message, Request):
        return None
    return next(((exchange.headers, row) for row in mirrored(item.message) if row.header == name), None)


def _missing(name: str) -> Callable[[Item], Iterator[Found]]:
    def check(item: Item) -> Iterator[Found]:
        found = _row(item, name)
        if found is None or name in found[0]:
            return
        row = found[1]
        if row.value is not None:
            says = f"; the body says {show(row.value)} ({row.source})"
        elif name == NAME_HEADER:
            return
        else:
            says = ""
        yield Found(item, f"The request has no {name} header{says}.")

    return check


def _different(name: str) -> Callable[[Item], Iterator[Found]]:
    """A header that is not encoded: it says what the body says, letter by letter."""

    def check(item: Item) -> Iterator[Found]:
        found = _row(item, name)
        if found is None or found[1].value is None:
            return
        headers, row = found
        for said in headers.get_all(name):
            if said.strip(" \t") != row.value:
                yield Found(
                    item, f"{name} says {show(said)}, and the body says {show(row.value)} ({row.source})."
                )
                return

    return check


def _name(fault: Fault) -> Callable[[Item], Iterator[Found]]:
    def check(item: Item) -> Iterator[Found]:
        found = _row(item, NAME_HEADER)
        if found is None or found[1].value is None:
            return
        for text in found[0].get_all(NAME_HEADER):
            differs = difference(text, found[1].value)
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
    return header_problems(exchange.headers, item.message)


def _not_validated(call: Call) -> Iterator[Found]:
    answer = call.answer
    if call.asked_by != "client" or answer is None or answer.kind != "response":
        return
    # A result without `resultType` is that of a legacy server, which knows nothing of these headers; and who
    # only forwards need not read the body.
    if "resultType" not in answer.result or answer.party in INTERMEDIARIES:
        return
    problems = problems_of(call)
    if problems:
        yield Found(
            answer,
            f"The server processed a request that it must refuse with 400 and {HEADER_MISMATCH}. "
            f"{problems[0]}",
            hint="Compare the headers with the body before anything is done.",
        )


def _other_code(connection: Connection) -> Iterator[Found]:
    refused = [
        one
        for one in connection.items
        if one.kind == "error" and one.sender == "server" and _is_other_refusal(one, one.exchange)
    ]
    # Only a server that speaks this revision is bound; an older one may refuse the request for any reason.
    if not refused or connection.server in INTERMEDIARIES or not speaks_modern(connection):
        return
    for answer in refused:
        problems = [] if answer.call is None else problems_of(answer.call)
        if problems:
            yield Found(
                answer,
                f"The server refused this request with {answer.code}, probably for its headers; the code for "
                f"that is {HEADER_MISMATCH}. {problems[0]}",
                level=MUST if answer.code == DRAFT_HEADER_MISMATCH else SHOULD,
            )


def _is_other_refusal(item: Item, exchange: Exchange | None) -> bool:
    if exchange is None or exchange.status != 400 or item.revision not in MODERN:
        return False
    return item.code in (DRAFT_HEADER_MISMATCH, INVALID_REQUEST)


def _wrongly_refused(call: Call) -> Iterator[Found]:
    answer = call.answer
    if call.asked_by != "client" or answer is None or answer.code != HEADER_MISMATCH:
        return
    item = call.request
    exchange = posted(item)
    if exchange is None or not shows_head(item) or problems_of(call):
        return
    # Arguments of a call may belong into headers that only the server knows of.
    if call.method == "tools/call" and item.params.get("arguments"):
        return
    yield from _refused(answer, exchange, item)


def _refused(answer: Item, exchange: Exchange, item: Item) -> Iterator[Found]:
    member = NAME_SOURCE.get(item.method, "")
    encoded = bool(member) and exchange.headers.get(NAME_HEADER) != item.params.get(member)
    spelled = {PROTOCOL_VERSION_HEADER, METHOD_HEADER, NAME_HEADER} - set(exchange.headers)
    if encoded:
        why = f" {NAME_HEADER} is encoded, and has to be decoded before it is compared."
        level = MUST
    elif len(spelled) > (0 if member else 1):
        why = " The names of headers are compared without regard to case."
        level = SHOULD
    else:
        why = ""
        level = NOTE
    yield Found(
        answer,
        f"The server refused a request for its headers, and all of them say what the body says.{why}",
        level=level,
    )


_VERSION: Final = f"{MODERN_PAGE}#protocol-version-header"
_STANDARD: Final = f"{MODERN_PAGE}#standard-request-headers"
_VALIDATION: Final = f"{MODERN_PAGE}#server-validation"
_ENCODING: Final = f"{MODERN_PAGE}#value-encoding"


def _header(id: str, page: str, sentence: str, check: Callable[[Item], Iterator[Found]]) -> Rule:
    return Rule(id, MUST, "client", MODERN, {"modern": page}, sentence, on=requests(), check=check)


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
        _different(PROTOCOL_VERSION_HEADER),
    ),
    _header(
        "http-method-header", _STANDARD, "Every request has the Mcp-Method header.", _missing(METHOD_HEADER)
    ),
    _header(
        "http-method-header-agrees",
        _STANDARD,
        "The Mcp-Method header is the method in the body.",
        _different(METHOD_HEADER),
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
        on=notifications(),
        check=_of_notification,
    ),
    Rule(
        "http-headers-are-validated",
        MUST,
        "server",
        MODERN,
        {"modern": _VALIDATION},
        "A server refuses a request whose headers are missing, or differ from the body.",
        on=calls(),
        check=_not_validated,
    ),
    Rule(
        "http-header-mismatch-has-its-code",
        MUST,
        "server",
        MODERN,
        {"modern": _VALIDATION},
        f"A request that is refused for its headers gets the error {HEADER_MISMATCH}.",
        on=each(Connection),
        check=_other_code,
    ),
    Rule(
        "http-right-headers-are-accepted",
        MUST,
        "server",
        MODERN,
        {"modern": _VALIDATION},
        "Headers are decoded before they are compared, and their names are compared without regard to case.",
        on=calls(),
        check=_wrongly_refused,
    ),
)
