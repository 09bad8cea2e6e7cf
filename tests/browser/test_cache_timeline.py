"""The cache timeline in a browser: scrubbing and turning knobs, by mouse and by key."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from mcpsim.course import STORIES
from mcpsim.widgets.cache_timeline import CacheTimeline
from tests.browser.in_page import Shown

Open = Callable[..., Shown]


def slider(shown: Shown) -> Locator:
    return shown.page.get_by_role("slider", name="Moment")


def kept(shown: Shown) -> Locator:
    return shown.page.get_by_role("list", name="What is kept at this moment").get_by_role("listitem")


def ticks(shown: Shown, title: str) -> Locator:
    return shown.page.get_by_title(re.compile(title))


def test_scrubbing_by_mouse(show: Open) -> None:
    shown = show(CacheTimeline(STORIES["fresh-then-stale"].play()))
    expect(shown.status).to_contain_text("Move through the moments")
    expect(kept(shown)).to_have_text("At the beginning no cache holds anything.")
    expect(shown.page.get_by_role("group", name="Knobs")).to_have_count(0)
    shown.button("Next").click()
    expect(shown.status).to_have_text("0 ms, resources/read price://paper: client asks.")
    expect(kept(shown)).to_have_text("No cache holds anything.")
    for _ in range(2):
        shown.button("Next").click()
    expect(kept(shown)).to_have_text(
        "client keeps resources/read price://paper (4 a pack): public, fresh until 30.04 s"
    )
    shown.button("Back").click()
    expect(shown.status).to_contain_text("client gets the answer from the server")
    assert shown.trips == []


def test_scrubbing_by_key(show: Open) -> None:
    shown = show(CacheTimeline(STORIES["told-that-it-changed"].play()))
    slider(shown).focus()
    shown.press("ArrowRight", "ArrowRight", "ArrowRight")
    expect(slider(shown)).to_have_attribute(
        "aria-valuetext", re.compile("client keeps it: public, fresh for 30 s")
    )
    shown.press("ArrowRight")
    expect(shown.status).to_contain_text("notifications/resources/updated: it is stale at once")
    expect(kept(shown)).to_contain_text("public, stale")
    shown.press("End")
    expect(shown.button("Next")).to_have_attribute("aria-disabled", "true")
    shown.press("Home")
    expect(shown.button("Back")).to_have_attribute("aria-disabled", "true")
    expect(slider(shown)).to_be_focused()


def test_who_is_served_from_where_stands_there_in_words(show: Open) -> None:
    shown = show(CacheTimeline(STORIES["for-everybody-or-for-one"].play()))
    price = shown.page.get_by_role("region", name="resources/read price://paper")
    expect(price).to_contain_text("asked at 0 ms, from the server")
    expect(price).to_contain_text("asked at 160 ms, from the gateway's cache")
    expect(price.get_by_title("160 ms: ben is served from the gateway's cache, 4 a pack")).to_be_visible()
    shown.page.get_by_text("The same as a table").focus()
    shown.press("Enter")
    rows = shown.page.get_by_role("table", name="Everything that happened").get_by_role("row")
    expect(rows.filter(has_text="gateway answers ben from its cache")).to_have_count(1)


def test_a_gateway_that_keeps_nothing_is_shown_with_the_reason(show: Open) -> None:
    shown = show(CacheTimeline(gateway=True, cache_scope="private"))
    row = shown.page.locator(".mcpsim-cache-of-gateway")
    expect(row).to_have_text("gatewaykeeps nothing of this: a private result is for one user alone")
    # What is said of the last result of each is whole, and what the arrow means stands below.
    for label in shown.page.locator(".mcpsim-cache-last > .mcpsim-cache-label").all():
        assert label.evaluate("each => each.scrollWidth <= each.clientWidth"), label.inner_text()
    expect(shown.page.locator(".mcpsim-cache-legend")).to_contain_text("→ fresh until then")
    shown.page.get_by_role("combobox", name="cacheScope").select_option("public")
    expect(row).not_to_contain_text("keeps nothing")


def test_turning_the_knobs(show: Open) -> None:
    shown = show(CacheTimeline())
    shown.page.get_by_role("checkbox", name="A gateway with a cache").click()
    expect(ticks(shown, "ben is served from the gateway's cache")).to_have_count(1)
    scope = shown.page.get_by_role("combobox", name="cacheScope")
    scope.focus()
    shown.press("ArrowDown")
    expect(ticks(shown, "gateway's cache")).to_have_count(0)
    expect(scope).to_be_focused()
    shown.page.get_by_role("combobox", name="Caches of the clients").select_option("they share one")
    expect(shown.page.get_by_text("shared cache, for ben", exact=True)).to_be_visible()
    shown.page.get_by_role("checkbox", name="ada is told of changes").focus()
    shown.press("Space")
    # It is one cache: what ada hears is good for what is ben's in it.
    expect(shown.page.get_by_title(re.compile("then notifications.resources.updated"))).to_have_count(2)
    ttl = shown.page.get_by_role("spinbutton", name="ttlMs")
    ttl.fill("999999")
    ttl.press("Enter")
    expect(ttl).to_have_value("120000")
    expect(shown.page.get_by_title(re.compile("fresh for 2 min")).first).to_be_visible()
    ttl.press("ArrowDown")
    expect(shown.page.get_by_title(re.compile("fresh for 119 s")).first).to_be_visible()
    shown.settle()
    assert len(shown.trips) == 6


def test_a_moment_that_is_not_there_any_more(show: Open) -> None:
    shown = show(CacheTimeline(caches="none"))
    slider(shown).focus()
    shown.press("End")
    last = int(slider(shown).input_value())
    shown.page.get_by_role("combobox", name="Caches of the clients").select_option("they share one")
    shown.settle()
    expect(slider(shown)).not_to_have_attribute("max", str(last))
    assert int(slider(shown).input_value()) <= int(slider(shown).get_attribute("max") or 0)


@pytest.mark.parametrize("width", [1400, 900, 400])
def test_it_fits_and_leaves_nothing_behind(show: Open, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    shown = show(CacheTimeline(gateway=True), dark=width == 900)
    assert shown.is_narrow_enough()
    assert shown.leave() == 0
