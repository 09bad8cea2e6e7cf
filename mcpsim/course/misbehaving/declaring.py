"""Peers that do not keep to what a server declares: capabilities, and the lists that belong to them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import Letter, on_message, without_in_result
from mcpsim.course.misbehaving.in_a_row import (
    Step,
    Story,
    asking,
    by_client,
    by_server,
    call,
    complete,
    refused,
)
from mcpsim.course.misbehaving.tools import DISCOVER, LIST, PROMPTS, RESOURCES, two_connections
from mcpsim.course.servers import help_desk, notice_board, writing_desk
from mcpsim.errors import METHOD_NOT_FOUND, McpSimError
from mcpsim.server import Server
from mcpsim.transports.twists import MakeTwist

PIN: Final = {"day": "friday", "text": "Cake at four."}
SAMPLES: Final[Step] = call("samples")


def both_list(method: str) -> Story:
    """Two connections ask for the same list, in turns."""

    async def story(ada: Client, ben: Client) -> None:
        for client in (ada, ben, ada, ben):
            await client.request(method)

    return story


async def listen_for_new_notices(client: Client) -> None:
    """Look what the server can do, listen for new resources, and pin a notice for another day."""
    await client.discover()
    with suppress(McpSimError):
        async with client.listen(resources_list_changed=True):
            await client.call_tool("pin", PIN)
            await anyio.sleep(0.5)


async def pin_a_notice(client: Client) -> None:
    """Pin one notice."""
    await client.call_tool("pin", PIN)


def undeclared(capability: str, *more: str) -> MakeTwist:
    """A modern server's answer to `server/discover` without one capability."""
    return without_in_result("server/discover", "capabilities", capability, *more)


def _fewer_for_ben(member: str) -> Callable[[Letter], Any]:
    def change(letter: Letter) -> Any:
        if letter.out.receiver != "ben":
            return None
        letter.message["result"][member].pop()
        return letter.out.with_message(letter.message)

    return change


def _hides(what: str, sentence: str, step: Step) -> Misbehaviour:
    """A server that has something, and does not declare it."""
    return by_server(
        f"server-hides-its-{what}",
        f"server-declares-{what}",
        sentence,
        asking(DISCOVER, step),
        undeclared(what),
        writing_desk,
    )


def _has_no_list(what: str, step: Step) -> Misbehaviour:
    """A server that declares something, and does not list it."""
    return by_server(
        f"server-does-not-list-its-{what}",
        f"{what}-list-answered",
        f"The server declares {what} and has no {step[0] if isinstance(step, tuple) else ''}.",
        asking(DISCOVER, step),
        refused(f"{what}/list", METHOD_NOT_FOUND, "Method not found"),
        writing_desk,
    )


def _differs(what: str, server: Callable[[], Server]) -> Misbehaviour:
    """A server whose list depends on the connection."""
    return by_server(
        f"server-varies-its-{what}",
        f"{what}-list-not-per-connection",
        f"The server gives two connections of the same kind different {what}.",
        both_list(f"{what}/list"),
        on_message(_fewer_for_ben(what), "result", method=f"{what}/list"),
        server,
        clients=two_connections,
        way="http",
    )


DECLARING: Final[tuple[Misbehaviour, ...]] = (
    _hides("prompts", "The server has prompts, and does not declare them.", PROMPTS),
    _hides("resources", "The server has resources, and does not declare them.", RESOURCES),
    _hides("completions", "The server completes arguments, and does not declare it.", complete("P")),
    by_server(
        "server-logs-in-a-session-undeclared",
        "server-declares-logging",
        "The server logs in a session, and did not declare logging in the handshake.",
        pin_a_notice,
        without_in_result("initialize", "capabilities", "logging"),
        notice_board,
        era="legacy",
    ),
    by_server(
        "server-embeds-what-it-does-not-serve",
        "embedded-resource-capability",
        "The server embeds a resource in the result of a tool, and does not declare resources.",
        asking(DISCOVER, SAMPLES),
        undeclared("resources"),
        writing_desk,
    ),
    by_server(
        "server-tells-of-changes-undeclared",
        "changes-of-declared-capability",
        "The server tells of new resources, and has not declared that it would.",
        listen_for_new_notices,
        undeclared("resources", "listChanged"),
        notice_board,
    ),
    by_client(
        "client-asks-for-what-is-not-there",
        "request-of-declared-capability",
        "The client asks for prompts, although the server has declared none.",
        asking(DISCOVER, PROMPTS),
        asking(DISCOVER, LIST),
        help_desk,
    ),
    _has_no_list("resources", RESOURCES),
    _has_no_list("prompts", PROMPTS),
    _differs("resources", notice_board),
    _differs("prompts", writing_desk),
)
