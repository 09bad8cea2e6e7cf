"""What strangers wrote within our sentences: short, on one line, in ASCII, and harmless."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

SHOWN: Final = 60

_CUT: Final = " [...]"
# What is cut is closed as if it were whole: a full stop behind it still ends our sentence.
_CLOSING: Final[Mapping[str, str]] = {'"': '..."', "{": "...}", "[": "...]"}
_HALF_AN_ESCAPE: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-f]{0,3})?\Z")
_ODD: Final = re.compile(r"[^\x20-\x7e]")


def show(value: Any, length: int = SHOWN) -> str:
    """A value as JSON, cut where it is longer than `length` characters."""
    if isinstance(value, str):
        text = json.dumps(value[: length + 1])
    else:
        try:
            text = json.dumps(value, default=str)
        except (TypeError, ValueError, RecursionError):
            text = "(a value that cannot be shown)"
    if len(text) <= length:
        return text
    return _HALF_AN_ESCAPE.sub(r"\1", text[: length - 1]) + _CLOSING.get(text[0], _CUT)


def plain(text: str, length: int = 160) -> str:
    """A sentence that is partly a stranger's, cut after `length` characters."""
    cut = text if len(text) <= length else text[:length] + _CUT
    return _ODD.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), cut)
