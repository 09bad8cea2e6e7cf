"""The client's half: listening for changes (modern), the standing stream and resuming (legacy, HTTP)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest
from checked import simulate_checked
from talking import (
    END,
    INITIALIZED,
    LATEST,
    FakeEndpoint,
    FakeServer,
    Response,
    as_bytes,
    json_response,
    notification,
    play,
    stream,
)

from mcpsim import Client, Context, Cut, Drop, McpSimError, Run, Server, Stdio, StreamableHttp
from mcpsim.client import listening
from mcpsim.client.http import MAX_ATTEMPTS, MAX_IN_HASTE, RETRY_MS, UNHURRIED_MS
from mcpsim.errors import ConnectionClosed, FramingError, ProtocolError, RequestTimeout, UnexpectedResponse
from mcpsim.messages import Notification, Request
from mcpsim.recording import Recording
from mcpsim.utilities.caching import Cache

TRANSPORTS = pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])
ID = "io.modelcontextprotocol/subscriptionId"
LISTEN = "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TOOLS = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"


def desk() -> Server:
    server = Server("desk", list_changed=True, subscribe=True)

    @server.tool()
    async def count(context: Context, parts: int = 4, close_after: int = -1) -> str:
        for part in range(parts):
            if part == close_after:
                await context.close_stream()
            await anyio.sleep(1)
            await context.report_progress(part + 1, parts)
        return "counted"

    @server.resource("file:///a")
    def a() -> str:
        return "a"

    return server


# Modern: a subscription against a server that does as the test says


def tagged(method: str, id: Any = 1, **params: Any) -> dict[str, Any]:
    return notification(method, {**params, "_meta": {ID: id}})


def acknowledged(id: Any = 1, **members: Any) -> dict[str, Any]:
    return tagged(ACKNOWLEDGED, id, notifications=members)


def result(id: Any = 1, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", "_meta": {ID: id}, **members}}


def error(id: Any, code: int, data: Any = None) -> dict[str, Any]:
    found = {"code": code, "message": "no", **({} if data is None else {"data": data})}
    return {"jsonrpc": "2.0", "id": id, "error": found}


def far_end(http: bool, *said: Any, hangs: bool = True) -> FakeServer | FakeEndpoint:
    """A server that answers a listen request with these messages, and anything else with an empty list."""

    def respond(value: Any) -> Iterator[Any]:
        if value.get("method") == LISTEN:
            yield from said
        elif "id" in value:
            yield result(value["id"], tools=[], ttlMs=0, cacheScope="private")

    def answer(request: Any, value: Any) -> Response:
        if value["method"] == LISTEN:
            return stream(*said, hangs=hangs)
        return json_response(next(respond(value)))

    return FakeEndpoint(answer) if http else FakeServer(respond)


HTTP = pytest.mark.parametrize("http", [False, True], ids=["stdio", "http"])


async def hear(client: Client) -> list[str]:
    async with client.listen(tools_list_changed=True, resource_subscriptions=["file:///a"]) as subscription:
        return [message.method async for message in subscription]


@HTTP
@pytest.mark.parametrize("kind", ["input_required", "later", None])
def test_a_result_of_another_type_is_no_end_in_good_order(http: bool, kind: Any) -> None:
    """https://modelcontextprotocol.io/specification/2026-07-28/basic/index#resulttype"""
    said = (acknowledged(toolsListChanged=True), tagged(TOOLS), result(resultType=kind))
    played = play(hear, far_end(http, *said))
    assert isinstance(played.error, UnexpectedResponse)
    assert "resultType" in str(played.error)


@HTTP
def test_notifications_come_in_order_until_the_result(http: bool) -> None:
    said = (
        acknowledged(toolsListChanged=True, resourceSubscriptions=["file:///a"]),
        tagged(TOOLS),
        tagged(UPDATED, uri="file:///a"),
        # A part of the resource that was subscribed to.
        tagged(UPDATED, uri="file:///a#part"),
        tagged(TOOLS),
        result(),
    )
    played = play(hear, far_end(http, *said))
    assert played.value == [TOOLS, UPDATED, UPDATED, TOOLS]
    assert played.notes == []


