"""The rules for a sampling request that no type can tell, which both sides check.

https://modelcontextprotocol.io/specification/2026-07-28/client/sampling#message-content-constraints
https://modelcontextprotocol.io/specification/2026-07-28/client/sampling#capability-priorities
https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#message-content-constraints
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from mcpsim.eras.asking import AskingRules

PRIORITIES: Final = ("costPriority", "speedPriority", "intelligencePriority")


def fault_of_sampling(params: Mapping[str, Any], rules: AskingRules) -> str:
    """What is wrong with the parameters of `sampling/createMessage`, as a sentence; "" where nothing is.

    Args:
        params: parameters that the schema has nothing against, but for the ranges of numbers.
        rules: those of the revision.
    """
    preferences: Any = params.get("modelPreferences")
    if isinstance(preferences, Mapping):
        for name in PRIORITIES:
            value: Any = cast("Mapping[str, Any]", preferences).get(name, 0)
            if isinstance(value, int | float) and not 0 <= value <= 1:
                return f"modelPreferences.{name} must be from 0 to 1, not {value}."
    messages = cast("Sequence[Mapping[str, Any]]", params["messages"])
    for number, message in enumerate(messages, 1):
        fault = fault_of_content(message, rules)
        if fault:
            return f"message {number} {fault}."
    return fault_of_messages(messages)


def fault_of_content(message: Mapping[str, Any], rules: AskingRules) -> str:
    """What a revision does not know in the content of a message, as the end of a sentence; "" where it knows
    all of it.

    Args:
        message: a message of the request, or the result, which is one too.

    https://modelcontextprotocol.io/specification/2025-11-25/schema#samplingmessage
    https://modelcontextprotocol.io/specification/2025-06-18/schema#samplingmessage
    """
    if isinstance(message.get("content"), list) and not rules.sampling_tools:
        return "has a list of contents, and a message of this revision has one content"
    for block in _blocks(message):
        kind: Any = block.get("type")
        if isinstance(kind, str) and kind not in rules.sampling_contents:
            known = ", ".join(sorted(rules.sampling_contents))
            return f"has content of the type {kind!r}; in sampling this revision knows {known}"
    return ""


def fault_of_messages(messages: Sequence[Mapping[str, Any]]) -> str:
    """What is wrong with the order of tool uses and tool results, as a sentence; "" where nothing is.

    A message with tool results holds nothing else. A message of the assistant with tool uses is followed by
    one of the user that answers each of them, and nothing else.
    """
    open_uses: list[str] = []
    for number, message in enumerate(messages, 1):
        blocks = _blocks(message)
        results = [str(block.get("toolUseId")) for block in blocks if block.get("type") == "tool_result"]
        if results and (message.get("role") != "user" or len(results) < len(blocks)):
            return (
                f"message {number} mixes tool results with something else; they stand alone, from the user."
            )
        if sorted(results) != sorted(open_uses):
            if open_uses:
                return f"message {number} must answer the tool uses {', '.join(open_uses)}, and no others."
            return f"message {number} has results of tool uses that are not in the message before it."
        open_uses = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        if open_uses and message.get("role") != "assistant":
            return f"message {number} has a tool use, and only the assistant uses tools."
    if open_uses:
        return f"no message answers the tool uses {', '.join(open_uses)}."
    return ""


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content: Any = message.get("content")
    several = cast("list[Any]", content) if isinstance(content, list) else [content]
    return [cast("Mapping[str, Any]", block) for block in several if isinstance(block, Mapping)]
