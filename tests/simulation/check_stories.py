"""Stories whose recordings must be the same everywhere, and the digests that they have.

Run as a program, this prints the digests as JSON: of the stories in this file ("check"), and of the ones
that come with the course ("course"). After a change that is meant to change recordings, renew the file with

    python tests/simulation/check_stories.py --write

The tools bring their own schemas, and no story provokes an error text of another package: what is recorded
depends on mcpsim alone.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio

from mcpsim import (
    Change,
    Client,
    Context,
    Cut,
    Delay,
    Drop,
    Duplicate,
    McpSimError,
    Reorder,
    Run,
    Server,
    Stdio,
    StreamableHttp,
    ToolError,
    simulate,
)
from mcpsim.transports.faults import Fault

DIGESTS = Path(__file__).with_name("digests.json")
SEED = "check"
TRANSPORTS: Mapping[str, Stdio | StreamableHttp] = {
    "stdio": Stdio(latency_ms=12.5, jitter_ms=15),
    "http": StreamableHttp(latency_ms=12.5, jitter_ms=15),
}
ERAS = ("modern", "legacy", "auto")
ANYTHING = {"type": "object"}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def workshop() -> Server:
    """A server with one tool for each thing that can take time, fail, or ask for something new."""
    server = Server("workshop", version="1.2.3", instructions="Tools that wait: “now”, …", ttl_ms=60_000)

    @server.tool(input_schema=NUMBER)
    async def count(context: Context, n: int) -> str:
        """Count up to a number, and say so."""
        for step in range(1, n + 1):
            await anyio.sleep(0.05 + step / 300)
            await context.report_progress(step, n, f"№ {step}")
        return f"counted to {n}"

    @server.tool(input_schema=NUMBER)
    async def wait(n: int) -> str:
        """Wait for so many milliseconds."""
        await anyio.sleep(n / 1000)
        return f"waited {n} ms"

    @server.tool(input_schema=ANYTHING)
    async def basket(context: Context) -> dict[str, Any]:
        """Make a basket, and give out its handle."""
        return {"handle": context.tokens("basket"), "other": context.tokens("other")}

    @server.tool(input_schema=ANYTHING)
    async def fail() -> str:
        """Fail, and say how to do better."""
        raise ToolError("The glue is dry. Try the tape.")

    @server.tool(input_schema=ANYTHING)
    async def crash() -> str:
        """Fail for a reason that is nobody's business."""
        raise KeyError("secret")

    return server


async def one_after_the_other(client: Client) -> None:
    """Calls one after the other, of each kind."""
    await client.list_tools()
    await client.call_tool("count", {"n": 3}, on_progress=lambda *_: None)
    for name in ("basket", "fail", "crash", "basket"):
        await client.call_tool(name)


async def side_by_side(client: Client) -> None:
    """Several calls at once, which end in another order."""
    async with anyio.create_task_group() as tasks:
        for n in (5, 1, 4, 2, 3):
            tasks.start_soon(call, client, "count", n)


async def stopped_together(client: Client) -> None:
    """Several calls that one cancel scope stops at the same moment."""
    with anyio.move_on_after(0.4):
        async with anyio.create_task_group() as tasks:
            for n in range(7):
                tasks.start_soon(call, client, "wait", 10_000 + n)
            tasks.start_soon(call, client, "count", 20)
    await client.list_tools()


async def given_up_by_itself(client: Client) -> None:
    """Calls that take longer than the client waits, and one that ends at the last moment."""
    async with anyio.create_task_group() as tasks:
        for limit_s in (0.3, 0.1, 0.2):
            tasks.start_soon(call, client, "wait", 250, limit_s)
    await anyio.sleep(1)


async def wrong_on_purpose(client: Client) -> None:
    """Bytes that are no message, methods and tools that do not exist."""
    await client.send_raw(b'{"jsonrpc": "2.0", "id": 77, "method": ')
    await client.send_raw(b"\xff\xfe{}")
    await client.send_raw('{"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"}')
    for method, params in (("tools/dance", {}), ("tools/call", {"name": "no such tool", "arguments": {}})):
        try:
            await client.request(method, params)
        except McpSimError:
            continue
    await call(client, "wait", 1)


