"""Peers that misbehave with subscriptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Json,
    Letter,
    add_before,
    change_params,
    set_in_params,
    twice,
    with_memory,
    without_in_params,
)
from mcpsim.course.servers import help_desk, notice_board
from mcpsim.messages.meta import SUBSCRIPTION_ID

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
LISTEN: Final = "subscriptions/listen"
UPDATED: Final = "notifications/resources/updated"
TOOLS: Final = "notifications/tools/list_changed"
CALL: Final = "tools/call"


async def look_up_a_ticket(client: Client) -> Any:
    """A call by a client that listens to nothing."""
    return await client.call_tool("find_ticket", {"number": "T-1001"})


async def listen_for_a_while(client: Client) -> None:
    """Listen for one notice, change it, and stop listening."""
    async with client.listen(resource_subscriptions=["notice://monday"]):
        await client.call_tool("pin", {"day": "monday", "text": "The canteen has stew."})
        await anyio.sleep(0.5)


async def listen_to_the_end(client: Client) -> None:
    """Listen, and make one call; whatever ends the subscription is fine."""
    async with client.listen(resource_subscriptions=["notice://monday"]):
        await client.call_tool("pin", {"day": "friday", "text": "Cake at four."})
        await anyio.sleep(0.5)


# --- What the servers do wrong -----------------------------------------------------------------------


def _unasked(letter: Letter) -> Json:
    return {"jsonrpc": "2.0", "method": TOOLS}


def _early(letter: Letter) -> Json:
    meta = letter.message["params"]["_meta"]
    return {"jsonrpc": "2.0", "method": UPDATED, "params": {"_meta": meta, "uri": "notice://monday"}}


def _id_as_text(params: Json) -> None:
    params["_meta"][SUBSCRIPTION_ID] = str(params["_meta"][SUBSCRIPTION_ID])


def _more(params: Json) -> None:
    params["notifications"]["toolsListChanged"] = True


def _result(id: Any, named: Any) -> Json:
    return {
        "jsonrpc": "2.0",
        "id": id,
        "result": {"resultType": "complete", "_meta": {SUBSCRIPTION_ID: named}},
    }


def _cancellation(id: Any) -> Json:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}


def _ending(*ends: Callable[[Any], Json]) -> Callable[[], Callable[[Letter], Any]]:
    """After the answer to a call, the server ends the subscription that was opened before it."""

    def make() -> Callable[[Letter], Any]:
        opened: list[Any] = []

        def change(letter: Letter) -> Any:
            if letter.kind == "request" and letter.method == LISTEN:
                opened.append(letter.message["id"])
            if letter.kind != "result" or letter.method != CALL:
                return None
            return [letter.out, *(letter.out.beside(end(id)) for id in opened for end in ends)]

        return change

    return make


def _by_server(name: str, rule: str, sentence: str, twist: Any, **more: Any) -> Misbehaviour:
    more = {"server": notice_board, "era": "modern", "way": "stdio", "story": listen_for_a_while, **more}
    return Misbehaviour(name, "server", rule, sentence, twist=twist, **more)


LISTENING: Final[tuple[Misbehaviour, ...]] = (
    _by_server(
        "server-tells-of-changes-unasked",
        "subscription-brings-what-was-asked",
        "The server tells of changed tools, and nobody has asked for that.",
        add_before(CALL, _unasked),
        server=help_desk,
        story=look_up_a_ticket,
    ),
    _by_server(
        "server-tells-before-it-acknowledges",
        "subscription-acknowledged-first",
        "The server sends a change before the acknowledgement.",
        add_before(ACKNOWLEDGED, _early, "notification"),
    ),
    _by_server(
        "server-forgets-the-subscription-id",
        "subscription-id-on-notifications",
        "The server does not say to which subscription a change belongs.",
        without_in_params(UPDATED, "_meta"),
        way="http",
    ),
    _by_server(
        "server-writes-the-subscription-id-as-text",
        "subscription-id-is-that-of-the-request",
        "The server turns the number that names a subscription into a text.",
        change_params(UPDATED, _id_as_text),
    ),
    _by_server(
        "server-ends-a-subscription-under-another-id",
        "subscription-result-names-its-id",
        "The server ends a subscription by a result that names another one.",
        with_memory(_ending(lambda id: _result(id, str(id)), _cancellation)),
        story=listen_to_the_end,
    ),
    _by_server(
        "server-ends-a-subscription-by-answering",
        "subscription-end-by-cancellation",
        "The server ends a subscription by a result, and sends no cancellation.",
        with_memory(_ending(lambda id: _result(id, id))),
        story=listen_to_the_end,
    ),
    _by_server(
        "server-ends-a-subscription-by-cancelling",
        "subscription-end-by-result",
        "The server ends a subscription by a cancellation, and sends no result.",
        with_memory(_ending(_cancellation)),
        story=listen_to_the_end,
    ),
    _by_server(
        "server-acknowledges-more-than-was-asked",
        "subscription-acknowledgement-is-a-part",
        "The server acknowledges a kind of change that the client did not ask for.",
        change_params(ACKNOWLEDGED, _more),
    ),
    _by_server(
        "server-acknowledges-twice",
        "subscription-acknowledged-once",
        "The server acknowledges a subscription twice.",
        twice(ACKNOWLEDGED, "notification"),
    ),
    _by_server(
        "server-sends-what-it-did-not-acknowledge",
        "subscription-keeps-to-its-acknowledgement",
        "The server leaves a kind of change out of its acknowledgement, and sends it.",
        set_in_params(ACKNOWLEDGED, "notifications", to={}),
    ),
)
