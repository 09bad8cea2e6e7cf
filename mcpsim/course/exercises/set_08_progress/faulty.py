"""Exercise: which of these traces break a rule, and which only look odd?"""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.neutral import shown
from mcpsim.course.exercises.set_08_progress.traces import TRACES, WORDS
from mcpsim.course.exercises.specimens import grade_words
from mcpsim.course.exercises.tables import meanings, open_answers


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the faults, letter by letter."""
    return grade_words(
        answer,
        TRACES,
        tuple(WORDS),
        name="faults",
        look=lambda letter: (
            f"Go through {letter} line by line, with two questions: which tokens are active now, and is each "
            "value greater than the one before?"
        ),
        passed="All eight are right: four break a rule, and four only look odd.",
    )


TASK: Final = Task(
    name="faulty",
    title="Faulty, or only odd",
    text=f"""\
Eight traces of a modern client and server over stdio, in short: `→` is from the client, `←` from the server.
Tokens are written as in JSON. Which of them break a rule? Choose one for each letter:

| word | meaning |
|---|---|
{meanings(WORDS)}

`{shown('ex.traces["A"]')}` shows a trace in the player, without what the audit finds.""",
    answer="faults",
    starter=open_answers("faults", TRACES, in_line=4),
    hints=(
        "For each trace, write down which tokens are active after each line, and the last value of each.",
        "What looks odd may be allowed. Which sentence on the page would forbid it?",
        'Half of them are fine. `ex.traces["A"].audit()` names the rule that a trace breaks, if any.',
    ),
    solution=(
        """\
faults = {
    "A": "does not rise", "B": "fine", "C": "unknown token", "D": "fine",
    "E": "too late", "F": "fine", "G": "shared token", "H": "fine",
}""",
    ),
    why="Two things decide: which tokens are active, and whether the value increases. The total decides "
    "nothing.",
    grade=grade,
    pages=(
        ("progress", "basic/patterns/progress#progress-flow"),
        ("behaviour", "basic/patterns/progress#behavior-requirements"),
    ),
    show="print(ex.traces_in_short)",
)
