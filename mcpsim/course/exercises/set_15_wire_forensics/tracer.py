"""Exercise: in which era is each row, judged alone?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_text
from mcpsim.course.exercises.set_15_wire_forensics.rules import ERAS, RESULT_TYPE, SESSION_ID
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.course.exercises.worlds import SEEDS
from mcpsim.eras.pages import LEGACY as OLD
from mcpsim.eras.pages import REFERENCE_REVISION
from mcpsim.eras.revisions import LATEST_MODERN
from mcpsim.messages import CLIENT_CAPABILITIES, CLIENT_INFO, PROGRESS_TOKEN, PROTOCOL_VERSION
from mcpsim.transports.http import SESSION_ID_HEADER

MODERN, LEGACY, UNDECIDED = "modern", "legacy", "undecided"
WORDS: Final = (MODERN, LEGACY, UNDECIDED)

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A row, and what it says of its era.

    Attributes:
        what: the row, for a sentence.
        row: as in the interchange form.
        word: its era.
        look: what to look at where the answer is another one.
        rule: the rule that decides, or None.
    """

    what: str
    row: Row
    word: str
    look: str
    rule: Rule | None = None


_ALONE: Final = "Judge each row alone: what came before it does not count."
_UNSIGNED: Final = "Where there is none of the signs, the row is undecided."
_ANYTHING: Final = "A trace may hold anything. Ask what a value is before you look into it."
_ELSEWHERE: Final = "A sign counts in its place alone: look there, and not for a word anywhere in the row."


def _request(rng: Random, method: str, **params: Any) -> Row:
    message: Row = {"jsonrpc": "2.0", "id": rng.choice([rng.randrange(90), f"q-{rng.randrange(90)}"])}
    return _row("client", {**message, "method": method, **({"params": params} if params else {})})


def _row(side: str, message: Any, **more: Any) -> Row:
    return {"from": side, "t_ms": 0, "message": message, **more}


def _over_http(row: Row, rng: Random, *, session: bool) -> Row:
    name = rng.choice([SESSION_ID_HEADER, SESSION_ID_HEADER.lower(), "Mcp-Session-Id"])
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if session:
        headers[name] = f"{rng.randrange(16**8):08x}"
    return {**row, "transport": "http", "exchange": "x1", "headers": headers}


def _answer(rng: Random, **members: Any) -> Row:
    return _row("server", {"jsonrpc": "2.0", "id": rng.randrange(90), **members})


def _cases(rng: Random) -> Iterator[Case]:
    meta = {
        PROTOCOL_VERSION: LATEST_MODERN,
        CLIENT_CAPABILITIES: {},
        CLIENT_INFO: {"name": "a", "version": "1"},
    }
    ticket = f"T-{rng.randrange(1000, 2000)}"
    content = [{"type": "text", "text": f"Ticket {ticket}"}]
    hello = {
        "protocolVersion": REFERENCE_REVISION[OLD],
        "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"},
    }
    plain = _request(rng, "tools/list")
    call = _request(rng, "tools/call", name="find_ticket", arguments={"number": ticket})
    modern = _request(rng, "tools/call", name="find_ticket", arguments={"number": ticket}, _meta=meta)
    yield Case("`initialize`", _request(rng, "initialize", **hello), LEGACY, "It begins a session.", ERAS)
    yield Case(
        "`notifications/initialized`",
        _row("client", {"jsonrpc": "2.0", "method": "notifications/initialized"}),
        LEGACY,
        "It ends the handshake of a session.",
        ERAS,
    )
    yield Case("a `tools/list` without any sign", plain, UNDECIDED, _ALONE, ERAS)
    yield Case("a `tools/call` without `_meta`", call, UNDECIDED, _ALONE, ERAS)
    yield Case(
        "a `tools/call` whose `_meta` has a progress token and nothing else",
        _request(rng, "tools/call", name="find_ticket", _meta={PROGRESS_TOKEN: rng.randrange(90)}),
        UNDECIDED,
        "Both eras have `_meta`. Ask for the version in it.",
        ERAS,
    )
    yield Case("a `tools/call` that names its version in `_meta`", modern, MODERN, "Look into `_meta`.", ERAS)
    yield Case(
        "a `tools/call` that names an old version in `_meta`",
        _request(
            rng, "tools/call", name="find_ticket", _meta={**meta, PROTOCOL_VERSION: REFERENCE_REVISION[OLD]}
        ),
        MODERN,
        "The key is the sign, whatever its value is: a session has agreed on its version once and for all.",
        ERAS,
    )
    yield Case(
        "a `tools/list` with a session id in its headers",
        _over_http(plain, rng, session=True),
        LEGACY,
        "Names of headers may be written in small or capital letters.",
        SESSION_ID,
    )
    yield Case(
        "a `tools/call` that names its version in `_meta` and has a session id too",
        _over_http(modern, rng, session=True),
        MODERN,
        "Ask for the modern signs first: the session id is left over, and ignored.",
        SESSION_ID,
    )
    yield Case(
        "a `tools/list` over HTTP without a sign", _over_http(plain, rng, session=False), UNDECIDED, _UNSIGNED
    )
    yield Case(
        "a result with `resultType`",
        _answer(rng, result={"resultType": "complete", "content": content}),
        MODERN,
        "Look into `result`.",
        RESULT_TYPE,
    )
    yield Case(
        "a result whose `resultType` asks for input",
        _answer(rng, result={"resultType": "input_required", "requestState": "s-1"}),
        MODERN,
        "The member is the sign, whatever its value is.",
        RESULT_TYPE,
    )
    yield Case(
        "a result without `resultType`",
        _answer(rng, result={"content": content}),
        UNDECIDED,
        _UNSIGNED,
        RESULT_TYPE,
    )
    yield Case(
        "an error whose text speaks of `initialize`",
        _answer(rng, error={"code": -32602, "message": "Unknown tool: initialize"}),
        UNDECIDED,
        _ELSEWHERE,
    )
    yield Case(
        "a `tools/call` of a tool called `initialize`",
        _request(rng, "tools/call", name="initialize", arguments={"method": "initialize"}),
        UNDECIDED,
        _ELSEWHERE,
    )
    yield Case(
        "a `tools/call` whose arguments are a copy of a modern request",
        _request(rng, "tools/call", name="keep", arguments={"_meta": meta, SESSION_ID_HEADER: "1"}),
        UNDECIDED,
        _ELSEWHERE,
    )
    yield Case(
        "a result whose text speaks of `resultType`",
        _answer(rng, result={"content": [{"type": "text", "text": '{"resultType": "complete"}'}]}),
        UNDECIDED,
        _ELSEWHERE,
    )
    yield Case(
        "the end of a stream, without a message",
        {"from": "client", "event": "stdin_closed"},
        UNDECIDED,
        _ANYTHING,
    )
    yield Case(
        "a line that is no JSON",
        {"from": "server", "raw": f"desk {rng.randrange(90)} is ready"},
        UNDECIDED,
        _ANYTHING,
    )
    for what, message in _ODD.items():
        yield Case(what, _row(rng.choice(["client", "server"]), message), UNDECIDED, _ANYTHING)


