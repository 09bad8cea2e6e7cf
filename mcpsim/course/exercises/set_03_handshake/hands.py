"""Exercise: the client's side of the handshake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from pydantic import ValidationError

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.plain import as_text
from mcpsim.course.exercises.set_03_handshake.rules import (
    ANOTHER_VERSION,
    CLIENT_WAITS,
    DISCONNECTS,
    HANDSHAKE_FIRST,
    INITIALIZATION,
    NEGOTIATION,
    OWN_VERSION,
    READY,
)
from mcpsim.course.exercises.set_03_handshake.worlds import SEEDS, pipe
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import Exchange, exchanges
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.course.servers import help_desk
from mcpsim.eras.bodies import models
from mcpsim.eras.pages import LEGACY
from mcpsim.eras.revisions import LEGACY_REVISIONS
from mcpsim.messages import Notification, Request
from mcpsim.recording import Recording
from mcpsim.server import Server

INITIALIZE: Final = "initialize"
INITIALIZED: Final = "notifications/initialized"
LIST: Final = "tools/list"

_OLDEST, _SECOND, _THIRD, _LATEST = LEGACY_REVISIONS


@dataclass(frozen=True, slots=True)
class Case:
    """A server, what the client speaks (the latest first), and the version that they will speak."""

    what: str
    server: Callable[[], Server]
    spoken: tuple[str, ...]
    agreed: str | None


def _desk(*versions: str) -> Callable[[], Server]:
    return partial(help_desk, era="legacy", versions=versions)


CASES: Final = (
    Case("that supports the proposal", _desk(*LEGACY_REVISIONS), (_LATEST, _THIRD), _LATEST),
    Case("that supports an older proposal", _desk(*LEGACY_REVISIONS), (_THIRD, _OLDEST), _THIRD),
    Case("that offers an older version", _desk(_OLDEST, _SECOND), (_LATEST, _THIRD, _SECOND), _SECOND),
    Case("that offers a version which this client does not speak", _desk(_LATEST), (_SECOND, _OLDEST), None),
    Case("that offers an older one which it does not speak", _desk(_OLDEST), (_LATEST, _THIRD), None),
    Case("of the modern era, which refuses `initialize`", partial(help_desk, era="modern"), (_LATEST,), None),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Play the story against servers of every kind."""
    for case in CASES:
        for seed in SEEDS:
            run = learner.play(
                answer,
                list(case.spoken),
                server=case.server(),
                client=Client(era="legacy"),
                connect=False,
                transport=pipe(),
                seed=seed,
                title=TITLE,
                judge=partial(_judge, case),
            )
            value = run.value if run.value is None else as_text(run.value)
            if value != case.agreed or (value is None and run.value is not None):
                raise NotYet(
                    f"A server {case.what}; this client speaks {show(list(case.spoken))}. {name_of(answer)} "
                    f"should return {show(case.agreed)}, and returned {show(run.value)}.",
                    DISCONNECTS,
                    "Return the version that both will speak, or None where there is none.",
                    run.recording,
                )
    return Passed(
        f"{len(CASES)} servers: three sessions were opened, and three clients left as they should.", READY
    )


def _judge(case: Case, recording: Recording) -> None:
    sent = [frame.parsed for frame in recording.frames if frame.receiver == "server"]
    about = f"A server {case.what}"
    if not sent or not isinstance(sent[0], Request) or sent[0].method != INITIALIZE:
        first = getattr(sent[0], "method", "not a message") if sent else "nothing"
        raise NotYet(
            f"{about}: the first thing that the client sends is {first}.",
            HANDSHAKE_FIRST,
            f'Begin with `await client.request("{INITIALIZE}", {{…}})`.',
        )
    _require_hello(case, sent[0])
    names = [one.method for one in sent[1:] if isinstance(one, Request | Notification)]
    if len(names) < len(sent) - 1:
        raise NotYet(f"{about}: the client sends something that is no message.", HANDSHAKE_FIRST)
    later = [name for name in names if name != "ping"]
    if case.agreed is None:
        if later:
            raise NotYet(
                f"{about}: the client speaks {show(list(case.spoken))}, and goes on with {later[0]}.",
                DISCONNECTS,
                "Look at the version in the result before you go on. A refusal comes as a `ProtocolError`.",
            )
        return
    _require_ready(case, about, later, recording)
    _require_audited(about, recording)


def _require_hello(case: Case, hello: Request) -> None:
    params = hello.params or {}
    proposed = as_text(params.get("protocolVersion"))
    try:
        models().validate_client_request(INITIALIZE, case.spoken[0], params)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"])).removeprefix("params.") or "params"
        raise NotYet(
            f"The request `initialize` is not complete: {where}: {fault['msg']}.",
            HANDSHAKE_FIRST,
            "It has three members: `protocolVersion`, `capabilities` (an object, perhaps empty) and "
            "`clientInfo` with `name` and `version`.",
        ) from None
    if proposed != case.spoken[0]:
        known = "" if proposed in case.spoken else ", which it does not speak"
        raise NotYet(
            f"This client speaks {show(list(case.spoken))}, and proposes {show(proposed)}{known}.",
            OWN_VERSION,
            "`spoken[0]` is the latest.",
        )


