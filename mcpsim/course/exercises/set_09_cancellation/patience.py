"""Exercise: a client with a timeout that progress renews, and a maximum that it does not."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, require_function
from mcpsim.course.exercises.plain import as_text
from mcpsim.course.exercises.showing import describe_error, name_of, show
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.course.exercises.worlds import World, every_world
from mcpsim.errors import RequestTimeout
from mcpsim.messages import Notification, Request, Response
from mcpsim.recording import Recording
from mcpsim.recording.events import CLOSED
from mcpsim.server import Context, Server

TIMEOUTS: Final = "basic/patterns/cancellation#timeouts"
QUIET: Final = Rule(
    "When no response comes within the timeout, the sender SHOULD cancel the request and stop waiting. "
    "Progress MAY begin the timeout anew.",
    TIMEOUTS,
)
MAXIMUM: Final = Rule(
    "Implementations SHOULD always enforce a maximum timeout, regardless of progress notifications.", TIMEOUTS
)
SIGNAL: Final = Rule(
    "A client that stops waiting SHOULD cancel the request: modern, over HTTP, by closing the response "
    "stream; on stdio by `notifications/cancelled`.",
    TIMEOUTS,
)

TOOL: Final = "work"
CANCELLED: Final = "notifications/cancelled"
#: How far from the right moment the client may give up, in milliseconds.
NEAR_MS: Final = 10
#: How long the story looks on afterwards.
AFTER_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Scene:
    """One call.

    Attributes:
        what: what the server does.
        steps_s: how long it works before each progress notification, in seconds.
        rest_s: how long it works after the last one.
        quiet_s, at_most_s: what the client is told.
        limit: which of the two limits ends it, or "" where it is answered.
    """

    what: str
    steps_s: tuple[float, ...]
    rest_s: float
    quiet_s: float
    at_most_s: float
    limit: str = ""


def _scenes(rng: Random) -> tuple[Scene, ...]:
    quiet = rng.choice((0.8, 1.0, 1.3))
    step = round(quiet * rng.uniform(0.5, 0.8), 2)
    return (
        Scene("answers soon", (), round(quiet / 2, 2), quiet, 8 * quiet),
        Scene("is silent", (), 40, quiet, 8 * quiet, "quiet"),
        Scene("takes long, and reports all the time", (step,) * 5, step, quiet, 8 * quiet),
        Scene("reports three times, and then no more", (step,) * 3, 40, quiet, 8 * quiet, "quiet"),
        Scene("reports without an end", (step,) * 12, 0, quiet, round(3.4 * quiet, 2), "maximum"),
        Scene("is silent, and the maximum is the shorter time", (), 40, 5 * quiet, quiet, "maximum"),
    )


def grade(answer: object, learner: Learner) -> Passed:
    """Let the function call a server that behaves in six ways."""
    calls = 0
    for world in every_world():
        for scene in _scenes(Random(f"patience:{world.seed}")):
            _play(answer, learner, world, scene)
            calls += 1
    return Passed(
        f"In {calls} calls the client waited as long as it should and no longer, and told the server when it "
        "gave up.",
        MAXIMUM,
    )


def _play(answer: object, learner: Learner, world: World, scene: Scene) -> None:
    server = Server("worker")

    @server.tool(TOOL)
    async def work(context: Context, pace: int) -> str:
        """Work for a while."""
        for number, step_s in enumerate(scene.steps_s, start=1):
            await anyio.sleep(step_s)
            await context.report_progress(number)
        await anyio.sleep(scene.rest_s)
        return f"Done at the pace {pace}"

    raised: list[Exception] = []
    pace = Random(f"pace:{world.seed}:{scene.what}").randrange(10, 99)

    async def story(client: Client) -> Any:
        function: Any = answer
        value = None
        try:
            value = await function(client, TOOL, {"pace": pace}, scene.quiet_s, scene.at_most_s)
        except (TimeoutError, RequestTimeout) as error:
            raised.append(error)
        await anyio.sleep(AFTER_S)
        return value

    where = (
        f"The server {scene.what} ({world}). The limits are {scene.quiet_s:g} s without news and "
        f"{scene.at_most_s:g} s altogether."
    )

    def judge(recording: Recording) -> None:
        _judge(recording, scene, where)

    require_function(answer)
    run = learner.play(
        story,
        server=server,
        client=Client(era=world.era),
        transport=world.transport,
        seed=world.seed,
        title=f"The server {scene.what}",
        judge=judge,
        written=answer,
    )
    if raised:
        raise NotYet(
            f"{where} {name_of(answer)} raised {describe_error(raised[0], answer)}.",
            QUIET,
            "Return None where you give up: `anyio.move_on_after` ends its block without an error, and "
            "`except` catches one.",
            run.recording,
        )
    wanted = None if scene.limit else f"Done at the pace {pace}"
    if (run.value if run.value is None else as_text(run.value)) != wanted:
        raise NotYet(
            f"{where} {name_of(answer)} should return {show(wanted)} and returned {show(run.value)}.",
            QUIET,
            "Return the text of the result, or None where you gave up.",
            run.recording,
        )


def _judge(recording: Recording, scene: Scene, where: str) -> None:
    calls = [
        frame
        for frame in recording.frames
        if isinstance(frame.parsed, Request) and frame.parsed.method == "tools/call"
    ]
    if len(calls) != 1:
        raise NotYet(
            f"{where} The tool was called {len(calls)} times.",
            QUIET,
            f"Call it once: `client.call_tool(tool, arguments, …)`. It is called {TOOL!r} here.",
        )
    call = calls[0]
    signals = _signals(recording)
    if not scene.limit:
        if signals:
            raise NotYet(
                f"{where} The call was cancelled after {(signals[0] - call.sent_us) / 1000:g} ms, and the "
                "answer would have come in time.",
                QUIET,
                "Each progress notification begins the time without news anew.",
            )
        return
    news = [
        frame.arrived_us
        for frame in recording.frames
        if frame.arrived_us is not None
        and isinstance(frame.parsed, Notification)
        and frame.parsed.method == "notifications/progress"
    ]
    if not signals:
        answered = any(
            isinstance(frame.parsed, Response) and frame.sender == "server" and frame.number > call.number
            for frame in recording.frames
        )
        raise NotYet(
            f"{where} The call was not cancelled{', and was answered in the end' if answered else ''}.",
            MAXIMUM if scene.limit == "maximum" else SIGNAL,
            "Leave the call when its time is over: leaving a cancel scope around it sends what is needed.",
        )
    gave_up_us = signals[0]
    last_us = max([call.sent_us, *(at_us for at_us in news if at_us < gave_up_us)])
    quiet_us = last_us + scene.quiet_s * 1e6
    most_us = call.sent_us + scene.at_most_s * 1e6
    right_us = min(quiet_us, most_us)
    if abs(gave_up_us - right_us) > NEAR_MS * 1000:
        early = gave_up_us < right_us
        raise NotYet(
            f"{where} The last news was {_ms(last_us, call.sent_us)} after the call, and the client gave up "
            f"{_ms(gave_up_us, call.sent_us)} after it. It should have been {_ms(right_us, call.sent_us)}.",
            QUIET if early or right_us == quiet_us else MAXIMUM,
            "There are two ends: the last news plus the time without news, and the call plus the maximum. "
            "The earlier one counts.",
        )


def _signals(recording: Recording) -> list[int]:
    """When the client took its call back: the notification, or the closed stream."""
    return sorted(
        [
            *(
                frame.sent_us
                for frame in recording.frames
                if isinstance(frame.parsed, Notification) and frame.parsed.method == CANCELLED
            ),
            *(
                event.at_us
                for event in recording.events
                if event.kind == CLOSED and (event.detail or {}).get("how") == "aborted"
            ),
        ]
    )


def _ms(at_us: float, since_us: float) -> str:
    return f"{(at_us - since_us) / 1000:.0f} ms"


TITLE: Final = "A timeout and a maximum"

TASK: Final = Task(
    name="patience",
    title=TITLE,
    text="""\
