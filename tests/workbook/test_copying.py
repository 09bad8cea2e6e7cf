"""What happens to a learner's folder when the workbook is copied into it, again and again."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsim.workbook import Copied, Outcome, Source, WorkbookError, copy_workbook, find_source
from mcpsim.workbook.copying import MANIFEST

LESSON = PurePosixPath("notebooks/00_start_here.ipynb")
EXERCISE = PurePosixPath("exercises/01_messages.ipynb")


class Shelf:
    """A shipped workbook whose lesson changes from version to version, and a learner's folder."""

    def __init__(self, root: Path) -> None:
        self.source = Source(root / "shipped", is_checkout=False)
        self.folder = root / "learner"
        self.ship("lesson 1")
        _write(self.source.root / EXERCISE, "exercise")

    def ship(self, content: str) -> None:
        _write(self.source.root / LESSON, content)

    def copy(self) -> Copied:
        """Copy, and return what was done about the lesson."""
        (row,) = (row for row in copy_workbook(self.source, self.folder) if row.name == LESSON)
        return row

    @property
    def lesson(self) -> Path:
        return self.folder / LESSON

    @property
    def beside(self) -> Path:
        return self.lesson.with_name("00_start_here.new.ipynb")


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_a_new_folder_gets_every_file(shelf: Shelf) -> None:
    rows = copy_workbook(shelf.source, shelf.folder)
    assert rows == (Copied(LESSON, Outcome.COPIED), Copied(EXERCISE, Outcome.COPIED))
    assert shelf.lesson.read_text() == "lesson 1"
    assert (shelf.folder / EXERCISE).read_text() == "exercise"


def test_copying_twice_changes_nothing(shelf: Shelf) -> None:
    shelf.copy()
    before = {path: path.stat().st_mtime_ns for path in shelf.folder.rglob("*.ipynb")}
    assert shelf.copy().outcome is Outcome.SAME
    assert {path: path.stat().st_mtime_ns for path in shelf.folder.rglob("*.ipynb")} == before


def test_hidden_files_and_caches_are_not_copied(shelf: Shelf) -> None:
    _write(shelf.source.root / "notebooks/.ipynb_checkpoints/00-checkpoint.ipynb", "old")
    _write(shelf.source.root / "notebooks/__pycache__/x.pyc", "")
    _write(shelf.source.root / "notebooks/images/player.png", "picture")
    names = [str(row.name) for row in copy_workbook(shelf.source, shelf.folder)]
    assert names == [str(LESSON), "notebooks/images/player.png", str(EXERCISE)]


def test_what_is_for_teachers_is_not_copied(shelf: Shelf) -> None:
    _write(shelf.source.root / "exercises/nbgrader/nbgrader_config.py", "")
    _write(shelf.source.root / "exercises/nbgrader/source/01_messages/01_messages.ipynb", "solutions")
    assert [row.name for row in copy_workbook(shelf.source, shelf.folder)] == [LESSON, EXERCISE]


def test_an_untouched_file_gets_the_new_version(shelf: Shelf) -> None:
    shelf.copy()
    shelf.ship("lesson 2")
    assert shelf.copy() == Copied(LESSON, Outcome.UPDATED)
    assert shelf.lesson.read_text() == "lesson 2"


def test_a_changed_file_stays_where_no_new_version_came(shelf: Shelf) -> None:
    shelf.copy()
    shelf.lesson.write_text("mine")
    assert shelf.copy() == Copied(LESSON, Outcome.KEPT)
    assert shelf.lesson.read_text() == "mine"
    assert not shelf.beside.exists()


def test_where_both_changed_the_new_version_is_put_beside_it_once(shelf: Shelf) -> None:
    shelf.copy()
    shelf.lesson.write_text("mine")
    shelf.ship("lesson 2")
    row = shelf.copy()
    assert row == Copied(LESSON, Outcome.BESIDE, PurePosixPath("notebooks/00_start_here.new.ipynb"))
    assert "00_start_here.new.ipynb" in str(row)
    assert (shelf.lesson.read_text(), shelf.beside.read_text()) == ("mine", "lesson 2")
    shelf.beside.unlink()
    assert shelf.copy().outcome is Outcome.KEPT
    assert not shelf.beside.exists()


def test_a_new_version_beside_is_the_learners_too(shelf: Shelf) -> None:
    shelf.copy()
    shelf.lesson.write_text("mine")
    shelf.ship("lesson 2")
    shelf.copy()
    shelf.beside.write_text("mine, too")
    shelf.ship("lesson 3")
    row = shelf.copy()
    assert row.beside == PurePosixPath("notebooks/00_start_here.new2.ipynb")
    assert shelf.beside.read_text() == "mine, too"
    assert (shelf.folder / row.beside).read_text() == "lesson 3"


