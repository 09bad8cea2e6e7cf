"""Ends a callback that never gives control back, such as `while True: pass`.

The loop cannot do it: it only counts the callbacks that end. So a thread looks at the wall clock now and then
and, where the same callback has been running all along, raises an exception in the loop's thread. Nothing of
this is recorded. Where there are no threads (in a browser) there is no watchdog.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from types import FrameType, TracebackType
from typing import Final, Protocol

LIMIT_S: Final = 10.0
# How long between two bites, in seconds, for a callback that has caught one and gone on. Sooner or later one
# comes at a place where nothing catches it, such as between two rounds of its loop.
BITES_S: Final = 0.02
IN_BROWSER: Final = sys.platform == "emscripten"


class NeverYields(KeyboardInterrupt):
    """Raised inside the callback. A KeyboardInterrupt, because asyncio lets only that pass through a task."""


class Watched(Protocol):
    """A loop that counts its steps, and says how many other loops run inside the one that it is at."""

    steps: int
    nested: int

    def stuck_at(self, frames: list[FrameType]) -> None:
        """Called from the watchdog's thread when a step takes too long, with the stack, outermost first."""
        ...


class Watchdog:
    """Watches one `run_until`.

    Args:
        loop: whose steps to watch. While another loop runs inside of a step, that one's watchdog looks on.
        limit_s: how long one step may take, in seconds of the wall clock.
    """

    def __init__(self, loop: Watched, limit_s: float = LIMIT_S) -> None:
        self._loop = loop
        self.limit_s = limit_s
        self._stop = threading.Event()
        self._bitten = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Watchdog:
        if not IN_BROWSER:
            watched = threading.get_ident()
            self._thread = threading.Thread(
                target=self._watch, args=(watched,), name="mcpsim watchdog", daemon=True
            )
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.rest()

    def rest(self) -> None:
        """Watch no longer. It may bite in the very moment in which a step ends; then it bites here."""
        while True:
            try:
                self._end()
            except NeverYields:
                continue
            return

    def _end(self) -> None:
        self._stop.set()
        if self._thread is None:
            return
        self._thread.join()
        if self._bitten:
            # Python delivers such an exception a little later: nothing may be left on its way.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), None)

    def _watch(self, watched: int) -> None:
        seen, bitten_at, patience_s = -1, -1, self.limit_s
        while not self._stop.wait(patience_s):
            steps = -1 if self._loop.nested else self._loop.steps
            if steps == seen and steps >= 0:
                # Again and again, as long as it is the same step: the callback may catch everything. But not
                # at once: whoever was bitten has to have the time to say so.
                self._bitten = True
                self._loop.stuck_at(_stack_of(watched))
                patience_s = BITES_S if bitten_at == steps else self.limit_s * 3
                bitten_at = steps
                raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
                raise_in(ctypes.c_ulong(watched), ctypes.py_object(NeverYields))
            elif bitten_at >= 0:
                bitten_at, patience_s = -1, self.limit_s * 3
            seen = steps


def _stack_of(thread: int) -> list[FrameType]:
    frames: list[FrameType] = []
    frame = sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    frames.reverse()
    return frames
