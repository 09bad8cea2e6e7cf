"""Whatever a server sends: the client raises its documented errors only, in bounded time.

The server here answers what a real one answered to the same requests, with something changed in it, put
before it or left out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpsim import Cache, Client, McpSimError, StreamableHttp, simulate
from mcpsim.messages import Notification, Request, Response
from tests.properties.arbitrary import (
    as_bytes,
    everything,
    json_values,
    lines,
    notifications,
    places,
    requests,
    responses,
    with_change,
)
from tests.server.talking import END, FakeEndpoint, FakeServer, Played, play
from tests.server.talking import Response as HttpResponse

PROMPT = {"type": "ref/prompt", "name": "letter"}


async def walk(client: Client) -> int:
    return len([page async for page in client.pages("resources/list", max_pages=4)])


async def listen(client: Client) -> None:
    with anyio.move_on_after(2):
        async with client.listen(tools_list_changed=True, resource_subscriptions=["note://one"]) as heard:
            async for _ in heard:
                pass


ALWAYS: tuple[Callable[[Client], Any], ...] = (
    lambda client: client.list_tools(),
    walk,
    lambda client: client.list_resource_templates(),
    lambda client: client.list_prompts(),
    lambda client: client.read_resource("note://one"),
    lambda client: client.read_resource("note://bytes"),
    lambda client: client.get_prompt("letter", {"city": "Pau"}),
    lambda client: client.complete(PROMPT, ("city", "P")),
    lambda client: client.call_tool("echo", {"text": "a"}),
    lambda client: client.call_tool("slow", {"seconds": 0.1}, on_progress=lambda *what: None),
    lambda client: client.call_tool("structured", {"n": 2}),
    lambda client: client.call_tool("mirrored", {"region": "south"}),
    lambda client: client.call_tool("comes_back"),
    lambda client: client.call_tool("asks", reset_on_progress=True),
    lambda client: client.set_log_level("debug"),
)
MODERN: tuple[Callable[[Client], Any], ...] = (lambda client: client.discover(), listen)
LEGACY: tuple[Callable[[Client], Any], ...] = (
    lambda client: client.subscribe("note://one"),
    lambda client: client.unsubscribe("note://one"),
    lambda client: client.ping(),
)
MOST = len(ALWAYS) + max(len(MODERN), len(LEGACY))
TIMEOUT_S = 2.0
# Each operation: its rounds or pages, each of them asked for twice where a session was lost; and the end.
BOUND_S = MOST * 12 * 2 * TIMEOUT_S + 60


async def story(client: Client) -> int:
    operations = (*ALWAYS, *(MODERN if client.era == "modern" else LEGACY))
    for operation in operations:
        with suppress(McpSimError):
            await operation(client)
    return len(operations)


def described(era: Any) -> Client:
    """A client that uses everything that there is."""
    return Client(
        era=era,
        timeout_s=TIMEOUT_S,
        probe_timeout_s=1,
        cache=Cache(max_entries=4),
        stale_if_error=True,
        standing_stream=True,
        elicit=lambda asked: {"a": "b"},
        elicit_url=lambda asked: "accept",
        sample=lambda asked: "Pau",
        roots=["file:///home"],
        log_level="debug",
        on_log=lambda *what: None,
        max_rounds=3,
    )


@functools.cache
def real(era: str) -> tuple[dict[str, list[Any]], list[Any]]:
    """What the project's server answers to the story: results by method, and what it says unasked."""
    run = simulate(story, server=everything(), client=described(era), transport=StreamableHttp())
    asked: dict[Any, str] = {}
    results: dict[str, list[Any]] = {}
    unasked: list[Any] = []
    for frame in run.recording.frames:
        message = frame.parsed
        if isinstance(message, Request) and frame.sender == "client":
            asked[message.id] = message.method
        elif isinstance(message, Response) and frame.sender == "server" and message.id in asked:
            results.setdefault(asked[message.id], []).append(message.result)
        elif isinstance(message, Notification | Request) and frame.sender == "server":
            head = {"id": message.id} if isinstance(message, Request) else {}
            unasked.append({"jsonrpc": "2.0", **head, "method": message.method, "params": message.params})
    return results, unasked


