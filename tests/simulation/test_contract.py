"""The determinism contract: each point is a test, named for it."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from mcpsim import (
    Client,
    Context,
    Deadlock,
    Drop,
    RequestTimeout,
    Run,
    Server,
    Simulation,
    Stdio,
    StreamableHttp,
    Stuck,
    simulate,
)
from mcpsim.errors import RealWorldCall, SimulationError
from mcpsim.recording import Frame
from tests.simulation.check_stories import ERAS, STORIES, TRANSPORTS, call, checked_runs, play, workshop
from tests.support.checked import check_recording, simulate_checked

WAYS = pytest.mark.parametrize("way", list(TRANSPORTS))
BOTH_ERAS = pytest.mark.parametrize("era", ERAS[:2])


# 1. One thread; ready callbacks first in, first out; timers by (time, order of creation).


@WAYS
@BOTH_ERAS
def test_1_calls_arrive_in_the_order_in_which_they_were_started(way: str, era: Any) -> None:
    run = play(STORIES[1], era, way)
    asked = [event.detail["id"] for event in run.recording.events if event.kind == "handler_started"]
    sent = [frame.parsed.id for frame in run.recording.frames if _is(frame, "tools/call")]
    assert len(sent) == 5
    assert sent == sorted(sent)
    if way == "stdio":
        assert asked == sent
    else:
        assert sorted(asked) == sent


# 2. The clock moves only when nothing is ready. Recordings hold integer microseconds.


def test_2_recordings_hold_whole_microseconds_and_time_never_goes_back() -> None:
    for name, run in checked_runs():
        times = [event.at_us for event in run.recording.events]
        assert all(type(at_us) is int for at_us in times), name
        assert times == sorted(times), name


def test_2_latency_is_exact() -> None:
    run = simulate(STORIES[0], server=workshop(), transport=Stdio(latency_ms=12.3456))
    journeys = {frame.arrived_us - frame.sent_us for frame in run.recording.frames if frame.arrived_us}
    assert journeys == {12346}


# 3. Every random draw is keyed by what it is for.


def _travel(run: Run) -> dict[str, int]:
    """How long each message was on its way, by what it is."""
    return {
        f"{frame.sender} {frame.parsed}": frame.arrived_us - frame.sent_us
        for frame in run.recording.frames
        if frame.arrived_us is not None and frame.parsed is not None
    }


@WAYS
@BOTH_ERAS
@pytest.mark.parametrize("change", ["longer text", "one call more at the end", "one lost"])
def test_3_changing_one_message_does_not_reshuffle_the_others(way: str, era: Any, change: str) -> None:
    def story(*tools: tuple[str, dict[str, Any]]) -> Callable[[Client], Any]:
        async def one_by_one(client: Client) -> None:
            for tool, arguments in tools:
                try:
                    await client.call_tool(tool, arguments, timeout_s=1)
                except RequestTimeout:
                    # On a pipe, what is sent in the same moment waits for what was sent before it.
                    await anyio.sleep(0.1)

        return one_by_one

    calls = [("wait", {"n": n}) for n in (5, 6, 7, 8)]
    transport = TRANSPORTS[way]
    before = simulate(story(*calls), server=workshop(), era=era, transport=transport)
    if change == "longer text":
        longer = [*calls[:1], ("wait", {"n": 6, "why": "x" * 500}), *calls[2:]]
        after = simulate(story(*longer), server=workshop(), era=era, transport=transport)
        same = 7
    elif change == "one call more at the end":
        after = simulate(story(*calls, ("wait", {"n": 9})), server=workshop(), era=era, transport=transport)
        same = 8
    else:
        lost = [Drop("result of tools/call", nth=2)]
        after = simulate(story(*calls), server=workshop(), era=era, transport=transport, faults=lost)
        same = 7
    one, other = _travel(before), _travel(after)
    shared = {key for key in one.keys() & other.keys() if "tools/call" in key or "waited" in key}
    assert len(set(one.values())) > 4
    assert len(shared) == same
    assert {key: one[key] for key in shared} == {key: other[key] for key in shared}


def test_3_another_seed_gives_other_latencies() -> None:
    runs = [
        simulate(STORIES[0], server=workshop(), transport=TRANSPORTS["stdio"], seed=s) for s in (1, 2, "1")
    ]
    assert len({tuple(_travel(run).values()) for run in runs}) >= 2
    assert _travel(runs[0]) == _travel(runs[2])


def test_3_the_part_before_a_change_is_identical() -> None:
    before = play(STORIES[1], "modern", "stdio").recording.events
    after = play(STORIES[1], "modern", "stdio", (Drop("result of tools/call", nth=2),)).recording.events
    lost = next(index for index, event in enumerate(after) if event.kind == "dropped")
    assert lost > 20
    assert after[:lost] == before[:lost]


# 4. Ids, keys and tokens come from the run.


@pytest.fixture
def no_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """No source of chance or of wall time gives the same answer twice, and most refuse altogether."""

    def refuse(*arguments: object, **keywords: object) -> Any:
        raise AssertionError("A simulation asked the real world.")

    for module, names in (
        (uuid, ("uuid1", "uuid4")),
        (time, ("time", "time_ns", "monotonic_ns")),
        (random, ("random", "randint", "getrandbits", "choice")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, refuse)
    # asyncio's transports and threads may ask these; what they say must not show.
    monkeypatch.setattr(os, "urandom", lambda size: bytes(random.SystemRandom().randbytes(size)))


@WAYS
@BOTH_ERAS
@pytest.mark.usefixtures("no_chance")
def test_4_nothing_recorded_comes_from_outside_of_the_run(way: str, era: Any) -> None:
    for story in STORIES:
        first, second = play(story, era, way), play(story, era, way)
        assert first.recording.to_jsonl() == second.recording.to_jsonl()


@WAYS
@BOTH_ERAS
def test_4_no_address_and_no_counter_of_the_process_is_recorded(way: str, era: Any) -> None:
    digests = {play(STORIES[0], era, way).recording.sha256()}
    keep: list[object] = []
    for n in range(5):
        # Other addresses, and more tasks, sockets and strings in this process than before.
        keep.append([object() for _ in range(1000 * n + 1)])
        asyncio.run(asyncio.sleep(0))
        digests.add(play(STORIES[0], era, way).recording.sha256())
    assert len(digests) == 1
    text = play(STORIES[0], era, way).recording.to_jsonl()
    for mark in (b"0x", b" at 0x", b"Task-", b"<object"):
        assert mark not in text


def test_4_tokens_differ_by_purpose_and_number_and_seed() -> None:
    seen: list[str] = []

    async def story(client: Client) -> None:
        for _ in range(3):
            result = await client.request("tools/call", {"name": "basket", "arguments": {}})
            seen.extend(result["structuredContent"].values())

    for seed in (0, 1):
        simulate(story, server=workshop(), seed=seed)
    assert len(set(seen)) == len(seen) == 12
    assert all(len(token) == 32 for token in seen)


# 5. No iteration over sets where order shows.


@WAYS
@BOTH_ERAS
def test_5_calls_that_are_stopped_together_are_cancelled_in_request_order(way: str, era: Any) -> None:
    keep: list[object] = []
    for n in range(12):
        keep.append([object() for _ in range(997 * n)])
        run = play(STORIES[2], era, way)
        events = run.recording.events
        stopped = [event.detail["id"] for event in events if event.kind == "handler_cancelled"]
        assert len(stopped) == 8
        if way == "stdio":
            assert stopped == sorted(stopped)
            named = [
                frame.parsed.params["requestId"]
                for frame in run.recording.frames
                if _is(frame, "notifications/cancelled")
            ]
            assert named == stopped
        else:
            aborted = [event.exchange for event in events if (event.detail or {}).get("how") == "aborted"]
            assert len(aborted) == 8
            assert aborted == sorted(aborted)


# 6. Stuck and Deadlock: never a hung notebook.


def endless() -> Server:
    server = Server("endless")

    @server.tool()
    async def spin() -> None:
        while True:
            await anyio.sleep(0)

    @server.tool()
    async def dig() -> None:
        while True:
            pass

    @server.tool()
    async def wait_for_godot() -> None:
        await anyio.Event().wait()

    @server.tool()
    async def flood(context: Context) -> None:
        n = 0
        while True:
            n += 1
            await context.report_progress(n)

    @server.tool()
    async def deaf() -> None:
        with anyio.CancelScope(shield=True):
            await anyio.Event().wait()

    return server


def calling(tool: str, **more: Any) -> Callable[[Client], Any]:
    async def story(client: Client) -> Any:
        return await client.call_tool(tool, **more)

    return story


async def spin(client: Client) -> None:
    while True:
        await anyio.sleep(0)


async def dig(client: Client) -> None:
    while True:
        pass


async def wait_for_godot(client: Client) -> None:
    await anyio.Event().wait()


async def ask_for_ever(client: Client) -> None:
    while True:
        await client.list_tools()


SERVERS = {"stdio": r"server: connection 1 \(in get", "http": r"server: HTTP exchange 1 \(in wait_for_godot"}


@pytest.mark.parametrize("outer", ["plain", "asyncio.run", "anyio.run"])
@pytest.mark.parametrize(
    ("story", "error", "text"),
    [
        (spin, Stuck, r"the task 'the story' \(in spin, at sleep\) ran again and again"),
        (dig, Stuck, r"^The task 'the story' \(in dig\) ran for 0\.2 s"),
        (wait_for_godot, Deadlock, r"the story \(in wait_for_godot, at Event\.wait\)"),
        (calling("spin"), Stuck, r"the task 'server: tools/call' \(in spin, at sleep\) ran again and again"),
        (calling("dig"), Stuck, r"^The task 'server: tools/call' \(in dig\) ran for 0\.2 s"),
        (
            calling("wait_for_godot", timeout_s=float("inf")),
            Deadlock,
            r"server: tools/call \(in wait_for_godot, at Event\.wait\); the story \(in story, at ",
        ),
    ],
    ids=["spin", "dig", "wait", "handler spins", "handler digs", "handler waits"],
)
def test_6_what_cannot_end_is_an_error_that_names_it(
    outer: str, story: Callable[[Client], Any], error: type[SimulationError], text: str
) -> None:
    # A short limit only where it is needed: on a busy machine any step may take a while.
    limit_s = 0.2 if "ran for" in text else 10

    def check() -> None:
        with pytest.raises(error, match=text):
            simulate(story, server=endless(), step_budget=2_000, step_limit_s=limit_s)

    async def inside() -> None:
        check()

    if outer == "plain":
        check()
    elif outer == "asyncio.run":
        asyncio.run(inside())
    else:
        anyio.run(inside)


@WAYS
def test_6_a_handler_that_waits_for_ever_is_a_timeout_where_the_client_has_one(way: str) -> None:
    run = simulate(
        calling("wait_for_godot"), server=endless(), transport=TRANSPORTS[way], check=False, era="legacy"
    )
    assert isinstance(run.error, RequestTimeout)
    assert run.recording.events[-1].at_us > 60_000_000


@WAYS
@pytest.mark.parametrize("story", [ask_for_ever, calling("flood", on_progress=lambda *_: None)])
def test_6_what_goes_on_for_ever_ends(way: str, story: Callable[[Client], Any]) -> None:
    simulation = Simulation(
        story, server=endless(), transport=TRANSPORTS[way], step_budget=1000, event_limit=3000
    )
    with pytest.raises(Stuck, match="goes on and on"):
        simulation.finish()
    assert 3000 < len(simulation.recording.events) < 8000


@WAYS
def test_6_a_story_that_is_over_is_not_failed_by_a_server_that_hangs(way: str) -> None:
    async def story(client: Client) -> str:
        with anyio.move_on_after(1):
            await client.call_tool("deaf")
        return "done"

    run = simulate(story, server=endless(), transport=TRANSPORTS[way])
    assert run.value == "done"
    last = run.recording.events[-1]
    assert last.kind == "note"
    assert "server: tools/call (in deaf" in last.detail["text"] or "(in deaf" in last.detail["text"]


def test_6_the_recording_of_a_run_that_got_stuck_is_there() -> None:
    simulation = Simulation(calling("spin"), server=endless(), step_budget=1000)
    with pytest.raises(Stuck):
        simulation.finish()
    assert [frame.parsed.method for frame in simulation.recording.frames] == ["tools/call"]
    assert simulation.finished
    assert simulation.step() is False
    check_recording(simulation.recording)


# 7. Loop calls that would do real I/O raise a clear error.


async def connect() -> None:
    await anyio.connect_tcp("localhost", 9)


async def listen() -> None:
    await anyio.create_tcp_listener(local_port=0)


async def start_a_process() -> None:
    await anyio.run_process([sys.executable, "-c", ""])


async def start_a_process_with_asyncio() -> None:
    await asyncio.create_subprocess_exec(sys.executable, "-c", "")


async def start_a_shell() -> None:
    await asyncio.create_subprocess_shell("true")


async def use_a_thread() -> None:
    await asyncio.to_thread(int)


async def use_a_thread_of_anyio() -> None:
    await anyio.to_thread.run_sync(int)


async def use_a_thread_with_a_limiter() -> None:
    await anyio.to_thread.run_sync(int, limiter=anyio.CapacityLimiter(3))


async def use_an_executor() -> None:
    await asyncio.get_running_loop().run_in_executor(None, int)


async def read_a_file() -> None:
    await anyio.Path(__file__).read_text()


async def look_a_name_up() -> None:
    await asyncio.get_running_loop().getaddrinfo("localhost", 80)


async def look_an_address_up() -> None:
    await asyncio.get_running_loop().getnameinfo(("127.0.0.1", 80))


async def use_a_socket() -> None:
    with socket.socket() as one:
        one.setblocking(False)
        await asyncio.get_running_loop().sock_connect(one, ("127.0.0.1", 9))


async def watch_a_socket() -> None:
    with socket.socket() as one:
        await anyio.wait_readable(one)


async def wait_for_a_signal() -> None:
    with anyio.open_signal_receiver(signal.SIGTERM):
        pass


async def handle_a_signal() -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, print)


async def be_called_from_a_thread() -> None:
    asyncio.get_running_loop().call_soon_threadsafe(print)


async def run_for_ever() -> None:
    asyncio.get_running_loop().run_forever()


REAL: tuple[Callable[[], Any], ...] = (
    connect,
    listen,
    start_a_process,
    start_a_process_with_asyncio,
    start_a_shell,
    use_a_thread,
    use_a_thread_of_anyio,
    use_a_thread_with_a_limiter,
    use_an_executor,
    read_a_file,
    look_a_name_up,
    look_an_address_up,
    use_a_socket,
    watch_a_socket,
    wait_for_a_signal,
    handle_a_signal,
    be_called_from_a_thread,
    run_for_ever,
)


@pytest.mark.parametrize("reach_out", REAL)
@pytest.mark.parametrize("where", ["story", "handler"])
def test_7_real_input_and_output_is_refused(reach_out: Callable[[], Any], where: str) -> None:
    server = workshop()

    @server.tool(name="reach_out")
    async def reach() -> None:
        await reach_out()

    async def story(client: Client) -> None:
        if where == "story":
            await reach_out()
        else:
            # The server guards itself against its handlers: the client would see a tool error.
            await client.call_tool("reach_out")

    with pytest.raises(RealWorldCall) as raised:
        simulate(story, server=server)
    text = str(raised.value)
    assert "is real I/O" in text


def test_7_it_is_refused_also_where_the_story_catches_it() -> None:
    async def story(client: Client) -> None:
        try:
            await use_a_thread()
        except RealWorldCall:
            await call(client, "wait", 1)

    with pytest.raises(RealWorldCall, match=r"run_in_executor \(a thread\)"):
        simulate(story, server=workshop(), check=False)


# And all of it is MCP.


@WAYS
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_every_message_of_the_check_stories_is_valid(way: str, era: Any, story: Callable[..., Any]) -> None:
    broken = ("not a message", "tools/dance") if story.__name__ == "wrong_on_purpose" else ()
    transport: Stdio | StreamableHttp = TRANSPORTS[way]
    simulate_checked(story, server=workshop(), era=era, transport=transport, broken=broken)


def _is(frame: Frame, method: str) -> bool:
    return getattr(frame.parsed, "method", None) == method
