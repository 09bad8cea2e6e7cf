"""A server whose tool wants one of its arguments in a header too."""

from __future__ import annotations

from typing import Any, Final

from mcpsim.server import Server

WEATHER_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "days": {"type": "integer", "x-mcp-header": "Days"},
        "note": {"type": "string"},
    },
    "required": ["region"],
}


def region_desk(**settings: Any) -> Server:
    """A weather desk with an office in each region: the region travels in a header, for whoever routes.

    Args:
        settings: as for `Server`.
    """
    desk = Server("region-desk", **settings)

    @desk.tool(input_schema=WEATHER_SCHEMA)
    def weather(region: str, days: int = 1, note: str = "") -> str:
        """Forecast the weather of a region."""
        return f"{region}: rain for {days} days"

    return desk
