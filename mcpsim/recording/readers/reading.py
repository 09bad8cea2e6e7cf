"""Reads a file of any known format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.errors import RecordingError
from mcpsim.recording import lines
from mcpsim.recording.collecting import without_collecting
from mcpsim.recording.readers.claude_desktop import CLAUDE_DESKTOP
from mcpsim.recording.readers.har import HAR
from mcpsim.recording.readers.inspector import INSPECTOR
from mcpsim.recording.readers.interchange_form import INTERCHANGE
from mcpsim.recording.readers.model import Format, Found, ReadTrace
from mcpsim.recording.readers.plain import PLAIN
from mcpsim.recording.readers.python_sdk import PYTHON_SDK
from mcpsim.recording.readers.saved import SAVED
from mcpsim.recording.readers.source import Source
from mcpsim.recording.readers.vscode import VSCODE

#: By name. Where a file looks like two of them, the one with more of it is taken, and the first of equals.
FORMATS: Final[Mapping[str, Format]] = {
    one.name: one for one in (SAVED, HAR, INSPECTOR, INTERCHANGE, CLAUDE_DESKTOP, VSCODE, PYTHON_SDK, PLAIN)
}


def read_trace(data: bytes, *, name: str = "", format: str | None = None) -> ReadTrace:
    """Read a trace of any known format, told by what is in it.

    Something that cannot be read (a line, an entry) is left out and said, and the rest is read. The work is
    in proportion to the size.

    Args:
        data: the bytes of the file.
        name: the file's name, for sentences only.
        format: one of `FORMATS`, where it is known; otherwise it is found out.

    Raises:
        RecordingError: the data is larger than the bounds, of no known format, or a recording of mcpsim
            whose first line cannot be read; or there is no such format.
    """
    source = Source(data, name)
    if not source.lines:
        raise RecordingError(f"{source.what} is empty.")
    chosen = _chosen(source, format)
    found = Found()
    with without_collecting():
        chosen.read(source, found)
    return ReadTrace(
        chosen.name,
        tuple(found.rows),
        tuple(found.indices),
        tuple(found.skipped),
        tuple(found.notes),
        found.recording,
    )


def _chosen(source: Source, format: str | None) -> Format:
    if format is not None:
        if format not in FORMATS:
            raise RecordingError(f"There is no format {format!r}; known are {', '.join(FORMATS)}.")
        return FORMATS[format]
    claims = {name: one.claims(source) for name, one in FORMATS.items()}
    best = max(claims, key=claims.__getitem__)
    if not claims[best]:
        known = ", ".join(one.what for one in FORMATS.values())
        raise RecordingError(
            f"{source.what} is of no format that is known here. {_reason(source)} What can be read: {known}."
        )
    return FORMATS[best]


def _reason(source: Source) -> str:
    """What is wrong with it as the interchange form, which is what others are asked to write."""
    found = Found()
    number, line = source.lines[0]
    try:
        lines.read_line(line, number)
        INTERCHANGE.read(source, found)
    except RecordingError as error:
        return str(error)
    return found.skipped[0].why if found.skipped else ""
