"""Names that nobody can guess, and that are the same in every run of the same seed."""

from __future__ import annotations

from random import Random


class SeededTokens:
    """Makes tokens for a purpose: hexadecimal, from the seed.

    Args:
        seed: the run's.
    """

    def __init__(self, seed: int | str) -> None:
        self._seed = seed
        self._counts: dict[str, int] = {}

    def __call__(self, purpose: str) -> str:
        """The next token for a purpose."""
        n = self._counts[purpose] = self._counts.get(purpose, 0) + 1
        return f"{Random(f'{self._seed}:token:{purpose}:{n}').getrandbits(128):032x}"
