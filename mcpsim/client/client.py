"""A client: asks a server, in the legacy or in the modern way, over any transport."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import anyio
import mcp_types
from mcp_types.methods import parse_server_result
from pydantic import ValidationError

from mcpsim.client.wire import Pending, Reply, Wire
from mcpsim.eras import legacy, modern
from mcpsim.eras.negotiation import Verdict, read_probe
from mcpsim.eras.revisions import (
    LATEST_LEGACY,
    LATEST_MODERN,
    LEGACY_REVISIONS,
    VERSION_HEADER_REVISIONS,
    ClientEra,
    Era,
    era_of,
)
from mcpsim.errors import (
    METHOD_NOT_FOUND,
    ConnectionClosed,
    MalformedMessage,
    McpSimError,
    NegotiationFailed,
    ProtocolError,
    RequestTimeout,
    UnexpectedResponse,
)
from mcpsim.messages import (
    Batch,
    ErrorResponse,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
    from_object,
    meta_of,
    read_batch,
    write_json,
    write_message,
)
from mcpsim.messages.meta import PROGRESS_TOKEN, is_progress_token
from mcpsim.recording.scribe import Scribe
from mcpsim.transports.http import PROTOCOL_VERSION_HEADER, Headers, modern_headers

OnProgress = Callable[[float, float | None, str | None], object]
RESULT_TYPES: Final = ("complete", "input_required")


class Client:
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
        self.info: Mapping[str, Any] = {"name": name, "version": version}
        self.preferred_era: ClientEra = era
        self.preferred_version = protocol_version
        self.capabilities: Mapping[str, Any] = dict(capabilities or {})
        self.timeout_s = timeout_s
        self.probe_timeout_s = probe_timeout_s
        self.anonymous = anonymous
        self.principal = principal
        self.era: Era = "legacy" if era == "legacy" else "modern"
        self.version = protocol_version or (LATEST_LEGACY if era == "legacy" else LATEST_MODERN)
        self.server_info: Mapping[str, Any] | None = None
        self.server_capabilities: Mapping[str, Any] | None = None
        self.server_versions: tuple[str, ...] = ()
        self.instructions = ""
        self.notifications: list[Notification] = []
        self.on_notification: Callable[[Notification], object] | None = None
        self._phase = legacy.Phase.NEW
        self._wire: Wire | None = None
        self._scribe = Scribe(None, "client")
        self._next_id = 1
        self._pending: dict[RequestId, Pending] = {}
        self._tokens: dict[str | int, Pending] = {}

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
        self._wire, self._scribe = wire, scribe
        async with anyio.create_task_group() as tasks:
            wire.start(tasks, self._deliver)
            try:
                yield self
            finally:
                with anyio.CancelScope(shield=True):
                    await wire.close(self._headers(None))
                    self._phase = legacy.Phase.CLOSED

    # Opening

    async def connect(self) -> None:
        """Do what comes before the first request: the handshake (legacy), a probe (auto), nothing (modern).

        Raises:
            NegotiationFailed: client and server have no version in common.
        """
        if self.preferred_era == "legacy":
            await self._handshake(self.version)
        elif self.preferred_era == "auto":
            await self._probe()

    async def initialize(self, version: str | None = None) -> dict[str, Any]:
        """Send `initialize` alone (legacy) and return its result. `notifications/initialized` is left to do.

        Args:
            version: the version to propose.

        https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization
        """
        self.era = "legacy"
        self._keep_session()
        params = legacy.initialize_params(version or self.version, self.capabilities, self.info)
        result = await self.request("initialize", params)
        chosen = result.get("protocolVersion")
        if not isinstance(chosen, str):
            raise UnexpectedResponse("The result of initialize has no protocolVersion.")
        self.version = chosen
        self._learn(result.get("serverInfo"), result.get("capabilities"), result.get("instructions"))
        self._phase = legacy.Phase.INITIALIZING
        self._remember()
        return result

    async def initialized(self) -> None:
        """Send `notifications/initialized` (legacy): from here on both work normally."""
        await self.notify("notifications/initialized")
        self._phase = legacy.Phase.OPERATING
        self._remember()

    async def _handshake(self, version: str) -> None:
        try:
            await self.initialize(version)
        except ProtocolError as error:
            raise NegotiationFailed(f"The server refused initialize: {error}") from error
        if self.version not in LEGACY_REVISIONS:
            raise NegotiationFailed(
                f"The server answered with version {self.version}; this client speaks "
                f"{', '.join(LEGACY_REVISIONS)}."
            )
        await self.initialized()

    async def _probe(self) -> None:
        legacy_version = self.preferred_version if self.preferred_version in LEGACY_REVISIONS else None
        modern_version = LATEST_MODERN if legacy_version else self.preferred_version or LATEST_MODERN
        self.era, self.version = "modern", modern_version
        for attempt in range(2):
            outcome = await self._discover_outcome()
            verdict = read_probe(
                outcome, legacy_version=legacy_version or LATEST_LEGACY, modern_version=self.version
            )
            self._scribe.note(f"The server is {verdict.era}. {verdict.why}")
            if verdict.era == "legacy":
                await self._fall_back(verdict)
                return
            self.version = verdict.version
            if not verdict.retry or attempt:
                self._remember()
                return

    async def _fall_back(self, verdict: Verdict) -> None:
        self.era = "legacy"
        await self._handshake(verdict.version)

    async def _discover_outcome(self) -> dict[str, Any] | ProtocolError | None:
        try:
            return await self._discover(self.probe_timeout_s)
        except ProtocolError as error:
            return error
        except (RequestTimeout, UnexpectedResponse):
            return None

    async def _discover(self, timeout_s: float | None) -> dict[str, Any]:
        result = await self.request("server/discover", timeout_s=timeout_s)
        versions = result.get("supportedVersions")
        if isinstance(versions, list):
            self.server_versions = tuple(str(one) for one in cast("list[Any]", versions))
        info = meta_of(result).get(modern.SERVER_INFO)
        self._learn(info, result.get("capabilities"), result.get("instructions"))
        return result

    def _learn(self, info: Any, capabilities: Any, instructions: Any) -> None:
        self.server_info = info if isinstance(info, dict) else None
        self.server_capabilities = capabilities if isinstance(capabilities, dict) else None
        self.instructions = instructions if isinstance(instructions, str) else ""

    def _keep_session(self) -> None:
        wire = self._attached_wire()
        if wire.is_http:
            wire.keeps_session = True  # pyright: ignore[reportAttributeAccessIssue]

    def _remember(self) -> None:
        state: dict[str, Any] = {"era": self.era, "version": self.version}
        if self.era == "legacy":
            state["phase"] = str(self._phase)
            session_id = getattr(self._wire, "session_id", "")
            if session_id:
                state["session id"] = session_id
        if self.server_info is not None:
            state["server"] = dict(self.server_info)
        if self.server_capabilities is not None:
            state["server capabilities"] = dict(self.server_capabilities)
        if self.server_versions:
            state["server versions"] = list(self.server_versions)
        self._scribe.state(state)

    # Asking

    async def discover(self) -> mcp_types.DiscoverResult:
        """Ask a modern server what it is (`server/discover`). It is optional in the modern protocol.

        https://modelcontextprotocol.io/specification/2026-07-28/server/discover
        """
        result = await self._discover(None)
        self._remember()
        return cast("mcp_types.DiscoverResult", self._parse("server/discover", result))

    async def list_tools(self, cursor: str | None = None) -> mcp_types.ListToolsResult:
        """One page of the server's tools (`tools/list`)."""
        params = None if cursor is None else {"cursor": cursor}
        return cast(
            "mcp_types.ListToolsResult", self._parse("tools/list", await self.request("tools/list", params))
        )

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
            on_progress: called with progress, total and message of each progress notification. The request
                carries a progress token only where this is given.
            timeout_s: how long to wait, in seconds.

        Raises:
            ProtocolError: the server answered with a JSON-RPC error.
            RequestTimeout: no answer in time; the request was cancelled.
            ConnectionClosed, UnexpectedResponse: there will be no answer that can be used.
        """
        params = {"name": name, "arguments": dict(arguments or {})}
        result = await self.request("tools/call", params, on_progress=on_progress, timeout_s=timeout_s)
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
        wire = self._attached_wire()
        id, self._next_id = self._next_id, self._next_id + 1
        pending = Pending(id)
        if on_progress is not None:
            pending.token = id
            pending.on_progress = on_progress
            self._tokens[id] = pending
        request = Request(id, method, self._params(params, pending.token, meta))
        self._pending[id] = pending
        limit = self.timeout_s if timeout_s is None else timeout_s
        try:
            with anyio.move_on_after(limit) as scope:
                try:
                    await wire.request(write_message(request), self._headers(request, headers), pending)
                except anyio.get_cancelled_exc_class():
                    if pending.answer is None:
                        await self._abandon(
                            wire, request, "The answer took too long." if scope.cancel_called else ""
                        )
                    raise
        finally:
            del self._pending[id]
            if pending.token is not None:
                del self._tokens[pending.token]
        answer = pending.answer
        if answer is None:
            if pending.failure is not None:
                raise pending.failure
            raise RequestTimeout(f"No answer to {method} #{id} within {limit:g} s; it was cancelled.")
        if isinstance(answer, ErrorResponse):
            raise ProtocolError(answer.code, answer.message, answer.data)
        return answer.result

    async def _abandon(self, wire: Wire, request: Request, reason: str) -> None:
        # On HTTP the modern signal is the closed stream, and the wire has closed it. Elsewhere it is a
        # notification. A legacy `initialize` must never be cancelled.
        if request.method == "initialize" or (wire.is_http and self.era == "modern"):
            return
        params: dict[str, Any] = {"requestId": request.id}
        if reason:
            params["reason"] = reason
        with anyio.CancelScope(shield=True):
            try:
                await self.notify("notifications/cancelled", params)
            except McpSimError as error:
                self._scribe.note(f"The cancellation could not be sent: {error}")

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification."""
        message = Notification(method, dict(params) if params is not None else None)
        await self._attached_wire().post(write_message(message), self._headers(message))

    async def send_raw(
        self,
        data: bytes | str | Mapping[str, Any] | list[Any],
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 1.0,
    ) -> Reply:
        """Send exactly these bytes (or this JSON value) as one message, and collect what comes back.

        On stdio the answer is the response with the message's id, or an error without an id. Where nothing
        comes back in time the reply holds no messages.

        Args:
            headers: HTTP headers to set over the ones that would be right; an empty value takes one out.
            timeout_s: how long to wait, in seconds.
        """
        raw = _as_bytes(data)
        message = _as_message(raw)
        id = message.id if isinstance(message, Request) else _loose_id(raw)
        pending = Pending(id)
        if id is not None:
            self._pending[id] = pending
        wire = self._attached_wire()
        if not wire.is_http and isinstance(message, Notification | Response | ErrorResponse):
            await wire.post(raw, Headers())
            return Reply(None, Headers(), ())
        known = message if isinstance(message, Request | Notification) else None
        try:
            with anyio.move_on_after(timeout_s):
                return await wire.raw(raw, self._headers(known, headers), pending)
        finally:
            if id is not None:
                self._pending.pop(id, None)
        return Reply(None, Headers(), ())

    def _params(
        self, params: Mapping[str, Any] | None, token: str | int | None, extra: Mapping[str, Any] | None
    ) -> dict[str, Any] | None:
        meta: dict[str, Any] = {}
        if self.era == "modern":
            meta = modern.request_meta(self.version, self.capabilities, None if self.anonymous else self.info)
        if token is not None:
            meta[PROGRESS_TOKEN] = token
        for key, value in (extra or {}).items():
            if value is None:
                meta.pop(key, None)
            else:
                meta[key] = value
        if not meta:
            return None if params is None else dict(params)
        return {**(params or {}), "_meta": meta}

    def _headers(
        self, message: Request | Notification | None, changes: Mapping[str, str] | None = None
    ) -> Headers:
        wire = self._wire
        if wire is None or not wire.is_http:
            return _NO_HEADERS
        if self.era == "modern" and isinstance(message, Request):
            headers = modern_headers(message, None)
        elif self.era == "modern" and isinstance(message, Notification):
            headers = modern_headers(message, self.version)
        else:
            headers = _LEGACY_HEADERS
            first = isinstance(message, Request) and message.method == "initialize"
            if not first and self.version in VERSION_HEADER_REVISIONS:
                headers = headers.with_(PROTOCOL_VERSION_HEADER, self.version)
        for name, value in (changes or {}).items():
            headers = headers.with_(name, value) if value else headers.without(name)
        return headers

    def _parse(self, method: str, result: dict[str, Any]) -> Any:
        kind = result.get("resultType", "complete")
        if kind not in RESULT_TYPES:
            raise UnexpectedResponse(f"The result of {method} has the unknown resultType {kind!r}.")
        try:
            return parse_server_result(method, self.version, result)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, fault["loc"]))
            raise UnexpectedResponse(
                f"The result of {method} is not valid: {where}: {fault['msg']}"
            ) from None

    def _attached_wire(self) -> Wire:
        if self._wire is None:
            raise ConnectionClosed("This client is attached to no server: use it inside a story.")
        return self._wire

    # Listening

    async def _deliver(self, data: bytes, exchange: Pending | None) -> Message | Batch | MalformedMessage:
        try:
            message = read_batch(data)
        except MalformedMessage as error:
            self._scribe.note(f"Skipped what is not a message: {error.message}")
            return error
        if isinstance(message, Batch):
            for member in message.members:
                if isinstance(member, MalformedMessage):
                    self._scribe.note(f"Skipped what is not a message: {member.message}")
                else:
                    await self._take(member, exchange)
        else:
            await self._take(message, exchange)
        return message

    async def _take(self, message: Message, exchange: Pending | None) -> None:
        if isinstance(message, Response | ErrorResponse):
            self._take_answer(message, exchange)
        elif isinstance(message, Notification):
            await self._take_notification(message)
        else:
            await self._take_request(message)

    def _take_answer(self, message: Response | ErrorResponse, exchange: Pending | None) -> None:
        if message.id is None:
            # On HTTP the exchange says which request the error is about; on a pipe nothing does.
            if exchange is not None and not exchange.done.is_set():
                exchange.settle(message)
            elif exchange is None:
                self._scribe.note(f"An error that names no request: {message.code} {message.message}")
            return
        pending = self._pending.get(message.id)
        if pending is None or pending.done.is_set() or _other_type(pending.id, message.id):
            self._scribe.note(f"Ignored: an answer to #{message.id}, for which nobody waits.")
            return
        pending.settle(message)

    async def _take_notification(self, message: Notification) -> None:
        if message.method == "notifications/progress":
            await self._take_progress(message.params or {})
            return
        self.notifications.append(message)
        if self.on_notification is not None:
            outcome = self.on_notification(message)
            if inspect.isawaitable(outcome):
                await outcome

    async def _take_progress(self, params: Mapping[str, Any]) -> None:
        token: Any = params.get("progressToken")
        pending = self._tokens.get(token) if is_progress_token(token) else None
        progress = params.get("progress")
        if pending is None or isinstance(progress, bool) or not isinstance(progress, int | float):
            self._scribe.note(
                f"Ignored: progress for the token {token!r}, which no request in flight carries."
            )
            return
        if pending.on_progress is not None:
            outcome = pending.on_progress(progress, params.get("total"), params.get("message"))
            if inspect.isawaitable(outcome):
                await outcome

    async def _take_request(self, message: Request) -> None:
        if self.era == "modern":
            # A modern server must not send requests, and a modern client must not send responses.
            self._scribe.note(f"Ignored: the request {message.method}. A modern server sends none.")
            return
        answer: Response | ErrorResponse
        if message.method == "ping":
            answer = Response(message.id, {})
        else:
            answer = ErrorResponse(message.id, METHOD_NOT_FOUND, f"Method not found: {message.method}")
        await self._attached_wire().post(write_message(answer), self._headers(None))


_NO_HEADERS: Final = Headers()
_LEGACY_HEADERS: Final = Headers(
    {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
)


def _other_type(one: RequestId | None, other: RequestId) -> bool:
    # Numbers and strings never equal each other in Python, but True == 1: ids are checked by type too.
    return type(one) is not type(other)


def _as_bytes(data: bytes | str | Mapping[str, Any] | list[Any]) -> bytes:
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass")
    return write_json(data)


def _as_message(raw: bytes) -> Message | None:
    try:
        message = read_batch(raw)
    except MalformedMessage:
        return None
    return None if isinstance(message, Batch) else message


def _loose_id(raw: bytes) -> RequestId | None:
    """The id of something that is no well-formed request but may still be answered under its id."""
    try:
        from_object(json.loads(raw))
    except MalformedMessage as error:
        return error.id
    except (ValueError, RecursionError):
        return None
    return None
