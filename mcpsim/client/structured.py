"""Checking structured content against the output schema that a server listed.

Schema and content both come from the server, and either may be made to keep a client busy. So there are
bounds, and what is beyond them is left unchecked, with the reason: no regular expressions, schemas of a
moderate size, and a budget of steps. A schema of a dialect that is not supported, or one that refers to
another place, is refused: nothing may pass because a part of the schema is not there.

https://modelcontextprotocol.io/specification/2026-07-28/server/tools#output-schema
https://modelcontextprotocol.io/specification/2026-07-28/basic/index#json-schema-usage
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from mcpsim.utilities.jsonschema_import import import_jsonschema
from mcpsim.utilities.schema_bounds import (
    MAX_DEPTH,
    MAX_PARTS,
    SHORT,
    Keyword,
    dialect_of,
    is_within_bounds,
    items_of,
    nothing,
    steps_of,
    validator_of,
)

#: A page of 1,000 records of seven members each takes 24,000 steps. A hostile schema makes more than half a
#: second of as many.
MAX_STEPS: Final = 25_000
MAX_UNIQUE: Final = 1_000

# Each of these may look for a match of a regular expression.
_WITH_PATTERNS: Final = ("pattern", "patternProperties", "unevaluatedProperties")


class NotChecked(Exception):
    """A value cannot be checked against a schema. The text says why."""


class NotSupported(NotChecked):
    """A schema is one that nobody here may take as if it allowed everything. The text says why."""


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """The output schema of one tool, as it was listed."""

    schema: Any

    def fault_in(self, content: Any) -> str | None:
        """The first thing that is wrong with some structured content, or None.

        Raises:
            NotSupported: the schema is of another dialect, or refers to another place.
            NotChecked: schema and content are such that nobody can tell, or not in bounds.
        """
        import_jsonschema()
        import jsonschema.exceptions
        from referencing.exceptions import Unresolvable

        try:
            validator = _validator(self.schema)
            error = next(iter(validator.iter_errors(content)), None)
        except RecursionError:
            raise NotChecked("it is nested too deeply") from None
        except Unresolvable as error:
            raise NotSupported(f"it refers to {error.ref}, which is not inside it") from None
        except jsonschema.exceptions.SchemaError as error:
            raise NotChecked(f"it is no valid JSON Schema: {error.message}") from None
        except NotChecked:
            raise
        except Exception as error:
            # A reference may lead to what is no schema, and nobody has looked at that before: whatever it is,
            # the library trips over it in its own way.
            raise NotChecked(f"a part that it refers to is no JSON Schema ({type(error).__name__})") from None
        if error is None:
            return None
        where = ".".join(map(str, error.absolute_path)) or "structuredContent"
        text = error.message
        return f"{where}: {text if len(text) <= 300 else text[:299] + '…'}"


def _validator(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        raise NotChecked("it is no JSON object")
    if not is_within_bounds(schema):
        raise NotChecked(f"it has more than {MAX_PARTS} parts, or is nested more than {MAX_DEPTH} deep")
    given = cast("Mapping[str, Any]", schema)
    dialect = dialect_of(given)
    if dialect is None:
        raise NotSupported(f"its dialect {given['$schema']!r} is not supported")
    dialect.check_schema(schema)
    return validator_of(given, dialect, _bounded(dialect.VALIDATORS))


def _bounded(keywords: Mapping[str, Keyword]) -> dict[str, Keyword]:
    """The keywords of a dialect, with a budget for all of them together."""
    steps = 0

    def counted(name: str, keyword: Keyword) -> Keyword:
        def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
            nonlocal steps
            steps += steps_of(value, instance)
            if name == "uniqueItems" and value is True:
                steps += _comparisons(instance) // SHORT
            if steps > MAX_STEPS:
                raise NotChecked(f"it takes more than {MAX_STEPS} steps to check")
            yield from keyword(validator, value, instance, schema) or ()

        return check

    bounded = {name: counted(name, keyword) for name, keyword in keywords.items()}
    for name in _WITH_PATTERNS:
        if name in bounded:
            bounded[name] = nothing
    for name, unless in _SKIPPED_WHERE.items():
        if name in bounded:
            bounded[name] = _unless(unless, bounded[name])
    return bounded


def _comparisons(instance: Any) -> int:
    """About how much has to be compared to see that the items of a list are all different."""
    items = cast("list[Any]", instance) if isinstance(instance, list) else []
    if all(isinstance(item, str) for item in items):
        # These are sorted first.
        return 0
    parts, level = 0, items
    while level:
        parts += len(level)
        level = [inner for item in level for inner in items_of(item)]
    return len(items) * parts


def _unless(skips: Callable[[Any, Any], bool], keyword: Keyword) -> Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return () if skips(instance, schema) else keyword(validator, value, instance, schema)

    return check


_SKIPPED_WHERE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    # It looks at the patterns beside it.
    "additionalProperties": lambda instance, schema: "patternProperties" in schema,
    # It may compare each item with each other one.
    "uniqueItems": lambda instance, schema: (
        isinstance(instance, list) and len(cast("list[Any]", instance)) > MAX_UNIQUE
    ),
}
