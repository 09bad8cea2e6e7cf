"""Who takes part in a run: clients, a gateway, replicas, and the host."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import anyio
import pytest

from mcpsim import (
    Client,
    Context,
    Drop,
    McpSimError,
    ProtocolError,
    Recording,
    Server,
    Simulation,
    Stdio,
    StreamableHttp,
    simulate,
)
from mcpsim.gateway import Gateway
from mcpsim.recording.exporting import to_interchange
from mcpsim.transports.faults import Crash
from mcpsim.widgets.still import still_svg
from tests.support.checked import simulate_checked

SHAKY = StreamableHttp(latency_ms=5, jitter_ms=20)


def desk() -> Server:
    server = Server("desk", ttl_ms=1000, cache_scope="public")

    @server.tool()
    async def whoami(context: Context) -> str:
        await anyio.sleep(0.01)
        return context.principal

    @server.tool()
    async def steps(context: Context, n: int = 3) -> str:
        for step in range(1, n + 1):
            await anyio.sleep(0.05)
            await context.report_progress(step, n)
        return "stepped"

    return server


async def who(*clients: Client) -> list[str]:
    found: list[str] = []

    async def ask(client: Client) -> None:
        await client.list_tools()
        result = await client.call_tool("whoami")
        found.append(result.content[0].text)

    async with anyio.create_task_group() as tasks:
        for client in clients:
            tasks.start_soon(ask, client)
    return sorted(found)


def crowd(n: int = 3) -> dict[str, Client]:
    return {f"client-{number}": Client(principal=f"p{number}") for number in range(1, n + 1)}


def test_lanes_stand_in_order_and_the_header_tells_of_the_gateway() -> None:
    run = simulate_checked(who, server=desk(), client=crowd(2), gateway=Gateway(sticky=True), replicas=2)
    header = run.recording.header
    assert header["parties"] == ["client-1", "client-2", "gateway", "server-1", "server-2"]
    assert header["transport"] == "http"
    assert (header["gateway"], header["replicas"]) == ({"cache": True, "sticky": True}, 2)
    assert run.value == ["p1", "p2"]
    assert Recording.from_jsonl(run.recording.to_jsonl()) == run.recording


def test_rules_of_its_own_are_named_in_the_header() -> None:
    def share_everything(result: Any) -> bool:
        return True

    described = Gateway(may_share=share_everything, cache=False).describe()
    assert described["cache"] is False
    assert described["may_share"].endswith("share_everything")


def test_without_a_gateway_the_header_says_nothing_of_one() -> None:
    run = simulate(who, server=desk(), transport=StreamableHttp())
    assert run.recording.header["parties"] == ["client", "server"]
    assert not {"gateway", "replicas"} & run.recording.header.keys()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"gateway": Gateway(), "transport": Stdio()}, "A gateway stands between HTTP peers"),
        ({"replicas": 2, "transport": StreamableHttp()}, "Several replicas need somebody"),
        ({"replicas": 0, "gateway": Gateway()}, "one replica at least, not 0"),
        ({"client": {"gateway": Client()}, "gateway": Gateway()}, "none may be named 'gateway'"),
        (
            {"client": {"server-2": Client()}, "gateway": Gateway(), "replicas": 2},
            "none may be named 'server-2'",
        ),
        ({"client": {"server": Client()}}, "none may be named 'server'"),
        ({"client": {}}, "There must be a client"),
        ({"faults": [Crash(at_ms=1, process="server-3")], "gateway": Gateway()}, "no process 'server-3'"),
        ({"faults": [Crash(at_ms=1, restart_after_ms=1)], "transport": Stdio()}, "only the host starts"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        simulate(who, server=desk(), **arguments)


def test_the_same_run_gives_the_same_recording_in_every_process() -> None:
    program = (
        "import sys; sys.path[:0] = ['.']\n"
        "from tests.simulation.test_world import shaken\n"
        "print(shaken('a').recording.sha256())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            check=True,
            encoding="utf-8",
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {shaken("a").recording.sha256()}
    assert found != {shaken("b").recording.sha256()}


def shaken(seed: str) -> Any:
    async def story(*clients: Client) -> None:
        async with anyio.create_task_group() as tasks:
            for client in clients:
                tasks.start_soon(busy, client)

    async def busy(client: Client) -> None:
        for _ in range(3):
            try:
                await client.list_tools()
                await client.call_tool("steps", timeout_s=1, on_progress=lambda *progress: None)
            except McpSimError:
                await anyio.sleep(0.05)

    return simulate(
        story,
        server=desk(),
        client=crowd(),
        gateway=Gateway(),
        replicas=2,
        transport=SHAKY,
        seed=seed,
        faults=[
            Crash("result of tools/call", nth=2, restart_after_ms=100),
            Crash("tools/call", nth=4, after_ms=60, restart_after_ms=50),
            Crash(at_ms=420, process="gateway", restart_after_ms=20),
        ],
    )


def test_each_client_has_draws_of_its_own_behind_the_gateway() -> None:
    run = simulate_checked(who, server=desk(), client=crowd(), gateway=Gateway(cache=False), transport=SHAKY)
    travels = [
        (frame.arrived_us or 0) - frame.sent_us
        for frame in run.recording.frames
        if (frame.sender, frame.receiver) == ("gateway", "server") and b"tools/list" in frame.data
    ]
    assert len(travels) == len(set(travels)) == 3


def test_one_client_more_does_not_change_the_draws_of_the_others() -> None:
    def travels(clients: int) -> list[int]:
        given = {"server": desk(), "gateway": Gateway(cache=False), "transport": SHAKY}
        run = simulate_checked(who, client=crowd(clients), **given)
        first = run.recording.frames[0].connection
        return [
            (frame.arrived_us or 0) - frame.sent_us
            for frame in run.recording.frames
            if frame.connection == first
        ]

    assert travels(2) == travels(3)


def test_the_two_hops_of_a_call_are_told_apart_in_a_trace() -> None:
    run = simulate_checked(who, server=desk(), gateway=Gateway(), replicas=2)
    rows = to_interchange(run.recording.events)
    hops = [(row["hop"], row["from"]) for row in rows if "tools/call" in json.dumps(row.get("message"))]
    assert hops == [("client-gateway", "client"), ("gateway-server", "client")]
    assert {row["connection"] for row in rows if row["hop"] == "client-gateway"} == {"c1"}
    assert {row["connection"] for row in rows if row["hop"] == "gateway-server"} == {"c2", "c3"}
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    again = Recording.from_interchange(lines)
    assert again.parties == ("client", "gateway", "server")
    assert [json.dumps(row) for row in to_interchange(again.events)] == [json.dumps(row) for row in rows]


def test_the_picture_has_a_lane_for_everybody() -> None:
    run = simulate_checked(who, server=desk(), client=crowd(2), gateway=Gateway(), replicas=2)
    picture = still_svg(run.recording)
    for lane in run.recording.parties:
        assert f">{lane}</text>" in picture


def test_a_run_with_a_gateway_can_be_taken_step_by_step() -> None:
    with Simulation(who, server=desk(), gateway=Gateway(), replicas=2) as simulation:
        steps = 0
        while simulation.step():
            steps += 1
        stepped = simulation.recording
    assert steps > 8
    assert stepped == simulate(who, server=desk(), gateway=Gateway(), replicas=2).recording


def test_a_gateway_and_a_server_serve_many_runs() -> None:
    server, gateway = desk(), Gateway(sticky=True)
    given = {"server": server, "gateway": gateway, "replicas": 2, "era": "legacy"}
    runs = [simulate(who, **given) for _ in range(2)]
    assert runs[0].recording == runs[1].recording


def test_a_session_that_nobody_ended_does_not_stay_with_the_server() -> None:
    server = Server("desk", list_changed=True)

    @server.tool()
    async def one() -> str:
        return "1"

    async def story(client: Client) -> int:
        await client.call_tool("one")
        return len(server.changes)

    # The seventh thing on the way is the DELETE at the end.
    run = simulate(story, server=server, transport=StreamableHttp(), era="legacy", faults=[Drop("*", nth=7)])
    (lost,) = [frame for frame in run.recording.frames if frame.fate == "dropped"]
    assert lost.head is not None
    assert lost.head["method"] == "DELETE"
    assert run.value == 1
    assert len(server.changes) == 0


# The host.


def test_the_host_starts_a_server_process_again_on_stdio() -> None:
    async def story(client: Client, *, host: Any) -> list[str]:
        first = await client.call_tool("whoami")
        async with host.start_again(client) as again:
            second = await again.call_tool("whoami")
        third = await client.call_tool("whoami")
        return [one.content[0].text for one in (first, second, third)]

    for era in ("modern", "legacy"):
        run = simulate_checked(story, server=desk(), client=Client(principal="p", era=era))
        assert run.value == ["p", "p", "p"]
        assert {frame.connection for frame in run.recording.frames} == {1, 2}
        shakes = [frame for frame in run.recording.frames if b'"initialize"' in frame.data]
        assert len(shakes) == (2 if era == "legacy" else 0)


def test_the_host_only_knows_the_clients_of_the_story() -> None:
    async def story(client: Client, *, host: Any) -> None:
        with pytest.raises(ValueError, match="one of the clients"):
            async with host.start_again(Client()):
                pass

    simulate(story, server=desk())


def test_a_parameter_named_host_may_be_a_client_too() -> None:
    async def story(host: Client) -> str:
        return (await host.call_tool("whoami")).content[0].text

    assert simulate(story, server=desk(), client=Client(principal="h")).value == "h"


def test_replicas_share_the_key_of_the_request_state() -> None:
    server = Server("asks")

    @server.tool()
    async def ask(context: Context) -> str:
        answer = await context.elicit("Sure?", {"type": "object", "properties": {"yes": {"type": "boolean"}}})
        return answer.action

    async def story(client: Client) -> str:
        question = await client.request("tools/call", {"name": "ask", "arguments": {}})
        (key,) = question["inputRequests"]
        retry = {
            "name": "ask",
            "arguments": {},
            "inputResponses": {key: {"action": "decline"}},
            "requestState": question["requestState"],
        }
        answer = await client.request("tools/call", retry)
        with pytest.raises(ProtocolError):
            await client.request(
                "tools/call", {**retry, "requestState": question["requestState"][:-4] + "AAAA"}
            )
        return answer["content"][0]["text"]

    run = simulate_checked(
        story,
        server=server,
        gateway=Gateway(),
        replicas=2,
        client=Client(capabilities={"elicitation": {"form": {}}}),
    )
    assert run.value == "decline"
    assert {frame.receiver for frame in run.recording.frames} >= {"server-1", "server-2"}


def test_the_host_writes_down_what_no_message_tells() -> None:
    async def story(ada: Client, ben: Client, *, host: Any) -> None:
        host.note(ada, "The user wants to know who this is.")
        await ben.call_tool("whoami")
        host.note(ben, "The model has read the answer.")

    run = simulate_checked(story, server=desk(), client={"ada": Client(), "ben": Client()})
    notes = [(event.party, event.detail["text"]) for event in run.recording.events if event.kind == "note"]
    assert notes == [
        ("ada", "The user wants to know who this is."),
        ("ben", "The model has read the answer."),
    ]


@pytest.mark.parametrize(
    ("who_notes", "text", "error"),
    [
        (lambda client: Client(), "Something", ValueError("host.note takes one of the clients")),
        (lambda client: client, None, TypeError("host.note takes a client and a text, not None.")),
    ],
)
def test_a_note_is_a_text_of_a_client_of_the_story(who_notes: Any, text: Any, error: Exception) -> None:
    async def story(client: Client, *, host: Any) -> None:
        host.note(who_notes(client), text)

    run = simulate(story, server=desk(), check=False)
    assert type(run.error) is type(error)
    assert str(run.error).startswith(str(error))
