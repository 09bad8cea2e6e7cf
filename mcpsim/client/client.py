"""A client: asks a server, in the legacy or in the modern way, over any transport."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, get_args

import anyio

from mcpsim.client.answering import MAX_ROUNDS, Callback, Roots
from mcpsim.client.listening import Listener
from mcpsim.client.methods import OnLog, check_log_level
from mcpsim.client.wire import Wire
from mcpsim.eras import legacy
from mcpsim.eras.capabilities import check_extensions
from mcpsim.eras.revisions import ClientEra, check_era, era_of
from mcpsim.recording.scribe import Scribe
from mcpsim.utilities.caching import Cache


class Client(Listener):
    """An MCP client.

    A client is described once and attached to a transport for each run or connection: `simulate` does it
    for a story, `mcpsim.live` for a real process.

    Args:
        name: the client's name, as it tells it to servers.
        version: the version of the client's software.
        era: "modern", "legacy", or "auto" (probe the server, then choose).
        protocol_version: the version to speak or propose; None for the latest of the era.
        capabilities: what the client offers to servers, as a capabilities object, beside what it declares
            because of the callbacks below.
        timeout_s: how long to wait for an answer, in seconds; a request may set its own.
        max_timeout_s: how long to wait for an answer at most, in seconds, whatever a request sets and
            however much progress there is. None: ten times the request's timeout where progress renews it.
        probe_timeout_s: how long to wait for the answer to the probe, in seconds.
        anonymous: whether to leave the client's identity out of modern requests. The specification asks
            clients to include it unless they are told not to.
        principal: who the client acts for: sent as a bearer token on HTTP.
        log_level: the level from which on log messages are wanted, or None. A modern client says it in each
            request, a legacy client after the handshake where the server declares logging.
        on_log: called with level, data and logger (or None) of each log message; may be async.
        cache: where to keep results that the server allows to keep, or None to keep none. It may be given to
            several clients of one server. Legacy results have no hints and are never kept.
        stale_if_error: whether a result that is stale is better than none, where asking again fails.
        standing_stream: whether a legacy client on HTTP opens a stream with GET after the handshake. Without
            one it hears of nothing that belongs to no request, such as a list that changed.
        elicit: called with `mcp_types.ElicitRequestFormParams` where a server wants a form filled in. Returns
            the content as a dict or model; or "accept" (the defaults are right), "decline", "cancel"; or an
            `mcp_types.ElicitResult`.
        elicit_url: called with `mcp_types.ElicitRequestURLParams` where a server wants the user to visit a
            page: show the whole URL, ask the user, and never open it by itself. Returns "accept", "decline"
            or "cancel".
        sample: called with `mcp_types.CreateMessageRequestParams` where a server wants a model to write.
            Returns a text, or a result as a dict or model, or raises `InputDeclined`.
        roots: the roots to offer: models, dicts or `file://` URIs, or a function that returns them.
        sampling_tools, sampling_context: whether `sample` can use tools, and context of servers.
        max_rounds: how often a modern server may ask for input before it has to answer a request.

    Attributes:
        notifications: what the server sent without being asked, in order, for the length of a run.
        on_notification: None, or a function that is called with each of these; a story may set it. It must
            not wait for the server.

    The callbacks may be plain or async functions. What they can answer is declared to servers. A legacy
    server's requests are answered in tasks of their own, which the server may cancel.

    Raises:
        ValueError: there is no such era or log level, `protocol_version` is not a revision of the era, an
            extension has a name that it may not have, or a root is no `file://` URI.
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
        max_timeout_s: float | None = None,
        probe_timeout_s: float = 5.0,
        anonymous: bool = False,
        principal: str = "",
        log_level: str | None = None,
        on_log: OnLog | None = None,
        cache: Cache | None = None,
        stale_if_error: bool = False,
        standing_stream: bool = False,
        elicit: Callback | None = None,
        elicit_url: Callback | None = None,
        sample: Callback | None = None,
        roots: Roots | Callable[[], Any] | None = None,
        sampling_tools: bool = False,
        sampling_context: bool = False,
        max_rounds: int = MAX_ROUNDS,
    ) -> None:
        check_era(era, get_args(ClientEra))
        if protocol_version is not None and era != "auto":
            its_era = era_of(protocol_version)
            if its_era not in (era, None):
                raise ValueError(
                    f"{protocol_version} is not a version of the {era} era: Client(era={its_era!r}, ...)."
                )
        check_log_level(log_level)
        check_extensions(capabilities or {})
        super().__init__(
            {"name": name, "version": version},
            dict(capabilities or {}),
            principal=principal,
            cache=cache,
            stale_if_error=stale_if_error,
            era=era,
            protocol_version=protocol_version,
            timeout_s=timeout_s,
            max_timeout_s=max_timeout_s,
            probe_timeout_s=probe_timeout_s,
            anonymous=anonymous,
            log_level=log_level,
            standing_stream=standing_stream,
            elicit=elicit,
            elicit_url=elicit_url,
            sample=sample,
            roots=roots,
            sampling_tools=sampling_tools,
            sampling_context=sampling_context,
            max_rounds=max_rounds,
        )
        self.preferred_log_level = log_level
        self.on_log = on_log

    def __repr__(self) -> str:
        return f"<Client {self.info['name']!r}: {self.preferred_era}>"

    def fresh(self) -> Client:
        """A client of the same description that is attached to nothing and remembers nothing."""
        return Client(
            self.info["name"],
            version=self.info["version"],
            era=self.preferred_era,
            protocol_version=self.preferred_version,
            capabilities=self.given_capabilities,
            timeout_s=self.timeout_s,
            max_timeout_s=self.max_timeout_s,
            probe_timeout_s=self.probe_timeout_s,
            anonymous=self.anonymous,
            principal=self.principal,
            log_level=self.preferred_log_level,
            on_log=self.on_log,
            cache=self.cache,
            stale_if_error=self.stale_if_error,
            standing_stream=self.standing_stream,
            elicit=self.elicit,
            elicit_url=self.elicit_url,
            sample=self.sample,
            roots=self.roots,
            sampling_tools=self.sampling_tools,
            sampling_context=self.sampling_context,
            max_rounds=self.max_rounds,
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
                    self._stop_answering()
                    await self._end_cancelling()
                    await wire.close(self._headers(None))
                    if self._phase is not legacy.Phase.NEW:
                        # The session is over, and all that belonged to it.
                        scribe.state({})
                    self._phase = legacy.Phase.CLOSED
