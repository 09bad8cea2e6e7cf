"""Results of tools with structured content.

https://modelcontextprotocol.io/specification/2026-07-28/server/tools#structured-content
https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, cast

from mcpsim.audit.json_schemas import NotJudged, Schemas, schemas_of
from mcpsim.audit.model import Connection, Item
from mcpsim.audit.rule import MUST, NOTE, SHOULD, Found, Rule, each, results
from mcpsim.audit.rules.listed import TOOLS, asked, is_complete
from mcpsim.audit.rules.texts import texts_of
from mcpsim.eras.revisions import STRUCTURED_CONTENT_REVISIONS
from mcpsim.messages import DEFAULT_LIMITS
from mcpsim.recording.words import plain, show


def _conforms(connection: Connection) -> Iterator[Found]:
    schemas = schemas_of(connection)
    for one in asked(connection, TOOLS, "tools/call"):
        answer = one.call.answer
        if answer is None or answer.kind != "response" or not is_complete(answer):
            continue
        if one.call.revision not in STRUCTURED_CONTENT_REVISIONS:
            continue
        name: Any = one.call.request.params.get("name")
        tool = one.definition(name)
        schema: Any = None if tool is None else tool.get("outputSchema")
        if not isinstance(schema, dict):
            continue
        yield from _of_schema(schemas, cast("dict[str, Any]", schema), str(name), answer)


def _of_schema(schemas: Schemas, schema: dict[str, Any], name: str, answer: Item) -> Iterator[Found]:
    is_error = answer.result.get("isError") is True
    if "structuredContent" not in answer.result:
        if not is_error:
            yield Found(
                answer,
                f"The tool {show(name)} has an outputSchema, and its result has no structuredContent.",
                hint="Return what the schema promises, or take the schema back.",
            )
        return
    try:
        misfit = schemas.misfit(schema, answer.result["structuredContent"])
    except NotJudged:
        return
    if misfit is None:
        return
    where = f"structuredContent.{misfit.where}" if misfit.where else "structuredContent"
    text = f"{plain(where)} does not fit the outputSchema of {show(name)}: {plain(misfit.message)}."
    if is_error:
        # Nothing says what an error's structured content has to be.
        text += " It is the result of an error, and the specification does not say whether it has to."
    yield Found(answer, text, level=NOTE if is_error else None)


def _text_copy(item: Item) -> Iterator[Found]:
    if "structuredContent" not in item.result or item.result.get("isError") is True or not is_complete(item):
        return
    value = item.result["structuredContent"]
    texts = list(texts_of(item.result.get("content")))
    if not texts:
        yield Found(
            item,
            "The result has structuredContent and no text block; it should have the same JSON as text too.",
            hint="Older clients read only the text.",
        )
    elif not any(_is_json_of(text, value) for text in texts) and not _is_wrapped(texts, value):
        example = ", and the example for an array in server/tools#output-schema has a sentence"
        is_modern = item.era == "modern"
        yield Found(
            item,
            "None of the text blocks is the JSON of structuredContent. server/tools#structured-content says "
            f"that one should be{example if is_modern else ''}.",
            hint="Older clients read only the text.",
            level=NOTE if is_modern else None,
        )


def _is_wrapped(texts: list[str], value: Any) -> bool:
    """Whether the texts are what a function returned, and the structured content is an object around it."""
    if not isinstance(value, dict):
        return False
    members = list(cast("dict[str, Any]", value).values())
    if len(members) != 1:
        return False
    inner: Any = members[0]
    many: list[Any] = cast("list[Any]", inner) if isinstance(inner, list) else [inner]
    if len(texts) == 1 and _is_json_of(texts[0], inner):
        return True
    return len(many) == len(texts) and all(
        text == one or _is_json_of(text, one) for text, one in zip(texts, many, strict=True)
    )


def _is_json_of(text: str, value: Any) -> bool:
    """Whether a text is the JSON of a value; also where it is too long to be read."""
    if len(text) > DEFAULT_LIMITS.max_bytes:
        return True
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False


TOOL_RESULTS: Final[tuple[Rule, ...]] = (
    Rule(
        "structured-content-conforms",
        MUST,
        "server",
        STRUCTURED_CONTENT_REVISIONS,
        {"modern": "server/tools#output-schema", "legacy": "server/tools#output-schema"},
        "A tool with an output schema returns structured content that conforms to it.",
        on=each(Connection, needs=("tools/list", "tools/call")),
        check=_conforms,
    ),
    Rule(
        "structured-content-text-copy",
        SHOULD,
        "server",
        STRUCTURED_CONTENT_REVISIONS,
        {"modern": "server/tools#structured-content", "legacy": "server/tools#structured-content"},
        "A result with structured content has the same JSON in a text block as well.",
        on=results("tools/call"),
        check=_text_copy,
    ),
)
