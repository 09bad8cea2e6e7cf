"""What a played story leaves behind, on the virtual clock or against a real process."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from mcpsim.recording.recording import Recording

if TYPE_CHECKING:
    from mcpsim.audit import Report


@dataclass(frozen=True, repr=False)
class Run:
    """One finished run of a story.

    Attributes:
        recording: everything that happened.
        value: what the story returned.
        error: what the story raised, where the caller asked not to have it raised; otherwise None.
        unused_faults: the faults that changed nothing, because their message never came or had nothing in it
            to change.
        again: how it is played again, for `mcpsim.simulation.branch`; None where it cannot be, as where the
            peers were real processes.
    """

    recording: Recording
    value: Any = None
    error: Exception | None = None
    unused_faults: tuple[Any, ...] = ()
    again: Any = field(default=None, compare=False)

    def __repr__(self) -> str:
        ended = f"raised {type(self.error).__name__}" if self.error is not None else "finished"
        unused = len(self.unused_faults)
        faults = f", {unused} fault{'s' if unused > 1 else ''} without effect" if unused else ""
        return f"<Run {self.recording.title!r}: {len(self.recording.frames)} messages, {ended}{faults}>"

    def transcript(self, *, width: int = 100) -> str:
        """The run as text, one line a message: the same run gives the same text."""
        return self.recording.transcript(width=width)

    def audit(self) -> Report:
        """What each message is, and which rules of the specification are broken."""
        return self.recording.audit()


def recording_of(given: object) -> Recording:
    """The recording of a run, or the recording itself.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(given, Run):
        return given.recording
    if isinstance(given, Recording):
        return given
    raise TypeError(f"This takes a run, as `simulate` returns it, or a recording; not {given!r:.60}.")


def title_of(story: Callable[..., Any]) -> str:
    """What a run of this story is called: the first line of its docstring, or its name."""
    documented = inspect.getdoc(story)
    if documented:
        return documented.splitlines()[0].rstrip(".")
    return getattr(story, "__name__", "story").replace("_", " ")


async def value_of(returned: object) -> Any:
    """What a story comes to, from what calling it returned.

    Raises:
        TypeError: it returns a call that it did not await.
    """
    value = await returned if inspect.isawaitable(returned) else returned
    if inspect.iscoroutine(value):
        value.close()
        raise TypeError(
            f"The story returned {value.__qualname__}(...), which never ran: an `await` is missing before it."
        )
    return value


def single(error: BaseException) -> BaseException:
    """What is inside of the groups of one that task groups put around an error: it, or a group of several."""
    found = error
    while isinstance(found, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", found).exceptions
        if len(inner) != 1:
            break
        found = inner[0]
    return cast("BaseException", found)
