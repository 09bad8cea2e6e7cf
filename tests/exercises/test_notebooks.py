"""The exercise notebooks hold the tasks and starters that the checks know, unsolved; the solutions pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mcpsim.course import exercises
from mcpsim.course.exercises import ExerciseSet
from mcpsim.workbook.normal_form import cell_source, cell_tags, code_cells, read_notebook

SETS: list[tuple[str, Callable[..., ExerciseSet]]] = [
    ("01_messages.ipynb", exercises.messages),
    ("04_stateless.ipynb", exercises.stateless),
]


def cells_of(path: Path) -> list[dict[str, Any]]:
    return read_notebook(path.read_bytes())["cells"]


def prose(cells: Sequence[dict[str, Any]]) -> str:
    return "\n\n".join(cell_source(cell) for cell in cells if cell["cell_type"] == "markdown")


def outputs(cell: dict[str, Any]) -> Iterator[str]:
    for output in cell["outputs"]:
        yield "".join(output.get("text", []) or output["data"]["text/plain"])


def tagged(cells: Sequence[dict[str, Any]], tag: str) -> list[dict[str, Any]]:
    return [cell for cell in cells if tag in cell_tags(cell)]


@pytest.mark.parametrize(("name", "make"), SETS)
def test_each_set_has_a_notebook_with_its_tasks_and_starters(
    project: Path, name: str, make: Callable[..., ExerciseSet]
) -> None:
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


@pytest.mark.parametrize("make", [make for _, make in SETS])
def test_a_story_that_raises_still_shows_its_messages(make: Callable[..., ExerciseSet]) -> None:
    for exercise in make().exercises:
        for line in exercise.task.play.splitlines():
            if line.startswith("simulate("):
                assert line.endswith(", check=False)")


@pytest.mark.parametrize(("name", "make"), SETS)
def test_nothing_is_given_away(project: Path, name: str, make: Callable[..., ExerciseSet]) -> None:
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


@pytest.mark.parametrize(("name", "make"), SETS)
def test_the_solutions_are_those_of_the_exercises_and_pass(
    project: Path, name: str, make: Callable[..., ExerciseSet]
) -> None:
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


@pytest.mark.parametrize("name", [name for name, _ in SETS])
@pytest.mark.parametrize("folder", ["exercises", "exercises/solutions"])
def test_cells_are_short_and_links_lead_somewhere(project: Path, folder: str, name: str) -> None:
    path = project / folder / name
    for _, cell in code_cells(read_notebook(path.read_bytes())):
        lines = [line for line in cell_source(cell).splitlines() if line.strip()]
        assert len(lines) <= 12
        assert max(map(len, lines)) <= 110
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(cells_of(path))):
        if not target.startswith("https://modelcontextprotocol.io/specification/2026-07-28/"):
            assert (path.parent / target).is_file(), target


def test_every_notebook_has_its_set_and_every_set_its_notebook(project: Path) -> None:
    names = [name for name, _ in SETS]
    for folder in ("exercises", "exercises/solutions"):
        assert sorted(path.name for path in (project / folder).glob("*.ipynb")) == sorted(names)
