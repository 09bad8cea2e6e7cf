"""An event loop whose clock jumps.

Ordinary asyncio (and so anyio) code runs on it. The clock stands still while anything is ready to run, and
then jumps to the next timer: five minutes of waiting take no time at all, and the same program runs in the
same order every time.

The order: one thread; ready callbacks first in, first out; timers by time, and by order of creation where the
time is the same.
"""

from __future__ import annotations

import asyncio
import ctypes
import heapq
import inspect
import math
import threading
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from contextvars import Context, copy_context
from functools import partial
from types import FrameType
from typing import Any, Final, NoReturn, TypeVar, cast

from mcpsim.errors import Deadlock, RealWorldCall, SimulationError, Stuck
from mcpsim.recording.events import milliseconds
from mcpsim.simulation.nesting import outer_loop_set_aside, running
from mcpsim.simulation.waiting import name_of, task_of, where
from mcpsim.simulation.watchdog import LIMIT_S, NeverYields, Watchdog

T = TypeVar("T")

MICROSECONDS: Final = 1_000_000
STEP_BUDGET: Final = 100_000
PROGRESS_LIMIT: Final = 400_000
CENSUS: Final = 1_000
# How many step budgets may pass while the clock moves and nothing else happens.
QUIET_BUDGETS: Final = 10
CANCEL_ROUNDS: Final = 3
# What tasks may take to end after they were cancelled: much less than while the story goes on, for somebody
# waits for it. The steps of all of them, those of each of them, and seconds of the wall clock for one step.
CLOSING_STEPS: Final = 2_000
CLOSING_STEPS_EACH: Final = 20
CLOSING_LIMIT_S: Final = 2.0
# Below this many tasks nobody looks which of them are over.
FEW_TASKS: Final = 256


class NumberedTask(asyncio.Task[T]):
    """A task that knows how many were made before it in its loop.

    Attributes:
        number: from 1.
    """

    number: int = 0

    def add_done_callback(
        self, fn: Callable[[NumberedTask[T]], object], /, *, context: Context | None = None
    ) -> None:
        """Refuse a worker thread: `anyio.to_thread` starts one, and asks here to be told when to stop it."""
        if isinstance(getattr(fn, "__self__", None), threading.Thread):
            fn(self)
            cast("VirtualTimeLoop", self.get_loop()).refuse("anyio.to_thread (a thread)")
        super().add_done_callback(fn, context=context)


class ReadyHandle(asyncio.Handle):
    """A callback that is ready.

    One is made for every wake-up, so it is made with no more than the loop needs: asyncio's own asks whether
    the loop is debugged, which takes as long as all the rest.
    """

    __slots__ = ()
    _callback: Callable[..., object] | None
    _context: Context
    _loop: asyncio.AbstractEventLoop
    _repr: str | None
    _source_traceback: None

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: asyncio.AbstractEventLoop,
        context: Context | None = None,
    ) -> None:
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = None
        self._source_traceback = None


class DueHandle(asyncio.TimerHandle):
    """A callback that is due later. Nearly all are timeouts, which are cancelled long before."""

    __slots__ = ()
    _callback: Callable[..., object] | None
    _context: Context
    _loop: VirtualTimeLoop
    _repr: str | None
    _scheduled: bool
    _source_traceback: None
    _when: float

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: VirtualTimeLoop,
        context: Context | None = None,
    ) -> None:
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = None
        self._source_traceback = None
        self._when = when
        self._scheduled = False

    def cancel(self) -> None:
        """Never call it. What it would have been called with is let go of at once."""
        if not self._cancelled:
            self._cancelled = True
            self._callback = None
            self._args = ()
            if self._scheduled:
                self._loop.forget_timer()


