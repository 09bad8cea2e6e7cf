"""Grade one submission: start its process, listen to it, end it."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import queue
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, cast

from mcpsim.course.exercises import Exercise, Outcome
from mcpsim.course.exercises.showing import cut
from mcpsim.workbook.grading.starting import START_S, Start, start_anew
from mcpsim.workbook.grading.submissions import Section, Submission

LONGEST_LINE: Final = 500_000
LONGEST_TEXT: Final = 1_000
# Of the time of an exercise, how much its check may take: more than a learner would wait, since a machine
# that grades a class is a busy one. A check that gives up by itself can say what it waited for.
PATIENT_SHARE: Final = 0.5

_ENDED: Final = "Its process ended before the check was done."
_TOO_LONG: Final = "It was stopped after {seconds:g} s."
_NO_TIME: Final = "The time for the whole notebook was over."
_FORGED: Final = "It wrote to the grader something that is no verdict."
_BROKEN: Final = "What it left behind made the check impossible."
_CHANGED: Final = "It changed what checks it: {what}."


@dataclass(frozen=True, slots=True)
class Limits:
    """What one submission may use.

    Attributes:
        time_s: for one exercise, with the cells before its check, in seconds; for the notebook that times the
            number of its exercises.
        memory_mb: address space in megabytes, where the system can limit it.
    """

    time_s: float = 40.0
    memory_mb: int = 2_000


@dataclass(frozen=True, slots=True)
class GradedExercise:
    """What one exercise got.

    Attributes:
        name: as a notebook calls it.
        title: for people.
        points: what it got, of `worth`.
        outcome: "passed", "not yet", "not attempted" or "stopped".
        seen: why, in a sentence or two.
        code: the learner's cells before the check.
    """

    name: str
    title: str
    points: int
    worth: int
    outcome: str
    seen: str
    code: str


@dataclass(frozen=True, slots=True)
class GradedSubmission:
    """What one notebook got.

    Attributes:
        student: who handed it in.
        lesson: the lesson of the set.
        file: the notebook, relative to the folder that was graded.
        exercises: one row a section of the submission, in the order of the set.
    """

    student: str
    lesson: str
    file: str
    exercises: tuple[GradedExercise, ...]

    @property
    def points(self) -> int:
        """The sum."""
        return sum(row.points for row in self.exercises)

    @property
    def worth(self) -> int:
        """What a right notebook gets."""
        return sum(row.worth for row in self.exercises)


def grade_submission(
    submission: Submission, folder: Path, limits: Limits, *, start: Start = start_anew
) -> GradedSubmission:
    """Run a submission and say what it gets. Whatever it does, this returns.

    Args:
        submission: the notebook.
        folder: what was handed in; the submission cannot read there.
        limits: what it may use.
        start: starts its processes; `fork_server` gives what does it faster for many submissions.
    """
    found: dict[str, tuple[int, str, str]] = {}
    if submission.problem:
        found = {
            exercise.task.name: (0, "stopped", submission.problem) for exercise in _exercises(submission)
        }
    else:
        run = _Grading(submission, folder, limits, start)
        while not run.is_done:
            run.start()
        found = run.found
    code = {section.exercise: "\n\n".join(section.cells) for section in submission.sections}
    rows = tuple(
        GradedExercise(
            exercise.task.name,
            exercise.task.title,
            found[exercise.task.name][0],
            exercise.task.points,
            found[exercise.task.name][1],
            found[exercise.task.name][2],
            code.get(exercise.task.name, ""),
        )
        for exercise in _exercises(submission)
        if exercise.task.name in found
    )
    file = submission.path.relative_to(folder).as_posix()
    return GradedSubmission(submission.student, submission.lesson, file, rows)


def _exercises(submission: Submission) -> tuple[Exercise, ...]:
    return submission.make().exercises


class _Grading:
    """One submission on its way. A section that ends its process is left out of the next one."""

    def __init__(self, submission: Submission, folder: Path, limits: Limits, start: Start) -> None:
        self._start_process = start
        self._submission = submission
        self._folder = folder
        self._limits = limits
        self._by_name = {exercise.task.name: exercise for exercise in _exercises(submission)}
        self._until = time.monotonic() + START_S + limits.time_s * len(submission.sections)
        self._bad: set[str] = set()
        self.found: dict[str, tuple[int, str, str]] = {}

    @property
    def is_done(self) -> bool:
        """Whether every exercise has its row."""
        return len(self.found) == len(self._submission.sections)

    def start(self) -> None:
        """Run one process until its end; afterwards one exercise more has its row, or one is left out."""
        if time.monotonic() > self._until:
            self._stop_rest(_NO_TIME)
            return
        word = secrets.token_hex(16)
        with _folder() as own, _process(self._job(word), own, self._start_process) as lines:
            at = next(section.exercise for section in self._sections() if section.exercise not in self.found)
            reason = self._listen(lines, word, at)
        if reason is not None:
            self._give_up(*reason)

    def _listen(self, lines: queue.Queue[bytes | None], word: str, at: str) -> tuple[str, str] | None:
        """Take verdicts until all are there; otherwise the section at fault, and what it did."""
        patience_s = START_S
        while not self.is_done:
            until = min(time.monotonic() + patience_s, self._until)
            try:
                line = lines.get(timeout=max(until - time.monotonic(), 0.01))
            except queue.Empty:
                return at, _TOO_LONG.format(seconds=patience_s)
            if line is None:
                return at, _ENDED
            said = _said(line, word)
            if said is None:
                return at, _FORGED
            if (began := said.get("began")) is not None:
                if began not in self._by_name:
                    return at, _FORGED
                at, patience_s = str(began), self._limits.time_s
            elif said.get("exercise") != at or at in self.found:
                return at, _FORGED
            elif said.get("changed"):
                return at, _CHANGED.format(what=cut(str(said["changed"]), 100))
            elif said.get("broken"):
                # Such as memory that is all taken: the next section gets a new process.
                return at, f"{_BROKEN} {_last_error(said)}".strip()
            else:
                self.found[at] = _row(self._by_name[at], said)
        return None

    def _give_up(self, section: str, why: str) -> None:
        # A section that has its row, and later stood in the way of others, keeps what it has.
        self._bad.add(section)
        self.found.setdefault(section, (0, "stopped", why))

    def _stop_rest(self, why: str) -> None:
        for name in self._by_name:
            self.found.setdefault(name, (0, "stopped", why))

    def _sections(self) -> tuple[Section, ...]:
        return tuple(section for section in self._submission.sections if section.exercise not in self._bad)

    def _job(self, word: str) -> bytes:
        job: Mapping[str, Any] = {
            "word": word,
            "set": self._submission.make.__name__,
            "memory_mb": self._limits.memory_mb,
            "patience_s": self._limits.time_s * PATIENT_SHARE,
            "cpu_s": self._limits.time_s * len(self._submission.sections),
            "closed": [str(self._folder)],
            "sections": [
                {
                    "exercise": section.exercise,
                    "cells": section.cells,
                    "skipped": section.exercise in self.found,
                }
                for section in self._sections()
            ],
        }
        return json.dumps(job).encode()


def _said(line: bytes, word: str) -> dict[str, Any] | None:
    try:
        said: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    told = cast("dict[str, Any]", said)
    given = told.get("word")
    return told if isinstance(given, str) and secrets.compare_digest(given, word) else None


def _row(exercise: Exercise, said: Mapping[str, Any]) -> tuple[int, str, str]:
    """What an exercise gets. A table is checked here, where the learner's code never was."""
    outcome, points, seen = said.get("outcome"), said.get("points"), said.get("seen")
    if _is_table(exercise):
        grade = exercise.grade(_table(said.get("table")))
        outcome, points, seen = str(grade.verdict.outcome), grade.points, grade.verdict.seen
    elif outcome not in tuple(Outcome):
        return 0, "stopped", _FORGED
    worth = exercise.task.points
    is_fair = type(points) is int and (points == worth if outcome == Outcome.PASSED else 0 <= points < worth)
    text = cut(str(seen), LONGEST_TEXT)
    text = f"{text} {_last_error(said)}".strip()
    return (points if is_fair and isinstance(points, int) else 0), str(outcome), text


