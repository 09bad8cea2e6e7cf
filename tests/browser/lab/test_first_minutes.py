"""A newcomer's first minutes: JupyterLab, opened by `mcpsim lab` from an installed wheel, in Chromium."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.lab.in_lab import WAIT_MS, Lab, hold_focus, run_all, wait_for_kernel

LESSON = "notebooks/00_start_here.ipynb"


@pytest.fixture
def page(browser: Browser, lab: Lab) -> Iterator[Page]:
    """A page that asks nobody but its server."""
    lab.set("apputils-extension/themes", theme="JupyterLab Light")
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.set_default_timeout(30_000)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    yield page
    context.close()
    assert [url for url in asked if not url.startswith((lab.url, "data:", "blob:"))] == []


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


def test_the_first_minutes(page: Page, lab: Lab, tmp_path: Path) -> None:
    """The first lesson is open. It is run, looked at in the light and in the dark, and saved.

    Then it is opened again without a kernel.
    """
    page.goto(f"{lab.url}/?token={lab.token}")
    page.get_by_role("tab", name=Path(LESSON).name).wait_for()
    wait_for_kernel(page)
    shows_its_pictures(page, r"\w+ \w+")
    player = run_all(page)
    step_by_click_and_by_key(page, player, tmp_path / "light.png")
    choose_theme(page, "JupyterLab Dark")
    step_by_click_and_by_key(page, player, tmp_path / "dark.png")
    assert (tmp_path / "light.png").read_bytes() != (tmp_path / "dark.png").read_bytes()
    # The second run is a legacy one: modern peers remember nothing.
    the_memory_is_readable(page.get_by_role("region", name=re.compile("^Player: ")).nth(1))
    hold_focus(page, player)
    page.keyboard.press("Control+s")
    is_saved_with_its_pictures(lab.folder / LESSON)
    page.get_by_role("menuitem", name="File", exact=True).click()
    page.get_by_role("menuitem", name=re.compile("^Close and Shut Down Notebook")).click()
    page.locator(".jp-Dialog .jp-mod-accept").click()
    expect(page.locator(".jp-Notebook")).to_have_count(0)
    assert LESSON not in [session["path"] for session in lab.sessions()]
    page.locator(".jp-DirListing-item").get_by_text(Path(LESSON).name, exact=True).dblclick()
    shows_its_pictures(page, "^Sequence diagram")
    expect(page.get_by_text("model not found")).to_have_count(0)


def shows_its_pictures(page: Page, name: str) -> None:
    """What is stored in a notebook is seen before anything in it was run."""
    picture = page.get_by_role("img", name=re.compile(name)).filter(has=page.locator("svg")).first
    picture.scroll_into_view_if_needed()
    expect(picture).to_be_visible(timeout=WAIT_MS)


def choose_theme(page: Page, name: str) -> None:
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    for item in ("Theme", name):
        page.locator(".lm-Menu-itemLabel").get_by_text(item, exact=True).click()
    page.locator("body[data-jp-theme-light=false]").wait_for(state="attached")


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
