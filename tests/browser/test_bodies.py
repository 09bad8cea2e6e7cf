"""A long recording opens without its messages, and they come while somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from mcpsim import Client, Recording, Server, simulate
from mcpsim.widgets import Player, player_data
from mcpsim.widgets.player import BODIES
from tests.browser.in_page import Shown, opener

CALLS = 700


@pytest.fixture
def show(page: Page) -> Iterator[Callable[..., Shown]]:
    yield from opener(page)


@pytest.fixture(scope="module")
def recording() -> Recording:
    desk = Server("desk", version="1.0.0")

    @desk.tool()
    def price(item: str) -> str:
        """Say what something costs."""
        return f"{item}: 12"

    async def story(client: Client) -> None:
        for number in range(CALLS):
            await client.call_tool("price", {"item": f"item {number}"})

    return simulate(story, server=desk, era="modern", connect=False).recording


def test_what_was_left_out_is_the_same_in_pieces(recording: Recording) -> None:
    player = Player(recording)
    assert "json" not in player.data["steps"][BODIES]
    whole = player_data(recording)
    first, texts = BODIES + 1, list(player.data["texts"])
    found = player.data["steps"][:BODIES]
    while first <= len(whole["steps"]):
        piece = player._bodies.of(first, 300, len(texts))
        texts[piece["known"] :] = piece["texts"]
        for body in piece["bodies"]:
            found.append({**player.data["steps"][first - 1], **body})
            first += 1

    def said(data: list[dict[str, Any]], texts: list[list[str]]) -> list[object]:
        # The same texts may stand in another order.
        rows = [row for row in data if row.get("frame")]
        return [(row["json"], [[path, texts[at]] for path, at, _ in row["fields"]]) for row in rows]

    assert said(found, texts) == said(whole["steps"], whole["texts"])
    assert [set(row) for row in found] == [set(row) for row in whole["steps"]]


@pytest.mark.parametrize("asked", [None, [], {}, {"bodies": 1}, {"bodies": [1, 2]}, {"bodies": ["1", 2, 3]}])
def test_what_is_asked_in_another_form_is_not_answered(recording: Recording, asked: object) -> None:
    player = Player(recording)
    sent: list[object] = []
    player.send = lambda content, buffers=None: sent.append(content)  # type: ignore[method-assign]
    player._handle_custom_msg(asked, [])
    assert sent == []


def test_the_messages_come_around_the_cursor_first_and_then_all(
    show: Callable[..., Shown], recording: Recording
) -> None:
    last = len(player_data(recording)["steps"])
    shown = show(Player(recording, cursor=last - 5))
    pane = shown.page.get_by_role("tabpanel", name="Message")
    expect(pane).to_contain_text(f"item {CALLS - 2}")
    expect(pane).to_contain_text("Fields that matter")
    shown.page.get_by_role("button", name="Back").click()
    expect(pane).to_contain_text('"jsonrpc"')
    # What came later is found too.
    shown.page.keyboard.press("/")
    shown.page.keyboard.type('"item 666"')
    expect(shown.page.locator(".mcpsim-player")).to_contain_text("1 match")
