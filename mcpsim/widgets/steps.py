"""The steps of a recording: what the player stops at."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from mcpsim.recording import Event, Frame, Recording, events
from mcpsim.widgets.questions import Question, questions_of

#: Events that are a step of their own. A handler that starts or ends well is drawn as a bar: the request
#: and the response already tell of it. One that is cancelled leaves no other trace, so it is a step. So is
#: whatever a client asks its user or its host, and the answer: no message tells of that.
STEP_KINDS: Final = frozenset({events.SENT, events.CLOSED, events.NOTE, events.HANDLER_CANCELLED})


@dataclass(frozen=True, slots=True)
class Step:
    """One stop of the player.

    Attributes:
        number: from 1.
        index: the position of its event in the recording.
        frame: the frame that is sent, or None.
        question: what somebody beside the client is asked, or has answered; None for any other step.
    """

    number: int
    index: int
    event: Event
    frame: Frame | None
    question: Question | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """All steps, and from an event to its step.

    A step lasts from its own event to the event before the next step. What is remembered "at" a step is
    what is remembered at the end of it: the message has left, and what it set off has happened, as far
    as that came before the next step.
    """

    all: tuple[Step, ...]
    indexes: tuple[int, ...]

    def at(self, index: int) -> int:
        """The number of the step during which the event at `index` happens; 0 before the first."""
        return bisect_right(self.indexes, index)


def steps_of(recording: Recording) -> Steps:
    """The steps of a recording, in order."""
    frames = {frame.index: frame for frame in recording.frames}
    questions = questions_of(recording)
    found: list[Step] = []
    for index, event in enumerate(recording.events):
        if event.kind in STEP_KINDS or index in questions:
            found.append(Step(len(found) + 1, index, event, frames.get(index), questions.get(index)))
    return Steps(tuple(found), tuple(step.index for step in found))
