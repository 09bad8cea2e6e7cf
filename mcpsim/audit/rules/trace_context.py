"""Trace context in `_meta`: `traceparent`, `tracestate` and `baggage` in the formats of the W3C.

https://www.w3.org/TR/trace-context/ and https://www.w3.org/TR/baggage/
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from mcpsim.audit.model import Item
from mcpsim.audit.rule import MODERN, MUST, Found, Rule, messages
from mcpsim.recording.words import show

MAX_MEMBERS: Final = 32
#: A longer text is not looked at: nobody would send it.
MAX_LENGTH: Final = 20_000

_PARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_STATE_KEY: Final = re.compile(r"[a-z0-9][a-z0-9_*/-]{0,255}(?:@[a-z0-9][a-z0-9_*/-]{0,13})?")
_STATE_VALUE: Final = re.compile(r"[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OCTETS: Final = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*")
_SPACE: Final = " \t"


def fault_of_traceparent(text: str) -> str:
    """What is wrong with a `traceparent`, or ""."""
    match = _PARENT.fullmatch(text)
    if match is None:
        return "it is version-trace-parent-flags in hexadecimal, with 2, 32, 16 and 2 small digits"
    version, trace, parent, _, rest = match.groups()
    if version == "ff":
        return "the version ff is not valid"
    if version == "00" and rest is not None:
        return "nothing follows after the flags in version 00"
    if set(trace) == {"0"}:
        return "a trace id of zeros only is not valid"
    return "a parent id of zeros only is not valid" if set(parent) == {"0"} else ""


def fault_of_tracestate(text: str) -> str:
    """What is wrong with a `tracestate`, or ""."""
    seen: set[str] = set()
    for part in text.split(","):
        member = part.strip(_SPACE)
        if not member:
            continue
        key, equals, value = member.partition("=")
        if not equals or not _STATE_KEY.fullmatch(key) or not _STATE_VALUE.fullmatch(value):
            return f"{show(member)} is no key=value of it"
        if key in seen:
            return f"the key {show(key)} stands twice"
        seen.add(key)
    return (
        f"it has {len(seen)} members, and at most {MAX_MEMBERS} are allowed"
        if len(seen) > MAX_MEMBERS
        else ""
    )


def fault_of_baggage(text: str) -> str:
    """What is wrong with `baggage`, or ""."""
    for part in text.split(","):
        entry, *properties = part.split(";")
        key, equals, value = entry.strip(_SPACE).partition("=")
        if not equals or not _is_pair(key, value):
            return f"{show(part.strip(_SPACE))} is no key=value of it"
        for one in properties:
            name, has_value, content = one.strip(_SPACE).partition("=")
            if not _is_pair(name, content if has_value else ""):
                return f"{show(one.strip(_SPACE))} is no property of it"
    return ""


def _is_pair(key: str, value: str) -> bool:
    return bool(_TOKEN.fullmatch(key.strip(_SPACE))) and bool(_OCTETS.fullmatch(value.strip(_SPACE)))


_FORMATS: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    ("traceparent", fault_of_traceparent),
    ("tracestate", fault_of_tracestate),
    ("baggage", fault_of_baggage),
)


def _formats(item: Item) -> Iterator[Found]:
    for key, fault_of in _FORMATS:
        if key not in item.meta:
            continue
        value = item.meta[key]
        if not isinstance(value, str):
            yield Found(item, f"`{key}` in `_meta` is {show(value)}; it must be a string.")
        elif len(value) <= MAX_LENGTH and (fault := fault_of(value)):
            yield Found(item, f"`{key}` in `_meta` is {show(value)}, which is not its format: {fault}.")


TRACE_CONTEXT: Final[tuple[Rule, ...]] = (
    Rule(
        "trace-context-has-its-format",
        MUST,
        "sender",
        MODERN,
        {"modern": "basic/index#meta"},
        "`traceparent`, `tracestate` and `baggage` in `_meta` have the formats of the W3C.",
        on=messages(among=tuple(key for key, _ in _FORMATS)),
        check=_formats,
    ),
)
