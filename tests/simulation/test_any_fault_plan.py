"""Whatever goes wrong on the way: no crash, no hang, and each request has exactly one outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpsim import Client, Context, McpSimError, Run, Server, Stdio, StreamableHttp, simulate
from mcpsim.recording import Recorder, Recording
from mcpsim.transports.faults import Change, Crash, Cut, Delay, Drop, Duplicate, Fault, Reorder
from tests.support.checked import check_recording
from tests.support.invariants import (
    assert_nothing_after_a_cancellation,
    assert_ordered,
    assert_whole_handlers,
)

Outcomes = list[tuple[str, str]]


def desk() -> Server:
    server = Server("desk")

    @server.tool(input_schema={"type": "object"})
    async def wait(ms: int = 50) -> str:
        await anyio.sleep(ms / 1000)
        return f"waited {ms} ms"

    @server.tool(input_schema={"type": "object"})
    async def steps(context: Context, n: int = 3) -> str:
        for step in range(1, n + 1):
            await anyio.sleep(0.03)
            await context.report_progress(step, n)
        return "stepped"

    return server


async def ask(outcomes: Outcomes, name: str, request: Callable[[], Any]) -> None:
    """Make one request, and write down how it ended. Anything but a documented error is passed on."""
    try:
        await request()
        outcomes.append((name, "result"))
    except McpSimError as error:
        outcomes.append((name, type(error).__name__))
    except anyio.get_cancelled_exc_class():
        outcomes.append((name, "cancelled"))
        raise


def in_turn(outcomes: Outcomes) -> Callable[[Client], Any]:
    async def story(client: Client) -> int:
        for n in range(4):
            tool = "steps" if n % 2 else "wait"
            await ask(
                outcomes,
                f"call {n}",
                lambda tool=tool: client.call_tool(tool, timeout_s=1, on_progress=print_),
            )
        await ask(outcomes, "list", lambda: client.request("tools/list", timeout_s=1))
        return 5

    return story


def at_once(outcomes: Outcomes) -> Callable[[Client], Any]:
    async def story(client: Client) -> int:
        async with anyio.create_task_group() as tasks:
            for n in range(4):
                call = call_of(client, "steps", 1)
                tasks.start_soon(ask, outcomes, f"call {n}", call)
        return 4

    return story


def stopped(outcomes: Outcomes) -> Callable[[Client], Any]:
    async def story(client: Client) -> int:
        with anyio.move_on_after(0.1):
            async with anyio.create_task_group() as tasks:
                for n in range(4):
                    tasks.start_soon(ask, outcomes, f"call {n}", call_of(client, "steps", 5))
        await ask(outcomes, "list", lambda: client.request("tools/list", timeout_s=1))
        return 5

    return story


def print_(*progress: object) -> None:
    """What a story does with progress is of no interest here."""


def call_of(client: Client, tool: str, timeout_s: float) -> Callable[[], Any]:
    return lambda: client.call_tool(tool, timeout_s=timeout_s, on_progress=print_)


TELLERS = {"in turn": in_turn, "at once": at_once, "stopped": stopped}
NAMES = (
    "*",
    "tools/call",
    "result of tools/call",
    "notifications/progress",
    "notifications/cancelled",
    "tools/list",
    "result of tools/list",
    "initialize",
    "result of initialize",
    "notifications/initialized",
    "server/discover",
    "result of server/discover",
)
BREAKS = ((b'"', b"'"), (b"{", b""), (b"result", b"error"), (b"1", b"2"), (b"id", b"\xff"), (b":", b"\n"))
names = st.sampled_from(NAMES)
nths = st.integers(1, 6)
times = st.sampled_from([0, 1, 15, 100, 1500, 100_000])
plans = st.lists(
    st.one_of(
        st.builds(Drop, names, nth=nths),
        st.builds(Cut, names, nth=nths),
        st.builds(Duplicate, names, nth=nths),
        st.builds(Crash, names, nth=nths, after_ms=times),
        st.builds(lambda at_ms: Crash(at_ms=at_ms), times),
        st.builds(Delay, names, nth=nths, by_ms=times),
        st.builds(Reorder, names, nth=nths, by_ms=times),
        st.builds(
            lambda name, nth, change: Change(name, nth=nth, old=change[0], new=change[1]),
            names,
            nths,
            st.sampled_from(BREAKS),
        ),
    ),
    max_size=4,
)


@pytest.mark.parametrize("transport", [Stdio(latency_ms=7), StreamableHttp(latency_ms=7, jitter_ms=5)])
@pytest.mark.parametrize("era", ["modern", "legacy", "auto"])
@settings(max_examples=80)
@given(plan=plans, teller=st.sampled_from(sorted(TELLERS)))
def test_every_request_has_one_outcome(transport: Any, era: Any, plan: list[Fault], teller: str) -> None:
    outcomes: Outcomes = []
    told = TELLERS[teller](outcomes)
    run = simulate(told, server=desk(), transport=transport, era=era, faults=plan, check=False)
    if run.error is None:
        asked = [name for name, _ in outcomes]
        assert len(asked) == len(set(asked)) == run.value
    else:
        # Only the opening of the connection can fail: the story itself catches all that is documented.
        assert isinstance(run.error, McpSimError)
        assert era != "modern"
        assert outcomes == []
    check_run(run)


def check_run(run: Run) -> None:
    """What holds for every recording, whatever went wrong."""
    recording = run.recording
    check_recording(recording)
    assert_ordered(recording)
    assert_whole_handlers(recording)
    assert_nothing_after_a_cancellation(recording)
    assert Recording.from_jsonl(recording.to_jsonl()) == recording


def test_the_check_sees_an_answer_after_a_cancellation() -> None:
    recorder = Recorder(lambda: 0)
    ask_for_it = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    stop_it = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n'
    for data in (ask_for_it, stop_it):
        recorder.delivered(
            recorder.sent("client", "server", data, connection=1), "server", "client", connection=1
        )
        if data is ask_for_it:
            recorder.handler("handler_started", "server", "ping", 1, connection=1)
    assert_nothing_after_a_cancellation(recorder.recording({}))
    recorder.sent("server", "client", b'{"jsonrpc":"2.0","id":1,"result":{}}\n', connection=1)
    with pytest.raises(AssertionError):
        assert_nothing_after_a_cancellation(recorder.recording({}))
