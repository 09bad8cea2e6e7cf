"""Makes the samples whose lines are long, from one small conversation with a bakery. Run it once more after a
change: `python tests/recording/samples/make.py`."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BREAD = {
    "name": "bake",
    "description": 'Bakes "bread", it\'s warm',
    "inputSchema": {"type": "object", "properties": {"loaves": {"type": "integer"}}},
}
CLIENT = {"name": "shop", "version": "1.0"}
TALK: list[tuple[str, dict[str, Any]]] = [
    (
        "client",
        {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"roots": {}},
                "clientInfo": CLIENT,
            },
        },
    ),
    (
        "server",
        {
            "jsonrpc": "2.0",
            "id": 0,
            "result": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "bakery", "version": "2.1"},
            },
        },
    ),
    ("client", {"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ("server", {"jsonrpc": "2.0", "id": "s-1", "method": "ping"}),
    ("client", {"jsonrpc": "2.0", "id": "s-1", "result": {}}),
    ("server", {"jsonrpc": "2.0", "id": "s-2", "method": "roots/list"}),
    ("client", {"jsonrpc": "2.0", "id": "s-2", "result": {"roots": []}}),
    ("client", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    ("server", {"jsonrpc": "2.0", "id": 1, "result": {"tools": [BREAD]}}),
    (
        "client",
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "bake", "arguments": {"loaves": 2}, "_meta": {"progressToken": 2}},
        },
    ),
    (
        "server",
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": 2, "progress": 1, "total": 2},
        },
    ),
    ("server", {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "Two\nloaves"}]}}),
    ("client", {"jsonrpc": "2.0", "id": 3, "method": "tools/list"}),
    (
        "client",
        {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 3, "reason": "closed"},
        },
    ),
]
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def stamp(number: int) -> str:
    return f"{number // 60:02d}:{number % 60:02d}.{number * 7 % 1000:03d}"


def interchange() -> str:
    lines = [
        compact({"from": side, "t_ms": 10 * number, "message": message})
        for number, (side, message) in enumerate(TALK)
    ]
    lines[3:3] = ["", '{"from": "nobody", "message": {}}', "{cut"]
    return "\n".join(lines) + "\n"


def plain() -> str:
    lines = [compact(message) for _, message in TALK]
    lines[2:2] = ["Bakery is open", '{"jsonrpc":"2.0","id":7,"met']
    return "\n".join(lines) + "\n"


def arrows() -> str:
    """As a server logs: what it receives is the client's."""
    words = {"client": "<- ", "server": "-> "}
    return "".join(
        f"2025-12-01 08:{stamp(number)} DEBUG {words[side]}{compact(message)}\n"
        for number, (side, message) in enumerate(TALK)
    )


def several_lines() -> str:
    return "\n".join(json.dumps(message, indent=2) for _, message in TALK) + "\n"


def claude_desktop() -> str:
    lines = ["2025-12-01T08:00:00.000Z [info] [bakery] Initializing server...", "Bakery is open (stderr)"]
    for number, (side, message) in enumerate(TALK):
        lines.append(
            f"2025-12-01T08:{stamp(number)}Z [info] [bakery] Message from {side}: {compact(message)}"
            + (" { metadata: undefined }" if number % 2 else "")
        )
        if number < 3:
            other = json.loads(compact(message).replace("bakery", "garden"))
            lines.append(
                f"2025-12-01T08:{stamp(number)}Z [garden] [info] Message from {side}: {compact(other)}"
            )
    lines.append('2025-12-01T08:00:14.000Z [info] [bakery] Message from server: {"jsonrpc":"2.0","id":3,"res')
    lines.append("2025-12-01T08:01:00.000Z [info] [bakery] Initializing server...")
    lines += [
        f"2025-12-01T08:01:0{number}.000Z [info] [bakery] Message from {side}: {compact(message)}"
        for number, (side, message) in enumerate(TALK[:3])
    ]
    return "\n".join(lines) + "\n"


def vscode() -> str:
    words = {"client": "editor -> server", "server": "server -> editor"}
    lines = ["2025-12-01 08:00:00.000 [info] Starting server bakery"]
    lines += [
        f"2025-12-01 08:{stamp(number)} [debug] [{words[side]}] {compact(message)}"
        for number, (side, message) in enumerate(TALK)
    ]
    lines.insert(4, "2025-12-01 08:00:02.100 [warning] [server stderr] Bakery is open")
    lines.append("2025-12-01 08:00:20.000 [info] Connection state: Stopped")
    return "\n".join(lines) + "\n"


