"""Exercise: what a legacy client sends in a session, said in the modern way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any, Final, cast

from pydantic import ValidationError

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import items_of
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.eras.bodies import models
from mcpsim.eras.pages import LEGACY, spec_url
from mcpsim.eras.revisions import LATEST_LEGACY, LATEST_MODERN
from mcpsim.errors import MalformedMessage
from mcpsim.messages import Notification, Request, from_object

CHANGES: Final = "changelog#major-changes"
LEVEL: Final = "io.modelcontextprotocol/logLevel"
VERSION: Final = "io.modelcontextprotocol/protocolVersion"
INFO: Final = "io.modelcontextprotocol/clientInfo"
CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
LISTEN: Final = "subscriptions/listen"
CANCELLED: Final = "notifications/cancelled"

EACH_TIME: Final = Rule(
    "Every request carries the version and the client's capabilities in `_meta`, and SHOULD say who the "
    "client is.",
    CHANGES,
)
LOGGING: Final = Rule(
    "The log level is set for each request, by a key in its `_meta`. A server MUST NOT send log messages for "
    "a request without it.",
    "server/utilities/logging#per-request-log-level",
)
LISTENING: Final = Rule(
    "`subscriptions/listen` takes the place of `resources/subscribe`: its filter names the resources.",
    "basic/patterns/subscriptions#opening-a-stream",
)
UNLISTENING: Final = Rule(
    "The client ends a subscription on stdio with `notifications/cancelled` that names the id of "
    "`subscriptions/listen`.",
    "basic/patterns/subscriptions#cancellation",
)
GONE: Final = Rule("The handshake, `ping` and `notifications/roots/list_changed` are removed.", CHANGES)
SAME: Final = Rule("What both eras have stays as it is: method, id, and what the request is about.", CHANGES)
SCHEMA: Final = Rule("The schema is the source of truth for all messages.", "basic/index#schema")

SEEDS: Final = (1, 2, 3, 4)

_TOOLS: Final = ("pin", "find_ticket", "lend")
_URIS: Final = ("notice://monday", "notice://tuesday", "price://paper")
_LEVELS: Final = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Expected:
    """A modern message.

    Attributes:
        message: what it is, for a request without the keys of `_meta` that the rules are about.
        origin: what a legacy client sends for it.
        level: the log level that holds.
        rule: what decides.
    """

    message: dict[str, Any]
    origin: str
    level: str | None
    rule: Rule


def _session(rng: Random) -> list[dict[str, Any]]:
    """What a legacy client sends in a session, in order."""
    first = rng.randrange(0, 50)
    capabilities = rng.choice([{}, {"elicitation": {}}, {"roots": {"listChanged": True}, "sampling": {}}])
    info = {"name": f"client-{rng.randrange(99)}", "version": f"{rng.randrange(1, 9)}.0.0"}
    hello = {"protocolVersion": LATEST_LEGACY, "capabilities": capabilities, "clientInfo": info}
    bodies: list[tuple[str, dict[str, Any] | None]] = [
        ("resources/read", {"uri": rng.choice(_URIS)}),
        ("tools/call", {"name": rng.choice(_TOOLS), "arguments": {"n": rng.randrange(9)}}),
        (
            "tools/call",
            {"name": rng.choice(_TOOLS), "arguments": {}, "_meta": {"progressToken": rng.randrange(999)}},
        ),
        ("tools/list", None),
        ("ping", None),
        ("prompts/list", {"cursor": f"c-{rng.randrange(99)}"}),
        ("notifications/roots/list_changed", None),
    ]
    rng.shuffle(bodies)
    for uri in rng.sample(_URIS, 2):
        at = rng.randrange(len(bodies))
        bodies.insert(at, ("resources/subscribe", {"uri": uri}))
        if rng.random() < 0.7:
            bodies.insert(rng.randrange(at + 1, len(bodies) + 1), ("resources/unsubscribe", {"uri": uri}))
    for level in rng.sample(_LEVELS, 2):
        bodies.insert(rng.randrange(1, len(bodies) + 1), ("logging/setLevel", {"level": level}))
    sent: list[tuple[str, dict[str, Any] | None]] = [
        ("initialize", hello),
        ("notifications/initialized", None),
        *bodies,
    ]
    messages: list[dict[str, Any]] = []
    for number, (method, params) in enumerate(sent, start=first):
        id = {} if method.startswith("notifications/") else {"id": number if number % 3 else f"r-{number}"}
        about = {} if params is None else {"params": params}
        messages.append({"jsonrpc": "2.0", **id, "method": method, **about})
    return messages


def _expected(session: list[dict[str, Any]]) -> Iterator[Expected]:
    level: str | None = None
    listening: dict[str, Any] = {}
    for message in session:
        method, params = message["method"], message.get("params", {})
        match method:
            case (
                "initialize"
                | "ping"
                | "notifications/initialized"
                | "notifications/roots/list_changed"
                | "logging/setLevel"
            ):
                level = params.get("level", level)
                continue
            case "resources/subscribe":
                listening[params["uri"]] = message["id"]
                asked = {"notifications": {"resourceSubscriptions": [params["uri"]]}}
                told = {**message, "method": LISTEN, "params": asked}
                yield Expected(told, method, level, LISTENING)
            case "resources/unsubscribe":
                told = {"jsonrpc": "2.0", "method": CANCELLED}
                told |= {"params": {"requestId": listening.pop(params["uri"])}}
                yield Expected(told, method, level, UNLISTENING)
            case _:
                yield Expected(message, method, level, SAME)


def grade(answer: object, learner: Learner) -> Passed:
    """Translate what clients sent in several sessions."""
    count = 0
    for seed in SEEDS:
        rng = Random(f"translate:{seed}")
        for _ in range(4):
            count += _translate(answer, learner, _session(rng))
    return Passed(
        f"{len(SEEDS) * 4} sessions became {count} modern messages, and each of them says for itself what "
        f"the "
        "session knew.",
        EACH_TIME,
    )


def _translate(answer: object, learner: Learner, session: list[dict[str, Any]]) -> int:
    value = learner.call(answer, deepcopy(session), on="what a client sends in a session", rule=EACH_TIME)
    if is_placeholder(value):
        raise NotAttempted
    items = items_of(value)
    if items is None or not all(isinstance(one, dict) for one in items):
        raise NotYet(
            f"{name_of(answer)} returned {show(value)}.",
            look="Return a list of messages, each of them a dict.",
        )
    given = [_plain(one) for one in items]
    expected = list(_expected(session))
    for one, wanted in zip(given, expected, strict=False):
        _compare(one, wanted, session)
    if len(given) < len(expected):
        missing = expected[len(given)]
        raise NotYet(
            f"{len(given)} messages were returned, and {len(expected)} expected. The next one would be "
            f"{show(missing.message)}, for `{missing.origin}`.",
            missing.rule,
            _LOOK,
        )
    if len(given) > len(expected):
        raise NotYet(
            f"{len(given)} messages were returned, and {len(expected)} expected. One too many is "
            f"{show(given[len(expected)])}.",
            GONE,
            _LOOK,
        )
    return len(given)


def _plain(message: object) -> dict[str, Any]:
    """The message as it would be on the wire."""
    try:
        return json.loads(json.dumps(message))
    except (TypeError, ValueError, RecursionError):
        raise NotYet(
            f"JSON cannot carry {show(message)}.", SCHEMA, "Only what JSON has goes there."
        ) from None


_LOOK: Final = "Go through the session in order. What does each message become: one message, or none?"


def _compare(given: dict[str, Any], wanted: Expected, session: list[dict[str, Any]]) -> None:
    about = f"`{wanted.origin}` became {show(given)}."
    method = given.get("method")
    if method != wanted.message["method"]:
        gone = isinstance(method, str) and method in _REMOVED
        raise NotYet(
            f"The next message should be `{wanted.message['method']}`, for `{wanted.origin}`. It is "
            f"{show(given)}.",
            GONE if gone and method not in _REPLACED else LOGGING if method in _SET else wanted.rule,
            _LOOK,
        )
    message = _read(about, given)
    wanted_message = from_object(wanted.message)
    if isinstance(message, Request) and isinstance(wanted_message, Request):
        if type(message.id) is not type(wanted_message.id) or message.id != wanted_message.id:
            raise NotYet(f"{about} The id should be {wanted_message.id!r}.", SAME, "Keep the id.")
        _compare_meta(about, message, wanted, session)
    _compare_body(about, message, wanted)
    _valid(about, message)


_SET: Final = ("logging/setLevel",)
_REPLACED: Final = ("resources/subscribe", "resources/unsubscribe", *_SET)
_REMOVED: Final = (
    "initialize",
    "notifications/initialized",
    "ping",
    "notifications/roots/list_changed",
    *_REPLACED,
)


def _read(about: str, given: dict[str, Any]) -> Request | Notification:
    try:
        message = from_object(given)
    except MalformedMessage as error:
        raise NotYet(
            f"{about} That is no message: {error.message}", SCHEMA, "Look at one of the given."
        ) from None
    if not isinstance(message, Request | Notification):
        raise NotYet(f"{about} That is a response.", SCHEMA, _LOOK)
    return message


def _compare_meta(about: str, message: Request, wanted: Expected, session: list[dict[str, Any]]) -> None:
    found: Any = (message.params or {}).get("_meta")
    meta: Mapping[str, Any] = cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}
    hello = session[0]["params"]
    for key, right in (
        (VERSION, LATEST_MODERN),
        (CAPABILITIES, hello["capabilities"]),
        (INFO, hello["clientInfo"]),
    ):
        if key not in meta:
            raise NotYet(f"{about} Its `_meta` has no `{key}`.", EACH_TIME, f"It should be {show(right)}.")
        if _declared(meta[key]) != _declared(right):
            raise NotYet(
                f"{about} In its `_meta`, `{key}` is {show(meta[key])}.",
                EACH_TIME,
                f"It should be {show(right)}. What the client said of itself in `initialize` it says now "
                f"each "
                "time, with a modern version.",
            )
    level = meta.get(LEVEL)
    # A subscription brings no log messages, so a level does no harm there and is not needed.
    if level != wanted.level and not (message.method == LISTEN and level is None):
        raise NotYet(
            f"{about} The session's log level is {wanted.level!r} then; in its `_meta` there is {level!r}.",
            LOGGING,
            "`logging/setLevel` holds for all requests after it, until the next one.",
        )


def _declared(value: object) -> object:
    """Capabilities without what the modern era has not: nobody tells any more that the roots have changed."""
    if not isinstance(value, dict):
        return value
    declared = cast("dict[str, Any]", value)
    return {**declared, "roots": {}} if "roots" in declared else declared


def _compare_body(about: str, message: Request | Notification, wanted: Expected) -> None:
    body, right = _body(message.params), _body(wanted.message.get("params"))
    if message.method == CANCELLED:
        body.pop("reason", None)
    filter_: Any = body.get("notifications")
    if message.method == LISTEN and isinstance(filter_, dict):
        # What is false is not asked for, and need not be said.
        asked = cast("dict[str, Any]", filter_)
        body["notifications"] = {name: value for name, value in asked.items() if value is not False}
    if body != right or _types(body) != _types(right):
        raise NotYet(
            f"{about} The params should be {show(right)}, beside what is in `_meta` of them.",
            wanted.rule,
            "Subscribe: which member of the filter has the URIs? Unsubscribe: which request does it take "
            "back?"
            if wanted.rule in (LISTENING, UNLISTENING)
            else "Keep what the request is about, and the keys that its `_meta` had.",
        )


def _body(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """The params without the keys that are compared by themselves."""
    body = dict(params or {})
    found = body.pop("_meta", None)
    meta = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    rest = {key: value for key, value in meta.items() if key not in (VERSION, INFO, CAPABILITIES, LEVEL)}
    return {**body, "_meta": rest} if rest else body


def _types(body: Mapping[str, Any]) -> bool:
    """Whether a cancellation names the request by a text: 1 and "1" are two ids."""
    return isinstance(body.get("requestId"), str)


def _valid(about: str, message: Request | Notification) -> None:
    known = models()
    is_request = isinstance(message, Request)
    check = known.validate_client_request if is_request else known.validate_client_notification
    try:
        check(message.method, LATEST_MODERN, message.params)
    except (KeyError, ValidationError) as error:
        fault = error.errors()[0]["msg"] if isinstance(error, ValidationError) else "there is no such message"
        raise NotYet(f"{about} That is not valid: {fault}.", SCHEMA, _LOOK) from None


TASK: Final = Task(
    name="translate",
    title="Say it the modern way",
    text=f"""\
