"""Find the notebooks that a class handed in, and take the learner's own cells out of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from mcpsim.course.exercises import SETS, ExerciseSet, Maker
from mcpsim.workbook.folders import WorkbookError
from mcpsim.workbook.normal_form import NotebookProblem, cell_source, code_cells, read_notebook

LARGEST_BYTES: Final = 20_000_000

_CHECK: Final = re.compile(r"^\s*\w+\.(\w+)\.check\(", re.MULTILINE)
# Cells that the workbook brings along: what the learner did with them is no part of the answer.
_OURS: Final = frozenset({"setup", "how-far-card"})
_OUR_PARTS: Final = ("-show", "-play", "-hint", "-solution")


@dataclass(frozen=True, slots=True)
class Section:
    """The learner's cells up to one check.

    Attributes:
        exercise: the name of the exercise that is checked after them.
        cells: their code, in order.
    """

    exercise: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Submission:
    """One notebook that was handed in.

    Attributes:
        student: who, as the folder or the file says.
        path: the file.
        make: makes the set of exercises that it belongs to.
        sections: one for each exercise of the set.
        problem: why it cannot be graded, or "".
    """

    student: str
    path: Path
    make: Maker
    sections: tuple[Section, ...]
    problem: str = ""

    @property
    def lesson(self) -> str:
        """The lesson's name."""
        return self.make().notebook.lesson


def find_submissions(folder: Path) -> tuple[Submission, ...]:
    """The notebooks in a folder, in order.

    In a folder of folders, the first folder says whose they are: `FOLDER/STUDENT/…/01_messages.ipynb`, as
    nbgrader and most learning platforms store them. In a flat folder, what stands in the file's name beside
    the lesson's says it: `anna_01_messages.ipynb`.

    Raises:
        WorkbookError: it is no folder, or holds no notebook with the name of a set.
    """
    if not folder.is_dir():
        raise WorkbookError(f"{folder} is not a folder.")
    found = tuple(
        _read(folder, path, make)
        for path in sorted(folder.rglob("*.ipynb"))
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
        if (make := _set_of(path)) is not None
    )
    if not found:
        names = ", ".join(f"{make().notebook.lesson}.ipynb" for make in SETS)
        raise WorkbookError(
            f"In {folder} there is no notebook whose name holds that of a set. The names are: {names}."
        )
    return found


def _set_of(path: Path) -> Maker | None:
    for make in SETS:
        if make().notebook.lesson in path.stem:
            return make
    return None


def _read(folder: Path, path: Path, make: Maker) -> Submission:
    ex = make()
    student = _student(path.relative_to(folder), ex.notebook.lesson)
    try:
        if path.is_symlink() or not path.is_file():
            raise NotebookProblem("it is not a file")
        if path.stat().st_size > LARGEST_BYTES:
            raise NotebookProblem(f"it is larger than {LARGEST_BYTES // 1_000_000} MB")
        notebook = read_notebook(path.read_bytes())
        return Submission(student, path, make, _sections(notebook, ex))
    except (NotebookProblem, OSError) as error:
        return Submission(student, path, make, (), f"The notebook cannot be read: {error}.")


def _student(path: Path, lesson: str) -> str:
    if len(path.parts) > 1:
        return path.parts[0]
    return path.stem.replace(lesson, "").strip(" _-.()") or path.stem


def _sections(notebook: Mapping[str, Any], ex: ExerciseSet) -> tuple[Section, ...]:
    names = tuple(exercise.task.name for exercise in ex.exercises)
    open_cells: list[str] = []
    sections: dict[str, Section] = {}
    for _, cell in code_cells(notebook):
        source = cell_source(cell)
        checked = _checked(cell, source, names)
        if checked is not None:
            if checked not in sections:
                sections[checked] = Section(checked, tuple(open_cells))
                open_cells = []
        elif not _is_ours(cell):
            open_cells.append(source)
    # A check that the learner took out is made at the end, when everything was run.
    for name in names:
        if name not in sections:
            sections[name] = Section(name, tuple(open_cells))
            open_cells = []
    return tuple(sections.values())


def _checked(cell: Mapping[str, Any], source: str, names: tuple[str, ...]) -> str | None:
    for known in _known_names(cell):
        if known.endswith("-check") and known.removesuffix("-check") in names:
            return known.removesuffix("-check")
    found = _CHECK.search(source)
    is_short = len(source.strip().splitlines()) == 1
    return found.group(1) if found and is_short and found.group(1) in names else None


def _is_ours(cell: Mapping[str, Any]) -> bool:
    return any(known in _OURS or known.endswith(_OUR_PARTS) for known in _known_names(cell))


def _known_names(cell: Mapping[str, Any]) -> Iterator[str]:
    """What the workbook calls the cell: its id, and its name for nbgrader, which outlives some editors."""
    marked: Any = cell["metadata"].get("nbgrader")
    known = cast("dict[str, Any]", marked) if isinstance(marked, dict) else {}
    for name in (cell.get("id"), known.get("grade_id")):
        if isinstance(name, str):
            yield name
