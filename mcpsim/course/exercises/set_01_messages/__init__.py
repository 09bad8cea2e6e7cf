"""The exercises of lesson 01: what is a message?"""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_01_messages import classifier, classify, repair
from mcpsim.course.exercises.set_01_messages.twelve import TWELVE

TITLE: Final = "Exercises 01, messages"


class MessageExercises(ExerciseSet):
    """Three exercises on the shapes of messages.

    Attributes:
        classify: say what each of twelve messages is.
        repair: repair the broken ones.
        classifier: write the function that tells them apart.
        twelve: the bytes of the twelve messages, by letter.
    """

    notebook = Notebook(
        "01_messages",
        further=(
            "Lesson [02 Layers and transports](../notebooks/02_layers_and_transports.ipynb): how one call "
            "becomes bytes.",
            "[All lessons](../notebooks/index.ipynb).",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.classify = self._exercise(classify.TASK)
        self.repair = self._exercise(repair.TASK)
        self.classifier = self._exercise(classifier.TASK)
        self.twelve = {letter: specimen.data for letter, specimen in TWELVE.items()}
