"""Run what a learner wrote. Whatever goes wrong in it becomes a sentence, never a traceback, never a hang."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Final, cast

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.showing import describe_error, name_of
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.errors import McpSimError, ProtocolError, SimulationError, Stuck
from mcpsim.recording import Recording
from mcpsim.recording.run import Run
from mcpsim.server import Server
from mcpsim.simulation import Simulation, VirtualTimeLoop
from mcpsim.simulation.watchdog import NeverYields
from mcpsim.transports.link import Stdio, StreamableHttp

PATIENCE_S: Final = 10.0
SHORTEST_S: Final = 0.5
MAX_WIRE_EVENTS: Final = 1_000
MAX_VIRTUAL_S: Final = 3_600.0

_PLAY_IT: Final = "Play the story yourself with `simulate` and look at the messages."
_CATCH_IT: Final = (
    "The server's error comes as an exception. Catch it where you ask: `except ProtocolError as error`."
)
_NO_LOOKS: Final[Mapping[type[BaseException], str]] = {}
_PLAIN: Final = "{name} is a `def` and no `async def`: it can wait for no answer."
_ASYNC: Final = "Begin it with `async def`, and write `await` before each call of the client's methods."
_ASK_FOR_THE_KEY: Final = "There is no such key then: ask by `in`, or take it by `.get`."
_CALL_IT: Final = "Call it yourself with these arguments, in a cell of your own."


def is_placeholder(value: object) -> bool:
    """Whether this is the `...` of a starter."""
    return value is ...


def require_function(answer: object) -> None:
    """The answer can be called.

    Raises:
        NotYet: it cannot.
    """
    if not callable(answer):
        raise NotYet(f"This is not a function: it is {_kind(answer)}.", look="Pass the function itself.")


def _no_remarks(recording: Recording) -> None:
    """Nothing to say about it."""


class Learner:
    """Runs a learner's functions and stories for one check.

    Args:
        patience_s: how long all of that may take, in seconds of the wall clock from now on. In a browser,
            where there are no threads, one call that never ends is ended with the kernel alone.
    """

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._until = time.monotonic() + patience_s

    def call(self, function: Any, *arguments: Any, on: str = "", rule: Rule | None = None) -> Any:
        """Call a plain function and return what it returns.

        Args:
            on: what it is called with, for a sentence such as "… raised KeyError on {on}".
            rule: the rule that decides what it should return.

        Raises:
            NotYet: it is no function, it raised, or it did not come to its end.
        """
        require_function(function)
        where = f" on {on}" if on else ""
        call = _Call(function, arguments)
        # The function may empty a list or a dict that it is given.
        given = tuple(map(_kept, arguments))
        # On a loop, because its watchdog ends what never gives control back.
        loop = VirtualTimeLoop(step_limit_s=self._step_limit_s())
        try:
            loop.call_soon(call.run)
            loop.run_until(lambda: call.is_done)
        except Stuck:
            raise self._too_long(function, where) from None
        finally:
            loop.close()
        if call.error is not None:
            found = _raised(function, call.error, where, _CALL_IT, rule=rule)
            if found.look.endswith(_CALL_IT) and arguments:
                found.arguments = given
            raise found
        if inspect.iscoroutine(call.value):
            call.value.close()
            raise NotYet(
                f"{name_of(function)} is an `async def`; it is called without `await`.",
                look="Begin it with `def` alone: nothing in it has to wait.",
            )
        self._hurry(function, where)
        return call.value

    def play(
        self,
        story: Any,
        *arguments: Any,
        server: Server,
        client: Client | Mapping[str, Client] | None = None,
        transport: Stdio | StreamableHttp | None = None,
        seed: int | str = 0,
        title: str = "Your story",
        judge: Callable[[Recording], None] = _no_remarks,
        written: Any = None,
        looks: Mapping[type[BaseException], str] = _NO_LOOKS,
        **setting: Any,
    ) -> Run:
        """Play a story of the learner's on the virtual clock.

        Args:
            arguments: what the story gets after its client.
            server, client, transport, seed: as for `simulate`.
            title: what the recording is called.
            judge: looks at the recording, also where the story raised: what it sees is often the reason. It
                raises NotYet.
            written: what the learner wrote, where that is not the story but something that the story uses.
            looks: what to look at next where the story raises one of these.
            setting: more of what `simulate` takes, such as `faults`, `twist`, `connect`, `gateway`.

        Raises:
            NotAttempted: the story returned `...`.
            NotYet: it is no function, it raised, it did not come to its end, or it sent and received more
                than 1,000 messages.
        """
        if not callable(story):
            raise NotYet(
                f"This is not a story: it is {_kind(story)}.", look="Pass the async function itself."
            )
        own = story if written is None else written
        plain = _Plain()
        simulation = Simulation(
            _bounded(story, arguments, plain),
            server=server,
            client=client,
            transport=transport,
            seed=seed,
            title=title,
            step_limit_s=self._step_limit_s(),
            **setting,
        )
        try:
            with simulation:
                run = self._finished(simulation, own)
        except NotYet:
            raise
        except SimulationError as error:
            seen = f"The run could not go on. {error}"
            raise NotYet(seen, look=_PLAY_IT, recording=simulation.recording) from None
        except BaseException as error:
            raise _raised(own, error, "", _PLAY_IT, simulation.recording) from None
        if isinstance(run.error, _StoryTooLong):
            raise NotYet(
                f"{name_of(own)} was not at its end after an hour of simulated time.",
                look="What does it wait for, or which loop goes on?",
                recording=run.recording,
            )
        if run.error is None and is_placeholder(run.value):
            raise NotAttempted
        look = next((text for kind, text in looks.items() if isinstance(run.error, kind)), _PLAY_IT)
        error = None if run.error is None else _raised(own, run.error, "", look, run.recording)
        is_plain = written is None and plain.is_so and inspect.isfunction(story)
        try:
            judge(run.recording)
        except NotYet as found:
            said = [found.seen] if error is None else [found.seen, error.seen]
            if not isinstance(run.error, ProtocolError):
                # An error of the server is what came of the messages. Any other one comes first.
                said.reverse()
            if is_plain:
                said, look = [_PLAIN.format(name=name_of(own)), *said], _ASYNC
            else:
                look = f"{_first_of_all(run.error)}{found.look}"
            raise NotYet(" ".join(said), found.rule, look, run.recording) from None
        if error is not None:
            raise error
        return run

    def _finished(self, simulation: Simulation, own: object) -> Run:
        for _ in range(MAX_WIRE_EVENTS):
            if not simulation.step():
                return simulation.finish()
            self._hurry(own)
        raise NotYet(
            f"{name_of(own)} had sent and received {MAX_WIRE_EVENTS} messages and was not at its end.",
            look="Does it try again for ever? Look at each answer first, and give up after some tries.",
        )

    def _step_limit_s(self) -> float:
        # A watchdog bites where nothing has moved between two looks, so between once and twice this time.
        return max(self._until - time.monotonic(), SHORTEST_S) / 2

    def _hurry(self, function: object, where: str = "") -> None:
        if time.monotonic() > self._until:
            raise self._too_long(function, where)

    def _too_long(self, function: object, where: str) -> NotYet:
        return NotYet(
            f"{name_of(function)} did not come to its end within {self._patience_s:g} s{where}.",
            look="Is there a loop whose condition never becomes false?",
        )


class _Call:
    """One call of a function, and what came of it."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._function = function
        self._arguments = arguments
        self.is_done = False
        self.value: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.value = self._function(*self._arguments)
        except NeverYields:
            raise
        except BaseException as error:
            self.error = error
        finally:
            self.is_done = True


