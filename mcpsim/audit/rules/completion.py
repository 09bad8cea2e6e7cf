"""Completion: how many values, what is completed, how often, and the errors about it.

https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion
https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from mcpsim.audit.model import Call, Connection, Item
from mcpsim.audit.rule import ALL, MUST, NOTE, SHOULD, Found, Rule, calls, each, requests, results
from mcpsim.audit.rules.listed import PROMPTS, Asked, asked, members_of
from mcpsim.audit.rules.prompts import codes_about_prompts
from mcpsim.audit.rules.resources import is_template
from mcpsim.eras.capabilities import declares
from mcpsim.eras.revisions import COMPLETIONS_CAPABILITY_REVISIONS
from mcpsim.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RESERVED_CODES
from mcpsim.recording.words import show

COMPLETE: Final = "completion/complete"
MOST: Final = 100
#: What nobody calls debounced: so many requests in a row, each so soon after the one before.
RAPID: Final = 5
RAPID_MS: Final = 100


def _object(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _values(item: Item) -> list[Any] | None:
    values: Any = _object(item.result.get("completion")).get("values")
    return cast("list[Any]", values) if isinstance(values, list) else None


def _at_most(item: Item) -> Iterator[Found]:
    values = _values(item)
    if values is not None and len(values) > MOST:
        yield Found(
            item,
            f"The result has {len(values)} values; it must not have more than {MOST}.",
            hint="Send the first ones, with hasMore: true.",
        )


def _totals(item: Item) -> Iterator[Found]:
    completion = _object(item.result.get("completion"))
    values, total, more = _values(item), completion.get("total"), completion.get("hasMore")
    if values is None or isinstance(total, bool) or not isinstance(total, int | float):
        return
    if total < len(values):
        yield Found(item, f"total is {show(total)}, and there are {len(values)} values.")
    elif more is False and total > len(values):
        yield Found(item, f"hasMore is false, and total is {show(total)} for {len(values)} values.")
    elif more is True and total == len(values):
        yield Found(item, f"hasMore is true, and total says that these {len(values)} values are all.")


def _codes(call: Call) -> Iterator[Found]:
    item = call.answer
    if item is None or item.kind != "error" or item.code is None:
        return
    declared = call.server_capabilities
    if declared is not None and not declares(declared, "completions"):
        # The request itself may be at fault as well, which other codes say.
        if item.code not in (METHOD_NOT_FOUND, INVALID_PARAMS) and item.code not in RESERVED_CODES:
            yield Found(
                item,
                f"The server did not declare completions and refuses the request with {item.code}; the code "
                f"for a capability that is not supported is {METHOD_NOT_FOUND}.",
            )
    else:
        yield from codes_about_prompts(item)


def _validated(connection: Connection) -> Iterator[Found]:
    for one in asked(connection, PROMPTS, COMPLETE):
        answer = one.call.answer
        if answer is None or answer.kind != "response" or _values(answer) is None:
            continue
        wrong = _unknown(one)
        if wrong:
            yield Found(
                answer,
                f"The server completes {wrong} by its own list. It probably does not validate its input.",
                hint=f"Answer with the error {INVALID_PARAMS}.",
                level=SHOULD,
            )


def _unknown(one: Asked) -> str:
    """What a request refers to that is not there, in words; "" where it is there, or nobody knows."""
    params = one.call.request.params
    ref, argument = _object(params.get("ref")), _object(params.get("argument")).get("name")
    name = ref.get("name")
    if ref.get("type") != "ref/prompt":
        return ""
    if one.is_unknown(name):
        return f"the prompt {show(name)}, which does not exist"
    prompt = one.definition(name)
    if prompt is None or not isinstance(argument, str) or not _values_of(one):
        return ""
    if any(member.get("name") == argument for member in members_of(prompt, "arguments")):
        return ""
    return f"the argument {show(argument)}, which the prompt {show(name)} does not have"


def _values_of(one: Asked) -> list[Any]:
    return [] if one.call.answer is None else _values(one.call.answer) or []


def _debounced(connection: Connection) -> Iterator[Found]:
    run: list[tuple[Item, str]] = []
    for call in connection.calls:
        item = call.request
        if call.method != COMPLETE or item.at_ms is None:
            continue
        argument = _object(item.params.get("argument"))
        value: Any = argument.get("value")
        if not isinstance(value, str):
            continue
        if not (run and _goes_on(run[-1], item, value)):
            run.clear()
        run.append((item, value))
        if len(run) == RAPID:
            began = run[0][0].at_ms or 0
            yield Found(
                item,
                f"The client asks for completions at every letter: {RAPID} times within "
                f"{round(item.at_ms - began)} ms. It should wait until the user pauses.",
                hint="Wait some 200 ms after the last letter before asking.",
            )


def _goes_on(before: tuple[Item, str], item: Item, value: str) -> bool:
    """Whether the user typed one more letter at once."""
    earlier, text = before
    soon = item.at_ms is not None and earlier.at_ms is not None and item.at_ms - earlier.at_ms <= RAPID_MS
    same = _object(earlier.params.get("argument")).get("name") == _object(item.params.get("argument")).get(
        "name"
    )
    typed = len(value) == len(text) + 1 and value.startswith(text)
    return soon and same and typed and earlier.params.get("ref") == item.params.get("ref")


def _reference(item: Item) -> Iterator[Found]:
    ref = _object(item.params.get("ref"))
    uri = ref.get("uri")
    if ref.get("type") == "ref/resource" and isinstance(uri, str) and not is_template(uri):
        yield Found(
            item,
            f"The reference has the uri {show(uri)}, which is neither a URI nor a URI template by RFC 6570.",
        )


def _at(anchor: str) -> Mapping[Any, str]:
    page = "server/utilities/completion"
    return {"modern": f"{page}#{anchor}", "legacy": f"{page}#{anchor}"}


COMPLETION: Final[tuple[Rule, ...]] = (
    Rule(
        "completion-at-most-100-values",
        MUST,
        "server",
        ALL,
        _at("completion-results"),
        "The result of a completion has at most 100 values.",
        on=results(COMPLETE),
        check=_at_most,
    ),
    Rule(
        "completion-totals-agree",
        NOTE,
        "server",
        ALL,
        _at("completion-results"),
        "The total of a completion and hasMore agree with the values that are there.",
        on=results(COMPLETE),
        check=_totals,
    ),
    Rule(
        "completion-error-codes",
        SHOULD,
        "server",
        COMPLETIONS_CAPABILITY_REVISIONS,
        _at("error-handling"),
        "Without the capability a completion is refused by -32601, for an unknown prompt by -32602, and an "
        "internal error is -32603.",
        on=calls(COMPLETE),
        check=_codes,
    ),
    Rule(
        "completion-inputs-validated",
        MUST,
        "server",
        ALL,
        _at("security"),
        "A server does not complete what it does not have.",
        on=each(Connection, needs=(COMPLETE,)),
        check=_validated,
    ),
    Rule(
        "completion-debounced",
        SHOULD,
        "client",
        ALL,
        _at("implementation-considerations"),
        "A client does not ask for completions at every letter.",
        on=each(Connection, needs=(COMPLETE,)),
        check=_debounced,
    ),
    Rule(
        "completion-reference-valid",
        MUST,
        "client",
        ALL,
        _at("reference-types"),
        "A reference to a resource is a URI or a URI template.",
        on=requests(COMPLETE),
        check=_reference,
    ),
)
