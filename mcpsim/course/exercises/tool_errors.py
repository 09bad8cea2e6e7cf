"""What a tool error says to whoever reads it."""

from __future__ import annotations

from typing import Final

_NOT_OURS: Final = "The fault is on the server's side"


def tells_nothing(text: str) -> bool:
    """Whether this is what our server says of an exception that it does not show, or no word at all."""
    return _NOT_OURS in text or not text.strip()
