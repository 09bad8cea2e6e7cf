"""The player in a browser: every control by mouse and by key, and what is shown."""

from __future__ import annotations

import json
import re
import time

import pytest
from playwright.sync_api import Locator, Page, expect

from mcpsim.course import STORIES
from mcpsim.recording import Recording
from mcpsim.widgets import player_data, scripts, standalone_html
from tests.browser.in_page import settle

LAST = 13


def at(page: Page, step: int, last: object = LAST) -> None:
    """The player stands at this step, and everything that shows it agrees."""
    expect(page.get_by_label("Go to step", exact=True)).to_have_value(str(step))
    expect(page.get_by_label("Step", exact=True)).to_have_value(str(step))
    chosen = current(page)
    if step:
        expect(chosen).to_have_count(1)
        expect(chosen).to_have_attribute("aria-posinset", str(step))
        expect(page.locator(".mcpsim-where")).to_contain_text(f"Step {step} of {last}")
    else:
        expect(chosen).to_have_count(0)
        expect(page.locator(".mcpsim-where")).to_have_text("Before the first step")


def messages(page: Page) -> Locator:
    return page.get_by_role("listbox", name="Messages").get_by_role("option")


def current(page: Page) -> Locator:
    return page.get_by_role("listbox", name="Messages").get_by_role("option", selected=True)


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


@pytest.fixture(scope="module")
def long_page(made, tmp_path_factory):
    """The page of 2,000 messages, at its first step: made once."""
    file = tmp_path_factory.mktemp("long") / "player.html"
    file.write_text(standalone_html(made.long()), encoding="utf-8")
    return file


# ----------------------------------------------------------------------------------------------- controls


def test_buttons(play, made):
    page = play(made.legacy_handshake())
    at(page, 1)
    button(page, "Forward").click()
    at(page, 2)
    button(page, "Last").click()
    at(page, LAST)
    button(page, "Forward").click()
    at(page, LAST)
    button(page, "Back").click()
    at(page, LAST - 1)
    button(page, "First").click()
    at(page, 0)
    button(page, "Back").click()
    at(page, 0)


def test_keys(play, made):
    page = play(made.legacy_handshake())
    for key, step in (
        ("ArrowRight", 2),
        ("ArrowRight", 3),
        ("ArrowLeft", 2),
        ("End", LAST),
        ("ArrowRight", LAST),
        ("Home", 0),
        ("ArrowLeft", 0),
    ):
        page.keyboard.press(key)
        at(page, step)


def test_go_to_a_step_by_number(play, made):
    page = play(made.legacy_handshake())
    field = page.get_by_label("Go to step", exact=True)
    field.fill("7")
    field.press("Enter")
    at(page, 7)
    expect(current(page)).to_be_focused()
    page.keyboard.type("12")
    expect(field).to_be_focused()
    page.keyboard.press("Enter")
    at(page, 12)
    page.keyboard.press("g")
    expect(field).to_be_focused()
    page.keyboard.type("999")
    page.keyboard.press("Enter")
    at(page, LAST)


def test_escape_leaves_the_number_as_it_was(play, made):
    page = play(made.legacy_handshake(), cursor=5)
    page.keyboard.press("9")
    page.keyboard.press("Escape")
    at(page, 5)
    expect(page.locator(".mcpsim-player")).to_be_focused()


def test_scrub(play, made):
    page = play(made.legacy_handshake())
    slider = page.get_by_label("Step", exact=True)
    slider.fill("9")
    at(page, 9)
    slider.press("ArrowRight")
    at(page, 10)
    slider.press("Home")
    at(page, 0)


