"""The menu of a player, and what is in it: link texts to copy and paste, and exports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from mcpsim import Bench, Player, Recording
from mcpsim.course import STORIES, bench
from mcpsim.widgets.exports import EXPORTS


@pytest.fixture
def first() -> Recording:
    return STORIES["first-call"].play().recording


def more(page: Page) -> Locator:
    return page.get_by_role("button", name="More", exact=True)


def choose(page: Page, name: str) -> None:
    more(page).click()
    page.get_by_role("menuitem", name=name).click()


def status(page: Page) -> Locator:
    return page.locator(".mcpsim-said").get_by_role("status")


def test_the_menu_by_key(play, first: Recording) -> None:
    page = play(first)
    more(page).focus()
    page.keyboard.press("Enter")
    menu = page.get_by_role("menu", name="More")
    items = menu.locator("[role^=menuitem]")
    expect(more(page)).to_have_attribute("aria-expanded", "true")
    expect(items.first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(items.last).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(items.nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(items.last).to_be_focused()
    page.keyboard.press("Home")
    expect(items.first).to_be_focused()
    # No key of a menu is one of the player: "p" goes to the entry, and not to the projector.
    page.keyboard.press("p")
    expect(menu.get_by_role("menuitemcheckbox", name="Projector")).to_be_focused()
    expect(page.locator(".mcpsim-stage")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(more(page)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(items.first).to_be_focused()
    page.keyboard.press("Tab")
    expect(menu).to_be_hidden()


def test_the_menu_by_mouse(play, first: Recording) -> None:
    page = play(first)
    menu = page.get_by_role("menu", name="More")
    more(page).click()
    expect(menu).to_be_visible()
    more(page).click()
    expect(menu).to_be_hidden()
    more(page).click()
    page.locator(".mcpsim-narration").click()
    expect(menu).to_be_hidden()


def test_a_recording_without_a_story_says_why_there_is_no_link_text(play, first: Recording) -> None:
    page = play(first)
    choose(page, "Copy link text")
    expect(status(page)).to_contain_text("export it instead")
    page.get_by_role("button", name="Close this line").click()
    expect(status(page)).to_be_empty()
    expect(page.locator(".mcpsim-player")).to_be_focused()


def test_a_page_offers_no_export_that_it_cannot_write(play, first: Recording) -> None:
    page = play(first)
    choose(page, "Export")
    expect(status(page)).to_contain_text("This page is an export already")


@pytest.mark.usefixtures("fresh")
def test_a_link_text_is_copied_and_pasted(show, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown = show(Bench.of(bench("mcpsim:three-pages?page_size=2&fault=drop&message=2%20resources/list#3")))
    shown.page.locator(".mcpsim-player .mcpsim-where").click()
    shown.press("ArrowRight")
    shown.press("l")
    text = "mcpsim:three-pages?page_size=2&fault=drop&message=2%20resources/list#4"
    expect(status(shown.page)).to_contain_text(text)
    # In a page that is no secure context there is no clipboard: the text is selected then.
    assert text in shown.page.evaluate("getSelection().toString()")
    field = shown.page.get_by_role("textbox", name="Link text to open")
    field.fill("mcpsim:first-call?latency_ms=50#2")
    field.press("Enter")
    expect(shown.page.get_by_label("Latency")).to_have_value("50")
    expect(shown.page.get_by_role("region", name="Bench: ")).to_have_accessible_name(
        f"Bench: {bench('first-call').title}"
    )
    expect(shown.page.get_by_label("Go to step", exact=True)).to_have_value("2")
    expect(shown.page.get_by_label("Page size")).to_have_count(0)
    expect(field).to_be_focused()
    field.fill(f" {text} ")
    shown.button("Open").click()
    expect(shown.page.get_by_label("Page size")).to_have_value("2")
    expect(shown.page.get_by_label("Go to step", exact=True)).to_have_value("4")
    assert shown.widget.link_text() == text


def test_a_wrong_link_text_is_told_and_changes_nothing(show) -> None:
    shown = show(Bench.of(bench("three-pages")))
    field = shown.page.get_by_role("textbox", name="Link text to open")
    field.fill("https://x.example/")
    shown.button("Open").click()
    expect(shown.page.get_by_role("alert")).to_contain_text("The link text was not opened.")
    expect(field).to_have_value("https://x.example/")
    expect(shown.page.get_by_label("Page size")).to_have_value("3")
    field.fill("")
    shown.button("Open").click()
    expect(field).to_be_focused()
    assert len(shown.trips) == 1


@pytest.mark.parametrize("kind", sorted(EXPORTS))
def test_an_export_is_saved(show, first: Recording, kind: str, tmp_path: Path) -> None:
    shown = show(Player(first, cursor=3))
    label = {
        "html": "HTML",
        "svg": "SVG",
        "mermaid": "Mermaid",
        "markdown": "Markdown",
        "jsonl": "JSON Lines",
    }
    more(shown.page).click()
    item = shown.page.get_by_role("menuitem", name=label[kind])
    with shown.page.expect_download() as download:
        # Every other one by key.
        item.click() if kind in ("html", "jsonl", "svg") else item.press("Enter")
    name = download.value.suggested_filename
    assert name.endswith(f".{EXPORTS[kind].ending}")
    file = tmp_path / name
    download.value.save_as(file)
    begins = {"html": "<!doctype html>", "svg": "<svg ", "mermaid": "sequenceDiagram", "markdown": "# "}
    text = file.read_text(encoding="utf-8")
    assert text.startswith(begins.get(kind, '{"format":"mcpsim-recording"'))
    if kind == "jsonl":
        assert Recording.from_jsonl(file.read_bytes()) == first
    if kind == "html":
        assert '"cursor":3' in text
    expect(status(shown.page)).to_have_text(f"Saved as {name}.")


@pytest.mark.usefixtures("fresh")
def test_an_export_that_fails_or_never_comes_is_told(show, first: Recording, monkeypatch) -> None:
    shown = show(Player(first))
    broken = EXPORTS["svg"]._replace(write=lambda view: str(1 / 0))
    monkeypatch.setattr("mcpsim.widgets.exports.EXPORTS", {**EXPORTS, "svg": broken})
    choose(shown.page, "SVG")
    expect(status(shown.page)).to_have_text("The file was not written. ZeroDivisionError: division by zero")
    shown.page.clock.install()
    shown.answers = False
    choose(shown.page, "Mermaid")
    expect(status(shown.page)).to_have_text("Writing the file …")
    shown.page.clock.fast_forward(11_000)
    expect(status(shown.page)).to_have_text(re.compile("^No answer yet: the kernel is busy, or gone"))
