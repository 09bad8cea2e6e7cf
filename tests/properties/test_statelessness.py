"""What a modern server answers does not depend on what came before on the same connection.

A conversation is played to one server, and then each request of it alone to a fresh server of the same
deployment, which has the key of the request state and nothing else in common with the first one.
"""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpsim.recording import Scribe
from mcpsim.server import HttpServing, StdioServing
from mcpsim.transports.http import Headers, HttpRequest
from tests.properties.arbitrary import (
    ALL_CAPABILITIES,
    as_bytes,
    everything,
    lines,
    meta_of,
    notifications,
    requests,
    responses,
)
from tests.properties.test_server import headers_of
from tests.server.talking import Feed, Reply, initialize, notification, run, tokens

ANSWERS = {
    "elicitation/create": {"action": "accept", "content": {"a": "b"}},
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "Pau"},
        "model": "m",
    },
    "roots/list": {"roots": [{"uri": "file:///home"}]},
}
ASKING = [
    ("tools/call", {"name": "asks", "arguments": {}}),
    ("tools/call", {"name": "comes_back", "arguments": {}}),
    ("prompts/get", {"name": "questions"}),
    ("resources/read", {"uri": "note://asked"}),
]


@st.composite
def conversations(draw: st.DrawFn) -> list[Any]:
    """Modern requests with ids of their own (as values), and noise between them (as bytes)."""
    found: list[Any] = []
    for number in range(draw(st.integers(1, 5))):
        id = 1_000 + number if number % 2 else f"id-{number}"
        kind = draw(st.integers(0, 5))
        if kind == 0:
            noise = st.one_of(notifications(), responses, requests(st.just(f"noise-{number}")))
            found.append(draw(lines(noise)).replace(b"\n", b" "))
        elif kind == 1:
            method, params = draw(st.sampled_from(ASKING))
            meta = meta_of("2026-07-28", ALL_CAPABILITIES, {})
            found.append({"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": meta}})
        else:
            found.append(draw(requests(st.just(id), modern=True)))
    return found


def post(message: Any) -> HttpRequest:
    data = as_bytes(message)
    return HttpRequest("POST", "/mcp", headers_of(data, "", "", []), data)


def ask_http(conversation: list[Any]) -> dict[Any, Any]:
    """All answers by id. A request that stays open is given up."""
    found: dict[Any, Any] = {}

    async def main() -> None:
        serving = HttpServing(everything(), scribe=Scribe(), tokens=tokens())
        left = list(conversation)
        while left:
            message = left.pop(0)
            reply = Reply()
            async with anyio.create_task_group() as tasks:

                async def serve(message: Any = message, reply: Reply = reply, tasks: Any = tasks) -> None:
                    await serving.handle(post(message), reply)
                    tasks.cancel_scope.cancel()

                tasks.start_soon(serve)
                await anyio.sleep(10)
                reply.abort()
            if isinstance(message, dict) and message["method"] != "subscriptions/listen":
                found[message["id"]] = (message, reply.status, reply.values)
                left[:0] = retries(message, reply.values)

    run(main)
    return found


class Pipe(Feed):
    """Lines, one after the other was answered; retries are put in where they are asked for."""

    def __init__(self, conversation: list[Any]) -> None:
        super().__init__(conversation)
        self.asked: dict[Any, Any] = {}
        self._waiting = list(conversation)

    async def receive(self) -> bytes:
        await anyio.sleep(10)
        for value in self.values:
            id = value.get("id") if "method" not in value else None
            if id in self.asked and not self.asked[id][2]:
                self.asked[id][2].append(value)
                self._waiting[:0] = retries(self.asked[id][0], [value])
        if not self._waiting:
            raise anyio.EndOfStream
        message = self._waiting.pop(0)
        if isinstance(message, dict) and message["method"] != "subscriptions/listen":
            self.asked[message["id"]] = (message, 0, [])
        return as_bytes(message) + b"\n"


def ask_stdio(conversation: list[Any]) -> dict[Any, Any]:
    """All answers by id."""
    pipe = Pipe(conversation)
    run(lambda: StdioServing(everything(), pipe, scribe=Scribe(), tokens=tokens()).run())
    return pipe.asked


def retries(message: dict[str, Any], values: list[Any]) -> list[dict[str, Any]]:
    """The request once more, with what was asked for; two retries at the most."""
    result = values[-1].get("result", {}) if values else {}
    if result.get("resultType") != "input_required" or str(message["id"]).endswith("++"):
        return []
    asked = result.get("inputRequests", {})
    more: dict[str, Any] = {
        "inputResponses": {key: ANSWERS[one["method"]] for key, one in asked.items()},
        **({"requestState": result["requestState"]} if "requestState" in result else {}),
    }
    params = {**message["params"], **more}
    return [{**message, "id": f"{message['id']}+", "params": params}]


def without_state(value: Any) -> Any:
    """The request state is sealed with a time and a number used once: what counts is that it is accepted."""
    if isinstance(value, dict):
        return {key: without_state(one) if key != "requestState" else "sealed" for key, one in value.items()}
    return [without_state(one) for one in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("ask", [ask_http, ask_stdio], ids=["http", "stdio"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(conversation=conversations(), handshake=st.booleans())
def test_each_answer_is_that_of_a_fresh_server(ask: Any, conversation: list[Any], handshake: bool) -> None:
    before: list[Any] = []
    if handshake:
        before = [
            as_bytes(initialize("open", "2025-11-25", ALL_CAPABILITIES)),
            as_bytes(notification("notifications/initialized")),
        ]
    together = ask([*before, *conversation])
    for id, (message, status, values) in together.items():
        _, alone_status, alone = ask([message])[id]
        assert status == alone_status
        assert without_state(values) == without_state(alone)


def test_rounds_of_questions_are_among_what_is_compared() -> None:
    meta = meta_of("2026-07-28", ALL_CAPABILITIES, {})
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "asks", "arguments": {}, "_meta": meta},
    }
    for ask in (ask_http, ask_stdio):
        assert list(ask([call])) == [1, "1+", "1++"]


def test_headers_of_a_modern_request_are_sent() -> None:
    meta = meta_of("2026-07-28", {}, {})
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    assert isinstance(post(message).headers, Headers)
    assert post(message).headers.get("Mcp-Method") == "tools/list"
