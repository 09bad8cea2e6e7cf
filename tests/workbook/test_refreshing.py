"""Running notebooks again: the same bytes every time, and nbval agrees with what is stored."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from mcpsim.workbook import NotebookProblem, WorkbookError, find_notebooks, find_source, problems, refresh
from tests.workbook.conftest import WIDGET, code_cell, text_cell, whole


def nbval(path: Path) -> Counter[str]:
    """Run nbval over one notebook as the project's tests do, and count what became of its cells.

    In this process: another pytest spends most of its time on starting.
    """
    report = path.with_suffix(".xml")
    (path.parent / "empty.ini").touch()
    options = [
        "-c",
        "empty.ini",
        "--nbval",
        "--nbval-current-env",
        f"--junitxml={report}",
        "-p",
        "no:cacheprovider",
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)
        pytest.main([*options, path.name])
    cases = ElementTree.parse(report).iter("testcase")
    return Counter(next((child.tag for child in case), "passed") for case in cases)


@pytest.fixture(scope="module")
def refreshed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A notebook with every kind of output, refreshed."""
    cells = (
        text_cell("# A lesson"),
        code_cell("for word in ('one', 'two'):\n    print(word, flush=True)"),
        code_cell(WIDGET),
        code_cell("{'answer': 42}"),
        code_cell("1 / 0", "raises-exception"),
    )
    path = tmp_path_factory.mktemp("refreshed") / "sample.ipynb"
    path.write_text(json.dumps(whole(*cells)))
    return refresh(path).fresh


@pytest.fixture
def fresh(refreshed: bytes, tmp_path: Path) -> Path:
    """That notebook, in the test's own folder."""
    path = tmp_path / "sample.ipynb"
    path.write_bytes(refreshed)
    return path


def test_refreshing_again_gives_the_same_bytes_and_nbval_agrees(fresh: Path) -> None:
    again = refresh(fresh)
    assert again.is_current
    assert again.fresh == fresh.read_bytes()
    assert problems(again.fresh) == ()
    assert nbval(fresh) == {"passed": 4}


def test_what_is_stored_is_what_a_reader_without_a_kernel_sees(fresh: Path) -> None:
    _, printed, widget, value, error = json.loads(fresh.read_bytes())["cells"]
    assert printed["outputs"] == [{"name": "stdout", "output_type": "stream", "text": ["one\n", "two\n"]}]
    assert widget["outputs"][0]["data"].keys() == {"text/html", "text/plain"}
    assert value["outputs"][0]["data"] == {"text/plain": ["{'answer': 42}"]}
    assert error["outputs"][0]["traceback"] == ["ZeroDivisionError: division by zero"]
    assert [cell["execution_count"] for cell in (printed, widget, value, error)] == [1, 2, 3, 4]


def test_nbval_sees_each_changed_output(fresh: Path) -> None:
    notebook = json.loads(fresh.read_bytes())
    _, (printed,), (widget,), (value,), (error,) = (cell.get("outputs") for cell in notebook["cells"])
    printed["text"][1] = "three\n"
    widget["data"]["text/html"] = ["<figure></figure>"]
    value["data"]["text/plain"] = ["{'answer': 43}"]
    error["evalue"] = "division by one"
    fresh.write_text(json.dumps(notebook))
    assert nbval(fresh) == {"failure": 4}
    assert not refresh(fresh).is_current


def test_nbval_lets_a_stripped_notebook_pass_and_so_the_guard_must_not(fresh: Path) -> None:
    notebook = json.loads(fresh.read_bytes())
    for cell in notebook["cells"][1:]:
        cell["execution_count"], cell["outputs"] = None, []
    fresh.write_text(json.dumps(notebook))
    assert nbval(fresh) == {"passed": 4}
    assert len([sentence for sentence in problems(fresh.read_bytes()) if "was not run" in sentence]) == 4


def test_the_kernel_is_this_environment_and_works_in_the_notebooks_folder(
    make: SimpleNamespace,
    write_notebook: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = tmp_path / "jupyter" / "kernels" / "python3" / "kernel.json"
    other.parent.mkdir(parents=True)
    other.write_text(
        json.dumps({"argv": ["another-python"], "display_name": "Python 3", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    (tmp_path / "beside.txt").write_text(sys.executable)
    path = write_notebook(make.code("import sys\nopen('beside.txt').read() == sys.executable"))
    assert b'"True"' in refresh(path).fresh


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("", "code cell 1 is empty"),
        ("import os\nos.getcwd()", "cell 1 shows '"),
        ("object()", "cell 1 shows 'at 0x"),
        ("import ipywidgets\nipywidgets.IntSlider()", "widget without a still picture"),
        ("import os\nos._exit(1)", "Kernel died"),
    ],
)
def test_a_notebook_that_may_not_be_stored_is_named_with_the_reason(
    make: SimpleNamespace, write_notebook: Callable[..., Path], source: str, sentence: str
) -> None:
    path = write_notebook(make.code(source))
    before = path.read_bytes()
    with pytest.raises(NotebookProblem) as raised:
        refresh(path)
    assert str(path) in str(raised.value)
    assert sentence in str(raised.value)
    assert path.read_bytes() == before


def test_notebooks_are_found_in_folders_without_checkpoints(tmp_path: Path) -> None:
    for name in ("b.ipynb", "a.ipynb", "inner/c.ipynb", ".ipynb_checkpoints/a-checkpoint.ipynb", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = find_notebooks([tmp_path, tmp_path / "a.ipynb"], find_source())
    assert [path.relative_to(tmp_path).as_posix() for path in found] == [
        "a.ipynb",
        "b.ipynb",
        "inner/c.ipynb",
    ]


@pytest.mark.parametrize("name", ["missing", "missing.ipynb"])
def test_a_path_that_is_no_notebook_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(WorkbookError, match="neither a notebook"):
        find_notebooks([tmp_path / name], find_source())
