"""How a server checks the headers of a modern request against its body, and refuses what differs.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from mcpsim.audit.model import Call, Connection, Exchange, Item
from mcpsim.audit.rule import MODERN, MUST, NOTE, SHOULD, Found, Level, On, Rule, calls, each
from mcpsim.audit.rules.http_common import MODERN_PAGE, posted, shows_head, speaks_modern
from mcpsim.audit.rules.http_headers import Carried, carried
from mcpsim.audit.rules.http_metadata import problems_of
from mcpsim.errors import HEADER_MISMATCH, INVALID_REQUEST, FramingError
from mcpsim.recording.interchange import INTERMEDIARIES
from mcpsim.recording.words import show
from mcpsim.transports.http import (
    METHOD_HEADER,
    NAME_HEADER,
    NAME_SOURCE,
    PROTOCOL_VERSION_HEADER,
    decode_header_value,
)
from mcpsim.utilities.parameter_headers import ParameterHeader, header_faults, value_at

#: The code of this error in drafts of the revision.
DRAFT_HEADER_MISMATCH: Final = -32001


def _wrong(connection: Connection, wanted: Callable[[Item], bool]) -> Iterator[tuple[Item, str]]:
    """The answers of a kind that is wanted to requests whose headers must be refused, and why they must."""
    # Who only forwards need not read the body.
    if not connection.is_http or connection.server in INTERMEDIARIES:
        return
    found = False
    for call in connection.calls:
        answer = call.answer
        if call.asked_by == "client" and call.revision in MODERN and answer is not None and wanted(answer):
            found = True
            problems = problems_of(call)
            if problems:
                yield answer, problems[0]
    for one in carried(connection) if found else ():
        answer = one.call.answer
        if answer is None or not wanted(answer) or not one.certain or problems_of(one.call):
            continue
        faults = header_faults(one.headers, one.certain, one.arguments)
        if faults:
            yield answer, faults[0]


def _not_validated(connection: Connection) -> Iterator[Found]:
    # A result without `resultType` is that of a legacy server, which knows nothing of these headers.
    for answer, why in _wrong(connection, lambda item: "resultType" in item.result):
        yield Found(
            answer,
            f"The server processed a request that it must refuse with 400 and {HEADER_MISMATCH}. {why}",
            hint="Compare the headers with the body before anything is done.",
        )


def _other_code(connection: Connection) -> Iterator[Found]:
    refused = list(_wrong(connection, lambda item: _is_other_refusal(item, item.exchange)))
    # Only a server that speaks this revision is bound; an older one may refuse the request for any reason.
    sure = bool(refused) and speaks_modern(connection)
    for answer, why in refused:
        says_so = _speaks_of_headers(answer)
        if not sure and not says_so:
            continue
        certain = says_so or answer.code == DRAFT_HEADER_MISMATCH
        yield Found(
            answer,
            f"The server refused this request with {answer.code}{'' if certain else ', probably'} for its "
            f"headers; the code for that is {HEADER_MISMATCH}. {why}",
            level=MUST if certain else SHOULD,
        )


def _is_other_refusal(item: Item, exchange: Exchange | None) -> bool:
    if exchange is None or exchange.status != 400 or item.revision not in MODERN:
        return False
    return item.code in (DRAFT_HEADER_MISMATCH, INVALID_REQUEST) or (
        item.code is not None and item.code != HEADER_MISMATCH and _speaks_of_headers(item)
    )


#: Headers of this revision alone, and the name of the error.
_OF_HEADERS: Final = re.compile(r"header.?mismatch|mcp-(?:name|method|param)", re.IGNORECASE)


def _speaks_of_headers(item: Item) -> bool:
    """Whether the text of an error says that it is about the headers of a modern request."""
    text = getattr(item.message, "message", "")
    return isinstance(text, str) and _OF_HEADERS.search(text) is not None


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


def _refusals(connection: Connection) -> Iterator[tuple[Carried, Item]]:
    for one in carried(connection):
        answer = one.call.answer
        if answer is None or answer.code != HEADER_MISMATCH or problems_of(one.call):
            continue
        if one.certain is not None and not header_faults(one.headers, one.certain, one.arguments):
            yield one, answer


def _compared_as_text(connection: Connection) -> Iterator[Found]:
    for one, answer in _refusals(connection):
        for known in one.certain or ():
            if _is_written_otherwise(one, known):
                value = value_at(one.arguments, known.path)
                yield Found(
                    answer,
                    f"The server refused {show(known.header)[1:-1]}: {show(one.headers.get(known.header))} "
                    f"beside {show(value)} in the body; integers are compared as numbers.",
                )


def _is_written_otherwise(one: Carried, known: ParameterHeader) -> bool:
    """Whether a header has the number of the body in other characters."""
    said = one.headers.get(known.header)
    return (
        said is not None
        and known.type == "integer"
        and said.strip(" \t") != show(value_at(one.arguments, known.path))
    )


def _param_wrongly_refused(connection: Connection) -> Iterator[Found]:
    for one, answer in _refusals(connection):
        certain = one.certain or ()
        said = [value for known in certain if (value := one.headers.get(known.header)) is not None]
        encoded = [value for value in said if _is_encoded(value)]
        needless = [known for known in certain if value_at(one.arguments, known.path) is None]
        if any(_is_written_otherwise(one, known) for known in certain):
            continue
        if encoded:
            why, level = f" {show(encoded[0])} has to be decoded before it is compared.", MUST
        elif needless and not said:
            header = show(needless[0].header)[1:-1]
            why, level = f" {header} must not be expected where the argument is not there, or null.", MUST
        else:
            why, level = "", NOTE
        yield Found(
            answer,
            "The server refused a call for its headers, and all of them say what the body says, as far as "
            f"the list of its tools tells.{why}",
            level=level,
        )


def _is_encoded(value: str) -> bool:
    try:
        return decode_header_value(value.strip(" \t")) != value.strip(" \t")
    except FramingError:
        return False


_VALIDATION: Final = "server-validation"


def _rule(
    id: str,
    sentence: str,
    on: On,
    check: Callable[..., Iterator[Found]],
    level: Level = MUST,
    anchor: str = _VALIDATION,
) -> Rule:
    page = f"{MODERN_PAGE}#{anchor}"
    return Rule(id, level, "server", MODERN, {"modern": page}, sentence, on=on, check=check)


HTTP_VALIDATION: Final[tuple[Rule, ...]] = (
    _rule(
        "http-headers-are-validated",
        "A server refuses a request whose headers are missing, or differ from the body.",
        each(Connection, needs=("http",)),
        _not_validated,
    ),
    _rule(
        "http-header-mismatch-has-its-code",
        f"A request that is refused for its headers gets the error {HEADER_MISMATCH}.",
        each(Connection, needs=("http",)),
        _other_code,
    ),
    _rule(
        "http-right-headers-are-accepted",
        "Headers are decoded before they are compared, and their names are compared without regard to case.",
        calls(needs=("http", "error")),
        _wrongly_refused,
    ),
    _rule(
        "http-right-param-headers-are-accepted",
        "Parameter headers are decoded before they are compared, and none is expected without an argument.",
        each(Connection, needs=("http",)),
        _param_wrongly_refused,
        anchor="server-behavior-for-custom-headers",
    ),
    _rule(
        "http-integers-are-compared-as-numbers",
        "An integer in a header and in the body are compared as numbers.",
        each(Connection, needs=("http",)),
        _compared_as_text,
        SHOULD,
    ),
)
