"""Peers that misbehave with cursors and pages."""

from __future__ import annotations

from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.caching import all_pages
from mcpsim.course.misbehaving.changing import Json, Letter, change_params, on_message, set_in_result
from mcpsim.course.servers import archive, help_desk
from mcpsim.errors import INTERNAL_ERROR, INVALID_PARAMS
from mcpsim.simulation.world import Host

LIST: Final = "resources/list"
A_DAY_S: Final = 86_400.0


async def first_page(client: Client) -> Any:
    """Read the first page."""
    return await client.request("tools/list", {})


async def second_page(client: Client) -> Any:
    """Read the first page and the second."""
    first = await client.request(LIST, {})
    return await client.request(LIST, {"cursor": first["nextCursor"]})


async def page_two(client: Client) -> Any:
    """Ask for the second page by its number."""
    return await client.request(LIST, {"cursor": "2"})


async def four_pages(client: Client) -> list[str | None]:
    """Turn four pages, as far as there are so many."""
    cursors: list[str | None] = []
    params: dict[str, Any] = {}
    for _ in range(4):
        page = await client.request(LIST, params)
        cursors.append(page.get("nextCursor"))
        if cursors[-1] is None:
            break
        params = {"cursor": cursors[-1]}
    return cursors


async def carry_a_cursor_over(client: Client, *, host: Host) -> Any:
    """Use a cursor of one session in the next, a day later."""
    async with host.start_again(client) as today:
        await today.connect()
        first = await today.request(LIST, {})
    await anyio.sleep(A_DAY_S)
    async with host.start_again(client) as tomorrow:
        await tomorrow.connect()
        return await tomorrow.request(LIST, {"cursor": first["nextCursor"]})


async def begin_again(client: Client, *, host: Host) -> Any:
    """Begin the list anew in the next session, a day later."""
    async with host.start_again(client) as today:
        await today.connect()
        await today.request(LIST, {})
    await anyio.sleep(A_DAY_S)
    async with host.start_again(client) as tomorrow:
        await tomorrow.connect()
        return await second_page(tomorrow)


async def ask_for_the_truth(client: Client) -> int:
    """Ask whether a cursor is true, where the question is whether there is one."""
    tools = 0
    cursor = None
    for _ in range(3):
        page = await client.request("tools/list", {"cursor": cursor} if cursor else {})
        tools += len(page["tools"])
        cursor = page.get("nextCursor")
    return tools


async def ask_whether_there_is_one(client: Client) -> int:
    """Ask whether there is a cursor."""
    page = await client.request("tools/list", {})
    tools = len(page["tools"])
    while "nextCursor" in page:
        page = await client.request("tools/list", {"cursor": page["nextCursor"]})
        tools += len(page["tools"])
    return tools


async def send_the_word_for_nothing(client: Client) -> None:
    """Make a text of the nextCursor that is not there, and send it."""
    page = await client.request("tools/list", {})
    await client.request("tools/list", {"cursor": str(page.get("nextCursor"))})


async def cursor_for_another_list(client: Client) -> Any:
    """Send the cursor of one list with another."""
    first = await client.request(LIST, {})
    return await client.request("tools/list", {"cursor": first["nextCursor"]})


async def one_page_is_enough(client: Client) -> Any:
    """Take the first page for the whole list."""
    first = await client.request(LIST, {})
    for one in first["resources"]:
        await client.read_resource(one["uri"])


async def whole_list(client: Client) -> Any:
    """Read the whole list, and then what is in it."""
    names = [one.uri async for page in client.pages(LIST) for one in page.resources]
    for one in names:
        await client.read_resource(one)


async def stop_at_a_short_page(client: Client) -> Any:
    """Take a page that is shorter than the first for the last one."""
    page = await client.request(LIST, {})
    size = len(page["resources"])
    while len(page["resources"]) == size and "nextCursor" in page:
        page = await client.request(LIST, {"cursor": page["nextCursor"]})
    await client.read_resource("report://2019")


async def stop_at_the_end(client: Client) -> Any:
    """Read on until a page has no nextCursor."""
    await all_pages(client)
    await client.read_resource("report://2019")


async def much_later(client: Client) -> Any:
    """Read the first page, and the second after an hour."""
    first = await client.request(LIST, {})
    await anyio.sleep(3600)
    return await client.request(LIST, {"cursor": first["nextCursor"]})


# --- How the servers are that are right, and unusual -------------------------------------------------


def _empty_cursor(letter: Letter) -> Any:
    """A list in two pages, and "" is the cursor of the second."""
    cursor = letter.request["params"].get("cursor")
    if letter.kind == "result":
        tools = letter.message["result"]["tools"]
        letter.message["result"].update(tools=tools[:2], nextCursor="", ttlMs=60_000)
        return letter.out.with_message(letter.message)
    if cursor != "":
        return None
    result = {
        "resultType": "complete",
        "tools": [{"name": "late", "inputSchema": {"type": "object"}}],
        "ttlMs": 60_000,
        "cacheScope": "private",
    }
    return letter.out.with_message({"jsonrpc": "2.0", "id": letter.message["id"], "result": result})


