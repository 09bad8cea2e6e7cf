"""Sentences of the legacy pages that concern one side of a session, and are about no feature alone."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from talking import (
    INITIALIZED,
    Feed,
    call,
    initialize,
    legacy,
    notes_of,
    notification,
    opening,
    run,
    talk,
    tokens,
)

from mcpsim import Context, McpSimError, Server
from mcpsim.recording import Recorder, Scribe
from mcpsim.server import StdioServing

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


def desk(**settings: Any) -> Server:
    server = Server("desk", subscribe=True, **settings)

    @server.resource("note://a")
    def note() -> str:
        return "A note."

    @server.tool()
    async def work(context: Context) -> str:
        await context.report_progress(1, 2, "half")
        return "done"

    return server


# Progress
# https://modelcontextprotocol.io/specification/2025-03-26/changelog


@pytest.mark.parametrize("revision", REVISIONS)
def test_progress_has_a_message_since_the_second_revision(revision: str) -> None:
    ask = legacy(1, "tools/call", {**call("work"), "_meta": {"progressToken": "p"}})
    (told,) = [one["params"] for one in talk(desk(), *opening(revision), ask).values if "method" in one]
    assert told.pop("message", None) == (None if revision == REVISIONS[0] else "half")
    assert told == {"progressToken": "p", "progress": 1, "total": 2}


# Subscriptions
# https://modelcontextprotocol.io/specification/2025-11-25/server/resources#security-considerations


@pytest.mark.parametrize("revision", REVISIONS)
def test_only_a_uri_can_be_subscribed_to(revision: str) -> None:
    said = talk(
        desk(),
        *opening(revision),
        legacy(1, "resources/subscribe", {"uri": "no uri"}),
        legacy(2, "resources/subscribe", {"uri": "note://a"}),
        legacy(3, "resources/subscribe", {"uri": "note://not/yet"}),
    )
    assert said.answer(1)["error"]["code"] == -32602
    assert "'no uri'" in said.answer(1)["error"]["message"]
    assert said.answer(2)["result"] == said.answer(3)["result"] == {}


# Notifications that a server has no use for


@pytest.mark.parametrize(
    ("revision", "method", "is_noted"),
    [
        ("2025-11-25", "notifications/roots/list_changed", False),
        ("2024-11-05", "notifications/roots/list_changed", False),
        ("2025-11-25", "notifications/elicitation/complete", True),
        ("2025-11-25", "notifications/tools/list_changed", True),
        ("2025-11-25", "notifications/tasks/status", True),
        ("2025-11-25", "notifications/what/ever", True),
        ("2025-11-25", "tools/list", True),
    ],
)
def test_a_notification_that_no_client_sends_is_ignored_and_noted(
    revision: str, method: str, is_noted: bool
) -> None:
    said = talk(desk(), *opening(revision), notification(method, {}), legacy(1, "ping"))
    assert [one.get("id") for one in said.values] == ["open", 1]
    assert said.notes == (
        [f"Ignored: {method}. This server knows no such notification of a client in {revision}."]
        if is_noted
        else []
    )


@pytest.mark.parametrize(
    ("lines", "method", "why"),
    [
        ([], "$/cancelRequest", "This server knows no message of this name."),
        # The revision has it, among its experimental tasks, which are not built here.
        ([], "notifications/tasks/status", "This server knows no message of this name."),
        ([], "notifications/initialized", "No session has begun."),
        (opening(), "notifications/initialized", "The session is in the phase operating."),
    ],
)
def test_the_note_about_an_ignored_notification_says_why(lines: list[Any], method: str, why: str) -> None:
    said = talk(desk(), *lines, notification(method, {}), legacy(9, "ping"))
    assert said.notes == [f"Ignored: {method}. {why}"]


@pytest.mark.parametrize(
    "params", [{"progressToken": "t", "progress": 1}, {"progressToken": [1]}, {}, None], ids=str
)
def test_progress_of_the_servers_own_requests_is_ignored_and_noted(params: Any) -> None:
    said = talk(desk(), *opening(), notification("notifications/progress", params), legacy(1, "ping"))
    assert [one.get("id") for one in said.values] == ["open", 1]
    token = (params or {}).get("progressToken")
    assert said.notes == [
        f"Ignored: progress for the token {token!r}. This server does not follow its own requests."
    ]


# What a server may ask, and when
# https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization


def asked_at(lines: list[Any], method: str, capabilities: Any = None) -> tuple[str, list[Any]]:
    """What became of a request of the server's own, sent after some lines and half a second."""
    feed = Feed([*lines, 2.0])
    serving = StdioServing(desk(), feed, scribe=Scribe(Recorder(lambda: 0)), tokens=tokens())
    outcome = "answered"

    async def ask() -> None:
        nonlocal outcome
        await anyio.sleep(0.5)
        try:
            await serving.ask(method, timeout_s=1)
        except McpSimError as error:
            outcome = str(error)

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await serving.run()

    run(main)
    return outcome, [one["method"] for one in feed.values if "method" in one]


def test_before_the_client_is_ready_a_server_sends_nothing_but_pings() -> None:
    opened = initialize("open", capabilities={"roots": {}})
    outcome, sent = asked_at([opened], "ping")
    assert sent == ["ping", "notifications/cancelled"]
    outcome, sent = asked_at([opened], "roots/list")
    assert "the session is initializing" in outcome
    assert sent == []
    outcome, sent = asked_at([], "ping")
    assert "the session is new" in outcome
    assert sent == []
    outcome, sent = asked_at([opened, INITIALIZED], "roots/list")
    assert "No answer" in outcome
    assert sent[0] == "roots/list"


ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "form": ("elicitation/create", {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}),
    "url": (
        "elicitation/create",
        {"mode": "url", "message": "?", "url": "https://example.com", "elicitationId": "1"},
    ),
    "sample": ("sampling/createMessage", {"messages": [], "maxTokens": 1}),
    "tools": ("sampling/createMessage", {"messages": [], "maxTokens": 1, "tools": []}),
    "context": ("sampling/createMessage", {"messages": [], "maxTokens": 1, "includeContext": "allServers"}),
    "roots": ("roots/list", {}),
}


