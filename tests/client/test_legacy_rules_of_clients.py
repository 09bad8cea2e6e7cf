"""Sentences of the legacy pages that concern a client, and are about no feature alone."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from talking import (
    FakeEndpoint,
    FakeServer,
    Response,
    call,
    json_response,
    legacy,
    notification,
    opening,
    play,
    stream,
    talk,
)

from mcpsim import Client, Context, Server

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


def far_end(
    version: str, answers: dict[str, Any] | None = None, *, says: list[Any] | None = None
) -> FakeServer:
    """A server of a revision: declares everything, answers by method, and says something of its own."""
    capabilities = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}
    if version != REVISIONS[0]:
        capabilities["completions"] = {}
    opened = {
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": {"name": "desk", "version": "1"},
    }

    def respond(message: Any) -> list[Any]:
        method = None if isinstance(message, list) else message.get("method")
        if method == "notifications/initialized":
            return says or []
        if method is None or "id" not in message:
            return []
        result = {"initialize": opened, **(answers or {})}.get(method, {})
        return [{"jsonrpc": "2.0", "id": message["id"], "result": result}]

    return FakeServer(respond)


def client(version: str, **settings: Any) -> Client:
    return Client(era="legacy", protocol_version=version, **settings)


# https://modelcontextprotocol.io/specification/2025-06-18/changelog#other-schema-changes


@pytest.mark.parametrize("version", REVISIONS)
def test_the_other_arguments_are_told_since_the_third_revision(version: str) -> None:
    far = far_end(version, {"completion/complete": {"completion": {"values": []}}})

    async def story(client: Client) -> None:
        await client.complete({"type": "ref/prompt", "name": "p"}, ("city", "Par"), {"country": "France"})
        await client.complete({"type": "ref/prompt", "name": "p"}, ("city", "Par"), {})

    played = play(story, far, client=client(version))
    assert played.error is None
    asked, plain = [one["params"] for one in far.heard if one.get("method") == "completion/complete"]
    knows = version >= "2025-06-18"
    assert asked.get("context") == ({"arguments": {"country": "France"}} if knows else None)
    assert plain.get("context") == ({"arguments": {}} if knows else None)
    assert played.notes == (
        [] if knows else [f"The other arguments are left out: {version} has no place for them."]
    )


# What a revision knows of elicitation and sampling
# https://modelcontextprotocol.io/specification/2025-11-25/changelog#major-changes

TEXT = {"type": "text", "text": "Hello"}
AUDIO = {"type": "audio", "data": "aaaa", "mimeType": "audio/wav"}
USE = {"type": "tool_use", "id": "1", "name": "t", "input": {}}
URL = {"mode": "url", "message": "Pay.", "url": "https://example.com/pay", "elicitationId": "v1"}


def sampling(*contents: Any, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": one} for one in contents], "maxTokens": 9, **more}


TOOLS = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
QUESTIONS: dict[str, tuple[dict[str, Any], str]] = {
    # the question, and the revision in which it came
    "text": (legacy("q", "sampling/createMessage", sampling(TEXT)), "2024-11-05"),
    "audio": (legacy("q", "sampling/createMessage", sampling(AUDIO)), "2025-03-26"),
    "list": (legacy("q", "sampling/createMessage", sampling([TEXT, TEXT])), "2025-11-25"),
    "tools": (legacy("q", "sampling/createMessage", sampling(TEXT, **TOOLS)), "2025-11-25"),
    "url": (legacy("q", "elicitation/create", URL), "2025-11-25"),
}


@pytest.mark.parametrize("version", REVISIONS)
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_client_answers_what_its_revision_knows(name: str, version: str) -> None:
    question, since = QUESTIONS[name]
    far = far_end(version, says=[question])
    able = client(version, elicit_url=lambda _: "accept", sample=lambda _: "Hi", sampling_tools=True)
    play(lambda _: anyio.sleep(1), far, client=able)
    (answer,) = [one for one in far.heard if one.get("id") == "q"]
    if version >= since:
        assert "result" in answer
    else:
        # Elicitation itself came with 2025-06-18.
        has_method = name != "url" or version == "2025-06-18"
        assert answer["error"]["code"] == (-32602 if has_method else -32601)


@pytest.mark.parametrize("version", REVISIONS)
@pytest.mark.parametrize(
    ("content", "since"),
    [(TEXT, "2024-11-05"), (AUDIO, "2025-03-26"), ([TEXT], "2025-11-25"), ([USE], "2025-11-25")],
    ids=["text", "audio", "list", "tool use"],
)
def test_both_sides_send_and_take_what_their_revision_knows(version: str, content: Any, since: str) -> None:
    written = {"role": "assistant", "content": content, "model": "m"}
    far = far_end(version, says=[QUESTIONS["text"][0]])
    played = play(lambda _: anyio.sleep(1), far, client=client(version, sample=lambda _: written))
    (answer,) = [one for one in far.heard if one.get("id") == "q"]
    assert ("result" in answer) == (version >= since)
    assert any("this revision" in note for note in played.notes) == (version < since)

    server = Server("desk")

    @server.tool()
    async def write(context: Context) -> str:
        messages = [{"role": "user", "content": content}] if content != [USE] else "Hello"
        return (await context.sample(messages, max_tokens=9)).model

    lines = [*opening(version, {"sampling": {}}), legacy(1, "tools/call", call("write"))]
    answered = {"jsonrpc": "2.0", "id": 1, "result": written}
    said = talk(server, *lines, 0.1, answered)
    assert (said.answer(1)["result"]["content"] == [{"type": "text", "text": "m"}]) == (version >= since)
    asked = [one for one in said.values if one.get("method") == "sampling/createMessage"]
    assert bool(asked) == (version >= since or content == [USE])


@pytest.mark.parametrize("declared", [{}, {"form": {}}, {"url": {}}, {"more": {}}], ids=str)
def test_before_there_were_modes_any_declaration_stands_for_the_form(declared: Any) -> None:
    server = Server("desk")

    @server.tool()
    async def ask(context: Context) -> str:
        return (await context.elicit("?", {"type": "object", "properties": {}})).action

    lines = [*opening("2025-06-18", {"elicitation": declared}), legacy(1, "tools/call", call("ask"))]
    said = talk(server, *lines, 0.1, {"jsonrpc": "2.0", "id": 1, "result": {"action": "decline"}})
    assert said.answer(1)["result"]["content"][0]["text"] == "decline"


# https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation


@pytest.mark.parametrize("action", ["accept", "decline"])
def test_only_the_end_of_a_visit_that_is_under_way_is_heard(action: str) -> None:
    done = notification("notifications/elicitation/complete", {"elicitationId": "v1"})
    far = far_end("2025-11-25", says=[done, legacy("q", "elicitation/create", URL), 1.0, done, done])
    heard: list[Any] = []

    async def story(client: Client) -> None:
        client.on_notification = lambda message: heard.append(message.params)
        await anyio.sleep(3)
        heard.extend(client.notifications)

    play(story, far, client=client("2025-11-25", elicit_url=lambda _: action))
    assert len(heard) == (2 if action == "accept" else 0)


def test_a_visit_may_be_over_before_the_user_says_so() -> None:
    done = notification("notifications/elicitation/complete", {"elicitationId": "v1"})
    far = far_end("2025-11-25", says=[legacy("q", "elicitation/create", URL), 1.0, done])

    async def visit(_: Any) -> str:
        await anyio.sleep(2)
        return "accept"

    async def story(client: Client) -> int:
        await anyio.sleep(3)
        return len(client.notifications)

    assert play(story, far, client=client("2025-11-25", elicit_url=visit)).value == 1


# https://html.spec.whatwg.org/multipage/server-sent-events.html#the-last-event-id-header


def test_an_empty_event_id_takes_the_last_one_back() -> None:
    opened = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
    opened["serverInfo"] = {"name": "desk", "version": "1"}

    def respond(request: Any, message: Any) -> Response:
        method = (message or {}).get("method")
        if method == "initialize":
            return json_response({"jsonrpc": "2.0", "id": message["id"], "result": opened})
        if method == "tools/list":
            return stream(b"id: 1-0\nretry: 10\ndata: \n\n", b"id:\ndata: \n\n")
        return Response(202 if request.method == "POST" else 405)

    far = FakeEndpoint(respond)
    played = play(lambda client: client.list_tools(), far, client=client("2025-11-25"))
    assert "ended before the answer" in str(played.error)
    assert "GET" not in far.heard_methods()


# https://modelcontextprotocol.io/specification/2025-03-26/basic/index#batching


def batch_of_requests(*more: Any) -> list[Any]:
    return [
        legacy("ping", "ping"),
        notification("notifications/message", {"level": "info", "data": "between"}),
        legacy("slow", "sampling/createMessage", sampling(TEXT)),
        legacy("roots", "roots/list"),
        legacy("what", "what"),
        {"jsonrpc": "2.0", "id": 5},
        *more,
    ]


async def think(_: Any) -> str:
    await anyio.sleep(1)
    return "Hi"


def test_a_batch_of_requests_is_answered_with_one_array() -> None:
    far = far_end("2025-03-26", says=[batch_of_requests()])
    played = play(
        lambda _: anyio.sleep(2), far, client=client("2025-03-26", sample=think, roots=["file:///a"])
    )
    (array,) = [one for one in far.heard if isinstance(one, list)]
    assert [one["id"] for one in array] == ["ping", "slow", "roots", "what"]
    assert array[0]["result"] == {}
    assert array[1]["result"]["content"]["text"] == "Hi"
    assert array[3]["error"]["code"] == -32601
    assert [one for one in far.heard if isinstance(one, dict) and "method" not in one] == []
    assert [one.method for one in played.client.notifications] == ["notifications/message"]


def test_what_the_server_cancelled_is_not_in_the_array() -> None:
    cancelled = notification("notifications/cancelled", {"requestId": "slow"})
    says = [batch_of_requests(), 0.5, cancelled, [legacy("slow", "sampling/createMessage", sampling(TEXT))]]
    far = far_end("2025-03-26", says=[*says, 0.5, cancelled])
    play(lambda _: anyio.sleep(3), far, client=client("2025-03-26", sample=think))
    # Nothing is left to say about the second batch, and an empty array is no message.
    assert [[one["id"] for one in array] for array in far.heard if isinstance(array, list)] == [
        ["ping", "roots", "what"]
    ]


def test_what_is_not_answered_when_the_client_leaves_is_not_answered_at_all() -> None:
    far = far_end("2025-03-26", says=[batch_of_requests()])
    play(lambda _: anyio.sleep(0.5), far, client=client("2025-03-26", sample=think))
    assert [one for one in far.heard if isinstance(one, list) or "method" not in one] == []


def test_a_stream_that_cannot_be_taken_up_again_says_so() -> None:
    opened = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
    opened["serverInfo"] = {"name": "desk", "version": "1"}

    def respond(request: Any, message: Any) -> Response:
        method = (message or {}).get("method")
        if method == "initialize":
            return json_response({"jsonrpc": "2.0", "id": message["id"], "result": opened})
        if method == "tools/list":
            return stream(b"id: 1-0\nretry: 10\ndata: \n\n")
        return Response(202 if request.method == "POST" else 405)

    far = FakeEndpoint(respond)
    played = play(lambda client: client.list_tools(), far, client=client("2025-11-25"))
    assert str(played.error) == (
        "The response stream ended before the answer, and cannot be taken up again: HTTP 405."
    )
    assert far.heard_methods().count("GET") == 1
