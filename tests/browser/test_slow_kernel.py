"""A kernel that takes its time: what is pressed meanwhile counts, and an old answer turns nothing back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

from mcpsim import widgets
from tests.browser.in_page import Shown

Open = Callable[..., Shown]


def test_a_choice_by_key_goes_on_from_where_it_stands(show: Open) -> None:
    shown = show(widgets.ErrorMap())
    shown.slowly()
    reader = shown.page.get_by_label("Read by")
    values = [option.get_attribute("value") for option in reader.get_by_role("option").all()]
    reader.focus()
    for place in (1, 2, 3):
        shown.press("ArrowDown")
        expect(reader).to_have_value(str(values[place]))
        shown.answer()
        expect(reader).to_have_value(str(values[place]))
    shown.press("ArrowUp")
    shown.press("ArrowUp")
    for _ in range(3):
        shown.answer()
        expect(reader).to_have_value(str(values[1]))
    shown.settle()
    assert shown.widget.shown["reader"] == values[1]  # pyright: ignore[reportAttributeAccessIssue]


def test_what_is_turned_back_before_the_answer_is_turned_back(show: Open) -> None:
    shown = show(widgets.CacheTimeline())
    shown.slowly()
    scope = shown.page.get_by_role("combobox", name="cacheScope")
    before = scope.input_value()
    scope.select_option("private")
    scope.select_option(before)
    shown.answer()
    expect(scope).to_have_value(before)
    shown.answer()
    shown.settle()
    expect(scope).to_have_value(before)
    knobs: Any = shown.widget.shown["knobs"]  # pyright: ignore[reportAttributeAccessIssue]
    assert [knob["value"] for knob in knobs if knob["label"] == "cacheScope"] == [before]


def test_a_number_by_key_goes_on_from_where_it_stands(show: Open) -> None:
    shown = show(widgets.PaginationExplorer())
    shown.slowly()
    size = shown.page.get_by_role("spinbutton", name="Page size")
    stood = int(size.input_value())
    size.focus()
    for by, key in ((1, "ArrowUp"), (2, "ArrowUp"), (1, "ArrowDown"), (0, "ArrowDown")):
        shown.press(key)
        expect(size).to_have_value(str(stood + by))
    for _ in range(4):
        shown.answer()
        expect(size).to_have_value(str(stood))
    shown.settle()
    assert shown.widget.shown["size"] == stood  # pyright: ignore[reportAttributeAccessIssue]


def test_a_message_is_sent_while_something_else_is_under_way_and_once(show: Open) -> None:
    shown = show(widgets.MessageLab())
    shown.slowly()
    shown.page.get_by_role("combobox", name="Show").select_option(label="legacy only")
    for _ in range(2):
        shown.button("Send").click()
    shown.answer()
    shown.button("Send").click()
    for _ in range(2):
        shown.answer()
    shown.settle()
    expect(shown.page.get_by_role("region", name="What came back for message")).to_be_visible()
    assert len(shown.widget.shown["history"]) == 1  # pyright: ignore[reportAttributeAccessIssue]
