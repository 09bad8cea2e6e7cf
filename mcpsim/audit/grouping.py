"""The findings of a report as people read them: the gravest first, and one rule with all its places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from mcpsim.audit.rule import MUST, NOTE, SHOULD, Level
from mcpsim.eras.pages import SPECIFICATION
from mcpsim.recording.transcript import safe

if TYPE_CHECKING:
    from mcpsim.audit.engine import Finding
    from mcpsim.audit.report import Report

LEVELS: Final[tuple[Level, ...]] = (MUST, SHOULD, NOTE)
HEADINGS: Final[dict[Level, str]] = {
    MUST: "MUST: what has to hold, and does not",
    SHOULD: "SHOULD: what is recommended, and not done",
    NOTE: "Notes",
}
_NOUNS: Final[dict[Level, tuple[str, str]]] = {
    MUST: ("broken rule (MUST)", "broken rules (MUST)"),
    SHOULD: ("recommendation (SHOULD)", "recommendations (SHOULD)"),
    NOTE: ("note", "notes"),
}


class Group(NamedTuple):
    """All places where one party broke one rule.

    Attributes:
        rule, party, level: of all of them.
        url: the page of the specification.
        findings: in the order of the rows.
    """

    rule: str
    party: str
    level: Level
    url: str
    findings: tuple[Finding, ...]


def groups(report: Report, level: Level) -> tuple[Group, ...]:
    """The findings of one level, in the order in which their rules come up first."""
    found: dict[tuple[str, str, str], list[Finding]] = {}
    for one in report.of_level(level):
        found.setdefault((one.rule, one.party, one.spec), []).append(one)
    return tuple(
        Group(safe(rule), safe(party), level, safe(f"{SPECIFICATION}/{spec}"), tuple(several))
        for (rule, party, spec), several in found.items()
    )


_BROKEN: Final = ("malformed", "unreadable")


def summary(report: Report) -> str:
    """One line: how much of what in how many messages."""
    parts = list(_counts(report))
    messages = f"{report.messages} message{'' if report.messages == 1 else 's'}"
    others = sum(one.kind in _BROKEN for one in report.annotations)
    if others:
        messages += f", and {others} that {'is' if others == 1 else 'are'} none"
    if not parts and not report.messages and not others:
        return "There is no message to audit."
    if not parts:
        return f"No findings in {messages}."
    if not report.broken:
        parts.insert(0, "no broken rule (MUST)")
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]} in {messages}."


def _counts(report: Report) -> Iterator[str]:
    for level in LEVELS:
        findings = report.of_level(level)
        rules = len({one.rule for one in findings})
        if not rules:
            continue
        noun = _NOUNS[level][rules > 1]
        places = f" in {len(findings)} places" if len(findings) > rules else ""
        yield f"{rules} {noun}{places}"


def place(index: int, places: Sequence[str]) -> str:
    """What a row is called: by its number, and by where it stands in the file."""
    row = f"row {index}"
    return f"{row} ({safe(places[index])})" if index < len(places) and places[index] else row


def diagnoses(report: Report, places: Sequence[str]) -> Iterator[str]:
    """What each error means here, and what to try; the same one again is counted."""
    found: dict[tuple[str, str], list[int]] = {}
    for one in report.annotations:
        if one.diagnosis is not None:
            found.setdefault((one.diagnosis.means, one.diagnosis.tries), []).append(one.index)
    for (means, tries), rows in found.items():
        again = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        yield f"{place(rows[0], places)}{again}: {means} Try: {tries}"
