"""A server process that dies: what its clients see, what is lost, and what a restart brings back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpsim import (
    Client,
    ConnectionClosed,
    Context,
    Drop,
    McpSimError,
    Run,
    Server,
    Stdio,
    StreamableHttp,
    simulate,
)
from mcpsim.gateway import Gateway
from mcpsim.transports.faults import Crash
from tests.support.checked import simulate_checked

STDIO, HTTP = Stdio(latency_ms=10), StreamableHttp(latency_ms=10)


def desk(done: list[str] | None = None) -> Server:
    server = Server("desk", list_changed=True)

    @server.tool()
    async def steps(context: Context, n: int = 3, name: str = "") -> str:
        try:
            for step in range(1, n + 1):
                await anyio.sleep(0.1)
                await context.report_progress(step, n)
            if done is not None:
                done.append(name)
        finally:
            # A dead process does nothing any more, and a handler that tries is not heard.
            context.note("The handler ends.")
        return "stepped"

    return server


def play(story: Callable[..., Any], **more: Any) -> Run:
    return simulate_checked(story, **{"server": desk(), "transport": HTTP, **more})


def events(run: Run, *kinds: str) -> list[Any]:
    return [event for event in run.recording.events if event.kind in kinds]


def notes(run: Run, party: str = "server") -> list[tuple[int, str]]:
    return [
        (event.at_us // 1000, event.detail["text"]) for event in events(run, "note") if event.party == party
    ]


async def outcome(call: Any) -> str:
    try:
        await call
    except McpSimError as error:
        return type(error).__name__
    return "result"


async def retry(client: Client) -> list[str]:
    """Call until it works."""
    outcomes: list[str] = []
    while outcomes[-1:] != ["result"] and len(outcomes) < 10:
        outcomes.append(await outcome(client.call_tool("steps", {"n": 1}, timeout_s=5)))
        await anyio.sleep(0.1)
    return outcomes


# What the clients see.


def test_a_modern_client_asks_again_and_that_is_all() -> None:
    run = play(retry, faults=[Crash("tools/call", restart_after_ms=150)])
    assert run.value == ["ConnectionClosed", "ConnectionClosed", "result"]
    assert notes(run) == [
        (10, "The process of server dies."),
        (160, "The process of server is started again. It remembers nothing of before."),
        (330, "The handler ends."),
    ]
    refused = [frame for frame in run.recording.frames if frame.why.startswith("nobody listens")]
    assert len(refused) == 1


def test_a_legacy_client_has_lost_its_session_and_begins_anew() -> None:
    run = play(retry, era="legacy", faults=[Crash("tools/call", restart_after_ms=50)])
    assert run.value == ["ConnectionClosed", "result"]
    statuses = [
        frame.head["status"] for frame in run.recording.frames if frame.head and "status" in frame.head
    ]
    assert statuses.count(404) == 1
    shakes = [frame for frame in run.recording.frames if b'"initialize"' in frame.data]
    assert len(shakes) == 2
    states = [event.detail for event in events(run, "state") if event.party == "server"]
    phases = [state.get("phase", "nothing") for state in states]
    assert phases == ["initializing", "operating", "nothing", "initializing", "operating", "nothing"]


def test_without_a_restart_nobody_listens_any_more() -> None:
    async def story(client: Client) -> list[str]:
        found = [await outcome(client.call_tool("steps", {"n": 1}))]
        await anyio.sleep(10)
        return [*found, await outcome(client.call_tool("steps", {"n": 1}))]

    assert play(story, faults=[Crash("tools/call")]).value == ["ConnectionClosed", "ConnectionClosed"]


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_on_stdio_the_pipe_ends_and_stays_so(era: Any) -> None:
    async def story(client: Client) -> list[str]:
        seen: list[float] = []
        call = client.call_tool("steps", on_progress=lambda done, total, text: seen.append(done))
        found = [await outcome(call), str(seen)]
        return [*found, await outcome(client.call_tool("steps"))]

    run = play(story, transport=STDIO, era=era, faults=[Crash("tools/call", after_ms=250)])
    # What it had written before is in the pipe.
    assert run.value == ["ConnectionClosed", "[1, 2]", "ConnectionClosed"]
    (closed,) = events(run, "closed")
    assert (closed.party, closed.detail) == ("server", {"what": "stdout", "how": "the process died"})


def test_on_stdio_the_host_starts_it_again() -> None:
    async def story(client: Client, *, host: Any) -> list[str]:
        found = [await outcome(client.call_tool("steps", {"n": 1}))]
        async with host.start_again(client) as again:
            return [*found, await outcome(again.call_tool("steps", {"n": 1}))]

    for era in ("modern", "legacy"):
        run = play(story, transport=STDIO, era=era, faults=[Crash("tools/call")])
        assert run.value == ["ConnectionClosed", "result"]
        assert [frame.fate for frame in run.recording.frames if frame.connection == 2].count("delivered") > 1


# What is lost, and when.


@pytest.mark.parametrize("transport", [STDIO, HTTP])
@pytest.mark.parametrize(
    ("crash", "progress", "done"),
    [
        (Crash("tools/call"), 0, []),
        (Crash("tools/call", after_ms=250), 2, []),
        (Crash("notifications/progress", nth=2), 1, []),
        (Crash("result of tools/call"), 3, ["first"]),
    ],
)
def test_a_process_dies_before_in_or_after_its_work(
    crash: Crash, progress: int, done: list[str], transport: Any
) -> None:
    really_done: list[str] = []

    async def story(client: Client) -> str:
        call = client.call_tool("steps", {"n": 3, "name": "first"}, on_progress=lambda *progress: None)
        found = await outcome(call)
        await anyio.sleep(2)
        return found

    run = play(story, server=desk(really_done), transport=transport, faults=[crash])
    assert run.value == "ConnectionClosed"
    # Work that was done stays done, although its result was lost.
    assert really_done == done
    sent = [frame for frame in run.recording.frames if b"notifications/progress" in frame.data]
    assert len(sent) == progress
    assert not [frame for frame in run.recording.frames if b'"result"' in frame.data]
    assert run.unused_faults == ()


def test_every_handler_that_was_at_work_has_an_end_in_the_recording() -> None:
    async def story(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(outcome, client.call_tool("steps", {"n": 9}))

    for transport in (STDIO, HTTP):
        for era in ("modern", "legacy"):
            run = play(story, transport=transport, era=era, faults=[Crash(at_ms=300)])
            started = [event.detail["id"] for event in events(run, "handler_started")]
            stopped = events(run, "handler_cancelled")
            assert [event.detail["id"] for event in stopped] == started
            assert {event.at_us for event in stopped} == {300_000}
            assert len(started) == 3
            # The handlers' own clean-up is not seen.
            assert notes(run) == [(300, "The process of server dies.")]


def test_requests_on_their_way_to_a_dead_process_are_lost() -> None:
    async def story(client: Client) -> str:
        await anyio.sleep(0.1)
        return await outcome(client.call_tool("steps"))

    run = play(story, faults=[Crash(at_ms=105, restart_after_ms=1)])
    assert run.value == "ConnectionClosed"
    assert [frame.fate for frame in run.recording.frames] == ["dropped"]


def test_a_process_that_was_started_again_meanwhile_does_not_die_of_what_the_first_one_saw() -> None:
    crashes = [Crash("tools/call", after_ms=200), Crash(at_ms=50, restart_after_ms=10)]
    run = play(retry, faults=crashes)
    assert len([text for _, text in notes(run) if "dies" in text]) == 1
    assert run.unused_faults == (crashes[0],)


def test_who_is_dead_does_not_die_again() -> None:
    crashes = [Crash(at_ms=50), Crash(at_ms=60)]
    run = play(retry_once, faults=crashes)
    assert run.unused_faults == (crashes[1],)


async def retry_once(client: Client) -> str:
    await anyio.sleep(0.1)
    return await outcome(client.call_tool("steps"))


def test_a_subscription_is_forgotten_and_the_hub_of_the_server_too() -> None:
    server = desk()

    async def story(client: Client) -> list[str]:
        found: list[str] = []

        async def listen() -> None:
            found.append(
                await outcome(
                    client.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
                )
            )

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            await anyio.sleep(0.2)
        server.remove_tool("steps")
        await anyio.sleep(0.2)
        return found

    run = play(story, server=server, faults=[Crash(at_ms=100, restart_after_ms=10)])
    assert run.value == ["ConnectionClosed"]
    assert len(server.changes) == 0
    assert not [frame for frame in run.recording.frames if b"list_changed" in frame.data]


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("transport", [STDIO, HTTP])
def test_nothing_of_a_dead_process_stays_with_the_server(transport: Any, era: Any) -> None:
    server = desk()
    run = play(retry_once, server=server, transport=transport, era=era, faults=[Crash(at_ms=150)])
    assert run.value == "ConnectionClosed"
    assert len(server.changes) == 0


# With a gateway.


def test_only_the_clients_of_the_replica_that_died_notice() -> None:
    async def story(*clients: Client) -> list[str]:
        found: dict[str, str] = {}

        async def call(client: Client) -> None:
            found[client.principal] = await outcome(client.call_tool("steps"))

        async with anyio.create_task_group() as tasks:
            for client in clients:
                tasks.start_soon(call, client)
                await anyio.sleep(0.01)
        return [found["ann"], found["ben"]]

    run = play(
        story,
        client={name: Client(principal=name) for name in ("ann", "ben")},
        gateway=Gateway(),
        replicas=2,
        faults=[Crash(at_ms=150, process="server-2")],
    )
    assert run.value == ["result", "UnexpectedResponse"]


def test_a_gateway_that_dies_forgets_what_it_kept_and_breaks_both_ways() -> None:
    server = Server("list", ttl_ms=60_000, cache_scope="public")

    @server.tool()
    async def wait() -> str:
        await anyio.sleep(1)
        return "waited"

    async def story(client: Client) -> list[str]:
        await client.list_tools()
        found = [await outcome(client.call_tool("wait"))]
        await anyio.sleep(0.5)
        await client.list_tools()
        return found

    run = play(
        story,
        server=server,
        gateway=Gateway(),
        faults=[Crash(at_ms=400, process="gateway", restart_after_ms=100)],
    )
    assert run.value == ["ConnectionClosed"]
    assert len(events(run, "handler_cancelled")) == 1
    asked = [
        frame for frame in run.recording.frames if frame.receiver == "server" and b"tools/list" in frame.data
    ]
    assert len(asked) == 2
    states = [event.detail for event in events(run, "state") if event.party == "gateway"]
    assert [bool(state) for state in states] == [True, False, True]


# Whatever dies, and when.

names = st.sampled_from(
    [
        "*",
        "tools/call",
        "result of tools/call",
        "notifications/progress",
        "initialize",
        "notifications/initialized",
    ]
)
times = st.sampled_from([0, 1, 10, 55, 150])
restarts = st.sampled_from([None, 0, 5, 40])
crashes = st.one_of(
    st.builds(
        lambda name, nth, after, again, where: Crash(
            name, nth=nth, after_ms=after, restart_after_ms=again, process=where
        ),
        names,
        st.integers(1, 5),
        times,
        restarts,
        st.sampled_from(["", "gateway", "server-1"]),
    ),
    st.builds(
        lambda at, again, where: Crash(at_ms=at, restart_after_ms=again, process=where),
        st.sampled_from([0, 5, 20, 33, 60, 140, 300]),
        restarts,
        st.sampled_from(["", "gateway", "server-2"]),
    ),
)


@pytest.mark.parametrize("era", ["modern", "legacy", "auto"])
@settings(max_examples=60)
@given(plan=st.lists(crashes, max_size=4), sticky=st.booleans(), drop=st.integers(1, 9))
def test_every_request_has_one_outcome(era: Any, plan: list[Crash], sticky: bool, drop: int) -> None:
    outcomes: list[str] = []

    async def one(client: Client, n: int) -> None:
        call = client.call_tool("steps", {"n": n}, timeout_s=2, on_progress=lambda *progress: None)
        outcomes.append(await outcome(call))

    async def story(*clients: Client) -> None:
        async with anyio.create_task_group() as tasks:
            for client in clients:
                for n in range(3):
                    tasks.start_soon(one, client, n)
                    await anyio.sleep(0.02)
        for client in clients:
            await one(client, 1)

    run = simulate(
        story,
        server=desk(),
        client={name: Client(era=era, probe_timeout_s=1, timeout_s=2) for name in ("ann", "ben")},
        gateway=Gateway(sticky=sticky),
        replicas=2,
        transport=StreamableHttp(latency_ms=7, jitter_ms=5),
        faults=[*plan, Drop("*", nth=drop, hop="gateway-server")],
        check=False,
    )
    if run.error is None:
        assert len(outcomes) == 8
    else:
        assert isinstance(run.error, McpSimError)
        assert era != "modern"
    started = [(event.exchange, event.detail["id"]) for event in events(run, "handler_started")]
    ended = [
        (event.exchange, event.detail["id"]) for event in events(run, "handler_finished", "handler_cancelled")
    ]
    assert sorted(started) == sorted(ended)
    assert_the_dead_are_silent(run)


def assert_the_dead_are_silent(run: Run) -> None:
    dead: set[str] = set()
    for event in run.recording.events:
        text = (event.detail or {}).get("text", "")
        if event.kind == "note" and text == f"The process of {event.party} dies.":
            dead.add(event.party)
        elif event.kind == "note" and text.startswith(f"The process of {event.party} is started again."):
            dead.discard(event.party)
        elif event.party in dead:
            assert event.kind in ("handler_cancelled", "state", "closed", "dropped"), event
            assert event.kind != "sent"
            if event.kind == "state":
                assert event.detail == {}


def test_the_check_sees_a_dead_process_that_speaks() -> None:
    run = play(retry_once, faults=[Crash(at_ms=150)])
    told = list(run.recording.events)
    late = next(event for event in told if event.kind == "sent")._replace(at_us=10**9, party="server")
    with pytest.raises(AssertionError):
        assert_the_dead_are_silent(replace(run, recording=replace(run.recording, events=(*told, late))))


def test_connection_closed_is_what_a_client_can_wait_for() -> None:
    async def story(client: Client) -> str:
        with pytest.raises(ConnectionClosed) as error:
            await client.call_tool("steps")
        with pytest.raises(ConnectionClosed) as again:
            await client.call_tool("steps")
        return f"{error.value} {again.value}"

    run = play(story, faults=[Crash("tools/call")])
    assert run.value == (
        "The connection is gone: the connection was cut. "
        "The connection to server was refused: nobody listens there."
    )


def test_a_session_that_is_lost_twice_in_a_row_is_begun_anew_before_the_next_call() -> None:
    async def story(client: Client) -> list[str]:
        found: list[str] = []
        for _ in range(3):
            await anyio.sleep(1)
            found.append(await outcome(client.request("tools/list")))
        return found

    dies = [
        Crash(at_ms=500, restart_after_ms=100),
        Crash("notifications/initialized", nth=2, after_ms=5, restart_after_ms=10),
    ]
    run = play(story, transport=StreamableHttp(latency_ms=20), era="legacy", faults=dies)
    assert run.value == ["SessionEnded", "result", "result"]
    sent = [frame.parsed.method for frame in run.recording.frames if hasattr(frame.parsed, "method")]
    assert sent.count("initialize") == 3
    assert sent[-4:] == ["initialize", "notifications/initialized", "tools/list", "tools/list"]
