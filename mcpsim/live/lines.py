"""Cut what a process writes into lines, and lose no byte.

The reader of the transport drops what is no message: the end of a line, a line that is too long. A recording
has to show just that, so the observer cuts by itself.
"""

from __future__ import annotations

from typing import Final

LONGEST_LINE: Final = 8_000_000


class Cutter:
    """Holds back what has no end yet. What has one is for a subclass to say.

    Args:
        max_bytes: a piece that is longer comes out in parts, so that what is held back stays bounded.
    """

    def __init__(self, max_bytes: int = LONGEST_LINE) -> None:
        self._max_bytes = max_bytes
        self._held = bytearray()

    def finish(self) -> bytes:
        """What is held back: the last piece, where the stream ended before it did, or b""."""
        held = bytes(self._held)
        self._held.clear()
        return held


class LineCutter(Cutter):
    """Cuts a byte stream into lines with their ends, however the stream was chopped into chunks."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; give the lines that are now complete, each with its newline."""
        lines: list[bytes] = []
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._held += line + b"\n"
            lines.append(self.finish())
        self._held += rest
        if len(self._held) >= self._max_bytes:
            lines.append(self.finish())
        return lines


def printable(text: str) -> str:
    """The text without control characters, which could make a terminal do things."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)