@pytest.mark.usefixtures("fresh")
def test_play_and_pause(play, made):
    page = play(made.legacy_handshake(), cursor=0)
    page.clock.install()
    page.get_by_label("Speed", exact=True).select_option("1")
    button(page, "Play").click()
    expect(button(page, "Pause")).to_be_visible()
    page.clock.run_for(1_700)
    at(page, 1)
    page.clock.run_for(1_700)
    at(page, 2)
    page.keyboard.press("Space")  # The button has the focus: it is pressed, once.
    expect(button(page, "Play")).to_be_visible()
    page.clock.run_for(5_000)
    at(page, 2)


@pytest.mark.usefixtures("fresh")
def test_play_goes_to_the_end_and_stops_there(play, made):
    page = play(made.legacy_handshake(), cursor=LAST - 2)
    page.clock.install()
    page.keyboard.press("Space")
    for _ in range(2):
        page.clock.run_for(1_700)
    at(page, LAST)
    expect(button(page, "Play")).to_be_visible()
    page.keyboard.press("Space")
    at(page, 0)
    expect(button(page, "Pause")).to_be_visible()


@pytest.mark.usefixtures("fresh")
def test_speed(play, made):
    page = play(made.legacy_handshake(), cursor=0)
    page.clock.install()
    speed = page.get_by_label("Speed", exact=True)
    expect(speed).to_have_value("1")
    page.keyboard.press("+")
    page.keyboard.press("+")
    expect(speed).to_have_value("4")
    page.keyboard.press("Space")
    page.clock.run_for(410)
    at(page, 1)
    for _ in range(9):
        page.keyboard.press("-")
    expect(speed).to_have_value("0.25")
    page.clock.run_for(3_000)
    at(page, 1)
    page.clock.run_for(3_500)
    at(page, 2)


