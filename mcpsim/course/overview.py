"""How far the learner is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcpsim.course.exercises.card import Card


def progress() -> Card:
    """An overview of all exercises, with what their checks said on this day and before.

    Verdicts are kept in `exercises/progress.json` of the learner's workbook. This function looks for it in
    this folder and beside it, and writes nothing. To show the overview, leave it as the last line of a cell.
    """
    # Imported here: whoever plays a story should not wait for all exercises.
    from mcpsim.course.exercises.overview import overview

    return overview()
