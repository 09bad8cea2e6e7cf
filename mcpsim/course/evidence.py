"""A trace that somebody sent in: three connections of one help desk, with ten faults in them.

Real peers made it, in simulations; some of them misbehave, by a twist or by hand. What an observer beside
each client saw is put together in the order of the clock, as a proxy or a log collector would do it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.changing import (
    Letter,
    on_message,
    one_after_the_other,
    response_status,
    without_in_result,
)
from mcpsim.course.servers import help_desk
from mcpsim.course.servers.desks import TICKETS
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import McpSimError, ProtocolError, ToolError
from mcpsim.messages import write_json
from mcpsim.recording import Recording
from mcpsim.recording.exporting import to_numbered_interchange
from mcpsim.recording.transcript import aside_label, frame_label, safe
from mcpsim.server import Context, Server
from mcpsim.simulation import simulate
from mcpsim.transports.link import Stdio, StreamableHttp
from mcpsim.transports.twists import MakeTwist

CALL: Final = "tools/call"
LIST: Final = "resources/list"
TITLE: Final = "A trace that somebody sent in"

_DAYS: Final = ("monday", "tuesday", "wednesday")
_SWAPPED: Final = {"T-1001": "T-1002", "T-1002": "T-1001"}


def found_trace() -> Recording:
    """A trace of somebody else's traffic, the same every time: what three clients of one help desk said and
    heard. There are ten faults in it."""
    parts = (
        _seen("c1", 0, _in_a_session, "legacy", Stdio(), on_message(_one_more, "result", method=CALL)),
        _seen("c2", 230, _at_the_same_time, "modern", Stdio(), _OF_THE_SECOND),
        _seen("c3", 390, _over_http, "modern", StreamableHttp(), _OF_THE_THIRD),
    )
    rows = sorted((row for part in parts for row in part), key=lambda row: row["t_ms"])
    return Recording.from_interchange(b"".join(write_json(row) + b"\n" for row in rows), title=TITLE)


def numbered(recording: Recording, *, width: int = 100) -> str:
    """A recording as text, one line a row of the interchange form: its number, as the audit counts rows, its
    connection, its time in milliseconds, who sent it, and what it is.

    Args:
        width: cut lines after this many characters.
    """
    frames = {frame.number: frame for frame in recording.frames}
    lines: list[str] = []
    rows = tuple(to_numbered_interchange(recording.events))
    wide = max((len(f"{row['connection']}  ") for _, row in rows if "connection" in row), default=0)
    for number, (seen_at, row) in enumerate(rows):
        event = recording.events[seen_at]
        frame = frames.get(event.frame) if "event" not in row else None
        what = frame_label(frame) if frame is not None else aside_label(event) or str(row.get("event", ""))
        start = f"{number:>3}  {row.get('connection', ''):<{wide}}{row['t_ms']:>5} ms  {row['from']:<6}  "
        line = (start + safe(what)).rstrip()
        lines.append(line if len(line) <= width else f"{line[: width - 1]}…")
    return "\n".join(lines)


def _seen(
    connection: str,
    begins_ms: int,
    story: Callable[[Client], Awaitable[None]],
    era: ClientEra,
    transport: Stdio | StreamableHttp,
    twist: MakeTwist,
) -> Iterator[dict[str, Any]]:
    """The rows of one connection, on the clock of the collector."""
    run = simulate(
        story, server=_desk(), client=Client(era=era), transport=transport, twist=twist, check=False
    )
    for line in run.recording.to_interchange().splitlines():
        row = json.loads(line)
        yield {**row, "t_ms": row["t_ms"] + begins_ms, "connection": connection}


def _desk() -> Server:
    desk = help_desk(page_size=2)

    @desk.tool()
    async def check_client(context: Context) -> str:
        """Ping the client from the server's side."""
        await context.ping()
        return "The client is there."

    @desk.tool()
    async def book_room(room: str) -> str:
        """Book a meeting room."""
        await anyio.sleep(0.1)
        raise ToolError(f"The calendar cannot be reached. Room {room} was not booked.")

    for day in _DAYS:
        _put_up(desk, day)
    return desk


