"""What stories and handlers are played in: both eras, both transports, several seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mcpsim.eras.revisions import ClientEra
from mcpsim.transports.link import Stdio, StreamableHttp

SEEDS: Final = (1, 2)
JITTER_MS: Final = 15.0

_WAYS: Final = (Stdio, StreamableHttp)
_ERAS: Final[tuple[ClientEra, ...]] = ("modern", "legacy")


@dataclass(frozen=True, slots=True)
class World:
    """One setting of a run.

    Attributes:
        era: the client's era.
        transport: with latency that draws on the seed, so that no two runs take the same time.
        seed: where every random draw comes from.
    """

    era: ClientEra
    transport: Stdio | StreamableHttp
    seed: int

    @property
    def is_http(self) -> bool:
        """Whether it is played over HTTP."""
        return isinstance(self.transport, StreamableHttp)

    def __str__(self) -> str:
        return f"{self.era}, {'Streamable HTTP' if self.is_http else 'stdio'}"


def every_world() -> Iterator[World]:
    """Each era over each transport with each seed."""
    for seed in SEEDS:
        for era in _ERAS:
            for way in _WAYS:
                yield World(era, way(jitter_ms=JITTER_MS), seed)
