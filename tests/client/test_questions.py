"""What a client does when a server asks it something, in both eras.

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
"""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types
import pytest
from far_ends import both_ways, error, far_end, heard, notification, progress, result, talk_to
from talking import FakeEndpoint, FakeServer, Response, json_response, play, stream

from mcpsim import Client, InputDeclined, McpSimError, ProtocolError, TooManyRounds
from mcpsim.errors import UnexpectedResponse
from mcpsim.messages import CLIENT_CAPABILITIES

transports = pytest.mark.parametrize("transport", ["stdio", "http"])

FORM = {
    "mode": "form",
    "message": "Who are you?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}
URL = {"mode": "url", "message": "Log in.", "url": "https://example.com/login", "elicitationId": "e1"}
SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 10}
DONE = {"content": [{"type": "text", "text": "done"}], "resultType": "complete"}

ASK: dict[str, tuple[Any, dict[str, Any]]] = {
    "tools/call": (lambda client: client.call_tool("a", {"x": 1}), DONE),
    "prompts/get": (lambda client: client.get_prompt("a", {"x": "1"}), {"messages": []}),
    "resources/read": (
        lambda client: client.read_resource("file:///a"),
        {"contents": [], "ttlMs": 0, "cacheScope": "private"},
    ),
}


def rounds(*asked: dict[str, Any], body: Any = DONE) -> Any:
    """A server that asks for these things, one round after the other, and then answers."""
    left = list(asked)

    def answer(message: Any) -> list[Any]:
        if left:
            return [result(message, resultType="input_required", **left.pop(0))]
        return [result(message, **body)]

    return answer


def form(**changes: Any) -> dict[str, Any]:
    return {"method": "elicitation/create", "params": {**FORM, **changes}}


# Modern: rounds


@transports
@pytest.mark.parametrize("method", sorted(ASK))
def test_a_request_is_sent_again_with_what_the_server_asks_for(transport: str, method: str) -> None:
    ask, body = ASK[method]
    asked = {"inputRequests": {"who": form()}, "requestState": "opaque \u0000 ="}
    played, far = talk_to(
        ask, rounds(asked, body=body), "modern", transport, elicit=lambda params: {"name": "A"}
    )
    assert played.error is None
    first, second = heard(far, method)
    assert first["id"] != second["id"]
    assert second["params"] == {
        **first["params"],
        "inputResponses": {"who": {"action": "accept", "content": {"name": "A"}}},
        "requestState": "opaque \u0000 =",
    }
    declared = first["params"]["_meta"][CLIENT_CAPABILITIES]
    assert declared == {"elicitation": {"form": {}}}


@transports
@pytest.mark.parametrize("method", ["tools/list", "server/discover", "completion/complete"])
def test_only_some_methods_may_ask(transport: str, method: str) -> None:
    """https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#supported-requests"""
    asked: list[Any] = []
    requests: dict[str, Any] = {
        "tools/list": lambda client: client.list_tools(),
        "server/discover": lambda client: client.discover(),
        "completion/complete": lambda client: client.complete(
            {"type": "ref/prompt", "name": "p"}, ("a", "b")
        ),
    }
    played, far = talk_to(
        requests[method], rounds({"inputRequests": {"who": form()}}), "modern", transport, elicit=asked.append
    )
    assert isinstance(played.error, UnexpectedResponse)
    assert (asked, len(heard(far, method))) == ([], 1)


@transports
def test_several_questions_and_several_rounds(transport: str) -> None:
    asked = (
        {"inputRequests": {"who": form(), "what": {"method": "sampling/createMessage", "params": SAMPLE}}},
        {"requestState": "2"},
        {"inputRequests": {"where": {"method": "roots/list"}}, "requestState": "3"},
    )
    played, far = talk_to(
        ASK["tools/call"][0],
        rounds(*asked),
        "modern",
        transport,
        elicit=lambda params: "decline",
        sample=lambda params: "Hello",
        roots=["file:///home"],
    )
    assert played.error is None
    sent = [one["params"] for one in heard(far, "tools/call")]
    assert [sorted(one.keys() - {"name", "arguments", "_meta"}) for one in sent] == [
        [],
        ["inputResponses"],
        ["requestState"],
        ["inputResponses", "requestState"],
    ]
    assert sent[1]["inputResponses"]["who"] == {"action": "decline"}
    assert sent[1]["inputResponses"]["what"]["content"] == {"type": "text", "text": "Hello"}
    assert sent[3]["inputResponses"] == {"where": {"roots": [{"uri": "file:///home"}]}}
    assert sent[3]["requestState"] == "3"


