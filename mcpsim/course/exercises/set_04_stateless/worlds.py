"""What the stories of these exercises are played in: transports and seeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcpsim.transports.link import Stdio, StreamableHttp

SEEDS: Final = (1, 2, 3)


def worlds() -> Iterator[tuple[Stdio | StreamableHttp, int]]:
    """Each transport with each seed. The latency draws on the seed, so no two runs take the same time."""
    for seed in SEEDS:
        yield Stdio(jitter_ms=20.0), seed
        yield StreamableHttp(jitter_ms=20.0), seed
