"""Exercise: a server that breaks four rules, to be repaired."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.handler import Advice
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.set_16_capstone.building import (
    ANSWERS,
    HELPS,
    LOOK_FIRST,
    STOPS,
    UNANSWERED,
    made,
    require_clean,
    require_counted,
    require_no_fault,
    text_of_result,
    words,
)
from mcpsim.course.exercises.showing import show
from mcpsim.course.exercises.tool_errors import tells_nothing
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.course.exercises.worlds import World, every_world
from mcpsim.errors import ProtocolError, RequestTimeout
from mcpsim.recording import Recording

OPENING_S: Final = 0.1
WORD_S: Final = 0.5
# How long after a Stop the lamp may still be lit: a word, switching off, and the way of the cancellation.
AFTER_STOP_S: Final = 1.0

_ROUNDING_S: Final = 1e-6

ROUNDS: Final = Rule(
    "A modern server answers a request with `input_required`, and gets it once more with the answers. The "
    "handler runs again from its start.",
    "basic/patterns/mrtr#basic-workflow",
)

BROKEN: Final = '''\
import anyio
from mcpsim import ProtocolError, Server

CONFIRM = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}


def make_archive(papers, lamp):
    """An archive. `papers`: texts by name. `lamp`: see below."""
    archive = Server("archive")

    def look_up(name):
        if name not in papers:
            raise ProtocolError(404, f"There is no paper {name}. There is {', '.join(papers)}.")
        return papers[name]

    @archive.tool()
    async def copy(context, name: str) -> str:
        """Copy a paper, word by word."""
        words = look_up(name).split()
        await lamp.on()
        for word in words:
            await anyio.sleep(0.5)
            if context.progress_token is not None:
                params = {"progressToken": context.progress_token, "progress": 1, "total": len(words)}
                await context.notify("notifications/progress", params)
        await lamp.off()
        return " ".join(words)

    @archive.tool()
    async def destroy(context, name: str) -> str:
        """Destroy a paper, if the user is sure."""
        look_up(name)
        del papers[name]
        answer = await context.elicit(f"Destroy {name}? Are you sure?", CONFIRM, key="sure")
        if not answer.content["sure"]:
            return f"{name} is still there."
        return f"{name} is destroyed."

    return archive
'''


class Lamp:
    """A lamp.

    Attributes:
        lit: whether it is lit. It is from the moment in which switching on begins.
        lit_s: for how many seconds it was, until it was dark the last time.
        dark_at_s: when it became dark the last time, in seconds of the clock that runs.
    """

    def __init__(self) -> None:
        self.lit = False
        self.lit_s = 0.0
        self.dark_at_s = 0.0
        self._since_s = 0.0

    async def on(self) -> None:
        """Switch on. Takes 0.1 seconds."""
        if not self.lit:
            self._since_s = anyio.current_time()
        self.lit = True
        await anyio.sleep(OPENING_S)

    async def off(self) -> None:
        """Switch off. Takes 0.1 seconds; if it is left earlier, the lamp stays lit."""
        await anyio.sleep(OPENING_S)
        if self.lit:
            self.dark_at_s = anyio.current_time()
            self.lit_s += self.dark_at_s - self._since_s
        self.lit = False

    def shone(self, count: int) -> bool:
        """Whether it was lit for half a second for each of `count` things."""
        return self.lit_s > count * WORD_S - _ROUNDING_S


@dataclass(slots=True)
class Room:
    """One archive, and what was seen of it.

    Attributes:
        papers: what the learner's server works with.
        before: the same, as it was.
        name: the paper that is asked for.
        steps: the progress that came.
        text: what the last call brought.
        failed: whether it was an error of any kind.
        code: the code of a protocol error, or None.
        stopped_at_s: when Stop was pressed, in seconds of the clock that runs.
    """

    papers: dict[str, str]
    before: dict[str, str]
    name: str
    lamp: Lamp
    steps: list[float]
    text: str = ""
    failed: bool = False
    code: int | None = None
    stopped_at_s: float = 0.0

    def hear(self, progress: float, total: float | None, message: str | None) -> None:
        """Keep what progress came."""
        self.steps.append(progress)


def _room(seed: int) -> Room:
    rng = Random(f"archive:{seed}")
    names = words(rng, 3)
    papers = {name: " ".join(words(rng, rng.randint(4, 6))) for name in names}
    return Room(papers, dict(papers), rng.choice(names), Lamp(), [])


async def _call(room: Room, client: Client, tool: str, name: str, *, hear: bool = False) -> None:
    try:
        result = await client.call_tool(tool, {"name": name}, on_progress=room.hear if hear else None)
    except RequestTimeout:
        raise
    except ProtocolError as error:
        room.text, room.failed, room.code = str(error), True, error.code
    else:
        room.text, room.failed = text_of_result(result), bool(result.is_error)


async def _copy(room: Room, client: Client) -> None:
    await _call(room, client, "copy", room.name, hear=True)


async def _copy_unheard(room: Room, client: Client) -> None:
    await _call(room, client, "copy", room.name)


async def _stop(room: Room, client: Client, after_s: float = 0.8) -> None:
    with anyio.move_on_after(after_s):
        await _call(room, client, "copy", room.name, hear=True)
    room.stopped_at_s = anyio.current_time()
    await anyio.sleep(5)


async def _stop_at_once(room: Room, client: Client) -> None:
    # The call has arrived by then, and the lamp is being switched on.
    await _stop(room, client, 0.05)


async def _stop_at_the_end(room: Room, client: Client) -> None:
    # The last word is copied, and the lamp is being switched off.
    words_s = WORD_S * len(room.papers[room.name].split())
    await _stop(room, client, OPENING_S + words_s + OPENING_S / 2)


async def _unknown(room: Room, client: Client) -> None:
    await _call(room, client, "copy", room.name[::-1])


async def _destroy(room: Room, client: Client) -> None:
    await _call(room, client, "destroy", room.name)


async def _destroy_unknown(room: Room, client: Client) -> None:
    await _call(room, client, "destroy", room.name[::-1])


def _copied(room: Room, where: str) -> None:
    if room.failed or room.text != room.before[room.name]:
        raise NotYet(
            f"{where} the copy of {room.before[room.name]!r} is {show(room.text)}.",
            look="The tool still has to do its work.",
        )
    _dark(room, where)
    if not room.lamp.shone(len(room.text.split())):
        raise NotYet(
            f"{where} it was copied in the dark: the lamp was lit for {room.lamp.lit_s:g} s.",
            look="What the tool is for stays as it is: it works by the light of the lamp.",
        )


def _heard(room: Room, where: str) -> None:
    _copied(room, where)
    count = len(room.before[room.name].split())
    require_counted(
        where,
        room.steps,
        count,
        "words",
        "Tell of each word how many are done: `await context.report_progress(done, total)`.",
    )


def _dark(room: Room, where: str) -> None:
    if room.lamp.lit:
        raise NotYet(
            f"{where} the lamp is still lit in the end.",
            STOPS,
            "Switch off in `finally`, under `anyio.CancelScope(shield=True)`: a cancelled function is "
            "cancelled at each `await`. `try` begins before the lamp is switched on.",
        )


def _left(room: Room, where: str) -> None:
    _dark(room, where)
    after_s = room.lamp.dark_at_s - room.stopped_at_s
    if after_s > AFTER_STOP_S:
        raise NotYet(
            f"{where} the copying went on: it was {after_s:.1f} s after the Stop that the lamp went out.",
            STOPS,
            "The shield is for switching off alone.",
        )


def _refused(room: Room, where: str) -> None:
    if room.code is not None:
        raise NotYet(
            f"{where} the protocol error {room.code} came. It should be a tool error: a result with "
            "`isError`.",
            HELPS,
            "`raise ToolError(text)` with the text that is there. It needs no code.",
        )
    names = [name for name in room.before if name not in room.text]
    if not room.failed or tells_nothing(room.text) or names:
        kind = "an error" if room.failed else "a result like any other"
        raise NotYet(
            f"{where} {kind} came, with {show(room.text)}. It should be an error that names the papers there "
            "are.",
            HELPS,
            "`raise ToolError(text)` with the text that is there.",
        )


def _gone(room: Room, where: str) -> None:
    if room.name in room.papers or len(room.papers) != 2:
        raise NotYet(
            f"{where} the paper {room.name} is still there.",
            ANSWERS,
            "After the question, where the user has accepted and is sure: `del papers[name]`.",
        )
    if room.failed:
        raise NotYet(
            f"{where} the answer is an error: {show(room.text)}.",
            ROUNDS,
            "Ask first, act then: only what stands behind the question happens once.",
        )


def _still_there(room: Room, where: str) -> None:
    if room.papers != room.before:
        raise NotYet(
            f"{where} {room.name} is destroyed all the same.",
            ANSWERS,
            'Ask first, act then: only where `answer.action == "accept"`, and the box is ticked.',
        )


@dataclass(frozen=True, slots=True)
class Scene:
    """One thing that happens in the archive.

    Attributes:
        what: in words.
        play: what the client does.
        judge: what has to be true then.
        reply: what the user answers; None for a client that cannot ask.
        advice: what to say where the tool raises what is not meant for the client.
    """

    what: str
    play: Callable[[Room, Client], Any]
    judge: Callable[[Room, str], None]
    reply: Any = "decline"
    advice: Advice = LOOK_FIRST


SCENES: Final = (
    Scene("a paper is copied", _copy, _heard),
    Scene("a paper is copied, and nobody wants to hear of progress", _copy_unheard, _copied),
    Scene("the copying is stopped", _stop, _left),
    Scene("the copying is stopped at once", _stop_at_once, _left),
    Scene("the copying is stopped as the lamp goes out", _stop_at_the_end, _left),
    Scene("a paper is to be copied that is not there", _unknown, _refused),
    Scene("a paper is to be destroyed that is not there", _destroy_unknown, _refused),
    Scene("the user is sure", _destroy, _gone, {"sure": True}),
    Scene("the user accepts, and is not sure", _destroy, _still_there, {"sure": False}),
    Scene("the user declines", _destroy, _still_there, "decline", UNANSWERED),
    Scene("the user closes the question", _destroy, _still_there, "cancel", UNANSWERED),
    Scene("the client cannot ask its user", _destroy, _still_there, None, UNANSWERED),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Play all scenes in both eras and over both transports."""
    runs = 0
    for scene in SCENES:
        for world in every_world():
            _play(answer, learner, world, scene)
            runs += 1
    return Passed(
        f"{runs} runs: progress rose, the lamp was dark in the end, nothing was destroyed unasked, errors "
        "helped, and the audit found nothing.",
        ANSWERS,
    )


