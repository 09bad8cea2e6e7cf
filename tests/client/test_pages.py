"""Lists, page by page.

https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
"""

from __future__ import annotations

from typing import Any

import pytest
from far_ends import both_ways, error, heard, result, talk_to
from hypothesis import given
from hypothesis import strategies as st

from mcpsim import Client, McpSimError, ProtocolError
from mcpsim.errors import RepeatedCursor, TooManyPages

MEMBERS = {
    "tools/list": ("tools", {"inputSchema": {"type": "object"}}),
    "resources/list": ("resources", {"uri": "file:///a"}),
    "resources/templates/list": ("resourceTemplates", {"uriTemplate": "file:///{a}"}),
    "prompts/list": ("prompts", {}),
}


def page(message: Any, names: list[str], following: Any = None, **more: Any) -> Any:
    """A page with members of these names; `following` None leaves `nextCursor` out."""
    key, members = MEMBERS[message["method"]]
    listed = [{"name": name, **members} for name in names]
    extra = {} if following is None else {"nextCursor": following}
    return result(message, **{key: listed}, **extra, **more)


def book(pages: dict[str | None, tuple[list[str], Any]]) -> Any:
    """A server with these pages by cursor; any other cursor is not valid."""

    def answer(message: Any) -> list[Any]:
        cursor = (message.get("params") or {}).get("cursor")
        if cursor not in pages:
            return [error(message, -32602, "There is no such cursor.")]
        return [page(message, *pages[cursor])]

    return answer


def walk(method: str = "tools/list", **more: Any) -> Any:
    async def story(client: Client) -> list[list[str]]:
        seen: list[list[str]] = []
        async for one in client.pages(method, **more):
            key = MEMBERS[method][0]
            listed = getattr(one, "resource_templates" if key == "resourceTemplates" else key)
            seen.append([member.name for member in listed])
        return seen

    return story


@both_ways
@pytest.mark.parametrize("method", sorted(MEMBERS))
def test_a_walk_goes_to_the_page_without_a_next_cursor(era: str, transport: str, method: str) -> None:
    pages = {None: (["a", "b"], "2"), "2": (["c"], "3"), "3": (["d"], None)}
    played, far = talk_to(walk(method), book(pages), era, transport)
    assert played.value == [["a", "b"], ["c"], ["d"]]
    asked = [(one.get("params") or {}).get("cursor") for one in heard(far, method)]
    assert asked == [None, "2", "3"]
    first = heard(far, method)[0].get("params") or {}
    assert "cursor" not in first


@both_ways
@pytest.mark.parametrize("odd", ["", " ", "null", "0", "é\u0000\U0001f600", "a" * 5000, '{"page": 3}'])
def test_every_text_is_a_cursor_and_comes_back_as_it_was(era: str, transport: str, odd: str) -> None:
    played, far = talk_to(walk(), book({None: (["a"], odd), odd: (["b"], None)}), era, transport)
    assert played.value == [["a"], ["b"]]
    assert heard(far, "tools/list")[1]["params"]["cursor"] == odd


@both_ways
def test_an_empty_page_is_not_the_end(era: str, transport: str) -> None:
    pages = {None: ([], "2"), "2": ([], ""), "": (["a"], None)}
    assert talk_to(walk(), book(pages), era, transport)[0].value == [[], [], ["a"]]


def test_no_page_size_is_assumed() -> None:
    pages = {None: (["a"], "2"), "2": (["b", "c", "d"], "3"), "3": (["e", "f"], None)}
    assert talk_to(walk(), book(pages), "modern", "stdio")[0].value == [["a"], ["b", "c", "d"], ["e", "f"]]


@both_ways
def test_a_null_cursor_is_no_cursor(era: str, transport: str) -> None:
    """Only "a non-null value" means that there is another page."""

    def answer(message: Any) -> list[Any]:
        return [result(message, tools=[], nextCursor=None)]

    played, far = talk_to(walk(), answer, era, transport)
    assert played.value == [[]]
    assert len(heard(far, "tools/list")) == 1


@both_ways
def test_pages_can_be_asked_for_one_by_one(era: str, transport: str) -> None:
    async def story(client: Client) -> list[Any]:
        tools = await client.list_tools()
        resources = await client.list_resources("")
        templates = await client.list_resource_templates("x")
        prompts = await client.list_prompts()
        return [tools.next_cursor, resources.next_cursor, templates.next_cursor, prompts.next_cursor]

    pages = {None: (["a"], ""), "": (["b"], "x"), "x": (["c"], None)}
    played, far = talk_to(story, book(pages), era, transport)
    assert played.value == ["", "x", None, ""]
    assert heard(far, "resources/list")[0]["params"]["cursor"] == ""


# Circles, and bounds


@both_ways
def test_a_cursor_that_brings_its_own_page_again(era: str, transport: str) -> None:
    played, far = talk_to(walk(), book({None: (["a"], "2"), "2": (["b"], "2")}), era, transport)
    assert isinstance(played.error, RepeatedCursor)
    assert "page 3 came with the cursor '2'" in str(played.error)
    assert len(heard(far, "tools/list")) == 3


