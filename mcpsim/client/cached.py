"""Serving what may be kept from a cache, and asking the server for the rest.

https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import anyio

from mcpsim.client.questioned import Questioned
from mcpsim.client.wire import OnProgress
from mcpsim.eras.methods import method as method_row
from mcpsim.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    ConnectionClosed,
    McpSimError,
    ProtocolError,
    RequestTimeout,
    UnexpectedResponse,
)
from mcpsim.messages import Notification
from mcpsim.utilities.caching import Cache, Entry, in_ms, in_words, spoiled_in_words

# Whoever may not have a result any more must not get it from what is left of better days.
DENIED: Final = frozenset({401, 403})


class CachedRequester(Questioned):
    """The part of a client that keeps results where it was given a cache.

    Attributes:
        cache: where results are kept, or None.
        stale_if_error: whether a stale result is served where asking again fails.
        principal: who the client acts for; private results are kept for each principal.
    """

    def __init__(
        self,
        info: Mapping[str, Any],
        capabilities: Mapping[str, Any],
        *,
        principal: str,
        cache: Cache | None,
        stale_if_error: bool,
        **more: Any,
    ) -> None:
        super().__init__(info, capabilities, **more)
        self.principal = principal
        self.cache = cache
        self.stale_if_error = stale_if_error

    async def notified(self, message: Notification) -> None:
        if self.cache is not None:
            self._spoil(self.cache, message)
        await super().notified(message)

    async def _fetch(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
        reset_on_progress: bool = False,
        renew: bool = False,
    ) -> tuple[Mapping[str, Any], Any]:
        """The result of a cacheable method, from the cache or from the server: as it came, and read.

        Args:
            renew: whether to ask the server in any case.

        Raises:
            As `Client.call_tool`. Where the server refuses a cursor, all pages of its list are dropped.
        """
        found = self._kept(method, params)
        if found is not None and not renew and found.is_fresh(_now_ms()):
            left = in_ms(found.fresh_until_ms - _now_ms())
            self._scribe.note(f"{method} is answered from the cache: fresh for another {left}.")
            return found.result, self._parse(method, found.result)
        changes = 0 if self.cache is None else self.cache.changes(method)
        try:
            result, asked = await self._ask_in_rounds(
                method,
                params,
                on_progress=on_progress,
                timeout_s=timeout_s,
                reset_on_progress=reset_on_progress,
            )
            # Only what can be read is kept.
            read = self._parse(method, result)
        except McpSimError as error:
            self._drop_pages(method, params, error)
            if found is not None and self.stale_if_error and _may_pass(error):
                self._scribe.note(f"{method} is answered from the cache, stale, because of: {error}")
                return found.result, self._parse(method, found.result)
            raise
        # Where the server asked for input, it is the retry that brought the result, and that is never kept.
        self._keep(method, asked, result, changes)
        return result, read

    def _kept(self, method: str, params: Mapping[str, Any] | None) -> Entry | None:
        # Legacy results carry no hints.
        if self.cache is None or self.era != "modern":
            return None
        return self.cache.get(method, self._params(params, None, None), _now_ms(), self.principal)

    def _keep(
        self, method: str, params: Mapping[str, Any] | None, result: dict[str, Any], changes: int
    ) -> None:
        if self.cache is None or self.era != "modern":
            return
        whole = self._params(params, None, None)
        if self.cache.store(method, whole, result, _now_ms(), self.principal, asked_at=changes) is not None:
            self._remember()

    def _drop_pages(self, method: str, params: Mapping[str, Any] | None, error: McpSimError) -> None:
        row = method_row(method, self.version)
        refused = isinstance(error, ProtocolError) and error.code == INVALID_PARAMS
        if self.cache is None or not refused or row is None or not row.paginated:
            return
        if (params or {}).get("cursor") is not None and self.cache.drop_pages(method):
            self._scribe.note(f"The cursor is refused: all pages of {method} are dropped.")
            self._remember()

    def _spoil(self, cache: Cache, message: Notification) -> None:
        spoiled = cache.invalidate(message.method, message.params)
        if spoiled:
            self._scribe.note(spoiled_in_words(message.method, len(spoiled)))
            self._remember()

    def _memory(self) -> dict[str, Any]:
        memory = super()._memory()
        rows = [] if self.cache is None else self.cache.snapshot(_now_ms(), self.principal)
        if rows:
            memory["cache"] = [in_words(row) for row in rows]
        return memory


def _now_ms() -> float:
    # Whole microseconds, as the simulation's clock has them.
    return round(anyio.current_time() * 1_000_000) / 1000


def _may_pass(error: McpSimError) -> bool:
    """Whether an error says something of the network or the server's health, and nothing of the request."""
    if isinstance(error, ProtocolError):
        return error.code == INTERNAL_ERROR
    if isinstance(error, UnexpectedResponse):
        return error.status not in DENIED
    return isinstance(error, ConnectionClosed | RequestTimeout)
