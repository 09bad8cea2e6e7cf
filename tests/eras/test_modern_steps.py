"""The nine steps of a modern request, in order: whatever breaks two of them is refused by the first."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from talking import LATEST, MISSING, Endpoint, as_bytes, call, headers_for, legacy, modern, opening, run, talk

from mcpsim import STEPS, ProtocolError, Server, walk
from mcpsim.eras.capabilities import missing_capabilities
from mcpsim.messages import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION
from mcpsim.transports.http import Headers


def desk(ran: list[str] | None = None, **settings: Any) -> Server:
    """A server whose tool needs a capability, typed arguments and the right principal."""
    server = Server("desk", authorise=lambda principal, tool: principal != "mallory", **settings)
    log = [] if ran is None else ran

    @server.tool(requires={"elicitation": {"form": {}}})
    def book(day: str) -> str:
        log.append(day)
        return f"Booked for {day}."

    return server


@dataclass
class Draft:
    """A good request, to be spoiled."""

    message: dict[str, Any] = field(
        default_factory=lambda: modern(
            7, "tools/call", call("book", {"day": "Monday"}), capabilities={"elicitation": {}}
        )
    )
    wrong_header: bool = False
    as_response: bool = False
    spoil: Callable[[bytes], bytes] = bytes
    principal: str = "alice"

    @property
    def meta(self) -> dict[str, Any]:
        return self.message["params"]["_meta"]

    @property
    def headers(self) -> Headers:
        headers = headers_for(self.message)
        return headers.with_("Mcp-Method", "tools/list") if self.wrong_header else headers

    @property
    def data(self) -> bytes:
        message = copy.deepcopy(self.message)
        if self.as_response:
            del message["method"]
            message["result"] = {}
        return self.spoil(as_bytes(message))


@dataclass(frozen=True)
class Break:
    """One way to break one step, and the error that must come."""

    name: str
    step: int
    code: int
    status: int
    spoil: Callable[[Draft], None]


def at(name: str, value: Any) -> Callable[[Draft], None]:
    return lambda draft: setattr(draft, name, value)


def in_params(key: str, value: Any) -> Callable[[Draft], None]:
    return lambda draft: draft.message["params"].__setitem__(key, value)


def in_meta(key: str, value: Any) -> Callable[[Draft], None]:
    def change(draft: Draft) -> None:
        if value is MISSING:
            draft.meta.pop(key, None)
        else:
            draft.meta[key] = value

    return change


# In the order in which they must be noticed. Within step 6 there is an order too.
BREAKS = [
    Break("cut off", 1, -32700, 400, at("spoil", lambda data: data[:-1])),
    Break("in an array", 1, -32600, 400, at("spoil", lambda data: b"[" + data + b"]")),
    Break("a response", 2, -32600, 400, at("as_response", True)),
    Break("no capabilities key", 3, -32602, 400, in_meta(CLIENT_CAPABILITIES, MISSING)),
    Break("another method in the header", 4, -32020, 400, at("wrong_header", True)),
    Break("a version from the past", 5, -32022, 400, in_meta(PROTOCOL_VERSION, "1900-01-01")),
    Break("the capability missing", 6, -32021, 400, in_meta(CLIENT_CAPABILITIES, {})),
    Break("no such method", 6, -32601, 404, lambda draft: draft.message.update(method="tools/book")),
    Break("arguments that are no object", 6, -32602, 400, in_params("arguments", [])),
    Break("the wrong principal", 7, -32600, 400, at("principal", "mallory")),
]
# These change the same thing, or need the method that the other takes away.
IMPOSSIBLE = {
    ("cut off", "in an array"),
    ("no capabilities key", "the capability missing"),
    ("the capability missing", "no such method"),
}
PAIRS = [pair for pair in itertools.combinations(BREAKS, 2) if (pair[0].name, pair[1].name) not in IMPOSSIBLE]


def spoiled(*breaks: Break) -> Draft:
    draft = Draft()
    for one in breaks:
        one.spoil(draft)
    return draft


def refusal_by_walk(draft: Draft, headers: Headers | None) -> tuple[int, int]:
    """The step that refuses, and its code."""
    outcomes = walk(desk(), draft.data, headers, draft.principal)
    assert [one.step for one in outcomes] == list(STEPS)
    refused = [one for one in outcomes if one.outcome == "refused"]
    assert len(refused) == 1
    number = refused[0].step.number
    assert [one.outcome for one in outcomes] == [
        *["passed"] * (number - 1),
        "refused",
        *["not reached"] * (9 - number),
    ]
    assert refused[0].error is not None
    # The table says of each step with which codes it may refuse; step 7 leaves that to the server.
    assert refused[0].error.code in refused[0].step.errors or number == 7
    return number, refused[0].error.code


def check_over_http(draft: Draft, expected: Break) -> None:
    ran: list[str] = []
    endpoint = Endpoint(desk(ran), principal_of=lambda headers: draft.principal)
    reply = run(lambda: endpoint.ask(draft.data, draft.headers))
    assert (reply.status, reply.value["error"]["code"]) == (expected.status, expected.code)
    readable = expected.step > 2
    assert reply.value.get("id") == (7 if readable else None)
    assert ran == []


def check_over_stdio(draft: Draft, expected: Break | None) -> None:
    ran: list[str] = []
    said = talk(desk(ran), draft.data + b"\n", principal=draft.principal)
    if expected is None:
        assert said.answer(7)["result"]["content"][0]["text"] == "Booked for Monday."
    elif expected.step == 2:
        # A response is never answered on a pipe.
        assert said.values == []
        assert said.notes != []
    else:
        (answer,) = said.values
        assert answer["error"]["code"] == expected.code
        assert answer.get("id") == (7 if expected.step > 2 else None)
        assert ran == []


def test_the_good_request_passes_on_both_transports() -> None:
    draft = Draft()
    outcomes = walk(desk(), draft.data, draft.headers)
    assert [one.outcome for one in outcomes] == ["passed"] * 7 + ["not reached"] * 2
    assert str(outcomes[0]) == "✓ 1 read one message"
    check_over_stdio(draft, None)
    endpoint = Endpoint(desk())
    reply = run(lambda: endpoint.ask(draft.data, draft.headers))
    assert (reply.status, reply.value["result"]["resultType"]) == (200, "complete")


@pytest.mark.parametrize("one", BREAKS, ids=lambda one: one.name)
def test_each_step_refuses_what_breaks_it(one: Break) -> None:
    draft = spoiled(one)
    assert refusal_by_walk(draft, draft.headers) == (one.step, one.code)
    check_over_http(draft, one)
    check_over_stdio(draft, None if one.step == 4 else one)


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda one: one.name)
def test_of_two_faults_the_earlier_step_sees_its_own(first: Break, second: Break) -> None:
    draft = spoiled(first, second)
    assert refusal_by_walk(draft, draft.headers) == (first.step, first.code)
    check_over_http(draft, first)


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda one: one.name)
def test_without_headers_the_same_but_for_step_4(first: Break, second: Break) -> None:
    draft = spoiled(first, second)
    expected = second if first.step == 4 else first
    assert refusal_by_walk(draft, None) == (expected.step, expected.code)
    check_over_stdio(draft, expected)


def test_the_steps_are_numbered_and_each_names_its_page_and_its_codes() -> None:
    assert [step.number for step in STEPS] == list(range(1, 10))
    # What the table says is what the breaks above bring about; step 7 leaves the code to the server.
    for step in STEPS[:6]:
        assert set(step.errors) == {one.code for one in BREAKS if one.step == step.number}
    assert [step.errors for step in STEPS[6:]] == [(), (-32603,), ()]
    assert all(
        step.spec.startswith(f"https://modelcontextprotocol.io/specification/{LATEST}/") for step in STEPS
    )


def test_step_8_answers_a_broken_handler_with_an_internal_error_that_gives_nothing_away() -> None:
    # A handler that forgets the cache hints of a cacheable method is the plainest fault of a server's own.
    server = desk()
    server.cache_hints = dict  # type: ignore[method-assign]
    said = talk(server, modern(1, "tools/list"))
    assert said.answer(1)["error"] == {"code": -32603, "message": "Internal error"}
    assert any("ttlMs" in note for note in said.notes)
    endpoint = Endpoint(server)
    reply = run(lambda: endpoint.modern(modern(1, "tools/list")))
    assert (reply.status, reply.value["error"]["code"]) == (200, -32603)


def test_a_check_of_the_servers_own_that_fails_is_an_internal_error_too() -> None:
    def broken(principal: str, tool: str) -> bool:
        raise RuntimeError("the directory is down: secret.example")

    server = Server("desk", authorise=broken)
    server.tool("hello")(lambda: "hello")
    for said in (
        talk(server, modern(1, "tools/call", call("hello")), modern(2, "server/discover")),
        talk(server, *opening(), legacy(1, "tools/call", call("hello"))),
    ):
        assert said.answer(1)["error"] == {"code": -32603, "message": "Internal error"}
        assert any("the directory is down" in note for note in said.notes)


# Step 3 in detail


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (PROTOCOL_VERSION, MISSING),
        (PROTOCOL_VERSION, None),
        (PROTOCOL_VERSION, 20260728),
        (CLIENT_CAPABILITIES, MISSING),
        (CLIENT_CAPABILITIES, None),
        (CLIENT_CAPABILITIES, []),
        (CLIENT_INFO, None),
        (CLIENT_INFO, "me"),
        (CLIENT_INFO, {"name": "me"}),
        (CLIENT_INFO, {"name": "me", "version": 1}),
        (LOG_LEVEL, "loud"),
        (LOG_LEVEL, None),
        (LOG_LEVEL, ["info"]),
    ],
)
def test_a_wrong_or_missing_key_is_named(key: str, value: Any) -> None:
    message = modern(1, "server/discover", meta={key: value})
    said = talk(desk(), message)
    error = said.answer(1)["error"]
    assert error["code"] == -32602
    assert key in error["message"]
    reply = run(lambda: Endpoint(desk()).modern(message))
    assert (reply.status, reply.value["error"]["code"]) == (400, -32602)


@pytest.mark.parametrize("meta", [MISSING, None, [], "text"])
def test_no_metadata_at_all(meta: Any) -> None:
    message = modern(1, "server/discover")
    message["params"]["_meta"] = meta
    if meta is MISSING:
        del message["params"]
    error = talk(desk(), message).answer(1)["error"]
    assert error["code"] == -32602
    assert PROTOCOL_VERSION in error["message"]


@pytest.mark.parametrize(
    "meta", [{CLIENT_INFO: MISSING}, {LOG_LEVEL: "debug"}, {"com.example/x": None}, {"progressToken": 0}]
)
def test_what_is_optional_may_be_there_or_not(meta: dict[str, Any]) -> None:
    assert "result" in talk(desk(), modern(1, "server/discover", meta=meta)).answer(1)


@pytest.mark.parametrize("token", [True, None, 1.5, 1.0, [], {}])
def test_a_progress_token_is_a_string_or_an_integer(token: Any) -> None:
    answer = talk(desk(), modern(1, "server/discover", meta={"progressToken": token})).answer(1)
    assert answer["error"]["code"] == -32602


# Steps 4 and 5 in detail


@pytest.mark.parametrize(
    ("in_header", "in_body"), [("1900-01-01", LATEST), (LATEST, "1900-01-01"), ("1900-01-01", "1900-01-02")]
)
def test_two_versions_are_a_mismatch_even_where_one_is_not_supported(in_header: str, in_body: str) -> None:
    message = modern(1, "server/discover", version=in_body)
    reply = run(lambda: Endpoint(desk()).modern(message, MCP_Protocol_Version=in_header))
    assert (reply.status, reply.value["error"]["code"]) == (400, -32020)
    assert in_header in reply.value["error"]["message"]


@pytest.mark.parametrize("missing", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
def test_a_missing_header_is_a_mismatch(missing: str) -> None:
    draft = Draft()
    reply = run(lambda: Endpoint(desk()).ask(draft.data, draft.headers.without(missing)))
    assert (reply.status, reply.value["error"]["code"]) == (400, -32020)
    assert missing in reply.value["error"]["message"]


@pytest.mark.parametrize("era", ["modern", "both"])
@pytest.mark.parametrize("version", ["1900-01-01", "2099-12-31", "", "2026-07-28 ", "2025-11-25"])
def test_an_unsupported_version_is_answered_with_the_supported_ones(version: str, era: str) -> None:
    server = desk(era=era)
    error = talk(server, modern(1, "server/discover", version=version)).answer(1)["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": list(server.supported_versions), "requested": version}
    # A legacy revision in modern metadata is a version that does not work this way.
    assert LATEST in error["data"]["supported"]


# What a legacy client hears


def named(error: dict[str, Any]) -> None:
    assert LATEST in error["message"]
    assert error["data"]["supported"] == [LATEST]


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        (None, -32602),
        ({}, -32602),
        ({PROTOCOL_VERSION: LATEST}, -32602),
        ({PROTOCOL_VERSION: LATEST, CLIENT_CAPABILITIES: {}}, -32601),
        ({PROTOCOL_VERSION: "1900-01-01", CLIENT_CAPABILITIES: {}}, -32022),
    ],
)
def test_every_refusal_of_initialize_names_the_versions(meta: Any, code: int) -> None:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"},
    }
    if meta is not None:
        params["_meta"] = meta
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    error = talk(desk(era="modern"), message).answer(1)["error"]
    assert error["code"] == code
    named(error)
    reply = run(lambda: Endpoint(desk(era="modern")).ask(message))
    # Without any of the modern headers this is refused at the latest where they are compared.
    assert reply.status == 400
    named(reply.value["error"])


# Step 6 in detail


@pytest.mark.parametrize(
    ("required", "declared", "missing"),
    [
        ({}, {}, {}),
        ({"sampling": {}}, {}, {"sampling": {}}),
        ({"sampling": {}}, {"sampling": {}}, {}),
        ({"sampling": {}}, {"sampling": None}, {"sampling": {}}),
        ({"sampling": {}}, {"sampling": []}, {"sampling": {}}),
        ({"sampling": {"tools": {}}}, {"sampling": {}}, {"sampling": {"tools": {}}}),
        ({"sampling": {}, "roots": {}}, {"roots": {}}, {"sampling": {}}),
        ({"elicitation": {"form": {}}}, {"elicitation": {}}, {}),
        ({"elicitation": {"url": {}}}, {"elicitation": {}}, {"elicitation": {"url": {}}}),
        ({"elicitation": {"form": {}}}, {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        (
            {"elicitation": {"form": {}, "url": {}}},
            {"elicitation": {"url": {}}},
            {"elicitation": {"form": {}}},
        ),
        ({"roots": {"listChanged": True}}, {"roots": {"listChanged": True}}, {}),
        (
            {"roots": {"listChanged": True}},
            {"roots": {"listChanged": False}},
            {"roots": {"listChanged": True}},
        ),
        ({"extensions": {"com.example/x": {}}}, {"extensions": {}}, {"extensions": {"com.example/x": {}}}),
    ],
)
def test_only_the_missing_capabilities_are_named(required: dict, declared: dict, missing: dict) -> None:
    assert missing_capabilities(required, declared) == missing


def test_missing_capabilities_on_the_wire() -> None:
    server = Server("desk")
    server.tool("both", requires={"sampling": {}, "elicitation": {"url": {}}})(lambda: "")
    message = modern(1, "tools/call", call("both"), capabilities={"elicitation": {}, "roots": {}})
    missing = {"sampling": {}, "elicitation": {"url": {}}}
    error = talk(server, message).answer(1)["error"]
    assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": missing})
    reply = run(lambda: Endpoint(server).modern(message))
    assert (reply.status, reply.value["error"]["data"]) == (400, {"requiredCapabilities": missing})


@pytest.mark.parametrize(
    "method", ["ping", "logging/setLevel", "resources/subscribe", "roots/list", "no/such", "", "tools/list "]
)
def test_methods_that_the_modern_server_does_not_have(method: str) -> None:
    assert talk(desk(), modern(1, method)).answer(1)["error"]["code"] == -32601


def test_a_server_without_tools_has_no_methods_for_tools() -> None:
    server = Server("empty")
    said = talk(
        server, modern(1, "tools/list"), modern(2, "tools/call", call("x")), modern(3, "server/discover")
    )
    assert [said.answer(id)["error"]["code"] for id in (1, 2)] == [-32601, -32601]
    assert said.answer(3)["result"]["capabilities"] == {}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {}),
        ("tools/call", {"name": 5}),
        ("tools/call", {"name": "book", "arguments": None}),
        ("tools/call", {"name": "book", "arguments": "x"}),
        ("tools/call", call("no such tool")),
        ("tools/list", {"cursor": 5}),
        ("tools/list", {"cursor": None}),
        ("tools/list", {"cursor": "made up"}),
        ("tools/list", {"cursor": ""}),
    ],
)
def test_parameters_that_the_method_does_not_take(method: str, params: dict[str, Any]) -> None:
    message = modern(1, method, params, capabilities={"elicitation": {}})
    assert talk(desk(), message).answer(1)["error"]["code"] == -32602


def test_a_capability_of_the_wrong_kind_is_a_wrong_parameter() -> None:
    message = modern(1, "server/discover", capabilities={"elicitation": 5})
    assert talk(desk(), message).answer(1)["error"]["code"] == -32602


def test_step_7_says_who_may_not_do_what() -> None:
    outcomes = walk(desk(), Draft().data, None, "mallory")
    error = outcomes[6].error
    assert isinstance(error, ProtocolError)
    assert error.message == "mallory may not call book."
