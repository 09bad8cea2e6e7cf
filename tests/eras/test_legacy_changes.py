"""What a legacy session is told without asking: changes of lists, resources that it subscribed to, and the
log level that it sets. On stdio it comes on the pipe, on HTTP on the stream that the client opened."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from checked import simulate_checked
from talking import (
    INITIALIZED,
    Endpoint,
    Feed,
    Reply,
    call,
    initialize,
    legacy,
    notes_of,
    opening,
    run,
    talk,
    tokens,
)

from mcpsim import Client, Context, McpSimError, RequestTimeout, Run, Server, Stdio, StreamableHttp
from mcpsim.eras.legacy import MAX_SHOWN, MAX_SUBSCRIPTIONS, Session
from mcpsim.eras.revisions import LEGACY_REVISIONS
from mcpsim.errors import ProtocolError
from mcpsim.messages import Notification
from mcpsim.recording import Recorder, Scribe
from mcpsim.server import StdioServing
from mcpsim.server.changes import Change

TRANSPORTS = pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])
VERSIONS = pytest.mark.parametrize("version", LEGACY_REVISIONS)
UPDATED = "notifications/resources/updated"


def desk(*, list_changed: bool = True, subscribe: bool = True, logging: bool = True) -> Server:
    server = Server("desk", list_changed=list_changed, subscribe=subscribe, logging=logging)

    @server.tool()
    async def work(context: Context, level: str = "info") -> str:
        await context.log(level, "working")
        server.resource_updated("file:///a")
        return "done"

    @server.resource("file:///a")
    def a() -> str:
        return "a"

    @server.prompt()
    def hello() -> str:
        return "hello"

    return server


def told(client: Client) -> list[Any]:
    return [(one.method, (one.params or {}).get("uri")) for one in client.notifications]


def memory(played: Run) -> list[Any]:
    return [e.detail for e in played.recording.events if e.kind == "state" and e.party == "server"]


def reader(version: str = "2025-11-25", **more: Any) -> Client:
    return Client(era="legacy", protocol_version=version, standing_stream=True, **more)


@TRANSPORTS
@VERSIONS
def test_a_session_hears_of_lists_and_of_what_it_subscribed_to(transport: Any, version: str) -> None:
    server = desk()

    async def story(client: Client) -> list[Any]:
        await client.list_tools()
        server.remove_prompt("hello")
        server.tool("extra")(lambda: "extra")
        server.resource("file:///extra")(lambda: "extra")
        server.resource_updated("file:///a")
        await client.subscribe("file:///a")
        server.resource_updated("file:///a")
        server.resource_updated("file:///b")
        await client.subscribe("file:///b")
        server.resource_updated("file:///b")
        await client.unsubscribe("file:///a")
        server.resource_updated("file:///a")
        await anyio.sleep(1)
        return told(client)

    played = simulate_checked(story, server=server, client=reader(version), transport=transport)
    assert played.value == [
        ("notifications/prompts/list_changed", None),
        ("notifications/tools/list_changed", None),
        ("notifications/resources/list_changed", None),
        (UPDATED, "file:///a"),
        (UPDATED, "file:///b"),
    ]
    # Nothing modern about them.
    assert all(
        "_meta" not in (frame.parsed.params or {})
        for frame in played.recording.frames
        if isinstance(frame.parsed, Notification) and frame.sender == "server"
    )
    assert len(server.changes) == 0


@TRANSPORTS
def test_what_the_server_did_not_declare_is_neither_told_nor_offered(transport: Any) -> None:
    server = desk(list_changed=False, subscribe=False, logging=False)

    async def story(client: Client) -> Any:
        await client.list_tools()
        for method, params in (
            ("resources/subscribe", {"uri": "file:///a"}),
            ("resources/unsubscribe", {"uri": "file:///a"}),
            ("logging/setLevel", {"level": "info"}),
        ):
            with pytest.raises(ProtocolError) as refused:
                await client.request(method, params)
            assert refused.value.code == -32601
        with pytest.raises(McpSimError, match="did not declare"):
            await client.subscribe("file:///a")
        server.remove_prompt("hello")
        server.resource_updated("file:///a")
        server.changes.publish(Change("notifications/tools/list_changed"))
        await anyio.sleep(1)
        return told(client)

    assert simulate_checked(story, server=server, client=reader(), transport=transport).value == []


@TRANSPORTS
def test_nothing_is_told_before_the_session_operates(transport: Any) -> None:
    server = desk()

    async def story(client: Client) -> Any:
        await client.initialize()
        server.remove_prompt("hello")
        await client.initialized()
        await anyio.sleep(1)
        return told(client)

    played = simulate_checked(story, server=server, client=reader(), transport=transport, connect=False)
    assert played.value == []


@TRANSPORTS
def test_each_session_has_its_own_subscriptions(transport: Any) -> None:
    server = desk()

    async def story(one: Client, other: Client) -> Any:
        await one.subscribe("file:///a")
        await other.subscribe("file:///b")
        server.resource_updated("file:///a")
        server.resource_updated("file:///b")
        await anyio.sleep(1)
        return told(one), told(other)

    clients = {"client-1": reader(), "client-2": reader()}
    played = simulate_checked(story, server=server, client=clients, transport=transport)
    assert played.value == ([(UPDATED, "file:///a")], [(UPDATED, "file:///b")])


@TRANSPORTS
def test_the_memory_shows_level_and_subscriptions(transport: Any) -> None:
    async def story(client: Client) -> None:
        await client.subscribe("file:///a")
        await client.subscribe("file:///a")
        await client.set_log_level("error")
        await client.unsubscribe("file:///a")
        await client.unsubscribe("file:///a")

    states = memory(simulate_checked(story, server=desk(), client=reader(), transport=transport))
    seen = [(state.get("resource subscriptions"), state.get("log level")) for state in states]
    assert seen == [
        (None, None),
        (None, None),
        (["file:///a"], None),
        (["file:///a"], "error"),
        (None, "error"),
        (None, None),
    ]
    assert states[-1] == {}


def test_the_memory_shows_the_first_of_very_many_subscriptions() -> None:
    uris = [f"file:///{n}" for n in range(MAX_SHOWN + 2)]
    said = talk(
        desk(), *opening(), *(legacy(n, "resources/subscribe", {"uri": u}) for n, u in enumerate(uris))
    )
    states = [event.detail for event in said.recorder.events if event.kind == "state"]
    assert states[-2]["resource subscriptions"] == uris[:MAX_SHOWN]
    assert states[-2]["more resource subscriptions"] == 2


@TRANSPORTS
def test_the_log_level_of_a_session_counts_for_all_its_requests(transport: Any) -> None:
    async def story(client: Client) -> list[str]:
        for level in (None, "warning", "debug"):
            if level is not None:
                await client.set_log_level(level)
            for at in ("debug", "info", "warning", "emergency"):
                await client.call_tool("work", {"level": at})
        return [one.params["level"] for one in client.notifications if one.method == "notifications/message"]

    played = simulate_checked(story, server=desk(), client=reader(), transport=transport)
    assert played.value == [
        *("info", "warning", "emergency"),
        *("warning", "emergency"),
        *("debug", "info", "warning", "emergency"),
    ]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("logging/setLevel", {}),
        ("logging/setLevel", {"level": "loud"}),
        ("logging/setLevel", {"level": None}),
        ("logging/setLevel", {"level": 3}),
        ("resources/subscribe", {}),
        ("resources/subscribe", {"uri": 7}),
        ("resources/subscribe", {"uri": None}),
        ("resources/unsubscribe", {}),
        ("resources/unsubscribe", {"uri": ["file:///a"]}),
    ],
)
def test_parameters_that_are_not_valid_change_nothing(method: str, params: Any) -> None:
    said = talk(desk(), *opening(), legacy(1, method, params))
    assert said.answer(1)["error"]["code"] == -32602
    states = [event.detail for event in said.recorder.events if event.kind == "state"]
    assert "log level" not in states[-2]
    assert "resource subscriptions" not in states[-2]


def test_settings_wait_for_the_session_like_any_request() -> None:
    said = talk(
        desk(),
        legacy(1, "resources/subscribe", {"uri": "file:///a"}),
        initialize("open"),
        legacy(2, "logging/setLevel", {"level": "info"}),
        INITIALIZED,
        legacy(3, "logging/setLevel", {"level": "info"}),
    )
    assert said.answer(2)["error"]["code"] == -32600
    assert said.answer(3)["result"] == {}
    assert "error" in said.answer(1)


def test_a_session_can_subscribe_to_so_many_resources_and_no_more() -> None:
    session = Session(LEGACY_REVISIONS)
    for n in range(MAX_SUBSCRIPTIONS):
        session.subscribe(f"file:///{n}")
    session.subscribe("file:///0")
    with pytest.raises(ProtocolError, match="no more"):
        session.subscribe("file:///one-too-many")
    session.unsubscribe("file:///0")
    session.subscribe("file:///one-too-many")
    assert len(session.subscriptions) == MAX_SUBSCRIPTIONS


def test_only_so_much_waits_for_a_client_that_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpsim.server.stdio.MAX_WAITING", 5)
    server, recorder, read = desk(), Recorder(lambda: 0), anyio.Event()

    class Slow(Feed):
        async def send(self, data: bytes) -> None:
            if b"updated" in data:
                await read.wait()
            await super().send(data)

    feed = Slow([*opening(), legacy(1, "resources/subscribe", {"uri": "file:///a"}), 10.0])

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            serving = StdioServing(server, feed, scribe=Scribe(recorder), tokens=tokens())
            tasks.start_soon(serving.run)
            await anyio.sleep(1)
            for _ in range(100):
                server.resource_updated("file:///a")
            await anyio.sleep(1)
            read.set()
            await anyio.sleep(1)
            server.resource_updated("file:///a")

    run(main)
    assert [value.get("method") for value in feed.values].count(UPDATED) == 6
    assert sum("Messages are lost" in note for note in notes_of(recorder)) == 1


def test_members_of_a_batch_may_set_and_subscribe() -> None:
    said = talk(
        desk(),
        *opening("2025-03-26"),
        [
            legacy(1, "resources/subscribe", {"uri": "file:///a"}),
            legacy(2, "logging/setLevel", {"level": "error"}),
        ],
        legacy(3, "tools/call", call("work")),
    )
    assert [said.answer(id)["result"] for id in (1, 2)] == [{}, {}]
    assert sum(isinstance(value, dict) and value.get("method") == UPDATED for value in said.values) == 1


# Requests of the server that belong to none of the client's


@pytest.mark.parametrize("answers", [True, False])
def test_a_server_can_ask_on_the_pipe_of_its_own_accord(answers: bool) -> None:
    answer = [{"jsonrpc": "2.0", "id": 1, "result": {}}] if answers else []
    feed = Feed([*opening(), 1.0, *answer, 10.0])
    outcome: list[Any] = []

    async def main() -> None:
        serving = StdioServing(desk(), feed, scribe=Scribe(Recorder(lambda: 0)), tokens=tokens())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serving.run)
            await anyio.sleep(0.5)
            try:
                outcome.append(await serving.ask("ping", timeout_s=2))
            except RequestTimeout as error:
                outcome.append(error)
            with pytest.raises(McpSimError, match="roots"):
                await serving.ask("roots/list")
        with pytest.raises(McpSimError, match="over"):
            await serving.ask("ping")

    run(main)
    asked = [value for value in feed.values if value.get("method") == "ping"]
    assert len(asked) == 1
    assert (outcome == [{}]) is answers
    withdrawn = [value for value in feed.values if value.get("method") == "notifications/cancelled"]
    assert [value["params"]["requestId"] for value in withdrawn] == ([] if answers else [1])


def test_a_server_asks_a_session_on_its_standing_stream() -> None:
    async def main() -> tuple[Any, Any]:
        endpoint = Endpoint(desk())
        headers = await endpoint.open()
        standing = Reply()
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                await endpoint.ask(b"", headers, method="GET", reply=standing)

            tasks.start_soon(listen)
            await anyio.sleep(1)

            async def answer() -> None:
                await anyio.sleep(1)
                (question,) = standing.values
                reply = await endpoint.ask({"jsonrpc": "2.0", "id": question["id"], "result": {}}, headers)
                assert reply.status == 202

            tasks.start_soon(answer)
            result = await endpoint.serving.ask(headers["MCP-Session-Id"], "ping")
            with pytest.raises(McpSimError, match="no session"):
                await endpoint.serving.ask("session-9", "ping")
            await endpoint.ask(b"", headers, method="DELETE")
        return result, standing

    result, standing = run(main)
    assert result == {}
    assert standing.ended
    assert standing.values == [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]
