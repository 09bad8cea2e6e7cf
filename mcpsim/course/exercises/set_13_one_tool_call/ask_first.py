"""Exercise: a tool that asks first, and works then, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.handler import Advice, Handler
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.plain import as_text
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.course.exercises.worlds import World, every_world
from mcpsim.errors import CapabilityMissing, ProtocolError, RequestTimeout
from mcpsim.messages import Notification
from mcpsim.recording import Recording
from mcpsim.server import Context, Server

PART_S: Final = 1.0
NOT_WRITTEN: Final = "Not written."

AGAIN: Final = Rule(
    "A result that asks for input ends the request. The retry is a new request, and stands for itself.",
    "basic/patterns/mrtr#basic-workflow",
)
ACTIONS: Final = Rule(
    'A question is answered by "accept", "decline" or "cancel". Only the first brings content.',
    "client/elicitation#response-actions",
)
SUBMITTED: Final = Rule(
    "Where a form is accepted, `content` holds data that fit it. A form need not require its fields.",
    "client/elicitation#response-actions",
)
DECLARED: Final = Rule(
    "Servers MUST NOT ask for what the client has not declared.",
    "basic/patterns/mrtr#server-requirements-basic-workflow",
)
PROGRESS: Final = Rule(
    "The `progress` of each notification MUST be larger than the one before.",
    "basic/patterns/progress#progress-flow",
)


def _look_on(progress: float, total: float | None, message: str | None) -> None:
    """Ask for progress."""


@dataclass(slots=True)
class Desk:
    """Where parts of reports are written.

    Attributes:
        written: the number of each part that was finished, and whether it names customers.
        at_us: when each of them was finished, in microseconds of the simulated clock.
        begun: how many parts were begun.
    """

    written: list[tuple[Any, Any]] = field(default_factory=list[tuple[Any, Any]])
    at_us: list[int] = field(default_factory=list[int])
    begun: int = 0

    async def write(self, part: Any, names: Any) -> None:
        """Write one part. Takes a second."""
        self.begun += 1
        await anyio.sleep(PART_S)
        self.written.append((part, names))
        self.at_us.append(round(anyio.current_time() * 1_000_000))


def office(write_report: Callable[..., Any], parts: int = 3) -> Server:
    """A server with one tool.

    Args:
        write_report: the handler of the tool; it gets the context, the number of parts, and a function that
            writes one.
        parts: how many parts a report has.
    """
    server = Server("report-office")

    @server.tool("write_report")
    async def write(context: Context) -> str:
        """Write the sales report."""
        return str(await write_report(context, parts, Desk().write))

    return server


@dataclass(frozen=True, slots=True)
class Scene:
    """One call.

    Attributes:
        what: what the user does, as "the user …".
        answer: what the client answers to the question; None where it cannot be asked.
        names: whether the report names customers; None where none is written.
    """

    what: str
    answer: Any
    names: bool | None


SCENES: Final = (
    Scene("accepts, with names", {"names": True}, True),
    Scene("accepts, without names", {"names": False}, False),
    # Only where the form lets them.
    Scene("accepts, and fills in no more than the form requires", {}, False),
    Scene("declines", "decline", None),
    Scene("closes the question", "cancel", None),
    Scene("cannot be asked: the client declares no elicitation", None, False),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Call the tool in all scenes, eras and transports, and count what was written."""
    runs = 0
    for scene in SCENES:
        for world in every_world():
            _play(answer, learner, world, scene)
            runs += 1
    return Passed(
        f"In {runs} runs each part was written once, with names or without as the user said, or not at all.",
        AGAIN,
    )


