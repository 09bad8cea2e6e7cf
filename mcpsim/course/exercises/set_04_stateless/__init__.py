"""The exercises of lesson 04: every request stands alone."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_04_stateless import (
    cache,
    capabilities,
    future,
    nameless,
    order,
    required,
    retry,
    scope,
)

TITLE: Final = "Exercises 04, stateless"


class StatelessExercises(ExerciseSet):
    """Eight exercises on requests that stand alone.

    Attributes:
        future: meet the error for a version that the server does not speak.
        retry: choose a version from the error's list and ask again.
        capabilities: see that one request's capabilities are not kept for the next.
        order: list tools in one order, however they were registered.
        scope: choose `public` or `private`, with the reason.
        cache: decide whether a stored result may be served.
        nameless: send a valid request without `clientInfo`.
        required: tell MUST, SHOULD and MAY apart.
    """

    notebook = Notebook(
        "04_stateless",
        imports=(
            "from mcpsim import ProtocolError, simulate",
            "from mcpsim.course import exercises, help_desk, picky_desk",
        ),
        notes=(
            "Where a check plays your story and finds something, it shows the messages under *On the wire*. "
            "`ex.future.check(from_the_future).recording` shows them in the player.",
        ),
        further=(
            "Lesson [05 The eras side by side](../notebooks/05_eras_side_by_side.ipynb): what was removed, "
            "replaced and renumbered.",
            "[All lessons](../notebooks/index.ipynb).",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.future = self._exercise(future.TASK)
        self.retry = self._exercise(retry.TASK)
        self.capabilities = self._exercise(capabilities.TASK)
        self.order = self._exercise(order.TASK)
        self.scope = self._exercise(scope.TASK)
        self.cache = self._exercise(cache.TASK)
        self.nameless = self._exercise(nameless.TASK)
        self.required = self._exercise(required.TASK)
