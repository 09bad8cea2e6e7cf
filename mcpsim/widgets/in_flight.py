"""The requests of a recording: who waits for what, and who is at work on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcpsim.messages import ErrorResponse, Response, describe
from mcpsim.recording import Recording, events
from mcpsim.widgets.observed import is_observed
from mcpsim.widgets.reading import Conversation
from mcpsim.widgets.steps import Steps
from mcpsim.widgets.text import lane_name, one_line


def requests_of(
    recording: Recording, conversation: Conversation, steps: Steps, shown: int
) -> Iterator[dict[str, Any]]:
    """One dict a request.

    Args:
        shown: the last step that counts.

    Yields:
        `label`, `from`, `to`, `opened` (the step that sends it), `ended` (the step during which its sender
        stops waiting, or None), `outcome`, `reached` (the step during which it arrives, or None where it does
        not, or where nobody was there to see it) and `answered` (the step that sends an answer, or None).
    """
    arrivals: dict[int, int] = {}
    is_seen = not is_observed(recording)
    for index, event in enumerate(recording.events):
        if event.kind == events.DELIVERED and is_seen:
            arrivals.setdefault(event.frame, steps.at(index))
    answered: dict[int, int] = {}
    for frame in recording.frames:
        call = conversation.readings[frame.number].call
        if call is not None and isinstance(frame.parsed, Response | ErrorResponse):
            answered.setdefault(call.frame, steps.at(frame.index))
    for call in conversation.calls:
        opened = steps.at(call.index)
        if opened > shown:
            continue
        yield {
            "label": one_line(describe(call.request), 80),
            "from": lane_name(call.sender),
            "to": lane_name(call.receiver),
            "opened": opened,
            "ended": steps.at(call.ended) if call.ended is not None else None,
            "outcome": call.outcome,
            "reached": arrivals.get(call.frame),
            "answered": answered.get(call.frame),
        }
