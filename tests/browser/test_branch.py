"""Branch from here, and two runs side by side, in a browser: by mouse and by key."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from mcpsim import Client, course, simulate
from mcpsim.course import STORIES
from mcpsim.recording import Recording
from mcpsim.widgets import Bench, Comparison, Player
from tests.browser.in_page import Shown

Open = Callable[..., Shown]


def rows(shown: Shown) -> Locator:
    return shown.page.get_by_role("listbox", name="Steps of both, aligned").get_by_role("option")


def chosen(shown: Shown) -> Locator:
    return shown.page.locator(".mcpsim-pair[aria-selected=true]")


def told(shown: Shown) -> Locator:
    return shown.page.locator(".mcpsim-pairs-told")


def compared() -> Comparison:
    story = STORIES["first-call"]
    return Comparison(story.play(era="legacy"), story.play(era="modern"))


def test_two_eras_by_mouse(show: Open) -> None:
    shown = show(compared())
    assert rows(shown).count() == 9
    expect(rows(shown).first).to_have_attribute(
        "aria-label", re.compile("^Only in legacy, client to server: 1 .*initialize #1")
    )
    expect(shown.page.get_by_text("Only in legacy: initialize, result of initialize")).to_be_visible()
    rows(shown).nth(3).click()
    expect(told(shown)).to_contain_text("differs")
    expect(told(shown).get_by_role("rowheader")).to_have_text(["params"])
    assert shown.widget.cursor == 4  # pyright: ignore[reportAttributeAccessIssue]
    shown.button("Forward").click()
    expect(shown.page.get_by_text("Row 5 of 9")).to_be_visible()
    shown.button("Back").click()
    shown.button("Next difference").click()
    expect(shown.page.get_by_text("Row 5 of 9")).to_be_visible()
    assert shown.leave() == 0


def test_two_eras_by_key(show: Open) -> None:
    shown = show(compared())
    rows(shown).first.focus()
    shown.press("ArrowRight", "ArrowDown")
    expect(chosen(shown)).to_be_focused()
    expect(chosen(shown)).to_have_attribute("data-row", "3")
    shown.press("End")
    expect(chosen(shown)).to_have_attribute("aria-label", re.compile("The same in both, server"))
    shown.press("d")
    expect(chosen(shown)).to_have_attribute("data-row", "1")
    shown.press("End", "Home", "ArrowRight", "ArrowLeft")
    expect(chosen(shown)).to_have_attribute("data-row", "1")


def test_what_only_one_has_is_marked_by_shape_and_by_words(show: Open) -> None:
    shown = show(compared())
    cell = rows(shown).first.locator(".mcpsim-pairs-cell").first
    expect(cell).to_contain_text("only here")
    assert cell.evaluate("cell => getComputedStyle(cell).borderTopStyle") == "dashed"
    differs = rows(shown).nth(3).locator(".mcpsim-pairs-cell").first
    assert differs.evaluate("cell => getComputedStyle(cell).borderTopStyle") == "solid"


@pytest.mark.parametrize("width", [400, 900])
def test_a_comparison_is_narrow_enough(show: Open, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    assert show(compared()).is_narrow_enough()


def test_only_the_rows_in_view_are_drawn(show: Open) -> None:
    run = STORIES["first-call"].play()
    note = next(event for event in run.recording.events if event.kind == "closed")
    many = Recording(run.recording.header, (*run.recording.events, *[note] * 2_000))
    shown = show(Comparison(many, many))
    assert rows(shown).count() < 60
    rows(shown).first.focus()
    shown.press("End")
    expect(chosen(shown)).to_have_attribute("data-row", "2006")
    assert rows(shown).count() < 60


def test_a_branch_by_mouse(show: Open) -> None:
    shown = show(Player(STORIES["first-call"].play(), cursor=2))
    shown.button("Branch").click()
    expect(shown.page.get_by_text("The next message is step 3, client → server: tools/call.")).to_be_visible()
    shown.page.get_by_label("Delay the next message").check()
    shown.page.get_by_label("Milliseconds").fill("250")
    shown.button("Play again with this change").click()
    expect(
        shown.page.get_by_text("After step 2: The next message (client → server) takes 250 ms longer.")
    ).to_be_visible()
    expect(rows(shown).nth(0)).to_have_attribute("aria-label", re.compile("^The same in both"))
    expect(shown.page.get_by_text("same, 250 ms later").first).to_be_visible()
    # As late as the row before is said, too: nobody has to look for where it began.
    for row in rows(shown).all()[2:]:
        expect(row.locator(".mcpsim-pairs-later")).to_contain_text("250 ms later")
    expect(shown.page.get_by_role("group", name="Controls")).to_be_hidden()
    # What acts on the first run, which is behind, says so and does nothing.
    for name in ("Table", "Find", "Predict", "Hide next"):
        expect(shown.button(name)).to_have_attribute("aria-disabled", "true")
        expect(shown.button(name)).to_have_attribute("title", re.compile("go back to it first"))
    shown.button("Table").click(force=True)
    expect(shown.page.locator(".mcpsim-said").get_by_role("status")).to_contain_text("behind the branch")
    shown.press("h", "t", "q")
    for name in ("Table", "Predict", "Hide next"):
        expect(shown.button(name)).to_have_attribute("aria-pressed", "false")
    shown.button("Another change here").click()
    shown.page.get_by_label("Lose the next message").check()
    shown.button("Play again with this change").click()
    expect(shown.page.get_by_text("The story ended with an error. RequestTimeout")).to_be_visible()
    expect(chosen(shown)).to_have_attribute(
        "aria-label", re.compile("^Differs, first run: .*branch: .*lost$")
    )
    shown.button("Back to the first run").click()
    expect(shown.page.get_by_role("group", name="Controls")).to_be_visible()
    expect(shown.button("Branch")).to_be_focused()
    # One message there for each thing that was asked: two forms are one, for it was the same step.
    assert [bool(trip["branch_asked"].get("change")) for trip in shown.trips if "branch_asked" in trip] == [
        *(False, True, True)
    ]


def test_a_branch_by_key(show: Open) -> None:
    shown = show(Player(STORIES["first-call"].play(), cursor=2))
    shown.page.get_by_role("listbox", name="Messages").get_by_role("option", selected=True).focus()
    shown.press("b")
    expect(shown.page.get_by_role("radio", name="Lose the next message")).to_be_focused()
    shown.press("ArrowDown")
    expect(shown.page.get_by_role("radio", name="Delay the next message")).to_be_checked()
    assert shown.widget.cursor == 2  # pyright: ignore[reportAttributeAccessIssue]
    shown.press("ArrowUp", "Enter")
    expect(shown.button("Back to the first run")).to_be_focused()
    expect(chosen(shown)).to_have_attribute("data-row", "3")
    shown.press("ArrowRight")
    expect(chosen(shown)).to_have_attribute("data-row", "4")
    shown.press("Escape")
    expect(shown.page.get_by_role("group", name="Controls")).to_be_visible()
    shown.press("b", "Escape")
    expect(shown.page.get_by_role("group", name="Branch from here")).to_be_hidden()


def test_a_message_is_edited_in_the_page(show: Open) -> None:
    shown = show(Player(STORIES["first-call"].play(), cursor=2))
    shown.button("Branch").click()
    shown.page.get_by_label("Edit the next message").check()
    box = shown.page.get_by_role("textbox", name="Message (JSON")
    box.fill(box.input_value().replace('"name": "', '"name": "x', 1))
    shown.button("Play again with this change").click()
    expect(told(shown).get_by_role("rowheader")).to_have_text(["params.name"])


def test_why_something_is_not_possible(show: Open) -> None:
    player = Player(STORIES["first-call"].play())
    player.cursor = player.steps
    shown = show(player)
    shown.button("Branch").click()
    shown.page.get_by_text("not possible here").click()
    expect(shown.page.get_by_text("Lose the next message: Nothing is sent after this step.")).to_be_visible()


def test_a_recording_alone_says_why_it_has_no_branches(show: Open) -> None:
    shown = show(Player(STORIES["first-call"].play().recording))
    expect(shown.button("Branch")).to_have_count(0)
    shown.button("More").click()
    shown.page.get_by_role("menuitem", name="Branch from here").click()
    expect(shown.page.get_by_text("Only the recording is here, not the run")).to_be_visible()


def test_a_page_without_a_kernel_has_no_branches(play: Callable[..., Page]) -> None:
    page = play(STORIES["first-call"].play().recording)
    expect(page.get_by_role("button", name="Branch")).to_have_count(0)
    page.get_by_role("button", name="More").click()
    expect(page.get_by_role("menuitem", name="Branch from here")).to_have_count(0)


def test_the_branch_of_a_bench_goes_with_its_run(show: Open) -> None:
    bench = Bench.of(course.bench("one-question"))
    shown = show(bench)
    shown.button("Branch").click()
    shown.button("Play again with this change").click()
    expect(rows(shown).first).to_be_visible()
    assert bench.branch_shown["branch"]["warning"] == ""


# ------------------------------------------------------------------------------ a kernel that takes its time


def test_a_change_that_takes_long_is_said_and_played_once(show: Open) -> None:
    shown = show(Player(STORIES["first-call"].play(), cursor=2))
    shown.slowly()
    shown.button("Branch").click()
    expect(shown.page.get_by_text("Looking for what can be changed here …")).to_be_visible()
    shown.answer()
    waiting = shown.page.get_by_text("Waiting for the kernel …")
    expect(waiting).to_be_hidden()
    shown.button("Play again with this change").click()
    expect(waiting).to_be_visible()
    expect(shown.page.get_by_role("group", name="Branch from here")).to_have_attribute("aria-busy", "true")
    shown.button("Play again with this change").click()
    shown.press("Enter")
    shown.answer()
    expect(rows(shown).first).to_be_visible()
    shown.answer()
    assert len([trip for trip in shown.trips if trip.get("branch_asked", {}).get("change")]) == 1


def test_who_moves_on_before_the_form_comes_gets_the_one_of_the_new_step(show: Open) -> None:
    shown = show(Player(STORIES["first-call"].play(), cursor=1))
    shown.slowly()
    shown.button("Branch").click()
    shown.button("Forward").click()
    shown.answer()
    shown.answer()
    expect(shown.page.get_by_text("What shall happen after step 2?")).to_be_visible()
    assert shown.widget.cursor == 2  # pyright: ignore[reportAttributeAccessIssue]


def test_two_views_of_a_player_both_get_what_they_ask_for(show: Open) -> None:
    """The wish of one takes the place of the other's where both wait for a message that is under way."""
    shown = show(Player(STORIES["first-call"].play(), cursor=2))
    first, second = shown.page.locator("#here"), shown.second()
    for view in (first, second):
        view.get_by_role("button", name="Branch", exact=True).click()
        expect(view.get_by_role("radio").first).to_be_visible()
    second.get_by_label("Deliver the next message twice").check()
    shown.slowly()
    first.get_by_role("combobox", name="Speed").select_option("2×")
    for view in (first, second):
        view.get_by_role("button", name="Play again with this change").click()
    for _ in range(3):
        shown.answer()
    expect(second.locator(".mcpsim-branch-told")).to_contain_text("arrives twice")
    expect(first.locator(".mcpsim-branch-told")).to_contain_text("is lost on the way")


def test_an_interrupted_kernel_still_answers(show: Open) -> None:
    again: list[bool] = []

    async def story(client: Client) -> None:
        """Played again, it goes on until somebody interrupts it."""
        await client.list_tools()
        if again:
            raise KeyboardInterrupt

    run = simulate(story, server=course.basket_shop())
    again.append(True)
    shown = show(Player(run, cursor=1))
    shown.button("Branch").click()
    shown.button("Play again with this change").click()
    expect(shown.alert).to_contain_text("KeyboardInterrupt")
