"""A server of ours, for tests: served by `python -m mcpsim.live our_server:server`."""

from __future__ import annotations

import anyio

from mcpsim import Context, Server, ToolError

server = Server("our-server", version="1.2.3")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@server.tool()
async def count(context: Context, to: int) -> str:
    """Count, and report each number as progress."""
    for number in range(1, to + 1):
        await context.report_progress(number, to, f"number {number}")
    return f"counted to {to}"


@server.tool()
def refuse(reason: str) -> str:
    """Fail with a tool error."""
    raise ToolError(f"Refused: {reason}")


@server.tool()
async def wait_long() -> str:
    """Take a minute."""
    await anyio.sleep(60)
    return "waited"
