"""The judge of every recording finds what is wrong; the table of what is broken names tests that exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.exercises import answers
from tests.support.broken import BROKEN
from tests.support.cases import case

BROKEN_RULE = "client-keeps-to-negotiated-capabilities"
TESTS = """
import pytest
from mcpsim import Client, Server, simulate

async def dances(client: Client) -> None:
    await client.request("tools/dance")

async def lists(client: Client) -> None:
    await client.request("tools/list")
"""
TEST = """
def test_{name}() -> None:
    simulate({story}, server=Server("a"), era="legacy", check=False)
"""
# By the name of a test: its story, its row in the table, and how it ends.
ROWS = {
    "a_message_without_a_row": ("dances", "", "failed"),
    "a_message_with_a_row": ("dances", "Row('why', ('tools/dance',))", "passed"),
    "a_message_of_a_stranger": ("dances", "Row('why', by=('client',))", "passed"),
    "a_message_of_another_stranger": ("dances", "Row('why', by=('server',))", "failed"),
    "messages_with_too_much": ("dances", "Row('why', ('tools/dance', 'tools/list'))", "failed"),
    "a_rule_without_a_row": ("lists", "", "failed"),
    "a_rule_with_a_row": ("lists", f"Row('why', rules=('{BROKEN_RULE}',))", "passed"),
    "a_rule_of_a_stranger": ("lists", "Row('why', by=('client',))", "passed"),
    "a_rule_of_another_stranger": ("lists", "Row('why', by=('server',))", "failed"),
    "rules_with_too_much": ("lists", f"Row('why', rules=('{BROKEN_RULE}', 'message-is-json'))", "failed"),
}


def test_each_row_is_about_a_test_that_exists(project: Path) -> None:
    for name in BROKEN:
        with case(name):
            file, _, function = name.partition("::")
            text = (project / file).read_text(encoding="utf-8")
            taken_over = "from tests.exercises.answers import *" in text and function in answers.__all__
            assert taken_over or re.search(rf"^def {function}\(", text, re.MULTILINE)


def test_a_test_fails_where_it_records_what_is_wrong(project: Path, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    rows = [f"BROKEN['test_it.py::test_{name}'] = {row}" for name, (_, row, _) in ROWS.items() if row]
    lines = [
        f"import sys; sys.path.insert(0, {str(project)!r})",
        "from tests.support.broken import BROKEN, Row",
        "from tests.support.every_recording import pytest_runtest_call, pytest_runtest_protocol",
        *rows,
    ]
    (tmp_path / "conftest.py").write_text("\n".join(lines), encoding="utf-8")
    tests = TESTS + "".join(TEST.format(name=name, story=story) for name, (story, _, _) in ROWS.items())
    (tmp_path / "test_it.py").write_text(tests, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rpfE", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        cwd=tmp_path,
        # What is installed beside pytest takes long to import, and is not needed here.
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    for name, (_, _, ending) in ROWS.items():
        found = re.search(rf"^{ending.upper()} test_it.py::test_{name}\b", done.stdout, re.MULTILINE)
        assert found, done.stdout + done.stderr