def test_moving_by_hand_stops_playing(play, made):
    page = play(made.legacy_handshake())
    page.keyboard.press("Space")
    expect(button(page, "Pause")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(button(page, "Play")).to_be_visible()


# ------------------------------------------------------------------------------------ the list of messages


def test_a_click_on_a_message_goes_there(play, made):
    page = play(made.legacy_handshake())
    messages(page).filter(has_text="tools/call #2 close_ticket").first.click()
    at(page, 6)
    expect(current(page)).to_be_focused()


def test_the_list_has_one_stop_for_the_tab_key(play, made):
    page = play(made.legacy_handshake(), cursor=3)
    expect(page.locator('[role=option][tabindex="0"]')).to_have_count(1)
    current(page).focus()
    for key, step in (("ArrowDown", 4), ("ArrowDown", 5), ("ArrowUp", 4), ("End", LAST), ("ArrowDown", LAST)):
        page.keyboard.press(key)
        at(page, step)
        expect(current(page)).to_be_focused()


def test_a_message_says_all_that_is_drawn(play, made):
    page = play(made.dropped())
    names = messages(page).evaluate_all("options => options.map(one => one.getAttribute('aria-label'))")
    assert names[0] == "1: tools/call #1 slow, 0 ms, request, client to server"
    assert names[1] == "2: notifications/progress 1 lost, 520 ms, notification, server to client"
    assert names[4] == "5: result #2 tools/call quick not arrived copy of 4, 540 ms, server to client"
    assert names[6] == "7: stops the work slow #1, 300.56 s, server"


def test_the_current_message_is_in_view(play, long_page):
    page = play(long_page)
    for step in (1_500, 3, 2_000):
        page.keyboard.press("g")
        page.keyboard.type(str(step))
        page.keyboard.press("Enter")
        at(page, step, last="2,000")
        expect(current(page)).to_be_in_viewport(ratio=1)


def test_arrows_differ_by_line_and_head(play, made):
    page = play(made.legacy_handshake(), cursor=LAST)

    def arrow(step: int) -> tuple[str, str | None]:
        group = page.locator(f'.mcpsim-arrow[data-step="{step}"]')
        dashes = group.locator(".shaft").evaluate("line => getComputedStyle(line).strokeDasharray")
        return dashes, group.locator("path").first.get_attribute("class")

    found = {
        kind: arrow(step)
        for kind, step in {"request": 1, "response": 2, "notification": 3, "error": 12}.items()
    }
    assert len(set(found.values())) == 4


def test_a_lost_message_ends_in_a_cross(play, made):
    page = play(made.dropped())
    lost, kept = (page.locator(f'.mcpsim-arrow[data-step="{step}"]') for step in (2, 3))
    expect(lost.locator(".cross")).to_have_count(1)
    expect(kept.locator(".cross")).to_have_count(0)
    expect(messages(page).nth(1)).to_contain_text("lost")


def test_a_handler_at_work_is_a_bar(play, made):
    page = play(made.dropped())
    page.keyboard.press("Home")
    bar = page.locator(".mcpsim-drawing .mcpsim-bar")
    expect(bar).to_have_class("mcpsim-bar mcpsim-b-handler future")
    page.keyboard.press("End")
    expect(bar).to_have_class("mcpsim-bar mcpsim-b-handler past")
    expect(bar.locator(".cross")).to_have_count(1)
    page.keyboard.type("4")
    page.keyboard.press("Enter")
    expect(bar).to_have_class("mcpsim-bar mcpsim-b-handler current")


# ----------------------------------------------------------------------------------------------- the panel


def test_the_narration_and_its_rule(play, made):
    page = play(made.modern_progress(), cursor=2)
    narration = page.locator("[aria-live=polite]")
    expect(narration).to_contain_text(
        "The server reports progress on tools/call #1: 1 of 3, “Built part 1 of 3”."
    )
    expect(narration.locator(".mcpsim-rule")).to_contain_text("progress MUST grow with every report")
    expect(narration.get_by_role("link")).to_have_attribute(
        "href",
        "https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress#progress-flow",
    )


def test_the_message_with_its_fields(play, made):
    page = play(made.modern_progress())
    pane = page.get_by_role("tabpanel", name="Message")
    expect(pane).to_contain_text("Left at 0 ms, on the way for 20 ms.")
    expect(pane.locator(".mcpsim-json")).to_contain_text('"progressToken": "report-1"')
    item = pane.get_by_role("listitem").filter(has_text="progressToken")
    expect(item).to_contain_text("It MUST be unique among open requests.")
    # The number beside the line is the number in the list.
    number = item.evaluate("item => item.value")
    line = pane.locator(".mcpsim-explained").filter(has_text="progressToken")
    expect(line.locator(".mcpsim-ref")).to_have_text(str(number))
    item.hover()
    expect(line).to_have_class(re.compile("mcpsim-lit"))


def test_the_raw_bytes(play, made):
    page = play(made.modern_stream())
    page.get_by_role("tab", name="Raw bytes").click()
    pane = page.get_by_role("tabpanel", name="Raw bytes")
    expect(pane).to_contain_text("POST /mcp HTTP/1.1")
    expect(pane).to_contain_text("Mcp-Name: export_report")
    page.keyboard.press("Alt+1")
    expect(page.get_by_role("tabpanel", name="Message")).to_be_visible()
    page.keyboard.press("Alt+2")
    button(page, "Forward").click()
    expect(pane).to_contain_text("event: message⏎")


def test_the_memory(play, made):
    page = play(made.legacy_handshake(), cursor=1)
    page.keyboard.press("Alt+3")
    pane = page.get_by_role("tabpanel", name="Memory")
    client, server = (
        pane.locator(".mcpsim-card").filter(has_text=f"{name} remembers") for name in ("client", "server")
    )
    expect(client).to_contain_text("initializing")
    expect(server).to_contain_text("initialized, not yet ready")
    expect(server).to_contain_text("new")
    expect(pane).to_contain_text("initialize #0 — client waits for server, since step 1")
    page.keyboard.press("ArrowRight")
    expect(client).to_contain_text("ready")
    expect(client).to_contain_text("forgotten")
    expect(server.locator(".mcpsim-change")).to_have_count(0)
    expect(pane.locator(".mcpsim-nothing")).to_have_text("none")
    page.keyboard.press("Home")
    expect(server).to_contain_text("waiting for initialize")


def test_a_party_without_state_remembers_nothing(play, made):
    page = play(made.modern_progress(), cursor=3)
    page.keyboard.press("Alt+3")
    server = page.locator(".mcpsim-card").filter(has_text="server remembers")
    expect(server.locator(".mcpsim-nothing")).to_contain_text("Each request brings along all")


def test_a_trace_from_elsewhere_does_not_know_what_was_remembered(play, made):
    trace = made.modern_progress()
    page = play(type(trace).from_interchange(trace.to_interchange()))
    page.keyboard.press("Alt+3")
    expect(page.locator(".mcpsim-card")).to_have_text([re.compile("the trace does not say")] * 2)


def test_a_trace_of_several_connections_says_which_and_when_it_was_seen(play, made):
    lines = made.modern_progress().to_interchange().splitlines()
    rows = [{**json.loads(line), "connection": name} for name in ("c1", "c2") for line in lines]
    page = play(Recording.from_interchange("\n".join(map(json.dumps, rows)).encode()))
    page.keyboard.press("Alt+1")
    pane = page.get_by_role("tabpanel", name="Message")
    expect(pane).to_contain_text("Seen at 0 ms, on connection c1.")
    expect(pane).not_to_contain_text("on the way")
    page.keyboard.press("End")
    expect(page.locator(".mcpsim-fact").filter(has_text="connection c2").first).to_be_visible()
    page.keyboard.press("Alt+3")
    expect(page.get_by_role("tabpanel", name="Memory")).not_to_contain_text("has it since")


def test_what_is_still_on_the_way(play, made):
    page = play(made.dropped(), cursor=4)
    page.keyboard.press("Alt+3")
    pane = page.get_by_role("tabpanel", name="Memory")
    expect(pane).to_contain_text("Still on the wayresult #2 tools/call (step 4), to client")
    page.keyboard.press("End")
    expect(pane).not_to_contain_text("Still on the way")


def test_tabs_follow_the_arrow_keys(play, made):
    page = play(made.legacy_handshake())
    page.get_by_role("tab", name="Message").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Raw bytes")).to_be_focused()
    expect(page.get_by_role("tab", selected=True)).to_have_text("Raw bytes")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", selected=True)).to_contain_text("Memory")
    at(page, 1)


# -------------------------------------------------------------------------------------------------- views


def test_the_table(play, made):
    page = play(made.legacy_handshake(), cursor=2)
    page.keyboard.press("t")
    expect(page.get_by_role("listbox")).to_be_hidden()
    rows = page.locator(".mcpsim-table tbody [data-step]")
    expect(rows).to_have_count(LAST)
    expect(rows.nth(1)).to_contain_text("result #0 initialize")
    expect(rows.nth(1)).to_have_attribute("aria-current", "step")
    page.get_by_role("button", name="Go to step 12").click()
    expect(rows.nth(11)).to_have_attribute("aria-current", "step")
    button(page, "Table").click()
    at(page, 12)
    expect(page.get_by_role("listbox")).to_be_visible()


def test_a_long_table_grows_on_demand(play, long_page):
    page = play(long_page)
    page.keyboard.press("t")
    rows = page.locator(".mcpsim-table tbody [data-step]")
    expect(rows).to_have_count(500)
    button(page, "Show more steps").click()
    expect(rows).to_have_count(1_000)
    # Far away it begins anew, around the cursor.
    page.keyboard.press("End")
    expect(rows).to_have_count(250)
    expect(rows.last).to_have_attribute("aria-current", "step")
    expect(button(page, "Show more steps")).to_be_hidden()
    button(page, "Show earlier steps").click()
    expect(rows).to_have_count(750)
    expect(rows.first).to_contain_text("1251")
    page.keyboard.press("Home")
    expect(rows.first).to_contain_text("1")
    expect(button(page, "Show earlier steps")).to_be_hidden()


def test_what_comes_next_can_be_hidden(play, made):
    page = play(made.legacy_handshake(), cursor=2)
    page.keyboard.press("h")
    visible = page.locator(".mcpsim-row:visible")
    expect(visible).to_have_count(2)
    page.keyboard.press("ArrowRight")
    expect(visible).to_have_count(3)
    page.keyboard.press("t")
    expect(page.locator(".mcpsim-table tbody [data-step]")).to_have_count(3)
    page.keyboard.press("t")
    button(page, "Hide next").click()
    assert page.locator(".mcpsim-row:visible").count() > 10


def test_help(play, made):
    page = play(made.legacy_handshake())
    help_button = button(page, "Help: keys and shapes")
    help_button.click()
    expect(help_button).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".mcpsim-help")).to_contain_text("one step forward")
    page.keyboard.press("Escape")
    expect(page.locator(".mcpsim-help")).to_be_hidden()
    page.keyboard.press("?")
    expect(page.locator(".mcpsim-help")).to_be_visible()


