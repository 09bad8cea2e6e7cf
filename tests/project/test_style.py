"""The source is in the form that the project's tools ask for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


# The last words prove that the tool did look: some exit with 0 where they were not started properly.
@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (("ruff", "check", "--no-cache", "."), "All checks passed!"),
        (("ruff", "format", "--check", "--no-cache", "."), "already formatted"),
        (("pyright", "--pythonpath", sys.executable), "0 errors, 0 warnings"),
        (("lint-imports", "--no-cache"), " kept, 0 broken."),
    ],
    ids=["ruff check", "ruff format", "pyright", "import-linter"],
)
def test_the_tool_finds_nothing(run, words: tuple[str, ...], verdict: str) -> None:
    tool, *arguments = words
    done = run(str(Path(sys.executable).parent / tool), *arguments)
    assert done.returncode == 0, done.stdout
    assert verdict in done.stdout