def _play(answer: Any, learner: Learner, world: World, scene: Scene) -> None:
    room = _room(world.seed)
    server = made(answer, learner, room.papers, room.lamp)
    where = f"In the scene in which {scene.what} ({world}),"

    async def story(client: Client) -> None:
        try:
            await scene.play(room, client)
        except RequestTimeout:
            room.text, room.failed = "no answer within a minute", True

    def judge(recording: Recording) -> None:
        require_no_fault(where, recording, scene.advice)
        try:
            scene.judge(room, where)
        except NotYet as found:
            raise NotYet(found.seen, found.rule, found.look, recording) from None
        require_clean(where, recording)

    client = (
        Client(era=world.era)
        if scene.reply is None
        else Client(era=world.era, elicit=partial(_reply, scene.reply))
    )
    learner.play(
        story,
        server=server,
        client=client,
        transport=world.transport,
        seed=world.seed,
        title=scene.what.capitalize(),
        judge=judge,
        written=answer,
    )


def _reply(reply: Any, asked: Any) -> Any:
    return reply


TITLE: Final = "Repair the archive"

TASK: Final = Task(
    name="repair",
    title=TITLE,
    text="""\
The server in the cell below looks as if it worked. It breaks four rules. Two of them show on the wire, and
the audit has something to say of them; two show only if you ask who is left with what. Find the four, and
write the server again. What its tools are for stays as it is.

| | |
|---|---|
| `papers` | texts by name; what is destroyed is taken out of it |
| `await lamp.on()` | takes 0.1 s; the lamp is lit from the moment in which this begins |
| `await lamp.off()` | takes 0.1 s; if it is not finished, the lamp stays lit |

- `copy` works by the light of the lamp, takes half a second for each word, tells then how many are done, and
  returns the whole text.
- `destroy` takes the paper out only if the user accepts, and is sure.
- Who asks for a paper that is not there gets a tool error, which the model will read: it names the papers
  that there are.
- The lamp is dark when a call is over, whatever ended it. After a Stop nothing more is copied.

`ex.archive(make_archive)` is your server with three papers.""",
    answer="make_archive",
    show="print(ex.broken)",
    starter='''\
def make_archive(papers, lamp):
    """The archive, repaired."""
    return ...''',
    hints=(
        "Play the broken one: `exec(ex.broken)`, then `simulate` a story with `ex.archive(make_archive)`, "
        "and `run.audit()`. Which numbers does the progress have, and which code the error?",
        "Then look for what the wire does not show. When is the paper taken out, before or after the answer? "
        "What is in `answer.content` if the user declines? Who switches the lamp off when `copy` is stopped?",
        "`await context.report_progress(done, len(words))` is right by itself. `ToolError` needs no code. "
        "`lamp.on()` and the words stand in `try`, `lamp.off()` in `finally`, with "
        "`anyio.CancelScope(shield=True)`. `del papers[name]` last.",
    ),
    solution=(
        """\
import anyio
from mcpsim import Server, ToolError

CONFIRM = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}

def look_up(papers, name):
    if name not in papers:
        raise ToolError(f"There is no paper {name}. There is {', '.join(papers)}.")
    return papers[name]""",
        """\
async def copy_words(context, words, lamp):
    try:
        await lamp.on()
        for done, _ in enumerate(words, 1):
            await anyio.sleep(0.5)
            await context.report_progress(done, len(words))
    finally:
        with anyio.CancelScope(shield=True):
            await lamp.off()
    return " ".join(words)""",
        '''\
async def ask_and_destroy(context, papers, name):
    look_up(papers, name)
    answer = await context.elicit(f"Destroy {name}? Are you sure?", CONFIRM, key="sure")
    if answer.action != "accept" or not answer.content["sure"]:
        return f"{name} is still there."
    del papers[name]
    return f"{name} is destroyed."''',
        '''\
def make_archive(papers, lamp):
    archive = Server("archive")
    @archive.tool()
    async def copy(context, name: str) -> str:
        """Copy a paper, word by word."""
        return await copy_words(context, look_up(papers, name).split(), lamp)
    @archive.tool()
    async def destroy(context, name: str) -> str:
        """Destroy a paper, if the user is sure."""
        return await ask_and_destroy(context, papers, name)
    return archive''',
    ),
    why="Progress that rises, and a tool's error in its result, are on the wire, where the audit sees them. "
    "That the deed comes after the answer, and that the lamp goes out after a Stop, only a run shows that "
    "looks at the room.",
    grade=grade,
    points=20,
    pages=(
        ("progress", "basic/patterns/progress#progress-flow"),
        ("error codes", "basic/index#error-codes"),
        ("cancellation", "basic/patterns/cancellation#behavior-requirements"),
        ("elicitation", "client/elicitation#error-handling"),
    ),
    play="""\
async def copy_one(client):
    return await client.call_tool("copy", {"name": "letter"}, on_progress=print)
simulate(copy_one, server=ex.archive(make_archive), title="The archive", check=False)""",
)


def archive(make_archive: Callable[..., Any]) -> Any:
    """The learner's archive with three papers and a lamp."""
    papers = {"letter": "Dear reader, all is well.", "list": "one two three", "note": "Back at five."}
    return make_archive(papers, Lamp())
