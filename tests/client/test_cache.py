"""A client with a cache: what it asks the server, and what it does not.

https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
"""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from far_ends import error, far_end, heard, notification, result, talk_to
from talking import END, FakeEndpoint, FakeServer, Response, json_response, play, run

from mcpsim import Cache, Client, McpSimError, ProtocolError
from mcpsim.client import StdioWire
from mcpsim.errors import UnexpectedResponse
from mcpsim.recording import Recorder, Scribe
from mcpsim.transports.http import HttpRequest

transports = pytest.mark.parametrize("transport", ["stdio", "http"])

TOOL = {"inputSchema": {"type": "object"}}
BODIES = {
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {}},
    "tools/list": {"tools": []},
    "prompts/list": {"prompts": []},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": []},
    "resources/read": {"contents": []},
}
ASK: dict[str, Any] = {
    "server/discover": lambda client: client.discover(),
    "tools/list": lambda client: client.list_tools(),
    "prompts/list": lambda client: client.list_prompts(),
    "resources/list": lambda client: client.list_resources(),
    "resources/templates/list": lambda client: client.list_resource_templates(),
    "resources/read": lambda client: client.read_resource("file:///a"),
}


def hinting(ttl_ms: Any = 1000, scope: str = "private") -> Any:
    def answer(message: Any) -> list[Any]:
        body = BODIES[message["method"]]
        return [result(message, **body, resultType="complete", ttlMs=ttl_ms, cacheScope=scope)]

    return answer


def cached(notes: list[str]) -> int:
    return sum("is answered from the cache: fresh" in note for note in notes)


@transports
@pytest.mark.parametrize("method", sorted(BODIES))
def test_a_fresh_result_costs_nothing_and_a_stale_one_is_asked_for_again(transport: str, method: str) -> None:
    async def story(client: Client) -> None:
        for pause_s in (0, 0.5, 0.499, 0.001, 0.999):
            await anyio.sleep(pause_s)
            await ASK[method](client)

    played, far = talk_to(story, hinting(1000), "modern", transport, cache=Cache())
    assert played.error is None
    # At 0 s and at 1 s, when it is not fresh any more.
    assert len(heard(far, method)) == 2
    assert cached(played.notes) == 3


@transports
def test_without_a_cache_everything_is_asked_for(transport: str) -> None:
    async def story(client: Client) -> None:
        for ask in (*ASK.values(), *ASK.values()):
            await ask(client)

    played, far = talk_to(story, hinting(1000), "modern", transport)
    assert all(len(heard(far, method)) == 2 for method in BODIES)
    assert played.notes == []


def test_legacy_results_are_never_kept() -> None:
    cache = Cache()

    async def story(client: Client) -> None:
        await client.list_tools()
        await client.list_tools()

    played, far = talk_to(story, hinting(1000, "public"), "legacy", "stdio", cache=cache)
    assert played.error is None
    assert len(heard(far, "tools/list")) == 2
    assert len(cache) == 0


@pytest.mark.parametrize("ttl_ms", [0, -1, None])
def test_what_is_stale_at_once_is_asked_for_each_time(ttl_ms: Any) -> None:
    async def story(client: Client) -> None:
        await client.list_tools()
        await client.list_tools()

    def answer(message: Any) -> list[Any]:
        hints = {} if ttl_ms is None else {"ttlMs": ttl_ms, "cacheScope": "public"}
        return [result(message, tools=[], **hints)]

    assert len(heard(talk_to(story, answer, "modern", "stdio", cache=Cache())[1], "tools/list")) == 2


def test_a_result_that_is_not_valid_is_not_kept() -> None:
    cache = Cache()

    async def story(client: Client) -> None:
        await client.list_tools()

    def answer(message: Any) -> list[Any]:
        return [result(message, tools="none", ttlMs=1000, cacheScope="public")]

    played, _ = talk_to(story, answer, "modern", "stdio", cache=cache)
    assert isinstance(played.error, McpSimError)
    assert len(cache) == 0


def test_the_exceptions_of_a_cache_are_those_methods_that_ask_by_hand() -> None:
    async def story(client: Client) -> None:
        await client.list_tools()
        await client.request("tools/list")

    assert len(heard(talk_to(story, hinting(), "modern", "stdio", cache=Cache())[1], "tools/list")) == 2


def test_the_time_counts_from_when_the_answer_came() -> None:
    async def story(client: Client) -> float:
        await client.list_tools()
        await anyio.sleep(0.9)
        await client.list_tools()
        return anyio.current_time()

    def answer(message: Any) -> list[Any]:
        return [5.0, *hinting(1000)(message)]

    assert talk_to(story, answer, "modern", "stdio", cache=Cache())[0].value == 5.9


