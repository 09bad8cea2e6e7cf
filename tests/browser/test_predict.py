"""Predict, in a browser: by mouse and by key, and nothing of what comes can be seen before."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from mcpsim import Recording
from mcpsim.course import MISBEHAVING, bench
from mcpsim.widgets import Player, player_data


def story(name: str = "first-call", era: str = "legacy") -> Recording:
    return bench(name).play(era=era).recording


def right_choice(data: dict[str, Any], step: int) -> int:
    """The place of the right choice, from 1."""
    return [reason for _, reason in data["predictions"]["asked"][str(step)]].index(-1) + 1


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name="Predict", exact=True)


def choices(page: Page) -> Locator:
    return panel(page).get_by_role("group", name=re.compile("What is step")).get_by_role("button")


def switch(page: Page) -> Locator:
    return page.get_by_role("button", name="Predict", exact=True)


def test_by_key(play) -> None:
    recording = story()
    data = player_data(recording)
    page = play(recording, cursor=0)
    page.keyboard.press("q")
    expect(switch(page)).to_have_attribute("aria-pressed", "true")
    expect(panel(page)).to_be_visible()
    expect(choices(page).first).to_be_focused()
    right = 0
    count = 0
    for step in range(1, len(data["steps"]) + 1):
        if str(step) in data["predictions"]["asked"]:
            count += 1
            place = right_choice(data, step)
            wrongly = step % 2 == 0
            page.keyboard.press(str(place % choices(page).count() + 1 if wrongly else place))
            right += not wrongly
            expect(panel(page).get_by_role("status")).to_contain_text("✗ Wrong:" if wrongly else "✓ Right:")
        else:
            # The end of a connection is no message.
            page.keyboard.press("Enter")
        expect(panel(page)).to_contain_text(f"Score: {right} of {count}")
        expect(page.locator(".mcpsim-where")).to_contain_text(f"Step {step} of")
    assert 0 < right < count
    expect(panel(page)).to_contain_text("That was the last step.")
    page.keyboard.press("Escape")
    expect(panel(page)).to_be_hidden()
    expect(page.locator(".mcpsim-player")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("q")
    expect(panel(page)).to_contain_text("Score: 0 of 0")
    expect(choices(page).first).to_be_visible()


def test_by_mouse_and_what_is_wrong_is_explained(play) -> None:
    recording = story()
    data = player_data(recording)
    page = play(recording, cursor=0)
    switch(page).click()
    found = data["predictions"]
    place, (_, reason) = next((i, one) for i, one in enumerate(found["asked"]["1"]) if one[1] >= 0)
    choices(page).nth(place).click()
    why, url = found["reasons"][reason]
    expect(panel(page).get_by_role("status")).to_contain_text(why.replace("`", ""))
    expect(panel(page).get_by_role("link")).to_have_attribute("href", url)
    expect(page.locator(".mcpsim-where")).to_contain_text("Step 1 of")
    # Once is enough: going back does not let it be tried again.
    page.get_by_role("button", name="Back", exact=True).click()
    expect(choices(page)).to_have_count(0)
    panel(page).get_by_role("button", name="Show it").click()
    choices(page).nth(right_choice(data, 2) - 1).click()
    expect(panel(page)).to_contain_text("Score: 1 of 2")
    switch(page).click()
    expect(panel(page)).to_be_hidden()


def test_enter_after_a_digit_answers_nothing_else(play) -> None:
    page = play(story(), cursor=0)
    page.keyboard.press("q")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator(".mcpsim-where")).to_contain_text("Step 1 of")
    expect(panel(page).get_by_role("status")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(choices(page).first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".mcpsim-where")).to_contain_text("Step 2 of")


def test_arrows_go_along_the_choices(play) -> None:
    page = play(story(), cursor=0)
    page.keyboard.press("q")
    page.keyboard.press("ArrowDown")
    expect(choices(page).nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(choices(page).last).to_be_focused()
    expect(page.locator(".mcpsim-where")).to_have_text("Before the first step")
    page.keyboard.press("Enter")
    expect(page.locator(".mcpsim-where")).to_contain_text("Step 1 of")


def test_nothing_of_what_comes_is_seen(play) -> None:
    recording = story("three-pages")
    page = play(recording, cursor=2)
    switch(page).click()
    rows = page.get_by_role("listbox", name="Messages").get_by_role("option")
    expect(rows).to_have_count(2)
    assert page.locator("[data-step='3']").count() == 0
    page.keyboard.press("t")
    expect(page.locator(".mcpsim-table tbody").first.get_by_role("row")).to_have_count(2)
    page.keyboard.press("t")
    # Going on without an answer shows it, and does not count.
    page.keyboard.press("ArrowRight")
    expect(rows).to_have_count(3)
    expect(panel(page)).to_contain_text("Score: 0 of 0")
    switch(page).click()
    expect(rows).to_have_count(len(player_data(recording)["steps"]))
    # What was switched on before stays so.
    page.keyboard.press("h")
    page.keyboard.press("q")
    page.keyboard.press("q")
    hide = page.get_by_role("button", name="Hide next")
    expect(hide).to_have_attribute("aria-pressed", "true")


def test_a_step_that_is_no_message_is_passed(play) -> None:
    recording = bench("one-question").play(era="legacy").recording
    data = player_data(recording)
    passed = next(n for n in range(2, len(data["steps"])) if str(n) not in data["predictions"]["asked"])
    page = play(recording, cursor=passed - 1)
    page.keyboard.press("q")
    expect(panel(page)).to_contain_text("The next step is not asked about.")
    expect(panel(page).get_by_role("button", name="Show it")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".mcpsim-where")).to_contain_text(f"Step {passed} of")


def test_a_digit_too_many_is_not_the_number_of_a_step(play) -> None:
    recording = bench("one-question").play(era="legacy").recording
    data = player_data(recording)
    passed = next(n for n in range(2, len(data["steps"])) if str(n) not in data["predictions"]["asked"])
    page = play(recording, cursor=passed - 1)
    page.keyboard.press("q")
    page.keyboard.press("1")
    expect(page.get_by_text("A digit chooses while you predict")).to_be_visible()
    expect(page.get_by_label("Go to step", exact=True)).to_have_value(str(passed - 1))
    page.keyboard.press("ArrowRight")
    expect(page.locator(".mcpsim-where")).to_contain_text(f"Step {passed} of")
    # Nor is it at the end, where nothing is asked any more.
    page.keyboard.press("End")
    page.keyboard.press("1")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".mcpsim-where")).to_contain_text(f"Step {len(data['steps']) - 1} of")
    page.keyboard.press("g")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.locator(".mcpsim-where")).to_contain_text("Step 2 of")


def test_where_the_findings_are_left_out_nothing_speaks_of_them(show, page: Page) -> None:
    recording = MISBEHAVING["server-forgets-jsonrpc"].play().recording
    show(Player(recording, findings=False))
    page.locator(".mcpsim-player").focus()
    page.keyboard.press("f")
    expect(page.get_by_text("The findings are left out here.")).to_be_visible()
    page.keyboard.press("q")
    expect(panel(page)).to_contain_text("Nothing is asked here")
    (found,) = recording.audit().findings
    assert found.rule not in page.content()
    assert found.message not in page.content()