def _last_error(said: Mapping[str, Any]) -> str:
    error = cut(str(said.get("error") or ""), LONGEST_TEXT).removesuffix(".")
    return f"A cell ended in {error}." if error else ""


def _is_table(exercise: Exercise) -> bool:
    """Whether a right answer is a table: then the whole answer can leave the learner's process."""
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        exec("\n".join(exercise.task.solution), names)
    except Exception:
        return False
    return isinstance(names.get(exercise.task.answer), dict)


def _table(text: Any) -> Any:
    try:
        return ast.literal_eval(text) if isinstance(text, str) and text else ...
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ...


@contextlib.contextmanager
def _folder() -> Generator[Path, None, None]:
    """A folder that is gone afterwards, if that can be: what is in it can be made to resist."""
    own = Path(tempfile.mkdtemp(prefix="graded-"))
    try:
        yield own
    finally:
        with contextlib.suppress(OSError, RecursionError):
            shutil.rmtree(own, ignore_errors=True)


@contextlib.contextmanager
def _process(job: bytes, own: Path, start: Start) -> Generator[queue.Queue[bytes | None], None, None]:
    """The process with its job, and the lines that it writes, with None at the end. The block ends it."""
    with contextlib.ExitStack() as stack:
        theirs_to_read, ours_to_write = os.pipe()
        stdin = stack.enter_context(open(ours_to_write, "wb"))
        ours_to_read, theirs_to_write = os.pipe()
        with contextlib.ExitStack() as unless_started:
            stdout = unless_started.enter_context(open(ours_to_read, "rb"))
            try:
                end = start(own, theirs_to_read, theirs_to_write)
            finally:
                os.close(theirs_to_read)
                os.close(theirs_to_write)
            # The thread that reads closes it: anybody else would wait for a line that may never come.
            unless_started.pop_all()
        lines: queue.Queue[bytes | None] = queue.Queue()
        reader = threading.Thread(target=_read, args=(stdout, lines), daemon=True)
        reader.start()
        try:
            with contextlib.suppress(OSError), stdin:
                stdin.write(job)
            yield lines
        finally:
            end()
            reader.join(timeout=5)


def _read(channel: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError), channel:
        while line := channel.readline(LONGEST_LINE):
            lines.put(line)
            # Whoever floods the channel is not read any further.
            if not line.endswith(b"\n") or lines.qsize() > 100:
                break
    lines.put(None)
