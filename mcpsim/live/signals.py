"""End by the rules when somebody asks for it: Ctrl-C, or SIGTERM."""

from __future__ import annotations

import signal

import anyio
from anyio.abc import TaskStatus


async def cancel_on_signal(scope: anyio.CancelScope, *, task_status: TaskStatus[None]) -> None:
    """Cancel a scope at the first SIGINT or SIGTERM. To be started with `TaskGroup.start`."""
    try:
        receiver = anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM)
        with receiver as signals:
            task_status.started()
            async for _ in signals:
                scope.cancel()
                return
    except (NotImplementedError, RuntimeError, ValueError):
        # Windows, or not the main thread: signals are somebody else's business there.
        task_status.started()
