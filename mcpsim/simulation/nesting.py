"""Running one event loop inside another, from synchronous code.

In a notebook a loop is already running, and a widget's click handler runs inside it. asyncio refuses to run a
second one; these two private hooks put the outer loop aside for the length of a block. They are the only
private parts of asyncio that mcpsim uses, and they are used only here.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast


@contextmanager
def outer_loop_set_aside() -> Generator[asyncio.AbstractEventLoop | None]:
    """Let another loop run inside this block, whether or not one is running outside: the value says which.

    On Python 3.14 the outer task must be left too: otherwise the inner loop's tasks wait for ever.
    """
    hooks = cast("Any", asyncio)
    outer = hooks._get_running_loop()
    task = asyncio.current_task(outer) if outer is not None else None
    generators = sys.get_asyncgen_hooks()
    if task is not None:
        hooks.tasks._leave_task(outer, task)
    hooks._set_running_loop(None)
    try:
        yield outer
    finally:
        hooks._set_running_loop(outer)
        if task is not None:
            hooks.tasks._enter_task(outer, task)
        sys.set_asyncgen_hooks(*generators)


@contextmanager
def running(loop: asyncio.AbstractEventLoop) -> Generator[None]:
    """Make `loop` the running loop of this thread inside the block, also for new async generators."""
    hooks, own = cast("Any", asyncio), cast("Any", loop)
    hooks._set_running_loop(loop)
    sys.set_asyncgen_hooks(firstiter=own._asyncgen_firstiter_hook, finalizer=own._asyncgen_finalizer_hook)
    try:
        yield
    finally:
        hooks._set_running_loop(None)
