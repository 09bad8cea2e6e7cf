"""Short traces to be judged: who did something wrong, and how wrong it was."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving import MISBEHAVING
from mcpsim.course.misbehaving.changing import Letter, change_answer, on_message
from mcpsim.course.servers import help_desk, old_desk
from mcpsim.course.stories import STORIES
from mcpsim.eras.revisions import LATEST_MODERN
from mcpsim.errors import McpSimError
from mcpsim.gateway import Gateway
from mcpsim.messages import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION
from mcpsim.recording import Recording
from mcpsim.recording.events import Head
from mcpsim.recording.transcript import frame_label, safe
from mcpsim.simulation import simulate
from mcpsim.transports.http import NAME_HEADER
from mcpsim.transports.twists import MakeTwist

CALL: Final = "tools/call"
FIND: Final[dict[str, Any]] = {"name": "find_ticket", "arguments": {"number": "T-1001"}}
WIDTH: Final = 100

Exhibit = Callable[[], Recording]


def misbehaving(name: str) -> Exhibit:
    """What a peer that misbehaves did."""
    return lambda: MISBEHAVING[name].play().recording


# --- Over one connection ------------------------------------------------------------------------------


def out_of_order() -> Recording:
    """Two calls at the same time; the second one is answered first."""

    async def ask_twice(client: Client) -> None:
        """Ask for a report and for a ticket"""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "export_report", {"parts": 2})
            await anyio.sleep(0.01)
            tasks.start_soon(client.call_tool, FIND["name"], FIND["arguments"])

    return _played(ask_twice)


def id_free_again() -> Recording:
    """A modern client uses an id again after its answer."""
    meta = {
        PROTOCOL_VERSION: LATEST_MODERN,
        CLIENT_INFO: {"name": "by-hand", "version": "1.0.0"},
        CLIENT_CAPABILITIES: {},
    }
    request = {"jsonrpc": "2.0", "id": "ask", "method": CALL, "params": {**FIND, "_meta": meta}}

    async def ask_again(client: Client) -> None:
        """Ask twice with one id"""
        for _ in range(2):
            await client.send_raw(request)

    return _played(ask_again)


def both_count() -> Recording:
    """In a session the server asks, with an id that the client has used as well."""

    async def be_pinged(client: Client) -> None:
        """Call a tool that pings its client"""
        await client.call_tool("check_client")

    return simulate(be_pinged, server=old_desk(), client=Client(era="legacy")).recording


def crossing() -> Recording:
    """A cancellation meets the answer on its way."""
    return STORIES["cancel-crosses-the-answer"].play().recording


def old_client() -> Recording:
    """A client of the legacy era at a server that has the modern one alone."""

    async def nothing(client: Client) -> None:
        """Nothing: the handshake fails"""

    server = help_desk(era="modern")
    return simulate(nothing, server=server, client=Client(era="legacy"), check=False).recording


# --- Through a gateway --------------------------------------------------------------------------------


def header_of_the_client() -> Recording:
    """The client writes another name into the header."""
    return _through_a_gateway(headers={NAME_HEADER: "add_hours"})


def header_of_the_gateway() -> Recording:
    """The gateway writes another name into the header."""

    def change(letter: Letter) -> Any:
        out = letter.out
        is_its_own = out.sender == "gateway" and NAME_HEADER in out.headers
        return out.with_header(NAME_HEADER, "add_hours") if is_its_own else None

    return _through_a_gateway(on_message(change, "request"))


def id_of_the_server() -> Recording:
    """The server turns the id into a text; the gateway hands it on."""
    return _through_a_gateway(change_answer(CALL, lambda message: message.update(id=str(message["id"]))))


def id_of_the_gateway() -> Recording:
    """The gateway forgets to put the client's id back."""

    def change(letter: Letter) -> Any:
        is_its_own = letter.out.sender == "gateway"
        return letter.out.with_message({**letter.message, "id": "gw-1"}) if is_its_own else None

    return _through_a_gateway(on_message(change, "result"))


def _through_a_gateway(twist: MakeTwist | None = None, **more: Any) -> Recording:
    async def ask(client: Client) -> None:
        """Ask through a gateway"""
        with suppress(McpSimError):
            await client.request(CALL, FIND, timeout_s=1, **more)

    return simulate(ask, server=help_desk(), gateway=Gateway(), twist=twist, check=False).recording


def _played(story: Callable[[Client], Any]) -> Recording:
    return simulate(story, server=help_desk(), client=Client(era="modern"), check=False).recording


# --- As text ------------------------------------------------------------------------------------------


def in_lines(recording: Recording) -> str:
    """What crossed the wire, one line a message, with the header `Mcp-Name` where there is one.

    Lines are cut, but for notifications: what they say stands at their end.
    """
    rows = [
        (f"{frame.sender} → {frame.receiver}", _named(frame.head), frame_label(frame), frame.sent_us // 1000)
        for frame in recording.frames
    ]
    wide = max(len(lanes) for lanes, *_ in rows)
    lines = [f"{at:>7} ms  {lanes:<{wide}}  {name}{safe(label)}" for lanes, name, label, at in rows]
    return "\n".join(
        line if len(line) <= WIDTH or "notifications/" in line else f"{line[: WIDTH - 1]}…" for line in lines
    )


def _named(head: Head | None) -> str:
    pairs = head.get("headers", ()) if head is not None else ()
    name = next((value for name, value in pairs if name == NAME_HEADER), "")
    return f"[{NAME_HEADER}: {name}] " if name else ""
