"""Structured content against the output schema of a tool that the client has listed.

https://modelcontextprotocol.io/specification/2026-07-28/server/tools#output-schema
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from far_ends import both_ways, far_end, result, talk_to
from talking import play

from mcpsim import Client
from mcpsim.client.structured import MAX_STEPS, NotChecked, OutputSchema
from mcpsim.errors import UnexpectedResponse

DRAFT_07 = "http://json-schema.org/draft-07/schema#"
WEATHER = {
    "type": "object",
    "properties": {"degrees": {"type": "number"}, "sky": {"enum": ["clear", "grey"]}},
    "required": ["degrees"],
}


def server(schema: Any, **members: Any) -> Any:
    """A server with one tool of this output schema, whose result has these members."""

    def answer(message: Any) -> list[Any]:
        if message["method"] == "tools/list":
            tool = {"name": "a", "inputSchema": {"type": "object"}, "outputSchema": schema}
            return [result(message, tools=[tool])]
        return [result(message, **{"content": [], **members})]

    return answer


async def list_and_call(client: Client) -> Any:
    await client.list_tools()
    return (await client.call_tool("a")).structured_content


@both_ways
@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"structuredContent": {"degrees": 21.5}}, ""),
        ({"structuredContent": {"degrees": 21.5, "sky": "clear", "more": 1}}, ""),
        ({"structuredContent": {}}, "'degrees' is a required property"),
        ({"structuredContent": {"degrees": "21"}}, "degrees: '21' is not of type 'number'"),
        ({"structuredContent": {"degrees": 1, "sky": "pink"}}, "sky: 'pink' is not one of"),
        ({}, "has no structuredContent"),
        # What a failed call has to say need not fit.
        ({"isError": True}, ""),
        ({"isError": True, "structuredContent": {"why": "no"}}, ""),
    ],
    ids=str,
)
def test_structured_content_has_to_fit(era: str, transport: str, members: Any, text: str) -> None:
    played, _ = talk_to(list_and_call, server(WEATHER, **members), era, transport)
    if text:
        assert isinstance(played.error, UnexpectedResponse)
        assert text in str(played.error)
    else:
        assert played.error is None
        assert played.value == members.get("structuredContent")


@pytest.mark.parametrize("content", [[1, 2], "text", 5, False, None])
def test_any_json_value_in_the_modern_era(content: Any) -> None:
    schema = {"enum": [[1, 2], "text", 5, False, None]}
    played, _ = talk_to(list_and_call, server(schema, structuredContent=content), "modern", "stdio")
    assert played.error is None
    assert played.value == content


def test_a_tool_that_was_never_listed_is_not_checked() -> None:
    async def story(client: Client) -> Any:
        return (await client.call_tool("a")).structured_content

    played, _ = talk_to(story, server(WEATHER, structuredContent={"x": 1}), "modern", "stdio")
    assert played.value == {"x": 1}


def test_a_revision_without_structured_content() -> None:
    far = far_end("stdio", server(WEATHER), version="2024-11-05")
    client = Client(era="legacy", protocol_version="2024-11-05")
    assert play(list_and_call, far, client=client).error is None


def test_the_latest_list_counts() -> None:
    schemas: list[Any] = [WEATHER, {"type": "object", "required": ["x"]}]

    def answer(message: Any) -> list[Any]:
        if message["method"] == "tools/list":
            return server(schemas.pop(0))(message)
        return [result(message, content=[], structuredContent={"x": 1})]

    async def story(client: Client) -> Any:
        await client.list_tools()
        with pytest.raises(UnexpectedResponse):
            await client.call_tool("a")
        return await list_and_call(client)

    assert talk_to(story, answer, "modern", "stdio")[0].value == {"x": 1}


# Schemas that nobody can check with


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


DOUBLING: dict[str, Any] = {
    "$defs": {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(40)
    },
    "$ref": "#/$defs/d0",
}
DOUBLING["$defs"]["d40"] = True


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "no such type"}, "no valid JSON Schema"),
        ({"properties": 5}, "no valid JSON Schema"),
        ({"$schema": "https://example.com/mine", "type": "object"}, "dialect"),
        ({"$schema": 5}, "dialect"),
        ({"$ref": "https://example.com/schema.json"}, "refers to"),
        ({"$ref": "#/$defs/nowhere"}, "refers to"),
        ({"$ref": "file:///etc/passwd"}, "refers to"),
        ({"$ref": "#"}, "nested too deeply|steps"),
        ({"$ref": "#/type", "type": "object"}, "a part that it refers to is no JSON Schema"),
        (
            {"$ref": "#/examples/0", "examples": [{"required": 5}]},
            "a part that it refers to is no JSON Schema",
        ),
        (deep(60), "nested more than"),
        ({"enum": list(range(6000))}, "more than 5000 parts"),
        (DOUBLING, f"more than {MAX_STEPS} steps"),
        ("text", "no JSON object"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_checked_is_left_alone(schema: Any, text: str) -> None:
    with pytest.raises(NotChecked, match=text):
        OutputSchema(schema).fault_in({"a": 1})


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"$schema": "https://example.com/mine"}, "its dialect 'https://example.com/mine' is not supported"),
        ({"$ref": "https://example.com/schema.json"}, "it refers to https://example.com/schema.json"),
        ({"properties": {"x": {"$ref": "other.json"}}}, "it refers to other.json"),
    ],
)
@both_ways
def test_a_client_does_not_take_a_schema_that_it_cannot_use_for_one_that_allows_everything(
    era: str, transport: str, schema: dict[str, Any], text: str
) -> None:
    """https://modelcontextprotocol.io/specification/2026-07-28/basic/index#implementation-requirements
    https://modelcontextprotocol.io/specification/2026-07-28/basic/index#ref-resolution"""
    answer = server({"type": "object", **schema}, structuredContent={"x": 1})
    played, _ = talk_to(list_and_call, answer, era, transport)
    assert isinstance(played.error, UnexpectedResponse)
    assert text in str(played.error)


