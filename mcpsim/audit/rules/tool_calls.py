"""Calls of tools: what a client sends, and which kind of answer comes back.

https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling
https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from mcpsim.audit.json_schemas import Misfit, NotJudged, Schemas, schemas_of
from mcpsim.audit.model import Call, Connection, Item
from mcpsim.audit.rule import ALL, MUST, NOTE, SHOULD, Found, Rule, each, errors, inside, results
from mcpsim.audit.rules.listed import TOOLS, Asked, Listing, Questions, asked, is_complete
from mcpsim.audit.rules.texts import (
    LONGEST,
    blocks_of,
    error_text,
    names_missing,
    says_internal,
    texts_of,
)
from mcpsim.eras.capabilities import declares
from mcpsim.eras.revisions import (
    ARGUMENT_FAULT_IS_TOOL_ERROR,
    EMBEDDING_NEEDS_RESOURCES_REVISIONS,
    TOOL_NAME_RULES_REVISIONS,
)
from mcpsim.errors import ERROR_CODES, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RESERVED_CODES
from mcpsim.messages.meta import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from mcpsim.recording.words import plain, show

_ERRORS: Final[Mapping[Any, str]] = {
    "modern": "server/tools#error-handling",
    "legacy": "server/tools#error-handling",
}
_SECURITY: Final[Mapping[Any, str]] = {
    "modern": "server/tools#security-considerations",
    "legacy": "server/tools#security-considerations",
}
_NO_SUCH: Final = names_missing("tool")
_ARGUMENTS: Final = re.compile(r"\b(?:argument|parameter|param|input|property|field)s?\b", re.IGNORECASE)
# The name that JSON-RPC gives the code. It says nothing about which parameters.
_ONLY_THE_NAME: Final = re.compile(r"\binvalid (?:method )?param(?:eter)?s?\b", re.IGNORECASE)
_WHERE: Final[Mapping[bool, str]] = {
    True: "The specification disagrees with itself: server/tools#error-handling has input validation among "
    "the tool errors (isError: true), the comment beside InvalidParamsError in schema.ts has invalid "
    f"arguments under {INVALID_PARAMS}.",
    False: "server/tools#error-handling has input validation among the tool errors (isError: true).",
}
# What a lenient server may make fit, or may pass over on purpose.
_LENIENT: Final = frozenset({"type", "additionalProperties", "unevaluatedProperties"})


def _says_unknown(text: str, name: str) -> bool:
    return name in text and _NO_SUCH.search(text[:LONGEST]) is not None


def _unknown_tool(connection: Connection) -> Iterator[Found]:
    listed = {one.call: one for one in asked(connection, TOOLS, "tools/call")}
    for call in connection.calls:
        answer = call.answer
        if call.method != "tools/call" or call.asked_by != "client" or answer is None:
            continue
        name: Any = call.request.params.get("name")
        if answer.kind != "response" or answer.result.get("isError") is not True or not isinstance(name, str):
            continue
        known = listed.get(call)
        says = any(_says_unknown(text, name) for text in texts_of(answer.result.get("content")))
        if known is not None and known.is_unknown(name):
            why = "the list of tools does not have it"
        elif says and (known is None or known.definition(name) is None):
            why = "the text of the result says so"
        else:
            continue
        yield Found(
            answer,
            f"There is no tool {show(name)} ({why}), and the server answers with a tool error. The text has "
            f"unknown tools among the protocol errors: {INVALID_PARAMS} in its example.",
            hint="Answer with a JSON-RPC error. A client does well to cope with both.",
        )


def _unknown_code(item: Item) -> Iterator[Found]:
    text = error_text(item)
    has_tools = item.call is not None and declares(item.call.server_capabilities or {}, "tools")
    if item.code == METHOD_NOT_FOUND and has_tools:
        yield Found(
            item,
            f"The server has tools and answers a call by {METHOD_NOT_FOUND}. Probably it does not have this "
            f"tool; in the example an unknown tool has {INVALID_PARAMS}.",
            hint="The method tools/call is there: it is its parameter that is wrong.",
        )
    elif item.code != INVALID_PARAMS and _NO_SUCH.search(text):
        yield Found(
            item,
            f"The error {show(text)} has the code {item.code}; in the example an unknown tool has "
            f"{INVALID_PARAMS}.",
            hint="The method tools/call is there: it is its parameter that is wrong.",
        )


def _failure(item: Item) -> Iterator[Found]:
    text = error_text(item)
    if item.code is None or _NO_SUCH.search(text) or item.code in RESERVED_CODES:
        return
    if item.call is not None and item.call.cancelled is not None:
        return
    is_protocol = item.code in ERROR_CODES and item.code != INTERNAL_ERROR
    if not is_protocol and not says_internal(item):
        yield Found(
            item,
            f"A call of a tool is answered by the error {item.code}, {show(text)}. If that comes from the "
            "tool, it should be a result with isError: true; a model may never see the error.",
            hint="Keep errors for what is wrong with the request, and for failures of the server itself.",
        )


def _misfit(schemas: Schemas, one: Asked) -> Misfit | None:
    """What is wrong with the arguments of a call, where the tool's schema is known for sure."""
    tool = one.definition(one.call.request.params.get("name"))
    schema: Any = None if tool is None else tool.get("inputSchema")
    arguments: Any = one.call.request.params.get("arguments", {})
    if not isinstance(schema, dict) or not isinstance(arguments, dict):
        return None
    try:
        return schemas.misfit(cast("dict[str, Any]", schema), arguments)
    except NotJudged:
        return None


