"""What our own peers record breaks no rule, but where a story breaks one to show what happens then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest

from mcpsim import Stdio, StreamableHttp
from mcpsim.audit import RULES
from mcpsim.course import STORIES

WAYS = {"stdio": Stdio, "http": StreamableHttp}
PLAYS = [(name, era, way) for name, story in STORIES.items() for era in story.eras for way in story.ways]


@pytest.fixture(scope="module")
def broken() -> Iterator[dict[str, set[str]]]:
    """The rules that each story broke, in any of its plays; at the end all that it says it breaks."""
    seen: dict[str, set[str]] = defaultdict(set)
    yield seen
    for name, rules in seen.items():
        assert rules == set(STORIES[name].breaks), name


@pytest.mark.parametrize(("name", "era", "way"), PLAYS, ids=["-".join(play) for play in PLAYS])
def test_story(name: str, era: str, way: str, broken: dict[str, set[str]]) -> None:
    story = STORIES[name]
    report = story.play(era=era, transport=WAYS[way](), check=False).audit()
    found = {one.rule for one in report.findings if one.level != "note"}
    assert report.skipped == ()
    assert found <= set(story.breaks), report
    broken[name] |= found


def test_what_stories_break_are_rules() -> None:
    ids = {rule.id for rule in RULES}
    assert all(rule in ids for story in STORIES.values() for rule in story.breaks)
