"""The exercises of lesson 13: one tool call, from the user's wish to the model's answer."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_13_one_tool_call import ask_first, host, reads, sees

TITLE: Final = "Exercises 13, one tool call"


class ToolCallExercises(ExerciseSet):
    """Four exercises on a tool call with all who take part in it.

    Attributes:
        sees: sort what goes where: user, model, client and server.
        reads: make the text for the model out of whatever came of a call.
        host: write the loop of a host, with consent, Stop and a limit.
        ask_first: write a tool that asks first and works then, in both eras.
        office: makes a server whose tool `write_report` is the learner's.
    """

    office = staticmethod(ask_first.office)

    notebook = Notebook(
        "13_one_tool_call",
        imports=(
            "import anyio",
            "from mcpsim import Client, ProtocolError, simulate",
            "from mcpsim.course import ScriptedModel, ToolUse, exercises, help_desk, text_of",
        ),
        notes=(
            "Where a check plays something and finds a fault, it shows the messages under *On the wire*. "
            "`ex.host.check(converse).recording` shows them in the player.",
            "The models here have a script, so that each run is the same: `ScriptedModel.has_read` is all "
            "that "
            "one was given to read.",
        ),
        further=(
            "[14 Stateless at scale](../notebooks/14_stateless_at_scale.ipynb): many clients, and several "
            "servers.",
            "[All lessons](../notebooks/index.ipynb).",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.sees = self._exercise(sees.TASK)
        self.reads = self._exercise(reads.TASK)
        self.host = self._exercise(host.TASK)
        self.ask_first = self._exercise(ask_first.TASK)
