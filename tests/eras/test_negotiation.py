"""How a dual-era server and a dual-era client choose, and every pair of client and server."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from checked import simulate_checked
from hypothesis import given
from hypothesis import strategies as st
from talking import (
    INITIALIZED,
    LATEST,
    Endpoint,
    FakeEndpoint,
    FakeServer,
    Response,
    call,
    initialize,
    json_response,
    legacy,
    modern,
    notification,
    play,
    run,
    talk,
)

from mcpsim import (
    Client,
    ConnectionClosed,
    McpSimError,
    NegotiationFailed,
    ProtocolError,
    Server,
    Stdio,
    StreamableHttp,
)
from mcpsim.eras.negotiation import choose_era_of_server, read_probe
from mcpsim.eras.revisions import LEGACY_REVISIONS
from mcpsim.errors import ERROR_CODES
from mcpsim.messages import CLIENT_CAPABILITIES, PROTOCOL_VERSION, from_object

LATEST_LEGACY = LEGACY_REVISIONS[-1]


def desk(era: Any = "both") -> Server:
    server = Server("desk", era=era)
    server.tool("hello")(lambda: "hello")
    return server


# The server's choice

META = {PROTOCOL_VERSION: LATEST}


@pytest.mark.parametrize(
    ("message", "without_session", "in_session"),
    [
        (modern(1, "tools/list"), "modern", "modern"),
        (modern(1, "ping"), "modern", "modern"),
        ({**legacy(1, "tools/list"), "params": {"_meta": META}}, "modern", "modern"),
        (legacy(1, "tools/list", {"_meta": {CLIENT_CAPABILITIES: {}}}), "modern", "modern"),
        (legacy(1, "tools/list", {"_meta": {"progressToken": 1}}), "modern", "legacy"),
        (initialize(1), "legacy", "legacy"),
        (modern(1, "initialize", initialize(1)["params"]), "modern", "modern"),
        (legacy(1, "ping"), "legacy", "legacy"),
        (legacy(1, "tools/list"), "modern", "legacy"),
        (legacy(1, "server/discover"), "modern", "legacy"),
        (INITIALIZED, "legacy", "legacy"),
        (notification("notifications/cancelled", {"requestId": 1}), "modern", "legacy"),
        (notification("notifications/roots/list_changed"), "legacy", "legacy"),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, "legacy", "legacy"),
    ],
)
def test_how_the_message_decides(message: Any, without_session: str, in_session: str) -> None:
    assert choose_era_of_server(from_object(message), has_session=False) == without_session
    assert choose_era_of_server(from_object(message), has_session=True) == in_session


def test_a_client_that_opens_with_a_modern_request_is_served_at_once() -> None:
    said = talk(desk(), modern(1, "tools/list"))
    assert said.answer(1)["result"]["resultType"] == "complete"


def test_a_client_that_opens_with_initialize_gets_a_session() -> None:
    said = talk(desk(), initialize(1), INITIALIZED, legacy(2, "tools/list"))
    assert said.answer(1)["result"]["protocolVersion"] == LATEST_LEGACY
    assert "resultType" not in said.answer(2)["result"]


def test_a_modern_request_inside_a_session_is_served_as_one() -> None:
    said = talk(
        desk(),
        initialize(1),
        INITIALIZED,
        modern(2, "tools/list"),
        legacy(3, "tools/list"),
        modern(4, "ping"),
        legacy(5, "ping"),
        modern(6, "server/discover"),
    )
    assert said.answer(2)["result"]["resultType"] == "complete"
    assert "resultType" not in said.answer(3)["result"]
    assert said.answer(4)["error"]["code"] == -32601
    assert said.answer(5)["result"] == {}
    assert said.answer(6)["result"]["supportedVersions"][0] == LATEST


def test_a_modern_request_before_the_handshake_does_not_stand_in_its_way() -> None:
    said = talk(desk(), modern(1, "server/discover"), initialize(2), INITIALIZED, legacy(3, "tools/list"))
    assert "result" in said.answer(1)
    assert "result" in said.answer(2)
    assert "result" in said.answer(3)


def test_a_client_that_opens_with_a_ping() -> None:
    said = talk(desk(), legacy(1, "ping"), initialize(2))
    assert said.answer(1)["result"] == {}
    assert "result" in said.answer(2)


def test_a_request_of_neither_kind_is_told_what_is_missing() -> None:
    error = talk(desk(), legacy(1, "tools/list")).answer(1)["error"]
    assert error["code"] == -32602
    assert PROTOCOL_VERSION in error["message"]
    reply = run(lambda: Endpoint(desk()).ask(legacy(1, "tools/list")))
    assert (reply.status, reply.value["error"]["code"]) == (400, -32602)


def test_the_marks_of_a_legacy_client_over_http() -> None:
    async def main() -> list[Any]:
        endpoint = Endpoint(desk())
        headers = await endpoint.open()
        return [
            await endpoint.ask(legacy(1, "tools/list"), headers),
            await endpoint.ask(legacy(1, "tools/list"), MCP_Session_Id="stale"),
            await endpoint.ask(legacy(1, "tools/list"), MCP_Protocol_Version="2025-11-25"),
            await endpoint.modern(modern(1, "tools/list"), MCP_Session_Id="stale"),
            await endpoint.modern(modern(1, "tools/list"), MCP_Protocol_Version="2025-11-25"),
            await endpoint.ask(notification("no/such"), MCP_Protocol_Version=LATEST),
            await endpoint.ask(notification("no/such")),
        ]

    # In a session; in a stale one; one is missing; modern whatever else it says; two versions; the two last
    # are a modern notification, and one that belongs to no session.
    assert [reply.status for reply in run(main)] == [200, 404, 400, 200, 400, 202, 400]


def test_ids_of_both_eras_on_one_connection_are_one_space_while_they_are_in_work() -> None:
    server = desk()

    @server.tool()
    async def slow() -> str:
        await anyio.sleep(5)
        return "slept"

    said = talk(
        server,
        initialize("i"),
        INITIALIZED,
        modern(1, "tools/call", call("slow")),
        legacy(1, "tools/call", call("slow")),
        notification("notifications/cancelled", {"requestId": 1}),
    )
    assert [one["error"]["code"] for one in said.answers(1)] == [-32600]


@pytest.mark.parametrize(
    ("versions", "era"),
    [((LATEST,), "modern"), (("2025-11-25",), "legacy"), (("2025-11-25", LATEST), "both")],
)
def test_a_server_with_the_versions_of_one_era_is_of_that_era(versions: Any, era: str) -> None:
    server = Server("desk", versions=versions)
    server.tool("hello")(lambda: "hello")
    assert server.era == era
    for said in (
        talk(server, initialize(1), modern(2, "tools/list")),
        talk(server, modern(2, "tools/list"), initialize(1)),
    ):
        assert ("result" in said.answer(1)) == (era != "modern")
        assert ("result" in said.answer(2)) == (era != "legacy")


# The client's reading of the probe


def verdict(outcome: Any) -> tuple[str, str, bool]:
    read = read_probe(outcome, legacy_version="2025-06-18", modern_version=LATEST)
    return read.era, read.version, read.retry


def discovered(*versions: Any, **more: Any) -> dict[str, Any]:
    return {"resultType": "complete", "supportedVersions": list(versions), "capabilities": {}, **more}


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (discovered(LATEST), ("modern", LATEST, False)),
        (discovered("2099-01-01", LATEST, LATEST_LEGACY), ("modern", LATEST, False)),
        # Lists legacy versions alone: the handshake, with the version that the client prefers if it is there.
        (discovered(LATEST_LEGACY), ("legacy", LATEST_LEGACY, False)),
        (discovered("2025-06-18", "2024-11-05"), ("legacy", "2025-06-18", False)),
        # Not what server/discover brings back.
        ({}, ("legacy", "2025-06-18", False)),
        ({"supportedVersions": LATEST}, ("legacy", "2025-06-18", False)),
        (discovered(LATEST, resultType="input_required"), ("legacy", "2025-06-18", False)),
        ({"supportedVersions": [LATEST]}, ("modern", LATEST, False)),  # no resultType means complete
        (discovered(5, None, LATEST), ("modern", LATEST, False)),
        (None, ("legacy", "2025-06-18", False)),
        (ProtocolError(-32022, "", {"supported": [LATEST_LEGACY]}), ("legacy", LATEST_LEGACY, False)),
        (ProtocolError(-32020, "Header mismatch"), ("modern", LATEST, False)),
        (ProtocolError(-32021, "", {"requiredCapabilities": {}}), ("modern", LATEST, False)),
    ],
)
def test_what_the_probe_brings_back(outcome: Any, expected: tuple[str, str, bool]) -> None:
    assert verdict(outcome) == expected


def test_the_probe_asked_for_an_unknown_version_and_the_server_names_one_that_both_speak() -> None:
    error = ProtocolError(-32022, "", {"supported": [LATEST, LATEST_LEGACY], "requested": "2099-01-01"})
    read = read_probe(error, legacy_version=LATEST_LEGACY, modern_version="2099-01-01")
    assert (read.era, read.version, read.retry) == ("modern", LATEST, True)
    # The server answers the probe well although it does not list its version.
    read = read_probe(discovered(LATEST), legacy_version=LATEST_LEGACY, modern_version="2099-01-01")
    assert (read.era, read.version, read.retry) == ("modern", LATEST, False)


@pytest.mark.parametrize(
    "outcome",
    [
        discovered(),
        discovered("2099-01-01"),
        ProtocolError(-32022, "", {"supported": ["2099-01-01"]}),
        ProtocolError(-32022, "", {"supported": [LATEST]}),  # the one that it just refused
        ProtocolError(-32022, "", {"supported": []}),
        ProtocolError(-32022, "", {"supported": {}}),
        ProtocolError(-32022, "", [LATEST]),
        ProtocolError(-32022, ""),
    ],
)
def test_a_modern_server_without_a_common_version_is_no_legacy_server(outcome: Any) -> None:
    with pytest.raises(NegotiationFailed, match="this client speaks"):
        verdict(outcome)


codes = st.integers(-40000, 40000) | st.sampled_from(sorted(ERROR_CODES))


@given(codes)
def test_any_error_that_is_not_a_modern_one_means_legacy(code: int) -> None:
    era = read_probe(
        ProtocolError(code, "", {"supported": [LATEST]}), legacy_version=LATEST_LEGACY, modern_version="2099"
    ).era
    assert era == ("modern" if code in (-32020, -32021, -32022) else "legacy")


# The dual-era client against servers of every kind


async def tools(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


HINTS = {"ttlMs": 0, "cacheScope": "private"}
TOOLS = {"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]}


def legacy_answers(message: Any, refusal: Any) -> list[Any]:
    """A legacy server that answers whatever it does not know with `refusal`."""
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        result = {
            "protocolVersion": LATEST_LEGACY,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"},
        }
        return [{"jsonrpc": "2.0", "id": id, "result": result}]
    if method == "tools/list" and PROTOCOL_VERSION not in message.get("params", {}).get("_meta", {}):
        return [{"jsonrpc": "2.0", "id": id, "result": TOOLS}]
    if id is None:
        return []
    return refusal(id)


def error(code: int, data: Any = None) -> Any:
    body = (
        {"code": code, "message": "No."} if data is None else {"code": code, "message": "No.", "data": data}
    )
    return lambda id: [{"jsonrpc": "2.0", "id": id, "error": body}]


REFUSALS = {
    "-32601": error(-32601),
    "-32602": error(-32602),
    "-32000": error(-32000),
    "0": error(0),
    "silence": lambda id: [],
    "an empty result": lambda id: [{"jsonrpc": "2.0", "id": id, "result": {}}],
    "an error without id": lambda id: [{"jsonrpc": "2.0", "error": {"code": -32600, "message": "No."}}],
    "text": lambda id: [b"What?\n"],
    "legacy versions in -32022": error(-32022, {"supported": [LATEST_LEGACY], "requested": LATEST}),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_a_legacy_server_on_stdio_is_found_whatever_it_answers(refusal: Any) -> None:
    server = FakeServer(lambda message: legacy_answers(message, refusal))
    played = play(tools, server, client=Client(era="auto", probe_timeout_s=3))
    assert (played.value, played.error) == (["hello"], None)
    assert (played.client.era, played.client.version) == ("legacy", LATEST_LEGACY)
    heard = [method for method in server.heard_methods() if method != "notifications/cancelled"]
    assert heard == ["server/discover", "initialize", "notifications/initialized", "tools/list"]


HTTP_REFUSALS = {
    "400": lambda value: Response(400),
    "400 with text": lambda value: Response(400, [b"Bad Request"], {"Content-Type": "text/plain"}),
    "400 with JSON": lambda value: json_response({"error": "no session"}, 400),
    "400 with -32600": lambda value: json_response(*error(-32600)(value["id"]), 400),
    "400 with an error without id": lambda value: json_response(*error(-32000)(None), 400),
    "404": lambda value: Response(404),
    "404 with -32601": lambda value: json_response(*error(-32601)(value["id"]), 404),
    "405": lambda value: Response(405),
    "406": lambda value: Response(406),
    "200 with -32601": lambda value: json_response(*error(-32601)(value["id"])),
    "202": lambda value: Response(202),
    "-32022 with legacy versions": lambda value: json_response(
        *error(-32022, {"supported": [LATEST_LEGACY]})(value["id"]), 400
    ),
}


def legacy_endpoint(refusal: Any) -> FakeEndpoint:
    def respond(request: Any, value: Any) -> Response:
        if value is None:
            return Response(200)
        if value.get("method") == "server/discover":
            return refusal(value)
        answers = legacy_answers(value, error(-32601))
        return json_response(answers[0], MCP_Session_Id="s1") if answers else Response(202)

    return FakeEndpoint(respond)


@pytest.mark.parametrize("refusal", HTTP_REFUSALS.values(), ids=HTTP_REFUSALS)
def test_a_legacy_server_over_http_is_found_by_its_body(refusal: Any) -> None:
    endpoint = legacy_endpoint(refusal)
    played = play(tools, endpoint, client=Client(era="auto"))
    assert (played.value, played.error) == (["hello"], None)
    assert endpoint.heard_methods() == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
        "DELETE",
    ]
    assert [request.headers.get("MCP-Session-Id") for request in endpoint.requests] == [
        None,
        None,
        "s1",
        "s1",
        "s1",
    ]


def test_a_silent_endpoint_is_taken_for_a_legacy_one_after_the_probes_timeout() -> None:
    endpoint = legacy_endpoint(lambda value: Response(0))
    played = play(tools, endpoint, client=Client(era="auto", probe_timeout_s=3))
    assert played.value == ["hello"]
    assert played.took_s == 3
    assert endpoint.exchanges[0].aborted


@pytest.mark.parametrize("response", [None, Response(200, [], {"Content-Type": "text/event-stream"})])
def test_a_broken_connection_says_nothing_about_the_era(response: Any) -> None:
    endpoint = FakeEndpoint(lambda request, value: response)
    played = play(tools, endpoint, client=Client(era="auto"))
    assert isinstance(played.error, ConnectionClosed)
    assert endpoint.heard_methods() == ["server/discover"]


def discover_answers(*versions: str) -> dict[str, Any]:
    return {
        "resultType": "complete",
        "supportedVersions": list(versions),
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "private",
    }


def modern_server(supported: list[str], *, strict: bool = True) -> FakeServer:
    def respond(message: Any) -> list[Any]:
        id = message.get("id")
        if id is None:
            return []
        version = message.get("params", {}).get("_meta", {}).get(PROTOCOL_VERSION)
        if message["method"] == "initialize":
            return error(-32601, {"supported": supported})(id)
        if strict and version not in supported:
            return error(-32022, {"supported": supported, "requested": version})(id)
        if message["method"] == "server/discover":
            return [{"jsonrpc": "2.0", "id": id, "result": discover_answers(*supported)}]
        return [
            {
                "jsonrpc": "2.0",
                "id": id,
                "result": {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **TOOLS},
            }
        ]

    return FakeServer(respond)


@pytest.mark.parametrize("strict", [True, False])
def test_the_client_prefers_a_version_that_the_server_does_not_speak(strict: bool) -> None:
    server = modern_server([LATEST], strict=strict)
    played = play(tools, server, client=Client(era="auto", protocol_version="2099-01-01"))
    assert played.value == ["hello"]
    assert (played.client.era, played.client.version) == ("modern", LATEST)
    probes = 2 if strict else 1
    assert server.heard_methods() == ["server/discover"] * probes + ["tools/list"]


def test_nothing_in_common_is_an_error_that_names_both_sides() -> None:
    played = play(tools, modern_server(["2099-01-01"]), client=Client(era="auto"))
    assert isinstance(played.error, NegotiationFailed)
    assert "2099-01-01" in str(played.error)
    assert LATEST in str(played.error)


def test_a_server_that_refuses_what_it_lists_does_not_lead_round_in_circles() -> None:
    server = FakeServer(lambda message: error(-32022, {"supported": [LATEST]})(message["id"]))
    played = play(tools, server, client=Client(era="auto", protocol_version="2099-01-01"))
    assert isinstance(played.error, NegotiationFailed)
    assert server.heard_methods() == ["server/discover"] * 2


def test_a_modern_server_that_is_too_slow_for_the_probe_is_found_by_its_refusal_of_initialize() -> None:
    def respond(message: Any) -> list[Any]:
        answers = modern_server([LATEST])._respond(message)
        return [4.0, *answers] if message.get("method") == "server/discover" else answers

    server = FakeServer(respond)
    played = play(tools, server, client=Client(era="auto", probe_timeout_s=1))
    assert played.value == ["hello"]
    assert (played.client.era, played.client.version) == ("modern", LATEST)
    # The late answer to the probe came too: it is ignored.
    assert any("nobody waits" in note for note in played.notes)


def test_a_modern_client_changes_its_version_when_the_server_asks_for_it() -> None:
    server = modern_server([LATEST])
    played = play(tools, server, client=Client(era="modern", protocol_version="2099-01-01"))
    assert (played.value, played.client.version) == (["hello"], LATEST)
    assert server.heard_methods() == ["tools/list"] * 2
    by_hand = play(
        lambda client: client.request("tools/list"),
        modern_server([LATEST]),
        client=Client(era="modern", protocol_version="2099-01-01"),
    )
    assert isinstance(by_hand.error, ProtocolError)
    assert by_hand.error.data == {"supported": [LATEST], "requested": "2099-01-01"}


def test_the_handshake_with_a_version_that_the_client_does_not_speak_fails() -> None:
    def respond(message: Any) -> list[Any]:
        (answer,) = legacy_answers(message, error(-32601)) or [None]
        if answer and "result" in answer:
            answer["result"]["protocolVersion"] = "2023-01-01"
        return [answer] if answer else []

    server = FakeServer(respond)
    played = play(tools, server, client=Client(era="legacy"))
    assert isinstance(played.error, NegotiationFailed)
    assert "2023-01-01" in str(played.error)
    assert server.heard_methods() == ["initialize"]


def test_a_legacy_server_that_counters_with_an_older_version() -> None:
    async def story(client: Client) -> str:
        await client.list_tools()
        return client.version

    played = simulate_checked(
        story, server=Server("old", era="legacy", versions=("2024-11-05",)), era="legacy", check=False
    )
    assert isinstance(played.error, McpSimError)  # it has no tools, and did not say that it had
    server = Server("old", era="legacy", versions=("2024-11-05",))
    server.tool("hello")(lambda: "hello")
    for transport in (Stdio(), StreamableHttp()):
        assert simulate_checked(story, server=server, era="auto", transport=transport).value == "2024-11-05"


def test_a_refused_handshake_says_why() -> None:
    server = FakeServer(
        lambda message: error(-32602, {"supported": ["1.0"], "requested": LATEST_LEGACY})(message["id"])
    )
    played = play(tools, server, client=Client(era="legacy"))
    assert isinstance(played.error, NegotiationFailed)
    assert "-32602" in str(played.error)
    assert "1.0" in str(played.error)


# The compatibility matrix
# https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#compatibility-matrix

ERAS = ("legacy", "modern", "both")
FAILS = {
    # Client, server: the words of an error that says what to do.
    ("modern", "legacy"): "send initialize first",
    ("legacy", "modern"): "connect with Client(era='auto')",
}


@pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])
@pytest.mark.parametrize("server", ERAS)
@pytest.mark.parametrize("client", ["legacy", "modern", "auto"])
def test_the_compatibility_matrix(client: Any, server: Any, transport: Any) -> None:
    async def story(user: Client) -> tuple[str, str]:
        result = await user.call_tool("hello")
        return user.era, result.content[0].text

    played = simulate_checked(story, server=desk(server), era=client, transport=transport, check=False)
    words = FAILS.get((client, server))
    if words is None:
        expected = "legacy" if "legacy" in (client, server) else "modern"
        assert (played.value, played.error) == ((expected, "hello"), None)
        return
    assert isinstance(played.error, McpSimError)
    assert words in str(played.error)
    if client == "modern":
        assert "Client(era='auto')" in " ".join(played.error.__notes__)
    else:
        assert LATEST in str(played.error)


@pytest.mark.parametrize(
    "far_end",
    [
        lambda: FakeServer(lambda message: []),
        lambda: FakeServer(lambda message: error(-32000)(message["id"])),
        lambda: FakeEndpoint(lambda request, value: Response(0)),
        lambda: FakeEndpoint(lambda request, value: Response(400)),
    ],
    ids=["silent pipe", "refusing pipe", "silent endpoint", "refusing endpoint"],
)
def test_a_modern_client_at_a_foreign_legacy_server_does_not_hang_and_is_advised(far_end: Any) -> None:
    played = play(tools, far_end(), client=Client(timeout_s=30))
    assert isinstance(played.error, McpSimError)
    assert any("Client(era='auto')" in note for note in played.error.__notes__)
    assert played.took_s <= 36
