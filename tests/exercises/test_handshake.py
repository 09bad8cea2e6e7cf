"""Exercises 03: the handshake. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import anyio
import pytest

from mcpsim import Client, Player, ProtocolError, simulate
from mcpsim.course import MISBEHAVING, exercises, help_desk
from mcpsim.course.exercises import ExerciseSet
from mcpsim.course.exercises.set_03_handshake import faults, gated, hands, offer, pong
from mcpsim.eras.methods import METHODS
from mcpsim.eras.revisions import LATEST_LEGACY
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.handshake


# --- 03, moments ----------------------------------------------------------------------------------

MOMENTS_: Final = {
    "A": "yes",
    "B": "SHOULD NOT",
    "C": "MUST NOT",
    "D": "yes",
    "E": "yes",
    "F": "SHOULD NOT",
    "G": "MUST NOT",
    "H": "MUST NOT",
    "I": "yes",
    "J": "yes",
}

MOMENTS: Final = [
    ("moments", dict(reversed(MOMENTS_.items()))),
    ("moments", {**MOMENTS_, "A": "SHOULD NOT"}, "pings are excepted", "other than pings"),
    ("moments", {**MOMENTS_, "B": "MUST NOT"}, "It is a request, and no ping", "SHOULD NOT send requests"),
    ("moments", {**MOMENTS_, "C": "yes"}, "this one", "MUST NOT cancel its `initialize`"),
    ("moments", {**MOMENTS_, "E": "SHOULD NOT"}, "It is a log message", "pings and logging"),
    ("moments", {**MOMENTS_, "F": "yes"}, "has not said that it is ready", "before it has received"),
    ("moments", {**MOMENTS_, "G": "SHOULD NOT"}, "not declared", "MUST only use capabilities"),
    ("moments", {**MOMENTS_, "H": "yes"}, "declared nothing", "MUST only use capabilities"),
    ("moments", {**MOMENTS_, "I": "MUST NOT"}, "An empty object declares", "MUST only use capabilities"),
    ("moments", {**MOMENTS_, "J": "MUST NOT"}, "needs no capability", "Either the client or the server"),
    ("moments", {**MOMENTS_, "J": "no"}, "J: 'no' is none of the words", '"SHOULD NOT"'),
    ("moments", {**MOMENTS_, "B": ...}, "9 of 10 are answered", "Still open: B"),
]

# --- 03, faults -----------------------------------------------------------------------------------

FAULTS_: Final = {
    "A": "never ready",
    "B": "nothing",
    "C": "too early",
    "D": "version",
    "E": "not declared",
    "F": "nothing",
    "G": "ping",
    "H": "too early",
}

FAULTS: Final = [
    ("faults", dict(reversed(FAULTS_.items()))),
    ("faults", {**FAULTS_, "A": "too early"}, "goes straight on", "MUST send `notifications/initialized`"),
    (
        "faults",
        {**FAULTS_, "B": "version"},
        "A counter-offer is no fault",
        "another version that it supports",
    ),
    ("faults", {**FAULTS_, "C": "nothing"}, "`roots/list` together with its result", "The server SHOULD NOT"),
    ("faults", {**FAULTS_, "D": "nothing"}, '"latest"', "another version that it supports"),
    ("faults", {**FAULTS_, "E": "nothing"}, "asks for its prompts", "MUST only use capabilities"),
    ("faults", {**FAULTS_, "F": "too early"}, "nothing but pings", "other than pings"),
    ("faults", {**FAULTS_, "G": "nothing"}, '{"alive": true}', "an empty result"),
    ("faults", {**FAULTS_, "H": "never ready"}, "waits for no result", "The client SHOULD NOT"),
]

# --- 03, offer ------------------------------------------------------------------------------------


def sorted_first(proposed: str, supported: list[str]) -> str:
    latest, *_ = sorted(supported, reverse=True)
    return {version: version for version in supported}.get(proposed, latest)


def nearest(proposed: str, supported: list[str]) -> str:
    older = [version for version in supported if version <= proposed]
    return max(older) if older else min(supported)


def first_of_the_list(proposed: str, supported: list[str]) -> str:
    return proposed if proposed in supported else supported[0]


OFFER: Final = [
    ("offer", sorted_first),
    ("offer", lambda proposed, supported: (sorted(supported) + [proposed] * (proposed in supported))[-1]),
    ("offer", lambda proposed, supported: proposed, "it should be '2025-03-26'", "another version"),
    ("offer", lambda proposed, supported: max(supported), "it should be '2024-11-05'", "the same version"),
    ("offer", lambda proposed, supported: min(supported), "it should be", "the same version"),
    ("offer", nearest, "the proposal '2024-11-05'", "It SHOULD be its latest"),
    ("offer", first_of_the_list, "it should be", "It SHOULD be its latest"),
    (
        "offer",
        lambda proposed, supported: proposed if proposed in supported else None,
        "returned None",
        "MUST answer with another version",
    ),
    ("offer", lambda proposed, supported: supported.index(proposed), "returned", "the same version"),
]

# --- 03, pong -------------------------------------------------------------------------------------


def responder(
    *,
    is_request: Callable[[dict[str, Any]], bool] = lambda message: "method" in message and "id" in message,
    result: Any = None,
    id: Callable[[Any], Any] = lambda id: id,
    others: dict[str, Any] | None = None,
    ping: str = "ping",
) -> Callable[[Any], Any]:
    """A right answer, with something changed."""

    def reply_to(message: dict[str, Any]) -> Any:
        if not is_request(message):
            return None
        answer = {"id": id(message.get("id")), "jsonrpc": "2.0"}
        if message.get("method") == ping:
            return {"result": {} if result is None else result, **answer}
        refusal = {"error": {"code": -32601, "message": f"There is no {message.get('method')} here."}}
        return {**(refusal if others is None else others), **answer}

    return reply_to


def always_pong(message: dict[str, Any]) -> Any:
    return {"jsonrpc": "2.0", "id": message.get("id"), "result": {}}


def by_truth(message: dict[str, Any]) -> bool:
    return bool(message.get("id")) and "method" in message


PONG: Final = [
    ("pong", responder()),
    ("pong", responder(others={"error": {"code": -32601, "message": "", "data": [1]}})),
    ("pong", responder(is_request=by_truth), "a ping with the id 0", "promptly"),
    ("pong", responder(is_request=lambda message: "method" in message), "the notification", "MUST NOT send"),
    ("pong", responder(is_request=lambda message: "id" in message), "a result, the answer", "Only a request"),
    ("pong", responder(id=str), "Its id is '", "as it is"),
    ("pong", responder(id=lambda id: 1), "Its id is 1", "the same id"),
    ("pong", responder(result={"ok": True}), "an empty object", "an empty result"),
    ("pong", responder(result="pong"), "That is no message", "an empty result"),
    ("pong", responder(others={"result": {}}), "It is answered with a result", "not found, -32601"),
    ("pong", responder(others={"error": {"code": -32600, "message": "no"}}), "the error -32600", "not found"),
    ("pong", responder(others={"error": "no"}), "That is no message", "MUST only use capabilities"),
    ("pong", always_pong, "the request `roots/list`", "not found, -32601"),
    ("pong", lambda message: {"result": {}}, "Its id is None", "the same id"),
    ("pong", lambda message: None, "An answer is due", "Every request gets a response"),
]

# --- 03, hands ------------------------------------------------------------------------------------

ME: Final = {"name": "a-client", "version": "2.0", "title": "A client"}


async def begins_at_once(client: Client, spoken: list[str]) -> str | None:
    """Right, and begins with `initialize`."""
    hello = {"protocolVersion": spoken[0], "capabilities": {"roots": {}}, "clientInfo": ME}
    version: str | None = None
    try:
        version = (await client.request("initialize", hello))["protocolVersion"]
    except ProtocolError:
        version = None
    if version is None or version not in spoken:
        return None
    await client.notify("notifications/initialized", {})
    await client.request("tools/list", {})
    return version


def opener(
    *,
    propose: Callable[[list[str]], Any] = lambda spoken: spoken[0],
    hello: dict[str, Any] | None = None,
    goes_on: Callable[[Any, list[str]], bool] = lambda version, spoken: version in spoken,
    after: tuple[str, ...] = ("notifications/initialized", "tools/list"),
    catches: bool = True,
    returns: Callable[[Any, list[str]], Any] = lambda version, spoken: version,
) -> Callable[..., Any]:
    """The client's side, with something changed."""

    async def shake_hands(client: Client, spoken: list[str]) -> Any:
        params = {"protocolVersion": propose(spoken), "capabilities": {}, "clientInfo": ME}
        try:
            result = await client.request("initialize", params if hello is None else {**params, **hello})
        except ProtocolError:
            if not catches:
                raise
            return None
        version = result["protocolVersion"]
        if not goes_on(version, spoken):
            return None
        for method in after:
            if method.startswith("notifications/"):
                await client.notify(method)
            else:
                await client.request(method)
        return returns(version, spoken)

    return shake_hands