def test_the_panel_goes_below_where_there_is_little_room(play, made):
    page = play(made.legacy_handshake())

    def below() -> bool:
        diagram, panel = (page.locator(f".mcpsim-{part}").bounding_box() for part in ("diagram", "panel"))
        return panel["y"] >= diagram["y"] + diagram["height"] - 1

    assert not below()
    page.set_viewport_size({"width": 800, "height": 1_000})
    page.wait_for_function("document.querySelector('.mcpsim-heads').clientWidth < 800")
    assert below()


def test_three_lanes(play, made):
    page = play(made.gateway())
    lanes = page.locator(".mcpsim-lane")
    expect(lanes).to_have_text(["client", "gateway", "server"])
    middles = [box["x"] + box["width"] / 2 for box in (lane.bounding_box() for lane in lanes.all())]
    assert middles == sorted(middles)
    # What is written between them is the same, so the gaps are nearly so.
    assert middles[1] - middles[0] == pytest.approx(middles[2] - middles[1], rel=0.3)


@pytest.mark.parametrize("name", ["any-replica-will-do", "answer-goes-to-another-replica"])
def test_all_lanes_are_in_view_and_where_they_are_not_it_says_so(play, name):
    page = play(STORIES[name].play().recording, cursor=1)
    page.set_viewport_size({"width": 1_400, "height": 900})
    beyond = page.locator(".mcpsim-beyond:not(.before)")
    expect(beyond).to_be_empty()
    assert page.locator(".mcpsim-diagram").evaluate("node => node.scrollWidth <= node.clientWidth + 1")
    page.set_viewport_size({"width": 500, "height": 900})
    expect(beyond).to_have_text(re.compile(r"^\d more →$"))
    page.locator(".mcpsim-diagram").evaluate("node => node.scrollLeft = 2_000")
    expect(beyond).to_be_empty()
    expect(page.locator(".mcpsim-beyond.before")).to_have_text(re.compile(r"^← \d more$"))


