"""The framing of stdio: one message a line. Bytes in, bytes out; nothing here reads or writes.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
"""

from __future__ import annotations

from typing import Final

from mcpsim.errors import FramingError
from mcpsim.messages import DEFAULT_LIMITS

_CR: Final = 0x0D


def frame(data: bytes) -> bytes:
    """Make the line that carries one message: its bytes and a newline.

    Raises:
        FramingError: when `data` contains a newline or a carriage return. The transport forbids the
            first; a reader that takes either for the end of a line breaks on the second. JSON needs
            neither: inside strings they are escaped.
    """
    if b"\n" in data or b"\r" in data:
        byte, name = (b"\n", "newline") if b"\n" in data else (b"\r", "carriage return")
        raise FramingError(
            f"A stdio message is one line, and there is a {name} at byte {data.find(byte)}; write the JSON "
            "without it."
        )
    return data + b"\n"


class LineReader:
    """Cuts a byte stream into lines, however the stream was chopped into chunks.

    A line ends with a newline; a carriage return before it is dropped, because programs on Windows
    write one without being asked. A blank line comes out as `b""`: it is not a message, so whoever
    wrote it broke the rule of the transport, and the caller has to see it to be able to say so.

    Args:
        max_bytes: the longest line that is kept, without its end.
    """

    __slots__ = ("_buffer", "_discarding", "_max_bytes")

    def __init__(self, max_bytes: int = DEFAULT_LIMITS.max_bytes) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._discarding = False

    def feed(self, chunk: bytes) -> list[bytes | FramingError]:
        """Take the next bytes; give the lines that are now complete, without their ends.

        A line of more than `max_bytes` gives one FramingError, as soon as it is too long, and the rest
        of it is thrown away. The work is in proportion to the bytes, also when they come one by one.
        """
        line = self.only_line(chunk)
        if line is not None:
            return [line]
        lines: list[bytes | FramingError] = []
        first, *others = chunk.split(b"\n")
        if not others:
            self._append(first, lines)
            return lines
        self._append(first, lines)
        self._end_line(lines)
        for line in others[:-1]:
            if len(line) <= self._max_bytes:
                lines.append(line[:-1] if line.endswith(b"\r") else line)
            else:
                self._append(line, lines)
                self._end_line(lines)
        self._append(others[-1], lines)
        return lines

    def only_line(self, chunk: bytes) -> bytes | None:
        """The line that a chunk is, where it is exactly one; by far the most are. Nothing is taken in.

        None: it is something else, or comes after the beginning of a line.
        """
        end = len(chunk) - 1
        if end < 0 or chunk.find(b"\n") != end or end > self._max_bytes or self._buffer or self._discarding:
            return None
        return chunk[:-2] if chunk.endswith(b"\r\n") else chunk[:-1]

    def finish(self) -> bytes:
        """Say that the stream has ended; give the bytes of a last line that has no newline, or `b""`.

        Such bytes are a message that was cut off, or one whose sender forgot the newline. A line that
        was already reported as too long gives nothing more.
        """
        left = bytes(self._buffer)
        self._buffer.clear()
        self._discarding = False
        return left

    def _append(self, piece: bytes, lines: list[bytes | FramingError]) -> None:
        if self._discarding:
            return
        buffer = self._buffer
        buffer += piece
        over = len(buffer) - self._max_bytes
        # One byte more is fine if it is the carriage return of the line's end.
        if over > 1 or (over == 1 and buffer[-1] != _CR):
            buffer.clear()
            self._discarding = True
            lines.append(FramingError(f"A line is longer than the limit of {self._max_bytes} bytes."))

    def _end_line(self, lines: list[bytes | FramingError]) -> None:
        if self._discarding:
            self._discarding = False
            return
        if self._buffer.endswith(b"\r"):
            del self._buffer[-1]
        lines.append(bytes(self._buffer))
        self._buffer.clear()
