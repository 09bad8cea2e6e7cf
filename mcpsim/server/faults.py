"""What is wrong with a tool's arguments, in words that stay short whatever the caller sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

MAX_FAULTS: Final = 10
MAX_FAULT_LENGTH: Final = 300


def shortened(faults: Iterator[str]) -> Iterator[str]:
    """The first faults, none of them longer than a few lines: they may repeat what the caller sent."""
    for number, fault in enumerate(faults):
        if number == MAX_FAULTS:
            yield "and more"
            return
        yield fault if len(fault) <= MAX_FAULT_LENGTH else fault[: MAX_FAULT_LENGTH - 1] + "…"
