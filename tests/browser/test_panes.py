"""The panes beside the diagram: what changed, the bytes of an exchange, the clipboard, the memory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from mcpsim import Stdio, StreamableHttp
from mcpsim.course import STORIES
from mcpsim.recording import Recording
from mcpsim.widgets import player_data

Play = Callable[..., Page]

#: Chromium answers for the clipboard only where a page may use it; here it is watched instead.
NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });"
CLIPBOARD = """
window.copied = [];
Object.defineProperty(navigator, 'clipboard', {
  value: { writeText: async (text) => { window.copied.push(text); } }, configurable: true,
});
"""


def played(name: str, transport: Any = None, era: Any = "modern") -> Recording:
    return STORIES[name].play(era=era, transport=transport or Stdio()).recording


def pane(page: Page, name: str) -> Any:
    return page.get_by_role("tabpanel", name=name)


def said(page: Page) -> Any:
    return page.locator(".mcpsim-panel").get_by_role("status")


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_a_page_is_compared_with_the_page_before(play: Play, by: str) -> None:
    page = play(played("three-pages"), cursor=4)
    message = pane(page, "Message")
    box = message.locator("details.mcpsim-part-compared")
    expect(box.locator("summary")).to_have_text("Compared with step 2, page 1: 8 differences")
    expect(box).to_contain_text("≠ changed result.nextCursor")
    expect(box).to_contain_text("+ added result.resources.0 (“report-2022”)")
    expect(box).to_contain_text("− removed result.resources.0 (“report-2019”)")
    # In the message itself the same members are marked with a sign.
    expect(message.locator(".mcpsim-now-changed").filter(has_text="nextCursor")).to_contain_text("≠")
    shortcut = message.get_by_role("button", name="Step 2: 8 differences, show")
    other = box.get_by_role("button", name="Go to step 2")
    if by == "mouse":
        shortcut.click()
        expect(box.locator("summary")).to_be_focused()
        other.click()
    else:
        shortcut.focus()
        page.keyboard.press("Enter")
        expect(box.locator("summary")).to_be_focused()
        page.keyboard.press("Enter")
        expect(box).not_to_have_attribute("open", "")
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        expect(other).to_be_focused()
        page.keyboard.press("Enter")
    expect(page.get_by_label("Go to step")).to_have_value("2")
    expect(message.locator("details.mcpsim-part-compared")).to_have_count(0)


def test_what_is_folded_stays_folded(play: Play) -> None:
    page = play(played("three-pages"), cursor=4)
    message = pane(page, "Message")
    message.locator("details.mcpsim-part-compared summary").click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    box = message.locator("details.mcpsim-part-compared")
    expect(box).to_contain_text("Compared with step 4, page 2")
    expect(box).not_to_have_attribute("open", "")


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_the_meta_keys_stand_apart_and_can_be_folded(play: Play, by: str) -> None:
    page = play(played("three-pages"), cursor=1)
    message = pane(page, "Message")
    expect(message.locator(".mcpsim-meta")).to_contain_text("io.modelcontextprotocol/protocolVersion")
    heading = message.get_by_role("heading", name="In _meta: about the message, beside what it says")
    expect(heading).to_be_visible()
    fold = message.get_by_role("button", name="Fold the _meta keys")
    if by == "mouse":
        fold.click()
    else:
        fold.focus()
        page.keyboard.press("Enter")
    unfold = message.get_by_role("button", name="Unfold the _meta keys")
    expect(unfold).to_be_focused()
    expect(message.locator(".mcpsim-meta")).not_to_contain_text("protocolVersion")
    page.keyboard.press("ArrowRight")
    expect(unfold).to_have_count(1)
    unfold.click()
    expect(message.locator(".mcpsim-meta")).to_contain_text("serverInfo")


def test_the_exchange_as_far_as_it_has_come(play: Play) -> None:
    page = play(played("report-with-progress", StreamableHttp()), cursor=3)
    page.keyboard.press("Alt+2")
    raw = pane(page, "Raw bytes")
    pieces = raw.locator(".mcpsim-piece")
    expect(pieces).to_have_count(3)
    expect(pieces.nth(0)).to_contain_text("POST /mcp HTTP/1.1")
    expect(pieces.nth(1)).to_contain_text("Content-Type: text/event-stream")
    expect(pieces.nth(2)).to_contain_text("step 3: this message")
    expect(raw.locator(".mcpsim-here")).to_have_count(1)
    more = raw.get_by_role("button", name=re.compile("^Show what follows"))
    more.focus()
    page.keyboard.press("Enter")
    expect(raw.get_by_role("button", name="Hide what follows")).to_be_focused()
    expect(pieces).to_have_count(5)
    page.keyboard.press("Enter")
    expect(pieces).to_have_count(3)
    more.click()
    # What comes next is not told where that is hidden.
    page.get_by_role("button", name="Hide next").click()
    page.keyboard.press("ArrowLeft")
    expect(pieces).to_have_count(2)
    pieces.nth(0).get_by_role("button", name="Go to step 1").click()
    expect(raw.locator(".mcpsim-here")).to_contain_text("step 1: this message")


def test_of_a_long_exchange_the_middle_is_left_out(play: Play, made: Any) -> None:
    pen = made.Pen()
    exchange = pen.recorder.new_exchange()
    pen.post(exchange, made.request(1, "tools/call", progressToken=1))
    head = {"status": 200, "headers": [["Content-Type", "text/event-stream"]]}
    for n in range(40):
        note = made.write(made.notification("notifications/progress", progressToken=1, progress=n))
        event = b"data: " + note.strip() + b"\n\n"
        pen.send("server", "client", event, exchange=exchange, head=None if n else head)
    page = play(pen.done("x"), cursor=38)
    page.keyboard.press("Alt+2")
    raw = pane(page, "Raw bytes")
    expect(raw).to_contain_text("29 messages of this exchange left out here")
    expect(raw.locator(".mcpsim-piece")).to_have_count(9)


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
@pytest.mark.usefixtures("fresh")
def test_copy(page: Page, play: Play, by: str) -> None:
    page.add_init_script(CLIPBOARD)
    play(played("one-question", StreamableHttp()), cursor=1)

    def press(name: str) -> str:
        button = page.get_by_role("button", name=name)
        if by == "mouse":
            button.click()
        else:
            button.focus()
            page.keyboard.press("Enter")
        expect(said(page)).to_contain_text("Copied: ")
        copied: list[str] = page.evaluate("window.copied")
        expect(said(page)).to_have_text(f"Copied: {len(copied[-1]):,} characters.")
        return copied[-1]

    assert json.loads(press("Copy JSON"))["method"] == "tools/call"
    page.keyboard.press("ArrowRight")
    expect(said(page)).to_be_empty()
    page.keyboard.press("Alt+2")
    one = press("Copy this message")
    both = press("Copy the exchange")
    assert one.startswith("HTTP/1.1 200 OK")
    assert both.startswith("POST /mcp HTTP/1.1")
    assert one in both
    assert "⏎" not in both


@pytest.mark.usefixtures("fresh")
def test_copy_where_the_page_has_no_clipboard(page: Page, play: Play) -> None:
    """As in a JupyterLab that another machine serves over plain HTTP."""
    page.add_init_script(NO_CLIPBOARD)
    play(played("three-pages"), cursor=1)
    page.evaluate(
        "document.addEventListener('copy', () => { window.copied = document.activeElement.value; }, true)"
    )
    button = page.get_by_role("button", name="Copy JSON")
    button.click()
    expect(said(page)).to_contain_text("Copied: ")
    assert json.loads(page.evaluate("window.copied"))["method"] == "resources/list"
    expect(button).to_be_focused()
    expect(page.locator("textarea")).to_have_count(0)


@pytest.mark.usefixtures("fresh")
def test_copy_where_nothing_may_be_copied(page: Page, play: Play) -> None:
    page.add_init_script(NO_CLIPBOARD + "document.execCommand = () => false;")
    play(played("three-pages"), cursor=1)
    page.get_by_role("button", name="Copy JSON").click()
    expect(said(page)).to_contain_text("Select the text")


def test_how_long_what_is_kept_stays_fresh(play: Play) -> None:
    page = play(played("fresh-then-stale"), cursor=3)
    page.keyboard.press("Alt+3")
    client = page.locator(".mcpsim-card").filter(has_text="client remembers")
    expect(client).to_contain_text("fresh for 20 s more")
    page.keyboard.press("ArrowRight")
    expect(client).to_contain_text("stale for 5 s by now")
    page.keyboard.press("ArrowLeft")
    expect(client).to_contain_text("fresh for 20 s more")


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_the_request_state_and_what_the_server_sees_in_it(play: Play, by: str) -> None:
    recording = played("one-question")
    (held,) = player_data(recording)["held"]
    page = play(recording, cursor=held["from"])
    page.keyboard.press("Alt+3")
    memory = pane(page, "Memory")
    client, server = (
        memory.locator(".mcpsim-card").filter(has_text=f"{name} remembers") for name in ("client", "server")
    )
    expect(client).to_contain_text("request state for tools/call #1 new")
    expect(client).to_contain_text("opaque to this party")
    expect(server).to_contain_text("Nothing. Each request brings along all that the server needs")
    # The user is in the picture, and no party of the protocol.
    expect(memory.locator(".mcpsim-card")).to_have_count(2)
    inside = memory.locator("details.mcpsim-part-state")
    expect(inside).to_contain_text("for which request")
    expect(inside).to_contain_text("HMAC-SHA256")
    summary = inside.locator("summary")
    if by == "mouse":
        summary.click()
    else:
        summary.focus()
        page.keyboard.press("Enter")
    expect(inside).not_to_have_attribute("open", "")
    for _ in range(held["until"] - held["from"]):
        page.keyboard.press("ArrowRight")
    expect(client).to_contain_text("given back")
    page.keyboard.press("ArrowRight")
    expect(client).not_to_contain_text("request state")


def test_who_has_a_request_and_what_just_ended(play: Play, made: Any) -> None:
    page = play(made.dropped(), cursor=1)
    page.keyboard.press("Alt+3")
    memory = pane(page, "Memory")
    expect(memory).to_contain_text("tools/call #1 — client waits for server, since step 1 (new)")
    page.keyboard.press("End")
    expect(memory).not_to_contain_text("Ended at this step")
    page.keyboard.type("6")
    page.keyboard.press("Enter")
    expect(memory).to_contain_text("tools/call #1 of client: cancelled")


def test_a_huge_and_a_deep_message_are_shown_in_part(play: Play, made: Any) -> None:
    pen = made.Pen()
    deep: Any = "x"
    for _ in range(50):
        deep = {"a": deep}
    big: dict[str, Any] = {
        "name": "t",
        "arguments": {"text": "y" * 1_000_000, "deep": deep, "many": list(range(2_000))},
    }
    pen.send("client", "server", made.request(1, "tools/call", big))
    big["arguments"] = {"text": "z" * 1_000_000}
    pen.send("client", "server", made.request(2, "tools/call", big))
    big["arguments"] = {"text": "z" * 10_000_000}
    pen.send("client", "server", made.request(3, "tools/call", big))
    page = play(pen.done("x"), cursor=1)
    message = pane(page, "Message")
    expect(message).to_contain_text("(1,000,000 characters)")
    expect(message).to_contain_text("more lines: see the raw bytes")
    assert page.locator(".mcpsim-panel *").count() < 5_000
    page.keyboard.press("ArrowRight")
    expect(message.locator("details.mcpsim-part-compared")).to_contain_text("params.arguments.text")
    # This one is larger than a message may be.
    page.keyboard.press("ArrowRight")
    expect(message).to_contain_text("It cannot be read as a message, for the reason above.")
    page.keyboard.press("Alt+2")
    expect(pane(page, "Raw bytes")).to_contain_text("bytes)")


def test_what_a_user_is_asked_and_answers(play: Callable[..., Page]) -> None:
    page = play(STORIES["two-rounds"].play().recording, cursor=3)
    pane = page.get_by_role("tabpanel", name="Message")
    expect(pane).to_contain_text("The question came with step 2.")
    expect(pane.get_by_role("blockquote")).to_have_text("When do you want to go to Pisa?")
    expect(pane.get_by_role("listitem")).to_have_text("Day of travel: a day, such as 2026-07-28; required")
    expect(pane).to_contain_text('"requestedSchema"')
    page.keyboard.press("ArrowRight")
    expect(pane).to_contain_text('"day": "2026-09-01"')
    pane.get_by_role("button", name="Go to step 5").click()
    expect(pane).to_contain_text('"inputResponses"')
    # What is to come is not told where it is hidden.
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("h")
    expect(pane.get_by_role("button", name="Go to step 5")).to_have_count(0)
