"""How long a check waits for a learner's code."""

from __future__ import annotations

from typing import Final

from mcpsim.simulation.watchdog import Watchdog

PATIENCE_S: Final = 10.0


class _Standing:
    """What a watchdog looks at when the whole block counts as one step."""

    steps = 0
    nested = 0


class Patience(Watchdog):
    """Ends a block that takes longer than `limit_s` seconds of the wall clock: raises `NeverYields` in it.

    In a browser there are no threads, so there a loop without an end is ended with the kernel alone.
    """

    def __init__(self, limit_s: float) -> None:
        # A watchdog bites where nothing has moved between two looks.
        super().__init__(_Standing(), limit_s / 2)

    @property
    def ran_out(self) -> bool:
        """Whether the time was over."""
        return self._bitten
