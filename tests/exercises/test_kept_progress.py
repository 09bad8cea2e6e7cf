"""What checks said is kept where a learner works, and nowhere else."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcpsim.course import exercises, progress
from mcpsim.course.exercises.kept import FILE, SWITCH, read
from mcpsim.course.exercises.verdict import Outcome

LESSON = "01_messages"
RIGHT: dict[str, Any] = {}
exec("\n".join(exercises.messages().classify.task.solution), RIGHT)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The learner's folder `exercises`, in which a kernel runs."""
    found = tmp_path / "workbook" / "exercises"
    for name in (f"{LESSON}.ipynb", f"solutions/{LESSON}.ipynb"):
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text("{}")
    (found.parent / "notebooks").mkdir()
    monkeypatch.chdir(found)
    monkeypatch.delenv(SWITCH)
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    return found


def kept(folder: Path) -> dict[str, Any]:
    return json.loads((folder / FILE).read_bytes())["exercises"]


def test_verdicts_are_kept_and_shown_on_the_next_day(folder: Path) -> None:
    ex = exercises.messages()
    ex.classify.check(RIGHT["answers"])
    ex.repair.check(None)
    assert kept(folder) == {LESSON: {"classify": "passed", "repair": "not yet"}}
    text = repr(progress())
    assert text.startswith("Your exercises: 1 of ")
    assert "01 Messages" in text
    assert "1 of 3  ✓✗○\n" in text
    assert text == repr(progress())
    assert "✓✗○" in progress()._repr_html_()


def test_a_set_that_is_made_anew_knows_what_passed_before(folder: Path) -> None:
    ex = exercises.messages()
    ex.classify.check(RIGHT["answers"])
    ex.repair.check(None)
    text = "\n".join(line.strip() for line in repr(ex).splitlines())
    assert text.endswith("1 of 3 passed\nclassify    passed\nrepair      not yet\nclassifier  not attempted")
    again = exercises.messages()
    text = "\n".join(line.strip() for line in repr(again).splitlines())
    assert "1 of 3 passed\nclassify    passed (before)\nrepair      not yet (before)\n" in text
    again.classify.check(None)
    assert "1 of 3 passed" in repr(again)
    assert "classify    not yet (passed before)" in repr(again)
    (folder / FILE).unlink()
    assert "0 of 3 passed" in repr(again)


