"""A report as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from mcpsim.audit.grouping import HEADINGS, LEVELS, Group, diagnoses, groups, place, summary
from mcpsim.recording.transcript import safe

if TYPE_CHECKING:
    from mcpsim.audit.report import Report

#: How many places of one rule, or things that were left out, are written out. The rest is counted.
SHOWN: Final = 10
_NARROWEST: Final = 40


def as_text(report: Report, *, width: int = 100, places: Sequence[str] = ()) -> str:
    """The report as text: a summary line, then the rules that are broken, the gravest first.

    Args:
        width: break lines after this many characters, where they have a blank to break at.
        places: where each row stands in its file, such as "line 12"; none where that says no more than the
            number of the row.
    """
    return "\n".join(_lines(report, max(width, _NARROWEST), places))


def _lines(report: Report, width: int, places: Sequence[str]) -> Iterator[str]:
    yield from _wrapped(summary(report), width)
    for level in LEVELS:
        found = groups(report, level)
        if found:
            yield ""
            yield HEADINGS[level]
        for group in found:
            yield from _group(group, width, places)
    yield from _section("What the errors mean", list(diagnoses(report, places)), width)
    gaps = [f"{place(one.index, places)}: {one.message}" for one in report.incomplete]
    yield from _section("Incomplete", gaps, width)
    yield from _section("Not read", [_told(one.where, one.why) for one in report.skipped], width)
    yield from _section("About the reading", report.notes, width)


def _group(group: Group, width: int, places: Sequence[str]) -> Iterator[str]:
    yield ""
    yield from _wrapped(f"{group.rule} ({group.party})", width, "  ")
    hint = ""
    for one in group.findings[:SHOWN]:
        yield from _wrapped(f"{place(one.index, places)}: {one.message}", width, "    ", "      ")
        if one.hint and one.hint != hint:
            hint = one.hint
            yield from _wrapped(f"Try: {hint}", width, "      ", "      ")
    if len(group.findings) > SHOWN:
        yield f"    and {len(group.findings) - SHOWN} more places"
    yield f"    {group.url}"


def _section(title: str, entries: Sequence[str], width: int) -> Iterator[str]:
    if not entries:
        return
    yield ""
    yield title
    for entry in entries[:SHOWN]:
        yield from _wrapped(entry, width, "  ", "    ")
    if len(entries) > SHOWN:
        yield f"  and {len(entries) - SHOWN} more"


def _told(where: str, why: str) -> str:
    """The reason of an importer begins with the line already."""
    return why if why.lower().startswith(where.lower()) else f"{where}: {why}"


def _wrapped(text: str, width: int, first: str = "", rest: str | None = None) -> Iterable[str]:
    indent = first if rest is None else rest
    # Two blanks in a row can be part of a value that is shown, so blanks stay as they are.
    return textwrap.wrap(
        safe(text),
        width,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )
