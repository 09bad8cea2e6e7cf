"""What a reader without a kernel sees: the stored lessons as web pages, made by nbconvert."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Page, expect

from mcpsim.course import STORIES
from mcpsim.widgets import player_data, standalone_html
from mcpsim.workbook import find_notebooks, find_source
from mcpsim.workbook.normal_form import code_cells, read_notebook


def stored_pictures(lesson: Path) -> int:
    return sum(
        "<figure" in "".join(output.get("data", {}).get("text/html", ""))
        for _, cell in code_cells(read_notebook(lesson.read_bytes()))
        for output in cell["outputs"]
    )


LESSONS = [path for path in find_notebooks([], find_source()) if stored_pictures(path)]


def test_the_lessons_have_diagrams() -> None:
    assert {"00_start_here", "01_messages", "03_handshake", "04_stateless"} <= {path.stem for path in LESSONS}


@pytest.fixture(scope="module")
def exporter() -> HTMLExporter:
    return HTMLExporter()


#: What there is to see of each picture.
SEEN: Final = """pictures => pictures.map(picture => {
  const { width, height } = picture.querySelector("svg").getBoundingClientRect();
  const text = picture.querySelector("svg text");
  const letters = text.getBoundingClientRect();
  return {
    label: picture.getAttribute("aria-label"),
    is_large: width > 300 && height > 50,
    is_read: text.checkVisibility({ visibilityProperty: true }) && letters.width > 0 && letters.height > 0,
  };
})"""


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_every_stored_diagram_is_shown_without_a_kernel(
    page: Page, lesson: Path, exporter: HTMLExporter, tmp_path: Path
) -> None:
    file = tmp_path / "exported.html"
    file.write_text(exporter.from_filename(str(lesson))[0], encoding="utf-8")
    # The page asks for scripts from elsewhere, which a reader may not get.
    page.route("http*://**", lambda route: route.abort())
    page.goto(file.as_uri(), wait_until="domcontentloaded")
    pictures = page.get_by_role("img").and_(page.locator("figure"))
    expect(pictures).to_have_count(stored_pictures(lesson))
    for seen in pictures.evaluate_all(SEEN):
        assert len(seen["label"]) > 20
        assert seen["is_large"]
        assert seen["is_read"]


@pytest.mark.usefixtures("fresh")
def test_the_page_of_a_run_works_from_its_file_with_the_network_off(page: Page, tmp_path: Path) -> None:
    recording = STORIES["three-pages"].play().recording
    last = len(player_data(recording)["steps"])
    file = tmp_path / "three-pages.html"
    file.write_text(standalone_html(recording, cursor=0), encoding="utf-8")
    page.context.set_offline(True)
    page.goto(file.as_uri())
    where = page.locator(".mcpsim-where")
    expect(where).to_have_text("Before the first step")
    for step in range(1, last + 1):
        page.keyboard.press("ArrowRight")
        expect(where).to_contain_text(f"Step {step} of {last}")
    page.get_by_role("button", name="First").click()
    expect(where).to_have_text("Before the first step")
