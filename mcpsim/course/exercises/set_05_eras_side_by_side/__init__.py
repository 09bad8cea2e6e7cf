"""The exercises of lesson 05: the two eras, told apart, translated, and spoken by one client."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_05_eras_side_by_side import choose, dual, pairs, sort, translate

TITLE: Final = "Exercises 05, the eras side by side"


class EraExercises(ExerciseSet):
    """Five exercises on the eras.

    Attributes:
        sort: say in which era a message is at home.
        pairs: say which clients and servers understand each other, and in which era.
        choose: read the answer to the first modern request, and stay modern or fall back.
        translate: say the modern way what a legacy client sends in a session.
        dual: write a client that speaks what the server speaks.
    """

    notebook = Notebook(
        "05_eras_side_by_side",
        imports=(
            "from mcpsim import McpSimError, ProtocolError, simulate",
            "from mcpsim.course import exercises, help_desk",
        ),
        notes=(
            "Where a check plays something and finds a fault, it shows the messages under *On the wire*. "
            "`ex.dual.check(find_tools).recording` shows them in the player.",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.sort = self._exercise(sort.TASK)
        self.pairs = self._exercise(pairs.TASK)
        self.choose = self._exercise(choose.TASK)
        self.translate = self._exercise(translate.TASK)
        self.dual = self._exercise(dual.TASK)

    @property
    def found(self) -> dict[str, str]:
        """What crossed the wire, for the exercise `sort`, by letter."""
        return sort.shown()
