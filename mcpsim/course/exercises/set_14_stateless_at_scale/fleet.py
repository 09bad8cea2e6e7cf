"""What a learner wrote, played with several clients and several replicas behind a gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.learner import Learner
from mcpsim.gateway import Gateway
from mcpsim.recording import Recording
from mcpsim.server import Server
from mcpsim.transports.faults import Fault
from mcpsim.transports.link import StreamableHttp

JITTER_MS: Final = 15.0

Visit = Callable[[str, Client], Awaitable[None]]


def visit_all(
    learner: Learner,
    written: object,
    visit: Visit,
    *,
    server: Server,
    clients: Mapping[str, Client],
    replicas: int,
    faults: Sequence[Fault],
    seed: int,
    title: str,
) -> Recording:
    """Let all clients come at the same time.

    Args:
        written: what the learner wrote, for what is said of it.
        visit: what each of them does; gets its lane and the client.
        server, clients, replicas, faults, seed, title: as for `simulate`.

    Raises:
        NotYet: what the learner wrote raised, or did not come to its end.
    """
    errors: list[Exception] = []

    async def guarded(lane: str, client: Client) -> None:
        try:
            await visit(lane, client)
        except Exception as error:
            errors.append(error)

    async def story(*attached: Client) -> None:
        async with anyio.create_task_group() as tasks:
            for lane, client in zip(clients, attached, strict=True):
                tasks.start_soon(guarded, lane, client, name=f"the story of {lane}")
        # One client's trouble does not end the visit of another, and the first one is told.
        if errors:
            raise errors[0]

    run = learner.play(
        story,
        written=written,
        server=server,
        client=clients,
        transport=StreamableHttp(jitter_ms=JITTER_MS),
        gateway=Gateway(cache=False),
        replicas=replicas,
        faults=faults,
        seed=seed,
        title=title,
    )
    return run.recording
