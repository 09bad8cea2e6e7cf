"""The projector, in a browser: one message at a time, everything on the screen, and a way out of it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from mcpsim.course import STORIES, bench

CUT = """() => {
  const root = document.querySelector(".mcpsim-player");
  const room = root.getBoundingClientRect();
  const parts = ["stage", "narration", "narration p", "controls", "predict", "predict *"];
  const shown = root.querySelectorAll(parts.map((part) => `.mcpsim-${part}`).join());
  const out = [...shown].filter((one) => {
    const box = one.getBoundingClientRect();
    const wide = box.left < -1 || box.right > innerWidth + 1;
    return box.width && (wide || box.top < -1 || box.bottom > innerHeight + 1);
  });
  const full = room.width >= innerWidth - 1 && room.height >= innerHeight - 1;
  return { out: out.map((one) => one.className), full, type: Number(root.style.getPropertyValue("--type")) };
}"""


def is_projecting(page: Page, on: bool = True) -> None:
    stage = page.locator(".mcpsim-stage")
    expect(stage).to_be_visible() if on else expect(stage).to_be_hidden()
    expect(page.get_by_role("listbox", name="Messages")).to_be_visible(visible=not on)


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080)], ids=str)
def test_nothing_is_cut(play, page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page = play(bench("two-rounds").play(era="legacy").recording, cursor=0)
    page.keyboard.press("p")
    is_projecting(page)
    steps = int(page.get_by_label("Step", exact=True).get_attribute("max") or 0)
    for step in range(steps + 1):
        expect(page.get_by_label("Step", exact=True)).to_have_value(str(step))
        found = page.evaluate(CUT)
        assert found["out"] == [], (step, found)
        assert found["full"]
        assert found["type"] >= 0.7
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    page.keyboard.press("q")
    for step in range(steps):
        found = page.evaluate(CUT)
        assert found["out"] == [], (step, found)
        page.keyboard.press("1")
        page.keyboard.press("ArrowRight")


def test_in_and_out_by_key(play) -> None:
    page = play(STORIES["first-call"].play().recording, cursor=2)
    page.keyboard.press("p")
    is_projecting(page)
    expect(page.locator(".mcpsim-stage-arrow")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".mcpsim-where")).to_contain_text("Step 3 of")
    panel = page.get_by_role("tablist", name="About this step")
    expect(panel).to_be_hidden()
    page.keyboard.press("j")
    expect(panel).to_be_visible()
    page.keyboard.press("j")
    expect(panel).to_be_hidden()
    page.keyboard.press("Escape")
    is_projecting(page, on=False)
    expect(page.locator(".mcpsim-player")).to_be_focused()
    expect(page.locator(":fullscreen")).to_have_count(0)
    page.keyboard.press("p")
    is_projecting(page)
    page.keyboard.press("p")
    is_projecting(page, on=False)


def test_in_and_out_by_mouse(play) -> None:
    page = play(STORIES["first-call"].play().recording, cursor=2)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitemcheckbox", name="Projector").click()
    is_projecting(page)
    page.get_by_role("button", name="Message", exact=True).click()
    expect(page.get_by_role("tablist", name="About this step")).to_be_visible()
    page.get_by_role("button", name="Leave the projector").click()
    is_projecting(page, on=False)


def test_where_the_full_screen_is_not_allowed_it_is_above_everything(play) -> None:
    page = play(STORIES["first-call"].play().recording, cursor=2)
    page.evaluate("Element.prototype.requestFullscreen = () => Promise.reject(new Error('no')); 0")
    # As in a notebook: what is around it would cut it, and cover it.
    box = "document.getElementById('mcpsim-player')"
    page.evaluate(
        f"Object.assign({box}.style, {{ transform: 'scale(1)', overflow: 'hidden', width: '700px' }})"
    )
    page.keyboard.press("p")
    is_projecting(page)
    page.wait_for_function("document.querySelector('.mcpsim-player').matches(':popover-open')")
    assert page.evaluate(CUT)["full"]
    page.keyboard.press("Escape")
    is_projecting(page, on=False)
    assert not page.evaluate("document.querySelector('.mcpsim-player').hasAttribute('popover')")


def test_the_browser_s_own_way_out_leaves_it_too(play) -> None:
    page = play(STORIES["first-call"].play().recording, cursor=2)
    page.keyboard.press("p")
    expect(page.locator(":fullscreen")).not_to_have_count(0)
    page.evaluate("document.exitFullscreen()")
    is_projecting(page, on=False)


def test_predict_stays_on_when_it_is_left(play) -> None:
    page = play(STORIES["first-call"].play().recording, cursor=0)
    page.keyboard.press("p")
    page.keyboard.press("q")
    expect(page.get_by_role("region", name="Predict", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    # The last that was switched on is the first that is left.
    expect(page.get_by_role("region", name="Predict", exact=True)).to_be_hidden()
    is_projecting(page)
