"""The exercises of lesson 14: many clients, several replicas, and what happens when one dies."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_14_stateless_at_scale import count, pay, resend, route, shop

TITLE: Final = "Exercises 14, stateless at scale"


class ScaleExercises(ExerciseSet):
    """Five exercises on several replicas.

    Attributes:
        resend: say what may be sent again when no answer came.
        count: count the losses and the calls of each replica in a recording.
        route: decide to which replica a gateway sends a request.
        pay: write a client that tries again and never pays twice.
        shop: write a server whose baskets are known to every replica.
        update: makes a recording of users who call while the replicas are restarted.
        bank: makes a server with the tool `pay`.
        Store: what the replicas of a shop share.
    """

    update = staticmethod(count.update)
    bank = staticmethod(pay.bank)
    Store = shop.Store

    notebook = Notebook(
        "14_stateless_at_scale",
        imports=(
            "from mcpsim import Crash, Gateway, Server, simulate",
            "from mcpsim import ErrorResponse, McpSimError, ProtocolError, Request, Response, ToolError",
            "from mcpsim.course import exercises, text_of",
        ),
        notes=(
            "Where a check plays something and finds a fault, it shows the messages under *On the wire*. "
            "`ex.pay.check(pay_bill).recording` shows them in the player.",
        ),
        further=(
            "[15 Wire forensics](../notebooks/15_wire_forensics.ipynb): what a trace of somebody else's "
            "traffic tells.",
            "[All lessons](../notebooks/index.ipynb).",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.resend = self._exercise(resend.TASK)
        self.count = self._exercise(count.TASK)
        self.route = self._exercise(route.TASK)
        self.pay = self._exercise(pay.TASK)
        self.shop = self._exercise(shop.TASK)
