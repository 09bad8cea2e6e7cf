"""What the specification demands and recommends, statement by statement, and where the audit sees to it.

`coverage/` has a file for each page and a row for each keyword in it, in order: what it says in our own
words, and its class: `rule` (with the ids), `not on the wire` (with the reason why no trace can show it), or
`not yet`.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from mcpsim.audit import RULES
from tests.support.cases import case

FOLDER: Final = Path(__file__).parent / "coverage"
LEVELS: Final = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT")
CLASSES: Final = ("rule", "not on the wire", "not yet")
# How many keywords a page has, as `count_words.py` counts them.
PAGES: Final = {
    "2026-07-28/basic/index": 65,
    "2026-07-28/basic/patterns/cancellation": 17,
    "2026-07-28/basic/patterns/index": 1,
    "2026-07-28/basic/patterns/mrtr": 26,
    "2026-07-28/basic/patterns/progress": 8,
    "2026-07-28/basic/patterns/subscriptions": 8,
    "2026-07-28/basic/transports/index": 5,
    "2026-07-28/basic/transports/stdio": 17,
    "2026-07-28/basic/transports/streamable-http": 76,
    "2026-07-28/basic/versioning": 9,
    "2026-07-28/changelog": 12,
    "2026-07-28/client/elicitation": 48,
    "2026-07-28/client/roots": 8,
    "2026-07-28/client/sampling": 23,
    "2026-07-28/deprecated": 2,
    "2026-07-28/index": 10,
    "2026-07-28/server/discover": 5,
    "2026-07-28/server/prompts": 13,
    "2026-07-28/server/resources": 17,
    "2026-07-28/server/tools": 36,
    "2026-07-28/server/utilities/caching": 20,
    "2026-07-28/server/utilities/completion": 6,
    "2026-07-28/server/utilities/logging": 9,
    "2026-07-28/server/utilities/pagination": 7,
    "2025-11-25/basic/index": 31,
    "2025-11-25/basic/lifecycle": 20,
    "2025-11-25/basic/transports": 53,
    "2025-11-25/basic/utilities/cancellation": 9,
    "2025-11-25/basic/utilities/ping": 7,
    "2025-11-25/basic/utilities/progress": 11,
    "2025-11-25/basic/utilities/tasks": 73,
    "2025-11-25/client/elicitation": 56,
    "2025-11-25/client/roots": 8,
    "2025-11-25/client/sampling": 19,
    "2025-11-25/index": 10,
    "2025-11-25/server/prompts": 10,
    "2025-11-25/server/resources": 10,
    "2025-11-25/server/tools": 18,
    "2025-11-25/server/utilities/completion": 5,
    "2025-11-25/server/utilities/logging": 5,
    "2025-11-25/server/utilities/pagination": 5,
}


def rows_of(page: str) -> list[dict[str, Any]]:
    """The rows of a page."""
    text = (FOLDER / f"{page.replace('/', '.')}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


ROWS: Final = [(page, row) for page in PAGES for row in rows_of(page)]


def test_there_is_a_file_for_each_page() -> None:
    assert {path.stem for path in FOLDER.glob("*")} == {page.replace("/", ".") for page in PAGES}


@pytest.mark.parametrize("page", PAGES)
def test_each_keyword_has_a_row(page: str) -> None:
    assert [row["n"] for row in rows_of(page)] == list(range(1, PAGES[page] + 1))


def test_each_row_is_whole() -> None:
    for page, row in ROWS:
        with case(page, row["n"]):
            more = {"rule": "rules", "not on the wire": "why", "not yet": "why"}[row["class"]]
            assert row.keys() == {"n", "anchor", "level", "says", "class", more}
            assert row["level"] in LEVELS
            assert row["says"]
            assert row[more]


def test_rules_that_cover_exist_and_each_rule_covers_something() -> None:
    ids = {rule.id for rule in RULES}
    named = {rule for _, row in ROWS for rule in row.get("rules", ())}
    assert named - ids == set()
    # What is not in a page's statements: the schema, hints, and what pages say without such a word.
    assert {rule.id for rule in RULES if rule.level != "note"} - named - SCHEMA_RULES == set()


# Rules that only schema.ts demands, and no page.
SCHEMA_RULES: Final = {
    "annotations-valid",
    "body-fits-its-schema",
    "completion-at-most-100-values",
    "completion-reference-valid",
    "error-message-is-one-sentence",
    "resource-template-valid",
    "sampling-priorities-go-from-0-to-1",
    "tool-media-base64",
    "tool-output-schema-object-legacy",
}


def test_rules_for_a_demand_are_demands() -> None:
    levels = {rule.id: rule.level for rule in RULES}
    for page, row in ROWS:
        if row["level"].startswith("SHOULD"):
            continue
        strict = [levels[rule] == "MUST" for rule in row.get("rules", ())]
        assert not strict or any(strict) or (page, row["n"]) in CONTESTED, (page, row)


# Demands whose rules only warn, and why.
CONTESTED: Final = {
    ("2026-07-28/basic/patterns/cancellation", 2): "patterns/subscriptions wants a result instead",
    ("2026-07-28/basic/patterns/mrtr", 11): "a trace does not tell what must be used once",
    ("2026-07-28/client/elicitation", 8): "a form that is meant as something else shows only in its answer",
    ("2026-07-28/client/elicitation", 14): "two tokens may be one user",
    ("2026-07-28/client/elicitation", 24): "two tokens may be one user",
}


def test_nothing_that_must_hold_is_left_for_later(capsys: pytest.CaptureFixture[str]) -> None:
    counts = Counter((row["level"], row["class"]) for _, row in ROWS)
    with capsys.disabled():
        print(f"\n{len(ROWS)} statements on {len(PAGES)} pages, {len(RULES)} rules of the audit:")
        for level in LEVELS:
            print(f"  {level:10}", ", ".join(f"{counts[level, one]} {one}" for one in CLASSES))
    assert counts["MUST", "not yet"] == counts["MUST NOT", "not yet"] == 0
