"""The client against servers that do as a test says."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from talking import (
    END,
    LATEST,
    FakeEndpoint,
    FakeServer,
    Response,
    as_bytes,
    json_response,
    play,
    run,
    stream,
)

from mcpsim import (
    Client,
    ConnectionClosed,
    McpSimError,
    ProtocolError,
    Reply,
    RequestTimeout,
    Server,
    simulate,
)
from mcpsim.client import StdioWire
from mcpsim.errors import MalformedMessage, UnexpectedResponse
from mcpsim.messages import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION, Batch
from mcpsim.recording import Scribe

COMPLETE = {"resultType": "complete"}
TOOLS = {"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}
HINTS = {"ttlMs": 5, "cacheScope": "public"}


def result(message: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message["id"], "result": members}


def handshake(message: Any, capabilities: Any = None, version: str = "2025-11-25") -> list[Any]:
    """The answers of a legacy server that knows nothing but the handshake and an empty list of tools."""
    method = message.get("method")
    if method == "initialize":
        said = {"tools": {}} if capabilities is None else capabilities
        info = {"name": "fake", "version": "1"}
        return [result(message, protocolVersion=version, capabilities=said, serverInfo=info)]
    return [result(message, tools=[])] if method == "tools/list" else []


async def list_tools(client: Client) -> Any:
    return await client.list_tools()


async def nothing(client: Client) -> None:
    """The connection alone."""


# Reading results


@pytest.mark.parametrize(
    ("given", "ttl_ms", "scope"),
    [
        ({**COMPLETE, **TOOLS, **HINTS}, 5, "public"),
        ({**TOOLS, **HINTS}, 5, "public"),  # no resultType means complete
        (TOOLS, 0, "private"),
        ({**TOOLS, "ttlMs": 7}, 7, "private"),
        ({**TOOLS, "ttlMs": -1, "cacheScope": "public"}, 0, "public"),
    ],
    ids=str,
)
def test_what_a_server_leaves_out_of_a_result(given: Any, ttl_ms: int, scope: str) -> None:
    played = play(list_tools, FakeServer(lambda message: [result(message, **given)]))
    assert [tool.name for tool in played.value.tools] == ["a"]
    assert (played.value.ttl_ms, played.value.cache_scope) == (ttl_ms, scope)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"resultType": "later", **TOOLS}, "unknown resultType 'later'"),
        ({"resultType": None, **TOOLS}, "unknown resultType None"),
        ({"resultType": ["complete"], **TOOLS}, "unknown resultType"),
        ({}, "tools"),
        ({"tools": "none"}, "tools"),
        ({"tools": [{"name": "a"}]}, "inputSchema"),
        ({**TOOLS, "cacheScope": "shared"}, "cacheScope"),
        ({**TOOLS, "ttlMs": "long"}, "ttlMs"),
    ],
    ids=str,
)
def test_a_result_that_is_not_valid(given: Any, why: str) -> None:
    played = play(list_tools, FakeServer(lambda message: [result(message, **given)]))
    assert isinstance(played.error, UnexpectedResponse)
    assert why in str(played.error)


def test_a_version_that_nobody_knows_is_read_like_the_latest() -> None:
    far_end = FakeServer(lambda message: [result(message, **TOOLS)])
    played = play(list_tools, far_end, client=Client(protocol_version="2099-01-01"))
    assert [tool.name for tool in played.value.tools] == ["a"]
    assert far_end.heard[0]["params"]["_meta"][PROTOCOL_VERSION] == "2099-01-01"


def test_a_method_of_the_other_era_that_was_answered_all_the_same() -> None:
    async def story(client: Client) -> Any:
        return await client.discover()

    def respond(message: Any) -> list[Any]:
        return [result(message, **COMPLETE)] if message["method"] == "server/discover" else handshake(message)

    far_end = FakeServer(respond)
    played = play(story, far_end, client=Client(era="legacy"))
    assert isinstance(played.error, UnexpectedResponse)


@pytest.mark.parametrize("meta", [[], 5, None, {}, {"io.modelcontextprotocol/serverInfo": 5}])
def test_odd_metadata_in_a_discovery(meta: Any) -> None:
    found = result({"id": 1}, supportedVersions=[LATEST, 5], capabilities={}, _meta=meta)
    played = play(nothing, FakeServer(lambda message: [found]), client=Client(era="auto"))
    assert played.error is None
    assert (played.client.era, played.client.server_info) == ("modern", None)


@pytest.mark.parametrize("version", [None, 5, []])
def test_a_handshake_without_a_version(version: Any) -> None:
    far_end = FakeServer(lambda message: [result(message, protocolVersion=version)])
    played = play(list_tools, far_end, client=Client(era="legacy"))
    assert "no protocolVersion" in str(played.error)


# Which answer belongs to whom


def test_an_answer_under_another_id_is_ignored() -> None:
    def respond(message: Any) -> list[Any]:
        right = result(message, **TOOLS)
        wrong = [{**right, "id": id} for id in (str(message["id"]), message["id"] + 1, -1)]
        return [*wrong, {"jsonrpc": "2.0", "id": 99, "error": {"code": 1, "message": ""}}, right, right]

    async def story(client: Client) -> Any:
        first = await client.list_tools()
        await anyio.sleep(1)
        return first

    played = play(story, FakeServer(respond))
    assert played.error is None
    assert sum("nobody waits" in note for note in played.notes) == 5


@pytest.mark.parametrize(
    ("line", "noted"),
    [
        (b"Starting...\n", "not a message"),
        (b"\n", "not a message"),
        (b"x" * 4_000_010 + b"\n", "longer than the limit"),
    ],
    ids=["text", "blank", "too long"],
)
def test_what_is_no_message_on_the_servers_output_is_noted_and_skipped(line: bytes, noted: str) -> None:
    played = play(list_tools, FakeServer(lambda message: [line, result(message, **TOOLS)]))
    assert played.error is None
    assert any(note.startswith("Skipped") and noted in note for note in played.notes)


def test_a_ping_of_the_client() -> None:
    def respond(message: Any) -> list[Any]:
        return [result(message)] if message["method"] == "ping" else handshake(message)

    far_end = FakeServer(respond)
    played = play(lambda client: client.ping(), far_end, client=Client(era="legacy"))
    assert (played.error, far_end.heard_methods()[-1]) == (None, "ping")
    error = {"code": -32601, "message": "No."}
    refusing = FakeServer(lambda message: [{"jsonrpc": "2.0", "id": message["id"], "error": error}])
    assert isinstance(play(lambda client: client.ping(), refusing).error, ProtocolError)


def test_answers_may_come_in_any_order() -> None:
    waiting: list[Any] = []

    def respond(message: Any) -> list[Any]:
        waiting.append(message)
        if len(waiting) < 3:
            return []
        return [result(one, number=one["id"]) for one in reversed(waiting)]

    async def story(client: Client) -> dict[int, Any]:
        seen: dict[int, Any] = {}

        async def ask(n: int) -> None:
            seen[n] = (await client.request("x/y"))["number"]

        async with anyio.create_task_group() as tasks:
            for n in (1, 2, 3):
                tasks.start_soon(ask, n)
        return seen

    assert play(story, FakeServer(respond)).value == {1: 1, 2: 2, 3: 3}


def test_an_error_that_names_no_request_ends_none_on_a_pipe_and_its_own_over_http() -> None:
    nameless = {"jsonrpc": "2.0", "error": {"code": -32700, "message": "What?"}}
    played = play(list_tools, FakeServer(lambda message: [nameless, result(message, **TOOLS)]))
    assert played.error is None
    assert any("names no request: -32700" in note for note in played.notes)
    played = play(list_tools, FakeEndpoint(lambda request, value: json_response(nameless, 400)))
    assert isinstance(played.error, ProtocolError)
    assert played.error.code == -32700


def test_an_answer_on_the_stream_of_another_request_is_ignored() -> None:
    def respond(request: Any, value: Any) -> Response:
        if value["id"] == 1:
            return stream(2.0, result(value, **TOOLS))
        return stream({**result(value, tools=[]), "id": 1}, result(value, tools=[]))

    async def story(client: Client) -> list[int]:
        seen: list[int] = []

        async def ask() -> None:
            seen.append(len((await client.list_tools()).tools))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            tasks.start_soon(ask)
        return seen

    played = play(story, FakeEndpoint(respond))
    assert played.value == [0, 1]
    assert any("stream of another request" in note for note in played.notes)


@pytest.mark.parametrize("version", ["2025-03-26", "2025-11-25"])
def test_answers_in_an_array_by_revision(version: str) -> None:
    def respond(message: Any) -> list[Any]:
        if message.get("method") == "tools/list":
            return [[result(message, **TOOLS), 7, {"jsonrpc": "2.0", "method": "x"}]]
        return handshake(message, version=version)

    client = Client(era="legacy", protocol_version=version, timeout_s=2)
    played = play(list_tools, FakeServer(respond), client=client)
    if version == "2025-03-26":
        assert [tool.name for tool in played.value.tools] == ["a"]
        assert [one.method for one in played.client.notifications] == ["x"]
    else:
        assert isinstance(played.error, RequestTimeout)
        assert any("There are none in 2025-11-25" in note for note in played.notes)


# What a server sends of itself


@pytest.mark.parametrize("when", ["before", "within", "after"])
def test_a_legacy_client_answers_a_ping_in_every_phase(when: str) -> None:
    ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}

    def respond(message: Any) -> list[Any]:
        method = message.get("method")
        answers = handshake(message)
        if method == "initialize":
            return [ping, *answers] if when == "before" else [*answers, ping] if when == "within" else answers
        return [ping, *answers] if when == "after" and method == "tools/list" else answers

    far_end = FakeServer(respond)
    played = play(list_tools, far_end, client=Client(era="legacy"))
    assert played.error is None
    assert {"jsonrpc": "2.0", "id": "p", "result": {}} in far_end.heard


def test_a_legacy_client_refuses_requests_that_it_does_not_know() -> None:
    asked = {"jsonrpc": "2.0", "id": 0, "method": "sampling/createMessage", "params": {}}

    def respond(message: Any) -> list[Any]:
        answers = handshake(message)
        return [asked, *answers] if message.get("method") == "tools/list" else answers

    far_end = FakeServer(respond)
    play(list_tools, far_end, client=Client(era="legacy"))
    (refusal,) = [one for one in far_end.heard if one.get("id") == 0]
    assert refusal["error"]["code"] == -32601


def test_a_modern_client_answers_nothing() -> None:
    asked = [{"jsonrpc": "2.0", "id": 0, "method": method} for method in ("ping", "roots/list")]
    far_end = FakeServer(lambda message: [*asked, result(message, **TOOLS)])
    played = play(list_tools, far_end)
    assert far_end.heard_methods() == ["tools/list"]
    assert sum("A modern server sends none" in note for note in played.notes) == 2


def test_a_ping_over_http_is_answered_by_a_post_and_a_refused_one_only_noted() -> None:
    ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}

    def respond(request: Any, value: Any) -> Response:
        if value is None:
            return Response(200)
        if "result" in value:
            return Response(400, [b"no"])
        answers = handshake(value)
        if value.get("method") == "tools/list":
            return stream(ping, *answers)
        return json_response(answers[0], MCP_Session_Id="s") if answers else Response(202)

    far_end = FakeEndpoint(respond)
    played = play(list_tools, far_end, client=Client(era="legacy"))
    assert played.error is None
    assert {"jsonrpc": "2.0", "id": "p", "result": {}} in far_end.heard()
    assert any("could not be sent: HTTP 400: no" in note for note in played.notes)


def test_notifications_reach_the_client_plain_or_async() -> None:
    notices = [{"jsonrpc": "2.0", "method": "notifications/message", "params": {"n": n}} for n in (1, 2)]
    seen: list[Any] = []

    async def story(client: Client) -> Any:
        client.on_notification = seen.append
        await client.list_tools()

        async def later(message: Any) -> None:
            await anyio.sleep(0.1)
            seen.append(message)

        client.on_notification = later
        await client.list_tools()
        return [one.params["n"] for one in client.notifications]

    played = play(story, FakeServer(lambda message: [*notices, result(message, **TOOLS)]))
    assert played.value == [1, 2, 1, 2]
    assert [one.params["n"] for one in seen] == [1, 2, 1, 2]


@pytest.mark.parametrize(
    ("change", "heard"),
    [
        ({}, True),
        ({"total": None}, True),
        ({"progress": "1"}, False),
        ({"progress": True}, False),
        ({"progress": None}, False),
        ({"total": "2"}, False),
        ({"total": True}, False),
        ({"message": 5}, False),
        ({"progressToken": None}, False),
        ({"progressToken": True}, False),
        ({"progressToken": "1"}, False),
        ({"progressToken": 99}, False),
        ({"progressToken": [1]}, False),
    ],
    ids=str,
)
def test_progress_that_cannot_be_used_is_noted(change: Any, heard: bool) -> None:
    def respond(message: Any) -> list[Any]:
        params = {"progressToken": message["params"]["_meta"]["progressToken"], "progress": 1, "total": 2}
        notice = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {**params, **change}}
        return [notice, result(message, **COMPLETE, content=[])]

    seen: list[Any] = []

    async def story(client: Client) -> None:
        await client.call_tool("a", on_progress=lambda *what: seen.append(what))

    played = play(story, FakeServer(respond))
    assert played.error is None
    assert len(seen) == heard
    assert any("Ignored: progress" in note for note in played.notes) != heard


def test_progress_after_the_answer_is_of_no_request_in_flight() -> None:
    """https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress#behavior-requirements"""
    seen: list[Any] = []

    def respond(message: Any) -> list[Any]:
        params = {"progressToken": message["params"]["_meta"]["progressToken"]}
        told = [
            {"jsonrpc": "2.0", "method": "notifications/progress", "params": {**params, "progress": number}}
            for number in (1, 2)
        ]
        # In one piece, so that the second is read before whoever waits for the answer wakes up.
        pieces = [told[0], result(message, **COMPLETE, content=[]), told[1]]
        return [b"".join(as_bytes(piece) + b"\n" for piece in pieces)]

    async def story(client: Client) -> None:
        await client.call_tool("a", on_progress=lambda *what: seen.append(what[0]))

    played = play(story, FakeServer(respond))
    assert (played.error, seen) == (None, [1])
    assert any("no request in flight" in note for note in played.notes)


