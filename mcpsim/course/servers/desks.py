"""The servers of the lessons. Each call makes a new one, so that a learner may change it freely."""

from __future__ import annotations

from typing import Any

import anyio

from mcpsim.errors import ToolError
from mcpsim.server import Context, Server

TICKETS = {
    "T-1001": "The printer on floor 2 prints blank pages.",
    "T-1002": "The VPN asks for the password twice.",
    "T-1003": "The meeting room screen stays dark.",
}


def help_desk(**settings: Any) -> Server:
    """A help desk: look a ticket up, add numbers, build a report part by part.

    Args:
        settings: as for `Server`, such as `era="legacy"` or `ttl_ms=60_000`.
    """
    desk = Server("help-desk", **settings)

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

    return desk


def basket_shop(**settings: Any) -> Server:
    """A shop whose baskets are named by handles: application state without a protocol session."""
    shop = Server("basket-shop", **settings)
    baskets: dict[str, list[str]] = {}

    @shop.tool()
    def create_basket(context: Context) -> dict[str, str]:
        """Make an empty basket. Returns its handle; baskets are kept as long as this server runs."""
        handle = f"bsk_{context.tokens('basket')[:12]}"
        baskets[handle] = []
        return {"basket_id": handle}

    @shop.tool()
    def add_item(basket_id: str, item: str) -> dict[str, list[str]]:
        """Put an item into a basket."""
        if basket_id not in baskets:
            raise ToolError("There is no such basket (any more). Make a new one with create_basket.")
        baskets[basket_id].append(item)
        return {"items": list(baskets[basket_id])}

    return shop


def picky_desk(**settings: Any) -> Server:
    """A desk with one tool that needs a client capability: it wants to be able to ask the user."""
    desk = Server("picky-desk", **settings)

    @desk.tool()
    def desk_hours() -> str:
        """Say when the desk is open."""
        return "Monday to Friday, 9 to 17"

    @desk.tool(requires={"elicitation": {"form": {}}})
    def book_visit(day: str) -> str:
        """Book a visit. Needs a client that can ask the user."""
        return f"Booked for {day}"

    return desk


def old_desk(**settings: Any) -> Server:
    """A desk of the legacy era whose tool asks the client whether it is still there."""
    settings.setdefault("era", "legacy")
    desk = Server("old-desk", **settings)

    @desk.tool()
    async def check_client(context: Context) -> str:
        """Ping the client from the server's side."""
        await context.ping()
        return "The client is there."

    return desk
