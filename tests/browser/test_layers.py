"""The layers view in a browser: every control by mouse and by key."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from mcpsim.client.client import Client
from mcpsim.server.server import Server
from mcpsim.widgets.layers import Layers
from tests.browser.in_page import Shown

Open = Callable[..., Shown]


def two_calls() -> Layers:
    server = Server("two")

    @server.tool()
    async def echo(text: str) -> str:
        """Echo."""
        return text

    async def story(client: Client) -> None:
        """Two calls."""
        await client.list_tools()
        await client.call_tool("echo", {"text": "<img src=x onerror=alert(1)>"})

    return Layers(story, server)


def test_by_mouse(show: Open) -> None:
    shown = show(two_calls())
    request = shown.page.get_by_role("group", name="4. Bytes, Streamable HTTP")
    expect(request).to_contain_text("+ Mcp-Method: tools/list")
    shown.page.get_by_label("Call", exact=True).select_option("2")
    expect(request).to_contain_text("+ Mcp-Name: echo")
    expect(request).to_contain_text("<img src=x onerror=alert(1)>")
    shown.page.get_by_label("Era").select_option("legacy")
    expect(request).to_contain_text("+ MCP-Session-Id: ")
    expect(shown.status).to_have_text("Call 2: tools/call echo, legacy.")
    expect(shown.page.get_by_role("group", name="4. Bytes, stdio")).to_contain_text("+ ⏎ the newline")
    back = shown.page.get_by_role("group", name="5. Bytes, stdio")
    expect(back).to_contain_text("− ⏎ the newline")
    assert len(shown.trips) == 2
    assert shown.is_narrow_enough()


def test_a_single_call_is_no_choice(show: Open) -> None:
    async def story(client: Client) -> None:
        """One call."""
        await client.list_tools()

    shown = show(Layers(story, Server("one")))
    expect(shown.page.get_by_label("Call", exact=True)).to_be_hidden()
    expect(shown.page.locator(".mcpsim-acting-tools")).to_contain_text("Call1. tools/list")


def test_by_key(show: Open) -> None:
    shown = show(two_calls())
    era = shown.page.get_by_label("Era")
    era.focus()
    shown.press("ArrowDown")
    expect(shown.status).to_have_text("Call 1: tools/list, legacy.")
    expect(era).to_be_focused()
    shown.press("Tab", "ArrowDown")
    expect(shown.status).to_have_text("Call 2: tools/call echo, legacy.")
    shown.press("Tab")
    expect(shown.page.get_by_role("group", name="1. Intent")).to_be_focused()
    assert shown.leave() == 0


def test_links_to_two_places_of_one_page_have_two_names(show: Open) -> None:
    shown = show(two_calls())
    shown.page.get_by_role("combobox", name="Era").select_option("legacy")
    shown.settle()
    names = shown.page.locator(".mcpsim-acting-notes a").all_text_contents()
    assert len(names) == len(set(names)) == 3
    assert "basic/transports#stdio (2025-11-25)" in names
