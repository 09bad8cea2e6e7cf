"""The annotation `x-mcp-header`: arguments that a client repeats in HTTP headers. Modern.

What the headers themselves have to be is for the rules of the transport.

https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from mcpsim.audit.json_schemas import Itself
from mcpsim.audit.model import Connection, Item
from mcpsim.audit.rule import MODERN, MUST, NOTE, SHOULD, Found, Level, Rule, each, inside, results
from mcpsim.audit.rules.listed import TOOLS, asked, members_of
from mcpsim.errors import ParameterHeaderError
from mcpsim.recording.words import plain, show
from mcpsim.utilities.parameter_headers import (
    HEADER_PREFIX,
    MAX_INTEGER,
    ParameterHeader,
    annotations,
    value_at,
)

_PAGES: Final[Mapping[Any, str]] = {"modern": "server/tools#x-mcp-header"}

# Names of arguments that hold secrets, in small letters and without what parts their words.
_SECRET: Final = frozenset(
    {
        "accesstoken",
        "apikey",
        "authtoken",
        "bearertoken",
        "clientsecret",
        "creditcard",
        "creditcardnumber",
        "passphrase",
        "passwd",
        "password",
        "privatekey",
        "refreshtoken",
        "secret",
        "secretkey",
        "socialsecuritynumber",
        "ssn",
    }
)
_PARTING: Final = re.compile(r"[_\-.\s]")


def _valid(item: Item) -> Iterator[Found]:
    for tool in members_of(item.result, "tools"):
        fault, level = _fault(tool)
        if fault:
            yield Found(
                item,
                f"The tool {show(tool.get('name'))}: {plain(fault, 300)}"
                + ("" if level is None else f" {_OPEN}"),
                hint="On HTTP, a client leaves such a tool out of its list.",
                level=level,
            )


_OPEN: Final = (
    "Whether a parameter without a type, or with several, has a primitive one, server/tools#x-mcp-header "
    "leaves open; basic/transports/streamable-http says what to do where its value is null."
)


def _fault(tool: Mapping[str, Any]) -> tuple[str, Level | None]:
    """What is wrong with the annotations of a tool, or "". It is a note where the specification leaves it
    open, and otherwise None says that the rule's own level holds."""
    schema = tool.get("inputSchema")
    try:
        annotations(schema)
    except ParameterHeaderError as error:
        try:
            annotations(schema, lenient=True)
        except ParameterHeaderError as sure:
            return str(sure), None
        return str(error), NOTE
    return "", None


def _sensitive(item: Item) -> Iterator[Found]:
    for tool in members_of(item.result, "tools"):
        schema: Any = tool.get("inputSchema")
        try:
            annotated = annotations(schema)
        except ParameterHeaderError:
            continue
        for one in annotated:
            if _is_secret(one.path, schema):
                yield Found(
                    item,
                    f"The tool {show(tool.get('name'))} has the argument {show('.'.join(one.path))} repeated "
                    f"in the header {show(one.header)[1:-1]}. That is probably a secret, and everybody on "
                    "the way can read headers.",
                    hint="Leave x-mcp-header out there.",
                )


def _is_secret(path: tuple[str, ...], schema: Any) -> bool:
    part: Any = schema
    for name in path:
        part = part["properties"][name]
    named = _PARTING.sub("", path[-1]).lower()
    return named in _SECRET or part.get("format") == "password" or part.get("writeOnly") is True


class _Called(NamedTuple):
    """A modern call over HTTP of a tool that the client had been told of.

    Attributes:
        request: the call.
        annotated: the annotated arguments; () where an annotation is not valid.
        fault: what is not valid, or "".
    """

    request: Item
    annotated: tuple[ParameterHeader, ...]
    fault: str


def _called(connection: Connection) -> Iterator[_Called]:
    if not connection.is_http:
        return
    read: dict[Itself, tuple[tuple[ParameterHeader, ...], str]] = {}
    for one in asked(connection, TOOLS, "tools/call"):
        request = one.call.request
        name = request.params.get("name")
        if one.before is None or request.era != "modern" or not isinstance(name, str):
            continue
        tool = one.before.definition(name)
        if tool is None or one.before.changed is not None:
            continue
        key = Itself(tool)
        if key not in read:
            read[key] = _read(tool)
        yield _Called(request, *read[key])


