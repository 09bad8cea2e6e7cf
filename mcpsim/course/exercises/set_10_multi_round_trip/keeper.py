"""Exercise: seal request state, and know again what is good."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_text
from mcpsim.course.exercises.set_04_stateless.worlds import SEEDS
from mcpsim.course.exercises.set_10_multi_round_trip.forging import forged, mixed
from mcpsim.course.exercises.set_10_multi_round_trip.rules import BOUND, VERIFIED
from mcpsim.course.exercises.set_10_multi_round_trip.scripted import (
    CALL,
    TOOL,
    Json,
    ScriptedServer,
    as_json,
    asks,
    says,
)
from mcpsim.course.exercises.showing import describe_error, show
from mcpsim.course.exercises.traffic import require_valid
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.errors import INVALID_PARAMS, ProtocolError
from mcpsim.transports.link import StreamableHttp

OPAQUE: Final = Rule(
    "`requestState` is an opaque string, and servers are free to encode the state in any format. But they "
    "find it again.",
    "basic/patterns/mrtr#server-requirements-basic-workflow",
)
GARBAGE: Final = (
    "",
    ".",
    "..",
    "state",
    "e30=",
    "e30.e30",
    "{}",
    "null",
    "é",
    "a" * 3_000,
    "eyJhIjoxfQ.AAAA",
)
KEPT_MS: Final = 60_000
_ONLY_VALUE_ERROR: Final = (
    "Where a state is not good, raise ValueError and nothing else. What reads it may raise errors of its "
    "own, such as KeyError."
)
_RAISE: Final = "None is a value like any other. Refuse by `raise ValueError(…)`."


class _Refused:
    """What `open` comes to that raised ValueError."""


@dataclass(frozen=True, slots=True)
class _Broken:
    """What `open` comes to that raised something else."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Sealed:
    """What is sealed, for whom, for which request, and until when."""

    value: Any
    principal: str
    params: Json
    expires_ms: int


@dataclass(frozen=True, slots=True)
class Attack:
    """Somebody presents a state: changed, elsewhere, or too late; or as they should."""

    what: str
    state: str
    principal: str
    params: Json
    now_ms: int
    good: bool
    rule: Rule
    look: str


def grade(answer: object, learner: Learner) -> Passed:
    """Seal and open by hand, attack, then let a server use it."""
    count = 0
    for seed in SEEDS:
        rng = Random(f"keeper:{seed}")
        keeper = _Keeper(answer, learner, f"key-{rng.randrange(10**9)}".encode())
        for sealed in _values(rng):
            state = keeper.seal(sealed)
            for attack in _attacks(rng, sealed, state, keeper):
                _judge(keeper, sealed, attack)
                count += 1
    _on_the_wire(answer, learner)
    return Passed(
        f"{count} states were presented. The good ones were opened, and every other one was refused: "
        f"changed, "
        "too late, of somebody else, of another request, or sealed with another key.",
        VERIFIED,
    )


class _Keeper:
    """The learner's class, with its values looked at."""

    def __init__(self, answer: Any, learner: Learner, key: bytes) -> None:
        self.key = key
        self._learner = learner
        self._answer = answer
        self._made = learner.call(answer, key, on="a key")
        for method in ("seal", "open"):
            if not callable(getattr(self._made, method, None)):
                raise NotYet(
                    f"Called with a key, it gave {show(self._made)}, which has no method `{method}`.",
                    look="Write a class with the methods `seal` and `open`, and pass the class itself.",
                )

    def with_key(self, key: bytes) -> _Keeper:
        """Another keeper, with another key."""
        return _Keeper(self._answer, self._learner, key)

    def describe(self, broken: _Broken) -> str:
        """What `open` raised, and where."""
        return describe_error(broken.error, self._made.open)

    def seal(self, sealed: Sealed) -> str:
        """The state."""
        value = self._learner.call(
            self._made.seal,
            copy.deepcopy(sealed.value),
            sealed.principal,
            copy.deepcopy(sealed.params),
            sealed.expires_ms,
            on=f"the value {show(sealed.value)}",
        )
        if is_placeholder(value):
            raise NotAttempted
        state = as_text(value)
        if state is None:
            raise NotYet(f"`seal` returned {show(value)}.", OPAQUE, "A state is a text.")
        return state

    def open(self, state: str, principal: str, params: Json, now_ms: int) -> Any:
        """What was sealed, or `_Refused`, or `_Broken`."""

        def opened(*arguments: Any) -> Any:
            try:
                return self._made.open(*arguments)
            except ValueError:
                return _Refused()
            except Exception as error:
                return _Broken(error)

        opened.__name__ = "open"
        value = self._learner.call(
            opened, state, principal, copy.deepcopy(params), now_ms, on=f"the state {show(state)}"
        )
        if is_placeholder(value):
            raise NotAttempted
        return value


