"""URI templates (RFC 6570), in both directions: a URI from values, and the values that make this URI.

The RFC says how a template becomes a URI; that is left to a library. The other way round, which a server
needs when a client reads a resource, it leaves open. Here a URI matches if the template can become it, with
these choices:

- Where several values are possible, variables further left take as much as they can.
- A variable may stay out where the RFC lets an undefined one disappear: those of `?`, `&` and `;` each by
  itself, those of the other operators from the right. It is then not among the values.
- A variable that is there is not empty, except after `name=`.
- `*` gives a list of strings. (After `?`, `&` and `;` that is `name=a&name=b`; other names are not matched.)

The work is bounded by the length of the URI times the length of the template, whatever they are.

https://www.rfc-editor.org/rfc/rfc6570
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from mcpsim.errors import UriTemplateError

MAX_URI_LENGTH: Final = 4_096
MAX_STEPS: Final = 500

Values = dict[str, str | list[str]]


class Variable(NamedTuple):
    """A variable of a template.

    Attributes:
        name: its name.
        is_list: whether it is marked with `*`, so that its value is a list.
        may_be_absent: whether a URI can do without it.
    """

    name: str
    is_list: bool
    may_be_absent: bool


class _Operator(NamedTuple):
    """What an operator writes before the first value and between values, and what it leaves unencoded."""

    first: str
    between: str
    named: bool
    reserved: bool


# RFC 6570, section 3.2.2 to 3.2.9 and appendix A.
_OPERATORS: Final[Mapping[str, _Operator]] = {
    "": _Operator("", ",", False, False),
    "+": _Operator("", ",", False, True),
    "#": _Operator("#", ",", False, True),
    ".": _Operator(".", ".", False, False),
    "/": _Operator("/", "/", False, False),
    ";": _Operator(";", ";", True, False),
    "?": _Operator("?", "&", True, False),
    "&": _Operator("&", "&", True, False),
}

_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_RESERVED: Final = frozenset(":/?#[]@!$&'()*+,;=")
_VARNAME: Final = re.compile(r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*")
# RFC 6570, section 2.1: what a literal cannot be. A percent sign is dealt with by itself.
_NO_LITERAL: Final = frozenset("\"'<>\\^`{|} ") | {chr(code) for code in (*range(0x20), 0x7F)}
_PREFIX: Final = re.compile(r"[1-9][0-9]{0,3}")
_ENCODED: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


class _Char(NamedTuple):
    """A character of a URI, and whether it stands there percent-encoded."""

    text: str
    encoded: bool


# What the little machine does at each step. `Take` and `Fixed` use up one character; the others none.
class _Fixed(NamedTuple):
    char: _Char


class _Take(NamedTuple):
    reserved: bool


class _Split(NamedTuple):
    """Go on at `first`; if that leads nowhere, at `second`."""

    first: int
    second: int


class _Go(NamedTuple):
    target: int


class _Mark(NamedTuple):
    variable: int
    edge: Literal["start", "end"]


class _Done(NamedTuple):
    pass


_Step = _Fixed | _Take | _Split | _Go | _Mark | _Done
# The marks of a path through the machine, the last one first.
_Trail: TypeAlias = "tuple[_Mark, int, _Trail] | None"


@dataclass(frozen=True, slots=True)
class UriTemplate:
    """A URI template that URIs can be matched against. Made by `read_template`.

    Attributes:
        text: the template as it was written.
        variables: its variables, from left to right.
        literal_length: how many characters stand in it outside of expressions.
    """

    text: str
    variables: tuple[Variable, ...]
    literal_length: int
    _steps: tuple[_Step, ...]

    def match(self, uri: str) -> Values | None:
        """The values of the variables, decoded; None where the URI does not match.

        The values come from whoever sent the URI. They may hold `/` and `..` where these were encoded.
        """
        if len(uri) > MAX_URI_LENGTH:
            return None
        chars = _chars_of(uri)
        if chars is None:
            return None
        trail, found = _run(self._steps, chars)
        return self._values(trail, chars) if found else None

    def expand(self, values: Mapping[str, str | Sequence[str]]) -> str:
        """The URI for these values. A variable that is not among them is undefined, as the RFC has it."""
        from uritemplate import URITemplate

        return URITemplate(self.text).expand(
            {name: value if isinstance(value, str) else list(value) for name, value in values.items()}
        )

    def _values(self, trail: _Trail, chars: list[_Char]) -> Values:
        spans: list[tuple[int, int, int]] = []
        end = 0
        while trail is not None:
            mark, at, trail = trail
            if mark.edge == "end":
                end = at
            else:
                spans.append((mark.variable, at, end))
        values: Values = {}
        for index, start, stop in reversed(spans):
            variable = self.variables[index]
            text = "".join(char.text for char in chars[start:stop])
            if variable.is_list:
                known = values.setdefault(variable.name, [])
                if isinstance(known, list):
                    known.append(text)
            else:
                values[variable.name] = text
        return values


def read_template(text: str) -> UriTemplate:
    """Read a URI template.

    Raises:
        UriTemplateError: it is no template by RFC 6570, names a variable twice, or is too long.
    """
    builder = _Builder(text)
    position = 0
    while position < len(text):
        if text[position] == "{":
            end = text.find("}", position)
            if end < 0:
                raise UriTemplateError(f"{text}: the brace at character {position} is never closed.")
            builder.expression(text[position + 1 : end])
            position = end + 1
        else:
            end = text.find("{", position)
            end = len(text) if end < 0 else end
            builder.literal(text[position:end])
            position = end
    return builder.build()


class _Builder:
    """Turns the parts of a template into steps."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._variables: list[Variable] = []
        self._steps: list[_Step] = []
        self._literal_length = 0

    def build(self) -> UriTemplate:
        self._add(_Done())
        return UriTemplate(self._text, tuple(self._variables), self._literal_length, tuple(self._steps))

    def literal(self, text: str) -> None:
        chars = _chars_of(text, literal=True)
        if chars is None or any(char.text in _NO_LITERAL and not char.encoded for char in chars):
            raise UriTemplateError(
                f"{self._text}: {text!r} holds a character that a URI template cannot have outside of braces."
            )
        self._literal_length += len(chars)
        for char in chars:
            self._add(_Fixed(char))

    def expression(self, inside: str) -> None:
        symbol = inside[:1] if inside[:1] in _OPERATORS else ""
        operator = _OPERATORS[symbol]
        names = inside.removeprefix(symbol).split(",")
        variables = [self._variable(name) for name in names]
        if operator.named:
            self._named(variables, operator)
        else:
            self._plain(variables, operator)

    def _variable(self, spec: str) -> tuple[int, int | None]:
        """Enter a variable; its number, and the most characters that it shows (None: all)."""
        name, colon, prefix = spec.partition(":")
        is_list = not colon and name.endswith("*")
        name = name.removesuffix("*") if is_list else name
        if not _VARNAME.fullmatch(name) or (colon and not _PREFIX.fullmatch(prefix)):
            raise UriTemplateError(f"{self._text}: {spec!r} is no variable of a URI template.")
        if any(one.name == name for one in self._variables):
            raise UriTemplateError(f"{self._text}: the variable {name!r} stands in it twice.")
        if len(self._variables) >= MAX_STEPS:
            raise UriTemplateError(f"{self._text[:60]}: the template is too long to be matched.")
        self._variables.append(Variable(name, is_list, may_be_absent=True))
        return len(self._variables) - 1, int(prefix) if colon else None

    def _plain(self, variables: list[tuple[int, int | None]], operator: _Operator) -> None:
        # x, then perhaps ",y", then perhaps ",z": each one only where the one before it is there.
        splits: list[int] = []
        for number, (index, prefix) in enumerate(variables):
            optional = number > 0 or operator.first != ""
            if optional:
                splits.append(self._open())
            variable = self._variables[index]
            self._variables[index] = variable._replace(may_be_absent=optional)
            self._fixed(operator.between if number else operator.first)
            self._value(index, prefix, operator, empty=False)
            if variable.is_list:
                self._more(operator.between, index, operator)
        for split in splits:
            self._close(split)

    def _named(self, variables: list[tuple[int, int | None]], operator: _Operator) -> None:
        if operator.first == operator.between:
            for index, prefix in variables:
                split = self._open()
                self._pair(operator.first, index, prefix, operator)
                self._close(split)
            return
        # After "?" the first one that is there decides: the others follow with "&".
        ends: list[int] = []
        for number in range(len(variables)):
            branch = self._open()
            self._pair(operator.first, *variables[number], operator)
            for index, prefix in variables[number + 1 :]:
                split = self._open()
                self._pair(operator.between, index, prefix, operator)
                self._close(split)
            ends.append(self._open())
            self._close(branch)
        for end in ends:
            self._steps[end] = _Go(len(self._steps))

    def _pair(self, lead: str, index: int, prefix: int | None, operator: _Operator) -> None:
        name = self._variables[index].name
        self._fixed(lead)
        self._fixed(name)
        if operator.first == ";":
            # An empty value after ";" has no "=".
            split = self._open()
            self._fixed("=")
            self._value(index, prefix, operator, empty=False)
            other = self._open()
            self._close(split)
            self._add(_Mark(index, "start"))
            self._add(_Mark(index, "end"))
            self._steps[other] = _Go(len(self._steps))
        else:
            self._fixed("=")
            self._value(index, prefix, operator, empty=True)
        if self._variables[index].is_list:
            self._more(f"{operator.between}{name}=", index, operator, empty=operator.first != ";")

    def _value(self, index: int, prefix: int | None, operator: _Operator, *, empty: bool) -> None:
        self._add(_Mark(index, "start"))
        if not empty:
            self._add(_Take(operator.reserved))
        if prefix is not None:
            splits: list[int] = []
            for _ in range(prefix if empty else prefix - 1):
                splits.append(self._open())
                self._add(_Take(operator.reserved))
            for split in splits:
                self._close(split)
        else:
            loop = self._open()
            self._add(_Take(operator.reserved))
            self._add(_Go(loop))
            self._close(loop)
        self._add(_Mark(index, "end"))

    def _more(self, lead: str, index: int, operator: _Operator, *, empty: bool = False) -> None:
        loop = self._open()
        self._fixed(lead)
        self._value(index, None, operator, empty=empty)
        self._add(_Go(loop))
        self._close(loop)

    def _open(self) -> int:
        """A place where the machine goes on, or, if that leads nowhere, to where `_close` is called."""
        self._add(_Split(len(self._steps) + 1, -1))
        return len(self._steps) - 1

    def _close(self, split: int) -> None:
        self._steps[split] = _Split(split + 1, len(self._steps))

    def _fixed(self, text: str) -> None:
        for char in _chars_of(text, literal=True) or ():
            self._add(_Fixed(char))

    def _add(self, step: _Step) -> None:
        if len(self._steps) >= MAX_STEPS:
            raise UriTemplateError(f"{self._text[:60]}: the template is too long to be matched.")
        self._steps.append(step)


