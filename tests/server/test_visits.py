"""Visits to URLs that are done after the request that asked for them is over: who is told, and how often."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from talking import Endpoint, Feed, Reply, call, legacy, modern, opening, run, tokens

from mcpsim import Context, ProtocolError, Server
from mcpsim.eras.legacy import MAX_VISITS, Session
from mcpsim.recording import Recorder, Scribe
from mcpsim.server import StdioServing

URL = {"elicitation": {"url": {}}}
COMPLETE = "notifications/elicitation/complete"
TOLD = {"jsonrpc": "2.0", "method": COMPLETE, "params": {"elicitationId": "visit-1"}}
WAYS = pytest.mark.parametrize("way", ["required", "asked", "by hand", "by hand, as an error"])


def desk(kept: list[Context] | None = None) -> Server:
    server = Server("desk")

    @server.tool()
    async def connect(context: Context, way: str) -> str:
        if kept is not None:
            kept.append(context)
        if way == "required":
            await context.require_url("Connect.", "https://example.com/", elicitation_id="visit-1")
        if way == "asked":
            await context.elicit_url("Connect.", "https://example.com/", elicitation_id="visit-1")
        named = {"mode": "url", "message": "C.", "url": "https://example.com/", "elicitationId": "visit-1"}
        if way == "by hand":
            await context.request("elicitation/create", named)
        if way == "by hand, as an error":
            raise ProtocolError(-32042, "Connect.", {"elicitations": [None, {}, named]})
        if way == "no elicitations":
            raise ProtocolError(-32042, "Connect.", ["visit-1"])
        return "connected"

    @server.tool()
    async def finish(context: Context) -> str:
        await context.elicitation_complete("visit-1")
        return "finished"

    return server


def lines(way: str, *more: Any, capabilities: Any = URL) -> list[Any]:
    accepted = {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}}
    answers = [0.1, accepted] if way in ("asked", "by hand") else []
    connect = legacy(1, "tools/call", call("connect", {"way": way}))
    return [*opening(capabilities=capabilities), connect, *answers, *more, 60.0]


async def serve(server: Server, *feeds: Feed) -> None:
    async with anyio.create_task_group() as tasks:
        for feed in feeds:
            scribe = Scribe(Recorder(lambda: 0))
            tasks.start_soon(StdioServing(server, feed, scribe=scribe, tokens=tokens()).run)


def complete(feed: Feed) -> list[Any]:
    return [value for value in feed.values if value.get("method") == COMPLETE]


@WAYS
def test_the_client_that_was_asked_is_told_once_when_the_request_is_over(way: str) -> None:
    server = desk()
    asked, other = Feed(lines(way)), Feed(lines("not at all"))

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve, server, asked, other)
            await anyio.sleep(10)
            assert complete(asked) == []
            server.elicitation_complete("visit-2")
            server.elicitation_complete("visit-1")
            server.elicitation_complete("visit-1")

    run(main)
    assert complete(asked) == [TOLD]
    assert asked.values[-1] == TOLD
    assert complete(other) == []


def test_a_handler_of_another_session_can_tell() -> None:
    server = desk()
    asked = Feed(lines("required"))
    finish = legacy(2, "tools/call", call("finish"))
    other = Feed([5.0, *lines("not at all", finish)])
    run(lambda: serve(server, asked, other))
    assert (complete(asked), complete(other)) == ([TOLD], [])


def test_a_modern_request_can_tell_a_legacy_client() -> None:
    server = desk()
    asked, other = Feed(lines("required")), Feed([5.0, modern(1, "tools/call", call("finish")), 5.0])
    run(lambda: serve(server, asked, other))
    assert (complete(asked), complete(other)) == ([TOLD], [])


def test_a_later_request_of_the_same_session_tells_among_its_own_messages() -> None:
    feed = Feed(lines("required", 1.0, legacy(2, "tools/call", call("finish"))))
    run(lambda: serve(desk(), feed))
    assert feed.values[-2] == TOLD
    assert feed.values[-1]["id"] == 2


def test_a_context_that_was_kept_can_tell_when_its_request_is_over() -> None:
    kept: list[Context] = []
    server = desk(kept)
    feed = Feed(lines("required"))

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve, server, feed)
            await anyio.sleep(10)
            await kept[0].elicitation_complete("visit-1")

    run(main)
    assert complete(feed) == [TOLD]


def test_an_error_that_names_no_elicitations_harms_nobody() -> None:
    feed = Feed(lines("no elicitations"))
    run(lambda: serve(desk(), feed))
    assert feed.values[-1]["error"]["code"] == -32042


def test_nobody_is_told_where_nobody_could_be_asked() -> None:
    server = desk()
    feed = Feed(lines("required", capabilities={}))

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve, server, feed)
            await anyio.sleep(10)
            server.elicitation_complete("visit-1")

    run(main)
    assert complete(feed) == []


def test_on_http_it_goes_on_the_standing_stream_of_the_session_that_was_asked() -> None:
    server = desk()
    endpoint = Endpoint(server)
    message = legacy(1, "tools/call", call("connect", {"way": "required"}))

    async def main() -> tuple[Reply, Reply]:
        asked, other = [await endpoint.open(capabilities=URL) for _ in range(2)]
        standing = [Reply(), Reply()]
        async with anyio.create_task_group() as tasks:
            for headers, reply in zip((asked, other), standing, strict=True):
                tasks.start_soon(lambda h=headers, r=reply: endpoint.ask(headers=h, method="GET", reply=r))
            await anyio.sleep(1)
            assert (await endpoint.ask(message, asked)).value["error"]["code"] == -32042
            server.elicitation_complete("visit-1")
            await anyio.sleep(1)
            tasks.cancel_scope.cancel()
        return standing[0], standing[1]

    first, second = run(main)
    assert first.values == [TOLD]
    assert second.values == []


def test_of_very_many_visits_the_oldest_are_forgotten() -> None:
    session = Session(("2025-11-25",))
    for number in range(MAX_VISITS + 1):
        session.begin_visit(f"visit-{number}")
    assert len(session.visits) == MAX_VISITS
    assert not session.end_visit("visit-0")
    assert session.end_visit("visit-1")
    assert not session.end_visit("visit-1")
