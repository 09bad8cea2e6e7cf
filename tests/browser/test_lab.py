"""A newcomer's first minutes: JupyterLab, opened by `mcpsim lab` from an installed wheel, in Chromium."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.in_lab import WAIT_MS, Lab, hold_focus, open_notebook, run_all

LESSON = "notebooks/04_stateless.ipynb"
#: A notebook of one player, where a whole lesson would show no more.
SHORT = "short.ipynb"
PLAY = 'from mcpsim.course import STORIES\n\nSTORIES["ping-both-ways"].play()'


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One for all: the scripts of JupyterLab are large, and are read once."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.set_default_timeout(30_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, lab: Lab) -> Iterator[Page]:
    page = context.new_page()
    yield page
    page.close()
    lab.stop_kernels()


class Shown:
    """What a user reads off a player."""

    def __init__(self, player: Locator) -> None:
        self.player = player
        self.step = player.get_by_role("spinbutton", name="Go to step")
        self.message = player.get_by_role("tabpanel", name="Message")

    def chosen(self) -> str:
        """The row that is chosen in the list of messages."""
        return (
            self.player.get_by_role("listbox", name="Messages")
            .get_by_role("option", selected=True)
            .inner_text()
        )

    def press(self, button: str) -> None:
        self.player.get_by_role("button", name=button, exact=True).click()

    def at(self, step: int) -> str:
        """Wait until the player stands at this step, and read the message that it shows."""
        expect(self.step).to_have_value(str(step), timeout=WAIT_MS)
        return self.message.inner_text()


def test_it_opens_on_the_first_lesson(page: Page, lab: Lab) -> None:
    page.goto(f"{lab.url}/?token={lab.token}")
    page.get_by_role("tab", name="00_start_here.ipynb").wait_for()


def test_a_lesson(page: Page, lab: Lab, tmp_path: Path) -> None:
    """It shows its pictures before anything was run, and then it is run."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    lab.set("apputils-extension/themes", theme="JupyterLab Light")
    open_notebook(page, lab, LESSON)
    picture = page.get_by_role("img", name=re.compile(r"\w+ \w+")).filter(has=page.locator("svg")).first
    picture.scroll_into_view_if_needed()
    expect(picture).to_be_visible(timeout=WAIT_MS)
    step_by_click_and_by_key(page, run_all(page), tmp_path / "light.png")
    assert [url for url in asked if not url.startswith((lab.url, "data:", "blob:"))] == []


def test_a_notebook_in_the_dark(page: Page, lab: Lab, tmp_path: Path) -> None:
    """It is run and saved, and then opened without a kernel."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    lab.set("apputils-extension/themes", theme="JupyterLab Dark")
    lab.write(SHORT, PLAY)
    open_notebook(page, lab, SHORT)
    player = run_all(page)
    step_by_click_and_by_key(page, player, tmp_path / "dark.png")
    the_memory_is_readable(player)
    hold_focus(page, player)
    page.keyboard.press("Control+s")
    is_saved_with_its_pictures(lab.folder / SHORT)
    lab.stop_kernels()
    page.goto(f"{lab.url}/lab/tree/{SHORT}?reset&token={lab.token}")
    picture = page.get_by_role("img", name=re.compile("^Sequence diagram")).first
    picture.scroll_into_view_if_needed()
    expect(picture).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_text("model not found")).to_have_count(0)
    assert [url for url in asked if not url.startswith((lab.url, "data:", "blob:"))] == []


def step_by_click_and_by_key(page: Page, player: Locator, picture: Path) -> None:
    shown = Shown(player)
    shown.press("First")
    shown.at(0)
    by_click = []
    for step in (1, 2, 3):
        shown.press("Forward")
        by_click.append(shown.at(step))
    assert len(set(by_click)) == 3
    for message in by_click:
        assert '"jsonrpc": "2.0"' in message
    page.screenshot(path=picture)

    for step in (2, 1):
        shown.press("Back")
        assert shown.at(step) == by_click[step - 1]
    # The list of messages names the method of the request whose JSON the message pane shows.
    method = re.search(r'"method": "([^"]+)"', by_click[0])
    assert method is not None
    assert method.group(1) in shown.chosen()

    hold_focus(page, shown.player)
    for key, step in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2)):
        page.keyboard.press(key)
        assert shown.at(step) == by_click[step - 1]
    page.keyboard.press("Home")
    shown.at(0)


def the_memory_is_readable(player: Locator) -> None:
    """JupyterLab styles the lists of definitions in an output in its own way: rows must stay rows."""
    player.get_by_role("button", name="Last", exact=True).click()
    player.get_by_role("button", name="Back", exact=True).click()
    player.get_by_role("tab", name=re.compile("^Memory")).click()
    memory = player.get_by_role("tabpanel", name="Memory")
    names, values = memory.locator("dt"), memory.locator("dd")
    assert names.count() == values.count() > 3
    boxes = [(names.nth(n).bounding_box(), values.nth(n).bounding_box()) for n in range(names.count())]
    for name, value in boxes:
        assert name is not None
        assert value is not None
        assert name["y"] + name["height"] <= value["y"] + 1
        assert abs(name["x"] - value["x"]) < 20


def is_saved_with_its_pictures(path: Path) -> None:
    for _ in range(200):
        saved = path.read_text(encoding="utf-8")
        if "Sequence diagram" in saved:
            break
        time.sleep(0.1)
    assert "Sequence diagram" in saved
    assert "widget-view" not in saved
