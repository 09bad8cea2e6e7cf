"""Exercises that ask for one word about each specimen, and the grader for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from mcpsim.course.exercises.exercise import Passed
from mcpsim.course.exercises.plain import as_text, filled_in, require_complete
from mcpsim.course.exercises.showing import show
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.recording import Recording


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


@dataclass(frozen=True, slots=True)
class Situation:
    """One thing to be judged that the task tells of.

    Attributes:
        text: the thing, in Markdown.
        word: what it is, or what is right there.
        seen: what there is to see in it, as a sentence.
        rule: what decides.
    """

    text: str
    word: str
    seen: str
    rule: Rule


def grade_words(
    answer: object,
    specimens: Mapping[str, Judged],
    words: tuple[str, ...],
    *,
    name: str,
    look: str | Callable[[str], str],
    passed: str,
    rule: Rule | None = None,
    read: Callable[[object], str | None] = as_text,
    recording: Callable[[str], Recording] | None = None,
) -> Passed:
    """Compare the words, letter by letter.

    Args:
        answer: what the learner wrote: a dict from letters to words.
        specimens: the specimens by letter.
        words: the words that there are.
        name: what the starter calls the answer.
        look: what to look at where a word is wrong; a function is asked with the first such letter.
        passed: what is said where all are right.
        rule: the rule to remember then.
        read: the word that a value stands for, or None.
        recording: what crossed the wire at a letter, to be shown where its word is wrong.

    Raises:
        NotAttempted: nothing is filled in.
        NotYet: a word is wrong, or there is no such word, or one is still open.
    """
    letters = tuple(specimens)
    given = filled_in(answer, letters, name)
    said = {letter: read(value) for letter, value in given.items()}
    for letter, word in said.items():
        if word not in words:
            raise NotYet(
                f"{letter}: {show(given[letter])} is none of the words.",
                look=f"The words are {_listed(words)}.",
            )
    wrong = [letter for letter, word in said.items() if word != specimens[letter].word]
    if wrong:
        letter = wrong[0]
        first = specimens[letter]
        raise NotYet(
            f"{len(said) - len(wrong)} of {len(specimens)} are right. {letter} is not "
            f"{show(said[letter])}. {first.seen}",
            first.rule,
            look if isinstance(look, str) else look(letter),
            None if recording is None else recording(letter),
        )
    require_complete(given, letters)
    return Passed(passed, rule)


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f'"{word}"' for word in words)
