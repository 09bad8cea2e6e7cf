"""For each rule a trace that breaks it, and one that keeps it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from mcpsim.audit import RULES, audit
from mcpsim.eras.pages import REFERENCE_REVISION
from tests.audit.try_cases import CASES, cases_of, rows_of, wrong

IDS = [rule.id for rule in RULES]
TRACES = sorted(CASES.glob("*.jsonl"))


def test_rules_have_ids_of_their_own() -> None:
    twice = [id for id, count in Counter(IDS).items() if count > 1]
    assert not twice
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id) for id in IDS)


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_rule_says_what_it_is(rule) -> None:
    assert rule.sentence.endswith(".")
    assert rule.pages
    assert rule.pages.keys() <= REFERENCE_REVISION.keys()
    assert rule.revisions


@pytest.mark.parametrize("what", ["breaks", "keeps"])
@pytest.mark.parametrize("rule", IDS)
def test_rule_has_cases(rule: str, what: str) -> None:
    assert cases_of(rule, what)


@pytest.mark.parametrize("path", TRACES, ids=[path.stem for path in TRACES])
def test_case(path: Path) -> None:
    rule = path.name.partition(".")[0]
    assert rule in IDS
    assert wrong(rule, path, audit(rows_of(path))) == ""
