"""Exercise: a client that tries again when replicas die, and never pays twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, cast

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder, require_function
from mcpsim.course.exercises.plain import as_text
from mcpsim.course.exercises.set_14_stateless_at_scale.fleet import visit_all
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.errors import ToolError
from mcpsim.messages import Request
from mcpsim.recording import Recording
from mcpsim.server import Server
from mcpsim.transports.faults import Crash, Cut, Fault

CALL: Final = "tools/call"
MOST: Final = 5
TIMEOUT_S: Final = 2.0
SEEDS: Final = (1, 2)

LOST: Final = Rule(
    "A response stream that breaks loses its request. What is sent in its place MUST be a new request with a "
    "new id.",
    "changelog#major-changes",
)
NAMED: Final = Rule(
    "What spans several requests MUST be named by an identifier that the client passes with each of them.",
    "basic/index#statelessness",
)
TIMEOUT: Final = Rule(
    "Clients SHOULD have timeouts. After one, nobody knows whether the work was done.",
    "basic/patterns/cancellation#timeouts",
)
TOOL_ERROR: Final = Rule(
    "A tool execution error is a result: the answer has come, and it is no.", "server/tools#error-handling"
)
PROTOCOL_ERROR: Final = Rule(
    "A protocol error says that the request itself is wrong. It is an answer, too.",
    "server/tools#error-handling",
)


@dataclass(slots=True)
class Bank:
    """What all replicas of a bank share.

    Attributes:
        refuses: whether there is no money.
        slow: whether the first answer about each bill comes too late.
        paid: user and bill, by the key of the payment.
        calls: user, bill and key of each call that reached a replica.
    """

    refuses: bool = False
    slow: bool = False
    paid: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    calls: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    def server(self, tool: str = "pay") -> Server:
        """The bank as a server."""
        server = Server("bank")

        @server.tool(tool)
        async def pay(user: str, bill: str, key: str) -> str:
            """Pay a bill of a user. What has a key that was used before is not paid again."""
            if self.refuses:
                raise ToolError("There is not enough money in the account.")
            first = all((user, bill) != (one, other) for one, other, _ in self.calls)
            self.calls.append((user, bill, key))
            self.paid.setdefault(key, (user, bill))
            if self.slow and first:
                await anyio.sleep(600)
            return self.receipt(key)

        return server

    def receipt(self, key: str) -> str:
        """What the bank says of a payment."""
        user, bill = self.paid[key]
        return f"{bill} of {user} is paid, receipt {list(self.paid).index(key) + 1}."


def bank() -> Server:
    """A bank with a tool `pay`, which takes `user`, `bill` and `key`."""
    return Bank().server()


@dataclass(frozen=True, slots=True)
class Case:
    """What goes wrong.

    Attributes:
        what: it, as "a bank …".
        faults: makes it, for the number of replicas and a source of random numbers.
        tries: how often each bill may be tried, the least and the most.
        rule: what decides.
        pays: whether each bill is paid in the end.
    """

    what: str
    faults: Callable[[int, Random], list[Fault]]
    tries: tuple[int, int]
    rule: Rule
    pays: bool = True
    refuses: bool = False
    slow: bool = False
    tool: str = "pay"


def _nothing(replicas: int, rng: Random) -> list[Fault]:
    return []


def _dies_late(replicas: int, rng: Random) -> list[Fault]:
    return [Crash("result of tools/call", nth=nth, restart_after_ms=400) for nth in (1, rng.randrange(2, 5))]


def _dies_early(replicas: int, rng: Random) -> list[Fault]:
    return [Crash(CALL, nth=rng.randrange(1, 5), restart_after_ms=400)]


def _is_cut(replicas: int, rng: Random) -> list[Fault]:
    return [Cut("result of tools/call", nth=nth) for nth in (rng.randrange(1, 3), rng.randrange(3, 5))]


def _all_go(replicas: int, rng: Random) -> list[Fault]:
    back_ms = rng.randrange(2200, 2800)
    return [
        Crash(process=f"server-{number}", at_ms=1, restart_after_ms=back_ms)
        for number in range(1, replicas + 1)
    ]


def _all_go_for_good(replicas: int, rng: Random) -> list[Fault]:
    return [Crash(process=f"server-{number}", at_ms=1) for number in range(1, replicas + 1)]


CASES: Final = (
    Case("in which nothing goes wrong", _nothing, (1, 1), LOST),
    Case("that says no, by a tool error", _nothing, (1, 1), TOOL_ERROR, pays=False, refuses=True),
    Case("that has no such tool", _nothing, (1, 1), PROTOCOL_ERROR, pays=False, tool="transfer"),
    Case("in which a replica dies before it takes the call in", _dies_early, (1, MOST), LOST),
    Case("in which a replica pays and dies before it answers", _dies_late, (1, MOST), NAMED),
    Case("whose answer is cut off on its way", _is_cut, (1, MOST), NAMED),
    Case("whose first answer comes too late", _nothing, (2, 2), TIMEOUT, slow=True),
    Case("whose replicas are all gone for more than two seconds", _all_go, (1, MOST), LOST),
    Case("whose replicas are all gone for good", _all_go_for_good, (MOST, MOST), LOST, pays=False),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Let several users pay at the same time, with every kind of trouble."""
    require_function(answer)
    bills = 0
    for case in CASES:
        for seed in SEEDS:
            for replicas in (2, 3):
                bills += _play(answer, learner, case, seed, replicas)
    return Passed(
        f"{bills} bills, {len(CASES)} kinds of trouble: each was paid once where the bank could be reached, "
        "and "
        "none was paid twice.",
        NAMED,
    )


