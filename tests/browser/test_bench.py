"""The bench in a browser: every kind of knob by mouse and by key, and what follows when one is turned.

The widget in Python and its view are the real ones; what is between them, a kernel's comm, is a function
that the page calls. That a kernel does the same is the last test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from mcpsim import Bench, Knob
from mcpsim.course import bench
from mcpsim.recording.run import Run
from tests.browser import in_page

# A notebook has headings above its outputs.
HEADINGS = "<h1>A lesson</h1><h2>A section</h2><h3>A question</h3>"

# Of the text of an element and of the ground behind it, as WCAG 2.2 measures it.
CONTRAST = """element => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = text => {
    const [r, g, b] = rgb(text).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let ground = element;
  while (rgb(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
  const pair = [getComputedStyle(element).color, getComputedStyle(ground).backgroundColor].map(light).sort();
  return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
}"""


class Shown(in_page.Shown):
    """A bench in a page, and what a user reads off it.

    Attributes:
        trips: where the browser wanted the knobs to stand, in order.
    """

    widget: Bench

    def kernel(self, text: str) -> str:
        answer = super().kernel(text)
        self.trips = [trip for trip in self.trips if "asked" in trip]
        return answer

    def group(self, name: str) -> Locator:
        return self.page.get_by_role("group", name=name, exact=True)

    def choice(self, name: str) -> Locator:
        return self.page.get_by_role("combobox", name=name, exact=True)

    def number(self, name: str) -> Locator:
        return self.page.get_by_role("spinbutton", name=name, exact=True)

    def switch(self, name: str) -> Locator:
        return self.page.get_by_role("checkbox", name=name, exact=True)

    @property
    def table(self) -> Locator:
        return self.page.get_by_role("group", name="The last runs").get_by_role("table")

    def row(self, place: int = 0) -> Locator:
        """A run: 0 is the newest."""
        return self.table.get_by_role("row").nth(place + 1)

    def runs(self, count: int) -> None:
        """Wait until the table has so many runs."""
        expect(self.table.get_by_role("row")).to_have_count(count + 1)

    @property
    def player(self) -> Locator:
        return self.page.get_by_role("region", name=re.compile("^Player: "))

    @property
    def list(self) -> Locator:
        """The player's list of messages."""
        return self.player.get_by_role("listbox", name="Messages")

    def messages(self) -> list[str]:
        return self.list.get_by_role("option").all_inner_texts()


@pytest.fixture
def show(stage: in_page.Stage) -> Iterator[Callable[[Bench], Shown]]:
    """Show a bench in a page. Whatever goes wrong in it fails the test."""
    yield from in_page.opener(stage, Shown)


def page_of(widget: Bench) -> str:
    """A page without a theme of its own."""
    return in_page.Shown(None, widget).html(dark=None, above=HEADINGS)


def of(name: str) -> Bench:
    return Bench.of(bench(name))


# ------------------------------------------------------------------------------- every kind of knob turns


def test_a_choice_by_mouse_and_by_key(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("one-question"))
    shown.runs(1)
    before = shown.messages()
    shown.choice("Asked for a seat, the user").select_option("says no (decline)")
    shown.runs(2)
    expect(shown.row()).to_contain_text(
        "Asked for a seat, the user: fills it in (accept) → says no (decline)"
    )
    expect(shown.row()).to_contain_text('"No seat reserved in IC 31"')
    assert shown.messages() != before
    shown.choice("Asked for a seat, the user").focus()
    shown.page.keyboard.press("ArrowDown")
    shown.runs(3)
    expect(shown.row()).to_contain_text("says no (decline) → closes it (cancel)")
    expect(shown.choice("Asked for a seat, the user")).to_be_focused()
    assert len(shown.trips) == 2


def test_a_number_by_key_and_by_typing(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("three-pages"))
    size = shown.number("Page size")
    expect(size).to_have_value("3")
    size.focus()
    shown.page.keyboard.press("ArrowUp")
    shown.runs(2)
    expect(size).to_have_value("4")
    expect(shown.row()).to_contain_text("[4, 3]")
    size.fill("1")
    size.press("Enter")
    shown.runs(3)
    expect(size).to_be_focused()
    expect(shown.row()).to_contain_text("[1, 1, 1, 1, 1, 1, 1]")
    expect(shown.player.get_by_role("spinbutton", name="Go to step")).to_have_attribute("max", "16")
    assert len(shown.trips) == 2


def test_a_number_stays_within_its_bounds(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("three-pages"))
    size = shown.number("Page size")
    for typed, value, runs in (("99", "10", 2), ("-3", "1", 3), ("2.6", "3", 4), ("", "3", 4)):
        size.fill(typed)
        size.press("Enter")
        expect(size).to_have_value(value)
        shown.runs(runs)
    assert len(shown.trips) == 3


def test_a_number_that_may_be_none(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("report-stopped"))
    stop = shown.number("Stop is pressed after")
    expect(stop).to_have_accessible_description("Empty: never.")
    stop.fill("")
    stop.press("Tab")
    shown.runs(2)
    expect(shown.row()).to_contain_text("Stop is pressed after: 500 ms → never")
    expect(shown.row()).to_contain_text('"finished"')
    stop.fill("300")
    stop.press("Tab")
    shown.runs(3)
    expect(shown.row()).to_contain_text('"stopped after part 1"')


def test_a_switch_by_mouse_and_by_key(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("fresh-then-stale"))
    keeps = shown.switch("The client keeps results")
    expect(keeps).to_be_checked()
    shown.page.get_by_text("The client keeps results", exact=True).click()
    shown.runs(2)
    expect(keeps).not_to_be_checked()
    expect(shown.row()).to_contain_text("The client keeps results: on → off")
    shown.page.keyboard.press("Space")
    shown.runs(3)
    expect(keeps).to_be_checked()


def test_all_knobs_can_be_reached_by_the_tab_key(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("first-call"))
    labels = ["Link text to open", "Open", "Back to the story"]
    labels += ["Client's era", "Server's eras", "Transport", "Latency", "What goes wrong"]
    for label in labels:
        shown.page.keyboard.press("Tab")
        focused = shown.page.locator(":focus")
        expect(focused).to_have_accessible_name(label)
    for group in ("Peers", "Wire", "Fault"):
        expect(shown.group(group)).to_be_visible()


def test_keys_for_a_knob_do_not_reach_the_player_or_the_page(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("three-pages"))
    shown.page.evaluate("document.addEventListener('keydown', () => { window.heard = true; })")
    size = shown.number("Page size")
    size.focus()
    expect(size).to_have_attribute("data-lm-suppress-shortcuts", "true")
    for key in ("5", "End", "b"):
        shown.page.keyboard.press(key)
    assert shown.page.evaluate("window.heard") is None
    expect(shown.player.get_by_role("spinbutton", name="Go to step")).to_have_value("1")


# ---------------------------------------------------------------------------------------- what follows them


def test_a_fault_is_offered_with_the_messages_that_there_are(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("first-call"))
    message = shown.choice("With which message")
    expect(message).to_have_count(0)
    shown.choice("What goes wrong").select_option("comes late (delay)")
    expect(message.get_by_role("option")).to_have_text(
        ["tools/list", "result of tools/list", "tools/call", "result of tools/call"]
    )
    expect(shown.number("By how much")).to_have_value("1000")
    message.select_option("result of tools/call")
    expect(shown.row()).to_contain_text("With which message: tools/list → result of tools/call")
    shown.choice("Client's era").select_option("legacy")
    expect(message.get_by_role("option").first).to_have_text("initialize")
    expect(message).to_have_value("1 result of tools/call")
    shown.choice("What goes wrong").select_option("arrives twice (duplicate)")
    expect(shown.number("By how much")).to_have_count(0)
    shown.runs(5)
    assert len(shown.trips) == 4


def test_the_player_keeps_its_step_or_goes_to_what_is_different(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("two-rounds"))
    step = shown.player.get_by_role("spinbutton", name="Go to step")
    step.fill("6")
    step.press("Enter")
    shown.number("Latency").fill("250")
    shown.number("Latency").press("Enter")
    shown.runs(2)
    expect(step).to_have_value("6")
    # The fourth step is what the user answers.
    shown.choice("Asked for the day, the user").select_option("decline")
    shown.runs(3)
    expect(step).to_have_value("4")
    assert shown.widget.cursor == 4


def test_what_was_switched_on_in_the_player_stays_on(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("first-call"))
    shown.player.get_by_role("button", name="Table", exact=True).click()
    shown.player.get_by_role("button", name="Hide next").click()
    shown.number("Latency").fill("100")
    shown.number("Latency").press("Enter")
    shown.runs(2)
    for name in ("Table", "Hide next"):
        expect(shown.player.get_by_role("button", name=name, exact=True)).to_have_attribute(
            "aria-pressed", "true"
        )
    table = shown.player.get_by_role("group", name="All messages as a table")
    expect(table.get_by_role("table").first.get_by_role("row")).to_have_count(2)
    expect(shown.player.get_by_role("listbox", name="Messages")).to_have_count(0)
    shown.player.get_by_role("button", name="Table", exact=True).click()
    expect(shown.player.get_by_role("listbox", name="Messages")).to_be_visible()


def test_differences_are_more_than_a_colour(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("three-pages"))
    expect(shown.table.get_by_text("▲")).to_have_count(1)  # The caption says what it means.
    shown.number("Page size").fill("2")
    shown.number("Page size").press("Enter")
    shown.runs(2)
    messages = shown.row().get_by_role("cell").nth(1)
    expect(messages).to_have_text(re.compile(r"^8 ▲ 2"))
    expect(messages).to_contain_text("2 more than in the run before")
    expect(shown.row()).to_have_attribute("aria-current", "true")
    expect(shown.row(1)).not_to_have_attribute("aria-current", "true")
    expect(shown.page.locator(".mcpsim-status")).to_contain_text("Run 2: 8 messages, ")


def test_an_error_of_the_story_is_text(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("first-call"))
    alert = shown.page.get_by_role("alert")
    expect(alert).to_have_count(0)
    shown.choice("What goes wrong").select_option("cut")
    expect(alert).to_have_text(re.compile("^The story ended with an error. ConnectionClosed: "))
    expect(shown.row()).to_contain_text("error ConnectionClosed: ")
    expect(shown.list.get_by_role("option").first).to_contain_text("tools/list #1")
    shown.page.get_by_role("button", name="Back to the story").click()
    expect(alert).to_have_count(0)
    expect(shown.choice("What goes wrong")).to_have_value("none")
    shown.runs(3)


def test_a_run_that_cannot_be_made_is_text_and_nothing_in_it_runs(show: Callable[[Bench], Shown]) -> None:
    hostile = "<img src=x onerror='window.ran = 1'>"
    plan = bench("first-call")

    def play(size: int, how: str) -> Run:
        if size > 2:
            raise RuntimeError(hostile)
        return plan.play()

    knobs = [Knob.number("size", hostile, 0, 5, default=1), Knob.choice("how", "How", {hostile: hostile})]
    shown = show(Bench(play, knobs, title=hostile))
    size = shown.number(hostile)
    size.fill("4")
    size.press("Enter")
    expect(shown.page.get_by_role("alert")).to_have_text(
        f"There is no run for these settings. RuntimeError: {hostile}"
    )
    expect(size).to_have_value("4")
    shown.runs(1)
    size.fill("2")
    size.press("Enter")
    expect(shown.page.get_by_role("alert")).to_have_count(0)
    shown.runs(2)
    assert shown.page.evaluate("window.ran") is None
    assert shown.page.locator("img").count() == 0


def test_an_earlier_run_is_one_press_away(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("three-pages"))
    for size in ("1", "7"):
        shown.number("Page size").fill(size)
        shown.number("Page size").press("Enter")
    shown.runs(3)
    again = shown.table.get_by_role("button", name="Run 2: turn the knobs as they stood")
    again.focus()
    shown.page.keyboard.press("Enter")
    shown.runs(4)
    expect(shown.number("Page size")).to_have_value("1")
    expect(shown.row()).to_contain_text("Page size: 7 → 1")
    expect(again).to_be_focused()


def test_two_quick_changes_are_both_kept(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("first-call"))
    shown.page.evaluate(
        """() => {
          const turn = (label, value) => {
            const labels = [...document.querySelectorAll("label")];
            const control = labels.find((one) => one.textContent === label).control;
            control.value = value;
            control.dispatchEvent(new Event("change"));
          };
          turn("Client's era", "legacy");
          turn("Latency", "70");
          turn("Transport", "http");
        }"""
    )
    expect(shown.page.locator(".mcpsim-status")).to_contain_text("Run 4: ")
    expect(shown.page.get_by_role("region", name=re.compile("^Bench: "))).to_have_attribute(
        "aria-busy", "false"
    )
    expect(shown.choice("Client's era")).to_have_value("legacy")
    expect(shown.number("Latency")).to_have_value("70")
    expect(shown.choice("Transport")).to_have_value("http")
    assert shown.widget.settings["era"] == "legacy"
    assert shown.widget.settings["latency_ms"] == 70
    assert shown.widget.settings["transport"] == "http"


def test_what_is_turned_after_back_to_the_story_begins_from_there(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("first-call"))
    shown.choice("Transport").select_option("http")
    shown.runs(2)
    shown.slowly()
    # Something is under way, so that what comes now goes together.
    shown.choice("Client's era").select_option("legacy")
    shown.page.get_by_role("button", name="Back to the story").click()
    shown.number("Latency").fill("70")
    shown.number("Latency").press("Enter")
    shown.answer()
    shown.answer()
    expect(shown.choice("Transport")).to_have_value("stdio")
    expect(shown.choice("Client's era")).not_to_have_value("legacy")
    assert shown.widget.settings["latency_ms"] == 70


def test_what_is_turned_while_a_link_text_opens_does_not_undo_it(show: Callable[[Bench], Shown]) -> None:
    shown = show(of("first-call"))
    shown.slowly()
    field = shown.page.get_by_role("textbox", name="Link text to open")
    field.fill("mcpsim:three-pages?page_size=2#1")
    field.press("Enter")
    shown.choice("Transport").select_option("http")
    shown.answer()
    shown.answer()
    expect(shown.number("Page size")).to_have_value("2")
    expect(shown.page.get_by_role("alert")).to_have_count(0)


def test_a_kernel_that_does_not_answer_is_told(page: Page) -> None:
    # No widget is behind the page.
    widget = of("first-call")
    page.set_content(page_of(widget))
    region = page.get_by_role("region", name=re.compile("^Bench: "))
    expect(region).to_have_attribute("aria-busy", "false")
    page.get_by_role("combobox", name="Transport").select_option("http")
    expect(region).to_have_attribute("aria-busy", "true")
    told = page.locator(".mcpsim-status").evaluate("element => getComputedStyle(element, '::after').content")
    assert told == '" Waiting for the kernel …"'
    expect(page.get_by_role("combobox", name="Transport")).to_have_value("http")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(page: Page, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 1200, "height": 1000})
    widget = of("fresh-then-stale")
    widget.turn(latency_ms=100)
    widget.turn(fault="cut")
    page.set_content(page_of(widget))
    texts = page.locator(
        ".mcpsim-knobs :is(label, legend, strong, p, select, input, button, span), .mcpsim-runs :is(th, td, "
        "button, caption, span)"
    ).filter(visible=True, has_text=re.compile(r"\S"))
    found = texts.evaluate_all(f"texts => texts.map({CONTRAST})")
    assert len(found) > 60
    assert min(found) >= 4.5


@pytest.mark.parametrize("width", [1200, 900, 700])
def test_it_fits(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1000})
    widget = of("fresh-then-stale")
    widget.turn(latency_ms=100)
    widget.turn(fault="drop")
    page.set_content(page_of(widget))
    page.get_by_role("region", name=re.compile("^Bench: ")).wait_for()
    boxes = page.locator(".mcpsim-bench, .mcpsim-knobs, .mcpsim-scroll, .mcpsim-knob")
    cut = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.outerHTML)"
    assert boxes.filter(visible=True).count() > 5
    assert boxes.filter(visible=True).evaluate_all(cut) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
