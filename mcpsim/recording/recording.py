"""A recording: everything that crossed the wire, in order, frozen."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from mcpsim.errors import RecordingError
from mcpsim.recording.event_lines import read_events, write_event
from mcpsim.recording.events import Event, milliseconds
from mcpsim.recording.exporting import to_interchange
from mcpsim.recording.frames import Frame, frames_of
from mcpsim.recording.importing import from_interchange
from mcpsim.recording.lines import MAX_FILE_BYTES, is_whole, read_line, split_lines, write_line
from mcpsim.recording.markdown import markdown
from mcpsim.recording.mermaid import mermaid
from mcpsim.recording.transcript import transcript
from mcpsim.recording.words import show

if TYPE_CHECKING:
    from mcpsim.audit import Report

FORMAT: Final = "mcpsim-recording"
VERSION: Final = 1


@dataclass(frozen=True, repr=False)
class Recording:
    """An ordered list of frozen events, and what there is to say about the run as a whole.

    Attributes:
        header: plain JSON values: `title`, `parties` (the lanes, in order), `transport`, `era`, `seed`,
            `faults`, and `source` ("simulation", "live", or "import").
        events: the events, in the order in which they happened.
    """

    header: Mapping[str, Any]
    events: tuple[Event, ...]

    def __repr__(self) -> str:
        took = self.events[-1].at_us if self.events else 0
        return (
            f"<Recording {self.title!r}: {len(self.frames)} messages, {len(self.events)} events, "
            f"{milliseconds(took)} ms>"
        )

    @property
    def title(self) -> str:
        """What the run shows, in a few words."""
        return str(self.header.get("title", "recording"))

    @property
    def parties(self) -> tuple[str, ...]:
        """The names of the lanes, in order."""
        named = self.header.get("parties")
        if isinstance(named, list):
            return tuple(str(name) for name in cast("list[Any]", named))
        return tuple(dict.fromkeys(event.party for event in self.events))

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """Everything that travelled, in the order of sending."""
        return frames_of(self.events)

    def transcript(self, *, width: int = 100) -> str:
        """The run as text, one line a message: the same run gives the same text.

        Args:
            width: cut lines after this many characters.
        """
        return transcript(self, width=width)

    def to_mermaid(self, *, width: int = 80) -> str:
        """The run as a Mermaid sequence diagram: lanes, arrows in the order of sending, lost messages, notes.

        Whatever stands in names and messages, it is text in the diagram, and nothing else.

        Args:
            width: cut texts after this many characters.

        https://mermaid.js.org/syntax/sequenceDiagram.html
        """
        return mermaid(self, width=width)

    def to_markdown(self, *, width: int = 200) -> str:
        """The run as a Markdown document: each message under a heading, with its headers and its body.

        Whatever stands in names and messages, it is text in the document, and nothing else.

        Args:
            width: cut what stands in one line after this many characters.

        https://spec.commonmark.org/0.31.2/
        """
        return markdown(self, width=width)

    def audit(self) -> Report:
        """What each message is, and which rules of the specification are broken: by whom, and where."""
        # The audit stands above the recordings that it reads; that one can ask a recording itself is worth
        # one look upwards.
        from mcpsim.audit import audit

        return audit(self)

    def to_jsonl(self) -> bytes:
        """The recording as JSON Lines: a header line, then one event a line. Same run, same bytes.

        Raises:
            RecordingError: the header or a detail holds what JSON cannot carry.
        """
        own = {key: value for key, value in self.header.items() if key not in ("format", "version")}
        lines = [write_line({"format": FORMAT, "version": VERSION, **own}, "The header")]
        lines += [write_event(event, number) for number, event in enumerate(self.events, start=1)]
        return b"".join(lines)

    def sha256(self) -> str:
        """The digest of `to_jsonl()`, in hexadecimal."""
        return hashlib.sha256(self.to_jsonl()).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write `to_jsonl()` to a file."""
        Path(path).write_bytes(self.to_jsonl())

    @staticmethod
    def from_jsonl(data: bytes) -> Recording:
        """Read what `to_jsonl()` wrote.

        Raises:
            RecordingError: the data is not such a recording, or larger than the bounds; the text names the
                line and the reason.
        """
        lines = split_lines(data, "The recording")
        header = read_header(lines)
        return Recording(header, read_events(lines[1:]))

    @staticmethod
    def load(path: str | Path) -> Recording:
        """Read a file: a saved recording, a trace in the interchange form, or what another tool wrote.

        What could not be read of a trace stands in the header as `skipped`, and what there is to say about
        the reading as `notes`: see `mcpsim.recording.readers`. A saved recording is read whole or not at all.

        Raises:
            RecordingError: the file cannot be read, or has nothing in it that could be; the text names the
                line and the reason.
        """
        path = Path(path)
        try:
            with path.open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise RecordingError(f"{path.name} cannot be read: {error.strerror}.") from None
        if len(data) > MAX_FILE_BYTES:
            raise RecordingError(f"{path.name} is larger than the limit of {MAX_FILE_BYTES} bytes.")
        first = data.split(b"\n", 1)[0]
        if b'"format"' in first and FORMAT.encode() in first:
            return Recording.from_jsonl(data)
        # The readers give recordings, so they know this class, and not the other way round.
        from mcpsim.recording.readers import read_trace

        trace = read_trace(data, name=path.name)
        if not trace.rows:
            first = trace.skipped[0].why if trace.skipped else "There is no message in it."
            raise RecordingError(f"{path.name} has not one row that can be read. {first}")
        found = from_interchange(
            (index + 1, row) for index, (row, _) in zip(trace.indices, trace.rows, strict=True)
        )
        return _imported(found, path.stem, skipped=trace.skipped, notes=trace.notes)

    def to_interchange(self) -> bytes:
        """The run as an observer beside the client would write it down, one JSON object a line.

        Raises:
            RecordingError: a detail holds what JSON cannot carry.
        """
        rows = to_interchange(self.events)
        return b"".join(write_line(row, f"Row {number}") for number, row in enumerate(rows, start=1))

    @staticmethod
    def from_interchange(data: bytes, *, title: str = "trace") -> Recording:
        """Read a trace in the interchange form.

        Raises:
            RecordingError: a line is not a JSON object of that form, or larger than the bounds; the text
                names the line and the reason.
        """
        lines = split_lines(data, "The trace")
        found = from_interchange((number, read_line(line, number)) for number, line in lines)
        return _imported(found, title)