@pytest.mark.parametrize("then_result", [True, False])
def test_a_cancellation_from_the_server_is_an_end_in_good_order(then_result: bool) -> None:
    """With or without the result behind it: the specification names both signs."""
    cancelled = notification("notifications/cancelled", {"requestId": 1, "_meta": {ID: 1}})
    rest = [result()] if then_result else []
    server = far_end(False, acknowledged(toolsListChanged=True), tagged(TOOLS), cancelled, *rest)
    played = play(hear, server)
    assert played.value == [TOOLS]
    # The client does not cancel what is over.
    assert server.heard_methods() == [LISTEN]
    assert [note for note in played.notes if "Ignored" in note] == []
    assert played.took_s <= listening.LAST_RESULT_S


def test_the_result_behind_a_cancellation_may_take_a_while() -> None:
    async def story(client: Client) -> list[str]:
        async with client.listen(tools_list_changed=True) as subscription:
            heard = [message.method async for message in subscription]
            await anyio.sleep(2)
        return heard

    cancelled = notification("notifications/cancelled", {"requestId": 1, "_meta": {ID: 1}})
    server = far_end(False, acknowledged(toolsListChanged=True), tagged(TOOLS), cancelled, 0.5, result())
    played = play(story, server)
    assert played.value == [TOOLS]
    assert played.notes == []


@HTTP
def test_an_end_without_a_sign_is_an_error(http: bool) -> None:
    said = [acknowledged(toolsListChanged=True), tagged(TOOLS)]

    async def story(client: Client) -> Any:
        async with client.listen(tools_list_changed=True) as subscription:
            first = (await anext(subscription)).method
            with pytest.raises(ConnectionClosed):
                await anext(subscription)
            with pytest.raises(ConnectionClosed):
                await anext(subscription)
            return first

    server = far_end(True, *said, hangs=False) if http else FakeServer(lambda value: [*said, END])
    assert play(story, server).value == TOOLS


@HTTP
@pytest.mark.parametrize(
    ("stray", "why"),
    [
        (tagged("notifications/prompts/list_changed"), "not about that"),
        (tagged("notifications/progress", progressToken=1, progress=1), "no request in flight"),
        (tagged("notifications/message", level="info", data="x"), "not about that"),
        (tagged(UPDATED), "not about that"),
        (tagged(TOOLS, 7), "no such subscription"),
        (tagged(TOOLS, "1"), "no such subscription"),
        (acknowledged(promptsListChanged=True), "acknowledged before"),
    ],
)
def test_what_does_not_belong_on_it_is_noted_and_passed_over(http: bool, stray: Any, why: str) -> None:
    said = (acknowledged(toolsListChanged=True, resourceSubscriptions=["file:///a"]), stray, tagged(TOOLS))
    played = play(hear, far_end(http, *said, result()))
    assert played.value == [TOOLS]
    assert any(why in note for note in played.notes), played.notes


@HTTP
def test_before_the_acknowledgement_there_is_nothing_to_hear(http: bool) -> None:
    said = (tagged(TOOLS), acknowledged(toolsListChanged=True), result())
    played = play(hear, far_end(http, *said))
    assert played.value == []
    assert any("before the acknowledgement" in note for note in played.notes)


@HTTP
@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ([error(1, -32602)], ProtocolError),
        ([error(1, -32601)], ProtocolError),
        ([result()], UnexpectedResponse),
        ([acknowledged(toolsListChanged="yes")], UnexpectedResponse),
        ([tagged(ACKNOWLEDGED)], UnexpectedResponse),
        ([], RequestTimeout),
    ],
)
def test_without_an_acknowledgement_there_is_no_subscription(http: bool, said: list[Any], kind: Any) -> None:
    server = far_end(http, *said)
    played = play(hear, server, client=Client(timeout_s=3))
    assert isinstance(played.error, kind)
    if kind is RequestTimeout and not http:
        assert server.heard_methods() == [LISTEN, "notifications/cancelled"]
    if kind is RequestTimeout and http:
        assert server.exchanges[0].aborted


