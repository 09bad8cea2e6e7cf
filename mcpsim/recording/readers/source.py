"""The bytes of a file: as lines, as one JSON value, or as several values one after the other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

from mcpsim.errors import RecordingError
from mcpsim.recording import lines
from mcpsim.recording.words import SHOWN, show

NOT_JSON: Final = object()
# How many lines are parsed to tell a format. What costs less than parsing looks at all of them.
SAMPLE: Final = 200

_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_OPENING: Final = (b"{", b"[")
# How files begin that are no text at all, and what they are.
_NO_TEXT: Final = (
    (b"\x1f\x8b", "is compressed with gzip: unpack it first"),
    (b"PK\x03\x04", "is a ZIP archive: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd: unpack it first"),
    (b"BZh", "is compressed with bzip2: unpack it first"),
    (b"\xfd7zXZ", "is compressed with xz: unpack it first"),
    (b"\x89PNG", "is a picture, and no trace"),
)


class Source:
    """A file that is to be read.

    Args:
        data: its bytes. UTF-8, or UTF-16 with a byte order mark, as PowerShell writes.
        name: what it is called in sentences.

    Raises:
        RecordingError: it is larger than the bounds, or no text.
    """

    def __init__(self, data: bytes, name: str = "") -> None:
        self.name = name
        self.what = name or "The trace"
        if len(data) > lines.MAX_FILE_BYTES:
            raise RecordingError(f"{self.what} has {len(data)} bytes; the limit is {lines.MAX_FILE_BYTES}.")
        for start, what in _NO_TEXT:
            if data.startswith(start):
                raise RecordingError(f"{self.what} {what}.")
        if data.startswith(_UTF16):
            try:
                data = data.decode("utf-16").encode("utf-8")
            except UnicodeError:
                raise RecordingError(f"{self.what} begins as UTF-16, and is none.") from None
        self.data = data.removeprefix(b"\xef\xbb\xbf")

    @cached_property
    def lines(self) -> list[tuple[int, bytes]]:
        """The lines that are not blank, each with its number from 1."""
        return lines.split_lines(self.data, self.what)

    @cached_property
    def document(self) -> Any:
        """The one JSON value that the file is; `NOT_JSON` where it is something else."""
        start = self.data.lstrip()[:1]
        if start not in _OPENING or (len(self.lines) > 1 and _is_json(self.lines[0][1])):
            return NOT_JSON
        if lines.depth_of(self.data) > lines.MAX_DEPTH:
            return NOT_JSON
        try:
            return lines.parse(self.data)
        except (ValueError, RecursionError):
            return NOT_JSON

    @cached_property
    def object_lines(self) -> list[tuple[int, bytes]]:
        """The lines that begin as an object of JSON."""
        return [(number, line) for number, line in self.lines if begins_as_object(line)]

    @cached_property
    def _sample(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for number, line in self.object_lines[:SAMPLE]:
            with suppress(RecordingError):
                found.append(lines.read_line(line, number))
        return found

    def objects(self, fits: Callable[[dict[str, Any]], bool]) -> int:
        """How many of the lines are such objects, estimated from the first of them."""
        fitting = sum(map(fits, self._sample))
        total = len(self.object_lines)
        return -(-fitting * total // min(total, SAMPLE)) if fitting else 0

    @cached_property
    def blocks(self) -> list[tuple[int, bytes]]:
        """Values that were written over several lines, one after the other: each begins at the start of a
        line, and what belongs to it is indented or closes it. Each with the number of its first line."""
        found: list[tuple[int, list[bytes]]] = []
        for number, line in self.lines:
            if line.startswith(_OPENING) or not found:
                found.append((number, []))
            found[-1][1].append(line)
        return [(number, b"\n".join(block)) for number, block in found]


def begins_as_object(line: bytes) -> bool:
    """Whether a line begins as an object of JSON does."""
    return line.lstrip()[:1] == b"{"


def shown(text: bytes) -> str:
    """The beginning of a line, for a sentence."""
    return show(text.strip()[: 4 * (SHOWN + 1)].decode("utf-8", "replace"))


def _is_json(line: bytes) -> bool:
    try:
        lines.read_value(line, 0)
    except RecordingError:
        return False
    return True
