"""Comments on event streams that are quiet, so that nobody on the way takes the connection for dead.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages
"""

from __future__ import annotations

from collections.abc import Callable

import anyio

from mcpsim.server.http_reply import EVENT_STREAM
from mcpsim.transports.http import HttpHead, sse_comment
from mcpsim.transports.streams import HttpReply


class KeptAlive:
    """A reply whose event stream, if it becomes one, is never quiet for longer than `quiet_s` seconds."""

    def __init__(self, reply: HttpReply, quiet_s: float) -> None:
        self._reply = reply
        self._quiet_s = quiet_s
        self._streaming = False
        self._over = False
        self._writing = anyio.Lock()
        self._active = anyio.Event()

    @property
    def exchange(self) -> int:
        return self._reply.exchange

    async def send(self, head: HttpHead | None, body: bytes) -> None:
        async with self._writing:
            if head is not None:
                self._streaming = head.headers.get("Content-Type") == EVENT_STREAM
            self._active.set()
            await self._reply.send(head, body)

    async def end(self) -> None:
        async with self._writing:
            self._stop()
            await self._reply.end()

    def on_abort(self, callback: Callable[[], None]) -> None:
        self._reply.on_abort(callback)

    def _stop(self) -> None:
        self._over = True
        self._active.set()

    async def run(self) -> None:
        """Send a comment whenever nothing else was sent for so long, until the reply is over."""
        self._reply.on_abort(self._stop)
        while not self._over:
            self._active = anyio.Event()
            with anyio.move_on_after(self._quiet_s) as quiet:
                await self._active.wait()
            # Something may have been sent in the very moment in which the time was up.
            if quiet.cancelled_caught and self._streaming and not self._active.is_set():
                await self._comment()

    async def _comment(self) -> None:
        async with self._writing:
            if not self._over:
                await self._reply.send(None, sse_comment())
