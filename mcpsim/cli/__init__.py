"""The `mcpsim` command, one module for each of its commands.

Exit codes: 0, all is well; 1, what was checked is not as it should be; 2, the command could not do its work.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from mcpsim.cli.audit import AUDIT
from mcpsim.cli.grade import GRADE
from mcpsim.cli.lab import LAB
from mcpsim.cli.misbehaving import MISBEHAVING
from mcpsim.cli.notebooks import NOTEBOOKS
from mcpsim.cli.run import RUN, TRANSPORTS
from mcpsim.cli.serve import SERVE, SERVERS
from mcpsim.cli.stories import STORIES
from mcpsim.errors import McpSimError

__all__ = ["COMMANDS", "SERVERS", "TRANSPORTS", "main"]

COMMANDS: Final = (LAB, STORIES, MISBEHAVING, RUN, AUDIT, SERVE, NOTEBOOKS, GRADE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the `mcpsim` command.

    Args:
        arguments: the words after `mcpsim`; those of this process if not given.

    Returns:
        The exit code. argparse itself exits with 2 where the arguments make no sense.
    """
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    parser = argparse.ArgumentParser(prog="mcpsim", description="The MCP workbook.")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        subparser = subparsers.add_parser(command.name, help=command.help, description=command.help)
        command.declare(subparser)
        subparser.set_defaults(run=command.run)
    # argparse would take the options of another program, after `--`, for arguments of ours.
    own, extra = _split(words)
    options = parser.parse_args(own)
    if extra and not hasattr(options, "extra"):
        parser.error(f"{options.command} takes nothing after --")
    if extra:
        options.extra = extra
    try:
        code = options.run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever reads this has had enough, as `head` does. At its end Python writes what is left once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except McpSimError as error:
        print(f"mcpsim {options.command}: {error}", file=sys.stderr)
        return 2


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]
