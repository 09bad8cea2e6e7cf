"""The exercise notebooks hold the tasks and starters that the checks know, unsolved; the solutions pass."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from mcpsim.course import exercises
from mcpsim.course.exercises import Maker
from mcpsim.workbook import WorkbookError, exercise_notebooks
from mcpsim.workbook.normal_form import cell_source, cell_tags, code_cells, normal_form, read_notebook

NAMED = [pytest.param(f"{make().notebook.lesson}.ipynb", make, id=make.__name__) for make in exercises.SETS]


def cells_of(path: Path) -> list[dict[str, Any]]:
    return read_notebook(path.read_bytes())["cells"]


def prose(cells: Sequence[dict[str, Any]]) -> str:
    return "\n\n".join(cell_source(cell) for cell in cells if cell["cell_type"] == "markdown")


def outputs(cell: dict[str, Any]) -> Iterator[str]:
    for output in cell["outputs"]:
        yield "".join(output.get("text", []) or output["data"]["text/plain"])


def tagged(cells: Sequence[dict[str, Any]], tag: str) -> list[dict[str, Any]]:
    return [cell for cell in cells if tag in cell_tags(cell)]


@pytest.mark.parametrize(("name", "make"), NAMED)
def test_each_set_has_a_notebook_with_its_tasks_and_starters(project: Path, name: str, make: Maker) -> None:
    cells = cells_of(project / "exercises" / name)
    tasks = [exercise.task for exercise in make().exercises]
    text = prose(cells)
    for number, task in enumerate(tasks, 1):
        assert f"## {number}. {task.title}\n\n{task.text}\n\n{task.reading}" in text
    assert [cell_source(cell) for cell in tagged(cells, "starter")] == [task.starter for task in tasks]
    assert [cell_source(cell) for cell in tagged(cells, "check")] == [
        f"ex.{task.name}.check({task.answer})" for task in tasks
    ]
    assert [cell_source(cell).splitlines()[-1] for cell in tagged(cells, "hint")] == [
        f"# ex.{task.name}.hint()" for task in tasks
    ]
    assert [cell_source(cell) for cell in tagged(cells, "solution")] == [
        f"# ex.{task.name}.solution()" for task in tasks
    ]
    assert [cell_source(cell).splitlines()[1:] for cell in tagged(cells, "play")] == [
        [f"# {line}" for line in task.play.splitlines()] for task in tasks if task.play
    ]


@pytest.mark.parametrize("make", exercises.SETS)
def test_a_story_that_raises_still_shows_its_messages(make: Maker) -> None:
    for exercise in make().exercises:
        for line in exercise.task.play.splitlines():
            if line.startswith("simulate("):
                assert line.endswith(", check=False)")


@pytest.mark.parametrize(("name", "make"), NAMED)
def test_nothing_is_given_away(project: Path, name: str, make: Maker) -> None:
    cells = cells_of(project / "exercises" / name)
    for cell in tagged(cells, "check"):
        (text,) = outputs(cell)
        assert text.startswith("○ Not attempted: ")
    for tag in ("starter", "hint", "solution", "play"):
        assert [list(outputs(cell)) for cell in tagged(cells, tag) if cell["outputs"]] == []
    everything = "\n".join(cell_source(cell) for cell in cells)
    for exercise in make().exercises:
        for piece in (*exercise.task.hints, *exercise.task.solution):
            assert piece not in everything


@pytest.mark.parametrize(("name", "make"), NAMED)
def test_the_solutions_are_those_of_the_exercises_and_pass(project: Path, name: str, make: Maker) -> None:
    cells = cells_of(project / "exercises" / "solutions" / name)
    sources = [cell_source(cell) for cell in cells if cell["cell_type"] == "code"]
    ex = make()
    for exercise in ex.exercises:
        for piece in exercise.task.solution:
            assert piece in sources
    checks = tagged(cells, "check")
    assert len(checks) == len(ex.exercises)
    for cell, exercise in zip(checks, ex.exercises, strict=True):
        (text,) = outputs(cell)
        assert text.startswith(f"✓ Passed: {exercise.task.title}")
    assert f"{len(checks)} of {len(checks)} passed" in next(outputs(cells[-1]))


@pytest.mark.parametrize(("name", "make"), NAMED)
@pytest.mark.parametrize("folder", ["exercises", "exercises/solutions"])
def test_cells_are_short_and_links_lead_somewhere(project: Path, folder: str, name: str, make: Maker) -> None:
    path = project / folder / name
    for _, cell in code_cells(read_notebook(path.read_bytes())):
        lines = cell_source(cell).splitlines()
        assert len(lines) <= 12
        assert max(map(len, lines)) <= 110
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(cells_of(path))):
        if not re.match(r"https://modelcontextprotocol\.io/specification/20(26-07-28|25-11-25)/", target):
            assert (path.parent / target).is_file(), target


def blank(notebook: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The cells of a notebook as they are before a run."""
    return [
        cell | ({"outputs": [], "execution_count": None} if cell["cell_type"] == "code" else {})
        for cell in read_notebook(normal_form(notebook).encode())["cells"]
    ]


@pytest.mark.parametrize(
    ("path", "notebook"), [pytest.param(*made, id=str(made[0])) for made in exercise_notebooks().items()]
)
def test_the_stored_notebooks_are_those_that_are_made_from_the_sets(
    project: Path, path: PurePosixPath, notebook: dict[str, Any]
) -> None:
    stored = read_notebook((project / path).read_bytes())
    command = f"run: mcpsim notebooks --exercises {path.stem}"
    assert blank(stored) == blank(notebook), command
    assert json.loads(normal_form(stored))["metadata"] == json.loads(normal_form(notebook))["metadata"]


@pytest.mark.parametrize("notebook", exercise_notebooks().values(), ids=map(str, exercise_notebooks()))
def test_each_cell_has_a_name_of_its_own(notebook: dict[str, Any]) -> None:
    names = [cell["id"] for cell in notebook["cells"]]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[a-z][a-z0-9_]*(-[a-z0-9]+)*", name)] == []


def test_an_unknown_set_is_refused() -> None:
    with pytest.raises(WorkbookError, match=r"no exercises '99_unknown'\. There are: 01_messages, "):
        exercise_notebooks(["99_unknown"])


def test_every_notebook_has_its_set(project: Path) -> None:
    for folder in ("exercises", "exercises/solutions"):
        made = [path.name for path in exercise_notebooks() if str(path.parent) == folder]
        assert sorted(path.name for path in (project / folder).glob("*.ipynb")) == sorted(made)
