"""Where the steps of a long recording are, in columns: what a picture has to know of steps that it does not
show yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mcpsim.widgets.rows import Placed


def outline_of(placed: Iterable[Placed], lanes: Sequence[str]) -> dict[str, list[Any]]:
    """Some steps, one after the other, as columns.

    Args:
        placed: where they are.
        lanes: all lanes.

    Returns:
        `kinds` and `fates`, each of them once; and with one value a step `kind` and `fate` (positions in
        those), `from` and `to` (positions in `lanes`, or -1), `y` (how far below the step before it; of the
        first one, below the top), `y2` (how far below `y`, or None), `arrives` (as in `Placed`), `exchange`,
        `thread` and `part`.
    """
    kinds: dict[str, int] = {}
    fates: dict[str, int] = {}
    at = {lane: place for place, lane in enumerate(lanes)}
    at[""] = -1
    rows: list[tuple[Any, ...]] = []
    above = 0
    for one in placed:
        rows.append(
            (
                kinds.setdefault(one.kind, len(kinds)),
                fates.setdefault(one.fate, len(fates)),
                at[one.sender],
                at[one.receiver],
                one.y - above,
                None if one.y2 is None else one.y2 - one.y,
                one.arrives,
                one.exchange,
                one.thread,
                one.part,
            )
        )
        above = one.y
    names = ("kind", "fate", "from", "to", "y", "y2", "arrives", "exchange", "thread", "part")
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    found: dict[str, list[Any]] = {"kinds": list(kinds), "fates": list(fates)}
    found.update((name, list(column)) for name, column in zip(names, columns, strict=True))
    return found
