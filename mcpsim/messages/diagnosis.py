"""Why a text is not the JSON that we accept: the first fault, and the byte where it stands.

This is the slow half of reading. `mcpsim.messages.reading` lets the C code of the standard library
decide whether a text is good, and comes here only when it is not. The wording and the positions are
ours, because those of the standard library differ from one Python version to the next, and a
recording must not.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Final

from mcpsim.messages.envelopes import show_text
from mcpsim.messages.limits import Limits


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: a clause without a full stop, and the index of the character where it stands."""

    what: str
    at: int


# All of these repeat possessively or without nesting, so that no text makes them run back and forth.
_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+")
_LITERAL = re.compile(r"true|false|null")
_NOT_JSON_NUMBER = re.compile(r"-?(?:NaN|Infinity)")
_SURROGATE_HALF = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)


# What may come next. Compared by identity, and also the words for it in a sentence.
_VALUE: Final = "a value"
_FIRST_VALUE: Final = "a value or ']'"
_KEY: Final = "a key in double quotes"
_FIRST_KEY: Final = "a key in double quotes or '}'"
_COLON: Final = "':'"
_NEXT: Final = "',' or the end of the object or array"
_END: Final = "the end"


def surrogate_half(text: str) -> int | None:
    """Find the first `\\ud800` to `\\udfff` that is not one of a pair; its index, or None."""
    for match in _SURROGATE_HALF.finditer(text):
        if match[1]:
            return match.start()
    return None


def count_digits(number: str) -> int:
    """Count the digits of a JSON number."""
    return sum(map(str.isdigit, number))


def first_fault(text: str, limits: Limits) -> Fault | None:
    """Find the first reason, in reading order, why `text` is not accepted; None when there is none.

    Takes time in proportion to the length of the text, and no stack that grows with its depth.
    """
    if text.startswith("\ufeff"):
        return Fault("it starts with a byte order mark, which a JSON sender must not write", 0)
    at = _space(text, 0)
    if at == len(text):
        return Fault("there is nothing to read" if text else "it is empty", 0)
    # One entry for each level: the keys so far of an object, None for an array.
    open_keys: list[dict[str, None] | None] = []
    expecting = _VALUE
    while True:
        at = _space(text, at)
        char = text[at : at + 1]
        if expecting is _END:
            return None if not char else Fault("something follows after the end of the value", at)
        if not char:
            return Fault(f"the text ends where {expecting} should stand", at)
        if expecting is _NEXT:
            keys = open_keys[-1]
            if char == ("]" if keys is None else "}"):
                open_keys.pop()
                expecting = _after(open_keys)
            elif char == ",":
                expecting = _VALUE if keys is None else _KEY
            else:
                return Fault("here should stand ',' or " + ("']'" if keys is None else "'}'"), at)
            at += 1
        elif expecting is _COLON:
            if char != ":":
                return Fault("here should stand ':' between a key and its value", at)
            expecting = _VALUE
            at += 1
        elif expecting is _KEY or expecting is _FIRST_KEY:
            if char == "}" and expecting is _FIRST_KEY:
                open_keys.pop()
                expecting = _after(open_keys)
                at += 1
                continue
            if char != '"':
                return Fault(f"here should stand {expecting}", at)
            end = _string_end(text, at)
            if isinstance(end, Fault):
                return end
            key: str = json.loads(text[at:end])
            keys = open_keys[-1]
            assert keys is not None
            if key in keys:
                return Fault(f"the key {show_text(key)} stands twice in one object", at)
            keys[key] = None
            expecting = _COLON
            at = end
        elif char == "]" and expecting is _FIRST_VALUE:
            open_keys.pop()
            expecting = _after(open_keys)
            at += 1
        elif char in "{[":
            if len(open_keys) >= limits.max_depth:
                return Fault(f"objects and arrays are nested more than {limits.max_depth} deep", at)
            open_keys.append({} if char == "{" else None)
            expecting = _FIRST_KEY if char == "{" else _FIRST_VALUE
            at += 1
        else:
            end = _scalar_end(text, at, limits)
            if isinstance(end, Fault):
                return end
            expecting = _after(open_keys)
            at = end


def _after(open_keys: list[dict[str, None] | None]) -> str:
    return _NEXT if open_keys else _END


def _space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _scalar_end(text: str, at: int, limits: Limits) -> int | Fault:
    if text[at] == '"':
        return _string_end(text, at)
    if match := _LITERAL.match(text, at):
        return match.end()
    if match := _NOT_JSON_NUMBER.match(text, at):
        return Fault(f"JSON has no {match[0]}", at)
    if match := _NUMBER.match(text, at):
        return _number_end(match[0], at, limits) or match.end()
    return Fault("here should stand a value", at)


def _number_end(number: str, at: int, limits: Limits) -> Fault | None:
    if len(number) > limits.max_digits and count_digits(number) > limits.max_digits:
        return Fault(f"a number has more than {limits.max_digits} digits", at)
    if not number.lstrip("-").isdigit() and math.isinf(float(number)):
        return Fault("a number is too large for a double", at)
    return None


def _string_end(text: str, at: int) -> int | Fault:
    match = _STRING.match(text, at)
    end = match.end() if match else at + 1
    char = text[end : end + 1]
    if char == '"':
        half = surrogate_half(text[at:end])
        if half is not None:
            return Fault(
                f"the escape {text[at + half : at + half + 6]} is half of a surrogate pair and no character",
                at + half,
            )
        return end + 1
    if not char:
        return Fault("a string is not closed", at)
    if char == "\\":
        return Fault("JSON has no such escape in a string", end)
    return Fault(f"the control character U+{ord(char):04X} must be escaped in a string", end)
