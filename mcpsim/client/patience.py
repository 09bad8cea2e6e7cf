"""How long a client waits for an answer: for how long at first, and at most however much progress there is.

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation#timeouts
"""

from __future__ import annotations

from typing import NamedTuple

import anyio

from mcpsim.client.inbox import called
from mcpsim.client.wire import OnProgress


class Patience(NamedTuple):
    """The time limits of one request, in seconds.

    Attributes:
        limit_s: how long without an answer, or without progress where progress counts.
        max_s: how long altogether.
    """

    limit_s: float
    max_s: float

    @property
    def first_s(self) -> float:
        """How long to wait where nothing comes at all."""
        return min(self.limit_s, self.max_s)

    def renewing(self, scope: anyio.CancelScope, on_progress: OnProgress | None) -> OnProgress:
        """A callback for progress that sets the deadline of `scope` anew, then calls `on_progress`."""
        last = anyio.current_time() + self.max_s

        async def renew(progress: float, total: float | None, message: str | None) -> None:
            scope.deadline = min(anyio.current_time() + self.limit_s, last)
            if on_progress is not None:
                await called(on_progress, progress, total, message)

        return renew

    def __str__(self) -> str:
        if self.max_s <= self.limit_s:
            return f"{self.max_s:g} s"
        return f"{self.limit_s:g} s without progress, or {self.max_s:g} s altogether"
