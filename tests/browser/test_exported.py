"""What a reader without a kernel sees: the stored lessons as web pages, made by nbconvert."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Page, expect

from mcpsim.course import STORIES
from mcpsim.widgets import player_data, standalone_html
from mcpsim.workbook import find_notebooks, find_source


def pictures_of(cell: Any) -> int:
    """How many still pictures are stored with a cell."""
    outputs = cell["outputs"] if cell["cell_type"] == "code" else []
    return sum("<figure" in "".join(output.get("data", {}).get("text/html", "")) for output in outputs)


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


def test_every_stored_diagram_is_shown_without_a_kernel(page: Page, tmp_path: Path) -> None:
    """The first lesson as it is, and behind its cells those of all other lessons that have a diagram."""
    exported: Any = None
    lessons: list[str] = []
    for path in find_notebooks([], find_source()):
        notebook = nbformat.read(path, as_version=4)
        drawn = [cell for cell in notebook.cells if pictures_of(cell)]
        lessons += [path.stem for cell in drawn for _ in range(pictures_of(cell))]
        if exported is None:
            exported = notebook
            continue
        for cell in drawn:
            cell.id = f"cell-{len(exported.cells)}"
            exported.cells.append(cell)
    assert {"00_start_here", "01_messages", "03_handshake", "04_stateless"} <= set(lessons)
    file = tmp_path / "exported.html"
    file.write_text(HTMLExporter().from_notebook_node(exported)[0], encoding="utf-8")
    # The page asks for scripts from elsewhere, which a reader may not get.
    page.route("http*://**", lambda route: route.abort())
    page.goto(file.as_uri(), wait_until="domcontentloaded")
    seen = page.get_by_role("img").and_(page.locator("figure")).evaluate_all(SEEN)
    page.unroute_all()
    assert len(seen) == len(lessons)
    for lesson, picture in zip(lessons, seen, strict=True):
        assert len(picture["label"]) > 20, lesson
        assert picture["is_large"], (lesson, picture["label"])
        assert picture["is_read"], (lesson, picture["label"])


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
