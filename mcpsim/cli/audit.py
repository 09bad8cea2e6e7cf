"""`mcpsim audit`: say which rules of the specification a trace breaks."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO, cast

from mcpsim.cli.command import Command
from mcpsim.errors import McpSimError, RecordingError
from mcpsim.recording import lines
from mcpsim.recording.readers import FORMATS, ReadTrace, read_trace
from mcpsim.recording.transcript import safe

if TYPE_CHECKING:
    from mcpsim.audit import Report

STANDARD_INPUT: Final = "-"
CLEAN, BROKEN, UNREADABLE = 0, 1, 2


class Audited(NamedTuple):
    """One file with its report.

    Attributes:
        name: as it stands on the command line.
        report: what the audit says; None where the file could not be read.
        places: where each row stands in the file.
        error: why it could not be read, or "".
    """

    name: str
    report: Report | None
    places: tuple[str, ...] = ()
    error: str = ""


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help=f"a trace: a saved recording, the interchange form, or what another tool wrote ({_known()}); it "
        "is told by what is in it. - reads standard input.",
    )
    parser.add_argument("--format", choices=FORMS, default="text", help="of the report (default: text)")
    parser.add_argument(
        "--input-format", choices=tuple(FORMATS), help="of the files, where it is not told rightly"
    )


def _known() -> str:
    return ", ".join(name for name in FORMATS if name not in ("recording", "interchange"))


def _run(options: argparse.Namespace) -> int:
    try:
        return _report(options)
    except KeyboardInterrupt:
        _complain("interrupted.")
        return UNREADABLE


def _report(options: argparse.Namespace) -> int:
    audited = [_audited(name, options.input_format) for name in options.files]
    for one in audited:
        if one.error:
            _complain(one.error)
    text = FORMS[options.format](audited)
    # Both are None in a process that was started without them.
    output = cast("TextIO | None", sys.stdout)
    if output is None:
        raise McpSimError("The report cannot be written: standard output is closed.")
    try:
        output.buffer.write(text.encode())
        output.buffer.flush()
    except OSError as error:
        raise McpSimError(f"The report cannot be written: {error}") from error
    if any(one.error for one in audited):
        return UNREADABLE
    return BROKEN if any(one.report is not None and one.report.broken for one in audited) else CLEAN


def _complain(text: str) -> None:
    # A file can have any name, and print(file=None) would write into the report.
    if cast("TextIO | None", sys.stderr) is not None:
        print(f"mcpsim audit: {safe(text)}", file=sys.stderr)


def _audited(name: str, format: str | None) -> Audited:
    shown = "Standard input" if name == STANDARD_INPUT else Path(name).name or name
    try:
        trace = read_trace(_bytes(name, shown), name=shown, format=format)
    except RecordingError as error:
        return Audited(name, None, error=str(error))
    report = report_on(trace)
    places = _places(trace)
    error = "" if trace.rows else f"{shown} has not one row that can be read."
    return Audited(name, report, places, error)


def _bytes(name: str, shown: str) -> bytes:
    given = cast("TextIO | None", sys.stdin)
    if name == STANDARD_INPUT and given is None:
        raise RecordingError(f"{shown} cannot be read: it is closed.")
    try:
        if name == STANDARD_INPUT and given is not None:
            data = given.buffer.read(lines.MAX_FILE_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(lines.MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise RecordingError(f"{shown} cannot be read: {why}.") from None
    if len(data) > lines.MAX_FILE_BYTES:
        raise RecordingError(f"{shown} is larger than the limit of {lines.MAX_FILE_BYTES} bytes.")
    return data


def report_on(trace: ReadTrace) -> Report:
    """Audit what was read."""
    # The rules are many, and only this command needs them.
    from mcpsim.audit import audit

    return audit(trace)


def _places(trace: ReadTrace) -> tuple[str, ...]:
    places = [""] * (trace.indices[-1] + 1 if trace.indices else 0)
    for index, (_, where) in zip(trace.indices, trace.rows, strict=True):
        places[index] = where
    return tuple(places)


def _text(audited: Sequence[Audited]) -> str:
    from mcpsim.audit.text import as_text

    parts: list[str] = []
    for one in audited:
        if one.report is None:
            continue
        title = f"{safe(one.name)}\n" if len(audited) > 1 else ""
        parts.append(f"{title}{as_text(one.report, places=one.places)}\n")
    return "\n".join(parts)


def _json(audited: Sequence[Audited]) -> str:
    found = [_plain(one) for one in audited]
    if len(found) > 1:
        value: Any = [{"file": one.name, **plain} for one, plain in zip(audited, found, strict=True)]
    else:
        value = found[0]
    return json.dumps(value, indent=1) + "\n"


def _plain(one: Audited) -> dict[str, Any]:
    plain: dict[str, Any] = (
        {"findings": [], "annotations": [], "skipped": [], "incomplete": [], "notes": []}
        if one.report is None
        else one.report.to_dict()
    )
    return {**plain, "error": one.error} if one.error else plain


FORMS: Final[Mapping[str, Callable[[Sequence[Audited]], str]]] = {"text": _text, "json": _json}
AUDIT: Final = Command("audit", "Say which rules of the specification a trace breaks.", _declare, _run)
