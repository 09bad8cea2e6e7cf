"""A JSON Schema that somebody wrote, made safe to check values with.

Known dialects: 2020-12 (the default), 2019-09, draft-07, draft-06, draft-04 and draft-03, by `$schema`.
`format` is an annotation and checks nothing, as 2020-12 has it.

https://modelcontextprotocol.io/specification/2026-07-28/basic/index#json-schema-usage
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn, cast

import jsonschema.exceptions
import jsonschema.validators
from jsonschema.protocols import Validator
from referencing import Registry, Resource
from referencing.exceptions import NoSuchResource, Unresolvable
from referencing.jsonschema import specification_with

from mcpsim.errors import FramingError, RegistrationError, ToolError
from mcpsim.messages import read_json, write_json
from mcpsim.server.faults import shortened

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

# Bounds against schemas that are expensive to check values with. The depth leaves room for what stands
# around a schema in a message.
MAX_SCHEMA_PARTS: Final = 5_000
MAX_SCHEMA_DEPTH: Final = 50


def validator_of(whose: str, schema: Any) -> Validator:
    """Make a validator of a schema; its `schema` is a copy, which later changes of the original do not reach.

    A reference to somewhere else is never fetched, and a schema that needs one is refused, so that nothing
    passes because a part of the schema is not there.
    https://modelcontextprotocol.io/specification/2026-07-28/basic/index#ref-resolution

    Args:
        whose: who the schema belongs to, for the error.

    Raises:
        RegistrationError: the schema is no JSON object, larger or deeper than the bounds, of a dialect that
            is not known, not valid in its dialect, or refers to what is not inside it.
    """
    if not isinstance(schema, Mapping):
        raise RegistrationError(f"{whose}: a schema is a JSON object, not {type(schema).__name__}.")
    _check_bounds(whose, schema)
    try:
        members = cast("dict[str, Any]", read_json(write_json(schema)))
    except FramingError as error:
        raise RegistrationError(f"{whose}: the schema cannot be sent. {error}") from None
    dialect = members.get("$schema", DIALECT)
    kind = _kind_for(dialect)
    if kind is None:
        raise RegistrationError(
            f"{whose}: the JSON Schema dialect {dialect!r} is not supported; the default is {DIALECT}."
        )
    try:
        kind.check_schema(members)
    except jsonschema.exceptions.SchemaError as error:
        raise RegistrationError(f"{whose}: the schema is not valid: {error.message}") from None
    registry: Registry[Any] = Registry(retrieve=cast("Any", _refuse_to_fetch))
    resource = specification_with(dialect).create_resource(members)
    _check_references(whose, resource, registry.resolver_with_root(resource))
    return kind(members, registry=registry)


def faults_of(validator: Validator, value: Any, whole: str = "arguments") -> list[str]:
    """What is wrong with a value, a sentence for each fault, at most ten; empty where nothing is.

    Args:
        whole: what to call the value itself.

    Raises:
        ToolError: the value cannot be checked: schema and value lead too deep.
    """
    try:
        errors = sorted(validator.iter_errors(value), key=lambda error: list(map(str, error.path)))
    except RecursionError:
        raise ToolError(f"The {whole} cannot be checked: nested too deeply.") from None
    except Unresolvable as error:
        raise ToolError(f"The {whole} cannot be checked: the schema refers to {error}.") from None
    return list(shortened(_sentence(error, whole) for error in errors))


def _kind_for(dialect: Any) -> Any:
    """The validator class of a dialect, or None."""
    if not isinstance(dialect, str):
        return None
    return cast("Any", jsonschema.validators).validator_for({"$schema": dialect}, default=None)


def _sentence(error: jsonschema.exceptions.ValidationError, whole: str) -> str:
    where = ".".join(map(str, error.absolute_path)) or whole
    return f"{where}: {error.message}"


def _refuse_to_fetch(uri: str) -> NoReturn:
    raise NoSuchResource(ref=uri)


def _check_bounds(whose: str, schema: Any) -> None:
    # Also stops at an object that contains itself.
    level, parts, depth = [schema], 0, 0
    while level:
        parts, depth = parts + len(level), depth + 1
        if parts > MAX_SCHEMA_PARTS:
            raise RegistrationError(f"{whose}: the schema has more than {MAX_SCHEMA_PARTS} parts.")
        if depth > MAX_SCHEMA_DEPTH:
            raise RegistrationError(f"{whose}: the schema is nested more than {MAX_SCHEMA_DEPTH} deep.")
        level = [item for value in level for item in _items(value)]


def _items(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(cast("Mapping[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def _check_references(whose: str, resource: Resource[Any], resolver: Any) -> None:
    found: Any = resource.contents
    contents = cast("Mapping[str, Any]", found if isinstance(found, Mapping) else {})
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        target = contents.get(keyword)
        if isinstance(target, str) and not _leads_to_a_schema(resolver, target):
            raise RegistrationError(
                f"{whose}: the schema refers to {target!r}, which is no schema inside it. References to "
                "other places are not fetched."
            )
    for part in resource.subresources():
        _check_references(whose, part, resolver.in_subresource(part))


def _leads_to_a_schema(resolver: Any, target: str) -> bool:
    try:
        found = resolver.lookup(target).contents
    except (Unresolvable, LookupError, TypeError, ValueError):
        return False
    return isinstance(found, Mapping | bool)
