"""The matrix of eras in a browser: every control by mouse and by key."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, expect

from mcpsim.widgets.era_matrix import EraMatrix
from tests.browser.in_page import Shown

Open = Callable[..., Shown]


def cell(shown: Shown, client: str, column: int) -> Locator:
    row = shown.page.get_by_role("row").filter(
        has=shown.page.get_by_role("rowheader", name=client, exact=True)
    )
    return row.get_by_role("button").nth(column)


def matrix(shown: Shown) -> Locator:
    return shown.page.get_by_role("region", name="Versions and eras")


def test_the_chosen_cell_alone_has_the_colour_of_what_is_chosen(show: Open) -> None:
    shown = show(EraMatrix())
    cells = shown.page.locator(".mcpsim-matrix-cell")

    def colours() -> list[str]:
        return [each.evaluate("each => getComputedStyle(each).borderTopColor") for each in cells.all()]

    before = colours()
    chosen = cell(shown, "Dual-era client", 0).evaluate("each => getComputedStyle(each).borderTopColor")
    assert before.count(chosen) == 1
    for column in (0, 1):
        cell(shown, "Legacy client", column).hover()
        assert colours().count(chosen) == 1


def test_a_click_plays_a_cell(show: Open) -> None:
    shown = show(EraMatrix())
    expect(cell(shown, "Dual-era client", 0)).to_have_attribute("aria-pressed", "true")
    fails = cell(shown, "Modern client", 0)
    expect(fails).to_contain_text("✗ fails")
    fails.click()
    expect(fails).to_have_attribute("aria-pressed", "true")
    expect(cell(shown, "Dual-era client", 0)).to_have_attribute("aria-pressed", "false")
    expect(matrix(shown).get_by_role("status")).to_contain_text("legacy server, stdio: it fails.")
    expect(matrix(shown)).to_contain_text("came before initialize")
    player = shown.page.locator(".mcpsim-player")
    expect(player).to_contain_text("Modern client, legacy server")
    assert len(shown.trips) == 1
    matrix(shown).get_by_label("Transport").select_option("http")
    expect(matrix(shown).get_by_role("status")).to_contain_text("Streamable HTTP")
    assert len(shown.trips) == 2
    assert shown.is_narrow_enough()


def test_by_key(show: Open) -> None:
    shown = show(EraMatrix())
    transport = matrix(shown).get_by_label("Transport")
    transport.focus()
    shown.press("ArrowDown")
    expect(matrix(shown).get_by_role("status")).to_contain_text("Streamable HTTP")
    expect(transport).to_be_focused()
    works = cell(shown, "Modern client", 1)
    works.focus()
    shown.press("Enter")
    expect(works).to_have_attribute("aria-pressed", "true")
    expect(works).to_be_focused()
    expect(matrix(shown).get_by_role("status")).to_contain_text("Both speak 2026-07-28. 1 message crossed")
    expect(shown.page.locator(".mcpsim-player")).to_contain_text("Modern client, modern server")


def test_nothing_is_left_behind(show: Open) -> None:
    shown = show(EraMatrix())
    assert shown.leave() == 0
