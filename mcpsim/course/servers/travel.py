"""A server that has to ask before it can do its work."""

from __future__ import annotations

from typing import Any, Final

from mcpsim.server import Context, Server

SEAT_FORM: Final = {
    "type": "object",
    "properties": {
        "seat": {"type": "string", "title": "Seat", "enum": ["window", "aisle"], "default": "window"},
        "bags": {"type": "integer", "title": "Bags", "minimum": 0, "maximum": 3},
    },
    "required": ["seat", "bags"],
}
DAY_FORM: Final = {
    "type": "object",
    "properties": {"day": {"type": "string", "title": "Day of travel", "format": "date"}},
    "required": ["day"],
}
CONSENT_FORM: Final = {
    "type": "object",
    "properties": {"agreed": {"type": "boolean", "title": "Book it", "default": False}},
    "required": ["agreed"],
}
SIGN_IN: Final = "https://travel.example/sign-in"


def travel_desk(**settings: Any) -> Server:
    """A travel desk: it asks for a seat, a day, a consent, a sign-in, a text, or the client's folders.

    Args:
        settings: as for `Server`, such as `state_ttl_ms=60_000` or `single_use_state=True`.
    """
    desk = Server("travel-desk", **settings)
    booked: list[str] = []

    @desk.tool()
    async def choose_seat(context: Context, train: str) -> str:
        """Reserve a seat. Asks which one, and for how many bags."""
        answer = await context.elicit(f"Which seat in {train}?", SEAT_FORM, key="seat")
        if answer.action != "accept" or answer.content is None:
            return f"No seat reserved in {train}"
        return f"{train}: {answer.content['seat']} seat, bags: {answer.content['bags']}"

    @desk.tool()
    async def book_trip(context: Context, city: str) -> str:
        """Book a trip. Asks for the day first, and then for the traveller's consent to the price."""
        when = await context.elicit(f"When do you want to go to {city}?", DAY_FORM, key="day")
        if when.action != "accept" or when.content is None:
            return "Nothing booked"
        day = when.content["day"]
        consent = await context.elicit(f"{city} on {day} costs 80. Book it?", CONSENT_FORM, key="consent")
        if consent.action != "accept" or not (consent.content or {}).get("agreed"):
            return "Nothing booked"
        # After the last question: what must happen once happens here.
        booked.append(f"{city} on {day}")
        return f"Booked {city} on {day}; trips booked so far: {len(booked)}"

    @desk.tool()
    async def plan_trip(context: Context, city: str) -> str:
        """Plan a trip. Asks for the day and the seat at the same time."""
        answers = await context.ask(
            {
                "day": context.form(f"When do you want to go to {city}?", DAY_FORM),
                "seat": context.form("Which seat do you want?", SEAT_FORM),
            }
        )
        if any(answer.action != "accept" for answer in answers.values()):
            return "No plan without both answers"
        return f"{city} on {answers['day'].content['day']}, {answers['seat'].content['seat']} seat"

    @desk.tool()
    async def open_account(context: Context) -> str:
        """Open an account. The user has to sign in on a page of the travel company."""
        visit = await context.elicit_url("Sign in to go on.", SIGN_IN, key="sign-in")
        return "The user is on the way" if visit.action == "accept" else "No account without a sign-in"

    @desk.tool()
    async def write_postcard(context: Context, city: str) -> str:
        """Write a postcard. Lets the client's model write the text."""
        written = await context.sample(f"Write a postcard from {city}.", max_tokens=60, key="text")
        content = written.content
        return getattr(content, "text", "") or "No text came"

    @desk.tool()
    async def pack_documents(context: Context) -> str:
        """Look where the client's folders are."""
        found = await context.list_roots(key="folders")
        return ", ".join(str(root.uri) for root in found.roots) or "No folders"

    @desk.tool()
    async def count_rounds(context: Context, rounds: int = 2) -> str:
        """Let the client come back a few times without a question, and count on in the request state."""
        done = context.remembered or 0
        if done < rounds:
            context.remember(done + 1)
            await context.come_back()
        times = context.remembered or 0
        return "Came back once" if times == 1 else f"Came back {times} times"

    return desk
