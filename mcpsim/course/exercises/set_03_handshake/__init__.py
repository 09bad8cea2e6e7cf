"""The exercises of lesson 03: the legacy handshake."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_03_handshake import faults, gated, hands, moments, offer, pong
from mcpsim.eras.revisions import LATEST_LEGACY
from mcpsim.recording import Recording

TITLE: Final = "Exercises 03, the handshake"


class HandshakeExercises(ExerciseSet):
    """Six exercises on the legacy handshake.

    Attributes:
        moments: say what may be sent at which moment.
        faults: find the fault in a recording.
        offer: choose the version that a server answers with.
        pong: answer what the server sends by itself.
        hands: write the client's side of the handshake.
        gated: let through what the capabilities allow.
    """

    notebook = Notebook(
        "03_handshake",
        imports=(
            "from mcpsim import Player, ProtocolError, simulate",
            "from mcpsim.course import exercises, help_desk",
        ),
        notes=(
            f"Everything here is about the legacy era, revision {LATEST_LEGACY}.",
            "Where a check plays your story and finds something, it shows the messages under *On the wire*. "
            "`ex.hands.check(shake_hands).recording` shows them in the player.",
        ),
        further=(
            "Lesson [04 Stateless](../notebooks/04_stateless.ipynb), and its [exercises](04_stateless.ipynb)"
            ": the same without a handshake.",
            "[All lessons](../notebooks/index.ipynb).",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.moments = self._exercise(moments.TASK)
        self.faults = self._exercise(faults.TASK)
        self.offer = self._exercise(offer.TASK)
        self.pong = self._exercise(pong.TASK)
        self.hands = self._exercise(hands.TASK)
        self.gated = self._exercise(gated.TASK)

    def recordings(self) -> dict[str, Recording]:
        """The eight recordings of the exercise `faults`, by letter."""
        return faults.recordings()
