"""What a tool promises about its structured results, and the check that it keeps the promise.

https://modelcontextprotocol.io/specification/2026-07-28/server/tools#output-schema
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError

from mcpsim.eras.revisions import ANY_STRUCTURED_CONTENT, STRUCTURED_CONTENT_REVISIONS
from mcpsim.errors import RegistrationError, ToolError
from mcpsim.server.arguments import without_titles
from mcpsim.server.handlers import hints_of
from mcpsim.server.results import plain_value
from mcpsim.utilities.jsonschema_import import import_jsonschema

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


class Output:
    """The schema of a tool's structured results.

    Args:
        whose: the tool, for errors.
        schema: the schema.
        adapter: makes JSON values of what the handler returns; None: `plain_value` does.

    Raises:
        RegistrationError: the schema cannot be used.
    """

    def __init__(self, whose: str, schema: Any, adapter: TypeAdapter[Any] | None = None) -> None:
        # Late: not every server needs it.
        import_jsonschema()
        from mcpsim.server.schemas import validator_of

        self._validator: Validator = validator_of(whose, schema)
        self._adapter = adapter
        self.schema: Mapping[str, Any] = cast("Mapping[str, Any]", self._validator.schema)

    def plain(self, value: Any) -> Any:
        """What the handler returned, as a JSON value.

        Raises:
            TypeError, ValueError: it has no JSON form.
        """
        if self._adapter is None:
            return plain_value(value)
        return self._adapter.dump_python(value, mode="json", by_alias=True, warnings="error")

    def check(self, value: Any) -> None:
        """Raises ValueError, naming each fault, where a JSON value is not what was promised."""
        from mcpsim.server.schemas import faults_of

        try:
            faults = faults_of(self._validator, value, "result")
        except ToolError as error:
            # Whatever is wrong with a result is not for the model to mend.
            raise ValueError(str(error)) from None
        if faults:
            raise ValueError(f"its result breaks its output schema: {'; '.join(faults)}")

    def is_shown(self, version: str) -> bool:
        """Whether a revision can be told of this schema: before 2026-07-28 it had to be one of an object."""
        if version in ANY_STRUCTURED_CONTENT:
            return True
        return version in STRUCTURED_CONTENT_REVISIONS and self.schema.get("type") == "object"


def output_of(
    name: str, handler: Callable[..., Any], output_schema: Mapping[str, Any] | Literal[True] | None
) -> Output | None:
    """The output of a tool: of a given schema, of the hint of what the handler returns (True), or None.

    Raises:
        RegistrationError: the schema or the hint cannot be used.
    """
    whose = f"Tool {name!r}"
    if output_schema is None:
        return None
    if output_schema is not True:
        return Output(f"{whose}, output schema", output_schema)
    hints = hints_of(whose, handler)
    if "return" not in hints:
        raise RegistrationError(f"{whose}: output_schema=True needs a hint of what the function returns.")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(hints["return"])
        schema = adapter.json_schema(by_alias=True, mode="serialization")
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError) as error:
        reason = str(error).partition("\n")[0]
        raise RegistrationError(f"{whose}: what it returns has no JSON Schema: {reason}") from None
    return Output(f"{whose}, output schema", without_titles(schema), adapter)
