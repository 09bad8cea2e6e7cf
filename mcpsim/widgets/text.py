"""Text from strangers, made fit to be shown: invisible characters made visible, long text cut."""

from __future__ import annotations

import json
import re
from typing import Final

# Control characters, marks that change the direction of text, and characters that take no room. The
# two joiners (U+200C, U+200D) stay: several scripts and most emoji are written with them.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
# Made once: `json.dumps` makes a new one whenever it is not to write plain ASCII.
_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "))
NEWLINE_MARK: Final = "⏎"
ELLIPSIS: Final = "…"
# What a sentence ends with, in a quotation or not; a second end after it is one too many.
_TWO_ENDS: Final = re.compile(f"([.?!]”|{ELLIPSIS}”?)[.](?![.])")


def visible(text: str) -> str:
    """The text with a name such as `‹U+202E›` in place of each character that cannot be seen."""
    return _INVISIBLE.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text)


def cut(text: str, limit: int) -> str:
    """At most `limit` characters of the text, and how long all of it is."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}{ELLIPSIS} ({len(text):,} characters)"


def one_line(text: str, limit: int) -> str:
    """The text on one line, visible, and at most `limit` characters of it."""
    # Most text is short and plain, and a long recording has a great deal of it.
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text
    # Cut first: making a very long text visible to throw it away would cost time for nothing.
    short = text[: limit + 1]
    shown = visible(short.replace("\r\n", NEWLINE_MARK).replace("\n", NEWLINE_MARK).replace("\t", " "))
    return shown if len(text) <= limit and len(shown) <= limit * 2 else shown[:limit] + ELLIPSIS


def one_end(text: str) -> str:
    """The text without a full stop after what ends by itself: what is quoted, or was cut, before it."""
    return _TWO_ENDS.sub(r"\1", text)


def lane_name(party: str) -> str:
    """How a party is called in the picture. A name is never empty there: an empty one means "no party"."""
    return one_line(party, 40) or "(no name)"


def decoded(data: bytes) -> str:
    """The bytes as UTF-8 text; a byte that is not UTF-8 shows as `\\xNN`."""
    return data.decode("utf-8", "backslashreplace")


def clock(microseconds: int) -> str:
    """A point in time for people: `120 ms`, `4.14 s`, `300.54 s`."""
    if microseconds < 1_000_000:
        return f"{microseconds / 1000:.4g} ms"
    return f"{microseconds / 1_000_000:,.3f}".rstrip("0").rstrip(".") + " s"


def duration(microseconds: int) -> str:
    """A length of time in the unit that reads best: `120 ms`, `1.5 s`, `5 min`."""
    if microseconds < 120_000_000:
        return clock(microseconds)
    if microseconds < 7_200_000_000:
        return f"{microseconds / 60_000_000:.4g} min"
    return f"{microseconds / 3_600_000_000:,.4g} h"


def compact_text(value: object) -> str:
    """A JSON value on one line, as JSON text."""
    try:
        # Most of what is asked for are ids, and most ids are numbers.
        return str(value) if type(value) is int else _COMPACT.encode(value)
    except (TypeError, ValueError, RecursionError):
        # An integer of thousands of digits: Python refuses to print it, and so do we.
        return f"(a value of type {type(value).__name__} that is too large to show)"
