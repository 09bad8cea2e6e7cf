"""JSON Schemas: the dialect that they name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast

from mcpsim.audit.model import Item
from mcpsim.audit.rule import NOTE, Found, Rule, results
from mcpsim.audit.rules.envelopes import members, on_both
from mcpsim.eras.revisions import SCHEMA_DIALECT_REVISIONS
from mcpsim.recording.words import show

DEFAULT: Final = "https://json-schema.org/draft/2020-12/schema"
_SCHEMAS: Final = ("inputSchema", "outputSchema")


def _dialect(item: Item) -> Iterator[Found]:
    tools = item.result.get("tools")
    if not isinstance(tools, list):
        return
    for tool in cast("list[Any]", tools):
        for member in _SCHEMAS:
            named = members(members(tool).get(member)).get("$schema")
            if isinstance(named, str) and named.rstrip("#") != DEFAULT:
                name = show(members(tool).get("name"))
                yield Found(
                    item,
                    f"The {member} of the tool {name} names the dialect {show(named)}. That is allowed, but "
                    "2020-12 is recommended: all know it, and some refuse what they do not know.",
                    hint="Leave out $schema and write the schema in 2020-12.",
                )
                return


DIALECTS: Final[tuple[Rule, ...]] = (
    Rule(
        "schema-is-of-the-usual-dialect",
        NOTE,
        "server",
        SCHEMA_DIALECT_REVISIONS,
        on_both("basic/index#schema-dialect"),
        "The schemas of a tool are of JSON Schema 2020-12; others are allowed, and this one is recommended.",
        on=results("tools/list"),
        check=_dialect,
    ),
)
