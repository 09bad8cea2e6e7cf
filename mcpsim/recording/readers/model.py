"""What a reader gives: rows, what it left out, and what there is to say about both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from mcpsim.errors import RecordingError
from mcpsim.recording import lines
from mcpsim.recording.readers.source import Source

if TYPE_CHECKING:
    from mcpsim.recording.recording import Recording

Row = dict[str, Any]


class Skipped(NamedTuple):
    """Something in a file that could not be read.

    Attributes:
        where: such as "line 12" or "entry 3".
        why: one sentence.
    """

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class ReadTrace:
    """A file, read.

    Attributes:
        format: the name of its format, one of `FORMATS`.
        rows: each row of the interchange form, with where in the file it stands, such as "line 12".
        indices: the index of each row. In the interchange form it is the 0-based number of the row's line
            among the lines that are not blank, as an importer counts them: also where a line before it was
            skipped. In every other format rows are counted as they come.
        skipped: what could not be read.
        notes: sentences about the file as a whole.
        recording: a saved recording itself, which knows more than its rows; otherwise None.
    """

    format: str
    rows: tuple[tuple[Row, str], ...]
    indices: tuple[int, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]
    recording: Recording | None = None


@dataclass(slots=True)
class Found:
    """Collects what a reader finds."""

    rows: list[tuple[Row, str]] = field(default_factory=list["tuple[Row, str]"])
    indices: list[int] = field(default_factory=list[int])
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    notes: list[str] = field(default_factory=list[str])
    recording: Recording | None = None

    def add(self, row: Row, where: str, index: int | None = None) -> None:
        """One more row.

        Raises:
            RecordingError: there are more than a trace may have.
        """
        if len(self.rows) >= lines.MAX_LINES:
            raise RecordingError(f"The file gives more than {lines.MAX_LINES} rows, which is the limit.")
        self.indices.append(len(self.rows) if index is None else index)
        self.rows.append((row, where))

    def skip(self, where: str, why: str) -> None:
        """One thing that could not be read."""
        self.skipped.append(Skipped(where, why))

    def note(self, text: str) -> None:
        """One sentence about the file."""
        self.notes.append(text)


@dataclass(frozen=True, slots=True)
class Format:
    """One row of the table of formats.

    Attributes:
        name: what it is called on the command line and in reports.
        what: what it is called in a sentence.
        claims: how much in a file looks like this format: lines or entries; 0 where it is another format.
        read: reads such a file. It raises nothing but RecordingError, where nothing can be read.
    """

    name: str
    what: str
    claims: Callable[[Source], int]
    read: Callable[[Source, Found], None]