def _run(steps: tuple[_Step, ...], chars: list[_Char]) -> tuple[_Trail, bool]:
    # Every pair of step and place is visited once: if it led nowhere, it will not the next time either.
    visited: set[tuple[int, int]] = set()
    paths: list[tuple[int, int, _Trail]] = [(0, 0, None)]
    while paths:
        at, place, trail = paths.pop()
        if (at, place) in visited:
            continue
        visited.add((at, place))
        match steps[at]:
            case _Split(first, second):
                paths.append((second, place, trail))
                paths.append((first, place, trail))
            case _Go(target):
                paths.append((target, place, trail))
            case _Mark() as mark:
                paths.append((at + 1, place, (mark, place, trail)))
            case _Done():
                if place == len(chars):
                    return trail, True
            case _Fixed(wanted):
                if place < len(chars) and _same(wanted, chars[place]):
                    paths.append((at + 1, place + 1, trail))
            case _Take(reserved):
                if place < len(chars) and _is_value(chars[place], reserved):
                    paths.append((at + 1, place + 1, trail))
    return None, False


def _same(wanted: _Char, found: _Char) -> bool:
    # "%41" is "A", but "%2F" is not "/" (RFC 3986, section 6.2.2.2).
    if wanted.text != found.text:
        return False
    return wanted.encoded == found.encoded or wanted.text in _UNRESERVED


def _is_value(char: _Char, reserved: bool) -> bool:
    return char.encoded or char.text in _UNRESERVED or (reserved and char.text in _RESERVED)


def _chars_of(text: str, *, literal: bool = False) -> list[_Char] | None:
    """The characters of a URI; None where it is none.

    Args:
        literal: whether it is a piece of a template, where characters beyond ASCII may stand as they are and
            mean their encoded form.
    """
    chars: list[_Char] = []
    position = 0
    while position < len(text):
        if text[position] == "%":
            found = _ENCODED.match(text, position)
            if found is None:
                return None
            try:
                decoded = bytes.fromhex(found[0].replace("%", "")).decode("utf-8")
            except UnicodeDecodeError:
                return None
            chars += [_Char(char, True) for char in decoded]
            position = found.end()
            continue
        char = text[position]
        if not literal and not (char in _UNRESERVED or char in _RESERVED):
            return None
        chars.append(_Char(char, literal and not char.isascii()))
        position += 1
    return chars
