"""`mcpsim grade`: points for what a class handed in."""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from mcpsim.cli.command import Command
from mcpsim.workbook import WorkbookError
from mcpsim.workbook.grading import (
    GradedSubmission,
    Limits,
    as_csv,
    as_html,
    find_submissions,
    fork_server,
    grade_submission,
)

CSV: Final = "grades.csv"
HTML: Final = "grades.html"


_LIMITS: Final = Limits()


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        type=Path,
        metavar="FOLDER",
        help="what was handed in: FOLDER/STUDENT/01_messages.ipynb, or FOLDER/STUDENT_01_messages.ipynb",
    )
    parser.add_argument(
        "--to", type=Path, metavar="PLACE", help=f"where {CSV} and {HTML} are written (default: FOLDER)"
    )
    parser.add_argument(
        "--time",
        type=_number,
        default=_LIMITS.time_s,
        metavar="SECONDS",
        help="how long one exercise may take (default: %(default)g)",
    )
    parser.add_argument(
        "--memory",
        type=_number,
        default=_LIMITS.memory_mb,
        metavar="MB",
        help="how much memory one notebook may use, where the system can limit it (default: %(default)g)",
    )
    parser.add_argument(
        "--jobs", type=_number, default=1, metavar="N", help="how many at a time (default: %(default)g)"
    )


def _number(text: str) -> float:
    number = float(text)
    if not 1 <= number <= 1_000_000:
        raise ValueError
    return number


def _run(options: argparse.Namespace) -> int:
    folder: Path = options.folder.resolve()
    submissions = find_submissions(folder)
    limits = Limits(time_s=options.time, memory_mb=int(options.memory))
    graded: list[GradedSubmission] = []
    with fork_server() as start, ThreadPoolExecutor(int(options.jobs)) as pool:
        grade = partial(grade_submission, folder=folder, limits=limits, start=start)
        for one in pool.map(grade, submissions):
            print(f"{one.file}: {one.points} of {one.worth}", flush=True)
            graded.append(one)
    # Written after the last process has ended, so that none of them can change it.
    for name, text in ((CSV, as_csv(graded)), (HTML, as_html(graded))):
        path: Path = (options.to or folder) / name
        _write(path, text)
        print(f"Written: {path}")
    return 1 if any(one.problem for one in submissions) else 0


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8", newline="")
        os.replace(part, path)
    except OSError as error:
        raise WorkbookError(f"{path} cannot be written: {error}. Name another place: --to PLACE") from error
    finally:
        part.unlink(missing_ok=True)


GRADE: Final = Command("grade", "Grade what a class handed in, without nbgrader.", _declare, _run)
