"""The modern protocol beyond its checks: results, order, notifications, and that nothing is kept."""

from __future__ import annotations

import itertools
import json
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types.methods import parse_server_result
from talking import (
    LATEST,
    Endpoint,
    as_bytes,
    call,
    handlers_of,
    headers_for,
    modern,
    notification,
    run,
    talk,
)

from mcpsim import Context, McpSimError, ProtocolError, Server, ToolError
from mcpsim.eras.modern import Visit, admit, complete, forget
from mcpsim.messages import CLIENT_CAPABILITIES, SERVER_INFO, Request


def desk(**settings: Any) -> Server:
    server = Server("desk", version="2.1", **settings)

    @server.tool()
    def divide(first: int, second: int) -> str:
        """Divide."""
        if second == 0:
            raise ToolError("Nothing can be divided by 0.")
        return str(first // second)

    @server.tool()
    def who(context: Context) -> dict[str, Any]:
        """What this very request said about its client."""
        return {
            "version": context.version,
            "capabilities": dict(context.capabilities),
            "principal": context.principal,
            "id": context.id,
        }

    @server.tool(requires={"elicitation": {}})
    def book() -> str:
        return "Booked."

    return server


# Results


def test_discover_says_everything_and_is_valid() -> None:
    server = desk(instructions="Ask early.", ttl_ms=60_000, cache_scope="public")
    answer = talk(server, modern("d", "server/discover")).answer("d")
    assert answer == {
        "jsonrpc": "2.0",
        "id": "d",
        "result": {
            "resultType": "complete",
            "supportedVersions": [LATEST, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "capabilities": {"tools": {}},
            "instructions": "Ask early.",
            "ttlMs": 60_000,
            "cacheScope": "public",
            "_meta": {SERVER_INFO: {"name": "desk", "version": "2.1"}},
        },
    }
    parse_server_result("server/discover", LATEST, answer["result"])


@pytest.mark.parametrize(("era", "versions"), [("modern", [LATEST]), ("both", None)], ids=["modern", "both"])
def test_discover_lists_what_the_server_speaks(era: str, versions: Any) -> None:
    server = desk(era=era)
    found = talk(server, modern(1, "server/discover")).answer(1)["result"]["supportedVersions"]
    assert found == (versions or list(server.supported_versions))


REQUESTS = [
    ("server/discover", None, True),
    ("tools/list", None, True),
    ("tools/call", call("divide", {"first": 6, "second": 3}), False),
    ("tools/call", call("divide", {"first": 6, "second": 0}), False),  # a tool error is a complete result too
]


@pytest.mark.parametrize(("method", "params", "cacheable"), REQUESTS)
def test_every_result_says_its_type_who_answered_and_where_required_how_long_it_keeps(
    method: str, params: Any, cacheable: bool
) -> None:
    server = desk(ttl_ms=5)
    for result in (
        talk(server, modern(1, method, params)).answer(1)["result"],
        run(lambda: Endpoint(server).modern(modern(1, method, params))).value["result"],
    ):
        assert next(iter(result)) == "resultType"
        assert result["resultType"] == "complete"
        assert result["_meta"] == {SERVER_INFO: {"name": "desk", "version": "2.1"}}
        assert ("ttlMs" in result, "cacheScope" in result) == (cacheable, cacheable)
        parse_server_result(method, LATEST, result)


def test_an_anonymous_server_leaves_its_identity_out() -> None:
    result = talk(desk(anonymous=True), modern(1, "tools/list")).answer(1)["result"]
    assert "_meta" not in result


@pytest.mark.parametrize("scope", ["public", "private"])
def test_cache_hints_are_what_the_server_was_told(scope: str) -> None:
    result = talk(desk(ttl_ms=0, cache_scope=scope), modern(1, "tools/list")).answer(1)["result"]
    assert (result["ttlMs"], result["cacheScope"]) == (0, scope)


@pytest.mark.parametrize(
    "settings", [{"ttl_ms": -1}, {"ttl_ms": 1.5}, {"ttl_ms": True}, {"cache_scope": "shared"}]
)
def test_cache_hints_that_the_protocol_does_not_have(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Server("desk", **settings)


def failing(code: int) -> Server:
    """A server whose handlers answer with an error of this code."""
    server = Server("failing")

    def fail() -> str:
        raise ProtocolError(code, "No.")

    server.tool("fail")(fail)
    server.prompt("fail")(fail)
    server.resource("test:fail")(fail)
    return server


ASKED = [
    ("tools/call", {"name": "fail"}),
    ("prompts/get", {"name": "fail"}),
    ("resources/read", {"uri": "test:fail"}),
]


@pytest.mark.parametrize(("method", "params"), ASKED)
@pytest.mark.parametrize("code", [-32002, -32042, -32023, -32050, -32099])
def test_a_code_that_must_not_be_sent_becomes_an_internal_error(
    code: int, method: str, params: dict[str, Any]
) -> None:
    """Codes of earlier revisions, and codes that the specification keeps without giving them a meaning.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-codes
    """
    talked = talk(failing(code), modern(1, method, params))
    assert talked.answer(1)["error"] == {"code": -32603, "message": "Internal error"}
    assert any(str(code) in note for note in talked.notes)


@pytest.mark.parametrize("code", [1.5, "1", True, None])
def test_a_code_is_an_integer(code: Any) -> None:
    with pytest.raises(TypeError, match="is an integer"):
        ProtocolError(code, "No.")
    talked = talk(failing(code), modern(1, *ASKED[1]))
    assert talked.answer(1)["error"] == {"code": -32603, "message": "Internal error"}


@pytest.mark.parametrize("code", [-32600, -32602, -32603, -32021, -32019, -32000, -32100, -1, 7])
def test_any_other_code_of_a_handler_is_sent_as_it_is(code: int) -> None:
    method, params = ASKED[0]
    assert talk(failing(code), modern(1, method, params)).answer(1)["error"]["code"] == code


def visit(method: str) -> Visit:
    found = Visit(desk(), b"")
    found.request = Request(1, method)
    found.version = LATEST
    return found


@pytest.mark.parametrize("given_hints", [{}, {"ttlMs": 1}, {"cacheScope": "public"}])
def test_a_cacheable_result_without_hints_is_the_servers_fault(given_hints: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="ttlMs and cacheScope"):
        complete({"tools": [], **given_hints}, visit("tools/list"))


def test_an_interim_result_carries_no_hints_and_stays_what_it_is() -> None:
    result = {"resultType": "input_required", "inputRequests": {}}
    assert complete(result, visit("resources/read"))["resultType"] == "input_required"
    assert "ttlMs" not in result


def test_what_a_handler_put_into_meta_stays() -> None:
    result = complete({"content": [], "_meta": {"com.example/x": 1}}, visit("tools/call"))
    assert result["_meta"]["com.example/x"] == 1
    assert SERVER_INFO in result["_meta"]


# Order

NAMES = ["b", "a", "B", "a.b", "a-b", "_", "ä"]


@settings(max_examples=20)
@given(st.permutations(NAMES))
def test_the_list_does_not_depend_on_the_order_of_registration(names: list[str]) -> None:
    server = Server("desk")
    for name in names:
        server.tool(name, description=f"The tool {name}.")(lambda: "")
    listed = talk(server, modern(1, "tools/list"), wait=0.0).answer(1)["result"]["tools"]
    assert [tool["name"] for tool in listed] == sorted(NAMES)
    assert [tool["description"] for tool in listed] == [f"The tool {name}." for name in sorted(NAMES)]


def test_the_list_is_the_same_for_everybody() -> None:
    server = desk()
    lists = [
        talk(server, modern(1, "tools/list", capabilities=capabilities), principal=principal).answer(1)
        for capabilities, principal in itertools.product(({}, {"elicitation": {}}), ("", "alice"))
    ]
    assert all(one == lists[0] for one in lists)


# Notifications, and what a client must not send

NOTIFICATIONS = [
    notification("notifications/cancelled", {"requestId": 99}),
    notification("notifications/cancelled"),
    notification("notifications/cancelled", {"requestId": None}),
    notification("notifications/initialized"),
    notification("notifications/no/such"),
    notification("tools/list"),
    {"jsonrpc": "2.0", "method": "tools/list", "params": []},
    {"jsonrpc": "2.0", "method": 5},
    {"jsonrpc": "1.0", "method": "x"},
]


@pytest.mark.parametrize("era", ["modern", "both"])
@pytest.mark.parametrize("message", NOTIFICATIONS, ids=str)
def test_a_notification_is_never_answered(message: Any, era: str) -> None:
    said = talk(desk(era=era), message, modern(1, "tools/list"))
    assert [value["id"] for value in said.values] == [1]


@pytest.mark.parametrize("message", NOTIFICATIONS, ids=str)
def test_a_notification_over_http_gets_a_status_and_no_id(message: Any) -> None:
    reply = run(lambda: Endpoint(desk(era="modern")).ask(message))
    well_formed = message["jsonrpc"] == "2.0" and not isinstance(message["method"], int)
    if well_formed and not isinstance(message.get("params"), list):
        assert (reply.status, reply.body) == (202, b"")
    else:
        assert reply.status == 400
        assert "id" not in reply.value


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}},
    ],
)
def test_a_response_from_a_client_reaches_nobody(message: Any) -> None:
    said = talk(desk(era="modern"), message, modern(1, "tools/list"))
    assert [value["id"] for value in said.values] == [1]
    assert any("nobody waits" in note for note in said.notes)
    assert run(lambda: Endpoint(desk(era="modern")).ask(message)).status == 400


