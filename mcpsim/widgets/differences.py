"""What changed between two JSON values, member by member."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final, NamedTuple, cast

from mcpsim.widgets.pretty import Path
from mcpsim.widgets.text import compact_text, one_line

ADDED: Final = "added"
REMOVED: Final = "removed"
CHANGED: Final = "changed"

#: How many differences are looked for: two long lists can differ in everything.
MAX_FOUND: Final = 1_000
#: Below this depth two values are the same or not, and that is all.
MAX_DEPTH: Final = 12
#: How many items of a list are told apart.
MAX_ITEMS: Final = 500
SHOWN: Final = 90

#: What tells the items of a list apart, where they have it.
_NAMES: Final = ("name", "uri", "uriTemplate", "id")


class Difference(NamedTuple):
    """One member that is not the same in both values.

    Attributes:
        path: the keys that lead to it, in the later value where it is there, otherwise in the earlier one.
        kind: "added", "removed" or "changed".
        before, after: the values, on one line, cut where they are long; "" where there is none.
        name: what tells this item of a list apart from the others, otherwise "".
    """

    path: Path
    kind: str
    before: str
    after: str
    name: str = ""


def differences(before: Any, after: Any) -> tuple[Difference, ...]:
    """What was added, removed and changed from one JSON value to another, at most `MAX_FOUND` of it.

    Objects are compared member by member in any order. The items of a list are told apart by their `name`,
    `uri`, `uriTemplate` or `id` where all of them have one of these and no two have the same, and by their
    place in the list otherwise. `1`, `1.0` and `true` are three values.
    """
    return tuple(islice(_between(before, after, (), 0), MAX_FOUND))


def _between(before: Any, after: Any, path: Path, depth: int) -> Iterator[Difference]:
    if before is after:
        return
    if depth < MAX_DEPTH and isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        yield from _members(old, new, path, depth)
    elif depth < MAX_DEPTH and isinstance(before, list) and isinstance(after, list):
        yield from _items(cast("list[Any]", before), cast("list[Any]", after), path, depth)
    elif not _same(before, after):
        yield Difference(path, CHANGED, *_words(before, after))


def _members(
    before: Mapping[str, Any], after: Mapping[str, Any], path: Path, depth: int
) -> Iterator[Difference]:
    for key, value in after.items():
        if key in before:
            yield from _between(before[key], value, (*path, key), depth + 1)
        else:
            yield Difference((*path, key), ADDED, "", _word(value))
    for key, value in before.items():
        if key not in after:
            yield Difference((*path, key), REMOVED, _word(value), "")


def _items(before: list[Any], after: list[Any], path: Path, depth: int) -> Iterator[Difference]:
    by = next((key for key in _NAMES if _tells_apart(key, before) and _tells_apart(key, after)), "")
    if not by:
        # By place: what is behind the end of the shorter list was added or removed.
        yield from _by_place(before[:MAX_ITEMS], after[:MAX_ITEMS], path, depth)
        before, after = before[MAX_ITEMS:], after[MAX_ITEMS:]
        if not _same(before, after):
            yield Difference(path, CHANGED, _more(before), _more(after))
        return
    old = {item[by]: (place, item) for place, item in enumerate(before)}
    for place, item in enumerate(after):
        name = one_line(str(item[by]), SHOWN)
        if item[by] not in old:
            yield Difference((*path, place), ADDED, "", _word(item), name)
        else:
            inside = _between(old[item[by]][1], item, (*path, place), depth + 1)
            yield from (each._replace(name=each.name or name) for each in inside)
    new = {item[by] for item in after}
    for name, (place, item) in old.items():
        if name not in new:
            yield Difference((*path, place), REMOVED, _word(item), "", one_line(str(name), SHOWN))


def _by_place(before: list[Any], after: list[Any], path: Path, depth: int) -> Iterator[Difference]:
    both = min(len(before), len(after))
    for place in range(both):
        yield from _between(before[place], after[place], (*path, place), depth + 1)
    added = (Difference((*path, n), ADDED, "", _word(item)) for n, item in enumerate(after[both:], both))
    removed = (Difference((*path, n), REMOVED, _word(item), "") for n, item in enumerate(before[both:], both))
    yield from chain(added, removed)


def _more(items: list[Any]) -> str:
    return f"and {len(items):,} more items" if items else "no more items"


def _tells_apart(key: str, items: list[Any]) -> bool:
    if len(items) > MAX_ITEMS:
        return False
    found = [cast("dict[str, Any]", item).get(key) for item in items if isinstance(item, dict)]
    texts = [value for value in found if isinstance(value, str)]
    return len(texts) == len(items) == len(set(texts))


def _same(before: Any, after: Any) -> bool:
    """Whether two JSON values are the same; for Python `1`, `1.0` and `True` are."""
    if isinstance(before, str) or isinstance(after, str) or type(before) is not type(after):
        return type(before) is type(after) and before == after
    if not isinstance(before, dict | list):
        return bool(before == after)
    if len(cast("list[Any]", before)) != len(cast("list[Any]", after)):
        return False
    # As text, without going down into either by hand: it is as deep as a message may be.
    return _text(before) == _text(after)


def _text(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return compact_text(value)


def _words(before: Any, after: Any) -> tuple[str, str]:
    """Both values on one line; of two long texts, what is around the first place where they differ."""
    if isinstance(before, str) and isinstance(after, str) and max(len(before), len(after)) > SHOWN:
        start = max(0, _first_difference(before, after) - SHOWN // 3)
        return _from(before, start), _from(after, start)
    old, new = _word(before), _word(after)
    # Two values can look the same where they are cut.
    return (old, new) if old != new else (old, f"{new} (another one)")


def _first_difference(before: str, after: str) -> int:
    low, high = 0, min(len(before), len(after))
    # By halves, because the comparison of two long texts is much faster than a loop over their characters.
    while low < high:
        middle = (low + high + 1) // 2
        if before[:middle] == after[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _from(text: str, start: int) -> str:
    return one_line(f"{'…' if start else ''}{_word_of_text(text[start : start + SHOWN + 1])}", SHOWN + 8)


def _word_of_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _word(value: Any) -> str:
    """A value on one line. Of a large one only the beginning is looked at."""
    if isinstance(value, str):
        return one_line(_word_of_text(value[: SHOWN + 1]), SHOWN)
    return one_line(compact_text(_beginning(value, 0)), SHOWN)


def _beginning(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return value[: SHOWN + 1]
    if depth > 6:
        return "…"
    if isinstance(value, dict):
        members = islice(cast("dict[str, Any]", value).items(), 20)
        return {key: _beginning(member, depth + 1) for key, member in members}
    if isinstance(value, list):
        return [_beginning(item, depth + 1) for item in cast("list[Any]", value)[:20]]
    return value
