"""A recording of 10,000 messages: it opens with little, and scrubbing through it is little work.

What is counted here is work, which is the same on every machine: how much is sent and how many elements there
are. How long it takes is for tests/benchmarks/player_against_mermaid.py to say: here it is no wait.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from mcpsim import Recording
from mcpsim.widgets import Player
from mcpsim.widgets.view import FIRST
from tests.browser.in_page import Shown, Stage, opener

MESSAGES = 10_000
MANY = 4_000

# From the start to the end and back, over 200 places, and what is there at each of them.
SCRUB = """() => {
    const root = document.querySelector('.mcpsim-player');
    const slider = root.querySelector('input[type=range]');
    const last = Number(slider.max);
    const found = { wrong: [], elements: 0, rows: 0, added: 0 };
    const seen = new MutationObserver(() => {});
    seen.observe(root, { childList: true, subtree: true });
    const act = action => {
        action();
        document.body.getBoundingClientRect();
        const added = seen.takeRecords().reduce((sum, each) => sum + each.addedNodes.length, 0);
        found.added = Math.max(found.added, added);
        found.elements = Math.max(found.elements, root.querySelectorAll('*').length);
        found.rows = Math.max(found.rows, root.querySelectorAll('.mcpsim-row').length);
    };
    const press = key => act(() =>
        root.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })));
    const tell = step => {
        const told = root.querySelector('.mcpsim-where').textContent;
        if (step && !told.includes(`Step ${step} of`)) found.wrong.push(`${step}: ${told}`);
    };
    for (let i = 0; i < 200; i++) {
        const step = Math.round(((i * 83) % 200) * last / 199);
        act(() => {
            slider.value = step;
            slider.dispatchEvent(new Event('input'));
        });
        tell(step);
    }
    for (const key of ['End', 'Home', 'ArrowRight']) press(key);
    tell(1);
    found.last = last;
    return found;
}"""


# How long a key takes, as a rule.
STEP = """keys => {
    const root = document.querySelector('.mcpsim-player');
    const times = [];
    for (const key of keys) {
        const began = performance.now();
        root.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
        document.querySelector('.mcpsim-diagram').getBoundingClientRect();
        times.push(performance.now() - began);
    }
    return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
}"""
# How long it takes to drag the slider from place to place, on average.
DRAG = """slider => {
    const began = performance.now();
    for (let i = 0; i < 40; i++) {
        slider.value = 200 + i * 240;
        slider.dispatchEvent(new Event('input'));
        document.querySelector('.mcpsim-diagram').getBoundingClientRect();
    }
    return (performance.now() - began) / 40;
}"""


class Asked(Shown):
    """A widget in a page that keeps what it was asked for, and may be too busy to answer."""

    busy = False

    def told(self, text: str) -> str:
        self.wanted.append(json.loads(text))
        return "[]" if self.busy else super().told(text)

    def __init__(self, page: Page, widget: Any) -> None:
        super().__init__(page, widget)
        self.wanted: list[dict[str, Any]] = []


class Busy(Asked):
    busy = True


@pytest.fixture
def show(stage: Stage) -> Iterator[Callable[..., Asked]]:
    yield from opener(stage, Asked)


@pytest.fixture
def show_busy(stage: Stage) -> Iterator[Callable[..., Asked]]:
    yield from opener(stage, Busy)


@pytest.fixture(scope="module")
def long(made: Any) -> Recording:
    return made.long(MESSAGES)


def test_scrubbing_through_ten_thousand_messages_draws_what_is_in_view_without_a_wait(
    play: Callable[..., Page], long: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    page = play(long, cursor=1)
    found = page.evaluate(SCRUB)
    assert found["last"] >= MESSAGES
    assert found["wrong"] == []
    # Nothing of this grows with the recording.
    assert found["rows"] < 60
    assert found["elements"] < 1_500
    assert found["added"] < 1_000
    # The table is as long as what is looked at.
    page.keyboard.press("End")
    page.keyboard.press("t")
    rows = page.locator(".mcpsim-table tbody [data-step]")
    expect(rows.last).to_have_attribute("aria-current", "step")
    assert rows.count() <= 500
    page.keyboard.press("Home")
    expect(rows).to_have_count(500)
    page.keyboard.press("t")
    # Far from what it takes, and far below what anybody would call a wait.
    opened = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    step = page.evaluate(STEP, ["ArrowRight"] * 40)
    scrub = page.get_by_label("Step", exact=True).evaluate(DRAG)
    assert step < 100
    assert scrub < 100
    page.keyboard.press("/")
    began = page.evaluate("performance.now()")
    page.get_by_role("searchbox").fill("counted to 4999")
    expect(page.locator(".mcpsim-find-count").first).to_have_text("1 match")
    search = page.evaluate("performance.now()") - began
    page.keyboard.press("Enter")
    messages = page.get_by_role("listbox", name="Messages").get_by_role("option")
    expect(messages.and_(page.locator("[aria-selected=true]"))).to_have_attribute("data-step", str(MESSAGES))
    expect(page.get_by_label("Go to step", exact=True)).to_have_value(str(MESSAGES))
    assert messages.count() < 60
    with capsys.disabled():
        print(
            f"\n10,000 messages: loaded after {opened:.0f} ms, a step {step:.1f} ms, "
            f"a scrub {scrub:.1f} ms, a search {search:.0f} ms"
        )


def test_a_notebook_gets_little_at_once(long: Recording) -> None:
    player = Player(long)
    assert len(player.data["steps"]) == FIRST
    # An outline of each step, and not what it says.
    assert len(json.dumps(player.data)) < 60 * MESSAGES


def test_a_notebook_gets_all_in_the_end(show: Callable[..., Asked], made: Any) -> None:
    """So many that most come later, and in several answers; more would come as they do."""
    player = Player(made.long(MANY))
    shown = show(player)
    expect(shown.page.locator(".mcpsim-what")).not_to_be_empty()
    told: set[int] = set(range(1, FIRST + 1))
    for _ in range(600):
        told.update(
            number
            for one in shown.wanted
            if one["wants"] == "steps" and one["bodies"]
            for number in range(one["first"], one["first"] + one["count"])
        )
        if told >= set(range(1, player.steps + 1)):
            break
        shown.page.wait_for_timeout(100)
    else:
        pytest.fail(f"{player.steps - len(told)} steps were not asked for")
    # What is not about one step comes before the bodies of all messages, and nothing is asked for twice.
    kinds = [one["wants"] for one in shown.wanted]
    assert (kinds.count("rest"), kinds.count("findings")) == (1, 1)
    first = next(n for n, one in enumerate(shown.wanted) if one["wants"] == "steps" and not one["rows"])
    assert max(kinds.index("rest"), kinds.index("findings")) < first
    assert 8 < len(shown.wanted) < MANY / 200
    shown.page.locator(".mcpsim-player").press("End")
    expect(shown.page.locator(".mcpsim-where")).to_contain_text(f"Step {player.steps} of")
    expect(shown.page.locator(".mcpsim-player")).not_to_contain_text("on its way")


def test_without_an_answer_a_step_says_that_it_has_not_come(
    show_busy: Callable[..., Asked], long: Recording
) -> None:
    # A kernel that is busy with another cell.
    player = Player(long)
    shown = show_busy(player)
    what, player_box = shown.page.locator(".mcpsim-what"), shown.page.locator(".mcpsim-player")
    expect(what).not_to_contain_text("on its way")
    player_box.press("End")
    expect(what).to_have_text("This step is still on its way to this page.")
    expect(shown.page.locator(".mcpsim-where")).to_contain_text(f"Step {player.steps} of {player.steps:,}")
    expect(shown.page.get_by_role("tabpanel", name="Message")).to_contain_text("still on its way")
    expect(shown.page.get_by_role("slider")).to_have_attribute(
        "aria-valuetext", f"{player.steps}: This step is still on its way to this page."
    )
    for tab in ("Raw bytes", "Memory"):
        shown.page.get_by_role("tab", name=tab).click()
        expect(shown.page.get_by_role("tabpanel", name=tab)).to_contain_text("still on its way")
    # The arrows are there all the same: where each message is, and of what kind, is known.
    assert shown.page.locator(".mcpsim-arrow .shaft").count() > 5
    # What came with the picture is told as ever.
    player_box.press("Home")
    player_box.press("ArrowRight")
    expect(what).not_to_contain_text("on its way")


def test_what_had_not_come_at_a_restart_does_not_come(show_busy: Callable[..., Asked], made: Any) -> None:
    shown = show_busy(Player(made.long(1_200)))
    shown.restart()
    gone = shown.page.get_by_text("The kernel was restarted: run the cell again.")
    expect(gone).to_have_count(0)
    shown.page.locator(".mcpsim-player").press("End")
    expect(gone).to_be_visible()
