"""The knobs of what the user does: press Stop, and answer what a server asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, Final

import anyio
import mcp_types

from mcpsim.client import Client
from mcpsim.course.benches.stage import Part, Stage
from mcpsim.course.stories import text_of
from mcpsim.course.stories.asking import fill_in, obliging
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import InputDeclined
from mcpsim.simulation.knobs import Knob, Settings

USER: Final = "User"
#: How long the story looks on after Stop was pressed.
_AFTER_S: Final = 0.5

_ANSWERS: Final = {
    "accept": "fills it in (accept)",
    "decline": "says no (decline)",
    "cancel": "closes it (cancel)",
}
_VISITS: Final = {
    "accept": "agrees to visit it (accept)",
    "decline": "says no (decline)",
    "cancel": "closes it (cancel)",
}
_TEXTS: Final = {"accept": "lets it be sent", "decline": "does not want it"}
_FOLDERS: Final = ("file:///home/user/travel", "file:///home/user/letters", "file:///home/user/photos")

Told = Callable[..., Any]


def stop_part(high_ms: int) -> Part:
    """When the user presses Stop in a story that knows of no such thing.

    Args:
        high_ms: about how long the story takes, in milliseconds.
    """

    def apply(stage: Stage, settings: Settings) -> Stage:
        stop_ms: Any = settings["stop_ms"]
        return stage if stop_ms is None else replace(stage, story=_stopped(stage.story, stop_ms / 1000))

    return Part((_stop(None, 10, high_ms),), apply)


def own_stop_part(retold: Callable[[float | None], Told], default_ms: int, high_ms: int) -> Part:
    """When the user presses Stop in a story that is about it.

    Args:
        retold: the story with another time, in seconds; None for never.
        default_ms: when it is in the story, in milliseconds.
        high_ms: about how long the story takes without it, in milliseconds.
    """

    def apply(stage: Stage, settings: Settings) -> Stage:
        stop_ms: Any = settings["stop_ms"]
        return replace(stage, story=retold(None if stop_ms is None else stop_ms / 1000))

    return Part((_stop(default_ms, 10, high_ms),), apply)


def _stop(default: int | None, low: int, high: int) -> Knob:
    return Knob.number(
        "stop_ms", "Stop is pressed after", low, high, default=default, step=10, unit="ms", none="never",
        group=USER,
    )  # fmt: skip


def _stopped(story: Told, stop_s: float) -> Told:
    @wraps(story)
    async def told(*clients: Client) -> Any:
        value: Any = "stopped"
        with anyio.move_on_after(stop_s) as scope:
            value = await story(*clients)
        if scope.cancelled_caught:
            await anyio.sleep(_AFTER_S)
        return value

    return told


def report_stopped(stop_s: float | None) -> Told:
    """`report-stopped` with another time."""

    async def told(client: Client) -> str:
        seen: list[float] = []

        def show(progress: float, total: float | None, message: str | None) -> None:
            seen.append(progress)

        with anyio.move_on_after(stop_s) as scope:
            await client.call_tool("export_report", {"parts": 5}, on_progress=show)
        await anyio.sleep(_AFTER_S)
        return f"stopped after part {len(seen)}" if scope.cancelled_caught else "finished"

    return told


def cancel_crosses_the_answer(stop_s: float | None) -> Told:
    """`cancel-crosses-the-answer` with another time."""

    async def told(client: Client) -> str:
        with anyio.move_on_after(stop_s) as scope:
            await client.call_tool("saw", {"seconds": 0.5})
        await anyio.sleep(0.2)
        return "stopped" if scope.cancelled_caught else "answered"

    return told


def cancel_before_it_begins(stop_s: float | None) -> Told:
    """`cancel-before-it-begins` with another time."""

    async def told(client: Client) -> str:
        with anyio.move_on_after(stop_s):
            await client.call_tool("saw", {"seconds": 0.3})
        await anyio.sleep(1)
        return text_of(await client.call_tool("look_around"))

    return told


def form_part(*forms: tuple[str, str], default: str = "accept") -> Part:
    """What the user does with each form.

    Args:
        forms: for each form a field by which it is known, and what it asks for.
        default: what the user of the story does.
    """
    names = [f"answer_{number}" if len(forms) > 1 else "answer" for number in range(1, len(forms) + 1)]
    knobs = tuple(
        Knob.choice(name, f"Asked for {asked}, the user", _ANSWERS, default=default, group=USER)
        for name, (_, asked) in zip(names, forms, strict=True)
    )

    def apply(stage: Stage, settings: Settings) -> Stage:
        actions = {field: str(settings[name]) for name, (field, _) in zip(names, forms, strict=True)}

        def clients(era: ClientEra) -> Client:
            return Client(era=era, elicit=lambda asked: _answer(asked, actions))

        return replace(stage, clients=clients)

    return Part(knobs, apply)


def _answer(asked: mcp_types.ElicitRequestFormParams, actions: Mapping[str, str]) -> Any:
    fields = asked.requested_schema["properties"]
    action = next((actions[field] for field in fields if field in actions), "accept")
    return fill_in(asked) if action == "accept" else action


def visit_part() -> Part:
    """What the user does where a server wants a page visited."""
    knob = Knob.choice("answer", "Asked to visit a page, the user", _VISITS, group=USER)

    def apply(stage: Stage, settings: Settings) -> Stage:
        def clients(era: ClientEra) -> Client:
            return Client(era=era, elicit_url=lambda asked: settings["answer"])

        return replace(stage, clients=clients)

    return Part((knob,), apply)


def sampling_part() -> Part:
    """What the user does with what the model wrote."""
    knob = Knob.choice("answer", "Asked whether the model may write, the user", _TEXTS, group=USER)

    def refuse(asked: Any) -> str:
        raise InputDeclined("The user does not want it.")

    def refusing(era: ClientEra) -> Client:
        return Client(era=era, sample=refuse)

    def apply(stage: Stage, settings: Settings) -> Stage:
        return stage if settings["answer"] == "accept" else replace(stage, clients=refusing)

    return Part((knob,), apply)


def folders_part() -> Part:
    """How many folders the client offers."""
    knob = Knob.number("folders", "Folders that the client offers", 0, len(_FOLDERS), default=1, group=USER)

    def apply(stage: Stage, settings: Settings) -> Stage:
        count: Any = settings["folders"]

        def clients(era: ClientEra) -> Client:
            return Client(era=era, roots=list(_FOLDERS[:count]))

        return replace(stage, clients=clients)

    return Part((knob,), apply)


def can_ask_part() -> Part:
    """Whether the client declares that it can ask its user."""
    knob = Knob.switch("can_ask", "The client can ask its user", group=USER)

    def apply(stage: Stage, settings: Settings) -> Stage:
        return replace(stage, clients=obliging) if settings["can_ask"] else stage

    return Part((knob,), apply)