_ODD: Final[Mapping[str, Any]] = {
    "a message that is a text": "ready",
    "a message that is a number": 7,
    "a message that is null": None,
    "a request whose `params` is a list": {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": [1]},
    "a request whose `params` is null": {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": None},
    "a request whose `_meta` is null": {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/list",
        "params": {"_meta": None},
    },
    "an answer whose `result` is null": {"jsonrpc": "2.0", "id": 1, "result": None},
    "an answer whose `result` is a text": {"jsonrpc": "2.0", "id": 1, "result": "done"},
    "a message whose `method` is a list": {"jsonrpc": "2.0", "id": 1, "method": ["initialize"]},
}


def grade(answer: object, learner: Learner) -> Passed:
    """Ask about every row, in several orders."""
    count = 0
    for seed in SEEDS:
        rng = Random(f"tracer:{seed}")
        cases = list(_cases(rng))
        count = len(cases)
        # First in the order of a trace, where a handshake stands before the rest; then in any order.
        for ordered in (cases, rng.sample(cases, len(cases))):
            for case in ordered:
                _ask(answer, learner, case)
    return Passed(
        f"{count} kinds of rows, each judged alone, and nothing was called legacy without a sign of it."
    )


def _ask(answer: object, learner: Learner, case: Case) -> None:
    said = learner.call(answer, deepcopy(case.row), on=case.what, rule=case.rule)
    if is_placeholder(said):
        raise NotAttempted
    word = as_text(said)
    if word not in WORDS:
        raise NotYet(
            f"On {case.what}: {name_of(answer)} returned {show(said)}.",
            look=f"Return one of {', '.join(map(show, WORDS))}.",
        )
    if word != case.word:
        raise NotYet(
            f"On {case.what}: {name_of(answer)} returned {show(word)}, and it is {show(case.word)}.",
            case.rule,
            case.look,
        )


TASK: Final = Task(
    name="tracer",
    title="A tracer",
    text=f"""\
Write a function that takes one row of a trace, as the interchange form has it, and returns its era. These
signs count, in this order, and no others:

| sign | era |
|---|---|
| `params` has a `_meta` with the key `{PROTOCOL_VERSION}` | `"modern"` |
| `result` has a member `resultType` | `"modern"` |
| the method is `initialize` or `notifications/initialized` | `"legacy"` |
| the row's `headers` have a `{SESSION_ID_HEADER}`, in small or capital letters | `"legacy"` |
| none of these | `"undecided"` |

The tracer of the lesson is a beginning. A trace of somebody else may hold anything: rows without a message,
and messages that are no messages at all. They are undecided, and the tracer goes on.""",
    answer="era_of",
    starter='''\
def era_of(row):
    """The era of one row, judged alone: "modern", "legacy" or "undecided"."""
    return ...''',
    hints=(
        "Judge from the row alone. A function that remembers an `initialize` says more than the row does.",
        "`null` becomes None, and `None.get` does not exist. Write a helper that gives a member where the "
        "value is a dict, and None otherwise.",
        "`def inside(value, name): return value.get(name) if isinstance(value, dict) else None`. With it: "
        '`inside(inside(row.get("message"), "params"), "_meta")`.',
    ),
    solution=(
        '''\
def inside(value, name):
    """A member of an object; an empty object where there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}''',
        f'''\
def era_of(row):
    message = row.get("message")
    meta, result = inside(inside(message, "params"), "_meta"), inside(message, "result")
    if "{PROTOCOL_VERSION}" in meta or "resultType" in result:
        return "modern"
    method = message.get("method") if isinstance(message, dict) else None
    headers = [name.lower() for name in inside(row, "headers")]
    if method in ("initialize", "notifications/initialized") or "mcp-session-id" in headers:
        return "legacy"
    return "undecided"''',
    ),
    why="Modern signs first, legacy only where it is there, and all else undecided: so a broken modern "
    "request is not taken for an old one.",
    grade=grade,
    pages=(
        ("both eras", "basic/versioning#backward-compatibility-with-initialization-based-versions"),
        ("earlier revisions", "basic/transports/streamable-http#earlier-streamable-http-revisions"),
    ),
    show="""\
for row in ex.rows()[:3]:
    print(row)""",
    points=15,
)
