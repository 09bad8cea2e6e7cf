"""The wheel, built from the source distribution as a release would be, and what a learner gets from it."""

from __future__ import annotations

import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from mcpsim.workbook import find_source


@pytest.fixture(scope="module")
def shipped() -> set[str]:
    """The names of the workbook's files in the checkout."""
    return {str(name) for name in find_source().files()}


def test_the_wheel_holds_the_package_and_the_workbook_and_nothing_else(
    distributions: Path, shipped: set[str]
) -> None:
    (wheel,) = distributions.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
    assert {f"mcpsim/_workbook/{name}" for name in shipped} == {
        name for name in names if name.startswith("mcpsim/_workbook/")
    }
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"mcpsim"}
    assert "mcpsim/py.typed" in names
    assert any(name.endswith("LICENSE") for name in names)


def test_the_source_distribution_can_be_built_and_tested(distributions: Path, shipped: set[str]) -> None:
    (archive,) = distributions.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert shipped <= names
    assert {"README.md", "LICENSE", "environment.yml", "tests/conftest.py"} <= names


def test_lab_copies_the_workbook_and_keeps_what_the_learner_wrote(
    installed_wheel: Path, run, tmp_path: Path, shipped: set[str]
) -> None:
    installed = shutil.copytree(installed_wheel, tmp_path / "site")

    def lab() -> str:
        words = [sys.executable, "-m", "mcpsim", "lab", "--copy-only"]
        done = run(*words, cwd=tmp_path, PYTHONPATH=str(installed))
        assert done.returncode == 0, done.stdout
        return done.stdout

    folder = tmp_path / "mcp-workbook"
    said = lab()
    assert f"The workbook is in {folder} ({len(shipped)} copied)." in said
    assert {
        path.relative_to(folder).as_posix() for path in folder.glob("*/**/*") if path.is_file()
    } == shipped
    lesson, other, *_ = sorted(name for name in shipped if name.endswith(".ipynb"))
    (folder / lesson).write_text("mine")
    assert f"  {lesson}: kept, it is yours\n" in lab()

    for name in (lesson, other):
        (installed / "mcpsim/_workbook" / name).write_text("a later release")
    said = lab()
    beside = Path(lesson).with_suffix(".new.ipynb").name
    assert f"  {lesson}: kept, it is yours; the new version is beside it, as {beside}\n" in said
    assert f"  {other}: updated, you had not changed it\n" in said
    assert (folder / lesson).read_text() == "mine"
    assert (folder / other).read_text() == "a later release"
