"""A server's process: started, watched, and ended by the rules.

The observer stands beside the client. It writes a frame down when the client hands it to the pipe or takes it
out of the pipe: when the other process reads or writes it, nobody here can see.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown
"""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import anyio.lowlevel
from anyio.abc import ByteReceiveStream, ByteSendStream, Process, TaskGroup

from mcpsim.errors import ConnectionClosed, MalformedMessage
from mcpsim.live.lines import LineCutter, printable
from mcpsim.messages import read_batch
from mcpsim.recording import Recorder

CLIENT_LANE: Final = "client"
SERVER_LANE: Final = "server"
STDERR: Final = "stderr"

# A recording that is larger than what can be loaded again helps nobody.
MAX_OUTPUT_BYTES: Final = 64_000_000
MAX_OUTPUT_LINES: Final = 400_000

_POLL_S: Final = 0.005
_LAST_WORDS_S: Final = 2.0
_PIPES_S: Final = 1.0
_WRITE_S: Final = 1.0
_SHOWN_LINES: Final = 5
_SHOWN_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class ShutdownTimes:
    """How long the client waits at each step of a shutdown, in seconds.

    Attributes:
        exit_s: after the server's stdin was closed.
        terminate_s: after the process was asked to terminate (SIGTERM; Windows has no such step).
        kill_s: after the process was killed.

    Raises:
        ValueError: a time is below 0.
    """

    exit_s: float = 2.0
    terminate_s: float = 2.0
    kill_s: float = 2.0

    def __post_init__(self) -> None:
        if min(self.exit_s, self.terminate_s, self.kill_s) < 0:
            raise ValueError("The times of a shutdown must be 0 or more seconds.")


