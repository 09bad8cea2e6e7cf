"""The matrix of eras: every client at every server, each cell really played."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mcpsim.client.client import Client
from mcpsim.eras.revisions import ServerEra
from mcpsim.recording.run import Run
from mcpsim.server.server import Server
from mcpsim.simulation.simulate import Story, simulate
from mcpsim.transports.link import Stdio, StreamableHttp
from mcpsim.widgets import scripts
from mcpsim.widgets.acting import text_in
from mcpsim.widgets.acting_player import ActingPlayer
from mcpsim.widgets.era_matrix_view import (
    CLIENTS,
    SERVERS,
    TRANSPORTS,
    Outcome,
    Pair,
    matrix_data,
    matrix_html,
    matrix_text,
    outcome_of,
)
from mcpsim.widgets.still import still_of

_TRANSPORTS: Final[Mapping[str, Callable[[], Stdio | StreamableHttp]]] = {
    "stdio": Stdio,
    "http": StreamableHttp,
}


class EraMatrix(ActingPlayer):
    """Every client at every server: `EraMatrix()` as the last line of a cell.

    Each cell is a run on the virtual clock; a click plays it.

    Args:
        server: makes a server of an era ("legacy", "modern" or "both"); a small one by default.
        story: what the client came for; by default it calls the small server's tool, and lists the tools of
            any other server.
        transport: "stdio" or "http".

    Attributes:
        outcomes: what came of each pair of client and server.
        chosen: the pair whose run is played.
        run: that run.
        error: why the last wish could not be fulfilled, or "".

    Raises:
        ValueError: there is no such transport.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#compatibility-matrix
    """

    _esm = scripts.script(
        (*scripts.PLAYER, "acting", "acting_player", "matrix"), "{ initialize, render: renderMatrix }"
    )
    _css = scripts.style(*scripts.PLAYER_STYLES, "acting", "acting_player", "matrix")

    def __init__(
        self,
        server: Callable[[ServerEra], Server] | None = None,
        story: Story | None = None,
        *,
        transport: str = "stdio",
    ) -> None:
        self._make = server or _small_server
        self._story = story or (_list_the_tools if server else _call_a_tool)
        self._play(transport)
        # The pair with the most to see: a client that has to find out, and falls back.
        self.chosen: Pair = ("auto", "legacy")
        super().__init__(self._runs[self.chosen])

    def choose(self, client: str, server: str) -> None:
        """Play the run of a pair.

        Args:
            client: "legacy", "modern" or "auto".
            server: "legacy", "modern" or "both".

        Raises:
            ValueError: there is no such pair.
        """
        self._do(lambda: self._choose(client, server))

    def use(self, transport: str) -> None:
        """Play all of them over the other transport.

        Raises:
            ValueError: it is neither "stdio" nor "http".
        """
        self._do(lambda: self._change(transport))

    def _act(self, wish: Mapping[str, Any]) -> None:
        if wish.get("do") == "choose":
            self._choose(text_in(wish, "client", 20), text_in(wish, "server", 20))
        elif wish.get("do") == "transport":
            self._change(text_in(wish, "transport", 20))
        else:
            raise ValueError(f"There is nothing like {wish.get('do')!r:.40} to do here.")

    def _choose(self, client: str, server: str) -> None:
        pair = next((pair for pair in self._runs if pair == (client, server)), None)
        if pair is None:
            raise ValueError(f"There is no pair of {client!r:.40} and {server!r:.40} here.")
        self.chosen = pair
        self.run = self._runs[pair]

    def _change(self, transport: str) -> None:
        self._play(transport)
        self.run = self._runs[self.chosen]

    def _play(self, transport: str) -> None:
        if transport not in TRANSPORTS:
            raise ValueError(f"transport must be one of {', '.join(TRANSPORTS)}, not {transport!r:.40}.")
        runs: dict[Pair, Run] = {}
        for client, client_name in CLIENTS.items():
            for server, server_name in SERVERS.items():
                runs[client, server] = simulate(
                    self._story,
                    server=self._make(server),
                    era=client,
                    transport=_TRANSPORTS[transport](),
                    title=f"{client_name}, {server_name.lower()}",
                    check=False,
                )
        self.outcomes: dict[Pair, Outcome] = {pair: outcome_of(run) for pair, run in runs.items()}
        self._runs = runs
        self.transport = transport

    def _data(self) -> dict[str, Any]:
        return matrix_data(self.outcomes, self.chosen, self.transport)

    def __repr__(self) -> str:
        """The same text in every run: nbval compares it."""
        return f"EraMatrix(transport={self.transport!r})"

    def still_text(self) -> str:
        return f"{matrix_text(self.shown)}\n\n{super().still_text()}"

    def still_html(self) -> str:
        return matrix_html(self.shown) + still_of(self.data)


def _small_server(era: ServerEra) -> Server:
    server = Server("small-server", era=era)

    @server.tool()
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return server


async def _call_a_tool(client: Client) -> Any:
    """Call a tool."""
    return await client.call_tool("add", {"a": 2, "b": 3})


async def _list_the_tools(client: Client) -> Any:
    """List the tools."""
    return await client.list_tools()
