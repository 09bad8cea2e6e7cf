"""What an audit says."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from mcpsim.audit.annotating import Annotation
from mcpsim.audit.engine import Finding
from mcpsim.audit.html import as_html
from mcpsim.audit.rule import MUST, NOTE, SHOULD, Level
from mcpsim.audit.text import as_text


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was not read.

    Attributes:
        where: the place in the source: "line 12", "entry 3".
        why: one sentence.
    """

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Incomplete:
    """What a session lacks, which breaks no rule by itself.

    Attributes:
        kind: such as "request-without-answer".
        index: the 0-based row of what waits for it.
        message: one sentence.
    """

    kind: str
    index: int
    message: str


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What an audit says of a trace.

    Attributes:
        findings: the broken rules, in the order of the rows.
        annotations: what each message is, in the order of the rows.
        incomplete: what a session lacks.
        skipped: what was not read, and why.
        notes: what else there is to say about the reading, such as that directions were inferred.
        messages: how many messages there were.
        events: for a recording, the position of the event that each row tells of; otherwise empty.
    """

    findings: tuple[Finding, ...]
    annotations: tuple[Annotation, ...]
    incomplete: tuple[Incomplete, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    messages: int = 0
    events: tuple[int, ...] = ()

    def of_level(self, level: Level) -> tuple[Finding, ...]:
        """The findings of one level: "MUST", "SHOULD" or "note"."""
        return tuple(one for one in self.findings if one.level == level)

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The findings of level MUST: what must hold and does not."""
        return self.of_level(MUST)

    @property
    def is_clean(self) -> bool:
        """Whether nothing that must hold, or should, is broken."""
        return not self.broken and not self.of_level(SHOULD)

    @property
    def hints(self) -> tuple[Finding, ...]:
        """The findings of level note."""
        return self.of_level(NOTE)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: `findings`, `annotations`, `skipped`, `incomplete`, `notes`."""
        return {
            "findings": [asdict(one) for one in self.findings],
            "annotations": [one.to_dict() for one in self.annotations],
            "skipped": [asdict(one) for one in self.skipped],
            "incomplete": [asdict(one) for one in self.incomplete],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """`to_dict()` as text."""
        return json.dumps(self.to_dict(), indent=1)

    def text(self, *, width: int = 100) -> str:
        """The report as text, lines broken after `width` characters."""
        return as_text(self, width=width)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return as_html(self)