def _play(answer: object, learner: Learner, world: World, scene: Scene) -> None:
    parts = Random(f"ask_first:{scene.what}:{world.seed}").randrange(3, 7)
    desk, handler = Desk(), Handler(answer)
    server = Server("report-office")
    values: list[Any] = []
    asked_after: list[int] = []
    strange: list[Any] = []

    @server.tool()
    async def write_report(context: Context) -> str:
        """Write the sales report."""
        value = await handler.call(context, parts, desk.write)
        values.append(value)
        return str(value)

    def asks(form: Any) -> Any:
        asked_after.append(desk.begun)
        schema: Any = form.requested_schema
        if _kinds_of(schema) != {"names": "boolean"}:
            strange.append(schema)
            return "cancel"
        if scene.answer == {} and "names" in schema.get("required", ()):
            return {"names": False}
        return scene.answer

    async def story(client: Client) -> Any:
        try:
            return await client.call_tool("write_report", {}, on_progress=_look_on)
        except ProtocolError as error:
            return error
        except RequestTimeout:
            handler.is_endless = True
            return None

    where = f"The user {scene.what} ({world})."

    def judge(recording: Recording) -> None:
        handler.require_no_error(recording, where=where, advice=_ADVICE)
        if strange:
            raise NotYet(
                f"{where} The form is {show(strange[0])}.",
                None,
                'It should have one field, and no other: `"names": {"type": "boolean"}` under `properties`.',
            )
        _judge_asking(where, scene, asked_after)
        _judge_work(where, scene, parts, desk)
        _judge_progress(where, scene, parts, desk, recording)
        _judge_value(where, answer, scene, parts, values)

    learner.play(
        story,
        server=server,
        client=Client(era=world.era, elicit=None if scene.answer is None else asks),
        transport=world.transport,
        seed=world.seed,
        title=f"The user {scene.what}",
        judge=judge,
        written=answer,
    )


_ADVICE: Final[Mapping[type[Exception], Advice]] = {
    CapabilityMissing: (
        DECLARED,
        'Look first whether the client can ask: `if "elicitation" in context.capabilities`. Write without '
        "names where it cannot.",
    ),
    KeyError: (
        SUBMITTED,
        "A field that the form does not require may be left out by the user: "
        '`answer.content.get("names", False)`.',
    ),
}


def _kinds_of(schema: Any) -> dict[str, Any]:
    """The fields of a form, each with its type."""
    return {name: field.get("type") for name, field in schema.get("properties", {}).items()}


def _judge_asking(where: str, scene: Scene, asked_after: list[int]) -> None:
    if scene.answer is None:
        return
    if len(asked_after) != 1:
        raise NotYet(
            f"{where} The user was {_asked(len(asked_after))}.",
            ACTIONS,
            "Ask once: `answer = await context.elicit(message, form)`.",
        )
    if asked_after[0]:
        raise NotYet(
            f"{where} When the question came, {_parts(asked_after[0])} had been begun.",
            AGAIN,
            "Ask first, and write then: in the modern era your function begins anew with the answer.",
        )


def _judge_work(where: str, scene: Scene, parts: int, desk: Desk) -> None:
    numbers = [part for part, _ in desk.written]
    if scene.names is None:
        if desk.begun:
            raise NotYet(
                f"{where} {_parts(desk.begun)} had been begun all the same.",
                ACTIONS,
                'Look at `answer.action` first: it may be "accept", "decline" or "cancel".',
            )
        return
    if not numbers and scene.answer is None:
        raise NotYet(
            f"{where} Nothing was written.",
            DECLARED,
            "Whom nobody could ask has not agreed to names. A report without them can be written.",
        )
    if numbers != list(range(1, parts + 1)):
        raise NotYet(
            f"{where} The parts that were written are {show(numbers)}. They should be 1 to {parts}, each "
            "once.",
            AGAIN,
            "`for part in range(1, parts + 1): await write(part, names)`, after the question.",
        )
    wrong = [names for _, names in desk.written if names is not scene.names]
    if wrong:
        raise NotYet(
            f"{where} A part was written with `names` as {show(wrong[0])}. It should be {scene.names}.",
            DECLARED if scene.answer is None else ACTIONS,
            "Accepting the form is not the answer: that stands in `answer.content`. A field that was left "
            "out is no yes."
            if scene.answer is not None
            else "Whom nobody could ask has not agreed: write without names.",
        )


