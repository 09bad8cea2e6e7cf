"""A server whose work takes time and can be stopped."""

from __future__ import annotations

from typing import Any, Final

import anyio

from mcpsim.server import Context, Server

STEP_S: Final = 0.1


def workshop(**settings: Any) -> Server:
    """A workshop: sawing, which takes as long as it is told and cleans up when it is stopped, and a search.

    Args:
        settings: as for `Server`, such as `progress_interval_ms=0`.
    """
    settings.setdefault("progress_interval_ms", 250)
    shop = Server("workshop", **settings)
    floor: list[str] = []

    @shop.tool()
    async def saw(seconds: float) -> str:
        """Saw a board, for so many seconds."""
        done = False
        try:
            await anyio.sleep(seconds)
            done = True
        finally:
            floor.append("a whole board" if done else "a half board, put away")
        return "Sawn"

    @shop.tool()
    def look_around() -> str:
        """Say what lies on the floor."""
        return ", ".join(floor) or "nothing"

    @shop.tool()
    async def search(context: Context, seconds: float) -> str:
        """Search the drawers, for so many seconds. Nobody knows how many drawers there are."""
        drawers = 0.0
        for _ in range(round(seconds / STEP_S)):
            await anyio.sleep(STEP_S)
            drawers += 0.5
            await context.report_progress(drawers)
        return f"Looked into {drawers:g} drawers"

    return shop
