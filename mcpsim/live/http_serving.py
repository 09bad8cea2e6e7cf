"""Serve at an HTTP endpoint of this machine.

The HTTP server below is uvicorn, an optional dependency: `pip install "mcpsim[live]"`.
"""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.abc import TaskStatus

from mcpsim.errors import ConnectionClosed, McpSimError
from mcpsim.live.asgi import SHUTDOWN_S, AsgiApp, asgi_app
from mcpsim.live.groups import plain_errors
from mcpsim.live.signals import cancel_on_signal
from mcpsim.server import Server

if TYPE_CHECKING:
    from mcpsim.live.uvicorn_server import EmbeddedServer

LOOPBACK: Final = "127.0.0.1"
LAST_PORT: Final = 65_535


@asynccontextmanager
async def serve_http(
    server: Server | AsgiApp,
    host: str = LOOPBACK,
    port: int = 0,
    *,
    shutdown_s: float = SHUTDOWN_S,
    **options: Any,
) -> AsyncGenerator[str]:
    """Serve at an HTTP endpoint for the length of an `async with` block, and give its URL.

        async with serve_http(server) as url:
            ...

    The block must not hold up its event loop: the server answers on it. So `record` has to go to a thread,
    `await asyncio.to_thread(record, story, url=url)`; or use `connect_http`.

    At the end of the block subscriptions and sessions are ended, requests in work may finish, and the port
    is free again.

    Args:
        server: what to serve; or an application that `asgi_app` made of it.
        host: the address or name to listen on. Anything but a loopback address lets other machines in.
        port: the TCP port; 0 for any that is free.
        shutdown_s: how long requests in work may take at the end, in seconds, before they are stopped.
        options: as for `asgi_app`. On a host that is no loopback address any `Host` header is welcome,
            unless `allowed_hosts` says otherwise.

    Raises:
        McpSimError: uvicorn is not installed.
        ConnectionClosed: nobody can listen on this host and port.
        ValueError: the port or an option cannot be used.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
    """
    with _listen(host, port) as listening, plain_errors():
        if not is_loopback(listening.getsockname()[0]):
            options.setdefault("allowed_hosts", None)
        app = server if isinstance(server, AsgiApp) else asgi_app(server, **options)
        http_server = _http_server(app)
        async with anyio.create_task_group() as tasks:
            await tasks.start(_run, http_server, listening)
            try:
                yield url_of(listening, host, app.path)
            finally:
                with anyio.CancelScope(shield=True):
                    await app.shut_down(shutdown_s)
                    http_server.should_exit = True
                    await http_server.finished.wait()


def run_http(
    server: Server | AsgiApp,
    host: str = LOOPBACK,
    port: int = 0,
    *,
    on_ready: Callable[[str], object] = lambda url: None,
    **options: Any,
) -> None:
    """Serve at an HTTP endpoint, from synchronous code, as all that the process does.

    Returns on Ctrl-C, and when the process is asked to terminate (SIGTERM).

    Args:
        server, host, port: as for `serve_http`.
        on_ready: called with the URL as soon as requests are taken.
        options: as for `serve_http`.

    Raises:
        McpSimError, ConnectionClosed, ValueError: as for `serve_http`.
    """

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            await tasks.start(cancel_on_signal, tasks.cancel_scope)
            async with serve_http(server, host, port, **options) as url:
                on_ready(url)
                await anyio.sleep_forever()

    try:
        with plain_errors():
            anyio.run(run)
    except KeyboardInterrupt:
        # Where the loop cannot receive signals (Windows), or before it does.
        return


def is_loopback(address: str) -> bool:
    """Whether an IP address is one that only this machine itself can reach."""
    return ip_address(address.partition("%")[0]).is_loopback


def url_of(listening: socket.socket, host: str, path: str) -> str:
    """The URL of an endpoint, for a client on this machine where it listens everywhere."""
    address, port = listening.getsockname()[:2]
    if ip_address(address.partition("%")[0]).is_unspecified:
        host = "localhost"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"


def _listen(host: str, port: int) -> socket.socket:
    # The operating system would take the port modulo 65536.
    if not 0 <= port <= LAST_PORT:
        raise ValueError(f"port must be from 0 to {LAST_PORT}, not {port}.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
        )[0]
        # Not `socket.create_server`: asyncio sends small pieces at once (TCP_NODELAY) only where the socket
        # says that it is one of TCP, and an event that waits for the one before it takes 40 ms.
        listening = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen()
        except BaseException:
            listening.close()
            raise
        return listening
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ConnectionClosed(f"Nobody can listen on {host}, port {port}: {why}.") from error


def _http_server(app: AsgiApp) -> EmbeddedServer:
    # Here and not above: only who serves on HTTP needs it.
    try:
        from mcpsim.live.uvicorn_server import EmbeddedServer as Made
    except ModuleNotFoundError as error:
        if error.name != "uvicorn":
            raise
        raise McpSimError(
            'Serving on HTTP needs uvicorn, which is not installed: pip install "mcpsim[live]"'
        ) from None
    return Made(app)


async def _run(server: EmbeddedServer, listening: socket.socket, *, task_status: TaskStatus[None]) -> None:
    # Whoever cancels us wants the end, and the end has an order.
    with anyio.CancelScope(shield=True):
        await server.serve_on(listening, task_status.started)
