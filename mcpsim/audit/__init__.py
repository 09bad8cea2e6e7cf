"""The audit: any trace in, the broken rule out."""

from mcpsim.audit.auditing import audit
from mcpsim.audit.engine import Finding
from mcpsim.audit.report import Report
from mcpsim.audit.rules import RULES

__all__ = ["RULES", "Finding", "Report", "audit"]
