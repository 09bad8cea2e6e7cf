"""Arguments that are repeated in headers, and tools that ask for it in a way that breaks the rules.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters
"""

from __future__ import annotations

from typing import Any

import pytest
from far_ends import error, far_end, heard, result, talk_to
from talking import FakeEndpoint, FakeServer, json_response, play

from mcpsim import Client, ProtocolError
from mcpsim.errors import ParameterHeaderError

DONE = {"content": [], "resultType": "complete"}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def at(name: Any, type: Any = "string", **more: Any) -> dict[str, Any]:
    return {"type": type, "x-mcp-header": name, **more}


REGION = schema(region=at("Region"), query={"type": "string"})


def tools(message: Any, following: Any = None, /, **schemas: Any) -> Any:
    listed = [{"name": name, "inputSchema": one} for name, one in schemas.items()]
    more = {} if following is None else {"nextCursor": following}
    return result(message, tools=listed, **more)


def serving(**schemas: Any) -> Any:
    def answer(message: Any) -> list[Any]:
        return [tools(message, **schemas) if message["method"] == "tools/list" else result(message, **DONE)]

    return answer


def list_and_call(arguments: Any, name: str = "a") -> Any:
    async def story(client: Client) -> None:
        await client.list_tools()
        await client.call_tool(name, arguments)

    return story


def parameter_headers(far: Any) -> dict[str, str]:
    """The `Mcp-Param-*` headers of the last POST."""
    assert isinstance(far, FakeEndpoint)
    posts = [request for request in far.requests if request.method == "POST"]
    lines = posts[-1].headers.items()
    return {name: value for name, value in lines if name.startswith("Mcp-Param-")}


NESTED = schema(where=schema(zone=at("Zone")), count=at("Count", "integer"), dry=at("Dry", "boolean"))