@pytest.mark.parametrize("name", ["com.example/thing", "io.modelcontextprotocol/ui", "a/b.c", "com.example/"])
def test_an_extension_is_declared_by_a_name_with_a_prefix(name: str) -> None:
    far_end = FakeServer(lambda message: [result(message, **TOOLS)])
    play(list_tools, far_end, client=Client(capabilities={"extensions": {name: {"a": 1}}}))
    assert far_end.heard[0]["params"]["_meta"][CLIENT_CAPABILITIES] == {"extensions": {name: {"a": 1}}}


@pytest.mark.parametrize(
    "extensions",
    [
        {"thing": {}},
        {"/thing": {}},
        {"com..example/a": {}},
        {"com.example/a b": {}},
        {"a/b": True},
        [],
        {"": {}},
    ],
    ids=str,
)
def test_an_extension_of_another_name_is_not_declared(extensions: Any) -> None:
    """https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation"""
    with pytest.raises(ValueError, match="extension"):
        Client(capabilities={"extensions": extensions})


# Only what was negotiated


def test_a_legacy_client_uses_no_capability_that_the_server_did_not_declare() -> None:
    far_end = FakeServer(lambda message: handshake(message, capabilities={"prompts": {}}))
    played = play(list_tools, far_end, client=Client(era="legacy"))
    assert type(played.error) is McpSimError
    assert "did not declare tools" in str(played.error)
    assert far_end.heard_methods() == ["initialize", "notifications/initialized"]