def test_the_rounds_are_bounded() -> None:
    asked = [{"requestState": str(n)} for n in range(10)]
    played, far = talk_to(ASK["tools/call"][0], rounds(*asked), "modern", "stdio", max_rounds=3)
    assert isinstance(played.error, TooManyRounds)
    assert len(heard(far, "tools/call")) == 4


def test_requests_at_the_same_time_do_not_share_their_rounds() -> None:
    def answer(message: Any) -> list[Any]:
        name = message["params"]["name"]
        if "requestState" not in message["params"]:
            return [result(message, resultType="input_required", requestState=f"state of {name}")]
        assert message["params"]["requestState"] == f"state of {name}"
        return [result(message, content=[{"type": "text", "text": name}], resultType="complete")]

    async def story(client: Client) -> list[str]:
        seen: list[str] = []

        async def ask(name: str) -> None:
            seen.append((await client.call_tool(name)).content[0].text)

        async with anyio.create_task_group() as tasks:
            for name in ("a", "b", "c"):
                tasks.start_soon(ask, name)
        return sorted(seen)

    assert talk_to(story, answer, "modern", "stdio")[0].value == ["a", "b", "c"]


def test_by_hand_there_is_one_round() -> None:
    async def story(client: Client) -> Any:
        return await client.request("tools/call", {"name": "a"})

    played, far = talk_to(story, rounds({"requestState": "s"}), "modern", "stdio")
    assert played.value == {"resultType": "input_required", "requestState": "s"}
    assert len(heard(far, "tools/call")) == 1


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({}, "neither inputRequests nor requestState"),
        ({"inputRequests": {}}, "neither inputRequests nor requestState"),
        ({"inputRequests": []}, "inputRequests nor requestState"),
        ({"requestState": 5}, "must be a string"),
        ({"inputRequests": {"a": 5}}, "input request 'a'"),
        ({"inputRequests": {"a": {"method": "tools/list"}}}, "input request 'a' (tools/list)"),
        (
            {"inputRequests": {"a": {"method": "sampling/createMessage", "params": SAMPLE}}},
            "cannot be answered",
        ),
        ({"inputRequests": {"a": {"method": "elicitation/create", "params": URL}}}, "cannot be answered"),
    ],
    ids=str,
)
def test_what_a_server_must_not_ask_for(asked: Any, text: str) -> None:
    played, far = talk_to(
        ASK["tools/call"][0], rounds(asked), "modern", "stdio", elicit=lambda params: "cancel"
    )
    assert isinstance(played.error, UnexpectedResponse)
    assert text in str(played.error)
    assert len(heard(far, "tools/call")) == 1


def test_a_list_cannot_ask() -> None:
    async def story(client: Client) -> None:
        await client.list_tools()

    played, _ = talk_to(story, rounds({"requestState": "s"}), "modern", "stdio")
    assert isinstance(played.error, UnexpectedResponse)


def test_every_round_has_its_own_timeout_and_progress() -> None:
    seen: list[Any] = []

    def answer(message: Any) -> list[Any]:
        token = message["params"]["_meta"]["progressToken"]
        if "requestState" not in message["params"]:
            asked = result(message, resultType="input_required", requestState="s")
            return [1.5, progress(token, 5), asked]
        return [1.5, progress(token, 1), result(message, **DONE)]

    async def story(client: Client) -> None:
        await client.call_tool("a", timeout_s=2, on_progress=lambda *what: seen.append(what[0]))

    played, _ = talk_to(story, answer, "modern", "stdio")
    assert played.error is None
    assert seen == [5, 1]


