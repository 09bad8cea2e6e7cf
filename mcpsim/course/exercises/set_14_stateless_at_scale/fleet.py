"""Stories with several clients, several replicas behind a gateway, and replicas that die."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, cast

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.learner import MAX_VIRTUAL_S, Learner
from mcpsim.course.exercises.showing import describe_error, name_of
from mcpsim.course.exercises.verdict import NotYet
from mcpsim.errors import SimulationError
from mcpsim.gateway import Gateway
from mcpsim.recording import Recording
from mcpsim.server import Server
from mcpsim.simulation import Simulation
from mcpsim.transports.faults import Fault
from mcpsim.transports.link import StreamableHttp

JITTER_MS: Final = 15.0

Visit = Callable[[str, Client], Awaitable[None]]


class Fleet(Learner):
    """Plays what a learner wrote with many clients at a time.

    Args:
        learner: whose time is used up.
    """

    def __init__(self, learner: Learner) -> None:
        super().__init__(learner._patience_s)
        self._until = learner._until

    def visit(
        self,
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

        async def story(*attached: Client) -> bool:
            with anyio.move_on_after(MAX_VIRTUAL_S):
                async with anyio.create_task_group() as tasks:
                    for lane, client in zip(clients, attached, strict=True):
                        tasks.start_soon(guarded, lane, client, name=f"the story of {lane}")
                return True
            return False

        simulation = Simulation(
            story,
            server=server,
            client=clients,
            transport=StreamableHttp(jitter_ms=JITTER_MS),
            gateway=Gateway(cache=False),
            replicas=replicas,
            faults=faults,
            seed=seed,
            title=title,
            step_limit_s=self._step_limit_s(),
        )
        try:
            with simulation:
                run = self._finished(simulation, written)
        except NotYet:
            raise
        except SimulationError as error:
            seen = f"The run could not go on. {error}"
            raise NotYet(seen, look=_PLAY_IT, recording=simulation.recording) from None
        except BaseException as error:
            raise _raised(written, error, simulation.recording) from None
        for error in (*errors, run.error):
            if error is not None:
                raise _raised(written, error, run.recording) from None
        if not run.value:
            raise NotYet(
                f"{name_of(written)} was not at its end after an hour of simulated time.",
                look="What does it wait for, or which loop goes on?",
                recording=run.recording,
            )
        return run.recording


_PLAY_IT: Final = "Play the story yourself with `simulate` and look at the messages."


def _raised(written: object, error: BaseException, recording: Recording) -> NotYet:
    seen = f"{name_of(written)} raised {describe_error(_first(error), written)}."
    return NotYet(seen, look="Which errors may come out of a call? Catch those.", recording=recording)


def _first(error: BaseException) -> BaseException:
    """Of what several clients met at the same time, what the first one met."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
