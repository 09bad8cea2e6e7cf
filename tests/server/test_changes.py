"""The hub of changes, and what a server tells of them in both eras on both transports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from checked import simulate_checked
from hypothesis import given
from hypothesis import strategies as st
from revisions import BOTH_TRANSPORTS, EVERY_REVISION, LATEST_LEGACY, MODERN, ask, client_of

from mcpsim import Client, Server
from mcpsim.errors import ProtocolError, RegistrationError
from mcpsim.server.changes import Change, Changes

UPDATED = "notifications/resources/updated"


def list_changed(group: str) -> Change:
    return Change(f"notifications/{group}/list_changed")


# The hub


def test_all_who_listen_hear_of_a_change_in_the_order_in_which_they_began() -> None:
    changes, heard = Changes(), list[tuple[str, Change]]()
    for name in "abc":
        changes.listen(lambda change, name=name: heard.append((name, change)))
    changes.publish(Change(UPDATED, "a://b"))
    assert heard == [(name, Change(UPDATED, "a://b")) for name in "abc"]


def test_who_has_closed_hears_nothing_more_and_leaves_nothing_behind() -> None:
    changes, heard = Changes(), list[Change]()
    listening = changes.listen(heard.append)
    assert len(changes) == 1
    listening.close()
    listening.close()
    assert len(changes) == 0
    changes.publish(list_changed("tools"))
    assert heard == []


def test_one_who_closes_another_while_a_change_is_told() -> None:
    changes, heard = Changes(), list[str]()
    places: list[Any] = []

    def first(change: Change) -> None:
        heard.append("first")
        places[1].close()
        changes.listen(lambda change: heard.append("late"))

    places.append(changes.listen(first))
    places.append(changes.listen(lambda change: heard.append("second")))
    changes.listen(lambda change: heard.append("third"))
    changes.publish(list_changed("tools"))
    assert heard == ["first", "third"]


@given(st.lists(st.sampled_from(["listen", "close", "publish"]), max_size=40))
def test_a_hub_tells_exactly_those_who_listen(steps: list[str]) -> None:
    changes, heard = Changes(), dict[int, int]()
    open_: list[tuple[int, Any]] = []
    expected: dict[int, int] = {}
    for number, step in enumerate(steps):
        if step == "listen":
            heard[number] = expected[number] = 0

            def hear(change: Change, number: int = number) -> None:
                heard[number] += 1

            open_.append((number, changes.listen(hear)))
        elif step == "close" and open_:
            open_.pop(0)[1].close()
        elif step == "publish":
            changes.publish(list_changed("prompts"))
            for one, _ in open_:
                expected[one] += 1
    assert heard == expected
    assert len(changes) == len(open_)


# What a server tells


def desk(**settings: Any) -> Server:
    server = Server("desk", **settings)
    server.tool("a")(lambda: "")
    server.resource("a://a")(lambda: "")
    server.prompt("a")(lambda: "")
    return server


def heard_of(server: Server, *actions: Callable[[], Any]) -> list[Change]:
    heard: list[Change] = []
    listening = server.changes.listen(heard.append)
    for action in actions:
        action()
    listening.close()
    return heard


def changing(server: Server) -> tuple[Callable[[], Any], ...]:
    """Things that change the lists, and something that is updated."""
    return (
        lambda: server.tool("b")(lambda: ""),
        lambda: server.resource("a://b")(lambda: ""),
        lambda: server.resource_template("b://{x}")(lambda x: x),
        lambda: server.prompt("b")(lambda: ""),
        lambda: server.remove_tool("b"),
        lambda: server.remove_resource("a://b"),
        lambda: server.remove_resource("b://{x}"),
        lambda: server.remove_prompt("b"),
        lambda: server.resource_updated("a://a"),
    )


def test_what_is_declared_is_told() -> None:
    server = desk(list_changed=True, subscribe=True)
    groups = ("tools", "resources", "resources", "prompts")
    assert heard_of(server, *changing(server)) == [
        *(list_changed(group) for group in groups),
        *(list_changed(group) for group in groups),
        Change(UPDATED, "a://a"),
    ]


def test_what_is_not_declared_is_not_told() -> None:
    for settings, methods in [
        ({}, set()),
        ({"subscribe": True}, {UPDATED}),
        ({"list_changed": True}, {list_changed(group).method for group in ("tools", "resources", "prompts")}),
    ]:
        server = desk(**settings)
        assert {change.method for change in heard_of(server, *changing(server))} == methods


def test_the_first_member_of_a_group_declares_it_and_nobody_waits_for_the_news() -> None:
    server = Server("desk", list_changed=True)
    assert server.capabilities() == {}
    assert heard_of(server, lambda: server.tool("a")(lambda: "")) == []
    assert server.capabilities() == {"tools": {"listChanged": True}}
    assert heard_of(server, lambda: server.tool("b")(lambda: "")) == [list_changed("tools")]


def test_what_failed_changes_nothing() -> None:
    server = desk(list_changed=True)

    def again() -> None:
        with pytest.raises(RegistrationError):
            server.tool("a")(lambda: "")
        for remove in (server.remove_tool, server.remove_resource, server.remove_prompt):
            with pytest.raises(KeyError, match=r"desk has no .* 'nobody'"):
                remove("nobody")
        with pytest.raises(ValueError, match="is no URI"):
            server.resource_updated("not a URI")

    assert heard_of(server, again) == []


@pytest.mark.parametrize(
    ("settings", "declared"),
    [
        ({}, {"tools": {}, "resources": {}, "prompts": {}}),
        (
            {"list_changed": True},
            {
                "tools": {"listChanged": True},
                "resources": {"listChanged": True},
                "prompts": {"listChanged": True},
            },
        ),
        ({"subscribe": True}, {"tools": {}, "resources": {"subscribe": True}, "prompts": {}}),
        ({"logging": True}, {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}),
    ],
)
def test_capabilities(settings: Any, declared: Any) -> None:
    server = desk(**settings)
    assert server.capabilities() == declared
    assert ask(server, MODERN, "server/discover")["capabilities"] == declared

    async def story(client: Client) -> Any:
        return client.server_capabilities

    assert simulate_checked(story, server=server, client=client_of(LATEST_LEGACY)).value == declared


@EVERY_REVISION
def test_a_list_may_become_empty_but_does_not_disappear(revision: str) -> None:
    server = desk()
    server.remove_tool("a")
    server.remove_resource("a://a")
    server.remove_prompt("a")
    for method, key in {
        "tools/list": "tools",
        "resources/list": "resources",
        "resources/templates/list": "resourceTemplates",
        "prompts/list": "prompts",
    }.items():
        assert ask(server, revision, method)[key] == []
    error = ask(server, revision, "tools/call", {"name": "a", "arguments": {}})
    assert isinstance(error, ProtocolError)
    assert (error.code, error.message) == (-32602, "Unknown tool: a")


def test_a_call_goes_on_although_its_tool_is_taken_out() -> None:
    server = Server("desk")

    @server.tool()
    async def slow() -> str:
        server.remove_tool("slow")
        await anyio.sleep(1)
        return "done"

    assert (
        ask(server, MODERN, "tools/call", {"name": "slow", "arguments": {}})["content"][0]["text"] == "done"
    )


def growing(**settings: Any) -> Server:
    server = desk(**settings)

    @server.tool()
    def grow() -> str:
        server.tool("grown")(lambda: "")
        server.prompt("grown")(lambda: "")
        server.resource("grown://a")(lambda: "")
        server.resource_updated("a://a")
        return "grown"

    return server


@BOTH_TRANSPORTS
def test_a_modern_client_that_listens_is_told(transport: Any) -> None:
    async def story(client: Client) -> list[str]:
        heard: list[str] = []
        async with client.listen(
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=["a://a"],
        ) as subscription:
            await client.call_tool("grow")
            async for notification in subscription:
                heard.append(notification.method)
                if len(heard) == 4:
                    break
        return heard

    server = growing(list_changed=True, subscribe=True)
    run = simulate_checked(story, server=server, transport=transport)
    assert run.value == [
        *(list_changed(group).method for group in ("tools", "prompts", "resources")),
        UPDATED,
    ]
    assert len(server.changes) == 0


@pytest.mark.parametrize("declared", [True, False])
@BOTH_TRANSPORTS
def test_a_legacy_session_is_told_what_was_declared(transport: Any, declared: bool) -> None:
    async def story(client: Client) -> list[str]:
        if declared:
            await client.subscribe("a://a")
        await client.call_tool("grow")
        await anyio.sleep(1)
        return [notification.method for notification in client.notifications]

    server = growing(list_changed=declared, subscribe=declared)
    client = client_of(LATEST_LEGACY, standing_stream=True)
    run = simulate_checked(story, server=server, client=client, transport=transport)
    told = [*(list_changed(group).method for group in ("tools", "prompts", "resources")), UPDATED]
    assert run.value == (told if declared else [])
    assert len(server.changes) == 0
