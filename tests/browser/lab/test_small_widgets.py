"""The small widgets in JupyterLab, with a kernel: every control that they have, by mouse and by keyboard.

That no control is left out is not a matter of a list: see `by_hand`.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab.by_hand import Hand
from tests.browser.lab.cells import PLAYERS, SMALL
from tests.browser.lab.in_lab import Desk
from tests.browser.lab.in_plain_page import HANDS
from tests.browser.test_restarted import GONE

#: A player has tests of its own.
BESIDE: Final = ".mcpsim-player"


def button(shown: Locator, name: str) -> Locator:
    return shown.get_by_role("button", name=name, exact=True)


def status(shown: Locator) -> Locator:
    return shown.get_by_role("status").first


def link(shown: Locator) -> Locator:
    return shown.locator("a[href]:visible").first


# ------------------------------------------------------------------------------------------ two runs, layers


def test_comparison(show: Any, hand: Hand) -> None:
    shown = show("comparison")
    rows = shown.get_by_role("listbox", name="Steps of both, aligned").get_by_role("option")
    chosen = shown.locator(".mcpsim-pair[aria-selected=true]")
    with hand.every_control(shown):
        if hand.has_mouse:
            rows.nth(3).click()
        else:
            rows.first.focus()
            for _ in range(3):
                hand.page.keyboard.press("ArrowDown")
        expect(chosen).to_have_attribute("data-row", "4")
        expect(shown.locator(".mcpsim-pairs-told").get_by_role("rowheader")).to_have_text(["params"])
        hand.press(button(shown, "Forward"))
        expect(chosen).to_have_attribute("data-row", "5")
        hand.press(button(shown, "Back"))
        expect(chosen).to_have_attribute("data-row", "4")
        hand.press(button(shown, "Next difference"))
        expect(chosen).to_have_attribute("data-row", "5")
        hand.scroll(shown.locator("pre").first)
    if not hand.has_mouse:
        chosen.focus()
        for key, row in (("End", "9"), ("d", "1"), ("ArrowRight", "2"), ("ArrowLeft", "1"), ("Home", "1")):
            hand.page.keyboard.press(key)
            expect(chosen).to_have_attribute("data-row", row)


@pytest.mark.parametrize("by", HANDS, indirect=True)
def test_layers(show: Any, hand: Hand) -> None:
    shown = show("layers")
    with hand.every_control(shown):
        calls = shown.get_by_label("Call", exact=True)
        first, second = calls.get_by_role("option").all_inner_texts()[:2]
        hand.choose(calls, second)
        expect(status(shown)).to_contain_text("Call 2")
        hand.choose(shown.get_by_label("Era"), "Legacy")
        expect(status(shown)).to_contain_text("legacy.")
        expect(shown.get_by_role("group", name="4. Bytes, Streamable HTTP")).to_contain_text(
            "+ MCP-Session-Id: "
        )
        hand.choose(calls, first)
        expect(status(shown)).to_contain_text("Call 1")
        hand.scroll(shown.get_by_role("group", name="1. Intent"))
        hand.follow(link(shown))


# ------------------------------------------------------------------------------------------ caches, progress


def test_cache_timeline_with_knobs(show: Any, hand: Hand) -> None:
    shown = show("caches")
    with hand.every_control(shown):
        slider = shown.get_by_role("slider", name="Moment")
        hand.slide(slider, 0.5, ("ArrowRight", "ArrowRight"))
        expect(status(shown)).to_contain_text("resources/read price://paper")
        hand.press(button(shown, "Next"))
        expect(shown.get_by_role("list", name="What is kept at this moment")).to_contain_text("keeps")
        hand.press(button(shown, "Back"))
        gateway = shown.get_by_role("checkbox", name="A gateway with a cache")
        served = shown.get_by_title(re.compile("ben is served from the gateway's cache"))
        expect(served).to_have_count(1)
        hand.tick(gateway)
        expect(served).to_have_count(0)
        hand.tick(gateway)
        expect(served).to_have_count(1)
        hand.choose(shown.get_by_role("combobox", name="cacheScope"), "private")
        expect(served).to_have_count(0)
        hand.choose(shown.get_by_role("combobox", name="Caches of the clients"), "they share one")
        expect(shown.get_by_text("shared cache, for ben", exact=True).first).to_be_visible()
        hand.tick(shown.get_by_role("checkbox", name="ada is told of changes"))
        expect(shown.get_by_title(re.compile("then notifications.resources.updated")).first).to_be_visible()
        ttl = shown.get_by_role("spinbutton", name="ttlMs")
        hand.write(ttl, "999999", "Enter")
        expect(ttl).to_have_value("120000")
        expect(shown.get_by_title(re.compile("fresh for 2 min")).first).to_be_visible()
        hand.press(shown.get_by_text("The same as a table"))
        expect(shown.get_by_role("table", name="Everything that happened")).to_be_visible()
        hand.scroll(shown.get_by_role("group", name="The caches over virtual time"))
        hand.follow(link(shown))


def test_cache_timeline_of_a_run(show: Any, hand: Hand) -> None:
    shown = show("caches of a run")
    with hand.every_control(shown):
        expect(shown.get_by_role("group", name="Knobs")).to_have_count(0)
        for _ in range(3):
            hand.press(button(shown, "Next"))
        kept = shown.get_by_role("list", name="What is kept at this moment").get_by_role("listitem")
        expect(kept).to_have_text(
            "client keeps resources/read price://paper (4 a pack): public, fresh until 30.04 s"
        )
        hand.press(button(shown, "Back"))
        expect(status(shown)).to_contain_text("client gets the answer from the server")
        hand.slide(shown.get_by_role("slider", name="Moment"), 0.99, ("End",))
        expect(button(shown, "Next")).to_have_attribute("aria-disabled", "true")
        hand.press(shown.get_by_text("The same as a table"))
        expect(shown.get_by_role("table", name="Everything that happened")).to_be_visible()
        hand.scroll(shown.get_by_role("group", name="Everything that happened"))
        hand.follow(link(shown))


def test_progress_bars(show: Any, hand: Hand) -> None:
    shown = show("bars")
    export = shown.get_by_role("progressbar", name="#1 export()")
    search = shown.get_by_role("progressbar", name="#2 search()")
    step = button(shown, "Step")
    with hand.every_control(shown):
        for _ in range(30):
            if "Progress arrives: 1 of 3" in status(shown).inner_text():
                break
            hand.press(step)
        expect(export).to_have_attribute("aria-valuenow", "1")
        hand.press(button(shown, "Back"))
        expect(export).not_to_have_attribute("aria-valuenow", "1")
        hand.press(step)
        hand.press(button(shown, "Stop #1 export()"))
        expect(shown.locator(".mcpsim-acting")).to_have_attribute("aria-busy", "false")
        hand.press(step)
        expect(status(shown)).to_contain_text("The client sends notifications/cancelled for request #1.")
        hand.press(button(shown, "Stop #2 search()"))
        expect(shown.locator(".mcpsim-acting")).to_have_attribute("aria-busy", "false")
        hand.press(button(shown, "Run to the end"))
        expect(search).to_have_attribute("aria-valuetext", re.compile("stopped"))
        hand.press(button(shown, "Start over"))
        expect(status(shown)).to_contain_text("Press Step or Play")
        hand.press(button(shown, "Play"))
        hand.press(button(shown, "Pause"))
        expect(button(shown, "Play")).to_be_visible()
        hand.press(button(shown, "Run to the end"))
        expect(export).to_have_attribute("aria-valuetext", re.compile("report.pdf$"))
        hand.scroll(shown.get_by_role("group", name="What happened so far"))
        hand.follow(link(shown))


# ------------------------------------------------------------------------------------------ elicitation


def test_elicitation_form(show: Any, hand: Hand) -> None:
    shown = show("form")

    def box(name: str) -> Locator:
        return shown.get_by_role("textbox", name=name)

    with hand.every_control(shown):
        hand.press(button(shown, "Accept"))
        expect(status(shown)).to_have_text("The answer was not sent: 2 fields are not right.")
        expect(box("Your name")).to_be_focused()
        wrong = {
            "Your name": ("An", "must have 3 characters or more."),
            "mail": ("nobody", "must be an e-mail address."),
            "page": ("here", "must be a URI with its scheme, such as https://example.com/"),
            "day": ("2026-02-30", "must be a day, such as 2026-07-28."),
            "when": ("noon", "must be a day and time with its offset, such as 2026-07-28T10:30:00Z"),
            "bags": ("1.5", "must be a whole number."),
            "weight": ("30", "must be 23.5 or less."),
        }
        right = {
            "Your name": "Anna",
            "mail": "anna@mail.example",
            "page": "https://anna.example/",
            "day": "2026-02-28",
            "when": "2026-07-28T10:30:00Z",
            "bags": "2",
            "weight": "12.5",
        }
        for name, (text, fault) in wrong.items():
            hand.write(box(name), text, "Tab")
            expect(box(name)).to_have_accessible_description(re.compile(re.escape(fault)))
            hand.write(box(name), right[name], "Tab")
            expect(box(name)).to_have_attribute("aria-invalid", "false")
        hand.choose(shown.get_by_role("combobox", name="agree"), "no (false)")
        hand.choose(shown.get_by_role("combobox", name="seat"), "window")
        hand.choose(shown.get_by_role("combobox", name="colour"), "Green")
        hand.tick(shown.get_by_role("checkbox", name="lunch"))
        hand.tick(shown.get_by_role("checkbox", name="dinner"))
        expect(shown.get_by_role("group", name="meals")).to_contain_text("at most 1 may be chosen.")
        hand.tick(shown.get_by_role("checkbox", name="lunch"))
        hand.scroll(shown.get_by_role("group", name="What Accept would send"))
        hand.press(button(shown, "Accept"))
        expect(status(shown)).to_have_text("The answer is accept: Yes, and this is the data.")
        legacy = shown.get_by_role("group", name="Legacy: The response to the server's request")
        assert json.loads(legacy.inner_text())["result"]["content"] == {
            "name": "Anna",
            "mail": "anna@mail.example",
            "page": "https://anna.example/",
            "day": "2026-02-28",
            "when": "2026-07-28T10:30:00Z",
            "bags": 2,
            "weight": 12.5,
            "agree": False,
            "seat": "window",
            "colour": "#0f0",
            "meals": ["dinner"],
        }
        for label, action in (("Decline", "decline"), ("Cancel", "cancel")):
            hand.press(button(shown, label))
            expect(status(shown)).to_contain_text(f"The answer is {action}: ")
            assert json.loads(legacy.inner_text())["result"] == {"action": action}
        hand.follow(link(shown))


def test_elicitation_form_with_an_address(show: Any, hand: Hand) -> None:
    shown = show("address")
    with hand.every_control(shown):
        for label, action in (("Accept", "accept"), ("Decline", "decline"), ("Cancel", "cancel")):
            hand.press(button(shown, label))
            expect(status(shown)).to_contain_text(f"The answer is {action}")
        assert len(hand.page.context.pages) == 1
        hand.scroll(shown.get_by_role("group", name="What Accept would send"))
        hand.follow(link(shown))


def test_elicitation_form_of_a_run(show: Any, hand: Hand) -> None:
    shown = show("form of a run")
    with hand.every_control(shown):
        hand.press(button(shown, "Decline"))
        expect(status(shown)).to_contain_text("The run is over.")
        hand.press(button(shown, "Start the run again"))
        expect(status(shown)).to_have_text("The run waits for answer 1: travel-desk asks.")
        hand.press(button(shown, "Cancel"))
        expect(status(shown)).to_contain_text("The run is over.")
        hand.press(button(shown, "Take the last answer back"))
        day = shown.get_by_role("textbox", name="Day of travel")
        hand.write(day, "2026-09-01")
        hand.press(button(shown, "Accept"))
        hand.choose(shown.get_by_role("combobox", name="Book it"), "yes (true)")
        hand.press(button(shown, "Accept"))
        expect(status(shown)).to_contain_text("Booked Pisa")
        hand.press(shown.get_by_text("What crossed the wire so far"))
        wire = shown.get_by_role("group", name="What crossed the wire so far")
        expect(wire).to_contain_text("tools/call")
        hand.scroll(wire)
        hand.follow(link(shown))
        hand.press(button(shown, "Start the run again"))
        expect(shown.get_by_role("textbox").first).to_be_visible()


# ------------------------------------------------------------------------------------------ eras, errors


def test_era_matrix(show: Any, hand: Hand) -> None:
    shown = show("matrix")
    with hand.every_control(shown, outside=BESIDE, alike={".mcpsim-matrix-cell": "a cell"}):
        matrix = shown.get_by_role("region", name="Versions and eras")
        cells = matrix.locator(".mcpsim-matrix-cell")
        played = set()
        for cell in cells.all():
            hand.press(cell)
            expect(cell).to_have_attribute("aria-pressed", "true")
            played.add(shown.locator(".mcpsim-player").get_attribute("aria-label"))
        assert len(played) == cells.count() == 9
        expect(shown.locator(".mcpsim-player")).to_contain_text("Dual-era client, dual-era server")
        hand.choose(matrix.get_by_label("Transport"), "Streamable HTTP")
        expect(status(matrix)).to_contain_text("Streamable HTTP")
        hand.scroll(matrix.get_by_role("group", name="Every client at every server"))
        hand.follow(link(matrix))
    player = shown.locator(".mcpsim-player")
    step = player.get_by_role("spinbutton", name="Go to step")
    before = step.input_value()
    hand.press(player.get_by_role("button", name="Forward", exact=True))
    expect(step).not_to_have_value(before)


def test_error_map(show: Any, hand: Hand) -> None:
    shown = show("errors")
    with hand.every_control(shown, outside=BESIDE, alike={"[data-code]": "an error"}):
        errors = shown.get_by_role("region", name="Errors: which, when, and for whom")
        rows = errors.locator("[data-code]")
        assert rows.count() == 11
        played = set()
        for row in rows.all():
            hand.press(row)
            expect(row).to_have_attribute("aria-pressed", "true")
            played.add(shown.locator(".mcpsim-player").get_attribute("aria-label"))
        assert len(played) == 11
        hand.choose(errors.get_by_label("Era"), "legacy")
        expect(status(errors)).to_contain_text("8 of 11")
        hand.choose(errors.get_by_label("Read by"), "model")
        expect(status(errors)).to_contain_text("1 of 11")
        hand.scroll(errors.get_by_role("group", name="The errors"))
        hand.follow(link(errors))


# ------------------------------------------------------------------------------------------ the message lab


def message(shown: Locator) -> Locator:
    return shown.get_by_role("textbox", name="Message", exact=True)


def made(shown: Locator) -> Locator:
    return shown.get_by_role("region", name="What the server made of message")


def back(shown: Locator) -> Locator:
    return shown.get_by_role("region", name="What came back for message")


def template(shown: Locator, label: str) -> Locator:
    listed = shown.get_by_role("group", name="What the protocol allows next")
    return listed.get_by_role("button", name=label, exact=True).first


#: Templates, and what was sent: as many as there are.
ALIKE: Final = {
    ".mcpsim-lab-list [data-key$=' anyway']": "Take it anyway",
    ".mcpsim-lab-list button": "a template",
    ".mcpsim-lab-history button": "a message that was sent",
    ".mcpsim-lab-streams button": "Close a stream",
    ".mcpsim-lab-step > summary": "a message that is folded",
    ".mcpsim-lab-step .mcpsim-lab-step summary, .mcpsim-lab-step details > summary": "a part that is folded",
}


def test_message_lab(show: Any, hand: Hand) -> None:
    shown = show("lab")
    with hand.every_control(shown, outside=".mcpsim-lab-http", alike=ALIKE):
        hand.press(template(shown, "tools/list"))
        expect(message(shown)).to_be_focused()
        hand.press(button(shown, "Send"))
        expect(status(shown)).to_have_text("1. tools/list #1: The server answered with a result.")
        expect(made(shown)).to_contain_text("Step 3: read _meta passed")
        hand.press(back(shown).get_by_text("fields explained").first)
        expect(back(shown).get_by_text("resultType").first).to_be_visible()
        hand.press(back(shown).get_by_text("Raw bytes").first)
        hand.press(back(shown).locator("summary").first)
        # By hand, and broken.
        hand.write(message(shown), '{"jsonrpc": "2.0",\n"id": 7, "method": "ping"}')
        hand.press(button(shown, "Send"))
        expect(status(shown)).to_have_text("2. ping #7: The server answered with a result.")
        hand.tick(shown.get_by_role("checkbox", name="Send it as one line"))
        if hand.has_mouse:
            hand.press(button(shown, "Send"))
        else:
            message(shown).focus()
            hand.page.keyboard.press("Control+Enter")
        expect(made(shown)).to_contain_text("2 messages were sent, and 2 of them are answered.")
        hand.tick(shown.get_by_role("checkbox", name="Send it as one line"))
        hand.press(template(shown, "No _meta"))
        hand.press(button(shown, "Send anyway"))
        expect(made(shown)).to_contain_text("Step 3: read _meta refused -32602 params._meta is missing")
        sent = shown.get_by_role("button", name="1. tools/list #1 result")
        hand.press(sent)
        expect(sent).to_have_attribute("aria-current", "true")
        assert json.loads(message(shown).input_value())["method"] == "tools/list"
        # Time passes.
        hand.press(template(shown, "tools/call build_report"))
        hand.press(button(shown, "Send"))
        expect(made(shown)).to_contain_text("Step 8: run the handler running")
        hand.write(shown.get_by_role("spinbutton", name="Milliseconds"), "9000")
        hand.press(button(shown, "Let time pass"))
        expect(made(shown)).to_contain_text("The server answered with a result.")
        hand.choose(shown.get_by_role("combobox", name="Show"), "legacy only")
        expect(template(shown, "server/discover")).to_have_count(0)
        hand.press(shown.get_by_role("button", name="Take it anyway").first)
        expect(button(shown, "Send anyway")).to_be_visible()
        hand.scroll(shown.get_by_role("group", name="What the protocol allows next"))
        hand.follow(link(shown))
        hand.press(button(shown, "Close the connection"))
        expect(button(shown, "Send anyway")).to_have_attribute("aria-disabled", "true")
        hand.press(button(shown, "Start again"))
        expect(shown.get_by_text("What you sent so far")).to_be_hidden()
        hand.choose(shown.get_by_role("combobox", name="Transport"), "Streamable HTTP")
        expect(shown.get_by_role("textbox", name="HTTP headers, one a line")).to_be_visible()
        hand.choose(shown.get_by_role("combobox", name="Transport"), "stdio")
        expect(shown.get_by_role("textbox", name="HTTP headers, one a line")).to_be_hidden()


def test_message_lab_of_a_session(show: Any, hand: Hand) -> None:
    shown = show("lab of a session")
    phase = shown.locator('[aria-label="Phases of a legacy session"] [aria-current="step"]')
    expect(phase).to_contain_text("new")
    for label, after in (("initialize", "initializing"), ("notifications/initialized", "operating")):
        hand.press(template(shown, label))
        if hand.has_mouse:
            hand.press(button(shown, "Send"))
        else:
            hand.page.keyboard.press("Control+Enter")
        expect(phase).to_contain_text(after)
    expect(template(shown, "tools/list")).to_have_attribute("aria-disabled", "false")


def test_message_lab_on_http(show: Any, hand: Hand) -> None:
    shown = show("lab on HTTP")
    headers = shown.get_by_role("textbox", name="HTTP headers, one a line")
    with hand.every_control(shown.locator(".mcpsim-lab-http")):
        hand.press(template(shown, "tools/list"))
        hand.press(button(shown, "Send"))
        expect(back(shown)).to_contain_text("HTTP 200")
        # The body says something else now, and the headers do not.
        hand.write(message(shown), message(shown).input_value().replace("tools/list", "prompts/list"))
        hand.press(button(shown, "Send"))
        expect(made(shown)).to_contain_text("Step 4: compare headers with the body refused -32020")
        hand.press(button(shown, "Make the headers fit the body"))
        expect(headers).to_have_value(re.compile("Mcp-Method: prompts/list"))
        hand.press(button(shown, "Send"))
        expect(status(shown)).to_contain_text("The server answered with a result.")
        hand.write(shown.get_by_role("textbox", name="HTTP method"), "GET")
        hand.press(button(shown, "Send"))
        expect(made(shown)).to_contain_text("HTTP: is the method right? refused 405")
        hand.write(headers, "no header")
        hand.press(button(shown, "Send"))
        expect(shown.get_by_role("alert")).to_have_text(
            "Line 1 of the headers is no “Name: value”: no header"
        )
        hand.write(headers, "Accept: a/b")
        hand.write(shown.get_by_role("textbox", name="Path"), "/other")
        hand.press(button(shown, "Send"))
        expect(shown.get_by_role("alert")).to_contain_text("There is nothing at '/other'")


def test_message_lab_closes_a_stream(show: Any, hand: Hand) -> None:
    shown = show("lab on HTTP")
    hand.press(template(shown, "subscriptions/listen"))
    hand.press(button(shown, "Send"))
    close = shown.get_by_role("button", name="Close the stream of subscriptions/listen #1")
    with hand.every_control(shown.locator(".mcpsim-lab-streams"), alike=ALIKE):
        hand.press(close)
        expect(close).to_have_count(0)
    expect(shown.get_by_role("button", name="1. subscriptions/listen #1 cancelled")).to_be_visible()


# ------------------------------------------------------------------------------------------ pages


def test_pagination_explorer(show: Any, hand: Hand) -> None:
    shown = show("pages")

    def row(name: str) -> Locator:
        return shown.get_by_role("row").filter(has=hand.page.get_by_role("rowheader", name=name, exact=True))

    with hand.every_control(shown):
        hand.press(button(shown, "First page"))
        expect(status(shown)).to_contain_text("The page brought 1, 2, 3, 4.")
        hand.press(button(shown, "Next page"))
        expect(row("Page 2")).to_be_visible()
        hand.choose(shown.get_by_role("combobox", name="Item", exact=True), "2")
        hand.press(button(shown, "Remove"))
        expect(row("An item is removed")).to_be_visible()
        hand.press(button(shown, "Undo"))
        expect(row("An item is removed")).to_have_count(0)
        hand.choose(shown.get_by_role("combobox", name="New item"), "at the end")
        hand.press(button(shown, "Add"))
        expect(row("An item is added")).to_be_visible()
        scheme = shown.get_by_role("combobox", name="This server hides in the cursor")
        other = scheme.get_by_role("option").all_inner_texts()[1]
        hand.choose(scheme, other)
        expect(shown.get_by_text(f"Hidden here: {other}.")).to_be_visible()
        hand.one_more(shown.get_by_role("spinbutton", name="Page size"))
        expect(row("Page size 5")).to_be_visible()
        cursor = shown.get_by_role("textbox", name="Made-up cursor")
        hand.write(cursor, "page-77", "Enter")
        expect(row("Refused")).to_contain_text("-32602")
        hand.press(button(shown, "Send it"))
        expect(row("Refused")).to_have_count(2)
        hand.press(button(shown, "Send an empty one"))
        expect(row("Refused")).to_have_count(3)
        hand.scroll(shown.get_by_role("group", name="The list and its pages"))
        hand.follow(link(shown))
        hand.press(button(shown, "Start again"))
        expect(row("Page 1")).to_have_count(0)


# ---------------------------------------------------------------------------------------------- a restart


def test_a_restart_of_the_kernel(desk: Desk) -> None:
    shown = {"errors": desk.run("errors", alone=True), "player": desk.run("player")}
    shown["player"].get_by_role("button", name="Branch", exact=True).wait_for()
    gone = desk.page.locator(".mcpsim-kernel:visible")
    expect(gone).to_have_count(0)
    desk.page.get_by_role("menuitem", name="Kernel", exact=True).click()
    desk.page.get_by_role("menuitem", name=re.compile("^Restart Kernel…")).first.click()
    desk.page.locator(".jp-Dialog .jp-mod-accept").click()
    expect(shown["errors"].locator(gone)).to_have_text([GONE])
    shown["player"].get_by_role("button", name="Branch", exact=True).click()
    expect(shown["player"].locator(gone)).to_have_text([GONE])
    desk.run("", alone=True)
    again = desk.run("errors", alone=True)
    again.get_by_role("region").first.wait_for()
    expect(gone).to_have_count(0)


# ---------------------------------------------------------------------------------------------- keys


def test_the_notebook_takes_its_keys_where_no_widget_has_the_focus(desk: Desk) -> None:
    """So that the tests above would see it."""
    desk.run(next(iter(SMALL)))
    before = desk.state()
    desk.page.keyboard.press("b")
    assert desk.state() != before
    desk.page.keyboard.press("d")
    desk.page.keyboard.press("d")
    cells = desk.page.locator(".jp-Notebook .jp-Cell")
    expect(cells).to_have_count(len(SMALL | PLAYERS) + 1)
