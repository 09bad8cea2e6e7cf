"""Play a learner's code where something goes wrong on the way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.showing import name_of
from mcpsim.course.exercises.verdict import NotYet
from mcpsim.course.exercises.worlds import World
from mcpsim.errors import SimulationError
from mcpsim.server import Server
from mcpsim.simulation import Run, simulate
from mcpsim.transports.faults import Fault

STEP_LIMIT_S: Final = 3.0
EVENT_LIMIT: Final = 2_000
MAX_VIRTUAL_S: Final = 600.0


def play(
    story: Callable[[Client], Awaitable[Any]],
    *,
    server: Server,
    client: Client,
    world: World,
    faults: Sequence[Fault],
    title: str,
    written: object,
) -> Run:
    """Play a story that catches what the learner's code raises.

    Args:
        written: what the learner wrote, for the sentence of an error.

    Raises:
        NotYet: it did not come to its end.
    """

    async def bounded(client: Client) -> Any:
        with anyio.move_on_after(MAX_VIRTUAL_S):
            return await story(client)
        return _Endless()

    try:
        run = simulate(
            bounded,
            server=server,
            client=client,
            transport=world.transport,
            seed=world.seed,
            faults=faults,
            title=title,
            check=False,
            step_limit_s=STEP_LIMIT_S,
            event_limit=EVENT_LIMIT,
        )
    except SimulationError as error:
        raise NotYet(f"The run could not go on. {error}", look="Which loop has no end?") from None
    if isinstance(run.value, _Endless):
        raise NotYet(
            f"{name_of(written)} was not at its end after ten minutes of simulated time.",
            look="What does it wait for, or which loop goes on?",
            recording=run.recording,
        )
    return run


class _Endless:
    """What an endless story comes to."""
