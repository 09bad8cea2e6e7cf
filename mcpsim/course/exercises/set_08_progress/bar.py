"""Exercise: from notifications to a bar that never goes back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.course.exercises.worlds import World, every_world
from mcpsim.server import Context, Server

FLOW: Final = "basic/patterns/progress#progress-flow"
RISES: Final = Rule(
    "`progress` MUST increase with each notification. A total is optional, and nothing is said about how it "
    "changes.",
    FLOW,
)
OPTIONAL: Final = Rule("A `total` is optional: servers MAY omit it if it is unknown.", FLOW)
SEEDS: Final = (1, 2, 3)

Share = float | None
Step = tuple[float, float | None]


@dataclass(frozen=True, slots=True)
class Case:
    """One notification, and what the bar shows before it and after it."""

    what: str
    shown: Share
    progress: float
    total: float | None
    rule: Rule


CASES: Final = (
    Case("the first notification, with a total", None, 2, 8, RISES),
    Case("the next notification, with a total", 0.25, 4, 8, RISES),
    Case("the last notification", 0.5, 8, 8, RISES),
    Case("the first notification, without a total", None, 3, None, OPTIONAL),
    Case("a notification without a total, while the bar shows something", 0.5, 7, None, OPTIONAL),
    Case("a notification with a total of 0", 0.5, 1, 0, OPTIONAL),
    Case("the first notification, with a total of 0", None, 1, 0, OPTIONAL),
    Case("the first notification, with a total below 0", None, 1, -4, OPTIONAL),
    Case("a notification with a total below 0, and progress below that", 0.2, -6, -4, OPTIONAL),
    Case("a notification that has more than the total", 0.9, 11, 10, RISES),
    Case("a notification whose total has grown", 0.5, 6, 20, RISES),
    Case("a notification with fractions", None, 0.3, 1.2, RISES),
    Case("the first notification, nothing is done yet", None, 0, 5, RISES),
    Case("a notification whose progress is still below 0", None, -1, 4, RISES),
)


def expected(shown: Share, progress: float, total: float | None) -> Share:
    """What the bar should show after a notification."""
    if total is None or total <= 0:
        return shown
    share = min(max(progress / total, 0.0), 1.0)
    return share if shown is None else max(shown, share)


def grade(answer: object, learner: Learner) -> Passed:
    """Ask about single notifications, then about whole calls, then let a client use the function."""
    if is_placeholder(learner.call(answer, None, 1, 2, on="a first notification")):
        raise NotAttempted
    for case in CASES:
        _compare(answer, learner, case.shown, (case.progress, case.total), case.what, case.rule)
    for seed in SEEDS:
        shown: Share = None
        for step in _steps(Random(f"bar:{seed}"), 30):
            shown = _compare(answer, learner, shown, step, "one of many notifications", RISES)
    for world in every_world():
        _use(answer, learner, world)
    return Passed(
        f"{len(CASES)} notifications of all kinds and {len(SEEDS) * 30} in long rows move the bar as they "
        "should, and so do those of a real call. It never went back.",
        RISES,
    )


def _steps(rng: Random, count: int) -> Iterator[Step]:
    """Notifications that keep the rules: the progress increases, the total comes and goes and changes."""
    progress, total = 0.0, rng.uniform(5, 40)
    for _ in range(count):
        progress = round(progress + rng.uniform(0.1, 3), 2)
        if rng.random() < 0.2:
            total = max(1.0, total * rng.uniform(0.6, 2.2))
        yield progress, None if rng.random() < 0.25 else round(total, 2)


def _compare(answer: object, learner: Learner, shown: Share, step: Step, what: str, rule: Rule) -> Share:
    progress, total = step
    where = f"shown={show(shown)}, progress={progress:g}, total={show(total)}"
    value = learner.call(answer, shown, progress, total, on=f"{what} ({where})", rule=rule)
    wanted = expected(shown, progress, total)
    if not _is_same(value, wanted):
        look = "Is this the share that is done, and at least as much as was shown before?"
        if wanted is None or total is None or total <= 0:
            look = "Without a total that can be used no share can be calculated: what is shown stays."
        elif wanted == shown:
            look = "The user has seen more already: what is shown stays."
        elif wanted in (0.0, 1.0):
            look = "The bar stays between 0 and 1, whatever the numbers are."
        raise NotYet(
            f"{what[0].upper()}{what[1:]}: {where}. {name_of(answer)} returned {show(value)}, and "
            f"{show(wanted)} was expected.",
            rule,
            look,
        )
    return wanted


def _is_same(value: Any, wanted: Share) -> bool:
    if wanted is None:
        return value is None
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return False
    try:
        return math.isclose(float(value), wanted, rel_tol=1e-6, abs_tol=1e-6)
    except OverflowError:
        return False


def _reporting(steps: list[Step]) -> Server:
    server = Server("builder")

    @server.tool()
    async def build(context: Context) -> str:
        """Build something, and report how far it is."""
        for progress, total in steps:
            await anyio.sleep(0.1)
            await context.report_progress(progress, total)
        return "Built"

    return server


def _use(answer: object, learner: Learner, world: World) -> None:
    steps = list(_steps(Random(f"bar on the wire:{world.seed}"), 8))
    bars: list[Any] = [None]
    found: list[NotYet] = []

    async def story(client: Client) -> None:
        def follow(progress: float, total: float | None, message: str | None) -> None:
            try:
                bars.append(learner.call(answer, bars[-1], progress, total))
            except NotYet as fault:
                found.append(fault)
                bars.append(bars[-1])

        await client.call_tool("build", on_progress=follow)

    run = learner.play(
        story,
        server=_reporting(steps),
        client=Client(era=world.era),
        transport=world.transport,
        seed=world.seed,
        title=TITLE,
        written=answer,
    )
    if found:
        raise found[0]
    shown: Share = None
    for step, value in zip(steps, bars[1:], strict=False):
        shown = expected(shown, *step)
        if not _is_same(value, shown):
            raise NotYet(
                f"In a call over {world}, the bar should show {show(shown)} after {step[0]:g} of "
                f"{show(step[1])}, and shows {show(value)}.",
                RISES,
                "Does your function give the same answer to the same question every time?",
                run.recording,
            )


TITLE: Final = "A bar that never goes back"

TASK: Final = Task(
    name="bar",
    title=TITLE,
    text="""\
Write the function that says how long a progress bar is after a notification. Its length is a share: a number
from 0 (empty) to 1 (full).

- `shown` is the share that the bar shows now, or None where there was none to show yet;
- `progress` and `total` are those of the notification; `total` is None where the notification has none.

Return the share that the bar shows from now on, or None as long as there is none to show. A total of 0 or
less tells as little as none at all. The bar stays between 0 and 1, whatever the numbers are, and it never
goes back.""",
    answer="next_share",
    starter='''\
def next_share(shown, progress, total):
    """The share that the bar shows after this notification: from 0 to 1, or None."""
    return ...''',
    hints=(
        "Three cases: no total of use; a total, and nothing shown yet; a total, and something shown.",
        "Without a total, return what is shown. With one, calculate the share, and keep it between 0 and 1.",
        "`min(max(progress / total, 0), 1)` stays between 0 and 1. `max(shown, share)` never goes back; but "
        "`shown` may be None.",
    ),
    solution=(
        """\
def next_share(shown, progress, total):
    if total is None or total <= 0:
        return shown
    share = min(max(progress / total, 0), 1)
    return share if shown is None else max(shown, share)""",
    ),
    why="The rule makes `progress` increase, and not the share: a server may find out later that there is "
    "more to do.",
    grade=grade,
    pages=(("progress", FLOW),),
)
