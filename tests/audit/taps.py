"""What passes between somebody's client and somebody's server, written down in the interchange form.

    python tests/audit/taps.py stdio FILE COMMAND...      stands in for the server's process
    python tests/audit/taps.py http FILE ADDRESS          stands before the server; its own address is printed

A tap changes nothing: bytes go on as they came, and each line, body and event is a row with its time.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, Final

import anyio
import httpx2
import uvicorn

from mcpsim.transports.http import SseEvent, SseReader

# What a proxy must not pass on, and what httpx2 sets itself.
HOP_BY_HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "host", "content-length"})


class Notes:
    """A file of rows."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._path.write_text("", encoding="utf-8")
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def add(self, side: str, row: dict[str, Any]) -> None:
        """Write a row down."""
        with self._lock:
            t_ms = round((time.monotonic() - self._began) * 1000, 3)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"from": side, "t_ms": t_ms, **row}) + "\n")


def body_of(text: bytes) -> dict[str, Any]:
    """`message` for one clean message, otherwise `raw`."""
    if not text:
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        return {"raw": text.decode("utf-8", "replace")}
    return {"message": value} if isinstance(value, dict | list) else {"raw": text.decode()}


def tap_stdio(path: str, command: list[str]) -> int:
    """Run the server, and pass every line on in both directions."""
    notes = Notes(path)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def there(server_in: BinaryIO) -> None:
            for line in sys.stdin.buffer:
                notes.add("client", body_of(line.strip()))
                server_in.write(line)
                server_in.flush()
            notes.add("client", {"event": "stdin_closed", "by": "client"})
            server_in.close()

        threading.Thread(target=there, args=(server.stdin,), daemon=True).start()
        for line in server.stdout:
            notes.add("server", body_of(line.strip()))
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
        notes.add("server", {"event": "stdout_closed", "by": "server"})
    return server.returncode


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class HttpTap:
    """An ASGI application that passes every exchange on to a server."""

    def __init__(self, notes: Notes, address: str) -> None:
        self._notes = notes
        self._address = address
        self._numbers = count(1)
        self._client = httpx2.AsyncClient(timeout=None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one exchange."""
        if scope["type"] != "http":
            return
        exchange: dict[str, Any] = {"transport": "http", "exchange": f"x{next(self._numbers)}"}
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = [(name.decode(), value.decode()) for name, value in scope["headers"]]
        sent = {**exchange, "http_method": scope["method"], "headers": dict(headers)}
        self._notes.add("client", {**sent, **body_of(body)})
        passed = [(name, value) for name, value in headers if name.lower() not in HOP_BY_HOP]
        request = self._client.build_request(
            scope["method"], self._address, headers=passed, content=body or None
        )
        left = True
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                # A client that goes away has to be seen: in the modern protocol that cancels its request.
                while (await receive())["type"] != "http.disconnect":
                    pass
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            response = await self._client.send(request, stream=True)
            try:
                await self._answer(response, exchange, send)
                left = False
            finally:
                with anyio.CancelScope(shield=True):
                    await response.aclose()
            tasks.cancel_scope.cancel()
        if left:
            self._notes.add("client", {**exchange, "event": "client_aborted", "by": "client"})

    async def _answer(self, response: httpx2.Response, exchange: dict[str, Any], send: Send) -> None:
        head = {**exchange, "status": response.status_code, "headers": dict(response.headers)}
        kept = [
            (name.encode(), value.encode())
            for name, value in response.headers.items()
            if name.lower() not in HOP_BY_HOP
        ]
        await send({"type": "http.response.start", "status": response.status_code, "headers": kept})
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            await self._stream(response.aiter_raw(), head, send)
            self._notes.add("server", {**exchange, "event": "response_stream_closed", "by": "server"})
            return
        body = b"".join([chunk async for chunk in response.aiter_raw()])
        self._notes.add("server", {**head, **body_of(body)})
        await send({"type": "http.response.body", "body": body})

    async def _stream(self, chunks: AsyncIterator[bytes], head: dict[str, Any], send: Send) -> None:
        reader = SseReader()
        async for chunk in chunks:
            for event in reader.feed(chunk):
                if isinstance(event, SseEvent):
                    named = {} if event.id is None else {"sse_id": event.id}
                    row = body_of(event.data) if event.data else {"raw": f"id: {event.id}\ndata: \n\n"}
                    self._notes.add("server", {**head, **named, **row})
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def tap_http(path: str, address: str) -> None:
    """Listen on a free port, and pass on what comes."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        # Before the address is told: who connects at once must find somebody.
        listening.listen()
        port = listening.getsockname()[1]
        print(f"http://127.0.0.1:{port}/mcp", flush=True)
        app: Any = HttpTap(Notes(path), address)
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    way, file, *rest = sys.argv[1:]
    sys.exit(tap_stdio(file, rest) if way == "stdio" else tap_http(file, rest[0]))
