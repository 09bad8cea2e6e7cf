"""Exercise: count in a recording what came of each call, and which replica did the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any, Final, cast

import anyio

from mcpsim.client import Client
from mcpsim.client.wire import SessionEnded
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_integer, as_text, items_of
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.eras.revisions import Era
from mcpsim.errors import McpSimError, NegotiationFailed, ToolError
from mcpsim.gateway import Gateway
from mcpsim.messages import ErrorResponse, Request, Response
from mcpsim.recording import Frame, Recording
from mcpsim.server import Context, Server
from mcpsim.simulation import simulate
from mcpsim.transports.faults import Crash
from mcpsim.transports.link import StreamableHttp

CALL: Final = "tools/call"
RESULT, ERROR, NOTHING = "result", "error", "nothing"
OK: Final = 200
SEEDS: Final = (1, 2, 3)

ANSWERS: Final = Rule(
    "A result response has the result of its request, an error response the error. Both have the id of the "
    "request.",
    "basic/index#responses",
)
LOST: Final = Rule("A response stream that breaks loses its request.", "changelog#major-changes")


def update(era: Era = "modern", seed: int = 0) -> Recording:
    """A recording of some users who call tools while replicas are restarted one after the other.

    Args:
        era: of the clients.
        seed: how many users and replicas there are, and when each of them does what.
    """
    rng = Random(f"update:{era}:{seed}")
    replicas, users = rng.randrange(2, 5), rng.randrange(5, 9)
    tools = [[rng.choice(("work", "work", "quick", "fail", "dance")) for _ in range(4)] for _ in range(users)]
    begins = [rng.random() for _ in range(users)]

    async def story(*clients: Client) -> None:
        """Users call while replicas come and go"""

        async def visit(number: int, client: Client) -> None:
            await anyio.sleep(begins[number])
            try:
                await client.connect()
            except McpSimError:
                return
            for tool in tools[number]:
                try:
                    await client.call_tool(tool, {}, on_progress=_look_on)
                except (NegotiationFailed, SessionEnded):
                    # A new session could not be opened, and without one there is nothing to send.
                    return
                except McpSimError:
                    await anyio.sleep(0.2)

        async with anyio.create_task_group() as tasks:
            for number, client in enumerate(clients):
                tasks.start_soon(visit, number, client)

    # A user who loses one session after the other has the gateway try ids at replicas of old sessions.
    restarted = range(1, replicas + 1) if era == "modern" else (rng.randrange(1, replicas + 1),)
    restarts = [
        Crash(process=f"server-{number}", at_ms=800 + 500 * nth, restart_after_ms=350)
        for nth, number in enumerate(restarted)
    ]
    return simulate(
        story,
        server=_desk(),
        client={f"user-{number}": Client(era=era) for number in range(1, users + 1)},
        transport=StreamableHttp(jitter_ms=15),
        gateway=Gateway(cache=False, sticky=era == "legacy"),
        replicas=replicas,
        faults=restarts,
        seed=seed,
        connect=False,
        title=f"An update, {era}",
        check=False,
    ).recording


def _look_on(progress: float, total: float | None, message: str | None) -> None:
    """Ask for progress."""


def _desk() -> Server:
    desk = Server("desk")

    @desk.tool()
    async def work(context: Context) -> str:
        """Work for a while."""
        for part in range(1, 4):
            await anyio.sleep(0.15)
            await context.report_progress(part, 3)
        return "Done."

    @desk.tool()
    def quick() -> str:
        """Work for no time at all."""
        return "Done at once."

    @desk.tool()
    def fail() -> str:
        """Fail."""
        raise ToolError("It does not work.")

    return desk


def counted(recording: Recording) -> tuple[dict[str, int], dict[str, int]]:
    """How many calls reached each replica, and how often each outcome came back to the clients."""
    reached: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for frame in recording.frames:
        if not isinstance(frame.parsed, Request) or frame.parsed.method != CALL:
            continue
        if frame.receiver == "gateway":
            back = [one for one in recording.frames if one.exchange == frame.exchange and one is not frame]
            outcomes[_outcome(back)] += 1
        elif frame.fate == "delivered":
            reached[frame.receiver] += 1
    return dict(reached), dict(outcomes)


def _outcome(back: list[Frame]) -> str:
    status = next((one.head.get("status", OK) for one in back if one.head is not None), OK)
    if any(isinstance(one.parsed, Response) for one in back):
        return RESULT
    if status != OK:
        return f"HTTP {status}"
    return ERROR if any(isinstance(one.parsed, ErrorResponse) for one in back) else NOTHING


def grade(answer: object, learner: Learner) -> Passed:
    """Let the function count in recordings of both eras."""
    calls = 0
    for seed in SEEDS:
        for era in ("modern", "legacy"):
            recording = update(era, seed)
            where = f"{recording.title}, seed {seed}:"
            value = learner.call(answer, recording, on=f"`ex.update({era!r}, {seed})`", rule=ANSWERS)
            if is_placeholder(value):
                raise NotAttempted
            reached, outcomes = counted(recording)
            try:
                _judge(where, answer, value, reached, outcomes)
            except NotYet as found:
                raise NotYet(found.seen, found.rule, found.look, recording) from None
            calls += sum(outcomes.values())
    return Passed(f"{calls} calls in {2 * len(SEEDS)} recordings, and every one was counted once.", LOST)


def _judge(
    where: str, answer: object, value: object, reached: dict[str, int], outcomes: dict[str, int]
) -> None:
    pair = items_of(value)
    found = [_counts(one) for one in pair] if pair is not None and len(pair) == 2 else []
    if len(found) != 2 or found[0] is None or found[1] is None:
        raise NotYet(
            f"{where} {name_of(answer)} returned {show(value)}.",
            look="Return two dicts, with a number for each name: `return by_replica, outcomes`.",
        )
    for what, given, wanted, look in (
        ("calls by replica", found[0], reached, _REACHED),
        ("outcomes", found[1], outcomes, _OUTCOMES),
    ):
        for key in sorted({*given, *wanted}):
            if given.get(key, 0) != wanted.get(key, 0):
                raise NotYet(
                    f"{where} among the {what}, {name_of(answer)} counts {given.get(key, 0)} for {key!r}. "
                    "There are "
                    f"{wanted.get(key, 0)}.",
                    LOST if key == NOTHING or key.startswith("HTTP") else ANSWERS,
                    look,
                )


_REACHED: Final = (
    "A call reaches a replica in a frame whose `parsed` is a `Request` of `tools/call`, whose `receiver` is "
    "that "
    'replica, and whose `fate` is "delivered".'
)
_OUTCOMES: Final = (
    "Begin with the calls that the gateway receives. What came back to a client has the same `exchange`, and "
    "there may be several frames: progress, then the answer."
)


def _counts(value: object) -> dict[str, int] | None:
    """The numbers by name, or None where that is not what it is."""
    if not isinstance(value, Mapping):
        return None
    found: dict[str, int] = {}
    for key, number in cast("Mapping[Any, Any]", value).items():
        name, count = as_text(key), as_integer(number)
        if name is None or count is None:
            return None
        found[name] = count
    return found


TITLE: Final = "Count the losses"

TASK: Final = Task(
    name="count",
    title=TITLE,
    text=f"""\
