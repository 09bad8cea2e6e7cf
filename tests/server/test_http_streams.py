"""The streams of an endpoint: standing ones, resuming them, closing them early, and keeping them alive."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import (
    Endpoint,
    Feed,
    Reply,
    call,
    headers_for,
    legacy,
    modern,
    notification,
    opening,
    run,
    talk,
    tokens,
)

from mcpsim import Context, Server
from mcpsim.recording import Recorder, Scribe
from mcpsim.server import StdioServing
from mcpsim.server.http_streams import MAX_STREAMS
from mcpsim.transports.http import SseEvent, SseReader

UPDATED = "notifications/resources/updated"
RETRY = b"retry: "


def desk(era: Any = "both") -> Server:
    server = Server("desk", era=era, list_changed=True, subscribe=True)

    @server.tool()
    async def count(context: Context, parts: int = 3, close_after: int = -1) -> str:
        """Report progress every second; close the connection after some of it."""
        for part in range(parts):
            if part == close_after:
                await context.close_stream()
            await anyio.sleep(1)
            await context.report_progress(part + 1, parts)
        return "counted"

    @server.tool()
    async def quiet(seconds: float) -> str:
        await anyio.sleep(seconds)
        return "done"

    @server.resource("file:///a")
    def a() -> str:
        return "a"

    return server


def events(reply: Reply) -> list[SseEvent]:
    found = SseReader().feed(reply.body)
    assert all(isinstance(event, SseEvent) for event in found)
    return found  # type: ignore[return-value]


def values(reply: Reply) -> list[Any]:
    """The messages of a stream, without the events that carry none."""
    import json

    return [json.loads(event.data) for event in events(reply) if event.data]


def names(reply: Reply) -> list[str]:
    return [value.get("method", "result") for value in values(reply)]


def uris(reply: Reply) -> list[str]:
    return [value["params"]["uri"] for value in values(reply)]


@dataclass
class SlowReply(Reply):
    """A connection on which each piece takes a while, one more, the next less."""

    takes_s: float = 0.0
    pieces: int = 0

    async def send(self, head: Any, body: bytes) -> None:
        self.pieces += 1
        if self.takes_s:
            await anyio.sleep(self.takes_s / (1 + self.pieces % 3))
        await super().send(head, body)


@asynccontextmanager
async def standing(
    endpoint: Endpoint, headers: dict[str, str], last: str | None = None, takes_s: float = 0.0
) -> AsyncGenerator[Reply]:
    """A stream opened with GET, for the length of the block; then the client goes away."""
    reply = SlowReply(takes_s=takes_s)
    changes = {} if last is None else {"Last_Event_ID": last}

    async def get() -> None:
        await endpoint.ask(b"", headers, method="GET", reply=reply, **changes)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(get)
        await anyio.sleep(0.1)
        yield reply
        if not reply.ended:
            reply.abort()


async def post(endpoint: Endpoint, headers: Any, message: Any, reply: Reply) -> None:
    await endpoint.ask(message, headers, reply=reply)


def counting(id: Any = 1, **arguments: Any) -> dict[str, Any]:
    params = {**call("count", arguments), "_meta": {"progressToken": id}}
    return legacy(id, "tools/call", params)


async def subscribed(endpoint: Endpoint, version: str = "2025-11-25") -> dict[str, str]:
    headers = await endpoint.open(version)
    for id, uri in enumerate(("file:///1", "file:///2", "file:///3", "file:///4")):
        await endpoint.ask(legacy(f"subscribe {id}", "resources/subscribe", {"uri": uri}), headers)
    return headers


# Standing streams


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"MCP_Session_Id": None}, 400),
        ({"MCP_Session_Id": "session-9"}, 404),
        ({"Accept": "application/json"}, 406),
        ({"MCP_Protocol_Version": "2025-06-18"}, 400),
        ({"MCP_Protocol_Version": "2026-07-28"}, 405),
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Last_Event_ID": "1-0"}, 400),
    ],
)
@pytest.mark.parametrize("resumable", [False, True])
def test_a_get_that_is_refused(changes: dict[str, Any], status: int, resumable: bool) -> None:
    async def main() -> Reply:
        endpoint = Endpoint(desk(), resumable=resumable)
        return await endpoint.ask(b"", await endpoint.open(), method="GET", **changes)

    assert run(main).status == status


def test_an_answer_that_the_client_would_not_take_is_refused_under_the_id_of_its_request() -> None:
    async def main() -> Reply:
        endpoint = Endpoint(desk())
        return await endpoint.ask(legacy("a-1", "tools/list"), await endpoint.open(), Accept="text/plain")

    reply = run(main)
    assert reply.status == 406
    assert reply.value["id"] == "a-1"


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json, text/event-stream", "*/*"])
def test_a_get_opens_a_stream_that_stays_open(accept: str) -> None:
    async def main() -> tuple[Reply, bool]:
        endpoint = Endpoint(desk())
        headers = {**(await endpoint.open()), "Accept": accept}
        async with standing(endpoint, headers) as reply:
            await anyio.sleep(100)
            open_still = not reply.ended
        return reply, open_still

    reply, open_still = run(main)
    assert (reply.status, reply.header("Content-Type"), open_still) == (200, "text/event-stream", True)
    assert reply.header("X-Accel-Buffering") == "no"
    assert reply.body == b""


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("era", ["modern", "both"])
def test_modern_requests_have_neither_get_nor_delete(method: str, era: Any) -> None:
    async def main() -> Reply:
        endpoint = Endpoint(desk(era), resumable=True)
        return await endpoint.ask(
            b"",
            method=method,
            MCP_Protocol_Version="2026-07-28",
            MCP_Session_Id="session-1",
            Last_Event_ID="1-0",
        )

    reply = run(main)
    assert (reply.status, reply.header("Allow"), reply.body) == (405, "POST", b"")


def test_an_endpoint_need_not_offer_standing_streams() -> None:
    async def main() -> Reply:
        endpoint = Endpoint(desk(), standing_streams=False)
        return await endpoint.ask(b"", await endpoint.open(), method="GET")

    reply = run(main)
    assert (reply.status, reply.header("Allow")) == (405, "POST, DELETE")


def test_each_message_goes_on_one_stream_only() -> None:
    """The newest one that is open; never on the stream of a request."""
    server = desk()

    async def main() -> list[Reply]:
        endpoint = Endpoint(server)
        headers = await subscribed(endpoint)
        answer = Reply()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(post, endpoint, headers, counting(parts=5), answer)
            async with standing(endpoint, headers) as older:
                server.resource_updated("file:///1")
                async with standing(endpoint, headers) as newer:
                    server.resource_updated("file:///2")
                    await anyio.sleep(1)
                server.resource_updated("file:///3")
                await anyio.sleep(1)
            server.resource_updated("file:///4")
        assert any("A message is lost" in note for note in endpoint.notes)
        return [older, newer, answer]

    older, newer, answer = run(main)
    assert uris(older) == ["file:///1", "file:///3"]
    assert uris(newer) == ["file:///2"]
    assert names(answer) == ["notifications/progress"] * 5 + ["result"]


def test_an_answer_never_comes_on_a_standing_stream_and_sessions_do_not_mix() -> None:
    server = desk()

    async def main() -> list[Reply]:
        endpoint = Endpoint(server)
        one, other = await subscribed(endpoint), await endpoint.open()
        answer = Reply()
        async with standing(endpoint, one) as first, standing(endpoint, other) as second:
            await post(endpoint, one, counting(), answer)
            server.resource_updated("file:///1")
            await anyio.sleep(1)
        return [first, second, answer]

    first, second, answer = run(main)
    assert names(first) == [UPDATED]
    assert names(second) == []
    assert names(answer)[-1] == "result"


def test_the_end_of_the_session_is_the_end_of_its_streams() -> None:
    server = desk()

    async def main() -> tuple[Reply, Reply]:
        endpoint = Endpoint(server)
        headers = await subscribed(endpoint)
        async with standing(endpoint, headers) as reply:
            server.resource_updated("file:///1")
            ended = await endpoint.ask(b"", headers, method="DELETE")
            assert ended.status == 200
            await anyio.sleep(0.1)
            assert reply.ended
            server.resource_updated("file:///2")
        assert len(server.changes) == 0
        return reply, await endpoint.ask(b"", headers, method="GET")

    reply, after = run(main)
    assert uris(reply) == ["file:///1"]
    assert after.status == 404


def test_a_session_of_somebody_else_is_not_there() -> None:
    async def main() -> Reply:
        endpoint = Endpoint(desk(), principal_of=lambda headers: headers.get("Authorization") or "")
        headers = await endpoint.open(Authorization="Bearer ann")
        return await endpoint.ask(b"", headers, method="GET", Authorization="Bearer bob")

    assert run(main).status == 404


# Ids, priming, resuming


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_stream_begins_with_an_id_to_come_back_with(version: str) -> None:
    """An event without data, in the revision that knows it."""
    server = desk()

    async def main() -> tuple[Reply, Reply]:
        endpoint = Endpoint(server, resumable=True, retry_ms=250)
        headers = await subscribed(endpoint, version)
        answer = Reply()
        async with standing(endpoint, headers) as reply:
            server.resource_updated("file:///1")
            await post(endpoint, headers, counting(), answer)
        return reply, answer

    for reply in run(main):
        first = events(reply)[0]
        if version == "2025-11-25":
            assert (first.data, first.retry_ms) == (b"", 250)
            assert first.id
        else:
            assert first.data
            assert RETRY not in reply.body
        ids = [event.id for event in events(reply)]
        assert None not in ids
        assert len(set(ids)) == len(ids)


def test_ids_are_unique_in_the_session() -> None:
    async def main() -> list[Reply]:
        endpoint = Endpoint(desk(), resumable=True)
        headers = await endpoint.open()
        replies = [Reply() for _ in range(3)]
        async with anyio.create_task_group() as tasks, standing(endpoint, headers) as reply:
            for id, answer in enumerate(replies):
                tasks.start_soon(post, endpoint, headers, counting(id), answer)
            await anyio.sleep(10)
        return [*replies, reply]

    ids = [event.id for reply in run(main) for event in events(reply)]
    assert len(ids) == 3 * 5 + 1
    assert len(set(ids)) == len(ids)


def test_without_resuming_no_event_has_an_id() -> None:
    server = desk()

    async def main() -> list[Reply]:
        endpoint = Endpoint(server)
        headers = await subscribed(endpoint)
        answer = Reply()
        async with standing(endpoint, headers) as reply:
            server.resource_updated("file:///1")
            await post(endpoint, headers, counting(), answer)
        return [reply, answer]

    for reply in run(main):
        assert [event.id for event in events(reply)] == [None] * len(values(reply))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.one_of(st.sampled_from(["file:///1", "file:///2"]), st.floats(0.1, 2), st.just("break")),
        max_size=25,
    ),
    st.sampled_from([0.0, 0.3]),
)
def test_however_often_it_breaks_every_message_comes_once_and_in_order(
    script: list[Any], takes_s: float
) -> None:
    server = desk()

    async def main() -> tuple[list[str], list[str]]:
        endpoint = Endpoint(server, resumable=True)
        headers = await subscribed(endpoint)
        sent: list[str] = []
        got: list[str] = []
        last: str | None = None
        items = [*script, "break"]
        while items:
            async with standing(endpoint, headers, last, takes_s) as reply:
                if last is None:
                    # Before the first id has come there is nothing to come back with.
                    await anyio.sleep(1)
                while items and (item := items.pop(0)) != "break":
                    if isinstance(item, str):
                        sent.append(item)
                        server.resource_updated(item)
                    else:
                        await anyio.sleep(item)
            # What is told while nobody is connected.
            if items:
                sent.append("file:///3")
                server.resource_updated("file:///3")
            got += uris(reply)
            last = events(reply)[-1].id if events(reply) else last
        async with standing(endpoint, headers, last, takes_s) as reply:
            await anyio.sleep(30)
        return sent, got + uris(reply)

    sent, got = run(main)
    assert got == sent


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 5),
    st.lists(st.floats(0.5, 4), max_size=5),
    st.integers(-1, 4),
    st.sampled_from([0.0, 0.4]),
)
def test_an_answer_comes_whole_however_often_its_stream_breaks(
    parts: int, breaks: list[float], close_after: int, takes_s: float
) -> None:
    async def main() -> list[Any]:
        endpoint = Endpoint(desk(), resumable=True)
        headers = await endpoint.open()
        got: list[Any] = []
        async with anyio.create_task_group() as tasks:
            reply = SlowReply(takes_s=takes_s)
            tasks.start_soon(post, endpoint, headers, counting(parts=parts, close_after=close_after), reply)
            last = None
            # It breaks so often, may be closed early once, and then comes to its end.
            for seconds in [*breaks, 30.0, 30.0]:
                with anyio.move_on_after(seconds):
                    while not reply.ended:
                        await anyio.sleep(0.05)
                if not reply.ended:
                    reply.abort()
                got += values(reply)
                last = events(reply)[-1].id if events(reply) else last
                if last is None or (got and "result" in got[-1]):
                    break
                reply = SlowReply(takes_s=takes_s)
                tasks.start_soon(get, endpoint, headers, last, reply)
        return got

    got = run(main)
    progress = [value["params"]["progress"] for value in got if "method" in value]
    assert progress == list(range(1, len(progress) + 1))
    # Where it broke before the first event there was no id to come back with.
    if got or not breaks:
        assert len(progress) == parts
        assert sum("result" in value for value in got) == 1
        assert "result" in got[-1]


async def get(endpoint: Endpoint, headers: Any, last: str, reply: Reply) -> None:
    await endpoint.ask(b"", headers, method="GET", reply=reply, Last_Event_ID=last)


def test_only_the_stream_that_broke_is_replayed() -> None:
    server = desk()

    async def main() -> list[Reply]:
        endpoint = Endpoint(server, resumable=True)
        headers = await subscribed(endpoint)
        answer, resumed = Reply(), Reply()
        async with standing(endpoint, headers) as reply, anyio.create_task_group() as tasks:
            tasks.start_soon(post, endpoint, headers, counting(parts=4), answer)
            await anyio.sleep(1.5)
            answer.abort()
            server.resource_updated("file:///1")
            await anyio.sleep(1)
            tasks.start_soon(get, endpoint, headers, events(answer)[-1].id or "", resumed)
            server.resource_updated("file:///2")
            await anyio.sleep(5)
        return [reply, answer, resumed]

    reply, answer, resumed = run(main)
    assert uris(reply) == ["file:///1", "file:///2"]
    assert [value["params"]["progress"] for value in values(answer)] == [1]
    assert [value.get("params", {}).get("progress") for value in values(resumed)] == [2, 3, 4, None]
    assert resumed.ended
    assert not resumed.header("MCP-Session-Id")


def test_a_stream_that_came_to_its_end_can_still_be_asked_for() -> None:
    """The client may have lost the last events with its connection."""

    async def main() -> Reply:
        endpoint = Endpoint(desk(), resumable=True)
        headers = await endpoint.open()
        answer, again = Reply(), Reply()
        await post(endpoint, headers, counting(), answer)
        await get(endpoint, headers, events(answer)[1].id or "", again)
        return again

    again = run(main)
    assert names(again) == ["notifications/progress", "notifications/progress", "result"]
    assert again.ended


def test_a_connection_that_is_replaced_is_ended() -> None:
    server = desk()

    async def main() -> list[Reply]:
        endpoint = Endpoint(server, resumable=True)
        headers = await subscribed(endpoint)
        async with standing(endpoint, headers) as first:
            server.resource_updated("file:///1")
            await anyio.sleep(1)
            async with standing(endpoint, headers, events(first)[0].id) as second:
                assert first.ended
                server.resource_updated("file:///2")
                await anyio.sleep(1)
        return [first, second]

    first, second = run(main)
    assert uris(first) == ["file:///1"]
    assert uris(second) == ["file:///1", "file:///2"]


def test_the_connection_of_a_request_can_be_replaced_too() -> None:
    """Where the client knows that it is gone, and the server does not yet."""

    async def main() -> tuple[Reply, Reply]:
        endpoint = Endpoint(desk(), resumable=True)
        headers = await endpoint.open()
        answer, rest = Reply(), Reply()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(post, endpoint, headers, counting(), answer)
            await anyio.sleep(1.5)
            await get(endpoint, headers, events(answer)[-1].id or "", rest)
        return answer, rest

    answer, rest = run(main)
    assert answer.ended
    assert [len(values(answer)), len(values(rest))] == [1, 3]


@pytest.mark.parametrize("last", ["", "x", "7-0", "1-9", "1-1-1", "0-0", "1"])
def test_an_id_that_nobody_gave_is_refused_in_words(last: str) -> None:
    async def main() -> tuple[Reply, Reply]:
        endpoint = Endpoint(desk(), resumable=True)
        headers = await endpoint.open()
        async with standing(endpoint, headers):
            refused = await endpoint.ask(b"", headers, method="GET", Last_Event_ID=last)
        # The session is as good as before: 404 would have ended it for the client.
        return refused, await endpoint.ask(legacy(1, "ping"), headers)

    refused, ping = run(main)
    assert (refused.status, ping.status) == (400, 200)
    assert "Last-Event-ID" in refused.value["error"]["message"]
    assert "id" not in refused.value or refused.value["id"] is None


def test_an_id_of_another_session_is_refused() -> None:
    async def main() -> Reply:
        endpoint = Endpoint(desk(), resumable=True)
        one, other = await endpoint.open(), await endpoint.open()
        answer = Reply()
        await post(endpoint, one, counting(), answer)
        return await endpoint.ask(b"", other, method="GET", Last_Event_ID=events(answer)[0].id or "")

    assert run(main).status == 400


def test_the_log_is_bounded_and_what_is_gone_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcpsim.server import http_streams
    from mcpsim.server.event_log import EventLog

    monkeypatch.setattr(http_streams, "EventLog", lambda: EventLog(max_events=3))
    server = desk()

    async def main() -> tuple[Reply, Reply]:
        endpoint = Endpoint(server, resumable=True)
        headers = await subscribed(endpoint)
        async with standing(endpoint, headers) as reply:
            pass
        for _ in range(4):
            server.resource_updated("file:///1")
        first = events(reply)[0].id or ""
        refused = await endpoint.ask(b"", headers, method="GET", Last_Event_ID=first)
        async with standing(endpoint, headers, first.replace("-0", "-1")) as resumed:
            await anyio.sleep(1)
        return refused, resumed

    refused, resumed = run(main)
    assert refused.status == 400
    assert "no longer kept" in refused.value["error"]["message"]
    assert len(uris(resumed)) == 3


def test_streams_that_nobody_comes_back_for_are_forgotten() -> None:
    async def main() -> tuple[int, int]:
        endpoint = Endpoint(desk(), resumable=True)
        headers = await endpoint.open()
        firsts: list[str] = []
        for _ in range(MAX_STREAMS + 1):
            async with standing(endpoint, headers) as reply:
                firsts.append(events(reply)[0].id or "")
        refused = await endpoint.ask(b"", headers, method="GET", Last_Event_ID=firsts[0])
        async with standing(endpoint, headers, firsts[1]) as reply:
            pass
        return refused.status, reply.status

    assert run(main) == (400, 200)


# Closed early


@pytest.mark.parametrize("close_after", [0, 2])
def test_the_server_may_close_the_connection_before_the_answer(close_after: int) -> None:
    async def main() -> tuple[Reply, bool, Reply]:
        endpoint = Endpoint(desk(), resumable=True, retry_ms=500)
        headers = await endpoint.open()
        answer, rest = Reply(), Reply()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(post, endpoint, headers, counting(close_after=close_after), answer)
            await anyio.sleep(close_after + 0.1)
            closed = answer.ended
            await get(endpoint, headers, events(answer)[-1].id or "", rest)
        return answer, closed, rest

    answer, closed, rest = run(main)
    assert closed
    assert (answer.status, answer.is_stream) == (200, True)
    first = events(answer)[0]
    assert (first.data, first.retry_ms, first.id) == (b"", 500, "1-0")
    assert names(answer) == ["notifications/progress"] * close_after
    assert names(rest) == ["notifications/progress"] * (3 - close_after) + ["result"]
    assert rest.ended


@pytest.mark.parametrize(
    ("version", "more"),
    [("2025-11-25", {}), ("2025-06-18", {"resumable": True}), ("2025-03-26", {"resumable": True})],
)
def test_a_connection_stays_where_the_client_would_not_come_back(version: str, more: Any) -> None:
    async def main() -> Reply:
        endpoint = Endpoint(desk(), **more)
        headers = await endpoint.open(version)
        answer = Reply()
        await post(endpoint, headers, counting(close_after=1), answer)
        return answer

    assert names(run(main)) == ["notifications/progress"] * 3 + ["result"]


def closing(kept: list[Context]) -> Server:
    server = Server("desk")

    @server.tool()
    async def close(context: Context) -> bool:
        kept.append(context)
        return await context.close_stream()

    return server


@pytest.mark.parametrize(
    ("version", "resumable", "closed"),
    [("2025-11-25", True, "true"), ("2025-11-25", False, "false"), ("2025-06-18", True, "false")],
)
def test_a_handler_is_told_whether_the_connection_was_closed(
    version: str, resumable: bool, closed: str
) -> None:
    kept: list[Context] = []
    endpoint = Endpoint(closing(kept), resumable=resumable)

    async def main() -> tuple[Reply, bool]:
        headers = await endpoint.open(version)
        reply = await endpoint.ask(legacy(1, "tools/call", call("close")), headers)
        if closed == "true":
            (event,) = events(reply)
            reply = Reply()
            async with anyio.create_task_group() as tasks:
                resumed = {**headers, "Last-Event-ID": event.id}
                tasks.start_soon(lambda: endpoint.ask(headers=resumed, method="GET", reply=reply))
                await anyio.sleep(1)
                tasks.cancel_scope.cancel()
        return reply, await kept[0].close_stream()

    reply, later = run(main)
    assert reply.value["result"]["content"][0]["text"] == closed
    assert later is False


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_lines_cannot_be_closed_early(era: str) -> None:
    lines = (
        [*opening(), legacy(1, "tools/call", call("close"))]
        if era == "legacy"
        else [modern(1, "tools/call", call("close"))]
    )
    answer = talk(closing([]), *lines).answer(1)
    assert answer["result"]["content"][0]["text"] == "false"


def test_a_modern_stream_is_never_closed_before_its_answer() -> None:
    async def main() -> Reply:
        endpoint = Endpoint(desk(), resumable=True)
        return await endpoint.modern(
            modern(1, "tools/call", call("count", {"close_after": 1}), meta={"progressToken": 1})
        )

    reply = run(main)
    assert names(reply) == ["notifications/progress"] * 3 + ["result"]
    assert [event.id for event in events(reply)] == [None] * 4


def test_a_client_that_goes_away_has_not_cancelled_but_one_that_says_so_has() -> None:
    async def main() -> tuple[Reply, Reply]:
        endpoint = Endpoint(desk(), resumable=True)
        headers = await endpoint.open()
        answer, rest, cancelled = Reply(), Reply(), Reply()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(post, endpoint, headers, counting(1), answer)
            await anyio.sleep(1.5)
            answer.abort()
            await anyio.sleep(10)
            await get(endpoint, headers, events(answer)[-1].id or "", rest)
            tasks.start_soon(post, endpoint, headers, counting(2), cancelled)
            await anyio.sleep(1.5)
            await endpoint.ask(notification("notifications/cancelled", {"requestId": 2}), headers)
        return rest, cancelled

    rest, cancelled = run(main)
    assert names(rest)[-1] == "result"
    assert names(cancelled) == ["notifications/progress"]
    assert cancelled.ended


# Kept alive


def comments(reply: Reply) -> int:
    return reply.body.count(b":\n\n")


def test_a_quiet_stream_gets_comments_and_no_reader_takes_them_for_events() -> None:
    server = desk()

    async def main() -> list[Reply]:
        endpoint = Endpoint(server, keep_alive_s=10)
        headers = await subscribed(endpoint)
        listening = Reply()
        message = modern(
            1, "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["file:///1"]}}
        )
        async with anyio.create_task_group() as tasks, standing(endpoint, headers) as reply:
            tasks.start_soon(post, endpoint, headers_for(message), message, listening)
            await anyio.sleep(35)
            server.resource_updated("file:///1")
            await anyio.sleep(9)
            endpoint.serving.end_subscriptions()
            await anyio.sleep(30)
        return [reply, listening]

    reply, listening = run(main)
    assert comments(reply) == 3 + 3
    assert comments(listening) == 3
    assert names(reply) == [UPDATED]
    assert names(listening) == ["notifications/subscriptions/acknowledged", UPDATED, "result"]
    assert listening.ended


def test_json_answers_and_busy_streams_get_none() -> None:
    async def main() -> list[Reply]:
        endpoint = Endpoint(desk(), keep_alive_s=2)
        headers = await endpoint.open()
        answer = Reply()
        await post(endpoint, headers, counting(parts=6), answer)
        plain = await endpoint.ask(legacy(9, "tools/call", call("quiet", {"seconds": 30})), headers)
        return [answer, plain]

    answer, plain = run(main)
    assert comments(answer) == 0
    assert plain.value["result"]["content"][0]["text"] == "done"


def test_a_connection_that_was_closed_early_is_kept_alive_no_longer() -> None:
    async def main() -> tuple[Reply, Reply]:
        endpoint = Endpoint(desk(), keep_alive_s=0.3, resumable=True)
        headers = await endpoint.open()
        answer, rest = Reply(), Reply()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(post, endpoint, headers, counting(close_after=0), answer)
            await anyio.sleep(0.1)
            await get(endpoint, headers, events(answer)[-1].id or "", rest)
        return answer, rest

    answer, rest = run(main)
    assert comments(answer) == 0
    assert comments(rest) == 9
    assert names(rest)[-1] == "result"


@pytest.mark.parametrize(
    ("given", "named"), [({"keep_alive_s": 0}, "keep_alive_s"), ({"retry_ms": -1}, "retry_ms")]
)
def test_settings_that_make_no_sense(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Endpoint(desk(), **given)


# The end of an endpoint


def test_an_endpoint_can_be_closed_with_all_that_it_keeps() -> None:
    server = desk()
    endpoint = Endpoint(server)
    heard: list[int] = []

    async def main() -> tuple[Reply, Reply, Reply, Reply]:
        headers = await endpoint.open()
        standing, subscribed, working = Reply(), Reply(), Reply()
        listen = modern("s", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: endpoint.ask(headers=headers, method="GET", reply=standing))
            tasks.start_soon(lambda: endpoint.ask(listen, headers_for(listen), reply=subscribed))
            slow = legacy(7, "tools/call", call("quiet", {"seconds": 100}))
            tasks.start_soon(lambda: endpoint.ask(slow, headers, reply=working))
            await anyio.sleep(1)
            heard.append(len(server.changes))
            endpoint.serving.close()
            endpoint.serving.close()
            await anyio.sleep(1)
            heard.append(len(server.changes))
        server.resource_updated("file:///a")
        return standing, subscribed, working, await endpoint.ask(legacy(8, "ping"), headers)

    standing, subscribed, working, later = run(main)
    assert heard == [2, 0]
    assert (standing.ended, values(standing)) == (True, [])
    assert names(subscribed) == ["notifications/subscriptions/acknowledged", "result"]
    assert (working.ended, values(working)) == (True, [])
    assert later.status == 404
    last = [event.detail for event in endpoint.recorder.events if event.kind == "state"][-1]
    assert last == {}


def test_a_line_that_is_given_up_does_not_go_on_listening() -> None:
    server = desk()
    heard: list[int] = []

    async def main() -> None:
        feed = Feed([*opening(), 100.0])
        serving = StdioServing(server, feed, scribe=Scribe(Recorder(lambda: 0)), tokens=tokens())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serving.run)
            await anyio.sleep(1)
            heard.append(len(server.changes))
            tasks.cancel_scope.cancel()
        heard.append(len(server.changes))

    run(main)
    assert heard == [1, 0]
