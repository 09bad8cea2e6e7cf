"""For each rule a trace that breaks it, and one that keeps it."""

from __future__ import annotations

import re
from collections import Counter

from mcpsim.audit import RULES, audit
from mcpsim.eras.pages import REFERENCE_REVISION
from tests.audit.try_cases import CASES, cases_of, rows_of, wrong
from tests.support.cases import case

IDS = [rule.id for rule in RULES]
TRACES = sorted(CASES.glob("*.jsonl"))


def test_rules_have_ids_of_their_own() -> None:
    twice = [id for id, count in Counter(IDS).items() if count > 1]
    assert not twice
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id) for id in IDS)


def test_each_rule_says_what_it_is() -> None:
    for rule in RULES:
        with case(rule.id):
            assert rule.sentence.endswith(".")
            assert rule.pages
            assert rule.pages.keys() <= REFERENCE_REVISION.keys()
            assert rule.revisions


def test_each_rule_has_cases() -> None:
    assert [(rule, what) for rule in IDS for what in ("breaks", "keeps") if not cases_of(rule, what)] == []


def test_cases() -> None:
    found: dict[str, str] = {}
    for path in TRACES:
        with case(path.stem):
            rule = path.name.partition(".")[0]
            assert rule in IDS
            found[path.stem] = wrong(rule, path, audit(rows_of(path)))
    assert {name: why for name, why in found.items() if why} == {}
