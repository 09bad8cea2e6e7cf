"""A small widget with a player below it: what its user chooses there is what is played here."""

from __future__ import annotations

from mcpsim.recording.run import Run
from mcpsim.widgets.acting import Acting
from mcpsim.widgets.player import Player


class ActingPlayer(Acting, Player):
    """What the small widgets with a player share. A wish is one round trip, also where another run comes.

    Attributes:
        run: what is played.
    """

    def __init__(self, run: Run) -> None:
        self.error = ""
        Player.__init__(self, run)
        self._show()

    def _show(self) -> None:
        run = self.run
        with self.hold_sync():
            if run is not None and run.recording is not self._recording:
                self._recording = run.recording
                self.playing = False
                # The other way round, the step could be one that the old run does not have.
                self.data = self._data_of(run.recording)
                self.cursor = 1
            super()._show()
