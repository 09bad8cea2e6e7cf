"""A stand-in for a language model: it says what its script says, and remembers what it was given to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolUse:
    """What a model says when it wants a tool to be called.

    Attributes:
        name: the tool's name.
        arguments: what the tool is given.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


Turn = str | ToolUse
#: A turn, or a function that makes it from the text that the model has just read.
Script = Turn | Callable[[str], Turn]


class ScriptedModel:
    """A model with a script, so that a run with it is the same every time.

    A real one decides by itself. What it knows is the same in both cases: the text that its host gives it.

    Args:
        turns: what it says, in order: a text for the user, a `ToolUse`, or a function from what it has just
            read to one of them.

    Attributes:
        has_read: all that it was given to read, in order.

    Raises:
        TypeError: a turn is something else.
    """

    def __init__(self, *turns: Script) -> None:
        for turn in turns:
            if not isinstance(turn, (str, ToolUse)) and not callable(turn):
                raise TypeError(f"A turn is a text, a ToolUse, or a function that makes one, not {turn!r}.")
        self._turns = list(turns)
        self.has_read: list[str] = []

    def reads(self, text: str) -> Turn:
        """Give it something to read, and hear what it says.

        Raises:
            LookupError: its script has come to its end.
        """
        self.has_read.append(text)
        if not self._turns:
            raise LookupError(f"The script of this model has no turn left. It has just read: {text!r}.")
        turn = self._turns.pop(0)
        return turn(text) if callable(turn) else turn
