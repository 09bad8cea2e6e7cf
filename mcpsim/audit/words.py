"""Texts of a trace within our sentences: short, on one line, and harmless."""

from __future__ import annotations

import json
from typing import Any, Final

SHOWN: Final = 60


def show(value: Any, length: int = SHOWN) -> str:
    """A value as JSON, in ASCII, cut after `length` characters."""
    if isinstance(value, str):
        text = json.dumps(value[: length + 1])
    else:
        try:
            text = json.dumps(value, default=str)
        except (TypeError, ValueError, RecursionError):
            text = "(a value that cannot be shown)"
    return text if len(text) <= length else text[:length] + "..."
