"""Exercise: a tool that reports its progress, by hand."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.handler import Handler
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.course.exercises.worlds import World, every_world
from mcpsim.errors import RequestTimeout
from mcpsim.messages import Notification
from mcpsim.recording import Recording
from mcpsim.recording.events import HANDLER_STARTED
from mcpsim.server import Context, Server

FLOW: Final = "basic/patterns/progress#progress-flow"
BEHAVIOR: Final = "basic/patterns/progress#behavior-requirements"
RISES: Final = Rule("The `progress` value MUST increase with each notification.", FLOW)
TOKEN: Final = Rule(
    "Progress notifications MUST only name tokens that came in an active request: the same value, in the "
    "same type.",
    BEHAVIOR,
)
NONE: Final = Rule(
    "A client that wants progress sends a token. Without one, a notification has nothing to name.",
    BEHAVIOR,
)
SHAPE: Final = Rule("A notification has the token, the progress so far, and optionally a total.", FLOW)

METHOD: Final = "notifications/progress"
TOKENS: Final[tuple[str | int | None, ...]] = ("copy", 0, None, "", 7, "7")
#: How long one MB takes, in milliseconds, and how far a report may be from the end of its file.
MB_MS: Final = 100
NEAR_MS: Final = 5


def grade(answer: object, learner: Learner) -> Passed:
    """Let a server use the handler, for clients with tokens of all kinds and without."""
    calls = 0
    for world in every_world():
        for number, token in enumerate(TOKENS):
            sizes = _sizes(Random(f"sizes:{world.seed}:{number}"), number)
            _call(answer, learner, world, token, sizes)
            calls += 1
    return Passed(
        f"In {calls} calls, in both eras and over both transports, each report came when it should, was more "
        "than the one before, and named the token of its request. Without a token nothing was sent.",
        RISES,
    )


def _sizes(rng: Random, number: int) -> list[float]:
    if number == 3:
        return []
    sizes: list[float] = [rng.choice((0.5, 1, 1.5, 2, 3)) for _ in range(rng.randrange(2, 5))]
    # A file without a byte: after it, no more is done than before.
    sizes.insert(rng.randrange(len(sizes) + 1), 0)
    return sizes


def _call(
    answer: object, learner: Learner, world: World, token: str | int | None, sizes: list[float]
) -> None:
    handler = Handler(answer)
    server = Server("copier")

    @server.tool()
    async def copy(context: Context, sizes: list[float]) -> str:
        """Copy files of these sizes."""
        return str(await handler.call(context, sizes))

    async def story(client: Client) -> str:
        meta = None if token is None else {"progressToken": token}
        params: dict[str, Any] = {"name": "copy", "arguments": {"sizes": sizes}}
        try:
            result = await client.request("tools/call", params, meta=meta)
        except RequestTimeout:
            handler.is_endless = True
            return ""
        return " ".join(str(block.get("text", "")) for block in result["content"])

    def judge(recording: Recording) -> None:
        handler.require_no_error(recording)
        _judge(recording, token, sizes)

    run = learner.play(
        story,
        server=server,
        client=Client(era=world.era),
        transport=world.transport,
        seed=world.seed,
        title=TITLE,
        judge=judge,
        written=answer,
    )
    if run.value != f"{len(sizes)} files":
        raise NotYet(
            f"For the sizes {show(sizes)}, {name_of(answer)} returned {show(run.value)}.",
            look=f"Return the text '{len(sizes)} files', whatever is reported.",
            recording=run.recording,
        )


def _judge(recording: Recording, token: str | int | None, sizes: list[float]) -> None:
    began_us = next(event.at_us for event in recording.events if event.kind == HANDLER_STARTED)
    reports: list[tuple[float, dict[str, Any]]] = []
    for frame in recording.frames:
        if frame.sender == "server" and isinstance(frame.parsed, Notification):
            _require_progress(frame.parsed)
            reports.append(((frame.sent_us - began_us) / 1000, frame.parsed.params or {}))
    named = "no token" if token is None else f"the token {show(token)}"
    asked = f"The request has {named}, and the sizes are {show(sizes)}."
    if token is None:
        if reports:
            raise NotYet(
                f"{asked} A notification with the token {show(reports[0][1].get('progressToken'))} was sent.",
                NONE,
                "`context.progress_token` is None then. Ask for None itself: 0 and '' are tokens.",
            )
        return
    _require_token(asked, token, reports)
    _require_rise(asked, reports)
    _require_each(asked, sizes, reports)


def _require_progress(message: Notification) -> None:
    params = message.params or {}
    if message.method != METHOD:
        raise NotYet(
            f"A notification {show(message.method)} was sent.",
            SHAPE,
            f"Its name is `{METHOD}`, and no other.",
        )
    for member in ("progress", "total"):
        value: Any = params.get(member, 0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise NotYet(f"`{member}` is {show(value)}.", SHAPE, "Both are numbers. A total may be left out.")
    if "progress" not in params:
        raise NotYet(
            f"A notification has {show(sorted(params))}, and no `progress`.", SHAPE, "`progress` is required."
        )


def _require_token(asked: str, token: str | int, reports: list[tuple[float, dict[str, Any]]]) -> None:
    for _, params in reports:
        named: Any = params.get("progressToken")
        if type(named) is not type(token) or named != token:
            raise NotYet(
                f"{asked} A notification names the token {show(named)}.",
                TOKEN,
                "`context.progress_token` is the token, as it came.",
            )


def _require_rise(asked: str, reports: list[tuple[float, dict[str, Any]]]) -> None:
    values: list[float] = [params["progress"] for _, params in reports]
    for before, after in pairwise(values):
        if not after > before:
            raise NotYet(
                f"{asked} The progress is {show(values)}: after {before:g} comes {after:g}.",
                RISES,
                "Report how much is done altogether. An empty file adds nothing: then there is nothing to "
                "report.",
            )


def _require_each(asked: str, sizes: list[float], reports: list[tuple[float, dict[str, Any]]]) -> None:
    total, done = sum(sizes), 0.0
    said = [(params["progress"], params.get("total")) for _, params in reports]
    for value, of in said:
        if of != total:
            raise NotYet(
                f"{asked} A notification says {value:g} of {show(of)}. There are {total:g} MB altogether.",
                SHAPE,
                "The total is known here: the sum of all sizes.",
            )
        if not 0 <= value <= total:
            raise NotYet(f"{asked} A notification says {value:g} of {total:g} MB.", RISES, "Count MB.")
    for size in sizes:
        done += size
        if size == 0:
            continue
        near = [at_ms for at_ms, params in reports if abs(params["progress"] - done) < 1e-6]
        if not near:
            raise NotYet(
                f"{asked} After the file that makes it {done:g} MB, no notification says so. What came is "
                f"{show([value for value, _ in said])}.",
                SHAPE,
                "Report after each file, except where nothing was added.",
            )
        if abs(near[0] - done * MB_MS) > NEAR_MS:
            raise NotYet(
                f"{asked} {done:g} MB are copied after {done * MB_MS:g} ms. That they are was reported after "
                f"{near[0]:g} ms.",
                SHAPE,
                "Copy one file (0.1 seconds for one MB), report, and go on with the next.",
            )


TITLE: Final = "Report the progress of a tool"

TASK: Final = Task(
    name="report",
    title=TITLE,
    text="""\
