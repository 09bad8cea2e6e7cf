"""Peers that misbehave in tools: how they are listed, called and answered; and in telling of changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Letter,
    change_result,
    dropped,
    from_nth,
    on_message,
    on_nth,
    set_in_result,
)
from mcpsim.course.misbehaving.in_a_row import (
    Json,
    Step,
    answered,
    asking,
    by_client,
    by_server,
    call,
    refused,
    text,
)
from mcpsim.course.servers import archive, help_desk, writing_desk
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import INVALID_PARAMS, METHOD_NOT_FOUND
from mcpsim.server import Server
from mcpsim.transports.twists import MakeTwist

DISCOVER: Final[Step] = ("server/discover", {})
LIST: Final[Step] = ("tools/list", {})
RESOURCES: Final[Step] = ("resources/list", {})
PROMPTS: Final[Step] = ("prompts/list", {})
CLOSE: Final[Json] = {"name": "close", "inputSchema": {"type": "object"}}


async def both_look_twice(ada: Client, ben: Client) -> None:
    """Two connections list the tools, in turns."""
    for client in (ada, ben, ada, ben):
        await client.request("tools/list")


async def mirror_a_fraction(client: Client) -> None:
    """Repeat a number with a fraction in a header."""
    await _add(client, {"Mcp-Param-First": "2.5"})


async def mirror_nothing(client: Client) -> None:
    """Leave numbers in the body."""
    await _add(client, {})


async def _add(client: Client, headers: Mapping[str, str]) -> None:
    params = {"name": "add_hours", "arguments": {"first": 2.5, "second": 1}}
    await client.request("tools/call", params, headers=headers)


def two_connections(era: ClientEra) -> Mapping[str, Client]:
    """Two clients of nobody in particular."""
    return {name: Client(name, era=era) for name in ("ada", "ben")}


def open_archive() -> Server:
    """An archive that promises to tell of changes, all of it on one page."""
    return archive(list_changed=True, page_size=20)


def telling_desk() -> Server:
    """A help desk that promises to tell of changes."""
    return help_desk(list_changed=True)


def telling_writer() -> Server:
    """A writing desk that promises to tell of changes."""
    return writing_desk(list_changed=True)


def _first_tool(edit: Callable[[Json], Any]) -> MakeTwist:
    def change(result: Json) -> None:
        edit(result["tools"][0])

    return change_result("tools/list", change)


def _same_name_again(result: Json) -> None:
    result["tools"].append({**result["tools"][0], "description": "A newer one."})


def _backwards(result: Json) -> None:
    result["tools"].reverse()


def _one_more(member: str, entry: Json) -> Callable[[Json], None]:
    def edit(result: Json) -> None:
        result[member].append(entry)

    return edit


def _fewer_for_ben(letter: Letter) -> Any:
    if letter.out.receiver != "ben":
        return None
    letter.message["result"]["tools"].pop()
    return letter.out.with_message(letter.message)


TOOLS: Final[tuple[Misbehaviour, ...]] = (
    by_server(
        "server-gives-two-tools-one-name",
        "tool-name-unique",
        "The server lists two tools under the same name.",
        asking(LIST),
        change_result("tools/list", _same_name_again),
        help_desk,
    ),
    by_server(
        "server-names-a-tool-with-spaces",
        "tool-name-characters",
        "The server lists a tool whose name has spaces in it.",
        asking(LIST),
        _first_tool(lambda tool: tool.update(name="find a ticket")),
        help_desk,
    ),
    by_server(
        "server-shuffles-its-tools",
        "tools-order-stable",
        "The server lists the same tools in another order each time.",
        asking(LIST, LIST),
        on_nth(2, change_result("tools/list", _backwards)),
        help_desk,
    ),
    by_server(
        "server-forgets-that-arguments-are-an-object",
        "tool-input-schema-object",
        "The server lists a tool whose input schema has no type at its root.",
        asking(LIST),
        _first_tool(lambda tool: tool["inputSchema"].pop("type")),
        help_desk,
    ),
    by_server(
        "server-lists-a-schema-that-is-none",
        "tool-schema-valid",
        "The server lists a tool whose input schema has a type that there is not.",
        asking(LIST),
        _first_tool(lambda tool: tool["inputSchema"]["properties"].update(number={"type": "ticket"})),
        help_desk,
    ),
    by_server(
        "server-does-not-know-its-own-list",
        "tools-list-answered",
        "The server declares tools and has no tools/list.",
        asking(DISCOVER, LIST),
        refused("tools/list", METHOD_NOT_FOUND, "Method not found"),
        help_desk,
    ),
    by_server(
        "server-varies-its-tools",
        "tools-list-not-per-connection",
        "The server gives two connections of the same kind different tools.",
        both_look_twice,
        on_message(_fewer_for_ben, "result", method="tools/list"),
        help_desk,
        clients=two_connections,
        way="http",
    ),
    by_server(
        "server-takes-an-unknown-tool-for-a-failure",
        "unknown-tool-is-protocol-error",
        "The server answers a call of a tool that it does not have by a tool error.",
        asking(LIST, call("find_visitor")),
        answered("tools/call", **text("There is no tool find_visitor.", isError=True)),
        help_desk,
    ),
    by_server(
        "server-hides-a-wrong-argument-from-the-model",
        "tool-argument-fault-in-result",
        "The server refuses an argument of the wrong type by a protocol error.",
        asking(LIST, call("add_hours", first="two", second=1)),
        refused("tools/call", INVALID_PARAMS, "Invalid arguments: first must be a number"),
        help_desk,
    ),
    by_server(
        "server-runs-a-tool-on-anything",
        "tool-inputs-validated",
        "The server carries a call out although a required argument is missing.",
        asking(LIST, call("add_hours", first=2)),
        answered("tools/call", **text("2")),
        help_desk,
    ),
    by_server(
        "server-takes-names-in-any-case",
        "tool-name-case-sensitive",
        "The server takes FIND_TICKET for find_ticket.",
        asking(LIST, call("FIND_TICKET", number="T-1001")),
        answered("tools/call", **text("The printer on floor 2 prints blank pages.")),
        help_desk,
    ),
    by_server(
        "server-breaks-its-output-schema",
        "structured-content-conforms",
        "The server gives a word where its output schema has a number.",
        asking(LIST, call("count", text="two words")),
        set_in_result("tools/call", "structuredContent", "words", to="two"),
        writing_desk,
    ),
    by_server(
        "server-leaves-the-text-out",
        "structured-content-text-copy",
        "The server gives structured content without the same as text, which is all that older clients read.",
        asking(LIST, call("count", text="two words")),
        set_in_result("tools/call", "content", to=[]),
        writing_desk,
    ),
    by_server(
        "server-sends-a-picture-as-it-is",
        "tool-media-base64",
        "The server puts the text of a picture where its base64 belongs.",
        asking(call("samples")),
        set_in_result(
            "tools/call", "content", to=[{"type": "image", "data": "<svg/>", "mimeType": "image/svg+xml"}]
        ),
        writing_desk,
    ),
    by_server(
        "server-repeats-a-password-in-a-header",
        "x-mcp-header-not-sensitive",
        "The server wants a password repeated in a header, where everybody on the way can read it.",
        asking(LIST),
        _first_tool(
            lambda tool: tool["inputSchema"]["properties"].update(
                password={"type": "string", "x-mcp-header": "Password"}
            )
        ),
        help_desk,
    ),
    by_server(
        "server-repeats-a-list-in-a-header",
        "x-mcp-header-valid",
        "The server wants a list repeated in a header, where only one value can stand.",
        asking(LIST),
        _first_tool(
            lambda tool: tool["inputSchema"]["properties"].update(
                days={"type": "array", "x-mcp-header": "Days"}
            )
        ),
        help_desk,
    ),
    by_client(
        "client-calls-a-tool-that-it-must-reject",
        "x-mcp-header-tool-rejected",
        "The client repeats a number with a fraction in a header, as no valid tool can ask it to.",
        mirror_a_fraction,
        mirror_nothing,
        help_desk,
        way="http",
    ),
    by_client(
        "client-does-not-look-at-the-schema",
        "tool-arguments-fit-schema",
        "The client calls a tool with an argument of the wrong type.",
        asking(LIST, call("add_hours", first="two", second=1)),
        asking(LIST, call("add_hours", first=2, second=1)),
        help_desk,
    ),
)

CHANGES: Final[tuple[Misbehaviour, ...]] = (
    by_server(
        "server-keeps-new-tools-to-itself",
        "tools-list-changed-sent",
        "The server promised to tell of changes, has a new tool, and says nothing.",
        asking(LIST, 1.0, LIST, 2.0, LIST),
        from_nth(2, change_result("tools/list", _one_more("tools", CLOSE))),
        telling_desk,
        era="legacy",
    ),
    by_server(
        "server-keeps-new-resources-to-itself",
        "resources-list-changed-sent",
        "The server promised to tell of changes, has a new resource, and says nothing.",
        asking(RESOURCES, call("file_report", year=2026), RESOURCES, 2.0, RESOURCES),
        dropped("notifications/resources/list_changed"),
        open_archive,
        era="legacy",
    ),
    by_server(
        "server-keeps-new-prompts-to-itself",
        "prompts-list-changed-sent",
        "The server promised to tell of changes, has a new prompt, and says nothing.",
        asking(PROMPTS, 1.0, PROMPTS, 2.0, PROMPTS),
        from_nth(2, change_result("prompts/list", _one_more("prompts", {"name": "card"}))),
        telling_writer,
        era="legacy",
    ),
)
