"""What a party remembers, as rows that people can read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from mcpsim.widgets.facts import FILTERS
from mcpsim.widgets.text import clock, compact_text, cut, one_line, visible

MAX_VALUE: Final = 1_200
MAX_KEY: Final = 120

# As a cache tells of what it keeps: "resources/read uri 'a:b': public, fresh until 30040 ms".
_KEPT: Final = re.compile(
    r"(?P<what>.*): (?P<scope>\w+), (?P<state>fresh until (?P<ms>[\d.e+]+) ms|\(?\w+\)?)$"
)


def rows_of(state: Mapping[str, Any], now_us: int) -> dict[str, str]:
    """The rows of a party at a moment, in order: what is remembered, and its value in words.

    Args:
        state: what the recording says that the party remembers.
        now_us: the moment, in microseconds since the run began; says what is stale.
    """
    rows: dict[str, str] = {}
    for key, value in state.items():
        split = _SPLIT.get(key)
        parts = dict(split(value, now_us)) if split is not None else {}
        for name, words in (parts or {key: _value(key, value)}).items():
            rows[one_line(name, MAX_KEY)] = visible(cut(words, MAX_VALUE))
    return rows


def fresh_until_us(state: Mapping[str, Any]) -> Iterator[int]:
    """When what is kept becomes stale, in microseconds since the run began."""
    for line in _items(state.get("cache")):
        found = _KEPT.match(line) if isinstance(line, str) else None
        if found and found["ms"] and (us := _us(found["ms"])) is not None:
            yield us


def kept_until_us(state: Mapping[str, Any]) -> dict[str, int]:
    """For the rows of kept results that become stale by themselves, when, in microseconds."""
    found: dict[str, int] = {}
    for line in _items(state.get("cache")):
        kept = _KEPT.match(line) if isinstance(line, str) else None
        if kept and kept["ms"] and (us := _us(kept["ms"])) is not None:
            found[one_line(f"kept: {kept['what']}", MAX_KEY)] = us
    return found


def _us(ms: str) -> int | None:
    try:
        return round(float(ms) * 1000)
    except (ValueError, OverflowError):
        return None


def _cache(value: Any, now_us: int) -> Iterator[tuple[str, str]]:
    for line in _items(value):
        found = _KEPT.match(line) if isinstance(line, str) else None
        if found is None:
            return
        until = _us(found["ms"]) if found["ms"] else None
        words = found["state"].strip("()")
        if until is not None:
            words = f"fresh until {clock(until)}" if now_us < until else f"stale since {clock(until)}"
        yield f"kept: {found['what']}", f"{found['scope']}, {words}"


def _subscriptions(value: Any, now_us: int) -> Iterator[tuple[str, str]]:
    for item in _items(value):
        one = _object(item)
        if "id" not in one or "notifications" not in one:
            return
        yield f"subscription #{compact_text(one['id'])}", _filter(_object(one["notifications"]))


def _filter(wanted: Mapping[str, Any]) -> str:
    parts = [words for key, words in FILTERS.items() if wanted.get(key) is True]
    parts += [f"resource {uri}" for uri in _items(wanted.get("resourceSubscriptions"))]
    return ", ".join(parts) or "nothing"


def _sessions(value: Any, now_us: int) -> Iterator[tuple[str, str]]:
    for id, replica in _object(value).items():
        yield f"session {id}", f"at {_plain(replica)}"
    for item in _items(value):
        one = dict(_object(item))
        if "session id" not in one:
            return
        id = one.pop("session id")
        yield f"session {id}", ", ".join(f"{key}: {_value(key, each)}" for key, each in one.items())


_SPLIT: Final[Mapping[str, Callable[[Any, int], Iterator[tuple[str, str]]]]] = {
    "cache": _cache,
    "subscriptions": _subscriptions,
    "sessions": _sessions,
}


def _value(key: str, value: Any) -> str:
    if value in ({}, []):
        return "none"
    members = _object(value)
    if key.endswith("capabilities") and members:
        return ", ".join(_capability(name, given) for name, given in members.items())
    if members and members.keys() <= {"name", "version"}:
        return " ".join(_plain(members[part]) for part in ("name", "version") if part in members)
    items = _items(value)
    if items and all(isinstance(item, str | int) for item in items):
        return ", ".join(str(item) for item in items)
    return _plain(value)


def _capability(name: str, given: Any) -> str:
    inner = [key for key, value in _object(given).items() if value is not False]
    return f"{name} ({', '.join(inner)})" if inner else name


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else compact_text(value)


def _items(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _object(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
