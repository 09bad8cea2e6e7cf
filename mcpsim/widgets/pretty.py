"""JSON for the eye: one value a line, long strings cut, and where each path is."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final, cast

from mcpsim.widgets.text import ELLIPSIS

MAX_LINES: Final = 300
MAX_STRING: Final = 400
MAX_DEPTH: Final = 40
INDENT: Final = "  "

Path = tuple[str | int, ...]

# Made once: `json.dumps` makes a new one whenever it is not to write plain ASCII.
_PLAIN: Final = json.JSONEncoder(ensure_ascii=False)

# What stands below these is not the protocol's.
_OWN: Final = frozenset(
    {
        "arguments",
        "structuredContent",
        "inputSchema",
        "outputSchema",
        "requestedSchema",
        "data",
        "experimental",
    }
)

_HOLDING: Final[Any] = (dict, list)

# What json.dumps leaves as it is although nobody can see it.
_INVISIBLE_IN_JSON: Final = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


@dataclass(frozen=True, slots=True)
class Pretty:
    """A JSON value as text.

    Attributes:
        text: the lines, joined with newlines.
        lines: the line of each path, from 0, for the paths that are shown.
    """

    text: str
    lines: dict[Path, int]


def pretty(value: Any) -> Pretty:
    """Write a JSON value with two spaces an indent; at most `MAX_LINES` lines, and then how many more."""
    lines: list[str] = []
    where: dict[Path, int] = {}
    for path, line in islice(_lines(value, (), "", "", 0), MAX_LINES):
        if path is not None:
            where[path] = len(lines)
        lines.append(line)
    left_out = _height(value) - len(lines) if len(lines) == MAX_LINES else 0
    if left_out:
        lines.append(f"{ELLIPSIS} {left_out:,} more lines: see the raw bytes")
    return Pretty("\n".join(lines), where)


def meta_blocks(shown: Pretty) -> list[tuple[int, int]]:
    """The first and the last line of each `_meta` object of a message, from 0, in order.

    What somebody calls `_meta` in arguments, schemas or structured content is data like any other.
    """
    lines = shown.text.split("\n")
    found: list[tuple[int, int]] = []
    for path, first in shown.lines.items():
        if path[-1:] != ("_meta",) or _OWN.intersection(path):
            continue
        opening = lines[first]
        indent = opening[: len(opening) - len(opening.lstrip())]
        closing = (f"{indent}}}", f"{indent}}},")
        last = first
        if opening.endswith("{"):
            # Where the text was cut before its end, the block goes as far as the text does.
            last = next((n for n in range(first + 1, len(lines)) if lines[n] in closing), len(lines) - 1)
        found.append((first, last))
    return sorted(found)


def json_string(text: str) -> str:
    """The text as a JSON string, cut where it is long, with nothing invisible in it."""
    shown = _PLAIN.encode(text[:MAX_STRING])
    if not (shown.isascii() and shown.isprintable()):
        shown = _INVISIBLE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", shown)
    if len(text) > MAX_STRING:
        return f'{shown[:-1]}{ELLIPSIS}" ({len(text):,} characters)'
    return shown


def _height(value: Any) -> int:
    """How many lines `_lines` gives: counted a level at a time, for there can be a million of them."""
    count = 0
    level: list[Any] = [value]
    for depth in range(MAX_DEPTH + 1):
        holding: list[Any] = (
            [one for one in level if isinstance(one, _HOLDING) and one] if depth < MAX_DEPTH else []
        )
        count += len(level) + len(holding)
        level = list(chain.from_iterable(map(_held, holding)))
    return count


def _held(value: Any) -> Collection[Any]:
    return cast("dict[str, Any]", value).values() if isinstance(value, dict) else value


def _lines(value: Any, path: Path, indent: str, name: str, depth: int) -> Iterator[tuple[Path | None, str]]:
    items = _items(value)
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    if items is None:
        yield path, f"{indent}{name}{_scalar(value)}"
    elif not items:
        yield path, f"{indent}{name}{opening}{closing}"
    elif depth >= MAX_DEPTH:
        yield path, f"{indent}{name}{opening} {ELLIPSIS} {closing}"
    else:
        yield path, f"{indent}{name}{opening}"
        last = len(items) - 1
        for position, (key, member) in enumerate(items):
            label = f"{json_string(key)}: " if isinstance(key, str) else ""
            ending = "" if position == last else ","
            held: tuple[Path | None, str] | None = None
            # The comma goes behind the last line of the member, so one line is held back.
            for line in _lines(member, (*path, key), indent + INDENT, label, depth + 1):
                if held is not None:
                    yield held
                held = line
            if held is not None:
                yield held[0], held[1] + ending
        yield None, f"{indent}{closing}"


def _items(value: Any) -> list[tuple[str | int, Any]] | None:
    if isinstance(value, dict):
        return list(cast("dict[str | int, Any]", value).items())
    if isinstance(value, list):
        return list(enumerate(cast("list[Any]", value)))
    return None


def _scalar(value: Any) -> str:
    return json_string(value) if isinstance(value, str) else json.dumps(value)
