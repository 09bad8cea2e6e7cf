"""What a check says: passed, not yet, or not attempted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from mcpsim.course.exercises.card import Card, Part, Tone
from mcpsim.eras.pages import MODERN, spec_url
from mcpsim.recording import Recording


class Outcome(StrEnum):
    """The three things that a check can say."""

    PASSED = "passed"
    NOT_YET = "not yet"
    NOT_ATTEMPTED = "not attempted"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the specification, in our words.

    Attributes:
        text: the rule; MUST, SHOULD and MAY as the page has them.
        page: the page below the revision, with its anchor.
        era: whose pages: "modern" or "legacy".
    """

    text: str
    page: str
    era: str = MODERN

    @property
    def link(self) -> str:
        """The page's address."""
        return spec_url(self.era, self.page)


@dataclass(frozen=True)
class Verdict:
    """The answer of a check.

    Attributes:
        title: the exercise's title.
        outcome: one of the three.
        seen: what the check saw.
        rule: the rule at work, or None.
        look: what to look at next, or "".
        recording: what crossed the wire, where the check played something: show it in a cell of its own.
        arguments: what the answer was called with when it raised; None where it did not.
    """

    title: str
    outcome: Outcome
    seen: str = ""
    rule: Rule | None = None
    look: str = ""
    recording: Recording | None = None
    arguments: tuple[Any, ...] | None = None

    @property
    def passed(self) -> bool:
        """Whether the exercise is done."""
        return self.outcome is Outcome.PASSED

    def card(self) -> Card:
        """The verdict as it is shown."""
        mark, words, tone = _SHOWN[self.outcome]
        parts = [Part("Seen", self.seen)] if self.seen else []
        if self.rule is not None:
            parts.append(Part("Rule", self.rule.text, self.rule.link))
        if self.look:
            parts.append(Part("Next", self.look))
        wire = _shortened(self.recording.transcript()) if self.recording is not None else ""
        return Card(f"{mark} {words}: {self.title}", tuple(parts), wire, "On the wire" if wire else "", tone)

    def __repr__(self) -> str:
        return repr(self.card())

    def _repr_html_(self) -> str:
        return self.card()._repr_html_()  # pyright: ignore[reportPrivateUsage]


# A loop that never ends fills hundreds of lines with the same.
_HEAD_LINES: Final = 30
_TAIL_LINES: Final = 6


def _shortened(wire: str) -> str:
    lines = wire.splitlines()
    left_out = len(lines) - _HEAD_LINES - _TAIL_LINES
    if left_out <= 1:
        return wire
    told = f"… {left_out} lines are left out here; `.recording` of what the check returned has all of them …"
    return "\n".join([*lines[:_HEAD_LINES], told, *lines[-_TAIL_LINES:]])


_SHOWN: Final[Mapping[Outcome, tuple[str, str, Tone]]] = {
    Outcome.PASSED: ("✓", "Passed", "good"),
    Outcome.NOT_YET: ("✗", "Not yet", "open"),
    Outcome.NOT_ATTEMPTED: ("○", "Not attempted", "plain"),
}


class NotYet(Exception):
    """Raised by a grader that found something to say. Arguments as the attributes of `Verdict`."""

    def __init__(
        self,
        seen: str,
        rule: Rule | None = None,
        look: str = "",
        recording: Recording | None = None,
        arguments: tuple[Any, ...] | None = None,
    ) -> None:
        super().__init__(seen)
        self.seen = seen
        self.rule = rule
        self.look = look
        self.recording = recording
        self.arguments = arguments


class NotAttempted(Exception):
    """Raised by a grader that found the starter's placeholder, `...`, and nothing else."""
