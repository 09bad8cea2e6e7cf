"""Exercise: watch a resource, whatever happens to the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_text
from mcpsim.course.exercises.set_11_subscriptions.rules import (
    ACKNOWLEDGED,
    ASKED,
    ENDS,
    GRACEFUL,
    LISTEN,
    RECONNECT,
    UPDATED,
)
from mcpsim.course.exercises.showing import describe_error, name_of, show
from mcpsim.course.exercises.traffic import exchanges
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.errors import McpSimError, ProtocolError
from mcpsim.messages import Notification, Request
from mcpsim.recording import Recording
from mcpsim.recording.events import HANDLER_CANCELLED, HANDLER_FINISHED, HANDLER_STARTED
from mcpsim.server import Server
from mcpsim.transports.faults import Crash, Fault
from mcpsim.transports.link import Stdio, StreamableHttp

SEEDS: Final = (1, 2)
JITTER_MS: Final = 20.0
#: How long a watcher may take until it shows what is new, in seconds.
SETTLE_S: Final = 4.0
#: How often a watcher may ask to listen within a second.
MOST_LISTENS: Final = 8
READ: Final = "resources/read"

AGAIN: Final = Rule(
    "No subscription outlives its stream: after a break the client sends `subscriptions/listen` again. What "
    "changed meanwhile nobody tells.",
    "basic/patterns/subscriptions#graceful-closure",
)

Change = Callable[[], None]


class Price:
    """A price that changes, as a resource of a server.

    Args:
        rng: where the prices are drawn from.

    Attributes:
        texts: all prices that there were, the present one last.
        changes_after_read: whether it changes right after it is read, once.
    """

    def __init__(self, rng: Random, uri: str) -> None:
        self._rng = rng
        self._uri = uri
        self.texts = [f"{rng.randrange(100, 999)} euro"]
        self.was_read = anyio.Event()

    def server(self) -> Server:
        """A server that offers it."""
        shop = Server("shop", subscribe=True)
        self._shop = shop

        @shop.resource(self._uri, name="price")
        def read() -> str:
            self.was_read.set()
            return self.texts[-1]

        return shop

    def change(self, *, tell: bool = True) -> None:
        """Set another price, and tell who asked."""
        self.texts.append(f"{self._rng.randrange(100, 999)} euro, price number {len(self.texts) + 1}")
        if tell:
            self._shop.resource_updated(self._uri)

    def end_subscriptions(self) -> None:
        """The server ends all subscriptions in good order."""
        self._shop.end_subscriptions()


@dataclass(frozen=True, slots=True)
class Scene:
    """What happens while the watcher watches.

    Attributes:
        what: what happens.
        happens: lets it happen; comes to its end when the last thing has happened.
        rule: what decides.
        faults: what breaks, and when.
        ways: over which transports it is played.
    """

    what: str
    happens: Callable[[Price], Awaitable[None]]
    rule: Rule
    faults: Sequence[Fault] = ()
    ways: tuple[type[Stdio] | type[StreamableHttp], ...] = (StreamableHttp,)


async def _nothing(price: Price) -> None:
    """Nothing happens."""


async def _changes(price: Price) -> None:
    for pause_s in (1.0, 0.4, 0.03, 0.01, 2.0):
        await anyio.sleep(pause_s)
        price.change()


async def _at_once(price: Price) -> None:
    """The price changes as soon as somebody has read it."""
    await price.was_read.wait()
    await anyio.sleep(0.001)
    price.change()


async def _while_it_is_down(price: Price) -> None:
    await anyio.sleep(1.0)
    price.change()
    await anyio.sleep(1.2)
    # The process is dead by now.
    price.change()


async def _after_it_came_back(price: Price) -> None:
    await anyio.sleep(5.0)
    price.change()


async def _at_once_after_it_came_back(price: Price) -> None:
    await anyio.sleep(2.2)
    price.was_read = anyio.Event()
    await _at_once(price)


async def _ended(price: Price) -> None:
    await anyio.sleep(1.0)
    price.end_subscriptions()
    await anyio.sleep(0.005)
    price.change()


async def _ended_then_changed(price: Price) -> None:
    await anyio.sleep(1.0)
    price.end_subscriptions()
    await anyio.sleep(4.0)
    price.change()


_BOTH: Final = (Stdio, StreamableHttp)
_CRASH: Final = (Crash(at_ms=2_000, restart_after_ms=700),)

SCENES: Final = (
    Scene("nothing happens", _nothing, ENDS, ways=_BOTH),
    Scene("the price changes now and then, and twice within 10 ms", _changes, ASKED, ways=_BOTH),
    Scene("the price changes right after it was read for the first time", _at_once, AGAIN, ways=_BOTH),
    Scene("the server dies, and the price changes before it is back", _while_it_is_down, AGAIN, _CRASH),
    Scene(
        "the server dies and comes back, and the price changes later", _after_it_came_back, RECONNECT, _CRASH
    ),
    Scene(
        "the server dies and comes back, and the price changes right after it was read again",
        _at_once_after_it_came_back,
        AGAIN,
        _CRASH,
    ),
    Scene(
        "the server dies twice, the second time when it is asked to listen again",
        _after_it_came_back,
        RECONNECT,
        (*_CRASH, Crash(LISTEN, nth=2, restart_after_ms=500)),
    ),
    Scene(
        "the server dies when the price is to be read",
        _while_it_is_down,
        RECONNECT,
        (Crash(READ, nth=1, restart_after_ms=600),),
    ),
    Scene("the server ends the subscription, and the price changes at once", _ended, AGAIN, ways=_BOTH),
    Scene(
        "the server ends the subscription, and the price changes later",
        _ended_then_changed,
        GRACEFUL,
        ways=_BOTH,
    ),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Let the watcher watch in every scene."""
    runs = 0
    for scene in SCENES:
        for way in scene.ways:
            for seed in SEEDS:
                _play(answer, learner, scene, way(jitter_ms=JITTER_MS), seed)
                runs += 1
    return Passed(
        f"In {runs} runs the watcher showed the last price in the end: after breaks, ends and changes that "
        f"nobody "
        "told.",
        AGAIN,
    )


