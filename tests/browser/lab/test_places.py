"""Other places than JupyterLab: one notebook in Notebook 7 and in Voilà, by mouse, key and kernel.

Both are pages of the server that JupyterLab has; each has a server of its own that serves the same pages.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.lab.in_lab import Lab, hold_focus, press_run_all

WAIT_MS: Final = 60_000
NAME: Final = "places.ipynb"
CELLS: Final = (
    "from mcpsim import course, widgets\n\nwidgets.Player(course.STORIES['first-call'].play())",
    "course.bench('one-question')",
    "widgets.MessageLab()",
    "widgets.PaginationExplorer()",
)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page 900 pixels wide. What a widget does wrong in it fails the test."""
    context = browser.new_context(viewport={"width": 900, "height": 1000}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(30_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(f"{error}\n{error.stack}"))
    yield page
    context.close()
    # The scripts of the place itself are files of its server; those of a widget come with its model.
    assert [error for error in wrong if "/static/" not in error] == []


def region(page: Page, name: str) -> Locator:
    found = page.get_by_role("region", name=re.compile(name)).first
    expect(found).to_be_visible(timeout=WAIT_MS)
    return found


def wait_for_kernel(page: Page, lab: Lab) -> None:
    """Before the page is connected to its kernel, what is run is lost, and it says idle nevertheless."""
    deadline = time.monotonic() + WAIT_MS / 1000
    while time.monotonic() < deadline:
        kernels = [session["kernel"] for session in lab.sessions() if session["path"] == NAME]
        if any(kernel["connections"] and kernel["execution_state"] == "idle" for kernel in kernels):
            break
        page.wait_for_timeout(200)
    idle = page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")
    expect(idle).to_be_visible(timeout=WAIT_MS)


def use_all(page: Page) -> None:
    """Step, turn, send and read: by mouse, by key, and with the kernel."""
    player = region(page, "^Player: ")
    step = player.get_by_role("spinbutton", name="Go to step")
    player.get_by_role("button", name="Forward", exact=True).click()
    expect(step).to_have_value("2")
    hold_focus(page, player)
    page.keyboard.press("ArrowRight")
    expect(step).to_have_value("3")
    # Notebooks take these keys for themselves, where a widget lets them.
    player.get_by_role("button", name="Forward", exact=True).focus()
    for key in ("b", "Escape", "a", "Home"):
        page.keyboard.press(key)
    expect(step).to_have_value("0")

    bench = region(page, "^Bench: ")
    rows = bench.get_by_role("group", name="The last runs").get_by_role("row")
    expect(rows).to_have_count(2)
    bench.get_by_role("combobox", name="Asked for a seat, the user").select_option("decline")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text('"No seat reserved in IC 31"')
    latency = bench.get_by_role("spinbutton", name="Latency")
    hold_focus(page, latency)
    page.keyboard.press("ArrowUp")
    expect(rows).to_have_count(4)
    expect(rows.nth(1)).to_contain_text("Latency: 20 ms → 30 ms")
    expect(latency).to_be_focused()

    lab = region(page, "^Message lab")
    lab.get_by_role("button", name="tools/list", exact=True).first.click()
    lab.get_by_role("button", name="Send", exact=True).click()
    expect(lab.get_by_role("status").first).to_contain_text("The server answered with a result")

    pages = region(page, "^Pagination")
    first = pages.get_by_role("button", name="First page")
    hold_focus(page, first)
    page.keyboard.press("Enter")
    expect(pages.get_by_role("status").first).to_contain_text("The page brought 1, 2, 3, 4.")

    for each in (player, bench, lab, pages):
        assert each.evaluate("element => element.scrollWidth <= element.clientWidth + 1")


def test_notebook_7(page: Page, lab: Lab) -> None:
    lab.write(NAME, *CELLS)
    page.goto(f"{lab.url}/notebooks/{NAME}?token={lab.token}")
    cells = page.locator(".jp-Notebook .jp-Cell")
    expect(cells).to_have_count(len(CELLS), timeout=WAIT_MS)
    wait_for_kernel(page, lab)
    press_run_all(page)
    use_all(page)
    expect(cells).to_have_count(len(CELLS))
    expect(page.get_by_text("Traceback (most recent call last)")).to_have_count(0)
    lab.stop_kernel(NAME)


def test_voila(page: Page, lab: Lab) -> None:
    lab.write(NAME, *CELLS)
    page.goto(f"{lab.url}/voila/render/{NAME}?token={lab.token}", timeout=WAIT_MS)
    use_all(page)
