"""The exercises of lesson 02: bytes around messages."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_02_layers_and_transports import gate, noise, post, reader, statuses

TITLE: Final = "Exercises 02, layers and transports"


class LayerExercises(ExerciseSet):
    """Five exercises on what the transports put around messages.

    Attributes:
        noise: say which lines may stand on a server's standard output.
        reader: cut what a pipe brings into messages.
        statuses: say what an HTTP response means.
        post: make the headers of a modern request.
        gate: compare headers with the body.
        lines: the bytes of the ten lines, by letter.
    """

    notebook = Notebook(
        "02_layers_and_transports",
        further=(
            "Lesson [03 The handshake](../notebooks/03_handshake.ipynb): how a legacy session begins.",
            "[All lessons](../notebooks/index.ipynb).",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.noise = self._exercise(noise.TASK)
        self.reader = self._exercise(reader.TASK)
        self.statuses = self._exercise(statuses.TASK)
        self.post = self._exercise(post.TASK)
        self.gate = self._exercise(gate.TASK)
        self.lines = dict(noise.LINES)
