"""The virtual-time loop by itself."""

from __future__ import annotations

import asyncio
import gc
import math
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsim.errors import Deadlock, SimulationError, Stuck
from mcpsim.simulation import VirtualTimeLoop


def play(story: Callable[[], Any], **more: Any) -> Any:
    """Run one coroutine function to its end, on a loop of its own."""
    loop = VirtualTimeLoop(**more)
    try:
        task = loop.create_task(story(), name="the story")
        loop.run_until(task.done)
        return task.result()
    finally:
        loop.cancel_all()


def test_what_is_ready_runs_first_in_first_out() -> None:
    loop, seen = VirtualTimeLoop(), list[str]()
    for name in "abc":
        loop.call_soon(seen.append, name)
    loop.call_soon(lambda: loop.call_soon(seen.append, "last"))
    loop.call_soon(seen.append, "d")
    loop.run_until(lambda: "last" in seen)
    assert seen == ["a", "b", "c", "d", "last"]
    loop.close()


@given(st.lists(st.integers(0, 4), max_size=30))
def test_timers_run_by_time_and_then_by_order_of_creation(delays: list[int]) -> None:
    loop, seen = VirtualTimeLoop(), list[tuple[int, int]]()
    for order, delay in enumerate(delays):
        loop.call_later(delay, seen.append, (delay, order))
    loop.run_until(lambda: len(seen) == len(delays))
    assert seen == sorted((delay, order) for order, delay in enumerate(delays))
    loop.close()


def test_it_is_quiet_where_nobody_else_is_ready_and_nobody_looks() -> None:
    loop, seen = VirtualTimeLoop(), list[bool]()
    for _ in range(3):
        loop.call_soon(lambda: seen.append(loop.is_quiet()))
    loop.call_later(1, print)
    loop.run_until(lambda: len(seen) == 3)
    assert seen == [False, False, True]
    loop.call_soon(lambda: seen.append(loop.is_quiet()))
    loop.run_until(lambda: len(seen) == 4, stepwise=True)
    assert seen[-1] is False
    loop.close()


def test_an_alarm_rings_in_its_turn_and_not_after_it_was_cancelled() -> None:
    loop, rung = VirtualTimeLoop(), list[str]()
    loop.call_soon(rung.append, "ready before")
    loop.set_alarm(0, lambda: rung.append("now"))
    loop.call_soon(rung.append, "ready after")
    loop.set_alarm(1_500, lambda: rung.append(f"at {loop.now_us} us"))
    for at_us in (0, 1_000):
        loop.set_alarm(at_us, lambda: rung.append("cancelled")).cancel()
    loop.run_until(lambda: len(rung) == 4)
    assert rung == ["ready before", "now", "ready after", "at 1500 us"]
    loop.close()


def test_a_callback_that_raises_ends_nothing_and_is_told_of() -> None:
    loop, told = VirtualTimeLoop(), list[dict[str, Any]]()
    loop.set_exception_handler(lambda _, context: told.append(context))

    def wrong() -> None:
        raise ValueError("Oh.")

    done: list[int] = []
    loop.call_soon(wrong)
    loop.call_soon(done.append, 1)
    loop.run_until(lambda: bool(done))
    (context,) = told
    assert isinstance(context["exception"], ValueError)
    assert "wrong" in context["message"]
    loop.close()


def test_the_clock_moves_only_when_nothing_is_ready() -> None:
    times: list[int] = []

    async def story() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop.call_later(0.001, lambda: times.append(loop.now_us))
        for _ in range(500):
            await asyncio.sleep(0)
            assert loop.now_us == 0
        await asyncio.sleep(0.002)
        times.append(loop.now_us)

    play(story)
    assert times == [1000, 2000]


def test_hours_take_no_time() -> None:
    async def story() -> float:
        await anyio.sleep(3600 * 24 * 365)
        return anyio.current_time()

    assert play(story) == 3600 * 24 * 365


