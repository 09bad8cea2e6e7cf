"""What handlers return and raise, by revision; and registering tools."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from typing import Any

import mcp_types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types.methods import validate_server_result
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS
from pydantic import BaseModel, Field
from talking import LATEST, Endpoint, call, legacy, modern, opening, run, talk

from mcpsim import Context, ProtocolError, Server, ToolError
from mcpsim.errors import RegistrationError
from mcpsim.server.results import result_of
from mcpsim.server.tools import tool_from_function


class Ticket(BaseModel):
    number: str = Field(alias="ticketNumber")
    note: str | None = None


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Size:
    width: int
    colour: Colour


IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
LINK = {"type": "resource_link", "uri": "file:///a.txt", "name": "a.txt"}
RESOURCE = {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "A"}}


def text(value: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": value}]


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        ({**LINK, "uri": "a.txt"}, "no URI"),
        ({**LINK, "uri": "file:///a b"}, "no URI"),
        ({"type": "resource", "resource": {"uri": "", "mimeType": "text/plain", "text": "A"}}, "no URI"),
        ({**IMAGE, "mimeType": "png"}, "no MIME type"),
        ({**AUDIO, "mimeType": "audio/"}, "no MIME type"),
        ({**IMAGE, "data": "!"}, "Base64"),
    ],
    ids=str,
)
def test_a_block_that_leads_nowhere_is_the_servers_fault(block: dict[str, Any], fault: str) -> None:
    """https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#data-types"""
    with pytest.raises(ValueError, match=fault):
        result_of(block, LATEST)
    server = Server("desk")
    server.prompt("show")(lambda: {"role": "user", "content": block})
    talked = talk(server, modern(1, "prompts/get", {"name": "show"}))
    assert talked.answer(1)["error"]["code"] == -32603
    assert any(fault in note for note in talked.notes)


def test_a_mime_type_may_have_parameters() -> None:
    image = {**IMAGE, "mimeType": "image/svg+xml; charset=utf-8"}
    assert result_of(image, LATEST)["content"] == [image]


@pytest.mark.parametrize(
    "src", ["https://example.com/a.png", "http://localhost/a", "data:image/png;base64,AA=="]
)
def test_an_icon_is_on_the_web_or_in_the_address(src: str) -> None:
    Server("desk").tool("a", icons=[{"src": src}])(lambda: 1)


@pytest.mark.parametrize(
    "src", ["javascript:alert(1)", "file:///a.png", "ftp://a/b", "a.png", "", "https://"]
)
def test_an_icon_from_anywhere_else(src: str) -> None:
    """https://modelcontextprotocol.io/specification/2026-07-28/basic/index#icons"""
    with pytest.raises(RegistrationError, match="icons: the address"):
        Server("desk").tool("a", icons=[{"src": src}])(lambda: 1)
    with pytest.raises(RegistrationError, match="icons: the address"):
        Server("desk").resource("test:a", name="a", icons=[{"src": src}])(lambda: "A")


@pytest.mark.parametrize(
    ("value", "content", "structured"),
    [
        ("plain", text("plain"), None),
        ("", text(""), None),
        (None, [], None),
        (mcp_types.TextContent(type="text", text="T"), text("T"), None),
        ([mcp_types.TextContent(type="text", text="T"), IMAGE], [*text("T"), IMAGE], None),
        (IMAGE, [IMAGE], None),
        ([LINK, AUDIO, RESOURCE], [LINK, AUDIO, RESOURCE], None),
        # What only looks like content is data.
        ({"type": "image"}, text('{"type": "image"}'), {"type": "image"}),
        ({"type": "text", "text": 5}, text('{"type": "text", "text": 5}'), {"type": "text", "text": 5}),
        ({"type": ["text"]}, text('{"type": ["text"]}'), {"type": ["text"]}),
        ({"a": 1}, text('{"a": 1}'), {"a": 1}),
        ({}, text("{}"), {}),
        ([], text("[]"), []),
        ([1, "a"], text('[1, "a"]'), [1, "a"]),
        ((1, 2), text("[1, 2]"), [1, 2]),
        (5, text("5"), 5),
        (0.5, text("0.5"), 0.5),
        (True, text("true"), True),
        ({"ä": "\u2028"}, text('{"ä": "\u2028"}'), {"ä": "\u2028"}),
        # None is a value of the server's own models.
        (
            Ticket(ticketNumber="T-1"),
            text('{"ticketNumber": "T-1", "note": null}'),
            {"ticketNumber": "T-1", "note": None},
        ),
        ([Ticket(ticketNumber="T-1", note="n")], None, [{"ticketNumber": "T-1", "note": "n"}]),
        (Size(3, Colour.RED), text('{"width": 3, "colour": "red"}'), {"width": 3, "colour": "red"}),
        (Colour.RED, text('"red"'), "red"),
        ({"size": Size(3, Colour.RED)}, None, {"size": {"width": 3, "colour": "red"}}),
    ],
    ids=str,
)
def test_what_a_value_becomes(value: Any, content: Any, structured: Any) -> None:
    result = result_of(value, LATEST)
    if content is not None:
        assert result["content"] == content
    assert result.get("structuredContent") == structured
    assert ("structuredContent" in result) == (structured is not None)
    if structured is not None:
        assert json.loads(result["content"][0]["text"]) == structured
    validate_server_result("tools/call", LATEST, {"resultType": "complete", **result})


