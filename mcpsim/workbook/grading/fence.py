"""What a process that runs strangers' code may not do, as far as Python and the system can refuse it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

from mcpsim.simulation import watchdog

MEGABYTE: Final = 1_000_000
LARGEST_FILE_MB: Final = 16
MOST_FILES: Final = 256

_REFUSED: Final = (
    "ctypes.",
    "gc.",
    "os.chdir",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.kill",
    "os.killpg",
    "os.link",
    "os.posix_spawn",
    "os.spawn",
    "os.startfile",
    "os.symlink",
    "os.system",
    "pty.spawn",
    "resource.setrlimit",
    "signal.pthread_kill",
    "socket.bind",
    "socket.connect",
    "socket.getaddrinfo",
    "socket.gethostbyaddr",
    "socket.gethostbyname",
    "socket.sendmsg",
    "socket.sendto",
    "subprocess.Popen",
    "sys.addaudithook",
    "sys._current_exceptions",
    "sys.setprofile",
    "sys.settrace",
)
_CHANGES: Final = frozenset(
    {
        "os.chflags",
        "os.chmod",
        "os.chown",
        "os.mkdir",
        "os.remove",
        "os.removexattr",
        "os.rename",
        "os.rmdir",
        "os.setxattr",
        "os.truncate",
        "os.utime",
        "shutil.chown",
        "shutil.move",
        "shutil.rmtree",
    }
)
# Modules by which the refused can be had without an audit event.
_BACK_DOORS: Final = frozenset({"_ctypes", "_posixsubprocess", "_testcapi", "_testinternalcapi"})


class Refused(PermissionError):
    """Raised inside the code that tried it."""


def limit_resources(memory_mb: int, cpu_s: float) -> None:
    """Ask the operating system for limits; where it has none of a kind, that one is left out.

    Args:
        memory_mb: address space, in megabytes.
        cpu_s: time of the processor, in seconds.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    wanted = (
        ("RLIMIT_AS", memory_mb * MEGABYTE),
        ("RLIMIT_CPU", int(cpu_s) + 1),
        ("RLIMIT_FSIZE", LARGEST_FILE_MB * MEGABYTE),
        ("RLIMIT_NOFILE", MOST_FILES),
        ("RLIMIT_CORE", 0),
    )
    for name, value in wanted:
        try:
            _, hard = resource.getrlimit(getattr(resource, name))
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(getattr(resource, name), (value, value))
        except (AttributeError, OSError, ValueError):
            continue


def raise_fence(own: Path, closed: tuple[Path, ...]) -> None:
    """Refuse from now on what this module lists. There is no way back in this process.

    Args:
        own: the only folder in which files may be written.
        closed: folders of which nothing may be read.
    """
    _shut_back_doors()
    sys.addaudithook(_fence(_plain(own), tuple(map(_plain, closed))))


def _plain(folder: Path) -> str:
    return os.path.realpath(folder).replace("\\", "/")


def _shut_back_doors() -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise Refused("Graded code may not start processes.")

    for name in ("_posixsubprocess", "subprocess"):
        module = sys.modules.get(name)
        for function in ("fork_exec", "_fork_exec"):
            if module is not None and hasattr(module, function):
                setattr(module, function, refuse)


def _fence(own: str, closed: tuple[str, ...]) -> Callable[[str, tuple[Any, ...]], None]:
    # All that it uses is bound here: what the code that it watches changes in a module changes nothing.
    real, is_folder, kept = os.path.realpath, os.path.isdir, os.devnull
    fspath = cast("Callable[[Any], Any]", os.fspath)
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    refused, changes, doors, error = _REFUSED, _CHANGES, _BACK_DOORS, Refused
    starts, replace, split, decode = str.startswith, str.replace, str.split, bytes.decode
    is_a = cast("Callable[[Any, Any], bool]", isinstance)
    has, text, data, number, absolute = hasattr, str, bytes, int, os.path.isabs
    caller, stack_of = sys._getframe, watchdog._stack_of.__code__  # pyright: ignore[reportPrivateUsage]

    def name_of(value: Any) -> str | None:
        if not (is_a(value, text) or is_a(value, data) or has(value, "__fspath__")):
            return None
        path = fspath(value)
        words: str = decode(path, "utf-8", "replace") if is_a(path, data) else path
        return replace(words, "\\", "/")

    def is_in(name: str, folder: str) -> bool:
        return name == folder or starts(name, folder + "/")

    def is_own(name: str) -> bool:
        # No links and no other working folder can be made here, so the text of a path says where it leads.
        return ".." not in split(name, "/") and (not absolute(name) or is_in(name, own))

    def opened(path: Any, mode: Any, flags: Any) -> None:
        name = name_of(path)
        if name is None:
            return
        for folder in closed:
            if is_in(replace(real(name), "\\", "/"), folder):
                raise error("Graded code may not read what was handed in.")
        if mode is None and is_folder(name):
            raise error("Graded code may not open folders.")
        if is_a(flags, number) and flags & writing and name != kept and not is_own(name):
            raise error("Graded code may write files in its own folder only.")

    def fence(event: str, arguments: tuple[Any, ...]) -> None:
        if starts(event, refused):
            raise error(f"Graded code may not use {event}.")
        if event == "import" and arguments[0] in doors:
            raise error(f"Graded code may not import {arguments[0]}.")
        # By the frames of other threads one could get at what is hidden there. The watchdog looks at a stack.
        if event == "sys._current_frames" and caller(1).f_code is not stack_of:
            raise error(f"Graded code may not use {event}.")
        if event == "open":
            opened(*arguments)
        elif event in changes:
            for value in arguments:
                name = name_of(value)
                if name is not None and not is_own(name):
                    raise error("Graded code may change files in its own folder only.")

    return fence
