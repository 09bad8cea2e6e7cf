"""The workbook as files: where it is, how a learner gets a copy, and how its notebooks are kept fresh.

Only the command line uses this room. Nothing here is imported by `import mcpsim`, so that the rest runs where
there is no file system to speak of, as in a browser.
"""

from __future__ import annotations

from mcpsim.workbook.copying import MANIFEST, Copied, Outcome, copy_workbook
from mcpsim.workbook.exercise_notebooks import (
    exercise_notebooks,
    learners_notebook,
    solutions_notebook,
    source_notebook,
)
from mcpsim.workbook.folders import FIRST_LESSON, Source, WorkbookError, find_source
from mcpsim.workbook.lab import open_lab, require_lab
from mcpsim.workbook.normal_form import NotebookProblem, normal_form, problems
from mcpsim.workbook.refreshing import Refreshed, find_notebooks, refresh
from mcpsim.workbook.trust import pristine, trust

__all__ = [
    "FIRST_LESSON",
    "MANIFEST",
    "Copied",
    "NotebookProblem",
    "Outcome",
    "Refreshed",
    "Source",
    "WorkbookError",
    "copy_workbook",
    "exercise_notebooks",
    "find_notebooks",
    "find_source",
    "learners_notebook",
    "normal_form",
    "open_lab",
    "pristine",
    "problems",
    "refresh",
    "require_lab",
    "solutions_notebook",
    "source_notebook",
    "trust",
]