def _play(answer: Any, learner: Learner, scene: Scene, transport: Stdio | StreamableHttp, seed: int) -> None:
    rng = Random(f"watch:{scene.what}:{seed}")
    uri = f"price://{rng.choice(('paper', 'ink', 'chalk'))}-{rng.randrange(99)}"
    price = Price(rng, uri)
    shown: list[Any] = []
    left: list[Any] = []
    failed: list[McpSimError] = []
    over_s: list[float] = []

    async def watching(client: Client) -> None:
        try:
            left.append(await answer(client, uri, shown.append))
        except McpSimError as error:
            failed.append(error)

    async def story(client: Client) -> Any:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watching, client)
            await scene.happens(price)
            await anyio.sleep(SETTLE_S)
            over_s.append(anyio.current_time())
            tasks.cancel_scope.cancel()
        return left[0] if left else None

    where = f"In the scene in which {scene.what} ({'HTTP' if transport.name == 'http' else 'stdio'}),"

    def judge(recording: Recording) -> None:
        if left and is_placeholder(left[0]):
            raise NotAttempted
        _judge_traffic(where, recording)
        if failed:
            raise NotYet(
                f"{where} {name_of(answer)} raised {describe_error(failed[0], answer)}.",
                None if isinstance(failed[0], ProtocolError) else AGAIN,
                "The server is there, and refuses that. Listen for `uri`, and read `uri`."
                if isinstance(failed[0], ProtocolError)
                else "Catch it around all that asks the server. Then wait half a second, and begin anew.",
            )
        if left:
            raise NotYet(
                f"{where} {name_of(answer)} came to an end, and returned {show(left[0])}.",
                scene.rule,
                "It watches until it is cancelled: put all of it into a loop.",
            )

    run = learner.play(
        story,
        written=answer,
        server=price.server(),
        client=Client(timeout_s=5.0),
        transport=transport,
        seed=seed,
        title=f"Watch: {scene.what}",
        judge=judge,
        faults=scene.faults,
    )
    advice = _advice(run.recording, uri, over_s[0] if over_s else 0.0)
    _judge_shown(where, answer, scene, price, shown, run.recording, advice)


def _advice(recording: Recording, uri: str, over_s: float) -> str:
    """What to look at where the last price was not shown, `over_s` seconds after the run began."""
    asked = [one.request.params or {} for one in exchanges(recording, LISTEN)]
    if not any(uri in str(params.get("notifications")) for params in asked):
        return "Listen for this very resource: `client.listen(resource_subscriptions=[uri])`."
    changes = {HANDLER_STARTED: 1, HANDLER_FINISHED: -1, HANDLER_CANCELLED: -1}
    listening = sum(
        changes.get(event.kind, 0)
        for event in recording.events
        if event.at_us <= over_s * 1_000_000 and event.detail and event.detail.get("name") == LISTEN
    )
    if not listening:
        return (
            "At the end nobody listened any more. Begin anew half a second after each end, however it came."
        )
    return (
        "Listen first, and read when the acknowledgement is there: what changes after it is told, and what "
        "changed before it is read. Do so again each time the subscription has ended, however it ended."
    )


def _judge_shown(
    where: str,
    answer: object,
    scene: Scene,
    price: Price,
    shown: list[Any],
    recording: Recording,
    advice: str,
) -> None:
    texts = [as_text(one) for one in shown]
    if not texts:
        raise NotYet(
            f"{where} nothing was ever shown. The price is {price.texts[-1]!r}.",
            None,
            "Read the resource once when you begin to listen, and call `show` with its text.",
            recording,
        )
    strange = [one for one, text in zip(shown, texts, strict=True) if text not in price.texts]
    if strange:
        raise NotYet(
            f"{where} {name_of(answer)} showed {show(strange[0])}; prices were {show(price.texts)}.",
            None,
            "`(await client.read_resource(uri)).contents[0].text` is the text.",
            recording,
        )
    if texts[-1] != price.texts[-1]:
        raise NotYet(
            f"{where} the price has been {price.texts[-1]!r} for {SETTLE_S:g} s, and the last that was "
            f"shown is "
            f"{texts[-1]!r}.",
            scene.rule,
            advice,
            recording,
        )


