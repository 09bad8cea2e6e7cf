"""uvicorn as a guest in somebody else's event loop. Only to be imported where uvicorn is installed."""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

import anyio
import uvicorn

from mcpsim.live.asgi import AsgiApp

#: Whoever comes after that many connections or requests in work is answered with 503.
MAX_CONNECTIONS: Final = 2_000


class EmbeddedServer(uvicorn.Server):
    """An HTTP server that leaves signals and logging to its host, and says when it is ready.

    Args:
        app: the application to serve. It is to be shut down before this server is.

    Attributes:
        finished: set when the port is closed and nothing is in work any more.
    """

    def __init__(self, app: AsgiApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                # The one that is always there, so that all machines read requests in the same way.
                http="h11",
                ws="none",
                loop="none",
                lifespan="off",
                log_config=None,
                log_level="error",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=1,
                limit_concurrency=MAX_CONNECTIONS,
            )
        )
        self.finished = anyio.Event()
        self._on_ready: Callable[[], object] = lambda: None

    async def serve_on(self, listening: socket.socket, on_ready: Callable[[], object]) -> None:
        """Serve on a socket until `should_exit` is set; `on_ready` is called when requests are taken."""
        self._on_ready = on_ready
        try:
            await self.serve(sockets=[listening])
        finally:
            self.finished.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take requests from here on."""
        await super().startup(sockets)
        self._on_ready()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Signals are the business of the program that we are a part of."""
        yield