@given(st.lists(st.floats(0, 10), min_size=1, max_size=20))
def test_times_are_whole_microseconds_and_deadlines_are_met(delays: list[float]) -> None:
    """Sums of floats are not exact; a timer that wakes too early would be set again for ever."""

    async def story() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        for delay in delays:
            before = loop.time()
            with anyio.move_on_after(delay):
                await anyio.sleep_forever()
            assert loop.time() >= before + delay
            assert loop.now_us == round(loop.time() * 1_000_000)

    play(story, step_budget=1000)


@pytest.mark.parametrize("wait", [anyio.sleep_forever, lambda: anyio.sleep(math.inf)])
def test_waiting_for_ever_is_no_timer(wait: Callable[[], Any]) -> None:
    async def story() -> bool:
        with anyio.move_on_after(5) as scope:
            await wait()
        return scope.cancelled_caught

    assert play(story)
    with pytest.raises(Deadlock, match=r"Nothing can happen any more at 0 ms.*the story \(in "):
        play(wait)


def test_what_is_due_now_does_not_wait_for_the_clock() -> None:
    async def story() -> None:
        event = asyncio.Event()
        asyncio.get_running_loop().call_later(0, event.set)
        while not event.is_set():
            await asyncio.sleep(0)

    play(story, step_budget=100)


def test_cancelled_timers_do_not_pile_up() -> None:
    loop = VirtualTimeLoop()
    for _ in range(5000):
        loop.call_later(60, print).cancel()
    assert len(loop._heap) < 200  # pyright: ignore[reportPrivateUsage]
    fired: list[int] = []
    kept = [loop.call_later(n, fired.append, n) for n in range(1, 300)]
    for handle in kept[::2]:
        handle.cancel()
    loop.run_until(lambda: len(fired) == 149)
    assert fired == list(range(2, 300, 2))
    for handle in kept:
        handle.cancel()
    loop.close()


def test_a_task_without_a_name_is_called_as_its_function() -> None:
    async def helper() -> str:
        task = asyncio.current_task()
        assert task is not None
        return task.get_name()

    async def story() -> str:
        return await asyncio.create_task(helper())

    assert play(story).endswith("helper")
    assert "Task-" not in play(story)


def test_a_deadlock_names_each_task_and_where_it_waits() -> None:
    async def wait_for_godot() -> None:
        await anyio.Event().wait()

    async def story() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_for_godot, name="vladimir")
            tasks.start_soon(wait_for_godot, name="estragon")

    with pytest.raises(Deadlock) as raised:
        play(story)
    text = str(raised.value)
    assert text.startswith(
        "Nothing can happen any more at 0 ms: no task is ready, no timer is set. Waiting: "
    )
    assert "estragon (in wait_for_godot, at Event.wait); the story (in story, at " in text
    assert text.endswith("vladimir (in wait_for_godot, at Event.wait).")


def test_a_loop_that_only_yields_is_stuck_and_named() -> None:
    async def spin() -> None:
        while True:
            await anyio.sleep(0)

    async def story() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(spin, name="the spinner")

    with pytest.raises(Stuck, match=r"The clock stands still at 0 ms: the task 'the spinner' \(in spin, at "):
        play(story, step_budget=1000)


def test_two_callbacks_that_call_each_other_are_stuck() -> None:
    loop = VirtualTimeLoop(step_budget=100)

    def tick() -> None:
        loop.call_soon(tick)

    loop.call_soon(tick)
    with pytest.raises(Stuck, match=r"the callback .*tick ran again and again"):
        loop.run_until(lambda: False)
    loop.close()


def test_a_loop_that_moves_the_clock_for_nothing_ends() -> None:
    async def story() -> None:
        while True:
            await anyio.sleep(1)

    with pytest.raises(
        Stuck, match=r"Nothing has happened on the wire for \d+ steps, .* the story \(in story"
    ):
        play(story, step_budget=1000)


def test_progress_without_end_ends() -> None:
    made = 0

    async def story() -> None:
        nonlocal made
        while True:
            made += 1
            await anyio.sleep(0)

    with pytest.raises(Stuck, match="goes on and on"):
        play(story, step_budget=1000, progress=lambda: made, progress_limit=20_000)