def test_a_user_who_wants_no_sampling_ends_the_request() -> None:
    def refuse(params: Any) -> Any:
        raise InputDeclined("No.")

    asked = {"inputRequests": {"a": {"method": "sampling/createMessage", "params": SAMPLE}}}
    played, far = talk_to(ASK["tools/call"][0], rounds(asked), "modern", "stdio", sample=refuse)
    assert isinstance(played.error, InputDeclined)
    assert len(heard(far, "tools/call")) == 1


@transports
def test_stopping_while_the_user_thinks_cancels_nothing(transport: str) -> None:
    """The first request was answered, and the second is not sent yet."""
    ended: list[bool] = []

    async def think(params: Any) -> Any:
        try:
            await anyio.sleep(5)
        finally:
            ended.append(True)

    async def story(client: Client) -> None:
        with anyio.move_on_after(1):
            await client.call_tool("a")

    played, far = talk_to(story, rounds({"inputRequests": {"a": form()}}), "modern", transport, elicit=think)
    assert (played.error, ended) == (None, [True])
    assert len(heard(far, "tools/call")) == 1
    assert heard(far, "notifications/cancelled") == []


# Legacy: requests of the server


QUESTIONS: dict[str, Any] = {
    "elicitation/create": FORM,
    "sampling/createMessage": SAMPLE,
    "roots/list": {},
}


class Asking:
    """A legacy server that asks something before it answers a tool call, on either transport."""

    def __init__(self, transport: str, *asked: Any, waits: bool = True) -> None:
        self.asked = asked
        self.waits = waits
        self.call: Any = None
        self.answers: list[Any] = []
        self.far: FakeServer | FakeEndpoint = far_end(transport, self._answer)
        if isinstance(self.far, FakeEndpoint):
            inner = self.far._respond

            def respond(request: Any, message: Any) -> Response | None:
                if message is not None and "method" not in message:
                    self.answers.append(message)
                    return Response(202)
                return inner(request, message)

            self.far._respond = respond
        else:
            inner_line = self.far._respond

            def respond_line(message: Any) -> Any:
                if "method" not in message:
                    self.answers.append(message)
                    done = self.waits and len(self.answers) == sum(
                        "method" in one and "id" in one for one in self.asked
                    )
                    return [result(self.call, **DONE)] if done else []
                return inner_line(message)

            self.far._respond = respond_line

    def _answer(self, message: Any) -> list[Any]:
        self.call = message
        if isinstance(getattr(self, "far", None), FakeEndpoint) or not self.waits:
            # On HTTP the answers come in POSTs of their own; the stream of the call goes on meanwhile.
            return [*self.asked, 1.0, result(message, **DONE)]
        return list(self.asked)


def request(method: str, params: Any = None, id: Any = "q") -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": id,
        "method": method,
        "params": QUESTIONS[method] if params is None else params,
    }


EVERYTHING: dict[str, Any] = {
    "elicit": lambda params: {"name": "A"},
    "sample": lambda params: "Hello",
    "roots": ["file:///home"],
}


def ask_legacy(transport: str, *asked: Any, waits: bool = True, **described: Any) -> tuple[Any, Asking]:
    server = Asking(transport, *asked, waits=waits)
    client = Client(era="legacy", timeout_s=20, **described)
    return play(ASK["tools/call"][0], server.far, client=client), server


@transports
@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("elicitation/create", {"action": "accept", "content": {"name": "A"}}),
        ("roots/list", {"roots": [{"uri": "file:///home"}]}),
        (
            "sampling/createMessage",
            {
                "role": "assistant",
                "content": {"type": "text", "text": "Hello"},
                "model": "workbook-model",
                "stopReason": "endTurn",
            },
        ),
    ],
)
def test_a_request_of_a_legacy_server_is_answered(transport: str, method: str, expected: Any) -> None:
    played, server = ask_legacy(transport, request(method), **EVERYTHING)
    assert played.error is None
    assert server.answers == [{"jsonrpc": "2.0", "id": "q", "result": expected}]
    (opening,) = heard(server.far, "initialize")
    assert opening["params"]["capabilities"] == {
        "elicitation": {"form": {}},
        "sampling": {},
        "roots": {"listChanged": True},
    }


