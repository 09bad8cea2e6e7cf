"""Peers that misbehave in what a server over HTTP checks of a request, and in what a client puts into one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Json,
    Letter,
    change_error,
    on_message,
    on_nth,
    one_after_the_other,
    response_status,
    with_memory,
)
from mcpsim.course.misbehaving.in_a_row import text
from mcpsim.course.misbehaving.lifecycle_parts import (
    LIST,
    discover_and_list,
    list_with_a_future_version,
    modern,
    new_help_desk,
    with_code,
)
from mcpsim.course.servers import help_desk, region_desk
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import HEADER_MISMATCH, INVALID_REQUEST, METHOD_NOT_FOUND, McpSimError
from mcpsim.messages import SERVER_INFO
from mcpsim.server import Server
from mcpsim.transports.http import METHOD_HEADER, PROTOCOL_VERSION_HEADER, HttpHead, HttpRequest
from mcpsim.transports.twists import MakeTwist

Story = Callable[..., Any]

CALL: Final = "tools/call"
TICKET: Final[Json] = {"name": "find_ticket", "arguments": {"number": "T-1001"}}


def find_with(headers: Mapping[str, str]) -> Story:
    """A story that lists the tools, and calls one with these headers over the right ones."""

    async def story(client: Client) -> None:
        await client.request(LIST)
        with suppress(McpSimError):
            await client.request(CALL, TICKET, headers=headers)

    return story


def posts(data: Any, headers: Mapping[str, str] | None = None) -> Story:
    """A story that lists the tools, and posts this."""

    async def story(client: Client) -> None:
        await client.request(LIST)
        await client.send_raw(data, headers=headers)

    return story


def forecast(*headers: Mapping[str, str], days: Any = 3, region: str = "north") -> Story:
    """A story that lists the tools, and asks for the weather once with each of these headers."""
    arguments = {"region": region} if days is None else {"region": region, "days": days}

    async def story(client: Client) -> None:
        await client.request(LIST)
        for one in headers:
            with suppress(McpSimError):
                await client.request(CALL, {"name": "weather", "arguments": arguments}, headers=one)

    return story


def cancels_with(headers: Mapping[str, str]) -> Story:
    """A story that calls a tool, and cancels the call by a message with these headers over the right ones."""

    async def story(client: Client) -> None:
        params = {"requestId": "report"}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.send_raw, modern("report", CALL, name="export_report", arguments={}))
            await anyio.sleep(0.1)
            message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            await client.send_raw(message, headers=headers)

    return story


async def twice_unseen(client: Client) -> None:
    """Call a tool that wants its arguments in headers, twice, without having seen its schema."""
    for _ in range(2):
        with suppress(McpSimError):
            await client.request(CALL, {"name": "weather", "arguments": {"region": "north"}})


async def seen_after_a_refusal(client: Client) -> None:
    """Call it, and when it is refused, look at the tools first."""
    with suppress(McpSimError):
        await client.request(CALL, {"name": "weather", "arguments": {"region": "north"}})
    await client.request(LIST)
    headers = {"Mcp-Param-Region": "north"}
    await client.request(CALL, {"name": "weather", "arguments": {"region": "north"}}, headers=headers)


async def look_and_find(client: Client) -> None:
    """Ask the server what it is, and call a tool twice; whatever comes back is fine."""
    await client.discover()
    for _ in range(2):
        with suppress(McpSimError):
            await client.request(CALL, TICKET, timeout_s=5)


def _as_get(letter: Letter) -> Any:
    head = letter.out.head
    if not isinstance(head, HttpRequest):
        return None
    headers = head.headers.without("Content-Type").with_("Accept", "text/event-stream")
    return letter.out.with_head(replace(head, method="GET", headers=headers)).with_data(b"")


def _without_body(status: int, of: int) -> MakeTwist:
    """Another status, and no body, for the responses with a status."""

    def change(letter: Letter) -> Any:
        head = letter.out.head
        if not isinstance(head, HttpHead) or head.status != of:
            return None
        return letter.out.with_status(status).with_data(b"")

    return on_message(change)


def _mismatch(letter: Letter) -> Any:
    error = {"code": HEADER_MISMATCH, "message": "Mcp-Param-Region or Mcp-Param-Days differs from the body."}
    return letter.out.with_message(
        {"jsonrpc": "2.0", "id": letter.message["id"], "error": error}
    ).with_status(400)


def _served(**result: Any) -> MakeTwist:
    """The result of a call in the place of whatever refuses it, and the status 200."""

    def make() -> Callable[[Letter], Any]:
        asked: list[Any] = []

        def change(letter: Letter) -> Any:
            if letter.kind == "request":
                asked.append(letter.message["id"])
                return None
            # What is refused before it was read has no id.
            more = {"resultType": "complete", "_meta": {SERVER_INFO: {"name": "careless", "version": "1"}}}
            message = {"jsonrpc": "2.0", "id": asked[-1], "result": {**more, **result}}
            return letter.out.with_message(message).with_status(200)

        return change

    return with_memory(make, "request", "error")


async def weather_at_once(client: Client) -> None:
    """List the tools, and call one before the list is there, which says what it wants in headers."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.request, LIST)
        await anyio.sleep(0.01)
        with suppress(McpSimError):
            await client.request(CALL, {"name": "weather", "arguments": {"region": "north"}})


