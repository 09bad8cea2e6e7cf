"""A server written with the official SDK, with the same tools as `our_server`. A script:
serves on stdio, or with `--http` on HTTP, and then it prints its URL."""

from __future__ import annotations

import socket
import sys

import anyio
import uvicorn
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


def serve_on_http() -> None:
    """Serve on any port that is free."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
        app = server.streamable_http_app()
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])


if __name__ == "__main__":
    serve_on_http() if "--http" in sys.argv else server.run()
