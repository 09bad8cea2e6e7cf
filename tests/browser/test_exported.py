"""What a reader without a kernel sees: the stored lessons as web pages, made by nbconvert."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
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


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_every_stored_diagram_is_shown_without_a_kernel(page: Page, lesson: Path, tmp_path: Path) -> None:
    words = ["nbconvert", "--to", "html", "--log-level=ERROR", f"--output-dir={tmp_path}", str(lesson)]
    subprocess.run([sys.executable, "-m", *words], check=True, timeout=120)
    # The page asks for scripts from elsewhere, which a reader may not get.
    page.route("http*://**", lambda route: route.abort())
    page.goto((tmp_path / f"{lesson.stem}.html").as_uri(), wait_until="domcontentloaded")
    pictures = page.get_by_role("img").and_(page.locator("figure"))
    expect(pictures).to_have_count(stored_pictures(lesson))
    for picture in pictures.all():
        assert len(picture.get_attribute("aria-label") or "") > 20
        box = picture.locator("svg").bounding_box()
        assert box is not None
        assert box["width"] > 300
        assert box["height"] > 50
        assert picture.locator("svg text").first.is_visible()


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
