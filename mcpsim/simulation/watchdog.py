"""Ends a callback that never gives control back, such as `while True: pass`.

The loop cannot do it: it only counts the callbacks that end. So a thread looks at the wall clock now and then
and, where the same callback has been running all along, raises an exception in the loop's thread. Nothing of
this is recorded. Where there are no threads (in a browser) there is no watchdog.

All watchdogs of a process share one thread: a run that is looked at step by step has one watchdog for each
step, and to start a thread takes longer than most steps.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Final, Protocol

LIMIT_S: Final = 10.0
# How long between two bites, in seconds, for a callback that has caught one and gone on. Sooner or later one
# comes at a place where nothing catches it, such as between two rounds of its loop.
BITES_S: Final = 0.02
# How long the thread of the watchdogs sleeps at most, in seconds. Where none was out meanwhile, it ends.
NAP_S: Final = 0.25
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
        self._bitten = False
        self._watched = 0
        self._seen = self._bitten_at = -1
        self._patience_s = limit_s
        self.due = 0.0

    def __enter__(self) -> Watchdog:
        if not IN_BROWSER:
            self._watched = threading.get_ident()
            self.due = time.monotonic() + self.limit_s
            try:
                _KENNEL.let_out(self)
            except BaseException:
                self.rest()
                raise
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
        _KENNEL.take_in(self)
        if self._bitten:
            # Python delivers such an exception a little later: nothing may be left on its way.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), None)

    def look(self) -> float:
        """Bite where the same step runs as at the last look. Called in the thread of the watchdogs.

        Returns:
            How long until the next look, in seconds.
        """
        steps = -1 if self._loop.nested else self._loop.steps
        if steps == self._seen and steps >= 0:
            # Again and again, as long as it is the same step: the callback may catch everything. But not
            # at once: whoever was bitten has to have the time to say so.
            self._bitten = True
            self._loop.stuck_at(_stack_of(self._watched))
            self._patience_s = BITES_S if self._bitten_at == steps else self.limit_s * 3
            self._bitten_at = steps
            raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
            raise_in(ctypes.c_ulong(self._watched), ctypes.py_object(NeverYields))
        elif self._bitten_at >= 0:
            self._bitten_at = -1
            self._patience_s = self.limit_s * 3
        self._seen = steps
        return self._patience_s


class _Kennel:
    """All watchdogs that are out, and the thread in which they look. It begins with the first one."""

    def __init__(self) -> None:
        # Bites happen under it: whoever has it knows that none is under way.
        self._lock = threading.Lock()
        # Held all the time: who lets go of it wakes the thread.
        self._alarm = threading.Lock()
        self._out: list[Watchdog] = []
        self._thread: threading.Thread | None = None
        self._wakes_at = 0.0
        self._is_needed = False

    def let_out(self, dog: Watchdog) -> None:
        """Let it look, from when it is due."""
        with self._lock:
            self._out.append(dog)
            self._is_needed = True
            if self._thread is None or not self._thread.is_alive():
                self._alarm = threading.Lock()
                self._alarm.acquire()
                self._thread = threading.Thread(target=self._watch, name="mcpsim watchdogs", daemon=True)
                self._thread.start()
            elif dog.due < self._wakes_at and self._alarm.locked():
                self._alarm.release()

    def take_in(self, dog: Watchdog) -> None:
        """Let it look no longer. When this returns, it does not."""
        with self._lock:
            if dog in self._out:
                self._out.remove(dog)

    def _watch(self) -> None:
        while True:
            with self._lock:
                if not self._is_needed:
                    self._thread = None
                    return
                self._wakes_at = self._look_around()
                self._is_needed = bool(self._out)
            self._alarm.acquire(timeout=max(self._wakes_at - time.monotonic(), 0))

    def _look_around(self) -> float:
        """Let those look that are due; returns when to do it again."""
        for dog in self._out:
            if dog.due <= time.monotonic():
                dog.due = time.monotonic() + dog.look()
        return min((time.monotonic() + NAP_S, *(dog.due for dog in self._out)))


# A thread is the process's own, and so is what is watched in it.
_KENNEL: Final = _Kennel()


def _stack_of(thread: int) -> list[FrameType]:
    frames: list[FrameType] = []
    frame = sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    frames.reverse()
    return frames
