"""The help desk of the lessons, written with the official SDK. Run as a script, on stdio.

It has the tools of `mcpsim.course.servers.help_desk`, so that its recording can stand beside a simulated run.
"""

from __future__ import annotations

import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

TICKETS = {
    "T-1001": "The printer on floor 2 prints blank pages.",
    "T-1002": "The VPN asks for the password twice.",
    "T-1003": "The meeting room screen stays dark.",
}
desk = MCPServer("help-desk", version="1.0.0", log_level="ERROR")


@desk.tool()
def find_ticket(number: str) -> str:
    """Look up one ticket, such as T-1001."""
    if number not in TICKETS:
        raise ToolError(f"There is no ticket {number}. Tickets are {', '.join(TICKETS)}.")
    return TICKETS[number]


@desk.tool()
def add_hours(first: float, second: float) -> str:
    """Add two amounts of working hours."""
    return f"{first + second:g}"


@desk.tool()
async def export_report(context: Context, parts: int = 3) -> str:
    """Build the report, part by part. Takes 0.2 seconds for each part."""
    for part in range(1, parts + 1):
        await anyio.sleep(0.2)
        await context.report_progress(part, parts, f"Built part {part} of {parts}")
    return "report.pdf"


if __name__ == "__main__":
    # A server may write to stderr whatever it likes; a recording shows that it is no part of the protocol.
    print("help-desk is ready", file=sys.stderr, flush=True)
    desk.run()
