"""nbgrader and the exercises: what it makes of the source notebooks, and what three submissions get."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcpsim.course.exercises import SETS, messages
from mcpsim.workbook import exercise_notebooks, learners_notebook, normal_form, source_notebook
from mcpsim.workbook.normal_form import cell_source, read_notebook

NAME = "01_messages"
SCRIPT = Path(__file__).with_name("nbgrader_course.py")


def handed_in(answers: dict[str, str]) -> str:
    """The learner's notebook with some answers written into it, by the name of the exercise."""
    notebook = learners_notebook(messages)
    for cell in notebook["cells"]:
        name = cell["id"].removesuffix("-starter")
        if cell["id"].endswith("-starter") and name in answers:
            cell["source"] = answers[name]
    return normal_form(notebook)


def changed_checks(notebook: str) -> str:
    """The notebook with other code in each check, such that the cell gives ten points."""
    cheating = json.loads(notebook)
    for cell in cheating["cells"]:
        if cell["id"].endswith("-check"):
            cell["source"] = ["10"]
    return json.dumps(cheating)


@dataclass(frozen=True, slots=True)
class Course:
    """A course in a folder of its own, and what its students got for the first assignment."""

    folder: Path
    points: dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def course(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The assignments that the project ships, released, and three submissions, graded."""
    folder = tmp_path_factory.mktemp("nbgrader") / "course"
    shutil.copytree(project / "exercises" / "nbgrader", folder)
    solutions = {
        exercise.task.name: "\n\n\n".join(exercise.task.solution) for exercise in messages().exercises
    }
    submissions = {
        "right": handed_in(solutions),
        "half": handed_in(solutions | {"classifier": "def classify(data):\n    return 'request'"}),
        "wrong": changed_checks(handed_in(dict.fromkeys(solutions, "this is not Python"))),
    }
    for student, notebook in submissions.items():
        path = folder / "submitted" / student / NAME / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(notebook)
    return Course(folder, nbgrader(folder, NAME, *(make().notebook.lesson for make in SETS)))


def nbgrader(course: Path, *words: str) -> Any:
    # nbgrader starts its helper `alembic` by name: an environment that is not entered has it all the same.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    own = {"PATH": path, "JUPYTER_CONFIG_DIR": str(course), "IPYTHONDIR": str(course / ".ipython")}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *words],
        cwd=course,
        env=os.environ | own,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def stripped(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells without what nbgrader adds to them, and without outputs, which it clears.

    It adds to the metadata of graded cells and answers their type and a checksum, locks them against editing
    or deletion, and leaves an empty line where the solution stood.
    """
    cells = copy.deepcopy(notebook["cells"])
    for cell in cells:
        cell["source"] = cell_source(cell).rstrip("\n")
        for key in ("deletable", "editable"):
            cell["metadata"].pop(key, None)
        for key in ("checksum", "cell_type"):
            cell["metadata"].get("nbgrader", {}).pop(key, None)
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    return cells


def test_what_nbgrader_releases_is_the_learners_notebook(course: Course) -> None:
    for make in SETS:
        lesson = make().notebook.lesson
        released = read_notebook((course.folder / "release" / lesson / f"{lesson}.ipynb").read_bytes())
        ours = read_notebook(normal_form(learners_notebook(make)).encode())
        assert stripped(released) == stripped(ours)


@pytest.mark.parametrize("make", SETS)
def test_solutions_and_hidden_tests_stay_hidden(project: Path, make: Callable[..., Any]) -> None:
    lesson = make().notebook.lesson
    stored = (project / "exercises" / f"{lesson}.ipynb").read_text()
    for word in ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN", "graded", ".grade("):
        assert word not in stored
    source = "\n".join(cell_source(cell) for cell in source_notebook(make)["cells"])
    for exercise in make().exercises:
        for piece in exercise.task.solution:
            assert piece in source
        assert f".{exercise.task.name}.grade({exercise.task.answer})" in source


@pytest.mark.parametrize("make", SETS)
def test_the_solutions_get_all_points_in_the_source(project: Path, make: Callable[..., Any]) -> None:
    lesson = make().notebook.lesson
    stored = project / "exercises" / "nbgrader" / "source" / lesson / f"{lesson}.ipynb"
    cells = {cell["id"]: cell for cell in read_notebook(stored.read_bytes())["cells"]}
    for exercise in make().exercises:
        cell = cells[f"{exercise.task.name}-check"]
        points = cell["metadata"]["nbgrader"]["points"]
        printed, value = cell["outputs"]
        assert "".join(printed["text"]).startswith(f"✓ Passed: {exercise.task.title}")
        assert value["data"]["text/plain"] == [str(points)] == [str(exercise.task.points)]


def test_right_half_and_wrong_submissions_get_full_half_and_no_points(course: Course) -> None:
    worth = {f"{exercise.task.name}-check": exercise.task.points for exercise in messages().exercises}
    assert course.points["right"] == worth
    assert sum(course.points["half"].values()) == sum(worth.values()) / 2
    assert course.points["wrong"] == dict.fromkeys(worth, 0)


def test_each_assignment_that_is_shipped_belongs_to_a_set(project: Path) -> None:
    found = {path.relative_to(project).as_posix() for path in (project / "exercises").rglob("*.ipynb")}
    assert found == {str(path) for path in exercise_notebooks()}
