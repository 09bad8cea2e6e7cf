"""Stories of processes that die, of several that stand in for one another, and of several people."""

from __future__ import annotations

from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.servers import help_desk, travel_desk
from mcpsim.course.stories.asking import obliging
from mcpsim.course.stories.keeping import ada_and_ben
from mcpsim.course.stories.story import BOTH, HTTP, LEGACY, MODERN, STDIO, Story, text_of, told
from mcpsim.errors import ConnectionClosed, ProtocolError, UnexpectedResponse
from mcpsim.gateway import Gateway
from mcpsim.simulation.world import Host
from mcpsim.transports.faults import Crash


async def server_dies_and_comes_back(client: Client) -> str:
    """The server dies in the middle of a call. When it is back, the same request simply works."""
    try:
        await client.call_tool("export_report", {"parts": 3})
    except ConnectionClosed:
        await anyio.sleep(1)
    return text_of(await client.call_tool("export_report", {"parts": 3}))


async def session_dies_with_the_server(client: Client) -> str:
    """The server dies and comes back. It knows no session: 404, and the client has to begin anew."""
    await client.list_tools()
    await anyio.sleep(1)
    return text_of(await client.call_tool("find_ticket", {"number": "T-1001"}))


async def process_is_started_again(client: Client, *, host: Host) -> str:
    """On stdio the server is a process of the host: when it dies, the host starts it again."""
    try:
        await client.call_tool("export_report", {"parts": 3})
    except ConnectionClosed:
        async with host.start_again(client) as again:
            return text_of(await again.call_tool("export_report", {"parts": 3}))
    return "it lived"


async def any_replica_will_do(client: Client) -> str:
    """Three replicas, each request to the next one: no modern server needs what another one was told."""
    await client.list_tools()
    await client.call_tool("find_ticket", {"number": "T-1001"})
    return text_of(await client.call_tool("find_ticket", {"number": "T-1002"}))


async def answer_goes_to_another_replica(client: Client) -> str:
    """One replica asks, another one gets the answer: all it needs is in the request state."""
    return text_of(await client.call_tool("book_trip", {"city": "Pisa"}))


async def session_at_the_wrong_replica(client: Client) -> str:
    """A session lives in one replica, the next message goes to the other one."""
    try:
        await client.connect()
        await client.list_tools()
    except UnexpectedResponse as error:
        return str(error)
    return "listed"


async def sessions_that_stick(client: Client) -> str:
    """The gateway sends every request of a session to the replica that began it."""
    await client.list_tools()
    return text_of(await client.call_tool("find_ticket", {"number": "T-1001"}))


async def two_people_at_one_server(ada: Client, ben: Client) -> list[str]:
    """Two clients with different tokens: one of them may not export the report."""
    seen: list[str] = []
    for client in (ada, ben):
        try:
            seen.append(text_of(await client.call_tool("export_report", {"parts": 1})))
        except ProtocolError as error:
            seen.append(error.message)
    return seen


def may_export(principal: str, tool: str) -> bool:
    """Ada may do everything, everybody else may not export."""
    return principal == "ada" or tool != "export_report"


def guarded_desk(**settings: Any) -> Any:
    """A help desk where only Ada may export the report."""
    return help_desk(authorise=may_export, **settings)


FAILING: Final[tuple[Story, ...]] = (
    told(
        server_dies_and_comes_back,
        help_desk,
        MODERN,
        HTTP,
        faults=(Crash(at_ms=300, restart_after_ms=500),),
    ),
    told(
        session_dies_with_the_server,
        help_desk,
        LEGACY,
        HTTP,
        faults=(Crash(at_ms=300, restart_after_ms=200),),
    ),
    told(process_is_started_again, help_desk, BOTH, STDIO, faults=(Crash(at_ms=300),)),
    told(any_replica_will_do, help_desk, MODERN, HTTP, gateway=Gateway(cache=False), replicas=3),
    told(
        answer_goes_to_another_replica,
        travel_desk,
        MODERN,
        HTTP,
        clients=obliging,
        gateway=Gateway(cache=False),
        replicas=2,
    ),
    told(
        session_at_the_wrong_replica,
        help_desk,
        LEGACY,
        HTTP,
        gateway=Gateway(cache=False),
        replicas=2,
        connect=False,
    ),
    told(
        sessions_that_stick,
        help_desk,
        LEGACY,
        HTTP,
        gateway=Gateway(cache=False, sticky=True),
        replicas=2,
    ),
    told(two_people_at_one_server, guarded_desk, BOTH, clients=ada_and_ben),
)
