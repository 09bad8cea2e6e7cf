"""Servers as processes of their own, forked from one in which what they import is imported already.

A server that answers five messages spends nine tenths of its time on importing. What these are not good for
is to show how a server starts: they have the hash seed of the process that they are forked from, and whatever
that one has imported. Such tests start Python themselves.

This file is two things: a module for tests, and the program of the process that forks. What a client starts
in the place of a server is `start_warm.py`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

#: What every server needs. What else one imports is named where it is started.
IMPORTED: Final = ("mcpsim.cli", "mcpsim.live", "mcp_types.methods")
STARTER: Final = Path(__file__).with_name("start_warm.py")
LENGTH: Final = 4
STREAMS: Final = 3

Warm = Callable[..., list[str]]


@contextlib.contextmanager
def nursery(folder: Path) -> Iterator[Warm]:
    """A process that forks servers, as long as this lasts.

    Gives a function of a command, `[sys.executable, "-m", module, ...]` or `[sys.executable, script, ...]`,
    and of the modules that the process shall import for it first. It returns the command to start in its
    place: the same one where the system has no fork.

    Args:
        folder: where a socket may lie; a short path, because systems have limits.
    """
    if not hasattr(os, "fork"):
        yield lambda command, *imports: list(command)
        return
    place = folder / "nursery"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        # Who comes while the process still imports waits here.
        listening.listen(100)
        process = subprocess.Popen(
            [sys.executable, __file__, str(listening.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listening.fileno()],
            # Ctrl-C is for pytest, which ends it.
            start_new_session=True,
        )

    def warm(command: Sequence[str], *imports: str) -> list[str]:
        python, *words = command
        assert python == sys.executable
        return [python, "-I", "-S", str(STARTER), str(place), " ".join(imports), *words]

    with process:
        # In the end its stdin is closed, and then it ends.
        yield warm


# -------------------------------------------------------------------------- in the process that forks


def fork_servers(listening: socket.socket) -> Mapping[str, Any]:
    """Fork a server for each process that asks for one, until stdin ends; then end those that are left.

    It returns only in the processes that it forks, with what they were asked to be.
    """
    for name in IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    # Whenever a server ends, a byte comes here.
    news, told = os.pipe()
    os.set_blocking(told, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    servers: dict[socket.socket, int] = {}
    while True:
        ready = select.select([0, news, listening, *servers], [], [])[0]
        if 0 in ready:
            for pid in servers.values():
                os.kill(pid, signal.SIGKILL)
            os._exit(0)
        # A starter says nothing more: it was killed, and its server is killed as well.
        for starter in servers.keys() & set(ready):
            os.kill(servers[starter], signal.SIGKILL)
        if news in ready:
            os.read(news, 1_000)
            _tell_of_the_ended(servers)
        if listening in ready:
            starter, _ = listening.accept()
            wanted, streams = _asked(starter)
            for name in wanted["imports"]:
                importlib.import_module(name)
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                # A shell that starts the tests in the background has them ignore it.
                signal.signal(signal.SIGINT, signal.default_int_handler)
                for target, each in enumerate(streams):
                    os.dup2(each, target)
                for one in (starter, listening, *servers):
                    one.close()
                for each in (*streams, news, told):
                    os.close(each)
                return wanted
            for each in streams:
                os.close(each)
            servers[starter] = pid
            _say(starter, pid)


def _asked(starter: socket.socket) -> tuple[Mapping[str, Any], Sequence[int]]:
    """What a starter wants, and its streams."""
    length, streams, _, _ = socket.recv_fds(starter, LENGTH, STREAMS)
    text = starter.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL)
    return json.loads(text), streams


def _tell_of_the_ended(servers: dict[socket.socket, int]) -> None:
    for starter, pid in list(servers.items()):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            del servers[starter]
            with starter:
                _say(starter, os.waitstatus_to_exitcode(status))


def _say(starter: socket.socket, number: int) -> None:
    # It may have been killed meanwhile.
    with contextlib.suppress(OSError):
        starter.sendall(number.to_bytes(LENGTH, "big", signed=True))


def become(wanted: Mapping[str, Any]) -> None:
    """Do what Python does when it is started with these words."""
    os.setsid()
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    first, *rest = wanted["words"]
    if first == "-m":
        sys.path[0] = wanted["cwd"]
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(first).parent)
        sys.argv = [first, *rest]
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    become(fork_servers(socket.socket(fileno=int(sys.argv[1]))))
