"""What the stories of these exercises are played in."""

from __future__ import annotations

from typing import Final

from mcpsim.transports.link import Stdio

SEEDS: Final = (1, 2, 3)


def pipe() -> Stdio:
    """The transport. The latency draws on the seed, so no two runs take the same time."""
    return Stdio(jitter_ms=20.0)
