"""The help desk of the matrix: what both servers have, whoever's library they are written with.

Both list their tools by name, so that the pages of both hold the same.
"""

from __future__ import annotations

from typing import Any

PAGE_SIZE = 3
TOOLS = (
    "book_slot",
    "book_visit",
    "end_subscriptions",
    "export_report",
    "find_ticket",
    "pin_note",
    "wait_long",
    "was_stopped",
)
BOARD = "desk://board"
TICKETS = {"T-1001": "The printer on floor 2 prints blank pages.", "T-1002": "The VPN asks twice."}
TOPICS = ("parking", "passwords", "printers")
HOURS = {"monday": "9", "friday": "15"}


def question(name: str, **field: Any) -> dict[str, Any]:
    """A form with one text field."""
    return {"type": "object", "properties": {name: {"type": "string", **field}}, "required": [name]}


def hour_question(day: str) -> str:
    """The second question of a visit, which needs the answer to the first."""
    return f"At what hour on {day}?"


def topics_beginning_with(value: str) -> list[str]:
    """The completions of the topic of a letter."""
    return [topic for topic in TOPICS if topic.startswith(value)]
