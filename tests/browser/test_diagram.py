"""What the diagram shows beside messages; find, filter, fold and time to scale, by mouse and by key."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from mcpsim.course import MISBEHAVING, STORIES

ROUNDED = "▸ 2 rounds, 6 steps"


def story(name: str) -> Any:
    return STORIES[name].play().recording


def messages(page: Page) -> Locator:
    return page.get_by_role("listbox", name="Messages").get_by_role("option")


def current(page: Page) -> Locator:
    return page.get_by_role("listbox", name="Messages").get_by_role("option", selected=True)


def at(page: Page, step: int) -> None:
    expect(current(page)).to_have_attribute("data-step", str(step))
    expect(page.get_by_label("Go to step", exact=True)).to_have_value(str(step))


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def shown(page: Page) -> list[int]:
    return steps_of(messages(page))


def steps_of(rows: Locator) -> list[int]:
    # All at once: a row that is out of view may go at any time.
    return list(rows.evaluate_all("rows => rows.map(one => Number(one.dataset.step))"))


def bars(page: Page, kind: str) -> Locator:
    return page.locator(f".mcpsim-drawing .mcpsim-b-{kind}")


# ------------------------------------------------------------------------------------- users and bars


def test_a_user_is_a_lane_of_its_own_shape(play):
    page = play(story("one-question"), cursor=3)
    heads = page.locator(".mcpsim-lane")
    expect(heads).to_have_text(["user", "client", "server"])
    styles = heads.evaluate_all("all => all.map(each => getComputedStyle(each).borderStyle)")
    assert styles == ["dashed", "solid", "solid"]
    expect(current(page)).to_have_attribute(
        "aria-label", re.compile(r"^3: asks Which seat.*, client to user$")
    )
    expect(page.locator(".mcpsim-where")).to_contain_text("asked outside of MCP")
    expect(page.locator(".mcpsim-what")).to_have_text("The client asks the user: “Which seat in IC 31?”")
    expect(page.get_by_role("tabpanel", name="Message")).to_contain_text("nothing crosses the wire")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".mcpsim-what")).to_have_text("The user accepts.")


def test_a_handler_fills_with_its_progress(play, made):
    page = play(made.modern_progress(), cursor=7)
    widths = (
        bars(page, "handler").locator(".done").evaluate_all("all => all.map(e => +e.getAttribute('width'))")
    )
    assert widths == [3, 6, 9]
    expect(bars(page, "handler").locator(".tick")).to_have_count(3)


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("one-question", "asked", 1),
        ("watch-a-notice", "stream", 1),
        ("fresh-then-stale", "fresh", 2),
        ("session-dies-with-the-server", "session", 4),
    ],
)
def test_each_kind_of_bar_is_drawn_and_told_in_the_table_and_the_help(play, name, kind, count):
    page = play(story(name), cursor=1)
    page.keyboard.press("End")
    drawn = page.evaluate(f"document.querySelectorAll('.mcpsim-help .mcpsim-b-{kind}').length")
    assert drawn == 1
    seen = set()
    for _ in range(30):
        seen |= set(bars(page, kind).evaluate_all("all => all.map(each => each.getBBox().y)"))
        page.keyboard.press("ArrowLeft")
    assert len(seen) == count
    button(page, "Table").click()
    rows = page.locator(".mcpsim-going-on tbody tr").filter(has=page.locator(f".mcpsim-b-{kind}"))
    expect(rows).to_have_count(count)


def test_what_is_hidden_does_not_tell_how_long_something_goes_on(play, made):
    page = play(made.modern_progress(), cursor=2)
    page.keyboard.press("h")
    low = "() => document.querySelector('.mcpsim-drawing clipPath rect').getBoundingClientRect().height"
    row = current(page).evaluate("row => parseFloat(row.style.top) + 27")
    assert page.evaluate(
        "() => +document.querySelector('.mcpsim-drawing clipPath rect').getAttribute('height')"
    ) == (row + 10), low
    page.keyboard.press("t")
    going = page.locator(".mcpsim-going-on tbody tr").first
    expect(going).to_contain_text("progress 1 of 3")
    expect(going).not_to_contain_text("2 of 3")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".mcpsim-going-on tbody tr").first).to_contain_text("progress 1 of 3, 2 of 3")


# -------------------------------------------------------------------------------------- time to scale


def test_time_to_scale_by_key_and_by_mouse(play, made):
    page = play(made.modern_progress(), cursor=3)
    tops = "all => all.map(each => parseFloat(each.style.top))"
    even = messages(page).evaluate_all(tops)
    page.keyboard.press("s")
    at(page, 3)
    expect(page.locator(".mcpsim-scale")).to_have_text(re.compile(r"^[125]0* ms = \d\d px$"))
    expect(page.get_by_role("status").filter(has_text="Time to scale")).to_be_visible()
    scaled = messages(page).evaluate_all(tops)
    assert scaled != even
    # Step 2 to 3 and step 3 to 4 take 220 ms each.
    assert abs((scaled[2] - scaled[1]) - (scaled[3] - scaled[2])) <= 1
    button(page, "More").click()
    item = page.get_by_role("menuitemcheckbox", name="Time to scale")
    expect(item).to_have_attribute("aria-checked", "true")
    item.click()
    expect(page.locator(".mcpsim-scale")).to_have_count(0)
    assert messages(page).evaluate_all(tops) == even
    at(page, 3)


def test_the_step_at_hand_stays_where_it_is_on_the_screen(play, made):
    page = play(made.long(400), cursor=200)
    top = current(page).bounding_box()["y"]
    page.keyboard.press("s")
    page.locator(".mcpsim-scale").wait_for()
    # The line that tells what the switch did stands above, and moves all of it.
    said = page.locator(".mcpsim-said").bounding_box()["height"]
    assert abs(current(page).bounding_box()["y"] - top - said) < 20


def test_what_is_not_to_scale_is_marked(play, made):
    page = play(made.dropped(), cursor=4)
    page.keyboard.press("s")
    expect(page.locator(".mcpsim-wait text").filter(has_text="not to scale").first).to_be_visible()
    expect(page.locator(".mcpsim-wait .loose").first).to_be_attached()


# ------------------------------------------------------------------------------------------------ fold


def test_fold_by_key(play):
    page = play(story("one-question"), cursor=5)
    page.keyboard.press("c")
    at(page, 1)
    assert shown(page) == [1, 7, 8]
    expect(current(page)).to_contain_text(ROUNDED)
    expect(current(page)).to_have_attribute("aria-description", "folded: 2 rounds, 6 steps")
    page.keyboard.press("ArrowRight")
    at(page, 7)
    page.keyboard.press("ArrowLeft")
    at(page, 1)
    page.keyboard.press("c")
    assert shown(page) == [1, 2, 3, 4, 5, 6, 7, 8]
    expect(page.get_by_role("listbox")).not_to_contain_text("▸")


def test_fold_by_mouse(play):
    page = play(story("one-question"), cursor=8)
    page.locator(".mcpsim-fold").click()
    at(page, 8)
    assert shown(page) == [1, 7, 8]
    expect(button(page, "Fold")).to_have_attribute("aria-pressed", "true")
    button(page, "Back").click()
    button(page, "Back").click()
    at(page, 1)
    button(page, "Forward").click()
    at(page, 7)
    button(page, "Fold").click()
    assert shown(page) == [1, 2, 3, 4, 5, 6, 7, 8]
    button(page, "Fold").click()
    page.keyboard.press("Shift+C")
    assert len(shown(page)) == 8


def test_whoever_goes_straight_to_a_folded_step_opens_it(play):
    page = play(story("one-question"), cursor=1)
    page.keyboard.press("c")
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    at(page, 4)
    assert len(shown(page)) == 8
    expect(current(page)).to_be_focused()


@pytest.mark.usefixtures("fresh")
def test_play_tells_every_step_and_leaves_what_is_folded(play):
    page = play(story("one-question"), cursor=1)
    page.keyboard.press("c")
    page.clock.install()
    page.keyboard.press("Space")
    page.clock.run_for(1_700)
    at(page, 2)
    assert shown(page) == [1, 2, 7, 8]
    page.clock.run_for(1_700)
    assert shown(page) == [1, 3, 7, 8]
    page.clock.run_for(1_700 * 4)
    at(page, 7)
    assert shown(page) == [1, 7, 8]


def test_where_what_comes_is_hidden_a_fold_tells_no_number(play):
    page = play(story("three-pages"), cursor=1)
    page.keyboard.press("h")
    page.keyboard.press("c")
    expect(current(page)).to_contain_text("▸ pages of resources/list")
    expect(page.locator(".mcpsim-player")).not_to_contain_text("3 pages")
    page.keyboard.press("h")
    page.keyboard.press("t")
    expect(page.locator(".mcpsim-table tbody [data-step]")).to_have_count(3)


def test_without_anything_to_fold_there_is_no_button(play, made):
    page = play(made.modern_progress())
    expect(button(page, "Fold")).to_have_count(0)
    page.keyboard.press("c")
    page.keyboard.press("Shift+C")
    at(page, 1)


# ------------------------------------------------------------------------------------- find and filter


def test_find_by_key(play, made):
    page = play(made.legacy_handshake())
    page.keyboard.press("/")
    field = page.get_by_role("searchbox", name="Find method, id or text")
    expect(field).to_be_focused()
    page.keyboard.type("Tools/List")
    count = page.locator(".mcpsim-find-count").first
    expect(count).to_have_text("2 matches")
    expect(page.locator(".mcpsim-row.found")).to_have_count(2)
    page.keyboard.press("Enter")
    at(page, 4)
    expect(count).to_have_text("1 of 2 matches")
    page.keyboard.press("Enter")
    at(page, 5)
    page.keyboard.press("Enter")
    at(page, 4)
    page.keyboard.press("Shift+Enter")
    at(page, 5)
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    expect(page.locator(".mcpsim-row.found")).to_have_count(0)
    expect(page.locator(".mcpsim-player")).to_be_focused()
    at(page, 5)


def test_find_by_mouse(play, made):
    page = play(made.legacy_handshake())
    button(page, "Find").click()
    page.get_by_role("searchbox").fill('"s-1"')
    button(page, "Next match").click()
    at(page, 7)
    button(page, "Next match").click()
    at(page, 9)
    button(page, "Previous match").click()
    at(page, 7)
    expect(messages(page).nth(8)).to_have_attribute("aria-description", re.compile("found$"))
    button(page, "Find").click()
    expect(page.get_by_role("searchbox")).to_be_hidden()


@pytest.mark.parametrize(
    ("text", "steps"),
    [("close ticket 7", [7]), ("SERVERINFO", [2]), ("no such thing", []), ("cleaning", [13]), ("(.*", [])],
)
def test_what_is_found(play, made, text, steps):
    page = play(made.legacy_handshake())
    page.keyboard.press("/")
    page.keyboard.type(text)
    found = page.locator(".mcpsim-row.found")
    expect(page.locator(".mcpsim-find-count").first).to_have_text(re.compile("match"))
    assert steps_of(found) == steps


def test_what_is_still_hidden_is_not_found(play, made):
    page = play(made.legacy_handshake(), cursor=4)
    page.keyboard.press("h")
    page.keyboard.press("/")
    page.keyboard.type("tools/list")
    expect(page.locator(".mcpsim-find-count").first).to_have_text("1 of 1 match")
    page.keyboard.press("Enter")
    at(page, 4)


def test_filter_by_kind_and_by_lane(play, made):
    page = play(made.gateway(), cursor=1)
    button(page, "Find").click()
    page.get_by_role("checkbox", name="result").uncheck()
    assert shown(page) == [1, 2, 5, 6]
    expect(page.get_by_text("4 of 8 steps shown", exact=True)).to_be_visible()
    page.get_by_role("checkbox", name="server").focus()
    page.keyboard.press("Space")
    assert shown(page) == [1, 5]
    expect(button(page, "Find (filtered)")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    at(page, 5)
    # Whoever goes straight to a step that is not shown sees it for as long as it is there.
    page.keyboard.press("6")
    page.keyboard.press("Enter")
    at(page, 6)
    assert shown(page) == [1, 5, 6]
    page.keyboard.press("ArrowLeft")
    assert shown(page) == [1, 5]
    page.keyboard.press("t")
    expect(page.locator(".mcpsim-table tbody [data-step]")).to_have_count(2)
    page.keyboard.press("t")
    button(page, "Find (filtered)").click()
    button(page, "Show all").click()
    assert shown(page) == [1, 2, 3, 4, 5, 6, 7, 8]
    expect(page.get_by_role("checkbox", name="result")).to_be_checked()
    # It can do nothing now, and keeps the focus: otherwise no key would do anything.
    expect(button(page, "Show all")).to_be_focused()
    expect(button(page, "Show all")).to_have_attribute("aria-disabled", "true")
    page.get_by_role("checkbox", name="request").uncheck()
    expect(page.get_by_text("steps shown, and step 5, where you are")).to_be_visible()


def test_rows_that_are_left_close_up(play, made):
    page = play(made.gateway(), cursor=1)
    whole = page.locator(".mcpsim-list").bounding_box()["height"]
    button(page, "Find").click()
    page.get_by_role("checkbox", name="result").uncheck()
    assert page.locator(".mcpsim-list").bounding_box()["height"] == whole - 4 * 40


def test_hostile_text_is_found_as_text(play, made):
    page = play(made.hostile(), cursor=0)
    page.keyboard.press("/")
    page.keyboard.type("<script>")
    expect(page.locator(".mcpsim-find-count").first).to_have_text(re.compile("matches$"))
    for _ in range(4):
        page.keyboard.press("Enter")
    assert page.evaluate("window.hostile") is None


# ------------------------------------------------------------------------------------------- many of them


def test_the_table_of_a_long_run_tells_what_goes_on_near_the_step_at_hand(play, made):
    page = play(made.long(800), cursor=500)
    page.keyboard.press("t")
    going = page.locator(".mcpsim-going-on")
    expect(going.locator("tbody tr")).to_have_count(60)
    expect(going.locator("caption")).to_contain_text("what is nearest to step 500, without ")
    begins = [int(text) for text in going.locator("tbody tr td:nth-child(3)").all_inner_texts()]
    # What is under way at that step, from wherever it began, and what began not far from it.
    assert sum(300 <= each <= 700 for each in begins) >= 50


@pytest.fixture
def narrow(page: Page) -> None:
    """As wide as an output of JupyterLab on a screen of 1400 pixels."""
    page.set_viewport_size({"width": 980, "height": 760})


SIDEWAYS = "element => [element.scrollLeft, element.scrollWidth - element.clientWidth]"
#: Whether all of an element can be seen in the label of its row.
WHOLE = """element => {
  const [own, label] = [element, element.closest(".mcpsim-text")].map((each) => each.getBoundingClientRect());
  return own.width > 20 && own.right <= label.right + 1 && own.left >= label.left - 1;
}"""


def test_three_lanes_have_room_beside_the_panes(play, narrow: None) -> None:
    page = play(MISBEHAVING["server-asks-too-early"].play().recording, cursor=1)
    diagram = page.get_by_role("group", name="Sequence diagram", exact=True)
    assert diagram.evaluate(SIDEWAYS) == [0, 0]
    # The flag stays, and its words are for whoever hears them.
    row = messages(page).nth(2)
    flag = row.locator(".mcpsim-pin")
    assert flag.evaluate(WHOLE)
    expect(flag).to_have_attribute("title", re.compile("advice"))
    expect(row).to_have_accessible_name(re.compile("against advice"))


def test_the_numbers_stay_where_the_diagram_is_scrolled_sideways(play, page: Page) -> None:
    page.set_viewport_size({"width": 420, "height": 760})
    play(STORIES["any-replica-will-do"].play().recording, cursor=1)
    diagram = page.get_by_role("group", name="Sequence diagram", exact=True)
    diagram.evaluate("element => (element.scrollLeft = 60)")
    number = messages(page).first.locator(".mcpsim-number")
    expect(page.locator(".mcpsim-canvas")).to_have_attribute("style", re.compile("--scrolled: 60px"))
    left = "element => element.getBoundingClientRect().left"
    assert number.evaluate(left) >= diagram.evaluate(left)


def test_a_finding_has_its_words_where_they_have_room(play) -> None:
    page = play(MISBEHAVING["server-asks-too-early"].play().recording, cursor=1)
    flag = messages(page).nth(2).locator(".mcpsim-pin")
    assert flag.evaluate(WHOLE)


def test_the_table_has_room_beside_the_panes(play, narrow: None) -> None:
    page = play(MISBEHAVING["server-asks-too-early"].play().recording, cursor=2)
    page.keyboard.press("t")
    table = page.get_by_role("group", name="All messages as a table")
    expect(table).to_be_visible()
    assert table.evaluate(SIDEWAYS) == [0, 0]
