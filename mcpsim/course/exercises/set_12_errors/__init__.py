"""The exercises of lesson 12: errors, and who reads them."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_12_errors import again, codes, invoice, kinds, outcome

TITLE: Final = "Exercises 12, errors"


class ErrorExercises(ExerciseSet):
    """Five exercises on errors.

    Attributes:
        kinds: tell tool errors from protocol errors.
        codes: name the code of a fault in a revision.
        outcome: tell what came of a call, whatever it was.
        invoice: write errors that help the model, and give nothing away.
        again: try again where nobody knows whether the work was done.
    """

    notebook = Notebook(
        "12_errors",
        imports=(
            "from mcpsim import Client, ProtocolError, RequestTimeout, ToolError, simulate",
            "from mcpsim.course import exercises, help_desk, text_of",
        ),
        further=(
            "[12 Errors](../notebooks/12_errors.ipynb), if something was new.",
            "[All lessons](../notebooks/index.ipynb).",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.kinds = self._exercise(kinds.TASK)
        self.codes = self._exercise(codes.TASK)
        self.outcome = self._exercise(outcome.TASK)
        self.invoice = self._exercise(invoice.TASK)
        self.again = self._exercise(again.TASK)
