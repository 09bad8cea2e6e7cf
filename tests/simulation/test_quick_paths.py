"""The quick ways of a call are the same to everybody as the long ones: the same bytes, in the same order."""

from __future__ import annotations

import contextvars
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import anyio
import mcp_types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types.methods import parse_server_result, validate_client_request

from mcpsim import Client, Context, McpSimError, ProtocolError, Run, Server, Stdio, ToolError, simulate
from mcpsim.client.requesting import _is_plain_call_result, _read_call_result
from mcpsim.eras import modern
from mcpsim.messages import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    PROTOCOL_VERSION,
    SERVER_INFO,
    Notification,
    Request,
)
from mcpsim.server.operations.checking import _is_plain_call, check_params
from mcpsim.transports.http import Headers

VERSION = "2026-07-28"
seen: contextvars.ContextVar[int] = contextvars.ContextVar("seen", default=0)


def workshop() -> Server:
    server = Server("workshop")

    @server.tool()
    def plain(n: int) -> str:
        """A plain function; it finds nothing of the calls before."""
        before = seen.get()
        seen.set(n)
        return f"{n} after {before}"

    @server.tool()
    def told(context: Context, text: str) -> str:
        """A plain function that has something noted."""
        context.note(text)
        return text

    @server.tool()
    def wrong(how: int) -> str:
        """A plain function that fails."""
        if how == 0:
            raise ToolError("Not like this.")
        if how == 1:
            raise ProtocolError(-32602, "Not at all.")
        raise RuntimeError("Oh.")

    @server.tool()
    def later(ms: int) -> Awaitable[str]:
        """A plain function that returns something to be awaited."""

        async def rest() -> str:
            await anyio.sleep(ms / 1000)
            return f"after {ms} ms"

        return rest()

    @server.tool()
    async def slow(ms: int) -> str:
        """A coroutine function."""
        await anyio.sleep(ms / 1000)
        return f"after {ms} ms"

    return server


CALLS = st.one_of(
    st.tuples(
        st.just("plain"), st.fixed_dictionaries({"n": st.integers(0, 3) | st.booleans() | st.just(2.0)})
    ),
    st.tuples(st.just("told"), st.fixed_dictionaries({"text": st.text(max_size=3) | st.none()})),
    st.tuples(st.just("wrong"), st.fixed_dictionaries({"how": st.integers(0, 2)})),
    st.tuples(
        st.sampled_from(["slow", "later"]), st.fixed_dictionaries({"ms": st.sampled_from([0, 5, 10, 20])})
    ),
    st.tuples(st.just("nobody"), st.just({})),
)
# When a call begins, and how long it may take, in milliseconds: so that much of it falls on the same moments.
MOMENTS = st.sampled_from([0, 0, 0, 5, 10, 20])
LIMITS = st.sampled_from([None, None, 0, 5, 10, 20, 40])
PLANS = st.lists(st.tuples(MOMENTS, CALLS, LIMITS, st.booleans()), min_size=1, max_size=6)


async def call(
    client: Client, name: str, arguments: dict[str, Any], limit_ms: int | None, stopped: bool
) -> str:
    """One call; `stopped` says that a cancel scope ends it where otherwise its own limit would."""
    limit_s = None if limit_ms is None else limit_ms / 1000
    try:
        with anyio.move_on_after(limit_s if stopped else None):
            result = await client.call_tool(name, arguments, timeout_s=None if stopped else limit_s)
            return repr(result)
    except McpSimError as error:
        return repr(error)
    return "stopped"


def story_of(plan: list[Any]) -> Callable[[Client], Any]:
    async def story(client: Client) -> list[str]:
        ends = [""] * len(plan)

        async def one(number: int, moment: int, what: Any, limit_ms: int | None, stopped: bool) -> None:
            if moment:
                await anyio.sleep(moment / 1000)
            ends[number] = await call(client, *what, limit_ms, stopped)

        async with anyio.create_task_group() as tasks:
            for number, (moment, what, limit_ms, stopped) in enumerate(plan):
                tasks.start_soon(one, number, moment, what, limit_ms, stopped)
        await one(0, *plan[0])
        return ends

    return story


@contextmanager
def the_long_way() -> Iterator[None]:
    """Without what a simulation's stream can tell: every request in a task, every wait in a cancel scope."""
    with (
        patch("mcpsim.server.stdio.quick", lambda stream: None),
        patch("mcpsim.client.stdio.quick", lambda stream: None),
    ):
        yield


def play(plan: list[Any], latency_ms: float, jitter_ms: float) -> Run:
    return simulate(
        story_of(plan), server=workshop(), transport=Stdio(latency_ms=latency_ms, jitter_ms=jitter_ms)
    )


@given(PLANS, st.sampled_from([0, 5, 10]), st.sampled_from([0, 0, 3]))
@settings(max_examples=300)
def test_both_ways_give_the_same_recording(plan: list[Any], latency_ms: float, jitter_ms: float) -> None:
    short = play(plan, latency_ms, jitter_ms)
    with the_long_way():
        long = play(plan, latency_ms, jitter_ms)
    assert short.value == long.value
    assert short.recording.to_jsonl() == long.recording.to_jsonl()


