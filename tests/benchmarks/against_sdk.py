"""How many `tools/call` a second: our recorded in-process stdio wire, and the official SDK's in-memory pair.

    python tests/benchmarks/against_sdk.py [--calls N] [--rounds N] [--handler def|async]

All play the same: one tool `add(a: int, b: int)`, the same arguments, answered with one block of text, one
call after the other, on one connection. Ours are bytes in stdio framing over the simulated link, each frame
recorded. The SDK's are messages in memory, not recorded: JSON-RPC objects in the legacy mode, none in auto.

The tool is a plain function, or with `--handler async` one that could wait. That matters a lot: the SDK runs
plain functions in a worker thread, and ours run in the task that reads; a function that could wait costs the
SDK no thread, and ours a task of its own. So look at both.

The three take turns in every round, so that a machine that gets slower in the meantime is slower for all; the
ratio is the median of the rounds' ratios. Only the calls are timed, not what opens and closes the connection.

Prints JSON: `ours_per_s`, `sdk_legacy_per_s`, `sdk_auto_per_s` (medians), `ratio` (ours to the SDK's auto),
and `ratio_of_best`: the same of the best round of each, which a busy machine disturbs least.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Awaitable, Callable
from functools import partial
from statistics import median
from typing import Any

import anyio
import mcp
from mcp.server.mcpserver import MCPServer

from mcpsim import Client, Server, Stdio, simulate

WARM_UP_CALLS = 50


def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


async def add_async(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


HANDLERS: dict[str, Callable[..., Any]] = {"def": add, "async": add_async}


async def calls_per_s(call_tool: Callable[..., Awaitable[Any]], calls: int) -> float:
    """Call the tool so often, one after the other; returns the rate."""
    began = time.perf_counter()
    for number in range(calls):
        result = await call_tool("add", {"a": number, "b": 1})
        if result.content[0].text != str(number + 1):
            raise AssertionError(f"{number} + 1 came back as {result.content[0].text}.")
    return calls / (time.perf_counter() - began)


def ours(handler: str, calls: int) -> float:
    """The rate of our client and server over the recorded in-process stdio wire, in the modern era."""

    server = Server("adder")
    server.tool("add")(HANDLERS[handler])

    async def story(client: Client) -> float:
        return await calls_per_s(client.call_tool, calls)

    run = simulate(story, server=server, era="modern", transport=Stdio(latency_ms=0))
    if len(run.recording.frames) != 2 * calls:
        raise AssertionError(f"{len(run.recording.frames)} frames were recorded of {calls} calls.")
    return run.value


def sdk(mode: str, handler: str, calls: int) -> float:
    """The rate of the official SDK's client and server in memory."""
    server = MCPServer("adder", log_level="ERROR")
    server.tool("add", structured_output=False)(HANDLERS[handler])

    async def main() -> float:
        async with mcp.Client(server, mode=mode) as client:
            return await calls_per_s(client.call_tool, calls)

    return anyio.run(main)


CONTENDERS: dict[str, Callable[[str, int], float]] = {
    "ours": ours,
    "sdk_legacy": partial(sdk, "legacy"),
    "sdk_auto": partial(sdk, "auto"),
}


def measure(calls: int, rounds: int, handler: str) -> dict[str, float]:
    """Let all take turns, in another order in every round."""
    for rate in CONTENDERS.values():
        rate(handler, min(calls, WARM_UP_CALLS))
    names = list(CONTENDERS)
    rates: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            rates[name].append(CONTENDERS[name](handler, calls))
    ratios = [one / other for one, other in zip(rates["ours"], rates["sdk_auto"], strict=True)]
    return {
        **{f"{name}_per_s": round(median(of_name), 1) for name, of_name in rates.items()},
        "ratio": round(median(ratios), 3),
        "ratio_of_best": round(max(rates["ours"]) / max(rates["sdk_auto"]), 3),
    }


def at_least_one(text: str) -> int:
    """A whole number from 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=at_least_one, default=1_000, help="calls a round (default: 1000)")
    parser.add_argument("--rounds", type=at_least_one, default=15, help="rounds (default: 15)")
    parser.add_argument("--handler", choices=HANDLERS, default="def", help="the kind of tool (default: def)")
    options = parser.parse_args()
    print(json.dumps(measure(options.calls, options.rounds, options.handler)))


if __name__ == "__main__":
    main()
