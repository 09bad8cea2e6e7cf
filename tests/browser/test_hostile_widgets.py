"""Hostile servers, stories, forms, recordings and typed text in every widget: shown as text, nothing runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from mcpsim import widgets
from mcpsim.widgets.base import Picture
from mcpsim.widgets.text import visible
from tests.browser.in_page import Shown, Stage, listening, opener
from tests.browser.test_hostile import INVISIBLE, RUNS
from tests.support.hostile import (
    ATTACKS,
    HOSTILE_WIDGETS,
    SENDABLE,
    attacked,
    hostile_address,
    hostile_bench,
    hostile_form,
    hostile_run,
    hostile_server,
    hostile_story,
)

Open = Callable[..., Shown]
WIDTHS = (1400, 400)


@pytest.fixture
def show(stage: Stage) -> Iterator[Open]:
    """Shows a widget. Nothing is asked for, no dialog comes, and nothing has run when the test is over."""
    told: list[str] = []
    with listening(
        stage.page,
        dialog=lambda dialog: (told.append(dialog.message), dialog.dismiss()),
        request=lambda request: told.append(request.url),
        popup=lambda other: told.append(other.url),
    ):
        yield from opener(stage)
        harmless(stage.page)
    assert told == []


#: A form of ours sends nothing: it has no address, and its event is taken.
OUR_FORM = "<form class="


LOOK = f"""() => {{
  const root = document.querySelector("#here");
  const {{ scrollWidth, clientWidth }} = document.documentElement;
  return {{
    ran: window.hostile,
    runs: ({RUNS})(root),
    wide: scrollWidth,
    room: clientWidth,
    invisible: root.innerText.match(/.{{0,60}}{INVISIBLE}.{{0,20}}/su),
  }};
}}"""


def harmless(page: Page) -> None:
    """Nothing ran, nothing can, nothing stands out at the side, and no character is invisible."""
    found = page.evaluate(LOOK)
    assert found["ran"] is None
    assert [one for one in found["runs"] if not one.startswith(OUR_FORM)] == []
    assert found["wide"] <= found["room"], f"it is {found['wide']} wide in a page of {found['room']}"
    assert found["invisible"] is None, ascii(found["invisible"])


def holds(where: Locator, *attacks: str) -> None:
    """The attacks stand there as text, with a name for what cannot be seen."""
    text = where.inner_text()
    for attack in attacks:
        # A line break is a space, or the mark of one, where all is on one line.
        for line in attack.split("\n"):
            assert visible(line)[:24].strip() in text, ascii(attack)


def here(shown: Shown) -> Locator:
    return shown.page.locator("#here")


def test_every_widget_is_here() -> None:
    every = {
        name
        for name in widgets.__all__
        if isinstance(thing := getattr(widgets, name), type) and issubclass(thing, Picture)
    }
    assert {re.split("[ :]", which)[0] for which in HOSTILE_WIDGETS} == every


@pytest.mark.parametrize("which", HOSTILE_WIDGETS)
def test_a_widget_that_opens_is_harmless(show: Open, made: Any, which: str) -> None:
    shown = show(HOSTILE_WIDGETS[which](made))
    for width in WIDTHS:
        shown.page.set_viewport_size({"width": width, "height": 900})
        harmless(shown.page)


# ------------------------------------------------------------------------------------------ the message lab


def typed(shown: Shown, name: str) -> Locator:
    return shown.page.get_by_role("textbox", name=name, exact=True)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_what_is_typed_into_the_lab(show: Open, transport: Any) -> None:
    shown = show(widgets.MessageLab(hostile_server, transport=transport))
    offered = shown.page.get_by_role("group", name="What the protocol allows next")
    holds(offered, ATTACKS[3])
    for number, attack in enumerate((*ATTACKS[:4], *ATTACKS[10:13])):
        call = {"name": attack, "arguments": {attack: attack}, "_meta": {attack: attack}}
        message = {"jsonrpc": "2.0", "id": attack, "method": attack, "params": call}
        typed(shown, "Message").fill(attack if number % 3 == 0 else json.dumps(message))
        if transport == "http":
            typed(shown, "HTTP method").fill(attack)
            lines = f"{attack}: {attack}\nMcp-Name: {attack}"
            typed(shown, "HTTP headers, one a line").fill(lines)
        shown.page.get_by_role("button", name="Send", exact=False).first.click()
        shown.settle()
        shown.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        harmless(shown.page)
    holds(shown.page.locator(".mcpsim-lab-history"), ATTACKS[1], ATTACKS[2])
    assert len(shown.trips) == 7
    shown.page.locator(".mcpsim-lab-history button").first.click()
    shown.settle()
    assert typed(shown, "Message").input_value() == ATTACKS[0]


def test_what_a_template_of_the_lab_brings(show: Open) -> None:
    shown = show(widgets.MessageLab(hostile_server, era="modern"))
    offered = shown.page.get_by_role("group", name="What the protocol allows next")
    for name in ("server/discover", "tools/list", f"tools/call {SENDABLE[3]}"):
        offered.get_by_role("button", name=name).first.click()
        shown.button("Send").click()
        shown.settle()
        harmless(shown.page)
    shown.button("Let time pass").click()
    shown.settle()
    holds(shown.page.get_by_role("region", name="What came back for message"), SENDABLE[3])


# ------------------------------------------------------------------------------------------------ the others


@pytest.mark.parametrize("of_recording", [False, True])
def test_the_moments_of_a_cache(show: Open, made: Any, *, of_recording: bool) -> None:
    shown = show(widgets.CacheTimeline(attacked(made) if of_recording else hostile_run()))
    slider = shown.page.get_by_role("slider", name="Moment")
    slider.focus()
    for _ in range(15):
        shown.press("ArrowRight")
        harmless(shown.page)
    shown.press("End")
    holds(here(shown), ATTACKS[1] if of_recording else "javascript:window.hostile=3")


def test_the_rows_of_a_comparison(show: Open, made: Any) -> None:
    shown = show(HOSTILE_WIDGETS["Comparison of recordings"](made))
    holds(here(shown), *ATTACKS[:3], ATTACKS[12])
    shown.page.get_by_role("option", selected=True).focus()
    for _ in range(25):
        shown.press("ArrowDown")
        harmless(shown.page)
    shown.press("End")


def test_a_form(show: Open) -> None:
    shown = show(widgets.ElicitationForm(hostile_form(), server=ATTACKS[2]))
    holds(here(shown), *SENDABLE)
    for box in shown.page.get_by_role("textbox").all():
        box.fill(ATTACKS[2])
        box.press("Tab")
    for each in shown.page.get_by_role("combobox").all():
        each.select_option(index=1)
    for each in shown.page.get_by_role("checkbox").all():
        each.check()
    harmless(shown.page)
    for name in ("Accept", "Decline", "Cancel"):
        shown.button(name).click(force=True)
        shown.settle()
        harmless(shown.page)


def test_a_form_that_is_answered(show: Open) -> None:
    fields = {
        attack: {"type": "string", "title": attack, "description": attack, "default": attack}
        for attack in SENDABLE
    }
    shown = show(widgets.ElicitationForm({"type": "object", "properties": fields}, server=ATTACKS[0]))
    for box in shown.page.get_by_role("textbox").all():
        box.fill(ATTACKS[3])
    shown.button("Accept").click()
    shown.settle()
    expect(shown.status).to_contain_text("The answer is accept")
    # What is invisible is escaped: the same JSON.
    preview = shown.page.get_by_role("group", name="What Accept would send").inner_text()
    assert json.loads(preview)["content"] == dict.fromkeys(SENDABLE, ATTACKS[3])
    carried = shown.page.get_by_role("group", name="Modern: The request tools/call once more")
    expect(carried).to_contain_text(json.dumps(ATTACKS[3]))
    assert shown.widget.answer.content == dict.fromkeys(SENDABLE, ATTACKS[3])  # type: ignore[attr-defined]


def test_an_address_is_no_link(show: Open) -> None:
    shown = show(hostile_address())
    holds(here(shown), ATTACKS[2], ATTACKS[3], ATTACKS[6])
    shown.page.get_by_text("window.hostile=1").last.click()
    shown.button("Accept").click(force=True)
    shown.settle()


def test_the_messages_of_bars(show: Open) -> None:
    shown = show(widgets.ProgressBars(hostile_server, list(SENDABLE[:12])))
    shown.button("Step").focus()
    shown.press(*["Enter"] * 40)
    harmless(shown.page)
    holds(here(shown), *SENDABLE[:12])
    shown.page.get_by_role("button", name="Stop #1").first.click(force=True)
    shown.settle()
    shown.button("Run to the end").click()
    harmless(shown.page)


def test_a_cursor_that_is_typed(show: Open) -> None:
    shown = show(widgets.PaginationExplorer())
    for attack in (*ATTACKS[:4], *ATTACKS[10:16]):
        # No field for one line holds more than one, and half a pair does not get as far as the field.
        if "\n" in attack or "\ud800" in attack:
            continue
        shown.page.get_by_role("textbox", name="Made-up cursor").fill(attack)
        shown.button("Send it").click()
        shown.settle()
    harmless(shown.page)
    holds(here(shown), *ATTACKS[:4])


def test_the_layers_of_a_call(show: Open) -> None:
    shown = show(widgets.Layers(hostile_story, hostile_server()))
    calls = shown.page.get_by_label("Call", exact=True)
    for number in (1, 6, 11):
        calls.select_option(str(number))
        shown.settle()
        harmless(shown.page)
    shown.page.get_by_label("Era").select_option("legacy")
    shown.settle()
    calls.select_option("6")
    shown.settle()
    holds(here(shown), SENDABLE[1])


def test_the_cells_of_a_matrix(show: Open) -> None:
    shown = show(widgets.EraMatrix(hostile_server, hostile_story))
    matrix = shown.page.get_by_role("region", name="Versions and eras")
    for number in (4, 8):
        matrix.get_by_role("row").get_by_role("button").nth(number).click()
        harmless(shown.page)
        shown.page.locator(".mcpsim-player").focus()
        shown.press(*["ArrowRight"] * 8)
        harmless(shown.page)


def test_the_knobs_of_a_bench(show: Open) -> None:
    shown = show(hostile_bench())
    knob = shown.page.get_by_role("combobox", name=ATTACKS[2])
    holds(knob, *SENDABLE[:6])
    for attack in (*SENDABLE[:4], SENDABLE[12]):
        knob.select_option(attack)
        expect(shown.page.locator(".mcpsim-title", has_text=visible(attack)[:20]).last).to_be_visible()
        harmless(shown.page)
    shown.page.get_by_role("textbox", name="Link text to open").fill(f"mcpsim:{ATTACKS[2]}?{ATTACKS[3]}")
    shown.button("Open").click()
    expect(shown.page.get_by_role("alert")).to_contain_text("The link text was not opened.")
    harmless(shown.page)
    shown.page.get_by_label(ATTACKS[10]).check()
    expect(shown.page.get_by_role("alert")).to_contain_text(visible(SENDABLE[12])[:10])


# That the tests above would find it.


@pytest.mark.parametrize(
    "active",
    [
        "<img src=data:,>",
        "<b onclick='1'>b</b>",
        "<a href='javascript:1'>a</a>",
        "<svg><a href='x:'></a></svg>",
        "<form action='x:'></form>",
        "<p style='width: 5000px'>p</p>",
        "<p>\u202e</p>",
    ],
)
def test_what_is_active_is_found(page: Page, active: str) -> None:
    page.set_content(f"<!doctype html><main><div id=here><p>text</p>{active}</div></main>")
    with pytest.raises(AssertionError):
        harmless(page)
