"""A server of ours, for tests: its one tool takes two rounds, and its processes share a key."""

from __future__ import annotations

from mcpsim import Context, Server

server = Server("returning-server", state_key=b"a key for the tests")


@server.tool()
async def twice(context: Context) -> str:
    """Let the client come twice."""
    await context.come_back()
    return "came twice"
