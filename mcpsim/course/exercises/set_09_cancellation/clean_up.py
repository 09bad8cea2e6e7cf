"""Exercise: a tool that cleans up when it is stopped, whoever wins the race."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.handler import Handler
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.course.exercises.worlds import World, every_world
from mcpsim.errors import ProtocolError, RequestTimeout
from mcpsim.recording import Recording
from mcpsim.server import Context, Server

HEATING_S: Final = 0.2
COOLING_S: Final = 0.4
BREWING_S: Final = 2.0
_POURED_S: Final = HEATING_S + BREWING_S

STOPS: Final = Rule(
    "A server that gets a cancellation SHOULD stop processing the request, free what it held, and not send a "
    "response.",
    "basic/patterns/cancellation#behavior-requirements",
)
RACES: Final = Rule(
    "A cancellation may arrive when the work is done. Both parties MUST handle that gracefully.",
    "basic/patterns/cancellation#timing-considerations",
)


class OutOfCups(Exception):
    """There is no cup left."""


class Machine:
    """A coffee machine.

    Args:
        cups: how many cups it has.

    Attributes:
        hot: whether it is heated. It is from the moment in which heating begins, until it is cooled down.
        poured: how many cups of coffee it has poured.
        spoilt: what is wrong with a cup, in words, or "".
    """

    def __init__(self, cups: int = 1) -> None:
        self.hot = False
        self.poured = 0
        self.spoilt = ""
        self._cups = cups
        self._heated_s = 0.0

    async def heat(self) -> None:
        """Heat up. Takes 0.2 seconds."""
        self.hot = True
        self._heated_s = anyio.current_time()
        await anyio.sleep(HEATING_S)

    async def cool(self) -> None:
        """Cool down. Takes 0.4 seconds; a machine that is left earlier stays hot."""
        await anyio.sleep(COOLING_S)
        self.hot = False

    def pour(self) -> None:
        """Pour a cup of coffee.

        Raises:
            OutOfCups: there is no cup left.
        """
        if self._cups == 0:
            raise OutOfCups("There is no cup left.")
        self._cups -= 1
        self.poured += 1
        after_s = anyio.current_time() - self._heated_s
        if not self.hot:
            self.spoilt = "from a cold machine"
        elif after_s < _POURED_S - 1e-6:
            self.spoilt = f"{after_s:.1f} s after heating began, and not after {_POURED_S:.1f} s"


def kitchen(brew: Callable[..., Any]) -> Server:
    """A server with one machine and two tools.

    Args:
        brew: the handler of the tool `brew`; it gets the context, the machine and the seconds.
    """
    machine = Machine()
    server = Server("kitchen")

    @server.tool("brew")
    async def make_coffee(context: Context) -> str:
        """Brew a cup of coffee. Takes 2.6 seconds."""
        return str(await brew(context, machine, BREWING_S))

    @server.tool()
    def look() -> str:
        """Say how the machine is."""
        return f"The machine is {'hot' if machine.hot else 'cold'}, and {_cups(machine.poured)} poured."

    return server


@dataclass(frozen=True, slots=True)
class Scene:
    """One call of the tool.

    Attributes:
        what: what happens.
        stop_s: when the user presses Stop, in seconds after the call; None for never.
        poured: how many cups there are then.
        is_answered: whether a response comes.
        cups: how many cups the machine has.
        ends_quietly: whether the handler may come to its end by itself although it was stopped.
    """

    what: str
    stop_s: float | None
    poured: int
    is_answered: bool
    cups: int = 1
    ends_quietly: bool = True


SCENES: Final = (
    Scene("nobody presses Stop", None, 1, True),
    Scene("Stop is pressed while the coffee is brewed", 1.2, 0, False, ends_quietly=False),
    Scene("Stop is pressed while the machine heats up", 0.1, 0, False, ends_quietly=False),
    Scene(
        "Stop is pressed when the coffee is poured, while the machine cools down", _POURED_S + 0.2, 1, False
    ),
    Scene("Stop is pressed after the answer has come", _POURED_S + COOLING_S + 0.5, 1, True),
    Scene("there is no cup", None, 0, True, cups=0),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Let a server use the handler, in all scenes, eras and transports."""
    runs = 0
    for scene in SCENES:
        for world in every_world():
            _play(answer, learner, world, scene)
            runs += 1
    return Passed(
        f"In {runs} runs the machine was cold in the end: when the call was stopped early, late, too late or "
        "never, and when there was no cup.",
        STOPS,
    )