@transports
@pytest.mark.parametrize("method", sorted(QUESTIONS))
def test_what_was_not_declared_is_not_found(transport: str, method: str) -> None:
    played, server = ask_legacy(transport, request(method))
    assert played.error is None
    (answer,) = server.answers
    assert (answer["id"], answer["error"]["code"]) == ("q", -32601)


@pytest.mark.parametrize(
    ("version", "declared"),
    [
        ("2024-11-05", {"sampling": {}, "roots": {"listChanged": True}}),
        ("2025-03-26", {"sampling": {}, "roots": {"listChanged": True}}),
        ("2025-06-18", {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}),
        (
            "2025-11-25",
            {
                "elicitation": {"form": {}, "url": {}},
                "sampling": {"tools": {}},
                "roots": {"listChanged": True},
            },
        ),
    ],
)
def test_a_revision_is_told_what_it_knows(version: str, declared: Any) -> None:
    far = far_end("stdio", lambda message: [], version=version)
    client = Client(
        era="legacy",
        protocol_version=version,
        elicit_url=lambda params: "accept",
        sampling_tools=True,
        capabilities={"experimental": {"x": {}}},
        **EVERYTHING,
    )
    play(lambda client: anyio.sleep(0), far, client=client)
    (opening,) = heard(far, "initialize")
    assert opening["params"]["capabilities"] == {**declared, "experimental": {"x": {}}}


def test_reading_goes_on_while_the_user_thinks() -> None:
    seen: list[Any] = []

    async def think(params: Any) -> Any:
        assert isinstance(params, mcp_types.ElicitRequestFormParams)
        await anyio.sleep(5)
        seen.append("thought")
        return {"name": "A"}

    ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
    played, server = ask_legacy("stdio", request("elicitation/create"), ping, elicit=think, waits=True)
    assert played.error is None
    assert [one["id"] for one in server.answers] == ["p", "q"]
    assert played.took_s == 5


@transports
def test_a_server_may_cancel_what_it_asked(transport: str) -> None:
    seen: list[str] = []

    async def think(params: Any) -> Any:
        try:
            await anyio.sleep(5)
            seen.append("thought")
        finally:
            seen.append("ended")

    cancel = notification("notifications/cancelled", requestId="q", reason="Too slow.")
    asked = (request("elicitation/create"), 0.5, cancel)
    played, server = ask_legacy(transport, *asked, elicit=think, waits=False)
    assert played.error is None
    assert seen == ["ended"]
    assert server.answers == []
    assert any("cancelled its request #'q': Too slow." in note for note in played.notes)


@pytest.mark.parametrize("id", [1, "x", True, 1.0, None, [1], {}])
def test_a_cancellation_of_nothing_is_ignored(id: Any) -> None:
    async def think(params: Any) -> Any:
        await anyio.sleep(1)
        return {"name": "A"}

    asked = (request("elicitation/create", id=0), notification("notifications/cancelled", requestId=id))
    played, server = ask_legacy("stdio", *asked, elicit=think)
    assert played.error is None
    assert [one["id"] for one in server.answers] == [0]
    assert any("which is not in progress" in note for note in played.notes)


def test_a_callback_that_never_ends_does_not_keep_the_connection_open() -> None:
    async def think(params: Any) -> Any:
        await anyio.sleep_forever()

    played, server = ask_legacy("stdio", request("elicitation/create"), elicit=think, waits=False)
    assert played.error is None
    assert played.took_s < 2
    assert server.answers == []


def test_a_callback_that_fails_is_an_internal_error_and_nothing_more() -> None:
    def fail(params: Any) -> Any:
        raise RuntimeError("secret")

    played, server = ask_legacy("stdio", request("elicitation/create"), elicit=fail)
    assert played.error is None
    (answer,) = server.answers
    assert answer["error"] == {"code": -32603, "message": "Internal error"}
    assert any("RuntimeError" in note for note in played.notes)


