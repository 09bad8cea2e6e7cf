"""Lines of a log: what stands before a message, and the message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from mcpsim.recording.readers.source import Source

# What stands before a message in a line is short; what is longer is no prefix, but a text with braces in it.
MAX_PREFIX: Final = 400


class LogLine(NamedTuple):
    """A line that has a message in it.

    Attributes:
        number: its number in the file, from 1.
        prefix: what stands before the message.
        body: the message's text, up to the end of the line.
    """

    number: int
    prefix: str
    body: bytes


def log_lines(source: Source) -> Iterator[LogLine]:
    """Every line that has a JSON object or array of objects in it, from its first brace to its end."""
    for number, line in source.lines:
        found = split_at_message(line)
        if found is not None:
            yield LogLine(number, *found)


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
