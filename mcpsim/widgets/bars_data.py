"""Bars as plain JSON for the player: where they are, and what they say to whoever does not see them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from mcpsim.widgets.bars import ASKED, HANDLER, Bar, words_of
from mcpsim.widgets.layout import Layout
from mcpsim.widgets.steps import Steps
from mcpsim.widgets.text import lane_name, one_line


def bars_data(bars: Sequence[Bar], steps: Steps, even: Layout, scaled: Layout | None) -> list[dict[str, Any]]:
    """What the player knows of the bars.

    Args:
        scaled: the heights to scale; without them everything is as in the other way.

    Returns:
        One dict a bar: `kind` ("handler", "asked", "stream", "fresh" or "session"), `party` (the lane),
        `name`, `text` (the same in words), `y` and `y2`, `scaled` (both to scale), `depth` (its place among
        those that go on at the same time), `end` and `outcome` as `Bar` has them, `from` and `until` (the
        steps during which it begins and ends; `until` is None where it does not end) and `marks`: a list of
        [step, height, height to scale, how far from 0 to 1 or None, words].
    """
    times = [step.event.at_us for step in steps.all]
    return [_bar(bar, steps, times, even, scaled or even) for bar in bars]


def deepest(bars: Sequence[Bar]) -> dict[str, dict[str, int]]:
    """For each lane how many bars are `on` it and `beside` it at most, at the same time."""
    found: dict[str, dict[str, int]] = {}
    for bar in bars:
        deep = found.setdefault(lane_name(bar.party), {"on": 0, "beside": 0})
        place = "on" if bar.kind in (HANDLER, ASKED) else "beside"
        deep[place] = max(deep[place], bar.depth + 1)
    return found


def _bar(bar: Bar, steps: Steps, times: list[int], even: Layout, scaled: Layout) -> dict[str, Any]:
    (top, bottom), both = _ends(bar, even), _ends(bar, scaled)
    return {
        "kind": bar.kind,
        "party": lane_name(bar.party),
        "name": one_line(bar.name, 80),
        "text": words_of(bar),
        "y": top,
        "y2": bottom,
        "scaled": both,
        "depth": bar.depth,
        "end": bar.end,
        "outcome": one_line(bar.outcome, 60),
        "from": steps.at(bar.start),
        "until": _until(bar, steps, times),
        "marks": [
            [
                steps.at(mark.index),
                even.at_index(mark.index),
                scaled.at_index(mark.index),
                mark.part,
                mark.text,
            ]
            for mark in bar.marks
        ],
    }


def _ends(bar: Bar, layout: Layout) -> list[int]:
    top = layout.at_index(bar.start)
    if bar.stop is not None:
        return [top, max(top, layout.at_index(bar.stop))]
    end = layout.heights[-1] if layout.heights else top
    if bar.end == "stale" and bar.until_us is not None:
        return [top, max(top, min(end, layout.at_time(bar.until_us)))]
    return [top, end + 12]


def _until(bar: Bar, steps: Steps, times: list[int]) -> int | None:
    if bar.stop is not None:
        return steps.at(bar.stop)
    if bar.end != "stale" or bar.until_us is None:
        return None
    # The first step at which it is not fresh any more.
    late = bisect_left(times, bar.until_us) + 1
    return late if late <= len(times) else None