def test_a_file_that_was_there_before_is_the_learners(shelf: Shelf) -> None:
    _write(shelf.lesson, "mine")
    assert shelf.copy().outcome is Outcome.BESIDE
    assert (shelf.lesson.read_text(), shelf.beside.read_text()) == ("mine", "lesson 1")


def test_a_deleted_file_comes_back(shelf: Shelf) -> None:
    shelf.copy()
    shelf.lesson.unlink()
    assert shelf.copy().outcome is Outcome.COPIED


def test_a_learner_who_takes_the_new_version_gets_updates_again(shelf: Shelf) -> None:
    shelf.copy()
    shelf.lesson.write_text("mine")
    shelf.ship("lesson 2")
    shelf.copy()
    shelf.beside.replace(shelf.lesson)
    assert shelf.copy().outcome is Outcome.SAME
    shelf.ship("lesson 3")
    assert shelf.copy().outcome is Outcome.UPDATED


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", "null", '{"files": []}', '{"files": {"notebooks/00_start_here.ipynb": 7}}']
)
def test_a_damaged_manifest_never_costs_work(shelf: Shelf, damage: str) -> None:
    shelf.copy()
    shelf.lesson.write_text("mine")
    (shelf.folder / MANIFEST).write_text(damage)
    shelf.ship("lesson 2")
    assert shelf.copy().outcome is Outcome.BESIDE
    assert shelf.lesson.read_text() == "mine"


def test_a_copy_that_failed_half_way_goes_on_where_it_stopped(shelf: Shelf) -> None:
    _write(shelf.folder / "exercises", "a file where the folder must be")
    with pytest.raises(WorkbookError, match=r"cannot be copied to .*exercises.*mcpsim lab FOLDER"):
        copy_workbook(shelf.source, shelf.folder)
    (shelf.folder / "exercises").unlink()
    shelf.ship("lesson 2")
    assert shelf.copy().outcome is Outcome.UPDATED


def test_a_folder_with_a_lessons_name_is_refused(shelf: Shelf) -> None:
    shelf.lesson.mkdir(parents=True)
    with pytest.raises(WorkbookError, match=r"00_start_here\.ipynb is not a file"):
        shelf.copy()


def test_a_target_that_is_a_file_is_refused(shelf: Shelf) -> None:
    shelf.folder.write_text("")
    with pytest.raises(WorkbookError, match="cannot be copied"):
        shelf.copy()


def test_the_manifest_names_no_folder_of_the_machine(shelf: Shelf, tmp_path: Path) -> None:
    shelf.copy()
    manifest = json.loads((shelf.folder / MANIFEST).read_text())
    assert list(manifest["files"]) == [str(EXERCISE), str(LESSON)]
    assert str(tmp_path) not in json.dumps(manifest)


STEPS = st.one_of(
    st.builds(lambda n: ("ship", f"lesson {n}"), st.integers(1, 3)),
    st.builds(lambda n: ("write", f"mine {n}"), st.integers(1, 3)),
    st.builds(lambda n: ("write beside", f"mine beside {n}"), st.integers(1, 2)),
    st.just(("copy", "")),
    st.just(("delete", "")),
)


@given(st.lists(STEPS, max_size=12))
def test_whatever_happens_no_word_of_the_learner_is_lost(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    shelf = Shelf(tmp_path_factory.mktemp("shelf"))
    written: dict[Path, str] = {}
    for step, content in steps:
        if step == "ship":
            shelf.ship(content)
        elif step == "copy":
            shelf.copy()
        elif step == "delete":
            shelf.lesson.unlink(missing_ok=True)
            written.pop(shelf.lesson, None)
        else:
            path = shelf.lesson if step == "write" else shelf.beside
            _write(path, content)
            written[path] = content
    shelf.copy()
    assert {path: path.read_text() for path in written} == written
    assert (
        shelf.source.root.joinpath(LESSON).read_text()
        in {path.read_text() for path in shelf.folder.glob("notebooks/*")}
        or shelf.copy().outcome is Outcome.KEPT
    )
    assert shelf.copy().outcome in (Outcome.SAME, Outcome.KEPT)
    assert not list(shelf.folder.rglob("*.part"))


def test_in_a_checkout_the_workbook_lies_beside_the_package(project: Path) -> None:
    assert find_source(project / "mcpsim") == Source(project, is_checkout=True)


def test_an_installation_without_a_workbook_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match=r"no workbook.*Install mcpsim again"):
        find_source(tmp_path / "mcpsim")
