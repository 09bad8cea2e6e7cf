"""The exercises of lesson 06: lists in pages."""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import ExerciseSet
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.neutral import neutral
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_06_pagination import cursor_rules, cut_pages, page_fault, whole_list
from mcpsim.course.exercises.set_06_pagination.logs import LOGS, by_table, in_words
from mcpsim.course.exercises.set_06_pagination.paging import PagedServer
from mcpsim.recording import Recording
from mcpsim.server import Server

TITLE: Final = "Exercises 06, pagination"


class PaginationExercises(ExerciseSet):
    """Four exercises on lists in pages.

    Attributes:
        cursor_rules: tell MUST and SHOULD from what is no rule.
        page_fault: find what a client does wrong with a list.
        whole_list: read a list to its end, whatever its server does.
        cut_pages: cut a list into pages, with cursors that survive a change.
    """

    notebook = Notebook(
        "06_pagination",
        imports=(
            "from mcpsim import Player, ProtocolError, simulate",
            "from mcpsim.course import exercises",
        ),
        further=(
            "[07 Caching](../notebooks/07_caching.ipynb): how long a page may be kept, and for whom.",
            "[All lessons](../notebooks/index.ipynb).",
        ),
    )

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        super().__init__(TITLE, patience_s)
        self.cursor_rules = self._exercise(cursor_rules.TASK)
        self.page_fault = self._exercise(page_fault.TASK)
        self.whole_list = self._exercise(whole_list.TASK)
        self.cut_pages = self._exercise(cut_pages.TASK)

    def recording(self, letter: str) -> Recording:
        """What one of the clients of `page_fault` did: show it in a cell of its own, and the player opens.

        Raises:
            LookupError: there is no such letter.
        """
        logs = LOGS()
        if letter not in logs:
            raise LookupError(f"There is no recording {letter!r}. The letters are {', '.join(logs)}.")
        return neutral(logs[letter].play(), f"Recording {letter}")

    def shelf(self) -> Server:
        """A server with a list in pages of different sizes, for trying a story."""
        pages = {None: (("ant", "bee"), ""), "": (("bee",), "0"), "0": ((), "z"), "z": (("cat", "dog"), None)}
        return PagedServer(by_table(pages), ("ant", "bee", "cat", "dog"))

    def logs(self) -> str:
        """What all clients of `page_fault` did, as text."""
        blocks = (
            "\n".join([f"{letter}", *(f"  {line}" for line in in_words(log.play()))])
            for letter, log in LOGS().items()
        )
        return "\n\n".join(blocks)