def test_an_id_that_is_in_use_and_more_questions_than_anybody_can_answer() -> None:
    async def think(params: Any) -> Any:
        await anyio.sleep(1)
        return {"name": "A"}

    asked = [request("elicitation/create", id=id) for id in (0, 0, *range(1, 102))]
    played, server = ask_legacy("stdio", *asked, elicit=think)
    assert played.error is None
    codes = [one["error"]["code"] for one in server.answers if "error" in one]
    assert sorted(codes) == [-32603, -32603, -32600]
    assert len(server.answers) == len(asked)


def test_a_callback_may_use_the_client() -> None:
    """It runs in a task of its own, so it may wait for the same server."""
    clients: list[Client] = []

    async def look(params: Any) -> Any:
        await clients[0].ping()
        return {"name": "A"}

    def answer(message: Any) -> list[Any]:
        return [result(message)] if message["method"] == "ping" else [request("elicitation/create")]

    async def story(client: Client) -> Any:
        clients.append(client)
        with anyio.move_on_after(1):
            await client.call_tool("a")
        return None

    far = far_end("stdio", answer)
    assert play(story, far, client=Client(era="legacy", elicit=look)).error is None
    assert heard(far, "ping")
    assert any(one.get("id") == "q" and "result" in one for one in far.heard)


# Visits that come before a request (-32042)


def visiting(accepts: str, data: Any, **more: Any) -> Any:
    async def story(client: Client) -> Any:
        try:
            return await client.call_tool("a")
        except ProtocolError as refusal:
            return await client.visit(refusal)

    def answer(message: Any) -> list[Any]:
        return [error(message, more.get("code", -32042), "More is needed.", data)]

    shown: list[str] = []

    def show(params: Any) -> str:
        shown.append(params.url)
        return accepts

    described = {"elicit_url": show} if more.get("declares", True) else {}
    era = more.get("era", "legacy")
    return talk_to(story, answer, era, "stdio", **described)[0], shown


@pytest.mark.parametrize(("accepts", "visits"), [("accept", True), ("decline", False), ("cancel", False)])
def test_visits_before_a_request(accepts: str, visits: bool) -> None:
    played, shown = visiting(accepts, {"elicitations": [URL]})
    assert (played.value, shown) == (visits, ["https://example.com/login"])


def test_visits_that_cannot_be_asked_for() -> None:
    played, _ = visiting("accept", {"elicitations": [URL]}, declares=False)
    assert isinstance(played.error, UnexpectedResponse)
    for more in ({"code": -32603}, {"era": "modern"}):
        played, shown = visiting("accept", {"elicitations": [URL]}, **more)
        assert isinstance(played.error, ProtocolError)
        assert shown == []
    for data in (None, [], {"elicitations": []}, {"elicitations": [FORM]}, {"elicitations": [5]}):
        assert isinstance(visiting("accept", data)[0].error, ProtocolError)


# Roots that change


@both_ways
def test_roots_that_change(era: str, transport: str) -> None:
    async def story(client: Client) -> Any:
        await client.set_roots(["file:///b"])
        return client.roots

    played, far = talk_to(story, lambda message: [], era, transport, roots=["file:///a"])
    assert played.value == ["file:///b"]
    assert len(heard(far, "notifications/roots/list_changed")) == (1 if era == "legacy" else 0)


def test_roots_that_were_not_declared_or_are_none() -> None:
    async def story(client: Client) -> None:
        await client.set_roots(["file:///b"])

    assert isinstance(talk_to(story, lambda message: [], "legacy", "stdio")[0].error, McpSimError)
    with pytest.raises(ValueError, match="file://"):
        Client(roots=["http://example.com"])

    for uri in ("http://example.com", "file:///home/../etc"):

        async def bad(client: Client, uri: str = uri) -> None:
            await client.set_roots([uri])

        played, _ = talk_to(bad, lambda message: [], "legacy", "stdio", roots=[])
        assert isinstance(played.error, ValueError)


