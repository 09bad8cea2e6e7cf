"""A kernel that was restarted, or that does not answer: a widget says so, and holds nothing back."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from mcpsim import widgets
from mcpsim.course import STORIES, bench
from mcpsim.widgets.base import Picture
from tests.browser.in_page import Shown

Open = Callable[..., Shown]
GONE = "The kernel was restarted: run the cell again."
SILENT = re.compile("^No answer yet: the kernel is busy, or gone")
ACTING: dict[str, Callable[[], Picture]] = {
    "bench": lambda: widgets.Bench.of(bench("first-call")),
    "message lab": widgets.MessageLab,
    "caches": widgets.CacheTimeline,
    "matrix": widgets.EraMatrix,
    "errors": widgets.ErrorMap,
    "pages": widgets.PaginationExplorer,
}


def line(shown: Shown | Page | Locator) -> Locator:
    page = shown.page if isinstance(shown, Shown) else shown
    return page.locator(".mcpsim-kernel:visible")


def player() -> widgets.Player:
    run = STORIES["first-call"].play()
    return widgets.Player(run)


@pytest.mark.parametrize("name", ACTING)
def test_what_needs_the_kernel_says_at_once_that_it_was_restarted(show: Open, name: str) -> None:
    shown = show(ACTING[name]())
    expect(line(shown)).to_have_count(0)
    shown.restart()
    expect(line(shown)).to_have_text([GONE])
    expect(line(shown)).to_have_role("status")
    # Nothing is waited for that will not come.
    shown.page.locator("select").first.focus()
    shown.press("ArrowDown")
    busy = shown.page.locator(".mcpsim-acting, .mcpsim-bench")
    expect(busy).to_have_attribute("aria-busy", "false")
    expect(line(shown)).to_have_text([GONE])
    assert shown.leave() == 0


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("name", ["bench", "errors"])
def test_a_long_silence_is_told_and_an_answer_after_it_counts(show: Open, name: str) -> None:
    shown = show(ACTING[name]())
    shown.page.clock.install()
    shown.slowly()
    busy = shown.page.locator(".mcpsim-acting, .mcpsim-bench")
    shown.page.locator("select").first.focus()
    shown.press("ArrowDown")
    expect(busy).to_have_attribute("aria-busy", "true")
    shown.page.clock.fast_forward(5_000)
    expect(line(shown)).to_have_count(0)
    shown.page.clock.fast_forward(2_000)
    expect(line(shown)).to_have_text([SILENT])
    expect(busy).to_have_attribute("aria-busy", "true")
    shown.answer()
    expect(line(shown)).to_have_count(0)
    expect(busy).to_have_attribute("aria-busy", "false")


def test_a_branch_is_not_looked_for_where_the_kernel_was_restarted(show: Open) -> None:
    shown = show(player())
    shown.restart()
    # Stepping needs no kernel.
    expect(line(shown)).to_have_count(0)
    shown.button("Forward").click()
    expect(shown.page.get_by_text("Step 2 of")).to_be_visible()
    shown.button("Branch").click()
    expect(line(shown)).to_have_text([GONE])
    expect(shown.page.get_by_text("Looking for")).to_be_hidden()
    shown.button("Close").click()
    shown.button("More").click()
    shown.page.get_by_role("menuitem", name="Export: picture (SVG)").click()
    expect(shown.page.get_by_text(GONE)).to_be_visible()
    assert shown.leave() == 0


def test_a_branch_that_is_open_at_a_restart_says_so(show: Open) -> None:
    shown = show(player())
    shown.button("Branch").click()
    shown.page.get_by_role("radio").first.wait_for()
    shown.restart()
    expect(line(shown)).to_have_text([GONE])
    shown.button("Play again with this change").click()
    expect(shown.page.get_by_text("Waiting for the kernel")).to_be_hidden()


@pytest.mark.usefixtures("fresh")
def test_a_branch_that_gets_no_answer_says_so(show: Open) -> None:
    shown = show(player())
    shown.page.clock.install()
    shown.slowly()
    shown.button("Branch").click()
    shown.page.clock.fast_forward(7_000)
    expect(line(shown)).to_have_text([SILENT])
    expect(shown.page.get_by_text("Looking for")).to_be_visible()
    shown.answer()
    shown.page.get_by_role("radio").first.wait_for()
    expect(line(shown)).to_have_count(0)