def _kept(argument: Any) -> Any:
    return copy(argument) if type(argument) in (list, dict) else argument


class _Plain:
    """Whether a story is a function that is not async: it came to its end without a wait."""

    is_so = False


class _StoryTooLong(Exception):
    """The story was still waiting at the end of the time that it has."""


def _bounded(story: Callable[..., Any], arguments: tuple[Any, ...], plain: _Plain) -> Callable[..., Any]:
    """The story with its further arguments, and with an end."""

    async def bounded(*clients: Client) -> Any:
        with anyio.move_on_after(MAX_VIRTUAL_S):
            plain.is_so = not inspect.iscoroutinefunction(story)
            value = story(*clients, *arguments)
            plain.is_so = not inspect.isawaitable(value)
            return value if plain.is_so else await value
        raise _StoryTooLong

    return bounded


def _raised(
    function: object,
    error: BaseException,
    where: str,
    look: str,
    recording: Recording | None = None,
    rule: Rule | None = None,
) -> NotYet:
    error = _first(error)
    if isinstance(error, KeyboardInterrupt):
        return NotYet("The check was stopped before it was done.", look="Run the cell again.")
    if isinstance(error, ProtocolError):
        look = _CATCH_IT
    elif isinstance(error, KeyError):
        look = f"{_ASK_FOR_THE_KEY} {look}"
    seen = f"{name_of(function)} raised {describe_error(error, function)}{where}."
    return NotYet(seen, rule, look, recording)


def _first(error: BaseException) -> BaseException:
    """Of what several tasks met at the same time, what the first one met."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _first_of_all(error: BaseException | None) -> str:
    """What to do before what the messages suggest; errors of the project's own come of the messages."""
    error = None if error is None else _first(error)
    if error is None or isinstance(error, McpSimError | TimeoutError):
        return ""
    return f"{_ASK_FOR_THE_KEY} " if isinstance(error, KeyError) else "Mend that error first. "


def _kind(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
