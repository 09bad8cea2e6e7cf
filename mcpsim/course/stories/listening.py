"""Stories of clients that want to be told of changes."""

from __future__ import annotations

from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.servers import notice_board
from mcpsim.course.stories.story import LEGACY, MODERN, Story, told
from mcpsim.errors import ConnectionClosed
from mcpsim.transports.faults import Crash


async def watch_a_notice(client: Client) -> list[str]:
    """Listen for changes of one resource, and hear of it when it changes."""
    seen: list[str] = []
    async with client.listen(resource_subscriptions=["notice://monday"]) as subscription:
        await client.call_tool("pin", {"day": "tuesday", "text": "The lift works again."})
        await client.call_tool("pin", {"day": "monday", "text": "The canteen has stew."})
        async for notification in subscription:
            seen.append(str((notification.params or {})["uri"]))
            break
    return seen


async def two_subscriptions(client: Client) -> list[str]:
    """Two subscriptions at once: each message says to which of them it belongs."""
    seen: list[str] = []
    async with (
        client.listen(resources_list_changed=True) as lists,
        client.listen(resource_subscriptions=["notice://monday", "notice://friday"]) as notices,
    ):
        await client.call_tool("pin", {"day": "friday", "text": "Cake at four."})
        for subscription in (lists, notices):
            async for notification in subscription:
                seen.append(f"{subscription.id}: {notification.method}")
                break
    return seen


async def more_than_the_server_offers(client: Client) -> list[bool]:
    """The client asks for more than the server supports: the acknowledgement says what it will get."""
    async with client.listen(prompts_list_changed=True, resources_list_changed=True) as subscription:
        agreed = subscription.acknowledged
    return [bool(agreed.prompts_list_changed), bool(agreed.resources_list_changed)]


async def subscription_breaks_off(client: Client) -> str:
    """The server dies while a client listens: no result comes, and the client asks anew."""
    try:
        async with client.listen(resource_subscriptions=["notice://monday"]) as subscription:
            async for _ in subscription:
                return "told"
    except ConnectionClosed:
        await anyio.sleep(1)
    async with client.listen(resource_subscriptions=["notice://monday"]):
        return "listening again"


async def subscribe_the_old_way(client: Client) -> list[str]:
    """Subscribe to one resource in a session, hear of it, and unsubscribe."""
    await client.subscribe("notice://monday")
    await client.call_tool("pin", {"day": "monday", "text": "The canteen has stew."})
    await anyio.sleep(0.2)
    await client.unsubscribe("notice://monday")
    await client.call_tool("pin", {"day": "monday", "text": "The canteen has soup."})
    await anyio.sleep(0.2)
    return [one.method for one in client.notifications]


async def list_changes_unasked(client: Client) -> list[str]:
    """A legacy server tells every session that a list has changed, without being asked."""
    await client.call_tool("pin", {"day": "friday", "text": "Cake at four."})
    await anyio.sleep(0.2)
    return [one.method for one in client.notifications]


def with_a_stream(era: Any) -> Client:
    """A legacy client that opens a standing stream where the transport is HTTP."""
    return Client(era=era, standing_stream=True)


LISTENING: Final[tuple[Story, ...]] = (
    told(watch_a_notice, notice_board, MODERN),
    told(two_subscriptions, notice_board, MODERN),
    told(more_than_the_server_offers, notice_board, MODERN),
    told(
        subscription_breaks_off,
        notice_board,
        MODERN,
        ("http",),
        faults=(Crash(at_ms=500, restart_after_ms=300),),
    ),
    told(subscribe_the_old_way, notice_board, LEGACY, clients=with_a_stream),
    told(list_changes_unasked, notice_board, LEGACY, clients=with_a_stream),
)
