"""Sampling: what a server may ask a model for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcpsim.audit.model import Call
from mcpsim.audit.questions import (
    ASKING,
    HOLDING,
    Answer,
    Json,
    Question,
    answers,
    mapping,
    questions,
    sequence,
)
from mcpsim.audit.rule import ALL, MODERN, MUST, SHOULD, Found, Rule, calls
from mcpsim.eras.capabilities import declares
from mcpsim.eras.methods import URL_ELICITING
from mcpsim.recording.words import show
from mcpsim.utilities.sampling import PRIORITIES

METHOD: Final = "sampling/createMessage"
ROLES: Final = ("user", "assistant")


def sampling_page(anchor: str) -> Mapping[Any, str]:
    """The page of sampling, with an anchor that both eras have."""
    return {"modern": f"client/sampling#{anchor}", "legacy": f"client/sampling#{anchor}"}


def _samplings(call: Call) -> Iterator[Question]:
    return (question for question in questions(call) if question.method == METHOD)


def samples(call: Call) -> Iterator[Answer]:
    """The answers to sampling among those of a call."""
    return answers(call, METHOD)


def brings_tools(params: Json) -> bool:
    """Whether a sampling request is one with tools."""
    return params.get("tools") is not None or params.get("toolChoice") is not None


def _blocks(message: Any) -> list[Json]:
    content = mapping(message).get("content")
    return [mapping(block) for block in (sequence(content) if isinstance(content, list) else [content])]


def of_type(message: Any, kind: str) -> list[Json]:
    """The contents of a message of one type."""
    return [block for block in _blocks(message) if block.get("type") == kind]


# --- Capabilities ------------------------------------------------------------------------------------


def _tools_declared(call: Call) -> Iterator[Found]:
    for question in _samplings(call):
        known = question.capabilities
        if known is None or not declares(known, "sampling") or not brings_tools(question.params):
            continue
        if not declares(known, "sampling.tools"):
            yield Found(
                question.item,
                f"{question.name} brings tools, and the client has not declared sampling.tools.",
                hint="Ask without tools and toolChoice.",
            )


def _tools_served_declared(call: Call) -> Iterator[Found]:
    for answer in samples(call):
        question = answer.question
        known = question.capabilities
        if known is None or not declares(known, "sampling") or not brings_tools(question.params):
            continue
        if not declares(known, "sampling.tools") and "model" in answer.result:
            yield Found(
                answer.item,
                f"{answer.name} serves a request with tools, and the client has not declared sampling.tools.",
                hint="Declare sampling.tools, or do not serve such a request.",
            )


def _context(question: Question) -> str:
    value = question.params.get("includeContext", "none")
    return value if isinstance(value, str) and value in ("thisServer", "allServers") else ""


def _context_declared(call: Call) -> Iterator[Found]:
    for question in _samplings(call):
        known, value = question.capabilities, _context(question)
        if value and known is not None and not declares(known, "sampling.context"):
            yield Found(
                question.item,
                f"{question.name} has includeContext {show(value)}, and the client has not declared "
                "sampling.context.",
                hint="Leave includeContext out.",
            )


def _context_avoided(call: Call) -> Iterator[Found]:
    for question in _samplings(call):
        known, value = question.capabilities, _context(question)
        if value and (known is None or declares(known, "sampling.context")):
            yield Found(
                question.item,
                f"{question.name} has includeContext {show(value)}, which is deprecated.",
                hint="Leave includeContext out, and put what the model needs into the messages.",
            )


# --- Messages ----------------------------------------------------------------------------------------


def _role_and_content(call: Call) -> Iterator[Found]:
    for question in _samplings(call):
        for number, message in enumerate(sequence(question.params.get("messages")), 1):
            members = mapping(message)
            role = members.get("role")
            if role not in ROLES:
                yield Found(
                    question.item,
                    f"Message {number} of a sampling request has the role {show(role)}; there are user and "
                    "assistant.",
                )
            elif not isinstance(members.get("content"), dict | list):
                yield Found(question.item, f"Message {number} of a sampling request has no content.")
            else:
                continue
            break


def _priorities(call: Call) -> Iterator[Found]:
    for question in _samplings(call):
        preferences = mapping(question.params.get("modelPreferences"))
        for name in PRIORITIES:
            value = preferences.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool) and not 0 <= value <= 1:
                yield Found(question.item, f"modelPreferences.{name} is {show(value)}; it goes from 0 to 1.")


def _results_alone(call: Call) -> Iterator[Found]:
    for question in _samplings(call):
        number = mixed(question.params)
        if number:
            yield Found(
                question.item,
                f"Message {number} of a sampling request mixes tool results with something else.",
                hint="Put tool results into a message of their own.",
            )


def mixed(params: Json) -> int:
    """The number of the first message of a user that mixes tool results with something else; 0 for none."""
    for number, message in enumerate(sequence(params.get("messages")), 1):
        results = of_type(message, "tool_result")
        if results and mapping(message).get("role") == "user" and len(results) < len(_blocks(message)):
            return number
    return 0


def _uses_answered(call: Call) -> Iterator[Found]:
    for question in _samplings(call):
        fault = "" if mixed(question.params) else unbalanced(question.params)
        if fault:
            yield Found(
                question.item,
                f"In a sampling request {fault}.",
                hint="After the assistant's tool uses comes one message of the user with a result for each.",
            )


def unbalanced(params: Json) -> str:
    """What is wrong with the order of tool uses and results; "" where nothing is."""
    open_uses: list[str] = []
    messages = sequence(params.get("messages"))
    for number, message in enumerate(messages, 1):
        blocks, results = _blocks(message), of_type(message, "tool_result")
        ids = [show(block.get("toolUseId")) for block in results]
        if open_uses:
            alone = mapping(message).get("role") == "user" and len(results) == len(blocks)
            if not alone or sorted(ids) != sorted(open_uses):
                return f"message {number} must answer the tool uses {_listed(open_uses)}, and nothing else"
        elif ids:
            return f"message {number} has results of {_listed(ids)}, which the message before it does not use"
        is_assistant = mapping(message).get("role") == "assistant"
        open_uses = [show(one.get("id")) for one in of_type(message, "tool_use")] if is_assistant else []
    return f"no message answers the tool uses {_listed(open_uses)}" if open_uses else ""


def _listed(ids: list[str]) -> str:
    return ", ".join(ids[:5])


WITH_TOOLS: Final = MODERN | URL_ELICITING
SAMPLING: Final[tuple[Rule, ...]] = (
    Rule(
        "sampling-tools-are-declared",
        MUST,
        "server",
        WITH_TOOLS,
        sampling_page("tools-in-sampling"),
        "A server brings tools to sampling only where the client has declared sampling.tools.",
        on=calls(*ASKING, among=HOLDING),
        check=_tools_declared,
    ),
    Rule(
        "sampling-tools-served-are-declared",
        MUST,
        "client",
        WITH_TOOLS,
        sampling_page("tools-in-sampling"),
        "A client that serves sampling with tools has declared sampling.tools.",
        on=calls(*ASKING, among=HOLDING),
        check=_tools_served_declared,
    ),
    Rule(
        "sampling-context-is-declared",
        SHOULD,
        "server",
        WITH_TOOLS,
        sampling_page("capabilities"),
        "A server asks for context only where the client has declared sampling.context.",
        on=calls(*ASKING, among=HOLDING),
        check=_context_declared,
    ),
    Rule(
        "sampling-context-is-avoided",
        SHOULD,
        "server",
        WITH_TOOLS,
        sampling_page("capabilities"),
        "A server does without includeContext thisServer and allServers.",
        on=calls(*ASKING, among=HOLDING),
        check=_context_avoided,
    ),
    Rule(
        "sampling-message-has-role-and-content",
        MUST,
        "server",
        ALL,
        sampling_page("messages"),
        "A message of sampling has the role user or assistant, and content.",
        on=calls(*ASKING, among=HOLDING),
        check=_role_and_content,
    ),
    Rule(
        "sampling-priorities-go-from-0-to-1",
        MUST,
        "server",
        ALL,
        sampling_page("capability-priorities"),
        "The priorities of model preferences go from 0 to 1.",
        on=calls(*ASKING, among=HOLDING),
        check=_priorities,
    ),
    Rule(
        "sampling-tool-results-stand-alone",
        MUST,
        "server",
        WITH_TOOLS,
        sampling_page("tool-result-messages"),
        "A message with tool results holds nothing else.",
        on=calls(*ASKING, among=HOLDING),
        check=_results_alone,
    ),
    Rule(
        "sampling-tool-uses-are-answered",
        MUST,
        "server",
        WITH_TOOLS,
        sampling_page("tool-use-and-result-balance"),
        "The message after tool uses answers each of them, and nothing else.",
        on=calls(*ASKING, among=HOLDING),
        check=_uses_answered,
    ),
)
