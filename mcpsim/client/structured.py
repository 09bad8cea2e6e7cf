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
from typing import Any, Final, NoReturn, cast

MAX_PARTS: Final = 5_000
MAX_DEPTH: Final = 50
#: A page of 1,000 records of seven members each takes 24,000 steps. A hostile schema makes more than half a
#: second of as many.
MAX_STEPS: Final = 25_000
MAX_UNIQUE: Final = 1_000
#: How many items or members one step goes through.
SHORT: Final = 50

# Each of these may look for a match of a regular expression.
_WITH_PATTERNS: Final = ("pattern", "patternProperties", "unevaluatedProperties")

Keyword = Callable[[Any, Any, Any, Any], Any]


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
        # Late: it takes longer to import than all of the client, and most connections never need it.
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
    import jsonschema.validators
    from referencing import Registry

    if not isinstance(schema, Mapping):
        raise NotChecked("it is no JSON object")
    _check_bounds(schema)
    given = cast("Mapping[str, Any]", schema)
    kind: Any = jsonschema.validators.Draft202012Validator
    if "$schema" in given:
        named = {"$schema": given["$schema"]}
        known = isinstance(given["$schema"], str)
        kind = cast("Any", jsonschema.validators).validator_for(named, default=None) if known else None
    if kind is None:
        raise NotSupported(f"its dialect {given['$schema']!r} is not supported")
    kind.check_schema(schema)
    bounded: Any = cast("Any", jsonschema.validators).extend(kind, _bounded(kind.VALIDATORS))
    return bounded(schema, registry=Registry(retrieve=cast("Any", _refuse_to_fetch)))


def _bounded(keywords: Mapping[str, Keyword]) -> dict[str, Keyword]:
    """The keywords of a dialect, with a budget for all of them together."""
    steps = 0

    def counted(name: str, keyword: Keyword) -> Keyword:
        def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
            nonlocal steps
            steps += 1 + (_length(value) + _length(instance)) // SHORT
            if name == "uniqueItems" and value is True:
                steps += _comparisons(instance) // SHORT
            if steps > MAX_STEPS:
                raise NotChecked(f"it takes more than {MAX_STEPS} steps to check")
            yield from keyword(validator, value, instance, schema) or ()

        return check

    bounded = {name: counted(name, keyword) for name, keyword in keywords.items()}
    for name in _WITH_PATTERNS:
        if name in bounded:
            bounded[name] = _nothing
    for name, unless in _SKIPPED_WHERE.items():
        if name in bounded:
            bounded[name] = _unless(unless, bounded[name])
    return bounded


def _length(value: Any) -> int:
    return len(cast("list[Any]", value)) if isinstance(value, list | dict) else 0


def _comparisons(instance: Any) -> int:
    """About how much has to be compared to see that the items of a list are all different."""
    items = cast("list[Any]", instance) if isinstance(instance, list) else []
    if all(isinstance(item, str) for item in items):
        # These are sorted first.
        return 0
    parts, level = 0, items
    while level:
        parts += len(level)
        level = [inner for item in level for inner in _items(item)]
    return len(items) * parts


def _unless(skips: Callable[[Any, Any], bool], keyword: Keyword) -> Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return () if skips(instance, schema) else keyword(validator, value, instance, schema)

    return check


def _nothing(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
    return ()


_SKIPPED_WHERE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    # It looks at the patterns beside it.
    "additionalProperties": lambda instance, schema: "patternProperties" in schema,
    # It may compare each item with each other one.
    "uniqueItems": lambda instance, schema: (
        isinstance(instance, list) and len(cast("list[Any]", instance)) > MAX_UNIQUE
    ),
}


def _check_bounds(schema: Any) -> None:
    level, parts, depth = [schema], 0, 0
    while level:
        parts, depth = parts + len(level), depth + 1
        if parts > MAX_PARTS or depth > MAX_DEPTH:
            raise NotChecked(f"it has more than {MAX_PARTS} parts, or is nested more than {MAX_DEPTH} deep")
        level = [item for value in level for item in _items(value)]


def _items(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(cast("Mapping[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def _refuse_to_fetch(uri: str) -> NoReturn:
    from referencing.exceptions import NoSuchResource

    raise NoSuchResource(ref=uri)
