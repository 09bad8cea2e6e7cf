"""Peers that misbehave in Streamable HTTP: heads, statuses, streams, sessions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour, Party
from mcpsim.course.misbehaving.changing import (
    Letter,
    add_after,
    from_nth,
    on_message,
    on_nth,
    only_from,
    raw_bytes,
    request_header,
    response_header,
    response_status,
)
from mcpsim.course.misbehaving.messages import (
    CALL,
    choose_a_seat,
    find_a_ticket,
    sends,
)
from mcpsim.course.servers import help_desk, region_desk, travel_desk
from mcpsim.eras.revisions import LATEST_LEGACY, ClientEra
from mcpsim.errors import HEADER_MISMATCH, McpSimError
from mcpsim.gateway import Gateway
from mcpsim.server import Server
from mcpsim.transports.http import (
    LAST_EVENT_ID_HEADER,
    METHOD_HEADER,
    NAME_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_ID_HEADER,
    HttpHead,
    HttpRequest,
    sse_event,
)
from mcpsim.transports.twists import MakeTwist

Story = Callable[[Client], Any]


async def find_two_tickets(client: Client) -> None:
    """Call a tool twice."""
    for number in ("T-17", "T-18"):
        await client.request(CALL, {"name": "find_ticket", "arguments": {"number": number}}, timeout_s=5)


async def build_a_report(client: Client) -> None:
    """Call a tool that takes its time and tells how far it is."""

    def follow(progress: float, total: float | None, message: str | None) -> None:
        pass

    await client.call_tool("export_report", {"parts": 2}, on_progress=follow, timeout_s=5)


async def ask_for_a_method_that_is_not_there(client: Client) -> None:
    """Ask for something that no server has."""
    await find_a_ticket(client)
    with suppress(McpSimError):
        await client.request("tickets/close", {}, timeout_s=5)


async def weather_of_a_region(client: Client) -> None:
    """List the tools, and call one that wants an argument in a header."""
    await client.list_tools()
    await client.call_tool("weather", _WEATHER["arguments"], timeout_s=5)


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


def standing(era: ClientEra) -> Client:
    """A client that opens a stream with GET."""
    return Client(era=era, standing_stream=True)


async def listen_a_little(client: Client) -> None:
    """Open a session, and listen for a while."""
    await anyio.sleep(1)
    await client.request("ping", timeout_s=5)


_WEATHER: Final[dict[str, Any]] = {"name": "weather", "arguments": {"region": "north", "days": 7}}
_LOOKALIKE: Final = "=?base64?dGlja2V0?="


def _with_method(name: str) -> MakeTwist:
    def change(letter: Letter) -> Any:
        head = letter.out.head
        return letter.out.with_head(replace(head, method=name)) if isinstance(head, HttpRequest) else None

    return on_message(change, "request", method=CALL)


def _status_instead(status: int, of: int, streams: bool = False) -> MakeTwist:
    """Another status for the responses without a message: to notifications, or to a GET."""

    def change(letter: Letter) -> Any:
        head = letter.out.head
        if not isinstance(head, HttpHead) or head.status != of:
            return None
        is_stream = (head.headers.get("Content-Type") or "").startswith("text/event-stream")
        return letter.out.with_status(status) if is_stream is streams else None

    return on_message(change, "other")


def _mismatch(letter: Letter) -> Any:
    error = {"code": HEADER_MISMATCH, "message": f"{NAME_HEADER} differs from the body."}
    return letter.out.with_message({**letter.message, "error": error}).with_status(400)


def _client(
    name: str,
    rule: str,
    sentence: str,
    twist: MakeTwist,
    era: ClientEra = "modern",
    story: Story = find_a_ticket,
    server: Callable[[], Server] = help_desk,
) -> Misbehaviour:
    return _peer("client", name, rule, sentence, twist, era, story, server)


def _server(
    name: str,
    rule: str,
    sentence: str,
    twist: MakeTwist,
    era: ClientEra = "modern",
    story: Story = find_a_ticket,
    server: Callable[[], Server] = help_desk,
) -> Misbehaviour:
    return _peer("server", name, rule, sentence, twist, era, story, server)


def _peer(
    party: Party,
    name: str,
    rule: str,
    sentence: str,
    twist: MakeTwist,
    era: ClientEra,
    story: Story,
    server: Callable[[], Server],
) -> Misbehaviour:
    return Misbehaviour(name, party, rule, sentence, story, server, era, "http", twist=twist)


_REQUESTS: Final = (
    _client(
        "client-sends-a-call-with-put",
        "http-message-needs-post",
        "The client sends a call with PUT.",
        _with_method("PUT"),
    ),
    _client(
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

_METADATA: Final = (
    _client(
        "client-forgets-the-version-header",
        "http-version-header",
        "The client leaves MCP-Protocol-Version out of a call.",
        request_header(PROTOCOL_VERSION_HEADER, None, CALL),
    ),
    _client(
        "client-names-two-versions",
        "http-version-header-agrees",
        "The header of a call names another version than its body.",
        request_header(PROTOCOL_VERSION_HEADER, LATEST_LEGACY, CALL),
    ),
    _client(
        "client-forgets-the-method-header",
        "http-method-header",
        "The client leaves Mcp-Method out of a call.",
        request_header(METHOD_HEADER, None, CALL),
    ),
    _client(
        "client-names-two-methods",
        "http-method-header-agrees",
        "Mcp-Method says tools/list, and the body tools/call.",
        request_header(METHOD_HEADER, "tools/list", CALL),
    ),
    _client(
        "client-forgets-the-name-header",
        "http-name-header",
        "The client leaves Mcp-Name out of a call.",
        request_header(NAME_HEADER, None, CALL),
    ),
    _client(
        "client-names-two-tools",
        "http-name-header-agrees",
        "Mcp-Name says one tool, and the body another.",
        request_header(NAME_HEADER, "export_report", CALL),
    ),
    _client(
        "client-sends-letters-as-they-are",
        "http-name-is-encoded",
        "The client sends a name with letters that no header may hold, without encoding it.",
        request_header(NAME_HEADER, "B\u00fcro", CALL),
        story=call_an_odd_name,
    ),
    _client(
        "client-encodes-in-capitals",
        "http-name-encoding-is-exact",
        "The client marks an encoded name with BASE64 in capitals.",
        request_header(NAME_HEADER, "=?BASE64?QsO8cm8=?=", CALL),
        story=call_an_odd_name,
    ),
    _client(
        "client-lets-a-lookalike-through",
        "http-name-lookalike-is-encoded",
        "The client sends a name that looks like an encoded one as it is.",
        request_header(NAME_HEADER, _LOOKALIKE, CALL),
        story=call_a_lookalike,
    ),
)

_PARAMETERS: Final = (
    _client(
        "client-forgets-a-parameter-header",
        "http-param-header",
        "The client does not repeat an argument that the tool wants in a header.",
        request_header("Mcp-Param-Region", None, CALL),
        story=weather_of_a_region,
        server=region_desk,
    ),
    _client(
        "client-repeats-another-argument",
        "http-param-header-agrees",
        "The header names another region than the argument.",
        request_header("Mcp-Param-Region", "south", CALL),
        story=weather_of_a_region,
        server=region_desk,
    ),
)

_ANSWERS: Final = (
    _server(
        "server-stops-taking-post",
        "http-endpoint-takes-post",
        "The server answers the second call with 405.",
        from_nth(2, response_status(405, CALL)),
        story=find_two_tickets,
    ),
    _server(
        "server-answers-a-notification-with-200",
        "http-notification-gets-202",
        "The server answers notifications with 200.",
        _status_instead(200, of=202),
        "legacy",
    ),
    _server(
        "server-calls-json-a-text",
        "http-request-gets-json-or-events",
        "The server sends its JSON as text/plain.",
        response_header("Content-Type", "text/plain", CALL),
    ),
    _server(
        "server-answers-with-an-array",
        "http-json-is-one-object",
        "The server puts the one response into an array.",
        raw_bytes(CALL, lambda data: b"[" + data + b"]", "result", framed=False),
    ),
    _server(
        "server-says-all-is-well",
        "http-method-not-found-is-404",
        "The server answers for a method that it does not have, with the status 200.",
        response_status(200, "", "error"),
        story=ask_for_a_method_that_is_not_there,
    ),
    _server(
        "server-refuses-with-403",
        "http-missing-capability-is-400",
        "The server refuses a client that lacks a capability with 403.",
        response_status(403, CALL, "error"),
        story=choose_a_seat,
        server=travel_desk,
    ),
    _server(
        "server-refuses-headers-with-200",
        "http-header-mismatch-is-400",
        "The server says with the status 200 that a header is missing.",
        response_status(200, CALL, "error"),
        story=weather_without_a_list,
        server=region_desk,
    ),
    _server(
        "server-compares-encoded-names",
        "http-right-headers-are-accepted",
        "The server compares a name with its encoded form, and refuses it.",
        on_message(_mismatch, "error", method=CALL),
        story=call_an_odd_name,
    ),
)


def _json_by_get(letter: Letter) -> Any:
    head = letter.out.head
    if not isinstance(head, HttpRequest) or head.method != "GET":
        return None
    return letter.out.with_header("Accept", "application/json")


_STREAMS: Final = (
    _server(
        "server-lets-proxies-buffer",
        "http-stream-is-not-buffered",
        "The server leaves X-Accel-Buffering out of its streams.",
        response_header("X-Accel-Buffering", None),
        story=build_a_report,
    ),
    Misbehaviour(
        "client-asks-for-json-by-get",
        "client",
        "http-get-accepts-events",
        "The client's GET does not list text/event-stream.",
        listen_a_little,
        help_desk,
        "legacy",
        "http",
        twist=on_message(_json_by_get, "other"),
        clients=standing,
    ),
    Misbehaviour(
        "server-does-not-know-get",
        "server",
        "http-get-is-stream-or-405",
        "The server answers GET with 404.",
        listen_a_little,
        help_desk,
        "legacy",
        "http",
        twist=_status_instead(404, of=200, streams=True),
        clients=standing,
    ),
)

_SESSIONS: Final = (
    _server(
        "server-gives-an-id-with-a-blank",
        "http-session-id-is-visible-ascii",
        "The server gives its session an id with a blank in it.",
        response_header(SESSION_ID_HEADER, "desk 5", "initialize"),
        "legacy",
    ),
    _client(
        "client-forgets-its-session",
        "http-session-id-is-sent",
        "The client leaves the session id out of a call.",
        request_header(SESSION_ID_HEADER, None, CALL),
        "legacy",
    ),
    _client(
        "client-forgets-the-version-header-in-a-session",
        "http-version-header-legacy",
        "The client leaves MCP-Protocol-Version out of a call.",
        request_header(PROTOCOL_VERSION_HEADER, None, CALL),
        "legacy",
    ),
    _client(
        "client-names-an-older-version",
        "http-version-header-is-negotiated",
        "The client's header names another version than was negotiated.",
        request_header(PROTOCOL_VERSION_HEADER, "2025-06-18", CALL),
        "legacy",
    ),
    _client(
        "client-resumes-by-post",
        "http-stream-is-resumed-by-get",
        "The client sends Last-Event-ID with a POST.",
        request_header(LAST_EVENT_ID_HEADER, "e-1", CALL),
        "legacy",
    ),
)


def logging_desk() -> Server:
    """A help desk that may send log messages."""
    return help_desk(logging=True)


def _same_id(letter: Letter) -> Any:
    out = letter.out
    return out.with_raw(sse_event(out.data, id="e")) if out.is_http and out.head is None else None


def _parting_words(letter: Letter) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "Bye."}}


async def report_by_hand(client: Client) -> None:
    """Call a tool that takes its time, and read the stream to its end."""
    await client.send_raw(
        {
            "jsonrpc": "2.0",
            "id": "by-hand",
            "method": CALL,
            "params": {"name": "export_report", "arguments": {"parts": 2}, "_meta": {"progressToken": "r"}},
        }
    )


def _ping_by_hand(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": f"by-hand-{number}", "method": "ping"}


async def go_on_after_404(client: Client) -> None:
    """Send two requests in a session, whatever comes back."""
    for number in (1, 2):
        await client.send_raw(_ping_by_hand(number))
        await anyio.sleep(0.5)


async def begin_anew_after_404(client: Client) -> None:
    """Send two requests; what is lost with its session is asked again in a new one."""
    for _ in range(2):
        await client.request("ping", timeout_s=5)
        await anyio.sleep(0.5)


_MORE: Final = (
    Misbehaviour(
        "server-gives-all-events-one-id",
        "server",
        "http-event-ids-are-unique",
        "The server gives all events of its streams the same id.",
        build_a_report,
        help_desk,
        "legacy",
        "http",
        twist=on_message(_same_id, "notification", "result"),
        endpoint={"resumable": True},
    ),
    _server(
        "server-speaks-after-the-response",
        "http-response-ends-the-stream",
        "The server sends a log message in the stream of a request that it has answered.",
        add_after(CALL, _parting_words, "result"),
        "legacy",
        report_by_hand,
        logging_desk,
    ),
    Misbehaviour(
        "client-goes-on-in-a-lost-session",
        "client",
        "http-404-starts-a-new-session",
        "The client goes on with a session id that the server does not know any more.",
        go_on_after_404,
        help_desk,
        "legacy",
        "http",
        scenery=on_nth(1, response_status(404, "ping")),
        good_story=begin_anew_after_404,
    ),
    Misbehaviour(
        "gateway-drops-what-it-does-not-know",
        "gateway",
        "http-unknown-param-header-is-forwarded",
        "The gateway drops a parameter header that it does not know.",
        find_a_ticket,
        help_desk,
        "modern",
        "http",
        twist=only_from("gateway", request_header("Mcp-Param-Shade", None, CALL)),
        setting={"gateway": Gateway()},
        scenery=only_from("client", request_header("Mcp-Param-Shade", "dark", CALL)),
    ),
)


HTTP: Final[tuple[Misbehaviour, ...]] = (
    *_REQUESTS,
    *_METADATA,
    *_PARAMETERS,
    *_ANSWERS,
    *_STREAMS,
    *_SESSIONS,
    *_MORE,
)