def model(message: dict[str, Any]) -> str:
    members = " ".join(f"{name}={value!r}" for name, value in message.items())
    return members if "params" in message or "result" in message else f"{members} params=None"


def older_model(message: dict[str, Any]) -> str:
    kind = "Response" if "result" in message else "Request" if "id" in message else "Notification"
    members = ", ".join(f"{name}={message[name]!r}" for name in ("method", "params") if name in message)
    rest = ", ".join(f"{name}={message[name]!r}" for name in ("jsonrpc", "id", "result") if name in message)
    return f"root=JSONRPC{kind}({members}{', ' if members else ''}{rest})"


def sdk_client() -> str:
    words = {"client": "Sending client message: ", "server": "SSE message: "}
    return "".join(
        f"2025-12-01 08:00:{number:02d},{number * 7:03d} - mcp.client.streamable_http - DEBUG - "
        f"{words[side]}{model(message)}\n"
        for number, (side, message) in enumerate(TALK)
    )


def sdk_server() -> str:
    lines = ["INFO:     Application startup complete."]
    for side, message in TALK:
        if side == "client":
            lines.append(f"DEBUG:mcp.server.sse:Received JSON: {compact(message).encode()!r}")
            lines.append(f"DEBUG:mcp.server.sse:Validated client message: {older_model(message)}")
        else:
            session = f"SessionMessage(message=JSONRPCMessage({older_model(message)}), metadata=None)"
            lines.append(f"DEBUG:mcp.server.sse:Sending message via SSE: {session}")
    return "\n".join(lines) + "\n"


def inspector_protocol() -> str:
    entries: list[dict[str, Any]] = []
    waiting: dict[Any, dict[str, Any]] = {}
    for number, (side, message) in enumerate(TALK):
        time = f"2025-12-01T08:{stamp(number)}Z"
        if "result" in message:
            entry = waiting.pop(message["id"])
            entry.update(response=message, duration=1007 * (number - int(entry["id"][1:])))
            continue
        kind = "request" if "id" in message else "notification"
        entry = {"id": f"e{number}", "timestamp": time, "direction": kind, "origin": side, "message": message}
        entries.append(entry)
        if "id" in message:
            waiting[message["id"]] = entry
    entries.append({"id": "broken", "timestamp": 5, "message": "?"})
    return json.dumps(entries, indent=2) + "\n"


def call(id: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": META}}


def modern_headers(method: str, name: str = "") -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        **({"Mcp-Name": name} if name else {}),
    }


SERVER = {"io.modelcontextprotocol/serverInfo": {"name": "bakery", "version": "2.1"}}
LISTED = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {
        "resultType": "complete",
        "tools": [BREAD],
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": SERVER,
    },
}
BAKED = {
    "jsonrpc": "2.0",
    "id": 2,
    "result": {
        "resultType": "complete",
        "content": [{"type": "text", "text": "Two loaves"}],
        "_meta": SERVER,
    },
}
STREAM = (
    ": still here\r\n\r\n"
    "event: message\r\ndata: "
    + compact(
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": "p", "progress": 1, "total": 2},
        }
    )
    + "\r\n\r\nevent: message\r\ndata: "
    + compact(BAKED)
    + "\r\n\r\n"
)


