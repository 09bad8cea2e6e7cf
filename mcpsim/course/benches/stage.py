"""A story on its stage: everything that `simulate` is told, so that knobs can change one part of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from mcpsim.client import Client
from mcpsim.course.stories import Story
from mcpsim.course.stories.story import Clients, Way
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import SimulationError
from mcpsim.recording.run import Run
from mcpsim.server import Server
from mcpsim.simulation import Simulation
from mcpsim.simulation.knobs import Knob, Settings
from mcpsim.transports.faults import Fault
from mcpsim.transports.link import Stdio, StreamableHttp

TRANSPORTS: Final[Mapping[str, Callable[[], Stdio | StreamableHttp]]] = {
    "stdio": Stdio,
    "http": StreamableHttp,
}


def plain(era: ClientEra) -> Client:
    """A client that can do nothing in particular."""
    return Client(era=era)


@dataclass(frozen=True, slots=True)
class Stage:
    """What a run is made of.

    Attributes:
        what: what the story shows, in one sentence.
        story: the async function.
        server: makes the server.
        clients: makes the client, or several by the name of their lane, for an era.
        era: the era of the clients.
        transport: how messages travel.
        faults: what goes wrong.
        setting: more of what `simulate` takes, such as a gateway and replicas.
    """

    what: str
    story: Callable[..., Any]
    server: Callable[..., Server]
    clients: Clients
    era: ClientEra
    transport: Stdio | StreamableHttp
    faults: tuple[Fault, ...] = ()
    setting: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def play(self) -> Run:
        """Play it. Whatever ends it early is the run's `error`; the recording shows how far it came."""
        simulation = Simulation(
            self.story,
            **self._peers(),
            transport=self.transport,
            faults=self.faults,
            title=f"{self.what.rstrip('.')} ({self.era})",
            **self.setting,
        )
        # A server may keep things between runs: whoever plays it again wants one that has not begun.
        again = replace(simulation.again, peers=self._peers)
        try:
            return replace(simulation.finish(), again=again)
        except SimulationError as error:
            return Run(simulation.recording, error=error, again=again)

    def _peers(self) -> dict[str, Any]:
        return {"server": self.server(), "client": self.clients(self.era)}


Apply: TypeAlias = Callable[[Stage, Settings], Stage]


@dataclass(frozen=True, slots=True)
class Part:
    """Some knobs that belong together, and what they do to the stage.

    Attributes:
        knobs: the knobs.
        apply: gives the stage with the knobs turned as the settings say.
    """

    knobs: tuple[Knob, ...]
    apply: Apply


def stage_of(story: Story, way: Way) -> Stage:
    """The stage of a built-in story, over one of its transports, with every knob as the story has it."""
    transport = TRANSPORTS[way]()
    if isinstance(transport, StreamableHttp):
        transport = replace(transport, **story.endpoint)
    return Stage(
        what=story.what,
        story=story.story,
        server=story.server,
        clients=story.clients or plain,
        era=story.eras[0],
        transport=transport,
        faults=story.faults,
        setting=story.setting,
    )
