"""A report as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcpsim.audit.report import Report


def as_html(report: Report) -> str:
    """The report as HTML."""
    return f"<pre>{escape(report.text())}</pre>"
