"""Whatever goes wrong in a built-in story: no crash, no hang, and each request has one outcome.

`many_plans.py` plays as many of these as one wants.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpsim.course import STORIES
from mcpsim.transports.faults import Drop, Duplicate, Fault
from tests.support.plans import Plan, played

# A few hundred plans over all stories together; each story has its share.
EACH = 5


@pytest.mark.parametrize("story", STORIES)
@settings(max_examples=EACH, suppress_health_check=[HealthCheck.too_slow])
@given(random=st.randoms(use_true_random=False))
def test_any_plan_over_any_story(story: str, random: Random) -> None:
    played(Plan.drawn(random, [story]))


FOUND: list[tuple[str, Any, str, Fault]] = [
    # The copy of a subscription had no end: the run went on for ever, or ended with its handler at work.
    ("quiet-stream-is-kept-alive", "modern", "http", Duplicate("*")),
    ("watch-a-notice", "modern", "http", Duplicate("subscriptions/listen")),
]


@pytest.mark.parametrize(("story", "era", "way", "fault"), FOUND)
def test_what_was_found_once(story: str, era: Any, way: str, fault: Fault) -> None:
    assert played(Plan(story, era, way, faults=(fault,))) == "finished"


def test_a_story_that_waits_to_be_told_may_wait_for_ever() -> None:
    lost = Drop("notifications/resources/updated")
    assert played(Plan("watch-a-notice", "modern", "http", faults=(lost,))) == "still listening"


def test_the_same_plan_is_played_in_the_same_way() -> None:
    plan = Plan.drawn(Random(7))
    assert Plan.drawn(Random(7)) == plan
    assert played(plan) == played(plan)
