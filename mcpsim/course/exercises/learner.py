"""Run what a learner wrote. Whatever goes wrong in it becomes a sentence, never a traceback, never a hang."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.patience import PATIENCE_S, Patience
from mcpsim.course.exercises.showing import describe_error, name_of
from mcpsim.course.exercises.verdict import NotAttempted, NotYet
from mcpsim.errors import SimulationError
from mcpsim.recording.run import Run
from mcpsim.server import Server
from mcpsim.simulation import Simulation
from mcpsim.simulation.watchdog import NeverYields
from mcpsim.transports.faults import Fault
from mcpsim.transports.link import Stdio, StreamableHttp

MAX_WIRE_EVENTS: Final = 1_000
MAX_VIRTUAL_S: Final = 3_600.0


def is_placeholder(value: object) -> bool:
    """Whether this is the `...` of a starter."""
    return value is ...


class _StoryTooLong(Exception):
    """The story was still waiting at the end of the time that it has."""


class Learner:
    """Runs a learner's functions and stories for a check.

    Args:
        patience_s: how long one call of a function, or one run of a story, may take, in seconds.
    """

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self.patience_s = patience_s

    def call(self, function: Any, *arguments: Any, on: str = "") -> Any:
        """Call a plain function and return what it returns.

        Args:
            on: what it is called with, for a sentence such as "… raised KeyError on {on}".

        Raises:
            NotYet: it is no function, it raised, or it did not come to its end.
        """
        if not callable(function):
            raise NotYet(f"This is no function but {_kind(function)}.", look="Pass the function itself.")
        where = f" on {on}" if on else ""
        patience = Patience(self.patience_s)
        try:
            with patience:
                value = function(*arguments)
        except KeyboardInterrupt as error:
            raise self._interrupted(function, error, where) from None
        except BaseException as error:
            raise NotYet(
                f"{name_of(function)} raised {describe_error(error, function)}{where}.",
                look="Call it yourself with these arguments, in a cell of your own.",
            ) from None
        if inspect.iscoroutine(value):
            value.close()
            raise NotYet(
                f"{name_of(function)} is an `async def`; it is called without `await`.",
                look="Begin it with `def` alone: nothing in it has to wait.",
            )
        return value

    def play(
        self,
        story: Any,
        *arguments: Any,
        server: Server,
        client: Client | Mapping[str, Client] | None = None,
        transport: Stdio | StreamableHttp | None = None,
        seed: int | str = 0,
        faults: Sequence[Fault] = (),
        title: str = "Your story",
        written: Any = None,
    ) -> Run:
        """Play a story of the learner's on the virtual clock.

        Args:
            arguments: what the story gets after its client.
            server, client, transport, seed, faults: as for `simulate`.
            title: what the recording is called.
            written: what the learner wrote, where it is not the story itself but something that the story uses.

        Raises:
            NotAttempted: the story returned `...`.
            NotYet: it is no function, it raised, it did not come to its end, or 1,000 messages were too few for
                it.
        """
        if not callable(story):
            raise NotYet(f"This is no story but {_kind(story)}.", look="Pass the async function itself.")

        own = story if written is None else written

        async def bounded(*clients: Client) -> Any:
            with anyio.move_on_after(MAX_VIRTUAL_S):
                value = story(*clients, *arguments)
                return await value if inspect.isawaitable(value) else value
            raise _StoryTooLong

        simulation = Simulation(
            bounded,
            server=server,
            client=client,
            transport=transport,
            seed=seed,
            faults=faults,
            title=title,
        )
        patience = Patience(self.patience_s)
        try:
            with patience:
                run = _finished(simulation, own)
        except NotYet:
            raise
        except SimulationError as error:
            if patience.ran_out:
                raise self._interrupted(own, NeverYields(), "") from None
            raise NotYet(
                f"The run could not go on. {error}", _no_rule, _PLAY_IT, simulation.recording
            ) from None
        except KeyboardInterrupt as error:
            raise self._interrupted(own, error, "") from None
        except BaseException as error:
            said = describe_error(error, own)
            raise NotYet(f"{name_of(own)} raised {said}.", _no_rule, _PLAY_IT) from None
        finally:
            simulation.close()
        if isinstance(run.error, _StoryTooLong):
            raise NotYet(
                f"{name_of(own)} was not at its end after an hour of simulated time.",
                look="What does it wait for, or which loop goes on?",
                recording=run.recording,
            )
        if run.error is not None:
            said = describe_error(run.error, own)
            raise NotYet(f"{name_of(own)} raised {said}.", _no_rule, _PLAY_IT, run.recording)
        if is_placeholder(run.value):
            raise NotAttempted
        return run

    def _interrupted(self, function: object, error: KeyboardInterrupt, where: str) -> NotYet:
        if isinstance(error, NeverYields):
            return NotYet(
                f"{name_of(function)} did not come to its end within {self.patience_s:g} s{where}.",
                look="Is there a loop whose condition never becomes false?",
            )
        return NotYet("The check was stopped before it was done.", look="Run the cell again.")


_no_rule: Final = None
_PLAY_IT: Final = "Play the story yourself with `simulate` and look at the messages."


def _finished(simulation: Simulation, story: object) -> Run:
    for _ in range(MAX_WIRE_EVENTS):
        if not simulation.step():
            return simulation.finish()
    raise NotYet(
        f"{name_of(story)} had sent and received {MAX_WIRE_EVENTS} messages and was not at its end.",
        look="Does it try again for ever? Try once, look at the answer, then decide.",
    )


def _kind(value: object) -> str:
    return "nothing (None)" if value is None else f"of type {type(value).__name__}"
