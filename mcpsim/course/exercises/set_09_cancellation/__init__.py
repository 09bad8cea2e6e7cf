"""The exercises of lesson 09: taking a request back, on both sides, and not waiting for ever."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_09_cancellation import clean_up, late, patience, signals

TITLE: Final = "Exercises 09, cancellation and timeouts"


class CancellationExercises(ExerciseSet):
    """Four exercises on cancellation and timeouts.

    Attributes:
        signals: say what is sent to cancel, by era, transport and sender.
        late: sort what comes in, also what comes too late.
        clean_up: write a tool that leaves nothing behind, whenever it is stopped.
        patience: call with a timeout that progress renews, and a maximum that it does not.
        kitchen: makes a server whose tool `brew` is the learner's; `look` says how the machine is.
    """

    kitchen = staticmethod(clean_up.kitchen)

    notebook = Notebook(
        "09_cancellation_and_timeouts",
        imports=(
            "from mcpsim import simulate",
            "from mcpsim.course import exercises, text_of, workshop",
        ),
        further=(
            "Lesson [10 Multi round-trip requests](../notebooks/10_multi_round_trip.ipynb).",
            "[All lessons](../notebooks/index.ipynb).",
        ),
        notes=(
            "Where a check plays something and finds a fault, it shows the messages under *On the wire*. "
            "`ex.patience.check(call_patiently).recording` shows them in the player.",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.signals = self._exercise(signals.TASK)
        self.late = self._exercise(late.TASK)
        self.clean_up = self._exercise(clean_up.TASK)
        self.patience = self._exercise(patience.TASK)
