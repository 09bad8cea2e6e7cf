"""Our own saved recordings. A line that cannot be read is left out; what it would have begun (a message that
arrives later) is then left out as well."""

from __future__ import annotations

from typing import Final

from mcpsim.errors import RecordingError
from mcpsim.recording.event_lines import EventReader
from mcpsim.recording.events import Event
from mcpsim.recording.exporting import to_numbered_interchange
from mcpsim.recording.readers.log_lines import where
from mcpsim.recording.readers.model import Format, Found
from mcpsim.recording.readers.source import Source
from mcpsim.recording.recording import FORMAT, Recording, read_header

NAME: Final = "recording"


def _claims(source: Source) -> int:
    first = source.lines[0][1] if source.lines else b""
    return len(source.lines) if b'"format"' in first and FORMAT.encode() in first else 0


def _read(source: Source, found: Found) -> None:
    header = read_header(source.lines)
    reader = EventReader()
    numbers: list[int] = []
    read: list[Event] = []
    for number, line in source.lines[1:]:
        try:
            read.append(reader.read(line, number))
        except RecordingError as error:
            found.skip(where(number), str(error))
        else:
            numbers.append(number)
    found.recording = Recording(header, tuple(read))
    for index, row in to_numbered_interchange(read):
        found.add(row, where(numbers[index]))


SAVED: Final = Format(NAME, "a recording of mcpsim", _claims, _read)
