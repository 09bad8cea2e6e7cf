"""Make the notebooks of a set of exercises: nbgrader's source, the learner's, and the solutions.

Nobody writes these notebooks by hand. All that they say stands in the set, where the checks are, so that a
task, its starter and its check cannot come apart.

The source is what a teacher who uses nbgrader starts from: its cells hold the solutions and the hidden tests,
between marks. The learner's notebook is the source without what is between the marks.
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
ended after some seconds.
- Run the cells from top to bottom. A cell that needs another one which was not run, or which failed, gives \
Python's own `NameError`, or judges the answer before this one."""

_KEPT: Final = """\
What your checks said is kept in `progress.json`, beside this notebook. For an overview of all exercises, \
enter
`from mcpsim.course import progress` in a cell of your own, then `progress()`."""

# nbgrader's own words; see "Autograder tests" and "Hidden tests" in its documentation.
BEGIN_SOLUTION: Final = "### BEGIN SOLUTION"
END_SOLUTION: Final = "### END SOLUTION"
BEGIN_HIDDEN: Final = "### BEGIN HIDDEN TESTS"
END_HIDDEN: Final = "### END HIDDEN TESTS"
NBGRADER_SCHEMA: Final = 3

# nbgrader takes a number that a cell gives as the points. The set is a fresh one: `ex` is the learner's.
_HIDDEN: Final = """\
from mcpsim.course import exercises

graded = exercises.{set}().{exercise}.grade({answer})
print(graded)
graded.points"""

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
        made[folder / "nbgrader" / "source" / lesson / f"{lesson}.ipynb"] = source_notebook(makers[lesson])
        made[folder / f"{lesson}.ipynb"] = learners_notebook(makers[lesson])
        made[folder / "solutions" / f"{lesson}.ipynb"] = solutions_notebook(makers[lesson])
    return made


def source_notebook(make: Maker) -> dict[str, Any]:
    """The notebook from which nbgrader makes an assignment.

    Args:
        make: the function that makes the set, one of `mcpsim.course.exercises.SETS`.

    Returns:
        A notebook of format 4 without outputs.
    """
    exercises = make().exercises
    notebook = make().notebook
    cells = [_learners_title(notebook), _setup(make, notebook)]
    for number, exercise in enumerate(exercises, 1):
        cells += _exercise_cells(make, number, exercise)
    cells += [
        _markdown("how-far", f"## How far am I?\n\n{_KEPT}"),
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


def learners_notebook(make: Maker) -> dict[str, Any]:
    """The notebook in which a learner works: the source without solutions and hidden tests.

    nbgrader knows its cells too, so a learner can hand in this one.

    Args:
        make: as for `source_notebook`.

    Returns:
        A notebook of format 4 without outputs.
    """
    source = source_notebook(make)
    cells = [cell | {"source": without_marked(cell["source"])} for cell in source["cells"]]
    return source | {"cells": cells}


def without_marked(source: str) -> str:
    """The text of a cell without the parts between nbgrader's marks, and without the marks."""
    kept: list[str] = []
    within = False
    for line in source.split("\n"):
        if line in (BEGIN_SOLUTION, BEGIN_HIDDEN):
            within = True
        elif line in (END_SOLUTION, END_HIDDEN):
            within = False
        elif not within:
            kept.append(line)
    return "\n".join(kept)


def solutions_notebook(make: Maker) -> dict[str, Any]:
    """The notebook with one right answer to each exercise.

    Args:
        make: as for `source_notebook`.

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
        cells.append(_code(f"{task.name}-check", _check(exercise), "check"))
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


def _exercise_cells(make: Maker, number: int, exercise: Exercise) -> Iterator[Cell]:
    task, name = exercise.task, exercise.task.name
    yield _markdown(f"{name}-task", f"## {number}. {task.title}\n\n{task.text}\n\n{task.reading}")
    if task.show:
        yield _code(f"{name}-show", task.show)
    solution = "\n\n\n".join(task.solution)
    yield _graded(
        _code(
            f"{name}-starter",
            "\n".join((task.starter, BEGIN_SOLUTION, solution, END_SOLUTION)),
            "starter",
        ),
        solution=True,
    )
    if task.play:
        lines = ("To play your story and look at its messages, remove the # below.", *task.play.splitlines())
        yield _code(f"{name}-play", _commented(*lines), "play")
    hidden = _HIDDEN.format(set=make.__name__, exercise=name, answer=task.answer)
    yield _graded(
        _code(f"{name}-check", "\n".join((_check(exercise), BEGIN_HIDDEN, hidden, END_HIDDEN)), "check"),
        points=task.points,
    )
    hint = _commented(
        "For a hint, remove the # below. Run the cell again for the next hint.", f"ex.{name}.hint()"
    )
    yield _code(f"{name}-hint", hint, "hint")


def _check(exercise: Exercise) -> str:
    return f"ex.{exercise.task.name}.check({exercise.task.answer})"


def _graded(cell: Cell, *, solution: bool = False, points: int = 0) -> Cell:
    """The cell with what nbgrader wants to know: an answer, or a check that gives points."""
    known: dict[str, Any] = {
        "grade": not solution,
        "grade_id": cell["id"],
        "locked": not solution,
        "schema_version": NBGRADER_SCHEMA,
        "solution": solution,
        "task": False,
    }
    if not solution:
        known["points"] = points
    return cell | {"metadata": cell["metadata"] | {"nbgrader": known}}


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
