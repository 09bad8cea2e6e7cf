"""What honest submissions get, how they are found, and what the report says."""

from __future__ import annotations

import csv
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from mcpsim.cli import main
from mcpsim.course.exercises import SETS, Maker, messages, stateless
from mcpsim.workbook import WorkbookError, learners_notebook, normal_form
from mcpsim.workbook.grading import (
    GradedExercise,
    GradedSubmission,
    Limits,
    as_csv,
    as_html,
    find_submissions,
    grade_submission,
)
from tests.workbook.grading.conftest import Grade, HandIn, notebook_with, solutions


def test_the_command_writes_both_reports(
    folder: Path, hand_in: HandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_in("right", messages)
    hand_in("half", messages, classifier="def classify(data):\n    return 'request'")
    (folder / "nothing").mkdir()
    (folder / "nothing" / "01_messages.ipynb").write_text(normal_form(learners_notebook(messages)))
    (folder / "broken").mkdir()
    (folder / "broken" / "01_messages.ipynb").write_text("{")
    assert main(["grade", str(folder), "--jobs", "2"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "broken/01_messages.ipynb: 0 of 40",
        "half/01_messages.ipynb: 20 of 40",
        "nothing/01_messages.ipynb: 0 of 40",
        "right/01_messages.ipynb: 40 of 40",
        f"Written: {folder / 'grades.csv'}",
        f"Written: {folder / 'grades.html'}",
    ]
    with open(folder / "grades.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    by_exercise = {(row["student"], row["exercise"]): row for row in rows}
    assert by_exercise["right", "classifier"]["points"] == by_exercise["right", "classifier"]["worth"] == "20"
    assert by_exercise["half", "classifier"]["outcome"] == "not yet"
    assert by_exercise["half", "classifier"]["seen"]
    assert by_exercise["nothing", "repair"]["outcome"] == "not attempted"
    assert "this is not a notebook" in by_exercise["broken", "repair"]["seen"]
    page = (folder / "grades.html").read_text(encoding="utf-8")
    assert "<th scope='row'>half</th><td class='points'>20 of 40</td>" in page


def test_another_place_for_the_reports_and_a_second_run(folder: Path, tmp_path: Path) -> None:
    (folder / "one").mkdir()
    (folder / "one" / "01_messages.ipynb").write_text("{")
    for _ in range(2):
        assert main(["grade", str(folder), "--to", str(tmp_path / "new")]) == 1
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["grades.csv", "grades.html"]
    assert [path.name for path in folder.iterdir()] == ["one"]


@pytest.mark.parametrize(
    "words",
    [["grade"], ["grade", ".", "--time", "0"], ["grade", ".", "--jobs", "x"], ["grade", ".", "--memory=nan"]],
)
def test_arguments_without_a_meaning_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(words)
    assert exit.value.code == 2


def test_a_folder_without_submissions_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", str(folder)]) == 2
    assert "there is no notebook whose name holds that of a set" in capsys.readouterr().err
    with pytest.raises(WorkbookError, match="is not a folder"):
        find_submissions(folder / "nowhere")


def test_cells_of_the_learners_own_count_and_ours_do_not(folder: Path, grade: Grade) -> None:
    """The answer stands in other cells, the checks say something else, and the set-up is gone."""
    notebook = notebook_with(stateless, {})
    cells = [cell for cell in notebook["cells"] if cell["id"] not in ("setup", "order-starter")]
    for cell in cells:
        if cell["id"].endswith(("-check", "-hint")):
            cell["source"] = ["raise SystemExit"]
    at = next(number for number, cell in enumerate(cells) if cell["id"] == "order-check")
    own = ["import operator", "%matplotlib inline\nby_name = operator.itemgetter('name')", "broken("]
    own += [
        "def in_order(tools):\n    return sorted(tools, key=by_name)",
        "await __import__('asyncio').sleep(0)",
    ]
    cells[at:at] = [
        {"cell_type": "code", "source": code, "metadata": {}, "outputs": [], "execution_count": 3}
        for code in own
    ]
    notebook["cells"] = cells
    path = folder / "anna_04_stateless (2).ipynb"
    path.write_text(json.dumps(notebook))
    (submission,) = find_submissions(folder)
    assert submission.student == "anna_ (2" or submission.student == "anna"
    (row,) = grade("order").exercises
    assert (row.points, row.outcome) == (10, "passed")


def test_a_notebook_that_lost_its_ids_is_known_by_its_checks(folder: Path, grade: Grade) -> None:
    notebook = notebook_with(stateless, solutions(stateless))
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        cell["id"] = f"c{hash(str(cell['source'])) % 10**8}"
    (folder / "04_stateless.ipynb").write_text(json.dumps(notebook))
    graded = grade("order", "required")
    assert graded.points == graded.worth == 20


def test_a_check_that_was_deleted_is_made_at_the_end(folder: Path, grade: Grade) -> None:
    notebook = notebook_with(stateless, solutions(stateless))
    notebook["cells"] = [cell for cell in notebook["cells"] if not cell["id"].endswith("-check")]
    (folder / "04_stateless.ipynb").write_text(json.dumps(notebook))
    graded = grade()
    assert graded.points == graded.worth == 80


def test_a_table_gets_a_part(hand_in: HandIn, grade: Grade) -> None:
    right = solutions(stateless)["required"]
    hand_in(required=right.replace('"D": "MAY"', '"D": "MUST"'))
    (row,) = grade("required").exercises
    assert (row.points, row.worth, row.outcome) == (6, 10, "not yet")


@pytest.mark.parametrize("make", SETS[-1:], ids=lambda make: make.__name__)
def test_the_solutions_of_the_largest_set_get_all_points(hand_in: HandIn, grade: Grade, make: Maker) -> None:
    hand_in(make=make)
    graded = grade(time_s=120)
    assert graded.points == graded.worth, graded


def test_a_function_that_never_ends_is_told_by_its_check(hand_in: HandIn, grade: Grade) -> None:
    hand_in(order="def in_order(tools):\n    while True:\n        pass")
    (row,) = grade("order", time_s=3).exercises
    assert (row.points, row.outcome) == (0, "not yet")
    assert "did not come to its end within 1.5 s" in row.seen


def test_links_and_giants_are_not_read(folder: Path, tmp_path: Path) -> None:
    real = tmp_path / "01_messages.ipynb"
    real.write_text(normal_form(learners_notebook(messages)))
    (folder / "link").mkdir()
    (folder / "link" / "01_messages.ipynb").symlink_to(real)
    (folder / "giant").mkdir()
    with open(folder / "giant" / "01_messages.ipynb", "wb") as file:
        file.truncate(30_000_000)
    giant, link = find_submissions(folder)
    assert "it is larger than 20 MB" in giant.problem
    assert "it is not a file" in link.problem
    assert grade_submission(link, folder, Limits()).points == 0


def graded_with(text: str) -> GradedSubmission:
    row = GradedExercise("order", text, 3, 10, "not yet", text, text)
    return GradedSubmission(text, "04_stateless", text, (row,))


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "=HYPERLINK(1)", "a\n\"b\",'c'", "@x", "\udcff", "\0", "-1", "é"]
)
def test_whatever_was_handed_in_is_text_in_the_reports(text: str) -> None:
    (row,) = csv.DictReader(as_csv([graded_with(text)]).splitlines(keepends=True))
    shown = text.encode("utf-8", "replace").decode().replace("\0", "")
    assert row["student"] == (f"'{shown}" if text[0] in "=@-" else shown)
    assert row["points"] == "3"
    found: list[Any] = []
    parser = HTMLParser(convert_charrefs=True)
    parser.handle_starttag = lambda tag, attributes: found.append(tag)
    parser.feed(as_html([graded_with(text)]))
    assert "script" not in found
    assert found.count("details") == 2
    as_html([graded_with(text)]).encode()
