"""The pagination explorer in a browser: every control by mouse and by key."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from mcpsim.widgets.pagination_explorer import PaginationExplorer
from tests.browser.in_page import Shown

Open = Callable[..., Shown]


def row(shown: Shown, name: str) -> Locator:
    return shown.page.get_by_role("row").filter(
        has=shown.page.get_by_role("rowheader", name=name, exact=True)
    )


def by_now(shown: Shown) -> list[str]:
    return row(shown, "By now").get_by_role("cell").all_inner_texts()[:-1]


def test_reading_to_the_end_by_mouse(show: Open) -> None:
    shown = show(PaginationExplorer())
    shown.button("First page").click()
    expect(row(shown, "Page 1")).to_contain_text("sent: no cursor")
    expect(shown.status).to_contain_text("The page brought 1, 2, 3, 4.")
    shown.button("Next page").click()
    expect(row(shown, "Page 2")).to_be_visible()
    shown.button("Next page").click()
    expect(row(shown, "Page 3")).to_contain_text("none: this is the end")
    expect(shown.button("Next page")).to_have_attribute("aria-disabled", "true")
    shown.button("Next page").click(force=True)
    assert len(shown.trips) == 3
    shown.button("Start again").click()
    expect(row(shown, "The list, time 2")).to_be_visible()


def test_no_press_is_lost_while_the_kernel_is_busy(show: Open) -> None:
    shown = show(PaginationExplorer())
    shown.button("First page").focus()
    # In one go: no answer can come in between.
    press = "() => { const button = document.activeElement; button.click(); button.click(); button.click(); }"
    shown.page.evaluate(press)
    expect(row(shown, "Page 3")).to_be_visible()
    assert [trip["asked"]["n"] for trip in shown.trips] == [1, 2, 3]


def test_a_gap_by_key(show: Open) -> None:
    shown = show(PaginationExplorer(scheme="offset"))
    shown.button("First page").focus()
    shown.press("Enter")
    expect(row(shown, "Page 1")).to_be_visible()
    # The focus stays on the button, under its new name.
    expect(shown.button("Next page")).to_be_focused()
    old = shown.page.get_by_role("combobox", name="Item", exact=True)
    old.focus()
    shown.press("ArrowDown", "Tab", "Enter")
    expect(row(shown, "An item is removed")).to_be_visible()
    expect(shown.status).to_contain_text("2 was removed from the list. The client does not know. Missed: 5.")
    shown.button("Undo").focus()
    shown.press("Space")
    expect(row(shown, "An item is removed")).to_have_count(0)
    scheme = shown.page.get_by_role("combobox", name="This server hides in the cursor")
    scheme.focus()
    shown.press("ArrowUp")
    expect(row(shown, "Page 1")).to_contain_text("behind 4")
    expect(scheme).to_be_focused()


def test_an_item_that_comes_twice_by_mouse(show: Open) -> None:
    shown = show(PaginationExplorer(scheme="offset"))
    shown.button("First page").click()
    shown.page.get_by_role("combobox", name="New item").select_option("at the front")
    shown.button("Add").click()
    expect(row(shown, "An item is added")).to_be_visible()
    shown.button("Next page").click()
    expect(row(shown, "Page 2").get_by_title("4: came again")).to_be_visible()
    assert by_now(shown)[4].split("\n") == ["2×", "came 2 times"]
    shown.page.get_by_role("combobox", name="This server hides in the cursor").select_option(
        "the last item that was shown"
    )
    expect(row(shown, "Page 2").get_by_title("4: in the list")).to_be_visible()


def test_cursors_that_are_made_up(show: Open) -> None:
    shown = show(PaginationExplorer())
    field = shown.page.get_by_role("textbox", name="Made-up cursor")
    field.fill("<img src=x onerror=alert(1)>")
    field.press("Enter")
    expect(row(shown, "Refused")).to_contain_text('"<img src=x onerror=alert(1)>"')
    expect(row(shown, "Refused")).to_contain_text("-32602")
    shown.button("Send an empty one").click()
    expect(row(shown, "Refused")).to_have_count(2)
    shown.button("Send it").click()
    expect(row(shown, "Refused")).to_have_count(3)
    assert shown.page.locator("img").count() == 0


def test_the_page_size_and_what_cannot_be_done(show: Open) -> None:
    shown = show(PaginationExplorer(2, 1))
    size = shown.page.get_by_role("spinbutton", name="Page size")
    size.fill("99")
    size.press("Enter")
    expect(row(shown, "Page size 30")).to_be_visible()
    shown.button("Remove").click()
    expect(row(shown, "An item is removed")).to_be_visible()
    shown.button("Remove").click()
    expect(shown.alert).to_have_text("The last item stays: an empty list has nothing to show.")
    expect(shown.button("Remove")).to_be_focused()


def test_every_column_is_in_sight_in_a_narrow_page(show: Open, page: Page) -> None:
    page.set_viewport_size({"width": 692, "height": 790})
    shown = show(PaginationExplorer())
    for name in ("First page", "Add", "Next page", "Remove", "Next page", "Send it"):
        shown.button(name).click()
        shown.settle()
    box = page.get_by_role("group", name="The list and its pages")
    assert box.evaluate("each => each.scrollWidth <= each.clientWidth")


@pytest.mark.parametrize("width", [1400, 900, 400])
def test_it_fits_and_leaves_nothing_behind(show: Open, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    widget = PaginationExplorer(30, 4)
    widget.next_page()
    shown = show(widget, dark=width == 900)
    assert shown.is_narrow_enough()
    assert shown.leave() == 0
    expect(page.get_by_role("region")).to_have_count(0)
