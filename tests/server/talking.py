"""How the tests of the peers talk to one of them: lines and HTTP requests by hand, on the virtual clock."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from mcpsim.client import Client, HttpWire, StdioWire
from mcpsim.errors import ConnectionClosed
from mcpsim.messages import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION, from_object
from mcpsim.recording import Recorder, Scribe
from mcpsim.server import HttpServing, Server, StdioServing
from mcpsim.simulation import VirtualTimeLoop
from mcpsim.transports.http import Headers, HttpHead, HttpRequest, SseReader, modern_headers

LATEST = "2026-07-28"
LEGACY_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def run(main: Callable[[], Awaitable[Any]], *, step_budget: int = 100_000) -> Any:
    """Run an async function on a virtual clock to its end."""
    loop = VirtualTimeLoop(step_budget=step_budget)
    task = loop.create_task(main())
    try:
        loop.run_until(task.done)
        return task.result()
    finally:
        loop.close()


# Messages

MISSING = object()


def modern(
    id: Any,
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    version: Any = LATEST,
    capabilities: Any = MISSING,
    meta: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A modern request; a value of MISSING in `meta` takes a key out."""
    keys: dict[str, Any] = {
        PROTOCOL_VERSION: version,
        CLIENT_INFO: {"name": "tester", "version": "1"},
        CLIENT_CAPABILITIES: {} if capabilities is MISSING else capabilities,
        **(meta or {}),
    }
    kept = {key: value for key, value in keys.items() if value is not MISSING}
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**(params or {}), "_meta": kept}}


def legacy(id: Any, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A request without metadata."""
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else {**message, "params": dict(params)}


def notification(method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": dict(params)}


def initialize(id: Any = 1, version: str = "2025-11-25", capabilities: Any = None) -> dict[str, Any]:
    return legacy(
        id,
        "initialize",
        {
            "protocolVersion": version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "tester", "version": "1"},
        },
    )


INITIALIZED = notification("notifications/initialized")


def opening(version: str = "2025-11-25", capabilities: Any = None) -> list[dict[str, Any]]:
    """What a legacy client says before anything else; uses the id "open"."""
    return [initialize("open", version, capabilities), INITIALIZED]


def call(name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The parameters of `tools/call`."""
    return {"name": name, "arguments": dict(arguments or {})}


def as_bytes(message: Any) -> bytes:
    return message if isinstance(message, bytes) else json.dumps(message, ensure_ascii=False).encode()


def headers_for(message: Any) -> Headers:
    """The headers of the POST that carries a modern message."""
    return modern_headers(from_object(message))


# A server on lines


@dataclass
class Feed:
    """A byte stream: gives what is in `input`, bytes or messages; a number is a pause in seconds."""

    input: Iterable[Any]
    sent: list[bytes] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    closed: bool = False
    broken: bool = False
    _left: deque[Any] | None = None

    async def receive(self) -> bytes:
        if self._left is None:
            self._left = deque(self.input)
        while self._left:
            item = self._left.popleft()
            if isinstance(item, float):
                await anyio.sleep(item)
            elif item is BREAK:
                self.broken = True
                raise ConnectionClosed("The connection is gone.")
            elif item is UNREAD:
                self.broken = True
            else:
                return item if isinstance(item, bytes) else as_bytes(item) + b"\n"
        raise anyio.EndOfStream

    async def send(self, data: bytes) -> None:
        if self.broken:
            raise ConnectionClosed("The connection is gone.")
        self.sent.append(data)
        self.times.append(anyio.current_time())

    async def aclose(self) -> None:
        self.closed = True

    @property
    def values(self) -> list[Any]:
        """What was written, as JSON values; each must be one line."""
        assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in self.sent)
        return [json.loads(line) for line in self.sent]


BREAK = object()
#: From here on nobody reads what is written; the input goes on.
UNREAD = object()


@dataclass
class Conversation:
    """What a server did with some lines."""

    values: list[Any]
    times: list[float]
    recorder: Recorder
    closed: bool

    def answers(self, id: Any) -> list[Any]:
        """Everything that was answered under an id, in order."""
        flat = [one for value in self.values for one in (value if isinstance(value, list) else [value])]
        return [one for one in flat if same_id(one.get("id", MISSING), id) and "method" not in one]

    def answer(self, id: Any) -> Any:
        """The one answer under an id."""
        (found,) = self.answers(id)
        return found

    @property
    def notes(self) -> list[str]:
        return notes_of(self.recorder)


def notes_of(recorder: Recorder) -> list[str]:
    return [event.detail["text"] for event in recorder.events if event.kind == "note"]