def test_an_empty_recording(play, made):
    page = play(made.empty())
    expect(page.locator(".mcpsim-what")).to_have_text("Nothing happens in this recording.")
    for key in ("ArrowRight", "End", "Space", "t", "t", "Alt+2", "Alt+3"):
        page.keyboard.press(key)
    expect(page.get_by_label("Go to step", exact=True)).to_have_value("0")


def test_a_recording_with_odd_details(play, made):
    page = play(made.odd_details())
    for _ in range(9):
        page.keyboard.press("ArrowRight")
        for tab in ("Alt+1", "Alt+2", "Alt+3"):
            page.keyboard.press(tab)
    at(page, 6, last=6)


def test_keys_stay_within_the_player(play, made):
    page = play(made.legacy_handshake())
    page.evaluate("window.heard = []; document.addEventListener('keydown', e => window.heard.push(e.key))")
    for key in ("ArrowRight", "x", "b", "Home", "h", "3", "Enter", "?"):
        page.keyboard.press(key)
    # A key that means nothing here goes on. JupyterLab leaves it alone where the focused element says so.
    assert page.evaluate("window.heard") == ["x"]
    focusable = "button, input, select, summary, textarea, a, [tabindex], [role=option]"
    root = page.locator(".mcpsim-player")
    assert root.locator(focusable).count() > 30
    assert root.locator(f":is({focusable}):not([data-lm-suppress-shortcuts])").count() == 0
    expect(root).to_have_attribute("data-lm-suppress-shortcuts", "true")


