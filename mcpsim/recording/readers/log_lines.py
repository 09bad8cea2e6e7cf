"""Lines of a log: what stands before a message, and the message."""

from __future__ import annotations

from typing import Final

# What stands before a message in a line is short; what is longer is no prefix, but a text with braces in it.
MAX_PREFIX: Final = 400


def split_at_message(line: bytes) -> tuple[str, bytes] | None:
    """What stands before the message of a line, and the message; None where there is none."""
    at = line.find(b"{", 0, MAX_PREFIX)
    if at < 0:
        return None
    before = line[:at].rstrip()
    if before.endswith(b"["):
        at = len(before) - 1
    return line[:at].decode("utf-8", "replace"), line[at:].rstrip()


def where(number: int) -> str:
    """What a line is called."""
    return f"line {number}"


def several(count: int, one: str, many: str) -> str:
    """A count with its noun."""
    return f"{count} {one if count == 1 else many}"