def _judge(keeper: _Keeper, sealed: Sealed, attack: Attack) -> None:
    value = keeper.open(attack.state, attack.principal, attack.params, attack.now_ms)
    seen = (
        f"{show(sealed.value)} was sealed for {show(sealed.principal)}, {_short(sealed.params)}, until "
        f"{sealed.expires_ms} ms. It is {attack.what}."
    )
    if isinstance(value, _Broken):
        arguments = (attack.state, attack.principal, attack.params, attack.now_ms)
        raise NotYet(
            f"{seen} `open` raised {keeper.describe(value)}.", attack.rule, _ONLY_VALUE_ERROR, None, arguments
        )
    if attack.good and as_json(value) != as_json(sealed.value):
        came = "was refused" if isinstance(value, _Refused) else f"gave {show(value)}"
        raise NotYet(f"{seen} That is as it should be, and `open` {came}.", attack.rule, attack.look)
    if not attack.good and not isinstance(value, _Refused):
        look = _RAISE if value is None and sealed.value is not None else attack.look
        raise NotYet(f"{seen} `open` gave {show(value)}.", attack.rule, look)


def _short(params: Json) -> str:
    return f"the call {show({key: params[key] for key in ('name', 'arguments')})}"


def _values(rng: Random) -> Iterator[Sealed]:
    values: tuple[Any, ...] = (
        {"step": 1},
        ["Pau", 80],
        "Zürich | 2",
        None,
        {"agreed": True, "name": 'a "b".c'},
    )
    for value in values:
        params = {
            "name": TOOL,
            "arguments": {"city": rng.choice(["Pau", "Pisa"]), "seats": rng.randrange(1, 9)},
        }
        yield Sealed(value, f"user-{rng.randrange(1000)}", params, rng.randrange(100_000, 900_000))


def _attacks(rng: Random, sealed: Sealed, state: str, keeper: _Keeper) -> Iterator[Attack]:
    params, principal, end_ms = sealed.params, sealed.principal, sealed.expires_ms
    soon_ms = end_ms - rng.randrange(1, KEPT_MS)

    def attack(what: str, rule: Rule, look: str, *, good: bool = False, **change: Any) -> Attack:
        usual: Json = {"state": state, "principal": principal, "params": params, "now_ms": soon_ms}
        return Attack(what, **{**usual, **change}, good=good, rule=rule, look=look)

    plain = "Seal and open one value by hand, in a cell of your own."
    yield attack("presented by the same user, with the same request, in time", OPAQUE, plain, good=True)
    retry = {**params, "inputResponses": {"day": {"action": "accept"}}, "requestState": state}
    yield attack(
        "presented with the retry, whose parameters hold the answers and the state as well",
        BOUND,
        "Which parameters stay the same from the request to its retry? Take `name` and `arguments`.",
        good=True,
        params=retry,
    )
    yield attack(
        "presented with the same arguments in another order",
        BOUND,
        "Objects have no order in JSON: `json.dumps(…, sort_keys=True)`.",
        good=True,
        params={"arguments": dict(reversed(params["arguments"].items())), "name": params["name"]},
    )
    hmac_look = (
        "Sign all that is in the state with the key: `hmac.new(key, data, 'sha256')`. Compare on opening."
    )
    for changed in _changed(rng, state):
        yield attack(
            f"changed on its way, from {_around(state, changed)}", VERIFIED, hmac_look, state=changed
        )
    other = keeper.seal(replace(sealed, value=f"another value, {rng.randrange(1000)}"))
    for spliced in _spliced(state, other):
        yield attack(
            "put together from two good ones: the end is that of another value",
            VERIFIED,
            "The signature has to be one of all that is in the state, the value included.",
            state=spliced,
        )
    yield attack(
        "one that another server sealed, with another key",
        VERIFIED,
        "Anybody can make what needs no key, such as a number or a plain hash. An HMAC needs the key.",
        state=keeper.with_key(keeper.key + b"2").seal(sealed),
    )
    yield from _forgeries(sealed, state, attack, hmac_look)
    yield from _mixtures(sealed, state, keeper, attack, hmac_look)
    for text in GARBAGE:
        yield attack(
            f"replaced by {show(text, 40)}",
            VERIFIED,
            "Whatever comes: raise ValueError. Check the signature before you read anything else.",
            state=text,
        )
    yield from _misuses(rng, sealed, attack)


