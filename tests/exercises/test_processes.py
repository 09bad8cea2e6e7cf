"""A learner's function with the data of another process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from mcpsim.course.exercises.processes import in_another_process

KEPT: Final[list[int]] = []


class Counter:
    def __init__(self) -> None:
        self.at: list[int] = []

    def __call__(self, number: int) -> int:
        self.at.append(number)
        return len(self.at)


COUNTER: Final = Counter()


def by_global(number: int) -> int:
    KEPT.append(number)
    return len(KEPT)


def by_helper(number: int) -> int:
    return by_global(number)


def by_object(number: int) -> int:
    return COUNTER(number)


def by_default(number: int, kept: list[int] = []) -> int:  # noqa: B006 - what learners do
    kept.append(number)
    return len(kept)


def by_keyword(number: int, *, kept: list[int] = []) -> int:  # noqa: B006 - what learners do
    kept.append(number)
    return len(kept)


def by_attribute(number: int) -> int:
    by_attribute.kept.append(number)  # type: ignore[attr-defined]
    return len(by_attribute.kept)  # type: ignore[attr-defined]


by_attribute.kept = []  # type: ignore[attr-defined]


def by_inner(number: int) -> int:
    return max(by_global(one) for one in [number])


def around() -> Callable[[int], int]:
    kept: list[int] = []

    def by_variable(number: int) -> int:
        kept.append(number)
        return len(kept)

    return by_variable


@pytest.mark.parametrize(
    "remembers",
    [
        by_global,
        by_helper,
        by_object,
        by_default,
        by_keyword,
        by_attribute,
        by_inner,
        around(),
        Counter(),
    ],
    ids=lambda one: getattr(one, "__name__", type(one).__name__),
)
def test_what_one_process_remembers_the_other_does_not(remembers: Any) -> None:
    here, there = in_another_process(remembers), in_another_process(remembers)
    assert [here(1), here(2)] == [1, 2], "within one process it remembers"
    assert there(3) == 1
    assert [here(4), there(5)] == [3, 2]
    assert in_another_process(remembers)(6) == 1, "and the learner's own data was not touched"


def test_a_function_that_calls_itself_stays_one() -> None:
    def factorial(number: int) -> int:
        return 1 if number < 2 else number * factorial(number - 1)

    assert in_another_process(factorial)(5) == 120


def test_what_two_of_its_variables_share_they_share_there_too() -> None:
    kept: list[int] = []
    by_name = {"kept": kept}

    def looks(number: int) -> list[int]:
        kept.append(number)
        return by_name["kept"]

    assert in_another_process(looks)(1) == [1]
    assert kept == []


def test_one_process_has_one_set_of_variables() -> None:
    values = {"count": 0}
    source = (
        "def add():\n    global count\n    count += 1\n    return read()\ndef read():\n    return count\n"
    )
    exec(source, values)
    add: Any = values["add"]
    here, there = in_another_process(add), in_another_process(add)
    assert [here(), here(), there()] == [1, 2, 1]
    assert values["count"] == 0


def test_a_copy_that_fails_leaves_nothing_behind() -> None:
    kept = [1]
    stuck = [kept, (one for one in (1, 2))]

    def uses() -> Any:
        return kept, stuck

    mine, theirs = in_another_process(uses)()
    assert (mine, mine is kept) == ([1], False)
    assert theirs is stuck


def test_what_is_no_data_of_the_learner_is_shared() -> None:
    assert in_another_process(len) is len
    assert in_another_process(None) is None


def test_what_cannot_be_copied_stays() -> None:
    stuck = [open]  # a builtin is copied as it is
    generator = (one for one in (1, 2))

    def uses() -> Any:
        return stuck, generator

    made, same = in_another_process(uses)()
    assert made == stuck
    assert same is generator
