"""A tool: a function, the schema of its arguments, and how a call of it becomes a result.

https://modelcontextprotocol.io/specification/2026-07-28/server/tools
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast, get_type_hints

import jsonschema.exceptions
import jsonschema.validators
from jsonschema.protocols import Validator
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from referencing import Registry
from referencing.exceptions import NoSuchResource

from mcpsim.eras.revisions import ARGUMENT_FAULT_IS_TOOL_ERROR, STRUCTURED_CONTENT_REVISIONS
from mcpsim.errors import INVALID_PARAMS, ProtocolError, RegistrationError, ToolError
from mcpsim.messages import write_json
from mcpsim.server.context import Context

CONTEXT_PARAMETER: Final = "context"
MAX_SCHEMA_NODES: Final = 5_000
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class Arguments(Protocol):
    """Checks the arguments of a call and turns them into the handler's keyword arguments."""

    schema: Mapping[str, Any]

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Raises ToolError, naming each fault, where the arguments do not fit the schema."""
        ...


@dataclass(frozen=True)
class Tool:
    """One tool of a server.

    Attributes:
        name: what clients call it by.
        description: for the model.
        handler: called with the context (if it takes one) and the arguments.
        arguments: the check that stands before the handler.
        takes_context: whether the handler has a parameter for the context.
        requires: client capabilities without which a call cannot be processed, as a capabilities object.
        title: for people, or "".
        annotations: hints about the tool's behaviour, as they go on the wire.
    """

    name: str
    description: str
    handler: Callable[..., Any]
    arguments: Arguments
    takes_context: bool
    requires: Mapping[str, Any] = field(default_factory=dict[str, Any])
    title: str = ""
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def definition(self) -> dict[str, Any]:
        """The tool as `tools/list` shows it."""
        shown: dict[str, Any] = {"name": self.name}
        if self.title:
            shown["title"] = self.title
        if self.description:
            shown["description"] = self.description
        shown["inputSchema"] = self.arguments.schema
        if self.annotations:
            shown["annotations"] = dict(self.annotations)
        return shown

    async def call(self, context: Context, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run the handler and return the result of `tools/call`.

        A ToolError becomes a result with `isError: true`, which the model reads. Any other exception is
        the server's own fault: the model learns that the tool failed, the recording says why.

        Raises:
            ProtocolError: the arguments do not fit, in a revision that calls this a protocol error.
        """
        try:
            keywords = self.arguments.read(arguments)
        except ToolError as error:
            if context.version in ARGUMENT_FAULT_IS_TOOL_ERROR:
                return error_result(str(error))
            raise ProtocolError(INVALID_PARAMS, str(error)) from None
        if self.takes_context:
            keywords[CONTEXT_PARAMETER] = context
        try:
            value = self.handler(**keywords)
            if inspect.isawaitable(value):
                value = await value
        except ToolError as error:
            return error_result(str(error))
        except ProtocolError:
            raise
        except Exception as error:
            context.note(f"{self.name} raised {type(error).__name__}: {error}")
            return error_result(f"{self.name} failed. The fault is on the server's side.")
        return result_of(value, context.version)


