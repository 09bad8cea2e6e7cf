"""An exercise: a task, a starter, a check, hints that lead further and further, a solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from mcpsim.course.exercises.card import Card, Part
from mcpsim.course.exercises.grading import Grade, grade
from mcpsim.course.exercises.kept import keep, kept_here
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.showing import describe_error
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Outcome, Rule, Verdict
from mcpsim.eras.pages import MODERN, REFERENCE_REVISION, spec_url


@dataclass(frozen=True, slots=True)
class Passed:
    """What a grader returns: the answer is right.

    Attributes:
        seen: what the check saw, in one or two sentences.
        rule: the rule to remember.
    """

    seen: str
    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """The fixed part of an exercise.

    Attributes:
        name: what a notebook calls it: `ex.<name>`.
        title: a few words for people.
        text: the task, in Markdown.
        answer: the name of the variable or function that the learner writes.
        starter: the code that the learner begins with. Its placeholders are `...`.
        hints: each one says a little more than the one before.
        solution: one right answer, as code, in pieces that fit a notebook's cell.
        why: one or two sentences on the solution.
        grade: gets the answer and the `Learner` that runs it. It raises NotYet or NotAttempted.
        pages: what to read: labels and pages of the specification.
        era: whose pages: "modern" or "legacy".
        play: how to play the answer and look at its messages, as code, or "".
        show: what the learner looks at before writing, as code for a cell above the starter, or "".
        points: what the exercise is worth where a class is graded; more for what takes longer.
    """

    name: str
    title: str
    text: str
    answer: str
    starter: str
    hints: tuple[str, ...]
    solution: tuple[str, ...]
    why: str
    grade: Callable[[Any, Learner], Passed]
    pages: tuple[tuple[str, str], ...] = ()
    era: str = MODERN
    play: str = ""
    show: str = ""
    points: int = 10

    @property
    def reading(self) -> str:
        """The pages, as links in Markdown."""
        revision = REFERENCE_REVISION[self.era]
        links = (f"[{label}, {revision}]({spec_url(self.era, page)})" for label, page in self.pages)
        return f"Where the rules stand: {', '.join(links)}."


class Exercise:
    """One exercise in a notebook: the task, how many hints were shown, and the last verdict.

    Args:
        task: the fixed part.
        patience_s: how long the learner's code may take in one check, in seconds.
        keep: is told what each check said.
    """

    def __init__(
        self, task: Task, patience_s: float, keep: Callable[[str, Outcome], None] | None = None
    ) -> None:
        self._task = task
        self._patience_s = patience_s
        self._keep = keep
        self._hints_shown = 0
        self._outcome = Outcome.NOT_ATTEMPTED

    @property
    def task(self) -> Task:
        """The fixed part of the exercise."""
        return self._task

    @property
    def outcome(self) -> Outcome:
        """What the last check said."""
        return self._outcome

    def check(self, answer: Any = ...) -> Verdict:
        """Check an answer.

        Args:
            answer: what the learner wrote; `...` counts as not attempted.

        Returns:
            The verdict. Show it in a notebook by leaving it as the last line of a cell.
        """
        verdict = self._verdict(answer)
        self._outcome = verdict.outcome
        if self._keep is not None:
            self._keep(self._task.name, verdict.outcome)
        return verdict

    def _verdict(self, answer: Any) -> Verdict:
        title = self._task.title
        try:
            if is_placeholder(answer):
                raise NotAttempted
            passed = self._task.grade(answer, Learner(self._patience_s))
        except NotAttempted:
            look = (
                f"Replace each `...` in the cell that makes `{self._task.answer}`, run it, then check again."
            )
            return Verdict(title, Outcome.NOT_ATTEMPTED, look=look)
        except NotYet as found:
            look = found.look
            if found.arguments is not None:
                look += f" `ex.{self._task.name}.check({self._task.answer}).arguments` holds all of them."
            return Verdict(
                title, Outcome.NOT_YET, found.seen, found.rule, look, found.recording, found.arguments
            )
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # An object of the learner's own may raise whatever it is asked, even what type it has.
            seen = f"The check cannot look at this answer: that raised {describe_error(error, None)}."
            return Verdict(title, Outcome.NOT_YET, seen, look="An answer is a function, or plain values.")
        return Verdict(title, Outcome.PASSED, passed.seen, passed.rule)

    def grade(self, answer: Any = ...) -> Grade:
        """Check an answer and give points for it, for a class in which points count.

        The points are whole: all of `task.points` where the check passes; a part where the answer is a table
        and some of its rows are right; otherwise 0. What is shown of the set does not change.
        """
        task = self._task
        return grade(self._verdict, answer, worth=task.points, solution=task.solution, name=task.answer)

    def hint(self) -> Card:
        """The next hint; after the last one, that one again."""
        hints = self._task.hints
        self._hints_shown = min(self._hints_shown + 1, len(hints))
        shown = self._hints_shown
        last = shown == len(hints)
        more = (
            f"This was the last hint. `ex.{self._task.name}.solution()` shows one right answer."
            if last
            else f"`ex.{self._task.name}.hint()` again shows the next one."
        )
        return Card(
            f"Hint {shown} of {len(hints)}: {self._task.title}",
            (Part("Hint", hints[shown - 1]), Part("Next", more)),
        )

    def solution(self) -> Card:
        """One right answer, and why it is right. Others are right too: the check looks at what they do."""
        code = "\n\n\n".join(self._task.solution)
        return Card(f"One solution: {self._task.title}", (Part("Why", self._task.why),), code)

    def reset(self) -> None:
        """Forget the hints that were shown and the last verdict."""
        self._hints_shown = 0
        self._outcome = Outcome.NOT_ATTEMPTED

    def __repr__(self) -> str:
        return f"<Exercise {self._task.name}: {self._task.title} ({self._outcome})>"


class ExerciseSet:
    """The exercises of one lesson, fresh: nothing is shared with another set.

    A set is a subclass. Its class says what its notebooks need, and its instances have one attribute an
    exercise, in the order of the notebook:

        class StatelessExercises(ExerciseSet):
            notebook = Notebook("04_stateless", imports=("from mcpsim.course import exercises, help_desk",))

            def __init__(self, patience_s: float = PATIENCE_S) -> None:
                super().__init__(TITLE, patience_s)
                self.future = self._exercise(future.TASK)

    Args:
        title: what the overview calls the set, such as "Exercises 04, stateless".
        patience_s: how long the learner's code may take in one check, in seconds.

    Attributes:
        notebook: the lesson, and what the notebooks say beside the tasks.
    """

    notebook: ClassVar[Notebook]

    def __init__(self, title: str, patience_s: float) -> None:
        self._title = title
        self._patience_s = patience_s

    def _exercise(self, task: Task) -> Exercise:
        return Exercise(task, self._patience_s, partial(keep, self.notebook.lesson))

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        """All of them, in order."""
        return tuple(value for value in vars(self).values() if isinstance(value, Exercise))

    def reset(self) -> None:
        """Begin again: no hints shown, nothing attempted."""
        for exercise in self.exercises:
            exercise.reset()

    def card(self) -> Card:
        """How far the learner is: what the checks said, and what is kept of earlier."""
        kept = kept_here(self.notebook.lesson)
        before = {one.task.name: kept.outcome(self.notebook.lesson, one.task.name) for one in self.exercises}
        # What passed once has passed, also after a restart of the kernel.
        done = sum(
            Outcome.PASSED in (exercise.outcome, before[exercise.task.name]) for exercise in self.exercises
        )
        rows = [
            (exercise.task.name, _in_words(exercise.outcome, before[exercise.task.name]))
            for exercise in self.exercises
        ]
        wide = max(len(name) for name, _ in rows)
        block = "\n".join(f"{name:<{wide}}  {outcome}" for name, outcome in rows)
        tone = "good" if done == len(rows) else "plain"
        return Card(f"{self._title}: {done} of {len(rows)} passed", (), block, tone=tone)

    def __repr__(self) -> str:
        return repr(self.card())

    def _repr_html_(self) -> str:
        return self.card()._repr_html_()  # pyright: ignore[reportPrivateUsage]


def _in_words(now: Outcome, before: Outcome) -> str:
    """What the last check said, and what is kept of earlier where that is more."""
    if now is Outcome.NOT_ATTEMPTED and before is not Outcome.NOT_ATTEMPTED:
        return f"{before} (before)"
    if now is Outcome.NOT_YET and before is Outcome.PASSED:
        return f"{now} (passed before)"
    return str(now)
