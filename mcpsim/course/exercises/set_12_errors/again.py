"""Exercise: try again where nobody knows whether the work was done."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, cast

import anyio

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_text
from mcpsim.course.exercises.set_04_stateless.worlds import worlds
from mcpsim.course.exercises.set_12_errors.rules import (
    IDENTIFIED,
    PROTOCOL_ERROR,
    TIMEOUT,
    TOOL_ERROR,
)
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import exchanges, require_valid
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.errors import RequestTimeout, ToolError
from mcpsim.recording import Recording
from mcpsim.server import Server

CALL: Final = "tools/call"
TOOL: Final = "pay"
MAX_TRIES: Final = 5
TIMEOUT_S: Final = 2.0


@dataclass(slots=True)
class Bank:
    """A bank that pays each payment once.

    Attributes:
        slow: how many answers come too late, for each bill.
        refuses: whether there is no money.
        paid: the bill of each payment.
        calls: bill and payment of each call.
    """

    slow: int = 0
    refuses: bool = False
    paid: dict[str, str] = field(default_factory=dict[str, str])
    calls: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def server(self, *, tool: str = TOOL) -> Server:
        """The bank as a server."""
        bank = Server("bank")

        @bank.tool(name=tool)
        async def pay(bill: str = "", payment: str = "") -> str:
            """Pay a bill. A payment of the same name is made once, however often it is asked for."""
            # Required arguments would be refused by a check that takes seconds the first time, in a kernel.
            if not bill or not payment:
                raise ToolError("A bill is needed, and a name for the payment.")
            self.calls.append((bill, payment))
            if self.refuses:
                raise ToolError("There is not enough money in the account.")
            self.paid.setdefault(payment, bill)
            if sum(one == bill for one, _ in self.calls) <= self.slow:
                await anyio.sleep(600)
            return self.receipt(payment)

        return bank

    def receipt(self, payment: str) -> str:
        """What the bank says of a payment."""
        return f"{self.paid[payment]} is paid, by {payment}."


@dataclass(frozen=True, slots=True)
class Case:
    """What kind of bank it is, how often each bill is to be tried, and the rule."""

    what: str
    tries: tuple[int, int]
    rule: Rule
    slow: int = 0
    refuses: bool = False
    tool: str = TOOL

    @property
    def pays(self) -> bool:
        """Whether there is a receipt at the end."""
        return not self.refuses and self.tool == TOOL and self.slow < MAX_TRIES


CASES: Final = (
    Case("that answers in time", (1, 1), TIMEOUT),
    Case("whose first answer comes too late", (2, 2), IDENTIFIED, slow=1),
    Case("whose first three answers come too late", (4, 4), IDENTIFIED, slow=3),
    Case("that answers by a tool error", (1, 1), TOOL_ERROR, refuses=True),
    Case("that has no such tool", (1, 1), PROTOCOL_ERROR, tool="pay_bill"),
    Case("that never answers in time", (2, MAX_TRIES), TIMEOUT, slow=1_000),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Let the story pay two bills at every kind of bank."""
    if not callable(answer):
        raise NotYet(f"The answer is {show(answer)}.", look="Pass the async function itself.")
    for case in CASES:
        for transport, seed in worlds():
            bills = [f"B-{number}" for number in Random(f"again:{case.what}:{seed}").sample(range(1000), 2)]
            bank = Bank(case.slow, case.refuses)
            run = learner.play(
                _paying(answer, bills),
                server=bank.server(tool=case.tool),
                client=Client(timeout_s=TIMEOUT_S),
                transport=transport,
                seed=seed,
                title=TITLE,
                written=answer,
                looks={RequestTimeout: "Catch `RequestTimeout`, and try again, up to 5 times."},
            )
            if any(is_placeholder(value) for value in run.value):
                raise NotAttempted
            for bill, value in zip(bills, run.value, strict=True):
                _judge_calls(case, bill, bank, run.recording)
                _judge_value(case, answer, bill, value, bank, run.recording)
            _judge_names(case, bills, bank, run.recording)
            require_valid(run.recording)
    return Passed(
        f"{len(CASES)} kinds of banks: each bill was paid at most once, and tried again only where no "
        f"answer came."
    )


def _paying(answer: Any, bills: list[str]) -> Any:
    async def story(client: Client) -> Any:
        values: list[Any] = []
        for bill in bills:
            value = answer(client, bill)
            values.append(await value if inspect.isawaitable(value) else value)
        return values

    return story


