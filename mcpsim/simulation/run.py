"""What a simulation leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcpsim.recording import Recording


@dataclass(frozen=True, repr=False)
class Run:
    """One finished run of a story.

    Attributes:
        recording: everything that happened.
        value: what the story returned.
        error: what the story raised, where `simulate` was told not to raise it; otherwise None.
    """

    recording: Recording
    value: Any = None
    error: Exception | None = None

    def __repr__(self) -> str:
        ended = f"raised {type(self.error).__name__}" if self.error is not None else "finished"
        return f"<Run {self.recording.title!r}: {len(self.recording.frames)} messages, {ended}>"

    def transcript(self, *, width: int = 100) -> str:
        """The run as text, one line a message: the same run gives the same text."""
        return self.recording.transcript(width=width)
