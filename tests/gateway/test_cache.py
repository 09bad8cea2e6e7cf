"""What a gateway keeps, for whom and for how long, and what it never keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from mcpsim import (
    Client,
    Context,
    ErrorResponse,
    ProtocolError,
    Request,
    Response,
    Run,
    Server,
    StreamableHttp,
    write_message,
)
from mcpsim.gateway import Gateway
from mcpsim.gateway.shared_cache import Asked, SharedCache
from mcpsim.transports.http import Headers, HttpHead, HttpRequest, modern_headers
from tests.support.checked import simulate_checked

TTL_MS = 1_000


def shelf(**more: Any) -> Server:
    given = {"ttl_ms": TTL_MS, "cache_scope": "public", **more}
    server = Server("shelf", **given)

    @server.tool()
    async def look(context: Context) -> str:
        return f"for {context.principal}"

    @server.tool()
    async def turn() -> str:
        return "turned"

    return server


def play(story: Callable[..., Any], server: Server, **more: Any) -> Run:
    given = {"gateway": Gateway(), "transport": StreamableHttp(latency_ms=10), **more}
    return simulate_checked(story, server=server, **given)


def asked_of_server(run: Run) -> list[str]:
    return [
        frame.parsed.method
        for frame in run.recording.frames
        if frame.receiver.startswith("server") and hasattr(frame.parsed, "method")
    ]


def notes(run: Run) -> list[str]:
    return [
        event.detail["text"]
        for event in run.recording.events
        if event.kind == "note" and event.detail is not None
    ]


def states(run: Run) -> list[Any]:
    return [
        event.detail for event in run.recording.events if (event.kind, event.party) == ("state", "gateway")
    ]


def test_a_public_list_is_kept_for_everybody_and_as_long_as_it_is_fresh() -> None:
    async def story(ann: Client, ben: Client) -> list[int]:
        times = [(await ann.list_tools()).ttl_ms]
        await anyio.sleep(0.3)
        times.append((await ben.list_tools()).ttl_ms)
        await anyio.sleep(1)
        times.append((await ben.list_tools()).ttl_ms)
        return times

    run = play(story, shelf(), client={"ann": Client(principal="ann"), "ben": Client(principal="ben")})
    assert asked_of_server(run) == ["tools/list", "tools/list"]
    # It came to the gateway at 30 ms; ben's request was there at 350 ms.
    assert run.value == [1000, 680, 1000]
    assert notes(run) == [
        "tools/list is answered from the cache: the result is public, and fresh for another 680 ms."
    ]
    assert states(run)[0] == {"cache": ["tools/list: public, fresh until 1030 ms"]}


def test_a_kept_answer_has_the_id_of_the_one_who_asks() -> None:
    async def story(client: Client) -> list[Any]:
        raw = [await client.request("tools/list", meta={"progressToken": token}) for token in ("a", "b")]
        return [one["tools"] for one in raw]

    run = play(story, shelf())
    assert run.value[0] == run.value[1]
    answers = [
        frame.parsed.id
        for frame in run.recording.frames
        if frame.receiver == "client" and isinstance(frame.parsed, Response)
    ]
    assert answers == [1, 2]
    assert len(asked_of_server(run)) == 1


@pytest.mark.parametrize("more", [{"cache_scope": "private"}, {"ttl_ms": 0}])
def test_private_and_stale_results_are_asked_for_again(more: dict[str, Any]) -> None:
    async def story(client: Client) -> None:
        await client.list_tools()
        await client.list_tools()

    assert len(asked_of_server(play(story, shelf(**more)))) == 2


def test_without_a_cache_everything_is_asked_for() -> None:
    async def story(client: Client) -> None:
        await client.list_tools()
        await client.list_tools()

    run = play(story, shelf(), gateway=Gateway(cache=False))
    assert len(asked_of_server(run)) == 2
    assert states(run) == []


def test_calls_are_never_kept() -> None:
    async def story(client: Client) -> None:
        await client.call_tool("turn")
        await client.call_tool("turn")

    assert asked_of_server(play(story, shelf())) == ["tools/call", "tools/call"]


def test_legacy_results_say_nothing_of_caching_and_are_not_kept() -> None:
    async def story(client: Client) -> None:
        await client.list_tools()
        await client.list_tools()

    run = play(story, shelf(), era="legacy")
    assert asked_of_server(run).count("tools/list") == 2


def test_every_page_has_its_own_clock() -> None:
    async def story(client: Client) -> None:
        first = await client.list_tools()
        await anyio.sleep(0.6)
        await client.list_tools(first.next_cursor)
        await anyio.sleep(0.6)
        # The first page is stale by now, the second is not.
        await client.list_tools()
        await client.list_tools(first.next_cursor)

    run = play(story, shelf(page_size=1))
    assert len(asked_of_server(run)) == 3
    assert [len(state["cache"]) for state in states(run)] == [1, 2, 2]


def test_pages_are_forgotten_where_a_cursor_of_theirs_is_refused() -> None:
    gateway = Gateway()
    cache = SharedCache(gateway)
    head = HttpHead(200, Headers({"Content-Type": "application/json"}))

    def asks(cursor: str | None) -> Asked:
        asked = cache.look_up(list_tools(cursor), 0)
        assert asked is not None
        return asked

    def refused() -> bytes:
        return write_message(ErrorResponse(1, -32602, "Invalid cursor"))

    page = {"resultType": "complete", "tools": [], "ttlMs": 10, "cacheScope": "public", "nextCursor": "next"}
    assert cache.take(asks(None), head, write_message(Response(1, page)), 0)
    # Anybody can make a cursor up; the others shall not suffer from it.
    assert not cache.take(asks("made up"), head, refused(), 1)
    assert len(cache.rows(1)) == 1
    assert cache.take(asks("next"), head, refused(), 1)
    assert cache.rows(1) == []


def list_tools(cursor: str | None) -> HttpRequest:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = Request(1, "tools/list", {"_meta": meta, **({} if cursor is None else {"cursor": cursor})})
    return HttpRequest("POST", "/mcp", modern_headers(message), write_message(message))


@pytest.mark.parametrize(
    "answer",
    [
        b"no JSON",
        b'{"jsonrpc":"2.0","id":2,"result":{"ttlMs":10,"cacheScope":"public"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"ttlMs":10,"cacheScope":"PUBLIC"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"ttlMs":10}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"ttlMs":10,"cacheScope":"public","resultType":"input_required"}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}',
        b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
    ],
)
def test_answers_that_are_not_kept(answer: bytes) -> None:
    cache = SharedCache(Gateway())
    asked = cache.look_up(list_tools(None), 0)
    assert asked is not None
    assert not cache.take(asked, HttpHead(200, Headers()), answer, 0)
    assert cache.rows(0) == []


def test_a_retry_with_input_responses_is_never_kept() -> None:
    server = Server("asks")
    rounds: list[str] = []

    @server.resource("note:mine", ttl_ms=TTL_MS, cache_scope="public")
    async def note(context: Context) -> str:
        rounds.append("begins")
        answer = await context.elicit("Name?", {"type": "object", "properties": {"name": {"type": "string"}}})
        assert answer.content is not None
        return str(answer.content["name"])

    async def answer(client: Client) -> str:
        question = await client.request("resources/read", {"uri": "note:mine"})
        (key,) = question["inputRequests"]
        given = {key: {"action": "accept", "content": {"name": client.principal}}}
        state = question["requestState"]
        retry = {"uri": "note:mine", "inputResponses": given, "requestState": state}
        result = await client.request("resources/read", retry)
        return result["contents"][0]["text"]

    async def story(ann: Client, ben: Client) -> list[str]:
        return [await answer(ann), await answer(ben)]

    capabilities = {"elicitation": {"form": {}}}
    run = play(
        story,
        server,
        client={name: Client(principal=name, capabilities=capabilities) for name in ("ann", "ben")},
        # Also where somebody would keep anything.
        gateway=Gateway(may_share=lambda result: True),
    )
    assert run.value == ["ann", "ben"]
    assert len(rounds) == 4
    assert states(run) == []


def test_a_request_whose_headers_lie_is_left_to_the_server() -> None:
    async def story(client: Client) -> Any:
        await client.list_tools()
        # The headers say that it is the list; the body calls a tool. And the other way round.
        with pytest.raises(ProtocolError) as one:
            await client.request("tools/call", {"name": "turn"}, headers={"Mcp-Method": "tools/list"})
        with pytest.raises(ProtocolError) as other:
            await client.request("tools/list", headers={"Mcp-Method": "tools/call"})
        # Both are lists that may be kept, and one of them is.
        with pytest.raises(ProtocolError) as third:
            await client.request("tools/list", headers={"Mcp-Method": "server/discover"})
        return one.value.code, other.value.code, third.value.code

    run = play(story, shelf())
    assert run.value == (-32020, -32020, -32020)
    assert asked_of_server(run) == ["tools/list", "tools/call", "tools/list", "tools/list"]


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"Accept": "application/json"}, 406),
        ({"Content-Type": "text/plain"}, 415),
        ({"Origin": "https://evil.example"}, 403),
        ({"MCP-Protocol-Version": "2025-11-25"}, 400),
    ],
)
def test_what_the_server_would_refuse_is_not_answered_from_the_cache(
    changes: dict[str, str], status: int
) -> None:
    async def story(client: Client) -> int | None:
        await client.list_tools()
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        body = {"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": {"_meta": meta}}
        good = await client.send_raw(body)
        assert good.status == 200
        return (await client.send_raw(body, headers=changes)).status

    run = play(story, shelf(era="modern"))
    assert run.value == status
    assert len(asked_of_server(run)) == 2


def test_another_set_of_capabilities_is_another_request() -> None:
    async def story(ann: Client, ben: Client) -> None:
        await ann.list_tools()
        await ben.list_tools()

    clients = {"ann": Client(), "ben": Client(capabilities={"roots": {}})}
    assert len(asked_of_server(play(story, shelf(), client=clients))) == 2


def test_the_least_recently_used_result_goes_first() -> None:
    server = Server("books", ttl_ms=TTL_MS, cache_scope="public")

    @server.resource_template("book:{name}")
    async def book(name: str) -> str:
        return name

    async def story(client: Client) -> None:
        for name in "abacb":
            await client.read_resource(f"book:{name}")

    run = play(story, server, gateway=Gateway(max_entries=2))
    # a, b, (a is kept), c drops b, b again.
    assert len(asked_of_server(run)) == 4


def changing_shelf() -> Server:
    """A server of one book, whose text can be changed."""
    server = Server("books", ttl_ms=60_000, cache_scope="public", subscribe=True)
    texts = ["old"]

    @server.resource("book:one")
    async def book() -> str:
        return texts[-1]

    @server.resource("book:two")
    async def other() -> str:
        return "another"

    @server.tool()
    async def rewrite() -> str:
        texts.append("new")
        server.resource_updated("book:one")
        return "rewritten"

    return server


async def read(client: Client, uri: str = "book:one") -> str:
    return (await client.request("resources/read", {"uri": uri}))["contents"][0]["text"]


def test_what_a_notification_that_passes_by_is_about_is_stale_at_once() -> None:
    async def story(ann: Client, ben: Client) -> list[str]:
        async with ann.listen(resource_subscriptions=["book:one"]) as news:
            seen = [await read(ann), await read(ann, "book:two")]
            await ben.call_tool("rewrite")
            async for _ in news:
                break
            seen += [await read(ann), await read(ben), await read(ben, "book:two")]
        return seen

    clients = {name: Client(principal=name) for name in ("ann", "ben")}
    run = play(story, changing_shelf(), client=clients)
    assert run.value == ["old", "another", "new", "new", "another"]
    assert notes(run)[0] == "notifications/resources/updated: 1 cached result is stale from now on."
    # The book that changed is read once more, for both; the other one is still kept.
    assert asked_of_server(run).count("resources/read") == 3
    assert run.audit().findings == ()


def test_what_nobody_is_told_of_the_gateway_does_not_hear() -> None:
    async def story(client: Client) -> list[str]:
        seen = [await read(client)]
        await client.call_tool("rewrite")
        return [*seen, await read(client)]

    assert play(story, changing_shelf()).value == ["old", "old"]


UPDATED = b'{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"book:one"}}'
CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'


TOOLS = (
    b'{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":9,"cacheScope":"public","tools":[]}}'
)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (CHANGED, "notifications/tools/list_changed: 1 cached result is stale from now on."),
        (UPDATED, ""),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', ""),
        (b"", ""),
        (b"no JSON", ""),
    ],
)
def test_a_gateway_hears_of_what_it_keeps_alone(data: bytes, told: str) -> None:
    cache = SharedCache(Gateway())
    asked = cache.look_up(list_tools(None), 0)
    assert asked is not None
    assert cache.take(asked, HttpHead(200, Headers()), TOOLS, 0)
    assert cache.hear(data) == told
    assert cache.hear(data) == "", "and says so once"
    again = cache.look_up(list_tools(None), 1)
    assert again is not None
    assert (again.found is None) == bool(told)


def test_an_answer_that_a_notification_overtook_is_kept_as_stale() -> None:
    cache = SharedCache(Gateway())
    asked = cache.look_up(list_tools(None), 0)
    assert asked is not None
    assert cache.hear(CHANGED) == ""
    assert cache.take(asked, HttpHead(200, Headers()), TOOLS, 0)
    again = cache.look_up(list_tools(None), 1)
    assert again is not None
    assert again.found is None


def test_a_cache_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="max_entries"):
        Gateway(max_entries=0)
    with pytest.raises(ValueError, match="timeout_s"):
        Gateway(timeout_s=float("inf"))