async def without_handshake(client: Client, spoken: list[str]) -> Any:
    await client.request("tools/list")
    return spoken[0]


async def tells_first(client: Client, spoken: list[str]) -> Any:
    await client.notify("notifications/initialized")
    return await opener()(client, spoken)


async def forgets_the_client_info(client: Client, spoken: list[str]) -> Any:
    await client.request("initialize", {"protocolVersion": spoken[0], "capabilities": {}})


async def tries_older_ones(client: Client, spoken: list[str]) -> Any:
    for version in spoken:
        found = await opener()(client, [version])
        if found:
            return found
    return None


async def asks_too_early(client: Client, spoken: list[str]) -> Any:
    await client.initialize(spoken[0])
    with suppress(ProtocolError):
        await client.request("tools/list")
    await client.initialized()
    await client.request("tools/list")
    return spoken[0]


async def cannot_wait(client: Client, spoken: list[str]) -> Any:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.initialize, spoken[0])
        await anyio.sleep(0.001)
        await client.notify("notifications/initialized")
    await client.request("tools/list")
    return spoken[0]


WANTS_ITS_OWN: Final = opener(goes_on=lambda version, spoken: version == spoken[0])

HANDS: Final = [
    ("hands", begins_at_once),
    ("hands", opener()),
    ("hands", opener(after=("ping", "notifications/initialized", "ping", "tools/list", "ping"))),
    ("hands", without_handshake, "the first thing that the client sends is tools/list", "first interaction"),
    ("hands", tells_first, "sends is notifications/initialized", "first interaction"),
    ("hands", forgets_the_client_info, "is not complete: clientInfo", "`clientInfo` with `name`"),
    (
        "hands",
        opener(hello={"capabilities": None}),
        "is not complete: capabilities",
        "an object, perhaps empty",
    ),
    ("hands", opener(propose=lambda spoken: spoken[-1]), "proposes '2025-06-18'", "It SHOULD be its latest"),
    ("hands", opener(propose=lambda spoken: "latest"), "which it does not speak", "MUST propose a version"),
    ("hands", opener(after=("tools/list",)), "never says that it is ready", "MUST send"),
    ("hands", opener(after=("notifications/initialized",)), "`tools/list` is never asked for", "At the end"),
    (
        "hands",
        opener(after=("tools/list", "notifications/initialized")),
        "goes on with tools/list and never says that it is ready",
        "after the result",
    ),
    ("hands", opener(after=()), "sends nothing more", "MUST send `notifications/initialized`"),
    ("hands", opener(goes_on=lambda *_: True), "goes on with notifications/initialized", "SHOULD disconnect"),
    (
        "hands",
        WANTS_ITS_OWN,
        "the server answered with '2025-03-26', which is in ['2025-11-25', '2025-06-18', '2025-03-26']",
        "With `spoken[0]`, only the proposal would do",
    ),
    ("hands", opener(catches=False), "raised ProtocolError", "Catch it"),
    ("hands", tries_older_ones, "`initialize` is sent again", "the server's offer"),
    ("hands", asks_too_early, "tools/list comes before notifications/initialized", "after the result"),
    ("hands", cannot_wait, "is sent before the result is there", "SHOULD NOT send requests"),
    (
        "hands",
        opener(returns=lambda version, spoken: spoken[0]),
        "should return '2025-03-26', and returned '2025-11-25'",
        "Return the version that both will speak",
    ),
    (
        "hands",
        opener(after=("notifications/initialized", "notifications/initialized", "tools/list")),
        "is sent more than once",
        "Once is enough",
    ),
]

