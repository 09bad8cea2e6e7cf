"""The exercises of lesson 07: results that are kept."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_07_caching import fits, host_cache, page_clocks, still_fresh, who_gets
from mcpsim.course.exercises.set_07_caching.kept import Entry

TITLE: Final = "Exercises 07, caching"


class CachingExercises(ExerciseSet):
    """Five exercises on results that are kept.

    Attributes:
        who_gets: say who may be given a kept result.
        fits: decide whether a kept result answers a request.
        still_fresh: put time to live and notifications together.
        host_cache: build a cache for several principals out of the two.
        page_clocks: keep the pages of a list, each with a clock of its own.
        Entry: a kept result, for `host_cache`.
    """

    Entry = Entry

    notebook = Notebook(
        "07_caching",
        imports=(
            "import anyio",
            "from mcpsim import ProtocolError",
            "from mcpsim.course import exercises",
        ),
        notes=(
            "The exercises build on each other: `host_cache` uses what you wrote for `fits` and "
            "`still_fresh`. In the set of lesson 04 you wrote when a result may be served; here the whole "
            "request counts.",
        ),
        further=(
            "[06 Pagination](../notebooks/06_pagination.ipynb), for the cursors in the last exercise.",
            "[All lessons](../notebooks/index.ipynb).",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.who_gets = self._exercise(who_gets.TASK)
        self.fits = self._exercise(fits.TASK)
        self.still_fresh = self._exercise(still_fresh.TASK)
        self.host_cache = self._exercise(host_cache.TASK)
        self.page_clocks = self._exercise(page_clocks.TASK)
