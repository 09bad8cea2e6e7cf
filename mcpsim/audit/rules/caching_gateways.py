"""What a gateway gives out of its cache: seen where a trace has both of its sides.

A request is answered from the cache where no request for the same thing goes on to the server while it waits.
What it is answered with is looked up among what came from the server before: where it cannot be found, the
gateway may have it from before the trace, and nothing is said.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from mcpsim.audit.model import Call, Item, Trace
from mcpsim.audit.rule import MODERN, MUST, NOTE, SHOULD, Bound, Found, Level, Rule, each
from mcpsim.audit.rules.caching_keys import changed_by, contents_of, is_retry, key_of, subject_of, ttl_of
from mcpsim.recording.interchange import INTERMEDIARIES
from mcpsim.recording.words import show
from mcpsim.utilities.caching import CACHEABLE

KEY: Final = "server/utilities/caching#cache-key"
SCOPE: Final = "server/utilities/caching#cache-scope-field"
FRESHNESS: Final = "server/utilities/caching#freshness-calculation"
NOTIFICATIONS: Final = "server/utilities/caching#interaction-with-notifications"

#: How many fetches are looked at that came while one request waited.
_MOST: Final = 8
_ALWAYS: Final = -1


class _Fetch(NamedTuple):
    """A result that came from the server."""

    call: Call
    answer: Item
    contents: str


@dataclass(slots=True)
class _Asked:
    """What went on to the server under one key: the rows of the requests, of the answers, of those that were
    errors and of those that were results, and the results."""

    requests: list[int] = field(default_factory=list[int])
    answers: list[int] = field(default_factory=list[int])
    errors: list[int] = field(default_factory=list[int])
    came: list[int] = field(default_factory=list[int])
    fetches: list[_Fetch] = field(default_factory=list[_Fetch])

    def between(self, begin: int, end: int) -> bool:
        """Whether anything went on, or came back, between two rows."""
        return _any(self.requests, begin, end) or _any(self.answers, begin, end)


@dataclass(slots=True)
class _Kept:
    """All fetches under one key with the same contents.

    Attributes:
        owners: who waited for them, each with the first row.
        asked_for: in whose name they were asked for, each with the first row.
        public, plain: the first row of one that is public, and of one that answers no retry.
    """

    fetches: list[_Fetch] = field(default_factory=list[_Fetch])
    rows: list[int] = field(default_factory=list[int])
    owners: dict[str | None, int] = field(default_factory=dict["str | None", int])
    asked_for: dict[str | None, int] = field(default_factory=dict["str | None", int])
    public: int | None = None
    plain: int | None = None

    def latest(self, before: int) -> _Fetch | None:
        """The last one before a row."""
        at = bisect_left(self.rows, before)
        return self.fetches[at - 1] if at else None


class _Hit(NamedTuple):
    """A request that was answered from the cache, with something that had come from the server."""

    call: Call
    answer: Item
    kept: _Kept | None
    latest: _Fetch
    asked: _Asked | None
    notified: int
    by: Item | None


def _any(rows: list[int], begin: int, end: int) -> bool:
    at = bisect_left(rows, begin + 1)
    return at < len(rows) and rows[at] < end


class _Cache:
    """What the trace shows of the cache of the gateways in it."""

    def __init__(self, trace: Trace) -> None:
        self.asked: dict[tuple[str, str], _Asked] = {}
        self.kept: dict[tuple[str, str, str], _Kept] = {}
        self.by_contents: dict[tuple[str, str], list[str]] = {}
        self.notified: dict[str, tuple[list[int], list[Item]]] = {}
        self.front = [
            call
            for connection in trace.connections
            if connection.server in INTERMEDIARIES
            for call in connection.calls
            if call.method in CACHEABLE and call.asked_by == "client" and call.era == "modern"
        ]
        if self.front:
            for item in trace.items:
                if item.connection.client in INTERMEDIARIES:
                    self._came(item)
            for call in self.front:
                self._own(call)

    def _came(self, item: Item) -> None:
        for name in changed_by(item):
            rows, items = self.notified.setdefault(name, ([], []))
            rows.append(item.index)
            items.append(item)
        call = item.call
        if call is None or call.method not in CACHEABLE:
            return
        key = key_of(call)
        asked = self.asked.setdefault((call.method, key), _Asked())
        if item is call.request:
            asked.requests.append(item.index)
        elif item is call.answer:
            asked.answers.append(item.index)
            if item.kind == "response":
                self._keep(_Fetch(call, item, contents_of(item.result)), key, asked)
            else:
                asked.errors.append(item.index)

    def _keep(self, fetch: _Fetch, key: str, asked: _Asked) -> None:
        asked.fetches.append(fetch)
        asked.came.append(fetch.answer.index)
        method = fetch.call.method
        kept = self.kept.get((method, key, fetch.contents))
        if kept is None:
            kept = self.kept[method, key, fetch.contents] = _Kept()
            self.by_contents.setdefault((method, fetch.contents), []).append(key)
        kept.fetches.append(fetch)
        kept.rows.append(fetch.answer.index)
        kept.asked_for.setdefault(fetch.call.principal, fetch.answer.index)
        if fetch.answer.result.get("cacheScope") == "public" and kept.public is None:
            kept.public = fetch.answer.index
        if not is_retry(fetch.call) and kept.plain is None:
            kept.plain = fetch.answer.index

    def _own(self, call: Call) -> None:
        """Whoever waits while a result comes is the one for whom it came."""
        key = key_of(call)
        asked = self.asked.get((call.method, key))
        if asked is None or call.answer is None:
            return
        end = bisect_left(asked.came, call.answer.index)
        for fetch in asked.fetches[max(0, end - _MOST) : end]:
            row = fetch.answer.index
            if row > call.request.index:
                owners = self.kept[call.method, key, fetch.contents].owners
                owners[call.principal] = min(row, owners.get(call.principal, row))

    def hits(self) -> Iterator[_Hit]:
        """The requests that were answered from the cache."""
        for call in self.front:
            answer = call.answer
            if answer is None or answer.kind != "response" or is_retry(call):
                continue
            begin, end = call.request.index, answer.index
            key = key_of(call)
            asked = self.asked.get((call.method, key))
            if asked is not None and asked.between(begin, end):
                continue
            contents = contents_of(answer.result)
            kept = self.kept.get((call.method, key, contents))
            latest = None if kept is None else kept.latest(end)
            if latest is None:
                kept = None
                latest = self._of_another_key(call.method, contents, end)
            if latest is not None:
                yield _Hit(call, answer, kept, latest, asked, *self._notified(call, begin))

    def _of_another_key(self, method: str, contents: str, before: int) -> _Fetch | None:
        for key in self.by_contents.get((method, contents), ())[:_MOST]:
            found = self.kept[method, key, contents].latest(before)
            if found is not None:
                return found
        return None

    def _notified(self, call: Call, before: int) -> tuple[int, Item | None]:
        """The last row before a request that says that its answer has changed."""
        rows, items = self.notified.get(subject_of(call) or call.method, ([], []))
        at = bisect_left(rows, before)
        return (rows[at - 1], items[at - 1]) if at else (_ALWAYS, None)


def _from_cache(hit: _Hit) -> str:
    return f"This answer to {hit.call.method} is from the cache"


def _shared(hit: _Hit) -> Iterator[Found]:
    kept, end = hit.kept, hit.answer.index
    if kept is None or hit.latest.answer.result.get("cacheScope") != "private":
        return
    principal = hit.call.principal
    firsts = (kept.owners.get(principal), kept.asked_for.get(principal), kept.public)
    # Where nobody is seen to have waited for it, it may have been for the same one.
    if any(row is not None and row < end for row in firsts) or not kept.owners:
        return
    yield Found(
        hit.answer,
        f"{_from_cache(hit)}. It had come for somebody else (row "
        f'{hit.latest.answer.index}) and is "private": it must not be given to another authorization '
        "context.",
        hint="Keep what is private apart for each access token, or do not keep it.",
    )


def _other_key(hit: _Hit) -> Iterator[Found]:
    if hit.kept is not None or not _says_something(hit.answer.result) or _is_asked_for(hit):
        return
    asked = hit.asked
    if asked is not None and asked.answers and asked.answers[0] < hit.answer.index:
        # It may have come with other contents, and the gateway has made these of it.
        return
    yield Found(
        hit.answer,
        f"{_from_cache(hit)}, and had come for other params (row "
        f"{hit.latest.call.request.index}): {show(_differing(hit))}. A cached result is for the "
        "same method and params only.",
    )


def _says_something(result: Mapping[str, Any]) -> bool:
    """Whether a result holds anything by which it could be told from another."""
    return any(
        value for name, value in result.items() if name not in ("_meta", "ttlMs", "cacheScope", "resultType")
    )


def _is_asked_for(hit: _Hit) -> bool:
    """Whether what is read is what was asked for."""
    uri = hit.call.request.params.get("uri")
    held = hit.answer.result.get("contents")
    contents = cast("list[Any]", held) if isinstance(held, list) else []
    uris = [cast("dict[str, Any]", one).get("uri") for one in contents if isinstance(one, dict)]
    return uri is not None and uri in uris


def _differing(hit: _Hit) -> dict[str, Any]:
    params, other = hit.call.request.params, hit.latest.call.request.params
    names = [name for name in (*params, *other) if name != "_meta"]
    return {
        name: [other.get(name), params.get(name)] for name in names if other.get(name) != params.get(name)
    }


def _of_a_retry(hit: _Hit) -> Iterator[Found]:
    kept = hit.kept
    if kept is None or (kept.plain is not None and kept.plain < hit.answer.index):
        return
    yield Found(
        hit.answer,
        f"{_from_cache(hit)}. It had come for a retry with input responses or "
        f"request state (row {hit.latest.call.request.index}), which is not part of the key: such "
        "results must not be cached.",
    )


def _stale(hit: _Hit) -> Iterator[Found]:
    came, asked_ms = hit.latest.answer, hit.call.request.at_ms
    if hit.kept is None or came.at_ms is None or asked_ms is None:
        return
    stale_ms = came.at_ms + ttl_of(came)
    if asked_ms < stale_ms:
        return
    errors = [] if hit.asked is None else hit.asked.errors
    if _any(errors, came.index, hit.call.request.index):
        # It has tried in vain to fetch it again, and may go on with what it has.
        return
    yield Found(
        hit.answer,
        f"{_from_cache(hit)}, and it is stale: it came at {came.at_ms:g} ms with "
        f"ttlMs {show(came.result.get('ttlMs'))}, and was asked for at {asked_ms:g} ms. What is stale is "
        "to be fetched again when it is needed.",
    )


def _changed(hit: _Hit) -> Iterator[Found]:
    if hit.kept is None or hit.by is None or hit.notified < hit.latest.answer.index:
        return
    yield Found(
        hit.answer,
        f"{_from_cache(hit)}, and the server had said that it has changed (row "
        f"{hit.notified}): {hit.by.method} makes what was cached before stale at once, whatever its "
        "ttlMs says.",
        hint="Drop all that a notification is about when it comes.",
    )


# All rules here ask for the same hits, one after the other.
@lru_cache(maxsize=1)
def _hits(trace: Trace) -> tuple[_Hit, ...]:
    return tuple(_Cache(trace).hits())


def _of_hits(check: Callable[[_Hit], Iterator[Found]]) -> Callable[[Trace], Iterator[Found]]:
    def check_trace(trace: Trace) -> Iterator[Found]:
        # Without a gateway nothing is read, and nothing kept.
        has_gateway = any(one.server in INTERMEDIARIES for one in trace.connections)
        for hit in _hits(trace) if has_gateway else ():
            # What stood before the beginning may have been fetched for the same one, and under the same key.
            if not (hit.call.connection.began_late or hit.latest.call.connection.began_late):
                yield from check(hit)

    return check_trace


def _rule(id: str, level: Level, page: str, sentence: str, check: Callable[[_Hit], Iterator[Found]]) -> Rule:
    bound: Bound = "gateway"
    return Rule(id, level, bound, MODERN, {"modern": page}, sentence, on=each(Trace), check=_of_hits(check))


CACHING_GATEWAYS: Final[tuple[Rule, ...]] = (
    _rule(
        "caching-private-is-not-shared",
        MUST,
        SCOPE,
        "A private result is given to nobody but whom it came for.",
        _shared,
    ),
    _rule(
        "caching-key-is-method-and-params",
        MUST,
        KEY,
        "A cached result answers only requests with the same method and params.",
        _other_key,
    ),
    _rule(
        "caching-retry-is-not-kept",
        MUST,
        KEY,
        "The result of a retry with input responses or request state is not cached.",
        _of_a_retry,
    ),
    _rule(
        "caching-stale-is-fetched-again",
        SHOULD,
        FRESHNESS,
        "What is stale is fetched again before it is given out.",
        _stale,
    ),
    _rule(
        "caching-notification-ends-freshness",
        NOTE,
        NOTIFICATIONS,
        "A notification that something has changed makes what was cached of it stale at once.",
        _changed,
    ),
)
