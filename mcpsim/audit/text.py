"""A report as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcpsim.audit.report import Report


def as_text(report: Report, *, width: int = 100) -> str:
    """The report as text."""
    return "\n".join(
        f"{one.level} {one.party} row {one.index} {one.rule}: {one.message}"[:width]
        for one in report.findings
    )
