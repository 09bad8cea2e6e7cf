"""Every fault, in both directions, over both transports, in both eras: and what the client sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from mcpsim import (
    Change,
    Client,
    ConnectionClosed,
    Context,
    Cut,
    Delay,
    Drop,
    Duplicate,
    ProtocolError,
    Reorder,
    RequestTimeout,
    Run,
    Server,
    Stdio,
    StreamableHttp,
)
from mcpsim.messages import write_json
from mcpsim.recording import Frame
from mcpsim.transports.faults import Crash, Fault, FaultPlan
from tests.support.checked import simulate_checked

STDIO, HTTP = Stdio(latency_ms=10), StreamableHttp(latency_ms=10)
EVERYWHERE = [
    pytest.param(transport, era, id=f"{transport.name} {era}")
    for transport in (STDIO, HTTP)
    for era in ("modern", "legacy")
]
everywhere = pytest.mark.parametrize(("transport", "era"), EVERYWHERE)
Transport = Stdio | StreamableHttp


def desk(done: list[str] | None = None) -> Server:
    server = Server("desk")

    @server.tool()
    async def wait(ms: int, name: str = "") -> str:
        if done is not None:
            done.append(name)
        await anyio.sleep(ms / 1000)
        return f"waited {ms} ms"

    @server.tool()
    async def steps(context: Context, n: int = 4) -> str:
        for step in range(1, n + 1):
            await anyio.sleep(0.1)
            await context.report_progress(step, n)
        return "stepped"

    return server


async def one_call(client: Client) -> str:
    result = await client.call_tool("wait", {"ms": 100}, timeout_s=2)
    return result.content[0].text  # type: ignore[union-attr]


async def two_calls(client: Client) -> list[tuple[str, int]]:
    """Two calls at once; in which order and when they were answered."""
    answered: list[tuple[str, int]] = []

    async def ask(name: str) -> None:
        await client.call_tool("wait", {"ms": 100, "name": name}, timeout_s=5)
        answered.append((name, round(anyio.current_time() * 1000)))

    async with anyio.create_task_group() as tasks:
        for name in ("first", "second"):
            tasks.start_soon(ask, name)
    return answered


async def with_progress(client: Client) -> list[float]:
    seen: list[float] = []
    await client.call_tool("steps", on_progress=lambda progress, *_: seen.append(progress), timeout_s=3)
    return seen


def play(story: Callable[..., Any], transport: Transport, era: Any, *faults: Fault, **more: Any) -> Run:
    run = simulate_checked(
        story,
        server=more.pop("server", desk()),
        transport=transport,
        era=era,
        faults=faults,
        check=False,
        **more,
    )
    assert run.unused_faults == ()
    return run


def is_(frame: Frame, name: str) -> bool:
    return getattr(frame.parsed, "method", "") == name


def lost(run: Run) -> list[Frame]:
    return [frame for frame in run.recording.frames if frame.fate == "dropped"]


def notes(run: Run) -> str:
    return "\n".join(event.detail["text"] for event in run.recording.events if event.kind == "note")


def cancellations(run: Run) -> list[Any]:
    """What a client sent or did to cancel: the ids of notifications, or the exchanges that it closed."""
    found: list[Any] = []
    for event in run.recording.events:
        if event.kind == "closed" and event.detail["how"] == "aborted":
            found.append(f"closed exchange {event.exchange}")
    found += [frame.parsed.params for frame in run.recording.frames if is_(frame, "notifications/cancelled")]
    return found


# Drop.


@everywhere
@pytest.mark.parametrize("message", ["tools/call", "result of tools/call"])
def test_a_lost_message_is_a_timeout_and_the_request_is_cancelled(
    transport: Transport, era: Any, message: str
) -> None:
    run = play(one_call, transport, era, Drop(message))
    assert isinstance(run.error, RequestTimeout)
    (frame,) = lost(run)
    assert (frame.why, frame.arrived_us) == ("a fault dropped it", None)
    assert is_(frame, "tools/call") == (message == "tools/call")
    assert cancellations(run)
    if transport is STDIO or era == "legacy":
        assert cancellations(run)[-1] == {
            "requestId": 2 if era == "legacy" else 1,
            "reason": "The answer took too long.",
        }
    else:
        assert cancellations(run) == ["closed exchange 1"]


@everywhere
@pytest.mark.parametrize("nth", [1, 2, 4])
def test_one_lost_progress_notification_costs_only_itself(transport: Transport, era: Any, nth: int) -> None:
    run = play(with_progress, transport, era, Drop("notifications/progress", nth=nth))
    assert run.error is None
    assert run.value == [n for n in (1, 2, 3, 4) if n != nth]
    # The head of the response is not lost with the first event of its stream.
    heads = [row for row in run.recording.frames if row.head is not None and "status" in row.head]
    assert transport is STDIO or heads


def test_an_event_stream_that_loses_all_that_it_carries_still_ends() -> None:
    faults = [Drop("notifications/progress", nth=n) for n in (1, 2, 3, 4)]
    run = play(with_progress, HTTP, "modern", *faults, Drop("result of tools/call"))
    assert isinstance(run.error, ConnectionClosed)
    assert "before the answer" in str(run.error)
    assert len(lost(run)) == 5


@everywhere
def test_a_lost_cancellation_lets_the_server_go_on(transport: Transport, era: Any) -> None:
    async def stop(client: Client) -> None:
        with anyio.move_on_after(0.05):
            await client.call_tool("wait", {"ms": 300})
        await anyio.sleep(1)

    message = "tools/call" if transport is HTTP and era == "modern" else "notifications/cancelled"
    run = play(stop, transport, era, Drop(message))
    kinds = [event.kind for event in run.recording.events]
    if message == "tools/call":
        assert "handler_started" not in kinds
    else:
        assert "handler_finished" in kinds
        assert "handler_cancelled" not in kinds
    if transport is STDIO:
        assert "for which nobody waits" in notes(run)


# Delay.


@everywhere
@pytest.mark.parametrize("message", ["tools/call", "result of tools/call"])
def test_delay_holds_up_a_pipe_and_only_one_http_exchange(
    transport: Transport, era: Any, message: str
) -> None:
    plain = dict(play(two_calls, transport, era).value)
    late = dict(play(two_calls, transport, era, Delay(message, by_ms=500)).value)
    assert late["first"] == plain["first"] + 500
    assert late["second"] == plain["second"] + (500 if transport is STDIO else 0)


@everywhere
def test_a_delay_beyond_the_timeout_is_a_timeout(transport: Transport, era: Any) -> None:
    run = play(one_call, transport, era, Delay("result of tools/call", by_ms=3000))
    assert isinstance(run.error, RequestTimeout)
    if transport is STDIO:
        assert "nobody waits" in notes(run)
    else:
        assert [frame.why for frame in lost(run)] == ["the client closed the response stream"]


def test_a_delayed_event_holds_up_its_stream() -> None:
    run = play(with_progress, HTTP, "modern", Delay("notifications/progress", nth=2, by_ms=250))
    arrived = [frame.arrived_us for frame in run.recording.frames if is_(frame, "notifications/progress")]
    assert arrived == [120_000, 470_000, 470_000, 470_000]
    assert run.value == [1, 2, 3, 4]


# Reorder.


@everywhere
def test_a_message_is_overtaken_by_what_is_sent_after_it(transport: Transport, era: Any) -> None:
    run = play(with_progress, transport, era, Reorder("notifications/progress", nth=1, by_ms=150))
    assert run.error is None
    assert delivered_progress(run) == [2, 1, 3, 4]
    # Progress must increase: what comes late is nothing new, and the client takes no notice.
    assert run.value == [2, 3, 4]


def delivered_progress(run: Run) -> list[float]:
    """The progress of each notification, in the order of arrival. A doubled event arrives as two frames."""
    frames = {frame.number: frame for frame in run.recording.frames}
    arrived = [frames[event.frame] for event in run.recording.events if event.kind == "delivered"]
    return [frame.parsed.params["progress"] for frame in arrived if is_(frame, "notifications/progress")]


def test_on_a_pipe_a_request_is_overtaken_too() -> None:
    done: list[str] = []
    run = play(two_calls, STDIO, "modern", Reorder("tools/call", by_ms=50), server=desk(done))
    assert done == ["second", "first"]
    assert [name for name, _ in run.value] == ["second", "first"]


def test_on_a_pipe_an_answer_overtakes_its_own_progress() -> None:
    run = play(with_progress, STDIO, "modern", Reorder("notifications/progress", nth=4, by_ms=50))
    assert run.value == [1, 2, 3]
    assert "Ignored: progress for the token 1" in notes(run)


# Duplicate.


@everywhere
def test_a_doubled_answer_is_taken_once(transport: Transport, era: Any) -> None:
    run = play(one_call, transport, era, Duplicate("result of tools/call"))
    assert run.value == "waited 100 ms"
    (copy,) = [frame for frame in run.recording.frames if frame.copy_of]
    original = run.recording.frames[copy.copy_of - 1]
    assert copy.data == original.data
    if transport is STDIO:
        assert copy.fate == "delivered"
        assert "an answer to #" in notes(run)
    else:
        assert (copy.fate, copy.why) == ("dropped", "an HTTP response has only one body")


@everywhere
def test_a_doubled_event_arrives_twice(transport: Transport, era: Any) -> None:
    run = play(with_progress, transport, era, Duplicate("notifications/progress", nth=2))
    assert delivered_progress(run) == [1, 2, 2, 3, 4]
    assert run.value == [1, 2, 3, 4]


def test_a_doubled_answer_on_an_event_stream_is_taken_once() -> None:
    run = play(with_progress, HTTP, "modern", Duplicate("result of tools/call"))
    assert run.value == [1, 2, 3, 4]
    assert [frame.fate for frame in run.recording.frames if frame.copy_of] == ["delivered"]


@everywhere
def test_a_doubled_request_is_two_requests(transport: Transport, era: Any) -> None:
    done: list[str] = []
    run = play(one_call, transport, era, Duplicate("tools/call"), server=desk(done))
    (copy,) = [frame for frame in run.recording.frames if frame.copy_of]
    assert copy.fate == "delivered"
    if transport is STDIO:
        # The same id twice on one connection: the server refuses the second, and the client takes the first
        # answer that it gets for the id.
        assert isinstance(run.error, ProtocolError)
        assert run.error.code == -32600
        assert len(done) == 1
        return
    assert run.value == "waited 100 ms"
    assert copy.exchange != run.recording.frames[copy.copy_of - 1].exchange
    assert copy.head == run.recording.frames[copy.copy_of - 1].head
    (answer,) = lost(run)
    assert answer.why == "it answers a copy, and nobody waits for that"
    # A stateless server works twice; a session remembers the id.
    assert len(done) == (2 if era == "modern" else 1)


# Cut.


@everywhere
@pytest.mark.parametrize("message", ["tools/call", "result of tools/call"])
def test_a_cut_connection_is_an_error_at_once(transport: Transport, era: Any, message: str) -> None:
    run = play(one_call, transport, era, Cut(message))
    assert isinstance(run.error, ConnectionClosed)
    assert {frame.why for frame in lost(run)} == {"the connection was cut"}
    closed = [event.detail for event in run.recording.events if event.kind == "closed"]
    assert [detail["how"] for detail in closed].count("cut") == 1
    took_ms = run.recording.events[-1].at_us / 1000
    assert took_ms < 300


def test_a_cut_pipe_loses_everything_on_it_and_stops_the_server() -> None:
    async def three(client: Client) -> list[str]:
        seen: list[str] = []

        async def ask(ms: int) -> None:
            try:
                await client.call_tool("wait", {"ms": ms})
            except ConnectionClosed:
                seen.append(f"{ms} closed")

        async with anyio.create_task_group() as tasks:
            for ms in (100, 105, 5000):
                tasks.start_soon(ask, ms)
        with pytest.raises(ConnectionClosed):
            await client.list_tools()
        return seen

    run = play(three, STDIO, "modern", Cut("result of tools/call", nth=2))
    assert sorted(run.value) == ["100 closed", "105 closed", "5000 closed"]
    assert len(lost(run)) == 2
    assert [event.kind for event in run.recording.events].count("handler_cancelled") == 1


def test_a_cut_exchange_leaves_the_others_alone() -> None:
    async def two(client: Client) -> list[Any]:
        outcomes: list[Any] = []

        async def ask(ms: int) -> None:
            try:
                await client.call_tool("wait", {"ms": ms})
                outcomes.append(ms)
            except ConnectionClosed:
                outcomes.append(f"{ms} closed")

        async with anyio.create_task_group() as tasks:
            for ms in (100, 200):
                tasks.start_soon(ask, ms)
        await client.list_tools()
        return outcomes

    assert play(two, HTTP, "modern", Cut("result of tools/call")).value == ["100 closed", 200]


def test_a_stream_that_is_cut_cancels_a_modern_request_and_not_a_legacy_one() -> None:
    async def patient(client: Client) -> None:
        with pytest.raises(ConnectionClosed):
            await with_progress(client)
        await anyio.sleep(1)

    for era, kind in (("modern", "handler_cancelled"), ("legacy", "handler_finished")):
        run = play(patient, HTTP, era, Cut("notifications/progress", nth=2))
        ends = [
            event.kind
            for event in run.recording.events
            if event.kind in ("handler_cancelled", "handler_finished")
        ]
        assert ends == [kind], era


# Change.


@everywhere
def test_changed_bytes_arrive_and_what_was_sent_stays(transport: Transport, era: Any) -> None:
    run = play(one_call, transport, era, Change("result of tools/call", old=b"waited 100", new=b"idled 7"))
    assert run.value == "idled 7 ms"
    (changed,) = [frame for frame in run.recording.frames if frame.arrived_data != frame.data]
    assert b"waited 100" in changed.data
    assert b"idled 7" in changed.arrived_data


@everywhere
def test_a_change_that_breaks_the_message_is_skipped(transport: Transport, era: Any) -> None:
    run = play(one_call, transport, era, Change("result of tools/call", old=b'"result"', new=b'"re\xff'))
    assert run.error is not None
    assert "Skipped what is not a message" in notes(run)


def test_a_change_leaves_the_framing_of_an_event_stream_alone() -> None:
    # The letter stands in `event: message` and `data: ` too, and there it is the transport's.
    event = Change("result of tools/call", old=b"e", new=b"E")
    run = play(with_progress, HTTP, "modern", event)
    (changed,) = [frame for frame in run.recording.frames if frame.arrived_data != frame.data]
    assert changed.arrived_data.startswith(b"event: message\ndata: {")


def test_a_changed_body_disagrees_with_its_header() -> None:
    run = play(one_call, HTTP, "modern", Change("tools/call", old=b'"wait"', new=b'"steps"'))
    assert isinstance(run.error, ProtocolError)
    assert run.error.code == -32020


# Which message.


@everywhere
def test_the_nth_message_is_hit_and_no_other(transport: Transport, era: Any) -> None:
    async def four(client: Client) -> list[int]:
        outcomes: list[int] = []
        for ms in (1, 2, 3, 4):
            try:
                await client.call_tool("wait", {"ms": ms}, timeout_s=1)
                outcomes.append(ms)
            except RequestTimeout:
                outcomes.append(-ms)
        return outcomes

    assert play(four, transport, era, Drop("tools/call", nth=3)).value == [1, 2, -3, 4]
    assert play(four, transport, era, Drop("result of tools/call", nth=2)).value == [1, -2, 3, 4]


def test_a_star_counts_everything() -> None:
    whole = play(one_call, HTTP, "legacy").recording.frames
    for nth, frame in enumerate(whole, start=1):
        run = play(one_call, HTTP, "legacy", Delay("*", nth=nth, by_ms=1))
        journeys = [one.arrived_us - one.sent_us for one in run.recording.frames]
        assert journeys == [10_000] * (nth - 1) + [11_000] + [10_000] * (len(whole) - nth), frame


def test_answers_are_named_for_what_they_answer_also_errors() -> None:
    async def wrong(client: Client) -> None:
        await client.request("tools/call", {"name": "nothing", "arguments": {}}, timeout_s=1)

    run = play(wrong, STDIO, "modern", Drop("result of tools/call"))
    assert isinstance(run.error, RequestTimeout)


def test_each_client_has_its_own_ids_and_all_count_together() -> None:
    async def both(first: Client, second: Client) -> list[str]:
        outcomes: list[str] = []
        for client in (first, second):
            try:
                await client.call_tool("wait", {"ms": 1}, timeout_s=1)
                outcomes.append("answered")
            except RequestTimeout:
                outcomes.append("lost")
        return outcomes

    run = simulate_checked(
        both,
        server=desk(),
        client={"ada": Client("ada"), "ben": Client("ben")},
        faults=[Drop("result of tools/call", nth=2)],
    )
    assert run.value == ["answered", "lost"]


def test_a_member_of_a_batch_is_hit_by_its_name() -> None:
    plan = FaultPlan((Drop("tools/list"), Drop("result of ping")))
    batch = write_json(
        [{"jsonrpc": "2.0", "id": n, "method": m} for n, m in ((1, "ping"), (2, "tools/list"))]
    )
    assert plan.hit(batch, sender="a", receiver="b", connection=1) == Drop("tools/list")
    answers = write_json([{"jsonrpc": "2.0", "id": 1, "result": {}}])
    assert plan.hit(answers, sender="b", receiver="a", connection=1) == Drop("result of ping")
    assert plan.hit(answers, sender="b", receiver="a", connection=2) is None


def test_an_id_and_its_text_are_two_ids() -> None:
    plan = FaultPlan((Drop("result of ping"),))
    ask = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    plan.hit(write_json(ask), sender="a", receiver="b", connection=1)
    other = write_json({"jsonrpc": "2.0", "id": "1", "result": {}})
    assert plan.hit(other, sender="b", receiver="a", connection=1) is None


@pytest.mark.parametrize(
    "fault",
    [
        Drop("tools/call", nth=2),
        Drop("prompts/list"),
        Cut("result of tools/list"),
        Change("tools/call", old=b"not in it", new=b""),
    ],
)
def test_a_fault_without_effect_is_reported(fault: Fault) -> None:
    run = simulate_checked(one_call, server=desk(), faults=[fault, Delay("tools/call", by_ms=5)])
    assert run.unused_faults == (fault,)
    assert repr(run).endswith("finished, 1 fault without effect>")


def test_of_two_faults_for_one_message_the_first_counts() -> None:
    second = Drop("*")
    run = simulate_checked(one_call, server=desk(), faults=[Delay("tools/call", by_ms=5), second])
    assert run.unused_faults == (second,)
    assert run.value == "waited 100 ms"


# What a fault may be.


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Drop("ping", nth=0), "nth counts from 1"),
        (lambda: Delay("ping", nth=-1), "nth counts from 1"),
        (lambda: Delay("ping", by_ms=-1), "by_ms must be 0 or more"),
        (lambda: Delay("ping", by_ms=float("nan")), "by_ms must be 0 or more"),
        (lambda: Reorder("ping", by_ms=float("inf")), "by_ms must be 0 or more"),
        (lambda: Drop("ping", hop="server"), "hop is 'client-gateway' or 'gateway-server', not 'server'"),
        (lambda: Crash(), "either a message or a time"),
        (lambda: Crash("ping", at_ms=1), "either a message or a time"),
        (lambda: Crash("ping", after_ms=-1), "after_ms must be 0 or more"),
        (lambda: Crash(at_ms=float("nan")), "at_ms must be 0 or more"),
        (lambda: Crash(at_ms=1, restart_after_ms=-1), "restart_after_ms must be 0 or more"),
        (lambda: Crash(at_ms=1, nth=2), "after_ms and nth are about a message"),
        (lambda: Crash(at_ms=1, after_ms=2), "after_ms and nth are about a message"),
        (lambda: Crash("ping", hop="gateway-server"), "at a process, not on a hop"),
        (lambda: Change("ping"), "Change needs the bytes to replace"),
        (lambda: Stdio(latency_ms=-1), "latency_ms and jitter_ms must be 0 or more"),
        (lambda: StreamableHttp(jitter_ms=float("nan")), "latency_ms and jitter_ms must be 0 or more"),
        (lambda: Stdio(latency_ms=float("inf")), "latency_ms and jitter_ms must be 0 or more"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()


def test_faults_describe_themselves_in_plain_values() -> None:
    assert Drop("*", nth=3).describe() == {"fault": "drop", "message": "*", "nth": 3}
    assert Delay("a", by_ms=5).describe() == {"fault": "delay", "message": "a", "nth": 1, "by_ms": 5}
    assert Reorder("a").describe() == {"fault": "reorder", "message": "a", "nth": 1, "by_ms": 1000.0}
    far = Cut("a", hop="gateway-server").describe()
    assert far == {"fault": "cut", "message": "a", "nth": 1, "hop": "gateway-server"}
    assert Crash("a", nth=2).describe() == {"fault": "crash", "message": "a", "nth": 2}
    assert Crash("a", after_ms=5, restart_after_ms=0, process="server-2").describe() == {
        "fault": "crash",
        "message": "a",
        "nth": 1,
        "after_ms": 5,
        "restart_after_ms": 0,
        "process": "server-2",
    }
    assert Crash(at_ms=0).describe() == {"fault": "crash", "at_ms": 0}
    shown = Change("a", old=b"\xff", new=b"x").describe()
    assert shown == {"fault": "change", "message": "a", "nth": 1, "old": "\ufffd", "new": "x"}


# Hops, and processes.

CALL = write_json({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}})
ANSWER = write_json({"jsonrpc": "2.0", "id": 1, "result": {}})


def test_each_hop_counts_for_itself() -> None:
    near, far = Drop("tools/call", nth=2), Drop("tools/call", nth=2, hop="gateway-server")
    plan = FaultPlan((near, far), ("client",))
    hops = [("client", "gateway", 1), ("gateway", "server", 2)] * 2
    hit = [plan.hit(CALL, sender=one, receiver=other, connection=n) for one, other, n in hops]
    assert hit == [None, None, near, far]
    assert plan.unused() == ()


def test_without_a_gateway_the_only_hop_is_the_one_at_the_client() -> None:
    plan = FaultPlan((Drop("tools/call", hop="client-gateway"), Drop("tools/call", hop="gateway-server")))
    assert plan.hit(CALL, sender="client", receiver="server", connection=1) is not None
    assert len(plan.unused()) == 1


def test_a_crash_is_nothing_that_happens_on_the_way() -> None:
    crash = Crash("result of tools/call")
    plan = FaultPlan((crash,))
    assert not plan
    assert plan.crashes == (crash,)
    assert plan.hit(CALL, sender="client", receiver="server", connection=1) is None
    where = {"connection": 1, "process": "server"}
    assert plan.crash(CALL, sender="client", receiver="server", **where) is None
    assert plan.crash(ANSWER, sender="server", receiver="client", **where) is crash
    # It is used when the process has died of it, and not before.
    assert plan.unused() == (crash,)
    plan.happened(crash)
    assert plan.unused() == ()


def test_a_crash_is_of_the_process_that_it_names() -> None:
    named, anywhere = Crash("tools/call", process="server-2"), Crash("tools/call", nth=2)
    plan = FaultPlan((named, anywhere))

    def reach(process: str) -> Fault | None:
        return plan.crash(CALL, sender="gateway", receiver=process, connection=1, process=process)

    assert [reach("gateway"), reach("server-1"), reach("server-2")] == [None, None, named]
    assert reach("server-1") is None
    assert FaultPlan((Crash("*", process="gateway"),)).crash(
        b"no JSON", sender="client", receiver="gateway", connection=1, process="gateway"
    )