# --- 03, gated ------------------------------------------------------------------------------------


def by_table(
    *,
    walk: Callable[[Any, list[str]], bool] | None = None,
    swap: bool = False,
    whole: bool = False,
    either: bool = False,
    free: bool = True,
) -> Callable[[str, Any, Any], bool]:
    """A right answer, with something changed."""
    table = {name: (who, path) for who, path, names in gated.TABLE for name in names}

    def may_use(method: str, client: Any, server: Any) -> bool:
        if method not in table:
            return free
        who, path = table[method]
        sides = [client if (who == "client") != swap else server]
        if either:
            sides = [client, server]
        parts = path.split(".")[: 1 if whole else None]
        return any((walk or there)(side, parts) for side in sides)

    return may_use


def there(declared: Any, parts: list[str]) -> bool:
    for part in parts:
        if declared is None or declared is True or part not in declared:
            return False
        declared = declared[part]
    return declared is not False


def truthy(declared: Any, parts: list[str]) -> bool:
    for part in parts:
        declared = (declared or {}).get(part)
    return bool(declared)


def present(declared: Any, parts: list[str]) -> bool:
    for part in parts:
        if part not in declared:
            return False
        declared = declared[part]
    return True


def by_prefix(method: str, client: Any, server: Any) -> bool:
    return method == "ping" or method.split("/")[0] in {**client, **server}


