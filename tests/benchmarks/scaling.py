"""Whether the cost of a run grows in proportion to its messages: time and memory of a call, by size of run.

    python tests/benchmarks/scaling.py [--calls 1000 10000 100000]

Each size is measured in a process of its own, whose peak memory is that run's; the recording and what is made
of it (frames, JSON Lines) count as part of the run. POSIX only: Windows tells no such peak.

Prints JSON: `sizes`, with `calls`, `us_per_call` and `bytes_per_call` (memory), and how much dearer a call is
in the largest run than in the smallest: `time_growth`, `memory_growth`. In proportion: both near 1, or below.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

from mcpsim import Client, Server, Stdio, simulate

SIZES = (1_000, 10_000, 100_000)
# A call is four events on the wire, and opening and closing the connection a few more. A run with too many
# counts as one that never ends.
EVENTS_A_CALL = 4
OTHER_EVENTS = 100
WARM_UP_CALLS = 50
RSS_UNIT = 1 if sys.platform == "darwin" else 1024

server = Server("adder")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def play(calls: int) -> int:
    """One run with so many calls; returns the length of its recording as JSON Lines."""

    async def story(client: Client) -> None:
        for number in range(calls):
            await client.call_tool("add", {"a": number, "b": 1})

    limit = EVENTS_A_CALL * calls + OTHER_EVENTS
    run = simulate(story, server=server, era="modern", transport=Stdio(latency_ms=0), event_limit=limit)
    if len(run.recording.frames) != 2 * calls:
        raise AssertionError(f"{len(run.recording.frames)} frames were recorded of {calls} calls.")
    return len(run.recording.to_jsonl())


def peak_bytes() -> int:
    """The most memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT


def measure_here(calls: int) -> dict[str, Any]:
    """Measure one size in this process."""
    play(WARM_UP_CALLS)
    before, began = peak_bytes(), time.perf_counter()
    length = play(calls)
    return {
        "calls": calls,
        "us_per_call": round((time.perf_counter() - began) * 1e6 / calls, 1),
        "bytes_per_call": round((peak_bytes() - before) / calls),
        "jsonl_bytes_per_call": round(length / calls),
    }


def measure(sizes: list[int]) -> dict[str, Any]:
    """Measure all sizes, each in a process of its own."""
    found: list[dict[str, Any]] = []
    for calls in sorted(sizes):
        command = [sys.executable, __file__, "--here", str(calls)]
        found.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
    smallest, largest = found[0], found[-1]
    return {
        "sizes": found,
        "time_growth": round(largest["us_per_call"] / smallest["us_per_call"], 3),
        # A small run fits into what the process holds anyway.
        "memory_growth": round(largest["bytes_per_call"] / max(1, smallest["bytes_per_call"]), 3),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--calls", type=int, nargs="+", default=SIZES, help="the sizes (default: %(default)s)"
    )
    parser.add_argument("--here", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    print(json.dumps(measure_here(options.here) if options.here else measure(options.calls)))


if __name__ == "__main__":
    main()
