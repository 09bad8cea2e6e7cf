"""Cursors that carry their own place, and pages of lists that change meanwhile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsim.errors import InvalidCursor
from mcpsim.utilities.pagination import page_of, read_cursor, write_cursor

TEXT = st.text(max_size=40)


@given(name=TEXT, key=TEXT)
def test_a_cursor_is_read_as_it_was_written(name: str, key: str) -> None:
    cursor = write_cursor(name, key)
    assert read_cursor(name, cursor) == key
    assert cursor.isascii()
    assert cursor


@given(TEXT)
def test_any_other_string_is_no_cursor(text: str) -> None:
    with pytest.raises(InvalidCursor):
        read_cursor("tools/list", text)


@given(key=TEXT, at=st.integers(0, 200), char=st.characters())
def test_a_changed_cursor_is_no_cursor(key: str, at: int, char: str) -> None:
    cursor = write_cursor("tools/list", key)
    at %= len(cursor)
    changed = cursor[:at] + char + cursor[at + 1 :]
    if changed != cursor:
        with pytest.raises(InvalidCursor):
            read_cursor("tools/list", changed)


@pytest.mark.parametrize("change", [lambda cursor: cursor + "=", lambda cursor: cursor + "\n", str.swapcase])
def test_one_cursor_has_one_spelling(change: object) -> None:
    with pytest.raises(InvalidCursor):
        read_cursor("tools/list", change(write_cursor("tools/list", "add")))  # pyright: ignore


def test_a_cursor_is_good_for_its_own_list_only() -> None:
    with pytest.raises(InvalidCursor):
        read_cursor("tools/list", write_cursor("prompts/list", "add"))
    # The name and the key cannot run into each other.
    assert write_cursor("ab", "c") != write_cursor("a", "bc")


KEYS = st.sets(st.text("abcdef", max_size=3), max_size=30).map(sorted)


@given(keys=KEYS, size=st.none() | st.integers(1, 8))
def test_the_pages_of_a_list_that_stays_are_the_list(keys: list[str], size: int | None) -> None:
    seen: list[str] = []
    after, pages = None, 0
    while True:
        page, more = page_of(keys, after, size)
        seen += page
        pages += 1
        assert size is None or len(page) <= size
        if not more:
            break
        assert len(page) == size
        after = page[-1]
    assert seen == keys
    assert pages == (1 if size is None else max(1, -(-len(keys) // size)))


@given(before=KEYS, later=KEYS, size=st.integers(1, 8))
def test_a_list_that_changes_shows_what_is_behind_the_place(
    before: list[str], later: list[str], size: int
) -> None:
    page, more = page_of(before, None, size)
    if more:
        following, _ = page_of(later, page[-1], None)
        assert list(following) == [key for key in later if key > page[-1]]
