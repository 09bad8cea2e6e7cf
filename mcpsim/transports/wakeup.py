"""Waking the one task that waits for something, with or without a time limit.

An event of anyio and a cancel scope around it do the same, and take longer than a whole request takes else.
Like the loop under it this is for asyncio, and for one task at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import anyio


class Bell:
    """Rings for the one task that waits at the moment, any number of times; nobody hears a ring too early.

    A future of asyncio for each wait: an event of anyio takes longer than all the rest of a frame's way.
    """

    __slots__ = ("_future",)

    def __init__(self) -> None:
        self._future: asyncio.Future[None] | None = None

    def next_ring(self) -> Awaitable[None]:
        """What to await. Whoever has awaited it says `heard`, also where the wait was cancelled."""
        self._future = future = asyncio.get_running_loop().create_future()
        return future

    def heard(self) -> None:
        """Nobody waits any more."""
        self._future = None

    def is_awaited(self) -> bool:
        """Whether somebody waits, and is neither rung for nor cancelled yet."""
        return self._future is not None and not self._future.done()

    def ring(self) -> None:
        """Wake who waits."""
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


class Wakeup:
    """Something that happens once, or does not happen in time.

    Attributes:
        happened: whether it has happened.
        expired: whether the limit passed before it happened.
    """

    __slots__ = ("_future", "_timer", "expired", "happened")

    def __init__(self) -> None:
        self.happened = False
        self._future: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.expired = False

    def is_set(self) -> bool:
        """Whether it has happened."""
        return self.happened

    def set(self) -> None:
        """It has happened: who waits goes on."""
        if not self.happened:
            self.happened = True
            self._wake()

    def expire_after(self, limit_s: float) -> None:
        """Let the wait end in so many seconds from now, if it has not happened by then."""
        self._timer = asyncio.get_running_loop().call_later(limit_s, self._expire)

    async def wait(self) -> None:
        """Wait until it happens, or until the limit has passed."""
        try:
            await self.waiting()
        finally:
            self.waited()

    def waiting(self) -> Awaitable[None]:
        """What `wait` awaits, for whoever cannot spare a function around it. `waited` comes after it."""
        if self.happened:
            return anyio.lowlevel.checkpoint()
        self._future = future = asyncio.get_running_loop().create_future()
        return future

    def waited(self) -> None:
        """The wait is over, also where it was cancelled, and with it the limit."""
        self._future = None
        self.expire_never()

    def expire_never(self) -> None:
        """Let there be no limit any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def give_up(self) -> None:
        """Let the limit have passed now."""
        self.expire_never()
        self._expire()

    def _expire(self) -> None:
        self._timer = None
        if not self.happened:
            self.expired = True
            self._wake()

    def _wake(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)