@pytest.mark.parametrize(
    ("revision", "capabilities", "sent"),
    [
        ("2025-11-25", {}, set[str]()),
        ("2025-11-25", {"elicitation": {}}, {"form"}),
        ("2025-11-25", {"elicitation": {"form": {}}}, {"form"}),
        ("2025-11-25", {"elicitation": {"url": {}}}, {"url"}),
        ("2025-11-25", {"sampling": {}, "roots": {}}, {"sample", "roots"}),
        ("2025-11-25", {"sampling": {"tools": {}}}, {"sample", "tools"}),
        ("2025-11-25", {"sampling": {"context": {}}}, {"sample", "context"}),
        ("2025-06-18", {"elicitation": {}, "sampling": {"tools": {}}}, {"form", "sample", "context"}),
        ("2025-06-18", {"elicitation": {"url": {}}}, {"form"}),
        ("2025-03-26", {"elicitation": {}, "sampling": {}}, {"sample", "context"}),
        ("2024-11-05", {"roots": {}}, {"roots"}),
    ],
    ids=lambda one: str(sorted(one)) if isinstance(one, set) else str(one),
)
def test_by_hand_too_nothing_is_asked_that_was_not_declared(
    revision: str, capabilities: Any, sent: set[str]
) -> None:
    server = Server("desk")

    @server.tool()
    async def ask(what: str, context: Context) -> str:
        method, params = ASKED[what]
        await context.request(method, params, timeout_s=1)
        return "never"

    for what, (method, _) in ASKED.items():
        said = talk(
            server, *opening(revision, capabilities), legacy(1, "tools/call", call("ask", {"what": what}))
        )
        methods = [one["method"] for one in said.values if "method" in one]
        assert methods == ([method, "notifications/cancelled"] if what in sent else [])


# What was not there at the handshake was not negotiated
# https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_was_not_declared_at_the_handshake_is_not_there_in_the_session(revision: str) -> None:
    server = Server("desk")

    @server.tool()
    def grow() -> str:
        @server.prompt()
        def late() -> str:
            return "Late."

        @server.tool()
        def more() -> str:
            return "More."

        return "grown"

    lines = [legacy(1, "tools/call", call("grow")), 0.1, legacy(2, "prompts/list"), legacy(3, "tools/list")]
    said = talk(server, *opening(revision), *lines)
    assert said.answer(2)["error"]["code"] == -32601
    assert "does not declare prompts" in said.answer(2)["error"]["message"]
    assert [tool["name"] for tool in said.answer(3)["result"]["tools"]] == ["grow", "more"]
    # A client that comes later is told of everything.
    later = talk(server, *opening(revision), legacy(2, "prompts/list"))
    assert [prompt["name"] for prompt in later.answer(2)["result"]["prompts"]] == ["late"]


# Cancellation
# https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#implementation-notes


@pytest.mark.parametrize(
    ("params", "noted"),
    [
        ({"reason": "The user went home."}, ["The client cancelled its request #1: The user went home."]),
        ({}, []),
        ({"reason": ""}, []),
        ({"reason": 5}, []),
    ],
    ids=str,
)
def test_the_reason_of_a_cancellation_is_noted(params: dict[str, Any], noted: list[str]) -> None:
    server = Server("desk")

    @server.tool()
    async def slow() -> str:
        await anyio.sleep(5)
        return "never"

    said = talk(
        server,
        *opening(),
        legacy(1, "tools/call", call("slow")),
        1.0,
        notification("notifications/cancelled", {"requestId": 1, **params}),
    )
    assert said.answers(1) == []
    assert said.notes == noted
    assert notes_of(said.recorder) == said.notes


# Annotations
# https://modelcontextprotocol.io/specification/2025-06-18/schema#annotations


@pytest.mark.parametrize("revision", REVISIONS)
def test_when_something_was_modified_is_said_since_the_third_revision(revision: str) -> None:
    moment = {"lastModified": "2025-01-12T15:00:58Z"}
    hints = {"audience": ["user"], **moment}
    server = Server("desk")

    @server.resource("note://a", annotations=hints)
    def note() -> str:
        return "A note."

    @server.resource_template("note://b/{x}", annotations=moment)
    def notes(x: str) -> str:
        return x

    @server.tool()
    def show() -> list[dict[str, Any]]:
        return [{"type": "text", "text": "a", "annotations": hints}, {"type": "text", "text": "b"}]

    @server.prompt()
    def ask() -> dict[str, Any]:
        return {"role": "user", "content": {"type": "text", "text": "a", "annotations": moment}}

    said = talk(
        server,
        *opening(revision),
        legacy(1, "resources/list"),
        legacy(2, "resources/templates/list"),
        legacy(3, "tools/call", call("show")),
        legacy(4, "prompts/get", {"name": "ask"}),
    )
    knows = revision >= "2025-06-18"
    both = hints if knows else {"audience": ["user"]}
    (resource,) = said.answer(1)["result"]["resources"]
    (template,) = said.answer(2)["result"]["resourceTemplates"]
    first, second = said.answer(3)["result"]["content"]
    (message,) = said.answer(4)["result"]["messages"]
    assert resource["annotations"] == first["annotations"] == both
    assert "annotations" not in second
    assert template.get("annotations") == message["content"].get("annotations") == (moment if knows else None)