MODEL = """data => {
    const values = { data, cursor: 1, playing: false, speed: 1 };
    const listeners = {};
    window.model = {
        get: name => values[name],
        set: (name, value) => {
            if (values[name] === value) return;
            values[name] = value;
            [...(listeners[`change:${name}`] || [])].forEach(each => each());
        },
        save_changes: () => {},
        on: (event, each) => (listeners[event] ||= new Set()).add(each),
        off: (event, each) => listeners[event]?.delete(each),
        count: () => Object.values(listeners).reduce((sum, each) => sum + each.size, 0),
    };
    const views = [0, 1].map(() => document.body.appendChild(document.createElement('div')));
    window.stop = widget.initialize({ model });
    window.remove = views.map(el => widget.render({ model, el }));
}"""


@pytest.mark.usefixtures("fresh")
def test_two_views_of_one_model(page, made):
    page.set_content("<!doctype html><title>two views</title>")
    page.add_script_tag(
        type="module", content=scripts.script(scripts.PLAYER) + "\nwindow.widget = { initialize, render };"
    )
    page.wait_for_function("window.widget")
    page.clock.install()
    page.evaluate(MODEL, player_data(made.legacy_handshake()))
    fields = page.get_by_label("Go to step", exact=True)
    button(page, "Forward").first.click()
    expect(fields.nth(0)).to_have_value("2")
    expect(fields.nth(1)).to_have_value("2")
    # What a view shows beside the step is its own.
    page.get_by_role("tab", name="Raw bytes").first.click()
    expect(page.get_by_role("tab", name="Raw bytes").last).to_have_attribute("aria-selected", "false")
    # Two views do not make it play twice as fast.
    button(page, "Play").last.click()
    page.clock.run_for(1_700)
    expect(fields.nth(0)).to_have_value("3")
    # Another recording is shown in all views, from where its cursor is.
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.evaluate("data => window.model.set('data', data)", player_data(made.dropped()))
    expect(page.locator(".mcpsim-title")).to_have_text(["Messages that get lost"] * 2)
    expect(page.locator(".mcpsim-where").first).to_contain_text("Step 3 of 8")
    assert wrong == []
    # A view that goes takes its listeners along, and the clock stops with the model.
    page.evaluate("window.remove[0]()")
    expect(page.locator(".mcpsim-player")).to_have_count(1)
    page.clock.run_for(1_700)
    expect(fields).to_have_value("4")
    page.evaluate("window.remove[1](); window.stop()")
    assert page.evaluate("window.model.count()") == 0
    page.clock.run_for(9_000)
    assert page.evaluate("window.model.get('cursor')") == 4


# ---------------------------------------------------------------------------------- hostile and long ones


def test_nothing_in_a_hostile_message_runs(play, made):
    page = play(made.hostile(), cursor=0)
    page.keyboard.press("?")
    for _ in range(11):
        page.keyboard.press("ArrowRight")
        for tab in ("Alt+1", "Alt+2", "Alt+3"):
            page.keyboard.press(tab)
    page.keyboard.press("t")
    assert page.evaluate("window.hostile") is None
    assert page.locator("img, iframe, object, embed").count() == 0
    assert page.locator(".mcpsim-player script, .mcpsim-player b >> text=not json").count() == 0
    expect(page.locator(".mcpsim-title")).to_contain_text("<script>window.hostile=1</script>")


