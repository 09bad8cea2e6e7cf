"""The ASGI application, without an HTTP server: requests that come in pieces, or not at all, or to the wrong
place."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from mcpsim import Context, Server
from mcpsim.course import help_desk
from mcpsim.live import AsgiApp, asgi_app
from mcpsim.simulation import VirtualTimeLoop

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
LEGACY = "2025-11-25"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "a-client", "version": "1"},
    },
}


def a_call(name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}


def modern_headers(name: str) -> dict[str, str]:
    return {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name}


@dataclass
class Visit:
    """One request to an application: what is still to be received, and what was sent."""

    method: str = "POST"
    path: str = "/mcp"
    root_path: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[bytes] = field(default_factory=list)
    sent: list[dict[str, Any]] = field(default_factory=list)
    gone: anyio.Event = field(default_factory=anyio.Event)
    more_to_come: bool = False

    async def receive(self) -> dict[str, Any]:
        if self.pieces:
            body = self.pieces.pop(0)
            return {
                "type": "http.request",
                "body": body,
                "more_body": bool(self.pieces) or self.more_to_come,
            }
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: dict[str, Any]) -> None:
        self.sent.append(event)

    async def to(self, app: AsgiApp) -> Visit:
        usual = {
            "host": "localhost:8000",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }
        lines = (usual | self.headers).items()
        scope = {
            "type": "http",
            "method": self.method,
            "path": self.path,
            "root_path": self.root_path,
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in lines],
        }
        await app(scope, self.receive, self.send)
        return self

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def response_headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(event["body"] for event in self.sent[1:])

    def error(self) -> str:
        return json.loads(self.body)["error"]["message"]


def visit(message: object = None, **more: Any) -> Visit:
    body = b"" if message is None else json.dumps(message).encode()
    return Visit(pieces=[body], **more)


def play(app: AsgiApp, *visits: Visit) -> None:
    async def all_of_them() -> None:
        for one in visits:
            await one.to(app)

    anyio.run(all_of_them)


@pytest.fixture
def app() -> AsgiApp:
    return asgi_app(help_desk())


def test_a_body_comes_in_pieces_and_the_answer_has_a_length(app: AsgiApp) -> None:
    text = json.dumps(INITIALIZE).encode()
    seen = Visit(pieces=[text[:5], b"", text[5:50], text[50:]])
    play(app, seen)
    assert seen.status == 200
    assert seen.response_headers["content-length"] == str(len(seen.body))
    assert json.loads(seen.body)["result"]["serverInfo"]["name"] == "help-desk"
    assert [event.get("more_body") for event in seen.sent] == [None, False]


def test_a_stream_has_no_length_and_goes_out_event_by_event(app: AsgiApp) -> None:
    message = a_call("export_report", {"parts": 2}, {**META, "progressToken": "p"})
    seen = visit(message, headers=modern_headers("export_report"))
    play(app, seen)
    assert seen.response_headers["content-type"] == "text/event-stream"
    assert "content-length" not in seen.response_headers
    events = [event["body"] for event in seen.sent[1:]]
    assert [event.count(b"data: ") for event in events] == [1, 1, 1, 0]
    assert [event["more_body"] for event in seen.sent[1:]] == [True, True, True, False]


@pytest.mark.parametrize(
    ("path", "root_path", "status"),
    [
        ("/mcp", "", 200),
        ("/mcp/", "", 404),
        ("/", "", 404),
        ("/mcp/more", "", 404),
        ("/under/mcp", "/under", 200),
        ("/mcp", "/under", 200),
        ("/under/other", "/under", 404),
    ],
)
def test_there_is_one_path(app: AsgiApp, path: str, root_path: str, status: int) -> None:
    seen = visit(INITIALIZE, path=path, root_path=root_path)
    play(app, seen)
    assert seen.status == status
    if status == 404:
        assert seen.error().endswith("the MCP endpoint is /mcp.")


def test_the_path_can_be_chosen_and_begins_with_a_slash() -> None:
    seen = visit(INITIALIZE, path="/a/b")
    play(asgi_app(help_desk(), "/a/b"), seen)
    assert seen.status == 200
    with pytest.raises(ValueError, match="must begin with a slash: 'mcp' does not"):
        asgi_app(help_desk(), "mcp")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("127.0.0.1:65535", 200),
        ("127.8.9.1", 200),
        ("[::1]:80", 200),
        ("desk.example:80", 421),
        ("localhost.desk.example", 421),
        ("127.0.0.1.desk.example", 421),
        ("localhost:80:80", 421),
        ("", 421),
    ],
)
def test_only_hosts_of_this_machine_are_welcome(app: AsgiApp, host: str, status: int) -> None:
    seen = visit(INITIALIZE, headers={"host": host})
    play(app, seen)
    assert seen.status == status


def test_other_hosts_and_origins_can_be_allowed() -> None:
    headers = {"host": "desk.example", "origin": "https://desk.example"}
    named = asgi_app(help_desk(), allowed_hosts=["desk.example"], allowed_origins=["https://desk.example"])
    for app, status in (
        (named, 200),
        (asgi_app(help_desk(), allowed_hosts=["desk.example"]), 403),
        (asgi_app(help_desk(), allowed_origins=["https://desk.example"]), 421),
        (asgi_app(help_desk(), allowed_hosts=None, allowed_origins=["https://desk.example"]), 200),
    ):
        seen = visit(INITIALIZE, headers=headers)
        play(app, seen)
        assert seen.status == status


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "PATCH", "BREW"])
def test_other_methods_are_not_allowed(app: AsgiApp, method: str) -> None:
    seen = visit(method=method)
    play(app, seen)
    assert seen.status == 405
    assert "POST" in seen.response_headers["allow"]
    assert seen.body == b""


LIMIT = 1_000


@pytest.mark.parametrize(
    ("headers", "pieces", "status"),
    [
        ({"content-length": "1001"}, [], 413),
        ({"content-length": "9" * 30}, [], 413),
        ({}, [b" " * 600, b" " * 600], 413),
        ({"content-length": "5"}, [b" " * 1_001], 413),
        ({}, [b" " * 600, json.dumps(INITIALIZE).encode()], 200),
    ],
)
def test_a_body_has_a_limit(headers: dict[str, str], pieces: list[bytes], status: int) -> None:
    # More would be to come: a request that is too large is answered without waiting for the rest of it.
    seen = Visit(headers=headers, pieces=list(pieces), more_to_come=status == 413)
    play(asgi_app(help_desk(), max_body_bytes=LIMIT), seen)
    assert seen.status == status
    if status == 413:
        assert seen.error() == "The body has more than 1000 bytes, which is the limit."


def test_a_client_that_goes_away_before_its_request_is_complete_is_not_answered(app: AsgiApp) -> None:
    seen = Visit(pieces=[b'{"jsonrpc"'], more_to_come=True)
    seen.gone.set()
    play(app, seen)
    assert seen.sent == []


def slow_desk(ended: list[str]) -> Server:
    server = Server("slow-desk", era="both")

    @server.tool()
    async def wait() -> str:
        try:
            await anyio.sleep(0.3)
        except BaseException:
            ended.append("cancelled")
            raise
        ended.append("finished")
        return "waited"

    return server


def test_a_modern_client_cancels_by_going_away() -> None:
    ended: list[str] = []
    seen = visit(a_call("wait", {}, META), headers=modern_headers("wait"))

    async def go_away() -> None:
        await anyio.sleep(0.05)
        seen.gone.set()

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(go_away)
            await seen.to(asgi_app(slow_desk(ended)))

    anyio.run(main)
    assert ended == ["cancelled"]
    assert seen.sent == []


def test_a_legacy_client_does_not_cancel_by_going_away() -> None:
    ended: list[str] = []
    app = asgi_app(slow_desk(ended))

    async def main() -> None:
        opened = await visit(INITIALIZE).to(app)
        headers = {"mcp-session-id": opened.response_headers["mcp-session-id"]}
        await visit({"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers).to(app)
        seen = visit(a_call("wait", {}, {}), headers=headers)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(seen.to, app)
            await anyio.sleep(0.05)
            seen.gone.set()
        assert seen.sent == []

    anyio.run(main)
    assert ended == ["finished"]


def test_the_bearer_token_is_the_principal() -> None:
    server = Server("who", era="both", authorise=lambda principal, tool: principal == "ada")

    @server.tool()
    def ask() -> str:
        return "yes"

    for authorization, body in (
        ("Bearer ada", b'"yes"'),
        ("bearer ada", b'"yes"'),
        ("Bearer eve", b"eve may not call ask"),
        ("Basic ada", b"An unnamed caller may not call ask"),
        (None, b"An unnamed caller may not call ask"),
    ):
        more = {} if authorization is None else {"authorization": authorization}
        seen = visit(a_call("ask", {}, META), headers=modern_headers("ask") | more)
        play(asgi_app(server), seen)
        assert body in seen.body


def test_notes_go_to_stderr(app: AsgiApp, capsys: pytest.CaptureFixture[str]) -> None:
    server = Server("broken", era="both")

    @server.tool()
    def fall() -> str:
        raise RuntimeError("over\x1b[31m")

    seen = visit(a_call("fall", {}, META), headers=modern_headers("fall"))
    play(asgi_app(server), seen)
    printed = capsys.readouterr()
    assert "fall raised RuntimeError: over\N{REPLACEMENT CHARACTER}[31m" in printed.err
    assert printed.out == ""


def lifespan(app: AsgiApp) -> list[str]:
    to_come = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    said: list[str] = []

    async def receive() -> dict[str, Any]:
        return to_come.pop(0)

    async def send(event: dict[str, Any]) -> None:
        said.append(event["type"])

    anyio.run(app, {"type": "lifespan"}, receive, send)
    return said


def test_it_starts_and_ends_with_its_host(app: AsgiApp) -> None:
    assert lifespan(app) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_it_is_no_websocket(app: AsgiApp) -> None:
    said: list[Any] = []

    async def send(event: Any) -> None:
        said.append(event)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    anyio.run(app, {"type": "websocket", "path": "/mcp"}, receive, send)
    assert said == [{"type": "websocket.close"}]
    with pytest.raises(ValueError, match="serves HTTP, not 'telepathy'"):
        anyio.run(app, {"type": "telepathy"}, receive, send)


def changing_desk() -> Server:
    server = Server("desk", list_changed=True, subscribe=True)

    @server.resource("file:///a")
    def a() -> str:
        return "a"

    return server


def test_nobody_listens_at_a_server_that_is_not_served_any_more() -> None:
    server = changing_desk()
    application = asgi_app(server)
    listening: list[int] = []

    async def open_session() -> dict[str, str]:
        opened = await visit(INITIALIZE).to(application)
        session = {
            "mcp-session-id": opened.response_headers["mcp-session-id"],
            "mcp-protocol-version": LEGACY,
        }
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await visit(ready, headers=session).to(application)).status == 202
        return session

    subscribe = {
        "jsonrpc": "2.0",
        "id": "s",
        "method": "subscriptions/listen",
        "params": {"_meta": META, "notifications": {"resourceSubscriptions": ["file:///a"]}},
    }
    modern = {"mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen"}

    async def main() -> None:
        session = await open_session()
        standing = visit(method="GET", headers={**session, "accept": "text/event-stream"})
        subscription = visit(subscribe, headers=modern)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(standing.to, application)
            tasks.start_soon(subscription.to, application)
            while not (standing.sent and subscription.sent):
                await anyio.sleep(0.001)
            listening.append(len(server.changes))
            await application.shut_down(1)
            listening.append(len(server.changes))
        assert subscription.body.count(b'"result"') == 1
        server.resource_updated("file:///a")
        # The application takes requests again, and the session is over.
        ping = {"jsonrpc": "2.0", "id": 9, "method": "ping"}
        assert (await visit(ping, headers=session).to(application)).status == 404
        await open_session()
        listening.append(len(server.changes))

    anyio.run(main)
    assert listening == [2, 0, 1]


def test_request_state_expires_by_the_time_of_day_for_whichever_replica(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def replica() -> AsgiApp:
        server = Server("desk", state_key=b"a key for the tests")

        @server.tool()
        async def twice(context: Context) -> str:
            await context.come_back()
            return "came twice"

        return asgi_app(server)

    def answer(state: str | None) -> Any:
        message = a_call("twice", {}, META)
        if state is not None:
            message["params"]["requestState"] = state
        # Every loop has its own time, and every virtual one begins at 0.
        loop = VirtualTimeLoop(step_budget=100_000)
        call = visit(message, headers=modern_headers("twice"))
        task = loop.create_task(call.to(replica()))
        try:
            loop.run_until(task.done)
            task.result()
        finally:
            loop.close()
        return json.loads(call.body)

    now_ns = [1_800_000_000_000_000_000]
    monkeypatch.setattr("time.time_ns", lambda: now_ns[0])
    state = answer(None)["result"]["requestState"]
    now_ns[0] += 299_999_000_000
    assert answer(state)["result"]["content"][0]["text"] == "came twice"
    now_ns[0] += 1_000_000
    assert answer(state)["error"]["code"] == -32602
