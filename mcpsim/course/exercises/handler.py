"""A handler that a learner wrote, as part of a server: what it raises is kept for the check."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

from mcpsim.course.exercises.learner import is_placeholder, require_function
from mcpsim.course.exercises.showing import describe_error, name_of
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.recording import Recording

#: The rule that decides where a handler raises something, and what to look at next.
Advice = tuple[Rule | None, str]

_NO_ADVICE: Final[Mapping[type[Exception], Advice]] = {}
_PLAY_IT: Final = "Put it into a server of your own, play it with `simulate`, and look at the messages."


class Handler:
    """Calls the learner's function where a server calls a handler.

    Args:
        function: what the learner wrote.

    Attributes:
        returned: how often it came to its end and returned something.
        is_endless: set by a story whose client has given up waiting for it.

    Raises:
        NotYet: it is no function.
    """

    def __init__(self, function: Any) -> None:
        require_function(function)
        self._function = function
        self._error: Exception | None = None
        self._is_open = False
        self.returned = 0
        self.is_endless = False

    async def call(self, *arguments: Any) -> Any:
        """Call it, and wait for what it returns where it is async."""
        try:
            value = self._function(*arguments)
            if inspect.isawaitable(value):
                value = await value
        except Exception as error:
            if self._error is None:
                self._error = error
            raise
        self.returned += 1
        self._is_open = self._is_open or is_placeholder(value)
        return value

    def require_no_error(
        self,
        recording: Recording,
        *,
        where: str = "",
        expected: type[Exception] | None = None,
        advice: Mapping[type[Exception], Advice] = _NO_ADVICE,
    ) -> None:
        """It came to its end, and neither raised nor returned `...`.

        Args:
            recording: the run, to be shown with what is wrong.
            where: what happens in the run, as a sentence; said before what it raised.
            expected: an error that is meant to come out.
            advice: what to say of errors that are known to come.

        Raises:
            NotAttempted: it returned `...`.
            NotYet: it raised, or is endless.
        """
        if self.is_endless:
            raise NotYet(
                f"{name_of(self._function)} was not at its end when the client gave up, after a minute.",
                look="What does it wait for, or which loop goes on?",
                recording=recording,
            )
        if self._is_open:
            raise NotAttempted
        if self._error is None or (expected is not None and isinstance(self._error, expected)):
            return
        rule, look = next(
            (said for kind, said in advice.items() if isinstance(self._error, kind)), (None, _PLAY_IT)
        )
        seen = f"{name_of(self._function)} raised {describe_error(self._error, self._function)}."
        raise NotYet(
            f"{where} {seen}".strip(),
            rule,
            look,
            recording,
        )
