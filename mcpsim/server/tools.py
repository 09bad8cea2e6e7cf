"""A tool: a function, the schema of its arguments, and how a call of it becomes a result.

https://modelcontextprotocol.io/specification/2026-07-28/server/tools
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import mcp_types

from mcpsim.eras.revisions import ARGUMENT_FAULT_IS_TOOL_ERROR, LATEST_MODERN, known_members
from mcpsim.errors import INVALID_PARAMS, ParameterHeaderError, ProtocolError, RegistrationError, ToolError
from mcpsim.server.arguments import Arguments, HintedArguments, SchemaArguments
from mcpsim.server.context import Context
from mcpsim.server.handlers import CONTEXT_PARAMETER, description_of, name_of, parameters_of
from mcpsim.server.outputs import Output, output_of
from mcpsim.server.results import error_result, result_of, structured_result, whole_result
from mcpsim.utilities.parameter_headers import ParameterHeader
from mcpsim.utilities.parameter_headers import annotations as header_annotations


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
        output: what the tool promises about its structured results, or None.
        icons: as they go on the wire.
        meta: the definition's `_meta`.
        headers: the arguments that clients repeat in HTTP headers.
        is_plain: whether the handler is a plain function, which is done when it returns.
    """

    name: str
    description: str
    handler: Callable[..., Any]
    arguments: Arguments
    takes_context: bool
    requires: Mapping[str, Any] = field(default_factory=dict[str, Any])
    title: str = ""
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])
    output: Output | None = None
    icons: Sequence[Mapping[str, Any]] = ()
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    headers: tuple[ParameterHeader, ...] = ()
    is_plain: bool = False

    def definition(self, version: str = LATEST_MODERN) -> dict[str, Any]:
        """The tool as `tools/list` shows it in a revision."""
        shown: dict[str, Any] = {"name": self.name}
        if self.title:
            shown["title"] = self.title
        if self.description:
            shown["description"] = self.description
        shown["inputSchema"] = self.arguments.schema
        if self.output is not None and self.output.is_shown(version):
            shown["outputSchema"] = self.output.schema
        if self.annotations:
            shown["annotations"] = dict(self.annotations)
        if self.icons:
            shown["icons"] = [dict(icon) for icon in self.icons]
        if self.meta:
            shown["_meta"] = dict(self.meta)
        return known_members("tool", shown, version)

    async def call(self, context: Context, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run the handler and return the result of `tools/call`.

        A ToolError becomes a result with `isError: true`, which the model reads. Any other exception is
        the server's own fault: the model learns that the tool failed, the recording says why.

        Raises:
            ProtocolError: the arguments do not fit, in a revision that calls this a protocol error.
        """
        outcome = self.begin(context, arguments)
        return outcome if isinstance(outcome, dict) else await outcome

    def begin(
        self, context: Context, arguments: Mapping[str, Any]
    ) -> dict[str, Any] | Coroutine[Any, Any, dict[str, Any]]:
        """As `call`, up to where there is something to wait for: the result, or the rest to be awaited."""
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
            if not isinstance(value, str) and inspect.isawaitable(value):
                return self._finish(context, value)
            return self._result(value, context.version)
        except Exception as error:
            return self._failed(context, error)

    async def _finish(self, context: Context, value: Awaitable[Any]) -> dict[str, Any]:
        try:
            return self._result(await value, context.version)
        except Exception as error:
            return self._failed(context, error)

    def _failed(self, context: Context, error: Exception) -> dict[str, Any]:
        if isinstance(error, ToolError):
            return error_result(str(error))
        if isinstance(error, ProtocolError):
            raise error
        context.note(f"{self.name} raised {type(error).__name__}: {error}")
        return error_result(f"{self.name} failed. The fault is on the server's side.")

    def _result(self, value: Any, version: str) -> dict[str, Any]:
        """Raises an exception where the handler returned what cannot be sent, or not what was promised."""
        if isinstance(value, mcp_types.CallToolResult):
            if self.output is not None and not value.is_error:
                if "structured_content" not in value.model_fields_set:
                    raise ValueError(
                        "its result lacks the structured content that its output schema promises"
                    )
                self.output.check(value.structured_content)
            return whole_result(value, version)
        if self.output is None:
            return result_of(value, version)
        plain = self.output.plain(value)
        self.output.check(plain)
        return structured_result(plain, version)


def tool_from_function(
    handler: Callable[..., Any],
    *,
    name: str | None,
    description: str | None,
    input_schema: Mapping[str, Any] | None,
    output_schema: Mapping[str, Any] | Literal[True] | None = None,
    **more: Any,
) -> Tool:
    """Make a tool of a function.

    Without `input_schema` the schema comes from the parameters' type hints, and arguments are checked by
    pydantic; with one, arguments are checked against it (JSON Schema 2020-12 unless it names another
    dialect) and passed on as they are; see `SchemaArguments`.

    Raises:
        RegistrationError: the function or the schema cannot be used.
    """
    name = name_of("tool", name, handler)
    parameters = parameters_of(f"Tool {name!r}", handler)
    arguments: Arguments
    if input_schema is not None:
        arguments = SchemaArguments(name, input_schema, parameters)
    else:
        arguments = HintedArguments(name, handler, parameters)
    try:
        headers = header_annotations(arguments.schema)
    except ParameterHeaderError as error:
        raise RegistrationError(f"Tool {name!r}: {error}") from None
    return Tool(
        name=name,
        description=description_of(description, handler),
        handler=handler,
        arguments=arguments,
        takes_context=CONTEXT_PARAMETER in parameters,
        output=output_of(name, handler, output_schema),
        headers=headers,
        is_plain=inspect.isroutine(handler) and not inspect.iscoroutinefunction(handler),
        **more,
    )
