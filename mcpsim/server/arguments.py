"""The arguments of a tool: what a client is shown about them, and the check that stands before the handler.

The schema that is shown decides. What it refuses never reaches the handler, also where pydantic would take
it; what it allows is converted to the types of the hints, `5.0` to an integer for example. Only where a hint
says more than a schema can, such as that a string is a date, may the check refuse what the schema allows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError

from mcpsim.errors import RegistrationError, ToolError
from mcpsim.messages import write_json
from mcpsim.server.context import Context
from mcpsim.server.faults import shortened
from mcpsim.server.handlers import CONTEXT_PARAMETER, hints_of
from mcpsim.utilities.jsonschema_import import import_jsonschema

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


class Arguments(Protocol):
    """Checks the arguments of a call and turns them into the handler's keyword arguments."""

    schema: Mapping[str, Any]

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Raises ToolError, naming each fault, where the arguments do not fit the schema."""
        ...


# What a JSON value of this type is, and nothing else: no bounds, and no other form of the same value.
_PLAIN_HINTS: Final = (str, int, bool)
# Hints and defaults of these are the same for every function that has them.
_SHARED_HINTS: Final = (*_PLAIN_HINTS, float)


class HintedArguments:
    """Arguments described by the type hints of a function.

    Raises:
        RegistrationError: a parameter or its hint cannot be described by a JSON Schema.
    """

    def __init__(
        self, name: str, handler: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]
    ) -> None:
        hints = hints_of(f"Tool {name!r}", handler)
        fields: dict[str, Any] = {}
        # Inside the model the fields have names of our own: a parameter may be called `schema` or `json`,
        # which are methods of every model.
        self._fields: dict[str, str] = {}
        for parameter in parameters.values():
            if parameter.name == CONTEXT_PARAMETER:
                continue
            if hints.get(parameter.name) is Context:
                raise RegistrationError(
                    f"Tool {name!r}: the parameter that gets the Context has the name "
                    f"{CONTEXT_PARAMETER!r}, not {parameter.name!r}."
                )
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise RegistrationError(
                    f"Tool {name!r}: without an input_schema, nothing tells what {parameter} may be."
                )
            field = f"argument_{len(fields)}"
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[field] = (hints.get(parameter.name, Any), default)
            self._fields[field] = parameter.name
        known = tuple(
            (self._fields[field], hint, repr(default), default)
            for field, (hint, default) in fields.items()
            if hint in _SHARED_HINTS and (default is ... or type(default) in _SHARED_HINTS)
        )
        schema: dict[str, Any]
        if len(known) == len(fields):
            self._model, schema = _described(known)
            # Nobody else's: whoever shows it may change what is shown.
            schema = deepcopy(schema)
        else:
            self._model = _model(name, fields, self._fields)
            schema = _schema(name, self._model)
        self.schema: Mapping[str, Any] = schema
        self._exact = _is_exact(self.schema)
        plain = {self._fields[field]: hint for field, (hint, _) in fields.items()}
        self._plain = plain if all(hint in _PLAIN_HINTS for hint in plain.values()) else None
        self._whose = f"Tool {name!r}"
        self._made: Validator | None = None if self._exact else _validator_of(self._whose, self.schema)

    @property
    def _validator(self) -> Validator:
        # Where pydantic says it all, the schema is looked at only after pydantic has refused something.
        if self._made is None:
            self._made = _validator_of(self._whose, self.schema)
        return self._made

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if self._plain is not None and arguments.keys() == self._plain.keys():
            # Where every argument is there, and exactly of the type of its hint, there is nothing to convert.
            for name, kind in self._plain.items():
                if type(arguments[name]) is not kind:
                    break
            else:
                return dict(arguments)
        try:
            model = self._model.model_validate_json(write_json(arguments), strict=True)
        except ValidationError as error:
            if _faults_of(self._validator, arguments):
                raise ToolError(_faults(error)) from None
            model = self._convert(arguments)
        else:
            faults = [] if self._exact else _faults_of(self._validator, arguments)
            if faults:
                raise ToolError("; ".join(faults))
        return {parameter: getattr(model, field) for field, parameter in self._fields.items()}

    def _convert(self, arguments: Mapping[str, Any]) -> BaseModel:
        """Read what pydantic found too loose and the schema allows: 5.0 is an integer in JSON Schema."""
        try:
            return self._model.model_validate_json(write_json(_whole_numbers(arguments)))
        except ValidationError as error:
            raise ToolError(_faults(error)) from None


def _validator_of(whose: str, schema: Any) -> Validator:
    # Late: most servers never need it.
    import_jsonschema()
    from mcpsim.server.schemas import validator_of

    return validator_of(whose, schema)


def _faults_of(validator: Validator, value: Any) -> list[str]:
    from mcpsim.server.schemas import faults_of

    return faults_of(validator, value)


class SchemaArguments:
    """Arguments described by a JSON Schema, handed to the function as they are.

    A schema may allow more arguments than it names. Those go to a function that takes `**arguments`; any
    other function gets the ones that it has parameters for.

    Raises:
        RegistrationError: the schema is not valid, or does not fit the function's parameters.
    """

    def __init__(self, name: str, schema: Any, parameters: Mapping[str, inspect.Parameter]) -> None:
        whose = f"Tool {name!r}"
        self._validator: Validator = _validator_of(whose, schema)
        self.schema: Mapping[str, Any] = cast("Mapping[str, Any]", self._validator.schema)
        if self.schema.get("type") != "object":
            raise RegistrationError(f'{whose}: the input schema must have "type": "object" at its root.')
        self._takes_all = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
        self._names = frozenset(
            one.name
            for one in parameters.values()
            if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL) and one.name != CONTEXT_PARAMETER
        )
        self._context_is_taken = CONTEXT_PARAMETER in parameters
        self._check_names(whose, parameters)

    def _check_names(self, whose: str, parameters: Mapping[str, inspect.Parameter]) -> None:
        properties = cast("Mapping[str, Any]", self.schema.get("properties", {}))
        if self._context_is_taken and CONTEXT_PARAMETER in properties:
            raise RegistrationError(
                f"{whose}: the parameter {CONTEXT_PARAMETER!r} gets the Context, so the schema cannot have a "
                "property of that name."
            )
        unknown = [one for one in properties if one not in self._names and not self._takes_all]
        if unknown:
            raise RegistrationError(f"{whose}: the function has no parameter for {', '.join(unknown)}.")
        required = cast("list[str]", self.schema.get("required", []))
        for one in parameters:
            if (
                one in self._names
                and one not in required
                and parameters[one].default is inspect.Parameter.empty
            ):
                raise RegistrationError(
                    f"{whose}: the function cannot do without {one!r}, and the schema does not require it."
                )

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        faults = _faults_of(self._validator, arguments)
        if faults:
            raise ToolError("; ".join(faults))
        if not self._takes_all:
            return {key: value for key, value in arguments.items() if key in self._names}
        if self._context_is_taken and CONTEXT_PARAMETER in arguments:
            raise ToolError(f"{CONTEXT_PARAMETER}: this tool has no such argument.")
        return dict(arguments)


@lru_cache(maxsize=256)
def _described(known: tuple[tuple[str, Any, str, Any], ...]) -> tuple[type[BaseModel], dict[str, Any]]:
    """The model and the schema of parameters with plain hints. The same server is made again and again, and
    to make these two is a third of the time of a short run.

    Args:
        known: of each parameter its name, its hint, its default as a text and itself. As a text, because
            `True` equals `1`.
    """
    fields = {f"argument_{place}": (hint, default) for place, (_, hint, _, default) in enumerate(known)}
    names = {field: name for field, (name, *_) in zip(fields, known, strict=True)}
    model = _model("", fields, names)
    return model, _schema("", model)


def _model(name: str, fields: Mapping[str, Any], names: Mapping[str, str]) -> type[BaseModel]:
    config = ConfigDict(
        extra="forbid",
        # An integer may have more digits than a double can hold; a handler should not get infinity for it.
        allow_inf_nan=False,
        alias_generator=lambda field: names[field],
    )
    try:
        return create_model("Arguments", __config__=config, **fields)
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError) as error:
        raise RegistrationError(f"Tool {name!r}: a type hint cannot be used: {_first_line(error)}") from None


def _schema(name: str, model: type[BaseModel]) -> dict[str, Any]:
    try:
        return without_titles(model.model_json_schema(by_alias=True))
    except (PydanticInvalidForJsonSchema, PydanticUserError) as error:
        raise RegistrationError(
            f"Tool {name!r}: a type hint has no JSON Schema: {_first_line(error)}"
        ) from None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def without_titles(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without titles. Pydantic titles every field with its own name; that tells a model nothing and
    costs it tokens."""
    cleaned: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key in ("properties", "$defs"):
            cleaned[key] = {name: without_titles(inner) for name, inner in value.items()}
        elif key in _PLAIN_VALUES:
            cleaned[key] = value
        elif isinstance(value, Mapping):
            cleaned[key] = without_titles(cast("Mapping[str, Any]", value))
        elif isinstance(value, list):
            cleaned[key] = [
                without_titles(cast("Mapping[str, Any]", item)) if isinstance(item, Mapping) else item
                for item in cast("list[Any]", value)
            ]
        else:
            cleaned[key] = value
    return cleaned


_PLAIN_VALUES: Final = frozenset({"const", "default", "enum", "examples", "required"})

# Where a schema says nothing else than this, pydantic's strict check refuses whatever the schema refuses.
# `const` and `enum` are not among it: there pydantic takes `true` for 1.
_SAME_FOR_PYDANTIC: Final = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "default",
        "description",
        "items",
        "properties",
        "required",
        "type",
        "x-mcp-header",
    }
)


def _is_exact(schema: Any) -> bool:
    if isinstance(schema, list):
        return all(map(_is_exact, cast("list[Any]", schema)))
    if not isinstance(schema, Mapping):
        return True
    for key, value in cast("Mapping[str, Any]", schema).items():
        if key not in _SAME_FOR_PYDANTIC:
            return False
        if key in _PLAIN_VALUES:
            continue
        inner = list(value.values()) if key in ("properties", "$defs") else value
        if not _is_exact(inner):
            return False
    return True


def _whole_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _whole_numbers(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in cast("list[Any]", value)]
    return value


def _faults(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False)
    return "; ".join(
        shortened(f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}" for fault in found)
    )