Write the handler of a tool that copies files. Here you do by hand what `context.report_progress` does for
you otherwise.

- `sizes` is a list of sizes in MB. Some files are empty: 0 MB. The list may be empty, too.
- Copying one MB takes 0.1 seconds: `await anyio.sleep(size / 10)` copies one file.
- After each file, report how many MB are copied altogether, of how many: send
  `notifications/progress` with `await context.notify(method, params)`.
- `context.progress_token` is the token of the request, or None where the client does not want progress. Then
  send nothing.
- At the end return a text, such as `"4 files"`.""",
    answer="copy_files",
    starter='''\
import anyio

async def copy_files(context, sizes):
    """Copy files of these sizes in MB, and report the progress after each file."""
    return ...''',
    hints=(
        "Go through the sizes, and keep a sum. Which number has to grow, and when does it not?",
        "`params` is a dict with `progressToken`, `progress` and `total`. After an empty file the progress "
        "is the same as before, and the same is not greater.",
        "Two conditions before each notification: `context.progress_token is not None`, and `size > 0`. With "
        "`if context.progress_token:` the tokens 0 and '' count for nothing.",
    ),
    solution=(
        """\
import anyio

async def copy_files(context, sizes):
    done = 0
    for size in sizes:
        await anyio.sleep(size / 10)
        done += size
        if size > 0 and context.progress_token is not None:
            params = {"progressToken": context.progress_token, "progress": done, "total": sum(sizes)}
            await context.notify("notifications/progress", params)
    return f"{len(sizes)} files\"""",
    ),
    why="The number is how much is done altogether, and it is sent only where it has grown. 0 and the empty "
    "text are tokens like any other, so the question is whether there is one.",
    grade=grade,
    pages=(("progress", FLOW), ("behaviour", BEHAVIOR)),
    points=20,
    play="""\
copier = Server("copier")
copier.tool("copy")(copy_files)
story = lambda client: client.call_tool("copy", {"sizes": [2, 0, 1.5]}, on_progress=print)
simulate(story, server=copier, title="Copy", check=False)""",
)
