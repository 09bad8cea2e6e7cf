"""Multi round-trip requests: which requests may be answered by `input_required`, and what may stand in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcpsim.audit.model import Call, Item
from mcpsim.audit.questions import ASKERS, GROUPS, HOLDING, asks, mapping, questions
from mcpsim.audit.rule import ALL, MODERN, MUST, NOTE, Found, Rule, calls, items, results
from mcpsim.eras.capabilities import declares
from mcpsim.eras.methods import method as method_row
from mcpsim.recording.words import show

_PAGE: Final = "basic/patterns/mrtr"
_SERVER: Final[Mapping[Any, str]] = {"modern": f"{_PAGE}#server-requirements-basic-workflow"}
_SUPPORTED: Final[Mapping[Any, str]] = {"modern": f"{_PAGE}#supported-requests"}


def _where_allowed(item: Item) -> Iterator[Found]:
    if not asks(item) or not item.method:
        return
    row = method_row(item.method, item.revision)
    allowed = ", ".join(ASKERS)
    if row is None:
        yield Found(
            item,
            f"{show(item.method)} is answered by input_required. The specification allows that for {allowed} "
            "only; this method is none of its own, so an extension may say something else.",
            level=NOTE,
        )
    elif not row.may_ask:
        yield Found(
            item,
            f"{item.method} is answered by input_required; only {allowed} may be.",
            hint="Ask in the answer to one of these, or answer without asking.",
        )


def _brings_something(item: Item) -> Iterator[Found]:
    if not asks(item):
        return
    result = item.result
    if "inputRequests" not in result and "requestState" not in result:
        yield Found(
            item,
            "This input_required result has neither inputRequests nor requestState; it needs one of them.",
            hint="Ask for something, or give a requestState with which the client can come back.",
        )
    elif result.get("inputRequests") == {} and "requestState" not in result:
        yield Found(
            item,
            "This input_required result asks for nothing: inputRequests is empty, without a state.",
            level=NOTE,
        )


def _kinds(item: Item) -> Iterator[Found]:
    if not asks(item):
        return
    for key, value in mapping(item.result.get("inputRequests")).items():
        method = mapping(value).get("method")
        if not isinstance(method, str) or method not in GROUPS:
            found = f"has the method {show(method)}" if isinstance(value, dict) else f"is {show(value)}"
            yield Found(
                item,
                f"The input request {show(key)} {found}; it must be a request with one of the methods "
                f"{', '.join(GROUPS)}.",
            )


def _unique_keys(item: Item) -> Iterator[Found]:
    if item.sender != "server" or item.raw is None or b'"inputRequests"' not in item.raw:
        return
    for key in _twice_asked(item.raw):
        yield Found(
            item,
            f"inputRequests has the key {show(key)} twice; each key names one request.",
            hint="Give every input request a key of its own.",
        )


class _Members(list[tuple[str, Any]]):
    """An object's members, those of the same name included."""


def _twice_asked(raw: bytes) -> Iterator[str]:
    try:
        value: Any = json.loads(raw, object_pairs_hook=_Members)
    except (ValueError, RecursionError):
        return
    for name in ("result", "inputRequests"):
        if not isinstance(value, _Members):
            return
        value = next((held for key, held in value if key == name), None)
    if not isinstance(value, _Members):
        return
    seen: set[str] = set()
    for key, _ in value:
        if key in seen:
            yield key
        seen.add(key)


def _only_declared(call: Call) -> Iterator[Found]:
    for question in questions(call):
        group = GROUPS[question.method]
        if question.capabilities is not None and not declares(question.capabilities, group):
            yield Found(
                question.item,
                f"{question.name} is {question.method}, and the client has not declared {group} in this "
                "request.",
                hint="Answer with error -32021 (missing client capability) where there is no way without.",
            )


MRTR: Final[tuple[Rule, ...]] = (
    Rule(
        "mrtr-only-where-allowed",
        MUST,
        "server",
        MODERN,
        _SUPPORTED,
        "Only prompts/get, resources/read and tools/call may be answered by input_required.",
        on=results(),
        check=_where_allowed,
    ),
    Rule(
        "mrtr-input-required-brings-something",
        MUST,
        "server",
        MODERN,
        _SERVER,
        "An input_required result has inputRequests, requestState, or both.",
        on=results(),
        check=_brings_something,
    ),
    Rule(
        "mrtr-input-request-kinds",
        MUST,
        "server",
        MODERN,
        _SERVER,
        "An input request is an elicitation, a sampling or a roots request.",
        on=results(),
        check=_kinds,
    ),
    Rule(
        "mrtr-keys-are-unique",
        MUST,
        "server",
        ALL,
        {"modern": f"{_PAGE}#server-requirements-basic-workflow", "legacy": "basic/index#messages"},
        "No two input requests of a result have the same key.",
        on=items("unreadable"),
        check=_unique_keys,
    ),
    Rule(
        "mrtr-asks-only-what-is-declared",
        MUST,
        "server",
        MODERN,
        _SERVER,
        "A server asks only for what the client has declared in the request.",
        on=calls(*ASKERS, among=HOLDING),
        check=_only_declared,
    ),
)
