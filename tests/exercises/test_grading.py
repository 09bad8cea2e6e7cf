"""Points: all, none, or a part where some rows of a table are right."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim.course.exercises import Outcome, messages, stateless

RIGHT: dict[str, Any] = {}
exec("\n".join(messages().classify.task.solution), RIGHT)
ANSWERS: dict[str, str] = RIGHT["answers"]


def with_wrong(*letters: str) -> dict[str, str]:
    return ANSWERS | dict.fromkeys(letters, "error")


@pytest.mark.parametrize(
    ("answers", "points"),
    [
        (ANSWERS, 10),
        (with_wrong("A"), 8),
        (with_wrong("A", "C", "E", "F", "G"), 4),
        (dict.fromkeys(ANSWERS, "-32600"), 0),
        (dict.fromkeys(ANSWERS, "no such word"), 0),
        (dict.fromkeys(ANSWERS, ...), 0),
        (ANSWERS | {"M": "request"}, 9),
        ({}, 0),
        (None, 0),
        (..., 0),
        (ANSWERS | {"A": ...}, 8),
        ({letter: ANSWERS[letter] for letter in "ABCDEF"}, 3),
    ],
    ids=repr,
)
def test_a_table_gets_points_for_the_rows_that_are_right(answers: Any, points: int) -> None:
    grade = messages().classify.grade(answers)
    assert (grade.points, grade.worth) == (points, 10)
    assert grade.verdict.passed == (points == 10)
    assert repr(grade).startswith(repr(grade.verdict))
    assert repr(grade).endswith(f"  Points {points} of 10")


def test_a_function_gets_all_or_nothing() -> None:
    assert stateless().order.grade(lambda tools: sorted(tools, key=lambda tool: tool["name"])).points == 10
    assert stateless().order.grade(lambda tools: list(tools)).points == 0


def test_a_table_that_has_no_solution_to_compare_with_gets_nothing() -> None:
    assert stateless().order.grade({"A": "request"}).points == 0


def test_points_change_nothing_that_is_shown() -> None:
    ex = messages()
    ex.classify.grade(ANSWERS)
    assert ex.classify.outcome is Outcome.NOT_ATTEMPTED
