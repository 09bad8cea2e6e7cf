"""What occurs in a part of a trace: by that a rule is spared the parts in which it can find nothing."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, Final

from mcpsim.audit.model import Connection, Item, Trace

TRANSPORTS: Final = ("stdio", "http")


def occurring(items: Iterable[Item], *, is_http: bool) -> set[Any]:
    """What occurs in these items: see `On`; and the eras."""
    found: set[Any] = {TRANSPORTS[is_http]}
    for item in items:
        found.add(item.kind)
        found.add(item.event)
        found.add(item.method)
        found.add(item.era)
        found.update(item.params, item.result, item.meta)
    return found


def connections_with(trace: Trace, names: Iterable[str]) -> list[Connection]:
    """The connections on which one of these occurs."""
    sought = frozenset(names)
    return [one for one in trace.connections if not sought.isdisjoint(one.occurs)]


def items_with(trace: Trace, names: Iterable[str]) -> list[Item]:
    """All items, in order, of the connections on which one of these occurs."""
    found = [item for connection in connections_with(trace, names) for item in connection.items]
    # The members of a batch share a row, and stand in order already.
    found.sort(key=attrgetter("index"))
    return found
