"""Peers that misbehave with streams and sessions over HTTP, and what all peers over HTTP are made with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour, Party
from mcpsim.course.misbehaving.changing import (
    Letter,
    add_after,
    on_message,
    on_nth,
    only_from,
    request_header,
    response_header,
    response_status,
)
from mcpsim.course.misbehaving.messages import (
    CALL,
    find_a_ticket,
)
from mcpsim.course.servers import help_desk
from mcpsim.eras.revisions import LEGACY_REVISIONS, ClientEra
from mcpsim.gateway import Gateway
from mcpsim.server import Server
from mcpsim.transports.http import (
    LAST_EVENT_ID_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_ID_HEADER,
    HttpHead,
    HttpRequest,
    sse_event,
)
from mcpsim.transports.twists import MakeTwist

Story = Callable[[Client], Any]


async def build_a_report(client: Client) -> None:
    """Call a tool that takes its time and tells how far it is."""

    def follow(progress: float, total: float | None, message: str | None) -> None:
        pass

    await client.call_tool("export_report", {"parts": 2}, on_progress=follow, timeout_s=5)


def standing(era: ClientEra) -> Client:
    """A client that opens a stream with GET."""
    return Client(era=era, standing_stream=True)


async def listen_a_little(client: Client) -> None:
    """Open a session, and listen for a while."""
    await anyio.sleep(1)
    await client.request("ping", timeout_s=5)


def status_instead(status: int, of: int, streams: bool = False) -> MakeTwist:
    """Another status for the responses without a message: to notifications, or to a GET."""

    def change(letter: Letter) -> Any:
        head = letter.out.head
        if not isinstance(head, HttpHead) or head.status != of:
            return None
        is_stream = (head.headers.get("Content-Type") or "").startswith("text/event-stream")
        return letter.out.with_status(status) if is_stream is streams else None

    return on_message(change, "other")


def _peer(
    party: Party,
    name: str,
    rule: str,
    sentence: str,
    twist: MakeTwist,
    era: ClientEra = "modern",
    story: Story = find_a_ticket,
    server: Callable[[], Server] = help_desk,
) -> Misbehaviour:
    """A client or a server that misbehaves over HTTP."""
    return Misbehaviour(name, party, rule, sentence, story, server, era, "http", twist=twist)


http_client: Final = partial(_peer, "client")
http_server: Final = partial(_peer, "server")


def _json_by_get(letter: Letter) -> Any:
    head = letter.out.head
    if not isinstance(head, HttpRequest) or head.method != "GET":
        return None
    return letter.out.with_header("Accept", "application/json")


_STREAMS: Final = (
    http_server(
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
        twist=status_instead(404, of=200, streams=True),
        clients=standing,
    ),
)

_SESSIONS: Final = (
    http_server(
        "server-gives-an-id-with-a-blank",
        "http-session-id-is-visible-ascii",
        "The server gives its session an id with a blank in it.",
        response_header(SESSION_ID_HEADER, "desk 5", "initialize"),
        "legacy",
    ),
    http_client(
        "client-forgets-its-session",
        "http-session-id-is-sent",
        "The client leaves the session id out of a call.",
        request_header(SESSION_ID_HEADER, None, CALL),
        "legacy",
    ),
    http_client(
        "client-forgets-the-version-of-its-session",
        "http-version-header-legacy",
        "The client leaves MCP-Protocol-Version out of a call in a session.",
        request_header(PROTOCOL_VERSION_HEADER, None, CALL),
        "legacy",
    ),
    http_client(
        "client-names-an-older-version",
        "http-version-header-is-negotiated",
        "The client's header names another version than was negotiated.",
        request_header(PROTOCOL_VERSION_HEADER, LEGACY_REVISIONS[-2], CALL),
        "legacy",
    ),
    http_client(
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


def parting_words(letter: Letter) -> dict[str, Any]:
    """A log message."""
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
    http_server(
        "server-speaks-after-the-response",
        "http-response-ends-the-stream",
        "The server sends a log message in the stream of a request that it has answered.",
        add_after(CALL, parting_words, "result"),
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


HTTP_SESSIONS: Final[tuple[Misbehaviour, ...]] = (*_STREAMS, *_SESSIONS, *_MORE)