def _forgeries(sealed: Sealed, state: str, attack: Any, look: str) -> Iterator[Attack]:
    """The time and the name stand open in many states, and whoever can read them can write others."""
    # Where the first digit is greater by one, it is later; where the last one is another, somebody else.
    end = str(sealed.expires_ms)
    later = f"{int(end[0]) + 1}{end[1:]}"
    for text in forged(state, end, later):
        yield attack(
            f"changed to be good until {later} ms", VERIFIED, look, state=text, now_ms=sealed.expires_ms + 1
        )
    someone = f"{sealed.principal[:-1]}{(int(sealed.principal[-1]) + 1) % 10}"
    for text in forged(state, sealed.principal, someone):
        yield attack(f"changed to be {someone}'s", VERIFIED, look, state=text, principal=someone)


def _mixtures(sealed: Sealed, state: str, keeper: _Keeper, attack: Any, look: str) -> Iterator[Attack]:
    """Of two good states of one caller: this one, and in it a part of one for another request or time."""
    other = {**sealed.params["arguments"], "seats": sealed.params["arguments"]["seats"] + 1}
    params = {**sealed.params, "arguments": other}
    # Another value, too: what is signed has to differ.
    their = replace(sealed, value=["another", sealed.value])
    for text in mixed(state, keeper.seal(replace(their, params=params))):
        yield attack(
            "put together from two good ones, and presented with the request of the other",
            VERIFIED,
            look,
            state=text,
            params=params,
        )
    later_ms = sealed.expires_ms + KEPT_MS
    for text in mixed(state, keeper.seal(replace(their, expires_ms=later_ms))):
        yield attack(
            "put together from two good ones, and presented while only the other is good",
            VERIFIED,
            look,
            state=text,
            now_ms=sealed.expires_ms + 1,
        )


def _misuses(rng: Random, sealed: Sealed, attack: Any) -> Iterator[Attack]:
    params, principal, end_ms = sealed.params, sealed.principal, sealed.expires_ms
    other = {**params["arguments"], "seats": params["arguments"]["seats"] + 1}
    bound = "has to be in what is signed, and to be compared when the state is opened."
    yield attack("presented by another user", BOUND, f"The principal {bound}", principal=f"{principal}0")
    yield attack("presented by nobody by name", BOUND, f"The principal {bound}", principal="")
    yield attack(
        "presented with other arguments",
        BOUND,
        f"The request {bound}",
        params={**params, "arguments": other},
    )
    yield attack(
        "presented with another tool", BOUND, f"The request {bound}", params={**params, "name": "book_trip"}
    )
    yield attack(
        "presented at the very moment at which it expires",
        BOUND,
        "It is good while now < `expires_ms`.",
        now_ms=end_ms,
    )
    yield attack(
        "presented a minute too late", BOUND, "Compare `now_ms` with the time in it.", now_ms=end_ms + KEPT_MS
    )


