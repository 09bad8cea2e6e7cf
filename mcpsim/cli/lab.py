"""`mcpsim lab`: the workbook in JupyterLab."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mcpsim.cli.command import Command
from mcpsim.workbook import (
    MANIFEST,
    Copied,
    Outcome,
    copy_workbook,
    find_source,
    open_lab,
    pristine,
    require_lab,
    trust,
)

DEFAULT_FOLDER: Final = Path("mcp-workbook")


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help=f"where your copy of the workbook is, or shall be (default: {DEFAULT_FOLDER}; where "
        "it is installed with `pip install -e`, the project's own folder). What you changed there is kept.",
    )
    parser.set_defaults(extra=[])
    parser.usage = f"{parser.prog} [-h] [--no-browser] [--copy-only] [FOLDER] [-- OPTIONS OF JUPYTERLAB]"
    parser.add_argument("--no-browser", action="store_true", help="do not open a web browser")
    parser.add_argument(
        "--copy-only", action="store_true", help="copy the workbook, and do not start JupyterLab"
    )


def _run(options: argparse.Namespace) -> int:
    source = find_source()
    if not options.copy_only:
        require_lab(source)
    as_shipped = pristine(source)
    here = Path.cwd()
    if options.folder is None and (here / MANIFEST).is_file():
        # Started inside of a learner's workbook: that one is meant, and no second one in it.
        options.folder = here
    if options.folder is None and source.is_checkout:
        folder = source.root
        print(f"The workbook is in {folder}.")
    else:
        folder = options.folder or DEFAULT_FOLDER
        rows = copy_workbook(source, folder)
        as_shipped = {row.shipped for row in rows if row.shipped and row.name in as_shipped}
        _report_copies(folder, rows)
    if not options.copy_only:
        trust(folder / name for name in as_shipped)
        open_lab(folder, browser=not options.no_browser, extra=options.extra)
    return 0


def _report_copies(folder: Path, rows: Sequence[Copied]) -> None:
    """One line a file that is of interest, and a count of all."""
    for row in rows:
        if row.outcome is not Outcome.SAME:
            print(f"  {row}")
    counts = Counter(row.outcome for row in rows)
    total = ", ".join(f"{counts[outcome]} {outcome.short}" for outcome in Outcome if counts[outcome])
    print(f"The workbook is in {folder.resolve()} ({total}).")


LAB: Final = Command("lab", "Open the workbook in JupyterLab, copied to a folder first.", _declare, _run)
