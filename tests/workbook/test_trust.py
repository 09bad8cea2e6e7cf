"""Which notebooks Jupyter is told to trust: the project's own, as they were shipped, and no others."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from mcpsim.workbook import Source
from mcpsim.workbook.trust import pristine, trust

OURS = PurePosixPath("notebooks/00_start_here.ipynb")
EXERCISE = PurePosixPath("exercises/01_messages.ipynb")


@pytest.fixture
def workbook(tmp_path: Path, make: SimpleNamespace) -> Path:
    for name in (OURS, EXERCISE):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(json.dumps(make.notebook(make.text(name.name))))
    return tmp_path


@pytest.fixture
def git(workbook: Path) -> Callable[..., None]:
    def run(*words: str) -> None:
        identity = ["-c", "user.name=A Tester", "-c", "user.email=tester@example.invalid"]
        subprocess.run(["git", "-C", str(workbook), *identity, *words], check=True, capture_output=True)

    run("init")
    run("add", ".")
    run("commit", "-m", "The workbook")
    return run


def test_in_a_wheel_every_file_is_ours(workbook: Path) -> None:
    assert pristine(Source(workbook, is_checkout=False)) == {OURS, EXERCISE}


@pytest.mark.usefixtures("git")
def test_in_a_checkout_a_changed_and_an_added_file_are_not_ours(workbook: Path) -> None:
    checkout = Source(workbook, is_checkout=True)
    assert pristine(checkout) == {OURS, EXERCISE}
    (workbook / EXERCISE).write_text("answers")
    (workbook / "exercises" / "from a stranger.ipynb").write_text("{}")
    assert pristine(checkout) == {OURS}


def test_a_file_that_is_added_but_not_committed_is_not_ours(workbook: Path, git: Callable[..., None]) -> None:
    (workbook / "notebooks" / "new.ipynb").write_text("{}")
    git("add", ".")
    assert pristine(Source(workbook, is_checkout=True)) == {OURS, EXERCISE}


def test_a_checkout_without_git_has_nothing_to_trust(workbook: Path) -> None:
    assert pristine(Source(workbook, is_checkout=True)) == frozenset()


def test_jupyter_trusts_what_was_signed_until_it_changes(
    workbook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    picture = workbook / "player.png"
    picture.write_bytes(b"\x89PNG")
    trust([workbook / OURS, picture])
    notary = NotebookNotary()
    notebook = nbformat.read(workbook / OURS, as_version=4)
    assert notary.check_signature(notebook)
    notebook.cells[0].source += "<script>"
    assert not notary.check_signature(notebook)
    assert not notary.check_signature(nbformat.read(workbook / EXERCISE, as_version=4))
