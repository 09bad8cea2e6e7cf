"""Exercise: what came of a call, whatever it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.plain import as_integer, as_text, items_of
from mcpsim.course.exercises.set_04_stateless.worlds import worlds
from mcpsim.course.exercises.set_12_errors.rules import LOCAL, PROTOCOL_ERROR, TOOL_ERROR
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import exchanges
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.errors import (
    INVALID_PARAMS,
    MISSING_CLIENT_CAPABILITY,
    ProtocolError,
    RequestTimeout,
    ToolError,
)
from mcpsim.recording import Recording
from mcpsim.server import Server

CALL: Final = "tools/call"
RESULT, TOOL, PROTOCOL, NOTHING = "result", "tool error", "protocol error", "no answer"
KINDS: Final = (RESULT, TOOL, PROTOCOL, NOTHING)
TIMEOUT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Case:
    """One call, and what comes of it."""

    what: str
    tool: str
    kind: str
    detail: Callable[[_Desk], Any]
    rule: Rule


class _Desk:
    """A server whose tools end in every way."""

    def __init__(self, rng: Random) -> None:
        self.text = f"Ticket {rng.randrange(1000)}: the printer is out of paper."
        self.refusal = f"There is no ticket T-{rng.randrange(1000)}."
        self.looks_bad = f"Error -32603: this is how the ticket begins ({rng.randrange(1000)})."
        self.own_code = rng.randrange(1000, 9000)
        self.server = server = Server("help-desk")

        @server.tool()
        def find_ticket(number: str) -> str:
            """Find a ticket."""
            return self.text

        @server.tool()
        def find_nothing(number: str) -> str:
            """Find no text."""
            return ""

        @server.tool()
        def find_old_ticket(number: str) -> str:
            """Find a ticket about an error."""
            return self.looks_bad

        @server.tool()
        def find_lost_ticket(number: str) -> str:
            """Fail."""
            raise ToolError(self.refusal)

        @server.tool()
        def find_broken_ticket(number: str) -> str:
            """Break."""
            raise KeyError(number)

        @server.tool(requires={"elicitation": {}})
        def ask_about_ticket(number: str) -> str:
            """Need more of the client."""
            return number

        @server.tool()
        def find_secret_ticket(number: str) -> str:
            """Refuse with a code of its own."""
            raise ProtocolError(self.own_code, "Not for you.")

        @server.tool()
        async def find_slow_ticket(number: str) -> str:
            """Take too long."""
            await anyio.sleep(600)
            return self.text


CASES: Final = (
    Case("finds a ticket", "find_ticket", RESULT, lambda desk: desk.text, TOOL_ERROR),
    Case("gives an empty text", "find_nothing", RESULT, lambda desk: "", TOOL_ERROR),
    Case(
        "finds a ticket whose text looks like an error",
        "find_old_ticket",
        RESULT,
        lambda desk: desk.looks_bad,
        TOOL_ERROR,
    ),
    Case("raises a tool error", "find_lost_ticket", TOOL, lambda desk: desk.refusal, TOOL_ERROR),
    Case("breaks while it runs", "find_broken_ticket", TOOL, lambda desk: None, TOOL_ERROR),
    Case("does not exist", "find_tiket", PROTOCOL, lambda desk: INVALID_PARAMS, PROTOCOL_ERROR),
    Case(
        "needs another client",
        "ask_about_ticket",
        PROTOCOL,
        lambda desk: MISSING_CLIENT_CAPABILITY,
        PROTOCOL_ERROR,
    ),
    Case(
        "refuses with a code of its own",
        "find_secret_ticket",
        PROTOCOL,
        lambda desk: desk.own_code,
        PROTOCOL_ERROR,
    ),
    Case("does not answer in time", "find_slow_ticket", NOTHING, lambda desk: None, LOCAL),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Play the story with a call of every kind."""
    for case in CASES:
        for transport, seed in worlds():
            rng = Random(f"outcome:{case.what}:{seed}")
            desk, number = _Desk(rng), f"T-{rng.randrange(1000)}"
            run = learner.play(
                answer,
                case.tool,
                {"number": number},
                server=desk.server,
                client=Client(timeout_s=TIMEOUT_S),
                transport=transport,
                seed=seed,
                title=TITLE,
                judge=partial(_judge, case),
                looks={RequestTimeout: _LOOKS[NOTHING]},
            )
            _judge_value(case, desk, answer, run.value, run.recording)
    return Passed(f"{len(CASES)} ways for a call to end, and none was taken for another.")


