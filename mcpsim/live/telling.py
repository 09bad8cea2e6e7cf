"""What a server that is served to the world needs of it: somebody to tell, and tokens that nobody guesses."""

from __future__ import annotations

import secrets
import sys
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