Write a function that calls a tool and does not wait for ever. It gives up

- when nothing has come from the server for `quiet_s` seconds: neither the answer nor progress,
- and in any case `at_most_s` seconds after the call, whatever progress comes.

When it gives up, it cancels the call and returns None. Otherwise it returns the text of the result
(`text_of(result)`).

`client.call_tool(tool, arguments, on_progress=…)` calls your function for each progress notification. Leaving
a cancel scope around it cancels the call in the way of the transport.""",
    answer="call_patiently",
    starter='''\
import anyio

async def call_patiently(client, tool, arguments, quiet_s, at_most_s):
    """The text of the tool's result, or None where it took too long."""
    return ...''',
    hints=(
        "A cancel scope has a deadline, and the deadline may be moved: `scope.deadline = …`. "
        "`anyio.current_time()` is now.",
        "Each piece of progress moves the deadline to now plus `quiet_s`, but never beyond the time of the "
        "call plus `at_most_s`.",
        "`with anyio.CancelScope(deadline=…) as scope:` around the call, and a small function for "
        "`on_progress` that sets `scope.deadline`. After the scope, `return None`. (`call_tool` can do the "
        "first half by itself: `timeout_s` and `reset_on_progress`.)",
    ),
    solution=(
        """\
import anyio

async def call_patiently(client, tool, arguments, quiet_s, at_most_s):
    end = anyio.current_time() + at_most_s
    with anyio.CancelScope() as scope:

        def wait_on(*step):
            scope.deadline = min(anyio.current_time() + quiet_s, end)

        wait_on()
        return text_of(await client.call_tool(tool, arguments, on_progress=wait_on))
    return None""",
    ),
    why="One deadline is enough: each piece of progress moves it, and the maximum bounds how far. When it is "
    "reached, leaving the scope tells the server.",
    grade=grade,
    pages=(("timeouts", TIMEOUTS),),
    points=20,
    play="""\
call = {"seconds": 3}
story = lambda client: call_patiently(client, "search", call, 0.5, 10)
simulate(story, server=workshop(), title="Patience", check=False)""",
)
