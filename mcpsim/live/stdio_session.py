"""A client that is connected to a server's process."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio

from mcpsim.client import Client, StdioWire
from mcpsim.eras.revisions import ClientEra
from mcpsim.live.process import CLIENT_LANE, ServerProcess, ShutdownTimes
from mcpsim.live.session import Session, described
from mcpsim.recording import Scribe

TITLE: Final = "A server's process"


class StdioSession(Session):
    """A client that is connected to a server's process. Made by `connect_stdio`."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        client: Client,
        env: Mapping[str, str] | None,
        cwd: str | os.PathLike[str] | None,
        connect: bool,
        title: str,
        times: ShutdownTimes,
    ) -> None:
        super().__init__(client=client, transport="stdio", connect=connect, title=title)
        self._command = command
        self._env = env
        self._cwd = None if cwd is None else Path(cwd)
        self._times = times
        self._process: ServerProcess | None = None

    @property
    def pid(self) -> int | None:
        """The server's process id; None where it was not started."""
        return None if self._process is None else self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How the server's process ended: its exit code, or the negative number of the signal that ended it
        (POSIX); None while it runs."""
        return None if self._process is None else self._process.exit_code

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as tasks:
            self._process = process = ServerProcess(self._recorder, self._times)
            try:
                await process.start(tasks, self._command, env=self._env, cwd=self._cwd)
                wire = StdioWire(process, Scribe(self._recorder, CLIENT_LANE, process.connection))
                async with self._attached(wire, process.connection, process.seen):
                    yield
            finally:
                # However it ended, also by cancellation: no process is left behind.
                with anyio.CancelScope(shield=True):
                    await process.aclose()
                process.finish()


def connect_stdio(
    command: Sequence[str],
    *,
    client: Client | None = None,
    era: ClientEra | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    connect: bool = True,
    title: str = TITLE,
    times: ShutdownTimes | None = None,
) -> StdioSession:
    """Start a server's process, connect a client to its stdin and stdout, and record what crosses.

        async with connect_stdio(["my-server", "--quiet"], era="auto") as session:
            await session.client.list_tools()
        print(session.recording.transcript())

    At the end of the block the connection is shut down as the specification says: close the server's stdin,
    wait, terminate, kill. No process is left behind, also where the block raises or is cancelled.

    Args:
        command: the program and its arguments. There is no shell.
        client: the client's description; None for a plain one.
        era: the era of a plain client: "modern" (the default), "legacy" or "auto". Not beside `client`.
        env: the environment of the process; None for the one of this process. Whatever is in it, the server
            can read.
        cwd: the folder to start it in; None for this process's own.
        connect: whether the client opens the connection (handshake or probe) at the start of the block.
        title: what the recording shows.
        times: how long each step of the shutdown may take.

    Raises:
        ValueError, TypeError: an argument cannot be used.

    Entering the block raises:
        ConnectionClosed: the server could not be started, or ended before it answered.
        RequestTimeout: it did not answer.
        NegotiationFailed: client and server have no version in common.

    The text of each says how the process ended and what it last wrote to stderr.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#shutdown
    """
    if isinstance(command, str | bytes):
        raise TypeError('command must be a list such as ["program", "argument"], not one string.')
    if not command:
        raise ValueError("command must name a program; it is empty.")
    return StdioSession(
        tuple(command),
        client=described(client, era),
        env=env,
        cwd=cwd,
        connect=connect,
        title=title,
        times=times or ShutdownTimes(),
    )
