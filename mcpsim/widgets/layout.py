"""Where things are from top to bottom: time as height.

Later is always lower. There are two ways. In the even one each step has a row, and the height of a wait
grows with the logarithm of its length, so that a wait of 20 ms can be seen and one of five minutes does not
fill the screen; long waits are named. In the one to scale the same time has the same height wherever that is
possible: where a step needs more room than its time gives it, and where a wait is cut because it would fill
the screen, the picture says that it is not to scale there.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from mcpsim.recording import Recording, events
from mcpsim.widgets.steps import Steps, steps_of
from mcpsim.widgets.text import duration

TOP: Final = 34
ROW: Final = 40
LABEL: Final = 27
LOST: Final = 18
#: Two messages that arrive at the same time do not end in one point.
APART: Final = 14
BOTTOM: Final = 30
LONG_WAIT_US: Final = 1_000_000
LONG_WAIT_HEIGHT: Final = 46
#: To scale: a wait that would be higher than this is cut.
HIGHEST: Final = 520
CUT: Final = 60
#: To scale: so high are the times between two steps on the average. What is far longer than most does not
#: count fully, so that a single long wait does not press all others flat.
USUAL: Final = 60
FAR_LONGER: Final = 4


@dataclass(frozen=True, slots=True)
class Wait:
    """A long time in which nothing happens, or one that is not to scale.

    Attributes:
        text: how long it is; "" where a step only needs more room than its time gives it.
        top, bottom: the part of the axis that this is about.
    """

    y: int
    text: str
    top: int
    bottom: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Heights in pixels.

    Attributes:
        y: of each event that shows, by its index in the recording.
        height: of the whole diagram.
        us_per_px: the scale, in microseconds a pixel; 0 where it is not to scale.
        times, heights, indexes: of the events that show, in order.
    """

    y: Mapping[int, int]
    waits: tuple[Wait, ...]
    height: int
    us_per_px: float
    times: tuple[int, ...]
    heights: tuple[int, ...]
    indexes: tuple[int, ...]

    def at_index(self, index: int) -> int:
        """The height of the last event that shows up to this one."""
        place = bisect_right(self.indexes, index) - 1
        return self.heights[place] if place >= 0 else TOP

    def at_time(self, us: int) -> int:
        """The height of a moment: between two events as far as it is between them in time."""
        place = bisect_right(self.times, us)
        if place == 0:
            return self.heights[0] if self.heights else TOP
        if place == len(self.times):
            return self.heights[-1]
        before, after = self.times[place - 1], self.times[place]
        low, high = self.heights[place - 1], self.heights[place]
        return round(low + (high - low) * (us - before) / (after - before))


def lay_out(
    recording: Recording, *, steps: Steps | None = None, until: int | None = None, to_scale: bool = False
) -> Layout:
    """Give every event its height.

    Args:
        steps: those of the recording, where they are known already.
        until: leave out the event at this index and all after it.
        to_scale: whether equal times are to be equally high.
    """
    known = steps or steps_of(recording)
    scale = _us_per_px(known) if to_scale else 0.0
    at_steps = set(known.indexes)
    found: dict[int, int] = {}
    times: list[int] = []
    waits: list[Wait] = []
    y, last_us, last_step = float(TOP), 0, float(TOP - ROW)
    # Where the last message arrived.
    arrival = float(TOP - ROW)
    for index, event in enumerate(recording.events[:until]):
        if event.kind == events.STATE:
            continue
        passed = max(0, event.at_us - last_us)
        last_us = max(last_us, event.at_us)
        before = y
        if found:
            height, text = _to_scale(passed, scale) if scale else _even(passed)
            y += height
            if text:
                waits.append(
                    Wait(round(before + height * (0.4 if scale else 0.6)), text, round(before), round(y))
                )
        if index in at_steps:
            # Its label stands above it, and must be clear of what arrived before.
            above = arrival if scale else y
            least = max(above + LABEL if found else y, last_step + ROW)
            if scale and least > y:
                waits.append(Wait(round(y), "", round(before), round(least)))
            y = max(y, least)
            last_step = y
        elif event.kind == events.DROPPED:
            if scale and last_step + LOST > y:
                waits.append(Wait(round(y), "", round(before), round(last_step + LOST)))
            y = max(y, last_step + LOST)
        elif event.kind == events.DELIVERED:
            least = arrival + APART
            if scale and least > y:
                waits.append(Wait(round(y), "", round(before), round(least)))
            arrival = y = max(y, least)
        found[index] = round(y)
        times.append(last_us)
    height = round(y) + BOTTOM
    return Layout(found, tuple(waits), height, scale, tuple(times), tuple(found.values()), tuple(found))


def _us_per_px(steps: Steps) -> float:
    """The scale at which the picture is about as high as one with a row for each step."""
    times = [step.event.at_us for step in steps.all]
    gaps = sorted(b - a for a, b in pairwise(times) if b > a)
    if not gaps:
        return 1_000 / USUAL
    most = gaps[len(gaps) // 2] * FAR_LONGER
    return sum(min(gap, most) for gap in gaps) / len(gaps) / USUAL


def _even(passed_us: int) -> tuple[float, str]:
    if passed_us >= LONG_WAIT_US:
        return LONG_WAIT_HEIGHT, f"{duration(passed_us)} pass"
    if passed_us <= 0:
        return 0, ""
    return min(32.0, 3 + 3.4 * math.log2(1 + passed_us / 1000)), ""


def _to_scale(passed_us: int, us_per_px: float) -> tuple[float, str]:
    height = passed_us / us_per_px
    return (CUT, f"{duration(passed_us)}, not to scale") if height > HIGHEST else (height, "")
