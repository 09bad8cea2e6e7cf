"""Stories of results that are kept for a while (modern)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.servers import archive, price_list
from mcpsim.course.stories.story import HTTP, MODERN, Story, told
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import ProtocolError
from mcpsim.gateway import Gateway
from mcpsim.transports.faults import Drop
from mcpsim.utilities.caching import Cache


async def fresh_then_stale(client: Client) -> list[str]:
    """The price is read three times: asked for, from the cache, and asked for again after its time."""
    seen = [await read(client, "price://paper")]
    await anyio.sleep(10)
    seen.append(await read(client, "price://paper"))
    await anyio.sleep(25)
    seen.append(await read(client, "price://paper"))
    return seen


async def told_that_it_changed(client: Client) -> list[str]:
    """A notification makes a fresh result stale at once."""
    async with client.listen(resource_subscriptions=["price://paper"]) as subscription:
        seen = [await read(client, "price://paper")]
        await client.call_tool("set_price", {"amount": 5})
        async for _ in subscription:
            break
        seen.append(await read(client, "price://paper"))
    return seen


async def each_page_by_itself(client: Client) -> int:
    """Each page has a clock of its own: the first one is stale while the last is still fresh."""
    async for _ in client.pages("resources/list"):
        await anyio.sleep(15)
    return len([page async for page in client.pages("resources/list")])


async def stale_but_better_than_nothing(client: Client) -> list[str]:
    """Asking again fails, and the client was told that a stale result is better than none."""
    seen = [await read(client, "price://paper")]
    await anyio.sleep(40)
    seen.append(await read(client, "price://paper"))
    return seen


async def what_is_never_kept(client: Client) -> int:
    """A list without a time to live, and a tool's result: both are asked for every time."""
    for _ in range(2):
        await client.list_tools()
        await client.call_tool("file_report", {"year": 2026})
    return len((await client.list_tools()).tools)


async def for_everybody_or_for_one(ada: Client, ben: Client) -> list[str]:
    """A gateway answers the public price out of its cache, and never somebody's balance."""
    seen: list[str] = []
    for client in (ada, ben):
        seen.append(await read(client, "price://paper"))
        seen.append(await read(client, "balance://mine"))
    return seen


async def wrong_page_drops_all(client: Client) -> list[str]:
    """A cursor turns out not to be valid: the client drops all pages of that list, also the fresh ones."""
    seen: list[str] = []
    first = await client.list_resources()
    await client.list_resources(first.next_cursor)
    try:
        await client.list_resources("not-a-cursor")
    except ProtocolError as error:
        seen.append(str(error.code))
    await client.list_resources()
    return seen


async def read(client: Client, uri: str) -> str:
    """The text of a resource."""
    found = await client.read_resource(uri)
    return " ".join(getattr(one, "text", "") for one in found.contents)


def with_cache(era: ClientEra) -> Client:
    """A client that keeps what it may."""
    return Client(era=era, cache=Cache())


def patient(era: ClientEra) -> Client:
    """A client that keeps what it may, waits two seconds, and takes a stale result then."""
    return Client(era=era, cache=Cache(), stale_if_error=True, timeout_s=2)


def ada_and_ben(era: ClientEra) -> Mapping[str, Client]:
    """Two clients for two people."""
    return {name: Client(name, era=era, principal=name) for name in ("ada", "ben")}


def slow_archive(**settings: Any) -> Any:
    """An archive whose pages keep for 40 seconds."""
    return archive(ttl_ms=40_000, cache_scope="public", **settings)


KEEPING: Final[tuple[Story, ...]] = (
    told(fresh_then_stale, price_list, MODERN, clients=with_cache),
    told(told_that_it_changed, price_list, MODERN, clients=with_cache),
    told(each_page_by_itself, slow_archive, MODERN, clients=with_cache),
    told(
        stale_but_better_than_nothing,
        price_list,
        MODERN,
        clients=patient,
        faults=(Drop("resources/read", nth=2),),
    ),
    told(what_is_never_kept, archive, MODERN, clients=with_cache),
    told(
        wrong_page_drops_all,
        slow_archive,
        MODERN,
        clients=with_cache,
        breaks=("pagination-cursor-is-opaque",),
    ),
    told(for_everybody_or_for_one, price_list, MODERN, HTTP, clients=ada_and_ben, gateway=Gateway()),
)
