"""Exercise: what a client does with a message that comes too late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_integer, as_text, items_of
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.course.exercises.worlds import World, every_world
from mcpsim.course.servers import help_desk
from mcpsim.messages import ErrorResponse, Notification, Request, Response, meta_of, to_object
from mcpsim.recording import Frame, Recording

BEHAVIOR: Final = "basic/patterns/cancellation#behavior-requirements"
IGNORED: Final = Rule(
    "The client SHOULD ignore any response to a cancelled request that arrives afterward.", BEHAVIOR
)
SAME_ID: Final = Rule(
    'A response has the same id as the request. An id is a string or an integer, and 1 and "1" are two ids.',
    "basic/index#result-responses",
)
BY_TOKEN: Final = Rule(
    "A progress notification names the token that came with the request, and not its id.",
    "basic/patterns/progress#progress-flow",
)
ERRORS: Final = Rule(
    "An error is an answer too: it has the id of its request, unless that could not be read.",
    "basic/index#error-responses",
)

WORDS: Final = ("answer", "progress", "late", "unknown")

Id = str | int
Tokens = Mapping[Id, str | int | None]
Taken = tuple[str, Id | None]


@dataclass(frozen=True, slots=True)
class Case:
    """One message that comes in, and what the client remembers."""

    what: str
    message: dict[str, Any]
    waiting: Tokens
    cancelled: Tokens
    expected: Taken
    rule: Rule


def _result(id: Id) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", "content": []}}


def _error(id: Id | None) -> dict[str, Any]:
    error = {"code": -32603, "message": "It failed"}
    return {"jsonrpc": "2.0", "error": error} if id is None else {"jsonrpc": "2.0", "id": id, "error": error}


def _progress(token: str | int) -> dict[str, Any]:
    params = {"progressToken": token, "progress": 1}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def _cases(rng: Random) -> Iterator[Case]:
    one, two, three = rng.sample(range(2, 90), 3)
    word = rng.choice(["report", "export", "build"])
    waiting: Tokens = {one: word, two: None}
    cancelled: Tokens = {three: f"{word}-2"}
    yield Case("a result for a request in flight", _result(one), waiting, cancelled, ("answer", one), SAME_ID)
    yield Case("an error for a request in flight", _error(two), waiting, cancelled, ("answer", two), ERRORS)
    yield Case(
        "a result for a cancelled request", _result(three), waiting, cancelled, ("late", three), IGNORED
    )
    yield Case(
        "an error for a cancelled request", _error(three), waiting, cancelled, ("late", three), IGNORED
    )
    yield Case(
        "progress of a request in flight", _progress(word), waiting, cancelled, ("progress", one), BY_TOKEN
    )
    yield Case(
        "progress of a cancelled request",
        _progress(f"{word}-2"),
        waiting,
        cancelled,
        ("late", three),
        IGNORED,
    )
    yield Case(
        "a result under an id that was never sent",
        _result(one + two + three),
        waiting,
        cancelled,
        ("unknown", None),
        SAME_ID,
    )
    yield Case(
        "a result under the id of a request, as a text",
        _result(str(one)),
        waiting,
        cancelled,
        ("unknown", None),
        SAME_ID,
    )
    yield Case(
        "progress for the id of a request, which is not its token",
        _progress(two),
        waiting,
        cancelled,
        ("unknown", None),
        BY_TOKEN,
    )
    yield Case(
        "progress for the id of a cancelled request, which is not its token",
        _progress(three),
        waiting,
        cancelled,
        ("unknown", None),
        BY_TOKEN,
    )
    yield Case("an error without an id", _error(None), waiting, cancelled, ("unknown", None), ERRORS)
    for token in (0, ""):
        yield Case(
            f"progress for the token {token!r}",
            _progress(token),
            {one: None, two: token},
            {},
            ("progress", two),
            BY_TOKEN,
        )
    yield Case(
        "progress for a token that is the id of another request",
        _progress(two),
        {two: None, one: two},
        cancelled,
        ("progress", one),
        BY_TOKEN,
    )
    yield Case("a result under the id 0", _result(0), {0: None}, {}, ("answer", 0), SAME_ID)
    yield Case("a result under the empty id", _result(""), {}, {"": None}, ("late", ""), IGNORED)


SEEDS: Final = (1, 2, 3)


def grade(answer: object, learner: Learner) -> Passed:
    """Ask about made-up messages, then about all that a real server sends to a client that stops calls."""
    asked = 0
    if is_placeholder(learner.call(answer, _result(1), {1: None}, {}, on="a result")):
        raise NotAttempted
    for seed in SEEDS:
        for case in _cases(Random(f"late:{seed}")):
            _compare(answer, learner, case)
            asked += 1
    for world in every_world():
        # Over HTTP what is late does not arrive any more: its stream is closed.
        if world.is_http:
            continue
        for case in _played(answer, learner, world):
            _compare(answer, learner, case)
            asked += 1
    return Passed(
        f"All {asked} messages go where they belong: what is late goes nowhere, and harms nobody.", IGNORED
    )


def _compare(answer: object, learner: Learner, case: Case) -> None:
    message = dict(case.message)
    value = learner.call(
        answer, message, dict(case.waiting), dict(case.cancelled), on=case.what, rule=case.rule
    )
    taken = _taken(value)
    if taken is None:
        raise NotYet(
            f"For {case.what}, the returned value is {show(value)}.",
            look='Return a pair, such as ("late", 7) or ("unknown", None). The words are '
            f"{', '.join(map(repr, WORDS))}.",
        )
    if (taken[0], type(taken[1]), taken[1]) != (case.expected[0], type(case.expected[1]), case.expected[1]):
        raise NotYet(
            f"What comes is {case.what}: {show(_short(case.message))}. In flight are "
            f"{show(dict(case.waiting))}, cancelled are {show(dict(case.cancelled))}. {name_of(answer)} "
            f"returned {show(taken)}, and {show(case.expected)} was expected.",
            case.rule,
            "Responses are told by their id, and progress by the token of its request.",
        )


def _taken(value: object) -> Taken | None:
    pair = items_of(value)
    if pair is None or len(pair) != 2:
        return None
    word, id = as_text(pair[0]), pair[1]
    plain = as_text(id) if isinstance(id, str) else as_integer(id)
    if word not in WORDS or (plain is None and id is not None):
        return None
    return word, plain


def _short(message: dict[str, Any]) -> dict[str, Any]:
    """The message without what does not matter here."""
    if "params" in message:
        return {"method": message["method"], "progressToken": message["params"]["progressToken"]}
    kind = "result" if "result" in message else "error"
    return {**({"id": message["id"]} if "id" in message else {}), kind: "…"}


# How many parts each report has (0.2 seconds for each), and after how long it is stopped; None for never.
_REPORTS: Final[tuple[tuple[int, float | None], ...]] = ((2, None), (4, 0.5), (3, 0.61), (1, 0.21), (5, 0.95))


def _played(answer: object, learner: Learner, world: World) -> Iterator[Case]:
    """What comes in a run in which some calls are stopped, and what the client remembered each time."""
    rng = Random(f"stopped:{world.seed}")

    async def story(client: Client) -> None:
        async def export(parts: int, stop_s: float | None) -> None:
            await anyio.sleep(rng.uniform(0, 0.1))
            with anyio.move_on_after(stop_s):
                await client.call_tool("export_report", {"parts": parts}, on_progress=_listen)

        async with anyio.create_task_group() as tasks:
            for parts, stop_s in _REPORTS:
                tasks.start_soon(export, parts, stop_s)
        await anyio.sleep(0.5)

    run = learner.play(
        story,
        server=help_desk(),
        client=Client(era=world.era),
        transport=world.transport,
        seed=world.seed,
        title=TITLE,
        written=answer,
    )
    yield from _remembered(run.recording, f"a message of a run ({world})")


def _listen(progress: float, total: float | None, message: str | None) -> None:
    """Ask for progress."""


def _remembered(recording: Recording, what: str) -> Iterator[Case]:
    waiting: dict[Id, str | int | None] = {}
    cancelled: dict[Id, str | int | None] = {}
    for frame in sorted(recording.frames, key=_at_the_client):
        match frame.parsed:
            case Request(id=id, params=params):
                waiting[id] = meta_of(params).get("progressToken")
            case Notification(method="notifications/cancelled", params=params):
                id = (params or {})["requestId"]
                cancelled[id] = waiting.pop(id)
            case Response() | ErrorResponse() | Notification(method="notifications/progress"):
                message = to_object(frame.parsed)
                word, id = expected(message, waiting, cancelled)
                yield Case(what, message, dict(waiting), dict(cancelled), (word, id), IGNORED)
                if word == "answer" and id is not None:
                    del waiting[id]
            case _:
                continue


def _at_the_client(frame: Frame) -> tuple[int, int]:
    """When the client sends it, or gets it."""
    return (frame.sent_us if frame.receiver == "server" else frame.arrived_us or 0), frame.number


def expected(message: Mapping[str, Any], waiting: Tokens, cancelled: Tokens) -> Taken:
    """Where a response or a progress notification belongs."""
    if "params" in message:
        token = message["params"]["progressToken"]
        for word, requests in (("progress", waiting), ("late", cancelled)):
            for id, given in requests.items():
                if given is not None and _is_same(given, token):
                    return word, id
        return "unknown", None
    for word, requests in (("answer", waiting), ("late", cancelled)):
        for id in requests:
            if _is_same(id, message.get("id")):
                return word, id
    return "unknown", None


def _is_same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


TITLE: Final = "Answer, progress, or too late"

TASK: Final = Task(
    name="late",
    title=TITLE,
    text="""\
