"""The exercises of lesson 16: a server and a host that survive, and judges who did not write them."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_16_capstone import host, market, repair, whole

TITLE: Final = "Exercises 16, capstone"


class CapstoneExercises(ExerciseSet):
    """Four exercises, from repairing to building.

    Attributes:
        repair: find the four rules that a server breaks, and repair it.
        market: build a server whose list changes, and whose tool cleans up.
        host: build a host that has an answer to whatever goes wrong.
        whole: build a server that all judges look at.
        broken: the code of the server that is to be repaired.
        archive, fair, library: a server of the learner's, with something in it.
        Person: makes a user who agrees to everything.
    """

    broken = repair.BROKEN
    archive = staticmethod(repair.archive)
    fair = staticmethod(market.fair)
    library = staticmethod(whole.library)
    Person = staticmethod(host.kim)

    notebook = Notebook(
        "16_capstone",
        imports=(
            "import anyio",
            "from mcpsim import Client, ConnectionClosed, ProtocolError, RequestTimeout, Server, ToolError",
            "from mcpsim import simulate",
            "from mcpsim.course import ScriptedModel, ToolUse, exercises, help_desk, judge, text_of",
        ),
        notes=(
            "These are larger than the others: take them one at a time, and play what you have as soon as it "
            "does anything.",
            "Where a check plays something and finds a fault, it shows the messages under *On the wire*. "
            "`ex.market.check(make_market).recording` shows them in the player.",
        ),
        further=(
            "A real host: the lesson's last section says how your server gets into one "
            "([16 Capstone](../notebooks/16_capstone.ipynb)).",
            "[All lessons](../notebooks/index.ipynb).",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.repair = self._exercise(repair.TASK)
        self.market = self._exercise(market.TASK)
        self.host = self._exercise(host.TASK)
        self.whole = self._exercise(whole.TASK)