def _changed(rng: Random, state: str) -> Iterator[str]:
    """The state with a character changed, in several places; and cut, and made longer.

    What is changed means something else then, in whatever way the state is encoded: hexadecimal digits may be
    written large or small, and the last character of base64 has bits that nobody reads.
    """
    inside = [at for at in range(len(state) - 2) if state[at : at + 3].isalnum()] or [*range(len(state))]
    places = sorted({0, *(rng.choice(inside) for _ in range(6))}) if state else []
    for at in places:
        other = "B" if state[at] in "aA" else "A"
        yield state[:at] + other + state[at + 1 :]
    yield state[: len(state) // 2]
    yield "A" + state
    if not state.endswith("="):
        yield state + "A"


def _spliced(state: str, other: str) -> Iterator[str]:
    """A state with the last part of another one."""
    for sign in ".|:-":
        head, found, tail = state.rpartition(sign)
        _, _, other_tail = other.rpartition(sign)
        if found and tail != other_tail and head + sign + other_tail not in (state, other):
            yield head + sign + other_tail


def _around(state: str, changed: str) -> str:
    at = next((at for at, (one, two) in enumerate(zip(state, changed, strict=False)) if one != two), -1)
    return f"character {at + 1} on" if at >= 0 else "its end on"


def _on_the_wire(answer: object, learner: Learner) -> None:
    """A server that uses the keeper: its own client goes on, a stranger does not."""
    for seed in SEEDS:
        keeper = _Keeper(answer, learner, f"wire-{seed}".encode())
        run = learner.play(
            _take_over,
            server=ScriptedServer(_counting(keeper)),
            client={name: Client(name, principal=name) for name in ("client-1", "client-2")},
            transport=StreamableHttp(jitter_ms=5.0),
            seed=seed,
            title=TITLE,
            written=answer,
        )
        if run.value != ["Round 2", INVALID_PARAMS]:
            raise NotYet(
                f"A server that uses the class was asked by its own client and by a stranger: "
                f"{show(run.value)}.",
                BOUND,
                "Does it give the same answer to the same state every time?",
                run.recording,
            )
        require_valid(run.recording)


def _counting(keeper: _Keeper) -> Any:
    def turn(params: Json, principal: str) -> Json:
        state = params.get("requestState")
        if state is None:
            return asks(None, keeper.seal(Sealed({"round": 1}, principal, params, KEPT_MS)))
        value = keeper.open(state, principal, params, 1_000)
        if isinstance(value, _Refused | _Broken):
            raise ProtocolError(INVALID_PARAMS, "The requestState is not valid.")
        return says(f"Round {value['round'] + 1}")

    return turn


async def _take_over(one: Client, other: Client) -> list[Any]:
    call: Json = {"name": TOOL, "arguments": {"city": "Pau"}}
    state = (await one.request(CALL, call))["requestState"]
    seen: list[Any] = []
    for client in (one, other):
        try:
            result = await client.request(CALL, {**call, "requestState": state})
            seen.append(result["content"][0]["text"])
        except ProtocolError as error:
            seen.append(error.code)
    return seen


TITLE: Final = "Seal the request state"

TASK: Final = Task(
    name="keeper",
    title=TITLE,
    text="""\
Write the class that seals a server's request state and opens it again.

- `StateKeeper(key)`: `key` are the secret bytes of the server.
- `seal(value, principal, params, expires_ms)` returns the state, a text. `value` is what the server wants to
  find again, any JSON value. `params` are the parameters of the call, with `name` and `arguments`.
- `open(state, principal, params, now_ms)` returns the value. It raises `ValueError` if the state was changed
  or made up, belongs to another principal or to another call, or if it is too late: it is good while
  `now_ms < expires_ms`.

The state comes back with a retry: its `params` have the same `name` and `arguments`, and `inputResponses` and
`requestState` beside them. The clients may read what is in it.""",
    answer="StateKeeper",
    starter='''\
class StateKeeper:
    """Seals request state with a key."""

    def __init__(self, key):
        self.key = key

    def seal(self, value, principal, params, expires_ms):
        return ...

    def open(self, state, principal, params, now_ms):
        return ...''',
    hints=(
        "Make one text of everything that must not change, sign it, and put text and signature together: "
        "`text.signature`.",
        "`json.dumps([value, principal, name, arguments, expires_ms], sort_keys=True)` is such a text; "
        "`base64.urlsafe_b64encode` makes it safe to carry. `hmac.new(self.key, data, "
        '"sha256").hexdigest()` is '
        "its signature.",
        "To open: split at the last `.`, compute the signature once more, and compare with "
        "`hmac.compare_digest`. Only then read the text, and compare principal, name, arguments and time.",
    ),
    solution=(
        """\
import base64
import hmac
import json


def signature_of(key, text):
    return hmac.new(key, text.encode(), "sha256").hexdigest()""",
        """\
class StateKeeper:
    def __init__(self, key):
        self.key = key

    def seal(self, value, principal, params, expires_ms):
        content = [value, principal, params["name"], params["arguments"], expires_ms]
        text = base64.urlsafe_b64encode(json.dumps(content).encode()).decode()
        return f"{text}.{signature_of(self.key, text)}\"""",
        """\
def open_state(self, state, principal, params, now_ms):
    text, _, signature = state.rpartition(".")
    if not hmac.compare_digest(signature.encode(), signature_of(self.key, text).encode()):
        raise ValueError("changed or made up")
    value, *sealed_for, expires_ms = json.loads(base64.urlsafe_b64decode(text))
    if sealed_for != [principal, params["name"], params["arguments"]] or now_ms >= expires_ms:
        raise ValueError("not for this, or too late")
    return value


StateKeeper.open = open_state""",
    ),
    why="The signature is looked at first: before that, nothing in the state is to be believed. What it is "
    "bound to stands inside, where it cannot be exchanged.",
    grade=grade,
    points=20,
    pages=(
        ("server requirements", "basic/patterns/mrtr#server-requirements-basic-workflow"),
        ("security", "basic/patterns/mrtr#security-considerations"),
    ),
)
