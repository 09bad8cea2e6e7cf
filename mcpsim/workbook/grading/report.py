"""The results of a class, as a table for a spreadsheet and as a page to read."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Sequence
from typing import Final

from mcpsim.workbook.grading.grader import GradedExercise, GradedSubmission

COLUMNS: Final = ("student", "file", "lesson", "exercise", "points", "worth", "outcome", "seen")

_MARKS: Final = {"passed": "✓", "not yet": "✗", "not attempted": "○", "stopped": "■"}
# A cell that begins so would be run as a formula by a spreadsheet.
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")

_NOTHING_RUNS: Final = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE: Final = """\
body { font-family: system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #1a1a1a;
  background: #fff; }
table { border-collapse: collapse; margin: 1em 0; }
th, td { border: 1px solid #999; padding: 0.25em 0.6em; text-align: left; vertical-align: top; }
td.points { text-align: right; white-space: nowrap; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f4f4f4; padding: 0.5em; }
summary { cursor: pointer; }"""


def as_csv(graded: Sequence[GradedSubmission]) -> str:
    """One row an exercise, with a header. What a spreadsheet would take for a formula begins with `'`."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in graded:
        for row in one.exercises:
            words = (
                one.student,
                one.file,
                one.lesson,
                row.name,
                row.points,
                row.worth,
                row.outcome,
                row.seen,
            )
            writer.writerow([_harmless(word) if isinstance(word, str) else word for word in words])
    return file.getvalue()


def as_html(graded: Sequence[GradedSubmission]) -> str:
    """One page without scripts: who got what, and for each exercise why, with the code that was handed in."""
    lessons = sorted({one.lesson for one in graded})
    students = sorted({one.student for one in graded})
    head = "".join(f"<th scope='col'>{_text(lesson)}</th>" for lesson in lessons)
    rows = "".join(_row(student, lessons, graded) for student in students)
    details = "".join(_details(one) for one in graded)
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>Grades</title>\n"
        # Nothing that was handed in may run or load anything, should it ever get through.
        f'<meta http-equiv="Content-Security-Policy" content="{_NOTHING_RUNS}">\n'
        f"<style>\n{_STYLE}\n</style></head><body>\n<h1>Grades</h1>\n"
        f"<table><thead><tr><th scope='col'>student</th>{head}<th scope='col'>sum</th></tr></thead>\n"
        f"<tbody>\n{rows}</tbody></table>\n<h2>Why</h2>\n"
        "<p>✓ passed, ✗ not yet, ○ not attempted, ■ stopped</p>\n"
        f"{details}</body></html>\n"
    )


def _row(student: str, lessons: Sequence[str], graded: Sequence[GradedSubmission]) -> str:
    own = [one for one in graded if one.student == student]
    cells = "".join(_points([one for one in own if one.lesson == lesson]) for lesson in lessons)
    return f"<tr><th scope='row'>{_text(student)}</th>{cells}{_points(own)}</tr>\n"


def _points(graded: Sequence[GradedSubmission]) -> str:
    points, worth = sum(one.points for one in graded), sum(one.worth for one in graded)
    return f"<td class='points'>{f'{points} of {worth}' if worth else '–'}</td>"


def _details(one: GradedSubmission) -> str:
    rows = "".join(_exercise(row) for row in one.exercises)
    return (
        f"<details><summary>{_text(one.student)}, {_text(one.lesson)}: "
        f"{one.points} of {one.worth}</summary>\n"
        f"<p>{_text(one.file)}</p>\n<table><tbody>\n{rows}</tbody></table></details>\n"
    )


def _exercise(row: GradedExercise) -> str:
    code = f"<details><summary>code</summary><pre>{_text(row.code)}</pre></details>" if row.code else ""
    return (
        f"<tr><th scope='row'>{_MARKS.get(row.outcome, '')} {_text(row.title)}</th>"
        f"<td class='points'>{row.points} of {row.worth}</td>"
        f"<td>{_text(row.outcome)}. {_text(row.seen)}{code}</td></tr>\n"
    )


def _text(text: str) -> str:
    return html.escape(text.encode("utf-8", "replace").decode())


def _harmless(text: str) -> str:
    text = text.encode("utf-8", "replace").decode().replace("\0", "")
    return f"'{text}" if text.startswith(_FORMULAS) else text
