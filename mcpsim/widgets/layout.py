"""Where things are from top to bottom: time as height.

Later is always lower. The height of a wait grows with the logarithm of its length, so that a wait of 20 ms
can be seen and one of five minutes does not fill the screen; long waits are named beside the axis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcpsim.recording import Event, Recording, events
from mcpsim.widgets.steps import STEP_KINDS
from mcpsim.widgets.text import compact_text, duration

TOP: Final = 34
ROW: Final = 40
LABEL: Final = 27
LOST: Final = 18
BOTTOM: Final = 30
LONG_WAIT_US: Final = 1_000_000
LONG_WAIT_HEIGHT: Final = 46
#: Handlers that run at the same time are drawn side by side, up to this many.
DEEPEST: Final = 6

# Party, connection, id and name of a handler.
_Running = tuple[str, int, str, str]

_BAR_ENDS: Final = {
    events.HANDLER_FINISHED: "finished",
    events.HANDLER_CANCELLED: "cancelled",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """A handler that ran: which party, from where to where, and how it ended.

    Attributes:
        depth: how many other handlers of the party ran when it started.
        end: "finished", "cancelled", or "" where the recording ends first.
    """

    party: str
    name: str
    top: int
    bottom: int
    depth: int
    end: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Wait:
    """A long time in which nothing happened."""

    y: int
    text: str


@dataclass(frozen=True, slots=True)
class Layout:
    """Heights in pixels.

    Attributes:
        y: of each event that shows, by its index in the recording.
        height: of the whole diagram.
    """

    y: Mapping[int, int]
    bars: tuple[Bar, ...]
    waits: tuple[Wait, ...]
    height: int


def lay_out(recording: Recording, *, until: int | None = None) -> Layout:
    """Give every event its height.

    Args:
        until: leave out the event at this index and all after it.
    """
    heights: dict[int, int] = {}
    waits: list[Wait] = []
    bars: list[Bar] = []
    running: dict[_Running, list[tuple[int, int, Event]]] = {}
    depths: dict[str, set[int]] = {}
    y, last_us, last_step = float(TOP), 0, float(TOP - ROW)
    for index, event in enumerate(recording.events[:until]):
        if event.kind == events.STATE:
            continue
        passed = event.at_us - last_us
        last_us = max(last_us, event.at_us)
        if heights and passed >= LONG_WAIT_US:
            waits.append(Wait(round(y + LONG_WAIT_HEIGHT * 0.6), f"{duration(passed)} pass"))
            y += LONG_WAIT_HEIGHT
        elif heights:
            y += _height(passed)
        if event.kind in STEP_KINDS:
            # Its label stands above it, and must be clear of what arrived before.
            y = max(y + LABEL if heights else y, last_step + ROW)
            last_step = y
        elif event.kind == events.DROPPED:
            y = max(y, last_step + LOST)
        heights[index] = round(y)
        _bar(event, round(y), running, depths, bars)
    end = round(y)
    for started in running.values():
        bars += [Bar(e.party, _name(e), top, end + 12, depth, "", "") for top, depth, e in started]
    return Layout(heights, tuple(bars), tuple(waits), end + BOTTOM)


def _height(passed_us: int) -> float:
    if passed_us <= 0:
        return 0
    return min(32.0, 3 + 3.4 * math.log2(1 + passed_us / 1000))


def _bar(
    event: Event,
    y: int,
    running: dict[_Running, list[tuple[int, int, Event]]],
    depths: dict[str, set[int]],
    bars: list[Bar],
) -> None:
    detail = event.detail or {}
    id = detail.get("id")
    key: _Running = (event.party, event.connection, compact_text(id), _name(event))
    taken = depths.setdefault(event.party, set())
    if event.kind == events.HANDLER_STARTED:
        depth = next((n for n in range(DEEPEST) if n not in taken), DEEPEST)
        taken.add(depth)
        running.setdefault(key, []).append((y, depth, event))
    elif event.kind in _BAR_ENDS and running.get(key):
        top, depth, started = running[key].pop(0)
        taken.discard(depth)
        end = _BAR_ENDS[event.kind]
        bars.append(Bar(event.party, _name(started), top, y, depth, end, str(detail.get("outcome", ""))))


def _name(event: Event) -> str:
    return str((event.detail or {}).get("name", ""))
