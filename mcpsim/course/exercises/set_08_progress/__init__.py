"""The exercises of lesson 08: who asks for progress, what is reported, and what a user sees of it."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_08_progress import bar, faulty, report, tokens
from mcpsim.course.exercises.set_08_progress.traces import TRACES, in_short
from mcpsim.recording import Recording

TITLE: Final = "Exercises 08, progress"


class ProgressExercises(ExerciseSet):
    """Four exercises on progress.

    Attributes:
        faulty: tell traces that break a rule from those that only look odd.
        tokens: choose the token of a request.
        bar: make a bar of notifications, one that never goes back.
        report: write a tool that reports its progress.
        traces: the eight traces of `faulty`, by letter, as recordings.
        traces_in_short: the same, as text.
    """

    notebook = Notebook(
        "08_progress",
        imports=("from mcpsim import Player, Server, simulate", "from mcpsim.course import exercises"),
        further=(
            "Lesson [09 Cancellation and timeouts](../notebooks/09_cancellation_and_timeouts.ipynb).",
            "[All lessons](../notebooks/index.ipynb).",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.faulty = self._exercise(faulty.TASK)
        self.tokens = self._exercise(tokens.TASK)
        self.bar = self._exercise(bar.TASK)
        self.report = self._exercise(report.TASK)

    @cached_property
    def traces(self) -> dict[str, Recording]:
        """By letter."""
        return {letter: trace.recording for letter, trace in TRACES.items()}

    @cached_property
    def traces_in_short(self) -> str:
        """By letter, a line a message."""
        return in_short()