def _short_page(letter: Letter) -> Any:
    """The second page is shorter than the others, as a page may be."""
    if "cursor" not in letter.request["params"] or "nextCursor" not in letter.message["result"]:
        return None
    letter.message["result"]["resources"].pop()
    return letter.out.with_message(letter.message)


# --- What the servers do wrong -----------------------------------------------------------------------


def _no_end(letter: Letter) -> Any:
    cursor = letter.request["params"].get("cursor")
    if cursor is None:
        return None
    letter.message["result"]["nextCursor"] = cursor
    return letter.out.with_message(letter.message)


def _refusing(code: int, text: str) -> Any:
    def refuse(letter: Letter) -> Any:
        if "cursor" not in letter.request["params"]:
            return None
        error = {"code": code, "message": text}
        return letter.out.with_message({"jsonrpc": "2.0", "id": letter.message["id"], "error": error})

    return on_message(refuse, "result", method=LIST)


def _in_other_letters(params: Json) -> None:
    if "cursor" in params:
        params["cursor"] = params["cursor"].swapcase()


def _by_client(name: str, rule: str, sentence: str, story: Any, good_story: Any, **more: Any) -> Misbehaviour:
    more = {"server": archive, "era": "modern", "way": "stdio", **more}
    return Misbehaviour(name, "client", rule, sentence, story, good_story=good_story, **more)


PAGINATION: Final[tuple[Misbehaviour, ...]] = (
    Misbehaviour(
        "client-spells-a-cursor-anew",
        "client",
        "pagination-cursor-is-opaque",
        "The client changes the letters of a cursor.",
        second_page,
        archive,
        "modern",
        "stdio",
        twist=change_params(LIST, _in_other_letters),
    ),
    _by_client(
        "client-makes-up-a-cursor",
        "pagination-cursor-is-opaque",
        "The client asks for a page by its number.",
        page_two,
        second_page,
        era="legacy",
    ),
    _by_client(
        "client-keeps-a-cursor-for-the-next-session",
        "pagination-cursor-stays-in-its-session",
        "The client uses a cursor of one session in another.",
        carry_a_cursor_over,
        begin_again,
        era="legacy",
        # Over HTTP the end of a session can be seen; each of the two is opened by the story.
        way="http",
        setting={"connect": False},
    ),
    _by_client(
        "client-takes-an-empty-cursor-for-none",
        "pagination-empty-cursor-is-a-cursor",
        "The client takes an empty cursor for none, and reads the first page again and again.",
        ask_for_the_truth,
        ask_whether_there_is_one,
        server=help_desk,
        scenery=on_message(_empty_cursor, "result", "error", method="tools/list"),
    ),
    _by_client(
        "client-sends-the-word-for-nothing",
        "pagination-missing-cursor-is-the-end",
        "The client turns a missing nextCursor into a text, and asks for that page.",
        send_the_word_for_nothing,
        ask_whether_there_is_one,
        server=help_desk,
    ),
    _by_client(
        "client-sends-a-cursor-with-another-list",
        "pagination-cursor-of-another-list",
        "The client sends the cursor of the resources with the tools.",
        cursor_for_another_list,
        second_page,
    ),
    _by_client(
        "client-reads-the-first-page-only",
        "pagination-list-is-read-in-part",
        "The client takes the first page for the whole list.",
        one_page_is_enough,
        whole_list,
    ),
    _by_client(
        "client-stops-at-a-short-page",
        "pagination-page-size-is-not-assumed",
        "The client takes a page that is shorter than the one before for the last one.",
        stop_at_a_short_page,
        stop_at_the_end,
        scenery=on_message(_short_page, "result", method=LIST),
    ),
    Misbehaviour(
        "server-never-ends-its-list",
        "server",
        "pagination-list-has-an-end",
        "The server gives out the same nextCursor with every page.",
        four_pages,
        archive,
        "modern",
        "stdio",
        twist=on_message(_no_end, "result", method=LIST),
    ),
    Misbehaviour(
        "server-gives-null-for-a-cursor",
        "server",
        "pagination-no-cursor-is-left-out",
        "The server says null where there is no next page.",
        first_page,
        help_desk,
        "modern",
        "stdio",
        twist=set_in_result("tools/list", "nextCursor", to=None),
    ),
    Misbehaviour(
        "server-forgets-its-cursors",
        "server",
        "pagination-cursors-are-stable",
        "The server refuses a cursor that it has just given out.",
        second_page,
        archive,
        "modern",
        "stdio",
        twist=_refusing(INVALID_PARAMS, "This cursor is not known."),
    ),
    Misbehaviour(
        "server-breaks-down-at-an-old-cursor",
        "server",
        "pagination-invalid-cursor-is-refused",
        "The server answers a cursor that it does not know any more with an internal error.",
        much_later,
        archive,
        "modern",
        "stdio",
        twist=_refusing(INTERNAL_ERROR, "KeyError: no such cursor"),
    ),
)
