"""What holds for every exercise: starter, solution, hints, and that no thoughtless answer passes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mcpsim.course import exercises
from mcpsim.course.exercises import SETS, Exercise, ExerciseSet, Maker, Notebook, Outcome
from mcpsim.course.lessons import LESSONS
from tests.support.cases import case

NAMES = [(make, exercise.task.name) for make in SETS for exercise in make().exercises]
EVERY = [pytest.param(make, name, id=f"{make.__name__}-{name}") for make, name in NAMES]


def fresh(make: Maker, name: str) -> tuple[ExerciseSet, Exercise]:
    ex = make()
    return ex, getattr(ex, name)


def plays(case: Any) -> bool:
    """Whether the exercise can be played."""
    return bool(fresh(*case)[1].task.play)


def names_of_a_notebook(ex: ExerciseSet) -> dict[str, Any]:
    """What the first cell of an exercise notebook brings in."""
    names: dict[str, Any] = {"__name__": "__main__", "ex": ex}
    exec("\n".join(ex.notebook.imports), names)
    return names


def solved(ex: ExerciseSet, until: str) -> dict[str, Any]:
    """The names of a notebook in which the solutions were run, one after the other, up to one exercise."""
    names = names_of_a_notebook(ex)
    for exercise in ex.exercises:
        for cell in exercise.task.solution:
            exec(cell, names)
        if exercise.task.name == until:
            break
    return names


@pytest.mark.parametrize(("make", "name"), EVERY)
def test_the_starter_is_not_attempted(make: Maker, name: str) -> None:
    ex, exercise = fresh(make, name)
    names = names_of_a_notebook(ex)
    exec(exercise.task.starter, names)
    verdict = exercise.check(names[exercise.task.answer])
    assert verdict.outcome is Outcome.NOT_ATTEMPTED
    assert exercise.outcome is Outcome.NOT_ATTEMPTED
    assert f"`{exercise.task.answer}`" in verdict.look
    assert repr(verdict).startswith(f"○ Not attempted: {exercise.task.title}\n  Next  Replace each `...`")


def test_a_check_without_an_answer_is_not_attempted() -> None:
    for make, name in NAMES:
        with case(make.__name__, name):
            _, exercise = fresh(make, name)
            assert exercise.check().outcome is Outcome.NOT_ATTEMPTED
            assert exercise.check(...).outcome is Outcome.NOT_ATTEMPTED


@pytest.mark.parametrize(("make", "name"), EVERY)
def test_the_solution_passes(make: Maker, name: str) -> None:
    ex, exercise = fresh(make, name)
    verdict = exercise.check(solved(ex, name)[exercise.task.answer])
    assert verdict.outcome is Outcome.PASSED, verdict
    assert verdict.passed
    assert exercise.outcome is Outcome.PASSED
    assert repr(verdict).startswith(f"✓ Passed: {exercise.task.title}\n  Seen  ")


@pytest.mark.parametrize(("make", "name"), [case for case in EVERY if plays(case.values)])
def test_the_line_that_plays_the_answer_plays_it(make: Maker, name: str) -> None:
    ex, exercise = fresh(make, name)
    names = solved(ex, name)
    *before, last = exercise.task.play.splitlines()
    exec("\n".join(before), names)
    run = eval(last, names)
    assert run.recording.frames
    assert run.value


async def does_nothing(*arguments: Any) -> Any:
    return None


async def gives_back(*arguments: Any) -> Any:
    return arguments


class Agreeable(str):
    """A text that claims to equal everything."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class AgreeableDict(dict[Any, Any]):
    """A dict that claims to have everything, and that everything in it is right."""

    def __missing__(self, key: Any) -> Any:
        return Agreeable("request")

    def __contains__(self, key: object) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return True


THOUGHTLESS: dict[str, Any] = {
    "None": None,
    "empty text": "",
    "text": "request",
    "empty bytes": b"",
    "list": [],
    "tuple": (),
    "dict": {},
    "set": set(),
    "zero": 0,
    "one": 1,
    "true": True,
    "false": False,
    "fraction": 1.5,
    "not implemented": NotImplemented,
    "object": object(),
    "class": object,
    "module": re,
    "agreeable text": Agreeable("request"),
    "agreeable dict": AgreeableDict(),
    "all requests": dict.fromkeys("ABCDEFGHIJKL", "request"),
    "all None": dict.fromkeys("ABCDEFGHIJKL"),
    "all agreeable": dict.fromkeys("ABCDEFGHIJKL", Agreeable("request")),
    "four agreeable": dict.fromkeys("ABCD", (Agreeable("public"), 1)),
    "four public": dict.fromkeys("ABCD", ("public", 1)),
    "six times MUST": dict.fromkeys("ABCDEF", "MUST"),
    "six agreeable": dict.fromkeys("ABCDEF", Agreeable("MUST")),
    "five times nothing": dict.fromkeys("EGHIL", b""),
    "five agreeable": dict.fromkeys("EGHIL", Agreeable("{}")),
    "gives None": lambda *arguments: None,
    "gives True": lambda *arguments: True,
    "gives False": lambda *arguments: False,
    "gives text": lambda *arguments: "request",
    "gives a code": lambda *arguments: -32600,
    "gives agreeable text": lambda *arguments: Agreeable("request"),
    "gives an agreeable list": lambda *arguments: [Agreeable("request")] * 7,
    "gives an empty list": lambda *arguments: [],
    "gives the first": lambda *arguments: arguments[0],
    "gives the last": lambda *arguments: arguments[-1],
    "gives itself": lambda *arguments: gives_back,
    "takes nothing": lambda: None,
    "awaits nothing": does_nothing,
    "gives back": gives_back,
    "printing": print,
    "length": len,
}


