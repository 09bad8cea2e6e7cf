"""A peer that misbehaves in one named way, and the same run with a peer that does not.

How to add one, to the tuple of its topic module:

    Misbehaviour(
        "server-forgets-ttl", "server", "caching-hints-required",
        "The server leaves ttlMs out of its tool list.",
        list_the_tools, help_desk, "modern", "stdio",
        twist=without_in_result("tools/list", "ttlMs"),
    ),

- A server misbehaves by a `twist` (`mcpsim.course.misbehaving.changing` has the usual ones): its own code
  runs, and what it is about to send is changed, before it counts as sent.
- A client does it by a twist as well, or by hand: `story` does it wrong with `client.send_raw` or
  `client.request`, and `good_story` does the same well; then there is no twist.
- A gateway does it by its policies: `setting={"gateway": Gateway(may_share=...)}`, beside
  `good_setting={"gateway": Gateway()}`.
- Where it misbehaves by how it takes what the other side does wrong, that is the `provocation`, or the
  `story`; the rule of the other side then stands in `WITH_IT` of the tests.
- Otherwise the other peer is a normal one. It may refuse what it gets: an error of the story is in the run's
  `error`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from mcpsim.client import Client
from mcpsim.course.misbehaving.changing import one_after_the_other
from mcpsim.course.stories.story import Clients, Way
from mcpsim.eras.revisions import ClientEra
from mcpsim.server import Server
from mcpsim.simulation import Run, simulate
from mcpsim.transports.faults import Fault
from mcpsim.transports.link import Stdio, StreamableHttp
from mcpsim.transports.twists import MakeTwist, Outgoing, Twist

Party = Literal["client", "server", "gateway"]

_TRANSPORTS: Final[Mapping[str, Callable[[], Stdio | StreamableHttp]]] = {
    "stdio": Stdio,
    "http": StreamableHttp,
}


@dataclass(frozen=True, slots=True)
class Misbehaviour:
    """One named way to break a rule, and what plays it.

    Attributes:
        name: short, with hyphens, such as "client-stops-at-the-empty-cursor".
        party: who misbehaves.
        rule: the id of the rule of `mcpsim.audit` that it breaks.
        sentence: what it does wrong, in one sentence.
        story: the async function that plays the client's part.
        server: makes the server.
        era: the client's era.
        way: the transport.
        twist: makes what changes the messages of the party; None where the story or the gateway does it.
        clients: makes the client, or several by the name of their lane, for an era; None for a plain one.
        setting: more of what `simulate` takes, such as a gateway and replicas.
        faults: what goes wrong on the way, in both runs.
        endpoint: how the HTTP endpoint is set up: what `StreamableHttp` takes.
        scenery: makes what changes messages in both runs, of anybody: for a peer that is unusual, and right.
        provocation: makes what the other side does wrong first, in the wrong run alone: for a peer whose own
            fault is how it answers that.
        good_story: the story of the run that is right; None for the same.
        good_setting: what is different in the setting of the run that is right.
        good_server: makes the server of the run that is right; None for the same.
    """

    name: str
    party: Party
    rule: str
    sentence: str
    story: Callable[..., Any]
    server: Callable[[], Server]
    era: ClientEra
    way: Way
    twist: MakeTwist | None = None
    clients: Clients | None = None
    setting: Mapping[str, Any] = field(default_factory=dict[str, Any])
    faults: tuple[Fault, ...] = ()
    endpoint: Mapping[str, Any] = field(default_factory=dict[str, Any])
    scenery: MakeTwist | None = None
    provocation: MakeTwist | None = None
    good_story: Callable[..., Any] | None = None
    good_setting: Mapping[str, Any] = field(default_factory=dict[str, Any])
    good_server: Callable[[], Server] | None = None

    def __post_init__(self) -> None:
        ways = (self.twist, self.provocation, self.good_story, self.good_server)
        if all(one is None for one in ways) and not self.good_setting:
            raise ValueError(
                f"{self.name} has nothing that tells the wrong run from the right one: give it a twist, a "
                "good_story, a good_server or a good_setting."
            )

    def play(self) -> Run:
        """Play it with the peer that misbehaves. An error of the story is in the run's `error`.

        Raises:
            ValueError: the twist changes what somebody else sends.
        """
        make = self.twist
        own = None if make is None else lambda: _only(self.party, make())
        twists = [twist for twist in (self.scenery, self.provocation, own) if twist is not None]
        twist = one_after_the_other(*twists) if twists else None
        return self._played(self.story, self.server, self.setting, twist, check=False)

    def play_well(self) -> Run:
        """Play the same with a peer that does it right."""
        story = self.good_story or self.story
        return self._played(
            story,
            self.good_server or self.server,
            {**self.setting, **self.good_setting},
            self.scenery,
            check=True,
        )

    def _played(
        self,
        story: Callable[..., Any],
        server: Callable[[], Server],
        setting: Mapping[str, Any],
        twist: MakeTwist | None,
        *,
        check: bool,
    ) -> Run:
        transport = _TRANSPORTS[self.way]()
        if isinstance(transport, StreamableHttp):
            transport = replace(transport, **self.endpoint)

        def peers() -> dict[str, Any]:
            client = self.clients(self.era) if self.clients is not None else Client(era=self.era)
            return {"server": server(), "client": client}

        run = simulate(
            story,
            **peers(),
            transport=transport,
            faults=self.faults,
            twist=twist,
            check=check,
            title=self.name.replace("-", " "),
            **setting,
        )
        # A server may keep things between runs: whoever plays it again wants one that has not begun.
        return replace(run, again=replace(run.again, peers=peers))


def party_of(lane: str) -> Party:
    """Which kind of peer a lane is."""
    if lane == "gateway":
        return "gateway"
    return "server" if lane == "server" or lane.startswith("server-") else "client"


def _only(party: Party, twist: Twist) -> Twist:
    """The twist, held to what one party sends."""

    def ask(one: Outgoing) -> Any:
        given = twist(one)
        if given is not None and party_of(one.sender) != party:
            raise ValueError(f"The {party} misbehaves here, and the twist changes what {one.sender} sends.")
        return given

    return ask


def collected(*topics: tuple[Misbehaviour, ...]) -> dict[str, Misbehaviour]:
    """All of them by name.

    Raises:
        ValueError: two have the same name.
    """
    table: dict[str, Misbehaviour] = {}
    for one in (one for topic in topics for one in topic):
        if one.name in table:
            raise ValueError(f"Two peers misbehave under the name {one.name}.")
        table[one.name] = one
    return table
