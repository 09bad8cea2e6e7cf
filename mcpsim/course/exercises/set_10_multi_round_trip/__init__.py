"""The exercises of lesson 10: requests that take several rounds."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_10_multi_round_trip import book, forms, keeper, loop, respond

TITLE: Final = "Exercises 10, multi round-trip requests"


class RoundExercises(ExerciseSet):
    """Five exercises on requests that take several rounds.

    Attributes:
        forms: tell what a form may ask for, and what has to go through a URL.
        respond: answer every kind of question.
        loop: write the client's side of the rounds.
        book: write a tool that asks twice and acts once.
        keeper: seal request state, and know again what is good.
    """

    notebook = Notebook(
        "10_multi_round_trip",
        imports=(
            "from mcpsim import Client, Server, simulate",
            "from mcpsim.course import exercises, travel_desk",
        ),
        further=(
            "Lesson [11 Subscriptions and change](../notebooks/11_subscriptions.ipynb).",
            "[All lessons](../notebooks/index.ipynb).",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.forms = self._exercise(forms.TASK)
        self.respond = self._exercise(respond.TASK)
        self.loop = self._exercise(loop.TASK)
        self.book = self._exercise(book.TASK)
        self.keeper = self._exercise(keeper.TASK)
