"""Whatever comes to a server: no exception, no hang, one answer for each request, none for anything else, and
what is answered is valid."""

from __future__ import annotations

from collections import Counter
from typing import Any

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpsim.errors import MalformedMessage
from mcpsim.messages import PROTOCOL_VERSION, Batch, Notification, Request, read_batch, read_message
from mcpsim.recording import Recorder, Scribe
from mcpsim.server import HttpServing, StdioServing
from mcpsim.transports.http import Headers, HttpRequest, modern_headers
from mcpsim.transports.stdio import LineReader
from tests.properties.arbitrary import (
    ALL_CAPABILITIES,
    LATEST,
    LEGACY_REVISIONS,
    as_bytes,
    everything,
    lines,
    notifications,
    requests,
    responses,
)
from tests.server.talking import LEGACY_HEADERS, Feed, Reply, initialize, notification, run, tokens
from tests.support.checked import faults_of

BATCHING = "2025-03-26"
# To what the models refuse as a request and the server could read all the same, as one with a member too
# many; `Expected` counts these answers too.
NOBODYS = {"error of a request that was never sent", "result of a request that was never sent"}
SERVERS = {era: everything(era) for era in ("modern", "legacy", "both")}
eras = st.sampled_from(sorted(SERVERS))
sessions = st.sampled_from([None, None, *LEGACY_REVISIONS])
slow_draws = settings(suppress_health_check=[HealthCheck.too_slow])


@st.composite
def conversations(draw: st.DrawFn, most: int = 8) -> list[bytes]:
    """Lines in which every request has an id of its own."""
    found: list[bytes] = []
    for number in range(draw(st.integers(1, most))):
        id = 1_000 + number if number % 2 else f"id-{number}"
        messages = st.one_of(requests(st.just(id)), requests(st.just(id)), notifications(), responses)
        found.append(draw(lines(messages)))
    return found


class Tape(Feed):
    """A byte stream that writes down what went over it."""

    def __init__(self, input: list[Any], era: str) -> None:
        super().__init__(input)
        self._era = era
        self.recorder = Recorder(lambda: 0)
        self._lines = LineReader()

    async def receive(self) -> bytes:
        data = await super().receive()
        for line in self._lines.feed(data):
            assert isinstance(line, bytes)
            self.recorder.sent("client", "server", as_read_by(self._era, line), connection=1)
        return data

    async def send(self, data: bytes) -> None:
        await super().send(data)
        self.recorder.sent("server", "client", data, connection=1)


def as_read_by(era: str, data: bytes) -> bytes:
    """What a server makes of a message: to a legacy one the revision in the metadata is a key like any other,
    and it answers in that of its session."""
    return data.replace(PROTOCOL_VERSION.encode(), b"example/key") if era == "legacy" else data


def key(id: Any) -> tuple[str, Any]:
    return type(id).__name__, id


class Expected:
    """Who has to be answered; read with the reader of the messages, one by one."""

    def __init__(self, *, batches: bool) -> None:
        self.answers: Counter[Any] = Counter()
        # A request that was cancelled, or that stays open until the connection ends, may have no answer.
        self.perhaps: set[Any] = set()
        self._read = read_batch if batches else read_message

    def take(self, data: bytes) -> None:
        try:
            message: Any = self._read(data)
        except MalformedMessage as error:
            message = error
        for member in message.members if isinstance(message, Batch) else (message,):
            if isinstance(member, Request) or (
                isinstance(member, MalformedMessage) and member.expects_answer
            ):
                self.answers[key(member.id)] += 1
            if isinstance(member, Request) and member.method == "subscriptions/listen":
                self.perhaps.add(key(member.id))
            if isinstance(member, Notification) and member.method == "notifications/cancelled":
                id = (member.params or {}).get("requestId")
                self.perhaps |= {key(id)} if isinstance(id, str | int) else set()

    def check(self, values: list[Any]) -> None:
        flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
        found = Counter(key(one.get("id")) for one in flat if "method" not in one)
        assert not found - self.answers, "an answer that nobody waits for"
        missing = set(self.answers - found)
        assert missing <= self.perhaps, f"no answer for {missing - self.perhaps}"


def check_said(recorder: Recorder) -> None:
    """Everything that the server said is valid; what it read is anything."""
    recording = recorder.recording({})
    said = {frame.number for frame in recording.frames if frame.sender == "server"}
    wrong = [fault for fault in faults_of(recording) if fault.frame in said and fault.name not in NOBODYS]
    assert not wrong, wrong


@settings(slow_draws, max_examples=250)
@given(eras, sessions, conversations(), st.sampled_from([0.0, 0.05, 2.0]))
def test_a_server_on_a_pipe_reads_anything(
    era: str, session: str | None, content: list[bytes], pause_s: float
) -> None:
    expected = Expected(batches=session == BATCHING and era != "modern")
    opening: list[Any] = []
    if session is not None:
        opening = [initialize("open", session, ALL_CAPABILITIES), notification("notifications/initialized")]
    fed: list[Any] = []
    for data in [*map(as_bytes, opening), *content]:
        for line in LineReader().feed(data + b"\n"):
            assert isinstance(line, bytes)
            expected.take(line)
        fed += [data + b"\n", *([pause_s] if pause_s else [])]
    # Longer than any handler waits for the answer to a question.
    tape = Tape([*fed, 10_000.0], era)
    run(lambda: StdioServing(SERVERS[era], tape, scribe=Scribe(), tokens=tokens()).run())
    assert tape.closed
    expected.check(tape.values)
    check_said(tape.recorder)


