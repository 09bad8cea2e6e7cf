"""Exercise: give each request a progress token."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_integer, as_text
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.course.exercises.worlds import World, every_world
from mcpsim.course.servers import help_desk

FLOW: Final = "basic/patterns/progress#progress-flow"
TYPE: Final = Rule("A progress token MUST be a string or an integer.", FLOW)
UNIQUE: Final = Rule("A progress token MUST be unique across all active requests.", FLOW)

SEEDS: Final = (1, 2, 3)
STEPS: Final = 60
#: What other parts of the program may have chosen.
_FOREIGN: Final[tuple[str | int, ...]] = (0, 1, 2, 3, 5, 8, "0", "1", "a", "report", "token", "")

Token = str | int


def grade(answer: object, learner: Learner) -> Passed:
    """Begin and end requests in many orders, then let a client use the function."""
    if is_placeholder(learner.call(answer, [], on="an empty list")):
        raise NotAttempted
    for seed in SEEDS:
        _live(answer, learner, Random(f"tokens:{seed}"))
    for world in every_world():
        _use(answer, learner, world)
    return Passed(
        f"{len(SEEDS) * STEPS} requests began and ended in changing orders, and no two active ones ever had "
        "the same token. On the wire each call got its own progress.",
        UNIQUE,
    )


def _live(answer: object, learner: Learner, rng: Random) -> None:
    active: list[Token] = rng.sample(_FOREIGN, 5)
    for _ in range(STEPS):
        if len(active) > 2 and rng.random() < 0.45:
            active.pop(rng.randrange(len(active)))
        active.append(_chosen(answer, learner, active))


def _chosen(answer: object, learner: Learner, active: list[Token]) -> Token:
    what = f"the active tokens {show(active)}"
    value = learner.call(answer, list(active), on=what, rule=UNIQUE)
    token = as_text(value) if isinstance(value, str) else as_integer(value)
    if token is None:
        raise NotYet(
            f"{name_of(answer)} returned {show(value)}, which is of type {type(value).__name__}, for {what}.",
            TYPE,
            "JSON tells true, numbers with a fraction, null and lists apart from integers and strings.",
        )
    if any(type(token) is type(one) and token == one for one in active):
        raise NotYet(
            f"{name_of(answer)} returned {show(token)} for {what}. That one is in use.",
            UNIQUE,
            "Look into the list: how many there are, or what you gave before, does not say which are free.",
        )
    return token


def _use(answer: object, learner: Learner, world: World) -> None:
    heard: list[list[float]] = [[], [], []]
    parts = Random(f"parts:{world.seed}").sample(range(1, 7), 3)
    found: list[NotYet] = []
    active: list[Token] = []

    async def export(client: Client, which: int) -> None:
        try:
            token = _chosen(answer, learner, active)
        except NotYet as fault:
            found.append(fault)
            return
        active.append(token)
        call: dict[str, Any] = {"name": "export_report", "arguments": {"parts": parts[which]}}

        def follow(progress: float, *rest: Any) -> None:
            heard[which].append(progress)

        await client.request("tools/call", call, meta={"progressToken": token}, on_progress=follow)
        active.remove(token)

    async def host(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            for which in range(3):
                tasks.start_soon(export, client, which)

    run = learner.play(
        host,
        server=help_desk(),
        client=Client(era=world.era),
        transport=world.transport,
        seed=world.seed,
        title=TITLE,
        written=answer,
    )
    if found:
        raise found[0]
    if heard != [list(range(1, count + 1)) for count in parts]:
        raise NotYet(
            f"Three calls at the same time, of {show(parts)} parts, heard {show(heard)}.",
            UNIQUE,
            "Does your function answer differently the second time?",
            run.recording,
        )


TITLE: Final = "Give tokens"

TASK: Final = Task(
    name="tokens",
    title=TITLE,
    text="""\
A client gives a token to each request of which it wants to see the progress. Write the function that chooses
it.

`active` is a list of the tokens of all requests that are active just now: some that your function gave, and
some that other parts of the program chose. They are strings and integers. Requests end in any order; the
tokens of those that have ended are not in the list any more.""",
    answer="choose_token",
    starter='''\
def choose_token(active):
    """A progress token for one more request, while those in `active` are in use."""
    return ...''',
    hints=(
        "Two questions: of which types may a token be? And what would two active requests with one token "
        "look like to the client?",
        "The number of active requests is no good token: begin three, end the first, and begin one more.",
        "Count up from 0 until you find a number that is not in the list. Or make a text that nobody else "
        "makes.",
    ),
    solution=(
        """\
from itertools import count

def choose_token(active):
    return next(number for number in count() if number not in active)""",
    ),
    why="What counts is only what is active now. A counter that never goes back is right as well, as long as "
    "nobody else counts in the same way.",
    grade=grade,
    pages=(("progress", FLOW),),
)
