"""A connection that is driven by hand: one thing after the other, in separate calls."""

from __future__ import annotations

import anyio
import pytest

from mcpsim import McpSimError, Server, StreamableHttp
from mcpsim.errors import SimulationError
from mcpsim.messages import Response
from mcpsim.simulation.lab import LabConnection
from mcpsim.transports.http import Headers, HttpRequest

META = (
    b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientCapabilities":{}}'
)
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
}


def call(name: str, id: int = 1) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":{},%s}}' % (
        id,
        name.encode(),
        META,
    )


def post(name: str, id: int = 1) -> HttpRequest:
    return HttpRequest("POST", "/mcp", Headers({**HEADERS, "Mcp-Name": name}), call(name, id))


def desk() -> Server:
    server = Server("desk")

    @server.tool()
    def now() -> str:
        return "done"

    @server.tool()
    async def later() -> str:
        await anyio.sleep(10)
        return "done"

    @server.tool()
    async def spin() -> str:
        while True:
            await anyio.sleep(0)

    @server.tool()
    def leave() -> str:
        raise SystemExit(3)

    return server


def answers(lab: LabConnection) -> list[object]:
    return [
        one.parsed.id for one in lab.recording.frames if isinstance(one.parsed, Response) and one.arrived_us
    ]


def test_time_passes_only_when_it_is_told_to() -> None:
    with LabConnection(desk()) as lab:
        lab.send_line(call("now") + b"\n")
        assert lab.at_us == 0
        assert answers(lab) == []
        lab.settle(500)
        assert answers(lab) == [1]
        # Nothing was left to be done after that.
        assert lab.at_us == 40_000
        assert lab.is_resting
        lab.settle(500)
        assert lab.at_us == 40_000
        lab.wait(250)
        assert lab.at_us == 290_000


def test_what_takes_long_goes_on_later() -> None:
    with LabConnection(desk()) as lab:
        lab.send_line(call("later") + b"\n")
        lab.settle(500)
        assert answers(lab) == []
        assert not lab.is_resting
        # Nothing is due within the half second: the clock stays where something happened last.
        assert lab.at_us == 20_000
        lab.send_line(call("now", 2) + b"\n")
        lab.settle(500)
        assert answers(lab) == [2]
        lab.wait(20_000)
        assert answers(lab) == [2, 1]


def test_the_same_calls_give_the_same_recording() -> None:
    def play() -> str:
        with LabConnection(desk(), transport=StreamableHttp()) as lab:
            lab.send_request(post("later"))
            lab.settle(500)
            lab.wait(1_000)
            return lab.recording.sha256()

    assert play() == play()


def test_an_exchange_is_open_until_it_is_over_or_closed() -> None:
    with LabConnection(desk(), transport=StreamableHttp()) as lab:
        first = lab.send_request(post("now"))
        second = lab.send_request(post("later", 2))
        assert lab.open_exchanges == (first, second) == (1, 2)
        lab.settle(500)
        assert lab.open_exchanges == (second,)
        lab.abort(second)
        lab.settle(500)
        assert lab.open_exchanges == ()
        assert lab.is_resting
        assert "handler_cancelled" in [event.kind for event in lab.recording.events]
        with pytest.raises(McpSimError, match="no HTTP exchange 2 open"):
            lab.abort(second)


def test_after_the_end_of_its_input_a_server_ends() -> None:
    with LabConnection(desk()) as lab:
        lab.hang_up()
        lab.settle(500)
        assert [event.detail["what"] for event in lab.recording.events if event.kind == "closed"] == [
            "stdin",
            "stdout",
        ]
        lab.send_line(call("now") + b"\n")
        lab.settle(500)
        assert answers(lab) == []
        assert lab.recording.events[-1].detail == {"text": "The connection is gone: nobody reads any more."}


@pytest.mark.parametrize(
    ("tool", "why"), [("spin", "Stuck: The clock stands still"), ("leave", "SystemExit: 3")]
)
def test_a_server_that_cannot_go_on(tool: str, why: str) -> None:
    lab = LabConnection(desk())
    lab.send_line(call(tool) + b"\n")
    lab.settle(500)
    assert lab.failure.startswith(f"The server cannot go on. {why}")
    assert lab.is_resting
    with pytest.raises(McpSimError, match="The server cannot go on"):
        lab.send_line(b"x\n")
    lab.wait(10)
    lab.settle(10)
    lab.close()


def test_each_transport_takes_what_is_its_own() -> None:
    with LabConnection(desk()) as pipes, LabConnection(desk(), transport=StreamableHttp()) as http:
        with pytest.raises(McpSimError, match="over stdio"):
            pipes.send_request(post("now"))
        with pytest.raises(McpSimError, match="over HTTP"):
            http.send_line(b"x\n")


@pytest.mark.parametrize("ms", [-1, 24 * 3_600_000 + 1, float("nan"), float("inf")])
def test_time_has_bounds(ms: float) -> None:
    with LabConnection(desk()) as lab, pytest.raises(ValueError, match="a day"):
        lab.wait(ms)


def test_it_cannot_be_driven_from_inside() -> None:
    server = Server("curious")
    tried: list[str] = []

    @server.tool()
    def look() -> str:
        for act in (lambda: lab.settle(1), lab.close):
            try:
                act()
            except SimulationError as error:
                tried.append(str(error))
        return "looked"

    with LabConnection(server) as lab:
        lab.send_line(call("look") + b"\n")
        lab.settle(500)
        assert len(tried) == 2
        assert answers(lab) == [1]


def test_nothing_listens_any_more_after_it_is_closed() -> None:
    server = Server("changing", subscribe=True, list_changed=True)
    with LabConnection(server) as lab:
        listen = (
            b'{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},%s}}\n'
        )
        lab.send_line(listen % META)
        lab.settle(500)
        assert not lab.failure
        assert len(server.changes) == 1
    assert len(server.changes) == 0
