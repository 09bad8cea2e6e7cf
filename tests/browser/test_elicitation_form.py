"""The elicitation form in a browser: every kind of field by mouse and by key, and the three answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from mcpsim.course.servers import travel_desk
from mcpsim.course.stories.asking import two_rounds
from mcpsim.utilities.elicitation import faults_of_value
from mcpsim.widgets.elicitation_form import ElicitationForm
from mcpsim.widgets.elicitation_form_view import form_data
from tests.browser.in_page import Shown

Open = Callable[..., Shown]

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 3},
        "day": {"type": "string", "format": "date"},
        "bags": {"type": "integer", "minimum": 0, "maximum": 3, "default": 1},
        "agree": {"type": "boolean"},
        "colour": {
            "type": "string",
            "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "<i>"}],
        },
        "meals": {"type": "array", "items": {"type": "string", "enum": ["lunch", "dinner"]}, "maxItems": 1},
    },
    "required": ["name", "agree"],
}


def preview(shown: Shown) -> Any:
    return json.loads(shown.page.get_by_role("group", name="What Accept would send").inner_text())


def box(shown: Shown, name: str) -> Locator:
    return shown.page.get_by_role("textbox", name=name)


def test_filling_in_by_mouse(show: Open) -> None:
    shown = show(ElicitationForm(SCHEMA, server="travel-desk"))
    expect(shown.page.get_by_text("Asked by the server travel-desk")).to_be_visible()
    expect(box(shown, "bags")).to_have_value("1")
    box(shown, "Your name").fill("Ann Lee")
    shown.page.get_by_role("combobox", name="agree").select_option("no (false)")
    shown.page.get_by_role("combobox", name="colour").select_option("<i>")
    shown.page.get_by_role("checkbox", name="dinner").click()
    content = {"name": "Ann Lee", "bags": 1, "agree": False, "colour": "#0f0", "meals": ["dinner"]}
    assert preview(shown) == {"action": "accept", "content": content}
    shown.button("Accept").click()
    expect(shown.status).to_have_text("The answer is accept: Yes, and this is the data.")
    legacy = shown.page.get_by_role("group", name="Legacy: The response to the server's request")
    assert json.loads(legacy.inner_text())["result"] == {"action": "accept", "content": content}
    expect(shown.page.get_by_role("group", name="Modern: The request tools/call once more")).to_contain_text(
        '"inputResponses"'
    )
    assert len(shown.trips) == 1
    # The answer can be changed, and sent again.
    box(shown, "bags").fill("2")
    shown.button("Accept").click()
    expect(legacy).to_contain_text('"bags": 2')


def test_what_is_wrong_after_an_answer_is_told_apart_from_it(show: Open) -> None:
    shown = show(ElicitationForm(SCHEMA))
    shown.button("Cancel").click()
    expect(shown.status).to_contain_text("The answer is cancel")
    shown.button("Accept").click()
    expect(shown.status).to_contain_text("not right. Below stands what was sent before.")


def test_filling_in_by_key_and_what_is_wrong(show: Open) -> None:
    shown = show(ElicitationForm(SCHEMA))
    box(shown, "Your name").focus()
    shown.press("A", "Tab")
    name = box(shown, "Your name")
    expect(name).to_have_attribute("aria-invalid", "true")
    expect(name).to_have_accessible_description(
        "(3 or more characters) “Your name” must have 3 characters or more."
    )
    shown.press(*"2026-02-30", "Tab")
    expect(box(shown, "day")).to_have_accessible_description(
        "(a day, such as 2026-07-28) “day” must be a day, such as 2026-07-28."
    )
    shown.press("Control+A", *"1.5", "Tab")
    expect(box(shown, "bags")).to_have_accessible_description(
        "(a whole number, 0 to 3, empty for the default) “bags” must be a whole number."
    )
    shown.button("Accept").focus()
    shown.press("Enter")
    expect(shown.status).to_have_text("The answer was not sent: 4 fields are not right.")
    expect(name).to_be_focused()
    assert shown.trips == []
    shown.press(*"nna")
    expect(name).to_have_attribute("aria-invalid", "false")
    box(shown, "day").focus()
    shown.press("Control+A", *"2026-02-28", "Tab", "Control+A", "Backspace", "Tab")
    expect(shown.page.get_by_role("combobox", name="agree")).to_be_focused()
    shown.press("ArrowDown")
    shown.page.get_by_role("checkbox", name="lunch").focus()
    shown.press("Space", "Tab", "Space")
    expect(shown.page.get_by_role("group", name="meals")).to_contain_text("at most 1 may be chosen.")
    shown.press("Space", "Tab", "Enter")
    expect(shown.status).to_contain_text("The answer is accept")
    assert shown.trips[0]["asked"]["content"] == {
        "name": "Anna",
        "day": "2026-02-28",
        "bags": 1,
        "agree": True,
        "meals": ["lunch"],
    }


@pytest.mark.parametrize(
    ("button", "action", "says"),
    [
        ("Decline", "decline", "No. An explicit refusal: the server may offer something else."),
        ("Cancel", "cancel", "Closed without a choice, neither yes nor no: the server may ask again later."),
    ],
)
def test_saying_no_needs_no_field(show: Open, button: str, action: str, says: str) -> None:
    shown = show(ElicitationForm(SCHEMA))
    expect(shown.button(button)).to_have_accessible_description(says)
    shown.button(button).click()
    expect(shown.status).to_contain_text(f"The answer is {action}: ")
    legacy = shown.page.get_by_role("group", name="Legacy: The response to the server's request")
    assert json.loads(legacy.inner_text())["result"] == {"action": action}


def test_what_was_sent_stands_where_it_was_shown_what_would_be(show: Open) -> None:
    shown = show(ElicitationForm(SCHEMA))
    would = shown.page.get_by_role("group", name="What Accept would send")
    main = shown.page.locator(".mcpsim-form-action .mcpsim-acting-main")
    expect(main).to_have_text("Accept")
    before = would.bounding_box()
    shown.button("Decline").click()
    legacy = shown.page.get_by_role("group", name="Legacy: The response to the server's request")
    expect(legacy).to_be_visible()
    [first, then] = [legacy.bounding_box(), would.bounding_box()]
    assert before
    assert first
    assert then
    assert first["y"] < before["y"] + 80
    assert then["y"] > first["y"] + first["height"]
    # One button has the frame: the one that was pressed.
    expect(main).to_have_text("Decline")
    expect(shown.button("Decline")).to_have_attribute("aria-current", "true")
    box(shown, "Your name").focus()
    shown.press("A")
    expect(main).to_have_text("Accept")
    expect(shown.button("Decline")).not_to_have_attribute("aria-current", "true")
    now = would.bounding_box()
    assert now
    assert now["y"] == before["y"]


def test_an_address_is_text_and_opens_nothing(show: Open) -> None:
    url = "https://bank.example@evil.example/sign-in"
    shown = show(ElicitationForm({"mode": "url", "message": "Sign in.", "url": url}))
    expect(shown.page.get_by_text(url)).to_be_visible()
    expect(shown.page.locator("mark")).to_have_text("evil.example")
    assert shown.page.get_by_role("link", name="evil").count() == 0
    shown.button("Accept").focus()
    shown.press("Space")
    expect(shown.status).to_contain_text("The answer is accept")
    assert len(shown.page.context.pages) == 1


def test_what_cannot_be_shown_cannot_be_answered(show: Open) -> None:
    shown = show(ElicitationForm({"type": "object", "properties": {"a": {"type": "object"}}}))
    for name in ("Accept", "Decline", "Cancel"):
        expect(shown.button(name)).to_have_attribute("aria-disabled", "true")
        shown.button(name).click(force=True)
    assert shown.trips == []
    expect(shown.page.get_by_text("refuses the question (-32602)")).to_be_visible()


def test_names_that_objects_know_are_names_of_fields(show: Open) -> None:
    names = ["constructor", "__proto__", "toString"]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    shown = show(ElicitationForm(schema))
    for name in names:
        box(shown, name).fill(name)
    shown.button("Accept").click()
    expect(shown.status).to_contain_text("The answer is accept")
    assert shown.trips[0]["asked"]["content"] == {name: name for name in names}


def test_a_run_takes_its_answers_here(show: Open) -> None:
    shown = show(ElicitationForm.in_run(two_rounds, server=travel_desk))
    expect(shown.status).to_have_text("The run waits for answer 1: travel-desk asks.")
    box(shown, "Day of travel").fill("2026-09-01")
    shown.button("Accept").click()
    # The next question has the focus.
    agree = shown.page.get_by_role("combobox", name="Book it")
    expect(agree).to_be_focused()
    shown.press("ArrowUp")
    shown.button("Accept").focus()
    shown.press("Enter")
    expect(shown.status).to_contain_text("The run is over. It came to: ")
    expect(shown.status).to_contain_text("Booked Pisa")
    expect(shown.button("Start the run again")).to_be_focused()
    shown.button("Take the last answer back").click()
    expect(shown.page.get_by_text("costs 80. Book it?")).to_be_visible()
    shown.page.get_by_text("What crossed the wire so far").click()
    expect(shown.page.get_by_role("group", name="What crossed the wire so far")).to_contain_text("tools/call")
    shown.button("Start the run again").focus()
    shown.press("Enter")
    expect(box(shown, "Day of travel")).to_be_visible()


CASES: list[tuple[dict[str, Any], list[Any]]] = [
    ({"type": "string", "minLength": 2, "maxLength": 3}, ["", "a", "ab", "abc", "abcd", "🙂", "🙂🙂"]),
    ({"type": "string", "format": "email"}, ["", "a", "a@b", "a@b.c", "a b@c", "a@b..c", "é@b.c", "a@b.c "]),
    ({"type": "string", "format": "uri"}, ["x", "x:y", "https://a/", "https://a b", "1x:y", "é:b", "a:{b}"]),
    (
        {"type": "string", "format": "date"},
        ["2026-02-29", "2024-02-29", "2026-13-01", "2026-1-1", "2026-12-31"],
    ),
    (
        {"type": "string", "format": "date-time"},
        ["2026-07-28T10:30:00Z", "2026-07-28 10:30:00Z", "2026-07-28T24:00:00Z", "2026-02-30T10:30:00+02:00"],
    ),
    ({"type": "integer", "minimum": 0, "maximum": 3}, [-1, 0, 3, 4, 1.5, 2.0, "many"]),
    ({"type": "number", "minimum": 0.5}, [0.4, 0.5, 1e300, "x"]),
    ({"type": "string", "enum": ["a", "b"]}, ["a", "c", ""]),
    (
        {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "minItems": 1, "maxItems": 2},
        [[], ["a"], ["a", "b", "c"]],
    ),
]


def test_the_browser_and_python_agree(show: Open) -> None:
    names = [str(i) for i in range(len(CASES))]
    schema = {"type": "object", "properties": {name: CASES[int(name)][0] for name in names}}
    shown = show(ElicitationForm(schema))
    described = form_data({"requestedSchema": schema}, "")["fields"]
    for field, (given, values) in zip(described, CASES, strict=True):
        for value in values:
            found = shown.page.evaluate(
                "([field, value]) => window.made.faultsOf(field, value)", [field, value]
            )
            assert bool(found) == bool(list(faults_of_value(given, value))), (given, value, found)


@pytest.mark.parametrize("width", [1400, 700, 400])
def test_it_fits_and_leaves_nothing_behind(show: Open, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    widget = ElicitationForm(SCHEMA)
    widget.respond("decline")
    shown = show(widget, dark=width == 700)
    assert shown.is_narrow_enough()
    assert shown.leave() == 0
