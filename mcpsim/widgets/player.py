"""The player as a Jupyter widget."""

from __future__ import annotations

from typing import Any, Final, cast

import traitlets

from mcpsim.recording import Recording
from mcpsim.recording.run import Run
from mcpsim.widgets import scripts
from mcpsim.widgets.base import Picture
from mcpsim.widgets.branching import Branching
from mcpsim.widgets.exports import View, answer
from mcpsim.widgets.still import still_of
from mcpsim.widgets.view import parted_data

#: How many lines of the transcript a stored output holds.
MAX_LINES: Final = 200
#: Of how many steps the bodies are sent at once: the browser asks for the others, so that a long recording
#: opens as fast as a short one.
BODIES: Final = 500


class Player(Branching, Picture):
    """Plays a recording: `Player(recording)` as the last line of a cell.

    The recording goes to the browser once; after that only the cursor travels. All views of one player show
    the same step. In a stored notebook the output also holds a still picture and the transcript, for readers
    without a kernel.

    Args:
        recording: what to play: a recording, or a run. Only a run can be played again with a change.
        cursor: the step to begin at, from 1; 0 is before the first step.
        speed: how fast it plays; 1.0 is one step in 1.6 seconds.

    Attributes:
        cursor: the step that is shown, from 0 (before the first) to the number of steps.
        playing: whether it moves on by itself.
        speed: see above; more than 0.

    Raises:
        traitlets.TraitError: `cursor` is not a whole number, or `speed` is not more than 0.
    """

    _esm = scripts.script(scripts.PLAYER, "{ initialize, render }")
    _css = scripts.style(*scripts.PLAYER_STYLES)

    data: Any = traitlets.Dict().tag(sync=True)
    cursor = traitlets.Int(1).tag(sync=True)
    playing = traitlets.Bool(False).tag(sync=True)
    speed = traitlets.Float(1.0).tag(sync=True)
    # Whether somebody is on the other side: features that need an answer are offered only then.
    kernel = traitlets.Bool(True, read_only=True).tag(sync=True)
    # The link text of what is shown, without the step; "" where it is no built-in story on a bench.
    link = traitlets.Unicode("").tag(sync=True)

    def __init__(self, recording: Recording | Run, *, cursor: int = 1, speed: float = 1.0) -> None:
        if isinstance(recording, Run):
            self.run, recording = recording, recording.recording
        self._recording = recording
        super().__init__(data=self._data_of(recording), speed=speed)
        self.cursor = cursor
        self._say_whether_again()
        # A message and no trait: what is exported can be large, and need not stay.
        cast("Any", self).on_msg(self._on_message)

    def _data_of(self, recording: Recording) -> dict[str, Any]:
        data, self._bodies = parted_data(recording, bodies=BODIES)
        return data

    def _on_message(self, _: Any, content: object, buffers: object) -> None:
        wanted = wanted_bodies(content)
        if wanted is not None:
            cast("Any", self).send({"bodies": self._bodies.of(*wanted)})
            return
        answered = answer(content, View(self._recording, int(self.cursor), str(self.link)))
        if answered is not None:
            cast("Any", self).send(answered)

    @property
    def recording(self) -> Recording:
        """What is played. Another recording may take its place: the cursor stays where it is, if it can."""
        return self._recording

    @recording.setter
    def recording(self, recording: Recording) -> None:
        cursor = self.cursor
        self._recording = recording
        with self.hold_sync():
            self.data = self._data_of(recording)
            self.cursor = cursor

    @property
    def steps(self) -> int:
        """The number of steps, which is the last position of the cursor."""
        return len(self.data["steps"])

    @traitlets.validate("cursor")
    def _keep_cursor_within(self, proposal: Any) -> int:
        return max(0, min(int(proposal["value"]), self.steps))

    @traitlets.validate("speed")
    def _check_speed(self, proposal: Any) -> float:
        if not proposal["value"] > 0:
            raise traitlets.TraitError(f"speed must be more than 0, not {proposal['value']!r}")
        return float(proposal["value"])

    def __repr__(self) -> str:
        """The same text in every run: nbval compares it."""
        return f"Player({self._recording!r})"

    def still_text(self) -> str:
        """The transcript."""
        return _bounded(self._recording.transcript())

    def still_html(self) -> str:
        """The diagram, as it is at no step in particular."""
        return still_of(self.data)


def wanted_bodies(content: object) -> tuple[int, int, int] | None:
    """What a browser asks for: the first step, how many, and how many texts it knows; None where it asks for
    something else, or in a form of its own."""
    asked = cast("dict[str, object]", content).get("bodies") if isinstance(content, dict) else None
    if not isinstance(asked, list):
        return None
    match cast("list[object]", asked):
        case [int() as first, int() as count, int() as texts]:
            return first, min(count, BODIES), texts
        case _:
            return None


def _bounded(text: str) -> str:
    lines = text.split("\n")
    if len(lines) <= MAX_LINES:
        return text
    return "\n".join([*lines[:MAX_LINES], f"… {len(lines) - MAX_LINES:,} more lines"])


def display_bundle(recording: Recording | Run) -> dict[str, Any]:
    """The mime bundle that shows a recording or a run: the player, a still picture, the transcript.

    For an object that is not a widget and wants to be shown as one:

        def _repr_mimebundle_(self, **kwargs):
            return display_bundle(self)
    """
    bundle, _ = Player(recording)._repr_mimebundle_()  # pyright: ignore[reportPrivateUsage]
    return bundle