def _argument_fault_as_error(connection: Connection) -> Iterator[Found]:
    listed = {one.call: one for one in asked(connection, TOOLS, "tools/call")}
    schemas = schemas_of(connection)
    for call in connection.calls:
        if call.method != "tools/call" or call.revision not in ARGUMENT_FAULT_IS_TOOL_ERROR:
            continue
        answer = call.answer
        if answer is None or answer.code != INVALID_PARAMS or not _is_well_formed(call):
            continue
        name = str(call.request.params["name"])
        known = listed.get(call)
        text = error_text(answer)
        if known is not None and known.definition(name) is not None:
            if _misfit(schemas, known) is None:
                continue
        elif _NO_SUCH.search(text) or not _ARGUMENTS.search(_ONLY_THE_NAME.sub("", text)):
            continue
        yield Found(
            answer,
            f"The arguments for {show(name)} are refused by a protocol error, which the model may never see. "
            f"{_WHERE[call.era == 'modern']}",
            hint="Answer with isError: true and a text that says what to send instead.",
        )


def _is_well_formed(call: Call) -> bool:
    """Whether the request itself is as the schema has it, so that a refusal is about the arguments."""
    request = call.request
    if not isinstance(request.params.get("name"), str):
        return False
    if not isinstance(request.params.get("arguments", {}), dict):
        return False
    needed = (PROTOCOL_VERSION, CLIENT_CAPABILITIES) if request.era == "modern" else ()
    return all(key in request.meta for key in needed)


def _arguments_fit(connection: Connection) -> Iterator[Found]:
    schemas = schemas_of(connection)
    for one in asked(connection, TOOLS, "tools/call"):
        misfit = _misfit(schemas, one)
        if misfit is not None:
            name = one.call.request.params.get("name")
            where = f"arguments.{misfit.where}" if misfit.where else "arguments"
            yield Found(
                one.call.request,
                f"The call of {show(name)} does not fit the tool's inputSchema: {plain(where)}: "
                f"{plain(misfit.message)}.",
                hint="Nothing forbids it, but expect a tool error. Check arguments before the call.",
            )


def _validated(connection: Connection) -> Iterator[Found]:
    schemas, questions = schemas_of(connection), Questions(connection)
    for one in asked(connection, TOOLS, "tools/call"):
        answer = one.call.answer
        if answer is None or answer.kind != "response" or answer.result.get("isError") is True:
            continue
        # What was missing may have been asked for in between.
        if not is_complete(answer) or one.call.rounds is not None or questions.during(one.call):
            continue
        misfit = _misfit(schemas, one)
        if misfit is not None:
            name = one.call.request.params.get("name")
            yield Found(
                answer,
                f"The server carried out {show(name)} although the arguments do not fit its own inputSchema "
                f"({plain(misfit.message)}). It probably did not validate them.",
                hint="Check the arguments against the schema before the tool runs.",
                level=NOTE if misfit.keyword in _LENIENT else SHOULD,
            )


