"""Arguments that HTTP headers repeat: what a server refuses to offer, and what it refuses to answer."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from checked import simulate_checked
from pydantic import BaseModel, Field
from revisions import BOTH_TRANSPORTS, EVERY_REVISION, LATEST_LEGACY, MODERN, ask, client_of
from talking import Endpoint, call, modern, run

from mcpsim import Client, Server, StreamableHttp
from mcpsim.errors import ProtocolError, RegistrationError

Region = Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]
Count = Annotated[int, Field(json_schema_extra={"x-mcp-header": "Count"})]

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "options": {
            "type": "object",
            "properties": {"urgent": {"type": "boolean", "x-mcp-header": "Urgent"}},
        },
    },
}


def desk() -> Server:
    server = Server("desk")

    @server.tool()
    def query(region: Region, count: Count = 1, text: str = "") -> str:
        return f"{region} {count} {text}"

    @server.tool(input_schema=SCHEMA)
    def order(**arguments: Any) -> str:
        return "ordered"

    return server


def post(name: str, arguments: Any, **headers: str) -> Any:
    """The answer to a call with these `Mcp-Param-` headers."""

    async def main() -> Any:
        named = {f"Mcp_Param_{key}": value for key, value in headers.items()}
        reply = await Endpoint(desk()).modern(modern(1, "tools/call", call(name, arguments)), **named)
        return reply.status, reply.value

    return run(main)


def test_headers_that_agree() -> None:
    status, answer = post("query", {"region": "us-west1", "count": 42}, Region="us-west1", Count="42")
    assert status == 200
    assert answer["result"]["content"][0]["text"] == "us-west1 42 "


@pytest.mark.parametrize(
    ("arguments", "headers", "says"),
    [
        ({"region": "us"}, {}, "The header Mcp-Param-Region is missing"),
        ({"region": "us"}, {"Region": "eu"}, "Mcp-Param-Region says"),
        ({"region": "us"}, {"Region": "us", "Count": "1"}, "and the body has none (params.arguments.count)"),
        ({"region": "us", "count": 2}, {"Region": "us", "Count": "3"}, "Mcp-Param-Count says"),
        ({"region": "us"}, {"Region": "=?base64?dXM?="}, "not valid Base64"),
    ],
)
def test_headers_that_do_not_agree(arguments: Any, headers: dict[str, str], says: str) -> None:
    status, answer = post("query", arguments, **headers)
    assert status == 400
    assert answer["error"]["code"] == -32020
    assert answer["error"]["message"].startswith("Header mismatch: ")
    assert says in answer["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us", "count": 42}, {"Region": "us", "Count": "42.0"}),
        ({"region": "world 世界"}, {"Region": "=?base64?d29ybGQg5LiW55WM?="}),
        ({"region": "us"}, {"Region": "us", "Text": "not asked for"}),
    ],
)
def test_headers_that_agree_in_another_way(arguments: Any, headers: dict[str, str]) -> None:
    assert post("query", arguments, **headers)[0] == 200


@pytest.mark.parametrize(
    ("arguments", "headers", "status"),
    [
        ({}, {}, 200),
        ({"region": None}, {}, 200),  # an argument fault, but none of the headers
        ({"options": {"urgent": True}}, {"Urgent": "true"}, 200),
        ({"options": {"urgent": False}}, {"Urgent": "true"}, 400),
        ({"options": {"urgent": True}}, {}, 400),
        ({"options": {}}, {}, 200),
    ],
)
def test_nested_and_absent_values(arguments: Any, headers: dict[str, str], status: int) -> None:
    assert post("order", arguments, **headers)[0] == status


def test_the_headers_are_compared_before_the_arguments() -> None:
    status, answer = post("query", {"region": 5}, Region="us")
    assert (status, answer["error"]["code"]) == (400, -32020)
    # Where they agree, the fault of the argument is the tool's to tell.
    status, answer = post("query", {"region": 5}, Region="5")
    assert (status, answer["result"]["isError"]) == (200, True)


def test_other_tools_and_methods_have_no_such_headers() -> None:
    status, answer = post("nobody", {"region": "us"}, Region="eu")
    assert (status, answer["error"]["code"]) == (400, -32602)

    async def main() -> int:
        reply = await Endpoint(desk()).modern(modern(1, "tools/list"), Mcp_Param_Region="eu")
        return reply.status

    assert run(main) == 200


@EVERY_REVISION
@BOTH_TRANSPORTS
def test_the_annotations_are_shown_and_change_nothing_else(revision: str, transport: Any) -> None:
    async def story(client: Client) -> Any:
        tools = (await client.request("tools/list"))["tools"]
        await client.list_tools()
        return tools, await client.call_tool("query", {"region": "us"})

    tools, result = simulate_checked(
        story, server=desk(), client=client_of(revision), transport=transport
    ).value
    shown = {tool["name"]: tool["inputSchema"]["properties"] for tool in tools}
    assert shown["query"]["region"] == {"type": "string", "x-mcp-header": "Region"}
    assert shown["query"]["count"] == {"type": "integer", "x-mcp-header": "Count", "default": 1}
    assert result.content[0].text == "us 1 "


def test_a_default_that_the_client_did_not_send_is_not_in_the_body() -> None:
    assert post("query", {"region": "us"}, Region="us")[0] == 200
    assert post("query", {"region": "us", "count": 1}, Region="us")[0] == 400


def test_legacy_requests_have_no_such_headers() -> None:
    result = ask(
        desk(),
        LATEST_LEGACY,
        "tools/call",
        call("query", {"region": "us"}),
        transport=StreamableHttp(),
    )
    assert result["content"][0]["text"] == "us 1 "


def test_a_client_that_has_not_listed_the_tool_is_refused_and_learns_why() -> None:
    error = ask(desk(), MODERN, "tools/call", call("query", {"region": "us"}), transport=StreamableHttp())
    assert isinstance(error, ProtocolError)
    assert error.code == -32020
    assert "Mcp-Param-Region is missing" in error.message


class Options(BaseModel):
    region: Region


def nested(options: Options) -> str:
    return options.region


def fraction(share: Annotated[float, Field(json_schema_extra={"x-mcp-header": "Share"})]) -> str:
    return str(share)


def perhaps(region: Annotated[str | None, Field(json_schema_extra={"x-mcp-header": "Region"})] = None) -> str:
    return str(region)


def twice(a: Region, b: Region) -> str:
    return a + b


def spaced(a: Annotated[str, Field(json_schema_extra={"x-mcp-header": "my region"})]) -> str:
    return a


@pytest.mark.parametrize(
    ("handler", "match"),
    [
        (nested, "through `properties` alone"),  # pydantic puts it behind a `$ref`
        (fraction, "must be of the type integer, string or boolean"),
        (perhaps, "must be of the type integer, string or boolean"),
        (twice, "a and b both ask for Mcp-Param-Region"),
        (spaced, "must be a token"),
    ],
)
def test_a_server_offers_no_tool_that_its_clients_must_leave_out(handler: Any, match: str) -> None:
    server = Server("desk")
    with pytest.raises(RegistrationError, match=match):
        server.tool()(handler)
    assert server.tools == ()
