"""What clients do with results that may be kept, as far as one connection shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from mcpsim.audit.gathering import LISTS
from mcpsim.audit.model import Call, Connection, Item
from mcpsim.audit.once import once
from mcpsim.audit.rule import ALL, MODERN, MUST, NOTE, SHOULD, Found, Rule, each
from mcpsim.audit.rules.caching_keys import changed_by, is_retry, key_of, subject_of, ttl_of
from mcpsim.errors import INVALID_PARAMS
from mcpsim.recording.interchange import INTERMEDIARIES
from mcpsim.recording.words import show
from mcpsim.utilities.caching import CACHEABLE

TTL: Final = "server/utilities/caching#time-to-live-ttl-field"
FRESHNESS: Final = "server/utilities/caching#freshness-calculation"
PAGES: Final = "server/utilities/caching#interaction-with-pagination"
NOTIFICATIONS: Final = "server/utilities/caching#interaction-with-notifications"

_UNKNOWN_NAME: Final = frozenset({-32601, INVALID_PARAMS})
_USES: Final[Mapping[str, str]] = {"tools/call": "tools/list", "prompts/get": "prompts/list"}


def _dropped_pages(connection: Connection) -> Iterator[Found]:
    if connection.client in INTERMEDIARIES or not connection.walks:
        return
    given: dict[tuple[str, str | None], set[str]] = {}
    # The cursors of before an error about one of them, with that one.
    stale: dict[tuple[str, str | None], tuple[set[str], str]] = {}
    for item in connection.items:
        call = item.call
        if call is None or call.method not in LISTS or call.era != "modern":
            continue
        key = call.method, call.principal
        cursor: Any = call.request.params.get("cursor")
        if item is call.request:
            if cursor is None:
                stale.pop(key, None)
                given.pop(key, None)
            elif key in stale and isinstance(cursor, str) and cursor in stale[key][0]:
                yield Found(
                    item,
                    f"The server has refused the cursor {show(stale[key][1])}, and the client goes on with "
                    f"{show(cursor)}, which is as old. It is to drop all pages of {call.method} and begin "
                    "anew, without a cursor.",
                )
        elif item is call.answer and item.kind == "response":
            following = item.result.get("nextCursor")
            if isinstance(following, str):
                given.setdefault(key, set()).add(following)
                if key in stale:
                    stale[key][0].discard(following)
        elif item is call.answer and item.code == INVALID_PARAMS and isinstance(cursor, str):
            known = given.get(key)
            if known is not None and cursor in known:
                stale[key] = given.pop(key), cursor


@dataclass(slots=True)
class _Fetched:
    """How one result is fetched again and again.

    Attributes:
        answer: the last one.
        asked_ms: when it was asked for last.
        early: how many times it was asked for while it was fresh.
        on_time: how many times in a row it was asked for just when it got stale.
        interval_ms, steady: the last time between two requests, and how many in a row were the same.
        errors: how many errors there had been when it was asked for last.
    """

    answer: Item | None = None
    asked_ms: float | None = None
    early: int = 0
    on_time: int = 0
    interval_ms: float = 0
    steady: int = 0
    errors: int = 0


_EARLY: Final = 2
_ON_TIME: Final = 3
_STEADY: Final = 5
_SHORTEST_MS: Final = 1_000
_TOLERANCE: Final = 0.02


@once
def _fetches(connection: Connection) -> tuple[tuple[str, Item, _Fetched], ...]:
    return tuple((what, item, replace(one)) for what, item, one in _find_fetches(connection))


def _find_fetches(connection: Connection) -> Iterator[tuple[str, Item, _Fetched]]:
    """Says where a client fetches again what is fresh ("early"), just when it gets stale ("on time"), or at
    the same interval again and again ("steady")."""
    fetched = Counter(call.method for call in connection.calls if call.method in CACHEABLE)
    # Nothing is said before the third time.
    if connection.client in INTERMEDIARIES or max(fetched.values(), default=0) <= _EARLY:
        return
    known: dict[tuple[str, str | None, str], _Fetched] = {}
    asked: dict[Call, _Fetched] = {}
    by_subject: dict[str, list[_Fetched]] = {}
    errors = 0
    for item in connection.items:
        for name in changed_by(item):
            for one in by_subject.pop(name, ()):
                one.answer = None
                one.on_time = one.steady = one.early = 0
        errors += item.kind == "error"
        call = item.call
        if call is None or call.method not in CACHEABLE or call.era != "modern" or is_retry(call):
            continue
        if item is call.request:
            one = known.setdefault((call.method, call.principal, key_of(call)), _Fetched())
            asked[call] = one
            if one.errors != errors:
                # An error is a reason to look again.
                one.errors, one.early = errors, -1
            yield from _again(item, one)
            one.asked_ms = item.at_ms
        elif item is call.answer and item.kind == "response" and call in asked:
            one = asked[call]
            one.answer = item
            by_subject.setdefault(subject_of(call) or call.method, []).append(one)


def _again(item: Item, one: _Fetched) -> Iterator[tuple[str, Item, _Fetched]]:
    answer = one.answer
    if answer is None or item.at_ms is None or answer.at_ms is None:
        return
    ttl_ms = ttl_of(answer)
    waited_ms = item.at_ms - answer.at_ms
    if waited_ms < ttl_ms:
        one.early += 1
        if one.early == _EARLY:
            yield "early", item, one
    if ttl_ms >= _SHORTEST_MS and abs(waited_ms - ttl_ms) <= ttl_ms * _TOLERANCE:
        one.on_time += 1
        if one.on_time == _ON_TIME:
            yield "on time", item, one
    else:
        one.on_time = 0
    if one.asked_ms is None:
        return
    interval_ms = item.at_ms - one.asked_ms
    same = interval_ms >= _SHORTEST_MS and abs(interval_ms - one.interval_ms) <= interval_ms * _TOLERANCE / 2
    one.steady = one.steady + 1 if same else 1
    one.interval_ms = interval_ms
    if one.steady == _STEADY:
        yield "steady", item, one


def _fetched_early(connection: Connection) -> Iterator[Found]:
    for what, item, one in _fetches(connection):
        if what == "early" and one.answer is not None:
            yield Found(
                item,
                f"The client asks for {item.method} again, and what it has is still fresh (ttlMs "
                f"{show(one.answer.result.get('ttlMs'))}). It may, with a reason; the trace shows none.",
                level=NOTE,
            )


def _polled(connection: Connection) -> Iterator[Found]:
    for what, item, one in _fetches(connection):
        if what == "on time" and one.answer is not None:
            yield Found(
                item,
                f"Three times in a row {item.method} is fetched just when it gets stale (ttlMs "
                f"{show(one.answer.result.get('ttlMs'))}): probably the client takes ttlMs for an "
                "interval to poll at.",
                hint="Look at the age of a result when it is needed.",
            )


def _steady(connection: Connection) -> Iterator[Found]:
    for what, item, one in _fetches(connection):
        if what == "steady":
            yield Found(
                item,
                f"{item.method} is fetched every {one.interval_ms / 1000:g} s, again and again. If the "
                "client polls, it must add some jitter, and wait longer when nothing changes.",
                level=NOTE,
            )


def _is_unknown(call: Call) -> bool:
    return call.method in _USES and call.answer is not None and call.answer.code in _UNKNOWN_NAME


def _stale_used(connection: Connection) -> Iterator[Found]:
    if connection.client in INTERMEDIARIES or not any(_is_unknown(call) for call in connection.calls):
        return
    changed: dict[str, Item] = {}
    for item in connection.items:
        for name in changed_by(item):
            changed[name] = item
        call = item.call
        if call is None or call.asked_by != "client":
            continue
        if item is call.request:
            changed.pop(call.method, None)
        elif item is call.answer and item.code in _UNKNOWN_NAME:
            notified = changed.get(_USES.get(call.method, ""))
            if notified is not None and notified.index < call.request.index:
                yield Found(
                    call.request,
                    f"The list had changed (row {notified.index}), and the client has not read it again; "
                    f"what it asks for, {show(call.request.params.get('name'))}, is refused. It may be gone.",
                    hint=f"Ask for {_USES[call.method]} after such a notification.",
                )


CACHING_CLIENTS: Final[tuple[Rule, ...]] = (
    Rule(
        "caching-wrong-cursor-drops-pages",
        SHOULD,
        "client",
        MODERN,
        {"modern": PAGES},
        "When a cursor is not valid any more, a client drops all pages of the list and begins anew.",
        on=each(Connection, needs=("nextCursor", "error")),
        check=_dropped_pages,
    ),
    Rule(
        "caching-fresh-is-not-fetched",
        SHOULD,
        "client",
        MODERN,
        {"modern": TTL},
        "A client takes a result for fresh for as long as its ttlMs says.",
        on=each(Connection),
        check=_fetched_early,
    ),
    Rule(
        "caching-ttl-is-no-interval",
        SHOULD,
        "client",
        MODERN,
        {"modern": FRESHNESS},
        "A client does not poll at the interval of ttlMs.",
        on=each(Connection),
        check=_polled,
    ),
    Rule(
        "caching-polling-has-jitter",
        MUST,
        "client",
        MODERN,
        {"modern": FRESHNESS},
        "Whoever polls does it with jitter and backoff.",
        on=each(Connection),
        check=_steady,
    ),
    Rule(
        "caching-changed-list-is-read-again",
        NOTE,
        "client",
        ALL,
        {"modern": NOTIFICATIONS, "legacy": "server/tools#list-changed-notification"},
        "After a notification that a list has changed, a client reads it again before it relies on it.",
        on=each(Connection, needs=("notification",)),
        check=_stale_used,
    ),
)
