"""Exercise: choose a version from the list of the error, and ask again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.plain import as_text
from mcpsim.course.exercises.set_04_stateless.future import FUTURE, LISTS, METHOD
from mcpsim.course.exercises.set_04_stateless.worlds import worlds
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import exchanges, require_valid
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.course.servers import help_desk
from mcpsim.eras.revisions import LATEST_LEGACY, LATEST_MODERN, LEGACY_REVISIONS
from mcpsim.messages import PROTOCOL_VERSION
from mcpsim.recording import Recording

DRAFT: Final = "2026-12-01"

CHOOSES: Final = Rule(
    "The client SHOULD select a version that both support from the list and retry the request, or surface "
    "an error to the user if there is none.",
    "basic/versioning#protocol-version-negotiation",
)


@dataclass(frozen=True, slots=True)
class Case:
    """What the client speaks, and in which order the server lists what it supports."""

    spoken: tuple[str, ...]
    listed: tuple[str, ...]

    @property
    def common(self) -> tuple[str, ...]:
        """What both speak."""
        return tuple(version for version in self.spoken if version in self.listed)


CASES: Final = (
    Case((FUTURE, LATEST_MODERN), (LATEST_MODERN,)),
    Case((FUTURE, DRAFT, LATEST_MODERN), (LATEST_MODERN, LATEST_LEGACY)),
    Case((FUTURE, LATEST_MODERN), (LATEST_LEGACY, LATEST_MODERN)),
    Case((FUTURE, DRAFT), (LATEST_MODERN,)),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Play the story with several lists on both sides."""
    for case in CASES:
        server = help_desk(versions=case.listed)
        # A server of ours lists the newest version first. Nothing says that every server does.
        server.supported_versions = case.listed
        for transport, seed in worlds():
            run = learner.play(
                answer,
                list(case.spoken),
                server=server,
                transport=transport,
                seed=seed,
                title=TITLE,
                judge=partial(_judge, case),
            )
            accepted = case.common[0] if case.common else None
            if (as_text(run.value) if run.value is not None else None) != accepted or (
                accepted is None and run.value is not None
            ):
                raise NotYet(
                    f"The server lists {show(list(case.listed))} and the client speaks "
                    f"{show(list(case.spoken))}. {name_of(answer)} should return {show(accepted)} and "
                    f"returned {show(run.value)}.",
                    CHOOSES,
                    "Return the version of the request that brought a result, or None where there is none.",
                    run.recording,
                )
            require_valid(run.recording)
    return Passed(
        f"With {len(CASES)} pairs of lists it asked again in a version that both speak, and not at all "
        "where there was none.",
        CHOOSES,
    )


def _judge(case: Case, recording: Recording) -> None:
    asked = exchanges(recording)
    versions = [one.meta.get(PROTOCOL_VERSION) for one in asked]
    order = f" Its requests declare, in this order: {', '.join(map(show, versions))}." if asked else ""
    lists = f"The server lists {show(list(case.listed))}"
    if not asked or versions[0] != case.spoken[0]:
        first = f"declares {show(versions[0])}" if asked else "is missing"
        raise NotYet(
            f"The first request {first}. It should declare {show(case.spoken[0])}, the version that this "
            f"client likes best.{order}",
            CHOOSES,
            "Begin with `spoken[0]`.",
        )
    for version in versions[1:]:
        if version not in case.spoken:
            raise NotYet(
                f"{lists}, and the client speaks {show(list(case.spoken))}. A later request declares "
                f"{show(version)}, which this client does not speak.{order}{_legacy(version)}",
                CHOOSES,
                "Choose a version that is in both lists. Neither order tells you which that is.",
            )
        if version not in case.listed:
            raise NotYet(
                f"{lists}. A later request declares {show(version)} all the same.{order}",
                LISTS,
                "Read the list in the error before you ask again.",
            )
    if case.common and not any(one.result is not None for one in asked):
        raise NotYet(
            f"{lists}, and the client speaks {show(list(case.spoken))}, but no request got a result.{order}",
            CHOOSES,
            f"Ask again for `{METHOD}`, with the version that you chose.",
        )


def _legacy(version: object) -> str:
    if version not in LEGACY_REVISIONS:
        return ""
    return (
        f" The server lists {show(version)} for sessions, which `initialize` opens. A request that stands "
        "alone cannot be in it, and so this server refuses it, although the list has it. No page says what "
        "it should answer."
    )


TITLE: Final = "Choose a version and ask again"

TASK: Final = Task(
    name="retry",
    title=TITLE,
    text=f"""\
Write a story that asks for `{METHOD}` in the version that the client likes best. If the server refuses it,
choose another version that both speak, and ask again. Return the version that was accepted, or None if
there is none in common: then do not ask again.

A server of both eras lists legacy versions, too. It speaks them after a handshake alone.

`spoken` holds the versions that the client speaks, the one that it likes best first. `spoken[0]` is
`{FUTURE}`.""",
    answer="ask_again",
    starter='''\
async def ask_again(client, spoken):
    """Ask in `spoken[0]`, and if that is refused in a version that both speak. Return the version."""
    return ...''',
    hints=(
        "Begin with your answer to the exercise before this one: it gets you the list of the server.",
        "Go through `spoken` in its order and take the first version that is in the list as well. The "
        "order of the server's list says nothing about what your client speaks.",
        "`next((version for version in spoken if version in listed), None)` is that version, or None.",
    ),
    solution=(
        """\
async def ask_again(client, spoken):
    version = spoken[0]
    try:
        await client.request("tools/list", meta={VERSION: version})
    except ProtocolError as error:
        listed = error.data["supported"]
        version = next((one for one in spoken if one in listed), None)
        if version is not None:
            await client.request("tools/list", meta={VERSION: version})
    return version""",
    ),
    why="Both lists count: a version that only one side speaks helps nobody, and the order of the server's "
    "list is no advice.",
    grade=grade,
    pages=(("version negotiation", "basic/versioning#protocol-version-negotiation"),),
    play=f"""\
spoken = ["{FUTURE}", "{LATEST_MODERN}"]
simulate(lambda client: ask_again(client, spoken), server=help_desk(), title="Ask again", check=False)""",
)