def _arguments(recording: Recording, bill: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for one in exchanges(recording, CALL):
        given: Any = (one.request.params or {}).get("arguments")
        arguments = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        if arguments.get("bill") == bill:
            found.append(arguments)
    return found


def _judge_calls(case: Case, bill: str, bank: Bank, recording: Recording) -> None:
    where = f"A bank {case.what}. The bill {bill} was tried"
    tried = len(_arguments(recording, bill))
    least, most = case.tries
    if tried == 0:
        raise NotYet(
            f"{where} never.",
            None,
            f'`await client.call_tool("{TOOL}", {{"bill": …, "payment": …}})` pays.',
            recording,
        )
    if tried < least:
        raise NotYet(
            f"{where} {_times(tried)}. No answer came, so nobody knows whether it was paid.",
            TIMEOUT,
            f"Catch `RequestTimeout`, and try again, up to {MAX_TRIES} times.",
            recording,
        )
    if tried > most:
        look = {
            TOOL_ERROR: "The answer was clear: it would be the same again. Return None.",
            PROTOCOL_ERROR: "The request cannot be processed, today or tomorrow. Return None.",
        }.get(case.rule, f"Try {MAX_TRIES} times at most, and stop as soon as an answer comes.")
        raise NotYet(f"{where} {_times(tried)}.", case.rule, look, recording)
    payments = {one for name, one in bank.calls if name == bill}
    if len(payments) > 1:
        made = sum(paid == bill for paid in bank.paid.values())
        raise NotYet(
            f"{where} {_times(tried)}, under the names {show(sorted(payments))}: it was paid {_times(made)}.",
            IDENTIFIED,
            "Choose the name once for each bill, before the first try.",
            recording,
        )


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _judge_names(case: Case, bills: list[str], bank: Bank, recording: Recording) -> None:
    names = {payment for _, payment in bank.calls}
    if bank.calls and len(names) < len({bill for bill, _ in bank.calls}):
        raise NotYet(
            f"A bank {case.what}. The bills {' and '.join(bills)} were both paid under the name "
            f"{show(sorted(names)[0])}, so the bank took them for one payment.",
            IDENTIFIED,
            "A name for each bill: take something of the bill into it.",
            recording,
        )


def _judge_value(
    case: Case, answer: object, bill: str, value: object, bank: Bank, recording: Recording
) -> None:
    payment = next((one for name, one in bank.calls if name == bill), "")
    if case.pays and payment not in bank.paid:
        raise NotYet(
            f"A bank {case.what}. The bill {bill} was not paid: the tool was called with "
            f"{show(_arguments(recording, bill)[0])}.",
            None,
            "The tool takes two arguments, `bill` and `payment`, and both are texts.",
            recording,
        )
    expected = bank.receipt(payment) if case.pays and payment in bank.paid else None
    given = None if value is None else as_text(value)
    if given != expected or (value is not None and given is None):
        raise NotYet(
            f"A bank {case.what}. For the bill {bill} {name_of(answer)} returned {show(value)}; it should "
            f"return "
            f"{show(expected)}.",
            case.rule,
            "Return the text of a result that is no error, and None if there is none.",
            recording,
        )


TITLE: Final = "Try again, pay once"

TASK: Final = Task(
    name="again",
    title=TITLE,
    text=f"""\
Write the story that pays a bill at a bank whose answers may come too late. The tool `{TOOL}` takes a `bill`
and a `payment`, a name of your choice: the bank makes a payment of the same name once, however often it is
asked for.

- Try again if no answer comes, {MAX_TRIES} times in all at most. `client.call_tool` raises `RequestTimeout`
  then.
- Do not try again if the bank says no: by a tool error, or by a protocol error (`ProtocolError`).
- Return the text of the result, or None if there is none.

The story is called for one bill after the other. Each of them has to be paid, and none of them twice.""",
    answer="pay_for_sure",
    starter='''\
async def pay_for_sure(client, bill):
    """Pay a bill once; return the text of the result, or None."""
    return ...''',
    hints=(
        "After a timeout nobody knows whether it was paid. Asking again is safe only under the same name.",
        "The name has to be the same for all tries of one bill, and another one for another bill.",
        "A loop over five tries. `try`: call, look at `is_error`, return. `except RequestTimeout`: go on "
        "with the "
        "loop. `except ProtocolError`: return None.",
    ),
    solution=(
        """\
async def pay_for_sure(client, bill):
    arguments = {"bill": bill, "payment": f"payment of {bill}"}
    for _ in range(5):
        try:
            result = await client.call_tool("pay", arguments)
        except RequestTimeout:
            continue
        except ProtocolError:
            return None
        return None if result.is_error else text_of(result)""",
    ),
    why="A lost answer says nothing about the work. A name that the caller chooses makes it harmless to ask "
    "again.",
    grade=grade,
    points=20,
    pages=(
        ("timeouts", "basic/patterns/cancellation#timeouts"),
        ("statelessness", "basic/index#statelessness"),
        ("error handling", "server/tools#error-handling"),
    ),
)
