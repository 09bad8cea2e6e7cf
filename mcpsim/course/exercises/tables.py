"""What tasks that ask about things by letter have in common: the tables in their texts, and the starter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol


class Told(Protocol):
    """A thing that a task tells of.

    Attributes:
        text: the thing, in Markdown.
    """

    @property
    def text(self) -> str: ...


def rows(lines: Iterable[Iterable[str]]) -> str:
    """The rows of a table in Markdown, from the texts of their cells. The head stands in the task."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def things(told: Mapping[str, Told]) -> str:
    """The rows for the things to be judged: the letter, and what it stands for."""
    return rows((letter, thing.text) for letter, thing in told.items())


def meanings(words: Mapping[str, str]) -> str:
    """The rows for the words to choose from: the word as it is written in the answer, and what it means."""
    return rows((f"`{word!r}`", meaning) for word, meaning in words.items())


def open_answers(name: str, letters: Iterable[str], *, in_line: int) -> str:
    """The starter: a dict in which each letter is still open.

    Args:
        name: what the answer is called.
        letters: its keys.
        in_line: how many of them stand in one line.
    """
    cells = [f'"{letter}": ...,' for letter in letters]
    lines = [" ".join(cells[at : at + in_line]) for at in range(0, len(cells), in_line)]
    return "\n".join([f"{name} = {{", *(f"    {line}" for line in lines), "}"])
