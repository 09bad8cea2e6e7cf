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
# How often a file may be opened for writing, so that all of them together do not fill the disk.
MOST_WRITTEN: Final = 64
# How many other changes of files and folders there may be, and how deep folders may be.
MOST_CHANGES: Final = 1_000
DEEPEST: Final = 16

_REFUSED: Final = (
    "ctypes.",
    "fcntl.",
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
    "resource.prlimit",
    "resource.setrlimit",
    "signal.pthread_kill",
    "socket.bind",
    "socket.connect",
    "socket.getaddrinfo",
    "socket.gethostbyaddr",
    "socket.gethostbyname",
    "socket.sendmsg",
    "socket.sendto",
    "sqlite3.connect",
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
_BACK_DOORS: Final = frozenset(
    {
        "_ctypes",
        "_dbm",
        "_gdbm",
        "_posixshmem",
        "_posixsubprocess",
        "_testcapi",
        "_testinternalcapi",
        "readline",
    }
)
# Functions without an audit event: they reach other processes, or what is outside of the own folder.
_TAKEN_AWAY: Final = {
    ("_posixsubprocess", "subprocess"): ("fork_exec", "_fork_exec"),
    ("_signal", "signal"): ("pidfd_send_signal",),
    ("os", "posix"): (
        "chroot",
        "memfd_create",
        "mkfifo",
        "mknod",
        "pidfd_open",
        "sched_setaffinity",
        "sched_setparam",
        "sched_setscheduler",
        "setns",
        "setpriority",
        "unshare",
    ),
}


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
        raise Refused("Graded code may not use this function.")

    for names, functions in _TAKEN_AWAY.items():
        for module in filter(None, map(sys.modules.get, names)):
            for function in functions:
                if hasattr(module, function):
                    setattr(module, function, refuse)


def _fence(own: str, closed: tuple[str, ...]) -> Callable[[str, tuple[Any, ...]], None]:
    # All that it uses is bound here: what the code that it watches changes in a module changes nothing.
    real, is_folder, kept = os.path.realpath, os.path.isdir, os.devnull
    fspath = cast("Callable[[Any], Any]", os.fspath)
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    refused, changes, doors = _REFUSED, _CHANGES, _BACK_DOORS
    error, missing = Refused, ImportError
    starts, replace, split, decode = str.startswith, str.replace, str.split, bytes.decode
    is_a = cast("Callable[[Any, Any], bool]", isinstance)
    has, text, data, number, absolute = hasattr, str, bytes, int, os.path.isabs
    is_number, count_of, take = str.isdecimal, str.count, next
    written, changed = iter(range(MOST_WRITTEN)), iter(range(MOST_CHANGES))
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
        leads_to = replace(real(name), "\\", "/")
        for folder in closed:
            if is_in(leads_to, folder):
                raise error("Graded code may not read what was handed in.")
        # There is the memory of the grader, and of this process.
        if starts(leads_to, "/proc/") and is_number(split(leads_to, "/")[2]):
            raise error("Graded code may not look into processes.")
        if mode is None and is_folder(name):
            raise error("Graded code may not open folders.")
        if is_a(flags, number) and flags & writing and name != kept:
            if not is_own(name):
                raise error("Graded code may write files in its own folder only.")
            if take(written, None) is None:
                raise error(f"Graded code may open files for writing {MOST_WRITTEN} times.")

    def fence(event: str, arguments: tuple[Any, ...]) -> None:
        # Such as the code of a function: the grader itself asks for all of them after each exercise.
        if event == "object.__getattr__":
            return
        if starts(event, refused):
            raise error(f"Graded code may not use {event}.")
        if event == "import" and arguments[0] in doors:
            # An ImportError, because some of Python's own modules go on without it.
            raise missing(f"Graded code may not import {arguments[0]}.")
        # By the frames of other threads one could get at what is hidden there. The watchdog looks at a stack.
        if event == "sys._current_frames" and caller(1).f_code is not stack_of:
            raise error(f"Graded code may not use {event}.")
        if event == "open":
            opened(*arguments)
        elif event in changes:
            if take(changed, None) is None:
                raise error(f"Graded code may change {MOST_CHANGES:,} files.")
            for value in arguments:
                name = name_of(value)
                if name is None:
                    continue
                if not is_own(name):
                    raise error("Graded code may change files in its own folder only.")
                if event == "os.rename" and is_folder(name):
                    raise error("Graded code may not move folders.")
                if event == "os.mkdir" and count_of(name, "/") > count_of(own, "/") + DEEPEST:
                    raise error(f"Graded code may put {DEEPEST} folders into each other.")

    return fence
