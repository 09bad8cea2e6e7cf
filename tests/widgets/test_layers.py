"""The layers view: what each layer adds is read off what was really sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpsim.client.client import Client
from mcpsim.errors import ProtocolError
from mcpsim.server.server import Server
from mcpsim.widgets.layers import Layers


def blocks(widget: Layers, way: int, layer: int) -> list[list[list[Any]]]:
    return [block["lines"] for block in widget.shown["ways"][way]["layers"][layer]["blocks"]]


def added(lines: list[list[Any]]) -> list[str]:
    return [text.strip() for text, is_new in lines if is_new]


def value(lines: list[list[Any]]) -> Any:
    return json.loads("\n".join(text for text, _ in lines))


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_each_layer_holds_the_one_above_it(era: str) -> None:
    widget = Layers(era=era)
    intent, called, envelope = (value(blocks(widget, 0, layer)[0]) for layer in range(3))
    assert intent == {"name": "add", "arguments": {"a": 2, "b": 3}}
    assert intent.items() <= called["params"].items()
    assert called.items() <= envelope.items()
    stdio, http = blocks(widget, 0, 3)
    assert json.loads(stdio[0][0]) == envelope == json.loads(http[-1][0])
    assert added(stdio) == ["⏎ the newline"]
    assert added(http)[0] == "POST /mcp HTTP/1.1"
    assert http[-1][1] is False


def test_what_is_of_one_era_only() -> None:
    modern, legacy = Layers(), Layers(era="legacy")
    assert any("protocolVersion" in line for line in added(blocks(modern, 0, 1)[0]))
    assert added(blocks(legacy, 0, 1)[0]) == ['"method": "tools/call",']
    names = [[line.split(":")[0] for line in added(blocks(one, 0, 3)[1])] for one in (modern, legacy)]
    assert {"Mcp-Method", "Mcp-Name"} <= set(names[0])
    assert "MCP-Session-Id" in names[1]
    assert "MCP-Session-Id" not in names[0]
    assert {"Mcp-Method", "Mcp-Name"}.isdisjoint(names[1])
    assert '"resultType": "complete",' in added(blocks(modern, 1, 2)[0])
    assert added(blocks(legacy, 1, 2)[0]) == []


def test_the_way_back_takes_off_what_was_added() -> None:
    out, back = Layers().still_text().split("The answer's way back")
    assert "+ ⏎ the newline" in out
    assert "−" not in out
    for line in ("− ⏎ the newline", "− HTTP/1.1 200 OK", '−   "jsonrpc": "2.0",', '−   "id": 1,'):
        assert line in back
    assert not any(line.lstrip().startswith("+") for line in back.splitlines())


def server_with_two() -> Server:
    server = Server("two")

    @server.tool()
    async def echo(text: str) -> str:
        """Echo."""
        return text

    return server


async def calls_three(client: Client) -> None:
    """Three calls, the last one wrong."""
    await client.list_tools()
    await client.call_tool("echo", {"text": "‮line\nbreak"})
    await client.call_tool("no-such-tool")


def test_any_call_of_a_story() -> None:
    widget = Layers(calls_three, server_with_two(), call=2)
    assert [label for _, label in widget.shown["calls"]] == [
        "1. tools/list",
        "2. tools/call echo",
        "3. tools/call no-such-tool",
    ]
    stdio, _ = blocks(widget, 0, 3)
    assert "\\n" in stdio[0][0]
    assert "\u202e" not in json.dumps(widget.shown, ensure_ascii=False)
    widget.show_call(1)
    assert "tool to be called" not in widget.shown["ways"][0]["layers"][0]["about"]


def test_an_error_on_its_way_back() -> None:
    widget = Layers(calls_three, server_with_two(), call=3)
    assert isinstance(widget.runs["http"].error, ProtocolError)
    names = [layer["name"] for layer in widget.shown["ways"][1]["layers"]]
    assert names == ["5. Bytes", "6. JSON-RPC envelope", "7. Error"]
    assert value(blocks(widget, 1, 2)[0])["code"] == -32602


def test_a_stream_of_events() -> None:
    server = Server("slow")

    @server.tool()
    async def work(context: Any) -> str:
        """Work."""
        await context.report_progress(1, 2)
        return "done"

    async def with_progress(client: Client) -> Any:
        """Call with progress."""
        return await client.call_tool("work", on_progress=lambda *_: None)

    widget = Layers(with_progress, server)
    http = blocks(widget, 1, 0)[1]
    data = [text for text, is_new in http if not is_new]
    assert len(data) == 1
    assert data[0].startswith("data:")
    assert '"result"' in data[0]


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"do": "x"},
        {"do": "era"},
        {"do": "era", "era": "auto"},
        {"do": "call", "call": 1},
        {"do": "call", "call": "²"},
        {"do": "call", "call": "2"},
        {"do": "call", "call": "0"},
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_in_words(wish: dict[str, Any]) -> None:
    widget = Layers()
    before = widget.shown["ways"]
    widget.asked = {"n": 1, **wish}
    assert widget.shown["error"]
    assert widget.shown["ways"] == before


def test_what_cannot_be_shown() -> None:
    async def nothing(client: Client) -> None:
        """Nothing."""

    with pytest.raises(ValueError, match="asks for nothing"):
        Layers(nothing, server_with_two())
    with pytest.raises(ValueError, match="or neither"):
        Layers(nothing)
    with pytest.raises(ValueError, match="from 1 to 1"):
        Layers(call=2)


def test_the_same_text_every_time() -> None:
    assert Layers().still_text() == Layers().still_text()
    assert "+ Mcp-Method: tools/call" in Layers().still_text()
    assert "<script" not in Layers().still_html()
    assert repr(Layers()) == "Layers(call=1, era='modern')"
