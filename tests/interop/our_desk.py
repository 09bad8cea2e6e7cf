"""The help desk, written with mcpsim.

python tests/interop/our_desk.py           on stdio
python tests/interop/our_desk.py --http    on a free port; the address is printed
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio

from mcpsim import Context, Server, ToolError
from mcpsim.live import run_http, run_stdio

sys.path.insert(0, str(Path(__file__).parent))

from desk import BOARD, PAGE_SIZE, TICKETS, hour_question, question, topics_beginning_with

ERA = next((era for era in ("legacy", "modern") if f"--{era}" in sys.argv), "both")

server = Server("our-desk", version="1.0.0", era=ERA, page_size=PAGE_SIZE, subscribe=True)
notes: list[str] = []
stopped: set[str] = set()


@server.tool()
async def book_slot(context: Context) -> str:
    """Ask for a day, and book it."""
    answer = await context.elicit("Which day?", question("day"))
    if answer.action != "accept" or answer.content is None:
        return f"not booked: {answer.action}"
    return f"booked: {answer.content['day']}"


@server.tool()
async def book_visit(context: Context) -> str:
    """Ask for a day, and then for an hour on it."""
    day = await context.elicit("Which day?", question("day"))
    assert day.content is not None
    hour = await context.elicit(hour_question(str(day.content["day"])), question("hour"))
    assert hour.content is not None
    return f"visit: {day.content['day']} at {hour.content['hour']}"


@server.tool()
def end_subscriptions() -> str:
    """End all subscriptions in good order."""
    server.end_subscriptions()
    return "ended"


@server.tool()
async def export_report(context: Context, parts: int) -> str:
    """Build the report part by part, and say so."""
    for part in range(1, parts + 1):
        await context.report_progress(part, parts, f"part {part}")
    return "report.pdf"


@server.tool()
def find_ticket(number: str) -> str:
    """Look up a ticket."""
    if number not in TICKETS:
        raise ToolError(f"There is no ticket {number}.")
    return TICKETS[number]


@server.tool()
def pin_note(text: str) -> str:
    """Pin a note to the board."""
    notes.append(text)
    server.resource_updated(BOARD)
    return "pinned"


@server.tool()
async def wait_long(name: str) -> str:
    """Take a minute, or until somebody gives up."""
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        stopped.add(name)
        raise
    return "waited"


@server.tool()
def was_stopped(name: str) -> str:
    """Whether a wait was given up."""
    return "yes" if name in stopped else "no"


@server.resource(BOARD, name="board", mime_type="text/plain")
def board() -> str:
    """The notes on the board."""
    return "\n".join(notes)


def _topics(value: str, arguments: Any) -> list[str]:
    return topics_beginning_with(value)


@server.prompt(complete={"topic": _topics})
def letter(topic: str) -> str:
    """A letter about a topic."""
    return f"Write a letter about {topic}."


if __name__ == "__main__":
    if "--http" in sys.argv:
        run_http(server, on_ready=lambda url: print(url, flush=True))
    else:
        run_stdio(server)