def test_a_modern_server_sends_no_requests() -> None:
    server = Server("desk")
    seen: list[str] = []

    @server.tool()
    async def asks(context: Context) -> str:
        for method in ("ping", "sampling/createMessage", "roots/list"):
            try:
                await context.request(method)
            except McpSimError as error:
                seen.append(str(error))
        return "done"

    said = talk(server, modern(1, "tools/call", call("asks"), capabilities={"sampling": {}, "roots": {}}))
    assert len(seen) == 3
    assert all("a server sends no requests in the modern protocol" in one for one in seen)
    assert [value.get("method") for value in said.values] == [None]


def test_an_id_may_be_used_again_after_its_answer_but_not_before() -> None:
    server = Server("desk")

    @server.tool()
    async def slow(seconds: float) -> str:
        await anyio.sleep(seconds)
        return f"slept {seconds:g}"

    first, second = (modern(1, "tools/call", call("slow", {"seconds": n})) for n in (2, 1))
    together = talk(server, first, second)
    assert [one.get("error", {}).get("code") for one in together.answers(1)] == [-32600, None]
    assert together.answers(1)[1]["result"]["content"][0]["text"] == "slept 2"
    after = talk(server, first, 3.0, second)
    assert [one["result"]["content"][0]["text"] for one in after.answers(1)] == ["slept 2", "slept 1"]
    different = talk(server, first, {**second, "id": "1"})
    assert "result" in different.answer(1)
    assert "result" in different.answer("1")