# Pages


def test_every_page_has_its_own_clock() -> None:
    def answer(message: Any) -> list[Any]:
        cursor = message["params"].get("cursor")
        following = {None: {"nextCursor": ""}, "": {"nextCursor": "b"}, "b": {}}[cursor]
        ttl_ms = {None: 5000, "": 1000, "b": 5000}[cursor]
        return [result(message, tools=[], **following, ttlMs=ttl_ms, cacheScope="public")]

    async def story(client: Client) -> None:
        for _ in range(2):
            async for _ in client.pages("tools/list"):
                await anyio.sleep(0.1)
            await anyio.sleep(1)

    _, far = talk_to(story, answer, "modern", "stdio", cache=Cache())
    assert [one["params"].get("cursor") for one in heard(far, "tools/list")] == [None, "", "b", ""]


def test_a_cursor_that_is_not_valid_any_more_drops_all_pages() -> None:
    refuses = [False]

    def answer(message: Any) -> list[Any]:
        cursor = message["params"].get("cursor")
        if cursor is None:
            return [result(message, tools=[], nextCursor="2", ttlMs=5000, cacheScope="public")]
        if refuses[0]:
            return [error(message, -32602, "No such cursor.")]
        return [result(message, tools=[], ttlMs=100, cacheScope="public")]

    async def walk(client: Client) -> None:
        async for _ in client.pages("tools/list"):
            pass

    async def story(client: Client) -> int:
        await walk(client)
        await anyio.sleep(1)
        refuses[0] = True
        with pytest.raises(ProtocolError) as caught:
            await walk(client)
        assert "Begin again" in caught.value.__notes__[0]
        refuses[0] = False
        await walk(client)
        return len(cache)

    cache = Cache()
    played, far = talk_to(story, answer, "modern", "stdio", cache=cache)
    assert played.value == 2
    asked = [one["params"].get("cursor") for one in heard(far, "tools/list")]
    assert asked == [None, "2", "2", None, "2"]
    assert any("all pages of tools/list are dropped" in note for note in played.notes)


def test_other_errors_drop_nothing() -> None:
    cache = Cache()

    def answer(message: Any) -> list[Any]:
        if message["params"].get("cursor") == "x":
            return [error(message, -32603)]
        return hinting(5000)(message) if message["method"] == "tools/list" else [error(message, -32602)]

    async def story(client: Client) -> None:
        await client.list_tools()
        for ask in (lambda: client.list_tools("x"), lambda: client.read_resource("file:///a")):
            with pytest.raises(ProtocolError):
                await ask()

    assert talk_to(story, answer, "modern", "stdio", cache=cache)[0].error is None
    assert len(cache) == 1


# Rounds


@transports
def test_what_came_after_a_question_is_not_kept(transport: str) -> None:
    cache = Cache()

    def answer(message: Any) -> list[Any]:
        hints = {"ttlMs": 5000, "cacheScope": "public"}
        if "requestState" in message["params"]:
            return [result(message, contents=[], resultType="complete", **hints)]
        return [result(message, resultType="input_required", requestState="s", **hints)]

    async def story(client: Client) -> None:
        await client.read_resource("file:///a")
        await client.read_resource("file:///a")

    played, far = talk_to(story, answer, "modern", transport, cache=cache)
    assert played.error is None
    assert len(heard(far, "resources/read")) == 4
    assert len(cache) == 0


# Notifications


@pytest.mark.parametrize(
    ("notice", "spoils"),
    [
        (notification("notifications/tools/list_changed"), {"tools/list"}),
        (notification("notifications/prompts/list_changed"), {"prompts/list"}),
        (
            notification("notifications/resources/list_changed"),
            {"resources/list", "resources/templates/list"},
        ),
        (notification("notifications/resources/updated", uri="file:///a"), {"resources/read"}),
        (notification("notifications/resources/updated", uri="file:///b"), set()),
        (notification("notifications/message", level="info", data=1), set()),
    ],
    ids=lambda one: str(sorted(one)) if isinstance(one, set) else str(one),
)
def test_a_notification_makes_stale_what_it_is_about(notice: Any, spoils: set[str]) -> None:
    async def story(client: Client) -> None:
        for ask in ASK.values():
            await ask(client)
        far.say(notice)
        await anyio.sleep(0.1)
        for ask in ASK.values():
            await ask(client)

    far = far_end("stdio", hinting(5000))
    assert isinstance(far, FakeServer)
    played = play(story, far, client=Client(cache=Cache()))
    assert played.error is None
    assert {method for method in BODIES if len(heard(far, method)) == 2} == spoils
    assert any("stale from now on" in note for note in played.notes) is bool(spoils)


