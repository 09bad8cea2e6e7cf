"""Peers that misbehave in single entries: of lists, of results of tools, of errors, of arguments."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import change_result
from mcpsim.course.misbehaving.in_a_row import (
    Json,
    asking,
    by_client,
    by_server,
    call,
    read,
    refused,
    with_code,
)
from mcpsim.course.misbehaving.tools import LIST, PROMPTS, RESOURCES
from mcpsim.course.servers import archive, help_desk, notice_board, region_desk, writing_desk
from mcpsim.errors import INTERNAL_ERROR, METHOD_NOT_FOUND, McpSimError
from mcpsim.transports.twists import MakeTwist

BEYOND: Final = 2**60


def first(member: str, **members: Any) -> MakeTwist:
    """The first entry of a list, with other members."""
    return change_result(f"{member}/list", lambda result: result[member][0].update(members))


def _again(member: str) -> MakeTwist:
    def edit(result: Json) -> None:
        result[member].append({**result[member][0], "description": "A newer one."})

    return change_result(f"{member}/list", edit)


def _input_schema(edit: Callable[[Json], Any]) -> MakeTwist:
    def change(result: Json) -> None:
        edit(result["tools"][0]["inputSchema"])

    return change_result("tools/list", change)


def _refers_elsewhere(schema: Json) -> None:
    schema["properties"]["number"] = {"$ref": "https://desk.example/schemas/number.json"}


def forecast(days: int) -> Any:
    """A story that asks for a forecast of so many days, which are repeated in a header."""

    async def ask(client: Client) -> None:
        params = {"name": "weather", "arguments": {"region": "north", "days": days}}
        headers = {"Mcp-Param-Region": "north", "Mcp-Param-Days": str(days)}
        await client.request("tools/list")
        with suppress(McpSimError):
            await client.request("tools/call", params, headers=headers)

    return ask


ENTRIES: Final[tuple[Misbehaviour, ...]] = (
    by_server(
        "server-names-a-tool-at-length",
        "tool-name-length",
        "The server lists a tool whose name has more than 128 characters.",
        asking(LIST),
        first("tools", name="find_" + "the_" * 40 + "ticket"),
        help_desk,
    ),
    by_server(
        "server-gives-out-a-list-in-an-old-session",
        "tool-output-schema-object-legacy",
        "The server lists a tool whose output is an array, in a revision where it must be an object.",
        asking(LIST),
        first("tools", outputSchema={"type": "array", "items": {"type": "string"}}),
        help_desk,
        era="legacy",
    ),
    by_server(
        "server-leaves-a-schema-elsewhere",
        "tool-schema-self-contained",
        "The server lists a tool whose schema has to be fetched from a web site.",
        asking(LIST),
        _input_schema(_refers_elsewhere),
        help_desk,
    ),
    by_server(
        "server-gives-two-prompts-one-name",
        "prompt-names-unique",
        "The server lists two prompts under the same name.",
        asking(PROMPTS),
        _again("prompts"),
        writing_desk,
    ),
    by_server(
        "server-gives-two-resources-one-uri",
        "resource-uri-unique",
        "The server lists two resources under the same URI.",
        asking(RESOURCES),
        _again("resources"),
        notice_board,
    ),
    by_server(
        "server-writes-a-day-in-words",
        "annotations-last-modified",
        'The server says that a resource was last modified "yesterday".',
        asking(RESOURCES),
        first("resources", annotations={"lastModified": "yesterday"}),
        notice_board,
    ),
    by_server(
        "server-numbers-its-titles",
        "body-fits-its-schema",
        "The server writes a number where the title of a tool is a text.",
        asking(LIST),
        first("tools", title=7),
        help_desk,
    ),
    by_server(
        "server-takes-a-tool-for-a-method",
        "unknown-tool-has-its-code",
        "The server answers a call of a tool that it does not have as if the method were unknown.",
        asking(LIST, call("find_visitor")),
        with_code("tools/call", METHOD_NOT_FOUND),
        help_desk,
    ),
    by_server(
        "server-hides-a-failure-from-the-model",
        "tool-failure-in-result",
        "The server reports by a protocol error that its tool has failed, so the model does not see it.",
        asking(LIST, call("find_ticket", number="T-1001")),
        refused("tools/call", INTERNAL_ERROR, "The list of tickets cannot be opened"),
        help_desk,
    ),
    by_server(
        "server-gives-its-own-fault-another-code",
        "resource-internal-error-code",
        "The server reports an internal error by the code 500.",
        asking(RESOURCES, read("report://2020")),
        refused("resources/read", 500, "Internal error: the shelf cannot be opened"),
        archive,
    ),
    by_client(
        "client-asks-by-a-title",
        "resource-request-uri-valid",
        "The client asks for a resource by a text that is no URI.",
        asking(RESOURCES, read("the first notice")),
        asking(RESOURCES, read("notice://monday")),
        notice_board,
    ),
    by_client(
        "client-counts-too-far-in-a-header",
        "x-mcp-header-integer-range",
        "The client repeats a number in a header that not every reader can keep exactly.",
        forecast(BEYOND),
        forecast(3),
        region_desk,
        way="http",
    ),
)