@HTTP
def test_an_unsupported_version_is_negotiated_like_for_any_request(http: bool) -> None:
    far = far_end(http, acknowledged(2, toolsListChanged=True), result(2))
    refusals = [error(1, -32022, {"supported": [LATEST], "requested": "2099-01-01"})]

    def respond(value: Any) -> list[Any]:
        if refusals and value.get("method") == LISTEN:
            return [refusals.pop()]
        return list(far._respond(value)) if isinstance(far, FakeServer) else []

    def answer(request: Any, value: Any) -> Response:
        return json_response(refusals.pop(), 400) if refusals else far._respond(request, value)

    server = FakeEndpoint(answer) if http else FakeServer(respond)
    played = play(hear, server, client=Client(protocol_version="2099-01-01"))
    assert played.value == []
    assert played.error is None


def test_who_reads_too_little_loses_the_subscription(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MAX_WAITING", 5)

    async def story(client: Client) -> Any:
        async with client.listen(tools_list_changed=True) as subscription:
            await anyio.sleep(1)
            heard = [await anext(subscription) for _ in range(5)]
            with pytest.raises(McpSimError, match="wait to be read"):
                await anext(subscription)
            return len(heard)

    server = far_end(False, acknowledged(toolsListChanged=True), *[tagged(TOOLS)] * 9)
    assert play(story, server).value == 5


def test_a_legacy_connection_has_no_such_method() -> None:
    async def story(client: Client) -> None:
        async with client.listen(tools_list_changed=True):
            pass

    for transport in (Stdio(), StreamableHttp()):
        played = simulate_checked(story, server=desk(), era="legacy", transport=transport, check=False)
        assert isinstance(played.error, McpSimError)
        assert "subscribe()" in str(played.error)


def test_a_string_is_not_a_list_of_uris() -> None:
    async def story(client: Client) -> None:
        async with client.listen(resource_subscriptions="file:///a"):
            pass

    with pytest.raises(TypeError, match="several URIs"):
        simulate_checked(story, server=desk())


# Modern: against our own server


@TRANSPORTS
def test_what_was_asked_for_and_is_not_told_can_be_seen(transport: Any) -> None:
    server = Server("desk", list_changed=True)
    server.tool("one")(lambda: "one")

    async def story(client: Client) -> Any:
        async with client.listen(
            tools_list_changed=True, prompts_list_changed=True, resource_subscriptions=["file:///a"]
        ) as subscription:
            missing = subscription.missing.model_dump(by_alias=True, exclude_none=True)
            return subscription.acknowledged.tools_list_changed, missing, repr(subscription)

    played = simulate_checked(story, server=server, transport=transport)
    agreed, missing, shown = played.value
    assert agreed is True
    assert missing == {"promptsListChanged": True, "resourceSubscriptions": ["file:///a"]}
    assert shown == "<Subscription 1: {'toolsListChanged': True}>"
    notes = [event.detail["text"] for event in played.recording.events if event.kind == "note"]
    assert any("promptsListChanged, resourceSubscriptions" in note for note in notes)


@TRANSPORTS
def test_an_error_in_the_block_comes_out_as_it_is_and_ends_the_subscription(transport: Any) -> None:
    server = desk()

    async def story(client: Client) -> None:
        try:
            async with client.listen(tools_list_changed=True):
                raise KeyError("mine")
        finally:
            await anyio.sleep(1)
            assert len(server.changes) == 0

    with pytest.raises(KeyError, match="mine"):
        simulate_checked(story, server=server, transport=transport)


@TRANSPORTS
def test_a_scope_around_the_block_can_end_it(transport: Any) -> None:
    server = desk()

    async def story(client: Client) -> list[str]:
        heard = []
        with anyio.move_on_after(2):
            async with client.listen(tools_list_changed=True) as subscription:
                server.remove_tool("count")
                async for message in subscription:
                    heard.append(message.method)
        await anyio.sleep(1)
        assert len(server.changes) == 0
        return heard

    assert simulate_checked(story, server=server, transport=transport).value == [TOOLS]


@TRANSPORTS
@pytest.mark.parametrize("fault", [Cut, Drop])
def test_a_break_is_an_error_and_a_loss_goes_unnoticed(transport: Any, fault: Any) -> None:
    """Without ids and without redelivery a lost notification is lost."""
    server = desk()

    async def story(client: Client) -> list[Any]:
        heard: list[Any] = []
        async with client.listen(resource_subscriptions=["file:///a"]) as subscription:
            for _ in range(3):
                server.resource_updated("file:///a")
                await anyio.sleep(1)
            try:
                with anyio.move_on_after(5):
                    async for message in subscription:
                        heard.append(message.method)
            except ConnectionClosed as error:
                heard.append(type(error))
        return heard

    played = simulate_checked(story, server=server, transport=transport, faults=[fault(UPDATED, nth=2)])
    assert played.value == ([UPDATED, ConnectionClosed] if fault is Cut else [UPDATED, UPDATED])
    assert len(server.changes) == 0
    assert not played.unused_faults
    # No resumption: the modern protocol has none.
    heads = [frame.head for frame in played.recording.frames if frame.head and "method" in frame.head]
    assert all(head["method"] == "POST" for head in heads)


@TRANSPORTS
def test_a_lost_acknowledgement_is_a_timeout(transport: Any) -> None:
    async def story(client: Client) -> None:
        with pytest.raises(RequestTimeout, match="acknowledged"):
            async with client.listen(tools_list_changed=True, timeout_s=2):
                pass

    server = desk()
    played = simulate_checked(story, server=server, transport=transport, faults=[Drop(ACKNOWLEDGED)])
    assert not played.unused_faults
    assert len(server.changes) == 0


@TRANSPORTS
def test_a_notification_makes_a_cached_list_stale_before_it_is_heard(transport: Any) -> None:
    server = Server("desk", list_changed=True, ttl_ms=3_600_000)
    server.tool("one")(lambda: "one")

    async def story(client: Client) -> list[int]:
        counts = []
        async with client.listen(tools_list_changed=True) as subscription:
            for _ in range(2):
                counts.append(len((await client.list_tools()).tools))
            server.tool("two")(lambda: "two")
            await anext(subscription)
            counts.append(len((await client.list_tools()).tools))
        return counts

    played = simulate_checked(story, server=server, client=Client(cache=Cache()), transport=transport)
    assert played.value == [1, 1, 2]
    assert (
        sum(
            isinstance(f.parsed, Request) and f.parsed.method == "tools/list" for f in played.recording.frames
        )
        == 2
    )


# Legacy: the standing stream, and resuming, against our own server


def resumable(**more: Any) -> StreamableHttp:
    return StreamableHttp(resumable=True, **more)


def gets(recording: Recording) -> list[tuple[int, str | None]]:
    """Every GET: when it left, in milliseconds, and its Last-Event-ID."""
    found = []
    for frame in recording.frames:
        if frame.head is not None and frame.head.get("method") == "GET":
            headers = {name.lower(): value for name, value in frame.head["headers"]}
            assert headers["accept"] == "text/event-stream"
            assert headers["mcp-session-id"]
            assert "content-type" not in headers
            found.append((frame.sent_us // 1000, headers.get("last-event-id")))
    return found


def legacy_client(version: str = "2025-11-25") -> Client:
    return Client(era="legacy", protocol_version=version, standing_stream=True)


def methods_of(played: Run, name: str = "value") -> list[str]:
    return [one.method for one in getattr(played, name)]


def test_without_the_option_no_stream_is_opened() -> None:
    async def story(client: Client) -> None:
        await client.list_tools()

    played = simulate_checked(story, server=desk(), era="legacy", transport=StreamableHttp())
    assert gets(played.recording) == []


def test_on_stdio_the_option_changes_nothing() -> None:
    async def story(client: Client) -> None:
        await client.list_tools()

    plain = simulate_checked(story, server=desk(), client=Client(era="legacy"))
    standing = simulate_checked(story, server=desk(), client=legacy_client())
    assert plain.recording.sha256() == standing.recording.sha256()


def test_the_stream_opens_after_initialized_and_closes_before_the_session_ends() -> None:
    async def story(client: Client) -> None:
        await client.list_tools()

    played = simulate_checked(story, server=desk(), client=legacy_client(), transport=StreamableHttp())
    order = [
        (frame.head or {}).get("method", "") + " " + getattr(frame.parsed, "method", "")
        for frame in played.recording.frames
        if frame.sender == "client"
    ]
    assert order.index("POST notifications/initialized") < order.index("GET ") < order.index("DELETE ")
    done = [
        (e.detail or {}).get("how") or ((e.detail or {}).get("head") or {}).get("method")
        for e in played.recording.events
        if e.party == "client" and e.kind in ("sent", "closed")
    ]
    assert done[-2:] == ["aborted", "DELETE"]


@pytest.mark.parametrize("retry_ms", [0, 500, 4_000])
def test_a_broken_stream_is_taken_up_again_after_the_time_that_the_server_asks_for(
    retry_ms: int,
) -> None:
    server = desk()

    async def story(client: Client) -> list[str]:
        await client.subscribe("file:///a")
        for _ in range(3):
            server.resource_updated("file:///a")
            await anyio.sleep(0.1)
        await anyio.sleep(10)
        return [one.method for one in client.notifications]

    played = simulate_checked(
        story,
        server=server,
        client=legacy_client(),
        transport=resumable(latency_ms=10, retry_ms=retry_ms),
        faults=[Cut(UPDATED, nth=2)],
    )
    assert played.value == [UPDATED] * 3
    assert not played.unused_faults
    (_, none), (again_ms, last) = gets(played.recording)
    cut_ms = next(e.at_us // 1000 for e in played.recording.events if e.kind == "dropped")
    assert none is None
    assert last == "1-1"
    assert again_ms - cut_ms == retry_ms


def test_a_server_that_gives_no_ids_is_connected_to_anew_and_what_was_lost_is_lost() -> None:
    server = desk()

    async def story(client: Client) -> int:
        await client.subscribe("file:///a")
        for _ in range(3):
            server.resource_updated("file:///a")
            await anyio.sleep(2)
        return len(client.notifications)

    played = simulate_checked(
        story, server=server, client=legacy_client(), transport=StreamableHttp(), faults=[Cut(UPDATED)]
    )
    assert played.value == 2
    first, second = gets(played.recording)
    assert (first[1], second[1]) == (None, None)
    cut_ms = next(e.at_us // 1000 for e in played.recording.events if e.kind == "dropped")
    assert second[0] - cut_ms == RETRY_MS


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("nth", [1, 2, 4])
def test_an_answer_whose_stream_breaks_still_comes(version: str, nth: int) -> None:
    async def story(client: Client) -> tuple[str, list[float]]:
        seen: list[float] = []
        answer = await client.call_tool("count", on_progress=lambda done, *_: seen.append(done))
        return answer.content[0].text, seen

    played = simulate_checked(
        story,
        server=desk(),
        client=Client(era="legacy", protocol_version=version),
        transport=resumable(retry_ms=100),
        faults=[Cut("notifications/progress", nth=nth)],
        check=False,
    )
    if nth == 1:
        # Nothing had arrived that the client could name; what was on its way is lost with the connection.
        assert isinstance(played.error, ConnectionClosed)
    else:
        assert played.value == ("counted", [1, 2, 3, 4])


def test_a_lost_answer_is_asked_for_again() -> None:
    async def story(client: Client) -> str:
        return (await client.call_tool("count", on_progress=lambda *what: None)).content[0].text

    played = simulate_checked(
        story,
        server=desk(),
        era="legacy",
        transport=resumable(retry_ms=100),
        faults=[Cut("result of tools/call")],
    )
    assert played.value == "counted"


def test_a_connection_that_is_closed_early_is_polled() -> None:
    async def story(client: Client) -> tuple[str, list[float]]:
        seen: list[float] = []
        answer = await client.call_tool(
            "count", {"close_after": 1}, on_progress=lambda done, *_: seen.append(done)
        )
        return answer.content[0].text, seen

    transport = resumable(latency_ms=10, retry_ms=700)
    played = simulate_checked(story, server=desk(), era="legacy", transport=transport)
    assert played.value == ("counted", [1, 2, 3, 4])
    ((at_ms, last),) = gets(played.recording)
    closed_ms = next(e.at_us // 1000 for e in played.recording.events if e.kind == "closed")
    assert at_ms - closed_ms == 10 + 700
    assert last == "1-1"


def test_a_modern_stream_that_ends_before_its_answer_is_an_error() -> None:
    async def story(client: Client) -> None:
        await client.call_tool("count", on_progress=lambda *what: None)

    played = simulate_checked(
        story,
        server=desk(),
        transport=resumable(),
        faults=[Cut("notifications/progress", nth=2)],
        check=False,
    )
    assert isinstance(played.error, ConnectionClosed)
    assert gets(played.recording) == []


def test_ids_mean_nothing_under_the_modern_protocol() -> None:
    endpoint = FakeEndpoint(lambda request, value: stream(event(tagged(TOOLS), id="e1", retry=10)))
    played = play(call_it, endpoint)
    assert isinstance(played.error, ConnectionClosed)
    assert last_event_ids(endpoint) == []


# Legacy: against an endpoint that does as the test says

INFO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "1"},
}


def session(answer: Callable[[Any, Any], Response | None]) -> FakeEndpoint:
    def respond(request: Any, value: Any) -> Response | None:
        if value is not None and value.get("method") == "initialize":
            shown = {"jsonrpc": "2.0", "id": value["id"], "result": INFO}
            return json_response(shown, MCP_Session_Id="s-1")
        if value is not None and not {"id", "method"} <= value.keys():
            return Response(202)
        return Response(200) if request.method == "DELETE" else answer(request, value)

    return FakeEndpoint(respond)


def event(message: Any = None, *, id: str | None = None, retry: int | None = None) -> bytes:
    lines = [] if id is None else [f"id: {id}"]
    lines += [] if retry is None else [f"retry: {retry}"]
    data = b"" if message is None else as_bytes(message)
    return "\n".join(lines).encode() + (b"\n" if lines else b"") + b"data: " + data + b"\n\n"


async def call_it(client: Client) -> str:
    return (await client.call_tool("x")).content[0].text


def counted(id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "counted"}]}}


def last_event_ids(endpoint: FakeEndpoint) -> list[str | None]:
    return [one.headers.get("Last-Event-ID") for one in endpoint.requests if one.method == "GET"]


def test_polling_goes_on_as_long_as_something_new_comes() -> None:
    steps = iter(range(1, 100))

    def answer(request: Any, value: Any) -> Response:
        if request.method == "POST":
            return stream(event(id="e0", retry=10))
        step = next(steps)
        if step < 20:
            return stream(
                event(notification("notifications/message", {"level": "info", "data": 1}), id=f"e{step}")
            )
        return stream(event(counted(2), id="end"))

    endpoint = session(answer)
    played = play(call_it, endpoint, client=Client(era="legacy"))
    assert played.value == "counted"
    assert last_event_ids(endpoint) == [f"e{n}" for n in range(20)]


def test_a_stream_that_brings_nothing_is_given_up() -> None:
    def answer(request: Any, value: Any) -> Response:
        return stream(event(id="e0", retry=50)) if request.method == "POST" else stream(b": nothing\n\n")

    endpoint = session(answer)
    played = play(call_it, endpoint, client=Client(era="legacy"))
    assert isinstance(played.error, ConnectionClosed)
    assert str(MAX_ATTEMPTS) in str(played.error)
    assert last_event_ids(endpoint) == ["e0"] * MAX_ATTEMPTS


def test_a_server_that_wants_its_client_back_at_once_does_not_keep_it_busy_for_ever() -> None:
    hello = notification("notifications/message", {"level": "info", "data": 1})
    endpoint = session(lambda request, value: stream(event(hello, id="e0", retry=0)))
    played = play(call_it, endpoint, client=Client(era="legacy", timeout_s=5))
    assert isinstance(played.error, RequestTimeout)
    assert len(last_event_ids(endpoint)) == pytest.approx(5 * 1000 / UNHURRIED_MS + MAX_IN_HASTE, abs=2)


@pytest.mark.parametrize("id", ["caf\N{LATIN SMALL LETTER E WITH ACUTE}", "\N{LINE SEPARATOR}"])
def test_an_event_id_that_no_header_can_carry_ends_nothing_but_its_stream(id: str) -> None:
    async def wait(client: Client) -> str:
        await anyio.sleep(3)
        return await call_it(client)

    def answer(request: Any, value: Any) -> Response:
        return (
            stream(event(id=id, retry=10)) if request.method == "GET" else json_response(counted(value["id"]))
        )

    endpoint = session(answer)
    played = play(wait, endpoint, client=Client(era="legacy", standing_stream=True))
    assert played.value == "counted"
    assert set(last_event_ids(endpoint)) == {None}
    assert any("no header can carry the event id" in note for note in played.notes)

    resumed = session(lambda request, value: stream(event(id=id, retry=10)))
    assert isinstance(play(call_it, resumed, client=Client(era="legacy")).error, ConnectionClosed)
    assert last_event_ids(resumed) == []


@pytest.mark.parametrize("id", ["caf\N{LATIN SMALL LETTER E WITH ACUTE}", "a b", "a\r\nX-Other: 1", "\x7f"])
def test_a_session_id_that_is_none_is_not_taken(id: str) -> None:
    """https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management"""

    def answer(request: Any, value: Any) -> Response:
        return json_response(counted(value["id"]), MCP_Session_Id=id)

    endpoint = session(answer)
    played = play(call_it, endpoint, client=Client(era="legacy"))
    assert played.value == "counted"
    assert {one.headers.get("MCP-Session-Id") for one in endpoint.requests[1:]} == {"s-1"}
    assert any("must consist of visible ASCII" in note for note in played.notes)


def test_an_endpoint_that_cannot_be_sent_to_any_more_does_not_spoil_the_end() -> None:
    def answer(request: Any, value: Any) -> Response:
        return json_response(counted(value["id"]))

    endpoint = session(answer)
    open_ = endpoint.open

    async def refuse(request: Any) -> Any:
        if request.method != "DELETE":
            return await open_(request)
        raise FramingError("The request cannot be sent over HTTP.")

    endpoint.open = refuse  # type: ignore[method-assign]
    played = play(call_it, endpoint, client=Client(era="legacy"))
    assert (played.value, played.error) == ("counted", None)
    assert any("The session could not be ended" in note for note in played.notes)


@pytest.mark.parametrize("status", [400, 405, 500])
def test_a_refusal_to_resume_ends_the_request(status: int) -> None:
    def answer(request: Any, value: Any) -> Response:
        if request.method == "POST":
            return stream(event(id="e0", retry=50))
        return json_response({"jsonrpc": "2.0", "error": {"code": -32600, "message": "gone"}}, status)

    endpoint = session(answer)
    played = play(call_it, endpoint, client=Client(era="legacy"))
    assert isinstance(played.error, UnexpectedResponse)
    assert f"HTTP {status}" in str(played.error)
    assert len(last_event_ids(endpoint)) == 1


def test_a_session_that_is_gone_is_begun_anew_and_the_request_sent_again() -> None:
    gone = [True]

    def answer(request: Any, value: Any) -> Response:
        if request.method == "GET":
            return Response(404)
        return stream(event(id="e0", retry=50)) if gone.pop() else stream(event(counted(value["id"])))

    def respond(request: Any, value: Any) -> Response:
        gone[:] = [True] if len(endpoint.requests) < 5 else [False]
        return answer(request, value)

    endpoint = session(respond)
    played = play(call_it, endpoint, client=Client(era="legacy"))
    assert played.value == "counted"
    assert endpoint.heard_methods().count("initialize") == 2


def test_a_standing_stream_whose_session_is_gone_opens_anew_with_the_next_session() -> None:
    living: list[str] = []

    def respond(request: Any, value: Any) -> Response:
        named = request.headers.get("MCP-Session-Id")
        if value is not None and value.get("method") == "initialize":
            living.append(f"s-{len(living) + 1}")
            shown = {"jsonrpc": "2.0", "id": value["id"], "result": INFO}
            return json_response(shown, MCP_Session_Id=living[-1])
        # The first session is over as soon as it has begun.
        if named == "s-1" and request.method != "DELETE" and value != INITIALIZED:
            return Response(404)
        if request.method == "GET":
            return stream(notification(TOOLS), hangs=True)
        return Response(202) if value is None or "id" not in value else json_response(counted(value["id"]))

    async def story(client: Client) -> Any:
        await anyio.sleep(1)
        text = await call_it(client)
        await anyio.sleep(1)
        return text, [one.method for one in client.notifications]

    endpoint = FakeEndpoint(respond)
    played = play(story, endpoint, client=Client(era="legacy", standing_stream=True))
    assert played.value == ("counted", [TOOLS])
    assert endpoint.heard_methods().count("initialize") == 2
    assert endpoint.heard_methods().count("GET") == 2


def test_the_timeout_of_a_request_counts_while_it_is_resumed() -> None:
    def answer(request: Any, value: Any) -> Response:
        if request.method == "POST":
            return stream(event(id="e0", retry=50_000))
        return stream(event(counted(2)))

    endpoint = session(answer)
    played = play(call_it, endpoint, client=Client(era="legacy", timeout_s=5))
    assert isinstance(played.error, RequestTimeout)
    # A stream that broke has cancelled nothing, so this has to be said.
    assert "notifications/cancelled" in endpoint.heard_methods()
    assert last_event_ids(endpoint) == []


@pytest.mark.parametrize("status", [405, 400, 500])
def test_an_endpoint_without_standing_streams_is_left_in_peace(status: int) -> None:
    def answer(request: Any, value: Any) -> Response:
        return Response(status) if request.method == "GET" else json_response(counted(value["id"]))

    endpoint = session(answer)
    played = play(call_it, endpoint, client=Client(era="legacy", standing_stream=True))
    assert played.value == "counted"
    assert len(last_event_ids(endpoint)) <= 1
    assert played.took_s < 1


def test_messages_of_the_standing_stream_reach_the_client_and_answers_do_not() -> None:
    ping = {"jsonrpc": "2.0", "id": 77, "method": "ping"}

    def answer(request: Any, value: Any) -> Response:
        if request.method == "GET":
            return stream(notification(TOOLS), ping, 0.5, counted(2), hangs=True)
        return stream(1.0, counted(value["id"]))

    async def story(client: Client) -> Any:
        text = await call_it(client)
        await anyio.sleep(1)
        return text, [one.method for one in client.notifications]

    endpoint = session(answer)
    played = play(story, endpoint, client=Client(era="legacy", standing_stream=True))
    assert played.value == ("counted", [TOOLS])
    assert any("on the stream of another request" in note for note in played.notes)
    assert {"jsonrpc": "2.0", "id": 77, "result": {}} in endpoint.heard()


def test_an_endpoint_that_ends_the_standing_stream_again_and_again_is_given_up() -> None:
    def answer(request: Any, value: Any) -> Response:
        return stream(event(retry=10)) if request.method == "GET" else json_response(counted(value["id"]))

    async def story(client: Client) -> None:
        await anyio.sleep(30)

    endpoint = session(answer)
    played = play(story, endpoint, client=Client(era="legacy", standing_stream=True))
    assert len(last_event_ids(endpoint)) == MAX_ATTEMPTS
    assert any("given up" in note for note in played.notes)


def test_a_notification_is_plain_data() -> None:
    """What `async for` gives are envelopes like those of `client.notifications`."""
    played = play(hear, far_end(False, acknowledged(toolsListChanged=True), tagged(TOOLS), result()))
    (heard,) = played.client.notifications
    assert heard == Notification(TOOLS, {"_meta": {ID: 1}})
