"""Stories of lists that come in pages."""

from __future__ import annotations

from typing import Final

from mcpsim.client import Client
from mcpsim.course.servers import archive
from mcpsim.course.stories.story import ALL, BOTH, Story, told
from mcpsim.errors import ProtocolError


async def three_pages(client: Client) -> list[int]:
    """Walk a list to its end: seven reports, three on a page."""
    return [len(page.resources) async for page in client.pages("resources/list")]


async def two_lists_in_pages(client: Client) -> dict[str, int]:
    """The resources and the tools are read in the same way, however many pages each list has."""
    counts: dict[str, int] = {}
    for method in ("resources/list", "tools/list"):
        counts[method] = len([page async for page in client.pages(method)])
    return counts


async def cursor_made_up(client: Client) -> list[str]:
    """A cursor that the server never gave out, an empty one, and one of another list: all are refused."""
    first = await client.list_resources()
    seen: list[str] = []
    for method, cursor in (
        ("resources/list", "page-2"),
        ("resources/list", ""),
        ("tools/list", first.next_cursor),
    ):
        try:
            await client.request(method, {"cursor": cursor})
            seen.append("a page")
        except ProtocolError as error:
            seen.append(str(error.code))
    return seen


async def list_grows_between_pages(client: Client) -> list[str]:
    """A report is filed while the client turns the pages: whether it is seen depends on where it stands."""
    names: list[str] = []
    first = await client.list_resources()
    names += [one.name for one in first.resources]
    await client.call_tool("file_report", {"year": 2018})
    await client.call_tool("file_report", {"year": 2026})
    cursor = first.next_cursor
    while cursor is not None:
        page = await client.list_resources(cursor)
        names += [one.name for one in page.resources]
        cursor = page.next_cursor
    return names


PAGES: Final[tuple[Story, ...]] = (
    told(three_pages, archive, ALL),
    told(two_lists_in_pages, archive, BOTH),
    told(cursor_made_up, archive, BOTH, breaks=("pagination-cursor-is-opaque",)),
    told(list_grows_between_pages, archive, BOTH),
)
