"""Exercises 12: errors. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

import anyio
import pytest

from mcpsim import McpSimError, ProtocolError, RequestTimeout, ToolError
from mcpsim.course import exercises, text_of
from mcpsim.course.exercises import ExerciseSet
from mcpsim.course.exercises.set_12_errors.codes import FAULTS
from mcpsim.errors import ERROR_CODES
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.errors


# --- 12, kinds ------------------------------------------------------------------------------------

KINDS: Final = {
    "A": "tool",
    "B": "protocol",
    "C": "tool",
    "D": "protocol",
    "E": "tool",
    "F": "protocol",
    "G": "protocol",
}


def of_kinds(**changes: Any) -> dict[str, Any]:
    return {**KINDS, **changes}


OF_KINDS: Final = [
    ("kinds", dict(sorted(KINDS.items(), reverse=True))),
    (
        "kinds",
        of_kinds(A="protocol"),
        "6 of 7 are right. A is not 'protocol'. The request is in order",
        "input that it does not",
    ),
    ("kinds", of_kinds(B="tool"), "B is not 'tool'. No tool of that name", "An unknown tool"),
    ("kinds", of_kinds(C="protocol"), "The server is well", "Failures of what is behind a tool"),
    ("kinds", of_kinds(D="tool"), "the request is malformed", "a malformed request"),
    ("kinds", of_kinds(E="protocol"), "the answer is no", "rules of the business"),
    ("kinds", of_kinds(F="tool"), "Only the result of a tool call", "MUST return -32602"),
    ("kinds", of_kinds(G="tool"), "before any tool runs", "a required key of `_meta`"),
    ("kinds", of_kinds(G="isError"), "G: 'isError' is none of the words", 'The words are "tool", "protocol"'),
    ("kinds", of_kinds(A=...), "6 of 7 are answered", "Still open: A"),
]

# --- 12, codes ------------------------------------------------------------------------------------

CODES: Final = {
    "A": -32602,
    "B": -32002,
    "C": -32700,
    "D": -32601,
    "E": -32602,
    "F": -32022,
    "G": -32021,
    "H": -32020,
    "I": -32042,
}


def of_codes(**changes: Any) -> dict[str, Any]:
    return {**CODES, **changes}


OF_CODES: Final = [
    ("codes", dict(sorted(CODES.items(), reverse=True))),
    (
        "codes",
        of_codes(A=-32002),
        "8 of 9 are right. A: -32002 is not it. It is ResourceNotFound, and is not sent in 2026-07-28",
        "MUST return -32602",
    ),
    ("codes", of_codes(B=-32602), "B: -32602 is not it. It is InvalidParams", "SHOULD return -32002"),
    ("codes", of_codes(C=-32600), "C: -32600 is not it", "the codes of JSON-RPC"),
    ("codes", of_codes(D=-32602), "D: -32602 is not it", "does not have the method"),
    ("codes", of_codes(E=-32601), "E: -32601 is not it", "in the example its code is -32602"),
    ("codes", of_codes(F=-32602), "F: -32602 is not it", "MUST answer with -32022"),
    ("codes", of_codes(G=-32003), "Neither JSON-RPC nor MCP defines it", "MUST return -32021"),
    ("codes", of_codes(H=-32602), "H: -32602 is not it", "headers do not match"),
    ("codes", of_codes(I=-32021), "and is not sent in 2025-11-25", "Only this revision has it"),
    ("codes", of_codes(I="-32042"), "I: the answer is '-32042'", "A code is an integer"),
    ("codes", of_codes(I=...), "8 of 9 are answered", "Still open: I"),
]


@pytest.mark.parametrize("letter", FAULTS)
def test_a_code_is_sent_in_its_era(letter: str) -> None:
    fault = FAULTS[letter]
    assert fault.era in ERROR_CODES[fault.code].eras


# --- 12, what came of a call ----------------------------------------------------------------------


async def outcome_by_hand(client: Any, name: str, arguments: Any) -> Any:
    with anyio.move_on_after(1.5):
        try:
            result = await client.request("tools/call", {"name": name, "arguments": arguments})
        except ProtocolError as error:
            return ["protocol error", error.code]
        kind = "tool error" if result.get("isError", False) else "result"
        return [kind, result["content"][0]["text"]]
    return ["no answer", None]


async def outcome_by_type(client: Any, name: str, arguments: Any) -> Any:
    """Both exceptions are of one family."""
    try:
        result = await client.call_tool(name, arguments)
    except McpSimError as error:
        code = getattr(error, "code", None)
        return ("no answer" if code is None else "protocol error", code)
    return (("result", "tool error")[bool(result.is_error)], text_of(result))


def outcome(change: Callable[[Any], Any]) -> Callable[..., Any]:
    """The right pair, changed."""

    async def story(client: Any, name: str, arguments: Any) -> Any:
        return change(await outcome_by_type(client, name, arguments))

    return story


async def outcome_without_is_error(client: Any, name: str, arguments: Any) -> Any:
    pair = await outcome_by_type(client, name, arguments)
    return ("result", pair[1]) if pair[0] == "tool error" else pair


async def outcome_by_text(client: Any, name: str, arguments: Any) -> Any:
    pair = await outcome_by_type(client, name, arguments)
    if pair[0] == "result":
        return ("tool error" if "rror" in pair[1] else "result", pair[1])
    return pair


async def outcome_by_emptiness(client: Any, name: str, arguments: Any) -> Any:
    pair = await outcome_by_type(client, name, arguments)
    return ("no answer", None) if pair[1] == "" else pair


async def outcome_lets_errors_out(client: Any, name: str, arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    return ("tool error" if result.is_error else "result", text_of(result))


async def outcome_lets_timeouts_out(client: Any, name: str, arguments: Any) -> Any:
    try:
        return await outcome_lets_errors_out(client, name, arguments)
    except ProtocolError as error:
        return "protocol error", error.code


async def outcome_with_a_code_for_timeouts(client: Any, name: str, arguments: Any) -> Any:
    try:
        return await outcome_lets_timeouts_out(client, name, arguments)
    except RequestTimeout:
        return "protocol error", -32001


async def outcome_tries_again(client: Any, name: str, arguments: Any) -> Any:
    pair = await outcome_by_type(client, name, arguments)
    return await outcome_by_type(client, name, arguments) if pair[0] == "no answer" else pair


async def outcome_of_nothing(client: Any, name: str, arguments: Any) -> Any:
    return "result", ""


OUTCOMES: Final = [
    ("outcome", outcome_by_hand),
    ("outcome", outcome_by_type),
    ("outcome", outcome_without_is_error, "raises a tool error", "look at `is_error`"),
    ("outcome", outcome_by_text, "whose text looks like an error", "and not in its text"),
    ("outcome", outcome_by_emptiness, "gives an empty text", "`is_error`"),
    ("outcome", outcome_lets_errors_out, "raised ProtocolError: -32602", "Catch it"),
    ("outcome", outcome_lets_timeouts_out, "raised RequestTimeout", "catch it"),
    ("outcome", outcome_with_a_code_for_timeouts, "It is 'no answer'", "must not be mistaken"),
    ("outcome", outcome_tries_again, "does not answer in time. The story calls it 2 times", "Call it once"),
    ("outcome", outcome_of_nothing, "sends no `tools/call`", "calls a tool"),
    ("outcome", outcome(lambda pair: pair[0]), "returned 'result'", "Return a pair"),
    ("outcome", outcome(lambda pair: (pair[0].upper(), pair[1])), "returned ('RESULT'", "Return a pair"),
    ("outcome", outcome(lambda pair: (pair[0], str(pair[1]))), "The detail should be -32602", "the code of"),
    (
        "outcome",
        outcome(lambda pair: (pair[0], pair[1] or "?")),
        "The detail should be ''",
        "the text of a result",
    ),
]

# --- 12, the invoice ------------------------------------------------------------------------------


async def invoice_by_table(number: str, look_up: Any) -> Any:
    texts = {LookupError: f"No invoice has the number {number}.", ConnectionError: "Please wait."}
    try:
        return look_up(number)
    except (LookupError, ConnectionError) as error:
        raise ToolError(texts[type(error)]) from error


def invoice_lets_the_fault_out(number: str, look_up: Any) -> Any:
    """What the server says of an exception that nobody caught gives nothing away either."""
    try:
        return look_up(number)
    except LookupError:
        raise ToolError(f"{number} is not among the invoices.") from None


def invoice_lets_all_out(number: str, look_up: Any) -> Any:
    return look_up(number)


def invoice_tells_all(number: str, look_up: Any) -> Any:
    try:
        return look_up(number)
    except Exception as error:
        raise ToolError(f"{number}: {error}") from error


def invoice_tells_of_the_table(number: str, look_up: Any) -> Any:
    try:
        return look_up(number)
    except LookupError as error:
        raise ToolError(str(error).partition(" on ")[0]) from None
    except ConnectionError:
        raise ToolError("Down.") from None


def invoice_tells_the_log(number: str, look_up: Any) -> Any:
    try:
        return look_up(number)
    except LookupError:
        raise ToolError(f"There is no {number}.") from None
    except ConnectionError as error:
        raise ToolError("The database is down: " + str(error).split(":")[0]) from None


def invoice_returns_its_errors(number: str, look_up: Any) -> Any:
    try:
        return look_up(number)
    except LookupError:
        return f"There is no invoice {number}."
    except ConnectionError:
        return "Try again later."


def invoice_by_protocol_error(number: str, look_up: Any) -> Any:
    try:
        return look_up(number)
    except LookupError:
        raise ProtocolError(-32602, f"There is no invoice {number}.") from None
    except ConnectionError:
        raise ProtocolError(-32603, "Internal error") from None


def invoice_with_one_text(number: str, look_up: Any) -> Any:
    try:
        return look_up(number)
    except (LookupError, ConnectionError):
        raise ToolError(f"Could not find {number}.") from None


def invoice_without_the_number(number: str, look_up: Any) -> Any:
    try:
        return look_up(number)
    except LookupError:
        raise ToolError("There is no such invoice.") from None
    except ConnectionError:
        raise ToolError("Try again later.") from None


def invoice_for_everybody(number: str, look_up: Any) -> Any:
    try:
        look_up(number)
    except LookupError:
        raise ToolError(f"There is no {number}.") from None
    except ConnectionError:
        raise ToolError("Try again later.") from None
    return f"Invoice {number}"


def invoice(missing: str, down: str) -> Any:
    """A function with these texts; {number} and {error} stand for what they say."""

    def find_invoice(number: str, look_up: Any) -> Any:
        try:
            return look_up(number)
        except LookupError as error:
            raise ToolError(missing.format(number=number, error=str(error)[:12])) from None
        except ConnectionError as error:
            raise ToolError(down.format(number=number, error=str(error)[:12])) from None

    return find_invoice


INVOICES: Final = [
    ("invoice", invoice("{number} not found.", "Down. This does not mean that the invoice does not exist.")),
    ("invoice", invoice("No invoice {number}.", "No invoice can be looked up now, nor {number}.")),
    ("invoice", invoice("No invoice {number}.", "I cannot say whether {number} does not exist.")),
    ("invoice", invoice("Invoice {number} not found.", "Database not found.")),
    ("invoice", invoice("No invoice {number}.", "It may or may not exist: the database is down.")),
    ("invoice", invoice("No invoice {number}.", "Down. Do not assume that {number} does not exist.")),
    ("invoice", invoice("No invoice {number}.", "It is unclear, {number} might exist or not exist.")),
    ("invoice", invoice("No invoice {number}.", "The invoice system was not found.")),
    (
        "invoice",
        invoice("No invoice {number}.", "Nothing found, the database may be down."),
        "takes it",
        "nobody knows",
    ),
    (
        "invoice",
        invoice("No invoice {number}.", "Could not find {number}: there is none."),
        "takes it",
        "nobody knows",
    ),
    ("invoice", invoice("{number}", "Down."), "says 'INV-", "in a few words"),
    ("invoice", invoice("No invoice {number}.", ""), "says ''. From that", "what the model can do"),
    ("invoice", invoice("No invoice {number}.", "Down: {error}"), "goes over the wire, and 'db-", "for you"),
    ("invoice", invoice("No invoice {number}.", "{number} not found. Down."), "takes it", "did not answer"),
    (
        "invoice",
        invoice("Which {number}?", "There is no invoice {number}, or the database is down."),
        "takes it",
        "not",
    ),
    ("invoice", invoice("Which {number}?", "Down. The invoice doesn't exist."), "takes it", "nobody knows"),
    ("invoice", invoice_by_table),
    ("invoice", invoice_lets_the_fault_out),
    ("invoice", invoice_lets_all_out, "The number is not in it", "Catch the LookupError"),
    ("invoice", invoice_tells_all, "goes over the wire, and 'db-", "for you"),
    ("invoice", invoice_tells_of_the_table, "'tbl_", "belongs in no answer"),
    ("invoice", invoice_tells_the_log, "is down. What `invoice_tells_the_log` says", "MUST sanitize"),
    ("invoice", invoice_returns_its_errors, "as if all were well", "`raise ToolError(text)`"),
    ("invoice", invoice_by_protocol_error, "the protocol error -32602", "the model cannot see them"),
    ("invoice", invoice_with_one_text, "in both cases", "two texts"),
    ("invoice", invoice_without_the_number, "The number is not in it", "which number there is not"),
    ("invoice", invoice_for_everybody, "It says '", "what `look_up(number)` returns"),
    ("invoice", "There is no invoice.", "The answer is 'There is no invoice.'", "the function itself"),
]

# --- 12, try again --------------------------------------------------------------------------------


def paying(name: Callable[[str, int], str], tries: int = 5, *, refused: Any = None, mind: bool = True) -> Any:
    """A story that pays under a name made from the bill and the number of the try."""

    async def story(client: Any, bill: str) -> Any:
        for number in range(tries):
            try:
                result = await client.call_tool("pay", {"bill": bill, "payment": name(bill, number)})
            except RequestTimeout:
                continue
            except ProtocolError:
                return refused
            return None if result.is_error and mind else text_of(result)
        return None

    return story


async def pay_by_recursion(client: Any, bill: str, left: int = 4) -> Any:
    params = {"name": "pay", "arguments": {"payment": bill, "bill": bill}}
    try:
        result = await client.request("tools/call", params, timeout_s=1)
    except RequestTimeout:
        await anyio.sleep(5)
        return await pay_by_recursion(client, bill, left - 1) if left else None
    except ProtocolError:
        return None
    return None if result.get("isError") else result["content"][0]["text"]


async def pay_whatever_comes(client: Any, bill: str) -> Any:
    for _ in range(5):
        try:
            result = await client.call_tool("pay", {"bill": bill, "payment": bill})
        except McpSimError:
            continue
        return None if result.is_error else text_of(result)
    return None


async def pay_until_it_is_paid(client: Any, bill: str) -> Any:
    for _ in range(5):
        try:
            result = await client.call_tool("pay", {"bill": bill, "payment": bill})
        except RequestTimeout:
            continue
        except ProtocolError:
            return None
        if not result.is_error:
            return text_of(result)
    return None


async def pay_and_see(client: Any, bill: str) -> Any:
    return text_of(await client.call_tool("pay", {"bill": bill, "payment": bill}))


async def pay_without_a_name(client: Any, bill: str) -> Any:
    try:
        result = await client.call_tool("pay", {"bill": bill})
    except (ProtocolError, RequestTimeout):
        return None
    return None if result.is_error else text_of(result)


async def pay_nothing(client: Any, bill: str) -> Any:
    return None


async def pay_to_be_sure(client: Any, bill: str) -> Any:
    pay = paying(lambda bill, number: bill)
    await pay(client, bill)
    return await pay(client, bill)


numbers = itertools.count()

AGAINS: Final = [
    ("again", paying(lambda bill, number: f"invoice {bill}")),
    ("again", paying(lambda bill, number: bill, 4)),
    ("again", pay_by_recursion),
    ("again", paying(lambda bill, number: f"{bill}-{number}"), "it was paid twice", "Choose the name once"),
    ("again", paying(lambda bill, number: f"{next(numbers)}"), "it was paid twice", "before the first try"),
    (
        "again",
        paying(lambda bill, number: "payment"),
        "both paid under the name 'payment'",
        "A name for each bill",
    ),
    ("again", paying(lambda bill, number: bill, 1), "tried once. No answer came", "and try again"),
    ("again", paying(lambda bill, number: bill, 9), "tried 9 times", "5 times at most"),
    ("again", pay_whatever_comes, "has no such tool. The bill", "today or tomorrow"),
    ("again", pay_until_it_is_paid, "answers by a tool error. The bill", "it would be the same again"),
    ("again", pay_and_see, "raised RequestTimeout", "and try again"),
    ("again", pay_without_a_name, "was not paid: the tool was called with", "both are texts"),
    ("again", pay_nothing, "tried never", "call_tool"),
    ("again", pay_to_be_sure, "answers in time. The bill", "as soon as an answer comes"),
    ("again", paying(lambda bill, number: bill, mind=False), "it should return None", "no error"),
    (
        "again",
        paying(lambda bill, number: bill, refused="no"),
        "has no such tool. For the bill",
        "None if there",
    ),
]


ALL: Final = [*OF_KINDS, *OF_CODES, *OUTCOMES, *INVOICES, *AGAINS]