def test_identity_and_capabilities_are_in_every_request() -> None:
    for client in (Client("me", version="3", capabilities={"roots": {}}), Client(anonymous=True)):
        far_end = FakeServer(lambda message: [result(message, **TOOLS)])
        play(list_tools, far_end, client=client)
        meta = far_end.heard[0]["params"]["_meta"]
        assert meta[PROTOCOL_VERSION] == LATEST
        assert meta[CLIENT_CAPABILITIES] == client.capabilities
        assert (CLIENT_INFO in meta) != client.anonymous


@pytest.mark.parametrize(("era", "version"), [("legacy", LATEST), ("modern", "2025-11-25")])
def test_a_version_of_the_other_era_is_refused(era: Any, version: str) -> None:
    with pytest.raises(ValueError, match=version):
        Client(era=era, protocol_version=version)


def test_a_client_that_is_attached_to_nothing() -> None:
    with pytest.raises(ConnectionClosed, match="attached to no server"):
        anyio.run(list_tools, Client())


# When the other side goes away


@pytest.mark.parametrize("last", [b"", b'{"jsonrpc":"2.0",'])
def test_all_who_wait_learn_that_the_server_is_gone(last: bytes) -> None:
    far_end = FakeServer(lambda message: [])

    async def story(client: Client) -> list[str]:
        seen: list[str] = []

        async def ask() -> None:
            try:
                await client.list_tools()
            except ConnectionClosed as error:
                seen.append(str(error))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask)
            await anyio.sleep(1)
            far_end.say(*([last] if last else []), END)
        await ask()
        return seen

    played = play(story, far_end)
    assert played.value == ["The server closed the connection before it answered."] * 4
    assert any("in the middle of a message" in note for note in played.notes) == bool(last)


