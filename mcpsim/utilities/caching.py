"""Results that may be kept: under which key, for whom, and for how long. No clock of its own, no waiting.

https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast

from mcpsim.eras.methods import METHODS
from mcpsim.messages.meta import CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN, TRACE_CONTEXT, meta_of

Scope = Literal["public", "private"]

CACHEABLE: Final = frozenset(row.name for row in METHODS if row.cacheable)

# What a request's `_meta` says about this one request. The rest of it may affect the result: the version,
# the capabilities, keys that nobody here knows. The client's name may not: no server should act upon it.
# https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta
REQUEST_SPECIFIC: Final = frozenset({PROGRESS_TOKEN, LOG_LEVEL, CLIENT_INFO, *TRACE_CONTEXT})

# The members that make a request the retry of another one.
RETRY_MEMBERS: Final = frozenset({"inputResponses", "requestState"})

# Which lists a notification is about. Resource templates have no notification of their own.
LISTS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}
RESOURCE_UPDATED: Final = "notifications/resources/updated"
READ: Final = "resources/read"

# Some 30,000 years: sums with longer times would not fit a double.
LONGEST_TTL_MS: Final = 10**15

Key: TypeAlias = tuple[str, str, str | None]


@dataclass(frozen=True, slots=True)
class Entry:
    """One result that is kept.

    Attributes:
        method: the request's method.
        params: what in the request's parameters is part of the key.
        result: the result, as it stood on the wire. Not to be changed.
        scope: whom it may be given to.
        principal: whose it is, where the scope is private; "" also for a client without a token.
        received_ms: when it came.
        ttl_ms: for how long it is fresh after that.
        invalidated: whether a notification said that it is not right any more.
    """

    method: str
    params: Mapping[str, Any]
    result: Mapping[str, Any]
    scope: Scope
    principal: str
    received_ms: float
    ttl_ms: int
    invalidated: bool = False

    @property
    def fresh_until_ms(self) -> float:
        """The first moment at which it is stale. It may be stale before that, by a notification."""
        return self.received_ms + self.ttl_ms

    def is_fresh(self, now_ms: float) -> bool:
        """Whether it may be given out without asking the server again.

        What was received later than now is of another clock, such as that of a run before: nobody knows how
        old it is, and so it is stale.
        """
        # In whole microseconds: sums of fractions are not exact.
        age_us = round((now_ms - self.received_ms) * 1000)
        return not self.invalidated and 0 <= age_us < self.ttl_ms * 1000


class Cache:
    """Results of one server, kept for as long as it allows.

    It may be given to several clients of that server, and to a gateway. Results that are public are given to
    all of them, private ones to the same principal only. Every page of a list is a result of its own.

    Nothing happens by itself: an entry that gets stale stays until it is replaced, dropped, or the least
    recently used one where there are too many. The caller passes in the time, in milliseconds of any clock
    that never goes back.

    Args:
        max_entries: how many results are kept at most.

    Raises:
        ValueError: `max_entries` is less than 1.
    """

    def __init__(self, max_entries: int = 1000) -> None:
        if max_entries < 1:
            raise ValueError(f"A cache of {max_entries} entries is none; at least 1 is needed.")
        self.max_entries = max_entries
        # In the order of their last use.
        self._entries: dict[Key, Entry] = {}
        self._changes = dict.fromkeys(CACHEABLE, 0)

    def __repr__(self) -> str:
        return f"<Cache: {len(self._entries)} of at most {self.max_entries} results>"

    def __len__(self) -> int:
        return len(self._entries)

    def get(
        self, method: str, params: Mapping[str, Any] | None, now_ms: float, principal: str = ""
    ) -> Entry | None:
        """What is kept for exactly this request and this principal, fresh or stale; None where there is
        nothing, or where the request is a retry with input responses."""
        if method not in CACHEABLE or _is_retry(params):
            return None
        text = _key_text(params)
        found = [key for owner in (principal, None) if (key := (method, text, owner)) in self._entries]
        if not found:
            return None
        # Both may be there: a public one that came for somebody else after this principal's own.
        fresh = [key for key in found if self._entries[key].is_fresh(now_ms)]
        best = max(fresh or found, key=lambda key: self._entries[key].received_ms)
        entry = self._entries[best] = self._entries.pop(best)
        return entry

    def changes(self, method: str) -> int:
        """How many notifications so far said that results of this method are not right any more.

        Whoever asks a server looks here before it asks, and hands the number to `store`.
        """
        return self._changes.get(method, 0)

    def store(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        result: Mapping[str, Any],
        now_ms: float,
        principal: str = "",
        *,
        asked_at: int | None = None,
    ) -> Entry | None:
        """Keep a result, in place of the one that was kept for the same request.

        Kept are complete results of the cacheable methods, but not those of a retry with input responses:
        they depend on more than the key tells. A `ttlMs` that is absent, negative or no integer counts as 0,
        and a `cacheScope` that is not "public" as private.

        Args:
            params: the request's parameters, with its `_meta`.
            result: the result as it stood on the wire.
            now_ms: when it came.
            principal: who asked.
            asked_at: `changes(method)` before the request was sent. Where a notification came since then,
                nobody knows whether the result is older than the change, and it is kept as stale.

        Returns:
            The entry, or None where the result may not be kept.
        """
        kind = result.get("resultType", "complete")
        if method not in CACHEABLE or _is_retry(params) or kind != "complete":
            return None
        text = _key_text(params)
        scope: Scope = "public" if result.get("cacheScope") == "public" else "private"
        entry = Entry(
            method,
            _key_params(params),
            result,
            scope,
            "" if scope == "public" else principal,
            now_ms,
            _ttl_ms(result),
            invalidated=asked_at is not None and asked_at != self.changes(method),
        )
        # What this principal could be given before is out of date now, whatever its scope.
        self._entries.pop((method, text, principal), None)
        self._entries.pop((method, text, None), None)
        self._entries[(method, text, None if scope == "public" else principal)] = entry
        while len(self._entries) > self.max_entries:
            del self._entries[next(iter(self._entries))]
        return entry

    def invalidate(self, method: str, params: Mapping[str, Any] | None = None) -> tuple[Entry, ...]:
        """Take in a notification: what it is about counts as stale from now on, whoever it belongs to.

        Args:
            method, params: the notification.

        Returns:
            The entries that were not known to be out of date before.
        """
        if method == RESOURCE_UPDATED:
            uri = (params or {}).get("uri")
            return self._spoil((READ,), lambda entry: entry.params.get("uri") == uri)
        return self._spoil(LISTS_OF.get(method, ()), lambda entry: True)

    def _spoil(self, methods: tuple[str, ...], concerns: Callable[[Entry], bool]) -> tuple[Entry, ...]:
        for method in methods:
            self._changes[method] += 1
        spoiled = {
            key: replace(entry, invalidated=True)
            for key, entry in self._entries.items()
            if entry.method in methods and not entry.invalidated and concerns(entry)
        }
        self._entries.update(spoiled)
        return tuple(spoiled.values())

    def drop_pages(self, method: str) -> int:
        """Forget every page of a list, because one of its cursors is not valid any more.

        Returns:
            How many there were.
        """
        pages = [key for key, entry in self._entries.items() if entry.method == method]
        for key in pages:
            del self._entries[key]
        return len(pages)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()

    def entries(self, principal: str | None = None) -> Iterator[Entry]:
        """What is kept, in the order of its last use.

        Args:
            principal: only what this principal may be given; None for everything.
        """
        for entry in self._entries.values():
            if principal is None or entry.scope == "public" or entry.principal == principal:
                yield entry

    def snapshot(self, now_ms: float, principal: str | None = None) -> list[dict[str, Any]]:
        """What is kept, as plain rows for a picture: the method, the parameters without `_meta`, the scope,
        when it came and until when it is fresh (milliseconds), and whether it is so now.

        No principal is named: that may be a secret.

        Args:
            principal: only what this principal may be given; None for everything.
        """
        return [
            {
                "method": entry.method,
                "params": {key: value for key, value in entry.params.items() if key != "_meta"},
                "scope": entry.scope,
                "received_ms": entry.received_ms,
                "fresh_until_ms": entry.fresh_until_ms,
                "state": _state(entry, now_ms),
            }
            for entry in self.entries(principal)
        ]


def in_words(row: Mapping[str, Any]) -> str:
    """A row of `Cache.snapshot` in words, on one line: what it is, who may have it, and until when."""
    params: Mapping[str, Any] = row["params"]
    named = "".join(f" {key} {value!r}" for key, value in params.items())
    until = in_ms(row["fresh_until_ms"])
    state = {"fresh": f"fresh until {until}", "stale": f"stale since {until}"}.get(row["state"], row["state"])
    return f"{row['method']}{named}: {row['scope']}, {state}"


def spoiled_in_words(method: str, count: int) -> str:
    """What whoever keeps results writes down when a notification has made some of them stale."""
    what = "1 cached result is" if count == 1 else f"{count} cached results are"
    return f"{method}: {what} stale from now on."


def in_ms(value: float) -> str:
    """A time in milliseconds, as it is written: to the microsecond, without needless zeros."""
    return f"{value:.3f}".rstrip("0").rstrip(".") + " ms"


def _state(entry: Entry, now_ms: float) -> str:
    if entry.invalidated:
        return "invalidated"
    return "fresh" if entry.is_fresh(now_ms) else "stale"


def _is_retry(params: Mapping[str, Any] | None) -> bool:
    return params is not None and not RETRY_MEMBERS.isdisjoint(params)


def _key_params(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """The parameters that affect the result."""
    kept = {key: value for key, value in (params or {}).items() if key != "_meta"}
    meta = {key: value for key, value in meta_of(params).items() if key not in REQUEST_SPECIFIC}
    return {**kept, "_meta": meta} if meta else kept


def _key_text(params: Mapping[str, Any] | None) -> str:
    # Objects are the same in any order of their keys; 1, 1.0 and true are not the same.
    return json.dumps(_key_params(params), sort_keys=True, separators=(",", ":"))


def _ttl_ms(result: Mapping[str, Any]) -> int:
    ttl_ms: Any = result.get("ttlMs")
    is_integer = isinstance(ttl_ms, int) and not isinstance(ttl_ms, bool)
    return min(max(cast("int", ttl_ms), 0), LONGEST_TTL_MS) if is_integer else 0