@pytest.mark.parametrize("elsewhere", ["../notebooks", "solutions", ".."])
def test_the_overview_is_found_from_the_workbooks_other_folders(
    folder: Path, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercises.messages().classify.check(RIGHT["answers"])
    monkeypatch.chdir(folder / elsewhere)
    assert repr(progress()).startswith("Your exercises: 1 of ")


def test_what_passed_once_has_passed(folder: Path) -> None:
    exercises.messages().classify.check(RIGHT["answers"])
    before = os.stat(folder / FILE).st_mtime_ns, (folder / FILE).read_bytes()
    again = exercises.messages()
    again.classify.check(None)
    again.classify.check(...)
    again.classify.check(RIGHT["answers"])
    assert (os.stat(folder / FILE).st_mtime_ns, (folder / FILE).read_bytes()) == before


def test_half_of_a_surrogate_pair_in_the_file_is_no_reason_to_fail(folder: Path) -> None:
    told = {"of another version": {"\ud800": "passed"}}
    (folder / FILE).write_text(json.dumps({"format": 1, "exercises": told}))
    assert exercises.messages().classify.check(RIGHT["answers"]).passed
    assert kept(folder) == {LESSON: {"classify": "passed"}, **told}
    (folder / FILE).read_bytes().decode()


def test_nothing_is_written_when_there_is_nothing_to_write(folder: Path) -> None:
    ex = exercises.messages()
    ex.classify.check(...)
    ex.classify.hint()
    ex.classify.solution()
    ex.classify.grade(RIGHT["answers"])
    ex.reset()
    repr(progress())
    assert not (folder / FILE).exists()


def test_the_file_can_be_read_by_people_and_leaves_nothing_beside_it(folder: Path) -> None:
    exercises.messages().classify.check(RIGHT["answers"])
    assert (folder / FILE).read_text() == (
        '{\n "about": "What the checks of your exercises said. Delete this file to begin again.",\n'
        ' "format": 1,\n "exercises": {\n  "01_messages": {\n   "classify": "passed"\n  }\n }\n}\n'
    )
    assert sorted(os.listdir(folder)) == [f"{LESSON}.ipynb", FILE, "solutions"]


DAMAGED = {
    "not JSON": "{",
    "deep": "[" * 100_000,
    "not an object": "[]",
    "another format": '{"format": 2, "exercises": {}}',
    "no exercises": '{"format": 1}',
    "not rows": '{"format": 1, "exercises": {"01_messages": []}}',
    "not texts": '{"format": 1, "exercises": {"01_messages": {"classify": 1}}}',
    "not UTF-8": "\udcff",
    "empty": "",
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_told_and_never_destroyed(folder: Path, content: str) -> None:
    data = content.encode("utf-8", "surrogateescape")
    (folder / FILE).write_bytes(data)
    verdict = exercises.messages().classify.check(RIGHT["answers"])
    assert verdict.passed
    assert (folder / FILE).read_bytes() == data
    text = " ".join(repr(progress()).split())
    assert "`progress.json` is damaged: " in text
    assert "It stays as it is, and nothing is kept. Repair it, or delete it to begin again." in text


def test_what_another_version_knows_is_kept(folder: Path) -> None:
    strange = {"99_later": {"new": "passed"}, LESSON: {"gone": "passed", "repair": "a new word"}}
    (folder / FILE).write_text(json.dumps({"format": 1, "exercises": strange}))
    exercises.messages().classify.check(RIGHT["answers"])
    assert kept(folder) == {**strange, LESSON: {**strange[LESSON], "classify": "passed"}}
    assert read(folder).outcome(LESSON, "repair") is Outcome.NOT_ATTEMPTED


def test_a_folder_that_cannot_be_written_fails_no_check(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert exercises.messages().classify.check(RIGHT["answers"]).passed
    assert sorted(os.listdir(folder)) == [f"{LESSON}.ipynb", "solutions"]


def test_nothing_is_kept_outside_of_a_kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    exercises.messages().classify.check(RIGHT["answers"])
    monkeypatch.delitem(sys.modules, "IPython")
    exercises.messages().classify.check(RIGHT["answers"])
    assert not (folder / FILE).exists()


def test_nothing_is_kept_or_shown_where_it_is_switched_off(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercises.messages().classify.check(RIGHT["answers"])
    monkeypatch.setenv(SWITCH, "off")
    exercises.messages().repair.check(None)
    assert kept(folder) == {LESSON: {"classify": "passed"}}
    assert repr(progress()).startswith("Your exercises: 0 of ")
    assert "What they say is kept in `exercises/progress.json`." in repr(progress())


@pytest.mark.parametrize("elsewhere", ["solutions", "..", "../notebooks"])
def test_nothing_is_kept_in_other_folders(
    folder: Path, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder / elsewhere)
    exercises.messages().classify.check(RIGHT["answers"])
    assert not list(folder.parent.rglob(FILE))


def test_a_kernel_keeps_what_a_learner_did(project: Path, tmp_path: Path) -> None:
    """With a real kernel, as a learner's notebook is run, and once more as `mcpsim notebooks` runs it."""
    import nbclient
    import nbformat

    workbook = tmp_path / "exercises"
    for name in (f"{LESSON}.ipynb", f"solutions/{LESSON}.ipynb"):
        (workbook / name).parent.mkdir(exist_ok=True)
        shutil.copy(project / "exercises" / name, workbook / name)
    for switch, expected in (("off", False), ("", True)):
        notebook = nbformat.read(workbook / "solutions" / f"{LESSON}.ipynb", as_version=4)
        client = nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(workbook)}})
        client.execute(env=os.environ | {SWITCH: switch})
        assert (workbook / FILE).exists() is expected
    assert set(kept(workbook)[LESSON].values()) == {"passed"}
