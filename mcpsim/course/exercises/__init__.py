"""The exercises: one set for each lesson.

    from mcpsim.course import exercises

    ex = exercises.messages()
    ex.classify.check(answers)

A check runs what the learner wrote and never compares source text. It says one of three things: passed, not
yet (with what was seen, the rule and what to look at next), or not attempted. `hint()` shows one hint after
the other, `solution()` one right answer. What a set remembers is in the set alone: call `messages()` again
and everything begins anew.
"""

from __future__ import annotations

from typing import Final, Protocol

from mcpsim.course.exercises.exercise import Exercise, ExerciseSet, Task
from mcpsim.course.exercises.grading import Grade
from mcpsim.course.exercises.learner import PATIENCE_S
from mcpsim.course.exercises.notebook import Notebook
from mcpsim.course.exercises.set_01_messages import MessageExercises
from mcpsim.course.exercises.set_02_layers_and_transports import LayerExercises
from mcpsim.course.exercises.set_03_handshake import HandshakeExercises
from mcpsim.course.exercises.set_04_stateless import StatelessExercises
from mcpsim.course.exercises.set_05_eras_side_by_side import EraExercises
from mcpsim.course.exercises.set_06_pagination import PaginationExercises
from mcpsim.course.exercises.set_07_caching import CachingExercises
from mcpsim.course.exercises.set_08_progress import ProgressExercises
from mcpsim.course.exercises.set_09_cancellation import CancellationExercises
from mcpsim.course.exercises.set_10_multi_round_trip import RoundExercises
from mcpsim.course.exercises.set_11_subscriptions import SubscriptionExercises
from mcpsim.course.exercises.set_12_errors import ErrorExercises
from mcpsim.course.exercises.set_13_one_tool_call import ToolCallExercises
from mcpsim.course.exercises.set_14_stateless_at_scale import ScaleExercises
from mcpsim.course.exercises.set_15_wire_forensics import ForensicsExercises
from mcpsim.course.exercises.set_16_capstone import CapstoneExercises
from mcpsim.course.exercises.verdict import Outcome, Verdict

__all__ = [
    "SETS",
    "Exercise",
    "ExerciseSet",
    "Grade",
    "Maker",
    "Notebook",
    "Outcome",
    "Task",
    "Verdict",
    "caching",
    "cancellation",
    "capstone",
    "eras",
    "errors",
    "forensics",
    "handshake",
    "layers",
    "messages",
    "pagination",
    "progress",
    "rounds",
    "scale",
    "stateless",
    "subscriptions",
    "tool_call",
]


def messages(*, patience_s: float = PATIENCE_S) -> MessageExercises:
    """The exercises of lesson 01, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return MessageExercises(patience_s)


def layers(*, patience_s: float = PATIENCE_S) -> LayerExercises:
    """The exercises of lesson 02, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return LayerExercises(patience_s)


def handshake(*, patience_s: float = PATIENCE_S) -> HandshakeExercises:
    """The exercises of lesson 03, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return HandshakeExercises(patience_s)


def stateless(*, patience_s: float = PATIENCE_S) -> StatelessExercises:
    """The exercises of lesson 04, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return StatelessExercises(patience_s)


def eras(*, patience_s: float = PATIENCE_S) -> EraExercises:
    """The exercises of lesson 05, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return EraExercises(patience_s)


def pagination(*, patience_s: float = PATIENCE_S) -> PaginationExercises:
    """The exercises of lesson 06, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return PaginationExercises(patience_s)


def progress(*, patience_s: float = PATIENCE_S) -> ProgressExercises:
    """The exercises of lesson 08, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return ProgressExercises(patience_s)


def rounds(*, patience_s: float = PATIENCE_S) -> RoundExercises:
    """The exercises of lesson 10, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return RoundExercises(patience_s)


def cancellation(*, patience_s: float = PATIENCE_S) -> CancellationExercises:
    """The exercises of lesson 09, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return CancellationExercises(patience_s)


def caching(*, patience_s: float = PATIENCE_S) -> CachingExercises:
    """The exercises of lesson 07, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return CachingExercises(patience_s)


def subscriptions(*, patience_s: float = PATIENCE_S) -> SubscriptionExercises:
    """The exercises of lesson 11, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return SubscriptionExercises(patience_s)


def errors(*, patience_s: float = PATIENCE_S) -> ErrorExercises:
    """The exercises of lesson 12, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return ErrorExercises(patience_s)


def forensics(*, patience_s: float = PATIENCE_S) -> ForensicsExercises:
    """The exercises of lesson 15, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return ForensicsExercises(patience_s)


def tool_call(*, patience_s: float = PATIENCE_S) -> ToolCallExercises:
    """The exercises of lesson 13, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return ToolCallExercises(patience_s)


def scale(*, patience_s: float = PATIENCE_S) -> ScaleExercises:
    """The exercises of lesson 14, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return ScaleExercises(patience_s)


def capstone(*, patience_s: float = PATIENCE_S) -> CapstoneExercises:
    """The exercises of lesson 16, fresh.

    Args:
        patience_s: how long your code may take in one check, in seconds.
    """
    return CapstoneExercises(patience_s)


class Maker(Protocol):
    """Makes a set, fresh. Notebooks call it by its name: `exercises.<name>()`."""

    @property
    def __name__(self) -> str: ...

    def __call__(self, *, patience_s: float = PATIENCE_S) -> ExerciseSet: ...


# Every set, in the order of the lessons. The notebooks, the overview and the tests read this table.
SETS: Final[tuple[Maker, ...]] = (
    messages,
    layers,
    handshake,
    stateless,
    eras,
    pagination,
    caching,
    progress,
    cancellation,
    rounds,
    subscriptions,
    errors,
    tool_call,
    scale,
    forensics,
    capstone,
)