def _judge(case: Case, recording: Recording) -> None:
    calls = exchanges(recording, CALL)
    if not calls:
        raise NotYet(
            f"A tool {case.what}. The story sends no `{CALL}`.",
            None,
            "`await client.call_tool(name, arguments)` calls a tool.",
        )
    if len(calls) > 1:
        raise NotYet(
            f"A tool {case.what}. The story calls it {len(calls)} times.",
            case.rule,
            "Call it once, and say what came of it.",
        )


def _judge_value(case: Case, desk: _Desk, answer: object, value: object, recording: Recording) -> None:
    pair = items_of(value)
    seen = f"A tool {case.what}. {name_of(answer)} returned {show(value)}."
    if pair is None or len(pair) != 2 or as_text(pair[0]) not in KINDS:
        raise NotYet(
            seen, None, f"Return a pair: one of {', '.join(map(show, KINDS))}, and the detail.", recording
        )
    kind, detail = as_text(pair[0]), pair[1]
    if kind != case.kind:
        raise NotYet(f"{seen} It is {show(case.kind)}.", case.rule, _LOOKS[case.kind], recording)
    expected = _expected(case, desk, recording)
    given = as_integer(detail) if kind == PROTOCOL else None if detail is None else as_text(detail)
    if given != expected or (detail is not None and given is None):
        raise NotYet(
            f"{seen} The detail should be {show(expected)}.",
            case.rule,
            "The detail is the text of a result, the code of a protocol error, or None.",
            recording,
        )


def _expected(case: Case, desk: _Desk, recording: Recording) -> Any:
    if case.kind != TOOL:
        return case.detail(desk)
    result = exchanges(recording, CALL)[0].result or {}
    return result["content"][0]["text"]


_LOOKS: Final = {
    RESULT: "Whether a result is an error stands in `is_error`, and not in its text.",
    TOOL: "A tool error is a result, and nothing is raised: look at `is_error`.",
    PROTOCOL: "A protocol error comes as an exception: `except ProtocolError as error`.",
    NOTHING: "Where nothing comes in time, the client raises `RequestTimeout`: catch it.",
}

TITLE: Final = "What came of a call"

TASK: Final = Task(
    name="outcome",
    title=TITLE,
    text="""\
A host wants to know how a tool call ended, before it decides who gets to see it. Write the story that calls
the tool once and returns a pair:

| what came | the pair |
|---|---|
| a result | `("result", text)` |
| a tool error | `("tool error", text)` |
| a protocol error | `("protocol error", code)` |
| nothing, in time | `("no answer", None)` |

`await client.call_tool(name, arguments)` returns a result with `is_error`; `text_of(result)` is its text. It
raises `ProtocolError`, with a `code`, and `RequestTimeout` after two seconds.""",
    answer="outcome_of",
    starter='''\
async def outcome_of(client, name, arguments):
    """Call a tool once; return what came of it, as a pair."""
    return ...''',
    hints=(
        "Two of the four come as exceptions, and two as results.",
        "`try: … except ProtocolError as error: … except RequestTimeout: …`.",
        '`return ("tool error" if result.is_error else "result"), text_of(result)`.',
    ),
    solution=(
        """\
async def outcome_of(client, name, arguments):
    try:
        result = await client.call_tool(name, arguments)
    except ProtocolError as error:
        return "protocol error", error.code
    except RequestTimeout:
        return "no answer", None
    return "tool error" if result.is_error else "result", text_of(result)""",
    ),
    why="The four have different readers: the model gets results and tool errors, the program protocol "
    "errors. "
    "Of a call without an answer nobody knows how it ended.",
    grade=grade,
    pages=(
        ("error handling", "server/tools#error-handling"),
        ("error codes", "basic/index#error-codes"),
        ("timeouts", "basic/patterns/cancellation#timeouts"),
    ),
    play="""\
call = {"number": "T-9999"}
simulate(lambda client: outcome_of(client, "find_ticket", call), server=help_desk(), check=False)""",
)
