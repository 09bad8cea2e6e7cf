"""Play a story against a real server: `simulate`, with a process or an endpoint in the place of the simulated
one."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from anyio.from_thread import start_blocking_portal

from mcpsim.client import Client
from mcpsim.eras.revisions import ClientEra
from mcpsim.live.http_session import connect_http
from mcpsim.live.process import ShutdownTimes
from mcpsim.live.session import Session
from mcpsim.live.stdio_session import connect_stdio
from mcpsim.recording.run import Run, title_of, value_of

Story = Callable[..., Awaitable[Any]]


def record(
    story: Story,
    *,
    command: Sequence[str] | None = None,
    url: str | None = None,
    client: Client | None = None,
    era: ClientEra | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    headers: Mapping[str, str] | None = None,
    connect: bool = True,
    check: bool = True,
    title: str | None = None,
    times: ShutdownTimes | None = None,
) -> Run:
    """Start a server, or reach one by its URL, play `story` against it, and return what happened.

    The story is the same that `simulate` plays: it gets the connected client. It runs on an ordinary event
    loop in a thread of its own, so that it can also be played from inside a running loop, as in Jupyter.
    The running loop waits meanwhile: a server on it, as of `serve_http`, cannot answer. See there.
    Time is real: a story that sleeps takes that long.

    Args:
        story: an async function that plays the client's part.
        command: the server's program and its arguments. There is no shell. It is shut down afterwards.
        url: the server's HTTP endpoint, instead of a command.
        check: whether an error is raised. Otherwise it is in the run's `error`, and the recording shows how
            far things came.
        title: what the run shows; the story's first docstring line or its name by default.
        client, era, connect: as for `connect_stdio`.
        env, cwd, times: as for `connect_stdio`; not for a URL.
        headers: as for `connect_http`; not for a command.

    Raises:
        ValueError, TypeError: an argument cannot be used.
        McpSimError: as for `connect_stdio` or `connect_http`, unless `check` is false.
        Exception: whatever the story raises, unless `check` is false.
    """
    shown = title or title_of(story)
    session: Session
    if (command is None) == (url is None):
        raise ValueError("Say which server: either command=[...] or url='...'.")
    if command is not None:
        if headers is not None:
            raise ValueError("headers are for a url: a process has none.")
        session = connect_stdio(
            command, client=client, era=era, env=env, cwd=cwd, connect=connect, title=shown, times=times
        )
    else:
        if not (env is None and cwd is None and times is None):
            raise ValueError("env, cwd and times are for a command: the server at a url runs already.")
        session = connect_http(
            url or "", client=client, era=era, headers=headers, connect=connect, title=shown
        )
    # A Ctrl-C arrives in this thread; leaving the block then cancels the story, which ends the server.
    with start_blocking_portal(backend_options=_loop_options()) as portal:
        playing = portal.start_task_soon(_play, session, story)
        try:
            value = playing.result()
        except Exception as error:
            if check:
                raise
            return Run(session.recording, error=error)
    return Run(session.recording, value=value)


async def _play(session: Session, story: Story) -> Any:
    async with session:
        return await value_of(story(session.client))


def _loop_options() -> dict[str, Any]:
    # Jupyter on Windows sets a loop policy whose loops cannot start processes.
    if sys.platform == "win32":
        return {"loop_factory": asyncio.ProactorEventLoop}
    return {}
