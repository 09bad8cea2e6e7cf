"""How much a reader takes before it says no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limits:
    """What a message may at most be.

    Attributes:
        max_bytes: its length in bytes.
        max_depth: how many objects and arrays may stand inside each other; `[[]]` has depth 2.
        max_digits: the digits of one number: whole part, fraction and exponent together.
    """

    max_bytes: int = 4_000_000
    max_depth: int = 64
    max_digits: int = 400


DEFAULT_LIMITS: Final = Limits()
