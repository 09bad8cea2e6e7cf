"""Make the notebooks of a set of exercises: the learner's, and the one with the solutions.

Nobody writes these notebooks by hand. All that they say stands in the set, where the checks are, so that a
task, its starter and its check cannot come apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from mcpsim.course.exercises import SETS, Exercise, Maker, Notebook
from mcpsim.workbook.folders import WorkbookError

_HOW: Final = """\
How it works:

- Read the task, write your answer into the cell below it, and run that cell. Then run the cell with `check`.
- A check says one of three things: *passed*, *not yet*, or *not attempted*. It looks at what your answer \
does and not at how it is written, so there is more than one right answer.
- For a hint, remove the `#` in the hint cell and run it. Run it again for the next hint. Solutions are at \
the end.
- You cannot break anything. A mistake in your code is shown as a sentence, and a loop without an end is \
ended after some seconds."""

Cell = dict[str, Any]


def exercise_notebooks(lessons: Iterable[str] = ()) -> dict[PurePosixPath, dict[str, Any]]:
    """The notebooks of the sets, as files of the workbook.

    Args:
        lessons: the sets that are wanted, each by the name of its lesson, such as "04_stateless"; or all.

    Returns:
        Notebooks of format 4 without outputs, by their paths in the workbook, in order.

    Raises:
        WorkbookError: there is no set with such a name.
    """
    makers = {make().notebook.lesson: make for make in SETS}
    wanted = tuple(lessons) or tuple(makers)
    for lesson in wanted:
        if lesson not in makers:
            raise WorkbookError(f"There are no exercises {lesson!r}. There are: {', '.join(makers)}.")
    folder = PurePosixPath("exercises")
    made: dict[PurePosixPath, dict[str, Any]] = {}
    for lesson in wanted:
        made[folder / f"{lesson}.ipynb"] = learners_notebook(makers[lesson])
        made[folder / "solutions" / f"{lesson}.ipynb"] = solutions_notebook(makers[lesson])
    return made


def learners_notebook(make: Maker) -> dict[str, Any]:
    """The notebook in which a learner works: tasks, starters, checks, hints.

    Args:
        make: the function that makes the set, one of `mcpsim.course.exercises.SETS`.

    Returns:
        A notebook of format 4 without outputs.
    """
    exercises = make().exercises
    notebook = make().notebook
    cells = [_learners_title(notebook), _setup(make, notebook)]
    for number, exercise in enumerate(exercises, 1):
        cells += _exercise_cells(number, exercise)
    cells += [
        _markdown("how-far", "## How far am I?"),
        _code("how-far-card", "ex"),
        _markdown(
            "solutions",
            "## Solutions\n\nRemove the `#` of the one that you want to see. All of them, with their checks, "
            f"are in [the solutions](solutions/{notebook.lesson}.ipynb).",
        ),
        *(_code(f"{name}-solution", f"# ex.{name}.solution()", "solution") for name in _names(exercises)),
        _markdown("next", "\n".join(("## Where to go next\n", *_bullets(notebook.further)))),
    ]
    return _notebook(cells)


def solutions_notebook(make: Maker) -> dict[str, Any]:
    """The notebook with one right answer to each exercise.

    Args:
        make: as for `learners_notebook`.

    Returns:
        A notebook of format 4 without outputs.
    """
    exercises = make().exercises
    notebook = make().notebook
    cells = [
        _markdown(
            "title",
            f"# Solutions to the exercises: {notebook.topic}\n\n"
            f"One right answer to each of the [exercises](../{notebook.lesson}.ipynb). Others are right too. "
            "Try first: what you found out yourself you will remember.",
        ),
        _setup(make, notebook),
    ]
    for number, exercise in enumerate(exercises, 1):
        task = exercise.task
        cells.append(_markdown(f"{task.name}-why", f"## {number}. {task.title}\n\n{task.why}"))
        for part, piece in enumerate(task.solution, 1):
            cells.append(_code(f"{task.name}-solution{f'-{part}' if part > 1 else ''}", piece))
        if task.play:
            cells.append(_code(f"{task.name}-play", task.play))
        cells.append(_check(exercise))
    cells += [_markdown("how-far", "## All of them"), _code("how-far-card", "ex")]
    return _notebook(cells)


def _learners_title(notebook: Notebook) -> Cell:
    lesson = notebook.listed
    lines = (
        f"# Exercises: {notebook.topic}\n",
        f"They go with lesson [{lesson.number} {lesson.title}](../notebooks/{lesson.file}).\n",
        _HOW,
        *_bullets(notebook.notes),
    )
    return _markdown("title", "\n".join(lines))


def _setup(make: Maker, notebook: Notebook) -> Cell:
    return _code("setup", "\n".join((*notebook.imports, "", f"ex = exercises.{make.__name__}()", "ex")))


def _exercise_cells(number: int, exercise: Exercise) -> Iterator[Cell]:
    task, name = exercise.task, exercise.task.name
    yield _markdown(f"{name}-task", f"## {number}. {task.title}\n\n{task.text}\n\n{task.reading}")
    if task.show:
        yield _code(f"{name}-show", task.show)
    yield _code(f"{name}-starter", task.starter, "starter")
    if task.play:
        lines = ("To play your story and look at its messages, remove the # below.", *task.play.splitlines())
        yield _code(f"{name}-play", _commented(*lines), "play")
    yield _check(exercise)
    hint = _commented(
        "For a hint, remove the # below. Run the cell again for the next hint.", f"ex.{name}.hint()"
    )
    yield _code(f"{name}-hint", hint, "hint")


def _check(exercise: Exercise) -> Cell:
    name = exercise.task.name
    return _code(f"{name}-check", f"ex.{name}.check({exercise.task.answer})", "check")


def _names(exercises: tuple[Exercise, ...]) -> Iterator[str]:
    return (exercise.task.name for exercise in exercises)


def _bullets(lines: tuple[str, ...]) -> Iterator[str]:
    return (f"- {line}" for line in lines)


def _commented(*lines: str) -> str:
    return "\n".join(f"# {line}".rstrip() for line in lines)


def _markdown(cell_id: str, source: str) -> Cell:
    return {"cell_type": "markdown", "id": cell_id, "metadata": {}, "source": source}


def _code(cell_id: str, source: str, *tags: str) -> Cell:
    metadata: Mapping[str, Any] = {"tags": list(tags)} if tags else {}
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": cell_id,
        "metadata": metadata,
        "outputs": [],
        "source": source,
    }


def _notebook(cells: list[Cell]) -> dict[str, Any]:
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
