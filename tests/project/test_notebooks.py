"""The stored notebooks: each cell was run, nothing hides from nbval, and nbval sees a changed output.

nbval itself runs with the other tests: every code cell of `notebooks` and `exercises` is a test of its own.
"""

from __future__ import annotations

import json
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from mcpsim.workbook import FIRST_LESSON, find_notebooks, find_source, problems
from mcpsim.workbook.normal_form import code_cells, read_notebook

NOTEBOOKS = find_notebooks([], find_source())


def test_there_are_lessons_and_exercises() -> None:
    folders = {path.relative_to(find_source().root).parts[0] for path in NOTEBOOKS}
    assert folders == {"notebooks", "exercises"}
    assert find_source().root / FIRST_LESSON in NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_it_is_stored_as_it_was_run_from_the_top(path: Path) -> None:
    assert problems(path.read_bytes()) == ()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_nbval_is_asked_to_run_every_code_cell(path: Path, request: pytest.FixtureRequest) -> None:
    cells = list(code_cells(read_notebook(path.read_bytes())))
    assert cells, "a lesson without code teaches nothing here"
    assert request.config.getoption("--nbval"), "run pytest with the options in pyproject.toml"


def test_nbval_fails_on_a_lesson_with_one_changed_output(run, project: Path, tmp_path: Path) -> None:
    lesson = tmp_path / "lesson.ipynb"
    shutil.copy(find_source().root / FIRST_LESSON, lesson)
    notebook = json.loads(lesson.read_bytes())
    cells = [cell for _, cell in code_cells(notebook)]
    changed, output = next(
        (number, output)
        for number, cell in enumerate(cells)
        for output in cell["outputs"]
        if output["output_type"] == "stream"
    )
    output["text"] = [*output["text"], "one line more\n"]
    lesson.write_text(json.dumps(notebook))
    report = tmp_path / "report.xml"
    # The project's own settings, so that this also proves that they turn nbval on.
    options = ["-c", str(project / "pyproject.toml"), "-p", "no:cacheprovider", f"--junitxml={report}"]
    done = run(sys.executable, "-m", "pytest", *options, f"--rootdir={tmp_path}", str(lesson), cwd=tmp_path)
    assert done.returncode == 1, done.stdout
    cases = list(ElementTree.parse(report).iter("testcase"))
    assert [number for number, case in enumerate(cases) if len(case)] == [changed], done.stdout
    assert len(cases) == len(cells)
    assert "one line more" in done.stdout
