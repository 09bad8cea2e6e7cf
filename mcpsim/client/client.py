"""A client: asks a server, in the legacy or in the modern way, over any transport."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import anyio
import mcp_types
from mcp_types.methods import parse_server_result
from pydantic import ValidationError

from mcpsim.client.opening import Opener
from mcpsim.client.wire import OnProgress, SessionEnded, Wire
from mcpsim.eras import legacy, modern
from mcpsim.eras.capabilities import declares
from mcpsim.eras.methods import method as method_row
from mcpsim.eras.negotiation import (
    RECOGNISED_MODERN_ERRORS,
    common_modern_version,
    supported_versions,
)
from mcpsim.eras.revisions import LATEST_MODERN, ClientEra, era_of
from mcpsim.errors import (
    UNSUPPORTED_VERSION,
    McpSimError,
    ProtocolError,
    RequestTimeout,
    UnexpectedResponse,
)
from mcpsim.recording.scribe import Scribe

RESULT_TYPES: Final = ("complete", "input_required")


class Client(Opener):
    """An MCP client.

    A client is described once and attached to a transport for each run or connection: `simulate` does it
    for a story, `mcpsim.live` for a real process.

    Args:
        name: the client's name, as it tells it to servers.
        version: the version of the client's software.
        era: "modern", "legacy", or "auto" (probe the server, then choose).
        protocol_version: the version to speak or propose; None for the latest of the era.
        capabilities: what the client offers to servers, as a capabilities object.
        timeout_s: how long to wait for an answer, in seconds; a request may set its own.
        probe_timeout_s: how long to wait for the answer to the probe, in seconds.
        anonymous: whether to leave the client's identity out of modern requests. The specification asks
            clients to include it unless they are told not to.
        principal: who the client acts for: sent as a bearer token on HTTP.

    Raises:
        ValueError: `protocol_version` is not a revision of the era.
    """

    def __init__(
        self,
        name: str = "workbook-client",
        *,
        version: str = "1.0.0",
        era: ClientEra = "modern",
        protocol_version: str | None = None,
        capabilities: Mapping[str, Any] | None = None,
        timeout_s: float = 60.0,
        probe_timeout_s: float = 5.0,
        anonymous: bool = False,
        principal: str = "",
    ) -> None:
        if protocol_version is not None and era != "auto" and era_of(protocol_version) not in (era, None):
            raise ValueError(f"{protocol_version} is not a version of the {era} era.")
        super().__init__(
            {"name": name, "version": version},
            dict(capabilities or {}),
            era=era,
            protocol_version=protocol_version,
            timeout_s=timeout_s,
            probe_timeout_s=probe_timeout_s,
            anonymous=anonymous,
        )
        self.principal = principal

    def __repr__(self) -> str:
        return f"<Client {self.info['name']!r}: {self.preferred_era}>"

    def fresh(self) -> Client:
        """A client of the same description that is attached to nothing and remembers nothing."""
        return Client(
            self.info["name"],
            version=self.info["version"],
            era=self.preferred_era,
            protocol_version=self.preferred_version,
            capabilities=self.capabilities,
            timeout_s=self.timeout_s,
            probe_timeout_s=self.probe_timeout_s,
            anonymous=self.anonymous,
            principal=self.principal,
        )

    @asynccontextmanager
    async def attached(self, wire: Wire, scribe: Scribe) -> AsyncGenerator[Client]:
        """Use `wire` for the length of an `async with` block, then shut the connection down."""
        async with anyio.create_task_group() as tasks:
            self._attach(wire, scribe, tasks)
            try:
                yield self
            finally:
                with anyio.CancelScope(shield=True):
                    await wire.close(self._headers(None))
                    if self._phase is not legacy.Phase.NEW:
                        # The session is over, and all that belonged to it.
                        scribe.state({})
                    self._phase = legacy.Phase.CLOSED

    async def discover(self) -> mcp_types.DiscoverResult:
        """Ask a modern server what it is (`server/discover`). It is optional in the modern protocol.

        https://modelcontextprotocol.io/specification/2026-07-28/server/discover
        """
        try:
            result = await self._discover(None)
        except ProtocolError as error:
            self._change_version(error)
            result = await self._discover(None)
        self._answered_as_modern = True
        self._remember()
        return cast("mcp_types.DiscoverResult", self._parse("server/discover", result))

    async def list_tools(self, cursor: str | None = None) -> mcp_types.ListToolsResult:
        """One page of the server's tools (`tools/list`)."""
        result = await self._ask("tools/list", None if cursor is None else {"cursor": cursor})
        return cast("mcp_types.ListToolsResult", self._parse("tools/list", result))

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
    ) -> mcp_types.CallToolResult:
        """Call a tool (`tools/call`). A tool error is a result too: look at `is_error`.

        Args:
            on_progress: called with progress, total and message of each progress notification, where messages
                are read: it may be async, but must not wait for this server itself. The request
                carries a progress token only where this is given.
            timeout_s: how long to wait, in seconds.

        Raises:
            ProtocolError: the server answered with a JSON-RPC error.
            RequestTimeout: no answer in time; the request was cancelled.
            ConnectionClosed, UnexpectedResponse: there will be no answer that can be used.
            McpSimError: the server did not declare that it has tools (legacy).
        """
        params = {"name": name, "arguments": dict(arguments or {})}
        result = await self._ask("tools/call", params, on_progress=on_progress, timeout_s=timeout_s)
        return cast("mcp_types.CallToolResult", self._parse("tools/call", result))

    async def ping(self) -> None:
        """Ask whether the server is there (legacy only: the modern protocol has no ping)."""
        await self.request("ping")

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send any request and return the result as plain JSON values.

        Leaving the cancel scope around the call cancels the request in the transport's own way.

        Args:
            meta: keys to add to the request's `_meta`; a value of None takes a key out. This is how to send
                a request that is wrong on purpose.
            headers: HTTP headers to set; an empty value takes a header out.
            on_progress, timeout_s: as for `call_tool`.

        Raises:
            ProtocolError, RequestTimeout, ConnectionClosed, UnexpectedResponse: as for `call_tool`.
        """
        try:
            return await self._call(method, params, on_progress, timeout_s, meta, headers)
        except SessionEnded:
            await self._renew()
            return await self._call(method, params, on_progress, timeout_s, meta, headers)

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification.

        Raises:
            ConnectionClosed: nobody reads any more.
            UnexpectedResponse, RequestTimeout: the server did not take it in (HTTP).
        """
        try:
            await self._notify(method, params)
        except SessionEnded:
            await self._renew()
            await self._notify(method, params)

    async def _ask(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """Send a request as a good client does: only what was negotiated, with another version if need be."""
        self._check_negotiated(method)
        try:
            result = await self.request(method, params, on_progress=on_progress, timeout_s=timeout_s)
        except ProtocolError as error:
            self._change_version(error)
            result = await self.request(method, params, on_progress=on_progress, timeout_s=timeout_s)
        except (RequestTimeout, UnexpectedResponse) as error:
            self._advise(error)
            raise
        self._answered_as_modern = self.era == "modern"
        return result

    def _check_negotiated(self, method: str) -> None:
        # Both sides must only use capabilities that were negotiated.
        # https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation
        row = method_row(method, self.version)
        if self._phase is not legacy.Phase.OPERATING or row is None or row.declared_by != "server":
            return
        if not declares(self.server_capabilities or {}, row.capability):
            raise McpSimError(f"{method}: the server did not declare {row.capability} in initialize.")

    def _change_version(self, error: ProtocolError) -> None:
        """Take a version that both speak for everything that follows, or raise the error."""
        version = common_modern_version(supported_versions(error))
        refused = self.era == "modern" and error.code == UNSUPPORTED_VERSION
        if not refused or version is None or version == self.version:
            if error.code not in RECOGNISED_MODERN_ERRORS:
                self._advise(error)
            raise error
        self._scribe.note(f"The server does not speak {self.version}; from here on it is {version}.")
        self.version = version

    def _advise(self, error: McpSimError) -> None:
        if self.era == "modern" and not self._answered_as_modern:
            error.add_note(
                "The server has not yet answered a modern request. If it is a legacy server, connect with "
                "Client(era='auto') or Client(era='legacy')."
            )

    def _parse(self, method: str, result: dict[str, Any]) -> Any:
        kind = result.get("resultType", "complete")
        if kind not in RESULT_TYPES:
            raise UnexpectedResponse(f"The result of {method} has the unknown resultType {kind!r}.")
        # A version that nobody here knows is written and read like the latest one.
        version = self.version if era_of(self.version) is not None else LATEST_MODERN
        if self.era == "modern":
            result = modern.with_assumptions(result, method, version)
        try:
            return parse_server_result(method, version, result)
        except KeyError:
            raise UnexpectedResponse(f"There is no {method} in {version}, and yet it was answered.") from None
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, fault["loc"]))
            raise UnexpectedResponse(
                f"The result of {method} is not valid: {where}: {fault['msg']}"
            ) from None
