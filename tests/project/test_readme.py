"""What the README promises is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcpsim import widgets
from mcpsim.cli import COMMANDS


@pytest.fixture(scope="module")
def readme(project: Path) -> str:
    return (project / "README.md").read_text(encoding="utf-8")


def test_its_examples_run_and_print_the_messages(readme: str, capsys: pytest.CaptureFixture[str]) -> None:
    report, pages, question, pictures, link = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    exec(compile(report, "README.md", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    assert printed.count(" notifications/progress {") == 5
    assert " result #1 {" in printed
    exec(compile(pages, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out == "[2, 2, 2, 1]\n"
    exec(compile(question, "README.md", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    assert printed.count("server → client  elicitation/create #1 {") == 1
    assert printed.count('{"resultType": "input_required"') == 1
    assert printed.count("client → server  tools/call #") == 3
    exec(compile(pictures, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out == ""
    exec(compile(link, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out == "[2, 2, 2, 1]\n"


def test_it_names_every_widget(readme: str) -> None:
    named = set(re.findall(r"^\| `([A-Z]\w+)\(", readme, flags=re.MULTILINE))
    made = {name for name in widgets.__all__ if name[0].isupper()}
    # The bench has an example of its own.
    assert named == made - {"Bench"}


def test_its_links_and_folders_exist(project: Path, readme: str) -> None:
    links = re.findall(r"\]\(([^)]+)\)", readme)
    folders = re.findall(r"^\| `([a-z]+/)`", readme, flags=re.MULTILINE)
    assert [name for name in [*links, *folders] if not (project / name).exists()] == []
    assert len(folders) == 4


def test_its_commands_exist(readme: str) -> None:
    named = set(re.findall(r"(?:`|&& )mcpsim ([a-z]+)", readme))
    assert {command.name for command in COMMANDS} <= named
    assert named - {command.name for command in COMMANDS} == set()


@pytest.mark.parametrize(
    "command", ['pip install -e ".[lab]" && mcpsim lab\n', 'pip install -e ".[test]" && pytest -n 3\n']
)
def test_it_names_the_two_commands(readme: str, command: str) -> None:
    assert command in readme
