"""Who runs or waits, and where: the words for Stuck and Deadlock. No addresses, no paths, no line numbers."""

from __future__ import annotations

import asyncio
from types import FrameType
from typing import Any, Final, cast

# Of no interest to whoever looks for the mistake in a story or a handler.
LIBRARIES: Final = frozenset({"anyio", "asyncio"})
OURS: Final = "mcpsim"


def task_of(handle: asyncio.Handle) -> asyncio.Task[Any] | None:
    """The task that a callback carries on, or None."""
    owner = getattr(cast("Any", handle)._callback, "__self__", None)
    return cast("asyncio.Task[Any]", owner) if isinstance(owner, asyncio.Task) else None


def name_of(handle: asyncio.Handle | None, frames: list[FrameType] | None = None) -> str:
    """A callback in words.

    Args:
        frames: where it is just now, outermost first; None where it does not run now.
    """
    if handle is None:
        return "a callback"
    task = task_of(handle)
    if task is None:
        callback = cast("Any", handle)._callback
        return f"the callback {getattr(callback, '__qualname__', type(callback).__name__)}"
    place = where(task) if frames is None else _place(frames)
    return f"the task {task.get_name()!r} {place}".rstrip()


def where(task: asyncio.Task[Any]) -> str:
    """The function of a story or handler that a task waits in, and what it waits for there."""
    frames: list[FrameType] = []
    awaited: Any = task.get_coro()
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "ag_frame", None)
        if frame is not None:
            frames.append(frame)
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "ag_await", None)
    return _place(frames)


def _place(frames: list[FrameType]) -> str:
    if not frames:
        return ""
    rooms = [frame.f_globals.get("__name__", "").partition(".")[0] for frame in frames]
    theirs = [frame for frame, room in zip(frames, rooms, strict=True) if room not in LIBRARIES]
    own = [frame for frame in theirs if not frame.f_globals.get("__name__", "").startswith(OURS)]
    function = (own or theirs or frames)[-1].f_code.co_name
    last = frames[-1].f_code
    return f"(in {function})" if last.co_name == function else f"(in {function}, at {last.co_qualname})"
