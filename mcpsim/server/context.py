"""What a handler gets to know about the request that it serves, and what it may send meanwhile."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcpsim.eras.capabilities import declares
from mcpsim.eras.methods import method as method_row
from mcpsim.eras.revisions import Era
from mcpsim.errors import McpSimError
from mcpsim.messages import Notification, RequestId, write_message
from mcpsim.messages.meta import PROGRESS_TOKEN, is_progress_token

Send = Callable[[bytes], Awaitable[None]]
Ask = Callable[[str, dict[str, Any] | None, float], Awaitable[dict[str, Any]]]

ASK_TIMEOUT_S: Final = 60.0


@dataclass(slots=True)
class Context:
    """One request, seen from its handler.

    Attributes:
        id: the request's id.
        method: the request's method.
        era: "legacy" or "modern".
        version: the protocol version in use: the session's (legacy), or this request's own (modern).
        capabilities: what the client declares: for the session (legacy), or with this request (modern).
        meta: the request's `_meta`.
        principal: who the transport says is asking, or "".
        tokens: makes unguessable names for things that outlive the request, such as a basket.
            In a simulation they come from the seed.
        silent: whether the request is over, answered or cancelled; nothing more is sent for it then.
    """

    id: RequestId
    method: str
    era: Era
    version: str
    capabilities: Mapping[str, Any]
    meta: Mapping[str, Any]
    principal: str
    send: Send
    note: Callable[[str], None]
    tokens: Callable[[str], str]
    ask: Ask | None = None
    silent: bool = False
    _progress: float = field(default=-math.inf)

    @property
    def progress_token(self) -> str | int | None:
        """The token under which the client wants to hear of progress, or None. 0 and "" are tokens."""
        token = self.meta.get(PROGRESS_TOKEN)
        return token if is_progress_token(token) else None

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the client how far the work is. Without a token in the request, nothing is sent.

        Args:
            progress: how much is done; must grow with every call.
            total: how much there is, or None where that is not known.
            message: what is being done, for people.

        Raises:
            ValueError: `progress` did not grow, or is not a finite number.

        https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
        """
        if not _is_finite(progress) or not (total is None or _is_finite(total)):
            raise ValueError(f"progress and total must be finite numbers, not {progress} of {total}.")
        if progress <= self._progress:
            raise ValueError(f"progress must grow: {progress:g} came after {self._progress:g}.")
        self._progress = progress
        token = self.progress_token
        if token is None:
            return
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await self.notify("notifications/progress", params)

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification that belongs to this request. Once the request is over nothing is sent.

        Raises:
            FramingError: JSON cannot carry the parameters.
        """
        if not self.silent:
            await self.send(write_message(Notification(method, params)))

    async def ping(self, *, timeout_s: float = ASK_TIMEOUT_S) -> None:
        """Ask the client whether it is there, and wait for its empty answer (legacy only).

        Raises:
            McpSimError: the request is a modern one: the modern protocol has no ping, and its servers send
                no requests.
            RequestTimeout: no answer within `timeout_s` seconds.
        """
        await self.request("ping", None, timeout_s=timeout_s)

    async def request(
        self, method: str, params: dict[str, Any] | None = None, *, timeout_s: float = ASK_TIMEOUT_S
    ) -> dict[str, Any]:
        """Send a request to the client and wait for its result (legacy only).

        Leaving the cancel scope around the call withdraws the request with `notifications/cancelled`.

        Args:
            timeout_s: how long to wait, in seconds.

        Raises:
            McpSimError: the request that is served is a modern one or over, or the session does not have
                the method, or the client did not declare the capability that it needs.
            RequestTimeout: no answer in time; the request was withdrawn.
            ProtocolError: the client answered with an error.
        """
        if self.ask is None:
            raise McpSimError(
                f"{method}: a server sends no requests in the modern protocol. It answers with "
                "input_required instead."
            )
        row = method_row(method, self.version)
        if row is None or row.kind != "request" or row.direction == "to_server":
            raise McpSimError(f"{method} is not a request that a server sends in {self.version}.")
        if row.declared_by == "client" and not declares(self.capabilities, row.capability):
            raise McpSimError(f"{method}: the client did not declare {row.capability} in initialize.")
        if self.silent:
            raise McpSimError(f"{method}: the request that this would belong to is over.")
        return await self.ask(method, params, timeout_s)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        # An integer beyond what a double holds: the other side would read infinity.
        return False
