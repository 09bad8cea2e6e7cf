"""Whatever a server sends: the client raises its own errors only, in bounded time."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import END, LATEST, FakeEndpoint, FakeServer, Played, Response, as_bytes, play

from mcpsim import Cache, Client, McpSimError

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
texts = st.sampled_from([LATEST, "2025-11-25", "2025-03-26", "complete", "input_required", "1900-01-01"])
FORM = {"message": "", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
# Members of results that mean something, with values that are right, or nearly, or not at all.
results = st.dictionaries(
    st.sampled_from(
        [
            "resultType",
            "supportedVersions",
            "capabilities",
            "protocolVersion",
            "serverInfo",
            "tools",
            "content",
            "isError",
            "structuredContent",
            "ttlMs",
            "cacheScope",
            "_meta",
            "instructions",
            "nextCursor",
            "resources",
            "contents",
            "messages",
            "completion",
            "inputRequests",
            "requestState",
        ]
    ),
    st.one_of(
        texts,
        st.lists(texts, max_size=2),
        st.just({"tools": {}}),
        st.just({"name": "fake", "version": "1"}),
        st.just([{"type": "text", "text": "a"}]),
        st.just([{"name": "a", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}]),
        st.just(
            [{"name": "a", "inputSchema": {"properties": {"x": {"type": "string", "x-mcp-header": ""}}}}]
        ),
        st.just([{"uri": "file:///a", "text": "a"}]),
        st.just({"values": ["a"]}),
        st.just({"a": {"method": "roots/list"}}),
        st.just({"a": {"method": "elicitation/create", "params": FORM}}),
        json_values,
    ),
    max_size=6,
)
codes = st.sampled_from([-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022, -32002, 0, 7])
error_data = st.one_of(
    st.none(), st.builds(lambda names: {"supported": names}, st.lists(texts, max_size=2)), json_values
)
# An answer to the request that was heard last: its id is put in later.
ID = "the id of the request"
answers = st.one_of(
    st.builds(lambda result: {"jsonrpc": "2.0", "id": ID, "result": result}, results),
    st.builds(
        lambda code, data: {"jsonrpc": "2.0", "id": ID, "error": {"code": code, "message": "", "data": data}},
        codes,
        error_data,
    ),
)
unasked = st.one_of(
    st.builds(
        lambda params: {"jsonrpc": "2.0", "method": "notifications/progress", "params": params},
        st.dictionaries(
            st.sampled_from(["progressToken", "progress", "total", "message"]), st.just(ID) | json_values
        ),
    ),
    st.builds(lambda method: {"jsonrpc": "2.0", "method": method}, st.text(max_size=5)),
    st.builds(
        lambda id, method: {"jsonrpc": "2.0", "id": id, "method": method},
        st.integers(0, 3) | st.text(max_size=2),
        st.sampled_from(["ping", "roots/list", "elicitation/create", "x"]),
    ),
    st.builds(
        lambda id: {"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": FORM},
        st.integers(0, 3) | st.text(max_size=2),
    ),
    st.builds(
        lambda method, params: {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params},
        st.sampled_from(
            ["cancelled", "message", "tools/list_changed", "resources/updated", "elicitation/complete"]
        ),
        st.dictionaries(
            st.sampled_from(["requestId", "reason", "level", "data", "uri", "elicitationId", "_meta"]),
            st.integers(0, 3) | json_values,
        ),
    ),
    st.builds(lambda id: {"jsonrpc": "2.0", "id": id, "result": {}}, scalars),
)
spoiled = st.builds(
    lambda message, key, value: {**message, key: value},
    answers | unasked,
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]),
    json_values,
)
messages = answers | unasked | spoiled | st.lists(answers | unasked, max_size=3)
pauses = st.sampled_from([0.01, 1.0, 50.0])
lines = messages | json_values.map(lambda value: as_bytes(value) + b"\n") | st.binary(max_size=20)
things = lines | pauses | st.just(END)


def with_id(thing: Any, id: Any) -> Any:
    if isinstance(thing, dict):
        return {key: with_id(value, id) for key, value in thing.items()}
    if isinstance(thing, list):
        return [with_id(value, id) for value in thing]
    return id if isinstance(thing, str) and thing == ID else thing


OPERATIONS = 15


async def drain(client: Client) -> None:
    async for _ in client.pages("tools/list", max_pages=3):
        pass


async def everything(client: Client) -> list[str]:
    """Each operation once; what it raises must be one of our own errors."""
    outcomes: list[str] = []
    operations: list[Callable[[], Any]] = [
        client.discover,
        client.list_tools,
        lambda: drain(client),
        lambda: client.list_resources(""),
        lambda: client.read_resource("file:///a"),
        lambda: client.get_prompt("a", {"b": "c"}),
        lambda: client.complete({"type": "ref/prompt", "name": "a"}, ("b", "c")),
        lambda: client.set_log_level("info"),
        lambda: client.set_roots(["file:///b"]),
        lambda: client.call_tool("a", on_progress=lambda *what: None),
        client.ping,
        lambda: client.request("x/y"),
        lambda: client.notify("notifications/x"),
        lambda: client.send_raw({"jsonrpc": "2.0", "id": 50, "method": "x"}),
        lambda: client.send_raw([{"jsonrpc": "2.0", "id": 51, "method": "x"}]),
    ]
    for operation in operations:
        try:
            await operation()
            outcomes.append("")
        except McpSimError as error:
            outcomes.append(f"{type(error).__name__}: {error}")
    return outcomes


def described(era: Any) -> Client:
    """A client that uses everything that there is."""

    async def think(params: Any) -> dict[str, str]:
        await anyio.sleep(0.5)
        return {"a": "b"}

    return Client(
        era=era,
        timeout_s=2,
        probe_timeout_s=1,
        cache=Cache(max_entries=3),
        stale_if_error=True,
        elicit=think,
        roots=["file:///a"],
        log_level="debug",
        on_log=lambda *what: None,
        max_rounds=2,
    )


def check(played: Played) -> None:
    assert played.error is None or isinstance(played.error, McpSimError)
    assert played.error is not None or len(played.value) == OPERATIONS
    # The operations, each with a few requests, a retry of each at most, the opening, and the end.
    assert played.took_s < OPERATIONS * 4 * 2 * 2 + 10


@settings(max_examples=200)
@given(
    st.lists(st.lists(things, max_size=4), max_size=10),
    st.sampled_from(["modern", "legacy", "auto"]),
    st.booleans(),
)
def test_a_server_on_a_pipe_may_send_anything(script: list[list[Any]], era: Any, ends: bool) -> None:
    left = list(script)

    def respond(message: Any) -> list[Any]:
        id = message.get("id") if isinstance(message, dict) else None
        return [with_id(thing, id) for thing in (left.pop(0) if left else [])]

    far_end = FakeServer(respond, ends=ends)
    check(play(everything, far_end, client=described(era)))


headers = st.dictionaries(
    st.sampled_from(["Content-Type", "MCP-Session-Id", "X-Other"]),
    st.sampled_from(["application/json", "text/event-stream", "text/html", "", "s1", "s2"]),
)
statuses = st.sampled_from([0, 200, 200, 200, 202, 400, 401, 404, 405, 500])
bodies = st.lists(messages | st.binary(max_size=20) | st.sampled_from([0.01, 1.0]), max_size=3)


@settings(max_examples=200)
@given(
    st.lists(st.none() | st.tuples(statuses, headers, bodies, st.booleans()), max_size=14),
    st.sampled_from(["modern", "legacy", "auto"]),
)
def test_an_endpoint_may_answer_anything(script: list[Any], era: Any) -> None:
    left = list(script)

    def respond(request: Any, value: Any) -> Response | None:
        row = left.pop(0) if left else (200, {"Content-Type": "application/json"}, [], False)
        if row is None:
            return None
        status, named, body, hangs = row
        id = value.get("id") if isinstance(value, dict) else None
        is_stream = named.get("Content-Type") == "text/event-stream"
        chunks: list[Any] = []
        for thing in body:
            if isinstance(thing, dict | list):
                data = json.dumps(with_id(thing, id)).encode()
                thing = b"data: " + data + b"\n\n" if is_stream else data
            chunks.append(thing)
        return Response(status, chunks, named, hangs)

    check(play(everything, FakeEndpoint(respond), client=described(era)))


@settings(max_examples=30)
@given(st.lists(st.binary(max_size=50), max_size=5))
def test_bytes_that_nobody_asked_for(chunks: list[bytes]) -> None:
    far_end = FakeServer(lambda message: [])
    far_end.say(*chunks, b"\n")

    async def wait(client: Client) -> int:
        await anyio.sleep(1)
        return 1

    assert play(wait, far_end).value == 1
