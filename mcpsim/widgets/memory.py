"""What each party remembers, step by step, and what just changed."""

from __future__ import annotations

from typing import Any, Final, cast

from mcpsim.recording import Recording, events
from mcpsim.widgets.steps import Steps
from mcpsim.widgets.text import compact_text, cut, lane_name, one_line, visible

MAX_VALUE: Final = 1_200
MAX_KEYS: Final = 60


def memory_of(recording: Recording, steps: Steps) -> list[dict[str, Any]]:
    """For each party, what it remembers from which step on.

    Returns:
        One dict a party (and connection, where a party has several): `party`, `connection` (0 where it has
        only one) and `at`, a list of `{step, rows}`; a row is `[key, value, change]` with the change "",
        "new", "changed" or "forgotten".
    """
    states: dict[tuple[str, int], list[tuple[int, dict[str, Any]]]] = {}
    for index, event in enumerate(recording.events):
        if event.kind != events.STATE:
            continue
        history = states.setdefault((event.party, event.connection), [])
        entry = (steps.at(index), event.detail or {})
        # Within one step only what is remembered at its end is shown.
        if history and history[-1][0] == entry[0]:
            history[-1] = entry
        else:
            history.append(entry)
    parties = [party for party, _ in states]
    lanes = {party: place for place, party in enumerate(recording.parties)}
    in_order = sorted(states.items(), key=lambda item: (lanes.get(item[0][0], len(lanes)), item[0][1]))
    return [
        {
            "party": lane_name(party),
            "connection": connection if parties.count(party) > 1 else 0,
            "at": _snapshots(history),
        }
        for (party, connection), history in in_order
    ]


def _snapshots(history: list[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    before: dict[str, Any] = {}
    for step, now in history:
        rows = [[one_line(key, 80), _value(value), _change(before, key, value)] for key, value in now.items()]
        rows += [[one_line(key, 80), "", "forgotten"] for key in before if key not in now]
        if len(rows) > MAX_KEYS:
            rows = [*rows[:MAX_KEYS], ["…", f"{len(rows) - MAX_KEYS} more", ""]]
        found.append({"step": step, "rows": rows})
        before = now
    return found


def _change(before: dict[str, Any], key: str, value: Any) -> str:
    if key not in before:
        return "new"
    return "" if before[key] == value else "changed"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return visible(cut(value, MAX_VALUE))
    items = cast("list[Any]", value) if isinstance(value, list) else None
    if items is not None and all(isinstance(item, str | int) for item in items):
        return visible(cut(", ".join(str(item) for item in items), MAX_VALUE)) or "none"
    return visible(cut(compact_text(cast("Any", value)), MAX_VALUE))
