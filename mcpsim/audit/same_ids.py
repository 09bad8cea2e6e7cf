"""Requests whose id another one has: what comes back for that id need not be for the one that it seems.

Whoever gives an id twice breaks a rule, and the other side is not to blame for what it makes of that.
"""

from __future__ import annotations

from mcpsim.audit.building import Key, key_of
from mcpsim.audit.model import Call, Connection
from mcpsim.audit.once import once


@once
def given_before(connection: Connection) -> frozenset[Call]:
    """The calls whose id an earlier request of the same side has."""
    seen: set[Key] = set()
    found: set[Call] = set()
    for call in connection.calls:
        key = key_of(call.asked_by, call.request.id)
        if key is None:
            continue
        if key in seen:
            found.add(call)
        seen.add(key)
    return frozenset(found)


@once
def in_flight_together(connection: Connection) -> frozenset[Call]:
    """The calls whose id was in use when they were sent, and those that used it."""
    latest: dict[Key, Call] = {}
    found: set[Call] = set()
    for call in connection.calls:
        key = key_of(call.asked_by, call.request.id)
        if key is None:
            continue
        before = latest.get(key)
        if before is not None and (before.answer is None or before.answer.index > call.request.index):
            found |= {before, call}
        latest[key] = call
    return frozenset(found)
