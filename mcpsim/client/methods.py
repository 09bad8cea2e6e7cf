"""The methods of the protocol, as methods of the client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, cast

import mcp_types
from pydantic import BaseModel

from mcpsim.client.inbox import called
from mcpsim.client.mirroring import ToolKeeper
from mcpsim.client.paging import MAX_PAGES, walk
from mcpsim.client.wire import OnProgress
from mcpsim.eras.capabilities import declares
from mcpsim.eras.methods import method as method_row
from mcpsim.eras.modern import LOG_LEVELS
from mcpsim.eras.revisions import COMPLETION_CONTEXT_REVISIONS, era_of
from mcpsim.errors import McpSimError, ProtocolError, RequestTimeout, UnexpectedResponse
from mcpsim.messages import Notification

OnLog = Callable[[str, Any, str | None], object]


class Methods(ToolKeeper):
    """What a client can ask of a server.

    Attributes:
        on_log: called with level, data and logger of each log message, or None.
    """

    on_log: OnLog | None = None

    async def discover(self) -> mcp_types.DiscoverResult:
        """Ask a modern server what it is (`server/discover`). It is optional in the modern protocol.

        https://modelcontextprotocol.io/specification/2026-07-28/server/discover
        """
        result, read = await self._fetch("server/discover")
        self._learn_discovery(result)
        self._answered_as_modern = True
        self._remember()
        return cast("mcp_types.DiscoverResult", read)

    async def list_tools(self, cursor: str | None = None) -> mcp_types.ListToolsResult:
        """One page of the server's tools (`tools/list`).

        Args:
            cursor: where the page begins: the `next_cursor` of the page before. None for the first page; the
                empty text is a cursor like any other.

        Raises:
            ProtocolError: the server refuses; -32602 where the cursor is not valid.
            RequestTimeout, ConnectionClosed, UnexpectedResponse: there is no answer that can be used.
            McpSimError: the server did not declare that it has tools (legacy).

        https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
        """
        return cast("mcp_types.ListToolsResult", await self._page("tools/list", cursor))

    async def list_resources(self, cursor: str | None = None) -> mcp_types.ListResourcesResult:
        """One page of the server's resources (`resources/list`); as `list_tools`."""
        return cast("mcp_types.ListResourcesResult", await self._page("resources/list", cursor))

    async def list_resource_templates(
        self, cursor: str | None = None
    ) -> mcp_types.ListResourceTemplatesResult:
        """One page of the server's resource templates (`resources/templates/list`); as `list_tools`."""
        page = await self._page("resources/templates/list", cursor)
        return cast("mcp_types.ListResourceTemplatesResult", page)

    async def list_prompts(self, cursor: str | None = None) -> mcp_types.ListPromptsResult:
        """One page of the server's prompts (`prompts/list`); as `list_tools`."""
        return cast("mcp_types.ListPromptsResult", await self._page("prompts/list", cursor))

    async def pages(self, method: str, *, max_pages: int = MAX_PAGES) -> AsyncGenerator[Any]:
        """The pages of a list, one after the other, to the page without `next_cursor`.

            async for page in client.pages("tools/list"):
                print([tool.name for tool in page.tools])

        Args:
            method: the list: "tools/list", "resources/list", "resources/templates/list" or "prompts/list".
            max_pages: how many pages to read at most.

        Raises:
            ValueError: the method is none of a list.
            RepeatedCursor: a cursor that came before brought the very same page once more.
            TooManyPages: there are more pages than `max_pages`.
            ProtocolError, McpSimError: as `list_tools`.
        """
        row = method_row(method, self.version)
        if row is None or not row.paginated:
            raise ValueError(f"{method} has no pages; a list is, for example, tools/list.")

        async def fetch(cursor: str | None) -> BaseModel:
            return await self._page(method, cursor)

        async for page in walk(method, fetch, _members, max_pages):
            yield page

    async def read_resource(
        self,
        uri: str,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
        reset_on_progress: bool = False,
    ) -> mcp_types.ReadResourceResult:
        """Read a resource (`resources/read`).

        Args:
            on_progress, timeout_s, reset_on_progress: as for `call_tool`.

        Raises:
            ProtocolError: the server refuses: there is no such resource (-32602; legacy -32002), or it fails.
            RequestTimeout, ConnectionClosed, UnexpectedResponse, McpSimError: as `call_tool`.

        https://modelcontextprotocol.io/specification/2026-07-28/server/resources#reading-resources
        """
        _, read = await self._fetch(
            "resources/read",
            {"uri": uri},
            on_progress=on_progress,
            timeout_s=timeout_s,
            reset_on_progress=reset_on_progress,
        )
        return cast("mcp_types.ReadResourceResult", read)

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
        reset_on_progress: bool = False,
    ) -> mcp_types.GetPromptResult:
        """Get the messages of a prompt (`prompts/get`).

        Args:
            arguments: texts by the name of the argument.
            on_progress, timeout_s, reset_on_progress: as for `call_tool`.

        Raises:
            ProtocolError: the server refuses: -32602 where the prompt or an argument is missing.
            RequestTimeout, ConnectionClosed, UnexpectedResponse, McpSimError: as `call_tool`.

        https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#getting-a-prompt
        """
        params: dict[str, Any] = {"name": name}
        if arguments is not None:
            params["arguments"] = dict(arguments)
        result, _ = await self._ask_in_rounds(
            "prompts/get",
            params,
            on_progress=on_progress,
            timeout_s=timeout_s,
            reset_on_progress=reset_on_progress,
        )
        return cast("mcp_types.GetPromptResult", self._parse("prompts/get", result))

    async def complete(
        self,
        ref: Mapping[str, Any] | mcp_types.PromptReference | mcp_types.ResourceTemplateReference,
        argument: Mapping[str, str] | tuple[str, str],
        context: Mapping[str, str] | None = None,
    ) -> mcp_types.CompleteResult:
        """Ask how an argument that is being typed may go on (`completion/complete`).

        Args:
            ref: what the argument belongs to: `{"type": "ref/prompt", "name": ...}` or
                `{"type": "ref/resource", "uri": ...}` with the URI template; or the model of one of them.
            argument: its name and what was typed so far: `("city", "Par")` or `{"name": ..., "value": ...}`.
            context: the arguments that have a value already, by name; left out where the revision has no
                place for them (before 2025-06-18).

        Raises:
            ProtocolError, RequestTimeout, ConnectionClosed, UnexpectedResponse, McpSimError: as `call_tool`.

        https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion
        """
        named = _members(ref) if isinstance(ref, BaseModel) else dict(ref)
        typed = {"name": argument[0], "value": argument[1]} if isinstance(argument, tuple) else dict(argument)
        params: dict[str, Any] = {"ref": named, "argument": typed}
        # A version that nobody here knows is written like the latest one.
        knows_context = self.version in COMPLETION_CONTEXT_REVISIONS or era_of(self.version) is None
        if context is not None and knows_context:
            params["context"] = {"arguments": dict(context)}
        elif context:
            self._scribe.note(f"The other arguments are left out: {self.version} has no place for them.")
        result = await self._ask("completion/complete", params)
        return cast("mcp_types.CompleteResult", self._parse("completion/complete", result))

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
        reset_on_progress: bool = False,
    ) -> mcp_types.CallToolResult:
        """Call a tool (`tools/call`). A tool error is a result too: look at `is_error`.

        Where a modern server asks for input, the callbacks of this client answer, and the call is sent again
        with the answers; each sending has its own timeout.

        Args:
            on_progress: called with progress, total and message of each progress notification, where messages
                are read: it may be async, but must not wait for this server itself. The request
                carries a progress token where this is given, or where progress renews the timeout.
            timeout_s: how long to wait, in seconds.
            reset_on_progress: whether each progress notification begins the timeout anew. The client's
                `max_timeout_s` bounds the whole.

        Raises:
            ProtocolError: the server answered with a JSON-RPC error.
            RequestTimeout: no answer in time; the request was cancelled.
            ConnectionClosed, UnexpectedResponse: there will be no answer that can be used; also where the
                structured content does not fit the output schema of a tool that this client has listed.
            McpSimError: the server did not declare that it has tools (legacy).
            ParameterHeaderError: an argument that belongs in a header cannot stand there (modern, HTTP).
            TooManyRounds, ValueError, InputDeclined: the server asks for input again and again; what a
                callback returned is no answer; the user does not want to answer (modern).
        """
        params = {"name": name, "arguments": dict(arguments or {})}
        result = await self._ask(
            "tools/call",
            params,
            on_progress=on_progress,
            timeout_s=timeout_s,
            reset_on_progress=reset_on_progress,
        )
        # As in `_ask_in_rounds`, which would be one more function to wait in.
        if self._asks_for_input(result):
            result, _ = await self._go_on_in_rounds(
                "tools/call",
                params,
                result,
                on_progress=on_progress,
                timeout_s=timeout_s,
                reset_on_progress=reset_on_progress,
            )
        read = self._parse("tools/call", result)
        if self._tools:
            self._check_output(name, result)
        return cast("mcp_types.CallToolResult", read)

    async def ping(self) -> None:
        """Ask whether the server is there (legacy only: the modern protocol has no ping)."""
        await self.request("ping")

    async def set_log_level(self, level: str | None) -> None:
        """Say from which level on log messages are wanted.

        A legacy client tells the server (`logging/setLevel`), and it holds for the session. A modern client
        says it in the `_meta` of each request that it sends from now on, and nothing is sent here.

        Args:
            level: one of the eight levels, such as "info"; None for no log messages (modern only).

        Raises:
            ValueError: there is no such level.
            ProtocolError, RequestTimeout, ConnectionClosed, UnexpectedResponse, McpSimError: as `call_tool`
                (legacy).

        https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging
        https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging
        """
        check_log_level(level)
        if self.era == "legacy":
            if level is None:
                raise ValueError("A legacy server has no level for no messages at all.")
            await self._ask("logging/setLevel", {"level": level})
        self.log_level = level

    async def subscribe(self, uri: str) -> None:
        """Ask to be told when a resource changes (`resources/subscribe`; legacy: the modern way is `listen`).

        What the server then tells reaches `on_notification`; on HTTP it needs a standing stream.

        Raises:
            McpSimError: the connection is a modern one, or the server did not declare that it can.
            ProtocolError, RequestTimeout, ConnectionClosed, UnexpectedResponse: as `call_tool`.

        https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions
        """
        self._check_legacy("resources/subscribe")
        await self._ask("resources/subscribe", {"uri": uri})

    async def unsubscribe(self, uri: str) -> None:
        """Ask not to be told of a resource any more (`resources/unsubscribe`, legacy); as `subscribe`."""
        self._check_legacy("resources/unsubscribe")
        await self._ask("resources/unsubscribe", {"uri": uri})

    def _check_legacy(self, method: str) -> None:
        if self.era != "legacy":
            raise McpSimError(
                f"{method}: this connection speaks {self.version}, which has no such method. Use listen() "
                "with resource_subscriptions=[...]."
            )

    async def notified(self, message: Notification) -> None:
        await super().notified(message)
        if message.method == "notifications/message" and self.on_log is not None:
            await self._logged(self.on_log, message.params or {})

    async def _logged(self, on_log: OnLog, params: Mapping[str, Any]) -> None:
        level, logger = params.get("level"), params.get("logger")
        if level not in LOG_LEVELS or "data" not in params or not (logger is None or isinstance(logger, str)):
            self._scribe.note(f"Ignored: a log message that is not valid, of the level {level!r}.")
            return
        await called(on_log, level, params["data"], logger)

    async def _begin(self) -> None:
        await super()._begin()
        if self.log_level is None:
            return
        if not declares(self.server_capabilities or {}, "logging"):
            self._scribe.note("The server does not declare logging, so there will be no log messages.")
            return
        try:
            # Not through `request`: this is part of beginning a session.
            await self._call("logging/setLevel", {"level": self.log_level}, None, None, None, None)
        except (ProtocolError, RequestTimeout, UnexpectedResponse) as error:
            self._scribe.note(f"The log level could not be set: {error}")

    async def _page(self, method: str, cursor: str | None) -> BaseModel:
        _, page = await self._fetch(method, None if cursor is None else {"cursor": cursor})
        return cast("BaseModel", page)


def check_log_level(level: str | None) -> None:
    """Raises ValueError where there is no such level."""
    if level is not None and level not in LOG_LEVELS:
        raise ValueError(f"There is no log level {level!r}; the levels are {', '.join(LOG_LEVELS)}.")


def _members(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
