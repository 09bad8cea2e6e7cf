"""Recordings made by hand, one for each thing that the player has to show."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from mcpsim.recording import Event, Recorder, Recording, events
from mcpsim.transports.http import sse_event
from mcpsim.widgets import player_data, standalone_html
from mcpsim.widgets.still import still_of

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "desk-client", "version": "1.0.0"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}
SERVER = {"io.modelcontextprotocol/serverInfo": {"name": "help-desk", "version": "1.0.0"}}


class Pen:
    """A recorder with a clock that is moved by hand, and messages in short."""

    def __init__(self, *, latency_ms: float = 20) -> None:
        self.now = 0
        self.latency_us = round(latency_ms * 1000)
        self.recorder = Recorder(lambda: self.now)
        self.connection = self.recorder.new_connection()

    def wait(self, ms: float) -> None:
        self.now += round(ms * 1000)

    def send(self, sender: str, receiver: str, message: Any, *, arrives: bool = True, **more: Any) -> int:
        data = message if isinstance(message, bytes) else write(message)
        if not more.get("exchange") and not data.endswith(b"\n"):
            data += b"\n"
        frame = self.recorder.sent(sender, receiver, data, connection=self.connection, **more)
        if arrives:
            self.now += self.latency_us
            self.arrive(frame, receiver, sender, exchange=more.get("exchange", 0))
        return frame

    def arrive(self, frame: int, receiver: str, sender: str, **more: Any) -> None:
        self.recorder.delivered(frame, receiver, sender, connection=self.connection, **more)

    def post(self, exchange: int, message: dict[str, Any]) -> int:
        params = message.get("params", {})
        headers = [
            ["Content-Type", "application/json"],
            ["Accept", "application/json, text/event-stream"],
            ["MCP-Protocol-Version", MODERN],
            ["Mcp-Method", message["method"]],
        ]
        if "name" in params:
            headers.append(["Mcp-Name", params["name"]])
        head: Any = {"method": "POST", "path": "/mcp", "headers": headers}
        return self.send("client", "server", message, exchange=exchange, head=head)

    def event(self, exchange: int, message: dict[str, Any], *, first: bool = False, **more: Any) -> int:
        headers = [["Content-Type", "text/event-stream"], ["X-Accel-Buffering", "no"]]
        head: Any = {"status": 200, "headers": headers} if first else None
        return self.send("server", "client", sse_event(write(message)), exchange=exchange, head=head, **more)

    def remember(self, party: str, **what: Any) -> None:
        self.recorder.state(party, what)

    def handler(self, kind: str, name: str, id: str | int, **more: Any) -> None:
        self.recorder.handler(kind, "server", name, id, connection=self.connection, **more)

    def done(self, title: str, **more: Any) -> Recording:
        header = {"title": title, "parties": ["client", "server"], "transport": "stdio"}
        return self.recorder.recording({**header, "source": "simulation", **more})


def write(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def request(id: Any, method: str, params: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    found = {**(params or {}), "_meta": {**META, **meta}}
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": found}


def plain(id: Any, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    more = {} if params is None else {"params": params}
    return {"jsonrpc": "2.0", "id": id, "method": method, **more}


def notification(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}


def result(id: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", **members, "_meta": SERVER}}


def error(id: Any, code: int, message: str, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **more}}


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def modern_progress() -> Recording:
    """A modern call over stdio, with progress reports and a handler at work."""
    pen = Pen()
    pen.remember("client", open_requests=[])
    pen.remember("client", open_requests=[1], progress_tokens={"report-1": 1})
    pen.send(
        "client",
        "server",
        request(
            1, "tools/call", {"name": "export_report", "arguments": {"parts": 3}}, progressToken="report-1"
        ),
    )
    pen.handler(events.HANDLER_STARTED, "export_report", 1)
    for part in (1, 2, 3):
        pen.wait(200)
        pen.send(
            "server",
            "client",
            notification(
                "notifications/progress",
                progressToken="report-1",
                progress=part,
                total=3,
                message=f"Built part {part} of 3",
            ),
        )
    pen.wait(40)
    pen.handler(events.HANDLER_FINISHED, "export_report", 1, outcome="result")
    pen.send("server", "client", result(1, content=text("sales-report.pdf"), isError=False))
    pen.remember("client", open_requests=[])
    pen.recorder.closed("client", "server", "stdin", "closed", connection=1)
    return pen.done("A report with progress")


def modern_stream() -> Recording:
    """A modern call over Streamable HTTP, answered by an event stream; then a list with cache hints."""
    pen = Pen()
    exchange = pen.recorder.new_exchange()
    pen.remember("client", open_requests=[1])
    pen.post(
        exchange,
        request(
            1, "tools/call", {"name": "export_report", "arguments": {"parts": 2}}, progressToken="report-1"
        ),
    )
    pen.handler(events.HANDLER_STARTED, "export_report", 1, exchange=exchange)
    for part in (1, 2):
        pen.wait(200)
        pen.event(
            exchange,
            notification("notifications/progress", progressToken="report-1", progress=part, total=2),
            first=part == 1,
        )
    pen.handler(events.HANDLER_FINISHED, "export_report", 1, exchange=exchange, outcome="result")
    pen.event(exchange, result(1, content=text("sales-report.pdf")))
    pen.recorder.closed("server", "client", "exchange", "closed", connection=1, exchange=exchange)
    pen.remember("client", open_requests=[])
    pen.wait(60_000)
    second = pen.recorder.new_exchange()
    pen.post(second, request(2, "tools/list"))
    tool = {"name": "export_report", "description": "Build the report.", "inputSchema": {"type": "object"}}
    head: Any = {"status": 200, "headers": [["Content-Type", "application/json"]]}
    pen.send(
        "server",
        "client",
        result(2, tools=[tool], ttlMs=300_000, cacheScope="public"),
        exchange=second,
        head=head,
    )
    pen.remember("client", open_requests=[], cache={"tools/list": "fresh until 360.6 s"})
    return pen.done("A report over Streamable HTTP", transport="http")


def legacy_handshake() -> Recording:
    """The legacy handshake, a list, a question to the user, a tool error and an unknown method."""
    pen = Pen()
    capabilities = {"elicitation": {"form": {}}, "roots": {"listChanged": True}}
    pen.remember("client", phase="not connected")
    pen.remember("server", phase="waiting for initialize")
    pen.remember("client", phase="initializing", offered=LEGACY)
    pen.send(
        "client",
        "server",
        plain(
            0,
            "initialize",
            {
                "protocolVersion": LEGACY,
                "capabilities": capabilities,
                "clientInfo": {"name": "desk-client", "version": "1.0.0"},
            },
        ),
    )
    pen.remember("server", phase="initialized, not yet ready", version=LEGACY, client=capabilities)
    pen.send(
        "server",
        "client",
        {
            "jsonrpc": "2.0",
            "id": 0,
            "result": {
                "protocolVersion": LEGACY,
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "help-desk", "version": "1.0.0"},
            },
        },
    )
    pen.remember("client", phase="ready", version=LEGACY, server={"tools": {"listChanged": True}})
    pen.send("client", "server", notification("notifications/initialized"))
    pen.remember("server", phase="ready", version=LEGACY, client=capabilities)
    pen.send("client", "server", plain(1, "tools/list", {}))
    pen.send("server", "client", {"jsonrpc": "2.0", "id": 1, "result": {"tools": [], "nextCursor": "p2"}})
    pen.send("client", "server", plain(2, "tools/call", {"name": "close_ticket", "arguments": {"id": 7}}))
    pen.handler(events.HANDLER_STARTED, "close_ticket", 2)
    schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
    pen.send(
        "server",
        "client",
        plain("s-1", "elicitation/create", {"message": "Close ticket 7?", "requestedSchema": schema}),
    )
    pen.recorder.note("client", "The user reads the question and presses Decline.")
    pen.wait(4_000)
    pen.send("client", "server", {"jsonrpc": "2.0", "id": "s-1", "result": {"action": "decline"}})
    pen.handler(events.HANDLER_FINISHED, "close_ticket", 2, outcome="tool error")
    pen.send(
        "server",
        "client",
        {"jsonrpc": "2.0", "id": 2, "result": {"content": text("Not closed."), "isError": True}},
    )
    pen.send("client", "server", plain(3, "tools/describe"))
    pen.send("server", "client", error(3, -32601, "Method not found", data={"method": "tools/describe"}))
    pen.send("server", "client", b"cleaning up\n", channel="stderr")
    return pen.done("The legacy handshake")


def dropped() -> Recording:
    """A progress report and a result are lost; the client cancels, the handler stops, a copy arrives."""
    pen = Pen()
    pen.remember("client", open_requests=[1])
    pen.send("client", "server", request(1, "tools/call", {"name": "slow"}, progressToken=0))
    pen.handler(events.HANDLER_STARTED, "slow", 1)
    pen.wait(500)
    lost = pen.send(
        "server",
        "client",
        notification("notifications/progress", progressToken=0, progress=1),
        arrives=False,
    )
    pen.recorder.dropped(lost, "server", "client", "fault: drop notifications/progress", connection=1)
    pen.send("client", "server", request(2, "tools/call", {"name": "quick"}))
    answer = pen.send("server", "client", result(2, content=text("quick")), arrives=False)
    pen.send("server", "client", result(2, content=text("quick")), arrives=False, copy_of=answer)
    pen.wait(300_000)
    pen.remember("client", open_requests=[1], timed_out=[1])
    cancel = pen.send(
        "client",
        "server",
        notification("notifications/cancelled", requestId=1, reason="timeout after 300 s"),
        arrives=False,
    )
    pen.wait(20)
    pen.arrive(answer, "client", "server")
    pen.arrive(cancel, "server", "client")
    pen.handler(events.HANDLER_CANCELLED, "slow", 1)
    pen.send("client", "server", request(3, "tools/call", {"name": "last"}), arrives=False)
    return pen.done("Messages that get lost")


HOSTILE = (
    "</script><script>window.hostile=1</script><img src=x onerror=window.hostile=1>"
    "<svg onload=window.hostile=1>`${window.hostile=1}` \u2028\u2029 \u202egnp.exe\u202c \u200bend \x1b[31m"
)


def hostile() -> Recording:
    """Markup, scripts, marks that turn text around, 100 kB in one string, and bytes that are not UTF-8."""
    pen = Pen()
    pen.remember("client", **{HOSTILE: HOSTILE, "long": "x" * 50_000})
    pen.send("client", "server", request(HOSTILE, HOSTILE, {"name": HOSTILE, "uri": HOSTILE}))
    pen.send("client", "server", request(2, "tools/call", {"name": HOSTILE, HOSTILE: [HOSTILE]}))
    pen.send("server", "client", error(2, -32602, HOSTILE, data=HOSTILE))
    pen.send("server", "client", result(3, content=text("A" * 100_000), **{"a" * 3000: 1}))
    pen.send("server", "client", b'{"jsonrpc":"2.0","id":1,"result":{"text":"\xff\xfe\xc0\xb3"}}')
    pen.send("server", "client", b"<b>not json</b>")
    pen.send("server", "client", write(request("rtl", "tools/call", {"name": "مرحبا שלום", "x": 1e308})))
    pen.recorder.note(HOSTILE, HOSTILE)
    pen.handler(events.HANDLER_STARTED, HOSTILE, 9)
    pen.handler(events.HANDLER_CANCELLED, HOSTILE, 9)
    exchange = pen.recorder.new_exchange()
    head: Any = {"method": HOSTILE, "path": HOSTILE, "headers": [[HOSTILE, HOSTILE], ["X", "a\r\nB: c"]]}
    pen.send("client", "server", b"", exchange=exchange, head=head)
    pen.recorder.closed("client", "server", HOSTILE, HOSTILE, connection=1)
    return pen.done(HOSTILE, parties=["client", HOSTILE, "server"], transport=HOSTILE)


def gateway() -> Recording:
    """Three lanes: a client, a gateway that answers from its cache, and a server; MRTR on the way."""
    pen = Pen(latency_ms=5)
    ask = {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "Sure?", "requestedSchema": {}},
    }
    pen.send("client", "gateway", request("a", "tools/call", {"name": "close_ticket"}))
    pen.send("gateway", "server", request(71, "tools/call", {"name": "close_ticket"}))
    needs = result(71, inputRequests={"sure": ask}, requestState="v1.c2VhbGVk", resultType="input_required")
    pen.send("server", "gateway", needs)
    pen.send("gateway", "client", {**needs, "id": "a"})
    pen.wait(3_000)
    retry = {
        "name": "close_ticket",
        "inputResponses": {"sure": {"action": "accept", "content": {}}},
        "requestState": "v1.c2VhbGVk",
    }
    pen.send("client", "gateway", request("b", "tools/call", retry))
    pen.send("gateway", "server", request(72, "tools/call", retry))
    pen.send("server", "gateway", result(72, content=text("Ticket closed.")))
    pen.send("gateway", "client", result("b", content=text("Ticket closed.")))
    return pen.done("A question through a gateway", parties=["client", "gateway", "server"])


def long(messages: int = 2_000) -> Recording:
    """Many calls, one after the other."""
    pen = Pen(latency_ms=1)
    for number in range(messages // 2):
        pen.send(
            "client", "server", request(number, "tools/call", {"name": "count", "arguments": {"n": number}})
        )
        pen.handler(events.HANDLER_STARTED, "count", number)
        pen.wait(2)
        pen.handler(events.HANDLER_FINISHED, "count", number, outcome="result")
        pen.send("server", "client", result(number, content=text(f"counted to {number}")))
        if number % 10 == 0:
            pen.remember("client", calls=number)
    return pen.done(f"{messages:,} messages")


def empty() -> Recording:
    """Nothing at all."""
    return Recording({}, ())


def odd_details() -> Recording:
    """Events as a stranger's file can hold them: without what a recorder always writes down."""
    return Recording(
        {"parties": [], "transport": None},
        (
            Event(5, events.DELIVERED, "b", "a", 7),
            Event(5, events.SENT, "a", "b", 1),
            Event(4, events.SENT, "", "", 2, data=b"{}"),
            Event(3, events.CLOSED, "a"),
            Event(3, events.NOTE, "a"),
            Event(2, events.STATE, "a"),
            Event(2, events.HANDLER_FINISHED, "a"),
            Event(2, events.HANDLER_CANCELLED, "a", detail={"id": {}, "name": None}),
            Event(1, events.SENT, "a", "a", 3, data=b"[1,{}]", detail={"copy_of": 99, "channel": ""}),
            Event(1, events.DROPPED, "a", "a", 3),
        ),
    )


MADE: dict[str, Callable[[], Recording]] = {
    make.__name__: make
    for make in (
        modern_progress,
        modern_stream,
        legacy_handshake,
        dropped,
        hostile,
        gateway,
        long,
        empty,
        odd_details,
    )
}


def player_digests() -> list[str]:
    """The name of each of them, with a digest of what the player and its still page make of it."""
    lines: list[str] = []
    for name in sorted(MADE):
        # What holds for two hundred messages holds for two thousand.
        recording = long(200) if name == "long" else MADE[name]()
        # The still page, with the picture in it, is made of the same data.
        data = player_data(recording)
        whole = json.dumps(data) + standalone_html(recording) + still_of(data)
        lines.append(f"{name} {hashlib.sha256(whole.encode('utf-8', 'backslashreplace')).hexdigest()}")
    return lines
