"""Play the cases of rules and print what the audit says: `python -m tests.audit.try_cases [RULE...]`.

Without names: every case that comes out wrong, and the rules without one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcpsim.audit import RULES, Report, audit

CASES = Path(__file__).parent / "cases"
# What one side has to do about a breach of the other: where it is not done, the trace shows both.
COMPANIONS = {
    "elicitation-undeclared-mode-refused": {"elicitation-mode-is-declared"},
    "log-level-is-checked": {"body-fits-its-schema"},
    "log-level-is-checked-legacy": {"body-fits-its-schema"},
    "incomplete-request-is-refused": {"request-says-version-and-capabilities"},
    "incomplete-request-is-refused-with-400": {"request-says-version-and-capabilities"},
    "mrtr-asks-again": {"mrtr-all-answered"},
    "mrtr-invalid-answers-refused": {"mrtr-answer-fits-its-question"},
    "mrtr-changed-state-refused": {"mrtr-state-unchanged"},
    "mrtr-state-bound-to-request": {"mrtr-state-for-its-own-request"},
    "unknown-resulttype-is-not-used": {"resulttype-is-supported"},
    "absent-resulttype-means-complete": {"result-has-resulttype"},
    "roots-unsupported-is-method-not-found": {"server-keeps-to-negotiated-capabilities"},
    "sampling-tools-served-are-declared": {"sampling-tools-are-declared"},
    "sampling-messages-are-checked": {"sampling-tool-uses-are-answered"},
}


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a trace."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def cases_of(rule: str, what: str) -> list[Path]:
    """The traces that break a rule ("breaks") or keep it ("keeps")."""
    return sorted([*CASES.glob(f"{rule}.{what}.jsonl"), *CASES.glob(f"{rule}.{what}-[0-9]*.jsonl")])


def wrong(rule: str, path: Path, report: Report) -> str:
    """What is wrong with the report of a case, or ""."""
    names = {finding.rule for finding in report.findings}
    if report.skipped:
        return f"not everything was read: {report.skipped[0]}"
    if ".breaks" in path.name:
        others = {one.rule for one in report.broken} - {rule} - COMPANIONS.get(rule, set())
        if rule not in names:
            return "the rule was not found"
        return f"also found: {', '.join(sorted(others))}" if others else ""
    more = {one.rule for one in report.findings if one.level != "note" or one.rule == rule}
    return f"found: {', '.join(sorted(more))}" if more else ""


def faults(rules: list[str]) -> Iterator[tuple[str, str]]:
    """Every case that comes out wrong, and why; and every rule that lacks one."""
    for rule in rules:
        for what in ("breaks", "keeps"):
            paths = cases_of(rule, what)
            if not paths:
                yield f"{rule}.{what}", "there is none"
            for path in paths:
                why = wrong(rule, path, audit(rows_of(path)))
                if why:
                    yield path.name, why


def main() -> None:
    """Print."""
    named = sys.argv[1:]
    for rule in named:
        for path in [*cases_of(rule, "breaks"), *cases_of(rule, "keeps")]:
            report = audit(rows_of(path))
            print(f"== {path.name}: {wrong(rule, path, report) or 'as it should be'}\n{report}\n")
    for name, why in faults(named or [rule.id for rule in RULES]):
        print(f"{name}: {why}")


if __name__ == "__main__":
    main()
