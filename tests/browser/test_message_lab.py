"""The message lab in a browser: every control by mouse and by key."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from mcpsim.widgets.message_lab import MessageLab
from tests.browser.in_page import Shown

Open = Callable[..., Shown]


def message(shown: Shown) -> Locator:
    return shown.page.get_by_role("textbox", name="Message", exact=True)


def headers(shown: Shown) -> Locator:
    return shown.page.get_by_role("textbox", name="HTTP headers, one a line")


def made(shown: Shown) -> Locator:
    return shown.page.get_by_role("region", name="What the server made of message")


def back(shown: Shown) -> Locator:
    return shown.page.get_by_role("region", name="What came back for message")


def template(shown: Shown, label: str) -> Locator:
    """The first template of that name: the modern ones come before the legacy ones."""
    listed = shown.page.get_by_role("group", name="What the protocol allows next")
    return listed.get_by_role("button", name=label, exact=True).first


def take_and_send(shown: Shown, label: str) -> None:
    template(shown, label).click()
    shown.page.get_by_role("button", name="Send").click()


def phase(shown: Shown) -> Locator:
    return shown.page.locator('[aria-label="Phases of a legacy session"] [aria-current="step"]')


def test_a_modern_request_by_mouse(show: Open) -> None:
    shown = show(MessageLab())
    expect(shown.status).to_have_text("A new server is running. It has heard nothing yet.")
    take_and_send(shown, "tools/list")
    expect(shown.status).to_have_text("1. tools/list #1: The server answered with a result.")
    expect(made(shown).get_by_role("listitem")).to_have_count(9)
    expect(made(shown)).to_contain_text("Step 3: read _meta passed")
    expect(back(shown)).to_contain_text('"nextCursor"')
    template(shown, "Next page of tools/list").click()
    assert "cursor" in json.loads(message(shown).input_value())["params"]
    shown.button("Send").click()
    expect(shown.status).to_contain_text("2. tools/list #2")
    assert len(shown.trips) == 2


def test_a_legacy_session_by_key(show: Open) -> None:
    shown = show(MessageLab(era="legacy"))
    expect(phase(shown)).to_contain_text("new")
    early = template(shown, "tools/list")
    expect(early).to_have_attribute("aria-disabled", "true")
    expect(early).to_have_accessible_description(
        "Not now: SHOULD Before initialize is answered, a client SHOULD NOT send any request but a ping. "
        "This server refuses it. lifecycle"
    )
    for label, after in (("initialize", "initializing"), ("notifications/initialized", "operating")):
        template(shown, label).focus()
        shown.press("Enter")
        expect(message(shown)).to_be_focused()
        shown.press("Control+Enter")
        expect(phase(shown)).to_contain_text(after)
        # Whoever typed can go on.
        expect(message(shown)).to_be_focused()
    expect(made(shown)).to_contain_text("The legacy session moves from “initializing” to “operating”.")
    expect(template(shown, "tools/list")).to_have_attribute("aria-disabled", "false")


@pytest.mark.parametrize(("width", "transport"), [(1180, "http"), (704, "http"), (1180, "stdio")])
def test_sending_is_in_sight_and_stays_where_it_is(
    show: Open, page: Page, width: int, transport: Literal["http", "stdio"]
) -> None:
    page.set_viewport_size({"width": width, "height": 790})
    shown = show(MessageLab(transport=transport))
    expect(phase(shown)).to_contain_text("new")
    controls = [shown.button("Send"), shown.button("Close the connection"), message(shown)]
    before = [each.bounding_box() for each in controls]
    take_and_send(shown, "initialize")
    expect(phase(shown)).to_contain_text("initializing")
    for each in (*controls[:2], shown.status):
        expect(each).to_be_in_viewport(ratio=1)
    if width > 760:
        expect(made(shown).get_by_role("heading").first).to_be_in_viewport(ratio=1)
    assert [each.bounding_box() for each in controls] == before


def test_what_is_not_allowed_is_sent_anyway(show: Open) -> None:
    shown = show(MessageLab(era="legacy"))
    template(shown, "tools/list").click(force=True)
    # What is switched off does nothing.
    assert json.loads(message(shown).input_value())["method"] == "initialize"
    anyway = shown.button("Take it anyway: notifications/roots/list_changed")
    anyway.focus()
    shown.press("Space")
    expect(shown.page.get_by_text("Taken: notifications/roots/list_changed.")).to_be_visible()
    shown.button("Send anyway").focus()
    shown.press("Enter")
    expect(made(shown)).to_contain_text("ignored")
    expect(shown.button("Send")).to_be_focused()


def test_what_is_broken_is_sent_anyway(show: Open) -> None:
    shown = show(MessageLab())
    template(shown, "No _meta").click()
    shown.button("Send anyway").click()
    expect(made(shown)).to_contain_text("Step 3: read _meta refused -32602 params._meta is missing")
    expect(made(shown)).to_contain_text("Step 4: compare headers with the body not reached")
    expect(made(shown)).to_contain_text("MUST What you sent:")
    expect(back(shown)).to_contain_text("-32602")


def test_what_is_typed_is_sent_as_it_is(show: Open) -> None:
    shown = show(MessageLab())
    message(shown).fill('{"jsonrpc": "2.0",\n"id": 7, "method": "ping"}')
    shown.button("Send").click()
    expect(shown.status).to_have_text("1. ping #7: The server answered with a result.")
    shown.page.get_by_role("checkbox", name="Send it as one line").uncheck()
    shown.button("Send").click()
    expect(made(shown)).to_contain_text("2 messages were sent, and 2 of them are answered.")
    message(shown).fill("half a pair: ")
    message(shown).evaluate("each => { each.value += '\\ud83d'; }")
    shown.button("Send").click()
    expect(made(shown)).to_contain_text("the bytes are not UTF-8")
    # The history brings back what was sent, character by character.
    shown.page.get_by_role("button", name="1. ping #7 result").click()
    assert message(shown).input_value() == '{"jsonrpc": "2.0",\n"id": 7, "method": "ping"}'
    third = shown.page.get_by_role("button", name="3. not JSON error -32700")
    third.focus()
    shown.press("Enter")
    expect(third).to_have_attribute("aria-current", "true")
    expect(third).to_be_focused()
    assert message(shown).evaluate("each => each.value.endsWith(': \\ud83d')")


def test_time_passes(show: Open) -> None:
    shown = show(MessageLab())
    take_and_send(shown, "tools/call build_report")
    expect(made(shown)).to_contain_text("The server is still at work on it. Let time pass.")
    expect(made(shown)).to_contain_text("Step 8: run the handler running")
    ms = shown.page.get_by_role("spinbutton", name="Milliseconds")
    ms.fill("500")
    shown.button("Let time pass").click()
    expect(shown.status).to_contain_text("1 message arrived meanwhile.")
    ms.fill("5000")
    ms.press("Tab")
    shown.press("Enter")
    expect(made(shown)).to_contain_text("The server answered with a result.")
    expect(back(shown)).to_contain_text("notifications/progress")


def test_http_by_mouse_and_key(show: Open) -> None:
    shown = show(MessageLab(transport="http"))
    take_and_send(shown, "tools/list")
    expect(back(shown)).to_contain_text("HTTP 200")
    # The body says something else now, and the headers do not.
    body = message(shown).input_value().replace("tools/list", "prompts/list")
    message(shown).fill(body)
    shown.button("Send").click()
    expect(made(shown)).to_contain_text("Step 4: compare headers with the body refused -32020")
    shown.button("Make the headers fit the body").focus()
    shown.press("Enter")
    expect(headers(shown)).to_have_value(
        "Content-Type: application/json\nAccept: application/json, text/event-stream\n"
        "MCP-Protocol-Version: 2026-07-28\nMcp-Method: prompts/list"
    )
    assert message(shown).input_value() == body
    shown.button("Send").click()
    expect(shown.status).to_contain_text("The server answered with a result.")
    shown.page.get_by_role("textbox", name="HTTP method").fill("GET")
    shown.button("Send").click()
    expect(made(shown)).to_contain_text("HTTP: is the method right? refused 405")
    headers(shown).fill("no header")
    shown.button("Send").click()
    expect(shown.alert).to_have_text("Line 1 of the headers is no “Name: value”: no header")
    shown.page.get_by_role("textbox", name="Path").fill("/other")
    headers(shown).fill("")
    shown.button("Send").click()
    expect(shown.alert).to_contain_text("There is nothing at '/other'")


def test_a_stream_is_closed(show: Open) -> None:
    shown = show(MessageLab(transport="http"))
    take_and_send(shown, "tools/call build_report")
    close = shown.button("Close the stream of tools/call #1")
    close.focus()
    shown.press("Enter")
    expect(close).to_have_count(0)
    expect(shown.button("Let time pass")).to_be_focused()
    expect(made(shown)).to_contain_text("Its work was stopped, and no answer will come.")
    take_and_send(shown, "subscriptions/listen")
    shown.button("Close the stream of subscriptions/listen #2").click()
    expect(shown.page.get_by_role("button", name="2. subscriptions/listen #2 cancelled")).to_be_visible()


def test_the_end_and_a_new_beginning(show: Open) -> None:
    shown = show(MessageLab())
    take_and_send(shown, "tools/list")
    shown.button("Close the connection").click()
    expect(shown.button("Send")).to_have_attribute("aria-disabled", "true")
    expect(phase(shown)).to_contain_text("closed")
    trips = len(shown.trips)
    message(shown).press("Control+Enter")
    assert len(shown.trips) == trips
    shown.button("Start again").focus()
    shown.press("Enter")
    expect(shown.button("Send")).to_have_attribute("aria-disabled", "false")
    expect(shown.page.get_by_text("What you sent so far")).to_be_hidden()
    carrier = shown.page.get_by_role("combobox", name="Transport")
    carrier.focus()
    shown.press("ArrowDown")
    expect(headers(shown)).to_be_visible()
    expect(carrier).to_be_focused()
    eras = shown.page.get_by_role("combobox", name="Show")
    eras.select_option("legacy only")
    expect(template(shown, "server/discover")).to_have_count(0)
    eras.focus()
    shown.press("ArrowUp")
    expect(template(shown, "server/discover")).to_be_visible()


def test_what_came_is_looked_into(show: Open) -> None:
    shown = show(MessageLab())
    take_and_send(shown, "tools/list")
    fields = back(shown).get_by_text("fields explained").first
    fields.click()
    expect(back(shown)).to_contain_text("resultType")
    raw = back(shown).get_by_text("Raw bytes").first
    raw.focus()
    shown.press("Enter")
    expect(back(shown).get_by_role("group", name="result #1")).not_to_have_count(0)


def test_nothing_in_a_message_runs(show: Open) -> None:
    shown = show(MessageLab())
    hostile = "<img src=x onerror=\"document.title='ran'\">\u202e"
    message(shown).fill(json.dumps({"jsonrpc": "2.0", "id": hostile, "method": hostile}))
    shown.button("Send").click()
    expect(made(shown)).to_contain_text("Step 3: read _meta refused")
    expect(back(shown)).to_contain_text("onerror")
    assert shown.page.title() == "Widget"
    assert shown.page.locator("main img").count() == 0


@pytest.mark.parametrize("width", [400, 700, 900])
def test_it_fits_into_a_narrow_column(show: Open, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    shown = show(MessageLab(transport="http"))
    take_and_send(shown, "tools/call close_ticket")
    expect(made(shown)).to_contain_text("asks for input first")
    assert shown.is_narrow_enough()


def test_nothing_is_left_behind(show: Open) -> None:
    shown = show(MessageLab())
    assert shown.leave() == 0
    assert shown.page.get_by_role("region").count() == 0


def test_the_list_says_that_there_is_more_below(show: Open) -> None:
    shown = show(MessageLab(era="legacy"))
    more = shown.page.get_by_text("▾ more below")
    expect(more).to_be_visible()
    offered = shown.page.get_by_role("group", name="What the protocol allows next")
    offered.evaluate("one => one.scrollTo(0, one.scrollHeight)")
    expect(more).to_be_hidden()
    offered.evaluate("one => one.scrollTo(0, 0)")
    expect(more).to_be_visible()
