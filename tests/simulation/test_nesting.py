"""Simulations inside of running loops, inside of each other, and in steps."""

from __future__ import annotations

import asyncio
import gc
import logging
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpsim import Client, Deadlock, Run, Server, Simulation, ToolError, simulate
from mcpsim.errors import SimulationError
from tests.simulation.check_stories import ERAS, SEED, STORIES, TRANSPORTS, workshop
from tests.support.checked import check_recording

WAYS = pytest.mark.parametrize("way", list(TRANSPORTS))


def run_it(way: str = "stdio") -> Run:
    return simulate(STORIES[1], server=workshop(), transport=TRANSPORTS[way], seed=SEED)


def begun(story: Callable[..., Any] = STORIES[1], way: str = "stdio", **more: Any) -> Simulation:
    return Simulation(story, server=workshop(), transport=TRANSPORTS[way], seed=SEED, **more)


# Where it is started from.


def in_plain_code() -> Run:
    return run_it()


def in_asyncio() -> Run:
    async def main() -> Run:
        await asyncio.sleep(0)
        return run_it()

    return asyncio.run(main())


def in_anyio() -> Run:
    async def main() -> Run:
        async with anyio.create_task_group():
            with anyio.fail_after(60):
                return run_it()

    return anyio.run(main)


def in_a_callback() -> Run:
    async def main() -> Run:
        done: asyncio.Future[Run] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(lambda: done.set_result(run_it()))
        return await done

    return asyncio.run(main())


def in_a_story() -> Run:
    async def story(client: Client) -> Run:
        await client.list_tools()
        run = run_it()
        await client.list_tools()
        return run

    return simulate(story, server=workshop()).value


def in_a_story_in_a_story() -> Run:
    async def outer(client: Client) -> Run:
        return in_a_story()

    return simulate(outer, server=workshop()).value


def in_a_handler_in_asyncio() -> Run:
    kept: list[Run] = []
    server = Server("nested")

    @server.tool()
    async def play() -> str:
        kept.append(in_a_story())
        return "played"

    async def story(client: Client) -> None:
        await client.call_tool("play")

    async def main() -> None:
        simulate(story, server=server)

    asyncio.run(main())
    return kept[0]


@pytest.mark.parametrize(
    "place",
    [
        in_plain_code,
        in_asyncio,
        in_anyio,
        in_a_callback,
        in_a_story,
        in_a_story_in_a_story,
        in_a_handler_in_asyncio,
    ],
)
def test_a_run_is_the_same_wherever_it_is_started(place: Callable[[], Run]) -> None:
    assert place().recording == run_it().recording


def test_the_outer_loop_goes_on_undisturbed() -> None:
    async def main() -> list[str]:
        seen: list[str] = []

        async def tick() -> None:
            for n in range(3):
                seen.append(f"tick {n}")
                await asyncio.sleep(0.01)

        task = asyncio.create_task(tick())
        await asyncio.sleep(0)
        me = asyncio.current_task()
        hooks = sys.get_asyncgen_hooks()
        run_it()
        seen.append("simulated")
        assert asyncio.current_task() is me
        assert asyncio.get_running_loop() is me.get_loop()
        assert sys.get_asyncgen_hooks() == hooks
        await task
        return seen

    assert asyncio.run(main()) == ["tick 0", "simulated", "tick 1", "tick 2"]


def test_an_error_inside_leaves_the_outer_loop_as_it_was() -> None:
    async def wrong(client: Client) -> None:
        raise ToolError("mine")

    async def waits(client: Client) -> None:
        await anyio.Event().wait()

    async def main() -> str:
        with pytest.raises(ToolError, match="mine"):
            simulate(wrong, server=workshop())
        with pytest.raises(Deadlock):
            simulate(waits, server=workshop())
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        return task.get_name()

    assert asyncio.run(main()).startswith("Task-")


def test_a_long_inner_run_is_not_taken_for_a_step_that_hangs() -> None:
    async def inner(client: Client) -> None:
        for _ in range(40):
            sum(range(200_000))
            await anyio.sleep(1)

    async def outer(client: Client) -> None:
        simulate(inner, server=workshop(), step_limit_s=5)

    simulate(outer, server=workshop(), step_limit_s=0.1)


# In steps.


@WAYS
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_stepping_gives_the_same_bytes_as_running(way: str, era: Any, story: Callable[..., Any]) -> None:
    whole = begun(story, way, era=era).finish()
    simulation = begun(story, way, era=era)
    steps = 0
    while simulation.step():
        steps += 1
        assert len(simulation.recording.events) >= steps
    assert simulation.finished
    stepped = simulation.finish()
    assert stepped.recording.to_jsonl() == whole.recording.to_jsonl()
    assert repr(stepped.error) == repr(whole.error)
    wire = [
        event for event in whole.recording.events if event.kind in ("sent", "delivered", "dropped", "closed")
    ]
    # One callback may put several events on the wire, never none.
    assert len(wire) / 3 < steps <= len(wire)


@settings(max_examples=25)
@given(st.lists(st.integers(0, 30), max_size=6), st.booleans())
def test_steps_from_inside_and_outside_of_a_loop_can_be_mixed(counts: list[int], http: bool) -> None:
    way = "http" if http else "stdio"
    simulation = begun(way=way)

    async def some(count: int) -> None:
        for _ in range(count):
            simulation.step()

    for index, count in enumerate(counts):
        if index % 2:
            asyncio.run(some(count))
        else:
            for _ in range(count):
                simulation.step()
    assert simulation.finish().recording == run_it(way).recording