def test_a_change_that_overtakes_the_answer() -> None:
    """Nobody knows whether the list is from before the change, so it is not served again."""

    def answer(message: Any) -> list[Any]:
        return [notification("notifications/tools/list_changed"), *hinting(5000)(message)]

    async def story(client: Client) -> None:
        await client.list_tools()
        await client.list_tools()

    assert len(heard(talk_to(story, answer, "modern", "stdio", cache=Cache())[1], "tools/list")) == 2


# Whose it is


@pytest.mark.parametrize(("scope", "asked"), [("public", 1), ("private", 2)])
def test_one_cache_for_several_clients(scope: str, asked: int) -> None:
    cache = Cache()
    far = far_end("http", hinting(5000, scope))

    async def story(client: Client) -> None:
        await client.list_tools()

    for principal in ("ann", "ben", "ann"):
        assert (
            play(story, far, client=Client(principal=principal, cache=cache, name=f"{principal}-app")).error
            is None
        )
    assert len(heard(far, "tools/list")) == asked
    assert len(cache) == asked


def test_clients_with_other_capabilities_do_not_share() -> None:
    cache = Cache()

    async def story(client: Client) -> None:
        await client.list_tools()

    far = far_end("http", hinting(5000, "public"))
    play(story, far, client=Client(cache=cache))
    play(story, far, client=Client(cache=cache, elicit=lambda params: "decline"))
    assert len(heard(far, "tools/list")) == 2


# Better stale than nothing


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize(
    ("trouble", "passes"),
    [
        (-32603, True),
        ("timeout", True),
        ("closed", True),
        (-32602, False),
        (-32601, False),
        (-1, False),
    ],
    ids=str,
)
def test_stale_where_asking_fails(asks: bool, trouble: Any, passes: bool) -> None:
    asked = [0]

    def answer(message: Any) -> list[Any]:
        asked[0] += 1
        if asked[0] == 1:
            return hinting(100)(message)
        if trouble == "timeout":
            return []
        if trouble == "closed":
            return [END]
        return [error(message, trouble)]

    async def story(client: Client) -> int:
        await client.list_tools()
        await anyio.sleep(1)
        return len((await client.list_tools()).tools)

    played, _ = talk_to(story, answer, "modern", "stdio", cache=Cache(), stale_if_error=asks, timeout_s=2.0)
    served = any("answered from the cache, stale, because of" in note for note in played.notes)
    assert served is (asks and passes)
    assert (played.error is None) is (asks and passes)
    assert asked[0] == 2


@pytest.mark.parametrize(
    ("status", "passes"), [(401, False), (403, False), (429, True), (500, True), (503, True)]
)
@pytest.mark.parametrize("body", [b"", b"no JSON"])
def test_whoever_may_not_have_it_any_more_gets_nothing_stale(status: int, passes: bool, body: bytes) -> None:
    asked = [0]

    def respond(request: HttpRequest, message: Any) -> Any:
        asked[0] += 1
        if asked[0] == 1:
            return json_response(hinting(100)(message)[0])
        return Response(status, [body] if body else [])

    async def story(client: Client) -> int:
        await client.list_tools()
        await anyio.sleep(1)
        return len((await client.list_tools()).tools)

    client = Client(era="modern", cache=Cache(), stale_if_error=True)
    played = play(story, FakeEndpoint(respond), client=client)
    assert asked[0] == 2
    served = any("answered from the cache, stale, because of" in note for note in played.notes)
    assert served is passes
    if passes:
        assert played.error is None
    else:
        assert isinstance(played.error, UnexpectedResponse)
        assert played.error.status == status


# What is to be seen


def test_the_client_shows_what_it_keeps() -> None:
    recorder = Recorder(lambda: 0)
    scribe = Scribe(recorder, "client")
    far = far_end("stdio", hinting(100, "public"))
    assert isinstance(far, FakeServer)

    async def main() -> None:
        client = Client(cache=Cache())
        async with client.attached(StdioWire(far, scribe), scribe):
            await client.list_tools()
            await client.read_resource("file:///a")
            far.say(notification("notifications/tools/list_changed"))
            await anyio.sleep(0.2)

    run(main)
    states = [event.detail for event in recorder.events if event.kind == "state"]
    kept = [state["cache"] for state in states if state and "cache" in state]
    tools = "tools/list: public, fresh until 100 ms"
    read = "resources/read uri 'file:///a': public, fresh until 100 ms"
    assert kept == [[tools], [tools, read], ["tools/list: public, invalidated", read]]