`session` is a list of all that a legacy client sends in a session on stdio, in order: dicts, from
`initialize` on. Write the function that returns what a modern client sends instead, in order.

- Keep the ids, and what both eras have.
- What the client says of itself in `initialize`, each modern request says. The version is
  `"{LATEST_MODERN}"`.
- The log level holds for the requests that come after it, until another one is set.
- A subscription to a resource gets a `subscriptions/listen` of its own, with the same id. It is taken back in
  the way of the transport.
- What has nothing in its place in the modern era is left out.

What took the place of what: [key changes, {LATEST_MODERN}]({spec_url("modern", CHANGES)}). The legacy rules:
[lifecycle, {LATEST_LEGACY}]({spec_url(LEGACY, "basic/lifecycle#initialization")}),
[subscriptions, {LATEST_LEGACY}]({spec_url(LEGACY, "server/resources#subscriptions")}).""",
    answer="translate",
    starter='''\
def translate(session):
    """What a modern client sends instead of all this."""
    return ...''',
    hints=(
        "One loop, and three things to remember on the way: what `initialize` said, the log level, and which "
        "`subscriptions/listen` is for which URI.",
        "The keys in `_meta` are `io.modelcontextprotocol/protocolVersion`, `…/clientInfo`, "
        "`…/clientCapabilities` and, once a level is set, `…/logLevel`. A request may have `_meta` already: "
        "keep what is in it.",
        'Subscribe: `{"notifications": {"resourceSubscriptions": [uri]}}`. Unsubscribe: the notification '
        "`notifications/cancelled` with `requestId`, the id of that subscription. Four methods become "
        "nothing, and `logging/setLevel` only changes what comes after it.",
    ),
    solution=(
        '''\
PREFIX = "io.modelcontextprotocol/"
NOTHING = "notifications/initialized", "ping", "notifications/roots/list_changed"

def with_meta(message, keys):
    """The request, with more keys in its `_meta`."""
    params = message.get("params", {})
    return {**message, "params": {**params, "_meta": {**params.get("_meta", {}), **keys}}}

def listen(message):
    """What takes the place of `resources/subscribe`."""
    wanted = {"resourceSubscriptions": [message["params"]["uri"]]}
    return {**message, "method": "subscriptions/listen", "params": {"notifications": wanted}}''',
        f'''\
def opening(hello):
    """The keys that each request has from now on."""
    return {{PREFIX + "protocolVersion": "{LATEST_MODERN}", PREFIX + "clientInfo": hello["clientInfo"],
            PREFIX + "clientCapabilities": hello["capabilities"]}}

def cancelled(id):
    """What takes the place of `resources/unsubscribe`."""
    return {{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {{"requestId": id}}}}''',
        """\
def instead(message, keys, ids):
    \"\"\"What a modern client sends for it.\"\"\"
    uri = message.get("params", {}).get("uri")
    if message["method"] == "resources/unsubscribe":
        return cancelled(ids.pop(uri))
    if message["method"] == "resources/subscribe":
        ids[uri] = message["id"]
        message = listen(message)
    return with_meta(message, keys)""",
        """\
def translate(session):
    keys, ids, sent = opening(session[0]["params"]), {}, []
    for message in session[1:]:
        if message["method"] == "logging/setLevel":
            keys = {**keys, PREFIX + "logLevel": message["params"]["level"]}
        elif message["method"] not in NOTHING:
            sent.append(instead(message, keys, ids))
    return sent""",
    ),
    why="What the session remembered, the client now remembers itself, and says it each time.",
    grade=grade,
    pages=(("`_meta`", "basic/index#meta"), ("subscriptions", "basic/patterns/subscriptions")),
    points=20,
)
