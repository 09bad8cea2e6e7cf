"""Exercise: a server that tells only who asked, and of what they asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final, cast

from pydantic import ValidationError

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import items_of
from mcpsim.course.exercises.set_11_subscriptions.expect import FLAGS
from mcpsim.course.exercises.set_11_subscriptions.expect import URIS as PLAIN_URIS
from mcpsim.course.exercises.set_11_subscriptions.rules import (
    ACKNOWLEDGED,
    AGREED,
    ASKED,
    BY_ID,
    ENDS,
    FIRST,
    NAMED,
    UPDATED,
)
from mcpsim.course.exercises.showing import show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.eras.bodies import models
from mcpsim.eras.capabilities import declares
from mcpsim.eras.revisions import LATEST_MODERN
from mcpsim.messages import is_request_id
from mcpsim.messages.meta import SUBSCRIPTION_ID
from mcpsim.utilities.subscriptions import CAPABILITY_OF, RESOURCE_SUBSCRIPTIONS

SEEDS: Final = (1, 2, 3, 4, 5, 6)
#: Two of them begin as another one does, and lie beside it, not below it.
URIS: Final = (*PLAIN_URIS, "notice://monday-evening", "price://paperclips")
SCHEMA: Final = Rule("The schema is the source of truth for all messages.", "basic/index#schema")

Id = str | int
Filter = Mapping[str, Any]
# An id with its type: in a dict 1 and True would be one key.
Told = dict[tuple[str, Id], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens at the server.

    Attributes:
        call: the method of the learner's object.
        arguments: what it is called with.
        expected: the messages that go out, by subscription, without what every one of them has.
        rule: what decides.
    """

    call: str
    arguments: tuple[Any, ...]
    expected: Told
    rule: Rule

    def __str__(self) -> str:
        return f"`{self.call}({', '.join(map(repr, self.arguments))})`"


def _key(id: Id) -> tuple[str, Id]:
    return type(id).__name__, id


def _capabilities(rng: Random) -> dict[str, Any]:
    declared: dict[str, Any] = {}
    if rng.random() < 0.8:
        declared["tools"] = rng.choice(
            [{"listChanged": True}, {"listChanged": True}, {}, {"listChanged": False}]
        )
    if rng.random() < 0.8:
        declared["prompts"] = rng.choice([{"listChanged": True}, {}])
    resources = rng.choice(["", "subscribe", "listChanged", "both", "both", "none"])
    if resources != "none":
        declared["resources"] = {
            **({"subscribe": True} if resources in ("subscribe", "both") else {}),
            **({"listChanged": True} if resources in ("listChanged", "both") else {}),
        }
    return declared


def _wishes(rng: Random) -> dict[str, Any]:
    wishes: dict[str, Any] = {flag: rng.random() < 0.7 for flag in FLAGS if rng.random() < 0.7}
    if rng.random() < 0.7:
        wishes[RESOURCE_SUBSCRIPTIONS] = rng.sample(URIS, rng.choice((1, 2, 3)))
    return wishes


def agreed(wishes: Filter, declared: Filter) -> dict[str, Any]:
    """What a server agrees to tell of."""
    found: dict[str, Any] = {
        flag: True
        for flag, method in FLAGS.items()
        if wishes.get(flag) and declares(declared, CAPABILITY_OF[method])
    }
    if wishes.get(RESOURCE_SUBSCRIPTIONS) and declares(declared, CAPABILITY_OF[UPDATED]):
        found[RESOURCE_SUBSCRIPTIONS] = list(wishes[RESOURCE_SUBSCRIPTIONS])
    return found


def _wants(filter_: Filter, method: str, uri: str | None) -> bool:
    if method == UPDATED:
        return uri in filter_.get(RESOURCE_SUBSCRIPTIONS, [])
    return any(filter_.get(flag) for flag, named in FLAGS.items() if named == method)


def _steps(rng: Random, declared: Filter) -> Iterator[Step]:
    first = rng.randrange(1, 50)
    numbers = range(first, first + 20)
    ids: list[Id] = [*numbers, *map(str, numbers), "watch"]
    rng.shuffle(ids)
    used: list[Id] = []
    open_: dict[tuple[str, Id], tuple[Id, dict[str, Any]]] = {}
    for _ in range(60):
        what = rng.random()
        if what < 0.3:
            id, wishes = ids.pop(), _wishes(rng)
            twin: Id = str(id) if isinstance(id, int) else int(id) if id.isdigit() else ""
            if twin in ids:
                # The next one is the same id, of the other type.
                ids.remove(twin)
                ids.append(twin)
            used.append(id)
            filter_ = agreed(wishes, declared)
            open_[_key(id)] = id, filter_
            told: Told = {_key(id): {"method": ACKNOWLEDGED, "notifications": filter_}}
            yield Step("listen", (id, wishes), told, AGREED)
        elif what < 0.45:
            id = rng.choice([*used, "nobody"])
            open_.pop(_key(id), None)
            yield Step("cancelled", (id,), {}, ENDS)
        else:
            method = rng.choice([*FLAGS.values(), UPDATED, UPDATED])
            uri = rng.choice(URIS) if method == UPDATED else None
            body: dict[str, Any] = {"method": method} if uri is None else {"method": method, "uri": uri}
            told = {key: body for key, (_, filter_) in open_.items() if _wants(filter_, method, uri)}
            arguments = (method,) if uri is None else (method, uri)
            yield Step("changed", arguments, told, ASKED if uri is None else NAMED)


