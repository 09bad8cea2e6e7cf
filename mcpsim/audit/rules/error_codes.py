"""The codes and texts of errors: which code may be sent, and what it means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from mcpsim.audit.model import Connection, Item
from mcpsim.audit.rule import ALL, LEGACY, MODERN, MUST, NOTE, SHOULD, Found, Rule, each, errors
from mcpsim.audit.rules.envelopes import is_object, members, on_both, speaks_modern
from mcpsim.eras.capabilities import missing_capabilities
from mcpsim.errors import (
    ERROR_CODES,
    HEADER_MISMATCH,
    MISSING_CLIENT_CAPABILITY,
    RESERVED_CODES,
    RESOURCE_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
)
from mcpsim.messages.meta import CLIENT_CAPABILITIES
from mcpsim.recording.words import show

CODES: Final = "basic/index#error-codes"
META: Final = "basic/index#meta"

#: What implementations had given codes of their own before there was a rule about it.
OLD_CODES: Final = range(-32019, -31999)
#: What JSON-RPC keeps for itself, without the part that it leaves to servers.
JSON_RPC_CODES: Final = range(-32768, -32099)
#: A text that is longer is no concise sentence.
LONG: Final = 300

_EARLIER: Final = {
    RESOURCE_NOT_FOUND: "-32602 says now that there is no such resource",
    URL_ELICITATION_REQUIRED: "a URL is now asked for by an input_required result",
}

DISCOVER: Final = "server/discover"
INITIALIZE: Final = "initialize"
#: Codes that a server of an earlier revision does not answer with to what it does not understand.
_TELLING: Final = frozenset(RESERVED_CODES) - ERROR_CODES.keys() | {URL_ELICITATION_REQUIRED}

Check = Callable[[Connection], Iterator[Found]]


def _modern(one: Callable[[Item], Iterator[Found]]) -> Check:
    """A check of each modern error, on a connection whose server is a modern one; on any other, errors of the
    server are no more than worth a note: a legacy server answers a modern request as it likes.

    A code that a legacy server has no use for here is certain without that. Such codes are sent by servers
    that were moved to this revision, and not by those that have never heard of it.
    """

    def check(connection: Connection) -> Iterator[Found]:
        found = [
            fault
            for item in connection.items
            if item.kind == "error" and item.era == "modern" and item.revision in MODERN
            for fault in one(item)
        ]
        if not found:
            return
        sure = speaks_modern(connection)
        telling = not any(item.method == INITIALIZE for item in connection.items)
        for fault in found:
            item = fault.item
            probe = item.method == DISCOVER
            if sure or item.sender == "client" or (telling and not probe and item.code in _TELLING):
                yield fault
            elif not probe:
                text = f"{fault.message} (A server of an earlier revision may do that.)"
                yield Found(item, text, fault.hint, level=NOTE)

    return check


def _undefined(item: Item) -> Iterator[Found]:
    code = item.code
    if code in RESERVED_CODES and code not in ERROR_CODES:
        yield Found(
            item,
            f"The code {code} is not defined. The specification keeps -32020 to -32099 for itself, and "
            "says what each of them means.",
            hint="Take a code outside of -32768 to -32000 for errors of your own.",
        )


def _earlier(item: Item) -> Iterator[Found]:
    if item.code in _EARLIER:
        yield Found(
            item,
            f"The code {item.code} is of an earlier revision and is not sent in this one: "
            f"{_EARLIER[item.code]}.",
        )


def _old_range(item: Item) -> Iterator[Found]:
    if item.code in OLD_CODES and item.code != RESOURCE_NOT_FOUND:
        yield Found(
            item,
            f"The code {item.code} has no meaning that receivers could rely on. New implementations use "
            "none from -32000 to -32019; an older one may have kept it.",
            hint="Take a code outside of -32768 to -32000 for errors of your own.",
        )


def _reserved(item: Item) -> Iterator[Found]:
    if item.code in JSON_RPC_CODES and item.code not in ERROR_CODES:
        yield Found(
            item,
            f"The code {item.code} is from the range that JSON-RPC keeps for itself (-32768 to -32000), and "
            "it defines no such code.",
            hint="Take a code outside of that range for errors of your own.",
        )


def _data(item: Item) -> Any:
    return getattr(item.message, "data", None)


def _wrong_meaning(item: Item) -> Iterator[Found]:
    if item.code == HEADER_MISMATCH and not item.is_http:
        yield Found(item, f"The code {HEADER_MISMATCH} is about HTTP headers, and there are none on stdio.")
    if item.code == MISSING_CLIENT_CAPABILITY and item.call is not None:
        declared = item.call.request.meta.get(CLIENT_CAPABILITIES)
        required = members(_data(item)).get("requiredCapabilities")
        if not is_object(declared) or not is_object(required) or not required:
            return
        if not missing_capabilities(required, declared):
            yield Found(
                item,
                f"The server misses {show(required)}, and this request declares it: {show(declared)}.",
            )


def _lists_missing(item: Item) -> Iterator[Found]:
    required = members(_data(item)).get("requiredCapabilities")
    if item.code == MISSING_CLIENT_CAPABILITY:
        if is_object(required) and required:
            return
        yield Found(
            item,
            f"This {MISSING_CLIENT_CAPABILITY} does not say what is missing: `data.requiredCapabilities` is "
            f"{'not there' if required is None else show(required)}. It must list the capabilities.",
        )


def _other_code(item: Item) -> Iterator[Found]:
    required = members(_data(item)).get("requiredCapabilities")
    if (
        item.code != MISSING_CLIENT_CAPABILITY
        and item.sender == "server"
        and is_object(required)
        and required
    ):
        yield Found(
            item,
            f"The error says that {show(required)} is missing, and has the code {item.code}; the code for "
            f"that is {MISSING_CLIENT_CAPABILITY}.",
        )


def _long_text(item: Item) -> Iterator[Found]:
    text = getattr(item.message, "message", "")
    if not isinstance(text, str):
        return
    lines = len(text.strip().splitlines())
    if lines > 1 or len(text) > LONG:
        size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        yield Found(
            item,
            f"The message of this error has {size}: {show(text)}. It should be one short sentence.",
            hint="Put the rest into `data`.",
        )


def _code_rule(id: str, level: Any, page: str, sentence: str, one: Callable[[Item], Iterator[Found]]) -> Rule:
    return Rule(
        id,
        level,
        "sender",
        MODERN,
        {"modern": page},
        sentence,
        on=each(Connection, needs=("error",)),
        check=_modern(one),
    )


ERROR_CODING: Final[tuple[Rule, ...]] = (
    _code_rule(
        "error-code-is-defined",
        MUST,
        CODES,
        "From -32020 to -32099 only the codes that the specification defines are sent.",
        _undefined,
    ),
    _code_rule(
        "error-code-is-of-this-revision",
        MUST,
        CODES,
        "The codes that only earlier revisions have, -32002 and -32042, are not sent.",
        _earlier,
    ),
    _code_rule(
        "error-code-outside-old-range",
        SHOULD,
        CODES,
        "New implementations send no codes from -32000 to -32019.",
        _old_range,
    ),
    _code_rule(
        "error-code-outside-json-rpc-range",
        SHOULD,
        CODES,
        "Codes for purposes of one's own lie outside of -32768 to -32000.",
        _reserved,
    ),
    Rule(
        "error-code-outside-json-rpc-range-legacy",
        NOTE,
        "sender",
        LEGACY,
        {"legacy": "basic/index#messages"},
        "Codes for purposes of one's own lie outside of what JSON-RPC keeps for itself.",
        on=errors(),
        check=_reserved,
    ),
    _code_rule(
        "error-code-keeps-its-meaning",
        MUST,
        CODES,
        "A code that the specification defines is sent for what it means only.",
        _wrong_meaning,
    ),
    _code_rule(
        "missing-capability-is-named",
        MUST,
        META,
        "The error -32021 lists the capabilities that are missing.",
        _lists_missing,
    ),
    _code_rule(
        "missing-capability-has-its-code",
        MUST,
        META,
        "Where a client capability is missing, the error is -32021.",
        _other_code,
    ),
    Rule(
        "error-message-is-one-sentence",
        SHOULD,
        "sender",
        ALL,
        on_both("schema#error"),
        "The message of an error is one short sentence.",
        on=errors(),
        check=_long_text,
    ),
)
