"""Arbitrary traffic: messages of every method in every revision, nearly right ones, and plain bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anyio
from hypothesis import strategies as st

from mcpsim import Context, Server
from mcpsim.eras.methods import METHODS
from mcpsim.eras.revisions import LEGACY_REVISIONS, MODERN_REVISIONS
from mcpsim.messages import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION

REVISIONS = (*LEGACY_REVISIONS, *MODERN_REVISIONS)
LATEST = MODERN_REVISIONS[0]
ALL_CAPABILITIES = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {"listChanged": True},
}
FORM = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def everything(era: Any = "both", **settings: Any) -> Server:
    """A server with everything on offer, whose handlers keep nothing."""
    server = Server(
        "everything",
        era=era,
        page_size=2,
        list_changed=True,
        subscribe=True,
        logging=True,
        ttl_ms=1_000,
        instructions="Ask for anything.",
        state_key=b"sixteen bytes and more",
        **settings,
    )

    @server.tool()
    def echo(text: str = "", number: int = 0) -> str:
        return f"{text} {number}"

    @server.tool()
    async def slow(context: Context, seconds: float = 0.2) -> str:
        for step in range(3):
            await context.report_progress(step + 1, 3, "at work")
            await context.log("info", {"step": step})
            await anyio.sleep(min(max(seconds, 0), 1))
        return "slept"

    @server.tool()
    async def asks(context: Context) -> str:
        first = await context.elicit("What?", FORM)
        second = await context.sample("Write.", max_tokens=5)
        third = await context.list_roots()
        return f"{first.action} {second.role} {len(third.roots)}"

    @server.tool()
    async def comes_back(context: Context) -> str:
        if context.remembered is None:
            context.remember({"was": "here"})
            await context.come_back()
        return "back"

    @server.tool(
        output_schema={
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
        }
    )
    def structured(n: int = 1) -> dict[str, int]:
        return {"n": n}

    @server.tool()
    def fails() -> str:
        raise RuntimeError("The handler is broken.")

    @server.tool(
        input_schema={
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        }
    )
    def mirrored(region: str = "north") -> str:
        return region

    @server.resource("note://one", mime_type="text/plain")
    def one() -> str:
        return "a note"

    @server.resource("note://bytes")
    def some_bytes() -> bytes:
        return b"\0\xff"

    @server.resource("note://asked")
    async def asked(context: Context) -> str:
        return (await context.elicit("Which?", FORM)).action

    @server.resource_template("note://of/{day}", complete={"day": lambda value, known: [value, "monday"]})
    def of(day: str) -> str:
        return day

    @server.prompt(complete={"city": lambda value, known: ["Pau", *known.values()]})
    def letter(city: str, tone: str = "brief") -> str:
        return f"{city} {tone}"

    @server.prompt()
    async def questions(context: Context) -> str:
        return (await context.elicit("Who?", FORM)).action

    return server


TOOLS = ("echo", "slow", "asks", "comes_back", "structured", "fails", "mirrored", "nobody")
RESOURCES = ("note://one", "note://bytes", "note://asked", "note://of/monday", "note://of/", "nothing")

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from([2**53 + 1, -(2**70), 1.0, 1e300, "", "\0", "\u2028", "0", "progress-1", "é"])
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
ids = st.sampled_from([0, 1, 2, -1, "", "a", "1", "server-1", 2**60])

# Parameters as they should be, by method.
_of_tool: dict[str, Any] = {
    "echo": {"text": "a", "number": 1},
    "slow": {"seconds": 0.1},
    "mirrored": {"region": "south"},
}
RIGHT: dict[str, st.SearchStrategy[Any]] = {
    # Batches come with 2025-03-26; a test that wants them opens such a session itself.
    "initialize": st.builds(
        lambda version, capabilities: {
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "anybody", "version": "1"},
        },
        st.sampled_from([one for one in REVISIONS if one != "2025-03-26"] + ["1900-01-01"]),
        st.sampled_from([{}, ALL_CAPABILITIES]),
    ),
    "tools/call": st.sampled_from(TOOLS).map(
        lambda name: {"name": name, "arguments": _of_tool.get(name, {})}
    ),
    "resources/read": st.sampled_from(RESOURCES).map(lambda uri: {"uri": uri}),
    "resources/subscribe": st.sampled_from(RESOURCES).map(lambda uri: {"uri": uri}),
    "resources/unsubscribe": st.sampled_from(RESOURCES).map(lambda uri: {"uri": uri}),
    "prompts/get": st.sampled_from(
        [{"name": "letter", "arguments": {"city": "Pau"}}, {"name": "questions"}, {"name": "letter"}]
    ),
    "completion/complete": st.sampled_from(
        [
            {"ref": {"type": "ref/prompt", "name": "letter"}, "argument": {"name": "city", "value": "P"}},
            {
                "ref": {"type": "ref/resource", "uri": "note://of/{day}"},
                "argument": {"name": "day", "value": "m"},
            },
        ]
    ),
    "logging/setLevel": st.sampled_from(["debug", "error", "loud"]).map(lambda level: {"level": level}),
    "subscriptions/listen": st.fixed_dictionaries(
        {
            "notifications": st.fixed_dictionaries(
                {},
                optional={
                    "toolsListChanged": st.booleans(),
                    "resourceSubscriptions": st.lists(st.sampled_from(RESOURCES[:4]), max_size=2),
                },
            )
        }
    ),
    "notifications/cancelled": ids.map(lambda id: {"requestId": id, "reason": "no longer wanted"}),
    "notifications/progress": ids.map(lambda id: {"progressToken": id, "progress": 1}),
    "notifications/message": st.just({"level": "info", "data": "x"}),
    "notifications/resources/updated": st.just({"uri": "note://one"}),
    "sampling/createMessage": st.just({"messages": [], "maxTokens": 1}),
    "elicitation/create": st.just({"message": "", "requestedSchema": FORM}),
    "notifications/elicitation/complete": st.just({"elicitationId": "a"}),
}
NOTHING = st.just({}) | st.none()
NAMES = sorted({row.name for row in METHODS})
REQUESTS = sorted({row.name for row in METHODS if row.kind == "request" and row.direction != "to_client"})


def meta_of(version: Any, capabilities: Any, extra: Any) -> dict[str, Any]:
    """The metadata of a modern request."""
    return {
        PROTOCOL_VERSION: version,
        CLIENT_INFO: {"name": "anybody", "version": "1"},
        CLIENT_CAPABILITIES: capabilities,
        **extra,
    }


metas = st.builds(
    meta_of,
    st.sampled_from([LATEST] * 4 + ["2025-11-25", "1900-01-01"]),
    st.sampled_from([{}, ALL_CAPABILITIES]),
    st.fixed_dictionaries(
        {},
        optional={
            "progressToken": ids,
            "io.modelcontextprotocol/logLevel": st.sampled_from(["debug", "error"]),
        },
    ),
)


@st.composite
def requests(draw: st.DrawFn, id: Any = ids, modern: bool | None = None) -> dict[str, Any]:
    """A request of any method: well formed, and often allowed."""
    method = draw(st.sampled_from(REQUESTS) | st.sampled_from([*NAMES, "no/such", ""]))
    params = draw(RIGHT.get(method, NOTHING))
    is_modern = draw(st.booleans()) if modern is None else modern
    if is_modern:
        params = {**(params or {}), "_meta": draw(metas)}
    elif draw(st.integers(0, 4)) == 0:
        params = {**(params or {}), "_meta": {"progressToken": draw(ids)}}
    message = {"jsonrpc": "2.0", "id": draw(id), "method": method}
    return message if params is None else {**message, "params": params}


@st.composite
def notifications(draw: st.DrawFn) -> dict[str, Any]:
    """A notification of any method."""
    method = draw(st.sampled_from([*(one for one in NAMES if one.startswith("notif")), *NAMES, "x"]))
    params = draw(RIGHT.get(method, NOTHING))
    message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


responses = st.one_of(
    st.builds(lambda id, result: {"jsonrpc": "2.0", "id": id, "result": result}, ids, json_values),
    st.builds(lambda id: {"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": ""}}, ids),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every member in a JSON value."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in inner:
        yield from places(member, (*path, key))


def with_change(value: Any, path: tuple[Any, ...], change: Any) -> Any:
    """The value with one member replaced, or taken out where the change is `...`."""
    if not path:
        return change
    key, *rest = path
    if isinstance(value, list):
        inner = [with_change(value[key], tuple(rest), change)] if rest or change is not ... else []
        return [*value[:key], *inner, *value[key + 1 :]]
    if not rest and change is ...:
        return {name: member for name, member in value.items() if name != key}
    return {**value, key: with_change(value[key], tuple(rest), change)}


@st.composite
def spoiled(draw: st.DrawFn, messages: st.SearchStrategy[Any]) -> Any:
    """A message with one member replaced, taken out or added, at any depth."""
    message = draw(messages)
    path = draw(st.sampled_from(list(places(message))))
    if draw(st.integers(0, 5)) == 0:
        added = draw(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "_meta", "x"]))
        return {**message, added: draw(json_values)}
    return with_change(message, path, draw(json_values | st.just(...)))


def as_bytes(value: Any) -> bytes:
    """The JSON text of a value; bytes as they are."""
    return value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()


@st.composite
def damaged(draw: st.DrawFn, messages: st.SearchStrategy[Any]) -> bytes:
    """The bytes of a message, cut off, or with others put in."""
    data = as_bytes(draw(messages))
    at = draw(st.integers(0, len(data)))
    put = draw(
        st.binary(max_size=4)
        | st.sampled_from(
            [
                b"\xef\xbb\xbf",
                b"\0",
                b"\r",
                b"\\ud800",
                b"[" * 70,
                b"1" * 500,
                b"1e999",
                b"NaN",
                b"{",
                b'"',
                b"-",
            ]
        )
    )
    until = draw(st.sampled_from([at, at, at + 1, len(data)]))
    return data[:at] + put + data[until:]


deep = st.builds(
    lambda depth, open_, close: open_ * depth + close * depth,
    st.sampled_from([10, 63, 64, 65, 600, 5_000]),
    st.just(b'{"a":'),
    st.sampled_from([b"}", b"", b"]"]),
) | st.sampled_from([64, 65, 3_000]).map(lambda depth: b"[" * depth + b"]" * depth)


def lines(messages: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """What may stand on a line or in a body: mostly messages, nearly right ones, batches, and rubbish."""
    return st.one_of(
        messages.map(as_bytes),
        messages.map(as_bytes),
        spoiled(messages).map(as_bytes),
        damaged(messages),
        st.lists(messages, max_size=3).map(as_bytes),
        json_values.map(as_bytes),
        st.binary(max_size=30),
        deep,
    )
