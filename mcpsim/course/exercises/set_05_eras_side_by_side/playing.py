"""Play a learner's story where something goes wrong on the way, or a peer is not like the others.

`Learner.play` plays in a world in which everything works. Here there are faults and twists as well.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.learner import MAX_VIRTUAL_S, MAX_WIRE_EVENTS, is_placeholder
from mcpsim.course.exercises.showing import describe_error, name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet
from mcpsim.errors import SimulationError
from mcpsim.recording import Recording
from mcpsim.recording.run import Run, single
from mcpsim.server import Server
from mcpsim.simulation import Simulation
from mcpsim.transports.faults import Fault
from mcpsim.transports.link import Stdio, StreamableHttp
from mcpsim.transports.twists import MakeTwist

#: How long one step of the learner's code may take, in seconds of the wall clock.
STEP_LIMIT_S: Final = 1.0

_PLAY_IT: Final = "Play it yourself with `simulate`, and look at the messages."


def play(
    story: Callable[[Client], Any],
    *,
    written: Any,
    server: Server,
    client: Client,
    transport: Stdio | StreamableHttp,
    seed: int,
    title: str,
    judge: Callable[[Recording], None],
    faults: Sequence[Fault] = (),
    twist: MakeTwist | None = None,
    connect: bool = True,
) -> Run:
    """Play a story that uses what the learner wrote.

    Args:
        written: what the learner wrote.
        server, client, transport, seed, faults, twist, connect: as for `simulate`.
        title: what the recording is called.
        judge: looks at the recording, also where the story raised: what it sees is often the reason. It
            raises NotYet.

    Raises:
        NotAttempted: the story returned `...`.
        NotYet: what was written is no function, it raised, it did not come to its end, or it sent and
            received more than 1,000 messages.
    """
    if not callable(written):
        raise NotYet(
            f"This is not a function: it is {show(written, 60)}.", look="Pass the async function itself."
        )
    simulation = Simulation(
        _bounded(story),
        server=server,
        client=client,
        transport=transport,
        seed=seed,
        faults=faults,
        twist=twist,
        connect=connect,
        title=title,
        step_limit_s=STEP_LIMIT_S,
    )
    try:
        with simulation:
            run = _finished(simulation, written)
    except NotYet:
        raise
    except SimulationError as error:
        seen = f"The run could not go on. {error}"
        raise NotYet(seen, look=_PLAY_IT, recording=simulation.recording) from None
    except KeyboardInterrupt:
        raise NotYet("The check was stopped before it was done.", look="Run the cell again.") from None
    except BaseException as error:
        raise _raised(written, error, simulation.recording) from None
    if isinstance(run.error, TooLong):
        raise NotYet(
            f"{name_of(written)} was not at its end after an hour of simulated time.",
            look="What does it wait for, or which loop goes on?",
            recording=run.recording,
        )
    if run.error is None and is_placeholder(run.value):
        raise NotAttempted
    error = None if run.error is None else _raised(written, run.error, run.recording)
    try:
        judge(run.recording)
    except NotYet as found:
        seen = found.seen if error is None else f"{found.seen} {error.seen}"
        raise NotYet(seen, found.rule, found.look, run.recording) from None
    if error is not None:
        raise error
    return run


class TooLong(Exception):
    """The story was still waiting at the end of the time that it has."""


def _bounded(story: Callable[[Client], Any]) -> Callable[[Client], Any]:
    async def bounded(client: Client) -> Any:
        with anyio.move_on_after(MAX_VIRTUAL_S):
            value = story(client)
            return await value if inspect.isawaitable(value) else value
        raise TooLong

    return bounded


def _finished(simulation: Simulation, written: object) -> Run:
    for _ in range(MAX_WIRE_EVENTS):
        if not simulation.step():
            return simulation.finish()
    raise NotYet(
        f"{name_of(written)} had sent and received {MAX_WIRE_EVENTS} messages and was not at its end.",
        look="Does it try again for ever, or without a pause? Try once, look at the answer, then decide.",
        recording=None,
    )


def _raised(written: object, error: BaseException, recording: Recording) -> NotYet:
    said = describe_error(single(error), written)
    return NotYet(f"{name_of(written)} raised {said}.", None, _PLAY_IT, recording)