def test_long_strings_are_cut_in_the_display(play, made):
    page = play(made.hostile(), cursor=4)
    text = page.get_by_role("tabpanel", name="Message").text_content() or ""
    assert "(100,000 characters)" in text
    assert len(text) < 3_000


def test_two_thousand_messages_draw_only_what_is_seen(play, long_page, capsys):
    began = time.perf_counter()
    page = play(long_page)
    opened = time.perf_counter() - began
    assert messages(page).count() < 40
    page.keyboard.press("g")
    page.keyboard.type("1000")
    page.keyboard.press("Enter")
    at(page, 1_000, last="2,000")
    assert messages(page).count() < 60
    step_ms = page.evaluate(
        """() => {
            const forward = document.querySelector('.mcpsim-forward');
            const began = performance.now();
            for (let i = 0; i < 50; i++) forward.click();
            return (performance.now() - began) / 50;
        }"""
    )
    at(page, 1_050, last="2,000")
    with capsys.disabled():
        print(f"\n2,000 messages: open {opened:.2f} s, one step {step_ms:.1f} ms")


# ------------------------------------------------------------------------------------------ sight and motion


# The colours that JupyterLab's two themes bring along.
LAB = {
    "light": "--jp-layout-color1: #fff; --jp-layout-color2: #eee; --jp-content-font-color1: rgba(0,0,0,.87)",
    "dark": "--jp-layout-color1: #212121; --jp-layout-color2: #424242; --jp-content-font-color1: #fff",
}


@pytest.mark.parametrize("lab", [False, True])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_of_the_text(play, made, scheme, lab):
    page = play(made.legacy_handshake(), cursor=6)
    # In JupyterLab its theme counts, not what the system prefers.
    page.emulate_media(color_scheme={"light": "dark", "dark": "light"}[scheme] if lab else scheme)
    if lab:
        page.evaluate(
            """([theme, style]) => {
                document.body.dataset.jpThemeLight = String(theme === 'light');
                for (const each of style.split('; ')) document.body.style.setProperty(...each.split(': '));
            }""",
            [scheme, LAB[scheme]],
        )
    ground = page.locator(".mcpsim-player").evaluate("e => getComputedStyle(e).backgroundColor")
    expected = {"light": "rgb(255, 255, 255)", "dark": "rgb(33, 33, 33)" if lab else "rgb(22, 25, 29)"}
    assert ground == expected[scheme]
    page.keyboard.press("?")
    for key in ("Alt+1", "Alt+2", "Alt+3", "t"):
        page.keyboard.press(key)
        assert page.evaluate(CONTRAST) == []


# For every piece of text: its colour against the nearest ground that is not transparent.
CONTRAST = """() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const parsed = new Map();
    const parse = colour => {
        if (!parsed.has(colour)) {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
            parsed.set(colour, [...canvas.getImageData(0, 0, 1, 1).data]);
        }
        return parsed.get(colour);
    };
    const light = rgb => rgb.slice(0, 3).map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = node => {
        for (let each = node; each; each = each.parentElement) {
            const found = parse(getComputedStyle(each).backgroundColor);
            if (found[3] > 250) return found;
        }
        return [255, 255, 255, 255];
    };
    const low = [];
    const walk = document.createTreeWalker(document.querySelector('.mcpsim-player'), NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const node = walk.currentNode.parentElement;
        if (!walk.currentNode.data.trim() || !node.checkVisibility()) continue;
        const style = getComputedStyle(node);
        const colour = parse(node.namespaceURI.endsWith('svg') ? style.fill : style.color);
        const [a, b] = [light(colour), light(ground(node))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < 4.5) low.push([walk.currentNode.data, node.className, ratio.toFixed(2)]);
    }
    return low;
}"""


