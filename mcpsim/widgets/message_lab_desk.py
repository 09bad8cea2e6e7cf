"""The server that the message lab opens with: small, and with something of each kind to try."""

from __future__ import annotations

from typing import Any, Final

import anyio

from mcpsim.errors import ToolError
from mcpsim.server import Context, Server

TICKETS: Final = {
    "T-1001": "The printer on floor 2 prints blank pages.",
    "T-1002": "The VPN asks for the password twice.",
    "T-1003": "The meeting room screen stays dark.",
}
CLOSING_FORM: Final = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "title": "Reason", "enum": ["solved", "duplicate", "withdrawn"]},
        "tell": {"type": "boolean", "title": "Tell the sender", "default": True},
    },
    "required": ["reason"],
}
#: How long the report takes for each part, in seconds.
PART_S: Final = 0.4


def lab_desk(**settings: Any) -> Server:
    """A help desk: a tool that answers at once, one that asks its user first, one that takes its time and
    reports progress; tickets as resources, in pages of two; and a prompt.

    Args:
        settings: as for `Server`, such as `era="legacy"`.
    """
    given: dict[str, Any] = {
        "page_size": 2,
        "ttl_ms": 60_000,
        "list_changed": True,
        "subscribe": True,
        **settings,
    }
    desk = Server("help-desk", **given)

    @desk.tool()
    def find_ticket(number: str = "T-1001") -> str:
        """Look up one ticket, such as T-1001."""
        if number not in TICKETS:
            raise ToolError(f"There is no ticket {number}. Tickets are {', '.join(TICKETS)}.")
        return TICKETS[number]

    @desk.tool()
    async def close_ticket(context: Context, number: str = "T-1001") -> str:
        """Close a ticket. Asks the user for the reason first."""
        if number not in TICKETS:
            raise ToolError(f"There is no ticket {number}. Tickets are {', '.join(TICKETS)}.")
        answer = await context.elicit(f"Why do you close {number}?", CLOSING_FORM, key="reason")
        if answer.action != "accept" or answer.content is None:
            return f"{number} stays open"
        return f"{number} is closed: {answer.content['reason']}"

    @desk.tool()
    async def build_report(context: Context, parts: int = 5) -> str:
        """Build the report, part by part. Takes 0.4 seconds for each part."""
        for part in range(1, parts + 1):
            await anyio.sleep(PART_S)
            await context.report_progress(part, parts, f"Built part {part} of {parts}")
        return "report.pdf"

    def offer(number: str) -> None:
        @desk.resource(f"ticket://{number}", name=number, mime_type="text/plain")
        def read() -> str:
            return TICKETS[number]

    for number in TICKETS:
        offer(number)

    @desk.prompt()
    def answer_ticket(number: str) -> str:
        """Write an answer to whoever sent a ticket."""
        return f"Write a friendly answer to ticket {number}: {TICKETS.get(number, 'it is not known')}"

    return desk
