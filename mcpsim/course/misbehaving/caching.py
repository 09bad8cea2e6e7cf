"""Peers that misbehave in caching. The gateways are in `mcpsim.course.misbehaving.gateways`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Letter,
    on_message,
    on_nth,
    set_in_result,
    with_memory,
    without_in_result,
)
from mcpsim.course.servers import archive, help_desk, price_list
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import INVALID_PARAMS, ProtocolError
from mcpsim.server import Context, Server
from mcpsim.transports.twists import MakeTwist

TTL_S: Final = 60


async def list_the_tools(client: Client) -> Any:
    """Ask for the tools."""
    return await client.request("tools/list", {})


async def all_pages(client: Client) -> int:
    """Read a list to its end."""
    return len([page async for page in client.pages("resources/list")])


async def each_asks(ada: Client, ben: Client) -> list[int]:
    """Two people ask for the tools."""
    return [len((await client.list_tools()).tools) for client in (ada, ben)]


async def fetch_what_is_fresh(client: Client) -> None:
    """Fetch the list before each use, whatever its ttlMs says."""
    for _ in range(3):
        await client.list_tools()
        await client.call_tool("add_hours", {"first": 1, "second": 2})


async def keep_what_is_fresh(client: Client) -> None:
    """Fetch the list once, and use it."""
    await client.list_tools()
    for _ in range(3):
        await client.call_tool("add_hours", {"first": 1, "second": 2})


async def poll_at_the_ttl(client: Client) -> None:
    """Fetch the list again whenever it gets stale, whether anybody needs it or not."""
    for _ in range(4):
        await client.list_tools()
        await anyio.sleep(TTL_S)


async def look_when_it_is_needed(client: Client) -> None:
    """Fetch the list when it is needed and stale."""
    for pause_s in (100, 75, 240, 90):
        await client.list_tools()
        await anyio.sleep(pause_s)


async def poll_at_one_beat(client: Client) -> None:
    """Poll a list every ten seconds."""
    for _ in range(7):
        await client.list_tools()
        await anyio.sleep(10)


async def poll_with_jitter(client: Client) -> None:
    """Poll a list, less and less often, and never at quite the same interval."""
    for pause_s in (10.3, 11.9, 14.2, 19.6, 27.1, 41.5, 0):
        await client.list_tools()
        await anyio.sleep(pause_s)


async def go_on_with_old_pages(client: Client) -> None:
    """Go on with another old cursor after one was refused."""
    cursors = await two_cursors(client)
    await refused(client, cursors[0])
    await client.request("resources/list", {"cursor": cursors[1]})


async def begin_anew(client: Client) -> None:
    """Begin the list anew after a cursor was refused."""
    cursors = await two_cursors(client)
    await refused(client, cursors[0])
    await two_cursors(client)


async def two_cursors(client: Client) -> list[str]:
    """The cursors of the second and the third page."""
    first = await client.request("resources/list", {})
    second = await client.request("resources/list", {"cursor": first["nextCursor"]})
    return [first["nextCursor"], second["nextCursor"]]


async def refused(client: Client, cursor: str) -> None:
    """Ask for a page after an hour, when its cursor is not valid any more."""
    await anyio.sleep(3600)
    with suppress(ProtocolError):
        await client.request("resources/list", {"cursor": cursor})


async def read_what_asks(client: Client) -> Any:
    """Read what asks which edition is meant, and leave it at that."""
    return await client.request("resources/read", {"uri": "book://atlas"})


async def call_what_is_gone(ada: Client, ben: Client) -> None:
    """Call a tool although the list has changed."""
    await _close(ada, ben, look_again=False)


async def look_what_is_there(ada: Client, ben: Client) -> None:
    """Look at the list when it has changed, and call what is there."""
    await _close(ada, ben, look_again=True)


async def _close(ada: Client, ben: Client, *, look_again: bool) -> None:
    """Ben closes the desk: no request of Ada's own may change her list."""
    async with ada.listen(tools_list_changed=True) as subscription:
        await ada.list_tools()
        await ben.call_tool("close", {})
        async for _ in subscription:
            break
        tools = [tool.name for tool in (await ada.list_tools()).tools] if look_again else ["lend"]
        with suppress(ProtocolError):
            await ada.call_tool(tools[0], {})


def shrinking_desk() -> Server:
    """A desk that lends books until it is closed."""
    desk = Server("desk", list_changed=True)

    @desk.tool()
    def lend() -> str:
        """Lend a book."""
        return "Lent"

    @desk.tool()
    def close() -> str:
        """Stop lending."""
        if any(tool.name == "lend" for tool in desk.tools):
            desk.remove_tool("lend")
        return "Closed"

    return desk


def asking_shelf() -> Server:
    """A shelf that asks which edition of a book is meant."""
    shelf = Server("library")

    @shelf.resource("book://atlas", mime_type="text/plain")
    async def atlas(context: Context) -> str:
        """The atlas, in the edition that the reader wants."""
        schema = {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}
        answer = await context.elicit("Which edition?", schema)
        return f"The atlas of {(answer.content or {}).get('year')}."

    return shelf


def reader(era: ClientEra) -> Client:
    """A client with somebody to ask."""
    return Client(era=era, elicit=lambda asked: "decline")


