"""Arguments of a tool that a client repeats in HTTP headers, so that programs on the way can read them.

A property of the input schema says so: `"x-mcp-header": "Region"` makes `Mcp-Param-Region`. Client and server
use the same functions, so that they agree on what is annotated and how a value is written.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters
https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header
"""

# No `from __future__ import annotations` here: the name belongs to what this module is about.

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from mcpsim.errors import FramingError, ParameterHeaderError
from mcpsim.messages.envelopes import show_text
from mcpsim.transports.http import Headers, Mirrored, decode_header_value

ANNOTATION: Final = "x-mcp-header"
HEADER_PREFIX: Final = "Mcp-Param-"
TYPES: Final = ("integer", "string", "boolean")
MAX_INTEGER: Final = 2**53 - 1

# RFC 9110, section 5.6.2.
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# A whole number, written as one or with zeros behind the point. Bounded: it is read as an integer.
_INTEGER: Final = re.compile(r"(-?[0-9]{1,20})(?:\.0{1,20})?")
# Keywords that hold values, where an `x-mcp-header` would be a member of that value.
_VALUES: Final = frozenset({"const", "default", "enum", "examples"})
# Keywords that hold schemas by names of the schema author's choice.
_NAMED: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)


class ParameterHeader(NamedTuple):
    """One annotated property.

    Attributes:
        path: the names of the properties that lead to it from the root.
        header: the whole name of the header.
        type: "integer", "string" or "boolean".
    """

    path: tuple[str, ...]
    header: str
    type: str

    @property
    def source(self) -> str:
        """Where in the body the value stands, for sentences."""
        return f"params.arguments.{'.'.join(self.path)}"


def annotations(schema: Any, *, lenient: bool = False) -> tuple[ParameterHeader, ...]:
    """The annotated properties of an input schema, in the order in which they stand there.

    Args:
        schema: the input schema.
        lenient: also take a property that says no type, or several of which none is forbidden, as
            ["string", "null"]. Whether such a parameter has a primitive type the specification leaves open.

    Raises:
        ParameterHeaderError: an annotation breaks a rule; the text says which one and where. A client on
            HTTP must then leave the tool out of its list.
    """
    found: list[ParameterHeader] = []
    owners: dict[str, str] = {}
    for path, part in _parts(schema):
        if ANNOTATION not in part:
            continue
        one = _checked(path, part, lenient)
        folded = one.header.lower()
        if folded in owners:
            raise ParameterHeaderError(
                f"{ANNOTATION}: {owners[folded]} and {'.'.join(one.path)} both ask for {one.header}; names "
                "must differ in more than their case."
            )
        owners[folded] = ".".join(one.path)
        found.append(one)
    return tuple(found)


def _checked(path: tuple[str, ...] | None, part: Mapping[str, Any], lenient: bool) -> ParameterHeader:
    if not path:
        raise ParameterHeaderError(
            f"{ANNOTATION} may only stand at a property that is reached from the root through `properties` "
            "alone: not at the root itself, nor inside `items`, `$ref`, `anyOf` and the like."
        )
    where = ".".join(path)
    name = part[ANNOTATION]
    if not isinstance(name, str):
        raise ParameterHeaderError(f"{ANNOTATION} at {where} must be a string.")
    if not _TOKEN.fullmatch(name):
        raise ParameterHeaderError(
            f"{ANNOTATION} at {where} is {show_text(name)}; it must be a token as HTTP has it: one or more "
            "letters, digits or !#$%&'*+-.^_`|~."
        )
    kind = _likely_type(part) if lenient else part.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        raise ParameterHeaderError(
            f"{ANNOTATION} at {where}: the property must be of the type {', '.join(TYPES[:2])} or {TYPES[2]}."
        )
    return ParameterHeader(path, HEADER_PREFIX + name, kind)


def _likely_type(part: Mapping[str, Any]) -> Any:
    """The type of a property, or one that it may have where it says none or several."""
    kind = part.get("type", ["string"])
    if not isinstance(kind, list):
        return kind
    named = [one for one in cast("list[Any]", kind) if one != "null"]
    return named[0] if named and all(isinstance(one, str) and one in TYPES for one in named) else None


