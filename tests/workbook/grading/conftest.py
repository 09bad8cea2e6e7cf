"""A class that hands in notebooks."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MethodType
from typing import Any

import pytest

from mcpsim.course.exercises import Maker, stateless
from mcpsim.workbook import learners_notebook, normal_form
from mcpsim.workbook.grading import (
    GradedSubmission,
    Limits,
    find_submissions,
    fork_server,
    grade_submission,
)
from mcpsim.workbook.grading.starting import Start, _ForkServer

HandIn = Callable[..., Path]
Grade = Callable[..., GradedSubmission]


def solutions(make: Maker) -> dict[str, str]:
    """A right answer to each exercise of a set, as one cell."""
    return {exercise.task.name: "\n\n\n".join(exercise.task.solution) for exercise in make().exercises}


def notebook_with(make: Maker, answers: Mapping[str, str]) -> dict[str, Any]:
    """The learner's notebook with some answers written into it."""
    notebook = learners_notebook(make)
    for cell in notebook["cells"]:
        name = cell["id"].removesuffix("-starter")
        if cell["id"].endswith("-starter") and name in answers:
            cell["source"] = answers[name]
    return json.loads(normal_form(notebook))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a class handed in."""
    found = tmp_path / "handed-in"
    found.mkdir()
    return found


@pytest.fixture
def hand_in(folder: Path) -> HandIn:
    """Hand in a notebook of the lesson 04 with these answers; all others are right."""

    def hand_in(student: str = "one", make: Maker = stateless, **answers: str) -> Path:
        path = folder / student / f"{make().notebook.lesson}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(notebook_with(make, solutions(make) | answers)))
        return path

    return hand_in


@pytest.fixture(scope="session")
def forks() -> Iterator[Start]:
    """What `mcpsim grade` starts its processes with."""
    with fork_server() as start:
        yield start


def server_of(start: Start) -> _ForkServer:
    """The fork server that starts processes so."""
    assert isinstance(start, MethodType)
    assert isinstance(start.__self__, _ForkServer)
    return start.__self__


@contextlib.contextmanager
def dead_fork_server() -> Generator[Start, None, None]:
    """What starts processes where a fork server cannot."""
    with fork_server() as start:
        server = server_of(start)
        server._process = server._begin()
        server._process.kill()
        yield start


@pytest.fixture
def grade(folder: Path, forks: Start) -> Grade:
    """Grade the only submission; with `only`, no other exercises than these."""

    def grade(*only: str, start: Start = forks, **limits: Any) -> GradedSubmission:
        (submission,) = find_submissions(folder)
        if only:
            sections = tuple(section for section in submission.sections if section.exercise in only)
            submission = replace(submission, sections=sections)
        return grade_submission(submission, folder, Limits(**limits), start=start)

    return grade