def lasting_desk() -> Server:
    """A help desk whose list keeps for a minute."""
    return help_desk(ttl_ms=TTL_S * 1000)


def public_archive() -> Server:
    """An archive whose list is for everybody."""
    return archive(ttl_ms=60_000, cache_scope="public")


def ada_and_ben(era: ClientEra) -> Mapping[str, Client]:
    """Two clients for two people."""
    return {name: Client(name, era=era, principal=name) for name in ("ada", "ben")}


def _forgetful() -> Callable[[Letter], Any]:
    """A server that has forgotten a cursor when it is sent once more, as it may; it does so once."""
    asked: list[str] = []
    refused: list[str] = []

    def refuse(letter: Letter) -> Any:
        cursor = letter.request["params"].get("cursor")
        if cursor not in asked or refused:
            asked.append(cursor)
            return None
        refused.append(cursor)
        error = {"code": INVALID_PARAMS, "message": "This cursor is not valid any more."}
        return letter.out.with_message({"jsonrpc": "2.0", "id": letter.message["id"], "error": error})

    return refuse


def _fewer_tools(letter: Letter) -> Any:
    """Ben gets one tool less than Ada."""
    if letter.out.receiver != "ben":
        return None
    letter.message["result"]["tools"].pop()
    return letter.out.with_message(letter.message)


def _by_server(name: str, rule: str, sentence: str, twist: MakeTwist) -> Misbehaviour:
    return Misbehaviour(
        name, "server", rule, sentence, list_the_tools, help_desk, "modern", "stdio", twist=twist
    )


def _by_client(name: str, rule: str, sentence: str, story: Any, good_story: Any, **more: Any) -> Misbehaviour:
    more = {"server": lasting_desk, "way": "stdio", **more}
    return Misbehaviour(
        name,
        "client",
        rule,
        sentence,
        story,
        era="modern",
        good_story=good_story,
        **more,
    )


CACHING: Final[tuple[Misbehaviour, ...]] = (
    _by_server(
        "server-leaves-ttl-out",
        "caching-hints-are-there",
        "The server says of its tool list whom it is for, and not for how long it is good.",
        without_in_result("tools/list", "ttlMs"),
    ),
    _by_server(
        "server-says-half-a-millisecond",
        "caching-ttl-is-an-integer",
        "The server gives a ttlMs with a fraction.",
        set_in_result("tools/list", "ttlMs", to=2500.5),
    ),
    _by_server(
        "server-says-a-time-that-is-over",
        "caching-ttl-is-not-negative",
        "The server gives a negative ttlMs.",
        set_in_result("tools/list", "ttlMs", to=-1),
    ),
    _by_server(
        "server-makes-up-a-scope",
        "caching-scope-is-known",
        "The server gives a cacheScope that there is not.",
        set_in_result("tools/list", "cacheScope", to="shared"),
    ),
    Misbehaviour(
        "server-changes-the-scope-between-pages",
        "server",
        "caching-pages-share-a-scope",
        "The server says that the second page is private, and the others are public.",
        all_pages,
        public_archive,
        "modern",
        "stdio",
        twist=on_nth(2, set_in_result("resources/list", "cacheScope", to="private")),
    ),
    Misbehaviour(
        "server-calls-public-what-is-personal",
        "server",
        "caching-public-is-for-everybody",
        "The server gives two people different lists, and says of both that they are for everybody.",
        each_asks,
        price_list,
        "modern",
        "http",
        twist=on_message(_fewer_tools, "result", method="tools/list"),
        clients=ada_and_ben,
    ),
    Misbehaviour(
        "server-gives-hints-while-it-asks",
        "server",
        "caching-no-hints-while-asking",
        "The server gives hints for a result that asks for input.",
        read_what_asks,
        asking_shelf,
        "modern",
        "stdio",
        twist=set_in_result("resources/read", "ttlMs", to=0),
        clients=reader,
    ),
    _by_client(
        "client-relies-on-a-list-that-has-changed",
        "caching-changed-list-is-read-again",
        "The client hears that the tools have changed, and calls one that is gone.",
        call_what_is_gone,
        look_what_is_there,
        way="http",
        server=shrinking_desk,
        clients=ada_and_ben,
    ),
    _by_client(
        "client-fetches-what-is-fresh",
        "caching-fresh-is-not-fetched",
        "The client fetches a list again and again while what it has is fresh.",
        fetch_what_is_fresh,
        keep_what_is_fresh,
    ),
    _by_client(
        "client-takes-ttl-for-an-interval",
        "caching-ttl-is-no-interval",
        "The client fetches a list again whenever its time is over, needed or not.",
        poll_at_the_ttl,
        look_when_it_is_needed,
    ),
    _by_client(
        "client-polls-at-one-beat",
        "caching-polling-has-jitter",
        "The client polls at one interval, without jitter, and never less often.",
        poll_at_one_beat,
        poll_with_jitter,
        server=help_desk,
    ),
    _by_client(
        "client-goes-on-with-old-pages",
        "caching-wrong-cursor-drops-pages",
        "The client goes on with an old cursor after the server has refused another one.",
        go_on_with_old_pages,
        begin_anew,
        server=public_archive,
        scenery=with_memory(_forgetful, "result", method="resources/list"),
    ),
)
