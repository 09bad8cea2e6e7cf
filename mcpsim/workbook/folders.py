"""Where the workbook's own files are: beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

import mcpsim
from mcpsim.course.exercises import kept
from mcpsim.errors import McpSimError

FOLDERS: Final = ("notebooks", "exercises")
# What teachers use, and what would give learners the solutions before they ask.
FOR_TEACHERS: Final = PurePosixPath("exercises/nbgrader")
# What a learner's checks said, where the learner works in a checkout.
PROGRESS: Final = PurePosixPath("exercises") / kept.FILE
FIRST_LESSON: Final = PurePosixPath("notebooks/00_start_here.ipynb")


class WorkbookError(McpSimError):
    """The workbook cannot be found, copied or opened. The text says what to do about it."""


@dataclass(frozen=True, slots=True)
class Source:
    """The folder that holds the workbook as it is shipped.

    Attributes:
        root: the folder that holds `notebooks` and `exercises`.
        is_checkout: True for a working copy of the project, where authors edit the notebooks in place.
    """

    root: Path
    is_checkout: bool

    def files(self) -> Iterator[PurePosixPath]:
        """Every file that a learner gets, relative to `root`, in order.

        Not among them: hidden files, caches, what is for teachers alone, and what is the learner's own.
        """
        for folder in FOLDERS:
            found = (
                PurePosixPath(path.relative_to(self.root).as_posix())
                for path in (self.root / folder).rglob("*")
                if path.is_file()
            )
            yield from sorted(
                path
                for path in found
                if not any(_is_private(part) for part in path.parts)
                and FOR_TEACHERS not in path.parents
                and path != PROGRESS
            )


def find_source(package: Path | None = None) -> Source:
    """Find the workbook that belongs to this installation.

    Args:
        package: the folder of the `mcpsim` package; the imported one if not given.

    Raises:
        WorkbookError: this installation came without the workbook.
    """
    package = package or Path(mcpsim.__file__).parent
    for root, is_checkout in ((package / "_workbook", False), (package.parent, True)):
        if all((root / folder).is_dir() for folder in FOLDERS):
            return Source(root, is_checkout)
    raise WorkbookError(
        f"This installation of mcpsim has no workbook: there are no folders {' and '.join(FOLDERS)} in "
        f"{package / '_workbook'} or beside {package}. Install mcpsim again."
    )


def _is_private(name: str) -> bool:
    return name.startswith((".", "__"))