async def two_clients(first: Client, second: Client) -> None:
    """Two clients at one server, at the same time."""
    async with anyio.create_task_group() as tasks:
        for client in (first, second):
            for n in (2, 1):
                tasks.start_soon(call, client, "count", n)


async def call(client: Client, tool: str, n: int, timeout_s: float = 5) -> None:
    """Call a tool, whatever comes of it."""
    try:
        await client.call_tool(tool, {"n": n}, timeout_s=timeout_s, on_progress=lambda *_: None)
    except McpSimError:
        return


Story = Callable[..., Any]
STORIES: tuple[Story, ...] = (
    one_after_the_other,
    side_by_side,
    stopped_together,
    given_up_by_itself,
    wrong_on_purpose,
)
PLANS: Mapping[str, tuple[Fault, ...]] = {
    "drop": (Drop("tools/call", nth=2), Drop("notifications/progress"), Drop("result of tools/call", nth=3)),
    "delay": (Delay("tools/call", by_ms=33.3), Delay("result of tools/call", nth=2, by_ms=250)),
    "reorder": (Reorder("notifications/progress", nth=2, by_ms=120), Reorder("tools/call", by_ms=10)),
    "duplicate": (Duplicate("tools/call", nth=3), Duplicate("result of tools/call"), Duplicate("*", nth=9)),
    "cut": (Cut("result of tools/call", nth=2),),
    "change": (Change("result of tools/call", old=b"counted", new=b"\xffcounted"),),
}


def checked_runs() -> Iterator[tuple[str, Run]]:
    """Every run of this file, by a name that says what is played."""
    for way, transport in TRANSPORTS.items():
        for era in ERAS:
            for story in STORIES:
                yield f"{story.__name__} {era} {way}", play(story, era, way)
            pair = {lane: Client(lane, era=era, principal=lane) for lane in ("ada", "ben")}
            run = simulate(two_clients, server=workshop(), client=pair, transport=transport, seed=SEED)
            yield f"{two_clients.__name__} {era} {way}", run
        for era in ERAS[:2]:
            for name, plan in PLANS.items():
                yield f"side_by_side {era} {way} {name}", play(side_by_side, era, way, plan)


def play(story: Story, era: Any, way: str, faults: tuple[Fault, ...] = ()) -> Run:
    """One run, with jitter."""
    return simulate(
        story,
        server=workshop(),
        era=era,
        transport=TRANSPORTS[way],
        seed=SEED,
        faults=faults,
        check=False,
    )


def course_runs() -> Iterator[tuple[str, Run]]:
    """Every story of the course, in every era and over both transports."""
    from mcpsim.course.stories import STORIES as COURSE

    for name, story in COURSE.items():
        for era in story.eras:
            for way in story.ways:
                run = story.play(era=era, transport=TRANSPORTS[way], seed=SEED, check=False)
                yield f"{name} {era} {way}", run


def digest(run: Run) -> str:
    """One digest of all that a run leaves behind: events, transcript, interchange form."""
    recording = run.recording
    parts = (recording.to_jsonl(), recording.transcript(width=200).encode(), recording.to_interchange())
    return hashlib.sha256(b"\0".join((*parts, repr(run).encode()))).hexdigest()


def digests() -> dict[str, dict[str, str]]:
    """All digests, by name."""
    return {
        "check": {name: digest(run) for name, run in checked_runs()},
        "course": {name: digest(run) for name, run in course_runs()},
    }


def write() -> None:
    """Renew the reference digests. Only those of this file: the course grows, and is compared live."""
    named = {name: digest(run)[:16] for name, run in checked_runs()}
    DIGESTS.write_text(json.dumps(named, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        print(json.dumps(digests()))
