"""How a client opens a connection: the handshake (legacy), a probe (auto), nothing at all (modern)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, cast

import anyio

from mcpsim.client.caller import Caller
from mcpsim.client.wire import SessionEnded
from mcpsim.eras import legacy, modern
from mcpsim.eras.negotiation import Verdict, common_modern_version, read_probe, supported_versions
from mcpsim.eras.revisions import LATEST_LEGACY, LATEST_MODERN, LEGACY_REVISIONS, ClientEra
from mcpsim.errors import McpSimError, NegotiationFailed, ProtocolError, RequestTimeout, UnexpectedResponse
from mcpsim.messages import meta_of

T = TypeVar("T")


class Opener(Caller):
    """The part of a client that finds out what the server speaks, and remembers it.

    Attributes:
        preferred_era, preferred_version: what the client was told to use.
        server_info, server_capabilities, server_versions, instructions: what the server said of itself.
        server_is_modern: whether somebody knows without asking that the server speaks a modern version, as in
            a simulation. Then no error suggests that it may be a legacy one.
    """

    def __init__(
        self,
        info: Mapping[str, Any],
        capabilities: Mapping[str, Any],
        *,
        era: ClientEra,
        protocol_version: str | None,
        timeout_s: float,
        max_timeout_s: float | None,
        probe_timeout_s: float,
        anonymous: bool,
        log_level: str | None,
    ) -> None:
        super().__init__(
            info,
            capabilities,
            era="legacy" if era == "legacy" else "modern",
            version=protocol_version or (LATEST_LEGACY if era == "legacy" else LATEST_MODERN),
            timeout_s=timeout_s,
            max_timeout_s=max_timeout_s,
            anonymous=anonymous,
            log_level=log_level,
        )
        self.preferred_era: ClientEra = era
        self.preferred_version = protocol_version
        self.probe_timeout_s = probe_timeout_s
        self.server_info: Mapping[str, Any] | None = None
        self.server_capabilities: Mapping[str, Any] | None = None
        self.server_versions: tuple[str, ...] = ()
        self.instructions = ""
        self._phase = legacy.Phase.NEW
        self._answered_as_modern = False
        self.server_is_modern = False
        self._renewing = anyio.Lock()
        self._session_lost = False

    async def connect(self) -> None:
        """Do what comes before the first request: the handshake (legacy), a probe (auto), nothing (modern).

        Raises:
            NegotiationFailed: client and server have no version in common.
            RequestTimeout, ConnectionClosed: the server does not answer the handshake.
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
        self._attached_wire().keep_session(True)
        proposed = version or self.version
        params = legacy.initialize_params(proposed, self._offered(proposed), self.info)
        result = await self._call("initialize", params, None, None, None, None)
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
        await self._notify("notifications/initialized", None)
        self._phase = legacy.Phase.OPERATING
        self._remember()

    def _offered(self, version: str) -> Mapping[str, Any]:
        """The capabilities for an `initialize` that proposes this version."""
        return self.capabilities

    async def _handshake(self, version: str) -> None:
        try:
            await self.initialize(version)
        except (ProtocolError, UnexpectedResponse) as error:
            raise NegotiationFailed(f"The server refused initialize: {error}{_advice(error)}") from error
        if self.version not in LEGACY_REVISIONS:
            raise NegotiationFailed(
                f"The server answered with version {self.version}; this client speaks "
                f"{', '.join(LEGACY_REVISIONS)}."
            )
        await self.initialized()
        await self._begin()

    async def _begin(self) -> None:
        """What a client does in every new session, right after the handshake."""

    async def _probe(self) -> None:
        """Find the server's era, as the transport pages describe it under "Backward Compatibility".

        https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#backward-compatibility
        https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#backward-compatibility
        """
        prefers_legacy = self.preferred_version in LEGACY_REVISIONS
        legacy_version = cast("str", self.preferred_version) if prefers_legacy else LATEST_LEGACY
        if prefers_legacy:
            self.version = LATEST_MODERN
        verdict = await self._probe_once(legacy_version)
        if verdict.retry:
            self.version = verdict.version
            verdict = await self._probe_once(legacy_version)
            if verdict.retry:
                raise NegotiationFailed("The server refuses the versions that it says it supports.")
        if verdict.era == "legacy":
            await self._fall_back(verdict)
        else:
            self._go_modern(verdict.version)

    async def _probe_once(self, legacy_version: str) -> Verdict:
        outcome = await self._discover_outcome()
        verdict = read_probe(outcome, legacy_version=legacy_version, modern_version=self.version)
        self._scribe.note(f"The client takes the server for {verdict.era}. {verdict.why}")
        return verdict

    async def _discover_outcome(self) -> dict[str, Any] | ProtocolError | None:
        try:
            return await self._discover(self.probe_timeout_s)
        except ProtocolError as error:
            return error
        except (RequestTimeout, UnexpectedResponse):
            return None

    async def _fall_back(self, verdict: Verdict) -> None:
        try:
            await self._handshake(verdict.version)
        except NegotiationFailed as failure:
            # A modern server that was too slow for the probe refuses the handshake and names its versions.
            cause = failure.__cause__
            listed = supported_versions(cause) if isinstance(cause, ProtocolError) else []
            version = common_modern_version(listed)
            if version is None:
                raise
            self._scribe.note("The server is modern after all: it refuses initialize and names its versions.")
            self._go_modern(version)

    def _go_modern(self, version: str) -> None:
        self.era, self.version = "modern", version
        self._attached_wire().keep_session(False)
        self._answered_as_modern = True
        self._remember()

    async def _discover(self, timeout_s: float | None) -> dict[str, Any]:
        result = await self._call("server/discover", None, None, timeout_s, None, None)
        self._learn_discovery(result)
        return result

    def _learn_discovery(self, result: Mapping[str, Any]) -> None:
        versions = result.get("supportedVersions")
        if isinstance(versions, list):
            self.server_versions = tuple(str(one) for one in cast("list[Any]", versions))
        info = meta_of(result).get(modern.SERVER_INFO)
        self._learn(info, result.get("capabilities"), result.get("instructions"))

    def _learn(self, info: Any, capabilities: Any, instructions: Any) -> None:
        self.server_info = info if isinstance(info, dict) else None
        self.server_capabilities = capabilities if isinstance(capabilities, dict) else None
        self.instructions = instructions if isinstance(instructions, str) else ""

    async def _renew(self) -> None:
        """Begin a new session, because the old one is gone (legacy, HTTP 404).

        https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
        """
        async with self._renewing:
            # Several requests may have lost the same session; the first of them begins the new one.
            if not self._attached_wire().session_id:
                self._scribe.note("The session is gone. A new one is begun.")
                self._phase = legacy.Phase.NEW
                self._session_lost = True
                await self._handshake(self.version)
            self._session_lost = False

    async def _in_session(self, send: Callable[[], Awaitable[T]]) -> T:
        """Send, and send once more in a new session where the server does not know the old one any more.

        Where the new one is lost at once as well, the next call begins with a handshake: without a session
        nothing else may be sent.

        Raises:
            SessionEnded: the new session was lost, too.
        """
        if self._session_lost:
            await self._renew()
        try:
            return await send()
        except SessionEnded:
            await self._renew()
        try:
            return await send()
        except SessionEnded:
            self._session_lost = True
            raise

    def _remember(self) -> None:
        self._scribe.state(self._memory())

    def _memory(self) -> dict[str, Any]:
        """What the client remembers, as plain values for a recording."""
        state: dict[str, Any] = {"era": self.era, "version": self.version}
        if self.era == "legacy":
            state["phase"] = str(self._phase)
            session_id = self._attached_wire().session_id
            if session_id:
                state["session id"] = session_id
        if self.server_info is not None:
            state["server"] = dict(self.server_info)
        if self.server_capabilities is not None:
            state["server capabilities"] = dict(self.server_capabilities)
        if self.server_versions:
            state["server versions"] = list(self.server_versions)
        return state


def _advice(error: McpSimError) -> str:
    """What to do about a refused handshake, where the error tells."""
    listed = supported_versions(error) if isinstance(error, ProtocolError) else []
    if common_modern_version(listed) is None:
        return ""
    return " This is a modern server: connect with Client(era='auto') or Client(era='modern')."