def _play(answer: Any, learner: Learner, case: Case, seed: int, replicas: int) -> int:
    rng = Random(f"pay:{case.what}:{seed}:{replicas}")
    # Each user has bills of the same numbers: a number alone says too little.
    bills = [f"B-{number}" for number in rng.sample(range(100, 1000), 2)]
    users = [f"user-{number}" for number in range(1, rng.randrange(2, 4) + 1)]
    bank = Bank(case.refuses, case.slow)
    values: dict[tuple[str, str], Any] = {}

    async def visit(lane: str, client: Client) -> None:
        for bill in bills:
            values[lane, bill] = await answer(client, lane, bill, MOST)

    recording = visit_all(
        learner,
        answer,
        visit,
        server=bank.server(case.tool),
        clients={user: Client(timeout_s=TIMEOUT_S) for user in users},
        replicas=replicas,
        faults=case.faults(replicas, rng),
        seed=seed,
        title=f"A bank {case.what}",
    )
    if all(is_placeholder(value) for value in values.values()):
        raise NotAttempted
    try:
        for user in users:
            for bill in bills:
                _judge_tries(case, user, bill, recording)
                _judge_keys(case, user, bill, bank)
        _judge_shared_keys(case, bank)
        for (user, bill), value in values.items():
            _judge_end(case, user, bill, value, recording)
            _judge_value(case, answer, user, bill, value, bank)
    except NotYet as found:
        raise NotYet(found.seen, found.rule, found.look, recording) from None
    return len(values)


def _tries_us(recording: Recording, user: str, bill: str) -> list[int]:
    """When a client sent a call for a bill."""
    found: list[int] = []
    for frame in recording.frames:
        message = frame.parsed
        if frame.sender != user or not isinstance(message, Request) or message.method != CALL:
            continue
        given: Any = (message.params or {}).get("arguments")
        if isinstance(given, dict) and cast("dict[str, Any]", given).get("bill") == bill:
            found.append(frame.sent_us)
    return found


def _judge_tries(case: Case, user: str, bill: str, recording: Recording) -> None:
    tries = _tries_us(recording, user, bill)
    least, most = case.tries
    where = f"A bank {case.what}. The bill {bill} of {user} was {_tried(len(tries))}"
    if not tries:
        raise NotYet(
            f"{where}.",
            look='`await client.call_tool("pay", {"user": …, "bill": …, "key": …})` pays.',
        )
    if len(tries) > most:
        answered = case.rule in (TOOL_ERROR, PROTOCOL_ERROR)
        raise NotYet(
            f"{where}. {'The bank had answered' if answered else f'It should be {_times(most)} at most'}.",
            case.rule,
            "An answer is an answer: return None. Only where none came may a further try help."
            if answered
            else f"`most` is {MOST}: count the tries, and stop as soon as an answer comes.",
        )
    if len(tries) < least:
        raise NotYet(f"{where}, and no answer had come.", case.rule, _TRY_AGAIN)
    if len(tries) == MOST and case.pays:
        took_ms = (tries[-1] - tries[0]) / 1000
        if took_ms < 2000:
            raise NotYet(
                f"{where} within {took_ms:.0f} ms. The replicas came back later.",
                LOST,
                "Wait for a second before each further try: `await anyio.sleep(1)`.",
            )


def _judge_end(case: Case, user: str, bill: str, value: object, recording: Recording) -> None:
    number = len(_tries_us(recording, user, bill))
    if case.pays and value is None and number < MOST:
        where = f"A bank {case.what}. The bill {bill} of {user} was {_tried(number)}"
        raise NotYet(f"{where}, and then given up.", case.rule, _TRY_AGAIN)


_TRY_AGAIN: Final = (
    "Nobody knows whether it was paid: try again. `except McpSimError` catches whatever means that no answer "
    "came. A `ProtocolError` is one too, and an answer: catch it before."
)