def test_progress_is_no_reason_to_stop() -> None:
    made = 0

    async def story() -> None:
        nonlocal made
        for _ in range(5000):
            made += 1
            await anyio.sleep(0)

    play(story, step_budget=1000, progress=lambda: made)


def test_a_callback_that_never_ends_is_stuck_and_named() -> None:
    async def dig() -> None:
        while True:
            pass

    async def story() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(dig, name="the digger")

    with pytest.raises(Stuck, match=r"^The task 'the digger' \(in dig\) ran for 0\.1 s without"):
        play(story, step_limit_s=0.1)


def test_a_callback_that_catches_everything_is_ended_all_the_same() -> None:
    async def story() -> None:
        deaf = 2
        while deaf:
            try:
                while True:
                    pass
            except BaseException:
                deaf -= 1
        while True:
            pass

    with pytest.raises(Stuck):
        play(story, step_limit_s=0.05)


def test_a_slow_run_of_many_short_steps_is_not_stuck() -> None:
    async def story() -> None:
        for _ in range(40):
            sum(range(200_000))
            await anyio.sleep(0.001)

    play(story, step_limit_s=0.5)


def test_a_loop_that_runs_cannot_be_run_from_inside() -> None:
    loop = VirtualTimeLoop()
    errors: list[Exception] = []

    def again() -> None:
        try:
            loop.run_until(lambda: True)
        except SimulationError as error:
            errors.append(error)

    loop.call_soon(again)
    loop.run_until(lambda: bool(errors))
    assert "running already" in str(errors[0])
    loop.close()


def test_an_async_generator_that_is_left_is_closed_on_this_loop() -> None:
    closed: list[str] = []

    async def numbers() -> Any:
        try:
            yield 1
            yield 2
        finally:
            closed.append(type(asyncio.get_running_loop()).__name__)

    async def story() -> None:
        async for _ in numbers():
            break
        gc.collect()
        await asyncio.sleep(1)
        assert closed == ["VirtualTimeLoop"]

    async def outside() -> None:
        play(story)

    asyncio.run(outside())
    assert closed == ["VirtualTimeLoop"]


def test_cancelled_siblings_wake_in_the_order_in_which_they_were_made() -> None:
    """anyio cancels the tasks of a scope in the order of a set: of addresses."""

    async def story() -> list[int]:
        order: list[int] = []

        async def wait(n: int) -> None:
            try:
                with anyio.move_on_after(1000):
                    await anyio.sleep_forever()
            finally:
                order.append(n)

        with anyio.move_on_after(1):
            async with anyio.create_task_group() as tasks:
                for n in range(20):
                    tasks.start_soon(wait, n)
        return order

    for _ in range(20):
        assert play(story) == list(range(20))


def test_asyncio_task_groups_too() -> None:
    async def story() -> list[int]:
        order: list[int] = []

        async def wait(n: int) -> None:
            try:
                await asyncio.sleep(1000)
            finally:
                order.append(n)

        async def start_all() -> None:
            async with asyncio.timeout(1), asyncio.TaskGroup() as tasks:
                for n in range(20):
                    tasks.create_task(wait(n))

        with pytest.raises(TimeoutError):
            await start_all()
        return order

    for _ in range(5):
        assert play(story) == list(range(20))


def test_scopes_that_are_cancelled_one_by_one_keep_that_order() -> None:
    async def story() -> list[str]:
        order: list[str] = []
        scopes = {name: anyio.CancelScope() for name in "abc"}

        async def wait(name: str) -> None:
            with scopes[name]:
                try:
                    await anyio.sleep_forever()
                finally:
                    order.append(name)

        async with anyio.create_task_group() as tasks:
            for name in "abc":
                tasks.start_soon(wait, name)
            await anyio.sleep(1)
            for name in "cab":
                scopes[name].cancel()
        return order

    assert play(story) == ["c", "a", "b"]
