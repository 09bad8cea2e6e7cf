"""A server whose resources change while clients watch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio

from mcpsim.errors import ResourceNotFound
from mcpsim.server import Context, Server


def notice_board(**settings: Any) -> Server:
    """A notice board: one resource a day, a template for all of them, and tools to pin and take down.

    Args:
        settings: as for `Server`, such as `subscribe=False`.
    """
    settings.setdefault("subscribe", True)
    settings.setdefault("list_changed", True)
    settings.setdefault("logging", True)
    board = Server("notice-board", **settings)
    notices = {"monday": "The canteen has soup.", "tuesday": "The lift is being repaired."}

    def put_up(day: str) -> None:
        @board.resource(f"notice://{day}", name=day, mime_type="text/plain")
        def read() -> str:
            return notices[day]

    for day in notices:
        put_up(day)

    def days(value: str, given: Mapping[str, str]) -> list[str]:
        return [day for day in sorted(notices) if day.startswith(value)]

    @board.resource_template("notice://{day}", name="notice", mime_type="text/plain", complete={"day": days})
    def notice(day: str) -> str:
        """The notice of a day."""
        if day not in notices:
            raise ResourceNotFound(f"notice://{day}")
        return notices[day]

    @board.tool()
    async def pin(context: Context, day: str, text: str) -> str:
        """Pin a notice for a day, a new one or over the old one."""
        is_new = day not in notices
        notices[day] = text
        await context.log("info", {"pinned": day}, logger="board")
        if is_new:
            put_up(day)
        board.resource_updated(f"notice://{day}")
        return "A new notice" if is_new else "A notice changed"

    @board.tool()
    async def pin_slowly(context: Context, day: str, text: str) -> str:
        """Pin a notice after half a second, and say in the log what is being done."""
        await context.log("debug", "looking for a pin", logger="board")
        await anyio.sleep(0.5)
        await context.log("warning", "the pin is bent", logger="board")
        notices[day] = text
        board.resource_updated(f"notice://{day}")
        return "Pinned"

    return board