def test_a_server_that_does_not_end_is_waited_for_five_seconds() -> None:
    far_end = FakeServer(lambda message: [result(message, **TOOLS)], ends=False)
    played = play(list_tools, far_end)
    assert played.error is None
    assert played.took_s == 5
    assert any("did not end within 5 s" in note for note in played.notes)


def legacy_endpoint(at_the_end: Any) -> FakeEndpoint:
    def respond(request: Any, value: Any) -> Any:
        if value is None:
            return at_the_end
        answers = handshake(value)
        return json_response(answers[0], MCP_Session_Id="s") if answers else Response(202)

    return FakeEndpoint(respond)


@pytest.mark.parametrize(
    ("at_the_end", "took_s", "noted"),
    [(Response(200), 0, False), (Response(405), 0, False), (Response(0), 5, True), (None, 0, True)],
    ids=["200", "405", "silence", "unreachable"],
)
def test_the_session_is_ended_at_the_end(at_the_end: Any, took_s: float, noted: bool) -> None:
    far_end = legacy_endpoint(at_the_end)
    played = play(list_tools, far_end, client=Client(era="legacy"))
    assert played.error is None
    last = far_end.requests[-1]
    assert (last.method, last.headers.get("MCP-Session-Id")) == ("DELETE", "s")
    assert last.headers.get("MCP-Protocol-Version") == "2025-11-25"
    assert played.took_s == took_s
    assert any("end" in note and "session" in note for note in played.notes) == noted