def grade(answer: object, learner: Learner) -> Passed:
    """Use the learner's object for several servers, each with clients that come and go."""
    if not callable(answer):
        raise NotYet(
            f"This is no class: it is {show(answer)}.",
            look="Give the class itself, and not an object that it has made.",
        )
    count = told = 0
    for seed in SEEDS:
        rng = Random(f"tell:{seed}")
        declared = _capabilities(rng)
        if seed == SEEDS[0]:
            declared = {"resources": {"listChanged": True, "subscribe": True}, "tools": {"listChanged": True}}
        made = learner.call(answer, json.loads(json.dumps(declared)), on="a server's capabilities")
        if is_placeholder(made):
            raise NotAttempted
        _require_methods(made)
        for step in _steps(rng, declared):
            told += _take(learner, made, step, declared)
            count += 1
    return Passed(
        f"In {count} steps {told} messages went out, each to a subscription that had asked for it.", ASKED
    )


def _require_methods(made: object) -> None:
    for name in ("listen", "changed", "cancelled"):
        if not callable(getattr(made, name, None)):
            raise NotYet(
                f"What was made has no method `{name}`: it is {show(made)}.",
                look="Give the class. Its objects have the methods `listen`, `changed` and `cancelled`.",
            )


def _take(learner: Learner, made: object, step: Step, declared: Filter) -> int:
    method = getattr(made, step.call)
    arguments = json.loads(json.dumps(step.arguments))
    value = learner.call(method, *arguments, on=str(step), rule=step.rule)
    if is_placeholder(value):
        raise NotAttempted
    items = items_of(value)
    if items is None:
        raise NotYet(
            f"{step} returned {show(value)}.", step.rule, "Return a list of messages, perhaps empty."
        )
    where = f"The server declares {show(dict(declared))}. {step} returned {show(value)}."
    if step.call == "cancelled" and items:
        raise NotYet(
            f"{where} Nothing should go out.",
            ENDS,
            "Who took a request back waits for nothing more. Forget the subscription, if it is one, and "
            "return an empty list.",
        )
    given: Told = {}
    for item in items:
        message = _plain(where, item)
        id = _id_of(where, message)
        if _key(id) in given:
            raise NotYet(f"{where} Two messages go to the subscription {id!r}.", BY_ID, "One is enough.")
        given[_key(id)] = message
    _compare(where, step, given)
    return len(given)


def _plain(where: str, item: object) -> dict[str, Any]:
    try:
        value: Any = json.loads(json.dumps(item))
    except (TypeError, ValueError, RecursionError):
        raise NotYet(f"{where} JSON cannot carry that.", SCHEMA, "Return dicts.") from None
    if not isinstance(value, dict):
        raise NotYet(f"{where} {show(item)} is no message.", SCHEMA, "Return a list of dicts.")
    message = cast("dict[str, Any]", value)
    if message.get("jsonrpc") != "2.0" or "id" in message or not isinstance(message.get("method"), str):
        raise NotYet(
            f"{where} {show(message)} is no notification.",
            Rule(
                "A notification has `jsonrpc` and `method`, and MUST NOT have an id.",
                "basic/index#notifications",
            ),
            'It begins `{"jsonrpc": "2.0", "method": …, "params": …}`.',
        )
    try:
        models().parse_server_notification(message["method"], LATEST_MODERN, message.get("params"))
    except KeyError:
        raise NotYet(f"{where} There is no notification `{message['method']}`.", SCHEMA, _METHODS) from None
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"])) or "params"
        raise NotYet(f"{where} That is not valid: {place}: {fault['msg']}.", SCHEMA, _METHODS) from None
    return message


_METHODS: Final = f"An acknowledgement is `{ACKNOWLEDGED}`, with `notifications`. An update has a `uri`."


def _id_of(where: str, message: dict[str, Any]) -> Id:
    params: Any = message.get("params")
    meta: Any = cast("dict[str, Any]", params).get("_meta") if isinstance(params, dict) else None
    id: Any = cast("dict[str, Any]", meta).get(SUBSCRIPTION_ID) if isinstance(meta, dict) else None
    if not is_request_id(id):
        raise NotYet(
            f"{where} {show(message)} does not say to which subscription it belongs.",
            BY_ID,
            f"In `params`, `_meta` has the key `{SUBSCRIPTION_ID}`.",
        )
    return id


