"""How a header value that repeats a value of the body differs from what it must be."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final, Literal, NamedTuple

from mcpsim.errors import FramingError
from mcpsim.recording.words import show
from mcpsim.transports.http import decode_header_value, encode_header_value

START: Final = "=?base64?"
END: Final = "?="

# What may have to be encoded; most names need not be looked at further.
_MARKED_OR_NOT_ASCII: Final = re.compile(r"[^!-~]|=\?")

Fault = Literal["plain", "lookalike", "marker", "other"]


class Difference(NamedTuple):
    """One header value that is not right.

    Attributes:
        fault: "plain" where a value is not encoded that must be; "lookalike" where that is so because the
            value itself looks like an encoded one; "marker" where the marks of the encoding are not
            exact; "other" where it is another value altogether.
        sentence: what is there and what would be right, without the name of the header.
    """

    fault: Fault
    sentence: str


def difference(text: str, value: str) -> Difference | None:
    """Compare a header that may be encoded with the value of the body that it repeats; None where it fits.

    Args:
        text: the header's value as it was sent.
        value: the text in the body.
    """
    if text == value and not _MARKED_OR_NOT_ASCII.search(value):
        return None
    text = text.strip(" \t")
    decoded = _decoded(text)
    if decoded == value:
        return None
    right = _encoded(value)
    if text == value and right != value and _is_marked(value):
        sentence = f"says {show(text)}, which reads as an encoded value; it must be {show(right, 200)}"
        return Difference("lookalike", sentence)
    if right != value and _is_plain_form(text, value):
        return Difference(
            "plain", f"says {show(text)}; the value {show(value)} must be encoded: {show(right, 200)}"
        )
    if _loosely_decoded(text) == value:
        return Difference(
            "marker", f"says {show(text)}; the encoding of {show(value)} is exactly {show(right, 200)}"
        )
    read = "" if decoded is None or decoded == text else f", which is {show(decoded)} decoded"
    return Difference("other", f"says {show(text)}{read}, and the body says {show(value)}")


def _decoded(text: str) -> str | None:
    try:
        return decode_header_value(text)
    except FramingError:
        return None


def _encoded(value: str) -> str:
    try:
        return encode_header_value(value)
    except FramingError:
        # Half of a surrogate pair has no form at all.
        return value


def _is_marked(value: str) -> bool:
    """Whether a value looks like one that is encoded."""
    return value.startswith(START) and value.endswith(END) and len(value) >= len(START) + len(END)


def _is_plain_form(text: str, value: str) -> bool:
    """Whether a text is what becomes of a value that is sent as it is: blanks at the ends get lost, UTF-8 is
    often read as Latin-1, and line breaks become blanks."""
    if text in (value, value.strip(" \t"), " ".join(value.split())):
        return True
    try:
        return text.encode("latin-1").decode("utf-8") in (value, value.strip(" \t"))
    except (UnicodeEncodeError, UnicodeDecodeError):
        return False


def _loosely_decoded(text: str) -> str | None:
    """What a text may have been meant to say: marks in other case, Base64 without its padding."""
    if not _is_marked(text[: len(START)].lower() + text[len(START) :]):
        return None
    inner = text[len(START) : -len(END)].rstrip("=")
    padded = inner.replace("-", "+").replace("_", "/") + "=" * (-len(inner) % 4)
    try:
        return base64.b64decode(padded, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