def test_roots_from_a_function() -> None:
    roots = ["file:///a"]

    async def current() -> list[str]:
        return list(roots)

    played, server = ask_legacy("stdio", request("roots/list"), roots=current)
    assert played.error is None
    assert server.answers[0]["result"] == {"roots": [{"uri": "file:///a"}]}


# Logging


@both_ways
def test_a_log_level(era: str, transport: str) -> None:
    seen: list[Any] = []
    said = [
        notification("notifications/message", level="warning", data={"a": 1}, logger="db"),
        notification("notifications/message", level="info", data=None),
        notification("notifications/message", level="loud", data=1),
        notification("notifications/message", level="info"),
        notification("notifications/message", level="info", data=1, logger=5),
    ]

    def answer(message: Any) -> list[Any]:
        return [*said, result(message, **DONE)] if message["method"] == "tools/call" else [result(message)]

    async def story(client: Client) -> None:
        await client.call_tool("a")
        await client.set_log_level("error")
        await client.call_tool("a")
        if era == "modern":
            await client.set_log_level(None)
            await client.call_tool("a")

    played, far = talk_to(
        story, answer, era, transport, log_level="info", on_log=lambda *what: seen.append(what)
    )
    assert played.error is None
    assert seen[:2] == [("warning", {"a": 1}, "db"), ("info", None, None)]
    if era == "legacy":
        assert [one["params"]["level"] for one in heard(far, "logging/setLevel")] == ["info", "error"]
    else:
        key = "io.modelcontextprotocol/logLevel"
        levels = [one["params"]["_meta"].get(key) for one in heard(far, "tools/call")]
        assert levels == ["info", "error", None]
        assert heard(far, "logging/setLevel") == []
    assert sum("log message that is not valid" in note for note in played.notes) == 3 * len(
        heard(far, "tools/call")
    )


def test_a_log_level_where_the_server_declares_no_logging() -> None:
    async def story(client: Client) -> None:
        await client.set_log_level("info")

    described: dict[str, Any] = {"capabilities": {"tools": {}}}
    far = far_end("stdio", lambda message: [result(message)], **described)
    played = play(story, far, client=Client(era="legacy", log_level="debug"))
    assert isinstance(played.error, McpSimError)
    assert any("does not declare logging" in note for note in played.notes)
    assert heard(far, "logging/setLevel") == []


def test_a_log_level_that_is_refused_does_not_end_the_connection() -> None:
    def answer(message: Any) -> list[Any]:
        return (
            [error(message, -32602)] if message["method"] == "logging/setLevel" else [result(message, **DONE)]
        )

    played, _ = talk_to(ASK["tools/call"][0], answer, "legacy", "stdio", log_level="debug")
    assert played.error is None
    assert any("could not be set: -32602" in note for note in played.notes)


@pytest.mark.parametrize("level", ["", "loud", "INFO", 5])
def test_levels_that_do_not_exist(level: Any) -> None:
    with pytest.raises(ValueError, match="no log level"):
        Client(log_level=level)


# What the callbacks leave alone


def test_a_refusal_of_the_server_is_raised_in_any_round() -> None:
    def answer(message: Any) -> list[Any]:
        if "requestState" in message["params"]:
            return [error(message, -32602, "The state is not valid.")]
        return [result(message, resultType="input_required", requestState="s")]

    played, _ = talk_to(ASK["tools/call"][0], answer, "modern", "stdio")
    assert isinstance(played.error, ProtocolError)


def test_over_http_a_modern_client_sends_no_answers() -> None:
    def respond(request_: Any, message: Any) -> Response:
        if message["method"] == "tools/call" and "requestState" not in message["params"]:
            return stream(
                request("elicitation/create"), result(message, resultType="input_required", requestState="s")
            )
        return json_response(result(message, **DONE))

    far = FakeEndpoint(respond)
    played = play(ASK["tools/call"][0], far, client=Client(**EVERYTHING))
    assert played.error is None
    assert far.heard_methods() == ["tools/call", "tools/call"]
    assert any("A modern server sends none" in note for note in played.notes)
