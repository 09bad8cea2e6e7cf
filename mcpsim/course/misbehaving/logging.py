"""Servers that misbehave with log messages, and a client that asks for what is deprecated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Json,
    Letter,
    add_before,
    on_message,
    set_in_params,
    with_memory,
    without_in_result,
)
from mcpsim.course.servers import help_desk, notice_board
from mcpsim.eras.revisions import ClientEra
from mcpsim.messages.meta import LOG_LEVEL, SUBSCRIPTION_ID

LOG: Final = "notifications/message"
CALL: Final = "tools/call"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
PIN: Final = {"day": "monday", "text": "The canteen has stew."}


async def pin_a_notice(client: Client) -> Any:
    """Pin one notice."""
    return await client.call_tool("pin", PIN)


async def pin_two_notices(client: Client) -> None:
    """Pin two notices."""
    for _ in range(2):
        await pin_a_notice(client)


async def pin_with_a_log(client: Client) -> Any:
    """Pin one notice, and ask for log messages."""
    return await client.request(CALL, {"name": "pin", "arguments": PIN}, meta={LOG_LEVEL: "info"})


async def look_before_pinning(client: Client) -> Any:
    """Ask the server what it can do, and pin one notice."""
    await client.discover()
    return await pin_a_notice(client)


async def listen_and_pin(client: Client) -> None:
    """Listen, and pin one notice."""
    async with client.listen(resource_subscriptions=["notice://friday"]):
        await pin_a_notice(client)


async def look_up_a_ticket(client: Client) -> Any:
    """A call that asks for no log messages."""
    return await client.call_tool("find_ticket", {"number": "T-1001"})


def curious(era: ClientEra) -> Client:
    """A client that wants log messages."""
    return Client(era=era, log_level="info")


# --- What the servers do wrong -----------------------------------------------------------------------


def _log(letter: Letter) -> Json:
    params = {"level": "warning", "logger": "desk", "data": "The cache is cold."}
    return {"jsonrpc": "2.0", "method": LOG, "params": params}


def _on_the_subscription() -> Callable[[Letter], Any]:
    opened: list[Any] = []

    def change(letter: Letter) -> Any:
        if letter.method == ACKNOWLEDGED:
            opened.append(letter.message["params"]["_meta"][SUBSCRIPTION_ID])
            return None
        if letter.method != LOG:
            return None
        letter.message["params"]["_meta"] = {SUBSCRIPTION_ID: opened[0]}
        return letter.out.with_message(letter.message)

    return change


def _two_names() -> Callable[[Letter], Any]:
    names = ["notice-board", "NoticeBoard"]

    def change(letter: Letter) -> Any:
        letter.message["params"]["logger"] = names.pop(0)
        return letter.out.with_message(letter.message)

    return change


def _flood(letter: Letter) -> Any:
    return [letter.out.beside(letter.message) for _ in range(300)]


def _by_server(name: str, rule: str, sentence: str, twist: Any, **more: Any) -> Misbehaviour:
    more = {
        "server": notice_board,
        "era": "modern",
        "way": "stdio",
        "story": pin_a_notice,
        "clients": curious,
        **more,
    }
    return Misbehaviour(name, "server", rule, sentence, twist=twist, **more)


LOGGING: Final[tuple[Misbehaviour, ...]] = (
    _by_server(
        "server-logs-undeclared",
        "log-messages-are-declared",
        "The server logs, and did not declare logging.",
        without_in_result("server/discover", "capabilities", "logging"),
        story=look_before_pinning,
    ),
    _by_server(
        "server-logs-unasked",
        "log-needs-level",
        "The server logs to a client that has not asked for it.",
        add_before(CALL, _log),
        server=help_desk,
        story=look_up_a_ticket,
        clients=None,
    ),
    _by_server(
        "server-logs-unasked-over-http",
        "log-needs-level",
        "The server logs over HTTP for a request that does not ask for it.",
        add_before(CALL, _log),
        server=help_desk,
        story=look_up_a_ticket,
        clients=None,
        way="http",
    ),
    _by_server(
        "server-logs-on-a-subscription",
        "log-not-on-subscription",
        "The server delivers log messages on a subscription.",
        with_memory(_on_the_subscription),
        story=listen_and_pin,
    ),
    _by_server(
        "server-logs-more-than-was-asked",
        "log-at-level-or-above",
        "The server sends debug messages, where info was asked for.",
        set_in_params(LOG, "level", to="debug"),
        way="http",
    ),
    _by_server(
        "server-logs-below-the-level-that-was-set",
        "log-at-level-or-above-legacy",
        "The server sends debug messages, where info was set.",
        set_in_params(LOG, "level", to="debug"),
        era="legacy",
    ),
    _by_server(
        "server-logs-a-password",
        "log-holds-no-secret",
        "The server writes a password into its log.",
        set_in_params(LOG, "data", to={"user": "board", "password": "N0tice-2026"}),
        era="legacy",
    ),
    _by_server(
        "server-logs-nothing",
        "log-says-something",
        "The server sends log messages without content.",
        set_in_params(LOG, "data", to={}),
        era="legacy",
    ),
    _by_server(
        "server-spells-its-logger-anew",
        "log-names-are-consistent",
        "The server writes the name of one logger in two ways.",
        with_memory(_two_names, "notification", method=LOG),
        story=pin_two_notices,
        era="legacy",
    ),
    _by_server(
        "server-floods-the-log",
        "log-is-no-flood",
        "The server sends a log message three hundred times in a moment.",
        on_message(_flood, "notification", method=LOG),
        era="legacy",
    ),
    Misbehaviour(
        "client-asks-for-what-is-deprecated",
        "client",
        "log-is-deprecated",
        "The client asks for log messages, which are deprecated.",
        pin_with_a_log,
        notice_board,
        "modern",
        "stdio",
        good_story=pin_a_notice,
    ),
)
