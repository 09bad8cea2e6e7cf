"""Exercise: which of these traces break a rule, and which only look odd?"""

from __future__ import annotations

from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.plain import as_text, filled_in, require_complete
from mcpsim.course.exercises.set_08_progress.traces import FAULTS, LETTERS, TRACES
from mcpsim.course.exercises.showing import show
from mcpsim.course.exercises.tables import meanings, open_answers
from mcpsim.course.exercises.verdict import NotYet, Rule


def grade(answer: object, learner: Learner) -> Passed:
    """Compare the faults, letter by letter."""
    given = filled_in(answer, LETTERS, "faults")
    words = {letter: as_text(value) for letter, value in given.items()}
    for letter, word in words.items():
        if word not in FAULTS:
            raise NotYet(
                f"{letter}: {show(given[letter])} is none of the words.",
                look=f"The words are {', '.join(map(repr, FAULTS))}.",
            )
    wrong = [letter for letter, word in words.items() if word != TRACES[letter].fault]
    if wrong:
        letter = wrong[0]
        trace = TRACES[letter]
        raise NotYet(
            f"{len(words) - len(wrong)} of {len(TRACES)} are right. {letter} is not {words[letter]!r}. "
            f"{trace.why}",
            Rule(trace.rule, trace.page),
            f"Go through {letter} line by line, with one question: which tokens are active now?",
            trace.recording,
        )
    require_complete(given, LETTERS)
    return Passed("All eight are right: four break a rule, and four only look odd.")


TASK: Final = Task(
    name="faulty",
    title="Faulty, or only odd",
    text=f"""\
Eight traces of a modern client and server over stdio, in short: `→` is from the client, `←` from the server.
Tokens are written as in JSON. Which of them break a rule? Choose one for each letter:

| word | meaning |
|---|---|
{meanings(FAULTS)}

`ex.traces["A"]` shows a trace in the player.""",
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
