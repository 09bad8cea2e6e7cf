"""Which replica gets a request, and what that does to a legacy session and to the modern protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from mcpsim import Client, Context, Run, Server, StreamableHttp, simulate
from mcpsim.errors import UnexpectedResponse
from mcpsim.gateway import Gateway, Untrusted, by_header, by_turns
from mcpsim.transports.faults import Crash
from mcpsim.transports.http import Headers
from tests.support.checked import simulate_checked


def desk() -> Server:
    server = Server("desk")

    @server.tool()
    async def one() -> str:
        return "1"

    @server.tool()
    async def two() -> str:
        return "2"

    @server.tool()
    async def ask(context: Context) -> str:
        answer = await context.elicit(
            "Go on?", {"type": "object", "properties": {"yes": {"type": "boolean"}}}
        )
        return answer.action

    return server


def play(story: Callable[..., Any], **more: Any) -> Run:
    given = {"server": desk(), "replicas": 3, "transport": StreamableHttp(latency_ms=5), **more}
    return simulate_checked(story, **given)


def play_astray(story: Callable[..., Any], **more: Any) -> Run:
    """As `play`, where a session's messages come to a replica that never saw its handshake: from that one's
    point of view nobody can tell by which revision to check them."""
    given = {"server": desk(), "replicas": 3, "transport": StreamableHttp(latency_ms=5), **more}
    return simulate(story, **given)


def reached(run: Run) -> list[str]:
    """The replicas, in the order in which they were asked."""
    return [
        frame.receiver
        for frame in run.recording.frames
        if frame.sender == "gateway" and "server" in frame.receiver
    ]


def states(run: Run) -> list[Any]:
    return [
        event.detail for event in run.recording.events if (event.kind, event.party) == ("state", "gateway")
    ]


async def call_thrice(*clients: Client) -> list[str]:
    texts: list[str] = []
    for _ in range(3):
        for client in clients:
            texts.append((await client.call_tool("one")).content[0].text)
    return texts


def test_modern_requests_go_by_turns_and_every_replica_will_do() -> None:
    run = play(call_thrice, gateway=Gateway())
    assert run.recording.parties == ("client", "gateway", "server-1", "server-2", "server-3")
    assert reached(run) == ["server-1", "server-2", "server-3"]
    assert run.value == ["1", "1", "1"]


def test_the_rounds_of_one_modern_request_may_go_to_different_replicas() -> None:
    async def story(client: Client) -> str:
        question = await client.request("tools/call", {"name": "ask", "arguments": {}})
        (key,) = question["inputRequests"]
        answer = {key: {"action": "accept", "content": {"yes": True}}}
        retry = {
            "name": "ask",
            "arguments": {},
            "inputResponses": answer,
            "requestState": question["requestState"],
        }
        return (await client.request("tools/call", retry))["content"][0]["text"]

    run = play(story, gateway=Gateway(), client=Client(capabilities={"elicitation": {"form": {}}}))
    assert reached(run) == ["server-1", "server-2"]
    assert run.value == "accept"


def test_a_legacy_session_is_lost_on_the_next_replica() -> None:
    async def story(client: Client) -> list[str]:
        return await call_thrice(client)

    run = play_astray(story, gateway=Gateway(), era="legacy", check=False)
    assert isinstance(run.error, UnexpectedResponse)
    statuses = [
        frame.head["status"]
        for frame in run.recording.frames
        if frame.sender == "server-2" and frame.head is not None and "status" in frame.head
    ]
    assert statuses == [404]


def test_a_sticky_gateway_keeps_a_legacy_session_where_it_began() -> None:
    ann, ben = Client(era="legacy"), Client(era="legacy")
    run = play(call_thrice, gateway=Gateway(sticky=True), client={"ann": ann, "ben": ben})
    assert run.value == ["1"] * 6
    places = {
        (frame.connection, frame.receiver)
        for frame in run.recording.frames
        if frame.sender == "gateway" and frame.receiver.startswith("server")
    }
    assert len(places) == 2
    assert {place for _, place in places} == {"server-1", "server-2"}
    # Two began, and DELETE ended both, the younger first.
    assert [sorted(state["sessions"].values()) for state in states(run)] == [
        ["server-1"],
        ["server-1", "server-2"],
        ["server-1"],
        [],
    ]


def test_where_the_replica_of_a_session_is_dead_the_next_one_says_404_and_the_client_begins_anew() -> None:
    async def story(client: Client) -> list[str]:
        first = await call_thrice(client)
        await anyio.sleep(1)
        return first + await call_thrice(client)

    run = play_astray(
        story,
        gateway=Gateway(sticky=True),
        era="legacy",
        faults=[Crash(at_ms=500, process="server-1")],
    )
    assert run.value == ["1"] * 6
    tried = reached(run)
    gone = tried.index("server-2")
    assert set(tried[:gone]) == {"server-1"}
    # The new session is another replica's, and stays there.
    assert len(set(tried[gone + 1 :])) == 1
    # The gateway did nothing wrong, and is not accused.
    (found,) = run.audit().findings
    assert (found.rule, found.level) == ("initialize-is-first", "note")
    assert "It is in a session that was begun on another connection, or before the trace." in found.message


def test_requests_of_one_name_go_to_one_replica() -> None:
    async def story(client: Client) -> None:
        for name in ("one", "two") * 3:
            await client.call_tool(name)

    run = play(story, gateway=Gateway(choose=by_header("Mcp-Name")))
    asked = reached(run)
    assert asked[0::2] == [asked[0]] * 3
    assert asked[1::2] == [asked[1]] * 3


def test_headers_that_nobody_compares_decide_nothing() -> None:
    async def story(client: Client) -> str:
        with pytest.raises(UnexpectedResponse) as error:
            await client.connect()
        return str(error.value)

    run = play(
        story,
        gateway=Gateway(choose=by_header("Mcp-Name")),
        client=Client(era="legacy"),
        connect=False,
        check=False,
    )
    assert reached(run) == []
    statuses = [
        frame.head["status"] for frame in run.recording.frames if frame.head and "status" in frame.head
    ]
    assert statuses == [400]


def test_by_header_by_itself() -> None:
    choose = by_header("Mcp-Param-Region")
    modern = Headers({"MCP-Protocol-Version": "2026-07-28"})
    assert [choose(modern, turn, 3) for turn in range(4)] == [0, 1, 2, 0]
    there = choose(modern.with_("Mcp-Param-Region", "eu"), 0, 3)
    assert all(choose(modern.with_("mcp-param-region", "eu"), turn, 3) == there for turn in range(5))
    encoded = modern.with_("Mcp-Param-Region", "=?base64?ZXU=?=")
    assert all(choose(encoded, turn, 3) == there for turn in range(5))
    with pytest.raises(Untrusted, match="Base64"):
        choose(modern.with_("Mcp-Param-Region", "=?base64?ZXU?="), 0, 3)
    with pytest.raises(Untrusted, match="no version"):
        choose(Headers(), 0, 3)
    with pytest.raises(Untrusted, match="2025-11-25"):
        choose(Headers({"MCP-Protocol-Version": "2025-11-25"}), 0, 3)
    assert [by_turns(Headers(), turn, 2) for turn in range(3)] == [0, 1, 0]


def test_only_headers_that_may_be_in_base64_are_read_so() -> None:
    """https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding"""
    modern = Headers({"MCP-Protocol-Version": "2026-07-28"})
    by_name, by_method = by_header("mcp-name"), by_header("Mcp-Method")
    # Twelve replicas, so that two values seldom meet by chance.
    assert by_name(modern.with_("Mcp-Name", "=?base64?b25l?="), 0, 12) == by_name(
        modern.with_("Mcp-Name", "one"), 0, 12
    )
    assert by_method(modern.with_("Mcp-Method", "=?base64?b25l?="), 0, 12) != by_method(
        modern.with_("Mcp-Method", "one"), 0, 12
    )


def test_a_replica_that_refuses_the_connection_is_passed_over() -> None:
    run = play(call_thrice, gateway=Gateway(), faults=[Crash(at_ms=0, process="server-2")])
    assert run.value == ["1", "1", "1"]
    assert reached(run) == ["server-1", "server-2", "server-3", "server-3"]
    refused = [frame for frame in run.recording.frames if frame.receiver == "server-2"]
    assert [frame.why for frame in refused] == ["nobody listens there: the process is dead"]


def test_where_all_replicas_are_dead_it_is_a_502() -> None:
    async def story(client: Client) -> str:
        with pytest.raises(UnexpectedResponse) as error:
            await client.call_tool("one")
        return str(error.value)

    crashes = [Crash(at_ms=0, process=f"server-{n}") for n in (1, 2, 3)]
    run = play(story, gateway=Gateway(), faults=crashes)
    assert run.value == "HTTP 502 with no JSON-RPC body."
    assert sorted(reached(run)) == ["server-1", "server-2", "server-3"]
