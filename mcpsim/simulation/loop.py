"""An event loop whose clock jumps.

Ordinary asyncio (and so anyio) code runs on it. The clock stands still while anything is ready to run, and
then jumps to the next timer: five minutes of waiting take no time at all, and the same program runs in the
same order every time.

The order: one thread; ready callbacks first in, first out; timers by time, and by order of creation where the
time is the same.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio import events
from collections import Counter
from collections.abc import Callable
from contextvars import Context
from typing import Any, Final, NoReturn, cast

from mcpsim.errors import Deadlock, RealWorldCall, Stuck
from mcpsim.simulation.nesting import outer_loop_set_aside, running
from mcpsim.simulation.watchdog import NeverYields, Watchdog

MICROSECONDS: Final = 1_000_000
STEP_BUDGET: Final = 100_000
CENSUS: Final = 1_000


class VirtualTimeLoop(asyncio.BaseEventLoop):
    """The loop of a simulation.

    Args:
        step_budget: how many callbacks may run while neither the clock moves nor `progress` changes.
        progress: returns a number that changes whenever something worth waiting for happened.

    Attributes:
        now_us: the clock, in whole microseconds since the loop was made.
        waits_for_thread: asked before the clock moves: whether a task waits for a thread of the real world.
    """

    def __init__(self, *, step_budget: int = STEP_BUDGET, progress: Callable[[], int] = lambda: 0) -> None:
        super().__init__()
        self.now_us = 0
        self._time_s = 0.0
        self.steps = 0
        self.waits_for_thread: Callable[[], bool] = lambda: False
        self._budget = step_budget
        self._progress = progress
        self._created = 0
        self._heap: list[tuple[int, int, asyncio.TimerHandle]] = []
        self._cancelled_timers = 0
        self._budget_from = 0
        self._progress_seen = 0

    # The clock

    def time(self) -> float:
        """The clock in seconds, as asyncio wants it.

        Deadlines are sums of floats, such as 0.1 + 0.2, and whoever set one compares it with this clock when
        its timer fires. So the clock shows the very float that was asked for, not the rounded microsecond.
        """
        return self._time_s

    def microseconds(self) -> int:
        """The clock in whole microseconds."""
        return self.now_us

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call after `delay` seconds of the virtual clock."""
        return self.call_at(self._time_s + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call at `when` seconds of the virtual clock."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._created += 1
        heapq.heappush(self._heap, (round(when * MICROSECONDS), self._created, handle))
        handle._scheduled = True  # pyright: ignore[reportAttributeAccessIssue]
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        # Most timeouts are cancelled long before they are due; without this they would pile up.
        self._cancelled_timers += 1
        if self._cancelled_timers > 64 and self._cancelled_timers * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].cancelled()]
            heapq.heapify(self._heap)
            self._cancelled_timers = 0

    def _advance(self) -> bool:
        """Move the clock to the next timer and make everything that is due ready; False without a timer."""
        if self.waits_for_thread():
            _refuse("anyio.to_thread (a thread)")
        heap = self._heap
        while heap and heap[0][2].cancelled():
            heapq.heappop(heap)
        if not heap:
            return False
        if heap[0][0] > self.now_us:
            self.now_us = heap[0][0]
            self._budget_from = self.steps
        ready = cast("Any", self)._ready
        while heap and heap[0][0] <= self.now_us:
            handle = heapq.heappop(heap)[2]
            self._time_s = max(self._time_s, handle.when())
            handle._scheduled = False  # pyright: ignore[reportAttributeAccessIssue]
            if not handle.cancelled():
                ready.append(handle)
        return True

    # Running

    def run_until(self, done: Callable[[], bool]) -> None:
        """Run callbacks until `done()` is true; it is asked after each of them.

        Works inside a running loop. What is ready then stays ready for the next call.

        Raises:
            Deadlock: nothing is ready and no timer is set, and `done()` is still false.
            Stuck: the step budget was used up, or a callback never gave control back.
        """
        with outer_loop_set_aside(), running(self), Watchdog(self) as watchdog:
            try:
                while not done():
                    self._step()
            except NeverYields:
                raise Stuck(
                    f"{self._running_name()} ran for {watchdog.limit_s:g} s without giving control back: an "
                    "endless loop without an await in it?"
                ) from None

    def _step(self) -> None:
        ready = cast("Any", self)._ready
        if not ready:
            if not self._advance():
                raise Deadlock(self._waiting_text())
            return
        handle = ready.popleft()
        if handle._cancelled:
            return
        self.steps += 1
        self._current = handle
        handle._run()
        if self.steps - self._budget_from > self._budget:
            self._check_progress()

    _current: Any = None

    def _check_progress(self) -> None:
        seen = self._progress()
        if seen != self._progress_seen:
            self._progress_seen = seen
            self._budget_from = self.steps
            return
        names = Counter[str]()
        ready = cast("Any", self)._ready
        for _ in range(CENSUS):
            if not ready:
                break
            handle = ready.popleft()
            if not handle._cancelled:
                names[_name_of(handle)] += 1
                handle._run()
        busiest = min(names, key=lambda name: (-names[name], name), default="a callback")
        raise Stuck(
            f"The clock stands still at {self.now_us / 1000:g} ms: {busiest} ran again and again, "
            f"{self._budget} steps long. Does it loop without waiting for anything? sleep(0) is no wait."
        )

    def _running_name(self) -> str:
        return _name_of(self._current) if self._current is not None else "A callback"

    def _waiting_text(self) -> str:
        tasks = sorted(asyncio.all_tasks(self), key=lambda task: task.get_name())
        waiting = [f"{task.get_name()} {_where(task)}" for task in tasks if not task.done()]
        return (
            f"Nothing can happen any more at {self.now_us / 1000:g} ms: no task is ready, no timer is set. "
            f"Waiting: {'; '.join(waiting) or 'nobody'}."
        )

    # What BaseEventLoop needs and a simulation does not have

    def _process_events(self, event_list: Any) -> None:
        """There are no files to watch."""

    def _write_to_self(self) -> None:
        """Nobody sleeps in a selector here, so nobody needs waking."""

    def run_forever(self) -> None:
        """Not for a simulation: use `run_until`."""
        raise RealWorldCall("run_forever has no end in a simulation; use run_until.")

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Threads are the real world."""
        _refuse("call_soon_threadsafe (a thread)")

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        """Threads are the real world."""
        _refuse("run_in_executor (a thread)")


def _refuse(name: str) -> NoReturn:
    raise RealWorldCall(
        f"{name} is real I/O. In a simulation there is no network, no thread and no process: keep to "
        "anyio's tasks, streams, events and sleep, or run the peers live."
    )


def _refuser(name: str) -> Callable[..., NoReturn]:
    def refuse(self: VirtualTimeLoop, *args: Any, **keywords: Any) -> NoReturn:
        _refuse(name)

    refuse.__name__ = name
    refuse.__doc__ = "Real I/O: raises RealWorldCall."
    return refuse


REAL_WORLD_METHODS: Final = (
    "add_reader",
    "add_signal_handler",
    "add_writer",
    "connect_accepted_socket",
    "connect_read_pipe",
    "connect_write_pipe",
    "create_connection",
    "create_datagram_endpoint",
    "create_server",
    "create_unix_connection",
    "create_unix_server",
    "getaddrinfo",
    "getnameinfo",
    "remove_reader",
    "remove_signal_handler",
    "remove_writer",
    "sendfile",
    "sock_accept",
    "sock_connect",
    "sock_recv",
    "sock_recv_into",
    "sock_recvfrom",
    "sock_recvfrom_into",
    "sock_sendall",
    "sock_sendfile",
    "sock_sendto",
    "start_tls",
    "subprocess_exec",
    "subprocess_shell",
)

for _name in REAL_WORLD_METHODS:
    setattr(VirtualTimeLoop, _name, _refuser(_name))


def _name_of(handle: events.Handle) -> str:
    callback = cast("Any", handle)._callback
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return f"the task {owner.get_name()!r}"
    return f"the callback {getattr(callback, '__qualname__', type(callback).__name__)}"


def _where(task: asyncio.Task[Any]) -> str:
    """The innermost function that the task waits in, and its line; no paths."""
    frame: Any = None
    awaited: Any = task.get_coro()
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or frame
        awaited = getattr(awaited, "cr_await", None)
    if frame is None:
        return ""
    return f"(in {frame.f_code.co_name})"
