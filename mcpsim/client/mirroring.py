"""What a client remembers of the tools that it has listed, and what it does with that.

On HTTP a modern client repeats arguments in headers where the tool's input schema asks for it, and leaves
tools out of its lists whose schema asks for it in a way that breaks the rules. On every transport it checks
structured content against the tool's output schema.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters
https://modelcontextprotocol.io/specification/2026-07-28/server/tools#output-schema
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import CoroutineType
from typing import Any, Final, NamedTuple, cast

from anyio.abc import TaskGroup

from mcpsim.client.cached import CachedRequester
from mcpsim.client.paging import MAX_PAGES, walk
from mcpsim.client.structured import NotChecked, NotSupported, OutputSchema
from mcpsim.client.wire import OnProgress, Wire
from mcpsim.eras.revisions import STRUCTURED_CONTENT_REVISIONS
from mcpsim.errors import (
    HEADER_MISMATCH,
    McpSimError,
    ParameterHeaderError,
    ProtocolError,
    UnexpectedResponse,
)
from mcpsim.messages import Request
from mcpsim.messages.envelopes import show_text
from mcpsim.recording.scribe import Scribe
from mcpsim.transports.http import Mirrored
from mcpsim.utilities.parameter_headers import ParameterHeader, annotations, mirrored_arguments

# A server may name new tools for ever.
MOST_TOOLS: Final = 10_000


class ListedTool(NamedTuple):
    """What is remembered of one tool.

    Attributes:
        annotated: the arguments to repeat in headers.
        output: what its structured content has to fit, or None.
    """

    annotated: tuple[ParameterHeader, ...]
    output: OutputSchema | None


class ToolKeeper(CachedRequester):
    """The part of a client that knows the tools which it has listed."""

    def __init__(self, info: Mapping[str, Any], capabilities: Mapping[str, Any], **more: Any) -> None:
        super().__init__(info, capabilities, **more)
        self._tools: dict[str, ListedTool] = {}

    def _attach(self, wire: Wire, scribe: Scribe, tasks: TaskGroup) -> None:
        # Another connection may lead to another server.
        self._tools.clear()
        super()._attach(wire, scribe, tasks)

    @property
    def _mirrors(self) -> bool:
        return self.era == "modern" and self._wire is not None and self._wire.is_http

    def _parse(self, method: str, result: Mapping[str, Any]) -> Any:
        if method == "tools/list":
            result = self._learn_tools(result)
        return super()._parse(method, result)

    def _learn_tools(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        """Remember the tools of a page; returns the page without those that have to be left out."""
        listed: Any = result.get("tools")
        if not isinstance(listed, list):
            return result
        left_out = [tool for tool in cast("list[Any]", listed) if not self._learn_tool(tool)]
        while len(self._tools) > MOST_TOOLS:
            del self._tools[next(iter(self._tools))]
        if not left_out:
            return result
        kept = [tool for tool in cast("list[Any]", listed) if all(tool is not other for other in left_out)]
        return {**result, "tools": kept}

    def _learn_tool(self, tool: Any) -> bool:
        """Remember one tool; returns whether it may stay in the list."""
        members = cast("dict[str, Any]", tool if isinstance(tool, dict) else {})
        name: Any = members.get("name")
        if not isinstance(name, str):
            # Not a tool: reading the page says so.
            return True
        self._tools.pop(name, None)
        annotated: tuple[ParameterHeader, ...] = ()
        if self._mirrors:
            try:
                annotated = annotations(members.get("inputSchema"))
            except ParameterHeaderError as error:
                self._scribe.note(f"Left out of the list: the tool {show_text(name)}. {error}")
                return False
        schema: Any = members.get("outputSchema")
        if annotated or schema is not None:
            output = None if schema is None else OutputSchema(schema)
            self._tools[name] = ListedTool(annotated, output)
        return True

    def _repeated_arguments(self, request: Request) -> Iterable[Mirrored]:
        if request.method != "tools/call" or not self._tools:
            return ()
        return self._rows(request.params or {})

    def _rows(self, params: Mapping[str, Any]) -> tuple[Mirrored, ...]:
        name: Any = params.get("name")
        tool = self._tools.get(name) if isinstance(name, str) else None
        arguments: Any = params.get("arguments")
        if tool is None or not tool.annotated or not isinstance(arguments, Mapping):
            return ()
        return mirrored_arguments(tool.annotated, cast("Mapping[str, Any]", arguments))

    def _ask(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
        reset_on_progress: bool = False,
    ) -> CoroutineType[Any, Any, dict[str, Any]]:
        # No coroutine of its own: most calls pass through here, and only those with headers stay.
        def send() -> CoroutineType[Any, Any, dict[str, Any]]:
            return super(ToolKeeper, self)._ask(
                method,
                params,
                on_progress=on_progress,
                timeout_s=timeout_s,
                reset_on_progress=reset_on_progress,
            )

        if method != "tools/call" or not self._mirrors:
            return send()
        return self._ask_with_headers(params, send)

    async def _ask_with_headers(
        self,
        params: Mapping[str, Any] | None,
        send: Callable[[], Awaitable[dict[str, Any]]],
    ) -> dict[str, Any]:
        """Call a tool; where it wants other headers, look it up and call it once more."""
        call = params or {}
        before = self._rows(call)
        try:
            return await send()
        except ProtocolError as error:
            if error.code != HEADER_MISMATCH:
                raise
            # The tool may want other headers than this client knows of: look, and try once more.
            await self._look_up(call.get("name"), error)
            if self._rows(call) == before:
                raise
        return await send()

    async def _look_up(self, name: Any, refusal: ProtocolError) -> None:
        """List the tools anew until this one is there. Where that fails, it is the refusal that counts."""
        self._scribe.note("-32020: the tools are listed anew, to see which arguments belong in headers.")

        async def fetch(cursor: str | None) -> Mapping[str, Any]:
            params = None if cursor is None else {"cursor": cursor}
            result, _ = await self._fetch("tools/list", params, renew=True)
            return result

        try:
            async for page in walk("tools/list", fetch, dict, MAX_PAGES):
                tools: list[Any] = page["tools"]
                if any(tool["name"] == name for tool in tools):
                    return
        except McpSimError as error:
            self._scribe.note(f"The tools could not be listed: {error}")
            raise refusal from error

    def _check_output(self, name: str, result: Mapping[str, Any]) -> None:
        """Check structured content against the output schema of a tool that was listed.

        Raises:
            UnexpectedResponse: it does not fit, is not there, or the schema is of a dialect that is not
                supported or refers to another place.
        """
        tool = self._tools.get(name)
        if tool is None or tool.output is None or result.get("isError") is True:
            return
        if self.version not in STRUCTURED_CONTENT_REVISIONS:
            return
        if "structuredContent" not in result:
            raise UnexpectedResponse(
                f"The tool {show_text(name)} has an output schema, and its result has no structuredContent."
            )
        try:
            fault = tool.output.fault_in(result["structuredContent"])
        except NotSupported as error:
            raise UnexpectedResponse(
                f"The output schema of the tool {show_text(name)} cannot be used: {error}."
            ) from None
        except NotChecked as error:
            self._scribe.note(f"The output schema of {show_text(name)} is not checked: {error}.")
            return
        if fault is not None:
            raise UnexpectedResponse(
                f"The result of the tool {show_text(name)} does not fit its output schema: {fault}"
            )
