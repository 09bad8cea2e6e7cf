"""What a recorded `tools/call` cannot do without: how long its bare parts take, in microseconds.

    python tests/benchmarks/floor.py [--times N] [--rounds N]

The parts are those of the call that the other two benchmarks make: its request and its result as they stand
on the wire. Each is measured in many short rounds, and the best round counts, so that other processes matter
little. Of mcpsim there is nothing in the first five but the loop.

Prints JSON, microseconds a call:

- `standard_json`: two `json.dumps` and two `json.loads`.
- `pydantic_json`: the same with pydantic's JSON code, which checks nothing that mcpsim has to check.
- `anyio_on_asyncio`, `anyio_on_our_loop`: two bytes objects through two memory object streams of anyio and
  back from one other task, on asyncio's own loop and on the virtual clock.
- `futures_on_our_loop`: the same way with bare futures instead of streams.
- `our_json`: two `write_message` and two `read_message`, with every check.
- `our_call`: the whole recorded call.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from pydantic_core import from_json, to_json

from mcpsim import Client, Server, Stdio, simulate
from mcpsim.messages import read_message, write_message
from mcpsim.simulation.loop import VirtualTimeLoop

server = Server("adder")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def us_each(work: Callable[[], object], times: int) -> float:
    """The time of one of so many runs, in microseconds."""
    began = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - began) / times * 1e6


def wire() -> tuple[bytes, bytes]:
    """The request and the result of one call, as they stand on the wire."""

    async def story(client: Client) -> None:
        await client.call_tool("add", {"a": 1, "b": 1})

    run = simulate(story, server=server, era="modern", transport=Stdio(latency_ms=0))
    asked, answered = (frame.data for frame in run.recording.frames)
    return asked, answered


def standard_json(times: int) -> float:
    asked, answered = wire()
    request, response = json.loads(asked), json.loads(answered)
    dumps, loads = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode, json.loads

    def work() -> None:
        loads(dumps(request).encode())
        loads(dumps(response).encode())

    return us_each(work, times)


def pydantic_json(times: int) -> float:
    asked, answered = wire()
    request, response = json.loads(asked), json.loads(answered)

    def work() -> None:
        from_json(to_json(request))
        from_json(to_json(response))

    return us_each(work, times)


def our_json(times: int) -> float:
    asked, answered = map(read_message, wire())

    def work() -> None:
        read_message(write_message(asked))
        read_message(write_message(answered))

    return us_each(work, times)


async def round_trips(times: int) -> float:
    """So many round trips between two tasks over memory object streams."""
    to_server, server_end = anyio.create_memory_object_stream[bytes](1)
    to_client, client_end = anyio.create_memory_object_stream[bytes](1)

    async def echo() -> None:
        async for data in server_end:
            await to_client.send(data)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(echo)
        began = time.perf_counter()
        for _ in range(times):
            await to_server.send(b"asked")
            await client_end.receive()
        took = time.perf_counter() - began
        tasks.cancel_scope.cancel()
    for stream in (to_server, server_end, to_client, client_end):
        stream.close()
    return took / times * 1e6


async def bare_round_trips(times: int) -> float:
    """So many round trips between two tasks that wake each other by futures."""
    loop = asyncio.get_running_loop()
    asked: asyncio.Future[bytes] = loop.create_future()
    answered: asyncio.Future[bytes] = loop.create_future()

    async def echo() -> None:
        nonlocal asked
        while data := await asked:
            asked = loop.create_future()
            answered.set_result(data)

    other = loop.create_task(echo())
    await asyncio.sleep(0)
    began = time.perf_counter()
    for _ in range(times):
        answered = loop.create_future()
        asked.set_result(b"asked")
        await answered
    took = time.perf_counter() - began
    asked.set_result(b"")
    await other
    return took / times * 1e6


def on_our_loop(work: Callable[[int], Awaitable[float]], times: int) -> float:
    loop = VirtualTimeLoop()

    async def main() -> float:
        return await work(times)

    task = loop.create_task(main())
    loop.run_until(task.done)
    loop.cancel_all()
    return task.result()


def our_call(times: int) -> float:
    async def story(client: Client) -> float:
        began = time.perf_counter()
        for number in range(times):
            await client.call_tool("add", {"a": number, "b": 1})
        return (time.perf_counter() - began) / times * 1e6

    return simulate(story, server=server, era="modern", transport=Stdio(latency_ms=0)).value


PARTS: dict[str, Callable[[int], float]] = {
    "standard_json": standard_json,
    "pydantic_json": pydantic_json,
    "anyio_on_asyncio": lambda times: anyio.run(round_trips, times),
    "anyio_on_our_loop": lambda times: on_our_loop(round_trips, times),
    "futures_on_our_loop": lambda times: on_our_loop(bare_round_trips, times),
    "our_json": our_json,
    "our_call": our_call,
}


def measure(times: int, rounds: int) -> dict[str, Any]:
    """The best of so many rounds, part by part in turn."""
    found: dict[str, list[float]] = {name: [] for name in PARTS}
    for _ in range(rounds):
        for name, part in PARTS.items():
            found[name].append(part(times))
    return {name: round(min(each), 1) for name, each in found.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--times", type=int, default=200, help="calls a round (default: 200)")
    parser.add_argument("--rounds", type=int, default=50, help="rounds (default: 50)")
    options = parser.parse_args()
    print(json.dumps(measure(options.times, options.rounds)))


if __name__ == "__main__":
    main()
