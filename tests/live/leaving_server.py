"""A server whose handlers end their process."""

from __future__ import annotations

import sys
from typing import Any

import anyio

from mcpsim import Server

server = Server("leaving")


@server.tool()
async def leave(code: Any = None) -> str:
    sys.exit(code)


@server.tool()
def leave_at_once(code: Any = None) -> str:
    sys.exit(code)


@server.tool()
async def leave_from_a_group(code: Any = None) -> str:
    async with anyio.create_task_group():
        sys.exit(code)


@server.tool()
async def wait_long() -> str:
    await anyio.sleep(3600)
    return "never"