class Twist(NamedTuple):
    """What is done to one answer.

    Attributes:
        pick: which of the results for the method, and which place in it.
    """

    kind: str
    pick: int
    value: Any
    noise: list[bytes]


noise = st.lists(lines(st.one_of(requests(), notifications(), responses)), max_size=2)
twists = st.builds(
    Twist,
    st.sampled_from(
        ["right"] * 4 + ["changed", "changed", "taken out", "twice", "none", "bytes", "end", "late"]
    ),
    st.integers(0, 200),
    json_values,
    st.one_of(st.just([]), st.just([]), noise),
)


def answer(era: str, message: Any, twist: Twist) -> list[Any]:
    """What the server says to a request: bytes, pauses, and the end."""
    results, unasked = real(era)
    found: list[Any] = [*twist.noise]
    if twist.pick % 3 == 0 and unasked:
        found.append(as_bytes(unasked[twist.pick % len(unasked)]))
    if not isinstance(message, dict) or "id" not in message or "method" not in message:
        return found
    known = results.get(message["method"])
    if known is None:
        error = {"code": -32601, "message": "There is no such method."}
        return [*found, as_bytes({"jsonrpc": "2.0", "id": message["id"], "error": error})]
    right = {"jsonrpc": "2.0", "id": message["id"], "result": known[twist.pick % len(known)]}
    ways = list(places(right))
    way = ways[twist.pick % len(ways)]
    data = as_bytes(right)
    by_kind: dict[str, list[Any]] = {
        "right": [data],
        "changed": [as_bytes(with_change(right, way, twist.value))],
        "taken out": [as_bytes(with_change(right, way, ...))],
        "twice": [data, data],
        "none": [],
        "bytes": [data[: twist.pick] + as_bytes(twist.value) + data[twist.pick + 1 :]],
        "end": [END],
        "late": [3.0, data],
    }
    return [*found, *by_kind[twist.kind]]


def check(played: Played) -> None:
    assert played.error is None or isinstance(played.error, McpSimError)
    assert played.error is not None or played.value >= len(ALWAYS)
    assert played.took_s < BOUND_S


scripts = st.lists(twists, max_size=30)
RIGHT = Twist("right", 1, None, [])
eras = st.sampled_from(["modern", "legacy", "auto"])


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(eras, scripts, st.booleans())
def test_a_server_on_a_pipe_that_is_nearly_right(era: str, script: list[Twist], ends: bool) -> None:
    left = list(script)

    def respond(message: Any) -> list[Any]:
        said = answer(era, message, left.pop(0) if left else RIGHT)
        return [one.replace(b"\n", b" ") + b"\n" if isinstance(one, bytes) else one for one in said]

    check(play(story, FakeServer(respond, ends=ends), client=described(era)))


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(eras, scripts, st.lists(st.integers(0, 40), max_size=30))
def test_an_endpoint_that_is_nearly_right(era: str, script: list[Twist], ways: list[int]) -> None:
    left, forms = list(script), list(ways)

    def respond(request: Any, message: Any) -> HttpResponse | None:
        form = forms.pop(0) if forms else 0
        twist = left.pop(0) if left else RIGHT
        if form == 40 or (request.method == "GET" and form % 2):
            return None
        said = answer(era, message, twist)
        hangs = twist.kind == "none"
        named = {"MCP-Session-Id": "s"} if form % 2 else {}
        said = [one for one in said if one is not END]
        status = {37: 404, 38: 500, 39: 202}.get(form, 200)
        if form % 3 == 0 and len(said) == 1:
            return HttpResponse(status, said, {"Content-Type": "application/json", **named}, hangs=hangs)
        events = [
            b"id: %d\ndata: %s\n\n" % (number, one.replace(b"\n", b" ").replace(b"\r", b" "))
            if isinstance(one, bytes)
            else one
            for number, one in enumerate(said)
        ]
        return HttpResponse(status, events, {"Content-Type": "text/event-stream", **named}, hangs=hangs)

    check(play(story, FakeEndpoint(respond), client=described(era)))


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_the_right_answers_are_accepted(era: str) -> None:
    """What is changed is an answer that would have been good."""
    results, unasked = real(era)
    assert {"tools/list", "tools/call", "resources/read", "prompts/get", "completion/complete"} <= set(
        results
    )
    assert "notifications/progress" in {one["method"] for one in unasked}
