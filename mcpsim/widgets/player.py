"""The player as a Jupyter widget."""

from __future__ import annotations

from typing import Any, Final, cast

import traitlets

from mcpsim.recording import Recording, events
from mcpsim.recording.run import Run, recording_of
from mcpsim.widgets import scripts
from mcpsim.widgets.base import Picture
from mcpsim.widgets.branching import Branching
from mcpsim.widgets.exports import View, answer
from mcpsim.widgets.still import still_of
from mcpsim.widgets.view import FINDINGS, REST, WHOLE, Pieces

#: How many lines of the transcript a stored output holds.
MAX_LINES: Final = 200
#: How many steps the browser gets at most in one answer.
MOST: Final = 2_000


# The events that have a line in a transcript, and those that say what became of a message.
_LINES: Final = frozenset({events.SENT, events.NOTE, events.CLOSED})
_ENDS: Final = frozenset({events.DELIVERED, events.DROPPED})


class Player(Branching, Picture):
    """Plays a recording: `Player(recording)` as the last line of a cell.

    The recording goes to the browser once; after that only the cursor travels. A long one opens with what is
    looked at first, and the browser asks for the rest of it in pieces. All views of one player show the same
    step. In a stored notebook the output also holds a still picture and the transcript, for readers
    without a kernel.

    Args:
        recording: what to play: a recording, or a run. Only a run can be played again with a change.
        cursor: the step to begin at, from 1; 0 is before the first step.
        speed: how fast it plays; 1.0 is one step in 1.6 seconds.
        findings: False to leave out what the audit finds, for somebody who wants to find it alone: here, in
            a branch, and in the files that a user exports.

    Attributes:
        cursor: the step that is shown, from 0 (before the first) to the number of steps.
        playing: whether it moves on by itself.
        speed: see above; more than 0.

    Raises:
        TypeError: what is given is neither a run nor a recording.
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

    def __init__(
        self, recording: Recording | Run, *, cursor: int = 1, speed: float = 1.0, findings: bool = True
    ) -> None:
        self._findings = findings
        if isinstance(recording, Run):
            self.run = recording
        self._recording = recording = recording_of(recording)
        super().__init__(data=self._data_of(recording, cursor), speed=speed)
        self.cursor = cursor
        self._say_whether_again()
        # A message and no trait: what is exported can be large, and need not stay.
        cast("Any", self).on_msg(self._on_message)

    def _data_of(self, recording: Recording, cursor: int | None = None) -> dict[str, Any]:
        """What the browser gets at once; `self.pieces` has the rest."""
        self.pieces = Pieces(recording, audited=self._findings)
        if self.pieces.count <= WHOLE:
            return self.pieces.whole()
        return self.pieces.opening(int(self.cursor if cursor is None else cursor))

    def _on_message(self, _: Any, content: object, buffers: object) -> None:
        piece = piece_of(self.pieces, content)
        if piece is not None:
            cast("Any", self).send(piece)
            return
        view = View(self._recording, int(self.cursor), str(self.link), self._findings)
        answered = answer(content, view)
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
            self.data = self._data_of(recording, int(cursor))
            self.cursor = cursor

    @property
    def steps(self) -> int:
        """The number of steps, which is the last position of the cursor."""
        return self.pieces.count

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
        return _transcript(self._recording)

    def still_html(self) -> str:
        """The diagram, as it is at no step in particular."""
        later = self.pieces.count - len(self.data["steps"])
        return still_of({**self.data, "left_out": self.data["left_out"] + later})


def piece_of(pieces: Pieces, content: object) -> dict[str, Any] | None:
    """What goes back to a browser that wants a piece of a long recording.

    Args:
        content: what it sent: a dict with `wants`, which is "rest", "findings" or "steps"; with the last of
            them also `first`, `count`, `texts`, `rows` and `bodies`: the arguments of `Pieces.steps_from`.

    Returns:
        A dict with `piece` (what was wanted) and what is in it; None where it wants something else, or in
        another form.
    """
    match content:
        case {"wants": "rest"}:
            return {"piece": REST, **pieces.rest()}
        case {"wants": "findings"}:
            return {"piece": FINDINGS, **pieces.findings()}
        case {
            "wants": "steps",
            "first": int() as first,
            "count": int() as count,
            "texts": int() as texts,
            "rows": bool() as rows,
            "bodies": bool() as bodies,
        }:
            few = max(0, min(count, MOST))
            return {
                "piece": "steps",
                **pieces.steps_from(first, few, texts=texts, rows=rows, bodies=bodies),
            }
        case _:
            return None


def _transcript(recording: Recording) -> str:
    """The first lines of the transcript. The rest of a long run is not even looked at."""
    lines = [index for index, event in enumerate(recording.events) if event.kind in _LINES]
    if len(lines) <= MAX_LINES:
        return recording.transcript()
    first = recording.events[: lines[MAX_LINES]]
    begun = {event.frame for event in first if event.kind == events.SENT}
    ends = (event for event in recording.events[len(first) :] if event.kind in _ENDS and event.frame in begun)
    text = Recording(recording.header, (*first, *ends)).transcript()
    return f"{text}\n… {len(lines) - MAX_LINES:,} more lines"


def display_bundle(recording: Recording | Run) -> dict[str, Any]:
    """The mime bundle that shows a recording or a run: the player, a still picture, the transcript.

    For an object that is not a widget and wants to be shown as one:

        def _repr_mimebundle_(self, **kwargs):
            return display_bundle(self)
    """
    bundle, _ = Player(recording)._repr_mimebundle_()  # pyright: ignore[reportPrivateUsage]
    return bundle