GATED: Final = [
    ("gated", by_table()),
    ("gated", by_table(walk=truthy), "where the client declared", "even as an empty object"),
    ("gated", by_table(walk=present), "False}}", "`false` says the same"),
    ("gated", by_table(swap=True), "declared by the", "MUST only use capabilities"),
    ("gated", by_table(whole=True), "declared by the", "`true` declares more"),
    ("gated", by_table(either=True), "declared by the", "MUST only use capabilities"),
    ("gated", by_table(free=False), "`ping`, where the client declared {}", "MUST only use capabilities"),
    ("gated", by_prefix, "`notifications/progress`", "MUST only use capabilities"),
    ("gated", lambda method, client, server: True, "says True. It needs", "MUST only use capabilities"),
    ("gated", lambda method, client, server: False, "says False. It needs no", "MUST only use capabilities"),
    ("gated", lambda method, client, server: {}, "returned {}", "Return True or False"),
]


# --- All ------------------------------------------------------------------------------------------

ALL: Final[list[tuple[Any, ...]]] = [*MOMENTS, *FAULTS, *OFFER, *PONG, *HANDS, *GATED]


# What the audit says of each recording: an independent judge of the words.
BY_RULE: Final = {
    "initialized-is-sent": "never ready",
    "server-requests-wait-for-initialized": "too early",
    "requests-wait-for-initialize-result": "too early",
    "initialize-answers-own-version": "version",
    "client-keeps-to-negotiated-capabilities": "not declared",
    "ping-answered-with-empty-result": "ping",
}


@pytest.mark.parametrize("letter", faults.RECORDINGS)
def test_the_recordings_have_the_fault_that_the_answers_say(letter: str) -> None:
    found = faults.recordings()[letter].audit().findings
    words = {BY_RULE[finding.rule] for finding in found} or {"nothing"}
    assert words == {faults.SPECIMENS[letter].word}


# What the audit says is not what the learner is to see.
def test_the_recordings_do_not_say_what_is_wrong_with_them() -> None:
    for letter, recording in exercises.handshake().recordings().items():
        assert recording.title == f"Recording {letter}"
        assert "note:" not in recording.transcript()
        shown = Player(recording, findings=False)
        assert shown.data["findings"] == []
        assert shown.data["predictions"]["asked"] == {}
        text = f"{shown.still_html()} {shown.data}"
        assert not any(name.replace("-", " ") in text for name in MISBEHAVING)


def test_the_table_of_the_gate_is_that_of_the_methods() -> None:
    rows = {row.name: row for row in METHODS if LATEST_LEGACY in row.revisions}
    for who, path, names in gated.TABLE:
        for name in names:
            assert (rows[name].declared_by, rows[name].capability) == (who, path), name
    for name in gated.FREE:
        assert rows[name].capability == ""


def test_the_cases_of_the_gate_are_of_both_kinds() -> None:
    answers = [case.right for seed in gated.SEEDS for case in gated.cases(seed)]
    assert min(answers.count(True), answers.count(False)) > len(answers) / 4


@pytest.mark.parametrize("case", hands.CASES, ids=lambda case: case.what)
def test_our_own_client_agrees_on_the_same_version(case: hands.Case) -> None:
    async def shake_hands(client: Client) -> str | None:
        return await begins_at_once(client, list(case.spoken))

    run = simulate(shake_hands, server=case.server(), era="legacy", connect=False)
    assert run.value == case.agreed
    assert [finding for finding in run.audit().findings if finding.level == "MUST"] == []


@pytest.mark.parametrize("seed", offer.SEEDS)
def test_our_own_server_answers_each_proposal_so(seed: int) -> None:
    for case in offer.cases(seed):

        async def propose(client: Client, version: str = case.proposed) -> Any:
            return (await client.initialize(version))["protocolVersion"]

        server = help_desk(era="legacy", versions=case.supported)
        assert simulate(propose, server=server, era="legacy", connect=False).value == case.right, case


def test_the_data_depends_on_the_seed_and_on_nothing_else() -> None:
    for made in (offer.cases, pong.cases, gated.cases):
        once, again, other = (list(map(repr, made(seed))) for seed in (1, 1, 2))
        assert once == again
        assert once != other
