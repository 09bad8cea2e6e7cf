"""What a server says of its tools: their names, their order, and their schemas.

https://modelcontextprotocol.io/specification/2026-07-28/server/tools
https://modelcontextprotocol.io/specification/2025-11-25/server/tools
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcpsim.audit.json_schemas import NotJudged, references_outside, schemas_of
from mcpsim.audit.model import Connection, Item, Walk
from mcpsim.audit.rule import ALL, LEGACY, MODERN, MUST, NOTE, SHOULD, Found, Rule, each, results
from mcpsim.audit.rules.listed import TOOLS as LIST
from mcpsim.audit.rules.listed import Listing, listing_of, listings, members_of
from mcpsim.eras.revisions import (
    STRUCTURED_CONTENT_REVISIONS,
    TOOL_NAME_RULES_REVISIONS,
    TOOL_SCHEMA_DIALECT_REVISIONS,
)
from mcpsim.recording.words import plain, show

LONGEST_NAME: Final = 128
_NAME: Final = re.compile(r"[A-Za-z0-9_.\-]*")
_PAGE: Final = "server/tools"


def _at(anchor: str) -> Mapping[Any, str]:
    return {"modern": f"{_PAGE}#{anchor}", "legacy": f"{_PAGE}#{anchor}"}


def _names(item: Item) -> Iterator[str]:
    for tool in members_of(item.result, "tools"):
        name = tool.get("name")
        if isinstance(name, str):
            yield name


def _length(item: Item) -> Iterator[Found]:
    for name in _names(item):
        if not 1 <= len(name) <= LONGEST_NAME:
            yield Found(
                item,
                f"The name of the tool {show(name)} has {len(name)} characters; it should have from 1 to "
                f"{LONGEST_NAME}.",
            )


def _characters(item: Item) -> Iterator[Found]:
    for name in _names(item):
        if not _NAME.fullmatch(name):
            odd = sorted({char for char in name if not _NAME.fullmatch(char)})
            yield Found(
                item,
                f"The name of the tool {show(name)} has other characters than ASCII letters, digits and _-. "
                f"in it: {show(''.join(odd))}.",
                hint="Put spaces and special characters into the title, which is what people see.",
            )


def _unique(walk: Walk) -> Iterator[Found]:
    listing = listing_of(LIST, walk)
    for name, entries in (listing.entries if listing else {}).items():
        first = entries[0]
        for again in entries[1:]:
            # On another page it may be the very same tool: the list grew in the meantime.
            if again.item is first.item or again.definition != first.definition:
                level = None if again.item.revision in TOOL_NAME_RULES_REVISIONS else NOTE
                yield Found(
                    again.item,
                    f"Two tools are named {show(name)}; a call cannot say which one it means.",
                    hint="Refuse to register a second tool of the same name.",
                    level=level,
                )
                break


def _order(connection: Connection) -> Iterator[Found]:
    for listing in listings(connection, LIST):
        later = listing.following
        if later is None or listing.changed is not None or not (listing.complete and later.complete):
            continue
        if later.last.era != "modern" or listing.last.era != "modern":
            continue
        if listing.names != later.names and sorted(listing.names) == sorted(later.names):
            yield Found(
                later.last,
                f"The same {len(later.names)} tools came in another order than before (row "
                f"{listing.last.index}); the order should stay while the set does.",
                hint="Sort them, or keep the order in which they were registered: prompt caches live on it.",
            )


def _input_schema(item: Item) -> Iterator[Found]:
    for tool in members_of(item.result, "tools"):
        schema = tool.get("inputSchema")
        name = show(tool.get("name"))
        if not isinstance(schema, dict):
            said = "null" if schema is None and "inputSchema" in tool else show(schema)
            what = f"is {said}" if "inputSchema" in tool else "is missing"
            yield Found(
                item,
                f"The inputSchema of the tool {name} {what}; it must be a JSON Schema object.",
                hint='A tool without arguments has {"type": "object"}.',
            )
        elif schema.get("type") != "object":  # pyright: ignore[reportUnknownMemberType]
            yield Found(
                item,
                f'The inputSchema of the tool {name} has no "type": "object" at its root; arguments are '
                "always an object, and the schema must say so.",
                hint='Add "type": "object" to it. Many clients leave out a tool without it, or all tools.',
            )


def _output_schema(item: Item) -> Iterator[Found]:
    for tool in members_of(item.result, "tools"):
        schema = tool.get("outputSchema")
        if isinstance(schema, dict) and schema.get("type") != "object":  # pyright: ignore[reportUnknownMemberType]
            yield Found(
                item,
                f'The outputSchema of the tool {show(tool.get("name"))} has no "type": "object" at its root; '
                "this revision has structured results that are objects only.",
            )


def _all_schemas(listing: Listing) -> Iterator[tuple[Item, str, str, Mapping[str, Any]]]:
    for name, entries in listing.entries.items():
        for entry in entries:
            for member in ("inputSchema", "outputSchema"):
                schema = entry.definition.get(member)
                if isinstance(schema, dict):
                    yield entry.item, name, member, schema


def _valid(connection: Connection) -> Iterator[Found]:
    schemas = schemas_of(connection)
    told: set[tuple[str, str, str]] = set()
    for listing in listings(connection, LIST):
        for item, name, member, schema in _all_schemas(listing):
            try:
                fault = schemas.fault_of(schema)
            except NotJudged:
                continue
            if fault is None or (name, member, fault) in told:
                continue
            told.add((name, member, fault))
            yield Found(
                item,
                f"The {member} of the tool {show(name)} is no valid JSON Schema of its dialect: "
                f"{plain(fault)}.",
                level=None if item.revision in TOOL_SCHEMA_DIALECT_REVISIONS else NOTE,
            )


def _self_contained(connection: Connection) -> Iterator[Found]:
    told: set[tuple[str, str]] = set()
    for listing in listings(connection, LIST):
        for item, name, member, schema in _all_schemas(listing):
            outside = references_outside(schema)
            if outside and (name, member) not in told:
                told.add((name, member))
                yield Found(
                    item,
                    f"The {member} of the tool {show(name)} refers to {show(outside[0])}; no client may "
                    "fetch that by itself, and so none can check a value against this schema.",
                    hint="Put what it refers to into the schema, under $defs.",
                )


TOOLS: Final[tuple[Rule, ...]] = (
    Rule(
        "tool-name-length",
        SHOULD,
        "server",
        TOOL_NAME_RULES_REVISIONS,
        _at("tool-names"),
        "The name of a tool has from 1 to 128 characters.",
        on=results("tools/list"),
        check=_length,
    ),
    Rule(
        "tool-name-characters",
        SHOULD,
        "server",
        TOOL_NAME_RULES_REVISIONS,
        _at("tool-names"),
        "The name of a tool has ASCII letters, digits, underscores, hyphens and dots, and nothing else.",
        on=results("tools/list"),
        check=_characters,
    ),
    Rule(
        "tool-name-unique",
        SHOULD,
        "server",
        ALL,
        _at("tool-names"),
        "No two tools of a server have the same name.",
        on=each(Walk, "tools/list"),
        check=_unique,
    ),
    Rule(
        "tools-order-stable",
        SHOULD,
        "server",
        MODERN,
        {"modern": f"{_PAGE}#capabilities"},
        "Tools come in the same order as long as the set of tools is the same.",
        on=each(Connection, needs=("tools/list",)),
        check=_order,
    ),
    Rule(
        "tool-input-schema-object",
        MUST,
        "server",
        ALL,
        _at("tool"),
        'The input schema of a tool is a JSON Schema object with "type": "object" at its root.',
        on=results("tools/list"),
        check=_input_schema,
    ),
    Rule(
        "tool-output-schema-object-legacy",
        MUST,
        "server",
        STRUCTURED_CONTENT_REVISIONS & LEGACY,
        {"legacy": f"{_PAGE}#output-schema"},
        'The output schema of a tool has "type": "object" at its root.',
        on=results("tools/list"),
        check=_output_schema,
    ),
    Rule(
        "tool-schema-valid",
        MUST,
        "server",
        ALL,
        {"modern": "basic/index#schema-validation", "legacy": "basic/index#schema-validation"},
        "The schemas of a tool are valid in the dialect that they name, or in 2020-12.",
        on=each(Connection, needs=("tools/list",)),
        check=_valid,
    ),
    Rule(
        "tool-schema-self-contained",
        NOTE,
        "server",
        ALL,
        {"modern": "basic/index#ref-resolution", "legacy": f"{_PAGE}#tool"},
        "The schemas of a tool refer to nothing outside of themselves.",
        on=each(Connection, needs=("tools/list",)),
        check=_self_contained,
    ),
)
