"""Peers that misbehave in Streamable HTTP: what they send, and the heads and statuses that come with it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Letter,
    from_nth,
    on_message,
    raw_bytes,
    request_header,
    response_header,
    response_status,
)
from mcpsim.course.misbehaving.http_sessions import (
    HTTP_SESSIONS,
    http_client,
    http_server,
    logging_desk,
    parting_words,
    status_instead,
)
from mcpsim.course.misbehaving.messages import (
    CALL,
    choose_a_seat,
    find_a_ticket,
    sends,
)
from mcpsim.course.servers import help_desk, region_desk, travel_desk
from mcpsim.eras.revisions import LATEST_LEGACY
from mcpsim.errors import HEADER_MISMATCH, McpSimError
from mcpsim.transports.http import (
    JSON_TYPE,
    METHOD_HEADER,
    NAME_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_ID_HEADER,
    HttpHead,
    HttpRequest,
)
from mcpsim.transports.twists import MakeTwist

Story = Callable[[Client], Any]


async def find_two_tickets(client: Client) -> None:
    """Call a tool twice."""
    for number in ("T-17", "T-18"):
        await client.request(CALL, {"name": "find_ticket", "arguments": {"number": number}}, timeout_s=5)


async def ask_for_a_method_that_is_not_there(client: Client) -> None:
    """Ask for something that this server does not have."""
    await find_a_ticket(client)
    with suppress(McpSimError):
        await client.request("prompts/list", timeout_s=5)


async def weather_of_a_region(client: Client) -> None:
    """List the tools, and call one that wants an argument in a header."""
    await client.list_tools()
    await client.call_tool("weather", _WEATHER["arguments"], timeout_s=5)


def weather_of(region: str) -> Story:
    """A story that lists the tools, and asks for the weather of a region."""

    async def ask(client: Client) -> None:
        await client.list_tools()
        await client.call_tool("weather", {"region": region}, timeout_s=5)

    return ask


async def weather_without_a_list(client: Client) -> None:
    """Call a tool without having looked which arguments it wants in headers."""
    with suppress(McpSimError):
        await client.request(CALL, _WEATHER, timeout_s=5)


async def call_an_odd_name(client: Client) -> None:
    """Call a tool whose name no header can hold."""
    with suppress(McpSimError):
        await client.request(CALL, {"name": "B\u00fcro", "arguments": {}}, timeout_s=5)


async def call_a_lookalike(client: Client) -> None:
    """Call a tool whose name looks like an encoded one."""
    with suppress(McpSimError):
        await client.request(CALL, {"name": _LOOKALIKE, "arguments": {}}, timeout_s=5)


_WEATHER: Final[dict[str, Any]] = {"name": "weather", "arguments": {"region": "north", "days": 7}}
_LOOKALIKE: Final = "=?base64?dGlja2V0?="


def _with_method(name: str) -> MakeTwist:
    def change(letter: Letter) -> Any:
        head = letter.out.head
        return letter.out.with_head(replace(head, method=name)) if isinstance(head, HttpRequest) else None

    return on_message(change, "request", method=CALL)


def _thanks(letter: Letter) -> Any:
    head = letter.out.head
    if not isinstance(head, HttpHead) or head.status != 202:
        return None
    return letter.out.with_message(parting_words(letter)).with_header("Content-Type", JSON_TYPE)


def _mismatch(letter: Letter) -> Any:
    error = {"code": HEADER_MISMATCH, "message": f"{NAME_HEADER} differs from the body."}
    return letter.out.with_message({**letter.message, "error": error}).with_status(400)


_REQUESTS: Final = (
    http_client(
        "client-sends-a-call-with-put",
        "http-message-needs-post",
        "The client sends a call with PUT.",
        _with_method("PUT"),
    ),
    http_client(
        "client-takes-json-only",
        "http-accept-lists-both",
        "The client's Accept header does not list text/event-stream.",
        request_header("Accept", "application/json", CALL),
    ),
    Misbehaviour(
        "client-posts-a-batch",
        "client",
        "http-post-carries-one-message",
        "The client posts two requests in one array, in a revision without batches.",
        sends([{"jsonrpc": "2.0", "id": "a", "method": "tools/list"}]),
        help_desk,
        "legacy",
        "http",
        good_story=sends({"jsonrpc": "2.0", "id": "a", "method": "tools/list"}),
    ),
)

_HEADS: Final = (
    http_client(
        "client-calls-json-a-text",
        "http-body-says-json",
        "The client sends its JSON as text/plain.",
        request_header("Content-Type", "text/plain", CALL),
    ),
    http_client(
        "client-sends-a-session-id-to-a-modern-server",
        "http-modern-request-has-no-session",
        "The client sends a session id, as earlier revisions had it.",
        request_header(SESSION_ID_HEADER, "desk-5", CALL),
    ),
    http_server(
        "server-gives-a-session-id-to-a-modern-client",
        "http-modern-server-gives-no-session-id",
        "The server gives out a session id, as in earlier revisions.",
        response_header(SESSION_ID_HEADER, "desk-5", CALL),
    ),
    http_server(
        "server-sends-a-result-with-500",
        "http-result-is-no-http-error",
        "The server sends a result with the status 500.",
        response_status(500, CALL, "result"),
    ),
    http_server(
        "server-thanks-for-a-notification",
        "http-202-has-no-body",
        "The server puts a log message into the 202 for a notification.",
        on_message(_thanks, "other"),
        "legacy",
        server=logging_desk,
    ),
)

_METADATA: Final = (
    http_client(
        "client-forgets-the-version-header",
        "http-version-header",
        "The client leaves MCP-Protocol-Version out of a call.",
        request_header(PROTOCOL_VERSION_HEADER, None, CALL),
    ),
    http_client(
        "client-names-two-versions",
        "http-version-header-agrees",
        "The client names another version in the header of a call than in its body.",
        request_header(PROTOCOL_VERSION_HEADER, LATEST_LEGACY, CALL),
    ),
    http_client(
        "client-forgets-the-method-header",
        "http-method-header",
        "The client leaves Mcp-Method out of a call.",
        request_header(METHOD_HEADER, None, CALL),
    ),
    http_client(
        "client-names-two-methods",
        "http-method-header-agrees",
        "The client says tools/list in Mcp-Method, and tools/call in the body.",
        request_header(METHOD_HEADER, "tools/list", CALL),
    ),
    http_client(
        "client-forgets-the-name-header",
        "http-name-header",
        "The client leaves Mcp-Name out of a call.",
        request_header(NAME_HEADER, None, CALL),
    ),
    http_client(
        "client-names-two-tools",
        "http-name-header-agrees",
        "The client names one tool in Mcp-Name, and another in the body.",
        request_header(NAME_HEADER, "export_report", CALL),
    ),
    http_client(
        "client-sends-letters-as-they-are",
        "http-name-is-encoded",
        "The client sends a name with letters that no header may hold, without encoding it.",
        request_header(NAME_HEADER, "B\u00fcro", CALL),
        story=call_an_odd_name,
    ),
    http_client(
        "client-encodes-in-capitals",
        "http-name-encoding-is-exact",
        "The client marks an encoded name with BASE64 in capitals.",
        request_header(NAME_HEADER, "=?BASE64?QsO8cm8=?=", CALL),
        story=call_an_odd_name,
    ),
    http_client(
        "client-lets-a-lookalike-through",
        "http-name-lookalike-is-encoded",
        "The client sends a name that looks like an encoded one as it is.",
        request_header(NAME_HEADER, _LOOKALIKE, CALL),
        story=call_a_lookalike,
    ),
)

_PARAMETERS: Final = (
    http_client(
        "client-forgets-a-parameter-header",
        "http-param-header",
        "The client does not repeat an argument that the tool wants in a header.",
        request_header("Mcp-Param-Region", None, CALL),
        story=weather_of_a_region,
        server=region_desk,
    ),
    http_client(
        "client-repeats-another-argument",
        "http-param-header-agrees",
        "The client names another region in a header than in the argument.",
        request_header("Mcp-Param-Region", "south", CALL),
        story=weather_of_a_region,
        server=region_desk,
    ),
    http_client(
        "client-repeats-what-is-not-there",
        "http-param-header-is-left-out",
        "The client sends a header for an argument that the call does not have.",
        request_header("Mcp-Param-Days", "3", CALL),
        story=weather_of("north"),
        server=region_desk,
    ),
    http_client(
        "client-sends-an-argument-as-it-is",
        "http-param-is-encoded",
        "The client sends an argument with letters that no header may hold, without encoding it.",
        request_header("Mcp-Param-Region", "\u00d8st", CALL),
        story=weather_of("\u00d8st"),
        server=region_desk,
    ),
    http_client(
        "client-lets-an-argument-through",
        "http-param-lookalike-is-encoded",
        "The client sends an argument that looks like an encoded one as it is.",
        request_header("Mcp-Param-Region", _LOOKALIKE, CALL),
        story=weather_of(_LOOKALIKE),
        server=region_desk,
    ),
    http_client(
        "client-encodes-an-argument-in-capitals",
        "http-param-encoding-is-exact",
        "The client marks an encoded argument with BASE64 in capitals.",
        request_header("Mcp-Param-Region", "=?BASE64?w5hzdA==?=", CALL),
        story=weather_of("\u00d8st"),
        server=region_desk,
    ),
)

_ANSWERS: Final = (
    http_server(
        "server-stops-taking-post",
        "http-endpoint-takes-post",
        "The server answers the second call with 405.",
        from_nth(2, response_status(405, CALL)),
        story=find_two_tickets,
    ),
    http_server(
        "server-answers-a-notification-with-200",
        "http-notification-gets-202",
        "The server answers notifications with 200.",
        status_instead(200, of=202),
        "legacy",
    ),
    http_server(
        "server-calls-json-a-text",
        "http-request-gets-json-or-events",
        "The server sends its JSON as text/plain.",
        response_header("Content-Type", "text/plain", CALL),
    ),
    http_server(
        "server-answers-with-an-array",
        "http-json-is-one-object",
        "The server puts the one response into an array.",
        raw_bytes(CALL, lambda data: b"[" + data + b"]", "result", framed=False),
    ),
    http_server(
        "server-says-all-is-well",
        "http-method-not-found-is-404",
        "The server answers for a method that it does not have, with the status 200.",
        response_status(200, "", "error"),
        story=ask_for_a_method_that_is_not_there,
    ),
    http_server(
        "server-refuses-with-403",
        "http-missing-capability-is-400",
        "The server refuses a client that lacks a capability with 403.",
        response_status(403, CALL, "error"),
        story=choose_a_seat,
        server=travel_desk,
    ),
    http_server(
        "server-refuses-headers-with-200",
        "http-header-mismatch-is-400",
        "The server says with the status 200 that a header is missing.",
        response_status(200, CALL, "error"),
        story=weather_without_a_list,
        server=region_desk,
    ),
    http_server(
        "server-compares-encoded-names",
        "http-right-headers-are-accepted",
        "The server compares a name with its encoded form, and refuses it.",
        on_message(_mismatch, "error", method=CALL),
        story=call_an_odd_name,
    ),
)


HTTP: Final[tuple[Misbehaviour, ...]] = (
    *_REQUESTS,
    *_HEADS,
    *_METADATA,
    *_PARAMETERS,
    *_ANSWERS,
    *HTTP_SESSIONS,
)