def _put_up(desk: Server, day: str) -> None:
    @desk.resource(f"notice://{day}", name=day, mime_type="text/plain")
    def read() -> str:
        return f"On {day} the desk is open from 9 to 17."


def _ticket(number: str) -> dict[str, Any]:
    return {"name": "find_ticket", "arguments": {"number": number}}


def _ignored(*step: Any) -> None:
    """Take a progress notification."""


# --- The first connection: a legacy session over stdio -----------------------------------------------


async def _in_a_session(client: Client) -> None:
    await client.call_tool("check_client")
    await client.call_tool("export_report", {"parts": 2}, on_progress=_ignored)
    await client.send_raw({"jsonrpc": "2.0", "id": 2, "method": CALL, "params": _ticket("T-1003")})
    with suppress(ProtocolError):
        await client.request("prompts/list")
    await anyio.sleep(0.1)


def _one_more(letter: Letter) -> Any:
    """Progress of a report that is done."""
    params = letter.request["params"]
    if params["name"] != "export_report":
        return None
    more = {"progressToken": params["_meta"]["progressToken"], "progress": 3, "total": 3}
    return [
        letter.out,
        letter.out.beside({"jsonrpc": "2.0", "method": "notifications/progress", "params": more}),
    ]


# --- The second connection: modern, over stdio, several things at the same time ----------------------


async def _at_the_same_time(client: Client) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "export_report", {"parts": 2})
        await anyio.sleep(0.01)
        for number in _SWAPPED:
            tasks.start_soon(client.call_tool, "find_ticket", {"number": number})
    page = await client.request(LIST)
    with suppress(ProtocolError):
        await client.request(LIST, {"cursor": page["nextCursor"].lower()})
    await client.read_resource("notice://tuesday")
    with anyio.move_on_after(0.3):
        await client.call_tool("export_report", {"parts": 5}, on_progress=_ignored)
    await anyio.sleep(0.3)


def _crossed(letter: Letter) -> Any:
    """What was found for the one ticket, in the answer about the other."""
    params = letter.request["params"]
    if params["name"] != "find_ticket":
        return None
    found = TICKETS[_SWAPPED[params["arguments"]["number"]]]
    letter.message["result"]["content"] = [{"type": "text", "text": found}]
    return letter.out.with_message(letter.message)


_OF_THE_SECOND: Final = one_after_the_other(
    on_message(_crossed, "result", method=CALL), without_in_result("resources/read", "resultType")
)


# --- The third connection: modern, over HTTP ---------------------------------------------------------


async def _over_http(client: Client) -> None:
    add = {"name": "add_hours", "arguments": {"first": 1.5, "second": 2}}
    await client.call_tool("find_ticket", {"number": "T-1001"})
    with suppress(ProtocolError):
        await client.request(CALL, add, headers={"Mcp-Name": "find_ticket"})
    await client.call_tool("book_room", {"room": "2.14"})
    with suppress(McpSimError):
        await client.request(CALL, add, timeout_s=1)
    with suppress(ProtocolError):
        await client.request("prompts/list")
    with anyio.move_on_after(0.3):
        await client.call_tool("export_report", {"parts": 5}, on_progress=_ignored)


def _changed(letter: Letter) -> Any:
    """The id as a text; a failure that does not say that it is one."""
    name = letter.request["params"]["name"]
    if name == "add_hours":
        letter.message["id"] = str(letter.message["id"])
    elif name == "book_room":
        letter.message["result"]["isError"] = False
    else:
        return None
    return letter.out.with_message(letter.message)


_OF_THE_THIRD: Final = one_after_the_other(
    on_message(_changed, "result", method=CALL), response_status(200, "prompts/list", "error")
)
