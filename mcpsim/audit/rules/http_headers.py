"""The `Mcp-Param-*` headers, which repeat arguments of a tool call. Modern.

What may be annotated is for the rules about tools (`x-mcp-header-valid` and its neighbours).

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from mcpsim.audit.model import Call, Connection, Exchange, Item, Trace, Walk
from mcpsim.audit.once import once
from mcpsim.audit.rule import MODERN, MUST, SHOULD, Bound, Found, Level, Rule, each
from mcpsim.audit.rules.http_common import MODERN_PAGE, posted, shows_head
from mcpsim.audit.rules.http_encoding import Difference, difference
from mcpsim.audit.rules.http_metadata import problems_of
from mcpsim.audit.rules.listed import TOOLS, Listing, asked, members_of
from mcpsim.errors import HEADER_MISMATCH, ParameterHeaderError
from mcpsim.recording.interchange import INTERMEDIARIES
from mcpsim.recording.words import show
from mcpsim.transports.http import Headers
from mcpsim.utilities.parameter_headers import (
    HEADER_PREFIX,
    MAX_INTEGER,
    ParameterHeader,
    annotations,
    value_at,
)

_CALL: Final = "tools/call"


class Carried(NamedTuple):
    """A call of a tool over HTTP.

    Attributes:
        call: the call.
        headers: those of its request.
        arguments: what it was called with.
        known: the annotated arguments, as the client had been told; () where it had not.
        certain: the annotated arguments that the server had when it answered; None where that is not sure.
    """

    call: Call
    headers: Headers
    arguments: Mapping[str, Any]
    known: tuple[ParameterHeader, ...]
    certain: tuple[ParameterHeader, ...] | None


def _annotated(definition: Mapping[str, Any]) -> tuple[ParameterHeader, ...]:
    try:
        return annotations(definition.get("inputSchema"))
    except ParameterHeaderError:
        # A client leaves the tool out; what its headers would have to be is not defined.
        return ()


def _arguments(item: Item) -> Mapping[str, Any]:
    arguments = item.params.get("arguments")
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}


@once
def carried(connection: Connection) -> tuple[Carried, ...]:
    """The calls of tools of which some have such headers, with what belongs into them."""
    return tuple(_find_carried(connection))


def _find_carried(connection: Connection) -> Iterator[Carried]:
    """The calls of tools over HTTP, where the server wants any argument of any tool in a header."""
    if not connection.is_http or not any(_wants_headers(walk) for walk in connection.walks):
        return
    annotated = _Annotated()
    for one in asked(connection, TOOLS, _CALL):
        item = one.call.request
        exchange = posted(item)
        name = item.params.get("name")
        if exchange is None or item.revision not in MODERN or not shows_head(item):
            continue
        if not isinstance(name, str):
            continue
        certain = one.definition(name)
        # A client that has not listed the tools cannot know, and the server may refuse it all the same.
        is_told = one.before is not None and one.before.changed is None
        known = one.before.definition(name) if one.before is not None and is_told else None
        yield Carried(
            one.call,
            exchange.headers,
            _arguments(item),
            () if known is None else annotated.of(one.before, name, known),
            None if certain is None else annotated.of(one.after, name, certain),
        )


def _wants_headers(walk: Walk) -> bool:
    if walk.method != TOOLS.method:
        return False
    return any(
        bool(_annotated(tool)) for call in walk.calls for tool in members_of(call.result, TOOLS.member)
    )


class _Annotated:
    """The annotated arguments of tools; each definition is read once."""

    def __init__(self) -> None:
        self._read: dict[tuple[Listing, str], tuple[ParameterHeader, ...]] = {}

    def of(
        self, listing: Listing | None, name: str, definition: Mapping[str, Any]
    ) -> tuple[ParameterHeader, ...]:
        if listing is None:
            return ()
        key = listing, name
        if key not in self._read:
            self._read[key] = _annotated(definition)
        return self._read[key]


def _text(value: Any) -> str | None:
    """A value as a header has it; None for what has no such form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return str(int(value)) if abs(value) <= MAX_INTEGER else None
    return None


