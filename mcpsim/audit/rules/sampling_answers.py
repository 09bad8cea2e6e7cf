"""Sampling: whether the answer keeps to the request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mcpsim.audit.model import Call
from mcpsim.audit.questions import ASKERS, ASKING, HOLDING, mapping, sequence
from mcpsim.audit.rule import LEGACY, MODERN, MUST, NOTE, SHOULD, Found, Rule, calls
from mcpsim.audit.rules.sampling import (
    METHOD,
    WITH_TOOLS,
    brings_tools,
    mixed,
    of_type,
    samples,
    sampling_page,
    unbalanced,
)
from mcpsim.errors import INVALID_PARAMS
from mcpsim.recording.words import show

REJECTED: Final = -1


def _choice_kept(call: Call) -> Iterator[Found]:
    for answer in samples(call):
        params, result = answer.question.params, answer.result
        mode = mapping(params.get("toolChoice")).get("mode")
        uses = of_type(result, "tool_use")
        if mode == "none" and uses:
            yield Found(answer.item, f"{answer.name} uses a tool, and the toolChoice was none.")
        elif mode == "required" and not uses and result.get("stopReason") == "endTurn":
            before = any(of_type(message, "tool_use") for message in sequence(params.get("messages")))
            if not before and sequence(params.get("tools")):
                yield Found(answer.item, f"{answer.name} uses no tool, and the toolChoice was required.")


def _offered(call: Call) -> Iterator[Found]:
    for answer in samples(call):
        uses = of_type(answer.result, "tool_use")
        tools = {
            name
            for tool in sequence(answer.question.params.get("tools"))
            if isinstance(name := mapping(tool).get("name"), str)
        }
        strange = [name for use in uses if isinstance(name := use.get("name"), str) and name not in tools]
        if strange:
            yield Found(answer.item, f"{answer.name} uses {show(strange[0])}, which is not among the tools.")
        elif answer.result.get("stopReason") == "toolUse" and not uses:
            yield Found(answer.item, f"{answer.name} stops for toolUse, and uses no tool.")


def _max_tokens_kept(call: Call) -> Iterator[Found]:
    for answer in samples(call):
        limit = answer.question.params.get("maxTokens")
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            continue
        words = sum(
            len(text.split())
            for block in of_type(answer.result, "text")
            if isinstance(text := block.get("text"), str)
        )
        if words > limit * _WORDS_IN_A_TOKEN:
            yield Found(
                answer.item,
                f"{answer.name} has {words} words, and maxTokens was {limit}: too few for that.",
            )


# A token is about a word or less; a model that puts eight words into each is not to be expected.
_WORDS_IN_A_TOKEN: Final = 8


def _error_codes(call: Call) -> Iterator[Found]:
    answer = call.answer
    if call.asked_by != "server" or answer is None:
        return
    params = call.request.params
    if brings_tools(params) and (mixed(params) or unbalanced(params)):
        if answer.code != INVALID_PARAMS:
            given = "a result" if answer.code is None else f"error {answer.code}"
            yield Found(
                answer,
                f"The tool results of the request are not in order, and the client answers with {given}; "
                f"it should be error {INVALID_PARAMS} (invalid params).",
            )
        return
    text = mapping(mapping(answer.value).get("error")).get("message")
    if answer.code in (None, REJECTED) or not isinstance(text, str) or _REJECTS.search(text) is None:
        return
    yield Found(
        answer,
        f"The client says {show(text)} with error {answer.code}; where the user refused, as it probably was, "
        f"the code should be {REJECTED}.",
    )


_REJECTS: Final = re.compile(r"\buser (?:has )?(?:rejected|declined|denied|refused)\b", re.IGNORECASE)


def _messages_checked(call: Call) -> Iterator[Found]:
    for answer in samples(call):
        params = answer.question.params
        if brings_tools(params) and (mixed(params) or unbalanced(params)) and "model" in answer.result:
            yield Found(
                answer.item,
                f"{answer.name} serves a request whose tool results are not in order; the client should "
                "check the messages.",
            )


SAMPLING_ANSWERS: Final[tuple[Rule, ...]] = (
    Rule(
        "sampling-tool-choice-is-kept",
        MUST,
        "client",
        WITH_TOOLS,
        sampling_page("tool-choice-modes"),
        "A model uses a tool where it must, and none where it must not.",
        on=calls(*ASKING, among=HOLDING),
        check=_choice_kept,
    ),
    Rule(
        "sampling-uses-offered-tools",
        NOTE,
        "client",
        WITH_TOOLS,
        sampling_page("sampling-with-tools"),
        "A model uses the tools that the request brings, and says so.",
        on=calls(*ASKING, among=HOLDING),
        check=_offered,
    ),
    Rule(
        "sampling-max-tokens-is-kept",
        MUST,
        "client",
        MODERN,
        {"modern": "client/sampling#sampling-parameters"},
        "An answer has no more tokens than maxTokens.",
        on=calls(*ASKING, among=HOLDING),
        check=_max_tokens_kept,
    ),
    Rule(
        "sampling-error-codes",
        SHOULD,
        "client",
        LEGACY,
        {"legacy": "client/sampling#error-handling"},
        "A client says by the code why it did not sample.",
        on=calls(METHOD),
        check=_error_codes,
    ),
    Rule(
        "sampling-messages-are-checked",
        SHOULD,
        "client",
        MODERN,
        {"modern": "client/sampling#security-considerations"},
        "A client checks the messages of a sampling request before it serves it.",
        on=calls(*ASKERS, among=HOLDING),
        check=_messages_checked,
    ),
)
