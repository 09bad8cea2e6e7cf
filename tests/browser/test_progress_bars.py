"""The progress bars in a browser: stepping, playing and stopping, by mouse and by key."""

from __future__ import annotations

import re
from collections.abc import Callable

import anyio
import pytest
from playwright.sync_api import Locator, Page, expect

from mcpsim import Context, Server, StreamableHttp
from mcpsim.widgets.progress_bars import ProgressBars
from tests.browser.in_page import Shown

Open = Callable[..., Shown]


def shop() -> Server:
    made = Server("shop")

    @made.tool()
    async def export(context: Context, parts: int = 2) -> str:
        """Build a report."""
        for part in range(1, parts + 1):
            await anyio.sleep(0.1)
            await context.report_progress(part, parts, f"<b>Part</b> {part}")
        return "report.pdf"

    @made.tool()
    async def search(context: Context) -> str:
        """Search, nobody knows how long."""
        await anyio.sleep(0.15)
        await context.report_progress(0.5)
        await anyio.sleep(0.15)
        return "found"

    return made


def bars(**more: object) -> ProgressBars:
    return ProgressBars(shop, ["export", "search"], **more)  # type: ignore[arg-type]


def bar(shown: Shown, name: str) -> Locator:
    return shown.page.get_by_role("progressbar", name=name)


def until(shown: Shown, text: str) -> None:
    """Step until the status says so."""
    for _ in range(30):
        if text in shown.status.inner_text():
            return
        shown.button("Step").click()
    raise AssertionError(f"It never said {text!r}.")


def test_stepping_by_mouse(show: Open) -> None:
    shown = show(bars())
    expect(shown.status).to_contain_text("Press Step or Play")
    expect(bar(shown, "#1 export()")).not_to_have_attribute("aria-valuenow", re.compile(".*"))
    until(shown, "Progress arrives: 1 of 2")
    expect(bar(shown, "#1 export()")).to_have_attribute("aria-valuenow", "1")
    expect(bar(shown, "#1 export()")).to_have_attribute("aria-valuemax", "2")
    # Markup in a message is text.
    expect(bar(shown, "#1 export()")).to_have_attribute("aria-valuetext", "1 of 2. <b>Part</b> 1")
    until(shown, "#2: Progress arrives")
    expect(bar(shown, "#2 search()")).not_to_have_attribute("aria-valuenow", re.compile(".*"))
    expect(bar(shown, "#2 search()")).to_have_attribute("aria-valuetext", "0.5, no total")
    shown.button("Back").click()
    expect(bar(shown, "#2 search()")).to_have_attribute("aria-valuetext", "no progress yet")
    shown.button("Run to the end").click()
    expect(bar(shown, "#1 export()")).to_have_attribute(
        "aria-valuetext", "2 of 2. <b>Part</b> 2 → report.pdf"
    )
    expect(shown.button("Step")).to_have_attribute("aria-disabled", "true")


def test_stopping_by_key(show: Open) -> None:
    shown = show(bars())
    shown.button("Step").focus()
    shown.press(*["Enter"] * 6)
    stop = shown.button("Stop #1 export()")
    stop.focus()
    shown.press("Enter")
    shown.settle()
    expect(stop).to_be_focused()
    # The press is seen at once, before anything of it is sent.
    expect(stop).to_have_text("Stopping")
    expect(stop).to_have_attribute("aria-disabled", "true")
    expect(shown.status).to_contain_text("#1: Stop pressed: sent with the next step.")
    shown.button("Step").focus()
    shown.press("Space")
    expect(shown.status).to_have_text("#1: The client sends notifications/cancelled for request #1.")
    expect(stop).to_have_attribute("aria-disabled", "true")
    shown.press("Enter", "Enter")
    expect(shown.page.get_by_role("listitem").filter(has=stop)).to_contain_text("server has stopped the work")
    shown.button("Start over").focus()
    shown.press("Enter")
    expect(shown.status).to_contain_text("Press Step or Play")
    shown.button("Run to the end").focus()
    shown.press("Enter")
    expect(bar(shown, "#1 export()")).to_have_attribute("aria-valuetext", re.compile("report.pdf$"))


def test_stopping_by_mouse_on_http_closes_the_stream(show: Open) -> None:
    shown = show(bars(transport=StreamableHttp()))
    until(shown, "Progress arrives: 1 of 2")
    shown.button("Stop #1 export()").click()
    shown.settle()
    until(shown, "closes the response stream")
    expect(bar(shown, "#1 export()")).to_have_attribute("aria-valuetext", "1 of 2. <b>Part</b> 1 → stopped")
    told = shown.page.get_by_role("group", name="What happened so far")
    expect(told.get_by_role("listitem").last).to_contain_text("closes the response stream")


@pytest.mark.usefixtures("fresh")
def test_playing_to_the_end_and_pausing(show: Open, page: Page) -> None:
    # The page's clock goes when it is told to.
    page.clock.install()
    shown = show(bars())
    shown.button("Play").focus()
    shown.press("Enter")
    expect(shown.button("Pause")).to_be_focused()
    page.clock.run_for(450)
    expect(shown.status).to_contain_text("begins the work")
    shown.button("Pause").click()
    stands = shown.status.inner_text()
    page.clock.run_for(5_000)
    assert shown.status.inner_text() == stands
    shown.button("Play").click()
    page.clock.run_for(20_000)
    expect(shown.button("Step")).to_have_attribute("aria-disabled", "true")
    expect(shown.button("Play")).to_be_visible()


@pytest.mark.parametrize("width", [1400, 700, 400])
def test_it_fits_and_leaves_nothing_behind(show: Open, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    shown = show(bars(), dark=width == 700)
    shown.button("Play").click()
    assert shown.is_narrow_enough()
    assert shown.leave() == 0
