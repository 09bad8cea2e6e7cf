"""Our client and our server over real HTTP, and our client against endpoints that misbehave."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import anyio
import pytest
from anyio.abc import TaskStatus

from mcpsim import (
    Client,
    Context,
    McpSimError,
    Notification,
    Recording,
    Response,
    Server,
    StreamableHttp,
    simulate,
)
from mcpsim.course import help_desk
from mcpsim.errors import (
    ConnectionClosed,
    FramingError,
    NegotiationFailed,
    RequestTimeout,
    UnexpectedResponse,
)
from mcpsim.live import AsgiApp, Session, asgi_app, connect_http, http_endpoint, record, run_http, serve_http
from mcpsim.live.http_serving import is_loopback
from mcpsim.live.sse_cutter import SseCutter
from mcpsim.live.telling import random_token
from mcpsim.recording import Scribe
from mcpsim.server import HttpServing
from mcpsim.widgets import standalone_html, still_svg

ERAS = ("modern", "legacy", "auto")


@pytest.fixture(scope="session")
def made(load_beside: Callable[[str], ModuleType]) -> ModuleType:
    return load_beside("http_servers.py")


def meet(server: Server, story: Callable[[Client], Any], client: Client | None = None) -> Any:
    """Play a story over HTTP in this process; gives the session and what the story returned."""

    async def main() -> Any:
        async with serve_http(server) as url, connect_http(url, client=client) as session:
            value = await story(session.client)
        return session, value

    return anyio.run(main)


async def visit_the_desk(client: Client) -> str:
    await client.list_tools()
    await client.call_tool("export_report", {"parts": 2}, on_progress=lambda *step: None)
    result = await client.call_tool("find_ticket", {"number": "T-9999"})
    return result.content[0].text


def told(recording: Recording) -> list[tuple[str, bytes]]:
    """Who said what, without what differs from run to run."""
    rows: list[tuple[str, bytes]] = []
    for frame in recording.frames:
        head = frame.head or {}
        rows.append((frame.sender, frame.body or str(head.get("status", head.get("method", ""))).encode()))
    return rows


@pytest.mark.parametrize("era", ERAS)
def test_the_wire_is_the_one_of_the_simulation(era: Any, check_recording: Callable[..., None]) -> None:
    session, text = meet(help_desk(), visit_the_desk, Client(era=era))
    simulated = simulate(
        visit_the_desk, server=help_desk(), client=Client(era=era), transport=StreamableHttp()
    )
    check_recording(session.recording)
    assert text == simulated.value
    assert told(session.recording) == told(simulated.recording)
    kinds = {(event.kind, str((event.detail or {}).get("how", ""))) for event in session.recording.events}
    assert kinds <= {
        (event.kind, str((event.detail or {}).get("how", ""))) for event in simulated.recording.events
    }
    assert all(frame.fate == "delivered" and frame.exchange for frame in session.recording.frames)


def test_a_recording_can_be_saved_loaded_and_shown() -> None:
    session, _ = meet(help_desk(), visit_the_desk, Client(era="auto"))
    recording = session.recording
    assert Recording.from_jsonl(recording.to_jsonl()) == recording
    assert recording.header["transport"] == "http"
    assert recording.header["source"] == "live"
    assert "POST tools/call #3" in recording.transcript()
    assert [frame.arrived_us for frame in recording.frames] == sorted(
        frame.arrived_us or 0 for frame in recording.frames
    )


def changing_desk() -> Server:
    server = Server("changing", era="both", list_changed=True, subscribe=True)

    @server.tool()
    def first() -> str:
        return "first"

    @server.resource("desk://hours")
    def hours() -> str:
        return "9 to 5"

    return server


def notified(recording: Recording) -> list[str]:
    parsed = [frame.parsed for frame in recording.frames if frame.sender == "server"]
    return [one.method for one in parsed if isinstance(one, Notification)]


def hows(recording: Recording) -> list[tuple[str, str]]:
    return [
        (event.party, (event.detail or {}).get("how", ""))
        for event in recording.events
        if event.kind == "closed"
    ]


def test_a_subscription_ends_in_good_order_when_the_server_does(check_recording: Callable[..., None]) -> None:
    server = changing_desk()

    async def listen(url: str, *, task_status: TaskStatus[Session]) -> None:
        async with connect_http(url) as session:
            filter = {"tools_list_changed": True, "resource_subscriptions": ["desk://hours"]}
            async with session.client.listen(**filter) as subscription:
                task_status.started(session)
                async for _ in subscription:
                    pass

    async def main() -> Session:
        async with anyio.create_task_group() as tasks, serve_http(server) as url:
            session = await tasks.start(listen, url)
            server.resource_updated("desk://hours")
            server.remove_tool("first")
            await anyio.sleep(0.1)
        return session

    recording = anyio.run(main).recording
    check_recording(recording)
    assert notified(recording) == [
        "notifications/subscriptions/acknowledged",
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    ]
    assert isinstance(recording.frames[-1].parsed, Response)
    assert hows(recording) == [("server", "complete")]


def test_a_standing_stream_carries_changes_and_ends_with_the_server(
    check_recording: Callable[..., None],
) -> None:
    server = changing_desk()

    async def main() -> Session:
        async with serve_http(server, resumable=True, retry_ms=10) as url:
            session = connect_http(url, client=Client(era="legacy", standing_stream=True))
            async with session:
                await session.client.subscribe("desk://hours")
                server.resource_updated("desk://hours")
                server.remove_tool("first")
                with anyio.fail_after(10):
                    while len(notified(session.recording)) < 2:
                        await anyio.sleep(0.01)
        return session

    recording = anyio.run(main).recording
    check_recording(recording)
    assert notified(recording) == ["notifications/resources/updated", "notifications/tools/list_changed"]
    assert "GET" in [(frame.head or {}).get("method") for frame in recording.frames]


@pytest.mark.parametrize(("delay_s", "heard"), [(0.3, ["notifications/tools/list_changed"]), (60, [])])
def test_requests_wait_a_moment_for_the_standing_stream(delay_s: float, heard: list[str]) -> None:
    server = changing_desk()

    @server.tool()
    def change() -> str:
        server.remove_tool("first")
        return "changed"

    class Late(AsgiApp):
        """GET arrives late, as it may on a connection of its own."""

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            if scope["method"] == "GET":
                await anyio.sleep(delay_s)
            await super().__call__(scope, receive, send)

    serving = HttpServing(server, scribe=Scribe(), tokens=random_token)
    app = Late(serving, "/mcp", allowed_hosts=None, max_body_bytes=10_000)

    async def main() -> tuple[Session, float]:
        client = Client(era="legacy", standing_stream=True)
        async with serve_http(app) as url, connect_http(url, client=client) as session:
            begin = anyio.current_time()
            await session.client.list_tools()
            await session.client.call_tool("change")
            took_s = anyio.current_time() - begin
            await anyio.sleep(0.1)
        return session, took_s

    session, took_s = anyio.run(main)
    assert notified(session.recording) == heard
    assert took_s < 10


def test_a_quiet_stream_is_kept_alive() -> None:
    server = Server("slow", era="both")

    @server.tool()
    async def wait(context: Context) -> str:
        await context.report_progress(1, 2)
        await anyio.sleep(0.5)
        return "waited"

    async def main() -> Recording:
        async with serve_http(server, keep_alive_s=0.1) as url, connect_http(url) as session:
            await session.client.call_tool("wait", on_progress=lambda *step: None)
        return session.recording

    comments = [frame for frame in anyio.run(main).frames if frame.data.startswith(b":")]
    assert len(comments) >= 2


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_live_recording_is_shown_and_exported_like_any_other(era: Any) -> None:
    session, _ = meet(help_desk(), visit_the_desk, Client(era=era))
    recording = session.recording
    exported = Recording.from_interchange(recording.to_interchange())
    assert [frame.body for frame in exported.frames] == [frame.body for frame in recording.frames]
    assert [(frame.head or {}).get("status") for frame in exported.frames] == [
        (frame.head or {}).get("status") for frame in recording.frames
    ]
    assert "tools/call" in still_svg(recording)
    assert "tools/call" in standalone_html(recording)


def test_events_arrive_one_by_one() -> None:
    at: list[float] = []

    async def story(client: Client) -> None:
        await client.call_tool(
            "export_report", {"parts": 3}, on_progress=lambda *step: at.append(anyio.current_time())
        )

    meet(help_desk(), story)
    # The work takes 0.4 seconds between the first and the last of them.
    assert len(at) == 3
    assert at[2] - at[0] > 0.2


def test_several_requests_at_once() -> None:
    async def story(client: Client) -> tuple[float, list[str]]:
        begin, found = anyio.current_time(), list[str]()

        async def call() -> None:
            result = await client.call_tool("export_report", {"parts": 2})
            found.append(result.content[0].text)

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(call)
        return anyio.current_time() - begin, found

    _, (took_s, found) = meet(help_desk(), story)
    assert found == ["report.pdf"] * 20
    assert took_s < 20 * 0.4


def test_leaving_a_call_closes_its_stream_and_stops_the_work() -> None:
    ended: list[str] = []
    server = Server("slow", era="both")

    @server.tool()
    async def wait() -> str:
        try:
            await anyio.sleep(30)
        except anyio.get_cancelled_exc_class():
            ended.append("cancelled")
            raise
        return "waited"

    async def story(client: Client) -> None:
        with anyio.move_on_after(0.2):
            await client.call_tool("wait")
        with anyio.fail_after(10):
            while not ended:
                await anyio.sleep(0.01)

    session, _ = meet(server, story)
    closed = [event.detail for event in session.recording.events if event.kind == "closed"]
    assert closed == [{"what": "exchange", "how": "aborted"}]


def test_a_server_that_ends_lets_go_of_everything() -> None:
    async def main() -> tuple[str, float]:
        async with serve_http(help_desk()) as url, connect_http(url, era="legacy") as session:
            await session.client.list_tools()
            begin = anyio.current_time()
        return url, anyio.current_time() - begin

    url, took_s = anyio.run(main)
    assert took_s < 4
    with pytest.raises(ConnectionClosed, match="cannot be reached: Connection refused"):
        record(lambda client: client.list_tools(), url=url)


def test_requests_in_work_may_finish_when_a_server_ends() -> None:
    found: list[str] = []

    async def call(url: str) -> None:
        async with connect_http(url) as session:
            result = await session.client.call_tool("export_report", {"parts": 3})
            found.append(result.content[0].text)

    async def main() -> None:
        async with anyio.create_task_group() as tasks, serve_http(help_desk()) as url:
            tasks.start_soon(call, url)
            await anyio.sleep(0.2)

    anyio.run(main)
    assert found == ["report.pdf"]


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("streaming", [False, True])
def test_requests_in_work_that_do_not_end_are_stopped_when_a_server_ends(era: Any, streaming: bool) -> None:
    server = Server("slow", era="both")
    ended: list[str] = []
    began = anyio.Event()

    @server.tool()
    async def wait(context: Context) -> str:
        await context.report_progress(1, 2)
        began.set()
        try:
            await anyio.sleep(60)
        finally:
            ended.append("stopped")
        return "waited"

    async def call(url: str) -> None:
        on_progress = (lambda *step: None) if streaming else None
        with pytest.raises(ConnectionClosed if streaming else UnexpectedResponse) as caught:
            async with connect_http(url, era=era) as session:
                await session.client.call_tool("wait", on_progress=on_progress)
        assert streaming or "HTTP 503" in str(caught.value)

    async def main() -> float:
        async with anyio.create_task_group() as tasks, serve_http(server, shutdown_s=0.2) as url:
            tasks.start_soon(call, url)
            await began.wait()
            begin = anyio.current_time()
        return anyio.current_time() - begin

    assert anyio.run(main) < 30
    assert ended == ["stopped"]


def test_an_error_in_the_block_comes_out_as_it_is() -> None:
    async def main() -> None:
        async with serve_http(help_desk()):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        anyio.run(main)


def test_a_cancelled_block_ends_the_server() -> None:
    async def main() -> str:
        with anyio.move_on_after(0.2):
            async with serve_http(help_desk()) as url:
                await anyio.sleep_forever()
        return url

    url = anyio.run(main)
    with pytest.raises(ConnectionClosed, match="cannot be reached"):
        record(lambda client: client.list_tools(), url=url)


def test_an_application_of_ones_own_is_served_as_it_is() -> None:
    async def main() -> str:
        async with serve_http(asgi_app(help_desk(), "/desk")) as url, connect_http(url) as session:
            await session.client.list_tools()
        return url

    assert anyio.run(main).endswith("/desk")


def test_nobody_can_listen_on_a_port_that_is_taken() -> None:
    async def main(port: int) -> None:
        async with serve_http(help_desk(), port=port):
            pass

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConnectionClosed, match=f"on 127.0.0.1, port {port}: Address already in use"):
            anyio.run(main, port)
        with pytest.raises(ConnectionClosed, match="Address already in use"):
            run_http(help_desk(), port=port)
    with pytest.raises(ValueError, match="from 0 to 65535, not 99999"):
        anyio.run(main, 99_999)


@pytest.mark.parametrize(
    ("address", "expected"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("0.0.0.0", False), ("192.0.2.1", False)],
)
def test_what_is_loopback(address: str, expected: bool) -> None:
    assert is_loopback(address) is expected


def test_everywhere_is_shown_as_this_machine_and_takes_any_host() -> None:
    async def main() -> str:
        async with (
            serve_http(help_desk(), host="0.0.0.0") as url,
            connect_http(url, headers={"Host": "desk.example"}) as session,
        ):
            await session.client.list_tools()
        return url

    assert anyio.run(main).startswith("http://localhost:")


# What is in a recording, and what is not


def test_no_secret_is_in_a_recording() -> None:
    server = Server("who", era="both", authorise=lambda principal, tool: principal == "t0ken")

    @server.tool()
    def ask() -> str:
        return "yes"

    async def main() -> tuple[str, Recording]:
        async with serve_http(server) as url:
            client = Client(principal="t0ken")
            session = connect_http(f"{url}?key=s3cret", client=client, headers={"X-Api-Key": "s3cret"})
            async with session:
                result = await session.client.call_tool("ask")
        return result.content[0].text, session.recording

    text, recording = anyio.run(main)
    assert text == "yes"
    (asked, _) = recording.frames
    assert asked.head is not None
    headers = dict(asked.head["headers"])
    assert headers["Authorization"] == headers["X-Api-Key"] == "(not recorded)"
    assert asked.head["path"] == "/mcp"
    stored = recording.to_jsonl()
    assert b"t0ken" not in stored
    assert b"s3cret" not in stored


# Endpoints that misbehave


ANSWER = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"},
}
BODY = json.dumps(ANSWER).encode()
EVENT = b"event: message\ndata: " + BODY + b"\n\n"


def ask(url: str, **more: Any) -> Any:
    return record(lambda client: client.list_tools(), url=url, check=False, **more)


def test_our_request_is_what_http_wants(made: ModuleType) -> None:
    with made.answering(made.response(BODY)) as (url, requests):
        run = ask(url)
    assert run.value.tools == []
    head, _, body = requests[0].partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    (sent, _) = run.recording.frames
    assert lines[0] == "POST /mcp HTTP/1.1"
    assert [line.split(": ", 1) for line in lines[1:]] == sent.head["headers"]
    assert sent.data == body


@pytest.mark.parametrize("cut", [1, 7, 60])
def test_a_stream_is_written_down_event_by_event_however_it_is_cut(made: ModuleType, cut: int) -> None:
    text = b": hello\n\nid: 7\ndata:\n\n" + EVENT
    pieces = [text[at : at + cut] for at in range(0, len(text), cut)]
    chunked = b"".join(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces) + b"0\r\n\r\n"
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    with made.answering(head.encode() + chunked) as (url, _):
        run = ask(url)
    assert run.value.tools == []
    back = [frame for frame in run.recording.frames if frame.sender == "server"]
    assert [frame.data for frame in back] == [b": hello\n\n", b"id: 7\ndata:\n\n", EVENT]
    assert [frame.head is not None for frame in back] == [True, False, False]
    assert hows(run.recording) == [("server", "complete")]


def test_a_stream_that_breaks_before_the_answer(made: ModuleType) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    with made.answering(head + b"5\r\ndata:\r\n") as (url, _):
        run = ask(url)
    assert isinstance(run.error, ConnectionClosed)
    assert "broke in the middle of the response" in str(run.error)
    assert hows(run.recording) == [("client", "cut")]
    assert run.recording.frames[-1].data == b"data:"


def test_a_stream_that_ends_before_the_answer(made: ModuleType) -> None:
    with made.answering(made.stream(b": nothing\n\n")) as (url, _):
        run = ask(url)
    assert isinstance(run.error, ConnectionClosed)
    assert hows(run.recording) == [("server", "complete")]


def test_a_stream_that_stays_open_after_the_answer_does_not_hold_us(made: ModuleType) -> None:
    with made.answering(made.stream(EVENT), wait_for_end=True) as (url, _):
        run = ask(url)
    assert run.value.tools == []
    assert hows(run.recording) == [("client", "aborted")]


def test_the_head_of_a_silent_stream_is_shown_before_it_ends(made: ModuleType) -> None:
    with made.answering(made.stream(), wait_for_end=True) as (url, _):
        run = ask(url, client=Client(timeout_s=1.5))
    assert isinstance(run.error, RequestTimeout)
    assert "The last response of the endpoint" in str(run.error)
    head = run.recording.frames[-1]
    assert (head.data, head.head["status"]) == (b"", 200)
    (end,) = (event for event in run.recording.events if event.kind == "closed")
    assert end.at_us - head.arrived_us > 500_000
    assert hows(run.recording) == [("client", "aborted")]


def test_a_server_that_closes_without_a_response(made: ModuleType) -> None:
    with made.answering(b"") as (url, _):
        run = ask(url)
    assert isinstance(run.error, ConnectionClosed)
    assert "broke before a response came" in str(run.error)
    assert run.recording.frames[0].fate == "delivered"


def test_what_answers_is_no_http(made: ModuleType) -> None:
    with made.answering(b"SSH-2.0-OpenSSH_9.6\r\n\r\n") as (url, _):
        run = ask(url)
    assert isinstance(run.error, ConnectionClosed)


def test_redirects_are_not_followed(made: ModuleType) -> None:
    moved = made.response(b"", "Location: http://elsewhere.example/mcp", status="307 Temporary Redirect")
    with made.answering(moved) as (url, requests):
        run = ask(url, client=Client(principal="t0ken"))
    assert isinstance(run.error, UnexpectedResponse)
    assert "HTTP 307: the endpoint sends us to http://elsewhere.example/mcp" in str(run.error)
    assert len(requests) == 1


def test_a_compressed_response_is_refused(made: ModuleType) -> None:
    with made.answering(made.response(b"\x1f\x8b\x08", "Content-Encoding: gzip")) as (url, requests):
        run = ask(url)
    assert isinstance(run.error, UnexpectedResponse)
    assert "the response is compressed (gzip)" in str(run.error)
    assert b"Accept-Encoding: identity" in requests[0]


def test_a_web_page_is_no_endpoint(made: ModuleType) -> None:
    page = made.response(b"<html>hello", kind="text/html", status="404 Not Found")
    for era in ERAS:
        with made.answering(*[page] * 3) as (url, requests):
            run = ask(url, era=era)
            assert isinstance(run.error, UnexpectedResponse | NegotiationFailed)
            while len(requests) < 3:
                ask(url)
        assert run.recording.frames[1].data == b"<html>hello"


def test_a_response_has_a_limit(made: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_endpoint, "MAX_BODY_BYTES", 1_000)
    with made.answering(made.response(b" " * 1_001)) as (url, _):
        run = ask(url)
    assert isinstance(run.error, UnexpectedResponse)
    assert "the response has more than 1000 bytes" in str(run.error)


@pytest.mark.parametrize(("bound", "value"), [("MAX_OUTPUT_BYTES", 10_000), ("MAX_OUTPUT_LINES", 100)])
def test_a_stream_has_a_limit_and_the_error_names_it(
    made: ModuleType, monkeypatch: pytest.MonkeyPatch, bound: str, value: int
) -> None:
    monkeypatch.setattr(http_endpoint, bound, value)
    with made.answering(made.stream(*[b": " + b"x" * 100 + b"\n\n"] * 1_000)) as (url, _):
        run = ask(url)
    assert isinstance(run.error, ConnectionClosed)
    assert "The server sent more than a recording may hold" in str(run.error)
    assert f"{value}" in str(run.error)
    assert len(run.recording.frames) <= 103


def test_what_http_cannot_carry_is_not_sent() -> None:
    async def story(client: Client) -> None:
        with pytest.raises(FramingError, match="cannot be sent over HTTP"):
            await client.request("tools/list", headers={"X-Broken": "a\nb"})
        await client.list_tools()

    session, _ = meet(help_desk(), story)
    assert [frame.fate for frame in session.recording.frames] == ["dropped", "delivered", "delivered"]


def test_an_endpoint_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    run = ask(f"http://127.0.0.1:{port}/mcp")
    assert isinstance(run.error, ConnectionClosed)
    assert str(run.error) == (
        f"The endpoint http://127.0.0.1:{port}/mcp cannot be reached: Connection refused."
    )
    (frame,) = run.recording.frames
    assert (frame.fate, frame.why) == ("dropped", "Connection refused")


# Arguments


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("localhost:8000/mcp", "is no URL of an endpoint"),
        ("ftp://localhost/mcp", "is no URL of an endpoint"),
        ("http:///mcp", "is no URL of an endpoint"),
        ("http://me:pass@localhost/mcp", "a user name or a password"),
        ("http://localhost/mcp#part", "has a fragment"),
        ("http://localhost:99999/mcp", "Port out of range"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused(url: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        connect_http(url)


def test_what_does_not_go_together_is_refused() -> None:
    url, command = "http://localhost/mcp", ["server"]
    with pytest.raises(ValueError, match="Say the era in the client's description"):
        connect_http(url, client=Client(), era="legacy")
    for wrong in (
        {},
        {"url": url, "command": command},
        {"url": url, "cwd": "."},
        {"command": command, "headers": {}},
    ):
        with pytest.raises(ValueError, match=r"Say which server|are for a"):
            record(visit_the_desk, **wrong)


def test_a_session_is_for_one_connection() -> None:
    async def main() -> str:
        async with serve_http(help_desk()) as url:
            session = connect_http(url)
            async with session:
                assert isinstance(session, Session)
            with pytest.raises(RuntimeError, match="for one connection"):
                await session.__aenter__()
        return repr(session)

    assert anyio.run(main) == "<HttpSession of <Client 'workbook-client': modern>: 0 messages>"


@pytest.mark.parametrize(
    ("library", "ours", "use"),
    [
        ("httpx2", "http_endpoint", lambda: record(visit_the_desk, url="http://localhost/mcp")),
        ("uvicorn", "uvicorn_server", lambda: run_http(help_desk())),
    ],
)
def test_without_the_library_it_says_how_to_get_it(
    library: str, ours: str, use: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"mcpsim.live.{ours}", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(McpSimError, match=rf'needs {library}.*pip install "mcpsim\[live\]"'):
        use()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 1_000])
def test_streams_are_cut_at_blank_lines(end: bytes, size: int) -> None:
    events = [b"data: a" + end + b"data: b" + end + end, b":" + end + end, b"data: c" + end + end]
    text = b"".join(events) + b"data: d"
    cutter, found = SseCutter(), list[bytes]()
    for at in range(0, len(text), size):
        found += cutter.feed(text[at : at + size])
    found.append(cutter.finish())
    assert b"".join(found) == text
    # Where lines end with CR and LF, whether an LF follows is not known before it comes.
    assert [piece.strip() for piece in found] == [
        b"data: a" + end + b"data: b",
        b":",
        b"data: c",
        b"data: d",
    ]


def test_what_is_held_back_of_a_stream_is_bounded() -> None:
    assert SseCutter(max_bytes=10).feed(b"x" * 25) == [b"x" * 25]
    assert SseCutter().feed(b"") == []