Write a function that counts in a recording. There are several clients, a gateway and several replicas in it.
The function returns two dicts:

1. how many requests of `{CALL}` arrived at each replica, by its name,
2. how often each of these came back to the *clients* for a `{CALL}`:

| name | what came back |
|---|---|
| `{RESULT!r}` | a result, also one with `isError` |
| `"HTTP 502"`, `"HTTP 404"` … | no result, and a status that is not {OK} |
| `{ERROR!r}` | a JSON-RPC error, with the status {OK} |
| `{NOTHING!r}` | none of these, because the connection broke before the answer |

`recording.frames` are the messages in order. A frame has `sender`, `receiver`, and `parsed`, which is a
`Request`, a `Response`, an `ErrorResponse`, a `Notification`, or None where it carries no message. Its `fate`
is `"delivered"` or `"dropped"`: a replica that is dead takes nothing in. `frame.exchange` is the same number
for a request and all that comes back for it. Of what comes back, the first frame has a `head`, a dict with
the HTTP `status`; in later ones of the same stream it is None. Each call crosses the wire twice: from the
client to the gateway, and on to a replica, in an exchange of its own.""",
    answer="count_calls",
    starter='''\
from collections import Counter

def count_calls(recording):
    """Calls by replica, and outcomes by kind."""
    return ...''',
    hints=(
        'Collect the requests of `tools/call` first. Those with `receiver` "gateway" come from clients, the '
        "others go to replicas.",
        "For a call of a client: all frames with the same `exchange` and the receiver `call.sender` came "
        "back "
        "for it.",
        "Look for a `Response` among them; then for a `head` with a status that is not 200; then for an "
        "`ErrorResponse`. If there is nothing of this, the connection broke.",
    ),
    solution=(
        """\
def outcome_of(back):
    messages = [frame.parsed for frame in back]
    statuses = [frame.head["status"] for frame in back if frame.head]
    if any(isinstance(message, Response) for message in messages):
        return "result"
    if statuses and statuses[0] != 200:
        return f"HTTP {statuses[0]}"
    if any(isinstance(message, ErrorResponse) for message in messages):
        return "error"
    return "nothing\"""",
        "from collections import Counter, defaultdict",
        """\
def count_calls(recording):
    calls, back = [], defaultdict(list)
    for frame in recording.frames:
        if isinstance(frame.parsed, Request) and frame.parsed.method == "tools/call":
            calls.append(frame)
        else:
            back[frame.exchange].append(frame)
    arrived = [call for call in calls if call.fate == "delivered"]
    by_replica = Counter(call.receiver for call in arrived if call.receiver != "gateway")
    of_clients = [call for call in calls if call.receiver == "gateway"]
    return by_replica, Counter(outcome_of(back[call.exchange]) for call in of_clients)""",
    ),
    why="The exchange ties together what belongs together: ids do not, since every client counts for itself. "
    "What a client gets for a lost call tells where it was lost.",
    grade=grade,
    points=15,
    pages=(
        ("responses", "basic/index#responses"),
        ("lost requests", "changelog#major-changes"),
    ),
    show="""\
for frame in ex.update().frames[:12]:
    status = frame.head.get("status") if frame.head else None
    print(frame.exchange, frame.sender, "→", frame.receiver, type(frame.parsed).__name__, status)""",
)