def har() -> str:
    def entry(
        second: int, method: str, url: str, headers: dict[str, str], body: Any, answer: dict[str, Any]
    ) -> dict[str, Any]:
        request: dict[str, Any] = {
            "method": method,
            "url": url,
            "httpVersion": "http/2.0",
            "headers": [{"name": name, "value": value} for name, value in headers.items()],
            "queryString": [],
            "cookies": [],
            "headersSize": -1,
            "bodySize": -1,
        }
        if body is not None:
            request["postData"] = {"mimeType": "application/json", "text": compact(body)}
        return {
            "startedDateTime": f"2025-12-01T09:00:{second:02d}.250+01:00",
            "time": 40,
            "request": request,
            "response": {"status": 0, "headers": [], "content": {"size": 0, "mimeType": "x"}, **answer},
            "timings": {"blocked": -1, "dns": -1, "connect": 5, "send": 1, "wait": 20, "receive": 14},
            "cache": {},
        }

    def response(status: int, kind: str, text: str, **more: Any) -> dict[str, Any]:
        return {
            "status": status,
            "headers": [
                {"name": "content-type", "value": kind},
                {"name": "x-accel-buffering", "value": "no"},
            ],
            "content": {"size": len(text), "mimeType": kind, "text": text, **more},
        }

    mcp = "https://bakery.example/mcp?key=letmein"
    secret = {"Authorization": "Bearer s3cret-of-anna", ":authority": "bakery.example"}
    stream = base64.b64encode(STREAM.encode()).decode()
    calling = call(2, "tools/call", name="bake", arguments={"loaves": 2})
    calling["params"]["_meta"] = {**META, "progressToken": "p"}
    entries = [
        entry(0, "GET", "https://bakery.example/index.html", {}, None, response(200, "text/html", "<html>")),
        entry(
            1,
            "OPTIONS",
            mcp,
            {"Origin": "https://shop.example"},
            None,
            {**response(204, "text/plain", ""), "content": {"size": 0}},
        ),
        entry(
            3,
            "POST",
            mcp,
            {**modern_headers("tools/call", "bake"), **secret},
            calling,
            response(200, "text/event-stream", stream, encoding="base64"),
        ),
        entry(
            2,
            "POST",
            mcp,
            {**modern_headers("tools/list"), **secret},
            call(1, "tools/list"),
            response(200, "application/json", compact(LISTED)),
        ),
        entry(
            4,
            "POST",
            mcp,
            {**modern_headers("tools/list"), "Authorization": "Bearer s3cret-of-ben"},
            call(3, "tools/list"),
            {"_error": "net::ERR_ABORTED"},
        ),
        entry(
            5,
            "POST",
            "https://chain.example/rpc",
            {},
            {"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": []},
            response(200, "application/json", "{}"),
        ),
        {"request": "lost"},
    ]
    return json.dumps({"log": {"version": "1.2", "creator": {}, "entries": entries}}, indent=1) + "\n"


def inspector_network() -> str:
    def entry(number: int, headers: dict[str, str], body: Any, kind: str, answer: str) -> dict[str, Any]:
        return {
            "id": f"n{number}",
            "timestamp": f"2025-12-01T08:00:0{number}.000Z",
            "method": "POST",
            "url": "http://127.0.0.1:8080/mcp",
            "requestHeaders": headers,
            "requestBody": compact(body),
            "responseStatus": 200,
            "responseStatusText": "OK",
            "responseHeaders": {"content-type": kind, "x-accel-buffering": "no"},
            "responseBody": answer,
            "duration": 12,
            "category": "transport",
        }

    calling = call(2, "tools/call", name="bake", arguments={"loaves": 2})
    calling["params"]["_meta"] = {**META, "progressToken": "p"}
    entries = [
        entry(1, modern_headers("tools/list"), call(1, "tools/list"), "application/json", compact(LISTED)),
        entry(2, modern_headers("tools/call", "bake"), calling, "text/event-stream", STREAM),
        {
            "id": "n3",
            "timestamp": "2025-12-01T08:00:03.000Z",
            "method": "POST",
            "url": "http://127.0.0.1:8080/token",
            "requestHeaders": {},
            "requestBody": "code=1",
            "category": "auth",
        },
    ]
    return json.dumps(entries, indent=2) + "\n"


def saved() -> str:
    from mcpsim import Recording

    rows = "".join(
        compact({"from": side, "t_ms": number, "message": message}) + "\n"
        for number, (side, message) in enumerate(TALK)
    )
    lines = Recording.from_interchange(rows.encode(), title="bakery").to_jsonl().decode().splitlines()
    lines.insert(4, '{"at_us": -1}')
    return "\n".join(lines) + "\n"


SAMPLES = {
    "saved.jsonl": saved,
    "interchange.jsonl": interchange,
    "json-rpc.jsonl": plain,
    "json-rpc-arrows.log": arrows,
    "json-rpc-several-lines.json": several_lines,
    "claude-desktop.log": claude_desktop,
    "vscode.log": vscode,
    "python-sdk-client.log": sdk_client,
    "python-sdk-server-1.log": sdk_server,
    "inspector-protocol.json": inspector_protocol,
    "inspector-network.json": inspector_network,
    "browser.har": har,
}

if __name__ == "__main__":
    for name, make in SAMPLES.items():
        (HERE / name).write_text(make(), encoding="utf-8")
