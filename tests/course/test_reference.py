"""The tables that close the workbook, the glossary, and the list of lessons."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcpsim.course import LESSONS, error_index, method_index
from mcpsim.course.reference import ALL, lesson_of, span
from mcpsim.course.table import Cell, Table
from mcpsim.eras.methods import METHODS
from mcpsim.errors import ERROR_CODES
from mcpsim.workbook.normal_form import cell_source, read_notebook

WORD = re.compile(r"^\| \*\*(?P<word>.+?)\*\* \| (?P<meaning>.+?) \| (?P<lesson>.+?) \|$", re.MULTILINE)
TOPIC = re.compile(
    r"^\| (?P<topic>[^|]+) \| \[(?P<number>\d\d)\]\((?P<file>.+?)\) \| (?P<section>.+?) \|$", re.MULTILINE
)
ROW = re.compile(r"^\| \[(?P<title>\d\d .+?)\]\((?P<file>.+?)\) \| (?P<asks>.+?) \|", re.MULTILINE)


def text_of(path: Path) -> str:
    cells = read_notebook(path.read_bytes())["cells"]
    return "\n\n".join(cell_source(cell) for cell in cells)


def letters(text: str) -> str:
    """A text without what lies between its letters: an input request may stand there as `inputRequests`."""
    return re.sub(r"[^a-z]", "", text.lower())


def test_every_method_is_in_the_index_with_the_lesson_on_it() -> None:
    table = method_index()
    assert [row[0].text for row in table.rows] == [method.name for method in METHODS]
    assert all(row[-1].link.endswith(".ipynb") for row in table.rows)


@pytest.mark.parametrize("name", sorted({method.name for method in METHODS}))
def test_the_lesson_on_a_method_names_it(project: Path, name: str) -> None:
    for method in METHODS:
        if method.name == name:
            path = project / "notebooks" / lesson_of(method).file
            assert name in text_of(path)


def test_every_code_is_in_the_index() -> None:
    rows = error_index().rows
    assert {int(row[0].text) for row in rows} == set(ERROR_CODES)
    assert [int(row[0].text) for row in rows] == sorted(ERROR_CODES)
    assert {row[2].text for row in rows} == {"both", "legacy", "modern"}


@pytest.mark.parametrize(
    ("revisions", "words"),
    [
        (ALL, "all"),
        (ALL[:-1], "until 2025-11-25"),
        (ALL[-1:], "from 2026-07-28"),
        (ALL[1:], "from 2025-03-26"),
        (ALL[:1], "2024-11-05 only"),
        (ALL[2:4], "2025-06-18 to 2025-11-25"),
        (ALL[3:4], "2025-11-25 only"),
        ((ALL[0], ALL[2], ALL[3]), "2024-11-05 only, 2025-06-18 to 2025-11-25"),
    ],
)
def test_revisions_in_words(revisions: tuple[str, ...], words: str) -> None:
    assert span(revisions) == words


def test_a_table_is_text_and_html_and_nothing_in_it_runs() -> None:
    rows = (
        (Cell("<script>alert(1)</script>", 'a"b.ipynb', code=True), Cell("x")),
        (Cell("", code=True), Cell("yy")),
    )
    table = Table("A & B", ("one", "two"), rows)
    assert repr(table).splitlines() == [
        "A & B",
        "",
        "one                        two",
        "<script>alert(1)</script>  x",
        "                           yy",
    ]
    html = table._repr_html_()
    assert "<script>" not in html
    assert '<a href="a&quot;b.ipynb"><code>&lt;script&gt;alert(1)&lt;/script&gt;</code></a>' in html
    assert "<caption" in html
    assert "A &amp; B" in html


def test_the_index_has_every_lesson_that_is_there_in_order(project: Path) -> None:
    folder = project / "notebooks"
    rows = [found.groupdict() for found in ROW.finditer(text_of(folder / "index.ipynb"))]
    assert rows == [
        {"title": f"{lesson.number} {lesson.title}", "file": lesson.file, "asks": lesson.asks}
        for lesson in LESSONS
        if (folder / lesson.file).is_file()
    ]
    assert {path.name for path in folder.glob("[0-9]*.ipynb")} == {row["file"] for row in rows}


def test_a_lesson_calls_itself_what_the_table_calls_it(project: Path) -> None:
    for lesson in LESSONS:
        path = project / "notebooks" / lesson.file
        if path.is_file():
            assert text_of(path).startswith(f"# {lesson.title}\n"), lesson.name


def test_every_word_of_the_glossary_stands_in_the_lesson_that_it_names(project: Path) -> None:
    words = list(WORD.finditer(text_of(project / "notebooks" / "glossary.ipynb")))
    assert len(words) > 40
    keys = [found["word"].strip("`").lower() for found in words]
    assert keys == sorted(keys)
    for found in words:
        if link := re.search(r"\((.+)\)", found["lesson"]):
            lesson = letters(text_of(project / "notebooks" / link[1]))
            for word in found["word"].split(", "):
                assert letters(word) in lesson, (word, link[1])


def test_what_is_taught_where_is_a_section_of_that_lesson(project: Path) -> None:
    folder = project / "notebooks"
    topics = list(TOPIC.finditer(text_of(folder / "index.ipynb")))
    assert len(topics) > 20
    for found in topics:
        assert found["file"].startswith(found["number"])
        assert f"\n## {found['section']}\n" in text_of(folder / found["file"]), found["topic"]
