"""Prompts, in every revision."""

from __future__ import annotations

from typing import Annotated, Any

import mcp_types
import pytest
from pydantic import Field
from revisions import BOTH_ERAS, BOTH_TRANSPORTS, EVERY_REVISION, LATEST_LEGACY, MODERN, ask

from mcpsim import Context, Server
from mcpsim.errors import ProtocolError, RegistrationError

ICON = {"src": "https://example.com/review.svg", "mimeType": "image/svg+xml", "sizes": ["any"]}
PICTURE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
SOUND = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
LINK = {"type": "resource_link", "uri": "note://a", "name": "a", "icons": [ICON]}
EMBEDDED = {"type": "resource", "resource": {"uri": "note://a", "mimeType": "text/plain", "text": "hi"}}


def writers() -> Server:
    server = Server("writers")

    @server.prompt(title="Review code", icons=[ICON], meta={"com.example/kind": "work"})
    def review(
        code: Annotated[str, "What to review."],
        language: Annotated[str, Field(title="Language", description="As on the box.")] = "any",
    ) -> str:
        """Ask for a review."""
        return f"Please review this {language} code: {code}"

    @server.prompt("talk")
    async def talk(context: Context, about: str | None = None) -> list[Any]:
        return [
            "hello",
            {"role": "assistant", "content": f"{context.method} {about}"},
            mcp_types.PromptMessage(role="user", content=mcp_types.TextContent(type="text", text="bye")),
        ]

    @server.prompt(description="Everything that a message can hold.")
    def gallery() -> list[Any]:
        blocks = [
            PICTURE,
            SOUND,
            LINK,
            EMBEDDED,
            {"type": "text", "text": "a", "_meta": {"com.example/a": 1}},
        ]
        return [{"role": "user", "content": block} for block in blocks]

    @server.prompt()
    def odd() -> Any:
        return {"role": "system", "content": "You are a teapot."}

    return server


def get(revision: str, name: str, arguments: Any = None, **more: Any) -> Any:
    params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
    return ask(writers(), revision, "prompts/get", params, **more)


@BOTH_ERAS
def test_a_resource_in_a_prompt_says_what_type_it_is(revision: str) -> None:
    """https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#embedded-resources"""
    server = Server("writers")
    resource = {"uri": "note://a", "text": "hi"}
    block = {"type": "resource", "resource": resource}
    server.prompt("show")(lambda: {"role": "user", "content": block})
    error = ask(server, revision, "prompts/get", {"name": "show"})
    assert isinstance(error, ProtocolError)
    assert error.code == -32603
    resource["mimeType"] = "text/plain"
    assert ask(server, revision, "prompts/get", {"name": "show"})["messages"] == [
        {"role": "user", "content": block}
    ]


@EVERY_REVISION
def test_the_list(revision: str) -> None:
    titled, with_icons = revision >= "2025-06-18", revision >= "2025-11-25"
    language = {"name": "language", "description": "As on the box.", "required": False}
    result = ask(writers(), revision, "prompts/list")
    assert [one["name"] for one in result["prompts"]] == ["gallery", "odd", "review", "talk"]
    assert result["prompts"][2] == {
        "name": "review",
        "description": "Ask for a review.",
        "arguments": [
            {"name": "code", "description": "What to review.", "required": True},
            {**language, "title": "Language"} if titled else language,
        ],
        **({"title": "Review code", "_meta": {"com.example/kind": "work"}} if titled else {}),
        **({"icons": [ICON]} if with_icons else {}),
    }
    assert result["prompts"][0] == {"name": "gallery", "description": "Everything that a message can hold."}
    assert ("ttlMs" in result) is (revision == MODERN)


@EVERY_REVISION
@BOTH_TRANSPORTS
def test_a_string_becomes_a_message_of_the_user(revision: str, transport: Any) -> None:
    result = get(revision, "review", {"code": "x = 1"}, transport=transport)
    # A prompt is not cacheable: no hints in any revision.
    assert result == {
        "description": "Ask for a review.",
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "Please review this any code: x = 1"}}
        ],
    }


@BOTH_ERAS
def test_several_messages(revision: str) -> None:
    result = get(revision, "talk", {"about": "tea"})
    assert [(one["role"], one["content"]["text"]) for one in result["messages"]] == [
        ("user", "hello"),
        ("assistant", "prompts/get tea"),
        ("user", "bye"),
    ]
    assert get(revision, "talk")["messages"][1]["content"]["text"] == "prompts/get None"


@EVERY_REVISION
def test_content_that_a_revision_does_not_know_becomes_text(revision: str) -> None:
    blocks = [one["content"] for one in get(revision, "gallery")["messages"]]
    assert blocks[0] == PICTURE
    assert blocks[1] == SOUND if revision >= "2025-03-26" else blocks[1]["type"] == "text"
    if revision >= "2025-11-25":
        assert blocks[2] == LINK
    elif revision >= "2025-06-18":
        assert blocks[2] == {key: value for key, value in LINK.items() if key != "icons"}
    else:
        assert blocks[2]["type"] == "text"
        assert "note://a" in blocks[2]["text"]
    assert blocks[3] == EMBEDDED
    assert ("_meta" in blocks[4]) is (revision >= "2025-06-18")


@EVERY_REVISION
@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("nobody", {}, "Unknown prompt: nobody"),
        ("review", {}, "missing code"),
        ("review", None, "missing code"),
        ("review", {"code": "x", "colour": "red"}, "no argument named colour"),
    ],
)
def test_what_does_not_fit(revision: str, name: str, arguments: Any, says: str) -> None:
    error = get(revision, name, arguments)
    assert isinstance(error, ProtocolError)
    assert error.code == -32602
    assert says in error.message


@BOTH_ERAS
@pytest.mark.parametrize("params", [{}, {"name": 1}, {"name": "review", "arguments": {"code": 1}}])
def test_what_the_schema_refuses(revision: str, params: Any) -> None:
    error = ask(writers(), revision, "prompts/get", params, broken=("prompts/get",))
    assert isinstance(error, ProtocolError)
    assert error.code == -32602


@BOTH_ERAS
def test_a_message_that_is_none_is_the_servers_fault(revision: str) -> None:
    error = get(revision, "odd")
    assert isinstance(error, ProtocolError)
    assert error.code == -32603


def numbered(count: int) -> str:
    return "x" * count


def open_ended(**more: str) -> str:
    return str(more)


@pytest.mark.parametrize(
    ("declare", "match"),
    [
        (lambda server: server.prompt()(numbered), "are strings, and 'count' is"),
        (lambda server: server.prompt()(open_ended), "nothing tells which arguments"),
        (lambda server: server.prompt("")(lambda: ""), "one character or more"),
        (lambda server: [server.prompt("a")(lambda: "") for _ in "12"], "has a prompt named 'a' already"),
        (
            lambda server: server.prompt("a", complete={"b": lambda v, c: []})(lambda: ""),
            "complete names 'b'",
        ),
        (lambda server: server.prompt("a\ud800")(lambda: ""), "cannot be sent"),
    ],
)
def test_what_cannot_be_registered(declare: Any, match: str) -> None:
    server = Server("writers")
    with pytest.raises(RegistrationError, match=match):
        declare(server)


def test_prompts_alone_declare_prompts() -> None:
    server = writers()
    assert server.capabilities() == {"prompts": {}}
    error = ask(server, LATEST_LEGACY, "resources/list")
    assert isinstance(error, ProtocolError)
    assert error.code == -32601
