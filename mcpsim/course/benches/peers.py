"""The knobs that every story has: the eras of both sides, the transport, and what goes wrong on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from mcpsim.course.benches.stage import Part, Stage, stage_of
from mcpsim.course.stories import Story
from mcpsim.messages import Batch, ErrorResponse, Notification, Request, RequestId, Response
from mcpsim.recording import Frame, Recording
from mcpsim.recording.run import Run
from mcpsim.simulation.knobs import Knob, Settings, Values
from mcpsim.transports.faults import RESULT_OF, Crash, Cut, Delay, Drop, Duplicate, Fault, Reorder

PEERS: Final = "Peers"
WIRE: Final = "Wire"
FAULT: Final = "Fault"
NO_FAULT: Final = "none"

_ERAS: Final = {"modern": "modern", "legacy": "legacy", "auto": "auto: ask, then choose"}
_SERVER_ERAS: Final = {"both": "both", "modern": "modern only", "legacy": "legacy only"}
_WAYS: Final = {"stdio": "stdio", "http": "Streamable HTTP"}
_LATENCY_MS: Final = 20
_LATE_MS: Final = 1_000

# The texts end what begins with the message: "tools/call is lost".
_FAULTS: Final[Mapping[str, str]] = {
    NO_FAULT: "nothing",
    "drop": "is lost (drop)",
    "delay": "comes late (delay)",
    "duplicate": "arrives twice (duplicate)",
    "reorder": "is overtaken (reorder)",
    "cut": "breaks the connection (cut)",
}
_TIMED: Final = ("delay", "reorder")


def _fault(kind: str, message: str, nth: int, by_ms: float) -> Fault:
    makers: Mapping[str, Callable[[], Fault]] = {
        "drop": lambda: Drop(message, nth=nth),
        "delay": lambda: Delay(message, nth=nth, by_ms=by_ms),
        "duplicate": lambda: Duplicate(message, nth=nth),
        "reorder": lambda: Reorder(message, nth=nth, by_ms=by_ms),
        "cut": lambda: Cut(message, nth=nth),
    }
    return makers[kind]()


def eras_part(story: Story, server_eras: Sequence[str]) -> Part:
    """The eras of both sides, where the story makes sense in more than one.

    Args:
        server_eras: those of the server that make a difference; the first is the story's own.
    """
    knobs: list[Knob] = []
    if len(story.eras) > 1:
        knobs.append(Knob.choice("era", "Client's era", {era: _ERAS[era] for era in story.eras}, group=PEERS))
    if len(server_eras) > 1:
        values = {era: _SERVER_ERAS[era] for era in server_eras}
        knobs.append(Knob.choice("server_era", "Server's eras", values, group=PEERS))

    def apply(stage: Stage, settings: Settings) -> Stage:
        if "era" in settings:
            stage = replace(stage, era=settings["era"])
        server_era = settings.get("server_era", server_eras[0])
        if server_era == server_eras[0]:
            return stage
        return replace(stage, server=partial(stage.server, era=server_era))

    return Part(tuple(knobs), apply)


def transport_part(story: Story) -> Part:
    """The transport, where there is a choice, and its latency."""
    knobs: list[Knob] = []
    if len(story.ways) > 1:
        knobs.append(
            Knob.choice("transport", "Transport", {way: _WAYS[way] for way in story.ways}, group=WIRE)
        )
    knobs.append(
        Knob.number("latency_ms", "Latency", 0, 5_000, default=_LATENCY_MS, step=10, unit="ms", group=WIRE)
    )

    def apply(stage: Stage, settings: Settings) -> Stage:
        way: Any = settings.get("transport", story.ways[0])
        carried = stage_of(story, way).transport
        return replace(stage, transport=replace(carried, latency_ms=settings["latency_ms"]))

    return Part(tuple(knobs), apply)


def faults_part(messages: Callable[[Settings], Values]) -> Part:
    """One thing that goes wrong with one message.

    Args:
        messages: which messages there are, where nothing goes wrong.
    """
    timed = {"fault": _TIMED}
    real = {"fault": tuple(kind for kind in _FAULTS if kind != NO_FAULT)}
    knobs = (
        Knob.choice("fault", "What goes wrong", _FAULTS, group=FAULT),
        Knob.choice("message", "With which message", messages, group=FAULT, only=real),
        Knob.number(
            "by_ms", "By how much", 0, 120_000, default=_LATE_MS, step=100, unit="ms", group=FAULT, only=timed
        ),
    )

    def apply(stage: Stage, settings: Settings) -> Stage:
        kind, message = str(settings["fault"]), str(settings["message"])
        if kind == NO_FAULT or not message:
            return stage
        nth, name = message.split(" ", 1)
        by_ms: Any = settings["by_ms"]
        # The story's own faults come first: where both are about one message, it is theirs.
        return replace(stage, faults=(*stage.faults, _fault(kind, name, int(nth), by_ms)))

    return Part(knobs, apply)


def messages_of(run: Run, own: tuple[Fault, ...]) -> dict[str, str]:
    """The messages of a run that a fault can be about, at the clients, in the order of sending.

    Each value is the number of the message among those of its name, and the name.

    Args:
        run: where nothing goes wrong but `own`.
        own: the story's own faults: their messages are taken.
    """
    counts: dict[str, int] = {}
    names = [name for frame in _at_clients(run.recording) for name in frame]
    taken = {(fault.message, fault.nth) for fault in own if not isinstance(fault, Crash)}
    found: dict[str, str] = {}
    for name in names:
        nth = counts[name] = counts.get(name, 0) + 1
        if (name, nth) not in taken:
            ordinal = f", the {_ordinal(nth)}" if names.count(name) > 1 else ""
            found[f"{nth} {name}"] = f"{name}{ordinal}"
    return found


def _ordinal(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def _at_clients(recording: Recording) -> Iterator[list[str]]:
    """The names of each frame that a client sends or gets: several for a batch, none for no message."""
    clients = set(recording.header["era"])
    asked: dict[tuple[int, str, RequestId], str] = {}
    for frame in recording.frames:
        if frame.copy_of or not {frame.sender, frame.receiver} & clients:
            continue
        message = frame.parsed
        members = message.members if isinstance(message, Batch) else (message,)
        yield [name for member in members if (name := _name(member, frame, asked))]


def _name(member: object, frame: Frame, asked: dict[tuple[int, str, RequestId], str]) -> str:
    if isinstance(member, Request):
        asked[frame.connection, frame.sender, member.id] = member.method
    if isinstance(member, Request | Notification):
        return member.method
    if isinstance(member, Response | ErrorResponse) and member.id is not None:
        method = asked.get((frame.connection, frame.receiver, member.id), "")
        return RESULT_OF + method if method else ""
    return ""