def _parts(schema: Any) -> Iterator[tuple[tuple[str, ...] | None, Mapping[str, Any]]]:
    """Every schema inside a schema, with the properties that lead there; None where something else does."""
    # A stack of our own: what a server sends may be nested deeply.
    left: list[tuple[tuple[str, ...] | None, Any]] = [((), schema)]
    while left:
        path, value = left.pop()
        if isinstance(value, list | tuple):
            left += [(None, item) for item in reversed(cast("Sequence[Any]", value))]
        elif isinstance(value, Mapping):
            part = cast("Mapping[str, Any]", value)
            yield path, part
            left += reversed(list(_inner(path, part)))


def _inner(
    path: tuple[str, ...] | None, part: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...] | None, Any]]:
    for keyword, value in part.items():
        if keyword in _VALUES or keyword == ANNOTATION:
            continue
        if keyword in _NAMED and isinstance(value, Mapping):
            for name, inner in cast("Mapping[str, Any]", value).items():
                yield (*path, name) if keyword == "properties" and path is not None else None, inner
        else:
            yield None, value


def mirrored_arguments(
    annotated: Sequence[ParameterHeader], arguments: Mapping[str, Any]
) -> tuple[Mirrored, ...]:
    """The headers that a call with these arguments has to carry, as rows for `modern_headers`.

    A value that is null or not there has no header, and one that is no string, whole number or boolean has
    none either: the server will refuse the argument itself.

    Raises:
        ParameterHeaderError: an integer is beyond what every reader can hold, -(2**53 - 1) to 2**53 - 1.
    """
    rows: list[Mirrored] = []
    for one in annotated:
        value = value_at(arguments, one.path)
        text = _text(value)
        if text is None:
            continue
        if _is_number(value) and abs(value) > MAX_INTEGER:
            raise ParameterHeaderError(
                f"{one.source} is beyond {MAX_INTEGER}; not every reader of {one.header} could hold it."
            )
        rows.append(Mirrored(one.header, one.source, text, True))
    return tuple(rows)


def header_faults(
    headers: Headers, annotated: Sequence[ParameterHeader], arguments: Mapping[str, Any]
) -> list[str]:
    """Compare the `Mcp-Param-*` headers of a call with its arguments, as a server has to.

    An empty list means that they agree; otherwise each entry is a sentence, and the server answers HTTP 400
    and -32020. A header whose argument is null or not there is a fault too: a program on the way may have
    acted on a value that the body does not have, and so is an integer that no header may carry. Headers that
    no annotation asks for are not looked at.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-behavior-for-custom-headers
    """
    faults = (_fault(headers, one, value_at(arguments, one.path)) for one in annotated)
    return [fault for fault in faults if fault]


def value_at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """The value at a path of properties, or None where there is none."""
    value: Any = arguments
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = cast("Mapping[str, Any]", value).get(name)
    return value


def _fault(headers: Headers, one: ParameterHeader, value: Any) -> str | None:
    text, *others = headers.get_all(one.header) or (None,)
    if _is_number(value) and abs(value) > MAX_INTEGER:
        return f"{one.source} is beyond {MAX_INTEGER}; not every reader of {one.header} can hold it."
    expected = _text(value)
    if text is None:
        if expected is None:
            return None
        return f"The header {one.header} is missing; the body says {show_text(expected)} ({one.source})."
    if others:
        return f"The header {one.header} stands there {len(others) + 1} times; it must stand there once."
    try:
        said = decode_header_value(text.strip(" \t"))
    except FramingError as error:
        return f"{one.header}: {error}"
    if value is None:
        return f"The header {one.header} says {show_text(said)}, and the body has none ({one.source})."
    if expected is None:
        return f"The header {one.header} says {show_text(said)}, and the body something else ({one.source})."
    if said == expected or (_is_number(value) and _as_integer(said) == value):
        return None
    body = f"the body says {show_text(expected)} ({one.source})"
    return f"The header {one.header} says {show_text(said)}, and {body}."


def _text(value: Any) -> str | None:
    """A value as a header has it, before encoding; None for what has no such form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    # Python refuses to write integers of more than 4,300 digits, and nobody can hold them.
    if _is_number(value) and abs(value) < 10**400:
        return str(int(value))
    return None


def _is_number(value: Any) -> bool:
    """Whether it is an integer as JSON Schema has it: 42.0 is one."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _as_integer(text: str) -> int | None:
    match = _INTEGER.fullmatch(text)
    return None if match is None else int(match[1])