def handlers_of(recorder: Recorder) -> list[tuple[str, Any]]:
    """The handler events, as (kind, id)."""
    return [
        (event.kind, event.detail["id"]) for event in recorder.events if event.kind.startswith("handler_")
    ]


def same_id(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def tokens() -> Callable[[str], str]:
    counts: dict[str, int] = {}

    def token(purpose: str) -> str:
        counts[purpose] = counts.get(purpose, 0) + 1
        return f"{purpose}-{counts[purpose]}"

    return token


def talk(server: Server, *lines: Any, wait: float = 30.0, principal: str = "") -> Conversation:
    """Let a server read lines (messages, bytes, or pauses in seconds), wait, and close its input."""
    feed = Feed([*lines, float(wait)])
    recorder = Recorder(lambda: 0)

    async def main() -> None:
        scribe = Scribe(recorder)
        await StdioServing(server, feed, scribe=scribe, tokens=tokens(), principal=principal).run()

    run(main)
    return Conversation(feed.values, feed.times, recorder, feed.closed)


# A server at an HTTP endpoint


@dataclass
class Reply:
    """An HTTP response as it was sent."""

    head: HttpHead | None = None
    body: bytes = b""
    ended: bool = False
    exchange: int = 0
    aborted: bool = False
    _callbacks: list[Callable[[], None]] = field(default_factory=list)

    async def send(self, head: HttpHead | None, body: bytes) -> None:
        if self.aborted:
            return
        assert not self.ended, "more was sent after the end"
        assert (head is None) == (self.head is not None), "one head, before everything else"
        self.head = head or self.head
        self.body += body

    async def end(self) -> None:
        assert not self.ended, "ended twice"
        self.ended = True

    def on_abort(self, callback: Callable[[], None]) -> None:
        if self.aborted:
            callback()
        else:
            self._callbacks.append(callback)

    def abort(self) -> None:
        """The client goes away."""
        self.aborted = True
        for callback in self._callbacks:
            callback()

    @property
    def status(self) -> int:
        assert self.head is not None
        return self.head.status

    def header(self, name: str) -> str | None:
        assert self.head is not None
        return self.head.headers.get(name)

    @property
    def is_stream(self) -> bool:
        return (self.header("Content-Type") or "").startswith("text/event-stream")

    @property
    def values(self) -> list[Any]:
        """The messages in it, as JSON values."""
        if not self.is_stream:
            return [json.loads(self.body)] if self.body else []
        return [json.loads(event.data) for event in SseReader().feed(self.body)]

    @property
    def value(self) -> Any:
        """The last message, which is the answer."""
        return self.values[-1]


class Endpoint:
    """A server at an HTTP endpoint."""

    def __init__(self, server: Server, **settings: Any) -> None:
        self.recorder = Recorder(lambda: 0)
        self.serving = HttpServing(server, scribe=Scribe(self.recorder), tokens=tokens(), **settings)

    async def ask(
        self,
        body: Any = b"",
        headers: Any = None,
        *,
        method: str = "POST",
        reply: Reply | None = None,
        **changes: str | None,
    ) -> Reply:
        """Send a request; `changes` set or (None) take out headers, `_` for `-` in their names."""
        given = Headers(LEGACY_HEADERS if headers is None else headers)
        for name, value in changes.items():
            spelled = name.replace("_", "-")
            given = given.without(spelled) if value is None else given.with_(spelled, value)
        reply = reply or Reply()
        data = b"" if body == b"" else as_bytes(body)
        await self.serving.handle(HttpRequest(method, "/mcp", given, data), reply)
        return reply

    async def modern(self, message: Any, **changes: str | None) -> Reply:
        """Send a modern request with the headers that belong to it."""
        return await self.ask(message, headers_for(message), **changes)

    async def open(
        self, version: str = "2025-11-25", capabilities: Any = None, **changes: str
    ) -> dict[str, str]:
        """Do the handshake; returns the headers for what follows in the session."""
        first = await self.ask(initialize("open", version, capabilities), **changes)
        assert first.status == 200
        headers = {**LEGACY_HEADERS, "MCP-Session-Id": first.header("MCP-Session-Id") or ""}
        if version >= "2025-06-18":
            headers["MCP-Protocol-Version"] = version
        second = await self.ask(INITIALIZED, headers, **changes)
        assert second.status == 202
        return headers

    @property
    def notes(self) -> list[str]:
        return notes_of(self.recorder)


# A client against a server that does as the test says


class FakeServer:
    """The far end of a client's pipes: calls `respond` with each line and sends what it returns.

    `respond` returns bytes, messages, and numbers, which are pauses in seconds.
    """

    def __init__(self, respond: Callable[[Any], Iterable[Any]], *, ends: bool = True) -> None:
        self.heard: list[Any] = []
        self._respond = respond
        self._ends = ends
        self._output: deque[Any] = deque()
        self._wake = anyio.Event()

    async def send(self, data: bytes) -> None:
        for line in data.splitlines():
            value = json.loads(line)
            self.heard.append(value)
            self.say(*self._respond(value))

    def say(self, *items: Any) -> None:
        """Send without being asked."""
        self._output.extend(items)
        self._wake.set()

    async def receive(self) -> bytes:
        while True:
            while not self._output:
                self._wake = anyio.Event()
                await self._wake.wait()
            item = self._output.popleft()
            if item is END:
                raise anyio.EndOfStream
            if not isinstance(item, float):
                return item if isinstance(item, bytes) else as_bytes(item) + b"\n"
            await anyio.sleep(item)

    async def aclose(self) -> None:
        if self._ends:
            self.say(END)

    def heard_methods(self) -> list[str | None]:
        return [value.get("method") for value in self.heard]


END = object()


@dataclass
class Response:
    """What a fake endpoint answers. A number in `chunks` is a pause in seconds."""

    status: int
    chunks: Iterable[Any] = ()
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    hangs: bool = False


def stream(*chunks: Any, **more: Any) -> Response:
    """A response stream; messages become events."""
    framed = [
        chunk if isinstance(chunk, bytes | float) else b"data: " + as_bytes(chunk) + b"\n\n"
        for chunk in chunks
    ]
    return Response(200, framed, {"Content-Type": "text/event-stream"}, **more)


def json_response(message: Any, status: int = 200, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, [as_bytes(message)], {"Content-Type": "application/json", **named})


class FakeEndpoint:
    """The far end of a client's HTTP requests: calls `respond` with each of them."""

    def __init__(self, respond: Callable[[HttpRequest, Any], Response | None]) -> None:
        self.requests: list[HttpRequest] = []
        self.exchanges: list[FakeExchange] = []
        self._respond = respond

    async def open(self, request: HttpRequest) -> FakeExchange:
        self.requests.append(request)
        value = json.loads(request.body) if request.body else None
        response = self._respond(request, value)
        if response is None:
            raise ConnectionClosed("The endpoint cannot be reached.")
        self.exchanges.append(FakeExchange(response))
        return self.exchanges[-1]

    def heard(self) -> list[Any]:
        return [json.loads(request.body) if request.body else request.method for request in self.requests]

    def heard_methods(self) -> list[str]:
        return [one if isinstance(one, str) else one.get("method", "response") for one in self.heard()]


class FakeExchange:
    def __init__(self, response: Response) -> None:
        self._response = response
        self._left = deque(response.chunks)
        self.aborted = False

    async def head(self) -> HttpHead:
        await anyio.lowlevel.checkpoint()
        if self._response.status == 0:
            await anyio.sleep_forever()
        return HttpHead(self._response.status, Headers(self._response.headers))

    async def receive(self) -> bytes:
        await anyio.lowlevel.checkpoint()
        while self._left:
            item = self._left.popleft()
            if isinstance(item, bytes):
                return item
            await anyio.sleep(item)
        if self._response.hangs:
            await anyio.sleep_forever()
        raise anyio.EndOfStream

    def abort(self) -> None:
        self.aborted = True


@dataclass
class Played:
    """What a client did: what the story returned or raised, the client, and what was noted."""

    value: Any
    error: Exception | None
    client: Client
    recorder: Recorder
    took_s: float

    @property
    def notes(self) -> list[str]:
        return notes_of(self.recorder)


def play(
    story: Callable[[Client], Awaitable[Any]],
    far_end: FakeServer | FakeEndpoint,
    *,
    client: Client | None = None,
    connect: bool = True,
) -> Played:
    """Attach a client to a fake server and play a story."""
    recorder = Recorder(lambda: 0)
    scribe = Scribe(recorder, "client")
    user = (client or Client()).fresh()
    outcome: list[Any] = [None, None, 0.0]

    async def main() -> None:
        is_http = isinstance(far_end, FakeEndpoint)
        wire = HttpWire(far_end, scribe, principal=user.principal) if is_http else StdioWire(far_end, scribe)
        async with user.attached(wire, scribe):
            try:
                if connect:
                    await user.connect()
                outcome[0] = await story(user)
            except Exception as error:
                outcome[1] = error
        outcome[2] = anyio.current_time()

    run(main)
    return Played(outcome[0], outcome[1], user, recorder, outcome[2])