@pytest.mark.parametrize("version", KNOWN_PROTOCOL_VERSIONS)
@pytest.mark.parametrize(
    ("value", "since"),
    [
        ({"a": 1}, "2025-06-18"),
        ([1], LATEST),
        (5, LATEST),
        ("text", "never"),
    ],
)
def test_structured_content_by_revision(value: Any, since: str, version: str) -> None:
    result = result_of(value, version)
    assert ("structuredContent" in result) == (version >= since)
    assert result["content"][0]["type"] == "text"


@pytest.mark.parametrize("version", KNOWN_PROTOCOL_VERSIONS)
@pytest.mark.parametrize(
    ("block", "since"),
    [(IMAGE, "2024-11-05"), (RESOURCE, "2024-11-05"), (AUDIO, "2025-03-26"), (LINK, "2025-06-18")],
)
def test_content_that_a_revision_does_not_know_becomes_text(block: Any, since: str, version: str) -> None:
    (found,) = result_of(block, version)["content"]
    if version >= since:
        assert found == block
    else:
        assert found["type"] == "text"
        assert block["type"] in found["text"]
        assert block.get("uri", block.get("mimeType")) in found["text"]


def circular() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


CANNOT = {
    "NaN": float("nan"),
    "infinity in a list": [float("inf")],
    "half a character": "\ud800",
    "half a character inside": {"a": ["\udfff"]},
    "a set": {"a", "b"},
    "bytes": b"abc",
    "a key that is a number": {1: 2},
    "an object": object(),
    "a class": Size,
    "a function": len,
    "itself": circular(),
}


@pytest.mark.parametrize("value", CANNOT.values(), ids=CANNOT)
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_value_that_json_cannot_carry_is_the_servers_fault_and_ends_nothing(value: Any, era: str) -> None:
    server = Server("desk")
    server.tool("strange")(lambda: value)
    make = modern if era == "modern" else legacy
    lines = [
        *(opening() if era == "legacy" else []),
        make(1, "tools/call", call("strange")),
        make(2, "tools/list"),
    ]
    said = talk(server, *lines)
    result = said.answer(1)["result"]
    assert result["isError"] is True
    assert result["content"] == text("strange failed. The fault is on the server's side.")
    assert any("strange raised" in note for note in said.notes)
    assert "result" in said.answer(2)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(json_values, st.sampled_from(KNOWN_PROTOCOL_VERSIONS))
def test_any_json_value_becomes_a_valid_result(value: Any, version: str) -> None:
    result = result_of(value, version)
    validate_server_result("tools/call", version, {"resultType": "complete", **result})


def test_a_handler_may_be_plain_or_async() -> None:
    server = Server("desk")
    server.tool("plain")(lambda: "plain")

    @server.tool("later")
    async def later() -> str:
        return "later"

    server.tool("returns a coroutine")(lambda: later())
    said = talk(server, *(modern(n, "tools/call", call(tool.name)) for n, tool in enumerate(server.tools)))
    assert [said.answer(n)["result"]["content"][0]["text"] for n in range(3)] == ["later", "plain", "later"]


# What handlers raise


