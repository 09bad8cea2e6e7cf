"""The exercises of lesson 11: to hear of changes, to tell of them, and to miss none."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_11_subscriptions import ended, expect, route, tell, watch

TITLE: Final = "Exercises 11, subscriptions"


class SubscriptionExercises(ExerciseSet):
    """Five exercises on subscriptions.

    Attributes:
        expect: read an acknowledgement, and say what will come and what will not.
        route: say to which subscription a message belongs.
        ended: say what ended a subscription, if anything did.
        watch: watch a resource, whatever happens to the server.
        tell: keep a server's subscriptions, and tell only who asked.
    """

    notebook = Notebook(
        "11_subscriptions",
        imports=(
            "from mcpsim import ConnectionClosed, Crash, StreamableHttp, simulate",
            "from mcpsim.course import exercises, notice_board",
        ),
        notes=(
            "Where a check plays something and finds a fault, it shows the messages under *On the wire*. "
            "`ex.watch.check(watch).recording` shows them in the player.",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.expect = self._exercise(expect.TASK)
        self.route = self._exercise(route.TASK)
        self.ended = self._exercise(ended.TASK)
        self.watch = self._exercise(watch.TASK)
        self.tell = self._exercise(tell.TASK)
