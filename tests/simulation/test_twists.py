"""A twist changes what a peer sends, before it counts as sent."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim import Client, Server, Stdio, StreamableHttp, simulate
from mcpsim.course import help_desk
from mcpsim.course.misbehaving.changing import (
    add_after,
    add_before,
    change_result,
    dropped,
    on_nth,
    only_from,
    raw_bytes,
    request_header,
    response_header,
    response_status,
    set_in_params,
    twice,
    unanswered,
    with_memory,
    without_in_result,
)
from mcpsim.errors import ConnectionClosed, ProtocolError, RequestTimeout, UnexpectedResponse
from mcpsim.simulation import Run
from mcpsim.transports.twists import MakeTwist, Outgoing

WAYS = pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])
NOTE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "so"}}


async def list_twice(client: Client) -> int:
    await client.list_tools()
    await client.list_tools()
    return 2


async def by_hand(client: Client) -> Any:
    return await client.request("tools/list", {})


def play(
    twist: MakeTwist | None, transport: Stdio | StreamableHttp, story: Any = list_twice, **more: Any
) -> Run:
    more.setdefault("era", "modern")
    return simulate(story, server=help_desk(), transport=transport, twist=twist, check=False, **more)


def lists(run: Run) -> list[dict[str, Any]]:
    frames = [frame.parsed for frame in run.recording.frames if frame.sender == "server"]
    return [one.result for one in frames if one is not None and hasattr(one, "result")]  # type: ignore[union-attr]


@WAYS
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_twist_that_changes_nothing_leaves_every_byte(transport: Stdio | StreamableHttp, era: str) -> None:
    plain = play(None, transport, era=era)
    assert play(lambda: lambda one: None, transport, era=era).recording == plain.recording
    assert play(lambda: lambda one: one, transport, era=era).recording == plain.recording


@WAYS
def test_what_is_changed_is_what_was_sent(transport: Stdio | StreamableHttp) -> None:
    run = play(without_in_result("tools/list", "ttlMs"), transport)
    assert ["ttlMs" in one for one in lists(run)] == [False, False]
    assert not any(frame.arrived_data != frame.data for frame in run.recording.frames)
    run = play(on_nth(2, without_in_result("tools/list", "ttlMs")), transport)
    assert ["ttlMs" in one for one in lists(run)] == [True, False]


@WAYS
def test_each_run_has_a_twist_of_its_own(transport: Stdio | StreamableHttp) -> None:
    twist = on_nth(1, without_in_result("tools/list", "ttlMs"))
    assert play(twist, transport).recording == play(twist, transport).recording


@WAYS
def test_the_other_peer_meets_it_as_any_other_message(transport: Stdio | StreamableHttp) -> None:
    run = play(set_in_params("tools/list", "cursor", to="made up"), transport)
    assert isinstance(run.error, ProtocolError)
    assert run.error.code == -32602


@WAYS
def test_an_answer_that_is_not_sent(transport: Stdio | StreamableHttp) -> None:
    run = play(unanswered("tools/list"), transport)
    expected = RequestTimeout if isinstance(transport, Stdio) else ConnectionClosed
    assert isinstance(run.error, expected)
    assert lists(run) == []


@WAYS
def test_a_request_that_is_not_sent(transport: Stdio | StreamableHttp) -> None:
    run = play(dropped("tools/list"), transport)
    expected = RequestTimeout if isinstance(transport, Stdio) else UnexpectedResponse
    assert isinstance(run.error, expected)
    assert not any(b"tools/list" in frame.data for frame in run.recording.frames)


@WAYS
def test_one_more_message_of_the_server(transport: Stdio | StreamableHttp) -> None:
    for twist in (add_before("tools/list", lambda _: NOTE), add_after("tools/list", lambda _: NOTE)):
        run = play(twist, transport)
        assert run.error is None
        assert len(lists(run)) == 2
        bodies = [frame.body for frame in run.recording.frames if frame.sender == "server"]
        assert sum(b"notifications/message" in body for body in bodies) == 2
    first = next(frame for frame in run.recording.frames if frame.sender == "server")
    if first.is_http:
        assert first.head is not None
        assert ["Content-Type", "text/event-stream"] in first.head["headers"]
        closed = [event.detail for event in run.recording.events if event.kind == "closed"]
        assert {"what": "exchange", "how": "complete"} in closed


@WAYS
def test_one_more_message_of_the_client(transport: Stdio | StreamableHttp) -> None:
    again = add_after("tools/list", lambda letter: {**letter.message, "id": "extra"}, "request")
    run = play(again, transport)
    assert run.error is None
    assert len(lists(run)) == 4
    extra = [frame for frame in run.recording.frames if b'"id":"extra"' in frame.data]
    assert [frame.fate for frame in extra] == ["delivered"] * len(extra)


def test_headers_of_one_more_request_fit_it() -> None:
    def more(letter: Any) -> dict[str, Any]:
        meta = letter.message["params"]["_meta"]
        params = {"name": "get_ticket", "arguments": {}, "_meta": meta}
        return {"jsonrpc": "2.0", "id": "extra", "method": "tools/call", "params": params}

    run = play(add_after("tools/list", more, "request"), StreamableHttp(), by_hand)
    frames = [frame for frame in run.recording.frames if frame.sender == "client"]
    (head,) = (frame.head for frame in frames if b"get_ticket" in frame.data and frame.head)
    assert {"Mcp-Method": "tools/call", "Mcp-Name": "get_ticket"}.items() <= dict(head["headers"]).items()


def test_heads() -> None:
    run = play(request_header("Mcp-Method", "ping", "tools/list"), StreamableHttp())
    assert isinstance(run.error, ProtocolError)
    assert run.error.code == -32020
    run = play(request_header("Mcp-Method", None), StreamableHttp())
    assert isinstance(run.error, ProtocolError)
    assert run.error.code == -32020
    heads = [
        frame.head or {}
        for frame in play(response_status(404, "tools/list"), StreamableHttp(), by_hand).recording.frames
    ]
    assert [head.get("status") for head in heads] == [None, 404]
    run = play(response_header("X-So", "yes"), StreamableHttp(), by_hand)
    assert ["X-So", "yes"] in (run.recording.frames[1].head or {})["headers"]


def test_bytes_without_framing() -> None:
    run = play(raw_bytes("tools/list", lambda data: data[:9], framed=False), Stdio(), by_hand)
    assert [frame.data for frame in run.recording.frames if frame.sender == "server"] == [b'{"jsonrpc']


def test_an_event_keeps_its_id_and_another_one_may_come_first() -> None:
    async def call(client: Client) -> Any:
        return await client.call_tool("work", {}, on_progress=lambda *given: None)

    def server() -> Server:
        built = Server("desk")

        @built.tool()
        async def work(context: Any) -> str:  # pyright: ignore[reportUnusedFunction]
            await context.report_progress(1)
            return "done"

        return built

    def play_it(twist: MakeTwist | None) -> Run:
        transport = StreamableHttp(resumable=True)
        return simulate(call, server=server(), transport=transport, twist=twist, era="legacy", check=False)

    plain = play_it(None)
    ids = [frame.data.split(b"\n")[1] for frame in plain.recording.frames if b"data: {" in frame.data]
    for twist in (
        change_result("tools/call", lambda result: {**result, "more": 1}),
        only_from("server", change_result("tools/call", lambda result: {**result, "more": 1})),
    ):
        run = play_it(twist)
        changed = [frame.data for frame in run.recording.frames if b"data: {" in frame.data]
        assert [data.split(b"\n")[1] for data in changed] == ids
        assert b'"more":1' in changed[-1]
    run = play_it(dropped("notifications/progress"))
    assert run.error is None
    assert not any(b"notifications/progress" in frame.data for frame in run.recording.frames)


def test_the_head_of_a_stream_goes_with_what_is_left_of_it() -> None:
    first = twice("tools/list")

    def only_the_second() -> Any:
        inner = first()

        def twist(one: Outgoing) -> Any:
            given = inner(one)
            return None if given is None else list(given)  # type: ignore[arg-type]

        return twist

    run = play(only_the_second, StreamableHttp(), by_hand)
    heads = [frame.head is not None for frame in run.recording.frames if frame.sender == "server"]
    assert heads == [True, False]


def test_two_bodies_in_one_plain_response_are_refused() -> None:
    def both(one: Outgoing) -> Any:
        return [one, one] if one.sender == "server" else None

    with pytest.raises(ValueError, match="Make it one"):
        simulate(by_hand, server=help_desk(), transport=StreamableHttp(), twist=lambda: both)


def test_a_twist_with_a_memory() -> None:
    def make() -> Any:
        seen: list[str] = []

        def change(letter: Any) -> Any:
            seen.append(letter.kind)
            if letter.kind != "result":
                return None
            return letter.out.with_message({**letter.message, "result": {"seen": list(seen)}})

        return change

    run = play(with_memory(make), Stdio(), by_hand)
    assert run.value == {"seen": ["request", "result"]}
