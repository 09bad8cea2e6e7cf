"""How far the learner is with all exercises."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mcpsim.course.exercises import SETS
from mcpsim.course.exercises.card import Card, Part
from mcpsim.course.exercises.kept import FILE, Kept, is_exercises, is_on, read
from mcpsim.course.exercises.verdict import Outcome

_MARKS: Final = {Outcome.PASSED: "✓", Outcome.NOT_YET: "✗", Outcome.NOT_ATTEMPTED: "○"}
_LEGEND: Final = "✓ passed, ✗ not yet, ○ not attempted"


def overview() -> Card:
    """The card that `mcpsim.course.progress` shows. Nothing is written."""
    kept = _find()
    rows: list[tuple[str, list[Outcome]]] = []
    for make in SETS:
        ex = make()
        lesson = ex.notebook.listed
        outcomes = [kept.outcome(lesson.name, exercise.task.name) for exercise in ex.exercises]
        rows.append((f"{lesson.number} {lesson.title}", outcomes))
    done = sum(outcomes.count(Outcome.PASSED) for _, outcomes in rows)
    total = sum(len(outcomes) for _, outcomes in rows)
    wide = max(len(title) for title, _ in rows)
    lines = [
        f"{title:<{wide}}  {outcomes.count(Outcome.PASSED)} of {len(outcomes)}  "
        + "".join(_MARKS[outcome] for outcome in outcomes)
        for title, outcomes in rows
    ]
    parts = [Part("Marks", _LEGEND)]
    if kept.problem:
        parts.append(Part("Kept", kept.problem))
    elif not kept.verdicts:
        parts.append(
            Part("Next", f"Run the checks in the exercises. What they say is kept in `exercises/{FILE}`.")
        )
    tone = "open" if kept.problem else "good" if done == total else "plain"
    return Card(f"Your exercises: {done} of {total} passed", tuple(parts), "\n".join(lines), tone=tone)


def _find() -> Kept:
    if is_on():
        here = Path.cwd()
        lesson = SETS[0]().notebook.lesson
        for folder in (here, here.parent / "exercises", here / "exercises", here.parent):
            if is_exercises(folder, lesson):
                return read(folder)
    return Kept()