# Sessions that are lost
# https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management


class Forgetful:
    """A legacy endpoint that forgets its sessions after some requests."""

    def __init__(self, keeps: int, forever: bool = False) -> None:
        self.sessions = 0
        self.left = 0
        self._keeps, self._forever = keeps, forever

    def __call__(self, request: Any, value: Any) -> Response:
        session = request.headers.get("MCP-Session-Id")
        if value is None:
            return Response(200)
        if value.get("method") == "initialize":
            assert session is None
            self.sessions += 1
            self.left = self._keeps
            return json_response(*handshake(value), MCP_Session_Id=f"s{self.sessions}")
        if session != f"s{self.sessions}" or self.left <= 0:
            return Response(404)
        if value.get("method") != "notifications/initialized" and not self._forever:
            self.left -= 1
        answers = handshake(value)
        return json_response(answers[0]) if answers else Response(202)


def test_a_lost_session_is_begun_again_and_the_request_repeated() -> None:
    endpoint = Forgetful(keeps=1)
    far_end = FakeEndpoint(endpoint)

    async def story(client: Client) -> int:
        for _ in range(3):
            await client.list_tools()
        return len(far_end.requests)

    played = play(story, far_end, client=Client(era="legacy"))
    assert played.error is None
    assert endpoint.sessions == 3
    assert far_end.heard_methods() == [
        *("initialize", "notifications/initialized", "tools/list"),
        *("tools/list", "initialize", "notifications/initialized", "tools/list"),
        *("tools/list", "initialize", "notifications/initialized", "tools/list"),
        "DELETE",
    ]
    ids = [one["id"] for one in far_end.heard() if isinstance(one, dict) and "id" in one]
    assert len(ids) == len(set(ids))


def test_several_requests_that_lose_one_session_begin_one_new_one() -> None:
    endpoint = Forgetful(keeps=10)
    far_end = FakeEndpoint(endpoint)

    async def story(client: Client) -> int:
        endpoint.left = 0
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(client.list_tools)
        return endpoint.sessions

    assert play(story, far_end, client=Client(era="legacy")).value == 2