def test_a_longer_circle() -> None:
    pages = {None: (["a"], "2"), "2": (["b"], "3"), "3": (["c"], "2")}
    seen: list[str] = []

    async def story(client: Client) -> None:
        async for one in client.pages("tools/list"):
            seen.append(one.tools[0].name)

    played, _ = talk_to(story, book(pages), "modern", "stdio")
    assert isinstance(played.error, RepeatedCursor)
    assert seen == ["a", "b", "c"]


def test_a_cursor_that_came_before_is_no_fault_where_it_brings_another_page() -> None:
    """Nothing may be concluded from the value of a cursor: a server may keep the place by itself."""
    left = [["a"], ["b"], ["c"]]

    def answer(message: Any) -> list[Any]:
        names = left.pop(0)
        return [page(message, names, "" if left else None, ttlMs=0, cacheScope="private")]

    assert talk_to(walk(), answer, "modern", "stdio")[0].value == [["a"], ["b"], ["c"]]


def test_hints_that_differ_do_not_hide_a_circle() -> None:
    count = [0]

    def answer(message: Any) -> list[Any]:
        count[0] += 1
        return [page(message, ["a"], "x", ttlMs=count[0], cacheScope="public")]

    assert isinstance(talk_to(walk(), answer, "modern", "stdio")[0].error, RepeatedCursor)


@both_ways
@pytest.mark.parametrize("max_pages", [1, 7])
def test_a_list_without_an_end_is_bounded(era: str, transport: str, max_pages: int) -> None:
    def answer(message: Any) -> list[Any]:
        cursor = (message.get("params") or {}).get("cursor", "0")
        return [page(message, [cursor], str(int(cursor) + 1))]

    played, far = talk_to(walk(max_pages=max_pages), answer, era, transport)
    assert isinstance(played.error, TooManyPages)
    assert f"more than {max_pages} pages" in str(played.error)
    assert len(heard(far, "tools/list")) == max_pages


def test_exactly_as_many_pages_as_allowed() -> None:
    pages = {None: (["a"], "2"), "2": (["b"], None)}
    assert talk_to(walk(max_pages=2), book(pages), "modern", "stdio")[0].value == [["a"], ["b"]]


def test_whoever_has_seen_enough_stops_and_nothing_more_is_asked() -> None:
    async def story(client: Client) -> str:
        async for one in client.pages("tools/list"):
            return one.tools[0].name
        return ""

    played, far = talk_to(story, book({None: (["a"], "2"), "2": (["b"], None)}), "modern", "stdio")
    assert played.value == "a"
    assert len(heard(far, "tools/list")) == 1


@given(
    st.dictionaries(st.sampled_from(["a", "b", "c", ""]), st.sampled_from(["a", "b", "c", "", None])),
    st.data(),
)
def test_every_walk_has_an_end(following: dict[str, str | None], data: st.DataObject) -> None:
    """Any book: each cursor leads to another, to none, or is not valid."""
    pages: dict[str | None, tuple[list[str], Any]] = {
        cursor: ([f"page {cursor!r}"], after) for cursor, after in following.items()
    }
    pages[None] = (["first"], data.draw(st.sampled_from(["a", "", None])))
    played, far = talk_to(walk(max_pages=8), book(pages), "modern", "stdio")
    path: list[str | None] = [None]
    while path[-1] in pages and path.count(path[-1]) < 2 and pages[path[-1]][1] is not None:
        path.append(pages[path[-1]][1])
    assert [(one.get("params") or {}).get("cursor") for one in heard(far, "tools/list")] == path
    if path[-1] not in pages:
        assert isinstance(played.error, ProtocolError)
    elif path.count(path[-1]) > 1:
        assert isinstance(played.error, RepeatedCursor)
    else:
        assert played.value == [pages[cursor][0] for cursor in path]


# Errors


@both_ways
def test_a_cursor_that_is_refused_in_the_middle(era: str, transport: str) -> None:
    played, _ = talk_to(walk(), book({None: (["a"], "2"), "2": (["b"], "gone")}), era, transport)
    assert isinstance(played.error, ProtocolError)
    assert played.error.code == -32602
    (note,) = played.error.__notes__
    assert "The cursor that came with page 2 of tools/list is not valid any more" in note


@both_ways
def test_another_error_in_the_middle(era: str, transport: str) -> None:
    def answer(message: Any) -> list[Any]:
        if (message.get("params") or {}).get("cursor"):
            return [error(message, -32603, "Broken.")]
        return [page(message, ["a"], "2")]

    played, _ = talk_to(walk(), answer, era, transport)
    assert isinstance(played.error, ProtocolError)
    assert (played.error.code, getattr(played.error, "__notes__", [])) == (-32603, [])


@pytest.mark.parametrize("method", ["tools/call", "resources/read", "x/list", "", "initialize"])
def test_what_has_no_pages(method: str) -> None:
    async def story(client: Client) -> None:
        async for _ in client.pages(method):
            pass

    played, far = talk_to(story, book({}), "modern", "stdio")
    assert isinstance(played.error, ValueError)
    assert not far.heard


@pytest.mark.parametrize("method", sorted(MEMBERS))
def test_a_legacy_client_lists_only_what_the_server_declared(method: str) -> None:
    played, far = talk_to(walk(method), book({}), "legacy", "stdio", capabilities={})
    assert isinstance(played.error, McpSimError)
    assert "did not declare" in str(played.error)
    assert not heard(far, method)