@pytest.mark.parametrize(
    ("input_schema", "arguments", "expected"),
    [
        (REGION, {"region": "us-west1", "query": "q"}, {"Mcp-Param-Region": "us-west1"}),
        (REGION, {"query": "q"}, {}),
        (REGION, {"region": None}, {}),
        (REGION, {}, {}),
        (REGION, {"region": "Hello, 世界"}, {"Mcp-Param-Region": "=?base64?SGVsbG8sIOS4lueVjA==?="}),
        (REGION, {"region": " padded "}, {"Mcp-Param-Region": "=?base64?IHBhZGRlZCA=?="}),
        (REGION, {"region": "line1\nline2"}, {"Mcp-Param-Region": "=?base64?bGluZTEKbGluZTI=?="}),
        (
            REGION,
            {"region": "=?base64?literal?="},
            {"Mcp-Param-Region": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
        ),
        (
            NESTED,
            {"where": {"zone": "b"}, "count": -7, "dry": False},
            {"Mcp-Param-Zone": "b", "Mcp-Param-Count": "-7", "Mcp-Param-Dry": "false"},
        ),
        (
            NESTED,
            {"where": "no object", "count": 42.0, "dry": True},
            {"Mcp-Param-Count": "42", "Mcp-Param-Dry": "true"},
        ),
        (schema(x={"type": "string"}), {"x": "a"}, {}),
    ],
    ids=str,
)
def test_arguments_in_headers(input_schema: Any, arguments: Any, expected: dict[str, str]) -> None:
    played, far = talk_to(list_and_call(arguments), serving(a=input_schema), "modern", "http")
    assert played.error is None
    assert parameter_headers(far) == expected


@pytest.mark.parametrize(("era", "transport"), [("modern", "stdio"), ("legacy", "stdio"), ("legacy", "http")])
def test_nothing_of_it_elsewhere(era: str, transport: str) -> None:
    bad = schema(x=at("no good"))
    played, far = talk_to(list_and_call({"region": "r"}), serving(a=REGION, bad=bad), era, transport)
    assert played.error is None
    if transport == "http":
        assert parameter_headers(far) == {}
    names: list[str] = []

    async def story(client: Client) -> None:
        names.extend(tool.name for tool in (await client.list_tools()).tools)

    talk_to(story, serving(a=REGION, bad=bad), era, transport)
    assert names == ["a", "bad"]


@pytest.mark.parametrize(
    "bad",
    [
        schema(x=at("")),
        schema(x=at("a b")),
        schema(x=at("a\r\nX-Evil: 1")),
        schema(x=at("é")),
        schema(x=at("a:b")),
        schema(x=at(5)),
        schema(x=at(None)),
        schema(x=at("N", "number")),
        schema(x=at("N", "object")),
        schema(x=at("N", ["string", "null"])),
        schema(x={"x-mcp-header": "N"}),
        schema(x=at("Name"), y=at("NAME")),
        schema(x={"type": "array", "items": at("N")}),
        schema(x={"anyOf": [at("N")]}),
        {**schema(), "allOf": [schema(x=at("N"))]},
        {**schema(), "$defs": {"d": at("N")}},
        {**schema(), "if": schema(x=at("N"))},
        {**schema(), "x-mcp-header": "N"},
    ],
    ids=str,
)
def test_a_tool_that_breaks_a_rule_is_left_out_and_the_others_are_not(bad: Any) -> None:
    async def story(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    played, _ = talk_to(story, serving(a=REGION, bad=bad, b=schema()), "modern", "http")
    assert played.value == ["a", "b"]
    (note,) = [one for one in played.notes if "Left out" in one]
    assert note.startswith('Left out of the list: the tool "bad". x-mcp-header')


def test_tools_of_every_page_are_known() -> None:
    def answer(message: Any) -> list[Any]:
        if message["method"] == "tools/call":
            return [result(message, **DONE)]
        first = "cursor" not in message["params"]
        return [tools(message, "2", a=REGION) if first else tools(message, b=schema(x=at("X")))]

    async def story(client: Client) -> None:
        async for _ in client.pages("tools/list"):
            pass
        await client.call_tool("a", {"region": "r"})
        assert parameter_headers(far) == {"Mcp-Param-Region": "r"}
        await client.call_tool("b", {"x": "y"})

    def over_http(request: Any, message: Any) -> Any:
        return json_response(answer(message)[0])

    far = FakeEndpoint(over_http)
    played = play(story, far)
    assert played.error is None
    assert parameter_headers(far) == {"Mcp-Param-X": "y"}


def test_a_request_by_hand_has_them_too() -> None:
    async def story(client: Client) -> None:
        await client.list_tools()
        params = {"name": "a", "arguments": {"region": "r"}}
        await client.request("tools/call", params)
        assert parameter_headers(far[0]) == {"Mcp-Param-Region": "r"}
        await client.request("tools/call", params, headers={"Mcp-Param-Region": "other"})
        assert parameter_headers(far[0]) == {"Mcp-Param-Region": "other"}
        await client.request("tools/call", params, headers={"Mcp-Param-Region": ""})
        assert parameter_headers(far[0]) == {}

    far = [far_end("http", serving(a=REGION))]
    assert play(story, far[0]).error is None


def test_an_integer_that_not_every_reader_can_hold_is_not_sent() -> None:
    count = schema(count=at("Count", "integer"))
    played, far = talk_to(list_and_call({"count": 2**53}), serving(a=count), "modern", "http")
    assert isinstance(played.error, ParameterHeaderError)
    assert not heard(far, "tools/call")


def test_a_prompt_of_the_same_name_is_no_tool() -> None:
    async def story(client: Client) -> None:
        await client.list_tools()
        await client.get_prompt("a", {"count": 2**53})  # type: ignore[dict-item]

    def answer(message: Any) -> list[Any]:
        if message["method"] == "prompts/get":
            return [result(message, messages=[])]
        return serving(a=schema(count=at("Count", "integer")))(message)

    played, far = talk_to(story, answer, "modern", "http")
    assert played.error is None
    assert parameter_headers(far) == {}


# What the client does when it knows the tool not at all, or not as it is now


def strict(now: list[Any], *, pages: bool = False) -> FakeEndpoint:
    """A server whose tool `a` has the schema `now[0]`, and that insists on the headers of it."""

    def respond(request: Any, message: Any) -> Any:
        if message["method"] == "tools/list":
            if pages and "cursor" not in message["params"]:
                return json_response(tools(message, "2", other=schema()))
            return json_response(tools(message, a=now[0]))
        wanted = {
            f"Mcp-Param-{one['x-mcp-header']}": message["params"]["arguments"].get(name)
            for name, one in now[0]["properties"].items()
            if "x-mcp-header" in one
        }
        if all(request.headers.get(name) == value for name, value in wanted.items()):
            return json_response(result(message, **DONE))
        return json_response(error(message, -32020, "Header mismatch"), 400)

    return FakeEndpoint(respond)


@pytest.mark.parametrize("pages", [False, True])
def test_a_tool_that_was_never_listed_is_looked_up_when_the_server_wants_headers(pages: bool) -> None:
    async def story(client: Client) -> None:
        await client.call_tool("a", {"region": "r"})

    far = strict([REGION], pages=pages)
    played = play(story, far)
    assert played.error is None
    lists = ["tools/list"] * (2 if pages else 1)
    assert far.heard_methods() == ["tools/call", *lists, "tools/call"]
    assert parameter_headers(far) == {"Mcp-Param-Region": "r"}
    ids = [one["id"] for one in far.heard()]
    assert len(set(ids)) == len(ids)
    assert any("the tools are listed anew" in note for note in played.notes)


def test_a_tool_that_wants_no_headers_is_just_called() -> None:
    async def story(client: Client) -> None:
        await client.call_tool("a", {"region": "r"})

    far = strict([schema()])
    assert play(story, far).error is None
    assert far.heard_methods() == ["tools/call"]


def test_a_tool_whose_schema_changed_is_looked_up_again() -> None:
    now = [REGION]
    far = strict(now)

    async def story(client: Client) -> None:
        await client.list_tools()
        await client.call_tool("a", {"region": "r", "query": "q"})
        now[0] = schema(query=at("Query"))
        await client.call_tool("a", {"region": "r", "query": "q"})

    played = play(story, far)
    assert played.error is None
    assert far.heard_methods() == ["tools/list", "tools/call", "tools/call", "tools/list", "tools/call"]
    assert parameter_headers(far) == {"Mcp-Param-Query": "q"}


@pytest.mark.parametrize("later", [schema(region={"type": "string"}), schema(region=at("no good"))], ids=str)
def test_a_tool_that_asks_no_more_is_left_alone(later: Any) -> None:
    schemas = [REGION, later]

    def respond(request: Any, message: Any) -> Any:
        if message["method"] == "tools/list":
            return json_response(tools(message, a=schemas.pop(0)))
        return json_response(result(message, **DONE))

    async def story(client: Client) -> None:
        await client.list_tools()
        await list_and_call({"region": "r"})(client)

    far = FakeEndpoint(respond)
    assert play(story, far).error is None
    assert parameter_headers(far) == {}


def test_a_server_that_is_never_content_is_asked_twice_at_most() -> None:
    def respond(request: Any, message: Any) -> Any:
        if message["method"] == "tools/list":
            return json_response(tools(message, a=REGION))
        return json_response(error(message, -32020, "Header mismatch"), 400)

    async def story(client: Client) -> None:
        await client.call_tool("a", {"region": "r"})

    far = FakeEndpoint(respond)
    played = play(story, far)
    assert isinstance(played.error, ProtocolError)
    assert played.error.code == -32020
    assert far.heard_methods() == ["tools/call", "tools/list", "tools/call"]
    # With the same headers a second try would be no other.
    far = FakeEndpoint(respond)
    played = play(list_and_call({"region": "r"}), far)
    assert isinstance(played.error, ProtocolError)
    assert far.heard_methods() == ["tools/list", "tools/call", "tools/list"]


def test_where_the_list_fails_it_is_the_refusal_that_is_raised() -> None:
    def respond(request: Any, message: Any) -> Any:
        code = -32603 if message["method"] == "tools/list" else -32020
        return json_response(error(message, code), 400)

    async def story(client: Client) -> None:
        await client.call_tool("a", {"region": "r"})

    played = play(story, FakeEndpoint(respond))
    assert isinstance(played.error, ProtocolError)
    assert played.error.code == -32020
    assert any("could not be listed: -32603" in note for note in played.notes)


def test_a_refusal_on_a_pipe_is_just_that() -> None:
    async def story(client: Client) -> None:
        await client.call_tool("a")

    far = FakeServer(lambda message: [error(message, -32020)])
    played = play(story, far)
    assert isinstance(played.error, ProtocolError)
    assert far.heard_methods() == ["tools/call"]
