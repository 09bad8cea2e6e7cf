"""What the judges say of a server: one ruling each, and all of them on one card."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from typing import Final

from mcpsim.recording import Recording

WIDTH: Final = 96


class Outcome(StrEnum):
    """What a judge comes to."""

    PASSED = "passed"
    NOT_YET = "not yet"
    NOT_ASKED = "not asked"
    NOT_THERE = "not there"


_MARKS: Final[Mapping[Outcome, str]] = {
    Outcome.PASSED: "✓",
    Outcome.NOT_YET: "✗",
    Outcome.NOT_ASKED: "○",
    Outcome.NOT_THERE: "○",
}


@dataclass(frozen=True)
class Ruling:
    """What one judge says.

    Attributes:
        judge: who: "lists", "calls", "questions", "stop", "faults", "audit", "official SDK" or
            "conformance suite".
        outcome: passed; not yet; not asked (it needs `live=True`); or not there (it is not installed).
        seen: what was seen, in a sentence or two.
        recording: the run in which something was found, or None: show it in a cell of its own.
    """

    judge: str
    outcome: Outcome
    seen: str
    recording: Recording | None = None


@dataclass(frozen=True)
class Judgement:
    """The card of a server. The last line of a cell shows it.

    Attributes:
        server: the server's name.
        rulings: one a judge, in the order in which they were asked.
    """

    server: str
    rulings: tuple[Ruling, ...]

    @property
    def passed(self) -> bool:
        """Whether no judge that was asked found anything."""
        return all(one.outcome is not Outcome.NOT_YET for one in self.rulings)

    def of(self, judge: str) -> Ruling:
        """The ruling of one judge.

        Raises:
            LookupError: there is no judge with this name.
        """
        for one in self.rulings:
            if one.judge == judge:
                return one
        names = ", ".join(one.judge for one in self.rulings)
        raise LookupError(f"There is no judge {judge!r}, but {names}.")

    @property
    def heading(self) -> str:
        """How many judges looked, and how many of them found nothing wrong."""
        asked = [one for one in self.rulings if one.outcome in (Outcome.PASSED, Outcome.NOT_YET)]
        good = sum(one.outcome is Outcome.PASSED for one in asked)
        return f"{self.server}: {good} of {len(asked)} judges found nothing wrong"

    def __repr__(self) -> str:
        wide = max(len(one.judge) for one in self.rulings)
        margin = " " * (wide + 4)
        lines = [self.heading, ""]
        for one in self.rulings:
            first = f"{_MARKS[one.outcome]} {one.judge:<{wide}}  "
            said = f"{one.outcome}. {one.seen}"
            for paragraph in said.splitlines():
                lines.append(
                    textwrap.fill(
                        paragraph,
                        WIDTH,
                        initial_indent=first,
                        subsequent_indent=margin,
                        break_long_words=False,
                        break_on_hyphens=False,
                    )
                )
                first = margin
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        style = 'style="text-align:left;vertical-align:top"'
        rows = "".join(
            f'<tr><th scope="row" {style}>{escape(one.judge)}</th>'
            f"<td {style}>{_MARKS[one.outcome]} {escape(one.outcome)}</td>"
            f"<td {style}>{'<br>'.join(map(escape, one.seen.splitlines()))}</td></tr>"
            for one in self.rulings
        )
        head = "".join(f'<th scope="col" {style}>{text}</th>' for text in ("judge", "outcome", "seen"))
        return f"<p><strong>{escape(self.heading)}</strong></p><table><tr>{head}</tr>{rows}</table>"