class VirtualTimeLoop(asyncio.BaseEventLoop):
    """The loop of a simulation.

    Args:
        step_budget: how many callbacks may run while neither the clock moves nor `progress` grows; ten times
            as many where the clock moves.
        step_limit_s: how long one callback may take, in seconds of the wall clock.
        progress: returns a number that grows whenever something worth waiting for happened.
        progress_limit: how far it may grow; whatever goes beyond that would never end.

    Attributes:
        now_us: the clock, in whole microseconds since the loop was made.
        steps: how many callbacks have run.
        microseconds: returns the clock in whole microseconds.
        nested: how many other loops run inside the callback that runs now.
    """

    # Of BaseEventLoop, which does not say so.
    _closed: bool
    _debug: bool
    _ready: deque[asyncio.Handle]

    def __init__(
        self,
        *,
        step_budget: int = STEP_BUDGET,
        step_limit_s: float = LIMIT_S,
        progress: Callable[[], int] = lambda: 0,
        progress_limit: int = PROGRESS_LIMIT,
    ) -> None:
        super().__init__()
        self.now_us = 0
        # Every event asks for it, and a function of our own would take several times as long.
        self.microseconds: Callable[[], int] = partial(getattr, self, "now_us")
        self._time_s = 0.0
        self.steps = 0
        self.nested = 0
        self._budget = step_budget
        self._step_limit_s = step_limit_s
        self._progress = progress
        self._progress_limit = progress_limit
        self._created = 0
        self._tasks_created = 0
        self._tasks: list[NumberedTask[Any]] = []
        self._tasks_look_at = FEW_TASKS
        self._heap: list[tuple[int, int, DueHandle]] = []
        self._cancelled_timers = 0
        self._budget_from = 0
        self._look_at = step_budget
        self._quiet_from = 0
        self._progress_seen = 0
        self._fatal: SimulationError | None = None
        self._current: asyncio.Handle | None = None
        self._stepwise = False

    # The clock

    def time(self) -> float:
        """The clock in seconds, as asyncio wants it.

        Deadlines are sums of floats, such as 0.1 + 0.2, and whoever set one compares it with this clock when
        its timer fires. So the clock shows the very float that was asked for, not the rounded microsecond.
        """
        return self._time_s

    def _ms(self) -> str:
        return f"{milliseconds(self.now_us)} ms"

    def set_alarm(self, at_us: int, ring: Callable[[], Any]) -> asyncio.Handle:
        """Call `ring` at a time in whole microseconds, unless the handle is cancelled before."""
        at_s = at_us / MICROSECONDS
        if at_us > self.now_us:
            return self.call_at(at_s, ring)
        if at_s > self._time_s:
            self._time_s = at_s
        handle = ReadyHandle(ring, (), self, None)
        self._ready.append(handle)
        return handle

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call after everything that is ready now."""
        if self._closed or self._debug:
            return super().call_soon(callback, *args, context=context)
        handle = ReadyHandle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def is_quiet(self) -> bool:
        """Whether nothing but the callback that runs now can run at this moment, and nobody looks in between:
        what it would start as a task of its own may as well be done in it."""
        return not self._ready and not self._stepwise

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call after `delay` seconds of the virtual clock."""
        when = self._time_s + delay
        return self._schedule(when, DueHandle(when, callback, args, self, context))

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call at `when` seconds of the virtual clock; at once where that is now or past, never where it is
        infinite."""
        return self._schedule(when, DueHandle(when, callback, args, self, context))

    def _schedule(self, when: float, handle: DueHandle) -> DueHandle:
        if when == math.inf:
            return handle
        due_us = round(when * MICROSECONDS)
        if due_us <= self.now_us:
            self._time_s = max(self._time_s, when)
            self._ready.append(handle)
            return handle
        self._created += 1
        heapq.heappush(self._heap, (due_us, self._created, handle))
        handle._scheduled = True  # pyright: ignore[reportPrivateUsage]
        return handle

    def forget_timer(self) -> None:
        """Called by a timer that is cancelled: most are, long before they are due, and would pile up."""
        self._cancelled_timers += 1
        if self._cancelled_timers > 64 and self._cancelled_timers * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].cancelled()]
            heapq.heapify(self._heap)
            self._cancelled_timers = 0

    def _advance(self) -> bool:
        """Move the clock to the next timer and make everything that is due ready; False without a timer."""
        if self._fatal is not None:
            raise self._fatal
        heap = self._heap
        while heap and heap[0][2].cancelled():
            heapq.heappop(heap)
            self._cancelled_timers -= 1
        if not heap:
            return False
        if self.steps >= self._look_at:
            self._look_around()
        self.now_us = heap[0][0]
        self._budget_from = self.steps
        ready = self._ready
        while heap and heap[0][0] <= self.now_us:
            handle = heapq.heappop(heap)[2]
            self._time_s = max(self._time_s, handle.when())
            handle._scheduled = False  # pyright: ignore[reportPrivateUsage]
            if handle.cancelled():
                self._cancelled_timers -= 1
            else:
                ready.append(handle)
        return True

    # Tasks

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
        **more: Any,
    ) -> NumberedTask[T]:
        """Start a task. Without a name it gets that of its function: asyncio's own `Task-7` counts all tasks
        that the process ever had, and so is another one in every run."""
        named = getattr(coro, "__qualname__", "a task") if name is None else name
        task = NumberedTask(coro, loop=self, name=cast("str", named), context=context, **more)
        self._tasks_created += 1
        task.number = self._tasks_created
        self._keep(task)
        return task

    def _keep(self, task: NumberedTask[Any]) -> None:
        # asyncio keeps tasks weakly: without this the garbage collector could end one at a time of its own,
        # and complain about errors that nobody asked for.
        self._tasks.append(task)
        if len(self._tasks) > self._tasks_look_at:
            self._tasks = [one for one in self._tasks if not one.done() or _is_unasked(one)]
            self._tasks_look_at = max(FEW_TASKS, len(self._tasks) * 2)

    def unasked_errors(self) -> list[NumberedTask[Any]]:
        """The tasks that ended with an error which nobody has asked for yet, in the order they were made."""
        return [task for task in self._tasks if task.done() and _is_unasked(task)]

    def _order_cancellations(self, count: int) -> None:
        """Bring what the last callback cancelled into the order in which the tasks were made.

        A cancel scope (asyncio's TaskGroup too) cancels its tasks in the order of a set, which differs from
        process to process: it depends on addresses. `count` is how many callbacks are new; only neighbours
        change places, so that scopes which are cancelled one by one keep their order.
        """
        ready = self._ready
        # By far the most common: one task wakes, and its cancel scope looks again later.
        if count == 2 and not _cancelled_number(ready[-1]):
            return
        fresh = [ready.pop() for _ in range(count)]
        fresh.reverse()
        run: list[tuple[int, int, asyncio.Handle]] = []
        for handle in fresh:
            number = _cancelled_number(handle)
            if number:
                run.append((number, len(run), handle))
                continue
            ready.extend(one for _, _, one in sorted(run))
            run.clear()
            ready.append(handle)
        ready.extend(one for _, _, one in sorted(run))

    # Running

    def run_until(self, done: Callable[[], bool], *, stepwise: bool = False) -> None:
        """Run callbacks until `done()` is true; it is asked after each of them.

        Args:
            stepwise: whether somebody wants to look at what happens between two callbacks.

        Works inside a running loop. What is ready then stays ready for the next call.

        Raises:
            Deadlock: nothing is ready and no timer is set, and `done()` is still false.
            Stuck: the step budget was used up, or a callback never gave control back, or the run goes on and
                on.
            RealWorldCall: something asked for real I/O, whatever became of the error where it was raised.
            SimulationError: the loop is running already.
        """
        if self.is_running():
            raise SimulationError("This simulation is running already: it cannot be driven from inside.")
        self._budget_from = self.steps
        with outer_loop_set_aside() as outer, running(self), Watchdog(self, self._step_limit_s) as watchdog:
            if isinstance(outer, VirtualTimeLoop):
                outer.nested += 1
            cast("Any", self)._thread_id = threading.get_ident()
            self._stepwise = stepwise
            try:
                self._run(done)
            except NeverYields:
                watchdog.rest()
            finally:
                cast("Any", self)._thread_id = None
                if isinstance(outer, VirtualTimeLoop):
                    outer.nested -= 1
        if self._fatal is not None:
            raise self._fatal

    def _run(self, done: Callable[[], bool]) -> None:
        # By far the most of a run's time is spent below this loop, and so what it does itself is kept short.
        ready = cast("deque[Any]", self._ready)
        while not done():
            if not ready:
                if not self._advance():
                    raise Deadlock(
                        f"Nothing can happen any more at {self._ms()}: no task is ready, no timer is set. "
                        f"Waiting: {self.waiting() or 'nobody'}."
                    )
                continue
            handle = ready.popleft()
            if handle._cancelled:
                continue
            self.steps += 1
            self._current = handle
            before = len(ready)
            try:
                handle._context.run(handle._callback, *handle._args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                self.call_exception_handler(
                    {"message": f"Exception in callback {handle!r}", "exception": error, "handle": handle}
                )
            if len(ready) > before + 1:
                self._order_cancellations(len(ready) - before)
            if self.steps - self._budget_from > self._budget:
                self._check_progress()

    def stuck_at(self, frames: list[FrameType]) -> None:
        """Called by the watchdog: the callback that runs now takes too long. The run ends with the error as
        soon as it gives control back, even where it catches what the watchdog raises in it."""
        name = name_of(self._current, frames)
        self._fatal = Stuck(
            f"{name[0].upper()}{name[1:]} ran for {self._step_limit_s:g} s without giving control back: an "
            "endless loop without an await in it?"
        )

    def waiting(self) -> str:
        """The tasks that are not done, and the function in which each of them waits; by name."""
        tasks = [task for task in asyncio.all_tasks(self) if not task.done()]
        return "; ".join(sorted(f"{task.get_name()} {where(task)}".rstrip() for task in tasks))

    def _check_progress(self) -> None:
        """The clock stood still for a whole budget: fine if something happened meanwhile."""
        seen = self._progress()
        if seen != self._progress_seen:
            self._budget_from = self.steps
            self._look_around()
            return
        names = Counter[str]()
        ready = self._ready
        for _ in range(CENSUS):
            if not ready:
                break
            self._current = handle = ready.popleft()
            if not handle.cancelled():
                cast("Any", handle)._run()
                names[name_of(handle)] += 1
        busiest = min(names, key=lambda name: (-names[name], name), default="a callback")
        raise Stuck(
            f"The clock stands still at {self._ms()}: {busiest} ran again and again, "
            f"{self._budget} steps long. Does it loop without waiting for anything? sleep(0) is no wait."
        )

    def _look_around(self) -> None:
        """Now and then: does this run come to an end?"""
        self._look_at = self.steps + self._budget
        seen = self._progress()
        if seen != self._progress_seen:
            self._progress_seen = seen
            self._quiet_from = self.steps
        if seen > self._progress_limit:
            raise Stuck(
                f"The run goes on and on: {seen} events on the wire by {self._ms()}, and the limit "
                f"is {self._progress_limit}. Is there a loop that never ends?"
            )
        if self.steps - self._quiet_from > self._budget * QUIET_BUDGETS:
            raise Stuck(
                f"Nothing has happened on the wire for {self.steps - self._quiet_from} steps, and the clock "
                f"has come to {self._ms()}. Is there a loop that never ends? Waiting: {self.waiting()}."
            )

    # The end

    def cancel_all(self) -> list[str]:
        """Cancel every task, let them end, and close the loop.

        Returns:
            The tasks that did not end even then, by name, and where each of them waits. They are left alone
            for ever.
        """
        if self.is_closed():
            return []
        stubborn: list[asyncio.Task[Any]] = []
        try:
            for _ in range(CANCEL_ROUNDS):
                tasks = self._pending()
                if not tasks:
                    break
                # One that has not begun would leave a coroutine behind that nobody ever awaited.
                begun = [task for task in tasks if not _is_new(task)] or tasks
                for task in begun:
                    task.cancel()
                self._run_quietly(begun)
            stubborn = self._pending()
            self._run_quietly([self.create_task(self.shutdown_asyncgens())])
        finally:
            left = self._pending()
            for task in left:
                cast("Any", task)._log_destroy_pending = False
                _never_collect(task.get_coro())
            for task in self.unasked_errors():
                task.exception()
            self.close()
        return [f"{task.get_name()} {where(task)}".rstrip() for task in stubborn if not task.done()]

    def _pending(self) -> list[asyncio.Task[Any]]:
        tasks = [task for task in asyncio.all_tasks(self) if not task.done()]
        return sorted(tasks, key=lambda task: cast("NumberedTask[Any]", task).number)

    def _hurry(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Allow what ends now only little, and no traffic as an excuse."""
        self._fatal = None
        self._budget = CLOSING_STEPS + CLOSING_STEPS_EACH * len(tasks)
        self._step_limit_s = min(self._step_limit_s, CLOSING_LIMIT_S)
        self._progress = _no_progress
        self._progress_seen = 0
        self._quiet_from = self.steps
        self._look_at = self.steps + self._budget

    def _run_quietly(self, tasks: list[asyncio.Task[Any]]) -> None:
        def done() -> bool:
            while tasks and tasks[-1].done():
                tasks.pop()
            return not tasks

        self._hurry(tasks)
        try:
            self.run_until(done)
        except SimulationError:
            return

    def close(self) -> None:
        """Forget everything that is still to be done."""
        super().close()
        self._heap.clear()
        self._tasks.clear()
        self._current = None

    def __del__(self) -> None:
        """Nothing to warn about: this loop holds no files, threads or sockets."""

    def _asyncgen_finalizer_hook(self, agen: AsyncGenerator[Any, Any]) -> None:
        # As asyncio does it, but not by call_soon_threadsafe, which is refused here.
        cast("Any", self)._asyncgens.discard(agen)
        if not self.is_closed():
            self.call_soon(self.create_task, agen.aclose())

    # What BaseEventLoop needs and a simulation does not have

    def _process_events(self, event_list: Any) -> None:
        """There are no files to watch."""

    def _write_to_self(self) -> None:
        """Nobody sleeps in a selector here, so nobody needs waking."""

    def run_forever(self) -> None:
        """Not for a simulation: use `run_until`."""
        self.refuse("run_forever (a loop that only a signal ends)")

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Threads are the real world."""
        self.refuse("call_soon_threadsafe (a thread)")

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        """Threads are the real world."""
        self.refuse("run_in_executor (a thread)")

    def refuse(self, name: str) -> NoReturn:
        """Say no to something of the real world. The run ends with the error even where somebody, such as a
        server that guards itself against its handlers, catches it."""
        self._fatal = RealWorldCall(
            f"{name} is real I/O. In a simulation there is no network, no thread and no process: keep to "
            "anyio's tasks, streams, events and sleep, or run the peers live."
        )
        raise self._fatal


def _refuser(name: str) -> Callable[..., NoReturn]:
    def refuse(self: VirtualTimeLoop, *args: Any, **keywords: Any) -> NoReturn:
        self.refuse(name)

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


def _no_progress() -> int:
    return 0


def _is_unasked(task: asyncio.Task[Any]) -> bool:
    return bool(cast("Any", task)._log_traceback)


def _never_collect(coroutine: object) -> None:
    # The garbage collector closes a coroutine by raising GeneratorExit in it. One that catches everything and
    # goes on would run then, without a loop and without a watchdog, and for ever: the process would hang, at
    # some later time or at its exit. So it gets one reference too many, and is never collected. A list of
    # such coroutines would not do: the interpreter empties it when it exits.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(coroutine))


def _is_new(task: asyncio.Task[Any]) -> bool:
    coroutine = task.get_coro()
    return inspect.iscoroutine(coroutine) and inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED


def _cancelled_number(handle: asyncio.Handle) -> int:
    """The number of the task that this callback wakes with a cancellation, or 0."""
    arguments = cast("Any", handle)._args
    if not arguments or not isinstance(arguments[0], asyncio.Future):
        return 0
    future = cast("asyncio.Future[Any]", arguments[0])
    task = task_of(handle)
    return task.number if isinstance(task, NumberedTask) and future.cancelled() else 0