# Statelessness


def test_two_requests_on_one_connection_know_nothing_of_each_other() -> None:
    said = talk(
        desk(),
        modern(1, "tools/call", call("book"), capabilities={"elicitation": {}}),
        modern(2, "tools/call", call("book")),
        modern(3, "tools/call", call("who"), capabilities={"roots": {}}),
        modern(4, "server/discover", version="1900-01-01"),
        modern(5, "tools/call", call("who")),
    )
    assert said.answer(1)["result"]["content"][0]["text"] == "Booked."
    assert said.answer(2)["error"]["code"] == -32021
    assert said.answer(3)["result"]["structuredContent"]["capabilities"] == {"roots": {}}
    assert said.answer(4)["error"]["code"] == -32022
    assert said.answer(5)["result"]["structuredContent"] == {
        "version": LATEST,
        "capabilities": {},
        "principal": "",
        "id": 5,
    }


requests = st.builds(
    lambda method, version, capabilities, meta: (method[0], method[1], version, capabilities, meta),
    st.sampled_from(
        [
            ("server/discover", {}),
            ("tools/list", {}),
            ("tools/call", call("book")),
            ("tools/call", call("who")),
            ("tools/call", call("divide", {"first": 1, "second": 0})),
            ("tools/call", call("divide", {"first": "1"})),
            ("tools/call", call("nobody")),
            ("initialize", {}),
            ("ping", {}),
        ]
    ),
    st.sampled_from([LATEST, LATEST, LATEST, "1900-01-01", "2025-11-25"]),
    st.sampled_from([{}, {"elicitation": {}}, {"elicitation": {"url": {}}}]),
    st.sampled_from([{}, {CLIENT_CAPABILITIES: None}, {"progressToken": 0}]),
)


