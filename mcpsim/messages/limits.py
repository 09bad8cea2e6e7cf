"""How much a reader takes before it says no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DEEPEST: Final = 500


@dataclass(frozen=True, slots=True)
class Limits:
    """What a message may at most be.

    Attributes:
        max_bytes: its length in bytes.
        max_depth: how many objects and arrays may stand inside each other; `[[]]` has depth 2. At most
            500: beyond that it would depend on the interpreter whether a message can be read, and
            Python in a browser does not raise RecursionError in time, but dies.
        max_digits: the digits of one number: whole part, fraction and exponent together.

    Raises:
        ValueError: when `max_depth` is not from 0 to 500.
    """

    max_bytes: int = 4_000_000
    max_depth: int = 64
    max_digits: int = 400

    def __post_init__(self) -> None:
        if not 0 <= self.max_depth <= DEEPEST:
            raise ValueError(f"max_depth is {self.max_depth}; it must be from 0 to {DEEPEST}.")


DEFAULT_LIMITS: Final = Limits()
