"""Every rule, and every row of the coverage, points to a place that is there.

`anchors.txt` lists the pages of both reference revisions and their anchors, as `list_anchors.py` finds them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from mcpsim.audit import RULES
from mcpsim.audit.rule import LEGACY, MODERN
from mcpsim.eras.pages import REFERENCE_REVISION

HERE: Final = Path(__file__).parent
KNOWN: Final = frozenset((HERE / "anchors.txt").read_text(encoding="utf-8").split())


def test_each_rule_points_to_a_place_that_is_there() -> None:
    places = {
        f"{REFERENCE_REVISION[era]}/{page}": rule.id for rule in RULES for era, page in rule.pages.items()
    }
    assert {rule: place for place, rule in places.items() if place not in KNOWN} == {}


# They hold for every version that a request may declare, and an error to `initialize` counts as legacy; only
# the modern pages speak of it.
ONE_PAGE: Final = {
    "refused-version-is-not-repeated",
    "unsupported-version-has-its-code",
    "unsupported-version-is-refused",
    "unsupported-version-lists-supported",
}


def test_each_rule_has_a_page_for_each_era_that_it_holds_in() -> None:
    eras = {"legacy": LEGACY, "modern": MODERN}
    wrong = {
        rule.id
        for rule in RULES
        if {era for era, revisions in eras.items() if rule.revisions & revisions} != set(rule.pages)
    }
    assert wrong == ONE_PAGE


def test_each_statement_has_its_anchor() -> None:
    for path in (HERE / "coverage").glob("*.jsonl"):
        page = path.stem.replace(".", "/")
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            place = f"{page}#{row['anchor']}" if row["anchor"] else page
            assert place in KNOWN, (place, row["n"])
