"""Request states: what a client holds for a server, and what the server sees inside.

To the client a request state is opaque. Our servers seal it with a signature, which keeps it from being
changed, and not from being read: so a recording is enough to show what the server finds in it.

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from mcpsim.errors import MalformedMessage
from mcpsim.messages import Request, Response, read_json
from mcpsim.recording import Frame, Recording, events
from mcpsim.widgets.facts import target
from mcpsim.widgets.passing import Passing
from mcpsim.widgets.reading import Conversation, params_of
from mcpsim.widgets.steps import Steps
from mcpsim.widgets.text import clock, compact_text, cut, lane_name, one_line, visible

#: How long a state may be to be looked into.
MAX_STATE: Final = 20_000
SHOWN: Final = 160
MAX_VALUE: Final = 600
#: A number of milliseconds above this counts from 1970 and not from the beginning of a run.
_A_DATE: Final = 10**11

_MEMBERS: Final = frozenset({"payload", "principal", "method", "digest", "expires", "nonce"})


def inside(state: str) -> tuple[tuple[str, str], ...]:
    """What stands in a request state as `mcpsim.utilities.request_state` seals it, in words.

    Returns:
        Pairs of a name and a value, or () for a state of another make, in which only its server can read.
    """
    text, dot, signature = state.rpartition(".")
    if not dot or len(state) > MAX_STATE:
        return ()
    try:
        content = read_json(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, MalformedMessage):
        return ()
    found = cast("dict[str, Any]", content) if isinstance(content, dict) else dict[str, Any]()
    if found.keys() != _MEMBERS:
        return ()
    once = found["nonce"]
    rows = (
        ("what it wrote down", compact_text(found["payload"])),
        ("for whom", str(found["principal"]) or "for nobody by name"),
        ("for which request", f"{found['method']}, with the parameters whose digest is {found['digest']}"),
        ("good until", _until(found["expires"])),
        ("how often", f"once; its name is {once}" if once else "as often as it comes, until then"),
        ("signature", f"{signature} (HMAC-SHA256 over all of it: only the server has the key)"),
    )
    return tuple((name, visible(cut(value, MAX_VALUE))) for name, value in rows)


def _until(ms: Any) -> str:
    if isinstance(ms, int) and not isinstance(ms, bool) and 0 <= ms < _A_DATE:
        return f"{clock(ms * 1000)} on the clock of the run"
    return f"{compact_text(ms)} ms on the server's clock"


@dataclass(slots=True)
class States:
    """The request states of a recording.

    Attributes:
        all: each of them once, as plain values: `text` (the beginning), `size` (in characters), `inside` (a
            list of [name, value], empty where only the server can read it) and `given` (whether a server
            gave it).
        held: who holds which: `party`, `state` (a position in `all`), `label` (the request that it belongs
            to), `from` (the step during which it arrives) and `until` (the step that takes it back, or None).
        of_frame: for the number of a frame that carries a state, its position in `all`.
    """

    all: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    held: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    of_frame: dict[int, int] = field(default_factory=dict[int, int])


def states_of(recording: Recording, conversation: Conversation, steps: Steps, passing: Passing) -> States:
    """Find the request states. The time it takes grows linearly with the number of events."""
    found = States()
    positions: dict[str, int] = {}
    holding: dict[tuple[str, int], dict[str, Any]] = {}
    arrivals = _arrivals(recording)
    for frame in recording.frames:
        state = _state(frame)
        if state is None:
            continue
        position = positions.setdefault(state, len(found.all))
        given = isinstance(frame.parsed, Response)
        if position == len(found.all):
            found.all.append(_shown(state, given=given))
        found.of_frame[frame.number] = position
        if given and frame.number in arrivals and frame.receiver not in passing.gateways:
            call = conversation.readings[frame.number].call
            one = {
                "party": lane_name(frame.receiver),
                "state": position,
                "label": one_line(target(call).replace("`", ""), 80),
                "from": steps.at(arrivals[frame.number]),
                "until": None,
            }
            holding[frame.receiver, position] = one
            found.held.append(one)
        elif not given and (frame.sender, position) in holding:
            holding.pop((frame.sender, position))["until"] = steps.at(frame.index)
    return found


def _state(frame: Frame) -> str | None:
    if not isinstance(frame.parsed, Request | Response):
        return None
    members: Mapping[str, Any] = params_of(frame.parsed)
    state = members.get("requestState")
    return state if isinstance(state, str) else None


def _shown(state: str, *, given: bool) -> dict[str, Any]:
    rows = [list(row) for row in inside(state)]
    return {"text": one_line(state, SHOWN), "size": len(state), "inside": rows, "given": given}


def _arrivals(recording: Recording) -> Mapping[int, int]:
    return dict(_delivered(recording))


def _delivered(recording: Recording) -> Iterator[tuple[int, int]]:
    for index, event in enumerate(recording.events):
        if event.kind == events.DELIVERED:
            yield event.frame, index
