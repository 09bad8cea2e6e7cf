"""What the notebooks of a set of exercises say beside its tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mcpsim.course.lessons import LESSONS, Lesson

_ALL_LESSONS: Final = "[All lessons](../notebooks/index.ipynb)."


@dataclass(frozen=True, slots=True)
class Notebook:
    """The frame of a set's notebooks: what is the same for all of its exercises.

    A set needs `lesson` alone; the rest has defaults that fit most sets.

    Attributes:
        lesson: the lesson's name in `mcpsim.course.lessons`, such as "04_stateless". The notebooks of the
            set have this name too.
        imports: the import lines of the first cell: all names that the starters, the solutions, and the code
            in `Task.show` and `Task.play` use and do not import themselves. `exercises` has to be among them.
        notes: more lines of "How it works", in Markdown, each a sentence or two without a bullet.
        further: the lines of "Where to go next", in Markdown, without bullets. Links start in the folder
            `exercises`: `../notebooks/NN_topic.ipynb`.
    """

    lesson: str
    imports: tuple[str, ...] = ("from mcpsim.course import exercises",)
    notes: tuple[str, ...] = ()
    further: tuple[str, ...] = (_ALL_LESSONS,)

    @property
    def listed(self) -> Lesson:
        """The lesson.

        Raises:
            LookupError: there is no lesson with this name.
        """
        for lesson in LESSONS:
            if lesson.name == self.lesson:
                return lesson
        raise LookupError(f"mcpsim.course.lessons has no lesson {self.lesson!r}.")

    @property
    def topic(self) -> str:
        """The lesson's title as it stands within a sentence."""
        title = self.listed.title
        return title[:1].lower() + title[1:]
