"""What the grader watches is looked at closely enough."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from mcpsim.course import exercises
from mcpsim.course.exercises import SETS, Exercise, Verdict
from mcpsim.course.stories import STORIES
from mcpsim.workbook.grading.tampering import Marks


def other(*arguments: Any, more: Any = None) -> Any:
    """What stands there instead."""


def rename_the_last(patch: pytest.MonkeyPatch) -> None:
    name, value = list(vars(Verdict).items())[-1]
    patch.delattr(Verdict, name)
    patch.setattr(Verdict, "another_name", value, raising=False)


def exchange_two_modules(patch: pytest.MonkeyPatch) -> None:
    one, another = "mcpsim.course.exercises.exercise", "mcpsim.course.exercises.grading"
    names = {one: another, another: one}
    patch.setattr(sys, "modules", {names.get(name, name): module for name, module in sys.modules.items()})


Tamper = Callable[[pytest.MonkeyPatch], None]
TAMPERINGS: dict[str, tuple[Tamper, str]] = {
    "a function": (lambda patch: patch.setattr(json, "dumps", other), "json.dumps"),
    "its code": (lambda patch: patch.setattr(json.dumps, "__code__", other.__code__), "json.dumps"),
    "its defaults": (lambda patch: patch.setattr(json.loads, "__kwdefaults__", {"cls": other}), "json.loads"),
    "a method": (lambda patch: patch.setattr(Exercise, "check", other), "Exercise.check"),
    "the code of a method": (
        lambda patch: patch.setattr(Exercise.check, "__code__", other.__code__),
        "Exercise.check",
    ),
    "the code of a property": (
        lambda patch: patch.setattr(Verdict.passed.fget, "__code__", other.__code__),
        "Verdict.passed",
    ),
    "a builtin": (lambda patch: patch.setattr("builtins.sorted", other), "builtins"),
    "a new builtin": (lambda patch: patch.setattr("builtins.forged", other, raising=False), "builtins"),
    "a table": (lambda patch: patch.setitem(STORIES, "first-call", None), "STORIES"),
    "a list": (lambda patch: patch.setattr(exercises, "__all__", exercises.__all__[1:]), "__all__"),
    "a new name in a class": (
        lambda patch: patch.setattr(Exercise, "__del__", other, raising=False),
        "Exercise.__del__",
    ),
    "a name alone": (rename_the_last, f"Verdict.{list(vars(Verdict))[-1]}"),
    "a tuple": (lambda patch: patch.setattr("mcpsim.course.exercises.SETS", SETS[1:]), "SETS"),
    "a text": (lambda patch: patch.setattr("mcpsim.course.exercises.__doc__", "forged"), "__doc__"),
    "a module": (lambda patch: patch.setitem(sys.modules, "random", json), "random"),
    "the names of two modules": (exchange_two_modules, "mcpsim.course.exercises"),
}


@pytest.mark.parametrize(("tamper", "what"), TAMPERINGS.values(), ids=TAMPERINGS)
def test_what_was_changed_is_named(tamper: Tamper, what: str) -> None:
    marks = Marks()
    with pytest.MonkeyPatch.context() as patch:
        tamper(patch)
        found = marks.change()
    assert what in found
    assert marks.change() == ""


def test_what_was_put_into_a_list_is_named() -> None:
    marks = Marks()
    exercises.__all__.append("forged")
    found = marks.change()
    exercises.__all__.remove("forged")
    assert "exercises.__all__" in found
    assert marks.change() == ""


def test_what_was_moved_from_the_end_of_a_list_to_the_beginning_of_the_next_one_is_named() -> None:
    marks = Marks()
    lists = marks._all._lists
    pairs = [(one, another) for one, another in itertools.pairwise(lists) if one]
    assert len(pairs) > 10
    for one, another in pairs[:5]:
        another.insert(0, one.pop())
        found = marks.change()
        one.append(another.pop(0))
        assert found
    assert marks.change() == ""
