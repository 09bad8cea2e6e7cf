"""The method table against the official models, map by map, and against the schemas' capabilities."""

from __future__ import annotations

from collections.abc import Iterator

import mcp_types
import pytest
from mcp_types import methods as official
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from mcpsim.eras.capabilities import declares
from mcpsim.eras.legacy import check_method
from mcpsim.eras.methods import BY_NAME_AND_REVISION, METHODS, Method, method
from mcpsim.eras.revisions import LEGACY_REVISIONS, MODERN_REVISIONS
from mcpsim.errors import METHOD_NOT_FOUND, ProtocolError

# The tasks of 2025-11-25 are in neither: there they were experimental, since then they are an extension.
MAPS = [
    ("request", ("to_server", "both"), official.CLIENT_REQUESTS),
    ("request", ("to_client", "both"), official.SERVER_REQUESTS),
    ("notification", ("to_server", "both"), official.CLIENT_NOTIFICATIONS),
    ("notification", ("to_client", "both"), official.SERVER_NOTIFICATIONS),
]


def pairs(
    kind: str, directions: tuple[str, ...] = ("to_server", "to_client", "both")
) -> set[tuple[str, str]]:
    return {
        (row.name, revision)
        for row in METHODS
        if row.kind == kind and row.direction in directions
        for revision in row.revisions
    }


def test_the_revisions_are_the_official_ones() -> None:
    assert tuple(KNOWN_PROTOCOL_VERSIONS) == (*LEGACY_REVISIONS, *MODERN_REVISIONS)


@pytest.mark.parametrize(("kind", "directions", "theirs"), MAPS)
def test_who_may_send_what_in_which_revision(kind: str, directions: tuple[str, ...], theirs: dict) -> None:
    assert pairs(kind, directions) == set(theirs)


def test_no_method_stands_twice_in_one_revision() -> None:
    assert len(BY_NAME_AND_REVISION) == sum(len(row.revisions) for row in METHODS)


def test_input_requests_are_the_former_requests_of_the_server_without_ping() -> None:
    former = {name for name, _ in official.SERVER_REQUESTS} - {"ping"}
    assert pairs("input request") == {(name, revision) for name in former for revision in MODERN_REVISIONS}
    in_models = {arm.model_fields["method"].annotation.__args__[0] for arm in mcp_types.InputRequest.__args__}
    assert in_models == former


def requests_to_servers(revisions: tuple[str, ...]) -> Iterator[Method]:
    for revision in revisions:
        yield from (row for row in METHODS if revision in row.revisions and row.direction != "to_client")


def test_cacheable_and_asking_methods() -> None:
    modern = list(requests_to_servers(MODERN_PROTOCOL_VERSIONS))
    assert {row.name for row in modern if row.cacheable} == set(official.CACHEABLE_METHODS)
    assert {row.name for row in modern if row.may_ask} == set(official.INPUT_REQUIRED_METHODS)


@pytest.mark.parametrize("row", [row for row in METHODS if row.kind == "request"], ids=lambda row: row.name)
def test_paginated_methods_take_a_cursor_and_return_one(row: Method) -> None:
    for revision in row.revisions:
        request = official.CLIENT_REQUESTS.get((row.name, revision))
        if request is None:
            continue
        params = request.model_fields["params"].annotation
        models = [one for one in getattr(params, "__args__", (params,)) if isinstance(one, type)]
        takes = any(issubclass(one, BaseModel) and "cursor" in one.model_fields for one in models)
        assert row.paginated == takes
        result = official.SERVER_RESULTS[row.name, revision]
        arms = getattr(result, "__args__", (result,))
        assert row.paginated == any("next_cursor" in arm.model_fields for arm in arms)