A client keeps two dicts: `waiting`, the requests that are in flight, and `cancelled`, those that it has
cancelled. Both go from the id of a request to its progress token, or to None where it has none.

A message comes from the server: a response (with `result` or `error`), or `notifications/progress`. Write
the function that says where it belongs. Return a pair:

| | |
|---|---|
| `("answer", id)` | it answers the request with this id, which is in flight |
| `("progress", id)` | it is progress of the request with this id, which is in flight |
| `("late", id)` | it is about a cancelled request, and comes too late |
| `("unknown", None)` | it is about no request that the client knows |

`message` is a dict, as it came out of JSON. Ids and tokens are strings or integers. An error may have no
`id`: then the server could not read what it is about.""",
    answer="take",
    starter='''\
def take(message, waiting, cancelled):
    """Where a message belongs: a word, and the id of the request or None."""
    return ...''',
    hints=(
        "Two kinds of message, two kinds of name: which of them has an id, and which has a token?",
        'A response: look for its id among the keys of both dicts. `message.get("id")` is None where there '
        "is none. Progress: look for its token among the values, and return the key.",
        "0 and the empty text are ids and tokens like any other: ask `is not None`, or look with `in`. A "
        'dict keeps 1 and "1" apart by itself.',
    ),
    solution=(
        """\
def take(message, waiting, cancelled):
    if message.get("method") == "notifications/progress":
        token = message["params"]["progressToken"]
        for word, requests in (("progress", waiting), ("late", cancelled)):
            for id, its_token in requests.items():
                if its_token == token:
                    return word, id
    elif message.get("id") in waiting:
        return "answer", message["id"]
    elif message.get("id") in cancelled:
        return "late", message["id"]
    return "unknown", None""",
    ),
    why="Responses have the id of their request, progress has its token, and the two need not be the same. "
    "What belongs to nobody is dropped; it is no reason to fail.",
    grade=grade,
    pages=(("behaviour", BEHAVIOR), ("timing", "basic/patterns/cancellation#timing-considerations")),
)
