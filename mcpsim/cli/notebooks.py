"""`mcpsim notebooks`: run the workbook's notebooks again, and make those of the exercises."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from mcpsim.cli.command import Command
from mcpsim.workbook import (
    NotebookProblem,
    Source,
    WorkbookError,
    exercise_notebooks,
    find_notebooks,
    find_source,
    refresh,
)

Work = tuple[Path, dict[str, Any] | None]


def _declare(parser: argparse.ArgumentParser) -> None:
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--refresh", action="store_true", help="run the notebooks and write them back")
    action.add_argument(
        "--check", action="store_true", help="run the notebooks and say which are out of date"
    )
    action.add_argument(
        "--exercises",
        action="store_true",
        help="make the notebooks of the exercises from the sets in mcpsim.course.exercises, run them and "
        "write them; each PATH is then the name of a lesson, such as 04_stateless",
    )
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATH",
        help="notebooks, or folders of notebooks (default: all of the workbook)",
    )


def _run(options: argparse.Namespace) -> int:
    find: Callable[[list[Path], Source], Iterator[Work]] = _made if options.exercises else _stored
    exit_code = 0
    for path, notebook in find(options.paths, find_source()):
        if notebook is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            result = refresh(path, notebook)
        except NotebookProblem as error:
            print(error, file=sys.stderr)
            exit_code = 1
            continue
        if result.is_current:
            print(f"{path}: up to date")
        elif options.check:
            print(f"{path}: out of date; run: mcpsim notebooks --refresh {path}")
            exit_code = 1
        else:
            path.write_bytes(result.fresh)
            print(f"{path}: {'refreshed' if result.stored else 'made'}")
    return exit_code


def _stored(paths: list[Path], source: Source) -> Iterator[Work]:
    return ((path, None) for path in find_notebooks(paths, source))


def _made(paths: list[Path], source: Source) -> Iterator[Work]:
    if not source.is_checkout:
        raise WorkbookError("The notebooks of the exercises are made in a working copy of the project alone.")
    made = exercise_notebooks(path.stem for path in paths)
    return ((source.root / name, notebook) for name, notebook in made.items())


NOTEBOOKS: Final = Command(
    "notebooks",
    "Run the workbook's notebooks again, and make those of the exercises.",
    _declare,
    _run,
)
