"""Whatever bytes a server reads: no exception, no hang, one answer for each request, none for the rest."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import (
    BREAK,
    LATEST,
    Endpoint,
    Feed,
    Reply,
    as_bytes,
    call,
    initialize,
    legacy,
    modern,
    notification,
    opening,
    run,
    talk,
    tokens,
)

from mcpsim import Context, Server, Stdio, StreamableHttp, simulate
from mcpsim.errors import MalformedMessage, McpSimError
from mcpsim.messages import Batch, Message, Request, read_batch, read_message
from mcpsim.recording import Scribe
from mcpsim.server import HttpServing, StdioServing
from mcpsim.transports.faults import Cut, Delay, Drop, Duplicate, Reorder
from mcpsim.transports.http import Headers, HttpRequest
from mcpsim.transports.stdio import LineReader


def desk(era: Any) -> Server:
    server = Server("desk", era=era)

    @server.tool()
    async def slow(context: Context, seconds: float = 0.1) -> str:
        await context.report_progress(1)
        await anyio.sleep(min(seconds, 1))
        return "slept"

    @server.tool(requires={"elicitation": {}})
    def picky(number: int) -> dict[str, int]:
        return {"number": number}

    @server.tool()
    def fails() -> str:
        raise RuntimeError("broken")

    return server


DESKS = {era: desk(era) for era in ("modern", "legacy", "both")}

# What may stand on a line

ids = st.sampled_from([0, 1, 2, "", "a", "1", -1, 2**60])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
methods = st.sampled_from(
    [
        "tools/list",
        "tools/call",
        "server/discover",
        "ping",
        "initialize",
        "prompts/list",
        "no/such",
        "",
        "notifications/initialized",
        "notifications/progress",
    ]
)
arguments = st.sampled_from(
    [
        call("slow"),
        call("slow", {"seconds": 0.01}),
        call("picky", {"number": 1}),
        call("fails"),
        call("nobody"),
        {},
    ]
)
requests = st.one_of(
    st.builds(modern, ids, methods, arguments),
    st.builds(modern, ids, methods, arguments, version=st.sampled_from([LATEST, "1900-01-01", 5])),
    st.builds(legacy, ids, methods, st.none() | arguments),
    st.builds(initialize, ids, st.sampled_from(["2025-11-25", "2024-11-05", "x"])),
)
others = st.one_of(
    st.builds(notification, methods, st.none() | arguments),
    st.builds(lambda id: {"jsonrpc": "2.0", "id": id, "result": {}}, ids),
    st.builds(lambda id: {"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": ""}}, ids),
)
# A message with one member taken out, added or replaced.
spoiled = st.builds(
    lambda message, key, value: {**message, key: value},
    requests | others,
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]),
    json_values,
)
lines = st.one_of(
    requests.map(as_bytes),
    others.map(as_bytes),
    spoiled.map(as_bytes),
    json_values.map(as_bytes),
    st.binary(max_size=30),
    st.builds(lambda message, at: as_bytes(message)[:at], requests, st.integers(0, 80)),
)


class Oracle:
    """How many answers each id must get, and how many answers have none; read as the server reads."""

    def __init__(self, data: bytes) -> None:
        self.expected: Counter[Any] = Counter()
        for line in LineReader().feed(data):
            assert isinstance(line, bytes)
            self.count(line)

    def count(self, line: bytes) -> None:
        try:
            message: Message | Batch = read_message(line)
        except MalformedMessage as error:
            if error.expects_answer:
                self.expected[key(error.id)] += 1
            return
        if isinstance(message, Request):
            self.expected[key(message.id)] += 1


def key(id: Any) -> tuple[str, Any]:
    return type(id).__name__, id


def answered(values: list[Any]) -> Counter[Any]:
    flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return Counter(key(one.get("id")) for one in flat if "method" not in one)


@settings(max_examples=150)
@given(
    st.sampled_from(sorted(DESKS)),
    st.booleans(),
    st.lists(lines, max_size=8),
    st.lists(st.integers(1, 60), max_size=5),
    st.booleans(),
)
def test_any_lines_into_a_server(
    era: str, opened: bool, content: list[bytes], cuts: list[int], is_cut_off: bool
) -> None:
    data = b"".join(as_bytes(one) + b"\n" for one in (opening() if opened else []))
    data += b"".join(line + b"\n" for line in content)
    pieces, rest = [], data
    for cut in cuts:
        pieces, rest = [*pieces, rest[:cut]], rest[cut:]
    feed = Feed([*(piece for piece in (*pieces, rest) if piece), 50.0, *([BREAK] if is_cut_off else [])])
    run(lambda: StdioServing(DESKS[era], feed, scribe=Scribe(), tokens=tokens()).run())
    assert feed.closed
    for value in feed.values:
        # What the server writes is a message, and only a handler's notifications are none of the answers.
        read_message(as_bytes(value))
    assert answered(feed.values) == Oracle(data).expected


@settings(max_examples=60)
@given(st.lists(st.lists(requests | others | json_values, max_size=4) | requests, max_size=4))
def test_any_batches_into_a_session_that_has_them(batches: list[Any]) -> None:
    feed = Feed([*opening("2025-03-26"), *batches, 50.0])
    run(lambda: StdioServing(DESKS["legacy"], feed, scribe=Scribe(), tokens=tokens()).run())
    expected: Counter[Any] = Counter({key("open"): 1})
    for batch in batches:
        try:
            read = read_batch(as_bytes(batch))
        except MalformedMessage as error:
            expected[key(error.id)] += error.expects_answer
            continue
        for member in read.members if isinstance(read, Batch) else (read,):
            if isinstance(member, Request) or (
                isinstance(member, MalformedMessage) and member.expects_answer
            ):
                expected[key(member.id)] += 1
    assert answered(feed.values) == +expected


@settings(max_examples=50)
@given(st.sampled_from(sorted(DESKS)), st.lists(lines, max_size=5), st.lists(ids, max_size=4))
def test_any_lines_and_cancellations(era: str, content: list[bytes], cancelled: list[Any]) -> None:
    notices = [notification("notifications/cancelled", {"requestId": id}) for id in cancelled]
    mixed = [one for pair in zip(content, [*notices, *[b""] * 9], strict=False) for one in pair]
    data = b"".join((one if isinstance(one, bytes) else as_bytes(one)) + b"\n" for one in mixed)
    feed = Feed([data, 50.0])
    run(lambda: StdioServing(DESKS[era], feed, scribe=Scribe(), tokens=tokens()).run())
    # At most one answer: none where the cancellation came in time.
    expected = Oracle(data).expected
    assert answered(feed.values) <= expected
    missing = expected - answered(feed.values)
    assert set(missing) <= {key(id) for id in cancelled}


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_so_many_requests_may_be_in_work_and_no_more(era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpsim.server.dispatch.MAX_IN_WORK", 3)
    server, ask = Server("desk"), modern if era == "modern" else legacy

    @server.tool()
    async def wait() -> str:
        await anyio.sleep(1)
        return "done"

    lines = [ask(n, "tools/call", call("wait")) for n in range(5)]
    said = talk(
        server, *([] if era == "modern" else opening()), *lines, 2.0, ask(9, "tools/call", call("wait"))
    )
    refused = [n for n in (*range(5), 9) if "error" in said.answer(n)]
    assert refused == [3, 4]
    assert said.answer(3)["error"]["code"] == -32603


def test_a_client_that_asks_and_never_reads_has_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpsim.server.stdio.MAX_UNWRITTEN", 3)
    taken: list[int] = []

    class Unread(Feed):
        async def receive(self) -> bytes:
            await anyio.sleep(0.01)
            taken.append(len(self.sent))
            return await super().receive()

        async def send(self, data: bytes) -> None:
            await anyio.sleep(5)
            await super().send(data)

    feed = Unread([modern(n, "tools/list") for n in range(20)])

    async def main() -> None:
        await StdioServing(desk("modern"), feed, scribe=Scribe(None), tokens=tokens()).run()

    run(main)
    assert 3 <= taken.count(0) <= 5
    assert sorted(value["id"] for value in feed.values) == list(range(20))


def test_a_line_beyond_the_limit_is_refused_and_the_next_one_read() -> None:
    feed = Feed([b"[" * 4_000_010 + b"\n", modern(1, "tools/list"), 1.0])
    run(lambda: StdioServing(DESKS["both"], feed, scribe=Scribe(), tokens=tokens()).run())
    assert [value.get("error", {}).get("code") for value in feed.values] == [-32700, None]


# HTTP

header_names = st.sampled_from(
    [
        "Accept",
        "Content-Type",
        "Origin",
        "MCP-Protocol-Version",
        "Mcp-Method",
        "Mcp-Name",
        "MCP-Session-Id",
        "Last-Event-ID",
        "Authorization",
        "X-Other",
    ]
)
header_values = st.sampled_from(
    [
        "",
        "application/json",
        "application/json, text/event-stream",
        "*/*",
        "null",
        "http://localhost",
        LATEST,
        "2025-11-25",
        "tools/list",
        "tools/call",
        "slow",
        "=?base64?c2xvdw==?=",
        "session-1",
        "session-2",
    ]
) | st.text(max_size=8)
header_lines = st.lists(st.tuples(header_names, header_values), max_size=5)
right_headers = Headers({"Accept": "application/json, text/event-stream", "Content-Type": "application/json"})
bodies = st.one_of(lines, st.lists(requests, max_size=3).map(as_bytes), st.just(b""))


def with_right_headers(extra: list[tuple[str, str]]) -> Headers:
    return Headers((*right_headers.items(), *extra))


@settings(max_examples=150)
@given(
    st.sampled_from(sorted(DESKS)),
    st.sampled_from(["POST"] * 6 + ["GET", "DELETE", "PUT", ""]),
    header_lines.map(Headers) | header_lines.map(with_right_headers),
    bodies,
    st.sampled_from([None, "2025-11-25", "2025-03-26"]),
)
def test_any_http_request(era: str, method: str, headers: Headers, body: bytes, session: str | None) -> None:
    reply = Reply()

    async def main() -> None:
        endpoint = Endpoint(DESKS[era])
        if session is not None and era != "modern":
            await endpoint.open(session)
        # The transport's own limit: nothing takes longer than a minute.
        with anyio.fail_after(60):
            await endpoint.serving.handle(HttpRequest(method, "/mcp", headers, body), reply)

    run(main)
    assert reply.ended
    assert reply.status in (200, 202, 400, 403, 404, 405, 406, 415)
    for value in reply.values:
        read_batch(as_bytes(value))
    if reply.status in (202, 405):
        assert reply.body == b""
    answers = answered(reply.values)
    assert all(count == 1 for count in answers.values()) or isinstance(reply.value, list)
    try:
        message = read_message(body)
    except MalformedMessage:
        return
    if isinstance(message, Request) and method == "POST" and reply.status not in (403, 415):
        # Exactly one answer, under its id, whatever the answer is.
        assert answers == {key(message.id): 1}
    elif not isinstance(message, Request):
        assert not any(id != ("NoneType", None) for id in answers)


@settings(max_examples=40)
@given(st.lists(requests, min_size=1, max_size=5), st.integers(0, 300))
def test_a_client_that_goes_away_at_any_time_ends_nothing(content: list[Any], after_ms: int) -> None:
    async def main() -> None:
        serving = HttpServing(DESKS["both"], scribe=Scribe(), tokens=tokens())
        replies = [Reply() for _ in content]
        async with anyio.create_task_group() as tasks:
            for message, reply in zip(content, replies, strict=True):
                request = HttpRequest("POST", "/mcp", right_headers, as_bytes(message))
                tasks.start_soon(serving.handle, request, reply)
            await anyio.sleep(after_ms / 1000)
            for reply in replies:
                reply.abort()
        last = Reply()
        message = as_bytes(legacy(1, "ping"))
        await serving.handle(HttpRequest("POST", "/mcp", right_headers, message), last)
        assert last.value == {"jsonrpc": "2.0", "id": 1, "result": {}}

    run(main)


# Both peers over a link that loses, doubles, delays and cuts


faults = st.builds(
    lambda kind, message, nth: kind(message, nth=nth),
    st.sampled_from([Drop, Delay, Duplicate, Reorder, Cut]),
    st.sampled_from(
        [
            "*",
            "initialize",
            "notifications/initialized",
            "server/discover",
            "tools/list",
            "tools/call",
            "notifications/progress",
            "notifications/cancelled",
            "result of tools/call",
            "result of initialize",
            "result of server/discover",
        ]
    ),
    st.integers(1, 4),
)


def print_nothing(*what: Any) -> None:
    """Progress that nobody looks at."""


@settings(max_examples=120)
@given(
    st.lists(faults, min_size=1, max_size=3),
    st.sampled_from(["modern", "legacy", "auto"]),
    st.sampled_from([Stdio(), StreamableHttp()]),
)
def test_any_faults_on_the_way(plan: list[Any], era: Any, transport: Any) -> None:
    async def story(client: Any) -> int:
        outcomes = 0
        for seconds in (0.05, 3.0):
            try:
                with anyio.move_on_after(1):
                    await client.call_tool(
                        "slow", {"seconds": seconds}, on_progress=lambda *what: None, timeout_s=2
                    )
            except McpSimError:
                pass
            outcomes += 1
        return outcomes

    played = simulate(story, server=DESKS["both"], era=era, transport=transport, faults=plan, check=False)
    # Either the two calls had an outcome each, or there was no connection to begin with.
    assert played.value == 2 or isinstance(played.error, McpSimError)
    assert json.dumps(played.recording.header)


@pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_cut_in_the_middle_of_an_answer(era: Any, transport: Any) -> None:
    async def story(client: Any) -> str:
        try:
            await client.call_tool("slow")
        except McpSimError as error:
            return type(error).__name__
        return "answered"

    played = simulate(
        story, server=DESKS["both"], era=era, transport=transport, faults=[Cut("result of tools/call")]
    )
    assert played.value == "ConnectionClosed"