def _read(tool: Mapping[str, Any]) -> tuple[tuple[ParameterHeader, ...], str]:
    fault, level = _fault(tool)
    if fault:
        # A client may take what is left open.
        return (), plain(fault, 200) if level is None else ""
    return annotations(tool.get("inputSchema")), ""


def _integers(connection: Connection) -> Iterator[Found]:
    for request, annotated, _ in _called(connection):
        arguments: Any = request.params.get("arguments")
        if not isinstance(arguments, dict):
            continue
        for header in annotated:
            value = value_at(cast("dict[str, Any]", arguments), header.path)
            if header.type == "integer" and isinstance(value, int | float) and abs(value) > MAX_INTEGER:
                yield Found(
                    request,
                    f"{show(header.source)[1:-1]} is {show(value)}; an integer that stands in a header must "
                    f"be from -{MAX_INTEGER} to {MAX_INTEGER}.",
                )


def _rejected(connection: Connection) -> Iterator[Found]:
    known: set[str] = set()
    told: set[str] = set()
    for request, _, fault in _called(connection):
        name = str(request.params.get("name"))
        known.add(name)
        if fault and name not in told:
            told.add(name)
            yield _accepted(request, f"Its annotation is not valid: {fault}", SHOULD)
    for call in connection.calls if connection.is_http else ():
        if call.method == "tools/call" and call.era == "modern":
            name = call.request.params.get("name")
            if isinstance(name, str) and name not in known:
                yield from _mirrored_numbers(call.request)


def _mirrored_numbers(request: Item) -> Iterator[Found]:
    """A number with a fraction in a header: no valid annotation asks for that, whoever told the client."""
    arguments: Any = request.params.get("arguments")
    if request.exchange is None or not isinstance(arguments, dict):
        return
    given = cast("dict[str, Any]", arguments).values()
    fractions = {str(one) for one in given if isinstance(one, float) and not one.is_integer()}
    for name, value in request.exchange.headers.items() if fractions else ():
        if name.lower().startswith(HEADER_PREFIX.lower()) and value.strip() in fractions:
            yield _accepted(
                request,
                f"The header {show(name)[1:-1]} repeats a number with a fraction; only integers, strings and "
                "booleans may be annotated.",
                NOTE,
            )
            return


def _accepted(request: Item, why: str, level: Level) -> Found:
    return Found(
        request,
        f"The client calls the tool {show(request.params.get('name'))}, which it must leave out on HTTP. It "
        f"probably did not look. {why}",
        hint="Leave the tool out of the list, and log a warning that names it and the reason.",
        level=level,
    )


TOOL_HEADERS: Final[tuple[Rule, ...]] = (
    Rule(
        "x-mcp-header-valid",
        MUST,
        "server",
        MODERN,
        _PAGES,
        "An x-mcp-header is a token, unique in its schema, at a property of a primitive type that is reached "
        "from the root through properties alone.",
        on=results("tools/list", needs=inside("x-mcp-header")),
        check=_valid,
    ),
    Rule(
        "x-mcp-header-not-sensitive",
        SHOULD,
        "server",
        MODERN,
        _PAGES,
        "No x-mcp-header stands at an argument that is a secret.",
        on=results("tools/list", needs=inside("x-mcp-header")),
        check=_sensitive,
    ),
    Rule(
        "x-mcp-header-integer-range",
        MUST,
        "client",
        MODERN,
        _PAGES,
        "An integer argument with an x-mcp-header is within what a double holds exactly.",
        on=each(Connection, needs=("http", "tools/call")),
        check=_integers,
    ),
    Rule(
        "x-mcp-header-tool-rejected",
        MUST,
        "client",
        MODERN,
        _PAGES,
        "A client on HTTP leaves out a tool whose x-mcp-header breaks the rules.",
        on=each(Connection, needs=("http", "tools/call")),
        check=_rejected,
    ),
)