def _play(answer: object, learner: Learner, world: World, scene: Scene) -> None:
    machine = Machine(scene.cups)
    handler = Handler(answer)
    server = Server("kitchen")
    swallowed: list[object] = []

    @server.tool()
    async def brew(context: Context) -> str:
        """Brew a cup of coffee."""
        value = await handler.call(context, machine, BREWING_S)
        if context.silent and not scene.ends_quietly:
            swallowed.append(value)
        return str(value)

    async def story(client: Client) -> Any:
        value: Any = None
        try:
            with anyio.move_on_after(scene.stop_s):
                value = await client.request("tools/call", {"name": "brew", "arguments": {}})
        except ProtocolError as error:
            value = error
        except RequestTimeout:
            handler.is_endless = True
        if scene.stop_s is not None:
            await anyio.sleep(max(0.0, scene.stop_s - anyio.current_time()))
        await anyio.sleep(BREWING_S + 2 * COOLING_S + 1)
        return value

    def judge(recording: Recording) -> None:
        handler.require_no_error(recording, expected=OutOfCups if scene.cups == 0 else None)

    run = learner.play(
        story,
        server=server,
        client=Client(era=world.era),
        transport=world.transport,
        seed=world.seed,
        title=f"Coffee: {scene.what}",
        judge=judge,
        written=answer,
    )
    where = f"In the scene in which {scene.what} ({world}),"
    _compare(where, answer, scene, machine, run.recording)
    if swallowed:
        raise NotYet(
            f"{where} {name_of(answer)} went on after the cancellation and returned {show(swallowed[0])}.",
            STOPS,
            "Let the cancellation out of your function. `finally` does; an `except` needs a `raise`.",
            run.recording,
        )
    _compare_answer(where, scene, run.value, run.recording)


def _compare(where: str, answer: object, scene: Scene, machine: Machine, recording: Recording) -> None:
    if machine.poured != scene.poured:
        too_many = machine.poured > scene.poured
        raise NotYet(
            f"{where} {_cups(machine.poured)} poured. There should be {'one' if scene.poured else 'none'}.",
            STOPS if too_many else RACES,
            "After a cancellation nothing more is made: the shield is for the cleaning up alone."
            if too_many
            else "Heat, sleep for `seconds`, pour, in this order. What was poured stays poured.",
            recording,
        )
    if machine.spoilt:
        raise NotYet(
            f"{where} a cup is poured {machine.spoilt}.",
            look="Heat, sleep for `seconds`, pour, and only then cool down: in this order, each with `await` "
            "but for `pour`.",
            recording=recording,
        )
    if machine.hot:
        raise NotYet(
            f"{where} the machine is still hot in the end.",
            STOPS,
            "Cool down in `finally`, whatever happens from the first `await` on. A cancelled function is "
            "cancelled at each `await`, there too, unless it stands in `anyio.CancelScope(shield=True)`.",
            recording,
        )


def _cups(count: int) -> str:
    return "no cup is" if count == 0 else "one cup is" if count == 1 else f"{count} cups are"


def _compare_answer(where: str, scene: Scene, value: Any, recording: Recording) -> None:
    seen = show(value)
    result = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    failed = isinstance(value, ProtocolError) or result.get("isError") is True
    text = " ".join(str(block.get("text", "")) for block in result.get("content", []))
    if scene.cups == 0:
        if not failed:
            raise NotYet(
                f"{where} the answer is a result like any other.",
                look="Let the error of `pour` out, after the cleaning up: the server makes an answer of it.",
                recording=recording,
            )
    elif scene.is_answered and text != "Coffee":
        raise NotYet(
            f"{where} the answer says {show(text) if text else seen}.",
            look='Return "Coffee" at the end.',
            recording=recording,
        )


TITLE: Final = "Leave the machine cold"

TASK: Final = Task(
    name="clean_up",
    title=TITLE,
    text="""\
Write the handler of a tool that brews coffee: heat the machine, wait for `seconds` (`anyio.sleep`), pour,
cool the machine down, and return `"Coffee"`.

| | |
|---|---|
| `await machine.heat()` | takes 0.2 s; the machine is hot from the moment in which this begins |
| `machine.pour()` | pours a cup, at once; raises an error if there is no cup left |
| `await machine.cool()` | takes 0.4 s; if it is not finished, the machine stays hot |

The user may press Stop at any time, also much too late. Whatever happens, the machine has to be cold in the
end. When the call is stopped before the coffee is poured, no coffee is poured. Cancellations and errors come
out of your function again.

`ex.kitchen(brew)` is a server with your tool and a machine; its tool `look` says how the machine is.""",
    answer="brew",
    starter='''\
import anyio

async def brew(context, machine, seconds):
    """Brew a cup of coffee, and leave a cold machine behind."""
    return ...''',
    hints=(
        "A cancellation comes out of an `await`, like an exception. What runs whatever comes out?",
        "`try` begins before the machine is heated: it is hot from the first moment on. `finally` cools it "
        "down.",
        "In `finally` the function is still cancelled: `await machine.cool()` would be left at once. Put it "
        "under `with anyio.CancelScope(shield=True):`, and nothing else.",
    ),
    solution=(
        """\
import anyio

async def brew(context, machine, seconds):
    try:
        await machine.heat()
        await anyio.sleep(seconds)
        machine.pour()
    finally:
        with anyio.CancelScope(shield=True):
            await machine.cool()
    return "Coffee\"""",
    ),
    why="`finally` runs after an end, an error and a cancellation alike. The shield lets the cooling finish, "
    "and it is short. Whether the cup was poured is settled by then, and nobody can undo it.",
    grade=grade,
    pages=(
        ("behaviour", "basic/patterns/cancellation#behavior-requirements"),
        ("timing", "basic/patterns/cancellation#timing-considerations"),
    ),
    points=20,
    play="""\
async def stop_it(client):
    with anyio.move_on_after(1):
        await client.call_tool("brew")
    await anyio.sleep(1)
    return text_of(await client.call_tool("look"))
simulate(stop_it, server=ex.kitchen(brew), title="Stop", check=False)""",
)
