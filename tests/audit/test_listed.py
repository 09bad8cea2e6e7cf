"""What counts as known of a server's lists, and when it does not any more."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim.audit.building import build
from mcpsim.audit.rules.listed import RESOURCES, TOOLS, asked, listings

Message = dict[str, Any]


def tool(name: str, **more: Any) -> Message:
    return {"name": name, "inputSchema": {"type": "object", **more}}


def page(id: int, *tools: Message, cursor: str | None = None, following: str | None = None) -> list[Message]:
    more = {} if following is None else {"nextCursor": following}
    return [
        {"id": id, "method": "tools/list", "params": {} if cursor is None else {"cursor": cursor}},
        {"id": id, "result": {"tools": list(tools), **more}},
    ]


def call(id: int, name: Any) -> list[Message]:
    return [
        {"id": id, "method": "tools/call", "params": {"name": name}},
        {"id": id, "result": {"content": []}},
    ]


CHANGED: list[Message] = [{"method": "notifications/tools/list_changed"}]
HANDSHAKE: list[Message] = [
    {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}},
    {"id": 0, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}}}},
]


def connection_of(*parts: list[Message]) -> Any:
    rows: list[tuple[int, dict[str, Any]]] = []
    for message in (one for part in (HANDSHAKE, *parts) for one in part):
        is_clients = "method" in message and "id" in message
        row = {"from": "client" if is_clients else "server", "message": {"jsonrpc": "2.0", **message}}
        rows.append((len(rows), row))
    trace, refused = build(rows)
    assert not refused
    return trace.connections[0]


def test_without_a_list_nothing_is_known() -> None:
    connection = connection_of(call(1, "add"))
    assert asked(connection, TOOLS, "tools/call") == []
    assert listings(connection, RESOURCES) == []


def test_what_was_listed_is_known() -> None:
    (one,) = asked(connection_of(page(1, tool("add")), call(2, "add")), TOOLS, "tools/call")
    assert one.definition("add") == tool("add")
    assert not one.is_unknown("add")
    assert one.is_unknown("sub")
    assert not one.is_unknown(["sub"])


def test_the_pages_of_a_walk_are_one_list() -> None:
    parts = page(1, tool("add"), following="2"), page(2, tool("sub"), cursor="2"), call(3, "sub")
    connection = connection_of(*parts)
    (listing,) = listings(connection, TOOLS)
    assert listing.names == ["add", "sub"]
    assert listing.complete
    (one,) = asked(connection, TOOLS, "tools/call")
    assert one.definition("sub") == tool("sub")


@pytest.mark.parametrize(
    "parts",
    [
        # The list is not read to its end.
        (page(1, tool("add"), following="2"), call(3, "sub")),
        # It begins in the middle.
        (page(1, tool("add"), cursor="9"), call(3, "sub")),
        # It has changed.
        (page(1, tool("add")), CHANGED, call(3, "sub")),
        # It was there before, or is there after.
        (page(1, tool("add")), call(3, "sub"), page(4, tool("sub"))),
    ],
)
def test_a_name_may_be_known_to_the_server_alone(parts: tuple[list[Message], ...]) -> None:
    (one,) = asked(connection_of(*parts), TOOLS, "tools/call")
    assert not one.is_unknown("sub")


@pytest.mark.parametrize(
    "parts",
    [
        (page(1, tool("add")), CHANGED, call(3, "add")),
        (page(1, tool("add")), call(3, "add"), page(4, tool("add", required=["a"]))),
        (page(1, tool("add")), call(3, "add"), page(4, tool("sub"))),
        (page(1, tool("add"), tool("add", required=["a"])), call(3, "add")),
        (call(3, "add"), page(4, tool("add"))),
    ],
)
def test_a_definition_that_may_have_been_another_one_is_not_known(parts: tuple[list[Message], ...]) -> None:
    (one,) = asked(connection_of(*parts), TOOLS, "tools/call")
    assert one.definition("add") is None


def test_a_list_that_is_read_anew_is_known_again() -> None:
    parts = page(1, tool("add")), CHANGED, page(2, tool("add", required=["a"])), call(3, "add")
    (one,) = asked(connection_of(*parts), TOOLS, "tools/call")
    assert one.definition("add") == tool("add", required=["a"])
