"""The filter of a subscription: reading, cutting down, asking, writing."""

from __future__ import annotations

from typing import Any

import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsim.utilities.subscriptions import Filter, read_filter, wanted

MEMBERS = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}
CAPABILITIES = ("tools.listChanged", "prompts.listChanged", "resources.listChanged", "resources.subscribe")
UPDATED = "notifications/resources/updated"

uris = st.lists(st.sampled_from(["file:///a", "file:///b", "", "x"]), max_size=4)
filters = st.fixed_dictionaries(
    {}, optional={**dict.fromkeys(MEMBERS, st.booleans()), "resourceSubscriptions": uris}
)


@given(filters)
def test_a_filter_wants_what_it_names_and_nothing_else(written: dict[str, Any]) -> None:
    read = read_filter(written)
    for member, method in MEMBERS.items():
        assert read.wants(method) is written.get(member, False)
    for uri in ["file:///a", "file:///b", "", "x", "file:///c"]:
        assert read.wants(UPDATED, uri) is (uri in written.get("resourceSubscriptions", []))
    assert not read.wants("notifications/progress")
    assert not read.wants(UPDATED)


@given(filters)
def test_writing_a_filter_keeps_what_it_wants(written: dict[str, Any]) -> None:
    read = read_filter(written)
    again = read.to_json()
    assert read_filter(again) == read
    assert False not in again.values()
    assert [] not in again.values()
    mcp_types.SubscriptionFilter.model_validate(again)


@given(filters, st.sets(st.sampled_from(CAPABILITIES)))
def test_what_a_server_does_not_declare_is_cut_off(written: dict[str, Any], declared: set[str]) -> None:
    asked = read_filter(written)
    kept = asked.supported(declared.__contains__)
    for capability, method in zip(CAPABILITIES, MEMBERS.values(), strict=False):
        assert kept.wants(method) is (asked.wants(method) and capability in declared)
    assert kept.uris == (asked.uris if "resources.subscribe" in declared else ())
    missing = asked.without(kept)
    assert missing.methods | kept.methods == asked.methods
    assert not missing.methods & kept.methods
    assert {*missing.uris, *kept.uris} == {*asked.uris}


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (None, "is missing"),
        ([], "is not an object"),
        ("toolsListChanged", "is not an object"),
        ({"toolsListChanged": "true"}, "toolsListChanged must be true or false"),
        ({"promptsListChanged": None}, "promptsListChanged must be true or false"),
        ({"resourcesListChanged": 1}, "resourcesListChanged must be true or false"),
        ({"resourceSubscriptions": "file:///a"}, "resourceSubscriptions must be a list"),
        ({"resourceSubscriptions": None}, "resourceSubscriptions must be a list"),
        ({"resourceSubscriptions": ["file:///a", 7]}, "resourceSubscriptions must be a list"),
    ],
)
def test_what_is_no_filter(value: Any, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        read_filter(value)


def test_members_that_nobody_knows_are_left_alone() -> None:
    assert read_filter({"weatherChanged": True, "toolsListChanged": True}) == wanted(tools_list_changed=True)


def test_a_uri_that_is_named_twice_counts_once() -> None:
    twice = {"resourceSubscriptions": ["file:///b", "file:///a", "file:///b"]}
    assert read_filter(twice).to_json() == {"resourceSubscriptions": ["file:///b", "file:///a"]}


def test_a_filter_by_its_names_in_python() -> None:
    everything = wanted(
        tools_list_changed=True,
        prompts_list_changed=True,
        resources_list_changed=True,
        resource_subscriptions=["file:///a"],
    )
    assert everything == read_filter({**dict.fromkeys(MEMBERS, True), "resourceSubscriptions": ["file:///a"]})
    assert wanted() == Filter()
    with pytest.raises(TypeError, match="not one string"):
        wanted(resource_subscriptions="file:///a")
