"""Exercise: which version does the server answer with?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import as_text
from mcpsim.course.exercises.set_03_handshake.rules import (
    ANOTHER_VERSION,
    NEGOTIATION,
    SAME_VERSION,
)
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.eras.pages import LEGACY
from mcpsim.eras.revisions import LATEST_LEGACY, LEGACY_REVISIONS

SEEDS: Final = (1, 2, 3, 4)
STRANGE: Final = ("2099-01-01", "2020-01-01", "latest", "1.0", "")


@dataclass(frozen=True, slots=True)
class Case:
    """A proposal, and what the server supports."""

    proposed: str
    supported: tuple[str, ...]

    @property
    def right(self) -> str:
        """What the server answers. Revisions are dates, so the latest is the greatest text."""
        return self.proposed if self.proposed in self.supported else max(self.supported)

    @property
    def rule(self) -> Rule:
        """What decides."""
        return SAME_VERSION if self.proposed in self.supported else ANOTHER_VERSION


def cases(seed: int) -> Iterator[Case]:
    """Every proposal to some servers, and some to each, the simple ones first."""
    rng = Random(f"offer:{seed}")
    every = LEGACY_REVISIONS
    yield Case(LATEST_LEGACY, _mixed(rng, every))
    yield Case(every[0], _mixed(rng, every))
    yield Case(LATEST_LEGACY, _mixed(rng, every[:2]))
    yield Case(every[0], _mixed(rng, every[1:]))
    # Between two that are supported: the latest of all, and not the nearest.
    yield Case(every[2], _mixed(rng, (every[0], every[1], every[3])))
    yield Case(every[1], _mixed(rng, (every[0], every[2], every[3])))
    yield Case(every[1], (every[3],))
    for proposed in (*every, *STRANGE):
        yield Case(proposed, _mixed(rng, rng.sample(every, rng.randint(1, len(every)))))


def _mixed(rng: Random, versions: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return tuple(rng.sample(versions, len(versions)))


def grade(answer: object, learner: Learner) -> Passed:
    """Call the function with every kind of proposal."""
    seen = 0
    for seed in SEEDS:
        for case in cases(seed):
            about = (
                f"the proposal {show(case.proposed)}, and a server that supports {show(list(case.supported))}"
            )
            value = learner.call(answer, case.proposed, list(case.supported), on=about, rule=case.rule)
            if is_placeholder(value):
                raise NotAttempted
            if as_text(value) != case.right:
                raise NotYet(
                    f"For {about}, {name_of(answer)} returned {show(value)}; it should be "
                    f"{show(case.right)}.",
                    case.rule,
                    "Is the proposal among those that the server supports? If it is not, what is proposed "
                    "does not matter any more.",
                )
            seen += 1
    return Passed(
        f"{seen} proposals, known ones and strange ones: each got the right answer.", ANOTHER_VERSION
    )


TASK: Final = Task(
    era=LEGACY,
    name="offer",
    title="Answer a proposal",
    text="""\
A client proposes a version. Write the function that says which version the server answers with. Where the
specification recommends something, follow it.

- `proposed` is what the client sent: perhaps a version that nobody knows.
- `supported` is a list of the versions that this server supports, in any order. Versions are dates.""",
    answer="answer_with",
    starter='''\
def answer_with(proposed, supported):
    """The version that the server puts into its result of initialize."""
    return ...''',
    hints=(
        "There are two cases, and the specification has a sentence for each.",
        "If the server does not support what was proposed, it does not look for something near. It offers "
        "the best that it has.",
        "Dates that are written like this sort as texts: `max(supported)` is the latest.",
    ),
    solution=(
        """\
def answer_with(proposed, supported):
    return proposed if proposed in supported else max(supported)""",
    ),
    why="The server makes one offer, and the client decides whether it can speak that. Nobody "
    "searches for the best version in common: that is why a client proposes its latest.",
    grade=grade,
    pages=(("version negotiation", NEGOTIATION),),
)