def _same_number(said: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    whole, _, fraction = said.partition(".")
    digits = whole.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 20 or fraction.strip("0"):
        return False
    return int(whole) == value


# --- The client's side ----------------------------------------------------------------------------


def _missing(connection: Connection) -> Iterator[Found]:
    for one in carried(connection):
        for known in one.known:
            text = _text(value_at(one.arguments, known.path))
            if text is not None and known.header not in one.headers:
                yield Found(
                    one.call.request,
                    f"The request has no {show(known.header)[1:-1]} header; the tool asks for it, and the "
                    f"body says {show(text)} ({show(known.source)[1:-1]}).",
                )


def _needless(connection: Connection) -> Iterator[Found]:
    for one in carried(connection):
        for known in one.known:
            said = one.headers.get(known.header)
            if said is not None and value_at(one.arguments, known.path) is None:
                yield Found(
                    one.call.request,
                    f"{show(known.header)[1:-1]} says {show(said)}, and the body has no such argument, or "
                    "null; then the header must be left out.",
                )


def _differences(connection: Connection) -> Iterator[tuple[Item, str, Difference]]:
    for one in carried(connection):
        for known in one.known:
            value = value_at(one.arguments, known.path)
            text = _text(value)
            if text is None:
                continue
            for said in one.headers.get_all(known.header):
                differs = None if _same_number(said.strip(" \t"), value) else difference(said, text)
                if differs is not None:
                    yield one.call.request, show(known.header)[1:-1], differs


def _differs(*kinds: str) -> Callable[[Connection], Iterator[Found]]:
    def check(connection: Connection) -> Iterator[Found]:
        for item, header, differs in _differences(connection):
            if differs.fault in kinds:
                yield Found(item, f"{header} {differs.sentence}.")

    return check


def _not_looked_up(connection: Connection) -> Iterator[Found]:
    """A call that was refused for its parameter headers, and repeated as it was."""
    refused: dict[str, Call] = {}
    for item in connection.items:
        call = item.call
        if call is None or not connection.is_http:
            continue
        if item.sender == "client" and item.method == "tools/list":
            refused.clear()
        elif item.code == HEADER_MISMATCH and call.method == _CALL and not problems_of(call):
            if _arguments(call.request):
                refused[_shape(call)] = call
        elif refused and call.request is item and item.method == _CALL:
            before = refused.get(_shape(call))
            if before is not None:
                yield Found(
                    item,
                    f"The client repeats a call that was refused for its headers "
                    f"(row {before.request.index}), and has not listed the tools in between.",
                    hint="Call tools/list, see which arguments the tool wants in headers, and call it again.",
                )


def _shape(call: Call) -> str:
    item = call.request
    exchange = item.exchange
    headers = () if exchange is None else exchange.headers.items()
    own = sorted((name.lower(), value) for name, value in headers if name.lower().startswith(_PREFIX))
    return f"{_body(item)} {own}"


_PREFIX: Final = HEADER_PREFIX.lower()


# --- Between them ---------------------------------------------------------------------------------


def _not_forwarded(trace: Trace) -> Iterator[Found]:
    """A call that is seen before and behind an intermediary, with its headers."""
    before = [one for one in trace.connections if one.is_http and one.server in INTERMEDIARIES]
    behind = [one for one in trace.connections if one.is_http and one.client in INTERMEDIARIES]
    if not before or not behind:
        return
    forwarded: dict[str, list[Item]] = {}
    for connection in behind:
        for item, _ in _modern_calls(connection):
            forwarded.setdefault(_body(item), []).append(item)
    for connection in before:
        for item, exchange in _modern_calls(connection):
            copies = [
                one
                for one in forwarded.get(_body(item), ())
                if one.party == connection.server and one.index > item.index
            ]
            # Where the same call came more than once nobody knows which is which.
            if len(copies) == 1:
                yield from _lost(copies[0], exchange.headers)


def _modern_calls(connection: Connection) -> Iterator[tuple[Item, Exchange]]:
    for call in connection.calls:
        item = call.request
        exchange = posted(item)
        if exchange is not None and shows_head(item) and item.method == _CALL and item.revision in MODERN:
            yield item, exchange


def _body(item: Item) -> str:
    try:
        return repr((item.params.get("name"), item.params.get("arguments")))
    except RecursionError:
        # Nested too deeply to be compared.
        return f"row {item.index}"


def _lost(copy: Item, headers: Headers) -> Iterator[Found]:
    exchange = copy.exchange
    for name, value in headers.items():
        if exchange is None or not name.lower().startswith(_PREFIX) or name in exchange.headers:
            continue
        yield Found(
            copy,
            f"The {copy.party} did not forward {show(f'{name}: {value}')}; a header that it does not know it "
            "must forward.",
        )
        return


# --- The table ------------------------------------------------------------------------------------


_NEEDS: Final = ("http", "tools/call")


def _rule(
    id: str,
    bound: Bound,
    anchor: str,
    sentence: str,
    check: Callable[[Connection], Iterator[Found]],
    level: Level = MUST,
) -> Rule:
    page = f"{MODERN_PAGE}#{anchor}"
    return Rule(
        id, level, bound, MODERN, {"modern": page}, sentence, on=each(Connection, needs=_NEEDS), check=check
    )


_CUSTOM: Final = "custom-headers-from-tool-parameters"
_OF_SERVERS: Final = "server-behavior-for-custom-headers"

HTTP_HEADERS: Final[tuple[Rule, ...]] = (
    _rule(
        "http-param-header",
        "client",
        _CUSTOM,
        "An argument that the tool wants in a header is repeated there.",
        _missing,
    ),
    _rule(
        "http-param-header-is-left-out",
        "client",
        _OF_SERVERS,
        "An argument that is null or not there has no header.",
        _needless,
    ),
    _rule(
        "http-param-header-agrees",
        "client",
        "client-behavior",
        "A header that repeats an argument says what the body says.",
        _differs("other"),
    ),
    _rule(
        "http-param-is-encoded",
        "client",
        "value-encoding",
        "An argument that a header cannot hold as it is, is encoded in Base64.",
        _differs("plain"),
    ),
    _rule(
        "http-param-lookalike-is-encoded",
        "client",
        "value-encoding",
        "An argument that looks like an encoded one is encoded as well.",
        _differs("lookalike"),
    ),
    _rule(
        "http-param-encoding-is-exact",
        "client",
        "value-encoding",
        "The marks of an encoded argument are exactly =?base64? and ?=.",
        _differs("marker"),
    ),
    _rule(
        "http-param-mismatch-lists-tools",
        "client",
        "client-behavior",
        "A client whose call was refused for its headers lists the tools before it tries again.",
        _not_looked_up,
        SHOULD,
    ),
    Rule(
        "http-unknown-param-header-is-forwarded",
        MUST,
        "gateway",
        MODERN,
        {"modern": f"{MODERN_PAGE}#{_OF_SERVERS}"},
        "Who stands between client and server forwards parameter headers that it does not know.",
        on=each(Trace, needs=("http", "tools/call")),
        check=_not_forwarded,
    ),
)