def _judge_progress(where: str, scene: Scene, parts: int, desk: Desk, recording: Recording) -> None:
    reports = [
        (frame.sent_us, message.params or {})
        for frame in recording.frames
        if isinstance(message := frame.parsed, Notification) and message.method == "notifications/progress"
    ]
    steps = [(params.get("progress"), params.get("total")) for _, params in reports]
    wanted = [] if scene.names is None else [(part, parts) for part in range(1, parts + 1)]
    if steps != wanted:
        raise NotYet(
            f"{where} The progress was {show(steps)}. It should be {show(wanted)}.",
            PROGRESS,
            _AFTER_EACH,
        )
    for (at_us, _), (said, _) in zip(reports, steps, strict=True):
        done = sum(one <= at_us for one in desk.at_us)
        if done != said:
            raise NotYet(
                f"{where} A report said that {said} of {parts} were done, and {done} were.", None, _AFTER_EACH
            )


_AFTER_EACH: Final = "After each part: `await context.report_progress(part, parts)`."


def _judge_value(where: str, answer: object, scene: Scene, parts: int, values: list[Any]) -> None:
    wanted = NOT_WRITTEN if scene.names is None else f"{parts} parts"
    if [as_text(value) for value in values] != [wanted]:
        raise NotYet(
            f"{where} {name_of(answer)} returned {show(values[-1] if values else None)}. It should return "
            f"{wanted!r}.",
            ACTIONS,
            f'Return `f"{{parts}} parts"`, or {NOT_WRITTEN!r}.',
        )


def _asked(count: int) -> str:
    return {0: "never asked", 2: "asked twice"}.get(count, f"asked {count} times")


def _parts(count: int) -> str:
    return "one part" if count == 1 else f"{count} parts"


TITLE: Final = "Ask first, work then"

TASK: Final = Task(
    name="ask_first",
    title=TITLE,
    text=f"""\
Write the handler of a tool that writes a report of several parts. It is registered as it stands, and has to
do in both eras.

1. Ask the user whether the report may name customers: `await context.elicit(message, form)`, with a form
   that has the one field `names`, a boolean. The answer has an `action` (`"accept"`, `"decline"` or
   `"cancel"`), and `content`, a dict, if it was accepted: what the form does not require may be
   missing in it.
2. `await write(part, names)` writes a part and takes a second; `names` is True or False. Write the parts
   from 1 to `parts`, and after each of them report the progress: so many of `parts`.
3. Return `"5 parts"`, or however many there are.

If the user declines the question or closes it: write nothing, and return `{NOT_WRITTEN!r}`.

A client may be one that cannot ask its user: `"elicitation"` is not in `context.capabilities` then. Write
without names for it.

`ex.office(write_report)` is a server with your tool.""",
    answer="write_report",
    starter='''\
async def write_report(context, parts, write):
    """Ask, then write all parts."""
    return ...''',
    hints=(
        "In the modern era your function begins anew when the answer is there. What may stand above the "
        "question?",
        'The form: `{"type": "object", "properties": {"names": {"type": "boolean"}}}`. Accepted or not '
        "stands in "
        "`answer.action`, yes or no in `answer.content`.",
        'Begin with `names = False`. If `"elicitation" in context.capabilities`, ask; if the action is not '
        '`"accept"`, return; otherwise `names = answer.content.get("names", False)`. Then comes the loop.',
    ),
    solution=(
        """\
FORM = {"type": "object", "properties": {"names": {"type": "boolean", "title": "Name customers"}}}


async def may_name(context):
    if "elicitation" not in context.capabilities:
        return False
    answer = await context.elicit("May the report name customers?", FORM)
    return answer.content.get("names", False) if answer.action == "accept" else None""",
        """\
async def write_report(context, parts, write):
    names = await may_name(context)
    if names is None:
        return "Not written."
    for part in range(1, parts + 1):
        await write(part, names)
        await context.report_progress(part, parts)
    return f"{parts} parts\"""",
    ),
    why="Above the question stands nothing that costs anything. So it does not matter that the modern era "
    "runs "
    "it twice.",
    grade=grade,
    points=15,
    pages=(
        ("workflow", "basic/patterns/mrtr#basic-workflow"),
        ("actions", "client/elicitation#response-actions"),
        ("progress", "basic/patterns/progress#progress-flow"),
    ),
    play="""\
user = Client(elicit=lambda asked: {"names": True})
call = lambda client: client.call_tool("write_report", on_progress=lambda *step: None)
simulate(call, server=ex.office(write_report), client=user, title="Ask first", check=False)""",
)