# The peers are the same for all examples: they must not remember anything from one to the next.
DESK = desk(era="modern")


def built(number: int, row: tuple[Any, ...]) -> dict[str, Any]:
    method, params, version, capabilities, meta = row
    return modern(f"r{number}", method, params, version=version, capabilities=capabilities, meta=meta)


@settings(max_examples=50)
@given(st.lists(requests, min_size=2, max_size=6))
def test_each_request_is_answered_as_if_it_were_the_only_one(rows: list[tuple[Any, ...]]) -> None:
    messages = [built(number, row) for number, row in enumerate(rows)]
    together = talk(DESK, *messages, wait=0.0)
    for message in messages:
        alone = talk(DESK, message, wait=0.0)
        assert together.answer(message["id"]) == alone.answer(message["id"])


@settings(max_examples=50)
@given(st.lists(requests, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_an_endpoint_keeps_nothing_either(rows: list[tuple[Any, ...]], random: Any) -> None:
    messages = [built(number, row) for number, row in enumerate(rows)]

    async def all_in(order: list[dict[str, Any]]) -> dict[str, Any]:
        endpoint = Endpoint(DESK)
        replies = {one["id"]: await endpoint.modern(one) for one in order}
        return {id: (reply.status, reply.value) for id, reply in replies.items()}

    shuffled = list(messages)
    random.shuffle(shuffled)
    assert run(lambda: all_in(messages)) == run(lambda: all_in(shuffled))


def test_step_9_leaves_nothing_of_the_request() -> None:
    message = modern(1, "tools/call", call("book"), capabilities={"elicitation": {}})
    found = Visit(DESK, as_bytes(message), headers_for(message), "alice")
    admit(found)
    assert found.capabilities == {"elicitation": {}}
    forget(found)
    assert found == Visit(DESK, b"")


# Tool errors and protocol errors


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_modern_tool_error_is_a_result_and_an_unknown_tool_is_not(transport: str) -> None:
    def ask(params: dict[str, Any]) -> Any:
        if transport == "stdio":
            return talk(desk(), modern(1, "tools/call", params)).answer(1)
        return run(lambda: Endpoint(desk()).modern(modern(1, "tools/call", params))).value

    by_zero = ask(call("divide", {"first": 1, "second": 0}))
    assert by_zero["result"]["isError"] is True
    assert by_zero["result"]["content"][0]["text"] == "Nothing can be divided by 0."
    wrong = ask(call("divide", {"first": "one"}))
    assert wrong["result"]["isError"] is True
    assert "first" in wrong["result"]["content"][0]["text"]
    assert "second" in wrong["result"]["content"][0]["text"]
    unknown = ask(call("multiply"))
    assert unknown["error"]["code"] == -32602
    assert unknown["error"]["message"] == "Unknown tool: multiply"


def test_the_handlers_of_refused_requests_never_start() -> None:
    said = talk(desk(), modern(1, "tools/call", call("book")), modern(2, "tools/call", call("nobody")))
    assert handlers_of(said.recorder) == []


def test_every_answer_is_one_line_of_compact_json() -> None:
    server = Server("desk")
    server.tool("lines")(lambda: "one\ntwo\r\n\u2028three")
    said = talk(server, modern(1, "tools/call", call("lines")))
    assert json.loads(as_bytes(said.values[0]))["result"]["content"][0]["text"] == "one\ntwo\r\n\u2028three"
