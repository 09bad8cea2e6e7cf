"""What holds for the answers that a module of tests has to the exercises of one set.

A module has `ALL`, its rows, and the fixture `set_of`, which gives the maker of its set. It takes these tests
over by importing all that is here; `conftest.py` gives them the rows.

A row is an exercise's name and an answer: a right one, or a wrong one with words of what the check sees in
it, and with words of the rule or of what to look at next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mcpsim.course.exercises import ExerciseSet, Outcome

__all__ = [
    "test_each_exercise_has_another_right_answer_and_three_wrong_ones",
    "test_what_is_right_passes",
    "test_what_is_wrong_fails_for_its_reason",
]

Row = tuple[Any, ...]


def right(rows: Sequence[Row]) -> list[Row]:
    """The rows of answers that pass."""
    return [row for row in rows if len(row) == 2]


def wrong(rows: Sequence[Row]) -> list[Row]:
    """The rows of answers that do not."""
    return [row for row in rows if len(row) == 4]


def test_each_exercise_has_another_right_answer_and_three_wrong_ones(
    request: pytest.FixtureRequest, set_of: Callable[..., ExerciseSet]
) -> None:
    rows = request.module.ALL
    assert len(rows) == len(right(rows)) + len(wrong(rows))
    rights, wrongs = (Counter(row[0] for row in some(rows)) for some in (right, wrong))
    for exercise in set_of().exercises:
        assert rights[exercise.task.name] >= 1, exercise
        assert wrongs[exercise.task.name] >= 3, exercise


def test_what_is_right_passes(set_of: Callable[..., ExerciseSet], name: str, answer: Any) -> None:
    verdict = getattr(set_of(), name).check(answer)
    assert verdict.outcome is Outcome.PASSED, verdict


def test_what_is_wrong_fails_for_its_reason(
    set_of: Callable[..., ExerciseSet], name: str, answer: Any, seen: str, why: str
) -> None:
    verdict = getattr(set_of(), name).check(answer)
    assert verdict.outcome is Outcome.NOT_YET, verdict
    assert seen in verdict.seen
    assert why in f"{verdict.rule.text if verdict.rule else ''} {verdict.look}"
