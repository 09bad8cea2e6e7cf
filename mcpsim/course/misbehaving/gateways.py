"""Gateways that misbehave: most by policies of their own, some by what they answer out of their memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.caching import ada_and_ben, asking_shelf, reader
from mcpsim.course.misbehaving.changing import Json, Letter, with_memory
from mcpsim.course.servers import price_list
from mcpsim.gateway import Gateway
from mcpsim.server import Server
from mcpsim.transports.http import JSON_TYPE, Headers, HttpHead
from mcpsim.transports.twists import MakeTwist

READ: Final = "resources/read"


async def each_reads_the_balance(ada: Client, ben: Client) -> list[str]:
    """Two people read their balance."""
    seen: list[str] = []
    for client in (ada, ben):
        result = await client.request(READ, {"uri": "balance://mine"})
        seen.append(result["contents"][0]["text"])
    return seen


async def another_uri(client: Client) -> list[Any]:
    """Read two resources."""
    return [await client.request(READ, {"uri": uri}) for uri in ("price://paper", "balance://mine")]


async def after_its_time(client: Client) -> list[Any]:
    """Read a price, and read it again when it is stale."""
    first = await client.request(READ, {"uri": "price://paper"})
    await anyio.sleep(45)
    return [first, await client.request(READ, {"uri": "price://paper"})]


async def after_a_change(client: Client) -> list[Any]:
    """Read a price, hear that it has changed, and read it again."""
    async with client.listen(resource_subscriptions=["price://paper"]) as subscription:
        first = await client.request(READ, {"uri": "price://paper"})
        await client.call_tool("set_price", {"amount": 5})
        async for _ in subscription:
            break
        return [first, await client.request(READ, {"uri": "price://paper"})]


async def after_a_question(client: Client) -> list[Any]:
    """Read what asks which edition is meant, and read it again without having been asked."""
    first = await client.request(READ, {"uri": "book://atlas"})
    (key,) = first["inputRequests"]
    answers = {key: {"action": "accept", "content": {"year": 1999}}}
    more = {"inputResponses": answers, "requestState": first["requestState"]}
    second = await client.request(READ, {"uri": "book://atlas", **more})
    return [second, await client.request(READ, {"uri": "book://atlas"})]


def from_memory(nth: int) -> MakeTwist:
    """What makes a gateway answer the nth reading, from 1, with what it answered the last time."""

    def make() -> Callable[[Letter], Any]:
        asked: list[Any] = []
        last: Json = {}
        due: list[Any] = []

        def change(letter: Letter) -> Any:
            if letter.out.sender != "gateway":
                return None
            if letter.kind == "request" and letter.method == READ:
                asked.append(letter.message["id"])
                if len(asked) == nth:
                    due.append(letter.message["id"])
                    return ()
            elif letter.kind == "result" and letter.method == READ:
                last.clear()
                last.update(letter.message["result"])
            elif due and isinstance(letter.out.head, HttpHead):
                # The way back of the request that never went on.
                head = HttpHead(200, Headers({"Content-Type": JSON_TYPE}))
                message = {"jsonrpc": "2.0", "id": due.pop(), "result": last}
                return letter.out.with_head(head).with_message(message)
            return None

        return change

    return with_memory(make)


def everything(result: Any) -> bool:
    """Share all results, whatever their cacheScope says."""
    return True


def _forgets_to_ask(
    name: str,
    rule: str,
    sentence: str,
    story: Callable[..., Any],
    server: Callable[[], Server],
    nth: int = 2,
    **more: Any,
) -> Misbehaviour:
    return Misbehaviour(
        name,
        "gateway",
        rule,
        sentence,
        story,
        server,
        "modern",
        "http",
        twist=from_memory(nth),
        # What it keeps well is of no use here.
        setting={"gateway": Gateway(cache=False)},
        **more,
    )


GATEWAYS: Final[tuple[Misbehaviour, ...]] = (
    Misbehaviour(
        "gateway-shares-what-is-private",
        "gateway",
        "caching-private-is-not-shared",
        "The gateway gives one person's balance to the other.",
        each_reads_the_balance,
        price_list,
        "modern",
        "http",
        clients=ada_and_ben,
        setting={"gateway": Gateway(may_share=everything)},
        good_setting={"gateway": Gateway()},
    ),
    _forgets_to_ask(
        "gateway-looks-at-the-method-alone",
        "caching-key-is-method-and-params",
        "The gateway answers every reading with the last resource that was read.",
        another_uri,
        price_list,
    ),
    _forgets_to_ask(
        "gateway-keeps-what-is-stale",
        "caching-stale-is-fetched-again",
        "The gateway gives out a kept price although its time is over.",
        after_its_time,
        price_list,
    ),
    _forgets_to_ask(
        "gateway-does-not-hear-of-changes",
        "caching-notification-ends-freshness",
        "The gateway gives out a kept price although the server has said that it has changed.",
        after_a_change,
        price_list,
    ),
    _forgets_to_ask(
        "gateway-keeps-the-result-of-a-retry",
        "caching-retry-is-not-kept",
        "The gateway answers a request with what came for another one's answers to questions.",
        after_a_question,
        asking_shelf,
        nth=3,
        clients=reader,
    ),
)
