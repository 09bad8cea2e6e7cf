"""Prompts: their names, their arguments, and the errors about them. What their messages hold is in `content`.

https://modelcontextprotocol.io/specification/2026-07-28/server/prompts
https://modelcontextprotocol.io/specification/2025-11-25/server/prompts
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from mcpsim.audit.model import Connection, Item, Walk
from mcpsim.audit.rule import ALL, NOTE, SHOULD, Found, Rule, each, errors
from mcpsim.audit.rules.listed import PROMPTS as LIST
from mcpsim.audit.rules.listed import Asked, Questions, asked, is_complete, listing_of, members_of
from mcpsim.audit.rules.texts import error_text, names_missing, says_internal
from mcpsim.errors import INTERNAL_ERROR, INVALID_PARAMS, RESERVED_CODES
from mcpsim.recording.words import show

GET: Final = "prompts/get"
NO_SUCH_PROMPT: Final = names_missing("prompt")
LACKS_ARGUMENT: Final = re.compile(
    r"\bmissing\b.{0,40}\bargument|\brequired\b.{0,40}\bargument|\bargument.{0,80}\b(?:is required|missing)",
    re.IGNORECASE | re.DOTALL,
)


def codes_about_prompts(item: Item) -> Iterator[Found]:
    """An error whose text tells of a prompt, of its arguments or of a breakdown, and whose code does not."""
    text = error_text(item)
    if item.code in RESERVED_CODES:
        return
    is_wrong_input = NO_SUCH_PROMPT.search(text) is not None or LACKS_ARGUMENT.search(text) is not None
    if is_wrong_input and item.code != INVALID_PARAMS:
        yield Found(
            item,
            f"The error {show(text)} has the code {item.code}; a prompt that does not exist, and an argument "
            f"that is missing, are invalid parameters: {INVALID_PARAMS}.",
        )
    elif says_internal(item) and item.code != INTERNAL_ERROR:
        yield Found(
            item,
            f"The error calls itself an internal one and has the code {item.code}; the code for it is "
            f"{INTERNAL_ERROR}.",
        )


def _missing(one: Asked) -> list[str]:
    """The required arguments that a request does not give, where the prompt is known for sure."""
    prompt = one.definition(one.call.request.params.get("name"))
    given: Any = one.call.request.params.get("arguments", {})
    if prompt is None or not isinstance(given, dict):
        return []
    return [
        name
        for argument in members_of(prompt, "arguments")
        if argument.get("required") is True
        and isinstance(name := argument.get("name"), str)
        and name not in cast("dict[str, Any]", given)
    ]


def _given(connection: Connection) -> Iterator[Found]:
    for one in asked(connection, LIST, GET):
        for name in _missing(one):
            yield Found(
                one.call.request,
                f"The request for the prompt {show(one.call.request.params.get('name'))} does not give the "
                f"argument {show(name)}, which the server marks as required.",
                hint="Ask the user for it first.",
            )


def _validated(connection: Connection) -> Iterator[Found]:
    questions = Questions(connection)
    for one in asked(connection, LIST, GET):
        answer = one.call.answer
        if answer is None or answer.kind != "response" or not is_complete(answer):
            continue
        # What was missing may have been asked for in between.
        if one.call.rounds is not None or questions.during(one.call):
            continue
        missing = _missing(one)
        if missing:
            yield Found(
                answer,
                f"The server gives the prompt {show(one.call.request.params.get('name'))} without the "
                f"argument {show(missing[0])}, which it marks as required. It should check arguments first.",
                hint=f"Answer with the error {INVALID_PARAMS}.",
            )


def _unique(walk: Walk) -> Iterator[Found]:
    listing = listing_of(LIST, walk)
    for name, entries in (listing.entries if listing else {}).items():
        for again in entries[1:]:
            # On another page it may be the very same prompt: the list grew in the meantime.
            if again.item is entries[0].item or again.definition != entries[0].definition:
                yield Found(again.item, f"Two prompts are named {show(name)}; a name identifies one prompt.")
                break
        given = [one.get("name") for one in members_of(entries[0].definition, "arguments")]
        counts = Counter(one for one in given if isinstance(one, str))
        for argument in (one for one, count in counts.items() if count > 1):
            yield Found(entries[0].item, f"The prompt {show(name)} has two arguments named {show(argument)}.")


def _at(anchor: str) -> Mapping[Any, str]:
    return {"modern": f"server/prompts#{anchor}", "legacy": f"server/prompts#{anchor}"}


PROMPTS: Final[tuple[Rule, ...]] = (
    Rule(
        "prompt-error-codes",
        SHOULD,
        "server",
        ALL,
        _at("error-handling"),
        "A prompt that does not exist and a missing argument are error -32602, an internal one is -32603.",
        on=errors(GET),
        check=codes_about_prompts,
    ),
    Rule(
        "prompt-arguments-validated",
        SHOULD,
        "server",
        ALL,
        _at("implementation-considerations"),
        "A server does not give a prompt without the arguments that it requires.",
        on=each(Connection, needs=("prompts/list", "prompts/get")),
        check=_validated,
    ),
    Rule(
        "prompt-required-arguments-given",
        NOTE,
        "client",
        ALL,
        _at("prompt"),
        "A client gives the arguments of a prompt that are marked as required.",
        on=each(Connection, needs=("prompts/list", "prompts/get")),
        check=_given,
    ),
    Rule(
        "prompt-names-unique",
        NOTE,
        "server",
        ALL,
        _at("prompt"),
        "No two prompts of a server, and no two arguments of a prompt, have the same name.",
        on=each(Walk, "prompts/list"),
        check=_unique,
    ),
)
