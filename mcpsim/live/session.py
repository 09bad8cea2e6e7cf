"""One connection of a client to a server's process, and the recording of it."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import anyio

from mcpsim.client import Client, StdioWire
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import NegotiationFailed, RequestTimeout
from mcpsim.live.process import CLIENT_LANE, SERVER_LANE, ServerProcess, ShutdownTimes
from mcpsim.recording import Recorder, Recording, Scribe
from mcpsim.recording.run import single

TITLE: Final = "A server's process"


class Session:
    """A client that is connected to a server's process for the length of an `async with` block.

    Made by `connect_stdio`. It can be entered once.

    Attributes:
        client: the connected client.
    """

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
        self.client = client.fresh()
        self._command = command
        self._env = env
        self._cwd = None if cwd is None else Path(cwd)
        self._connect = connect
        self._times = times
        self._recorder = Recorder(_microseconds_from_now())
        self._process: ServerProcess | None = None
        self._opened: AbstractAsyncContextManager[None] | None = None
        self._header: dict[str, Any] = {
            "title": title,
            "parties": [CLIENT_LANE, SERVER_LANE],
            "transport": "stdio",
            "era": {CLIENT_LANE: client.preferred_era},
            "source": "live",
        }

    def __repr__(self) -> str:
        return f"<Session of {self.client!r}: {len(self.recording.frames)} messages>"

    @property
    def recording(self) -> Recording:
        """What has happened so far; after the block: everything, with the shutdown."""
        return self._recorder.recording(self._header)

    @property
    def pid(self) -> int | None:
        """The server's process id; None where it was not started."""
        return None if self._process is None else self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How the server's process ended: its exit code, or the negative number of the signal that ended it
        (POSIX); None while it runs."""
        return None if self._process is None else self._process.exit_code

    async def __aenter__(self) -> Session:
        if self._opened is not None:
            raise RuntimeError("A session is for one connection; make a new one with connect_stdio.")
        self._opened = self._open()
        await self._opened.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        assert self._opened is not None
        return await self._opened.__aexit__(kind, error, traceback)

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[None]:
        try:
            async with anyio.create_task_group() as tasks:
                self._process = process = ServerProcess(self._recorder, self._times)
                try:
                    await process.start(tasks, self._command, env=self._env, cwd=self._cwd)
                    async with self._attached(process):
                        yield
                finally:
                    # However it ended, also by cancellation: no process is left behind.
                    with anyio.CancelScope(shield=True):
                        await process.aclose()
                    process.finish()
        except BaseExceptionGroup as group:
            error = single(group)
            if error is group:
                raise
            raise error from error.__cause__

    @asynccontextmanager
    async def _attached(self, process: ServerProcess) -> AsyncGenerator[None]:
        scribe = Scribe(self._recorder, CLIENT_LANE, process.connection)
        async with self.client.attached(StdioWire(process, scribe), scribe):
            try:
                if self._connect:
                    await self.client.connect()
                yield
            except (RequestTimeout, NegotiationFailed) as error:
                # The client knows that no good answer came; why, the process may have told.
                error.args = (f"{error} {process.seen()}",)
                raise


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
) -> Session:
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
    if client is not None and era is not None:
        raise ValueError("Say the era in the client's description: Client(era=...).")
    return Session(
        tuple(command),
        client=client if client is not None else Client(era=era or "modern"),
        env=env,
        cwd=cwd,
        connect=connect,
        title=title,
        times=times or ShutdownTimes(),
    )


def _microseconds_from_now() -> Any:
    begin = time.monotonic_ns()
    return lambda: (time.monotonic_ns() - begin) // 1000
