"""Start the processes in which submissions run.

What a submission needs takes longer to import than most submissions take to run. So on Linux the
processes of a class are forked from one that has imported it, and has seen nothing that was handed in. Each
has memory, limits, a session and a folder of its own all the same. Elsewhere each one starts anew: on macOS
a process that was forked may crash in the libraries of the system.
"""

from __future__ import annotations

import contextlib
import os
import signal
import site
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final

import mcpsim
from mcpsim.course.exercises.kept import SWITCH

#: Ends a process, and returns when it has ended.
End = Callable[[], None]
#: Starts a process, given its own folder and the descriptors of its standard input and output.
Start = Callable[[Path, int, int], End]

# How long a fork server may take to import what is needed, on a machine that has much to do.
START_S: Final = 60.0
# How long a process that was killed may take to be gone.
END_S: Final = 10.0
_NAP_S: Final = 0.005
_LONGEST_ANSWER: Final = 32

# What a process may need of the environment; the rest is the teacher's own.
_ENVIRONMENT: Final = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "PYTHONUTF8")
_PROGRAM: Final = ("-P", "-m", "mcpsim.workbook.grading.process")


def of_its_own(own: Path) -> dict[str, str]:
    """The part of the environment that says where the folder of a process is."""
    return {"HOME": str(own), "TEMP": str(own), "TMPDIR": str(own)}


def start_anew(own: Path, reads: int, writes: int) -> End:
    """Start a process with a Python of its own.

    Args:
        own: its folder.
        reads, writes: the descriptors of its standard input and output.
    """
    process = subprocess.Popen(
        [sys.executable, *_PROGRAM],
        cwd=own,
        env=_environment() | of_its_own(own),
        stdin=reads,
        stdout=writes,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

    def end() -> None:
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=END_S)

    return end


@contextlib.contextmanager
def fork_server() -> Generator[Start, None, None]:
    """What starts processes fastest on this system, until the block ends; also from several threads."""
    if sys.platform != "linux":
        yield start_anew
        return
    server = _ForkServer()
    try:
        yield server.start
    finally:
        server.close()


class _ForkServer:
    """A process that forks others. It begins with the first of them, and ends with this one at the latest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        # Each message is a packet of its own.
        self._connection, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.settimeout(START_S)

    def start(self, own: Path, reads: int, writes: int) -> End:
        """Fork a process; without a server that answers, or that can, start it anew."""
        pid = self._ask(os.fsencode(own), reads, writes)
        return start_anew(own, reads, writes) if pid is None or pid < 0 else lambda: self._end(pid)

    def close(self) -> None:
        """End the server."""
        self._connection.close()
        self._theirs.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _begin(self) -> subprocess.Popen[bytes]:
        with self._theirs as theirs:
            return subprocess.Popen(
                [sys.executable, *_PROGRAM, str(theirs.fileno())],
                cwd="/",
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def _end(self, pid: int) -> None:
        # As long as there is a server, the number belongs to no other process before it was asked for it.
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
        until = time.monotonic() + END_S
        while self._ask(b"%d" % pid) == 0 and time.monotonic() < until:
            time.sleep(_NAP_S)

    def _ask(self, words: bytes, *descriptors: int) -> int | None:
        """The number that the server answers; None where it does not, now or later."""
        with self._lock:
            try:
                self._process = self._process or self._begin()
                socket.send_fds(self._connection, [words], descriptors)
                return int(self._connection.recv(_LONGEST_ANSWER))
            except (OSError, ValueError):
                # A server that is only late shall not fork what starts anew.
                self.close()
                return None
            except BaseException:
                # Its answer would be taken for that to the next question.
                self.close()
                raise


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ} | {
        SWITCH: "off",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(Path(mcpsim.__file__).parents[1]),
        # Where what mcpsim needs may be installed; by default it is looked for in the home folder.
        "PYTHONUSERBASE": site.getuserbase(),
    }
