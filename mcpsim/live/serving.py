"""Serve on this process's own stdin and stdout."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import cast

import anyio

from mcpsim.errors import ConnectionClosed
from mcpsim.live.own_pipes import Descriptors, OwnPipes, claimed_stdio
from mcpsim.live.signals import cancel_on_signal
from mcpsim.live.telling import StderrScribe, random_token, wall_clock_ms
from mcpsim.server import Server, StdioServing


async def serve_stdio(server: Server) -> None:
    """Serve on this process's stdin and stdout until stdin ends or nobody reads stdout any more.

    Meanwhile `sys.stdout` is stderr, and stdin is empty: see `mcpsim.live.own_pipes`. What the server has to
    say about its work, such as which handler failed and why, goes to stderr.

    Args:
        server: what to serve.

    Raises:
        ConnectionClosed: this process has no stdin or no stdout.
        SystemExit: a handler raised it. What was in work is stopped first.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
    """
    with claimed_stdio() as real:
        await _serve(server, real)


def run_stdio(server: Server | Callable[[], Server]) -> None:
    """Serve on this process's stdin and stdout, from synchronous code, as all that the process does.

    Returns when stdin ends, on Ctrl-C, and when the process is asked to terminate (SIGTERM).

    Args:
        server: what to serve; or a function that makes it, which may print as it likes: stdout is kept for
            the protocol before it is called.

    Raises:
        ConnectionClosed: this process has no stdin or no stdout.
        SystemExit: a handler raised it. What was in work is stopped first.
        Exception: whatever the function raises.
    """
    try:
        with claimed_stdio() as real:
            anyio.run(_serve_until_told, server if isinstance(server, Server) else server(), real)
    except KeyboardInterrupt:
        # Where the loop cannot receive signals (Windows), or before it does.
        return


async def _serve_until_told(server: Server, real: Descriptors) -> None:
    with _exits():
        async with anyio.create_task_group() as tasks:
            await tasks.start(cancel_on_signal, tasks.cancel_scope)
            await _serve(server, real)
            tasks.cancel_scope.cancel()


async def _serve(server: Server, real: Descriptors) -> None:
    pipes = OwnPipes(real)
    serving = StdioServing(
        server, pipes, scribe=StderrScribe(), tokens=random_token, state_clock=wall_clock_ms, exit_as=_Exit
    )
    with _exits():
        try:
            await serving.run()
        except* ConnectionClosed:
            # The client is gone. There is nobody to tell.
            pass
        finally:
            with anyio.CancelScope(shield=True):
                await pipes.aclose()


class _Exit(BaseException):
    """A handler's SystemExit on its way up. Itself it would leave the event loop at once, and asyncio would
    tell at length of the tasks that it cut off."""

    def __init__(self, asked: SystemExit) -> None:
        super().__init__()
        self.code = asked.code


@contextmanager
def _exits() -> Generator[None]:
    """Make of a group of nothing but exits the first of them."""
    try:
        yield
    except BaseExceptionGroup as group:
        found = _first(group) if group.split((_Exit, SystemExit))[1] is None else None
        if isinstance(found, _Exit | SystemExit):
            raise SystemExit(found.code) from None
        raise


def _first(error: BaseException) -> BaseException:
    if not isinstance(error, BaseExceptionGroup):
        return error
    return _first(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