def _case(connection: Connection) -> Iterator[Found]:
    folded: dict[Listing, dict[str, str]] = {}
    for one in asked(connection, TOOLS, "tools/call"):
        name: Any = one.call.request.params.get("name")
        answer, listing = one.call.answer, one.after
        if answer is None or answer.kind != "response" or answer.result.get("isError") is True:
            continue
        if one.call.revision not in TOOL_NAME_RULES_REVISIONS or listing is None or not one.is_unknown(name):
            continue
        if listing not in folded:
            folded[listing] = {other.lower(): other for other in listing.entries}
        alike = folded[listing].get(str(name).lower())
        if alike is not None:
            yield Found(
                answer,
                f"The server lists {show(alike)} and answers a call of {show(name)}. It probably takes names "
                "without regard to case; they should be case-sensitive.",
            )


def _embedded(item: Item) -> Iterator[Found]:
    call = item.call
    if call is None or call.server_capabilities is None:
        return
    if declares(call.server_capabilities, "resources"):
        return
    if any(block.get("type") == "resource" for block in blocks_of(item.result.get("content"))):
        yield Found(
            item,
            "The result embeds a resource, and the server does not have the resources capability; it should.",
            hint="Declare resources, and answer resources/list and resources/read.",
        )


TOOL_CALLS: Final[tuple[Rule, ...]] = (
    Rule(
        "unknown-tool-is-protocol-error",
        NOTE,
        "server",
        ALL,
        _ERRORS,
        "A call of a tool that does not exist is answered by a protocol error, and not by a tool error.",
        on=each(Connection, needs=("tools/call",)),
        check=_unknown_tool,
    ),
    Rule(
        "tool-argument-fault-in-result",
        NOTE,
        "server",
        ARGUMENT_FAULT_IS_TOOL_ERROR,
        _ERRORS,
        "Arguments that do not fit are a tool error, which the model can read.",
        on=each(Connection, needs=("tools/call", "error")),
        check=_argument_fault_as_error,
    ),
    Rule(
        "tool-arguments-fit-schema",
        NOTE,
        "client",
        ALL,
        {"modern": "server/tools#tool", "legacy": "server/tools#tool"},
        "The arguments of a call fit the input schema that the server listed.",
        on=each(Connection, needs=("tools/list", "tools/call")),
        check=_arguments_fit,
    ),
    Rule(
        "tool-inputs-validated",
        MUST,
        "server",
        ALL,
        _SECURITY,
        "A server validates the arguments of a call before it carries it out.",
        on=each(Connection, needs=("tools/list", "tools/call")),
        check=_validated,
    ),
    Rule(
        "tool-name-case-sensitive",
        SHOULD,
        "server",
        TOOL_NAME_RULES_REVISIONS,
        {"modern": "server/tools#tool-names", "legacy": "server/tools#tool-names"},
        "The names of tools are case-sensitive.",
        on=each(Connection, needs=("tools/list", "tools/call")),
        check=_case,
    ),
    Rule(
        "embedded-resource-capability",
        SHOULD,
        "server",
        EMBEDDING_NEEDS_RESOURCES_REVISIONS,
        {"modern": "server/tools#embedded-resources", "legacy": "server/tools#embedded-resources"},
        "A server that embeds resources in results of tools has the resources capability.",
        on=results("tools/call", needs=inside("resource")),
        check=_embedded,
    ),
    Rule(
        "unknown-tool-has-its-code",
        NOTE,
        "server",
        ALL,
        _ERRORS,
        "The error about an unknown tool has the code -32602.",
        on=errors("tools/call"),
        check=_unknown_code,
    ),
    Rule(
        "tool-failure-in-result",
        NOTE,
        "server",
        ALL,
        _ERRORS,
        "What goes wrong in a tool is a result with isError, and no protocol error.",
        on=errors("tools/call"),
        check=_failure,
    ),
)