header_changes = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "Accept",
                "Content-Type",
                "Origin",
                "MCP-Protocol-Version",
                "Mcp-Method",
                "Mcp-Name",
                "Mcp-Param-Region",
                "MCP-Session-Id",
                "Last-Event-ID",
                "Authorization",
            ]
        ),
        st.sampled_from(
            [
                None,
                "",
                "application/json",
                "text/event-stream",
                "*/*;q=0",
                "http://localhost:1",
                "https://evil.example",
                LATEST,
                "2025-06-18",
                "1900-01-01",
                "tools/list",
                "=?base64?c2xvdw==?=",
                "=?base64?????=",
                "1-0",
                "Bearer somebody",
            ]
        )
        | st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=6),
    ),
    max_size=2,
)


def headers_of(data: bytes, session: str, version: str, changes: list[tuple[str, str | None]]) -> Headers:
    """The headers that belong to a body, with some of them replaced, added or taken out."""
    try:
        message = read_message(data)
    except MalformedMessage:
        message = None
    headers = Headers(LEGACY_HEADERS)
    if session:
        headers = headers.with_("MCP-Session-Id", session).with_("MCP-Protocol-Version", version)
    elif isinstance(message, Request) and message.method and "_meta" in (message.params or {}):
        headers = modern_headers(message)
    elif isinstance(message, Notification):
        headers = modern_headers(message, LATEST)
    for name, value in changes:
        headers = headers.without(name) if value is None else headers.with_(name, value)
    return headers


posts = st.tuples(
    st.sampled_from(["POST"] * 8 + ["GET", "DELETE", "PUT"]),
    st.one_of(st.just([]), st.just([]), header_changes),
    st.booleans(),
)


@settings(slow_draws, max_examples=250)
@given(
    eras,
    st.sampled_from([None, *(one for one in LEGACY_REVISIONS if one != BATCHING)]),
    conversations(5),
    st.data(),
    st.booleans(),
)
def test_a_server_on_http_reads_anything(
    era: str, session: str | None, content: list[bytes], data: st.DataObject, at_once: bool
) -> None:
    recorder = Recorder(lambda: 0)
    rows = [(body, *data.draw(posts)) for body in content]
    replies: list[tuple[str, bytes, Reply]] = []

    async def main() -> None:
        serving = HttpServing(SERVERS[era], scribe=Scribe(), tokens=tokens())
        used = ""

        async def send(number: int, method: str, body: bytes, headers: Headers) -> Reply:
            reply = Reply()
            replies.append((method, body, reply))
            recorder.sent(
                "client",
                "server",
                as_read_by(era, body),
                connection=1,
                exchange=number,
                head={"method": method, "headers": [list(one) for one in headers.items()]},
            )
            async with anyio.create_task_group() as tasks:

                async def serve() -> None:
                    await serving.handle(HttpRequest(method, "/mcp", headers, body), reply)
                    tasks.cancel_scope.cancel()

                tasks.start_soon(serve)
                # Longer than any handler waits; a stream that is still open then belongs to no answer.
                await anyio.sleep(10_000)
                reply.abort()
                await anyio.sleep(100)
                raise AssertionError("the exchange does not end")
            plain = {"status": 200, "headers": [["Content-Type", "application/json"]]}
            for value in reply.values:
                recorder.sent("server", "client", as_bytes(value), connection=1, exchange=number, head=plain)
            return reply

        if session is not None:
            first = as_bytes(initialize("open", session, ALL_CAPABILITIES))
            opened = await send(1, "POST", first, Headers(LEGACY_HEADERS))
            used = opened.header("MCP-Session-Id") or ""
            if used:
                done = as_bytes(notification("notifications/initialized"))
                await send(2, "POST", done, headers_of(done, used, session, []))
        async with anyio.create_task_group() as tasks:
            for number, (body, method, changes, in_session) in enumerate(rows, start=3):
                belongs = used if in_session else ""
                headers = headers_of(body, belongs, session or "", changes)
                sent = b"" if method in ("GET", "DELETE") else body
                if at_once:
                    tasks.start_soon(send, number, method, sent, headers)
                else:
                    await send(number, method, sent, headers)

    run(main)
    for method, body, reply in replies:
        check_reply(method, body, reply)
    check_said(recorder)


def check_reply(method: str, body: bytes, reply: Reply) -> None:
    assert reply.ended or reply.aborted
    assert reply.status in (200, 202, 400, 403, 404, 405, 406, 415, 501)
    expected = Expected(batches=False)
    if method == "POST":
        expected.take(body)
    if reply.status in (403, 404, 405, 406, 415) or (reply.status == 400 and method == "POST"):
        # Refused by the transport before anybody read the body, or because of it: one error at the most,
        # under the id of the request or under none.
        answers = [one for one in reply.values if "method" not in one]
        assert len(answers) <= 1
        assert all("error" in one for one in answers)
        return
    expected.check([one for one in reply.values if method == "POST"])
