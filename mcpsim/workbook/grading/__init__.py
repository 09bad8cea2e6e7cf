"""Grade what a class handed in, without nbgrader.

Each submission runs in a process of its own, with limits. What is protected, and from whom:

- The machine and the other submissions: a loop without an end, memory without an end, a flood of output or a
  process that ends itself costs the exercise at hand, and the next one goes on in a new process. By Python's
  audit events that process is refused other processes, network connections, writing outside of its own
  folder, and reading what others handed in. The operating system's limits hold as well, where it has them.
- The points: cells with checks, hints and the set-up are never taken from a submission; they are built anew
  from the sets. Answers that are tables leave the process as plain data and are checked outside of it. For
  answers that are code the check has to run beside that code. There the verdict comes over a pipe with a word
  that is new in each process, each check that passes must also refuse an answer that is none, and what the
  exercises are made of must be unchanged afterwards.

What is not protected: Python is no sandbox. Code that was written against this very grader, with knowledge of
the interpreter, can find its way around all of this, for its own points and, with the rights of the user who
grades, for other things. Read the code of whoever surprises you: it is in the report. For an examination run
the grader in a container, or as a user who owns nothing.
"""

from __future__ import annotations

from mcpsim.workbook.grading.grader import GradedExercise, GradedSubmission, Limits, grade_submission
from mcpsim.workbook.grading.report import as_csv, as_html
from mcpsim.workbook.grading.starting import fork_server
from mcpsim.workbook.grading.submissions import Section, Submission, find_submissions

__all__ = [
    "GradedExercise",
    "GradedSubmission",
    "Limits",
    "Section",
    "Submission",
    "as_csv",
    "as_html",
    "find_submissions",
    "fork_server",
    "grade_submission",
]
