"""The interchange form: one JSON object a line, as an observer beside the client would write it down. A line
that breaks the form is left out, with the reason that an importer gives."""

from __future__ import annotations

from typing import Any, Final, cast

from mcpsim.errors import RecordingError
from mcpsim.recording import lines
from mcpsim.recording.importing import check_row
from mcpsim.recording.interchange import BODIES, SIDES
from mcpsim.recording.readers.log_lines import where
from mcpsim.recording.readers.model import Format, Found
from mcpsim.recording.readers.source import NOT_JSON, Source

NAME: Final = "interchange"


def _claims(source: Source) -> int:
    if source.document is NOT_JSON:
        return source.objects(_is_row)
    return sum(map(_is_row, _entries(source)))


def _entries(source: Source) -> list[Any]:
    """The rows of a file that is one array of them, or one row alone."""
    document = source.document
    return cast("list[Any]", document) if isinstance(document, list) else [document]


def _is_row(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    row = cast("dict[str, Any]", value)
    return row.get("from") in SIDES or ("from" in row and any(key in row for key in (*BODIES, "event")))


def _read(source: Source, found: Found) -> None:
    if isinstance(source.document, list):
        for index, row in enumerate(_entries(source)):
            _take(index + 1, row, f"entry {index + 1}", index, found)
        return
    read_line = lines.line_reader(source.data)
    for index, (number, line) in enumerate(source.lines):
        try:
            row = read_line(line, number)
        except RecordingError as error:
            found.skip(where(number), str(error))
        else:
            _take(number, row, where(number), index, found)


def _take(number: int, row: Any, at: str, index: int, found: Found) -> None:
    if not isinstance(row, dict):
        found.skip(at, "It is not a JSON object.")
        return
    members = cast("dict[str, Any]", row)
    try:
        check_row(number, members)
    except RecordingError as error:
        found.skip(at, str(error))
    else:
        found.add(members, at, index)


INTERCHANGE: Final = Format(NAME, "the interchange form", _claims, _read)
