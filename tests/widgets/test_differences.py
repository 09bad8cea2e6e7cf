"""What changed between two JSON values."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsim.widgets.differences import MAX_FOUND, SHOWN, differences

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(-2, 2), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["name", "uri", "a", "b", "_meta"]), inner, max_size=4),
    ),
    max_leaves=12,
)


def told(before: Any, after: Any) -> list[tuple[str, str, str, str]]:
    return [
        (".".join(str(key) for key in each.path), each.kind, each.before, each.after)
        for each in differences(before, after)
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"id": 1}, {"id": 2}, [("id", "changed", "1", "2")]),
        ({"id": 1}, {"id": "1"}, [("id", "changed", "1", '"1"')]),
        ({"a": 1}, {"a": True}, [("a", "changed", "1", "true")]),
        ({"a": 1}, {"a": 1.0}, [("a", "changed", "1", "1.0")]),
        ({"a": [1]}, {"a": [True]}, [("a.0", "changed", "1", "true")]),
        ({}, {"cursor": ""}, [("cursor", "added", "", '""')]),
        ({"cursor": None}, {}, [("cursor", "removed", "null", "")]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 2, "b": 1}}, []),
        ([1, 2], [1, 3, 4], [("1", "changed", "2", "3"), ("2", "added", "", "4")]),
        ([1, 2], [1], [("1", "removed", "2", "")]),
        ({"a": [1]}, {"a": {"b": 1}}, [("a", "changed", "[1]", '{"b": 1}')]),
        (3, 3, []),
    ],
)
def test_what_is_found(before, after, expected):
    assert told(before, after) == expected


def test_items_with_names_are_told_apart_by_them():
    before = {"tools": [{"name": "a", "n": 1}, {"name": "b", "n": 1}]}
    after = {"tools": [{"name": "c", "n": 1}, {"name": "b", "n": 2}]}
    found = differences(before, after)
    assert [(each.path, each.kind, each.name) for each in found] == [
        (("tools", 0), "added", "c"),
        (("tools", 1, "n"), "changed", "b"),
        (("tools", 0), "removed", "a"),
    ]


def test_names_that_come_twice_tell_nothing_apart():
    found = differences([{"name": "a", "n": 1}, {"name": "a", "n": 1}], [{"name": "a", "n": 1}])
    assert [(each.path, each.kind, each.name) for each in found] == [((1,), "removed", "")]


def test_of_long_texts_the_place_is_shown_where_they_differ():
    ((path, kind, before, after),) = told({"state": "x" * 5_000 + "left"}, {"state": "x" * 5_000 + "right"})
    assert (path, kind) == ("state", "changed")
    assert "left" in before
    assert "right" in after
    assert before.startswith("…")
    assert max(len(before), len(after)) < SHOWN * 2


def test_values_that_look_the_same_where_they_are_cut_are_said_to_differ():
    items = list(range(100))
    ((_, _, before, after),) = told({"a": {"b": items}}, {"a": {"b": [*items[:-1], 0]}})
    assert before != after
    (found,) = differences({"x": 1, "deep": "y"}, {"x": 1, "deep": ["y" * 500]})
    assert len(found.after) <= SHOWN + 1


def test_invisible_characters_are_made_visible():
    ((_, _, before, after),) = told({"a": "x\u202ey"}, {"a": "x\ny"})
    assert "\u202e" not in before
    assert "\n" not in after


@pytest.mark.parametrize("size", [200_000])
def test_large_values_are_bounded(size):
    before = {"items": [{"name": str(n)} for n in range(size)], "text": "x" * 10_000_000}
    after = {"items": [{"name": str(-n)} for n in range(size)], "text": "x" * 9_999_999 + "y"}
    began = time.perf_counter()
    found = differences(before, after)
    assert time.perf_counter() - began < 5
    assert 0 < len(found) <= MAX_FOUND
    assert sum(len(each.before) + len(each.after) for each in found) < 400 * len(found)


def test_deep_values_do_not_break_it():
    before: Any = 0
    after: Any = 1
    for _ in range(800):
        before, after = [before], [after]
    (found,) = differences(before, after)
    assert found.kind == "changed"


@given(json_values)
def test_a_value_does_not_differ_from_itself(value: Any) -> None:
    assert differences(value, json.loads(json.dumps(value))) == ()


@given(json_values, json_values)
def test_values_that_differ_are_said_to_differ(before: Any, after: Any) -> None:
    same = json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
    found = differences(before, after)
    # The order of items that are told apart by their names is not a difference of any of them.
    if same:
        assert not found
    elif not isinstance(before, list | dict):
        assert found
    for each in found:
        assert each.kind in ("added", "removed", "changed")
        assert each.before != each.after
        assert (each.before == "") == (each.kind == "added")
        assert (each.after == "") == (each.kind == "removed")
