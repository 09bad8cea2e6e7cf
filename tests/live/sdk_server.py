"""A server written with the official SDK, with the same tools as `our_server`. Run as a script, on stdio."""

from __future__ import annotations

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("sdk-server", version="1.2.3")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@server.tool()
async def count(to: int, context: Context) -> str:
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


if __name__ == "__main__":
    server.run()
