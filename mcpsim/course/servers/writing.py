"""A server with prompts, completion, structured results and every kind of content."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from mcpsim.server import Server

CITIES: Final = {"france": ("Lyon", "Paris", "Pau"), "italy": ("Parma", "Pisa", "Rome")}
COUNT_SCHEMA: Final = {
    "type": "object",
    "properties": {"words": {"type": "integer"}, "letters": {"type": "integer"}},
    "required": ["words", "letters"],
}

# A dot of one pixel and a silence of one sample: the smallest things that are really of their type.
_PIXEL: Final = base64.b64encode(
    bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")
).decode()
_SILENCE: Final = base64.b64encode(
    b"RIFF%\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00@\x1f\x00\x00\x01\x00\x08\x00"
    b"data\x01\x00\x00\x00\x80"
).decode()


def writing_desk(**settings: Any) -> Server:
    """A writing desk: prompts whose arguments complete, a tool with an output schema, one with all content.

    Args:
        settings: as for `Server`.
    """
    desk = Server("writing-desk", **settings)

    def countries(value: str, given: Mapping[str, str]) -> list[str]:
        return [one for one in CITIES if one.startswith(value.lower())]

    def cities(value: str, given: Mapping[str, str]) -> list[str]:
        chosen = given.get("country", "").lower()
        known = CITIES.get(chosen) or [city for group in CITIES.values() for city in group]
        return [city for city in known if city.lower().startswith(value.lower())]

    @desk.prompt(title="A letter", complete={"country": countries, "city": cities})
    def letter(city: str, country: str = "") -> str:
        """Ask for a letter from a city."""
        return f"Write a letter from {city}{f' in {country}' if country else ''}. Be brief."

    @desk.tool(output_schema=COUNT_SCHEMA)
    def count(text: str) -> dict[str, int]:
        """Count the words and letters of a text."""
        return {"words": len(text.split()), "letters": sum(one.isalpha() for one in text)}

    @desk.tool()
    def samples() -> list[dict[str, Any]]:
        """Show one of each kind of content."""
        return [
            {"type": "text", "text": "A text."},
            {"type": "image", "data": _PIXEL, "mimeType": "image/gif"},
            {"type": "audio", "data": _SILENCE, "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "paper://blank", "name": "blank paper"},
            {"type": "resource", "resource": {"uri": "paper://blank", "mimeType": "text/plain", "text": ""}},
        ]

    @desk.resource("paper://blank", mime_type="text/plain")
    def blank() -> str:
        """A blank sheet."""
        return ""

    return desk
