"""Output schemas and structured content, in every revision."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

import mcp_types
import pytest
from checked import simulate_checked
from pydantic import BaseModel, Field
from revisions import BOTH_ERAS, BOTH_TRANSPORTS, EVERY_REVISION, MODERN, ask, client_of, notes

from mcpsim import Client, Server
from mcpsim.errors import ProtocolError, RegistrationError, ToolError
from mcpsim.messages import SERVER_INFO

WEATHER = {
    "type": "object",
    "properties": {"degrees": {"type": "number"}, "sky": {"type": "string"}},
    "required": ["degrees"],
}
SUNNY = {"degrees": 22.5, "sky": "clear"}
ICON = {"src": "https://example.com/sun.png"}


class Sky(StrEnum):
    CLEAR = "clear"


class Weather(BaseModel):
    degrees: float
    day: date
    sky: Sky = Field(default=Sky.CLEAR, alias="theSky")


@dataclass
class Place:
    name: str
    height: int


def station(returned: Any, output_schema: Any, **settings: Any) -> Server:
    server = Server("station", **settings)

    def weather() -> Any:
        if isinstance(returned, Exception):
            raise returned
        return returned

    server.tool(output_schema=output_schema)(weather)
    return server


def call(server: Server, revision: str, **more: Any) -> Any:
    return ask(server, revision, "tools/call", {"name": "weather", "arguments": {}}, **more)


def shown(server: Server, revision: str) -> Any:
    (tool,) = ask(server, revision, "tools/list")["tools"]
    return tool


def texts(result: Any) -> list[str]:
    return [block["text"] for block in result["content"]]


@EVERY_REVISION
@BOTH_TRANSPORTS
def test_an_object_with_a_schema(revision: str, transport: Any) -> None:
    server = station(SUNNY, WEATHER)
    result = call(server, revision, transport=transport)
    assert json.loads(result["content"][0]["text"]) == SUNNY
    knows = revision >= "2025-06-18"
    assert result.get("structuredContent") == (SUNNY if knows else None)
    assert ("outputSchema" in shown(server, revision)) is knows
    if knows:
        assert shown(server, revision)["outputSchema"] == WEATHER


VALUES = [
    ([1, 2], {"type": "array"}),
    ("text", {"type": "string"}),
    (0, {"type": "integer"}),
    (False, {"type": "boolean"}),
    (None, {"type": "null"}),
    (None, {}),
]


@EVERY_REVISION
@pytest.mark.parametrize(("value", "schema"), VALUES)
def test_any_value_where_the_revision_allows_it(revision: str, value: Any, schema: Any) -> None:
    server = station(value, schema)
    result = call(server, revision)
    assert json.loads(result["content"][0]["text"]) == value
    # Before 2026-07-28 it had to be an object, and its schema one of an object.
    assert ("outputSchema" in shown(server, revision)) is (revision == MODERN)
    assert ("structuredContent" in result) is (revision == MODERN)
    if revision == MODERN:
        assert result["structuredContent"] == value


def test_what_looks_like_content_is_structured_where_a_schema_says_so() -> None:
    block = {"type": "text", "text": "hi"}
    assert call(station(block, {"type": "object"}), MODERN)["structuredContent"] == block
    assert "structuredContent" not in call(station(block, None), MODERN)


@EVERY_REVISION
@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"sky": "clear"}, WEATHER),
        ({"degrees": "warm"}, WEATHER),
        ([SUNNY], WEATHER),
        (None, WEATHER),
        ("text", WEATHER),
        (mcp_types.CallToolResult(content=[]), WEATHER),
        (mcp_types.CallToolResult(content=[], structured_content={"sky": 1}), WEATHER),
        ({1, 2}, {"type": "array"}),
    ],
)
def test_what_breaks_the_promise_is_the_servers_own_fault(revision: str, value: Any, schema: Any) -> None:
    server = station(value, schema)

    async def story(client: Client) -> Any:
        return await client.request("tools/call", {"name": "weather", "arguments": {}})

    run = simulate_checked(story, server=server, client=client_of(revision))
    assert run.value["isError"] is True
    assert texts(run.value) == ["weather failed. The fault is on the server's side."]
    assert "structuredContent" not in run.value
    assert any("weather raised" in note for note in notes(run))


def test_the_note_says_what_was_promised() -> None:
    async def story(client: Client) -> Any:
        return await client.request("tools/call", {"name": "weather", "arguments": {}})

    run = simulate_checked(story, server=station({"sky": "clear"}, WEATHER))
    (note,) = [note for note in notes(run) if "raised" in note]
    assert "its result breaks its output schema: result: 'degrees' is a required property" in note


@BOTH_ERAS
def test_a_tool_error_needs_no_structure(revision: str) -> None:
    for value in (
        ToolError("No weather today."),
        mcp_types.CallToolResult(
            content=[mcp_types.TextContent(type="text", text="No weather today.")], is_error=True
        ),
    ):
        result = call(station(value, WEATHER), revision)
        assert result == {"content": [{"type": "text", "text": "No weather today."}], "isError": True}


@EVERY_REVISION
def test_a_handler_may_say_what_the_text_is(revision: str) -> None:
    value = mcp_types.CallToolResult(
        content=[
            mcp_types.TextContent(type="text", text="Sunny."),
            mcp_types.AudioContent(type="audio", data="aGk=", mime_type="audio/wav"),
        ],
        structured_content=SUNNY,
    )
    result = call(station(value, WEATHER), revision)
    assert texts({"content": result["content"][:1]}) == ["Sunny."]
    assert result["content"][1]["type"] == ("audio" if revision >= "2025-03-26" else "text")
    assert ("structuredContent" in result) is (revision >= "2025-06-18")
    assert "isError" not in result


def returning(value: Any, hint: Any) -> Server:
    server = Server("station")

    def weather() -> Any:
        return value

    weather.__annotations__["return"] = hint
    server.tool(output_schema=True)(weather)
    return server


@pytest.mark.parametrize(
    ("value", "hint", "structured"),
    [
        (
            Weather(degrees=3, day=date(2026, 1, 2), theSky=Sky.CLEAR),
            Weather,
            {"degrees": 3.0, "day": "2026-01-02", "theSky": "clear"},
        ),
        (Place("Top", 3_000), Place, {"name": "Top", "height": 3_000}),
        ([Place("Top", 3_000)], list[Place], [{"name": "Top", "height": 3_000}]),
        ({"a": 1}, dict[str, int], {"a": 1}),
        (7, int, 7),
        (None, int | None, None),
    ],
)
def test_the_schema_can_come_from_the_hint(value: Any, hint: Any, structured: Any) -> None:
    server = returning(value, hint)
    assert call(server, MODERN)["structuredContent"] == structured
    schema = shown(server, MODERN)["outputSchema"]
    assert "title" not in schema
    if hint is Place:
        assert schema["required"] == ["name", "height"]


@pytest.mark.parametrize(
    ("value", "hint"), [({"a": "one"}, dict[str, int]), (Place("Top", 1), Weather), ("a", int)]
)
def test_what_is_not_what_the_hint_says(value: Any, hint: Any) -> None:
    assert call(returning(value, hint), MODERN)["isError"] is True


def no_hint():  # pyright: ignore
    return 1


def no_schema() -> Client:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("handler", "schema", "match"),
    [
        (no_hint, True, "needs a hint of what the function returns"),
        (no_schema, True, "what it returns has no JSON Schema"),
        (no_hint, {"type": "nothing"}, "output schema: the schema is not valid"),
        (no_hint, {"$ref": "https://example.com/schema"}, "References to other places are not fetched"),
        (no_hint, [], "a schema is a JSON object"),
    ],
)
def test_what_cannot_be_promised(handler: Any, schema: Any, match: str) -> None:
    with pytest.raises(RegistrationError, match=match):
        Server("station").tool(output_schema=schema)(handler)


@EVERY_REVISION
def test_title_icons_meta_and_annotations_where_they_exist(revision: str) -> None:
    server = Server("station", title="The station")
    server.tool(
        title="The weather", icons=[ICON], meta={"com.example/a": 1}, annotations={"readOnlyHint": True}
    )(no_hint)
    assert set(shown(server, revision)) == {
        "name",
        "inputSchema",
        *(["annotations"] if revision >= "2025-03-26" else []),
        *(["title", "_meta"] if revision >= "2025-06-18" else []),
        *(["icons"] if revision >= "2025-11-25" else []),
    }


@EVERY_REVISION
def test_the_servers_title_where_it_exists(revision: str) -> None:
    server = Server("station", title="The station")
    server.tool()(no_hint)

    async def story(client: Client) -> Any:
        result = await client.request("tools/list")
        return result["_meta"][SERVER_INFO] if revision == MODERN else client.server_info

    found = simulate_checked(story, server=server, client=client_of(revision)).value
    assert found.get("title") == ("The station" if revision >= "2025-06-18" else None)


@BOTH_ERAS
@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "data": "no Base64", "mimeType": "image/png"},
        {"type": "audio", "data": "aGk", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "a://b", "blob": "%"}},
    ],
)
def test_data_in_content_is_base64(revision: str, block: Any) -> None:
    """The official models take any string for data; the specification does not."""
    for value in (block, mcp_types.CallToolResult.model_validate({"content": [block]})):
        assert call(station(value, None), revision)["isError"] is True
    server = Server("station")
    server.prompt("a")(lambda: {"role": "user", "content": block})
    error = ask(server, revision, "prompts/get", {"name": "a"})
    assert isinstance(error, ProtocolError)
    assert error.code == -32603


def test_a_result_that_is_too_deep_to_be_checked_is_the_servers_fault() -> None:
    deep: Any = {}
    for _ in range(2_000):
        deep = {"a": deep}
    schema = {"type": "object", "properties": {"a": {"$ref": "#"}}}
    (text,) = texts(call(station(deep, schema), MODERN))
    assert text == "weather failed. The fault is on the server's side."
