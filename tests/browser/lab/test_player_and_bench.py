"""The player and the bench in JupyterLab, with a kernel: every control, by mouse and by keyboard.

A player has many controls. Each test takes those of one part of it, the first one all that are in no part.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Locator, Page, expect

from mcpsim import Recording
from mcpsim.widgets.exports import EXPORTS
from tests.browser.lab.by_hand import Hand
from tests.browser.lab.in_lab import Desk, hold_focus
from tests.browser.lab.in_plain_page import HANDS

PARTS: Final = {
    "find": ".mcpsim-find",
    "predict": ".mcpsim-predict",
    "branch": ".mcpsim-branch",
    "menu": ".mcpsim-menu",
    "projector": ".mcpsim-stage",
    "panes": ".mcpsim-panel",
    "messages": ".mcpsim-diagram",
    "table": ".mcpsim-table",
    "said": ".mcpsim-said",
}
#: What of the player is not on the screen of a projector, or does not fit on it.
CUT: Final = """() => {
  const root = document.fullscreenElement;
  const room = root.getBoundingClientRect();
  const parts = ["stage", "narration", "narration p", "controls", "predict", "predict *"];
  const shown = root.querySelectorAll(parts.map((part) => `.mcpsim-${part}`).join());
  const out = [...shown].filter((one) => {
    const box = one.getBoundingClientRect();
    const wide = box.left < -1 || box.right > innerWidth + 1;
    return box.width && (wide || box.top < -1 || box.bottom > innerHeight + 1);
  });
  const full = room.width >= innerWidth - 1 && room.height >= innerHeight - 1;
  return [full, out.map((one) => one.className)];
}"""


#: Within an option of a list nothing can be pressed but with the mouse; the key is c.
FOLD: Final = "fold"


def button(shown: Locator, name: str) -> Locator:
    return shown.get_by_role("button", name=name, exact=True)


def step(shown: Locator) -> Locator:
    return shown.get_by_role("spinbutton", name="Go to step")


def at(shown: Locator, number: int) -> None:
    expect(step(shown)).to_have_value(str(number))


def messages(shown: Locator) -> Locator:
    return shown.get_by_role("listbox", name="Messages").get_by_role("option")


def said(shown: Locator) -> Locator:
    return shown.locator(".mcpsim-said").get_by_role("status")


def to_player(hand: Hand, shown: Locator) -> None:
    """The focus on the player itself, for its keys."""
    shown.locator(".mcpsim-player").focus()


def choose(hand: Hand, shown: Locator, name: str, role: Any = "menuitem") -> None:
    """An entry of the menu."""
    hand.press(button(shown, "More"))
    hand.press(shown.get_by_role(role, name=name))


def clipboard(hand: Hand) -> str:
    return str(hand.page.evaluate("navigator.clipboard.readText()"))


# ---------------------------------------------------------------------------------------------- the player


def test_everything_that_is_in_no_part(show: Any, hand: Hand) -> None:
    shown = show("player")
    last = int(step(shown).get_attribute("max") or 0)
    with hand.every_control(shown, outside=", ".join(PARTS.values())):
        hand.press(button(shown, "Forward"))
        at(shown, 2)
        hand.press(button(shown, "Last"))
        at(shown, last)
        hand.press(button(shown, "Back"))
        at(shown, last - 1)
        hand.press(button(shown, "First"))
        at(shown, 0)
        hand.choose(shown.get_by_role("combobox", name="Speed"), "8×")
        hand.press(button(shown, "Play"))
        expect(button(shown, "Pause")).to_be_visible()
        expect(step(shown)).not_to_have_value("0")
        hand.press(button(shown, "Pause"))
        expect(button(shown, "Play")).to_be_visible()
        hand.slide(shown.get_by_role("slider", name="Step"), 0.5, ("Home", "ArrowRight", "ArrowRight"))
        expect(step(shown)).to_have_value(re.compile("^[2-7]$"))
        hand.write(step(shown), "4", "Enter")
        at(shown, 4)
        hand.press(shown.get_by_role("button", name="1 finding of the audit: to the next one"))
        expect(shown.locator(".mcpsim-found")).not_to_be_empty()
        hand.follow(shown.locator(".mcpsim-narration a:visible").first)
        hide = button(shown, "Hide next")
        for pressed in ("true", "false"):
            hand.press(hide)
            expect(hide).to_have_attribute("aria-pressed", pressed)
        for pressed in ("true", "false"):
            hand.press(button(shown, "Table"))
            expect(shown.get_by_role("group", name="All messages as a table")).to_be_visible(
                visible=pressed == "true"
            )
        hand.press(button(shown, "Help: keys and shapes"))
        expect(shown.locator(".mcpsim-help")).to_be_visible()
        hand.press(button(shown, "Help: keys and shapes"))
        expect(shown.locator(".mcpsim-help")).to_be_hidden()
        rows = messages(shown).count()
        hand.press(button(shown, "Fold"))
        expect(messages(shown)).not_to_have_count(rows)
        hand.press(button(shown, "Fold"))
        expect(messages(shown)).to_have_count(rows)
        hand.press(button(shown, "Find"))
        expect(shown.get_by_role("searchbox")).to_be_focused()
        hand.press(button(shown, "Find"))
        hand.press(button(shown, "Predict"))
        expect(shown.get_by_role("region", name="Predict", exact=True)).to_be_visible()
        hand.press(button(shown, "Predict"))
        hand.press(button(shown, "Branch"))
        expect(shown.get_by_role("group", name="Branch from here")).to_be_visible()
        hand.press(button(shown, "Branch"))
        hand.press(button(shown, "More"))
        expect(shown.get_by_role("menu")).to_be_visible()
        hand.press(button(shown, "More"))
        expect(shown.get_by_role("menu")).to_be_hidden()


def test_the_keys_of_the_player(desk: Desk, show_in_lab: Any) -> None:
    """Those that no control has, and JupyterLab would take."""
    shown = show_in_lab("player")
    player = shown.locator(".mcpsim-player")
    player.focus()
    last = int(step(shown).get_attribute("max") or 0)
    keys = [("ArrowRight", 2), ("ArrowDown", 3), ("ArrowUp", 2), ("ArrowLeft", 1), ("End", last), ("Home", 0)]
    for key, number in keys:
        desk.page.keyboard.press(key)
        at(shown, number)
    desk.page.keyboard.press("f")
    expect(shown.locator(".mcpsim-found")).not_to_be_empty()
    for key in ("h", "t", "h", "t", "?", "Escape", "s", "s", "+", "-"):
        desk.page.keyboard.press(key)
    desk.page.keyboard.type("4")
    expect(step(shown)).to_be_focused()
    desk.page.keyboard.press("Enter")
    at(shown, 4)
    rows = messages(shown).count()
    desk.page.keyboard.press("Shift+C")
    expect(messages(shown)).not_to_have_count(rows)
    desk.page.keyboard.press("c")
    expect(messages(shown)).to_have_count(rows)
    for number, name in enumerate(("Message", "Raw bytes", "Memory"), 1):
        desk.page.keyboard.press(f"Alt+{number}")
        expect(shown.get_by_role("tabpanel", name=name)).to_be_visible()
    desk.page.keyboard.press("Space")
    expect(button(shown, "Pause")).to_be_visible()
    desk.page.keyboard.press("Space")
    expect(button(shown, "Play")).to_be_visible()


def test_the_messages(show: Any, hand: Hand) -> None:
    shown = show("rounds")
    alike = {".mcpsim-list .mcpsim-fold": FOLD}
    with hand.every_control(shown, inside=PARTS["messages"], alike=alike, not_by_key=(FOLD,)):
        rows = messages(shown)
        count = rows.count()
        if hand.has_mouse:
            rows.nth(4).click()
        else:
            rows.nth(1).focus()
            for _ in range(3):
                hand.page.keyboard.press("ArrowDown")
        at(shown, 5)
        expect(rows.nth(4)).to_be_focused()
        for folded in (True, False):
            if hand.has_mouse:
                shown.locator(".mcpsim-row .mcpsim-fold").first.click()
            else:
                hand.page.keyboard.press("c")
            expect(rows).not_to_have_count(count) if folded else expect(rows).to_have_count(count)


def test_find_and_filter(show: Any, hand: Hand) -> None:
    shown = show("rounds")
    if hand.has_mouse:
        button(shown, "Find").click()
    else:
        to_player(hand, shown)
        hand.page.keyboard.press("/")
    with hand.every_control(shown, inside=PARTS["find"]):
        field = shown.get_by_role("searchbox", name="Find method, id or text")
        expect(field).to_be_focused()
        hand.write(field, "Tools/Call")
        expect(shown.locator(".mcpsim-row.found")).to_have_count(4)
        hand.press(button(shown, "Next match"))
        at(shown, 5)
        hand.press(button(shown, "Previous match"))
        at(shown, 2)
        count = messages(shown).count()
        for box in shown.locator(".mcpsim-find").get_by_role("checkbox").all():
            hand.tick(box)
            expect(messages(shown)).not_to_have_count(count)
            hand.tick(box)
            expect(messages(shown)).to_have_count(count)
        hand.tick(shown.get_by_role("checkbox", name="user"))
        expect(shown.get_by_text("4 of 6 steps shown")).to_be_visible()
        hand.press(button(shown, "Show all"))
        expect(messages(shown)).to_have_count(count)
    field.focus()
    hand.page.keyboard.press("Escape")
    expect(field).to_be_hidden()


def test_the_table(show: Any, hand: Hand) -> None:
    shown = show("many")
    if hand.has_mouse:
        button(shown, "Table").click()
    else:
        to_player(hand, shown)
        hand.page.keyboard.press("t")
    rows = shown.locator(".mcpsim-table tbody [data-step]")
    with hand.every_control(shown, inside=PARTS["table"]):
        expect(rows).to_have_count(500)
        hand.press(button(shown, "Show more steps"))
        expect(rows).to_have_count(int(step(shown).get_attribute("max") or 0))
        hand.press(button(shown, "Go to step 12"))
        at(shown, 12)
        expect(rows.nth(11)).to_have_attribute("aria-current", "step")
        hand.scroll(shown.get_by_role("group", name="All messages as a table"))


def test_the_panes(show: Any, hand: Hand) -> None:
    shown = show("rounds")

    def tab(name: str, left: int = 0) -> Locator:
        if hand.has_mouse:
            shown.get_by_role("tab", name=name).click()
        else:
            shown.get_by_role("tab", selected=True).focus()
            hand.page.keyboard.press("ArrowLeft" if left else "ArrowRight")
        pane = shown.get_by_role("tabpanel", name=name)
        expect(pane).to_be_visible()
        return pane

    def go(number: int) -> None:
        step(shown).fill(str(number))
        step(shown).press("Enter")
        at(shown, number)

    # The one of the memory says when something changed.
    alike = {"[role=tab]": "a tab"}
    with hand.every_control(shown, inside=PARTS["panes"], alike=alike):
        copied = shown.locator(".mcpsim-panel").get_by_role("status")
        message = shown.get_by_role("tabpanel", name="Message")
        hand.press(button(shown, "Copy JSON"))
        expect(copied).to_contain_text("Copied: ")
        assert json.loads(clipboard(hand))["result"]["resultType"] == "input_required"
        hand.press(button(shown, "Fold the _meta keys"))
        hand.press(button(shown, "Unfold the _meta keys"))
        expect(button(shown, "Fold the _meta keys")).to_be_visible()
        hand.follow(message.locator("a").first)
        for summary in message.locator("summary").all():
            hand.press(summary)
            hand.press(summary)
        go(5)
        hand.press(message.get_by_role("button", name=re.compile("differences?, show$")))
        box = message.locator("details.mcpsim-part-compared")
        expect(box.locator("summary")).to_be_focused()
        hand.press(box.locator("summary"))
        expect(box).not_to_have_attribute("open", "")
        hand.press(box.locator("summary"))
        for summary in message.locator("details:not(.mcpsim-part-compared) > summary").all():
            hand.press(summary)
            hand.press(summary)
        hand.press(box.get_by_role("button", name="Go to step"))
        at(shown, 1)
        if not hand.has_mouse:
            hand.scroll(message)
        raw = tab("Raw bytes")
        hand.press(raw.get_by_role("button", name=re.compile("^Show what follows")))
        expect(raw.locator(".mcpsim-piece")).to_have_count(2)
        hand.press(button(shown, "Copy this message"))
        expect(copied).to_contain_text("Copied: ")
        one = clipboard(hand)
        hand.press(button(shown, "Copy the exchange"))
        expect(copied).not_to_have_text(f"Copied: {len(one):,} characters.")
        assert one.startswith("POST /mcp HTTP/1.1")
        assert one in clipboard(hand)
        hand.press(button(shown, "Hide what follows"))
        expect(raw.locator(".mcpsim-piece")).to_have_count(1)
        go(2)
        hand.press(raw.get_by_role("button", name="Go to step 1"))
        at(shown, 1)
        go(2)
        memory = tab("Memory")
        expect(memory).to_contain_text("client remembers")
        state = memory.locator("details.mcpsim-part-state")
        hand.press(state.locator("summary").first)
        expect(state.first).not_to_have_attribute("open", "")
        tab("Raw bytes", left=1)
        tab("Message", left=1)


# ---------------------------------------------------------------------------------------------- predict


def test_predict(show: Any, hand: Hand) -> None:
    shown = show("predicting")
    panel = shown.get_by_role("region", name="Predict", exact=True)
    choices = panel.get_by_role("group", name=re.compile("What is step")).get_by_role("button")
    hand.press(button(shown, "Predict"))
    last = int(step(shown).get_attribute("max") or 0)
    with hand.every_control(
        shown, inside=PARTS["predict"], alike={".mcpsim-predict-choices button": "a choice"}
    ):
        asked = 0
        linked = False
        for number in range(1, last + 1):
            expect(messages(shown)).to_have_count(number - 1)
            if choices.count():
                asked += 1
                # By a digit, too: it is what the player says.
                if hand.has_mouse or number % 2:
                    hand.press(choices.nth(number % 2))
                else:
                    hand.page.keyboard.press("1")
                told = panel.get_by_role("status")
                expect(told).to_contain_text(re.compile("Right|Wrong"))
                if panel.locator("a").count() and not linked:
                    hand.follow(panel.locator("a").first)
                    linked = True
            else:
                expect(panel).to_contain_text("The next step is not asked about.")
                hand.press(button(panel, "Show it"))
            at(shown, number)
        expect(panel).to_contain_text(f" of {asked}")
        assert linked
        assert 0 < asked < last
    if hand.has_mouse:
        button(shown, "Predict").click()
    else:
        hand.page.keyboard.press("q")
    expect(panel).to_be_hidden()


def test_predict_on_a_projector(show: Any, hand: Hand) -> None:
    """For an instructor: nothing of what comes is on the screen before it was guessed."""
    shown = show("predicting")
    hand.press(button(shown, "Predict"))
    if hand.has_mouse:
        choose(hand, shown, "Projector", "menuitemcheckbox")
    else:
        hand.page.keyboard.press("p")
    hand.page.wait_for_function("document.fullscreenElement !== null")
    choices = shown.get_by_role("group", name="What is step 1?").get_by_role("button")
    expect(choices.first).to_be_visible()
    hand.page.wait_for_function(f"() => {{ const [full, out] = ({CUT})(); return full && !out.length; }}")
    hand.press(choices.first, "1")
    expect(shown.get_by_role("region", name="Predict", exact=True)).to_contain_text(" of 1")
    at(shown, 1)
    hand.press(button(shown, "Leave the projector"))
    expect(shown.get_by_role("region", name="Predict", exact=True)).to_be_visible()
    # Nothing is hidden then.
    hand.press(button(shown, "Predict"))
    expect(messages(shown)).to_have_count(int(step(shown).get_attribute("max") or 0))


# ---------------------------------------------------------------------------------------------- projector


def test_projector(show: Any, hand: Hand) -> None:
    shown = show("rounds")
    panel = shown.get_by_role("tablist", name="About this step")
    stage = shown.locator(".mcpsim-stage")
    if hand.has_mouse:
        choose(hand, shown, "Projector", "menuitemcheckbox")
    else:
        to_player(hand, shown)
        hand.page.keyboard.press("p")
    with hand.every_control(shown, inside=PARTS["projector"]):
        hand.page.wait_for_function("document.fullscreenElement?.matches('.mcpsim-player')")
        expect(stage).to_be_visible()
        for number in (3, 4, 5, 6):
            # The focus is on the player.
            if hand.has_mouse:
                button(shown, "Forward").click()
            else:
                hand.page.keyboard.press("ArrowRight")
            at(shown, number)
            hand.page.wait_for_function(
                f"() => {{ const [full, out] = ({CUT})(); return full && !out.length; }}"
            )
        for visible in (True, False):
            hand.press(button(stage, "Message"))
            expect(panel).to_be_visible(visible=visible)
        hand.press(button(stage, "Leave the projector"))
        expect(stage).to_be_hidden()
    hand.page.wait_for_function("document.fullscreenElement === null")
    expect(messages(shown).first).to_be_visible()
    expect(shown.locator(".mcpsim-player")).to_be_focused()
    hand.page.keyboard.press("p")
    hand.page.wait_for_function("document.fullscreenElement !== null")
    hand.page.keyboard.press("Escape")
    expect(stage).to_be_hidden()
    hand.page.wait_for_function("document.fullscreenElement === null")


# ---------------------------------------------------------------------------------------------- branch


def test_branch_with_each_kind_of_change(show: Any, hand: Hand) -> None:
    shown = show("rounds")
    branch = shown.get_by_role("group", name="Branch from here")

    def play(change: str) -> None:
        hand.tick(branch.get_by_role("radio", name=change))
        hand.press(button(branch, "Play again with this change"))

    def again(told: str) -> None:
        expect(branch).to_contain_text(told)
        expect(rows.first).to_be_visible()
        hand.press(button(branch, "Another change here"))

    rows = branch.get_by_role("listbox", name="Steps of both, aligned").get_by_role("option")
    row = branch.locator(".mcpsim-pair[aria-selected=true]")
    if hand.has_mouse:
        button(shown, "Branch").click()
    else:
        to_player(hand, shown)
        hand.page.keyboard.press("b")
    with hand.every_control(shown, inside=PARTS["branch"]):
        play("Lose the next message")
        expect(branch).to_contain_text("The story ended with an error.")
        again("After step 2: ")
        hand.tick(branch.get_by_role("radio", name="Delay the next message"))
        hand.write(branch.get_by_role("spinbutton", name="Milliseconds"), "250")
        hand.press(button(branch, "Play again with this change"))
        again("takes 250 ms longer")
        play("Deliver the next message twice")
        again("arrives twice")
        hand.tick(branch.get_by_role("radio", name="Edit the next message"))
        text = branch.get_by_role("textbox", name="Message (JSON")
        hand.write(text, text.input_value().replace('"name": "', '"name": "x', 1))
        headers = branch.get_by_role("checkbox", name="Let the HTTP headers repeat the new message")
        hand.tick(headers)
        expect(headers).not_to_be_checked()
        hand.press(button(branch, "Play again with this change"))
        again("edited")
        play("Press Stop")
        again("After step 2: ")
        hand.tick(branch.get_by_role("radio", name="Answer differently"))
        hand.write(branch.get_by_role("textbox", name="What is filled in"), '{"seat": "12A"}')
        hand.choose(branch.get_by_role("combobox", name="Answer"), "cancel")
        hand.press(button(branch, "Play again with this change"))
        again("After step 2: ")
        hand.tick(branch.get_by_role("radio", name="Crash the process of server"))
        hand.write(branch.get_by_role("spinbutton", name="Started again after"), "500")
        hand.press(button(branch, "Play again with this change"))
        expect(branch.locator(".mcpsim-branch-told")).to_contain_text("server")
        # Both runs side by side.
        expect(rows.first).to_have_attribute("aria-label", re.compile("^The same in both"))
        if hand.has_mouse:
            rows.first.click()
        else:
            row.focus()
            hand.page.keyboard.press("Home")
        expect(row).to_have_attribute("data-row", "1")
        hand.scroll(branch.locator("pre").first)
        hand.press(button(branch, "Forward"))
        expect(row).to_have_attribute("data-row", "2")
        hand.press(button(branch, "Back"))
        expect(row).to_have_attribute("data-row", "1")
        hand.press(button(branch, "Next difference"))
        expect(row).not_to_have_attribute("data-row", "1")
        hand.press(button(branch, "Back to the first run"))
        expect(shown.get_by_role("group", name="Controls")).to_be_visible()
        expect(button(shown, "Branch")).to_be_focused()
        # What is not possible is told.
        step(shown).fill("0")
        step(shown).press("Enter")
        at(shown, 0)
        hand.press(button(shown, "Branch"))
        hand.press(branch.get_by_text("2 not possible here"))
        expect(branch.get_by_text("No request of a client is in flight at this step.")).to_be_visible()
        hand.press(button(branch, "Close"))
    expect(branch).to_be_hidden()
    hand.press(button(shown, "Branch"))
    expect(branch.get_by_text("2 not possible here")).to_be_visible()


# ---------------------------------------------------------------------------------------------- menu, exports


def test_the_menu_and_each_export(show: Any, hand: Hand, tmp_path: Path) -> None:
    shown = show("rounds")
    labels = {
        "html": "HTML",
        "svg": "SVG",
        "mermaid": "Mermaid",
        "markdown": "Markdown",
        "jsonl": "JSON Lines",
    }
    begins = {"html": "<!doctype html>", "svg": "<svg ", "mermaid": "sequenceDiagram", "markdown": "# "}
    assert set(labels) == set(EXPORTS)
    with hand.every_control(shown, inside=", ".join((PARTS["menu"], PARTS["said"]))):
        for kind, label in labels.items():
            with hand.page.expect_download() as download:
                choose(hand, shown, label)
            file = tmp_path / download.value.suggested_filename
            assert file.name.endswith(f".{EXPORTS[kind].ending}")
            download.value.save_as(file)
            text = file.read_text(encoding="utf-8")
            assert text.startswith(begins.get(kind, '{"format":"mcpsim-recording"'))
            expect(said(shown)).to_have_text(f"Saved as {file.name}.")
            if kind == "jsonl":
                assert len(Recording.load(file).frames) == 4
        choose(hand, shown, "Time to scale", "menuitemcheckbox")
        expect(shown.locator(".mcpsim-scale")).to_have_text(re.compile("ms = "))
        choose(hand, shown, "Time to scale", "menuitemcheckbox")
        expect(shown.locator(".mcpsim-scale")).to_have_count(0)
        choose(hand, shown, "Copy link text")
        expect(said(shown)).to_contain_text("export it instead")
        hand.press(button(shown, "Close this line"))
        expect(said(shown)).to_be_empty()
        choose(hand, shown, "Projector", "menuitemcheckbox")
        hand.page.wait_for_function("document.fullscreenElement !== null")
        hand.page.keyboard.press("Escape")
        hand.page.wait_for_function("document.fullscreenElement === null")


# ---------------------------------------------------------------------------------------------- bench


def test_bench(show: Any, hand: Hand) -> None:
    shown = show("bench")
    rows = shown.get_by_role("group", name="The last runs").get_by_role("row")

    def knob(role: Any, name: str) -> Locator:
        return shown.get_by_role(role, name=name, exact=True)

    def runs(count: int) -> None:
        expect(rows).to_have_count(count + 1)

    with hand.every_control(shown, outside=".mcpsim-player"):
        hand.tick(knob("checkbox", "The client keeps results"))
        runs(2)
        expect(rows.nth(1)).to_contain_text("The client keeps results: on → off")
        hand.tick(knob("checkbox", "The client keeps results"))
        runs(3)
        hand.one_more(knob("spinbutton", "Latency"))
        expect(rows.nth(1)).to_contain_text("Latency: 20 ms → 30 ms")
        hand.write(knob("spinbutton", "Time to live"), "1000", "Enter")
        expect(rows.nth(1)).to_contain_text("Time to live")
        hand.choose(knob("combobox", "Transport"), "Streamable HTTP")
        expect(rows.nth(1)).to_contain_text("Transport: stdio → Streamable HTTP")
        hand.choose(knob("combobox", "What goes wrong"), "comes late (delay)")
        expect(rows.nth(1)).to_contain_text("comes late (delay)")
        late = knob("combobox", "With which message")
        hand.choose(late, late.get_by_role("option").all_inner_texts()[1])
        expect(rows.nth(1)).to_contain_text("With which message")
        hand.one_more(knob("spinbutton", "By how much"))
        expect(rows.nth(1)).to_contain_text("By how much: 1,000")
        hand.choose(knob("combobox", "Server's eras"), "legacy only")
        expect(rows.nth(1)).to_contain_text("Server's eras")
        hand.press(button(shown, "Back to the story"))
        expect(knob("combobox", "What goes wrong")).to_have_value("none")
        expect(knob("combobox", "Transport")).to_have_value("stdio")
        # A run that is still in the table, once more.
        first = shown.get_by_role("button", name=re.compile("^Run .*: turn the knobs as they stood$")).nth(1)
        label = str(first.get_attribute("aria-label"))
        hand.press(first)
        expect(knob("combobox", "Transport")).to_have_value("http")
        expect(shown.get_by_role("button", name=label)).to_be_visible()
        hand.scroll(shown.get_by_role("group", name="The last runs"))
        # The link text of another story.
        field = knob("textbox", "Link text to open")
        hand.write(field, "mcpsim:first-call?latency_ms=50#2")
        hand.press(button(shown, "Open"))
        expect(knob("spinbutton", "Latency")).to_have_value("50")
        at(shown, 2)
        hand.choose(knob("combobox", "Client's era"), "legacy")
        expect(messages(shown).first).to_contain_text("initialize")


def test_a_link_text_is_copied_and_pasted_into_a_bench(show: Any, hand: Hand) -> None:
    shown = show("bench of pages")
    size = shown.get_by_role("spinbutton", name="Page size")
    hand.write(size, "2", "Enter")
    rows = shown.get_by_role("group", name="The last runs").get_by_role("row")
    expect(rows).to_have_count(3)
    hand.press(button(shown, "Last"))
    hand.press(button(shown, "Back"))
    if hand.has_mouse:
        choose(hand, shown, "Copy link text")
    else:
        hand.page.keyboard.press("l")
    expect(said(shown)).to_contain_text("Copied: ")
    text = clipboard(hand)
    number = int(step(shown).input_value())
    assert text == f"mcpsim:three-pages?page_size=2#{number}"
    hand.press(button(shown, "Back to the story"))
    expect(size).to_have_value("3")
    field = shown.get_by_role("textbox", name="Link text to open")
    if hand.has_mouse:
        field.click()
    else:
        field.focus()
    hand.page.keyboard.press("Control+V")
    expect(field).to_have_value(text)
    if hand.has_mouse:
        button(shown, "Open").click()
    else:
        hand.page.keyboard.press("Enter")
    expect(size).to_have_value("2")
    at(shown, number)


@pytest.mark.parametrize("by", HANDS, indirect=True)
def test_the_branch_of_a_bench(show: Any, hand: Hand) -> None:
    shown = show("bench of pages")
    hand.press(button(shown, "Branch"))
    branch = shown.get_by_role("group", name="Branch from here")
    hand.tick(branch.get_by_role("radio", name="Deliver the next message twice"))
    hand.press(button(branch, "Play again with this change"))
    expect(branch.get_by_role("listbox", name="Steps of both, aligned")).to_be_visible()
    hand.press(button(branch, "Back to the first run"))
    expect(branch).to_be_hidden()


def test_a_knob_is_one_message_to_the_kernel(desk: Desk, show_in_lab: Any) -> None:
    shown = show_in_lab("bench of a question")
    rows = shown.get_by_role("group", name="The last runs").get_by_role("row")
    expect(rows).to_have_count(2)
    answer = shown.get_by_role("combobox", name="Asked for a seat, the user")
    hold_focus(desk.page, answer)
    with sent(desk.page) as frames:
        answer.select_option("decline")
        expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text('"No seat reserved in IC 31"')
    assert len([frame for frame in frames if b"comm_msg" in frame]) == 1
    latency = shown.get_by_role("spinbutton", name="Latency")
    hold_focus(desk.page, latency)
    for key in ("b", "a", "ArrowUp"):
        desk.page.keyboard.press(key)
    expect(rows).to_have_count(4)
    expect(rows.nth(1)).to_contain_text("Latency: 20 ms → 30 ms")
    expect(latency).to_be_focused()
    expect(desk.page.get_by_text("Traceback (most recent call last)")).to_have_count(0)


@contextmanager
def sent(page: Page) -> Iterator[list[bytes]]:
    """What goes out on the WebSockets of a page meanwhile."""
    frames: list[bytes] = []
    session = page.context.new_cdp_session(page)

    def note(event: dict[str, Any]) -> None:
        frame = event["response"]
        is_text = frame["opcode"] == 1
        frames.append(frame["payloadData"].encode() if is_text else base64.b64decode(frame["payloadData"]))

    session.on("Network.webSocketFrameSent", note)
    session.send("Network.enable")
    yield frames
    session.detach()
