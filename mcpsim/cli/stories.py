"""`mcpsim stories`: the built-in stories, one a line."""

from __future__ import annotations

import argparse
from typing import Final

from mcpsim.cli.command import Command
from mcpsim.course import STORIES as BUILT_IN


def _declare(parser: argparse.ArgumentParser) -> None:
    del parser  # The list takes no arguments.


def _run(options: argparse.Namespace) -> int:
    del options
    width = max(map(len, BUILT_IN))
    for name, story in BUILT_IN.items():
        only = f"; {story.ways[0]} only" if len(story.ways) == 1 else ""
        print(f"{name:{width}}  {story.what} ({', '.join(story.eras)}{only})")
    return 0


STORIES: Final = Command("stories", "List the built-in stories.", _declare, _run)
