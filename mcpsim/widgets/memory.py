"""What each party remembers, step by step, and what just changed."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Final

from mcpsim.eras.pages import LEGACY, MODERN
from mcpsim.messages import Response
from mcpsim.recording import Recording, events
from mcpsim.widgets.observed import is_observed
from mcpsim.widgets.passing import Passing
from mcpsim.widgets.reading import Conversation
from mcpsim.widgets.remembered import fresh_until_us, kept_until_us, rows_of
from mcpsim.widgets.steps import Steps
from mcpsim.widgets.text import lane_name

MAX_KEYS: Final = 60

_STATELESS: Final = "Nothing. Each request brings along all that the server needs to answer it."
_NO_SESSION: Final = "Nothing: no session is open."

# The step from which on it holds, and what is remembered.
_Entry = tuple[int, dict[str, Any]]


def memory_of(recording: Recording, steps: Steps) -> list[dict[str, Any]]:
    """For each party, what it remembers from which step on.

    Returns:
        One dict a party (and connection, where a party has several): `party`, `connection` (0 where it has
        only one) and `at`, a list of `{step, rows}`; a row is `[key, value, change]` with the change "",
        "new", "changed" or "forgotten". A kept result has two members more: until when it is fresh, and when
        it was kept, both in microseconds since the run began.
    """
    states: dict[tuple[str, int], list[_Entry]] = {}
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
            "at": _snapshots(_with_time(history, steps), steps),
        }
        for (party, connection), history in in_order
    ]


def nothing_of(recording: Recording, conversation: Conversation, passing: Passing) -> dict[str, str]:
    """For each party, in a sentence, what it means that it remembers nothing at a step."""
    if is_observed(recording):
        return {lane_name(party): "Not known: the trace does not say." for party in _parties(recording)}
    clients: set[str] = set()
    servers: dict[str, set[str]] = {}
    for frame in recording.frames:
        reading = conversation.readings[frame.number]
        client, server = frame.sender, frame.receiver
        if reading.from_server:
            client, server = server, client
        clients.add(client)
        servers.setdefault(server, set()).add(conversation.eras.get(frame.connection, MODERN))
    # A result out of nowhere comes from what a gateway keeps; where it tells of that it is shown.
    told = {event.party for event in recording.events if event.kind == events.STATE}
    by_themselves = {
        frame.sender
        for frame in recording.frames
        if frame.number in passing.own and isinstance(frame.parsed, Response) and frame.sender not in told
    }
    found: dict[str, str] = {}
    for party in _parties(recording):
        if party in by_themselves:
            words = "Not known: it answers by itself, and does not say what it keeps."
        elif party in passing.gateways:
            words = "Nothing: it passes messages on."
        elif party in servers:
            words = _NO_SESSION if LEGACY in servers[party] else _STATELESS
        elif party in clients:
            words = "Nothing."
        else:
            words = "Nothing of the protocol: it takes no part in it."
        found[lane_name(party)] = words
    return found


def _parties(recording: Recording) -> tuple[str, ...]:
    found = dict.fromkeys(recording.parties)
    for event in recording.events:
        found.setdefault(event.party)
        if event.peer:
            found.setdefault(event.peer)
    return tuple(found)


def _with_time(history: list[_Entry], steps: Steps) -> list[_Entry]:
    """The same, and once more at each step by which a kept result has become stale."""
    times = [step.event.at_us for step in steps.all]
    found: list[_Entry] = []
    for place, (step, state) in enumerate(history):
        found.append((step, state))
        after = history[place + 1][0] if place + 1 < len(history) else len(times) + 1
        turns = {bisect_left(times, us, lo=min(step, len(times))) + 1 for us in fresh_until_us(state)}
        found += [(turn, state) for turn in sorted(turns) if step < turn < after and turn <= len(times)]
    return found


def _snapshots(history: list[_Entry], steps: Steps) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    before: dict[str, str] = {}
    since: dict[tuple[str, int], int] = {}
    for step, state in history:
        at_us = steps.all[step - 1].event.at_us if step else 0
        now = rows_of(state, at_us)
        until = kept_until_us(state)
        rows: list[list[Any]] = []
        for key, value in now.items():
            row: list[Any] = [key, value, _change(before, key, value)]
            if key in until:
                row += [until[key], since.setdefault((key, until[key]), at_us)]
            rows.append(row)
        rows += [[key, "", "forgotten"] for key in before if key not in now]
        if len(rows) > MAX_KEYS:
            rows = [*rows[:MAX_KEYS], ["…", f"{len(rows) - MAX_KEYS} more", ""]]
        found.append({"step": step, "rows": rows})
        before = now
    return found


def _change(before: dict[str, str], key: str, value: str) -> str:
    if key not in before:
        return "new"
    return "" if before[key] == value else "changed"
