"""A long recording opens with what is looked at first, and the rest comes while somebody looks at it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from mcpsim import Client, Recording, Server, Stdio, StreamableHttp, simulate
from mcpsim.course import STORIES
from mcpsim.widgets import Player, player_data, scripts, view
from mcpsim.widgets.view import FIRST, Pieces
from tests.browser.in_page import Shown

CALLS = 700
TRANSPORTS: dict[str, Any] = {"stdio": Stdio, "http": StreamableHttp}
# Each story once, in one of the ways in which it can be played.
PLAYED = [
    (name, story.eras[number % len(story.eras)], story.ways[number // 2 % len(story.ways)])
    for number, (name, story) in enumerate(STORIES.items())
]

# What the page makes of an opening and the pieces that come after it.
PUT = """
window.put = ([opening, pieces]) => {
    const data = opened(opening);
    for (const piece of pieces) if (!putPiece(data, piece)) throw new Error("A piece does not fit.");
    return data;
};
// Every step has its place, its arrow and its kind before anything else of it comes.
window.outlined = opening => opened(opening).steps.map(step => step.coming ? step : null);
window.ready = true;
"""


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


@pytest.fixture(scope="module")
def whole(recording: Recording) -> dict[str, Any]:
    """All of the recording at once, as a page without a kernel has it."""
    return player_data(recording)


@pytest.fixture
def bare(page: Page) -> Page:
    """A page with the module of the player, and no player."""
    page.set_content("<main></main>")
    page.add_script_tag(type="module", content=scripts.script(scripts.PLAYER) + PUT)
    page.wait_for_function("window.ready")
    return page


def said(data: dict[str, Any]) -> dict[str, Any]:
    """The data with the texts themselves: they may stand in another order."""
    texts = data["texts"]
    steps = [
        {
            **step,
            "rule": texts[step["rule"]] if step["rule"] >= 0 else None,
            "fields": [[path, texts[at], line] for path, at, line in step.get("fields", ())],
        }
        for step in data["steps"]
    ]
    return {**data, "steps": steps, "texts": sorted(texts)}


# As one text there and back, which takes less time. What is undefined is not left out.
PUT_TEXT = """text => {
    const kept = (_, value) => value === undefined ? null : value;
    return JSON.stringify(window.put(JSON.parse(text)), kept);
}"""


def put(page: Page, opening: dict[str, Any], pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """The data that a page has in the end, without what only says that they came in pieces."""
    found = json.loads(page.evaluate(PUT_TEXT, json.dumps([opening, pieces])))
    assert found.pop("coming") == []
    assert (found.pop("outline"), found.pop("near"), found.pop("deep")) == ("", None, opening["deep"])
    for step in found["steps"]:
        assert not step.pop("coming", False)
        if "frame" not in step:
            step.pop("exchange", 0)
    return found


def test_the_pieces_of_every_story_are_what_the_whole_is(bare: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "FIRST", 3)
    monkeypatch.setattr(view, "BEFORE", 1)
    outlined = 0
    for number, (name, era, way) in enumerate(PLAYED):
        found = STORIES[name].play(era=era, transport=TRANSPORTS[way]()).recording
        whole = player_data(found)
        pieces = Pieces(found)
        # From another place each time, and in pieces of another size.
        cursor, size = number % (pieces.count + 1), 1 + number % 5
        opening = json.loads(json.dumps(pieces.opening(cursor)))
        known = len(opening["texts"])
        parts = [{"piece": "rest", **pieces.rest()}]
        for first in range(1, pieces.count + 1, size):
            part = pieces.steps_from(first, size, texts=known, bodies=first % 2 > 0)
            known += len(part["texts"])
            parts.append({"piece": "steps", **part})
        parts.append({"piece": "findings", **pieces.findings()})
        last = pieces.steps_from(1, pieces.count, texts=known, rows=False)
        parts.append({"piece": "steps", **last})
        assert said(put(bare, opening, parts)) == json.loads(json.dumps(said(whole))), (name, era, way)
        outlined += len(json.loads(opening["outline"])["y"])
    assert outlined > 300


def test_the_outline_has_each_step_where_it_is(
    bare: Page, recording: Recording, whole: dict[str, Any]
) -> None:
    steps = whole["steps"]
    found = bare.evaluate("window.outlined", Pieces(recording).opening(900))
    keys = ("n", "kind", "from", "to", "y", "y2", "fate", "arrives", "thread", "part", "exchange")
    outlined = [(step, row) for step, row in zip(found, steps, strict=True) if step]
    assert len(outlined) == len(steps) - 2 * FIRST
    for step, row in outlined:
        # What is no frame has no exchange.
        row = {"exchange": 0, **row}
        assert {key: step.get(key) for key in keys} == {key: row.get(key) for key in keys}
        assert (step["label"], step["coming"]) == ("…", True)


def test_a_long_recording_opens_with_a_part_of_it(recording: Recording, whole: dict[str, Any]) -> None:
    player = Player(recording, cursor=1_000)
    assert len(player.data["steps"]) == FIRST
    near = player.data["near"]
    assert near["first"] < 1_000 < near["first"] + len(near["steps"])
    assert all("json" in step for step in near["steps"])
    assert player.steps == len(whole["steps"])
    # Nothing of it grows with what the messages say.
    assert len(json.dumps(player.data)) < len(json.dumps(whole)) / 4


@pytest.mark.parametrize(
    "asked",
    [
        None,
        [],
        {},
        {"wants": 1},
        {"wants": "steps"},
        {"wants": "steps", "first": "1", "count": 1, "texts": 0, "rows": True, "bodies": True},
        {"wants": "steps", "first": 1, "count": 1, "texts": 0, "rows": 1, "bodies": None},
        {"wants": "everything"},
    ],
)
def test_what_is_asked_in_another_form_is_not_answered(recording: Recording, asked: object) -> None:
    player = Player(recording)
    sent: list[object] = []
    player.send = lambda content, buffers=None: sent.append(content)  # type: ignore[method-assign]
    player._handle_custom_msg(asked, [])
    assert sent == []


@pytest.mark.parametrize(("first", "count"), [(-5, 3), (0, 0), (10**9, 5), (1, -1), (1, 10**12)])
def test_steps_that_are_not_there_are_no_error(recording: Recording, first: int, count: int) -> None:
    pieces = Pieces(recording)
    found = pieces.steps_from(first, count, texts=10**9, bodies=False)
    assert len(found["steps"]) <= pieces.count
    assert found["texts"] == []


def test_the_messages_come_around_the_cursor_first_and_then_all(
    show: Callable[..., Shown], recording: Recording, whole: dict[str, Any]
) -> None:
    last = len(whole["steps"])
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
