"""Faults of real clients and servers, told again as small traces, each with the verdict beside it.

`verdicts.json` is about faults that were reported, and `own.json` about their neighbours: about half of those
break no rule, and are reported all the same.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcpsim.audit import audit
from tests.audit.try_cases import rows_of
from tests.support.cases import case

FOLDER = Path(__file__).parent / "real_life"
VERDICTS = [
    one
    for table in ("verdicts.json", "own.json")
    for one in json.loads((FOLDER / table).read_text(encoding="utf-8"))
]
LEVELS = {
    "MUST": {"MUST"},
    "MUST NOT": {"MUST"},
    "SHOULD": {"SHOULD"},
    "SHOULD NOT": {"SHOULD"},
    "MUST (schema)": {"MUST"},
}
# Statements without such a word, and what the pages say differently, are notes.
NOTES = {"note"}


def test_each_trace_has_a_verdict() -> None:
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == {one["case"] for one in VERDICTS}


def test_each_verdict_fits_its_findings() -> None:
    assert all((one["verdict"] == "legal") == (not one["findings"]) for one in VERDICTS)


def test_verdicts() -> None:
    for one in VERDICTS:
        with case(one["case"]):
            check_verdict(one)


def check_verdict(one: dict[str, Any]) -> None:
    report = audit(rows_of(FOLDER / f"{one['case']}.jsonl"))
    assert report.skipped == ()
    wanted = [
        (said["party"], index, LEVELS.get(said["level"], NOTES))
        for said in one["findings"]
        for index in said["at"]
    ]
    for party, index, levels in wanted:
        found = [each for each in report.findings if (each.party, each.index) == (party, index)]
        assert levels & {each.level for each in found}, report
    allowed = {(party, index) for party, index, _ in wanted}
    stray = [
        each for each in report.findings if each.level != "note" and (each.party, each.index) not in allowed
    ]
    assert not stray, report
