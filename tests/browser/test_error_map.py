"""The map of errors in a browser: every control by mouse and by key."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from mcpsim.widgets.error_map import ErrorMap
from tests.browser.in_page import Shown

Open = Callable[..., Shown]


def test_by_mouse(show: Open) -> None:
    shown = show(ErrorMap())
    above = shown.page.get_by_role("region", name="Errors: which, when, and for whom")
    shown.button("-32022 UnsupportedProtocolVersion").click()
    expect(above.get_by_role("status")).to_contain_text("modern. It came with HTTP 400.")
    expect(shown.page.locator(".mcpsim-player")).to_contain_text("Example: -32022")
    above.get_by_label("Read by").select_option("model")
    expect(above.get_by_role("status")).to_contain_text("1 of 11 errors are shown.")
    expect(shown.button("-32022 UnsupportedProtocolVersion")).to_have_count(0)
    above.get_by_label("Era").select_option("legacy")
    expect(above.get_by_role("status")).to_contain_text("hide its row")
    assert len(shown.trips) == 3
    assert shown.is_narrow_enough()


@pytest.mark.parametrize(("width", "rows"), [(1180, 9), (704, 8)])
def test_it_reads_as_a_map(show: Open, page: Page, width: int, rows: int) -> None:
    page.set_viewport_size({"width": width, "height": 790})
    shown = show(ErrorMap())
    box = page.get_by_role("group", name="The errors").bounding_box()
    assert box
    buttons = [each.bounding_box() for each in page.locator("[data-code]").all()]
    seen = [each for each in buttons if each and each["y"] + each["height"] <= box["y"] + box["height"]]
    assert len(seen) >= rows
    # Of the chosen one all is said.
    shown.button("-32602 InvalidParams").click()
    shown.settle()
    texts = page.locator(".mcpsim-errors-chosen .mcpsim-errors-text")
    expect(texts.last).to_contain_text("makes them -32602.")
    for text in texts.all():
        assert text.evaluate("each => each.scrollHeight <= each.clientHeight + 1")


def test_by_key(show: Open) -> None:
    shown = show(ErrorMap())
    above = shown.page.get_by_role("region", name="Errors: which, when, and for whom")
    button = shown.button("-32601 MethodNotFound")
    button.focus()
    shown.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_be_focused()
    above.get_by_label("Era").focus()
    shown.press("ArrowDown")
    expect(above.get_by_role("status")).to_contain_text("9 of 11")
    shown.press("Tab", "ArrowDown")
    expect(above.get_by_role("status")).to_contain_text("7 of 11")


def test_nothing_is_left_behind(show: Open) -> None:
    shown = show(ErrorMap())
    assert shown.leave() == 0
