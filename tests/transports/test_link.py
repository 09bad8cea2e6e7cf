"""The in-process pair: order, latency, closing, and what is recorded. On the virtual clock, without peers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpsim import Change, Cut, Delay, Drop, Duplicate, Reorder, Stdio, StreamableHttp
from mcpsim.errors import ConnectionClosed
from mcpsim.recording import Recorder, Recording
from mcpsim.simulation import VirtualTimeLoop
from mcpsim.transports.faults import Fault, FaultPlan
from mcpsim.transports.http import Headers, HttpHead, HttpRequest, sse_event
from mcpsim.transports.link import BURST, End, HttpLink, Transport, Wiring, stdio_pair
from mcpsim.transports.streams import HttpReply

STREAM = HttpHead(200, Headers({"Content-Type": "text/event-stream"}))
JSON = HttpHead(200, Headers({"Content-Type": "application/json"}))
POST = HttpRequest("POST", "/mcp", Headers({"Content-Type": "application/json"}), b"{}")


def play(
    body: Callable[[Wiring], Any], transport: Transport | None = None, faults: tuple[Fault, ...] = ()
) -> tuple[Any, Recording]:
    """Run `body` on a loop of its own; returns its value and what the link recorded."""
    loop = VirtualTimeLoop()
    recorder = Recorder(loop.microseconds)
    transport = transport or Stdio(latency_ms=10)
    wiring = Wiring(loop.microseconds, loop.set_alarm, recorder, transport, FaultPlan(faults), "seed")
    try:
        task = loop.create_task(body(wiring))
        loop.run_until(task.done)
        return task.result(), recorder.recording({"title": "link"})
    finally:
        loop.cancel_all()


async def everything(end: End) -> list[bytes]:
    """What arrives until the end; b"" at last where the connection broke."""
    found: list[bytes] = []
    while True:
        try:
            found.append(await end.receive())
        except anyio.EndOfStream:
            return found
        except ConnectionClosed:
            return [*found, b""]


# stdio


def test_bytes_arrive_as_they_were_sent_one_latency_later() -> None:
    async def body(wiring: Wiring) -> tuple[list[bytes], float]:
        client, server, connection = stdio_pair(wiring, "client", "server")
        await client.send(b"not json \xff\n")
        await client.send(b"half a li")
        await client.send(b"")
        await client.aclose()
        assert connection == 1
        return await everything(server), anyio.current_time()

    (found, at_s), recording = play(body)
    assert found == [b"not json \xff\n", b"half a li", b""]
    assert at_s == 0.01
    assert [(event.kind, event.at_us) for event in recording.events] == [
        ("sent", 0),
        ("sent", 0),
        ("sent", 0),
        ("closed", 0),
        ("delivered", 10_000),
        ("delivered", 10_000),
        ("delivered", 10_000),
    ]


def test_a_closed_end_sends_no_more_and_may_be_closed_twice() -> None:
    async def body(wiring: Wiring) -> None:
        client, server, _ = stdio_pair(wiring, "client", "server")
        await client.aclose()
        await client.aclose()
        with pytest.raises(ConnectionClosed):
            await client.send(b"late\n")
        assert await everything(server) == []
        await server.send(b"still possible\n")
        await server.aclose()
        assert await everything(client) == [b"still possible\n"]

    _, recording = play(body)
    closed = [event.detail for event in recording.events if event.kind == "closed"]
    assert closed == [{"what": "stdin", "how": "closed"}, {"what": "stdout", "how": "closed"}]


def test_sending_without_waiting_says_when_it_cannot() -> None:
    async def body(wiring: Wiring) -> None:
        client, server, _ = stdio_pair(wiring, "client", "server")
        for number in range(BURST):
            assert client.send_now(b"%d\n" % number)
        assert not client.send_now(b"one too many\n")
        await client.aclose()
        assert not client.send_now(b"late\n")
        assert len(await everything(server)) == BURST
        client.outgoing.break_off("it was cut")
        assert not client.send_now(b"too late\n")

    _, recording = play(body)
    assert len(recording.frames) == BURST


def test_a_stream_is_quiet_when_nothing_is_on_its_way_to_it() -> None:
    async def body(wiring: Wiring) -> None:
        wiring.is_quiet = lambda: True
        client, server, _ = stdio_pair(wiring, "client", "server")
        assert client.is_quiet()
        await client.send(b"a\n")
        assert client.is_quiet()
        assert not server.is_quiet()
        assert await server.receive() == b"a\n"
        assert server.is_quiet()
        wiring.is_quiet = lambda: False
        assert not server.is_quiet()

    play(body)


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.binary(min_size=1, max_size=5)), max_size=15),
    st.integers(0, 100),
    st.booleans(),
)
def test_a_pipe_keeps_its_order_whatever_the_jitter(
    sends: list[tuple[int, bytes]], jitter_ms: int, to_server: bool
) -> None:
    async def body(wiring: Wiring) -> list[bytes]:
        client, server, _ = stdio_pair(wiring, "client", "server")
        sender, receiver = (client, server) if to_server else (server, client)

        async def send() -> None:
            for pause_ms, data in sends:
                await anyio.sleep(pause_ms / 1000)
                await sender.send(data)
            await sender.aclose()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            return await everything(receiver)

    found, recording = play(body, Stdio(latency_ms=5, jitter_ms=jitter_ms))
    assert found == [data for _, data in sends]
    for frame in recording.frames:
        assert frame.arrived_us is not None
        assert frame.arrived_us - frame.sent_us >= 5000
    arrivals = [frame.arrived_us for frame in recording.frames]
    assert arrivals == sorted(arrivals, key=lambda at_us: at_us or 0)


FAULTS = st.one_of(
    st.builds(Drop, st.just("*"), nth=st.integers(1, 6)),
    st.builds(Delay, st.just("*"), nth=st.integers(1, 6), by_ms=st.integers(0, 50)),
    st.builds(Reorder, st.just("*"), nth=st.integers(1, 6), by_ms=st.integers(0, 50)),
    st.builds(Duplicate, st.just("*"), nth=st.integers(1, 6)),
    st.builds(
        Change, st.just("*"), nth=st.integers(1, 6), old=st.just(b"n"), new=st.sampled_from([b"", b"nn"])
    ),
    st.builds(Cut, st.just("*"), nth=st.integers(1, 6)),
)


@settings(max_examples=150)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.lists(FAULTS, max_size=4))
def test_every_frame_has_one_end_and_the_receiver_gets_what_the_recording_says(
    pauses: list[int], faults: list[Fault]
) -> None:
    async def body(wiring: Wiring) -> list[bytes]:
        client, server, _ = stdio_pair(wiring, "client", "server")

        async def send() -> None:
            for number, pause_ms in enumerate(pauses):
                await anyio.sleep(pause_ms / 1000)
                try:
                    await client.send(b"n%d\n" % number)
                except ConnectionClosed:
                    return
            await client.aclose()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            return await everything(server)

    found, recording = play(body, faults=tuple(faults))
    ends: dict[int, int] = {}
    for event in recording.events:
        if event.kind in ("delivered", "dropped"):
            ends[event.frame] = ends.get(event.frame, 0) + 1
    assert ends == {frame.number: 1 for frame in recording.frames}
    order = [event.frame for event in recording.events if event.kind == "delivered"]
    arrived = b"".join(recording.frames[number - 1].arrived_data for number in order)
    assert b"".join(found) == arrived
    assert recording == Recording.from_jsonl(recording.to_jsonl())


def test_a_sender_that_never_waits_gives_control_back_in_the_end() -> None:
    async def body(wiring: Wiring) -> int:
        client, _, _ = stdio_pair(wiring, "client", "server")
        sent = 0

        async def flood() -> None:
            nonlocal sent
            while True:
                await client.send(b"x")
                sent += 1

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(flood)
            await anyio.sleep(0)
            await anyio.sleep(0)
            tasks.cancel_scope.cancel()
        return sent

    sent, _ = play(body)
    assert BURST <= sent < BURST + 10


# HTTP


def http(
    answer: Callable[[HttpReply], Any], ask: Callable[[HttpLink, TaskGroup], Any], *faults: Fault
) -> tuple[Any, Recording]:
    """One endpoint that answers every request with `answer`, and a client that does `ask`."""

    async def handle(request: HttpRequest, reply: HttpReply) -> None:
        await answer(reply)

    async def body(wiring: Wiring) -> Any:
        value: Any = None
        async with anyio.create_task_group() as tasks:
            value = await ask(HttpLink(wiring, "client", "server", handle, tasks), tasks)
            with anyio.move_on_after(10):
                await anyio.sleep_forever()
            tasks.cancel_scope.cancel()
        return value

    return play(body, StreamableHttp(latency_ms=10), faults)


async def whole(link: HttpLink, tasks: TaskGroup) -> tuple[int, bytes]:
    exchange = await link.open(POST)
    head = await exchange.head()
    body = b""
    while True:
        try:
            body += await exchange.receive()
        except anyio.EndOfStream:
            break
    with pytest.raises(anyio.EndOfStream):
        await exchange.receive()
    return head.status, body


async def plain(reply: HttpReply) -> None:
    await reply.send(JSON, b'{"n":1}')
    await reply.end()
    await reply.end()


async def streamed(reply: HttpReply) -> None:
    for number in range(3):
        await reply.send(STREAM if number == 0 else None, sse_event(b"%d" % number))
        await anyio.sleep(0.05)
    await reply.end()


def test_a_json_response_is_one_frame_and_needs_no_closing() -> None:
    value, recording = http(plain, whole)
    assert value == (200, b'{"n":1}')
    assert [event.kind for event in recording.events] == ["sent", "delivered", "sent", "delivered"]
    assert [frame.exchange for frame in recording.frames] == [1, 1]
    assert recording.frames[0].head == {
        "method": "POST",
        "path": "/mcp",
        "headers": [["Content-Type", "application/json"]],
    }
    assert recording.frames[1].head == {"status": 200, "headers": [["Content-Type", "application/json"]]}


def test_only_the_first_event_of_a_stream_carries_the_head() -> None:
    value, recording = http(streamed, whole)
    assert value == (200, b"".join(sse_event(b"%d" % number) for number in range(3)))
    assert [frame.head is None for frame in recording.frames] == [False, False, True, True]
    assert [frame.body for frame in recording.frames] == [b"{}", b"0", b"1", b"2"]
    assert [event.detail for event in recording.events if event.kind == "closed"] == [
        {"what": "exchange", "how": "complete"}
    ]


def test_an_endpoint_that_ends_without_a_response_is_an_error() -> None:
    async def nothing(reply: HttpReply) -> None:
        await reply.end()

    async def ask(link: HttpLink, tasks: TaskGroup) -> None:
        exchange = await link.open(POST)
        with pytest.raises(ConnectionClosed, match="without a response"):
            await exchange.head()

    http(nothing, ask)


def test_the_server_learns_of_an_abort_one_latency_later() -> None:
    noticed: list[float] = []

    async def slow(reply: HttpReply) -> None:
        reply.on_abort(lambda: noticed.append(anyio.current_time()))
        await streamed(reply)
        reply.on_abort(lambda: noticed.append(-1.0))

    async def ask(link: HttpLink, tasks: TaskGroup) -> None:
        exchange = await link.open(POST)
        await exchange.head()
        await anyio.sleep(0.04)
        exchange.abort()
        exchange.abort()
        assert (await exchange.receive()) == sse_event(b"0")
        with pytest.raises(ConnectionClosed):
            await exchange.receive()

    _, recording = http(slow, ask)
    # Open at 0, head at 20, abort at 60, noticed at 70; and at once by whoever asks later.
    assert [round(at_s, 3) for at_s in noticed] == [0.07, -1.0]
    assert [event.detail for event in recording.events if event.kind == "closed"] == [
        {"what": "exchange", "how": "aborted"}
    ]
    # What was on its way is lost; what the server would have sent afterwards never leaves.
    assert [frame.fate for frame in recording.frames] == ["delivered", "delivered", "dropped"]
    assert recording.frames[2].why == "the client closed the response stream"


def test_an_exchange_that_is_over_cannot_be_aborted() -> None:
    async def ask(link: HttpLink, tasks: TaskGroup) -> None:
        exchange = await link.open(POST)
        await exchange.head()
        while True:
            try:
                await exchange.receive()
            except anyio.EndOfStream:
                break
        exchange.abort()

    _, recording = http(plain, ask)
    assert [event.kind for event in recording.events] == ["sent", "delivered", "sent", "delivered"]


@pytest.mark.parametrize("fault", [Drop("*", nth=1), Drop("*", nth=2)])
def test_a_lost_request_or_response_is_silence(fault: Fault) -> None:
    async def ask(link: HttpLink, tasks: TaskGroup) -> str:
        exchange = await link.open(POST)
        with anyio.move_on_after(5):
            await exchange.head()
            return "a head"
        return "silence"

    assert http(plain, ask, fault)[0] == "silence"


def test_the_head_of_a_stream_comes_with_whatever_arrives_first() -> None:
    first, second, third = (sse_event(b"%d" % number) for number in range(3))
    assert http(streamed, whole, Drop("*", nth=2))[0] == (200, second + third)
    assert http(streamed, whole, Reorder("*", nth=2, by_ms=70))[0] == (200, second + first + third)
    assert http(streamed, whole, *(Drop("*", nth=n) for n in (2, 3, 4)))[0] == (200, b"")


def test_exchanges_are_independent_of_each_other() -> None:
    async def ask(link: HttpLink, tasks: TaskGroup) -> list[int]:
        order: list[int] = []

        async def one(number: int) -> None:
            await whole(link, tasks)
            order.append(number)

        async with anyio.create_task_group() as both:
            both.start_soon(one, 1)
            both.start_soon(one, 2)
        return order

    assert http(plain, ask, Delay("*", nth=1, by_ms=100))[0] == [2, 1]


def test_a_doubled_request_is_an_exchange_of_its_own_that_nobody_reads() -> None:
    value, recording = http(plain, whole, Duplicate("*", nth=1))
    assert value == (200, b'{"n":1}')
    shown = [(frame.exchange, frame.copy_of, frame.fate) for frame in recording.frames]
    assert shown == [(1, 0, "delivered"), (2, 1, "delivered"), (1, 0, "delivered"), (2, 0, "dropped")]
