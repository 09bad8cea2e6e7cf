"""Peers that misbehave with what lasts over HTTP: how sessions begin, whose they are, and how they end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Json,
    Letter,
    on_message,
    one_after_the_other,
    request_header,
    response_header,
    response_status,
    with_memory,
)
from mcpsim.course.misbehaving.lifecycle_parts import (
    INITIALIZE,
    INITIALIZED,
    LIST,
    hello,
    list_the_tools,
    note,
    plain,
    two_clients,
)
from mcpsim.course.servers import help_desk
from mcpsim.transports.http import SESSION_ID_HEADER, HttpRequest
from mcpsim.transports.twists import MakeTwist

#: A message that goes out as a DELETE, which has no body.
THE_END: Final = plain("the end", "ping")
AGAIN: Final = plain("again", LIST)
TOOLS: Final[Json] = {"tools": []}


async def list_twice(client: Client) -> None:
    """List the tools, twice."""
    await list_the_tools(client)
    await client.send_raw(AGAIN)


async def list_after_the_end(client: Client) -> None:
    """End the session, and list the tools all the same."""
    await list_the_tools(client)
    await client.send_raw(THE_END)
    await client.send_raw(AGAIN)


async def two_sessions(client: Client) -> None:
    """Begin a session, and then another one."""
    await _a_session(client, "first")
    await _a_session(client, "second")


async def two_sessions_and_an_end(client: Client) -> None:
    """Begin a session, end it, and begin another one."""
    await _a_session(client, "first")
    await client.send_raw(THE_END)
    await _a_session(client, "second")


async def _a_session(client: Client, name: str) -> None:
    await client.send_raw(hello(id=name))
    await client.send_raw(note(INITIALIZED))
    await client.send_raw(plain(f"{name} list", LIST))


async def two_begin(first: Client, second: Client) -> None:
    """Two clients begin a session each."""
    for client in (first, second):
        await client.send_raw(hello())


def _as_delete(letter: Letter) -> Any:
    head = letter.out.head
    if not isinstance(head, HttpRequest) or letter.message["id"] != THE_END["id"]:
        return None
    headers = head.headers.without("Content-Type").without("Accept")
    return letter.out.with_head(replace(head, method="DELETE", headers=headers)).with_data(b"")


def _without_the_id(letter: Letter) -> Any:
    is_meant = letter.method == INITIALIZE or letter.message["id"] == AGAIN["id"]
    return letter.out.with_header(SESSION_ID_HEADER, None) if is_meant else None


ENDING: Final[MakeTwist] = on_message(_as_delete, "request", method="ping")
ANEW: Final[MakeTwist] = on_message(_without_the_id, "request")


def _peer(
    party: Any, name: str, rule: str, sentence: str, twist: MakeTwist | None, story: Any, **more: Any
) -> Misbehaviour:
    return Misbehaviour(name, party, rule, sentence, story, help_desk, "legacy", "http", twist=twist, **more)


def _still_there() -> Any:
    asked: list[Any] = []

    def change(letter: Letter) -> Any:
        if letter.kind == "request":
            asked.extend(id for id in [letter.message["id"]] if id == AGAIN["id"])
            return None
        if not asked:
            return None
        message = {"jsonrpc": "2.0", "id": asked.pop(), "result": TOOLS}
        return letter.out.with_message(message).with_status(200)

    return change


HTTP_LASTING: Final[tuple[Misbehaviour, ...]] = (
    _peer(
        "server",
        "server-misses-the-session-by-404",
        "http-session-id-missing-is-400",
        "The server answers 404, and not 400, where the session id is missing.",
        response_status(404, "", "error"),
        list_twice,
        provocation=ANEW,
    ),
    _peer(
        "server",
        "server-goes-on-in-an-ended-session",
        "http-ended-session-is-404",
        "The server answers a request of a session that has been ended.",
        with_memory(_still_there, "request", "error"),
        list_after_the_end,
        scenery=ENDING,
        good_story=list_twice,
    ),
    _peer(
        "client",
        "client-begins-with-an-old-session",
        "http-initialize-has-no-session-id",
        "The client sends a session id with initialize, where a new session begins.",
        request_header(SESSION_ID_HEADER, "desk-17", "initialize"),
        list_the_tools,
    ),
    _peer(
        "server",
        "server-gives-two-sessions-one-id",
        "http-session-id-is-unique",
        "The server gives two clients the same session id.",
        response_header(SESSION_ID_HEADER, "desk-17", "initialize"),
        two_begin,
        clients=two_clients,
        setting={"connect": False},
    ),
    _peer(
        "client",
        "client-leaves-its-session-behind",
        "http-session-is-deleted",
        "The client begins a new session, and does not end the old one.",
        None,
        two_sessions,
        scenery=one_after_the_other(ENDING, ANEW),
        good_story=two_sessions_and_an_end,
        setting={"connect": False},
    ),
)
