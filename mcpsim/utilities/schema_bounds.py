"""What everybody needs who judges values by a stranger's JSON Schema: bounds, and no way out of the schema.

A schema and a value may be made to keep a program busy. So a schema has a moderate size, its keywords can be
counted or left out, and nothing is ever fetched.

https://modelcontextprotocol.io/specification/2026-07-28/basic/index#json-schema-usage
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, cast

from mcpsim.utilities.jsonschema_import import import_jsonschema

MAX_PARTS: Final = 5_000
MAX_DEPTH: Final = 50
#: How many items or members one step goes through.
SHORT: Final = 50

#: How jsonschema calls the function of a keyword: with a validator, the keyword's value, the instance and the
#: schema. It gives the errors, or None.
Keyword = Callable[[Any, Any, Any, Any], Any]


def is_within_bounds(schema: Any) -> bool:
    """Whether a schema has at most `MAX_PARTS` parts, nested at most `MAX_DEPTH` deep."""
    level, parts, depth = [schema], 0, 0
    while level:
        parts, depth = parts + len(level), depth + 1
        if parts > MAX_PARTS or depth > MAX_DEPTH:
            return False
        level = [item for value in level for item in items_of(value)]
    return True


def items_of(value: Any) -> list[Any]:
    """The items of an array, the values of an object; [] for anything else."""
    if isinstance(value, Mapping):
        return list(cast("Mapping[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def steps_of(value: Any, instance: Any) -> int:
    """How many steps it takes to look at a keyword's value and at an instance."""
    return 1 + (_length(value) + _length(instance)) // SHORT


def _length(value: Any) -> int:
    return len(cast("list[Any]", value)) if isinstance(value, list | dict) else 0


def nothing(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
    """A keyword that takes every instance."""
    return ()


def dialect_of(schema: Mapping[str, Any]) -> Any:
    """jsonschema's class for the dialect that a schema names: 2020-12 where it names none; None where it is
    not known here."""
    # Late: it takes longer to import than all of the client, and most connections and traces never need it.
    import_jsonschema()
    import jsonschema.validators

    if "$schema" not in schema:
        return jsonschema.validators.Draft202012Validator
    name: Any = schema["$schema"]
    if not isinstance(name, str):
        return None
    return cast("Any", jsonschema.validators).validator_for({"$schema": name}, default=None)


def validator_of(schema: Mapping[str, Any], dialect: Any, keywords: Mapping[str, Keyword]) -> Any:
    """A validator of a dialect that has these keywords instead of its own, and fetches nothing."""
    import_jsonschema()
    import jsonschema.validators
    from referencing import Registry

    bounded: Any = cast("Any", jsonschema.validators).extend(dialect, keywords)
    return bounded(schema, registry=Registry(retrieve=cast("Any", _refuse_to_fetch)))


def _refuse_to_fetch(uri: str) -> NoReturn:
    from referencing.exceptions import NoSuchResource

    raise NoSuchResource(ref=uri)