def _imported(
    found: tuple[Event, ...],
    title: str,
    *,
    skipped: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
) -> Recording:
    lanes = dict.fromkeys(name for event in found for name in (event.party, event.peer) if name)
    parties = sorted(lanes, key=lambda name: (name != "client", name == "server"))
    transport = "http" if any(event.exchange for event in found) else "stdio"
    header: dict[str, Any] = {"title": title, "parties": parties, "transport": transport, "source": "import"}
    if skipped:
        header["skipped"] = [{"where": where, "why": why} for where, why in skipped]
    if notes:
        header["notes"] = list(notes)
    return Recording(header, found)


def read_header(lines: Sequence[tuple[int, bytes]]) -> dict[str, Any]:
    """The header of a saved recording, from its first line; without format name and version.

    Raises:
        RecordingError: there is none, or it is none that can be read.
    """
    if not lines:
        raise RecordingError("The recording is empty.")
    number, first = lines[0]
    header = read_line(first, number)
    if header.pop("format", None) != FORMAT:
        raise RecordingError(f'Line {number}: a recording begins with {{"format":"{FORMAT}", ...}}.')
    version = header.pop("version", None)
    if not is_whole(version, VERSION) or version != VERSION:
        raise RecordingError(f"Line {number}: format version {show(version)} is not known; {VERSION} is.")
    if not isinstance(header.get("title", ""), str):
        raise RecordingError(f"Line {number}: `title` must be a string, not {show(header['title'])}.")
    parties: Any = header.get("parties", [])
    if not isinstance(parties, list) or not all(isinstance(one, str) for one in cast("list[Any]", parties)):
        raise RecordingError(f"Line {number}: `parties` must be a list of names, not {show(parties)}.")
    return header