def _compare(where: str, step: Step, given: Told) -> None:
    for key, message in given.items():
        right = step.expected.get(key)
        if right is None:
            raise NotYet(
                f"{where} No message should go to the subscription {key[1]!r}.",
                step.rule,
                "A subscription is told of what was agreed, as long as it is open, and under its own id.",
            )
        if message["method"] != right["method"]:
            raise NotYet(
                f"{where} `{right['method']}` should go to the subscription {key[1]!r}.",
                FIRST if right["method"] == ACKNOWLEDGED else step.rule,
                _METHODS,
            )
        found = message["params"]
        if "notifications" in right:
            filter_ = {name: value for name, value in found["notifications"].items() if value}
            if filter_ != right["notifications"]:
                raise NotYet(
                    f"{where} The server can agree to {show(right['notifications'])}.",
                    AGREED,
                    "Lists of tools, prompts and resources need `listChanged`, resources need `subscribe`, "
                    "and "
                    "nothing is agreed to that was not asked for.",
                )
        elif found.get("uri") != right.get("uri"):
            raise NotYet(f"{where} The `uri` should be {show(right.get('uri'))}.", NAMED, _METHODS)
    missing = [key[1] for key in step.expected if key not in given]
    if missing:
        right = step.expected[_key(missing[0])]
        is_first = right["method"] == ACKNOWLEDGED
        raise NotYet(
            f"{where} `{right['method']}` should go to the subscription {missing[0]!r}.",
            FIRST if is_first else BY_ID,
            "Also where the server agrees to nothing." if is_first else "It has asked, and it is open.",
        )


TASK: Final = Task(
    name="tell",
    title="Tell who asked",
    text="""\
Write the class that keeps a server's subscriptions, and says which notifications go out. Its objects are made
with the server's capabilities, and have three methods. Each returns a list of notifications (dicts, complete
with `jsonrpc`), perhaps an empty one.

| | when | returns |
|---|---|---|
| `listen(id, notifications)` | a `subscriptions/listen` request came | its acknowledgement |
| `changed(method, uri=None)` | something changed: `method` tells of it | one for each who is to be told |
| `cancelled(id)` | a client took a request back, which may be any request | an empty list |

The server agrees to what was asked for and it can do: changes of the three lists where the capability of the
list (`tools`, `prompts`, `resources`) declares `listChanged`, updates of resources where `resources` declares
`subscribe`. Of an update those are told who named the very URI. Ids are integers and texts. The order of the
notifications does not matter.""",
    answer="Subscriptions",
    starter="""\
class Subscriptions:
    def __init__(self, capabilities):
        self.capabilities = capabilities

    def listen(self, id, notifications):
        return ...

    def changed(self, method, uri=None):
        return ...

    def cancelled(self, id):
        return ...""",
    hints=(
        "A dict from the id to what was agreed is all that has to be kept. Agreed is what goes into the "
        "acknowledgement.",
        "`toolsListChanged` goes with the capability `tools` and with the method "
        "`notifications/tools/list_changed`. The other two are made in the same way.",
        f"Each notification has in `params` a `_meta` with `{SUBSCRIPTION_ID}`, the id as it came. An update "
        "has a `uri` beside it.",
    ),
    solution=(
        f'''\
KEY = "{SUBSCRIPTION_ID}"

def notification(method, id, **params):
    return {{"jsonrpc": "2.0", "method": method, "params": {{**params, "_meta": {{KEY: id}}}}}}

def kinds_of(capabilities):
    """The members of a filter that a server can agree to, each with its notification."""
    kinds = {{f"{{kind}}ListChanged": f"notifications/{{kind}}/list_changed"
             for kind, declared in capabilities.items() if declared.get("listChanged")}}
    if capabilities.get("resources", {{}}).get("subscribe"):
        kinds["resourceSubscriptions"] = "notifications/resources/updated"
    return kinds''',
        """\
class Subscriptions:
    def __init__(self, capabilities):
        self.kinds = kinds_of(capabilities)
        self.agreed = {}

    def listen(self, id, notifications):
        self.agreed[id] = {kind: wish for kind, wish in notifications.items() if wish and kind in self.kinds}
        return [notification("notifications/subscriptions/acknowledged", id, notifications=self.agreed[id])]

    def cancelled(self, id):
        self.agreed.pop(id, None)
        return []""",
        """\
def changed(self, method, uri=None):
    told = []
    for id, agreed in self.agreed.items():
        wishes = {self.kinds[kind]: wish for kind, wish in agreed.items()}
        if uri is not None and uri in wishes.get(method, []):
            told.append(notification(method, id, uri=uri))
        elif uri is None and method in wishes:
            told.append(notification(method, id))
    return told

Subscriptions.changed = changed""",
    ),
    why="All that a server keeps of a client is what was agreed, and only as long as the request is open.",
    grade=grade,
    pages=(
        ("opening a stream", "basic/patterns/subscriptions#opening-a-stream"),
        ("acknowledgment", "basic/patterns/subscriptions#acknowledgment"),
    ),
    points=20,
)
