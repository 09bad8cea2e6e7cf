"""The legacy session: every phase and arrival, versions, ids, batches, shutdown, on both transports."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from checked import simulate_checked
from talking import (
    BREAK,
    INITIALIZED,
    LEGACY_HEADERS,
    Endpoint,
    Reply,
    as_bytes,
    call,
    handlers_of,
    initialize,
    legacy,
    modern,
    notification,
    opening,
    run,
    talk,
)

from mcpsim import Client, Context, ProtocolError, Server, Stdio, StreamableHttp
from mcpsim.eras.legacy import Action, Arrival, Phase, Session, arrival_of, choose_version, next_step
from mcpsim.eras.revisions import LEGACY_REVISIONS
from mcpsim.messages import ErrorResponse, Notification, Request, Response, from_object
from mcpsim.server.http_sessions import MAX_SESSIONS, MAX_SHOWN
from mcpsim.transports.http import Headers, HttpRequest

NEWEST_FIRST = tuple(reversed(LEGACY_REVISIONS))
LATEST_LEGACY = NEWEST_FIRST[0]


def desk(**settings: Any) -> Server:
    server = Server("desk", era=settings.pop("era", "legacy"), **settings)

    @server.tool()
    async def slow(seconds: float = 1.0) -> str:
        await anyio.sleep(seconds)
        return f"slept {seconds:g}"

    @server.tool()
    def shout(text: str) -> str:
        return text.upper()

    return server


# The table

REFUSE, IGNORE, END = (Action.REFUSE, Action.IGNORE, Action.END)
PING, ACCEPT = (Action.ANSWER_PING, Action.ACCEPT)
EXPECTED: dict[Phase, dict[Arrival, tuple[Action, Phase]]] = {
    Phase.NEW: {
        Arrival.INITIALIZE: (Action.ANSWER_INITIALIZE, Phase.INITIALIZING),
        Arrival.INITIALIZED: (IGNORE, Phase.NEW),
        Arrival.PING: (PING, Phase.NEW),
        Arrival.REQUEST: (REFUSE, Phase.NEW),
        Arrival.NOTIFICATION: (IGNORE, Phase.NEW),
        Arrival.RESPONSE: (IGNORE, Phase.NEW),
        Arrival.CLOSE: (END, Phase.CLOSED),
    },
    Phase.INITIALIZING: {
        Arrival.INITIALIZE: (REFUSE, Phase.INITIALIZING),
        Arrival.INITIALIZED: (Action.BEGIN, Phase.OPERATING),
        Arrival.PING: (PING, Phase.INITIALIZING),
        Arrival.REQUEST: (REFUSE, Phase.INITIALIZING),
        Arrival.NOTIFICATION: (ACCEPT, Phase.INITIALIZING),
        Arrival.RESPONSE: (ACCEPT, Phase.INITIALIZING),
        Arrival.CLOSE: (END, Phase.CLOSED),
    },
    Phase.OPERATING: {
        Arrival.INITIALIZE: (REFUSE, Phase.OPERATING),
        Arrival.INITIALIZED: (IGNORE, Phase.OPERATING),
        Arrival.PING: (PING, Phase.OPERATING),
        Arrival.REQUEST: (Action.SERVE, Phase.OPERATING),
        Arrival.NOTIFICATION: (ACCEPT, Phase.OPERATING),
        Arrival.RESPONSE: (ACCEPT, Phase.OPERATING),
        Arrival.CLOSE: (END, Phase.CLOSED),
    },
    Phase.CLOSED: {
        Arrival.INITIALIZE: (REFUSE, Phase.CLOSED),
        Arrival.INITIALIZED: (IGNORE, Phase.CLOSED),
        Arrival.PING: (REFUSE, Phase.CLOSED),
        Arrival.REQUEST: (REFUSE, Phase.CLOSED),
        Arrival.NOTIFICATION: (IGNORE, Phase.CLOSED),
        Arrival.RESPONSE: (IGNORE, Phase.CLOSED),
        Arrival.CLOSE: (IGNORE, Phase.CLOSED),
    },
}
CASES = [(phase, arrival) for phase in Phase for arrival in Arrival]

MESSAGES = {
    Arrival.INITIALIZE: initialize(1),
    Arrival.INITIALIZED: INITIALIZED,
    Arrival.PING: legacy(1, "ping"),
    Arrival.REQUEST: legacy(1, "tools/list"),
    Arrival.NOTIFICATION: notification("notifications/roots/list_changed"),
    Arrival.RESPONSE: {"jsonrpc": "2.0", "id": 1, "result": {}},
}
LEADING_TO = {Phase.NEW: [], Phase.INITIALIZING: opening()[:1], Phase.OPERATING: opening()}


@pytest.mark.parametrize(("phase", "arrival"), CASES)
def test_every_arrival_in_every_phase(phase: Phase, arrival: Arrival) -> None:
    assert next_step(phase, arrival) == EXPECTED[phase][arrival]


@pytest.mark.parametrize(
    ("message", "arrival"),
    [
        (Request(1, "initialize"), Arrival.INITIALIZE),
        (Request(1, "ping"), Arrival.PING),
        (Request(1, "notifications/initialized"), Arrival.REQUEST),
        (Notification("notifications/initialized"), Arrival.INITIALIZED),
        (Notification("ping"), Arrival.NOTIFICATION),
        (Notification("initialize"), Arrival.NOTIFICATION),
        (Response(1, {}), Arrival.RESPONSE),
        (ErrorResponse(None, 1, ""), Arrival.RESPONSE),
    ],
)
def test_what_kind_of_arrival_a_message_is(message: Any, arrival: Arrival) -> None:
    assert arrival_of(message) is arrival


@pytest.mark.parametrize(
    ("phase", "arrival"), [pair for pair in CASES if pair[0] in LEADING_TO and pair[1] in MESSAGES]
)
def test_every_arrival_on_the_wire(phase: Phase, arrival: Arrival) -> None:
    action, after = EXPECTED[phase][arrival]
    said = talk(desk(), *LEADING_TO[phase], MESSAGES[arrival], legacy("then", "tools/list"))
    answers = said.answers(1)
    if action is REFUSE:
        assert [one["error"]["code"] for one in answers] == [-32600]
    elif action is PING:
        assert answers == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    elif action is Action.ANSWER_INITIALIZE:
        assert answers[0]["result"]["protocolVersion"] == LATEST_LEGACY
    elif action is Action.SERVE:
        assert [tool["name"] for tool in answers[0]["result"]["tools"]] == ["shout", "slow"]
    else:
        assert answers == []
    # The phase afterwards shows by what becomes of a request.
    assert ("result" in said.answer("then")) == (after is Phase.OPERATING)


@pytest.mark.parametrize("arrival", [one for one in MESSAGES if one not in (Arrival.NOTIFICATION,)])
def test_after_the_end_a_session_takes_nothing(arrival: Arrival) -> None:
    session = Session(NEWEST_FIRST, phase=Phase.CLOSED)
    message = from_object(MESSAGES[arrival])
    if isinstance(message, Request):
        with pytest.raises(ProtocolError, match=r"after the session was closed|initialized already"):
            session.take(message)
    else:
        assert session.take(message) is IGNORE
    assert session.phase is Phase.CLOSED


def test_a_refusal_before_the_handshake_says_what_to_do() -> None:
    error = talk(desk(), legacy(1, "tools/list")).answer(1)["error"]
    assert "send initialize first" in error["message"]
    assert all(version in error["message"] for version in LEGACY_REVISIONS)
    between = talk(desk(), initialize("i"), legacy(1, "tools/list")).answer(1)["error"]
    assert "notifications/initialized" in between["message"]


# Versions


@pytest.mark.parametrize("version", LEGACY_REVISIONS)
def test_each_revision_is_answered_with_itself(version: str) -> None:
    assert choose_version(version, NEWEST_FIRST) == version
    result = talk(desk(), initialize(1, version)).answer(1)["result"]
    assert result["protocolVersion"] == version
    assert result["serverInfo"] == {"name": "desk", "version": "1.0.0"}
    assert result["capabilities"] == {"tools": {}}


@pytest.mark.parametrize("version", ["1.0.0", "", "2026-07-28", "2024-11-05 ", "latest"])
def test_an_unknown_revision_is_answered_with_the_latest(version: str) -> None:
    assert (
        talk(desk(era="both"), initialize(1, version)).answer(1)["result"]["protocolVersion"] == LATEST_LEGACY
    )


@pytest.mark.parametrize(
    ("requested", "chosen"), [("2025-11-25", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("x", "2025-06-18")]
)
def test_a_server_with_fewer_revisions(requested: str, chosen: str) -> None:
    server = desk(versions=("2024-11-05", "2025-06-18"))
    assert talk(server, initialize(1, requested)).answer(1)["result"]["protocolVersion"] == chosen


@pytest.mark.parametrize(
    "change",
    [
        {"protocolVersion": None},
        {"protocolVersion": 20251125},
        {"capabilities": None},
        {"capabilities": []},
        {"clientInfo": None},
        {"clientInfo": {}},
        {"clientInfo": {"name": "a"}},
        {"clientInfo": {"name": "a", "version": 1}},
    ],
)
def test_initialize_with_a_wrong_parameter_leaves_the_session_new(change: dict[str, Any]) -> None:
    message = initialize(1)
    message["params"].update(change)
    for one in (
        message,
        {**message, "params": {k: v for k, v in message["params"].items() if k not in change}},
    ):
        said = talk(desk(), one, initialize(2))
        assert said.answer(1)["error"]["code"] == -32602
        assert next(iter(change)) in said.answer(1)["error"]["message"]
        assert said.answer(2)["result"]["protocolVersion"] == LATEST_LEGACY
    reply = run(lambda: Endpoint(desk()).ask(message))
    assert (reply.status, reply.value["error"]["code"]) == (200, -32602)
    assert reply.header("MCP-Session-Id") is None


@pytest.mark.parametrize("version", LEGACY_REVISIONS)
@pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])
def test_a_whole_session_in_each_revision(version: str, transport: Any) -> None:
    async def story(client: Client) -> Any:
        await client.ping()
        listed = await client.list_tools()
        result = await client.call_tool("shout", {"text": "hi"})
        return client.version, [tool.name for tool in listed.tools], result.content[0].text

    client = Client(era="legacy", protocol_version=version)
    played = simulate_checked(story, server=desk(), client=client, transport=transport)
    assert played.value == (version, ["shout", "slow"], "HI")
    has_header = b"MCP-Protocol-Version" in b"".join(
        str(frame.head).encode() for frame in played.recording.frames
    )
    assert has_header == (version >= "2025-06-18" and transport.name == "http")


# What the revision and the capabilities allow


def test_results_of_a_session_have_nothing_modern_in_them() -> None:
    said = talk(desk(ttl_ms=5), *opening(), legacy(1, "tools/list"), legacy(2, "tools/call", call("slow")))
    for id in (1, 2):
        assert not said.answer(id)["result"].keys() & {"resultType", "_meta", "ttlMs", "cacheScope"}


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen", "prompts/list", "no/such"])
def test_methods_that_a_session_does_not_have(method: str) -> None:
    said = talk(desk(), *opening(), legacy(1, method))
    assert said.answer(1)["error"]["code"] == -32601


def test_a_tool_that_needs_a_capability_looks_at_the_session() -> None:
    server = Server("desk", era="legacy")
    server.tool("book", requires={"sampling": {}})(lambda: "booked")
    without = talk(server, *opening(), legacy(1, "tools/call", call("book")))
    assert without.answer(1)["error"]["code"] == -32600
    assert "sampling" in without.answer(1)["error"]["message"]
    with_it = talk(server, *opening(capabilities={"sampling": {}}), legacy(1, "tools/call", call("book")))
    assert with_it.answer(1)["result"]["content"][0]["text"] == "booked"


@pytest.mark.parametrize("version", LEGACY_REVISIONS)
def test_arguments_that_do_not_fit_by_revision(version: str) -> None:
    said = talk(
        desk(),
        *opening(version),
        legacy(1, "tools/call", call("shout", {"text": 5})),
        legacy(2, "tools/call", call("nobody")),
    )
    if version == "2025-11-25":
        assert said.answer(1)["result"]["isError"] is True
    else:
        assert said.answer(1)["error"]["code"] == -32602
    assert said.answer(2)["error"] == {"code": -32602, "message": "Unknown tool: nobody"}


# Ids


def test_no_id_is_used_twice_in_a_session() -> None:
    lines = [*opening(), legacy(1, "tools/list"), 1.0, legacy(1, "tools/list"), legacy("1", "ping")]
    said = talk(desk(), *lines, legacy("open", "ping"))
    codes = [one.get("error", {}).get("code") for one in said.answers(1)]
    assert codes == [None, -32600]
    assert "result" in said.answer("1")  # another type, another id
    assert said.answers("open")[1]["error"]["code"] == -32600  # the id of initialize counts too


@pytest.mark.parametrize("id", [0, -1, "", "x" * 500, 2**70])
def test_unusual_ids_come_back_as_they_were(id: Any) -> None:
    assert "result" in talk(desk(), *opening(), legacy(id, "ping")).answer(id)


# Batches

BATCH = [
    legacy(1, "tools/call", call("slow", {"seconds": 2})),
    notification("notifications/roots/list_changed"),
    legacy(2, "ping"),
    {"jsonrpc": "2.0", "id": 3, "method": 5},
    {"jsonrpc": "2.0", "method": 5},
    7,
    legacy(4, "no/such"),
    legacy(2, "tools/list"),
    {"jsonrpc": "2.0", "id": 99, "result": {}},
    initialize(5),
]


def check_batch_answer(answers: Any) -> None:
    assert [one.get("id") for one in answers] == [1, 2, 3, None, 4, 2, 5]
    codes = [one.get("error", {}).get("code") for one in answers]
    assert codes == [None, None, -32600, -32600, -32601, -32600, -32600]
    assert answers[0]["result"]["content"][0]["text"] == "slept 2"


def test_a_batch_is_answered_as_one_array_in_order() -> None:
    said = talk(desk(), *opening("2025-03-26"), BATCH, legacy(9, "ping"))
    arrays = [value for value in said.values if isinstance(value, list)]
    assert len(arrays) == 1
    check_batch_answer(arrays[0])
    # What came behind the batch did not wait for it.
    assert said.values.index(said.answer(9)) < said.values.index(arrays[0])


def test_a_batch_over_http() -> None:
    async def main() -> Reply:
        endpoint = Endpoint(desk())
        headers = await endpoint.open("2025-03-26")
        return await endpoint.ask(BATCH, headers)

    reply = run(main)
    assert (reply.status, reply.header("Content-Type")) == (200, "application/json")
    check_batch_answer(reply.value)


NOTHING_TO_ANSWER = [
    [notification("notifications/roots/list_changed")] * 2,
    [{"jsonrpc": "2.0", "id": 99, "result": {}}],
    [{"jsonrpc": "2.0", "method": 5}],
]


@pytest.mark.parametrize("batch", NOTHING_TO_ANSWER, ids=["notifications", "responses", "malformed"])
def test_a_batch_without_requests_is_not_answered(batch: Any) -> None:
    said = talk(desk(), *opening("2025-03-26"), batch)
    assert len(said.values) == 1

    async def main() -> Reply:
        endpoint = Endpoint(desk())
        return await endpoint.ask(batch, await endpoint.open("2025-03-26"))

    reply = run(main)
    # What nobody waits for is not accepted; a single response gets the same.
    is_accepted = "result" not in batch[0]
    assert reply.status == (202 if is_accepted else 400)
    assert (reply.body == b"") == is_accepted


@pytest.mark.parametrize("version", [one for one in LEGACY_REVISIONS if one != "2025-03-26"])
def test_other_revisions_have_no_batches(version: str) -> None:
    said = talk(desk(), *opening(version), [legacy(1, "ping")])
    assert (said.values[1]["error"]["code"], said.values[1].get("id")) == (-32600, None)

    async def main() -> Reply:
        endpoint = Endpoint(desk())
        return await endpoint.ask([legacy(1, "ping")], await endpoint.open(version))

    reply = run(main)
    assert (reply.status, reply.value["error"]["code"]) == (400, -32600)


def test_a_batch_may_hold_what_ends_the_handshake() -> None:
    batch = [INITIALIZED, legacy(1, "tools/list")]
    said = talk(desk(), initialize("i", "2025-03-26"), batch)
    assert "result" in said.answer(1)
    states = [
        event.detail["phase"] for event in said.recorder.events if event.kind == "state" and event.detail
    ]
    assert states == ["initializing", "operating"]

    async def main() -> list[str]:
        endpoint = Endpoint(desk())
        first = await endpoint.ask(initialize("i", "2025-03-26"))
        reply = await endpoint.ask(batch, MCP_Session_Id=first.header("MCP-Session-Id"))
        assert "result" in reply.value[0]
        return [event.detail["phase"] for event in endpoint.recorder.events if event.kind == "state"]

    assert run(main) == ["initializing", "operating"]


def test_no_batch_before_the_version_is_known_and_no_empty_one() -> None:
    assert talk(desk(), [initialize(1, "2025-03-26")]).values[0]["error"]["code"] == -32600
    assert talk(desk(), *opening("2025-03-26"), []).values[1]["error"]["code"] == -32600


def test_cancelled_members_of_a_batch_are_left_out() -> None:
    batch = [legacy(id, "tools/call", call("slow", {"seconds": 9})) for id in (1, 2)]
    cancel = [notification("notifications/cancelled", {"requestId": id}) for id in (1, 2)]
    one = talk(desk(), *opening("2025-03-26"), batch, 1.0, cancel[0])
    assert [answer["id"] for answer in one.values[1]] == [2]
    both = talk(desk(), *opening("2025-03-26"), batch, 1.0, cancel[0], cancel[1])
    assert len(both.values) == 1


def test_a_batch_whose_requests_are_all_cancelled_over_http() -> None:
    async def main() -> Reply:
        endpoint = Endpoint(desk())
        headers = await endpoint.open("2025-03-26")
        reply = Reply()
        async with anyio.create_task_group() as tasks:
            batch = [legacy(1, "tools/call", call("slow", {"seconds": 9}))]
            tasks.start_soon(lambda: endpoint.ask(batch, headers, reply=reply))
            await anyio.sleep(1)
            await endpoint.ask(notification("notifications/cancelled", {"requestId": 1}), headers)
        return reply

    reply = run(main)
    assert (reply.status, reply.is_stream, reply.values, reply.ended) == (200, True, [], True)


# Ping from the server


def pinging() -> Server:
    server = Server("desk", era="legacy")

    @server.tool()
    async def check(context: Context, times: int = 1) -> str:
        for _ in range(times):
            await context.ping()
        return "there"

    return server


@pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])
def test_the_server_pings_the_client(transport: Any) -> None:
    async def story(client: Client) -> str:
        return (await client.call_tool("check", {"times": 2})).content[0].text

    played = simulate_checked(story, server=pinging(), era="legacy", transport=transport)
    assert played.value == "there"
    pings = [
        frame.parsed
        for frame in played.recording.frames
        if isinstance(frame.parsed, Request) and frame.parsed.method == "ping" and frame.sender == "server"
    ]
    assert [ping.id for ping in pings] == [1, 2]


def test_the_servers_ping_runs_over_the_stream_of_the_request_and_its_answer_comes_by_post() -> None:
    async def main() -> tuple[Reply, Reply, Reply]:
        endpoint = Endpoint(pinging())
        headers = await endpoint.open()
        reply = Reply()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                lambda: endpoint.ask(legacy(5, "tools/call", call("check")), headers, reply=reply)
            )
            await anyio.sleep(1)
            ping = reply.values[0]
            wrong = await endpoint.ask({"jsonrpc": "2.0", "id": 77, "result": {}}, headers)
            right = await endpoint.ask({"jsonrpc": "2.0", "id": ping["id"], "result": {}}, headers)
        return reply, wrong, right

    reply, wrong, right = run(main)
    assert reply.is_stream
    assert [value.get("method", "answer") for value in reply.values] == ["ping", "answer"]
    assert reply.value["result"]["content"][0]["text"] == "there"
    assert (right.status, right.body) == (202, b"")
    # A response that nobody waits for cannot be accepted.
    assert wrong.status == 400
    assert "id" not in wrong.value


def test_a_ping_without_answer_times_out_and_is_withdrawn() -> None:
    said = talk(pinging(), *opening(), legacy(5, "tools/call", call("check")), wait=100.0)
    assert [value.get("method") for value in said.values] == [None, "ping", "notifications/cancelled", None]
    assert said.values[2]["params"] == {"requestId": said.values[1]["id"]}
    assert said.answer(5)["result"]["isError"] is True
    assert any("RequestTimeout" in note for note in said.notes)


@pytest.mark.parametrize("code", [-32601, 7])
def test_an_error_on_the_servers_ping_reaches_the_handler(code: int) -> None:
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no"}}
    server = Server("desk", era="legacy")
    seen: list[int] = []

    @server.tool()
    async def check(context: Context) -> str:
        try:
            await context.ping()
        except ProtocolError as error:
            seen.append(error.code)
        return "gone"

    said = talk(server, *opening(), legacy(5, "tools/call", call("check")), 1.0, error, error)
    assert seen == [code]
    assert said.answer(5)["result"]["content"][0]["text"] == "gone"
    # The second answer to the same request is nobody's.
    assert any("nobody waits" in note for note in said.notes)


@pytest.mark.parametrize(
    ("version", "capabilities", "method", "why"),
    [
        ("2025-11-25", {}, "sampling/createMessage", "the client did not declare sampling"),
        ("2025-11-25", {}, "roots/list", "the client did not declare roots"),
        ("2025-03-26", {"elicitation": {}}, "elicitation/create", "not a request that a server sends"),
        ("2025-11-25", {}, "tools/list", "not a request that a server sends"),
        ("2025-11-25", {}, "notifications/message", "not a request that a server sends"),
    ],
)
def test_a_server_asks_only_what_was_negotiated(
    version: str, capabilities: Any, method: str, why: str
) -> None:
    server = Server("desk", era="legacy")

    @server.tool()
    async def ask(context: Context) -> str:
        await context.request(method, {})
        return "asked"

    said = talk(server, *opening(version, capabilities), legacy(5, "tools/call", call("ask")))
    assert said.answer(5)["result"]["isError"] is True
    assert any(why in note for note in said.notes)
    assert not any("method" in value for value in said.values)


# Shutdown


def cleaning(log: list[str]) -> Server:
    server = Server("desk", era="both")

    @server.tool()
    async def work(name: str) -> str:
        try:
            await anyio.sleep(100)
        finally:
            log.append(f"{name} stops")
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.5)
            log.append(f"{name} stopped")
        return name

    return server


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("end", ["end of input", "cut"])
def test_when_the_input_ends_the_handlers_are_stopped_one_by_one(era: str, end: str) -> None:
    log: list[str] = []
    make = legacy if era == "legacy" else modern
    requests = [make(n, "tools/call", call("work", {"name": f"job {n}"})) for n in (3, 1, 2)]
    lines = [*(opening() if era == "legacy" else []), *requests, 1.0]
    said = talk(cleaning(log), *lines, *([BREAK] if end == "cut" else []), wait=0.0)
    assert log == [f"job {n} {what}" for what in ("stops", "stopped") for n in (3, 1, 2)]
    assert said.answers(1) == said.answers(2) == said.answers(3) == []
    assert [kind for kind, _ in handlers_of(said.recorder)[3:]] == ["handler_cancelled"] * 3
    assert [id for _, id in handlers_of(said.recorder)[3:]] == [3, 1, 2]
    assert said.closed


def test_what_the_server_remembers_from_the_handshake_to_the_end() -> None:
    said = talk(desk(), *opening(capabilities={"roots": {}}), legacy(1, "ping"))
    states = [event.detail for event in said.recorder.events if event.kind == "state"]
    session = {
        "version": LATEST_LEGACY,
        "client": {"name": "tester", "version": "1"},
        "client capabilities": {"roots": {}},
    }
    assert states == [{"phase": "initializing", **session}, {"phase": "operating", **session}, {}]
    nothing = talk(desk(era="both"), modern(1, "tools/list"), legacy(2, "ping"))
    assert not any(event.kind == "state" for event in nothing.recorder.events)


def test_a_message_cut_off_by_the_end_of_the_input_is_noted() -> None:
    said = talk(desk(), *opening(), b'{"jsonrpc":"2.0","id":1,"method":"pi')
    assert said.answers(1) == []
    assert any("in the middle of a message" in note for note in said.notes)


def test_delete_ends_a_session_and_stops_its_work() -> None:
    log: list[str] = []

    async def main() -> list[Reply]:
        endpoint = Endpoint(cleaning(log))
        headers, others = await endpoint.open(), await endpoint.open()
        replies = [Reply(), Reply()]
        async with anyio.create_task_group() as tasks:
            for number, (reply, session) in enumerate(zip(replies, (headers, others), strict=True)):
                request = legacy(1, "tools/call", call("work", {"name": f"job {number}"}))
                tasks.start_soon(lambda one=request, to=reply, of=session: endpoint.ask(one, of, reply=to))
            await anyio.sleep(1)
            ended = await endpoint.ask(b"", headers, method="DELETE")
            await anyio.sleep(1)
            first_log = list(log)
            replies += [ended, await endpoint.ask(legacy(2, "ping"), headers)]
            replies += [await endpoint.ask(legacy(2, "ping"), others)]
            await endpoint.ask(b"", others, method="DELETE")
        assert first_log == ["job 0 stops", "job 0 stopped"]
        states = [event.detail for event in endpoint.recorder.events if event.kind == "state"]
        both = next(state["sessions"] for state in states if "sessions" in state)
        assert [one["session id"] for one in both] == ["session-1", "session-2"]
        assert states[-2]["session id"] == "session-2"
        assert states[-1] == {}
        return replies

    first, second, ended, after, other = run(main)
    assert (first.values, first.ended) == ([], True)
    assert (ended.status, ended.body) == (200, b"")
    assert after.status == 404
    assert (other.status, other.value["result"]) == (200, {})
    assert (second.values, second.ended) == ([], True)


# The session's headers


def endpoint_with(**settings: Any) -> Endpoint:
    return Endpoint(desk(), **settings)


@pytest.mark.parametrize(
    "message", [legacy(1, "tools/list"), INITIALIZED, {"jsonrpc": "2.0", "id": 1, "result": {}}], ids=str
)
def test_without_the_session_header_it_is_400_and_with_an_unknown_one_404(message: Any) -> None:
    async def main() -> tuple[Reply, Reply]:
        endpoint = endpoint_with()
        await endpoint.open()
        return await endpoint.ask(message), await endpoint.ask(message, MCP_Session_Id="session-9")

    missing, unknown = run(main)
    assert (missing.status, unknown.status) == (400, 404)
    for reply in (missing, unknown):
        assert reply.value["error"]["code"] == -32600
        assert reply.value.get("id") == (1 if "method" in message and "id" in message else None)
    assert "send initialize first" in missing.value["error"]["message"]
    assert "initialize again" in unknown.value["error"]["message"]


@pytest.mark.parametrize(
    ("version", "status"),
    [("2025-11-25", 200), (None, 200), ("2025-06-18", 400), ("2026-07-28", 400), ("nonsense", 400)],
)
def test_the_version_header_in_a_session(version: str | None, status: int) -> None:
    async def main() -> Reply:
        endpoint = endpoint_with()
        headers = await endpoint.open()
        return await endpoint.ask(legacy(1, "ping"), headers, MCP_Protocol_Version=version)

    assert run(main).status == status


def test_a_second_initialize_in_a_session_is_refused_and_one_without_begins_another() -> None:
    async def main() -> tuple[Reply, Reply]:
        endpoint = endpoint_with()
        headers = await endpoint.open()
        return await endpoint.ask(initialize(2), headers), await endpoint.ask(initialize(2))

    again, another = run(main)
    assert again.value["error"]["code"] == -32600
    assert again.header("MCP-Session-Id") is None
    assert another.header("MCP-Session-Id") == "session-2"


def test_a_ping_needs_no_session() -> None:
    reply = run(lambda: endpoint_with().ask(legacy(1, "ping")))
    assert (reply.status, reply.value["result"], reply.header("MCP-Session-Id")) == (200, {}, None)


def test_a_session_is_there_only_for_who_opened_it() -> None:
    async def main() -> tuple[Reply, Reply, Reply]:
        endpoint = endpoint_with(principal_of=lambda headers: headers.get("Authorization") or "")
        headers = await endpoint.open(Authorization="alice")
        mine = await endpoint.ask(legacy(1, "ping"), headers, Authorization="alice")
        stolen = await endpoint.ask(legacy(2, "ping"), headers, Authorization="mallory")
        ended = await endpoint.ask(b"", headers, method="DELETE", Authorization="mallory")
        return mine, stolen, ended

    assert [reply.status for reply in run(main)] == [200, 404, 404]


def test_there_is_a_bound_on_sessions_and_the_oldest_goes() -> None:
    async def main() -> tuple[Reply, Reply]:
        endpoint = endpoint_with()
        sessions = [await endpoint.open() for _ in range(3)]
        for _ in range(MAX_SESSIONS - 2):
            await endpoint.ask(initialize("open"))
        assert any("session-1 is ended" in note for note in endpoint.notes)
        memory = [event.detail for event in endpoint.recorder.events if event.kind == "state"][-1]
        assert len(memory["sessions"]) == MAX_SHOWN
        assert memory["more sessions"] == MAX_SESSIONS - MAX_SHOWN
        return tuple([await endpoint.ask(legacy(1, "ping"), headers) for headers in sessions[:2]])

    assert [reply.status for reply in run(main)] == [404, 200]


@pytest.mark.parametrize("method", ["PUT", "HEAD", "PATCH", "get"])
def test_other_http_methods_are_405(method: str) -> None:
    reply = run(lambda: endpoint_with().ask(b"", method=method))
    assert (reply.status, reply.header("Allow"), reply.body) == (405, "POST, GET, DELETE", b"")


@pytest.mark.parametrize("session", [None, "session-9"])
def test_delete_needs_a_session(session: str | None) -> None:
    reply = run(lambda: endpoint_with().ask(b"", method="DELETE", MCP_Session_Id=session))
    assert reply.status == (400 if session is None else 404)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_modern_server_has_neither_get_nor_delete_and_ignores_sessions(method: str) -> None:
    async def main() -> tuple[Reply, Reply]:
        endpoint = Endpoint(desk(era="modern"))
        refused = await endpoint.ask(b"", method=method, MCP_Session_Id="session-1", Last_Event_ID="7")
        served = await endpoint.modern(modern(1, "tools/list"), MCP_Session_Id="x", Last_Event_ID="7")
        return refused, served

    refused, served = run(main)
    assert (refused.status, refused.header("Allow")) == (405, "POST")
    assert served.status == 200
    assert served.header("MCP-Session-Id") is None


@pytest.mark.parametrize(
    "message",
    [
        legacy(1, "no/such"),
        legacy(1, "tools/call", call("nobody")),
        legacy(1, "tools/call", {}),
        legacy("open", "ping"),
    ],
    ids=["method", "tool", "parameters", "id"],
)
def test_an_error_in_a_session_is_no_http_error(message: Any) -> None:
    # Above all not 404: a client would take it for the end of its session.
    async def main() -> Reply:
        endpoint = endpoint_with()
        return await endpoint.ask(message, await endpoint.open())

    reply = run(main)
    assert reply.status == 200
    assert "error" in reply.value


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": None}, 200),
        ({"Accept": "application/json"}, 406),
        ({"Accept": "text/event-stream"}, 406),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": None}, 415),
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
    ],
)
def test_what_the_transport_checks_first(changes: dict[str, str | None], status: int) -> None:
    spelled = {name.replace("-", "_"): value for name, value in changes.items()}
    reply = run(lambda: endpoint_with().ask(legacy(1, "ping"), **spelled))
    assert reply.status == status
    if status == 406:
        # What the client takes in return says nothing against its message, which could be read.
        assert reply.value["id"] == 1
    elif status != 200:
        assert "id" not in reply.value


def test_unreadable_bodies_over_http() -> None:
    for body, code in ((b"", -32700), (b"{", -32700), (b"7", -32600), (as_bytes({"jsonrpc": "2.0"}), -32600)):
        reply = Reply()
        endpoint = endpoint_with()
        request = HttpRequest("POST", "/mcp", Headers(LEGACY_HEADERS), body)
        run(lambda endpoint=endpoint, request=request, reply=reply: endpoint.serving.handle(request, reply))
        assert (reply.status, reply.value["error"]["code"]) == (400, code)