def test_a_notification_that_loses_its_session() -> None:
    endpoint = Forgetful(keeps=10)
    far_end = FakeEndpoint(endpoint)

    async def story(client: Client) -> int:
        endpoint.left = 0
        await client.notify("notifications/roots/list_changed")
        return endpoint.sessions

    assert play(story, far_end, client=Client(era="legacy")).value == 2
    assert far_end.heard_methods().count("notifications/roots/list_changed") == 2


def test_an_endpoint_that_loses_every_session_does_not_lead_round_in_circles() -> None:
    def respond(request: Any, value: Any) -> Response:
        if value is not None and value.get("method") == "initialize":
            return json_response(*handshake(value), MCP_Session_Id="s")
        known = value is None or value.get("method") == "notifications/initialized"
        return Response(202) if known else Response(404)

    played = play(list_tools, FakeEndpoint(respond), client=Client(era="legacy"))
    assert isinstance(played.error, UnexpectedResponse)
    assert "does not know the session" in str(played.error)


def test_a_404_without_a_session_is_just_a_404() -> None:
    played = play(list_tools, FakeEndpoint(lambda request, value: Response(404)))
    assert str(played.error) == "HTTP 404 with no JSON-RPC body."


# HTTP responses of all kinds


ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {**COMPLETE, **TOOLS, **HINTS}}


@pytest.mark.parametrize(
    ("response", "kind", "text"),
    [
        (Response(200), UnexpectedResponse, "HTTP 200 with no JSON-RPC body."),
        (Response(202), UnexpectedResponse, "HTTP 202 with no JSON-RPC body."),
        (Response(500, [b"oops"]), UnexpectedResponse, "HTTP 500 with something that is no answer."),
        (Response(200, [b"<html>"], {"Content-Type": "text/html"}), UnexpectedResponse, "HTTP 200"),
        (
            json_response({**ANSWER, "id": 7}),
            UnexpectedResponse,
            "HTTP 200 with something that is no answer.",
        ),
        (stream(), ConnectionClosed, "ended before the answer"),
        (stream({"jsonrpc": "2.0", "method": "x"}), ConnectionClosed, "ended before the answer"),
        (stream(b"data: junk\n\n"), ConnectionClosed, "ended before the answer"),
        (stream(hangs=True), RequestTimeout, "within 9 s"),
        (Response(0), RequestTimeout, "within 9 s"),
        (None, ConnectionClosed, "cannot be reached"),
    ],
    ids=str,
)
def test_responses_without_an_answer(response: Any, kind: type[Exception], text: str) -> None:
    far_end = FakeEndpoint(lambda request, value: response)
    played = play(list_tools, far_end, client=Client(timeout_s=9))
    assert type(played.error) is kind
    assert text in str(played.error)
    if kind is RequestTimeout:
        assert far_end.exchanges[0].aborted
        assert far_end.heard_methods() == ["tools/list"]


@pytest.mark.parametrize(
    "response",
    [
        json_response(ANSWER),
        json_response(ANSWER, 500),  # the body says what the status does not
        Response(200, [json.dumps(ANSWER).encode()[:9], 1.0, json.dumps(ANSWER).encode()[9:]]),
        Response(200, [json.dumps(ANSWER).encode()], {"Content-Type": "application/json; charset=utf-8"}),
        stream(ANSWER),
        stream(b": hello\n\n", b"id: 7\ndata:\n\n", b"retry: 5\n\n", 3.0, ANSWER, hangs=True),
        Response(
            200,
            [b"event: message\r\ndata: " + json.dumps(ANSWER).encode() + b"\r\n\r\n"],
            {"content-type": "Text/Event-Stream"},
        ),
        stream(ANSWER, ANSWER, b"data: junk\n\n"),
    ],
    ids=range(8),
)
def test_responses_with_an_answer(response: Any) -> None:
    played = play(list_tools, FakeEndpoint(lambda request, value: response))
    assert played.error is None
    assert [tool.name for tool in played.value.tools] == ["a"]


def test_a_body_beyond_the_limit() -> None:
    far_end = FakeEndpoint(lambda request, value: Response(200, [b" " * 1_000_000] * 65))
    played = play(list_tools, far_end)
    assert isinstance(played.error, UnexpectedResponse)
    assert "more than 64000000 bytes" in str(played.error)
    assert far_end.exchanges[0].aborted


