"""Hostile recordings: whatever a peer or a file says is shown as text, nothing runs, and nothing freezes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from mcpsim.widgets import still_html, still_svg
from tests.support.hostile import ATTACKS, DRAWN, WRITTEN, Tags, attacked, runs

Play = Callable[..., Page]

HEBREW, ARABIC = "שרת ראשון", "عميل ثان"

# Everything in a page that could run something or ask for something.
RUNS = """root => {
    const bad = [];
    for (const node of root.querySelectorAll('*')) {
        const name = node.localName;
        const kinds = 'script iframe img object embed link base form video audio foreignobject use image'
            + ' animate set a';
        if (kinds.split(' ').includes(name.toLowerCase())) {
            const own = name === 'a' && /^https:\\/\\/modelcontextprotocol\\.io\\//.test(node.href);
            if (!own) bad.push(node.outerHTML.slice(0, 200));
        }
        for (const { name: attribute, value } of node.attributes) {
            if (/^on/.test(attribute) || /^(src|srcdoc|action|formaction|xlink:href|data)$/.test(attribute)) {
                bad.push(`${attribute}=${value}`.slice(0, 200));
            }
            if (attribute === 'style' && /url\\(|window/.test(value)) bad.push(value.slice(0, 200));
        }
    }
    return bad;
}"""
# Opening brackets of what is not shown as it is: a mark in place of each invisible character.
INVISIBLE = (
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u2060\\ufeff\\ud800-\\udfff]"
)


LOOK = f"""() => {{
  const {{ scrollWidth, clientWidth }} = document.documentElement;
  return {{
    ran: window.hostile,
    runs: ({RUNS})(document.querySelector("body main, body > div")),
    wide: scrollWidth,
    room: clientWidth,
    // A pair of halves is one character; what is left alone is none.
    invisible: document.body.innerText.match(/{INVISIBLE}/u),
  }};
}}"""


def nothing_ran(page: Page) -> None:
    nothing_was_found(page.evaluate(LOOK))


def nothing_was_found(found: dict[str, Any]) -> None:
    assert found["ran"] is None
    assert found["runs"] == []
    assert found["wide"] <= found["room"], "something stands out of the page at the side"
    assert found["invisible"] is None


# ---------------------------------------------------------------------------------------------- the player

WALK = """(tabs) => {
    const press = (key, more = {}) => document.querySelector('.mcpsim-player')
        .dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }));
    const times = [];
    const last = Number(document.querySelector('.mcpsim-goto input').max);
    for (let n = 0; n <= last; n++) {
        for (let tab = 1; tab <= tabs; tab++) {
            const began = performance.now();
            press(String(tab), { altKey: true, code: `Digit${tab}` });
            document.body.getBoundingClientRect();
            times.push(performance.now() - began);
        }
        const began = performance.now();
        press('ArrowRight');
        document.body.getBoundingClientRect();
        times.push(performance.now() - began);
    }
    return Math.max(...times);
}"""


#: What is found at each of these steps, in each pane.
LOOK_AT = f"""steps => steps.flatMap(step => {{
    const slider = document.querySelector('.mcpsim-player input[type=range]');
    slider.value = step;
    slider.dispatchEvent(new Event('input'));
    return [...document.querySelectorAll('.mcpsim-player [role=tab]')].map(tab => {{
        tab.click();
        const pane = document.getElementById(tab.getAttribute('aria-controls'));
        const seen = slider.value === String(step) && pane.checkVisibility() && pane.innerText.length > 0;
        return {{ seen, ...({LOOK})() }};
    }});
}})"""


#: What a user would call frozen, in milliseconds: far more than any step takes, also on a machine that has
#: much else to do.
FROZEN_MS: Final = 2_000


def slowest_step(page: Page) -> float:
    """Step through all of it, and look at each pane at each step. Returns milliseconds."""
    return page.evaluate(WALK, page.get_by_role("tab").count())


def test_a_player_runs_nothing(play: Play, page: Page, made: Any) -> None:
    play(attacked(made), cursor=0)
    for key in ("?", "/"):
        page.keyboard.press(key)
    page.keyboard.type("<img")
    page.keyboard.press("Enter")
    nothing_ran(page)
    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    last = int(page.get_by_label("Go to step", exact=True).get_attribute("max") or 0)
    assert last >= 200
    steps = list(range(0, last, 23))
    looked_at = page.evaluate(LOOK_AT, steps)
    assert len(looked_at) == len(steps) * page.get_by_role("tab").count()
    for found in looked_at:
        assert found["seen"]
        nothing_was_found(found)
    assert slowest_step(page) < FROZEN_MS
    page.keyboard.press("t")
    page.keyboard.press("End")
    nothing_ran(page)


def test_a_player_shows_it_as_text(play: Play, made: Any) -> None:
    page = play(attacked(made), cursor=1)
    expect(page.locator(".mcpsim-title")).to_have_text(ATTACKS[1])
    expect(page.locator(".mcpsim-lane").nth(1)).to_have_text(ATTACKS[2])
    expect(page.locator(".mcpsim-fact", has_text=ATTACKS[2])).to_be_visible()
    expect(page.locator(".mcpsim-json")).to_contain_text(f'"name": "{ATTACKS[0]}"')
    page.keyboard.press("Alt+3")
    expect(page.get_by_role("tabpanel", name="Memory")).to_contain_text(f"{ATTACKS[0]} remembers")
    page.keyboard.press("t")
    table = page.locator(".mcpsim-table")
    for attack in ATTACKS[:8]:
        expect(table).to_contain_text(attack[:24])
    for mark in ("‹U+202E›", "‹U+200B›", "‹U+0007›", "‹U+2028›"):
        expect(table).to_contain_text(mark)


def test_right_to_left_turns_no_neighbour_round(play: Play, made: Any) -> None:
    pen = made.Pen()
    pen.send(HEBREW, ARABIC, made.request("בקשה", "tools/call", {"name": "כלי"}))
    pen.send(ARABIC, HEBREW, made.result("בקשה", content=made.text("תשובה")))
    pen.send(HEBREW, ARABIC, made.notification("הודעה", level="מידע"))
    page = play(pen.done("כותרת 1", parties=[HEBREW, ARABIC]), cursor=1)
    left_of = """([selector, before, after]) => {
        const place = text => {
            for (const root of document.querySelectorAll(selector)) {
                const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
                while (walk.nextNode()) {
                    const at = walk.currentNode.data.indexOf(text);
                    if (at < 0 || !root.checkVisibility()) continue;
                    const range = document.createRange();
                    range.setStart(walk.currentNode, at);
                    range.setEnd(walk.currentNode, at + text.length);
                    return range.getBoundingClientRect();
                }
            }
            throw Error(`${text} is not in ${selector}`);
        };
        const [one, other] = [place(before), place(after)];
        return one.top >= other.bottom || one.right <= other.left + 1 || other.top >= one.bottom;
    }"""

    def stands(selector: str, before: str, after: str) -> None:
        assert page.evaluate(left_of, [selector, before, after]), (
            f"{before} is not before {after} in {selector}"
        )

    # Who sends stands before who receives, whatever they are called.
    stands(".mcpsim-where", HEBREW, ARABIC)
    page.keyboard.press("Alt+2")
    page.keyboard.press("ArrowRight")
    stands(".mcpsim-where", ARABIC, HEBREW)
    lanes = [box["x"] for box in (lane.bounding_box() for lane in page.locator(".mcpsim-lane").all()) if box]
    assert lanes == sorted(lanes)
    page.keyboard.press("Alt+3")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    stands(".mcpsim-pane li", HEBREW, ARABIC)
    page.keyboard.press("t")


# ---------------------------------------------------------------------------------------- what is stored


def test_still_pictures_hold_nothing_that_runs(page: Page, made: Any) -> None:
    recording = attacked(made)
    tags = Tags()
    tags.feed(still_html(recording))
    assert tags.elements <= WRITTEN
    assert runs(tags.attributes) == set()
    drawing = ElementTree.fromstring(still_svg(recording))
    assert {each.tag.rpartition("}")[2] for each in drawing.iter()} <= DRAWN
    assert runs({name for each in drawing.iter() for name in each.attrib}) == set()
    page.set_content(f"<!doctype html><main>{still_html(recording)}</main>")
    assert page.evaluate("window.hostile") is None
    assert ATTACKS[0] in (page.locator("table").text_content() or "")


# -------------------------------------------------------------------------------------- nothing freezes


def deep(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def call(**arguments: Any) -> str:
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t", "arguments": arguments}}
    )


def tools(count: int) -> str:
    listed = [
        {"name": f"tool {n}", "title": "<b>t</b>", "inputSchema": {"type": "object"}} for n in range(count)
    ]
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": listed, "resultType": "complete"}})


#: Bodies that are large or deep, each in its own way.
LARGE: dict[str, Callable[[], str]] = {
    "1 MB without a blank": lambda: call(text="x" * 1_000_000),
    "1 MB of right-to-left": lambda: call(text="ש" * 1_000_000),
    "1 MB of backticks": lambda: call(text="`" * 1_000_000),
    "1 MB of newlines": lambda: call(text="\n" * 500_000),
    "1 MB of control characters": lambda: call(text="\x07" * 150_000),
    "a key of 100 kB": lambda: call(**{"k" * 100_000: {"j" * 100_000: 1}}),
    "a method of 1 MB": lambda: json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m" * 1_000_000}),
    "an id of 1 MB": lambda: json.dumps({"jsonrpc": "2.0", "id": "i" * 1_000_000, "method": "ping"}),
    "5,000 fields": lambda: call(**{f"field {n}": n for n in range(5_000)}),
    "3.9 MB of numbers": lambda: call(numbers=[1] * 1_300_000),
    "10,000 tools": lambda: tools(10_000),
    "depth 60": lambda: call(deep=json.loads(deep(50))),
    "depth 200": lambda: call(deep=json.loads(deep(200))),
    "depth 100,000": lambda: deep(100_000),
    "brackets": lambda: "[" * 1_000_000,
    "a batch of 20,000": lambda: json.dumps(
        [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(20_000)]
    ),
    "10 MB": lambda: call(text="z" * 10_000_000),
}


@pytest.mark.parametrize("what", LARGE)
def test_a_large_message_freezes_nothing(play: Play, made: Any, what: str, capsys: Any) -> None:
    body = LARGE[what]().encode()
    pen = made.Pen()
    pen.send("client", "server", made.request(0, "ping"))
    for _ in range(2):  # The second is compared with the first.
        pen.send("client", "server", body)
    exchange = pen.recorder.new_exchange()
    head: Any = {"method": "POST", "path": "/mcp", "headers": [["X-Long", "h" * 100_000]]}
    pen.send("client", "server", body, exchange=exchange, head=head)
    page = play(pen.done(what), cursor=1)
    opened = page.evaluate("performance.getEntriesByType('navigation')[0].domComplete")
    slowest = slowest_step(page)
    page.keyboard.press("t")
    page.keyboard.press("t")
    nothing_ran(page)
    with capsys.disabled():
        print(f"\n{what}: open {opened:.0f} ms, slowest step {slowest:.0f} ms")
    assert opened < 5 * FROZEN_MS
    assert slowest < FROZEN_MS
    assert page.locator("*").count() < 20_000
