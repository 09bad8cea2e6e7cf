"""Points for an answer: all of them where the check passes, some for a table of which some rows are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from mcpsim.course.exercises.verdict import Outcome, Verdict

_OWN_NAMES: Final = "__main__"


@dataclass(frozen=True)
class Grade:
    """What an answer is worth.

    Attributes:
        verdict: what the check said.
        points: what the answer gets, a whole number from 0 to `worth`.
        worth: what a right answer gets.
    """

    verdict: Verdict
    points: int
    worth: int

    def __repr__(self) -> str:
        return f"{self.verdict!r}\n  Points {self.points} of {self.worth}"


def grade(
    check: Callable[[Any], Verdict], answer: Any, *, worth: int, solution: tuple[str, ...], name: str
) -> Grade:
    """Check an answer and give points for it.

    Where a right answer is a table (a dict), each row of the answer is tried alone, with all others as in the
    solution. What one word in all rows would get is not counted: it needs no knowledge.

    Args:
        check: the check of the exercise.
        answer: what the learner wrote.
        worth: the points of a right answer.
        solution: a right answer, as code.
        name: the name of the answer in that code.
    """
    verdict = check(answer)
    if verdict.outcome is not Outcome.NOT_YET or not isinstance(answer, dict):
        return Grade(verdict, worth if verdict.passed else 0, worth)
    right = _solved(solution).get(name)
    if not isinstance(right, dict):
        return Grade(verdict, 0, worth)
    rows = cast("dict[Any, Any]", right)
    given = dict(cast("dict[Any, Any]", answer).items())
    count = sum(check(rows | {key: given[key]}).passed for key in rows if key in given)
    by_one_word = max(Counter(map(repr, rows.values())).values())
    earned = worth * max(count - by_one_word, 0) // max(len(rows) - by_one_word, 1)
    # All rows are right, and still the table is not: it has a row too many, for example.
    return Grade(verdict, min(earned, worth - 1), worth)


def _solved(solution: tuple[str, ...]) -> dict[str, Any]:
    """The names that a solution makes; none where it needs more than a table does."""
    names: dict[str, Any] = {"__name__": _OWN_NAMES}
    try:
        exec("\n".join(solution), names)
    except Exception:
        return {}
    return names
