"""Kernels for the notebooks, forked from a process in which what they import is imported already.

A kernel spends about half of its time on importing, and nbval starts one for each of the notebooks. What a
notebook does not import itself is not in its namespace here either: a cell that forgets an import fails.

This file is two things: a module for pytest, and the program of the process that forks (`serve`).
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

#: What every kernel needs, and what most notebooks import, many of them only when they need it.
IMPORTED: Final = (
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.debugger",
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "anyio._backends._asyncio",
    "jsonschema",
    "mcp_types.methods",
    "mcpsim.course.exercises",
    "mcpsim.widgets",
    "psutil",
    "sqlite3",
    "tornado.platform.asyncio",
)
#: What a notebook imports from. They define nothing themselves, and mcpsim looks for a running IPython.
ANEW: Final = ("mcpsim.course", "mcpsim")
#: How a kernel is started, up to its options.
MODULE: Final = "ipykernel_launcher"
LENGTH: Final = struct.Struct("!I")
STREAMS: Final = 3


def _send(connection: socket.socket, message: Any) -> None:
    text = json.dumps(message).encode()
    connection.sendall(LENGTH.pack(len(text)) + text)


def _receive(connection: socket.socket) -> Any:
    """The next message, or None where the other side is gone."""
    head = connection.recv(LENGTH.size, socket.MSG_WAITALL)
    if len(head) < LENGTH.size:
        return None
    return json.loads(connection.recv(LENGTH.unpack(head)[0], socket.MSG_WAITALL))


# ------------------------------------------------------------------------------------- for pytest


class Nursery:
    """The process that forks kernels. It ends with the one that started it.

    Args:
        python: the interpreter and its options.
    """

    def __init__(self, python: Sequence[str]) -> None:
        here, there = socket.socketpair()
        self.python = list(python)
        self._connection = here
        self._ended: dict[int, int] = {}
        with there:
            words = [*python, str(Path(__file__)), str(there.fileno())]
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, pass_fds=[there.fileno()])

    def kernel(
        self, options: Sequence[str], streams: Sequence[int], cwd: str | None, env: Mapping[str, str]
    ) -> Kernel:
        """Fork a kernel."""
        given = {**env, "JPY_PARENT_PID": str(self.process.pid)}
        _send(self._connection, {"options": list(options), "cwd": cwd, "env": given})
        socket.send_fds(self._connection, [b"."], list(streams))
        while "pid" not in (message := self._next()):
            self._note(message)
        return Kernel(self, message["pid"])

    def status(self, pid: int) -> int | None:
        """How a kernel ended, as `subprocess` has it; None while it runs."""
        while pid not in self._ended:
            _send(self._connection, {"ended": True})
            message = self._next()
            self._note(message)
            if not message["ended"]:
                return None
        return self._ended[pid]

    def _next(self) -> Any:
        message = _receive(self._connection)
        if message is None:
            raise RuntimeError(f"The process that forks kernels ended with {self.process.wait()}.")
        return message

    def _note(self, message: Mapping[str, Any]) -> None:
        self._ended |= {pid: os.waitstatus_to_exitcode(status) for pid, status in message["ended"]}


class Kernel:
    """A forked kernel, with what `jupyter_client` uses of a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self._nursery = nursery
        self.pid = pid

    def poll(self) -> int | None:
        return self._nursery.status(self.pid)

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a forked kernel", timeout or 0)
            time.sleep(0.01)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def install() -> None:
    """From now on, let `jupyter_client` fork the kernels that this process starts, where there is a fork."""
    if not hasattr(os, "fork"):
        return
    from jupyter_client.provisioning import local_provisioner

    start = local_provisioner.launch_kernel
    nurseries: list[Nursery] = []

    def launch(cmd: list[str], stderr: Any = None, **named: Any) -> Any:
        options = set(named) - {"cwd", "env", "independent"}
        if MODULE not in cmd or options or named.get("independent") or not hasattr(stderr, "fileno"):
            return start(cmd, stderr=stderr, **named)
        place = cmd.index(MODULE)
        python = cmd[: place - 1]
        if not nurseries or nurseries[0].python != python:
            nurseries[:] = [Nursery(python)]
        with open(os.devnull) as nothing:
            streams = [nothing.fileno(), sys.__stdout__.fileno(), stderr.fileno()]
            env = named.get("env") or os.environ
            return nurseries[0].kernel(cmd[place + 1 :], streams, named.get("cwd"), env)

    local_provisioner.launch_kernel = launch


# -------------------------------------------------------------------------- in the process that forks


def serve(connection: socket.socket) -> None:
    """Import what kernels need, and fork one for each message, until the other side is gone."""
    # A kernel ends when its parent is gone. Who that is, ipykernel reads while it is imported.
    os.environ["JPY_PARENT_PID"] = str(os.getpid())
    for name in IMPORTED:
        __import__(name)
    for name in ANEW:
        del sys.modules[name]
    gc.collect()
    gc.freeze()
    while (message := _receive(connection)) is not None:
        if message.get("ended"):
            _send(connection, {"ended": _ended()})
            continue
        _, streams, _, _ = socket.recv_fds(connection, 1, STREAMS)
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            connection.close()
            os.close(reading)
            _become_a_kernel(message, streams, writing)
        for each in (*streams, writing):
            os.close(each)
        # Only when it has a session of its own can its group be signalled.
        os.read(reading, 1)
        os.close(reading)
        _send(connection, {"pid": pid})


def _ended() -> list[tuple[int, int]]:
    ended = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if not pid:
            return ended
        ended.append((pid, status))


def _become_a_kernel(message: Mapping[str, Any], streams: Sequence[int], ready: int) -> NoReturn:
    os.setsid()
    os.close(ready)
    for target, each in enumerate(streams):
        os.dup2(each, target)
        os.close(each)
    os.environ.clear()
    os.environ.update(message["env"])
    if message["cwd"]:
        os.chdir(message["cwd"])
    sys.argv = [MODULE, *message["options"]]
    from ipykernel import kernelapp

    kernelapp.launch_new_instance()
    sys.exit()


if __name__ == "__main__":
    # The folder of this file is no place to import from, and was put there because this file is run.
    del sys.path[0]
    serve(socket.socket(fileno=int(sys.argv[1])))
