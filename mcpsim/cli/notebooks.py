"""`mcpsim notebooks`: run the workbook's notebooks again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from mcpsim.cli.command import Command
from mcpsim.workbook import NotebookProblem, find_notebooks, find_source, refresh


def _declare(parser: argparse.ArgumentParser) -> None:
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--refresh", action="store_true", help="run the notebooks and write them back")
    action.add_argument(
        "--check", action="store_true", help="run the notebooks and say which are out of date"
    )
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATH",
        help="notebooks, or folders of notebooks (default: all of the workbook)",
    )


def _run(options: argparse.Namespace) -> int:
    exit_code = 0
    for path in find_notebooks(options.paths, find_source()):
        try:
            result = refresh(path)
        except NotebookProblem as error:
            print(error, file=sys.stderr)
            exit_code = 1
            continue
        if result.is_current:
            print(f"{path}: up to date")
        elif options.refresh:
            path.write_bytes(result.fresh)
            print(f"{path}: refreshed")
        else:
            print(f"{path}: out of date; run: mcpsim notebooks --refresh {path}")
            exit_code = 1
    return exit_code


NOTEBOOKS: Final = Command("notebooks", "Run the workbook's notebooks again.", _declare, _run)
