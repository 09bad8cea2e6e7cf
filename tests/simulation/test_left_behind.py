"""What a story leaves behind: tasks that do not end, and errors that nobody asks for."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import anyio
import pytest

from mcpsim import Client, Drop, Gateway, Server, StreamableHttp, simulate
from mcpsim.errors import Stuck

NEVER_ENDS = """
import asyncio, gc
from mcpsim import Server, simulate

async def story(client):
    async def beat():
        while True:
            try:
                await asyncio.sleep(1)
            except:
                pass
    asyncio.create_task(beat())
    return 1

run = simulate(story, server=Server("s"))
print(run.value, run.recording.events[-1].detail["text"])
{keep}
gc.collect()
print("collected")
"""


def slow_server() -> Server:
    server = Server("slow")

    @server.tool()
    async def slow() -> str:  # pyright: ignore[reportUnusedFunction]
        await anyio.sleep(5)
        return "x"

    return server


@pytest.mark.parametrize("keep", ["", "kept = run"])
def test_a_task_that_catches_everything_hangs_neither_the_collector_nor_the_exit(keep: str) -> None:
    program = NEVER_ENDS.replace("{keep}", keep)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.returncode == 0
    first, second = done.stdout.splitlines()
    assert first.startswith("1 Cancelled at the end of the run, and would not end: ")
    assert "beat (in beat, at sleep)" in first
    assert second == "collected"


def test_a_task_that_ends_when_it_is_cancelled_leaves_no_note() -> None:
    async def story(client: object) -> int:
        async def beat() -> None:
            while True:
                await asyncio.sleep(1)

        asyncio.create_task(beat())  # noqa: RUF006
        return 1

    run = simulate(story, server=Server("s"))
    assert not [event for event in run.recording.events if event.kind == "note"]


def test_a_step_that_catches_what_the_watchdog_raises_ends_all_the_same() -> None:
    async def story(client: object) -> None:
        while True:
            try:
                for _ in range(20):
                    len("")
            except:  # noqa: E722
                pass

    with pytest.raises(Stuck, match="without giving control back"):
        simulate(story, server=Server("s"), step_limit_s=0.2)


@pytest.mark.parametrize("transport", [None, StreamableHttp()])
def test_nothing_is_printed_about_a_call_that_nobody_awaits(
    transport: StreamableHttp | None, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(client: object) -> int:
        asyncio.create_task(client.call_tool("slow"))  # type: ignore[attr-defined] # noqa: RUF006
        return 1

    assert simulate(story, server=slow_server(), transport=transport).value == 1
    gc.collect()
    assert caplog.records == []


def test_the_recording_tells_of_an_error_that_nobody_asked_for() -> None:
    async def story(client: object) -> int:
        async def fails() -> None:
            raise ValueError("lost")

        asyncio.create_task(fails())  # noqa: RUF006
        await anyio.sleep(1)
        gc.collect()
        return 1

    def notes() -> list[str]:
        events = simulate(story, server=Server("s")).recording.events
        return [(event.detail or {})["text"] for event in events if event.kind == "note"]

    assert len(notes()) == 1
    assert notes()[0].endswith("ended with an error that nobody asked for: ValueError: lost")
    assert notes() == notes()


def test_a_generator_is_no_story() -> None:
    def asks(client: Any) -> Any:
        yield client.list_tools()

    async def asks_slowly(client: Any) -> Any:
        yield await client.list_tools()

    for story in (asks, asks_slowly):
        with pytest.raises(TypeError, match="is a generator"):
            simulate(story, server=Server("desk"))


def test_a_story_that_was_called_already() -> None:
    async def story(client: Any) -> None: ...

    with pytest.raises(TypeError, match=r"without calling it: simulate\(story, ...\)"):
        simulate(cast("Any", story(None)), server=Server("desk"))
    with pytest.raises(TypeError, match="A story is an async function, not 3"):
        simulate(cast("Any", 3), server=Server("desk"))


def test_an_await_that_is_missing_at_the_end() -> None:
    async def story(client: Any) -> Any:
        return client.list_tools()

    with pytest.raises(TypeError, match=r"list_tools\(...\), which never ran: an `await` is missing"):
        simulate(story, server=Server("desk"))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"server": Server}, "not the class Server"),
        ({"server": "desk"}, "not 'desk'"),
        ({"client": "ann"}, "client must be a Client"),
        ({"client": [Client(), Client()]}, "by the name of their lane"),
        ({"client": {"ann": Client}}, "not the class Client"),
        ({"transport": "http"}, r"transport must be Stdio\(\) or StreamableHttp\(\), not 'http'"),
        ({"transport": StreamableHttp}, "not the class StreamableHttp"),
        ({"gateway": Gateway}, r"gateway must be a Gateway\(\), not the class Gateway"),
        ({"faults": Drop("tools/call")}, "faults must be a list"),
        ({"faults": ["drop"]}, "faults must be a list"),
    ],
)
def test_arguments_of_another_kind(arguments: Mapping[str, Any], why: str) -> None:
    async def story(client: Any) -> None: ...

    with pytest.raises(TypeError, match=why):
        simulate(story, **{"server": Server("desk"), **arguments})


def test_an_era_that_is_not_there() -> None:
    for peer in (Client, partial(Server, "desk")):
        with pytest.raises(ValueError, match="era must be one of legacy, modern, "):
            peer(era=cast("Any", "new"))
