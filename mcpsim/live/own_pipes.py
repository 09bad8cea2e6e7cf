"""This process's own stdin and stdout, kept for the protocol alone.

A server must not write anything to its stdout that is no message, and a handler that prints does just that:
https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
So while a server is served, everybody else finds stdout to be stderr, and stdin to be empty: `print`,
`input`, a library written in C, a program that a handler starts. Only the protocol knows the real ones.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final

import anyio
import anyio.from_thread
from anyio.lowlevel import current_token

from mcpsim.errors import ConnectionClosed

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2

_CHUNK_BYTES: Final = 65_536
_FLUSH_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Descriptors:
    """The file descriptors of the real stdin and stdout."""

    stdin: int
    stdout: int


@contextmanager
def claimed_stdio() -> Generator[Descriptors]:
    """Keep the real stdin and stdout for the protocol, for the length of a `with` block.

    Raises:
        ConnectionClosed: this process has no stdin or no stdout.
    """
    visible: Any = sys.stdout
    _flush(visible)
    try:
        real = Descriptors(os.dup(STDIN), os.dup(STDOUT))
    except OSError as error:
        raise ConnectionClosed("This process has no stdin or no stdout to serve on.") from error
    _divert()
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(real.stdin, os.O_BINARY)
        msvcrt.setmode(real.stdout, os.O_BINARY)
    sys.stdout = sys.stderr
    try:
        yield real
    finally:
        # Whoever kept the old `sys.stdout` wrote to what is stderr now; what is left goes there too.
        _flush(visible)
        sys.stdout = visible
        # The copies stay open: a thread may still wait in a read of one of them.
        os.dup2(real.stdin, STDIN)
        os.dup2(real.stdout, STDOUT)


def _divert() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, STDIN)
    try:
        os.dup2(STDERR, STDOUT)
    except OSError:
        os.dup2(nothing, STDOUT)
    os.close(nothing)


def _flush(file: Any) -> None:
    # There is no file in a process without a console.
    if file is not None:
        with suppress(OSError, ValueError):
            file.flush()


class OwnPipes:
    """The server's end of its own stdin and stdout: a ByteStream.

    Threads read and write, because that works for pipes, files and consoles, and on Windows. They are
    daemons, and read and write without Python's buffers: one that waits in a read does not keep the process
    from ending. What is sent is written whole, also when its sender is cancelled in the meantime.

    To be made inside of a running event loop.
    """

    def __init__(self, descriptors: Descriptors) -> None:
        self._descriptors = descriptors
        self._token = current_token()
        self._taken, self._chunks = anyio.create_memory_object_stream[bytes](0)
        self._outgoing: SimpleQueue[tuple[bytes, anyio.Event]] = SimpleQueue()
        self._broken = False
        Thread(target=self._read, name="mcpsim: read stdin", daemon=True).start()
        Thread(target=self._write, name="mcpsim: write stdout", daemon=True).start()

    async def send(self, data: bytes) -> None:
        written = anyio.Event()
        self._outgoing.put((data, written))
        await written.wait()
        if self._broken:
            raise ConnectionClosed("Nobody reads our stdout any more.")

    async def receive(self) -> bytes:
        return await self._chunks.receive()

    async def aclose(self) -> None:
        """Wait until everything is written, for a second at most. The descriptors are closed by the end of
        the process."""
        done = anyio.Event()
        self._outgoing.put((b"", done))
        with anyio.move_on_after(_FLUSH_S):
            await done.wait()
        self._chunks.close()

    # In threads

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._descriptors.stdin, _CHUNK_BYTES)
            except OSError:
                chunk = b""
            if not chunk:
                self._in_loop(self._taken.aclose)
                return
            if not self._in_loop(self._taken.send, chunk):
                return

    def _write(self) -> None:
        while True:
            data, written = self._outgoing.get()
            breaks = not self._broken and not self._is_written(data)
            self._broken = self._broken or breaks
            if not self._in_loop(_call, written.set):
                return
            if breaks:
                # Whoever does not read our answers gets none: serving ends, though stdin may be open. The
                # sender hears of it first, and knows that it is not the input that ended.
                self._in_loop(self._taken.aclose)

    def _is_written(self, data: bytes) -> bool:
        try:
            _write_all(self._descriptors.stdout, data)
        except OSError:
            return False
        return True

    def _in_loop(self, function: Callable[..., Any], *arguments: Any) -> bool:
        try:
            anyio.from_thread.run(function, *arguments, token=self._token)
        except Exception:
            # The loop has ended, or the stream was closed: nobody takes anything any more.
            return False
        return True


async def _call(function: Callable[[], None]) -> None:
    function()


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
