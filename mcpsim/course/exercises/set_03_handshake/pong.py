"""Exercise: what does a client answer to what a server sends?"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final, cast

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_integer, as_text
from mcpsim.course.exercises.set_03_handshake.rules import (
    EMPTY_ANSWER,
    NEGOTIATED_ONLY,
    NOTIFICATIONS,
    PING,
    RESPONSES,
    rule,
)
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.eras.pages import LEGACY
from mcpsim.errors import METHOD_NOT_FOUND, MalformedMessage
from mcpsim.messages import from_object

SEEDS: Final = (1, 2, 3)

Json = dict[str, Any]

SAME_ID: Final = rule("A response MUST have the same id as its request.", RESPONSES)
NO_ANSWER: Final = rule("The receiver of a notification MUST NOT send a response.", NOTIFICATIONS)
NOT_ASKED: Final = rule("Only a request is answered. A response ends an exchange.", RESPONSES)


@dataclass(frozen=True, slots=True)
class Case:
    """One message of a server, and what a client does with it.

    Attributes:
        what: what it is, for a sentence.
        message: the message.
        answer: "pong", "refuse" or "" for no answer.
        rule: what decides.
    """

    what: str
    message: Json
    answer: str
    rule: Rule


def cases(seed: int) -> Iterator[Case]:
    """Messages of every kind, the simple ones first."""
    rng = Random(f"pong:{seed}")
    ids: tuple[Any, ...] = (rng.randrange(2, 10_000), f"ping-{rng.randrange(99)}", 0, "", -7, "7")
    for id in ids:
        yield Case(f"a ping with the id {id!r}", _request(id, "ping"), "pong", EMPTY_ANSWER)
    yield Case("a ping with params", _request(3, "ping", {}), "pong", EMPTY_ANSWER)
    yield Case("a ping with `_meta`", _request("m", "ping", {"_meta": {"a": 1}}), "pong", EMPTY_ANSWER)
    asked: tuple[tuple[str, Json | None], ...] = (
        ("roots/list", None),
        ("sampling/createMessage", {"messages": [], "maxTokens": 10}),
        (
            "elicitation/create",
            {"message": "Which seat?", "requestedSchema": {"type": "object", "properties": {}}},
        ),
        ("tools/list", None),
        (f"desk/{rng.choice(['status', 'open', 'close'])}", None),
        ("pong", {}),
    )
    for method, params in asked:
        id = rng.choice([rng.randrange(100), f"r{rng.randrange(100)}", 0])
        yield Case(f"the request `{method}`", _request(id, method, params), "refuse", NEGOTIATED_ONLY)
    told: tuple[tuple[str, Json], ...] = (
        ("notifications/message", {"level": "info", "data": "ping"}),
        ("notifications/progress", {"progressToken": 1, "progress": 0.5}),
        ("notifications/cancelled", {"requestId": 4}),
        ("notifications/tools/list_changed", {}),
        ("ping", {}),
    )
    for method, params in told:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        yield Case(f"the notification `{method}`", message, "", NO_ANSWER)
    result: Json = {"jsonrpc": "2.0", "id": rng.randrange(99), "result": {}}
    yield Case("a result, the answer to a ping of the client", result, "", NOT_ASKED)
    error = {"jsonrpc": "2.0", "id": 5, "error": {"code": METHOD_NOT_FOUND, "message": "ping"}}
    yield Case("an error, the answer to a request of the client", error, "", NOT_ASKED)


def _request(id: Any, method: str, params: Json | None = None) -> Json:
    message: Json = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else {**message, "params": params}


def grade(answer: object, learner: Learner) -> Passed:
    """Call the function with messages of every kind."""
    seen = 0
    for seed in SEEDS:
        for case in cases(seed):
            on = f"{case.what}: {show(case.message)}"
            value = learner.call(answer, copy.deepcopy(case.message), on=on, rule=case.rule)
            if is_placeholder(value):
                raise NotAttempted
            fault = _fault(case, value)
            if fault is not None:
                said, why, look = fault
                raise NotYet(f"On {on}, {name_of(answer)} returned {show(value)}. {said}", why, look)
            seen += 1
    return Passed(
        f"{seen} messages: pings were answered, other requests refused, the rest left alone.", EMPTY_ANSWER
    )


def _fault(case: Case, value: object) -> tuple[str, Rule, str] | None:
    if not case.answer:
        look = "A message without an id, or without a method, gets None."
        return None if value is None else ("Nothing is sent back here.", case.rule, look)
    if not isinstance(value, dict):
        return "An answer is due: an object.", case.rule, "Every request gets a response."
    given = dict(cast("Json", value))
    if not _same_id(given.get("id"), case.message["id"]):
        look = "Take the id out of the request as it is: 0 and the empty string are ids too."
        return f"Its id is {show(given.get('id'))}.", SAME_ID, look
    try:
        from_object(given)
    except MalformedMessage as error:
        return f"That is no message: {error.message}", case.rule, "`jsonrpc`, `id`, and `result` or `error`."
    if case.answer == "pong":
        if given.get("result") != {} or not isinstance(given.get("result"), dict):
            return "The result of a ping is an empty object.", EMPTY_ANSWER, "`{}`, and nothing in it."
        return None
    code = as_integer(cast("Json", given.get("error") or {}).get("code"))
    if code != METHOD_NOT_FOUND:
        said = "a result" if "result" in given else f"the error {code}"
        return (
            f"It is answered with {said}.",
            case.rule,
            f"This client offers nothing: such a method is not found, {METHOD_NOT_FOUND}.",
        )
    return None


def _same_id(given: object, asked: object) -> bool:
    # Also in type: 7 and "7" are two ids.
    if isinstance(asked, str):
        return as_text(given) == asked
    return as_integer(given) == asked


TASK: Final = Task(
    era=LEGACY,
    name="pong",
    title="Answer the server",
    text=f"""\
In a legacy session the server may send something by itself. Write the function that a client calls with each
message that comes in. It returns the message to send back, as an object, or None where nothing is sent back.

- A `ping` is answered with an empty result.
- This client has declared no capabilities. It answers any other request with the error {METHOD_NOT_FOUND}
  and a text of your choice.
- Notifications, and answers to the client's own requests, are not answered.

The messages are well-formed.""",
    answer="reply_to",
    starter='''\
def reply_to(message):
    """What the client sends back: an object, or None."""
    return ...''',
    hints=(
        "First find out whether it is a request: it has a `method` and an `id`. Ask with `in`, because an id "
        "may be 0.",
        'An answer has three members: `"jsonrpc": "2.0"`, the id of the request, and either `result` '
        "or `error`.",
        f'`{{"code": {METHOD_NOT_FOUND}, "message": "Method not found"}}` is such an error. The result '
        f"of a ping is `{{}}`.",
    ),
    solution=(
        """\
def reply_to(message):
    if "method" not in message or "id" not in message:
        return None
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "ping":
        return {**answer, "result": {}}
    return {**answer, "error": {"code": -32601, "message": "Method not found"}}""",
    ),
    why="The id belongs to the server: it is given back as it came. A client that does not answer "
    "pings looks dead, and may be disconnected.",
    grade=grade,
    pages=(("ping", PING), ("responses", RESPONSES), ("notifications", NOTIFICATIONS)),
)
