"""What the instructors' guide promises: each setting was played, each command and file exists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcpsim.cli import COMMANDS
from mcpsim.course import LESSONS, bench
from mcpsim.course.exercises import SETS

ADA, BEN = "ada has 12", "ben has 30"


@pytest.fixture(scope="module")
def guide(project: Path) -> str:
    return (project / "exercises" / "INSTRUCTORS.md").read_text(encoding="utf-8")


def played(name: str, **settings: Any) -> Any:
    return bench(name).play(**settings)


SURPRISES: Mapping[str, Any] = {
    "for-everybody-or-for-one": lambda name: (
        played(name).value[3] == BEN
        and played(name, balance_scope="public").value[3] == ADA
        and not played(name, balance_scope="public").audit().findings
    ),
    "cancel-crosses-the-answer": lambda name: (
        [played(name, stop_ms=ms).value for ms in (490, 530, 550)] == ["stopped", "stopped", "answered"]
        and "Ignored: an answer" in played(name, stop_ms=530).transcript()
        and "Ignored: an answer" not in played(name, stop_ms=490).transcript()
    ),
    "kept-waiting-by-progress": lambda name: (
        played(name).error is None and "No answer" in str(played(name, latency_ms=300).error)
    ),
    "list-grows-between-pages": lambda name: (
        "report-2026" in played(name, page_size=3).value
        and "report-2018" not in played(name, page_size=3).value
        and len(played(name, page_size=10).value) == 7
    ),
    "session-at-the-wrong-replica": lambda name: (
        "HTTP 404" in played(name).value
        and played(name, sticky=True).value == "listed"
        and played("any-replica-will-do").error is None
    ),
    "first-call": lambda name: (
        played(name, era="modern", server_era="legacy").error is not None
        and played(name, era="auto", server_era="legacy").error is None
        and played(name, era="auto", server_era="modern").error is None
    ),
    "one-question": lambda name: (
        {played(name, answer=answer).value for answer in ("decline", "cancel")}
        == {"No seat reserved in IC 31"}
    ),
    "fresh-then-stale": lambda name: (
        [len(requests_of(played(name, ttl_ms=ttl_ms))) for ttl_ms in (0, 120_000)] == [3, 1]
        and played(name, ttl_ms=0).value == played(name, ttl_ms=120_000).value
    ),
}


def requests_of(run: Any) -> list[Any]:
    return [frame for frame in run.recording.frames if frame.receiver == "server"]


@pytest.mark.parametrize("name", SURPRISES)
def test_what_surprises_is_what_happens(guide: str, name: str) -> None:
    assert f"| `{name}`" in guide
    assert SURPRISES[name](name)


def test_every_setting_in_the_guide_is_tried(guide: str) -> None:
    assert set(re.findall(r"^\| `([a-z-]+)`", guide, re.MULTILINE)) == set(SURPRISES)


def test_what_it_names_exists(guide: str, project: Path) -> None:
    commands = {command.name for command in COMMANDS}
    assert set(re.findall(r"mcpsim ([a-z]+)", guide)) <= commands
    for name in ("notebooks/demo_surprises.ipynb", "exercises/nbgrader", "mcpsim/course/exercises"):
        assert f"`{name}`" in guide
        assert (project / name).exists()
    numbers = {lesson.number for lesson in LESSONS}
    assert set(re.findall(r"lessons? (\d\d)", guide)) <= numbers
    with_exercises = {make().notebook.lesson[:2] for make in SETS}
    assert set(re.findall(r"exercises (\d\d)", guide)) <= with_exercises
    assert any(make().notebook.lesson == "01_messages" for make in SETS)
