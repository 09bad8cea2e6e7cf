"""Exercises that ask for one word about each specimen, and the grader for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from mcpsim.course.exercises.exercise import Passed
from mcpsim.course.exercises.plain import as_text, filled_in, require_complete
from mcpsim.course.exercises.showing import show
from mcpsim.course.exercises.verdict import NotYet, Rule


class Judged(Protocol):
    """One thing to be judged.

    Attributes:
        word: what it is.
        seen: what there is to see in it, as a sentence.
        rule: what decides.
    """

    @property
    def word(self) -> str: ...
    @property
    def seen(self) -> str: ...
    @property
    def rule(self) -> Rule: ...


@dataclass(frozen=True, slots=True)
class Specimen:
    """One thing to be judged, and nothing beside."""

    word: str
    seen: str
    rule: Rule


def grade_words(
    answer: object,
    specimens: Mapping[str, Judged],
    words: tuple[str, ...],
    *,
    name: str,
    look: str,
    passed: str,
    rule: Rule | None = None,
) -> Passed:
    """Compare the words, letter by letter.

    Args:
        answer: what the learner wrote: a dict from letters to words.
        specimens: the specimens by letter.
        words: the words that there are.
        name: what the starter calls the answer.
        look: what to look at where a word is wrong.
        passed: what is said where all are right.
        rule: the rule to remember then.

    Raises:
        NotAttempted: nothing is filled in.
        NotYet: a word is wrong, or there is no such word, or one is still open.
    """
    letters = tuple(specimens)
    given = filled_in(answer, letters, name)
    said = {letter: as_text(value) for letter, value in given.items()}
    for letter, word in said.items():
        if word not in words:
            raise NotYet(
                f"{letter}: {show(given[letter])} is none of the words.",
                look=f"The words are {_listed(words)}.",
            )
    wrong = [letter for letter, word in said.items() if word != specimens[letter].word]
    if wrong:
        first = specimens[wrong[0]]
        raise NotYet(
            f"{len(said) - len(wrong)} of {len(specimens)} are right. {wrong[0]} is not "
            f"{show(said[wrong[0]])}. {first.seen}",
            first.rule,
            look,
        )
    require_complete(given, letters)
    return Passed(passed, rule)


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f'"{word}"' for word in words)
