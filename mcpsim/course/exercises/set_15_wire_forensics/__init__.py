"""The exercises of lesson 15: reading other people's traffic."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from mcpsim.course.evidence import found_trace, numbered
from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.neutral import neutral
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_15_wire_forensics import guilty, pairs, ten_faults, tracer, whose
from mcpsim.course.exercises.set_15_wire_forensics.exhibits import in_lines
from mcpsim.course.exercises.set_15_wire_forensics.guilty import Charge
from mcpsim.recording import Recording

TITLE: Final = "Exercises 15, wire forensics"


class ForensicsExercises(ExerciseSet):
    """Five exercises on traces.

    Attributes:
        tracer: tell the era of each row alone.
        pairs: find the request of each answer, across connections.
        ten_faults: find ten faults in other people's traffic.
        guilty: tell a broken rule from advice, and from what is allowed.
        whose: tell whose fault it is.
    """

    notebook = Notebook(
        "15_wire_forensics",
        imports=("from mcpsim import Player", "from mcpsim.course import exercises"),
        further=(
            "[15 Wire forensics](../notebooks/15_wire_forensics.ipynb), if something was new.",
            "[All lessons](../notebooks/index.ipynb).",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.tracer = self._exercise(tracer.TASK)
        self.pairs = self._exercise(pairs.TASK)
        self.ten_faults = self._exercise(ten_faults.TASK)
        self.guilty = self._exercise(guilty.TASK)
        self.whose = self._exercise(whose.TASK)

    def recording(self) -> Recording:
        """The trace with the ten faults, for the player and for the audit."""
        return found_trace()

    def rows(self) -> list[dict[str, Any]]:
        """All rows of that trace in full, as dicts."""
        return [json.loads(line) for line in found_trace().to_interchange().splitlines()]

    def trace(self, connection: str = "") -> str:
        """That trace as text, one line a row.

        Args:
            connection: "c1", "c2" or "c3" for one connection alone.

        Raises:
            LookupError: there is no such connection.
        """
        lines = numbered(found_trace()).splitlines()
        if not connection:
            return "\n".join(lines)
        kept = [line for line in lines if line.split()[1] == connection]
        if not kept:
            raise LookupError(f"There is no connection {connection!r}. There are c1, c2 and c3.")
        return "\n".join(kept)

    def charges(self) -> str:
        """The nine traces of `guilty`, as text."""
        return _all(guilty.CHARGES)

    def charge(self, letter: str) -> Recording:
        """One of the nine traces of `guilty`, whole, for the player.

        Raises:
            LookupError: there is no such letter.
        """
        return _one(guilty.CHARGES, letter, "Trace")

    def cases(self) -> str:
        """The eight cases of `whose`, as text."""
        return _all(whose.CASES)

    def case(self, letter: str) -> Recording:
        """One of the eight cases of `whose`, whole, for the player.

        Raises:
            LookupError: there is no such letter.
        """
        return _one(whose.CASES, letter, "Case")


def _all(charges: Mapping[str, Charge]) -> str:
    return "\n\n".join(f"{letter}\n{in_lines(charge.exhibit())}" for letter, charge in charges.items())


def _one(charges: Mapping[str, Charge], letter: str, word: str) -> Recording:
    if letter not in charges:
        raise LookupError(f"There is no trace {letter!r}. The letters are {', '.join(charges)}.")
    return neutral(charges[letter].exhibit(), f"{word} {letter}")
