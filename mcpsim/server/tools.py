"""A tool: a function, the schema of its arguments, and how a call of it becomes a result.

https://modelcontextprotocol.io/specification/2026-07-28/server/tools
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpsim.eras.revisions import ARGUMENT_FAULT_IS_TOOL_ERROR
from mcpsim.errors import INVALID_PARAMS, ProtocolError, RegistrationError, ToolError
from mcpsim.server.arguments import (
    CONTEXT_PARAMETER,
    Arguments,
    HintedArguments,
    SchemaArguments,
    parameters_of,
)
from mcpsim.server.context import Context
from mcpsim.server.results import error_result, result_of


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
            return result_of(value, context.version)
        except ToolError as error:
            return error_result(str(error))
        except ProtocolError:
            raise
        except Exception as error:
            context.note(f"{self.name} raised {type(error).__name__}: {error}")
            return error_result(f"{self.name} failed. The fault is on the server's side.")


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
    dialect) and passed on as they are; see `SchemaArguments`.

    Raises:
        RegistrationError: the function or the schema cannot be used.
    """
    if name is None:
        name = getattr(handler, "__name__", None)
        if name is None:
            raise RegistrationError("A tool needs a name, and this handler has none of its own.")
    parameters = parameters_of(name, handler)
    described = inspect.getdoc(handler) or "" if description is None else description
    arguments: Arguments
    if input_schema is not None:
        arguments = SchemaArguments(name, input_schema, parameters)
    else:
        arguments = HintedArguments(name, handler, parameters)
    return Tool(
        name=name,
        description=described,
        handler=handler,
        arguments=arguments,
        takes_context=CONTEXT_PARAMETER in parameters,
        **more,
    )
