"""A recording of 10,000 messages: from the start to the end and back, over 200 places, without a freeze."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

# Each time in milliseconds, with what the browser has to lay out after it.
TIMES = """() => {
    const root = document.querySelector('.mcpsim-player');
    const slider = root.querySelector('input[type=range]');
    const timed = act => {
        const began = performance.now();
        act();
        document.body.getBoundingClientRect();
        return performance.now() - began;
    };
    const press = key => timed(() =>
        root.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })));
    const last = Number(slider.max);
    const wrong = [];
    const scrubs = Array.from({ length: 200 }, (_, i) => {
        const step = Math.round(((i * 83) % 200) * last / 199);
        const took = timed(() => {
            slider.value = step;
            slider.dispatchEvent(new Event('input'));
        });
        const told = root.querySelector('.mcpsim-where').textContent;
        if (step && !told.includes(`Step ${step} of`)) wrong.push(`${step}: ${told}`);
        return took;
    });
    const found = { scrub: Math.max(...scrubs) };
    for (const key of ['End', 'Home', 'ArrowRight', 't']) found[key] = press(key);
    return { found, wrong };
}"""


def test_ten_thousand_messages_from_end_to_end(play: Callable[..., Page], made: Any, capsys: Any) -> None:
    page = play(made.long(10_000), cursor=1)
    measured = page.evaluate(TIMES)
    with capsys.disabled():
        print(f"\n10,000 messages, the slowest in ms: {measured['found']}")
    assert measured["wrong"] == []
    # Far above what it takes, and still no freeze.
    assert max(measured["found"].values()) < 1_000
