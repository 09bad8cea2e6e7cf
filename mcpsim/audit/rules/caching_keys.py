"""What a result is kept under, for how long it is fresh, and what ends that: for the rules about caching."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from mcpsim.audit.model import Call, Item
from mcpsim.recording.importing import MAX_TIME_MS
from mcpsim.utilities.caching import LISTS_OF, READ, RESOURCE_UPDATED, RETRY_MEMBERS

#: What of a result is not the same for everybody, although the result is.
_ABOUT_ONE_ANSWER: Final = frozenset({"_meta", "ttlMs", "cacheScope", "nextCursor", "resultType"})


def is_retry(call: Call) -> bool:
    """Whether a request brings the answers to questions, or a state."""
    return not RETRY_MEMBERS.isdisjoint(call.request.params)


def key_of(call: Call) -> str:
    """What tells a request's answer from others: its params, without what is about this one request."""
    params = call.request.params
    kept = {
        name: value
        for name, value in params.items()
        # A cursor of null is none.
        if value is not None and name != "_meta" and name not in RETRY_MEMBERS
    }
    return json.dumps(kept, sort_keys=True, default=str)


def contents_of(result: Mapping[str, Any]) -> str:
    """A result without what is about this one answer."""
    kept = {name: value for name, value in result.items() if name not in _ABOUT_ONE_ANSWER}
    return json.dumps(kept, sort_keys=True, default=str)


def ttl_of(item: Item) -> float:
    """For how long a result may count as fresh; 0 where it does not say it, or not as it should."""
    ttl_ms: Any = item.result.get("ttlMs")
    if isinstance(ttl_ms, bool) or not isinstance(ttl_ms, int | float):
        return 0
    # A whole number of JSON may be beyond what a double holds.
    return min(max(ttl_ms, 0), MAX_TIME_MS)


def fresh_until(item: Item) -> float | None:
    """When a result gets stale; None where the trace has no times."""
    return None if item.at_ms is None else item.at_ms + ttl_of(item)


def subject_of(call: Call) -> str:
    """What a notification about one resource would name; "" for another method."""
    uri = call.request.params.get("uri")
    return f"{READ} {uri}" if call.method == READ and isinstance(uri, str) else ""


def changed_by(item: Item) -> tuple[str, ...]:
    """What a notification says has changed: lists by their method, a resource by method and URI."""
    if item.kind != "notification":
        return ()
    if item.method == RESOURCE_UPDATED:
        return (f"{READ} {item.params.get('uri')}",)
    return LISTS_OF.get(item.method, ())


def in_time(answer: Item, later: Item) -> bool:
    """Whether a result is still fresh at a later item; also where the trace has no times."""
    until = fresh_until(answer)
    return until is None or later.at_ms is None or later.at_ms <= until