def _require_ready(case: Case, about: str, later: list[str], recording: Recording) -> None:
    if not later:
        raise _left(case, about)
    if INITIALIZE in later:
        raise NotYet(
            f"{about}: `{INITIALIZE}` is sent again.",
            ANOTHER_VERSION,
            "The version in the answer is the server's offer. Where the client speaks it, go on with it.",
        )
    if INITIALIZED not in later:
        raise NotYet(
            f"{about}: the client goes on with {later[0]} and never says that it is ready.",
            READY,
            _READY_LOOK,
        )
    before = later[: later.index(INITIALIZED)]
    if before:
        raise NotYet(f"{about}: {before[0]} comes before {INITIALIZED}.", READY, _READY_LOOK)
    if later.count(INITIALIZED) > 1:
        raise NotYet(f"{about}: {INITIALIZED} is sent more than once.", READY, "Once is enough.")
    if not _came_after_the_result(recording):
        raise NotYet(f"{about}: {INITIALIZED} is sent before the result is there.", CLIENT_WAITS, _READY_LOOK)
    listed = exchanges(recording, LIST)
    if not any(one.result is not None for one in listed):
        said = _said(listed)
        raise NotYet(f"{about}: {said}.", READY, f"At the end, ask for `{LIST}`.")


def _left(case: Case, about: str) -> NotYet:
    seen = f"{about}: after `initialize` the client sends nothing more."
    if case.agreed == case.spoken[0]:
        return NotYet(seen, READY, _READY_LOOK)
    return NotYet(
        f"{seen} It proposed {show(case.spoken[0])}, and the server answered with {show(case.agreed)}, which "
        f"is in {show(list(case.spoken))}: the client speaks it, too.",
        ANOTHER_VERSION,
        "With what do you compare the version in the answer? With `spoken[0]`, only the proposal would do. "
        "Ask whether it is `in spoken`.",
    )


def _said(listed: tuple[Exchange, ...]) -> str:
    return f"`{LIST}` got {listed[0].said()}" if listed else f"`{LIST}` is never asked for"


def _came_after_the_result(recording: Recording) -> bool:
    answered = next((f.arrived_us for f in recording.frames if f.sender == "server"), None)
    ready = next(
        f.sent_us
        for f in recording.frames
        if isinstance(f.parsed, Notification) and f.parsed.method == INITIALIZED
    )
    return answered is not None and ready >= answered


_READY_LOOK: Final = (
    f'`await client.notify("{INITIALIZED}")`, after the result of `{INITIALIZE}` and before the rest.'
)


def _require_audited(about: str, recording: Recording) -> None:
    for finding in recording.audit().findings:
        if finding.party == "client" and finding.level == "MUST":
            _, _, page = finding.spec.partition("/")
            raise NotYet(f"{about}: {finding.message}", Rule(finding.message, page, LEGACY), finding.hint)


_PLAY: Final = f"""\
spoken = ["{_LATEST}", "{_THIRD}"]
async def open_a_session(client): return await shake_hands(client, spoken)
simulate(open_a_session, server=help_desk(era="legacy"), era="legacy", connect=False, check=False)"""

TITLE: Final = "Shake hands"

TASK: Final = Task(
    era=LEGACY,
    name="hands",
    title=TITLE,
    text=f"""\
Write the client's side of the handshake, with `client.request` and `client.notify` alone. The connection is
open, and nothing has been sent.

- `await client.request(method, params)` sends a request and returns the result, a dict;
- `await client.notify(method)` sends a notification. There is no answer to wait for.

1. Propose the latest version that this client speaks. `spoken` is a list of those, the latest first.
2. Look at the answer. If the client speaks that version, say that it is ready, ask for `{LIST}`, and return
   the version.
3. If not, or if the server answers with an error, send nothing more and return None.

The check plays it against six servers.""",
    answer="shake_hands",
    starter='''\
async def shake_hands(client, spoken):
    """Open a session. Returns the version that both speak, or None."""
    return ...''',
    hints=(
        '`result = await client.request("initialize", {"protocolVersion": …, "capabilities": {}, '
        '"clientInfo": {"name": …, "version": …}})`. The result is a dict.',
        "The answer may have another version than you proposed. That is no fault: ask whether it is one of "
        "`spoken`.",
        'Then `await client.notify("notifications/initialized")`, and only then the request. An error of the '
        "server comes as a `ProtocolError`: put the first request into a `try`.",
    ),
    solution=(
        """\
async def shake_hands(client, spoken):
    me = {"name": "my-client", "version": "1.0.0"}
    hello = {"protocolVersion": spoken[0], "capabilities": {}, "clientInfo": me}
    try:
        version = (await client.request("initialize", hello))["protocolVersion"]
    except ProtocolError:
        return None
    if version not in spoken:
        return None
    await client.notify("notifications/initialized")
    await client.request("tools/list")
    return version""",
    ),
    why="The question is not whether the server gave back what was proposed, but whether the client "
    "speaks what came back. Where it does not, leaving is all that there is to do: closing the connection is "
    "the end.",
    grade=grade,
    pages=(("initialization", INITIALIZATION), ("version negotiation", NEGOTIATION)),
    play=_PLAY,
    points=15,
)