def _judge_keys(case: Case, user: str, bill: str, bank: Bank) -> None:
    keys = list(dict.fromkeys(key for one, other, key in bank.calls if (one, other) == (user, bill)))
    if len(keys) > 1:
        made = sum(paid == (user, bill) for paid in bank.paid.values())
        raise NotYet(
            f"A bank {case.what}. The bill {bill} of {user} was tried with the keys {show(keys)}, and so it "
            f"was paid {_times(made)}.",
            NAMED,
            "Choose the key once for each bill, before the first try.",
        )


def _judge_shared_keys(case: Case, bank: Bank) -> None:
    owners: dict[str, tuple[str, str]] = {}
    for user, bill, key in bank.calls:
        other = owners.setdefault(key, (user, bill))
        if other != (user, bill):
            raise NotYet(
                f"A bank {case.what}. The bills {other[1]} of {other[0]} and {bill} of {user} had the same "
                "key, "
                f"{show(key)}, so that only one of them was paid.",
                NAMED,
                "A key stands for one bill of one user: put both into it, or take a random one.",
            )


def _judge_value(case: Case, answer: object, user: str, bill: str, value: object, bank: Bank) -> None:
    keys = [key for key, paid in bank.paid.items() if paid == (user, bill)]
    if case.pays and not keys:
        raise NotYet(
            f"A bank {case.what}. The bill {bill} of {user} was never paid.",
            case.rule,
            "Pass the user and the bill on as they came, and try again until an answer is there.",
        )
    wanted = bank.receipt(keys[0]) if case.pays else None
    if (value if value is None else as_text(value)) != wanted:
        raise NotYet(
            f"A bank {case.what}. For the bill {bill} of {user} {name_of(answer)} returned {show(value)}; it "
            f"should return {show(wanted)}.",
            case.rule,
            "Return `text_of(result)` of a result that is no error (`result.is_error`): then the bill is "
            "paid. In all other cases return None.",
        )


def _tried(count: int) -> str:
    return f"tried {_times(count)}" if count else "never tried"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


TITLE: Final = "Pay once, whatever dies"

TASK: Final = Task(
    name="pay",
    title=TITLE,
    text="""\
A bank has several replicas behind a gateway, and they may die at any moment: before a payment, or after it.
Its tool `pay` takes `user`, `bill` and `key`. What has a `key` that was used before is not paid again; the
replicas share what they know of that.

Write the function that pays one bill of one user.

- If no answer comes, try again; but try `most` times in all and no more. Wait for a second before each
  further try.
- A tool error is an answer, and so is a `ProtocolError`: the bank says no. Every other `McpSimError` means
  that no answer came: the connection broke, the time was over, or the gateway says 502.
- Return the text of the result if the bill is paid. Return None if the bank says no, or if nobody answers.

Several users pay at the same time, and the numbers of their bills may be the same.""",
    answer="pay_bill",
    starter='''\
import anyio

async def pay_bill(client, user, bill, most):
    """Pay a bill once; return the text of the result, or None."""
    return ...''',
    hints=(
        "What would have to be different between two tries of one bill? Nothing. And between two bills?",
        "The key is chosen above the loop. It may be made of user and bill, or at random (`uuid.uuid4()`).",
        "`for number in range(most):` if it is not the first, `await anyio.sleep(1)`. Then `try`: call, and "
        "return. `except ProtocolError: return None`, and below it `except McpSimError: continue`.",
    ),
    solution=(
        """\
import anyio

async def try_to_pay(client, arguments):
    try:
        result = await client.call_tool("pay", arguments)
    except ProtocolError:
        return None
    return None if result.is_error else text_of(result)""",
        """\
async def pay_bill(client, user, bill, most):
    arguments = {"user": user, "bill": bill, "key": f"{user} pays {bill}"}
    for number in range(most):
        if number:
            await anyio.sleep(1)
        try:
            return await try_to_pay(client, arguments)
        except McpSimError:
            continue
    return None""",
    ),
    why="Each try is a new request that may reach any replica. The key is what makes them one payment: it "
    "comes "
    "from the caller, and the replicas share what they know of it.",
    grade=grade,
    points=20,
    pages=(
        ("lost requests", "changelog#major-changes"),
        ("statelessness", "basic/index#statelessness"),
        ("timeouts", "basic/patterns/cancellation#timeouts"),
    ),
    play="""\
dies = [Crash("result of tools/call", restart_after_ms=400)]
story = lambda client: pay_bill(client, "user-1", "B-1", 5)
simulate(story, server=ex.bank(), gateway=Gateway(), replicas=2, faults=dies, title="Pay", check=False)""",
)