_GET_AT_THE_END: Final = on_nth(2, on_message(_as_get, "request", method=CALL))
_FOUND: Final = text("The printer on floor 2 prints blank pages.")
_WEATHER: Final = text("north: rain for 3 days")


def _peer(
    party: Any,
    name: str,
    rule: str,
    sentence: str,
    story: Story,
    good_story: Story | None,
    twist: MakeTwist | None = None,
    server: Callable[[], Server] = help_desk,
    era: ClientEra = "modern",
    **more: Any,
) -> Misbehaviour:
    return Misbehaviour(
        name, party, rule, sentence, story, server, era, "http", twist=twist, good_story=good_story, **more
    )


HTTP_CHECKS: Final[tuple[Misbehaviour, ...]] = (
    _peer(
        "client",
        "client-posts-nothing",
        "http-post-has-a-body",
        "The client sends a POST without a body.",
        posts(b"", {"Content-Length": "0"}),
        posts(modern("list", LIST)),
    ),
    _peer(
        "client",
        "client-posts-a-response",
        "http-client-sends-no-response",
        "The client posts a response, although in the modern era nobody asks it anything.",
        posts({"jsonrpc": "2.0", "error": {"code": METHOD_NOT_FOUND, "message": "No such method"}}),
        posts(modern("list", LIST)),
    ),
    _peer(
        "client",
        "client-posts-a-bare-notification",
        "http-notification-headers",
        "The client posts a notification without the headers that a request has.",
        cancels_with({METHOD_HEADER: "", PROTOCOL_VERSION_HEADER: ""}),
        cancels_with({}),
    ),
    _peer(
        "client",
        "client-gets-a-modern-server",
        "http-modern-client-has-post-only",
        "The client sends a GET to a modern server.",
        look_and_find,
        None,
        _GET_AT_THE_END,
        server=new_help_desk,
    ),
    _peer(
        "client",
        "client-repeats-what-was-refused",
        "http-param-mismatch-lists-tools",
        "The client repeats a call that was refused for its headers, without a look at the tools.",
        twice_unseen,
        seen_after_a_refusal,
        server=region_desk,
    ),
    _peer(
        "server",
        "server-refuses-a-version-with-200",
        "http-unsupported-version-is-400",
        "The server refuses a version over HTTP, and the status is 200.",
        list_with_a_future_version,
        discover_and_list,
        response_status(200, LIST, "error"),
    ),
    _peer(
        "server",
        "server-takes-any-origin",
        "http-origin-is-checked",
        "The server answers a request whose Origin is no origin.",
        find_with({"Origin": "the desk"}),
        find_with({}),
        _served(**_FOUND),
    ),
    _peer(
        "server",
        "server-serves-a-foreign-page",
        "http-local-server-and-foreign-page",
        "The server on the user's machine answers a page from somewhere else.",
        find_with({"Origin": "https://evil.example", "Host": "localhost:8080"}),
        find_with({"Origin": "http://localhost:8080", "Host": "localhost:8080"}),
        _served(**_FOUND),
    ),
    _peer(
        "server",
        "server-takes-get-in-the-modern-era",
        "http-modern-server-has-post-only",
        "The server has modern revisions only, and answers a GET with 200.",
        look_and_find,
        None,
        _without_body(200, of=405),
        server=new_help_desk,
        scenery=_GET_AT_THE_END,
    ),
    _peer(
        "server",
        "server-does-not-read-the-headers",
        "http-headers-are-validated",
        "The server carries out a call although a header that it wants is missing.",
        weather_at_once,
        forecast({"Mcp-Param-Region": "north"}, days=None),
        _served(**_WEATHER),
        server=region_desk,
    ),
    _peer(
        "server",
        "server-refuses-headers-by-another-code",
        "http-header-mismatch-has-its-code",
        "The server refuses a call for its headers by the code for invalid requests.",
        weather_at_once,
        forecast({"Mcp-Param-Region": "north"}, days=None),
        change_error(CALL, with_code(INVALID_REQUEST)),
        server=region_desk,
    ),
    _peer(
        "server",
        "server-compares-encoded-arguments",
        "http-right-param-headers-are-accepted",
        "The server compares an argument with its encoded form, and refuses the call.",
        forecast({"Mcp-Param-Region": "=?base64?w5hzdA==?="}, region="\u00d8st", days=None),
        None,
        on_message(_mismatch, "result", method=CALL),
        server=region_desk,
    ),
    _peer(
        "server",
        "server-compares-numbers-as-text",
        "http-integers-are-compared-as-numbers",
        "The server refuses the number 3.0 in a header, where the argument is 3.",
        forecast({"Mcp-Param-Region": "north", "Mcp-Param-Days": "3.0"}),
        None,
        on_message(_mismatch, "result", method=CALL),
        server=region_desk,
    ),
    _peer(
        "server",
        "server-takes-any-version-header",
        "http-invalid-version-is-400",
        "The server answers a request whose version header is no revision.",
        find_with({PROTOCOL_VERSION_HEADER: "latest"}),
        find_with({}),
        one_after_the_other(
            response_status(200, CALL),
            on_message(
                lambda letter: letter.out.with_message(
                    {"jsonrpc": "2.0", "id": letter.message["id"], "result": _FOUND}
                ),
                "result",
                "error",
                method=CALL,
            ),
        ),
        era="legacy",
    ),
)