def raising(error: BaseException) -> Server:
    server = Server("desk")

    @server.tool()
    def fails(context: Context) -> str:
        raise error

    return server


SECRET = "password=hunter2"


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(SECRET),
        KeyError(SECRET),
        RecursionError(SECRET),
        ExceptionGroup(SECRET, [ValueError(SECRET)]),
        AssertionError(SECRET),
        TimeoutError(SECRET),
    ],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_exceptions_do_not_leak(error: Exception, transport: str) -> None:
    request = modern(1, "tools/call", call("fails"))
    if transport == "stdio":
        said = talk(raising(error), request)
        answer, notes = said.answer(1), said.notes
    else:
        endpoint = Endpoint(raising(error))
        answer, notes = run(lambda: endpoint.modern(request)).value, endpoint.notes
    assert answer["result"]["isError"] is True
    assert SECRET not in json.dumps(answer)
    # Whoever runs the server finds it in the recording.
    assert any(SECRET in note for note in notes)


def test_what_a_tool_error_says_reaches_the_model_and_a_protocol_error_the_program() -> None:
    said = talk(raising(ToolError("Try Tuesday.")), modern(1, "tools/call", call("fails")))
    assert said.answer(1)["result"]["content"] == text("Try Tuesday.")
    said = talk(raising(ProtocolError(-5, "No.", {"why": 1})), modern(1, "tools/call", call("fails")))
    assert said.answer(1)["error"] == {"code": -5, "message": "No.", "data": {"why": 1}}


@pytest.mark.parametrize(
    "error", [ToolError("\ud800"), ProtocolError(-5, "\ud800"), ProtocolError(-5, "", {1})]
)
def test_an_error_that_cannot_be_written_is_an_internal_error(error: Exception) -> None:
    request = modern(1, "tools/call", call("fails"))
    said = talk(raising(error), request, modern(2, "tools/list"))
    assert said.answer(1)["error"]["code"] == -32603
    assert any("could not be written" in note for note in said.notes)
    assert "result" in said.answer(2)
    assert run(lambda: Endpoint(raising(error)).modern(request)).value["error"]["code"] == -32603


# Registering


def test_names() -> None:
    server = Server("desk")
    server.tool("a")(lambda: "")
    with pytest.raises(RegistrationError, match="has a tool named 'a' already"):
        server.tool("a")(lambda: "")
    server.tool("A")(lambda: "")  # names are told apart by case
    server.tool("x" * 128)(lambda: "")
    for name in ("", "x" * 129):
        with pytest.raises(RegistrationError, match="1 to 128"):
            server.tool(name)(lambda: "")
    with pytest.raises(RegistrationError, match="cannot be sent"):
        server.tool("\ud800")(lambda: "")
    assert [tool.name for tool in server.tools] == ["A", "a", "x" * 128]


@pytest.mark.parametrize(
    "settings_", [{"description": "\ud800"}, {"title": "\udfff"}, {"annotations": {"x": float("nan")}}]
)
def test_a_definition_that_cannot_be_sent_is_refused(settings_: dict[str, Any]) -> None:
    with pytest.raises(RegistrationError, match="cannot be sent"):
        Server("desk").tool("a", **settings_)(lambda: "")


def test_a_definition_shows_what_it_was_given() -> None:
    def look(number: int) -> str:
        """Look up."""
        return ""

    plain = tool_from_function(look, name=None, description=None, input_schema=None).definition()
    assert (plain["name"], plain["description"]) == ("look", "Look up.")
    assert not plain.keys() & {"title", "annotations"}
    server = Server("desk")
    server.tool("l", title="Look", description="D", annotations={"readOnlyHint": True})(look)
    listed = talk(server, modern(1, "tools/list")).answer(1)["result"]
    assert {key: value for key, value in listed["tools"][0].items() if key != "inputSchema"} == {
        "name": "l",
        "title": "Look",
        "description": "D",
        "annotations": {"readOnlyHint": True},
    }
    validate_server_result("tools/list", LATEST, listed)


@pytest.mark.parametrize(
    "settings_", [{"versions": ()}, {"versions": ("1.0",)}, {"era": "modern", "versions": ("2025-11-25",)}]
)
def test_a_server_of_versions_that_are_not_there(settings_: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="versions must be some of"):
        Server("desk", **settings_)