def test_the_headers_of_each_era() -> None:
    far_end = FakeEndpoint(lambda request, value: json_response(ANSWER))
    play(list_tools, far_end, client=Client(principal="token-1"))
    headers = far_end.requests[0].headers
    assert headers.get("MCP-Protocol-Version") == LATEST
    assert headers.get("Mcp-Method") == "tools/list"
    assert headers.get("Accept") == "application/json, text/event-stream"
    assert headers.get("Authorization") == "Bearer token-1"
    far_end = legacy_endpoint(Response(200))
    play(list_tools, far_end, client=Client(era="legacy"))
    versions = [request.headers.get("MCP-Protocol-Version") for request in far_end.requests]
    assert versions == [None, *["2025-11-25"] * 3]
    assert not any("Mcp-Method" in request.headers for request in far_end.requests)


# By hand


def raw(data: Any, far_end: Any, **more: Any) -> Reply:
    async def story(client: Client) -> Reply:
        return await client.send_raw(data, **more)

    played = play(story, far_end)
    assert played.error is None
    return played.value


def test_raw_bytes_go_out_as_they_are_and_everything_that_comes_back_is_kept() -> None:
    notice = {"jsonrpc": "2.0", "method": "x"}

    def respond(message: Any) -> list[Any]:
        return [{"jsonrpc": "2.0", "id": 99, "result": {}}, notice, b"junk\n", result(message, a=1)]

    far_end = FakeServer(respond)
    reply = raw('{"id": 5,  "jsonrpc":"2.0", "method":"x/y"}', far_end)
    assert reply.answer is not None
    assert reply.answer.id == 5
    assert reply.status is None
    assert [type(one).__name__ for one in reply.messages] == ["Notification", "MalformedMessage", "Response"]
    reply = raw(
        {"jsonrpc": "2.0", "id": 5, "method": "x/y"},
        FakeEndpoint(lambda request, value: stream(*respond(value)[:2], result(value, a=1))),
    )
    assert (reply.status, reply.headers.get("Content-Type")) == (200, "text/event-stream")
    assert len(reply.messages) == 3