def error_result(text: str) -> dict[str, Any]:
    """A tool error: a result, not a JSON-RPC error, so that it reaches the model."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def result_of(value: Any, version: str) -> dict[str, Any]:
    """What a handler returned, as a result.

    A string becomes text; None becomes no content; a content block or a list of them stays what it is;
    anything else becomes `structuredContent` with the same JSON as text beside it.
    """
    if isinstance(value, str):
        return {"content": [{"type": "text", "text": value}]}
    if value is None:
        return {"content": []}
    plain = _plain(value)
    blocks = cast("list[Any]", plain) if isinstance(plain, list) else [plain]
    if blocks and all(_is_content(block) for block in blocks):
        return {"content": blocks}
    result: dict[str, Any] = {"content": [{"type": "text", "text": json.dumps(plain, ensure_ascii=False)}]}
    if version in STRUCTURED_CONTENT_REVISIONS and isinstance(plain, dict):
        result["structuredContent"] = plain
    return result


CONTENT_TYPES: Final = frozenset({"text", "image", "audio", "resource_link", "resource"})


def _is_content(block: Any) -> bool:
    return isinstance(block, dict) and cast("dict[str, Any]", block).get("type") in CONTENT_TYPES


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("list[Any]", value)]
    return value


def tool_from_function(
    handler: Callable[..., Any],
    *,
    name: str | None,
    description: str | None,
    input_schema: Mapping[str, Any] | None,
    **more: Any,
) -> Tool:
    """Make a tool of a function.

    Without `input_schema` the schema comes from the parameters' type hints, and arguments are checked by
    pydantic; with one, arguments are checked against it (JSON Schema 2020-12 unless it names another
    dialect) and passed on as they are.

    Raises:
        RegistrationError: the function or the schema cannot be used.
    """
    name = handler.__name__ if name is None else name
    signature = inspect.signature(handler)
    described = inspect.getdoc(handler) or "" if description is None else description
    arguments: Arguments
    if input_schema is not None:
        arguments = SchemaArguments(name, input_schema)
    else:
        arguments = HintedArguments(name, handler, signature)
    return Tool(
        name=name,
        description=described,
        handler=handler,
        arguments=arguments,
        takes_context=CONTEXT_PARAMETER in signature.parameters,
        **more,
    )


class HintedArguments:
    """Arguments described by the type hints of a function."""

    def __init__(self, name: str, handler: Callable[..., Any], signature: inspect.Signature) -> None:
        fields: dict[str, Any] = {}
        hints = _hints(name, handler)
        for parameter in signature.parameters.values():
            if parameter.name == CONTEXT_PARAMETER:
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise RegistrationError(
                    f"Tool {name!r}: the parameter {parameter.name!r} must be callable by keyword."
                )
            if parameter.name.startswith("_"):
                raise RegistrationError(
                    f"Tool {name!r}: {parameter.name!r} must not begin with an underscore."
                )
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (hints.get(parameter.name, Any), default)
        self._names = tuple(fields)
        self._model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
        self.schema: Mapping[str, Any] = _without_titles(self._model.model_json_schema(by_alias=True))
        self._validator = _validator(name, self.schema)

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        data = write_json(arguments)
        try:
            model = self._model.model_validate_json(data, strict=True)
        except ValidationError as strict_error:
            # Pydantic is stricter than JSON Schema here and there (5.0 is an integer): the schema that
            # the client was shown decides, and what it allows is then converted.
            if not self._validator.is_valid(arguments):
                raise ToolError(_faults(strict_error)) from None
            try:
                model = self._model.model_validate_json(data)
            except ValidationError as error:
                raise ToolError(_faults(error)) from None
        return {name: getattr(model, name) for name in self._names}


class SchemaArguments:
    """Arguments described by a JSON Schema."""

    def __init__(self, name: str, schema: Mapping[str, Any]) -> None:
        if schema.get("type") != "object":
            raise RegistrationError(
                f'Tool {name!r}: the input schema must have "type": "object" at its root.'
            )
        self.schema = schema
        self._validator = _validator(name, schema)

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            errors = sorted(
                self._validator.iter_errors(arguments), key=lambda error: list(map(str, error.path))
            )
        except RecursionError:
            raise ToolError("The arguments are nested too deeply to be checked.") from None
        if errors:
            raise ToolError("; ".join(_schema_fault(error) for error in errors))
        return dict(arguments)


def _hints(name: str, handler: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(handler, include_extras=True)
    except NameError as error:
        raise RegistrationError(f"Tool {name!r}: a type hint cannot be resolved: {error}.") from None


def _validator(name: str, schema: Mapping[str, Any]) -> Validator:
    dialect = schema.get("$schema", DIALECT)
    validators = cast("Any", jsonschema.validators)
    kind: type[Validator] | None = validators.validator_for({"$schema": dialect}, default=None)
    if kind is None:
        raise RegistrationError(f"Tool {name!r}: the JSON Schema dialect {dialect!r} is not supported.")
    if _nodes(schema) > MAX_SCHEMA_NODES:
        raise RegistrationError(f"Tool {name!r}: the schema has more than {MAX_SCHEMA_NODES} parts.")
    try:
        kind.check_schema(dict(schema))
    except jsonschema.exceptions.SchemaError as error:
        raise RegistrationError(f"Tool {name!r}: the schema is not valid: {error.message}") from None
    # A reference to somewhere else is never fetched.
    # https://modelcontextprotocol.io/specification/2026-07-28/basic/index#ref-resolution
    return kind(schema, registry=Registry(retrieve=_refuse_to_fetch))


def _refuse_to_fetch(uri: str) -> Any:
    raise NoSuchResource(ref=uri)


def _nodes(value: Any) -> int:
    count, waiting = 0, [value]
    while waiting and count <= MAX_SCHEMA_NODES:
        item = waiting.pop()
        count += 1
        if isinstance(item, Mapping):
            waiting.extend(cast("Mapping[str, Any]", item).values())
        elif isinstance(item, list):
            waiting.extend(cast("list[Any]", item))
    return count


def _without_titles(schema: Mapping[str, Any]) -> dict[str, Any]:
    # Pydantic titles every field with its own name; that tells a model nothing and costs it tokens.
    cleaned: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key == "properties" or key == "$defs":
            cleaned[key] = {name: _without_titles(inner) for name, inner in value.items()}
        elif isinstance(value, Mapping) and key != "default":
            cleaned[key] = _without_titles(cast("Mapping[str, Any]", value))
        elif isinstance(value, list) and key not in ("required", "enum", "examples", "default"):
            cleaned[key] = [
                _without_titles(cast("Mapping[str, Any]", item)) if isinstance(item, Mapping) else item
                for item in cast("list[Any]", value)
            ]
        else:
            cleaned[key] = value
    return cleaned


def _faults(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}"
        for fault in error.errors(include_url=False)
    )


def _schema_fault(error: jsonschema.exceptions.ValidationError) -> str:
    where = ".".join(map(str, error.absolute_path)) or "arguments"
    return f"{where}: {error.message}"