def test_a_client_notes_what_it_does_not_check() -> None:
    schema = {"type": "object", "properties": {"x": 5}}
    played, _ = talk_to(list_and_call, server(schema, structuredContent={"x": 1}), "modern", "stdio")
    assert played.value == {"x": 1}
    assert any('The output schema of "a" is not checked: it is no valid' in note for note in played.notes)


@pytest.mark.parametrize(
    ("schema", "content"),
    [
        ({"pattern": "(a|a)*$"}, "a" * 60 + "b"),
        ({"patternProperties": {"(a|a)*$": False}}, {"a" * 60 + "b": 1}),
        ({"patternProperties": {"(a|a)*$": {}}, "additionalProperties": False}, {"a" * 60 + "b": 1}),
        ({"patternProperties": {"(a|a)*$": {}}, "unevaluatedProperties": False}, {"a" * 60 + "b": 1}),
        ({"uniqueItems": True}, [{"a": n} for n in range(20_000)]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_could_take_for_ever_is_not_looked_at(schema: Any, content: Any) -> None:
    begun = time.process_time()
    assert OutputSchema(schema).fault_in(content) is None
    assert time.process_time() - begun < 5


TENFOLD: dict[str, Any] = {
    "$defs": {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 10} for n in range(20)},
    "$ref": "#/$defs/d0",
}
TENFOLD["$defs"]["d20"] = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "content"),
    [
        (DOUBLING, "a"),
        (TENFOLD, "a"),
        # Few steps, and each of them a long one.
        ({"items": {"uniqueItems": True}}, [[{"a": n} for n in range(900)]] * 10),
        ({"uniqueItems": True}, [[0] * 500 + [n] for n in range(900)]),
        ({"allOf": [{"items": True}] * 50}, [1] * 200_000),
        ({"items": {"enum": list(range(4900))}}, [4899] * 5000),
    ],
    ids=["doubling", "tenfold", "different", "long and different", "many items", "many values"],
)
def test_a_schema_that_never_ends_does_not_keep_the_client_for_long(schema: Any, content: Any) -> None:
    # What has to be imported is not meant.
    OutputSchema({}).fault_in("a")
    begun = time.process_time()
    with pytest.raises(NotChecked, match=f"more than {MAX_STEPS} steps"):
        OutputSchema(schema).fault_in(content)
    assert time.process_time() - begun < 2


def test_a_large_result_is_checked() -> None:
    user = {"type": "object", "properties": {"login": {"type": "string"}}, "required": ["login"]}
    record = {
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 0},
            "title": {"type": "string", "maxLength": 300},
            "state": {"enum": ["open", "closed"]},
            "labels": {"type": "array", "items": {"type": "string"}},
            "author": {"$ref": "#/$defs/user"},
            "milestone": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        },
        "required": ["id", "title", "state"],
        "additionalProperties": False,
    }
    schema = {
        "type": "object",
        "properties": {"items": {"type": "array", "items": record}},
        "$defs": {"user": user},
    }
    one = {
        "id": 1,
        "title": "Late",
        "state": "open",
        "labels": ["a", "b", "c"],
        "author": {"login": "ada"},
        "milestone": None,
    }
    assert OutputSchema(schema).fault_in({"items": [one] * 1000}) is None
    fault = OutputSchema(schema).fault_in({"items": [one] * 999 + [{**one, "author": {}}]})
    assert fault == "items.999.author: 'login' is a required property"


@pytest.mark.parametrize(
    ("schema", "content", "text"),
    [
        ({"additionalProperties": False, "properties": {"a": {}}}, {"a": 1, "b": 2}, "Additional properties"),
        ({"uniqueItems": True}, [1, 1], "non-unique"),
        ({"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}, [1, "2"], "1: '2' is not"),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}]},
            [1],
            "0: 1 is not",
        ),
        ({"items": {"properties": {"a": {"maximum": 3}}}}, [{"a": 4}], "0.a: 4 is greater"),
        ({"const": "x" * 1000}, "y" * 1000, "…"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_wrong_and_where(schema: Any, content: Any, text: str) -> None:
    fault = OutputSchema(schema).fault_in(content)
    assert fault is not None
    assert text in fault
    assert len(fault) < 400
