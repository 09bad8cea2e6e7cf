"""Whoever asks what through a gateway that keeps results, and when: what is private stays private, and no
answer is older than the server allowed."""

from __future__ import annotations

from typing import Any, NamedTuple

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpsim import Client, Context, Run, Server, StreamableHttp
from mcpsim.gateway import Gateway
from tests.support.checked import simulate_checked

LATENCY_MS = 5
TTL_MS = 100
PRINCIPALS = ("ann", "ben", "cleo")


class Seen(NamedTuple):
    """One answer, as a client saw it.

    Attributes:
        at_ms: when it was there.
    """

    principal: str
    what: str
    at_ms: float
    text: str
    ttl_ms: int


async def now_ms() -> float:
    return round(anyio.current_time() * 1_000_000) / 1_000


def library() -> Server:
    """Every text says for whom it was made, and when."""
    server = Server("library", ttl_ms=TTL_MS, cache_scope="public", page_size=1)

    async def text(context: Context) -> str:
        return f"{context.principal} {await now_ms():g}"

    @server.resource("book:public", ttl_ms=TTL_MS, cache_scope="public")
    async def public(context: Context) -> str:
        return await text(context)

    @server.resource("book:private", ttl_ms=TTL_MS, cache_scope="private")
    async def private(context: Context) -> str:
        return await text(context)

    @server.resource("book:never", ttl_ms=0, cache_scope="public")
    async def never(context: Context) -> str:
        return await text(context)

    @server.resource("book:asking", ttl_ms=TTL_MS, cache_scope="public")
    async def asking(context: Context) -> str:
        answer = await context.elicit(
            "Who are you?", {"type": "object", "properties": {"name": {"type": "string"}}}
        )
        assert answer.content is not None
        return f"{answer.content['name']} {await now_ms():g}"

    return server


BOOKS = ("book:public", "book:private", "book:never", "book:asking")
visits = st.lists(st.tuples(st.sampled_from([0, 1, 30, 90, 140]), st.sampled_from(BOOKS)), max_size=6)
plans = st.fixed_dictionaries(dict.fromkeys(PRINCIPALS, visits))


def read_all(plan: dict[str, list[tuple[int, str]]], seen: list[Seen]) -> Any:
    async def story(*clients: Client) -> None:
        async with anyio.create_task_group() as tasks:
            for client in clients:
                tasks.start_soon(visit, client, plan[client.principal])

    async def visit(client: Client, steps: list[tuple[int, str]]) -> None:
        for pause_ms, book in steps:
            await anyio.sleep(pause_ms / 1000)
            result = await client.request("resources/read", {"uri": book})
            if result["resultType"] == "input_required":
                (key,) = result["inputRequests"]
                answer = {"action": "accept", "content": {"name": client.principal}}
                retry = {"uri": book, "inputResponses": {key: answer}, "requestState": result["requestState"]}
                result = await client.request("resources/read", retry)
            text = result["contents"][0]["text"]
            seen.append(Seen(client.principal, book, await now_ms(), text, result["ttlMs"]))

    return story


def play(plan: dict[str, list[tuple[int, str]]], seen: list[Seen], gateway: Gateway, replicas: int) -> Run:
    capabilities = {"elicitation": {"form": {}}}
    clients = {name: Client(principal=name, capabilities=capabilities) for name in PRINCIPALS}
    return simulate_checked(
        read_all(plan, seen),
        server=library(),
        client=clients,
        gateway=gateway,
        replicas=replicas,
        transport=StreamableHttp(latency_ms=LATENCY_MS),
    )


def check(seen: list[Seen]) -> None:
    for one in seen:
        check_one(one)


def check_one(one: Seen) -> None:
    made_for, _, made_at = one.text.rpartition(" ")
    age_ms = one.at_ms - float(made_at)
    if one.what in ("book:private", "book:asking", "book:never"):
        assert made_for == one.principal
        assert age_ms == 2 * LATENCY_MS
    # From the server to the gateway, at most its time there, and to the client.
    assert age_ms < 2 * LATENCY_MS + TTL_MS
    # Who keeps it for as long as it says does not keep it for longer than the server said.
    assert age_ms + one.ttl_ms <= 2 * LATENCY_MS + TTL_MS


@settings(max_examples=150)
@given(plan=plans, replicas=st.integers(1, 3))
def test_any_interleaving(plan: dict[str, list[tuple[int, str]]], replicas: int) -> None:
    seen: list[Seen] = []
    play(plan, seen, Gateway(), replicas)
    assert len(seen) == sum(map(len, plan.values()))
    check(seen)


def test_the_check_sees_a_gateway_that_shares_everything() -> None:
    plan = {"ann": [(0, "book:private")], "ben": [(50, "book:private")], "cleo": []}
    seen: list[Seen] = []
    play(plan, seen, Gateway(may_share=lambda result: True), 1)
    assert [one.text.split()[0] for one in seen] == ["ann", "ann"]
    with pytest.raises(AssertionError):
        check(seen)


def test_the_check_sees_a_gateway_that_gives_the_whole_time_again() -> None:
    plan = {"ann": [(0, "book:public")], "ben": [(50, "book:public")], "cleo": []}
    seen: list[Seen] = []
    play(plan, seen, Gateway(served=lambda entry, now_ms: dict(entry.result)), 1)
    with pytest.raises(AssertionError):
        check(seen)