def test_a_handshake_in_raw_bytes_begins_a_session_too() -> None:
    far_end = legacy_endpoint(Response(200))

    async def story(client: Client) -> None:
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
        await client.send_raw({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": params})
        await client.notify("notifications/initialized")

    play(story, far_end, client=Client(era="legacy"), connect=False)
    assert [request.headers.get("MCP-Session-Id") for request in far_end.requests] == [None, "s", "s"]


def test_raw_bytes_that_are_no_request() -> None:
    class Deaf(FakeServer):
        async def send(self, data: bytes) -> None:
            self.heard.append(data)
            self.say(*self._respond(data))

    nameless = {"jsonrpc": "2.0", "error": {"code": -32700, "message": ""}}
    far_end = Deaf(lambda data: [nameless])
    played = play(lambda client: client.send_raw(b"\xff{"), far_end)
    assert played.value.answer.code == -32700
    assert played.took_s == 0  # it is taken for the answer, so nobody waits any longer
    assert far_end.heard == [b"\xff{\n"]
    loose = Deaf(lambda data: [{"jsonrpc": "2.0", "id": 3, "error": {"code": -32600, "message": ""}}])
    answer = raw({"jsonrpc": "1.0", "id": 3}, loose).answer
    assert answer is not None
    assert answer.id == 3


def test_what_came_before_the_timeout_is_kept() -> None:
    far_end = FakeServer(lambda message: [{"jsonrpc": "2.0", "method": "x"}])
    reply = raw({"jsonrpc": "2.0", "id": 5, "method": "x/y"}, far_end, timeout_s=2)
    assert reply.answer is None
    assert len(reply.messages) == 1
    far_end = FakeServer(lambda message: [])
    assert raw({"jsonrpc": "2.0", "method": "x"}, far_end).messages == ()
    assert far_end.heard_methods() == ["x"]


def test_a_raw_batch_waits_for_all_its_answers() -> None:
    def respond(messages: Any) -> list[Any]:
        if not isinstance(messages, list):
            return handshake(messages, version="2025-03-26")
        return [result(messages[0]), {"jsonrpc": "2.0", "method": "x"}, [result(messages[1])]]

    async def story(client: Client) -> Reply:
        return await client.send_raw([{"jsonrpc": "2.0", "id": id, "method": "x/y"} for id in (11, 12)])

    client = Client(era="legacy", protocol_version="2025-03-26")
    played = play(story, FakeServer(respond), client=client)
    assert [isinstance(one, Batch) for one in played.value.messages] == [False, False, True]
    assert played.took_s == 0


def test_an_id_that_is_in_use_already() -> None:
    def respond(message: Any) -> list[Any]:
        if message["method"] == "slow":
            return []
        error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32600, "message": "In use."}}
        return [error, 1.0, result(message, late=True)]

    async def story(client: Client) -> Any:
        outcome: list[Any] = []

        async def slow() -> None:
            outcome.append(await client.request("slow"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(slow)
            await anyio.sleep(0.1)
            reply = await client.send_raw({"jsonrpc": "2.0", "id": 1, "method": "again"})
        return reply.answer, outcome

    played = play(story, FakeServer(respond))
    answer, outcome = played.value
    assert answer.code == -32600
    assert outcome == [{"late": True}]


def test_metadata_and_headers_by_hand() -> None:
    far_end = FakeEndpoint(lambda request, value: json_response(ANSWER))

    async def story(client: Client) -> Any:
        return await client.request(
            "tools/list",
            meta={CLIENT_CAPABILITIES: None, "x": 1},
            headers={"Mcp-Method": "", "MCP-Protocol-Version": "other"},
        )

    play(story, far_end)
    meta = far_end.heard()[0]["params"]["_meta"]
    assert CLIENT_CAPABILITIES not in meta
    assert meta["x"] == 1
    headers = far_end.requests[0].headers
    assert "Mcp-Method" not in headers
    assert headers.get("MCP-Protocol-Version") == "other"


def test_a_wire_that_has_ended_says_so_at_once() -> None:
    async def main() -> list[str]:
        far_end = FakeServer(lambda message: [])
        far_end.say(END)
        wire = StdioWire(far_end, Scribe())
        client = Client()
        seen: list[str] = []
        async with client.attached(wire, Scribe()):
            await anyio.sleep(1)
            for send in (
                client.list_tools,
                lambda: client.send_raw({"jsonrpc": "2.0", "id": 1, "method": "x"}),
            ):
                try:
                    await send()
                except ConnectionClosed as error:
                    seen.append(str(error))
        return seen

    assert run(main) == ["The server closed the connection before it answered."] * 2


def test_a_malformed_message_is_an_error_with_a_code() -> None:
    reply = raw(
        {"jsonrpc": "2.0", "id": 5, "method": "x/y"},
        FakeEndpoint(lambda request, value: json_response([1, 2])),
    )
    (only,) = reply.messages
    assert isinstance(only, Batch)
    assert all(isinstance(one, MalformedMessage) for one in only.members)


def test_subscribe_on_a_modern_connection_says_what_to_use_instead() -> None:
    async def story(client: Client) -> None:
        for ask in (client.subscribe, client.unsubscribe):
            with pytest.raises(McpSimError, match=r"has no such method. Use listen\(\)"):
                await ask("notice://monday")

    assert simulate(story, server=Server("desk")).recording.frames == ()


def test_a_server_that_is_known_to_be_modern_is_not_called_a_legacy_one() -> None:
    async def story(client: Client) -> list[str]:
        with pytest.raises(ProtocolError) as raised:
            await client.call_tool("no such tool")
        return getattr(raised.value, "__notes__", [])

    desk = Server("desk")
    desk.tool("look")(lambda: "seen")
    assert simulate(story, server=desk).value == []
    old = Server("desk", era="legacy")
    old.tool("look")(lambda: "seen")
    (note,) = simulate(story, server=old).value
    assert "connect with Client(era='auto')" in note


def test_an_error_for_a_missing_capability_says_how_to_declare_it() -> None:
    desk = Server("desk")

    @desk.tool(requires={"elicitation": {"form": {}}})
    def book() -> str:
        return "booked"

    async def story(client: Client) -> list[str]:
        with pytest.raises(ProtocolError) as raised:
            await client.call_tool("book")
        return raised.value.__notes__

    (note,) = simulate(story, server=desk).value
    assert "Client(elicit=" in note