@pytest.mark.parametrize(("make", "name"), EVERY)
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_no_thoughtless_answer_passes(make: Maker, name: str) -> None:
    for what, answer in THOUGHTLESS.items():
        with case(what):
            _, exercise = fresh(make, name)
            verdict = exercise.check(answer)
            assert verdict.outcome is Outcome.NOT_YET, verdict
            assert verdict.seen.endswith((".", "."))
            assert len(verdict.seen) < 1_000
            assert " at 0x" not in repr(verdict)


@pytest.mark.parametrize(("make", "name"), EVERY)
def test_no_table_with_the_same_word_everywhere_passes(make: Maker, name: str) -> None:
    ex, exercise = fresh(make, name)
    right = solved(ex, name)[exercise.task.answer]
    if isinstance(right, dict):
        for value in right.values():
            verdict = exercise.check(dict.fromkeys(right, value))
            assert verdict.outcome is Outcome.NOT_YET, verdict


@pytest.mark.parametrize(("make", "name"), EVERY)
def test_hints_come_one_after_the_other_and_end(make: Maker, name: str) -> None:
    _, exercise = fresh(make, name)
    count = len(exercise.task.hints)
    assert count >= 3
    assert len(set(exercise.task.hints)) == count
    shown = [repr(exercise.hint()) for _ in range(count + 2)]
    for number, text in enumerate(shown[:count], 1):
        assert text.startswith(f"Hint {number} of {count}: ")
        assert ("hint()` again shows the next one" in text) == (number < count)
    assert shown[count - 1] == shown[count] == shown[count + 1]
    assert f"ex.{name}.solution()" in shown[-1]
    exercise.reset()
    assert repr(exercise.hint()) == shown[0]


def test_a_hint_or_a_solution_decides_nothing() -> None:
    for make, name in NAMES:
        with case(make.__name__, name):
            _, exercise = fresh(make, name)
            exercise.hint()
            exercise.solution()
            assert exercise.outcome is Outcome.NOT_ATTEMPTED


def test_the_solution_is_shown_whole() -> None:
    for make, name in NAMES:
        with case(make.__name__, name):
            _, exercise = fresh(make, name)
            card = exercise.solution()
            for cell in exercise.task.solution:
                assert cell in card.block
                assert len(cell.splitlines()) <= 12
            assert exercise.task.why.split(".")[0].split()[0] in repr(card)


@pytest.mark.parametrize("make", SETS)
def test_two_sets_share_nothing(make: Maker) -> None:
    one, other = make(), make()
    first, second = one.exercises[0], other.exercises[0]
    first.hint()
    first.check(None)
    assert repr(first.hint()).startswith("Hint 2")
    assert repr(second.hint()).startswith("Hint 1")
    assert (first.outcome, second.outcome) == (Outcome.NOT_YET, Outcome.NOT_ATTEMPTED)
    one.reset()
    assert first.outcome is Outcome.NOT_ATTEMPTED


@pytest.mark.parametrize("make", SETS)
def test_a_set_says_how_far_one_is(make: Maker) -> None:
    ex = make()
    assert f"0 of {len(ex.exercises)} passed" in repr(ex)
    first = ex.exercises[0]
    first.check(solved(ex, first.task.name)[first.task.answer])
    assert f"1 of {len(ex.exercises)} passed" in repr(ex)
    assert re.search(rf"^ +{first.task.name} +passed$", repr(ex), re.MULTILINE)
    assert repr(first) == f"<Exercise {first.task.name}: {first.task.title} (passed)>"


@pytest.mark.parametrize(("make", "name"), EVERY)
def test_the_same_answer_gets_the_same_verdict(make: Maker, name: str) -> None:
    first, second = (repr(fresh(make, name)[1].check(lambda *arguments: arguments[0])) for _ in range(2))
    assert first == second


def test_the_sets_are_in_the_order_of_the_lessons_and_each_lesson_has_one_set() -> None:
    lessons = [make().notebook.lesson for make in SETS]
    assert lessons == sorted(set(lessons))
    assert {lesson.name for lesson in LESSONS if lesson.exercises} >= set(lessons)


@pytest.mark.parametrize("make", SETS)
def test_a_set_is_named_as_its_lesson_is(make: Maker) -> None:
    ex = make()
    assert repr(ex).startswith(f"Exercises {ex.notebook.listed.number}, ")
    assert getattr(exercises, make.__name__) is make
    assert make.__name__ in exercises.__all__
    assert make(patience_s=1.0).exercises


def test_a_set_with_an_unknown_lesson_is_refused() -> None:
    with pytest.raises(LookupError, match="no lesson '99_unknown'"):
        assert Notebook("99_unknown").listed