def test_a_plain_function_answers_without_a_task_and_another_in_one() -> None:
    names: dict[str, str] = {}
    server = Server("names")

    @server.tool()
    def here() -> None:
        """A plain function."""
        names["here"] = str(anyio.get_current_task().name)

    @server.tool()
    async def there() -> None:
        """A coroutine function."""
        names["there"] = str(anyio.get_current_task().name)

    async def story(client: Client) -> None:
        # At the very beginning the peers have not yet settled down.
        await client.call_tool("there")
        await client.call_tool("here")

    simulate(story, server=server, transport=Stdio(latency_ms=0))
    assert names == {"here": "server: connection 1", "there": "server: tools/call"}


def test_what_a_plain_function_sets_in_its_context_is_gone_with_the_call() -> None:
    async def story(client: Client) -> list[str]:
        results = [await client.call_tool("plain", {"n": n}) for n in (1, 2)]
        return [
            block.text for one in results for block in one.content if isinstance(block, mcp_types.TextContent)
        ]

    assert simulate(story, server=workshop()).value == ["1 after 0", "2 after 0"]


# --- What is seen at a glance to be valid is valid ---

SMALL = st.none() | st.booleans() | st.integers(0, 2) | st.text(max_size=2)
SOME = st.dictionaries(st.sampled_from(["name", "version", "x"]), SMALL, max_size=3)
INFO = st.just({"name": "a", "version": "1"}) | SOME | SMALL
REQUEST_META = st.fixed_dictionaries(
    {},
    optional={
        PROTOCOL_VERSION: st.just(VERSION) | SMALL,
        CLIENT_INFO: INFO,
        CLIENT_CAPABILITIES: st.just({}) | SOME | SMALL,
        "progressToken": SMALL,
    },
)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.just("add") | SMALL,
        "arguments": st.just({"a": 1}) | SOME | SMALL,
        "_meta": REQUEST_META | SMALL,
        "requestState": SMALL,
    },
)
GOOD_META = {PROTOCOL_VERSION: VERSION, CLIENT_CAPABILITIES: {}, CLIENT_INFO: {"name": "a", "version": "1"}}
GOOD_PARAMS = {"name": "add", "arguments": {"a": [1]}, "_meta": GOOD_META}


@given(PARAMS | st.builds(lambda meta: {**GOOD_PARAMS, "_meta": {**GOOD_META, **meta}}, REQUEST_META))
@settings(max_examples=500)
def test_plain_parameters_are_valid(params: dict[str, Any]) -> None:
    if _is_plain_call(params):
        validate_client_request("tools/call", VERSION, params)
        check_params("tools/call", params, VERSION)


def test_the_usual_parameters_are_plain() -> None:
    assert _is_plain_call(GOOD_PARAMS)
    assert not _is_plain_call({**GOOD_PARAMS, "arguments": None})


# The handler's own parameters are for a later step: here only the metadata counts.
USUAL = st.builds(lambda meta: {**GOOD_PARAMS, "_meta": {**GOOD_META, **meta}}, REQUEST_META)


@given(PARAMS | USUAL | st.none(), st.sampled_from(["tools/call", "initialize", "dance"]), st.booleans())
@settings(max_examples=500)
def test_what_is_usual_at_a_glance_passes_the_first_five_steps_alike(
    params: dict[str, Any] | None, method: str, speaks_it: bool
) -> None:
    server = Server("steps", era="both" if speaks_it else "legacy")
    message = Request(1, method, params)
    glanced, walked = (modern.Visit(server, b"", None, "somebody", message) for _ in range(2))
    if modern._is_usual(glanced):
        for step in modern.STEPS[:5]:
            step.run(walked)
    assert glanced == walked


def test_the_usual_request_is_usual() -> None:
    visit = modern.Visit(Server("steps"), b"", None, "", Request(1, "tools/call", GOOD_PARAMS))
    assert modern._is_usual(visit)
    assert visit.version == VERSION
    assert not modern._is_usual(modern.Visit(Server("steps"), b"", Headers(), "", visit.request))
    assert not modern._is_usual(modern.Visit(Server("steps"), b"", None, "", Notification("tools/call")))


BLOCKS = st.just({"type": "text", "text": "a"}) | st.dictionaries(
    st.sampled_from(["type", "text", "data"]), SMALL | st.just("text"), max_size=3
)
RESULTS = st.fixed_dictionaries(
    {"resultType": st.just("complete") | SMALL},
    optional={
        "content": st.lists(BLOCKS, max_size=2) | SMALL,
        "_meta": st.fixed_dictionaries({}, optional={SERVER_INFO: INFO, "x": SMALL}) | SMALL,
        "isError": SMALL,
    },
)
GOOD_RESULT = {
    "resultType": "complete",
    "content": [{"type": "text", "text": "3"}],
    "_meta": {SERVER_INFO: {"name": "a", "version": "1"}},
}


@given(RESULTS | st.just(GOOD_RESULT))
@settings(max_examples=500)
def test_a_plain_result_is_valid_and_read_alike(result: dict[str, Any]) -> None:
    if _is_plain_call_result(result):
        quickly = _read_call_result(result, by_name=False)
        wholly = parse_server_result("tools/call", VERSION, result)
        assert type(quickly) is type(wholly) is mcp_types.CallToolResult
        assert quickly == wholly
        assert quickly.model_fields_set == wholly.model_fields_set
        assert quickly.model_dump_json() == wholly.model_dump_json()


@pytest.mark.parametrize("change", [{}, {"content": []}, {"_meta": {}}])
def test_the_usual_results_are_plain(change: dict[str, Any]) -> None:
    assert _is_plain_call_result({**GOOD_RESULT, **change})
