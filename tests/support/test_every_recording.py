"""The judge of every recording finds what is wrong; the table of what is broken names tests that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.broken import BROKEN

TESTS = """
import pytest
from mcpsim import Client, Server, simulate

async def story(client: Client) -> None:
    await client.send_raw({"jsonrpc": "2.0", "id": 1, "method": "tools/dance"})
"""
TEST = """
def test_{name}() -> None:
    simulate(story, server=Server("a"))
"""
# By the name of a test: its row in the table, and how it ends.
ROWS = {
    "without_a_row": ("", "failed"),
    "with_a_row": ("Row('why', ('tools/dance',))", "passed"),
    "of_a_stranger": ("Row('why', by=('client',))", "passed"),
    "of_another_stranger": ("Row('why', by=('server',))", "failed"),
    "with_too_much": ("Row('why', ('tools/dance', 'tools/list'))", "failed"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_row_is_about_a_test_that_exists(project: Path, name: str) -> None:
    file, _, function = name.partition("::")
    text = (project / file).read_text(encoding="utf-8")
    assert re.search(rf"^def {function}\(", text, re.MULTILINE)


def test_a_test_fails_where_it_records_what_is_wrong(project: Path, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    rows = [f"BROKEN['test_it.py::test_{name}'] = {row}" for name, (row, _) in ROWS.items() if row]
    lines = [
        f"import sys; sys.path.insert(0, {str(project)!r})",
        "from tests.support.broken import BROKEN, Row",
        "from tests.support.every_recording import pytest_runtest_call, pytest_runtest_protocol",
        *rows,
    ]
    (tmp_path / "conftest.py").write_text("\n".join(lines), encoding="utf-8")
    tests = TESTS + "".join(TEST.format(name=name) for name in ROWS)
    (tmp_path / "test_it.py").write_text(tests, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rpfE", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        cwd=tmp_path,
    )
    for name, (_, ending) in ROWS.items():
        found = re.search(rf"^{ending.upper()} test_it.py::test_{name}\b", done.stdout, re.MULTILINE)
        assert found, done.stdout + done.stderr