# The capability that each method needs, and the revision with which the capability came, from the
# schemas' ServerCapabilities and ClientCapabilities.
CAPABILITIES = [
    ("server", "tools", "2024-11-05", {"tools/list", "tools/call"}),
    ("server", "tools.listChanged", "2024-11-05", {"notifications/tools/list_changed"}),
    (
        "server",
        "resources",
        "2024-11-05",
        {"resources/list", "resources/templates/list", "resources/read"},
    ),
    (
        "server",
        "resources.subscribe",
        "2024-11-05",
        {"resources/subscribe", "resources/unsubscribe", "notifications/resources/updated"},
    ),
    ("server", "resources.listChanged", "2024-11-05", {"notifications/resources/list_changed"}),
    ("server", "prompts", "2024-11-05", {"prompts/list", "prompts/get"}),
    ("server", "prompts.listChanged", "2024-11-05", {"notifications/prompts/list_changed"}),
    ("server", "logging", "2024-11-05", {"logging/setLevel", "notifications/message"}),
    ("server", "completions", "2025-03-26", {"completion/complete"}),
    ("client", "roots", "2024-11-05", {"roots/list"}),
    ("client", "roots.listChanged", "2024-11-05", {"notifications/roots/list_changed"}),
    ("client", "sampling", "2024-11-05", {"sampling/createMessage"}),
    ("client", "elicitation", "2025-06-18", {"elicitation/create"}),
    ("client", "elicitation.url", "2025-11-25", {"notifications/elicitation/complete"}),
]


@pytest.mark.parametrize("revision", KNOWN_PROTOCOL_VERSIONS)
def test_which_capability_gates_what_and_since_when(revision: str) -> None:
    expected = {
        (name, who, capability)
        for who, capability, since, names in CAPABILITIES
        for name in names
        if revision >= since and method(name, revision) is not None
    }
    found = {
        (row.name, row.declared_by, row.capability)
        for row in METHODS
        if revision in row.revisions and row.capability
    }
    assert found == expected


@pytest.mark.parametrize(("who", "capability"), [row[:2] for row in CAPABILITIES])
def test_the_capability_is_one_of_the_official_models(who: str, capability: str) -> None:
    model = mcp_types.ServerCapabilities if who == "server" else mcp_types.ClientCapabilities
    first, _, second = capability.partition(".")
    by_alias = {field.alias or name: field for name, field in model.model_fields.items()}
    assert first in by_alias
    if second:
        group = next(one for one in by_alias[first].annotation.__args__ if one is not type(None))
        assert second in {field.alias or name for name, field in group.model_fields.items()}


@pytest.mark.parametrize(
    ("capabilities", "path", "declared"),
    [
        ({"tools": {}}, "tools", True),
        ({"tools": {}}, "tools.listChanged", False),
        ({"tools": {"listChanged": True}}, "tools.listChanged", True),
        ({"tools": {"listChanged": False}}, "tools.listChanged", False),
        ({"tools": None}, "tools", False),
        ({"tools": "yes"}, "tools", False),
        ({"tools": "yes"}, "tools.listChanged", False),
        ({}, "tools", False),
        ({"elicitation": {"url": {}}}, "elicitation.url", True),
    ],
)
def test_what_counts_as_declared(capabilities: dict, path: str, declared: bool) -> None:
    assert declares(capabilities, path) is declared


@pytest.mark.parametrize(
    ("name", "version", "capabilities", "found"),
    [
        ("tools/list", "2024-11-05", {"tools": {}}, True),
        ("tools/list", "2024-11-05", {}, False),
        ("completion/complete", "2024-11-05", {}, True),
        ("completion/complete", "2025-03-26", {}, False),
        ("completion/complete", "2025-03-26", {"completions": {}}, True),
        ("resources/subscribe", "2025-11-25", {"resources": {}}, False),
        ("resources/subscribe", "2025-11-25", {"resources": {"subscribe": True}}, True),
        ("server/discover", "2025-11-25", {}, False),
        ("sampling/createMessage", "2025-11-25", {}, False),  # this one goes the other way
        ("notifications/initialized", "2025-11-25", {}, False),  # no request
        ("no/such", "2025-11-25", {}, False),
    ],
)
def test_what_a_legacy_server_finds(name: str, version: str, capabilities: dict, found: bool) -> None:
    if found:
        check_method(name, version, capabilities)
        return
    with pytest.raises(ProtocolError) as caught:
        check_method(name, version, capabilities)
    assert caught.value.code == METHOD_NOT_FOUND
    assert name in caught.value.message