class ServerProcess:
    """The client's end of a server process: a ByteStream that writes down all that passes.

    To be made inside of a running event loop.

    Args:
        recorder: where to write.
        times: how long each step of the shutdown may take.
    """

    def __init__(self, recorder: Recorder, times: ShutdownTimes) -> None:
        self.connection = recorder.new_connection()
        self._recorder = recorder
        self._times = times
        self._process: Process | None = None
        # Unbounded: what waits in it was read already, and the pumps bound what they read.
        self._taken, self._lines = anyio.create_memory_object_stream[bytes](math.inf)
        self._pumps: list[anyio.CancelScope] = []
        self._closing = False
        self._stdout_closed = False
        self._exit_noted = False
        self._output_bytes = 0
        self._output_lines = 0
        self._too_much = ""
        self._last_line = b""
        self._stderr_tail: deque[bytes] = deque(maxlen=_SHOWN_LINES)

    async def start(
        self,
        tasks: TaskGroup,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None,
        cwd: str | Path | None,
    ) -> None:
        """Start the process and begin to watch it.

        Raises:
            ConnectionClosed: it cannot be started.
        """
        program = shutil.which(command[0], path=None if env is None else env.get("PATH")) or command[0]
        try:
            # In a session of its own: a Ctrl-C in the terminal is for us, and we then end the server.
            self._process = process = await anyio.open_process(
                [program, *command[1:]],
                env=env,
                cwd=cwd,
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except (OSError, ValueError) as error:
            text = f"The server could not be started: {_why_not(error, command[0])}."
            self._note(CLIENT_LANE, text)
            raise ConnectionClosed(text) from error
        assert process.stdout is not None
        assert process.stderr is not None
        self._pumps = [anyio.CancelScope(shield=True), anyio.CancelScope(shield=True)]
        tasks.start_soon(self._pump_stdout, process.stdout, self._pumps[0], name="live: read stdout")
        tasks.start_soon(self._pump_stderr, process.stderr, self._pumps[1], name="live: read stderr")

    @property
    def pid(self) -> int | None:
        """The process id; None where there is no process."""
        return None if self._process is None else self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How the process ended: its exit code, or the negative number of the signal that ended it (POSIX);
        None while it runs."""
        return None if self._process is None else self._process.returncode

    # The pipes are read all the time, also while a shutdown waits and nobody takes the lines: a server that
    # is stuck in writing to a full pipe does not see that its stdin was closed.

    async def _pump_stdout(self, pipe: ByteReceiveStream, scope: anyio.CancelScope) -> None:
        with self._taken:
            await self._pump(pipe, scope, self._taken.send_nowait)

    async def _pump_stderr(self, pipe: ByteReceiveStream, scope: anyio.CancelScope) -> None:
        await self._pump(pipe, scope, self._take_stderr)

    async def _pump(
        self, pipe: ByteReceiveStream, scope: anyio.CancelScope, take: Callable[[bytes], None]
    ) -> None:
        cutter = LineCutter()
        with scope, suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            async for chunk in pipe:
                if self._too_much:
                    continue
                lines = cutter.feed(chunk)
                for line in lines:
                    take(line)
                self._count(len(chunk), len(lines))
        if (leftover := cutter.finish()) and not self._too_much:
            take(leftover)
        self._pumps.remove(scope)

    def _count(self, size: int, lines: int) -> None:
        self._output_bytes += size
        self._output_lines += lines
        if self._output_bytes > MAX_OUTPUT_BYTES or self._output_lines > MAX_OUTPUT_LINES:
            self._too_much = (
                f"The server wrote more than a recording may hold ({MAX_OUTPUT_BYTES} bytes, "
                f"{MAX_OUTPUT_LINES} lines)."
            )
            # For the client this is the end of the connection. What still comes is thrown away.
            self._taken.close()

    def _stop_reading(self) -> None:
        for scope in self._pumps:
            scope.cancel()

    def _take_stderr(self, line: bytes) -> None:
        self._stderr_tail.append(line)
        self._write_down(line, STDERR)

    def _write_down(self, line: bytes, channel: str = "") -> None:
        recorder, connection = self._recorder, self.connection
        frame = recorder.sent(SERVER_LANE, CLIENT_LANE, line, connection=connection, channel=channel)
        recorder.delivered(frame, CLIENT_LANE, SERVER_LANE, connection=connection)

    # A ByteStream, as the client's wire uses it.

    async def send(self, data: bytes) -> None:
        # Before the frame is written down: a cancelled call must leave nothing in the recording.
        await anyio.lowlevel.checkpoint_if_cancelled()
        if self._closing:
            raise ConnectionClosed("The connection is closed: the server's stdin takes nothing any more.")
        recorder, connection = self._recorder, self.connection
        frame = recorder.sent(CLIENT_LANE, SERVER_LANE, data, connection=connection)
        try:
            # The bytes are in the pipe's own queue at once; the waiting is for a server that reads slowly.
            # One that does not read at all must not hold us here, for whoever asks has a timeout of his own.
            with anyio.move_on_after(_WRITE_S):
                await self._stdin.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            why = "nobody reads the server's stdin any more"
            recorder.dropped(frame, CLIENT_LANE, SERVER_LANE, why, connection=connection)
            await self._ended_within(_LAST_WORDS_S)
            raise ConnectionClosed(f"The message could not be sent: {why}. {self.seen()}") from None
        except BaseException:
            recorder.delivered(frame, SERVER_LANE, CLIENT_LANE, connection=connection)
            raise
        recorder.delivered(frame, SERVER_LANE, CLIENT_LANE, connection=connection)

    async def receive(self) -> bytes:
        if self._too_much and not self._closing:
            # At once, and not after all that waits to be read: whoever reads that slowly asks in vain.
            raise ConnectionClosed(f"The connection is given up. {self.seen()}")
        try:
            line = await self._lines.receive()
        except anyio.EndOfStream:
            self._note_end_of_stdout()
            if self._closing:
                raise
            if self._too_much:
                raise ConnectionClosed(f"The connection is given up. {self.seen()}") from None
            await self._ended_within(_LAST_WORDS_S)
            self._note_exit()
            text = "The server closed the connection before it answered."
            raise ConnectionClosed(f"{text} {self.seen()}") from None
        self._last_line = line
        self._write_down(line)
        return line

    async def aclose(self) -> None:
        """Shut the connection down: close the server's stdin, wait, terminate, kill.

        Takes no longer than its `ShutdownTimes`, and is to be called in a shielded scope.
        """
        process = self._process
        if self._closing or process is None:
            return
        self._closing = True
        self._recorder.closed(CLIENT_LANE, SERVER_LANE, "stdin", "closed", connection=self.connection)
        with suppress(OSError, anyio.BrokenResourceError):
            await self._stdin.aclose()
        if not await self._exits_within(self._times.exit_s):
            await self._end_by_force(process)
        if not await self._ended_within(_PIPES_S):
            await self._end_descendants(process)
        self._stop_reading()
        with anyio.move_on_after(_PIPES_S):
            await process.aclose()

    async def _end_by_force(self, process: Process) -> None:
        waited_s, why = self._times.exit_s, "its stdin was closed"
        if os.name == "posix":
            self._note(CLIENT_LANE, f"The server still runs {waited_s:g} s after {why}: SIGTERM.")
            _signal(process, "SIGTERM")
            if await self._exits_within(self._times.terminate_s):
                return
            waited_s, why = self._times.terminate_s, "SIGTERM"
        self._note(CLIENT_LANE, f"The server still runs {waited_s:g} s after {why}: it is killed.")
        _signal(process, "SIGKILL")
        if not await self._exits_within(self._times.kill_s):
            self._note(CLIENT_LANE, f"The server still runs {self._times.kill_s:g} s after it was killed.")

    async def _end_descendants(self, process: Process) -> None:
        # The server is gone, and its pipes are still open: somebody whom it started holds them.
        if self.exit_code is None or os.name != "posix":
            return
        self._note(CLIENT_LANE, "Programs that the server had started still run: they are ended too.")
        for name in ("SIGTERM", "SIGKILL"):
            _signal(process, name)
            if await self._ended_within(_PIPES_S):
                return

    def finish(self) -> None:
        """Write down what nobody took any more, and how the process ended."""
        with suppress(anyio.WouldBlock, anyio.EndOfStream, anyio.ClosedResourceError):
            while True:
                self._write_down(self._lines.receive_nowait())
        self._taken.close()
        self._lines.close()
        if self._process is not None:
            self._note_end_of_stdout()
            self._note_exit()

    # What was seen

    def seen(self) -> str:
        """How the process is, and its last words, for the text of an error."""
        said = [self._too_much] if self._too_much else []
        said.append(_fate(self.exit_code))
        if self._last_line and not _is_message(self._last_line):
            said.append(f"The last line on its stdout is no message: {_plain(self._last_line)!r}.")
        if self._stderr_tail:
            said.append("Its last lines on stderr:")
            return " ".join(said) + "".join(f"\n  {_plain(line)}" for line in self._stderr_tail)
        said.append("It wrote nothing on stderr.")
        return " ".join(said)

    def _note_end_of_stdout(self) -> None:
        if not self._stdout_closed:
            self._stdout_closed = True
            self._recorder.closed(SERVER_LANE, CLIENT_LANE, "stdout", "closed", connection=self.connection)

    def _note_exit(self) -> None:
        if not self._exit_noted and self.exit_code is not None:
            self._exit_noted = True
            self._note(SERVER_LANE, _fate(self.exit_code))

    def _note(self, party: str, text: str) -> None:
        self._recorder.note(party, text, connection=self.connection)

    @property
    def _stdin(self) -> ByteSendStream:
        if self._process is None or self._process.stdin is None:
            raise ConnectionClosed("The server was not started.")
        return self._process.stdin

    async def _exits_within(self, seconds: float) -> bool:
        return await _comes_true(lambda: self.exit_code is not None, seconds)

    async def _ended_within(self, seconds: float) -> bool:
        """Whether the process has ended, and everything that it wrote was read."""
        return await _comes_true(lambda: self.exit_code is not None and not self._pumps, seconds)


async def _comes_true(condition: Callable[[], bool], seconds: float) -> bool:
    # Not `Process.wait()`: depending on the versions below us it also waits for the pipes, which somebody
    # else may hold open.
    deadline = anyio.current_time() + seconds
    while not condition():
        if anyio.current_time() >= deadline:
            return False
        await anyio.sleep(_POLL_S)
    return True


def _why_not(error: OSError | ValueError, program: str) -> str:
    # It may also be the folder that is not there.
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or program}: {error.strerror}"
    return f"{program}: {error}"


def _signal(process: Process, name: str) -> None:
    """Send a signal to the process and to all that it started; on Windows, end the process."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, getattr(signal, name))
        else:
            process.kill()


def _fate(exit_code: int | None) -> str:
    if exit_code is None:
        return "The server's process still runs."
    if exit_code >= 0:
        return f"The server's process ended with exit code {exit_code}."
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    return f"The server's process was ended by {name}."


def _is_message(line: bytes) -> bool:
    try:
        read_batch(line)
    except MalformedMessage:
        return False
    return True


def _plain(line: bytes) -> str:
    shown = printable(line.decode("utf-8", "replace").rstrip())
    return shown if len(shown) <= _SHOWN_CHARACTERS else shown[: _SHOWN_CHARACTERS - 1] + "…"
