"""What the stories of these exercises are played in: a client that does nothing by itself."""

from __future__ import annotations

from typing import Final

from mcpsim.client import Client
from mcpsim.transports.link import Stdio

SEEDS: Final = (1, 2, 3)


class ByHand(Client):
    """A legacy client that leaves the handshake to the story."""

    def __init__(self) -> None:
        super().__init__(era="legacy")

    async def connect(self) -> None:
        """Nothing: the story opens the session."""

    def fresh(self) -> ByHand:
        """Another one that is attached to nothing."""
        return ByHand()


def pipe() -> Stdio:
    """The transport. The latency draws on the seed, so no two runs take the same time."""
    return Stdio(jitter_ms=20.0)
