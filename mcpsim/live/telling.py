"""What a server that is served to the world needs of it: somebody to tell, tokens that nobody guesses, and a
clock that others have too."""

from __future__ import annotations

import secrets
import sys
import time
from dataclasses import dataclass

from mcpsim.live.lines import printable
from mcpsim.recording import Scribe


@dataclass(frozen=True, slots=True)
class StderrScribe(Scribe):
    """Says on stderr what a recording would hold as notes."""

    def note(self, text: str, exchange: int = 0) -> None:
        print(f"mcpsim: {printable(text)}", file=sys.stderr, flush=True)


def random_token(purpose: str) -> str:
    """A token for any purpose: 128 random bits in hexadecimal."""
    return secrets.token_hex(16)


def wall_clock_ms() -> int:
    """The time of day in milliseconds since 1970: the same for all servers that stand in for one another, and
    after a restart."""
    return time.time_ns() // 1_000_000
