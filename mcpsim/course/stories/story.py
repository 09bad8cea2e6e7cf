"""What a built-in story is, and how it is played."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal

from mcpsim.client import Client
from mcpsim.eras.revisions import ClientEra
from mcpsim.server import Server
from mcpsim.simulation import Run, simulate
from mcpsim.transports.faults import Fault
from mcpsim.transports.link import Stdio, StreamableHttp

Way = Literal["stdio", "http"]
Clients = Callable[[ClientEra], "Client | Mapping[str, Client]"]

ALL: Final[tuple[ClientEra, ...]] = ("modern", "legacy", "auto")
BOTH: Final[tuple[ClientEra, ...]] = ("modern", "legacy")
MODERN: Final[tuple[ClientEra, ...]] = ("modern",)
LEGACY: Final[tuple[ClientEra, ...]] = ("legacy",)
ANY_WAY: Final[tuple[Way, ...]] = ("stdio", "http")
HTTP: Final[tuple[Way, ...]] = ("http",)
STDIO: Final[tuple[Way, ...]] = ("stdio",)

_TRANSPORTS: Final[Mapping[str, Callable[[], Stdio | StreamableHttp]]] = {
    "stdio": Stdio,
    "http": StreamableHttp,
}


@dataclass(frozen=True, slots=True)
class Story:
    """One built-in story.

    Attributes:
        name: what `mcpsim run` calls it.
        what: what it shows, in one sentence.
        story: the async function.
        server: makes the server.
        eras: the client eras in which it makes sense; the first is the one to begin with.
        ways: the transports over which it makes sense; the first is the one to begin with.
        clients: makes the client, or several by the name of their lane, for an era; None for a plain one.
        setting: more of what `simulate` takes, such as a gateway and replicas.
        faults: what goes wrong in it.
        endpoint: how the HTTP endpoint is set up, where it is played over HTTP: what `StreamableHttp` takes.
        breaks: the rules and recommendations that it breaks on purpose, to show what happens then, by the
            ids that the audit gives them.
    """

    name: str
    what: str
    story: Callable[..., Any]
    server: Callable[..., Server]
    eras: tuple[ClientEra, ...]
    ways: tuple[Way, ...] = ANY_WAY
    clients: Clients | None = None
    setting: Mapping[str, Any] = field(default_factory=dict[str, Any])
    faults: tuple[Fault, ...] = ()
    endpoint: Mapping[str, Any] = field(default_factory=dict[str, Any])
    breaks: tuple[str, ...] = ()

    def play(
        self,
        *,
        era: ClientEra | None = None,
        transport: Stdio | StreamableHttp | None = None,
        seed: int | str = 0,
        faults: Sequence[Fault] = (),
        check: bool = True,
    ) -> Run:
        """Play the story.

        Args:
            era: one of `eras`; None for the first of them.
            transport: None for the first of `ways`.
            faults: what goes wrong beside the story's own faults.
            seed, check: as for `simulate`.

        Raises:
            TypeError: the transport is none, such as a text.
            ValueError: the story makes no sense in this era or over this transport.
        """
        chosen = era or self.eras[0]
        if chosen not in self.eras:
            raise ValueError(f"The story {self.name} is played as {' or '.join(self.eras)}, not as {chosen}.")
        carried: Any = transport if transport is not None else _TRANSPORTS[self.ways[0]]()
        if not isinstance(carried, Stdio | StreamableHttp):
            raise TypeError(f"transport must be Stdio() or StreamableHttp(), not {carried!r}.")
        if carried.name not in self.ways:
            raise ValueError(
                f"The story {self.name} is played over {' or '.join(self.ways)}, not over {carried.name}."
            )
        if isinstance(carried, StreamableHttp):
            carried = replace(carried, **self.endpoint)
        run = simulate(
            self.story,
            **self._peers(chosen),
            transport=carried,
            seed=seed,
            faults=(*self.faults, *faults),
            check=check,
            title=f"{self.what.rstrip('.')} ({chosen})",
            **self.setting,
        )
        # A server may keep things between runs: whoever plays it again wants one that has not begun.
        return replace(run, again=replace(run.again, peers=partial(self._peers, chosen)))

    def _peers(self, era: ClientEra) -> dict[str, Any]:
        return {
            "server": self.server(),
            "client": self.clients(era) if self.clients is not None else Client(era=era),
        }


def told(
    story: Callable[..., Any],
    server: Callable[..., Server],
    eras: tuple[ClientEra, ...],
    ways: tuple[Way, ...] = ANY_WAY,
    *,
    clients: Clients | None = None,
    faults: tuple[Fault, ...] = (),
    endpoint: Mapping[str, Any] | None = None,
    breaks: tuple[str, ...] = (),
    **setting: Any,
) -> Story:
    """A story as a row of the table: its name is the function's, its sentence the docstring's first line."""
    name = story.__name__.replace("_", "-")
    what = (story.__doc__ or "").strip().splitlines()[0]
    return Story(
        name, what, story, server, eras, ways, clients, setting, faults, dict(endpoint or {}), breaks
    )


def text_of(result: Any) -> str:
    """The text of a tool's result."""
    return " ".join(getattr(block, "text", "") for block in result.content)
