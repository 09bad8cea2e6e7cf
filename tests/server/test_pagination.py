"""The four lists in pages, in both eras and on both transports."""

from __future__ import annotations

from typing import Any

import pytest
from checked import simulate_checked
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from revisions import BOTH_ERAS, BOTH_TRANSPORTS, EVERY_REVISION, LATEST_LEGACY, MODERN, ask, client_of

from mcpsim import Client, Server
from mcpsim.errors import ProtocolError

LISTS = {
    "tools/list": ("tools", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
    "prompts/list": ("prompts", "name"),
}
EVERY_LIST = pytest.mark.parametrize("method", LISTS)


def shelf(count: int, page_size: int | None, **more: Any) -> Server:
    """A server with `count` members in each list, registered in no order."""
    server = Server("shelf", page_size=page_size, **more)
    for number in sorted(range(count), key=lambda number: (number * 7) % 10):
        server.tool(f"t{number}")(lambda: "")
        server.resource(f"a://{number}")(lambda: "")
        server.resource_template(f"a://{number}/{{x}}")(lambda x: x)
        server.prompt(f"p{number}")(lambda: "")
    return server


def keys_of(method: str, result: Any) -> list[str]:
    member, key = LISTS[method]
    return [one[key] for one in result[member]]


async def walk(client: Client, method: str) -> list[Any]:
    pages = [await client.request(method)]
    while "nextCursor" in pages[-1]:
        pages.append(await client.request(method, {"cursor": pages[-1]["nextCursor"]}))
    return pages


def walked(server: Server, revision: str, method: str, transport: Any = None) -> list[Any]:
    async def story(client: Client) -> list[Any]:
        return await walk(client, method)

    return simulate_checked(story, server=server, client=client_of(revision), transport=transport).value


@EVERY_REVISION
@BOTH_TRANSPORTS
@EVERY_LIST
def test_the_pages_are_the_list(revision: str, transport: Any, method: str) -> None:
    pages = walked(shelf(5, 2), revision, method, transport)
    whole = keys_of(method, ask(shelf(5, None), revision, method))
    assert [len(keys_of(method, page)) for page in pages] == [2, 2, 1]
    assert [key for page in pages for key in keys_of(method, page)] == whole == sorted(whole)
    assert ["nextCursor" in page for page in pages] == [True, True, False]


@EVERY_LIST
@pytest.mark.parametrize(
    ("count", "size", "lengths"), [(4, 2, [2, 2]), (4, 4, [4]), (1, 1, [1]), (3, 9, [3])]
)
def test_a_list_that_ends_with_a_page_has_no_empty_page(
    method: str, count: int, size: int, lengths: list[int]
) -> None:
    pages = walked(shelf(count, size), MODERN, method)
    assert [len(keys_of(method, page)) for page in pages] == lengths


def test_every_page_has_the_same_scope_and_a_time() -> None:
    pages = walked(shelf(5, 2, ttl_ms=7_000, cache_scope="public"), MODERN, "tools/list")
    assert {(page["ttlMs"], page["cacheScope"]) for page in pages} == {(7_000, "public")}


INVALID = ["", "1", "abc", "AAAAAAAA", "é", "x" * 5_000, "eyJwYWdlIjogMn0="]


@BOTH_ERAS
@BOTH_TRANSPORTS
@EVERY_LIST
@pytest.mark.parametrize("cursor", INVALID)
@pytest.mark.parametrize("page_size", [2, None])
def test_what_is_no_cursor_of_the_list(
    revision: str, transport: Any, method: str, cursor: str, page_size: int | None
) -> None:
    error = ask(shelf(5, page_size), revision, method, {"cursor": cursor}, transport=transport)
    assert isinstance(error, ProtocolError)
    assert error.code == -32602
    assert error.message.startswith("Invalid cursor")


@BOTH_ERAS
@EVERY_LIST
def test_a_cursor_of_another_list_is_not_valid(revision: str, method: str) -> None:
    server = shelf(5, 2)
    others = [ask(server, revision, other)["nextCursor"] for other in LISTS if other != method]
    for cursor in others:
        error = ask(server, revision, method, {"cursor": cursor})
        assert isinstance(error, ProtocolError)
        assert error.code == -32602


@BOTH_ERAS
def test_null_is_no_cursor(revision: str) -> None:
    error = ask(shelf(5, 2), revision, "tools/list", {"cursor": None})
    assert isinstance(error, ProtocolError)
    assert error.code == -32602


@given(cursor=st.text(max_size=60))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_text_is_a_cursor_by_chance(cursor: str) -> None:
    try:
        cursor.encode()
    except UnicodeEncodeError:
        return
    error = ask(shelf(5, 2), LATEST_LEGACY, "tools/list", {"cursor": cursor})
    assert isinstance(error, ProtocolError)
    assert error.code == -32602


@BOTH_ERAS
def test_a_list_that_changes_between_its_pages_shows_gaps_and_duplicates_as_real_ones_do(
    revision: str,
) -> None:
    server = Server("shelf", page_size=2)
    for name in "bdfh":
        server.tool(name)(lambda: "")

    async def story(client: Client) -> list[str]:
        first = await client.request("tools/list")
        server.tool("a")(lambda: "")  # before the place: nobody sees it
        server.tool("e")(lambda: "")  # behind it
        server.remove_tool("d")  # the very one that the cursor names
        server.remove_tool("h")
        second = await client.request("tools/list", {"cursor": first["nextCursor"]})
        return [*keys_of("tools/list", first), "|", *keys_of("tools/list", second)]

    run = simulate_checked(story, server=server, client=client_of(revision))
    assert run.value == ["b", "d", "|", "e", "f"]


def test_cursors_are_stateless() -> None:
    """Another server with the same list takes them: a replica, or the same one after it began again."""
    cursor = ask(shelf(5, 2), MODERN, "tools/list")["nextCursor"]
    assert keys_of("tools/list", ask(shelf(5, 3), MODERN, "tools/list", {"cursor": cursor})) == [
        "t2",
        "t3",
        "t4",
    ]


@pytest.mark.parametrize("page_size", [0, -1])
def test_a_page_has_a_member_or_more(page_size: int) -> None:
    with pytest.raises(ValueError, match="page_size must be 1 or more"):
        Server("shelf", page_size=page_size)


@BOTH_ERAS
@EVERY_LIST
def test_the_client_walks_them(revision: str, method: str) -> None:
    async def story(client: Client) -> int:
        return len([page async for page in client.pages(method)])

    assert simulate_checked(story, server=shelf(5, 2), client=client_of(revision)).value == 3