def test_motion_only_where_it_is_welcome(play, made):
    page = play(made.legacy_handshake())
    moving = "document.querySelector('.mcpsim-dot').getAnimations().length"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(moving) == 0
    page.emulate_media(reduced_motion="no-preference")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(moving) == 1


def test_what_belongs_together_is_marked_by_a_shape(play, made):
    page = play(made.gateway())
    page.keyboard.press("End")
    expect(page.locator(".mcpsim-part")).to_have_text("round 2 of 2")
    kin = page.locator(".mcpsim-row.kin")
    expect(kin).to_have_count(7)
    expect(kin.first).to_have_attribute("aria-description", "belongs to step 8")
    shape = "node => getComputedStyle(node, '::before').borderLeftWidth"
    assert kin.first.evaluate(shape) == "3px"
    assert page.locator(".mcpsim-row.current").evaluate(shape) != "3px"
    page.keyboard.press("?")
    expect(page.get_by_text("A dot before the number of a step")).to_be_visible()


def test_a_key_that_does_nothing_says_so_until_the_next_one(play, made):
    page = play(made.modern_progress(), cursor=1)
    line = page.locator(".mcpsim-said").get_by_role("status")
    for key, text in (
        ("c", "nothing to fold"),
        ("C", "nothing to fold"),
        ("f", "found nothing"),
        ("b", "in a notebook"),
    ):
        page.keyboard.press(key)
        expect(line).to_contain_text(text)
        page.keyboard.press("ArrowRight")
        expect(line).to_be_empty()
    page.keyboard.press("9")
    page.keyboard.press("9")
    page.keyboard.press("Enter")
    expect(line).to_contain_text("There is no step 99")
    button(page, "First").click()
    expect(line).to_be_empty()


def test_on_the_projector_nothing_moves_the_message(play, made):
    page = play(made.modern_progress(), cursor=1)
    page.keyboard.press("p")
    page.keyboard.press("c")
    expect(page.locator(".mcpsim-said").get_by_role("status")).to_contain_text("nothing to fold")
    assert page.locator(".mcpsim-said").bounding_box()["height"] <= 1


def test_the_focus_goes_along_while_it_plays(play, made):
    page = play(made.modern_progress(), cursor=1)
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    expect(page.locator(".mcpsim-where")).to_contain_text("Step 2 of 6")
    expect(current(page)).to_be_focused()


def test_where_what_comes_is_hidden_the_number_of_rounds_is_too(play, made):
    page = play(made.gateway(), cursor=1)
    expect(page.locator(".mcpsim-part")).to_have_text("round 1 of 2")
    page.keyboard.press("h")
    expect(page.locator(".mcpsim-part")).to_have_text("round 1")
    page.keyboard.press("t")
    expect(page.locator(".mcpsim-table")).not_to_contain_text("of 2")


def test_a_step_without_a_thread_names_none(play, made):
    page = play(made.modern_progress(), cursor=2)
    expect(page.locator(".mcpsim-part")).to_have_count(0)
    expect(page.locator(".mcpsim-where")).not_to_contain_text("null")
    expect(page.locator(".mcpsim-row.kin")).to_have_count(4)


@pytest.mark.parametrize("width", [640, 1000, 1400])
def test_no_label_loses_its_id_where_lanes_are_narrow(play, page, width):
    page.set_viewport_size({"width": width, "height": 900})
    play(STORIES["for-everybody-or-for-one"].play().recording)
    page.keyboard.press("End")
    settle(page)
    # All at once: a row that is out of view may go at any time.
    labels = page.locator(".mcpsim-row .mcpsim-label").evaluate_all(
        "labels => labels.map(one => [one.innerText, one.scrollWidth <= one.clientWidth + 1])"
    )
    named = [(text, whole) for text, whole in labels if "#" in text]
    assert len(named) > 5
    assert [text for text, whole in named if not whole] == []
