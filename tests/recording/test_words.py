"""What strangers wrote, within our sentences."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsim.recording.words import plain, show


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("ten and two", '"ten and tw..."'),
        ("a ticket", '"a ticket"'),
        ("nine\n\n\n", r'"nine\n\n\n"'),
        ("line 10\n\n\n", r'"line 10\n..."'),
        ("caf\u00e9 au lait", r'"caf\u00e9 ..."'),
        ("seven \u00e9\u00e9", '"seven ..."'),
        ("\\" * 9, '"' + "\\" * 10 + '..."'),
        ({"key": "a long value"}, '{"key": "a ...}'),
        ([1, 2, 3, 4, 5, 6], "[1, 2, 3, 4...]"),
        (10**20, "10000000000 [...]"),
        (True, "true"),
        ({1, 2}, '"{1, 2}"'),
    ],
    ids=repr,
)
def test_a_value_that_is_cut_is_closed(value: Any, shown: str) -> None:
    assert show(value, 12) == shown


# Beyond these, a character is two escapes, and a text may be cut between the two.
TEXTS = st.text(st.characters(max_codepoint=0xFFFF))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


@given(JSON, st.integers(2, 30))
def test_a_full_stop_behind_a_value_ends_the_sentence(value: Any, length: int) -> None:
    text = show(value, length)
    assert text.isascii()
    assert text.isprintable()
    assert not text.endswith(".")
    assert len(text) <= length + 6
    if isinstance(value, str):
        assert value.startswith(json.loads(text).removesuffix("..."))


def test_a_value_without_an_end_is_not_shown() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert show(ring) == "(a value that cannot be shown)"


def test_sentences_stay_on_one_line() -> None:
    assert plain('a "b"\n\u2028é') == 'a "b"\\n\\u2028\\xe9'
    assert plain("x" * 10, 4) == "xxxx [...]"