def test_the_prefix_that_was_stepped_is_the_prefix_of_the_whole() -> None:
    whole = run_it().recording.events
    with begun() as simulation:
        for _ in range(9):
            simulation.step()
        so_far = simulation.recording.events
        assert so_far == whole[: len(so_far)]
        assert not simulation.finished
        assert simulation.at_us == so_far[-1].at_us
    assert simulation.finished
    assert simulation.recording.events == so_far


def test_an_error_of_the_story_is_kept_while_stepping() -> None:
    async def story(client: Client) -> None:
        await client.list_tools()
        raise KeyError("lost")

    simulation = begun(story)
    while simulation.step():
        pass
    assert repr(simulation.finish().error) == "KeyError('lost')"


def test_a_simulation_cannot_be_driven_or_closed_from_inside() -> None:
    said: list[str] = []

    async def story(client: Client) -> None:
        for meddle in (simulation.step, simulation.finish, simulation.close):
            try:
                meddle()
            except SimulationError as error:
                said.append(str(error))
        await client.list_tools()

    simulation = begun(story)
    assert simulation.finish().error is None
    assert len(said) == 3
    assert all("from inside" in text for text in said)
    check_recording(simulation.recording)


# What a story can do to itself.


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_no_exception_is_passed_on_and_everything_is_freed(error: type[BaseException]) -> None:
    async def story(client: Client) -> None:
        await client.list_tools()
        raise error

    simulation = begun(story)
    with pytest.raises(error):
        simulation.finish()
    assert simulation.finished
    assert len(simulation.recording.frames) == 2


def test_a_story_that_cancels_itself_is_told_so() -> None:
    async def story(client: Client) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await anyio.sleep(1)

    with pytest.raises(SimulationError, match="The story was cancelled"):
        simulate(story, server=workshop())


def test_a_group_that_the_story_raises_comes_out_as_it_is() -> None:
    mine = ExceptionGroup("mine", [ValueError("one")])

    async def story(client: Client) -> None:
        raise mine

    with pytest.raises(ExceptionGroup) as raised:
        simulate(story, server=workshop())
    assert raised.value is mine


def test_an_error_in_the_storys_own_task_group_comes_out_in_its_group() -> None:
    async def fail() -> None:
        raise ValueError("inside")

    async def story(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail)

    run = simulate(story, server=workshop(), check=False)
    assert isinstance(run.error, ExceptionGroup)
    assert [repr(error) for error in run.error.exceptions] == ["ValueError('inside')"]


def test_a_plain_function_is_a_story_too() -> None:
    assert simulate(lambda client: client.preferred_era, server=workshop(), era="legacy").value == "legacy"


# Nothing is left behind.

LEFTOVERS = """
import asyncio, gc, sys
import anyio
from mcpsim import Client, Server, Simulation, StreamableHttp, simulate
from mcpsim.errors import McpSimError

server = Server("leftovers")

@server.tool()
async def wait(seconds: float) -> str:
    await anyio.sleep(seconds)
    return "done"

async def numbers():
    try:
        while True:
            yield 1
            await anyio.sleep(1)
    finally:
        await anyio.sleep(0)

async def busy(client):
    async for _ in numbers():
        async with anyio.create_task_group() as tasks:
            for n in range(5):
                tasks.start_soon(client.call_tool, "wait", {"seconds": n + 1.5})
        other = asyncio.create_task(anyio.sleep(1000))

async def stuck(client):
    asyncio.create_task(anyio.sleep(5))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.Event().wait)
        await client.call_tool("wait", {"seconds": 0.5})
        while True:
            await anyio.sleep(0)

def play(transport, era):
    for steps in (0, 1, 2, 5, 17, 40):
        simulation = Simulation(busy, server=server, transport=transport, era=era)
        for _ in range(steps):
            simulation.step()
        simulation.close()
        simulation.close()
        assert simulation.finished and not simulation.step()
    Simulation(busy, server=server, transport=transport)
    try:
        simulate(stuck, server=server, transport=transport, era=era, step_budget=500)
    except McpSimError as error:
        assert "stands still" in str(error), error
    else:
        raise AssertionError("It was not stuck.")

async def main():
    play(StreamableHttp(), "legacy")

for transport in (None, StreamableHttp()):
    for era in ("modern", "legacy"):
        play(transport, era)
asyncio.run(main())
gc.collect()
print("clean")
"""


def test_an_unfinished_run_is_freed_without_a_word() -> None:
    """In a process of its own, where every warning is an error and the log goes to stderr."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", LEFTOVERS],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        cwd=Path(__file__).parents[2],
    )
    assert (done.stdout, done.stderr) == ("clean\n", "")


@pytest.mark.filterwarnings("error")
def test_closing_frees_tasks_timers_and_memory(caplog: pytest.LogCaptureFixture) -> None:
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error", RuntimeWarning)
        simulation = begun(STORIES[2])
        for _ in range(12):
            simulation.step()
        loop = simulation._loop  # pyright: ignore[reportPrivateUsage]
        assert asyncio.all_tasks(loop)
        simulation.close()
        assert not asyncio.all_tasks(loop)
        assert loop.is_closed()
        gc.collect()
    assert caplog.records == []
