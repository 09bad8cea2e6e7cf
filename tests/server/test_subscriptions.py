"""`subscriptions/listen` at the server, on both transports: who hears of what, in which order, until when."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import anyio
import pytest
from checked import simulate_checked
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import Endpoint, Reply, call, legacy, modern, notification, opening, run, talk

from mcpsim import Client, Context, Run, Server, Stdio, StreamableHttp
from mcpsim.messages import Notification, Response
from mcpsim.server.changes import Change
from mcpsim.server.subscriptions import MAX_OPEN, MAX_SHOWN
from mcpsim.utilities.subscriptions import Filter, wanted

TRANSPORTS = pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])
ID = "io.modelcontextprotocol/subscriptionId"
LISTEN = "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"
LISTS = ("tools", "prompts", "resources")
EVERYTHING = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["file:///a", "file:///b"],
}


def desk(*, list_changed: bool = True, subscribe: bool = True, **more: Any) -> Server:
    server = Server("desk", list_changed=list_changed, subscribe=subscribe, **more)

    @server.tool()
    async def work(context: Context) -> str:
        """Report progress, log, and touch a resource."""
        await context.report_progress(1, 1)
        await context.log("error", "something")
        server.resource_updated("file:///a")
        return "done"

    @server.tool()
    def touch(uri: str, times: int = 1) -> str:
        """Say that a resource has changed."""
        for _ in range(times):
            server.resource_updated(uri)
        return "touched"

    @server.tool()
    def goodbye() -> str:
        """End all subscriptions."""
        server.end_subscriptions()
        return "ended"

    @server.resource("file:///a")
    def a() -> str:
        return "a"

    @server.prompt()
    def hello() -> str:
        return "hello"

    return server


def on_subscription(played: Run, id: Any, connection: int = 1) -> list[Any]:
    """Every message that the server sent with that subscription id, in order."""
    found = []
    for frame in played.recording.frames:
        message = frame.parsed
        if frame.sender != "server" or frame.connection != connection:
            continue
        if isinstance(message, Notification):
            meta = (message.params or {}).get("_meta", {})
        elif isinstance(message, Response):
            meta = message.result.get("_meta", {})
        else:
            continue
        if ID in meta and type(meta[ID]) is type(id) and meta[ID] == id:
            found.append(message)
    return found


def told(messages: list[Any]) -> list[tuple[str, str | None]]:
    """The changes among messages, as (method, uri)."""
    return [
        (one.method, (one.params or {}).get("uri"))
        for one in messages
        if isinstance(one, Notification) and one.method not in (ACKNOWLEDGED, "notifications/cancelled")
    ]


def states(played: Run, party: str = "server") -> list[Any]:
    return [
        [row["id"] for row in event.detail.get("subscriptions", [])]
        for event in played.recording.events
        if event.kind == "state" and event.party == party
    ]


# What it is told, and what not

changes = st.one_of(
    st.sampled_from([Change(f"notifications/{group}/list_changed") for group in LISTS]),
    st.builds(Change, st.just(UPDATED), st.sampled_from(["file:///a", "file:///b", "file:///c", ""])),
)
filters = st.builds(
    wanted,
    tools_list_changed=st.booleans(),
    prompts_list_changed=st.booleans(),
    resources_list_changed=st.booleans(),
    resource_subscriptions=st.lists(st.sampled_from(["file:///a", "file:///b", ""]), max_size=3),
)


async def listen_to(client: Client, wants: Filter, until: anyio.Event, heard: list[Any]) -> None:
    flags = {f"{group}_list_changed": wants.wants(f"notifications/{group}/list_changed") for group in LISTS}
    async with client.listen(**flags, resource_subscriptions=wants.uris) as subscription:
        heard.append(subscription.id)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(collect, subscription, heard)
            await until.wait()
            tasks.cancel_scope.cancel()


async def collect(subscription: Any, heard: list[Any]) -> None:
    async for message in subscription:
        heard.append((message.method, (message.params or {}).get("uri")))


@TRANSPORTS
@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(changes, max_size=5), min_size=1, max_size=4),
    st.lists(st.tuples(filters, st.integers(0, 3), st.integers(1, 4)), max_size=4),
    st.booleans(),
    st.booleans(),
)
def test_each_subscriber_hears_exactly_what_it_asked_for_in_order(
    transport: Any,
    bursts: list[list[Change]],
    subscribers: list[tuple[Filter, int, int]],
    list_changed: bool,
    subscribe: bool,
) -> None:
    """A subscriber comes before one burst of changes and goes after as many as it wants."""
    server = desk(list_changed=list_changed, subscribe=subscribe)
    heard: list[list[Any]] = [[] for _ in subscribers]

    async def story(client: Client) -> None:
        stops = [anyio.Event() for _ in subscribers]
        async with anyio.create_task_group() as tasks:
            for turn in range(len(bursts) + 4):
                for index, (wants, first, _) in enumerate(subscribers):
                    if first == turn:
                        tasks.start_soon(listen_to, client, wants, stops[index], heard[index])
                await anyio.sleep(1)
                for change in bursts[turn] if turn < len(bursts) else ():
                    server.changes.publish(change)
                await anyio.sleep(1)
                for stop, (_, first, turns) in zip(stops, subscribers, strict=True):
                    if first + turns == turn + 1:
                        stop.set()
            for stop in stops:
                stop.set()

    played = simulate_checked(story, server=server, transport=transport)
    assert len(server.changes) == 0
    declared = {f"{group}.listChanged" for group in LISTS if list_changed}
    declared |= {"resources.subscribe"} if subscribe else set()
    for (wants, first, turns), (id, *got) in zip(subscribers, heard, strict=True):
        agreed = wants.supported(declared.__contains__)
        due = [change for burst in bursts[first : first + turns] for change in burst]
        expected = [(change.method, change.uri) for change in due if agreed.wants(change.method, change.uri)]
        acknowledgement, *rest = on_subscription(played, id)
        assert acknowledgement.method == ACKNOWLEDGED
        assert acknowledgement.params["notifications"] == agreed.to_json()
        assert told(rest) == expected
        assert got == expected


@TRANSPORTS
@pytest.mark.parametrize("list_changed", [True, False])
@pytest.mark.parametrize("subscribe", [True, False])
def test_the_acknowledgement_holds_what_the_server_supports(
    transport: Any, list_changed: bool, subscribe: bool
) -> None:
    server = desk(list_changed=list_changed, subscribe=subscribe)

    async def story(client: Client) -> dict[str, Any]:
        async with client.listen(
            tools_list_changed=True, resource_subscriptions=["file:///a", "file:///nowhere"]
        ) as subscription:
            return subscription.acknowledged.model_dump(by_alias=True, exclude_none=True)

    expected: dict[str, Any] = {"toolsListChanged": True} if list_changed else {}
    if subscribe:
        expected["resourceSubscriptions"] = ["file:///a", "file:///nowhere"]
    assert simulate_checked(story, server=server, transport=transport).value == expected


@TRANSPORTS
def test_what_really_changes_is_told(transport: Any) -> None:
    server = desk()

    async def story(client: Client) -> list[Any]:
        async with client.listen(
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=["file:///a"],
        ) as subscription:
            server.tool("extra")(lambda: "extra")
            server.remove_tool("extra")
            server.resource("file:///extra")(lambda: "extra")
            server.remove_prompt("hello")
            server.resource_updated("file:///a")
            server.resource_updated("file:///b")
            return [(await anext(subscription)).method for _ in range(5)]

    assert simulate_checked(story, server=server, transport=transport).value == [
        "notifications/tools/list_changed",
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
        UPDATED,
    ]


@TRANSPORTS
def test_nothing_of_another_request_is_on_it(transport: Any) -> None:
    async def story(client: Client) -> int:
        async with client.listen(resource_subscriptions=["file:///a"]) as subscription:
            await client.request(
                "tools/call",
                call("work"),
                meta={"io.modelcontextprotocol/logLevel": "debug"},
                on_progress=lambda *what: None,
            )
            await anyio.sleep(1)
            return subscription.id

    played = simulate_checked(story, server=desk(logging=True), transport=transport)
    on_stream = on_subscription(played, played.value)
    assert [one.method for one in on_stream] == [ACKNOWLEDGED, UPDATED]
    own = [frame for frame in played.recording.frames if frame.parsed in on_stream]
    others = [
        frame
        for frame in played.recording.frames
        if isinstance(frame.parsed, Notification)
        and frame.parsed.method in ("notifications/progress", "notifications/message")
    ]
    assert len(others) == 2
    assert all(ID not in frame.parsed.params.get("_meta", {}) for frame in others)
    if transport.name == "http":
        assert not {frame.exchange for frame in own} & {frame.exchange for frame in others}


@TRANSPORTS
@pytest.mark.parametrize("times", [1, 3_000])
def test_a_burst_arrives_whole_and_in_order(transport: Any, times: int) -> None:
    server = desk()

    async def story(client: Client) -> list[str]:
        heard = []
        async with client.listen(resource_subscriptions=["file:///a", "file:///b"]) as subscription:
            for _ in range(times):
                server.resource_updated("file:///a")
                server.resource_updated("file:///b")
            for _ in range(2 * times):
                heard.append((await anext(subscription)).params["uri"])
        return heard

    assert simulate_checked(story, server=server, transport=transport).value == (
        ["file:///a", "file:///b"] * times
    )


@pytest.mark.parametrize("first", [1, "1", 0, "", "a-b", -5])
def test_the_id_is_the_one_of_the_request(first: Any) -> None:
    """1 and "1" are two subscriptions."""
    second = f"{first}-2" if isinstance(first, str) else str(first)
    said = talk(
        desk(),
        modern(first, LISTEN, {"notifications": {"resourceSubscriptions": ["file:///a"]}}),
        modern(second, LISTEN, {"notifications": {"resourceSubscriptions": ["file:///a"]}}),
        modern("do", "tools/call", call("touch", {"uri": "file:///a"})),
    )
    ids = [value["params"]["_meta"][ID] for value in said.values if "method" in value]
    assert list(map(repr, ids)) == list(map(repr, [first, second, first, second]))


@TRANSPORTS
def test_several_at_once_have_each_their_own_stream(transport: Any) -> None:
    server = desk()

    async def story(client: Client) -> None:
        async with (
            client.listen(tools_list_changed=True) as first,
            client.listen(resource_subscriptions=["file:///a"]) as second,
            client.listen(resource_subscriptions=["file:///a"]) as third,
        ):
            server.resource_updated("file:///a")
            server.remove_tool("work")
            assert (await anext(first)).method == "notifications/tools/list_changed"
            assert (await anext(second)).method == UPDATED
            assert (await anext(third)).method == UPDATED

    played = simulate_checked(story, server=server, transport=transport)
    assert [len(on_subscription(played, id)) for id in (1, 2, 3)] == [2, 2, 2]


def test_two_clients_of_one_endpoint_may_use_the_same_id() -> None:
    server = desk()

    async def story(one: Client, other: Client) -> list[Any]:
        async with (
            one.listen(resource_subscriptions=["file:///a"]) as first,
            other.listen(resource_subscriptions=["file:///b"]) as second,
        ):
            assert first.id == second.id == 1
            server.resource_updated("file:///b")
            server.resource_updated("file:///a")
            return [(await anext(one)).params["uri"] for one in (first, second)]

    clients = {"client-1": Client(), "client-2": Client()}
    played = simulate_checked(story, server=server, client=clients, transport=StreamableHttp())
    assert played.value == ["file:///a", "file:///b"]


# What is refused

BAD_FILTERS: list[Any] = [
    {},
    {"notifications": None},
    {"notifications": []},
    {"notifications": "tools"},
    {"notifications": {"toolsListChanged": "yes"}},
    {"notifications": {"promptsListChanged": 1}},
    {"notifications": {"resourcesListChanged": None}},
    {"notifications": {"resourceSubscriptions": "file:///a"}},
    {"notifications": {"resourceSubscriptions": [1]}},
    {"notifications": {"resourceSubscriptions": None}},
]


@pytest.mark.parametrize("params", BAD_FILTERS)
def test_a_malformed_filter_is_refused_on_stdio(params: Any) -> None:
    server = desk()
    said = talk(server, modern(1, LISTEN, params), modern(2, "tools/call", call("goodbye")))
    assert said.answer(1)["error"]["code"] == -32602
    assert "params.notifications" in said.answer(1)["error"]["message"]
    assert len(said.values) == 2
    assert len(server.changes) == 0


@pytest.mark.parametrize("params", BAD_FILTERS)
def test_a_malformed_filter_is_refused_on_http(params: Any) -> None:
    reply = run(lambda: Endpoint(desk()).modern(modern(1, LISTEN, params)))
    assert (reply.status, reply.value["error"]["code"], reply.value["id"]) == (400, -32602, 1)


def test_a_server_that_can_tell_of_nothing_acknowledges_an_empty_filter() -> None:
    said = talk(
        Server("plain"),
        modern(1, LISTEN, {"notifications": EVERYTHING}),
        1.0,
        notification("notifications/cancelled", {"requestId": 1}),
    )
    (acknowledgement,) = said.values
    assert acknowledgement["params"]["notifications"] == {}


def test_an_id_that_is_in_use_is_refused() -> None:
    said = talk(desk(), *(modern(1, LISTEN, {"notifications": EVERYTHING}) for _ in range(2)))
    assert said.answer(1)["error"]["code"] == -32600


def test_there_is_a_bound_to_how_many_may_be_open() -> None:
    listens = [modern(n, LISTEN, {"notifications": {}}) for n in range(MAX_OPEN + 1)]
    said = talk(desk(), *listens)
    assert said.answer(MAX_OPEN)["error"]["code"] == -32603
    assert sum("method" in value for value in said.values) == MAX_OPEN
    memories = [event.detail for event in said.recorder.events if event.kind == "state"]
    assert max(len(memory.get("subscriptions", [])) for memory in memories) == MAX_SHOWN
    assert max(memory.get("more subscriptions", 0) for memory in memories) == MAX_OPEN - MAX_SHOWN


def test_a_recording_shows_the_first_of_very_many_resources() -> None:
    uris = [f"file:///{n}" for n in range(MAX_SHOWN + 5)]
    said = talk(desk(), modern(1, LISTEN, {"notifications": {"resourceSubscriptions": uris}}))
    memories = [event.detail for event in said.recorder.events if event.kind == "state"]
    (row,) = memories[0]["subscriptions"]
    assert row["notifications"] == {"resourceSubscriptions": uris[:MAX_SHOWN]}
    assert row["more resources"] == 5


# How it ends


def ends_of(messages: list[Any]) -> list[str]:
    return [
        "result" if isinstance(one, Response) else one.method
        for one in messages
        if isinstance(one, Response) or one.method == "notifications/cancelled"
    ]


@TRANSPORTS
def test_the_server_ends_it_in_good_order(transport: Any) -> None:
    """On stdio both signs that the specification names, on HTTP the result and the end of the stream; then
    nothing more."""
    server = desk()

    async def story(client: Client) -> tuple[int, list[str]]:
        async with client.listen(tools_list_changed=True, resource_subscriptions=["file:///a"]) as ours:
            server.resource_updated("file:///a")
            await client.call_tool("goodbye")
            server.resource_updated("file:///a")
            heard = [message.method async for message in ours]
            await anyio.sleep(5)
            return ours.id, heard

    played = simulate_checked(story, server=server, transport=transport)
    id, heard = played.value
    assert heard == [UPDATED]
    messages = on_subscription(played, id)
    signs = ["notifications/cancelled", "result"] if transport.name == "stdio" else ["result"]
    assert ends_of(messages) == signs
    assert [one.method for one in messages if isinstance(one, Notification)][:2] == [ACKNOWLEDGED, UPDATED]
    assert len(messages) == 2 + len(signs)
    assert messages[-1].id == id
    assert messages[-1].result["resultType"] == "complete"
    assert states(played) == [[id], []]
    closed = [event.detail["how"] for event in played.recording.events if event.kind == "closed"]
    assert ("complete" in closed) is (transport.name == "http")
    # The client has no part in it.
    assert not [
        frame
        for frame in played.recording.frames
        if frame.sender == "client" and "cancelled" in str(frame.parsed)
    ]
    notes = [event.detail["text"] for event in played.recording.events if event.kind == "note"]
    assert notes == []


def test_the_cancellation_names_the_request_before_the_result() -> None:
    said = talk(
        desk(),
        modern("s", LISTEN, {"notifications": EVERYTHING}),
        modern(2, "tools/call", call("goodbye")),
    )
    *_, cancelled, result = (value for value in said.values if value.get("id") != 2)
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == "s"
    assert cancelled["params"]["_meta"] == {ID: "s"}
    assert cancelled["params"]["reason"]
    assert result["id"] == "s"
    assert result["result"]["_meta"][ID] == "s"


def test_a_connection_can_end_its_own() -> None:
    async def main() -> tuple[int, Reply, int]:
        endpoint = Endpoint(desk())
        reply = Reply()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen_by_hand, endpoint, reply)
            await anyio.sleep(1)
            count = endpoint.serving.end_subscriptions()
        return count, reply, endpoint.serving.end_subscriptions()

    count, reply, left = run(main)
    assert (count, left) == (1, 0)
    assert reply.ended
    assert [value.get("method", "result") for value in reply.values] == [ACKNOWLEDGED, "result"]


async def listen_by_hand(endpoint: Endpoint, reply: Reply, id: Any = 1, **changes: str) -> None:
    from talking import headers_for

    message = modern(id, LISTEN, {"notifications": EVERYTHING})
    await endpoint.ask(message, headers_for(message), reply=reply, **changes)


def test_the_stream_asks_proxies_not_to_hold_events_back_and_ignores_legacy_headers() -> None:
    async def main() -> Reply:
        endpoint = Endpoint(desk(), resumable=True)
        reply = Reply()
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                await listen_by_hand(endpoint, reply, MCP_Session_Id="session-1", Last_Event_ID="1-0")

            tasks.start_soon(listen)
            await anyio.sleep(1)
            endpoint.serving.end_subscriptions()
        return reply

    reply = run(main)
    assert reply.status == 200
    assert reply.header("X-Accel-Buffering") == "no"
    assert reply.header("MCP-Session-Id") is None
    # Streams of the modern protocol cannot be resumed: no event has an id.
    assert b"id: " not in reply.body.replace(b'"id": ', b"")


@TRANSPORTS
def test_the_client_ends_it_and_nothing_more_is_sent(transport: Any) -> None:
    server = desk()

    async def story(client: Client) -> int:
        async with client.listen(resource_subscriptions=["file:///a"]) as subscription:
            pass
        await anyio.sleep(1)
        assert len(server.changes) == 0
        server.resource_updated("file:///a")
        await anyio.sleep(1)
        return subscription.id

    played = simulate_checked(story, server=server, transport=transport)
    (acknowledgement,) = on_subscription(played, played.value)
    assert acknowledgement.method == ACKNOWLEDGED
    assert states(played) == [[1], []]
    assert states(played, "client")[:2] == [[1], []]
    assert [e.kind for e in played.recording.events if e.kind.startswith("handler")] == [
        "handler_started",
        "handler_cancelled",
    ]


def test_the_end_of_the_connection_is_the_end_of_its_subscriptions() -> None:
    server = desk()
    said = talk(server, modern(1, LISTEN, {"notifications": EVERYTHING}), wait=1.0)
    assert len(server.changes) == 0
    assert len(said.values) == 1
    assert [event.detail for event in said.recorder.events if event.kind == "state"][-1] == {}


def test_a_client_that_goes_away_is_forgotten_and_one_that_reads_too_little_is_sent_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    most = 40
    monkeypatch.setattr("mcpsim.server.subscriptions.MAX_WAITING", most)
    server = desk()

    async def main() -> tuple[Reply, Reply, int]:
        endpoint = Endpoint(server)
        gone, slow = Reply(), Slow()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen_by_hand, endpoint, gone)
            tasks.start_soon(listen_by_hand, endpoint, slow, 2)
            await anyio.sleep(1)
            gone.abort()
            await anyio.sleep(1)
            assert len(server.changes) == 1
            slow.stuck = True
            for _ in range(most + 5):
                server.resource_updated("file:///a")
            slow.stuck = False
        return gone, slow, len(server.changes)

    gone, slow, left = run(main)
    assert [value["method"] for value in gone.values] == [ACKNOWLEDGED]
    assert left == 0
    assert len(slow.values) == 1 + most + 1
    assert slow.values[-1]["id"] == 2
    assert slow.ended


def test_a_change_while_the_acknowledgement_is_on_its_way_is_not_lost() -> None:
    server = desk()

    async def main() -> Reply:
        endpoint = Endpoint(server)
        slow = Slow()
        slow.stuck = True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen_by_hand, endpoint, slow)
            await anyio.sleep(1)
            server.resource_updated("file:///a")
            slow.stuck = False
            await anyio.sleep(1)
            endpoint.serving.end_subscriptions()
            # It is over, although its stream has not been told yet.
            server.resource_updated("file:///a")
        return slow

    methods = [value.get("method", "result") for value in run(main).values]
    assert methods == [ACKNOWLEDGED, UPDATED, "result"]


class Slow(Reply):
    """A reply whose client does not read while it is stuck."""

    stuck = False

    async def send(self, head: Any, body: bytes) -> None:
        while self.stuck:
            await anyio.sleep(0.1)
        await super().send(head, body)


# What the server remembers


@TRANSPORTS
def test_the_memory_shows_what_is_open(transport: Any) -> None:
    async def story(client: Client) -> None:
        async with client.listen(tools_list_changed=True):
            await client.list_tools()
            async with client.listen(resource_subscriptions=["file:///a"]):
                await client.list_tools()
            await anyio.sleep(1)

    played = simulate_checked(story, server=desk(), transport=transport)
    assert states(played) == [[1], [1, 3], [1], []]
    shown = next(e.detail for e in played.recording.events if e.kind == "state" and e.party == "server")
    assert shown == {"subscriptions": [{"id": 1, "notifications": {"toolsListChanged": True}}]}


def test_a_session_and_a_subscription_can_share_a_pipe() -> None:
    """A dual-era server reads each request for itself; what belongs to the session has no subscription id."""
    said = talk(
        desk(),
        *opening(),
        legacy(1, "resources/subscribe", {"uri": "file:///a"}),
        modern(2, LISTEN, {"notifications": {"resourceSubscriptions": ["file:///a"]}}),
        legacy(3, "tools/call", call("touch", {"uri": "file:///a"})),
        1.0,
    )
    updates = [value["params"] for value in said.values if value.get("method") == UPDATED]
    assert sorted(map(str, updates)) == sorted(
        map(str, [{"uri": "file:///a"}, {"uri": "file:///a", "_meta": {ID: 2}}])
    )
    remembered = [e.detail for e in said.recorder.events if e.kind == "state"]
    assert remembered[-2]["resource subscriptions"] == ["file:///a"]
    assert [row["id"] for row in remembered[-2]["subscriptions"]] == [2]
    assert remembered[-1] == {}


def test_the_same_run_tells_the_same_story() -> None:
    server = desk()

    async def story(client: Client) -> None:
        async with (
            client.listen(resource_subscriptions=["file:///a"]),
            client.listen(resource_subscriptions=["file:///a"]),
        ):
            for _ in range(3):
                await client.call_tool("touch", {"uri": "file:///a"})

    for transport in (Stdio(jitter_ms=5), StreamableHttp(jitter_ms=5)):
        runs = [simulate_checked(story, server=server, transport=transport) for _ in range(2)]
        assert len({run.recording.sha256() for run in runs}) == 1
        times = [event.at_us for event in runs[0].recording.events]
        assert all(first <= second for first, second in pairwise(times))
