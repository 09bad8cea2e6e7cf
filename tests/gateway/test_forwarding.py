"""What passes through a gateway, in both directions: everything, as it is, as it comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from mcpsim import (
    Client,
    ConnectionClosed,
    Context,
    Cut,
    Delay,
    Drop,
    McpSimError,
    Run,
    Server,
    StreamableHttp,
)
from mcpsim.errors import UnexpectedResponse
from mcpsim.gateway import Gateway, unchanged
from mcpsim.gateway.policies import VIA
from mcpsim.gateway.serving import GatewayServing
from mcpsim.recording import Frame, Scribe
from mcpsim.transports.http import Headers, HttpHead, HttpRequest
from tests.support.checked import simulate_checked

LATENCY_MS = 10


def desk() -> Server:
    server = Server("desk", list_changed=True)

    @server.tool()
    async def steps(context: Context, n: int = 3) -> str:
        for step in range(1, n + 1):
            await anyio.sleep(0.1)
            await context.report_progress(step, n)
        return "stepped"

    @server.tool()
    async def wait(ms: int = 1000) -> str:
        await anyio.sleep(ms / 1000)
        return "waited"

    return server


def play(story: Callable[..., Any], **more: Any) -> Run:
    given = {
        "server": desk(),
        "gateway": Gateway(),
        "transport": StreamableHttp(latency_ms=LATENCY_MS),
        **more,
    }
    return simulate_checked(story, **given)


def between(run: Run, sender: str, receiver: str) -> list[Frame]:
    return [one for one in run.recording.frames if (one.sender, one.receiver) == (sender, receiver)]


def notes(run: Run, party: str) -> list[str]:
    return [
        event.detail["text"]
        for event in run.recording.events
        if (event.kind, event.party) == ("note", party) and event.detail is not None
    ]


def closings(run: Run) -> list[tuple[str, str, str]]:
    return [
        (event.party, event.peer, event.detail["how"])
        for event in run.recording.events
        if event.kind == "closed" and event.detail is not None
    ]


def cancelled(run: Run) -> int:
    return sum(event.kind == "handler_cancelled" for event in run.recording.events)


async def with_progress(client: Client) -> list[float]:
    seen: list[float] = []
    await client.call_tool("steps", {"n": 3}, on_progress=lambda done, total, text: seen.append(done))
    return seen


@pytest.mark.parametrize("era", ["modern", "legacy", "auto"])
def test_bytes_and_heads_are_the_same_on_both_hops(era: Any) -> None:
    run = play(with_progress, era=era)
    assert run.value == [1, 2, 3]
    assert run.recording.parties == ("client", "gateway", "server")
    back = [between(run, "server", "gateway"), between(run, "gateway", "client")]
    assert back[0]
    assert [(frame.data, frame.head) for frame in back[0]] == [(frame.data, frame.head) for frame in back[1]]
    there = [between(run, "client", "gateway"), between(run, "gateway", "server")]
    assert there[0]
    for one, other in zip(*there, strict=True):
        assert one.data == other.data
        assert one.head is not None
        # The gateway says that it stands between, and changes nothing else.
        assert other.head == {**one.head, "headers": [*one.head["headers"], list(VIA)]}


def test_events_go_on_as_they_come() -> None:
    run = play(with_progress)
    arrived = [frame.arrived_us for frame in between(run, "gateway", "client")]
    # Two hops there, a tenth of a second each, two hops back.
    assert arrived == [140_000, 240_000, 340_000, 340_000]


def test_each_hop_is_a_connection_and_exchanges_of_its_own() -> None:
    run = play(with_progress)
    hops = {(frame.connection, frame.exchange) for frame in run.recording.frames}
    assert hops == {(1, 1), (2, 2)}


def test_a_client_that_goes_away_closes_the_way_to_the_server() -> None:
    async def story(client: Client) -> None:
        with anyio.move_on_after(0.15):
            await client.call_tool("steps", {"n": 50}, on_progress=lambda *progress: None)
        await anyio.sleep(0.2)

    run = play(story)
    assert closings(run) == [("client", "gateway", "aborted"), ("gateway", "server", "aborted")]
    assert cancelled(run) == 1


def test_a_client_that_goes_away_before_the_head_closes_it_too() -> None:
    async def story(client: Client) -> None:
        with anyio.move_on_after(0.15):
            await client.call_tool("wait")
        await anyio.sleep(0.2)

    run = play(story)
    assert closings(run) == [("client", "gateway", "aborted"), ("gateway", "server", "aborted")]
    assert cancelled(run) == 1


def test_a_stream_that_breaks_on_one_hop_breaks_on_the_other() -> None:
    async def story(client: Client) -> str:
        with pytest.raises(ConnectionClosed) as error:
            await with_progress(client)
        return str(error.value)

    run = play(story, faults=[Cut("notifications/progress", nth=2, hop="gateway-server")])
    assert "cut" in run.value
    assert closings(run) == [("gateway", "server", "cut"), ("client", "gateway", "cut")]
    assert run.unused_faults == ()


@pytest.mark.parametrize(
    "fault", [Cut("tools/call", hop="gateway-server"), Cut("result of tools/call", hop="gateway-server")]
)
def test_a_connection_that_breaks_before_the_head_is_a_502(fault: Cut) -> None:
    async def story(client: Client) -> str:
        with pytest.raises(UnexpectedResponse) as error:
            await client.call_tool("wait", {"ms": 10})
        # One answer was lost; the next request is as good as any.
        await client.call_tool("wait", {"ms": 10})
        return str(error.value)

    run = play(story, faults=[fault])
    assert run.value == "HTTP 502 with no JSON-RPC body."
    (failed, good) = between(run, "gateway", "client")
    assert (failed.head, failed.data) == ({"status": 502, "headers": []}, b"")
    assert good.head is not None
    assert good.head["status"] == 200


def test_a_server_that_takes_too_long_is_a_504_and_told_to_stop() -> None:
    async def story(client: Client) -> str:
        with pytest.raises(UnexpectedResponse) as error:
            await client.call_tool("wait", {"ms": 3_000})
        await anyio.sleep(0.1)
        return str(error.value)

    run = play(story, gateway=Gateway(timeout_s=1))
    assert run.value == "HTTP 504 with no JSON-RPC body."
    assert cancelled(run) == 1
    assert notes(run, "gateway") == ["HTTP 504. server did not answer within 1 s."]


def test_a_stream_that_has_begun_may_take_longer() -> None:
    run = play(with_progress, gateway=Gateway(timeout_s=0.2))
    assert run.value == [1, 2, 3]


def test_a_subscription_passes_through() -> None:
    server = desk()

    async def story(client: Client) -> list[str]:
        seen: list[str] = []
        client.on_notification = lambda message: seen.append(message.method)
        with anyio.move_on_after(1):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(
                    client.request, "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
                )
                await anyio.sleep(0.3)
                server.remove_tool("wait")
        return seen

    run = play(story, server=server)
    assert run.value[-1] == "notifications/tools/list_changed"
    (acknowledged, changed) = between(run, "gateway", "client")
    assert changed.arrived_us == 300_000 + 2 * LATENCY_MS * 1000
    assert acknowledged.arrived_us == 4 * LATENCY_MS * 1000
    assert closings(run) == [("client", "gateway", "aborted"), ("gateway", "server", "aborted")]


def test_a_legacy_standing_stream_passes_through_head_first() -> None:
    server = desk()

    async def story(client: Client) -> list[str]:
        seen: list[str] = []
        client.on_notification = lambda message: seen.append(message.method)
        await anyio.sleep(0.3)
        server.remove_tool("wait")
        await anyio.sleep(0.3)
        return seen

    listening = Client(era="legacy", standing_stream=True)
    run = play(story, server=server, client=listening, gateway=Gateway(sticky=True))
    gets = [frame.head for frame in between(run, "client", "gateway") if frame.head is not None]
    assert [head.get("method") for head in gets].count("GET") == 1
    assert run.value == ["notifications/tools/list_changed"]


@pytest.mark.parametrize("hop", ["client-gateway", "gateway-server"])
@pytest.mark.parametrize("fault", [Drop, Delay])
def test_a_fault_happens_on_the_hop_that_it_names(fault: Any, hop: str) -> None:
    async def story(client: Client) -> None:
        try:
            await client.call_tool("wait", {"ms": 10}, timeout_s=2)
        except McpSimError:
            return

    run = play(story, faults=[fault("tools/call", hop=hop)])
    assert run.unused_faults == ()
    (first,) = between(run, "client", "gateway")
    onward = between(run, "gateway", "server")
    near = hop == "client-gateway"
    if fault is Drop:
        assert first.fate == ("dropped" if near else "delivered")
        assert [frame.fate for frame in onward] == ([] if near else ["dropped"])
    else:
        assert (first.arrived_us or 0) - first.sent_us == (1_010_000 if near else 10_000)
        assert (onward[0].arrived_us or 0) - onward[0].sent_us == (10_000 if near else 1_010_000)


def test_a_gateway_in_between_does_not_change_what_a_fault_hits() -> None:
    async def story(client: Client) -> list[str]:
        outcomes: list[str] = []
        for _ in range(3):
            try:
                await client.call_tool("wait", {"ms": 10}, timeout_s=1)
                outcomes.append("result")
            except McpSimError as error:
                outcomes.append(type(error).__name__)
        return outcomes

    faults = [Drop("result of tools/call", nth=2)]
    direct = simulate_checked(story, server=desk(), transport=StreamableHttp(), faults=faults)
    through = play(story, faults=faults)
    assert direct.value == through.value == ["result", "RequestTimeout", "result"]


# What is not MCP, with a server that nobody here has written.


class Upstream:
    """Takes any request, and answers with what it was given.

    Args:
        pieces: the body, piece by piece.
    """

    def __init__(self, head: HttpHead, *pieces: bytes) -> None:
        self.requests: list[HttpRequest] = []
        self.sent: list[bytes | HttpHead] = []
        self._head = head
        self._pieces = list(pieces)
        self.aborted = False
        self.ended = False
        self.exchange = 0

    async def open(self, request: HttpRequest) -> Upstream:
        self.requests.append(request)
        return self

    async def head(self) -> HttpHead:
        return self._head

    async def receive(self) -> bytes:
        if not self._pieces:
            raise anyio.EndOfStream
        return self._pieces.pop(0)

    def abort(self) -> None:
        self.aborted = True

    # And the way back of the same request.

    async def send(self, head: HttpHead | None, body: bytes) -> None:
        if head is not None:
            self.sent.append(head)
        self.sent.append(body)

    async def end(self) -> None:
        self.ended = True

    def on_abort(self, callback: Callable[[], None]) -> None:
        pass

    def break_off(self) -> None:
        self.ended = False


ODD_HEADERS = Headers(
    [
        ("X-Anything", "at all"),
        ("x-anything", "twice"),
        ("Mcp-Param-Region", "=?base64?w7w=?="),
        ("Mcp-Session-Id", "of no session"),
        ("Cookie", "a=b"),
        ("mcp-protocol-version", "3000-01-01"),
    ]
)


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "PUT", "OPTIONS", "PURGE"])
@pytest.mark.parametrize("cache", [True, False])
def test_what_the_gateway_does_not_know_passes_unchanged(method: str, cache: bool) -> None:
    upstream = Upstream(HttpHead(299, ODD_HEADERS), b"\xff\x00", b"no JSON")
    request = HttpRequest(method, "/mcp?x=1;y", ODD_HEADERS, b"\x00\xfe{")
    serving = GatewayServing(
        Gateway(cache=cache, sticky=True), scribe=Scribe(), clock=lambda: 0, replicas=["a"]
    )
    anyio.run(serving.handle, request, upstream, lambda name: upstream)
    (passed,) = upstream.requests
    assert passed == HttpRequest(request.method, request.path, passed.headers, request.body)
    assert passed.headers.items() == (*ODD_HEADERS.items(), VIA)
    assert upstream.sent == [HttpHead(299, ODD_HEADERS), b"\xff\x00no JSON"]
    assert upstream.ended


def test_pieces_of_a_stream_pass_one_by_one() -> None:
    head = HttpHead(200, Headers({"Content-Type": "text/event-stream"}))
    upstream = Upstream(head, b": hello\n\n", b"data: half", b" of it\n\n", b"")
    serving = GatewayServing(Gateway(), scribe=Scribe(), clock=lambda: 0, replicas=["a"])
    anyio.run(serving.handle, HttpRequest("GET", "/", Headers()), upstream, lambda name: upstream)
    assert upstream.sent == [head, b": hello\n\n", b"data: half", b" of it\n\n", b""]


def test_headers_of_one_connection_do_not_go_on() -> None:
    came = Headers(
        [
            ("Connection", "keep-alive, X-Mine"),
            ("X-Mine", "1"),
            ("TE", "trailers"),
            ("X-Yours", "2"),
            ("Host", "a"),
        ]
    )
    assert unchanged(came) == Headers([("X-Yours", "2"), ("Host", "a")])


def test_a_request_says_by_which_way_it_came() -> None:
    before = Headers([("Via", "1.0 fred"), ("Host", "a"), ("Via", "1.1 p.example")])
    upstream = Upstream(HttpHead(200, before), b"")
    serving = GatewayServing(Gateway(), scribe=Scribe(), clock=lambda: 0, replicas=["a"])
    anyio.run(serving.handle, HttpRequest("POST", "/", before), upstream, lambda name: upstream)
    (passed,) = upstream.requests
    assert passed.headers.get_all("Via") == ("1.0 fred", "1.1 p.example", "1.1 gateway")
    # Of responses HTTP does not want it.
    assert upstream.sent[0] == HttpHead(200, before)