def _judge_traffic(where: str, recording: Recording) -> None:
    at_us = [
        frame.sent_us
        for frame in recording.frames
        if isinstance(frame.parsed, Request) and frame.parsed.method == LISTEN
    ]
    if any(late - early < 1_000_000 for early, late in zip(at_us, at_us[MOST_LISTENS:], strict=False)):
        raise NotYet(
            f"{where} `{LISTEN}` was sent more than {MOST_LISTENS} times in a second.",
            RECONNECT,
            "Keep one subscription open, and after a break wait a moment: `await anyio.sleep(0.5)`.",
        )
    told = _arrived(recording, UPDATED)
    opened = _arrived(recording, ACKNOWLEDGED)
    reads = [one for one in exchanges(recording, READ) if one.result is not None]
    # Whoever reads before listening and after it reads once more; that is no harm.
    if len(reads) > told + 2 * opened + 2:
        raise NotYet(
            f"{where} the resource was read {len(reads)} times. {opened} acknowledgements and {told} "
            f"updates had "
            "come.",
            ASKED,
            "Read when you begin, and when you are told. A notification says that there is something new.",
        )
    _require_audited(where, recording)


def _arrived(recording: Recording, method: str) -> int:
    return sum(
        isinstance(frame.parsed, Notification)
        and frame.parsed.method == method
        and frame.arrived_us is not None
        for frame in recording.frames
    )


def _require_audited(where: str, recording: Recording) -> None:
    for finding in recording.audit().findings:
        if finding.party == "client" and finding.level == "MUST":
            _, _, page = finding.spec.partition("/")
            raise NotYet(f"{where} {finding.message}", Rule(finding.message, page), finding.hint)


TITLE: Final = "Watch, and miss nothing"

TASK: Final = Task(
    name="watch",
    title=TITLE,
    text="""\
Write a watcher. It shows the text of a resource, by `show(text)`: once when it begins, and whenever it has
changed. It watches until it is cancelled.

- It listens for updates of `uri`, and does not ask again and again.
- The server may die and be started again, at any time. Then requests fail with `ConnectionClosed`, and so
  does the loop over the notifications. The server may also end the subscription in good order: the loop ends.
  In both cases the watcher waits half a second and begins anew, as often as it takes.
- A moment after the last change, when the server is there, the last text that was shown is the present one.

| | |
|---|---|
| `async with client.listen(resource_subscriptions=[uri]) as changes:` | opens one |
| `async for change in changes:` | the notifications; ends or raises with the subscription |
| `(await client.read_resource(uri)).contents[0].text` | the text |""",
    answer="watch",
    starter='''\
import anyio

async def watch(client, uri, show):
    """Show the text of a resource, now and whenever it has changed, until you are cancelled."""
    return ...''',
    hints=(
        "Two questions: what comes first, to read or to listen? What may have happened between the two?",
        "Inside of `async with`: read and show, then for each notification read and show. Whatever changes "
        "after the acknowledgement is told; notifications wait until you fetch them.",
        "Around it `while True`, and in that `try` … `except ConnectionClosed: pass`, then "
        "`await anyio.sleep(0.5)`. Do not catch more than that: a cancellation has to come out.",
    ),
    solution=(
        """\
import anyio

async def show_now(client, uri, show):
    show((await client.read_resource(uri)).contents[0].text)

async def watch_once(client, uri, show):
    async with client.listen(resource_subscriptions=[uri]) as changes:
        await show_now(client, uri, show)
        async for _ in changes:
            await show_now(client, uri, show)""",
        """\
async def watch(client, uri, show):
    while True:
        try:
            await watch_once(client, uri, show)
        except ConnectionClosed:
            pass
        await anyio.sleep(0.5)""",
    ),
    why="To begin anew is the same as to begin: listen, then read. So one function does for both, and no "
    "break "
    "needs a case of its own.",
    grade=grade,
    pages=(
        ("graceful closure", "basic/patterns/subscriptions#graceful-closure"),
        ("receiving notifications", "basic/patterns/subscriptions#receiving-notifications"),
    ),
    points=25,
    play="""\
async def watch_monday(client):
    texts = []
    with anyio.move_on_after(4):
        await watch(client, "notice://monday", texts.append)
    return texts
faults = [Crash(at_ms=1000, restart_after_ms=500)]
simulate(watch_monday, server=notice_board(), transport=StreamableHttp(), faults=faults, check=False)""",
)
