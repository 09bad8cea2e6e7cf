"""The layers view: one call as intent, as JSON-RPC, as a line on stdio and as an HTTP request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcpsim.client.client import Client
from mcpsim.eras.revisions import ClientEra
from mcpsim.recording.run import Run
from mcpsim.server.server import Server
from mcpsim.simulation.simulate import Story, simulate
from mcpsim.transports.link import Stdio, StreamableHttp
from mcpsim.widgets import scripts
from mcpsim.widgets.acting import Acting, text_in
from mcpsim.widgets.layers_view import (
    MAX_CALLS,
    Exchange,
    exchanges_of,
    label_of,
    layers_data,
    layers_html,
    layers_text,
)

_ERAS: Final[Mapping[str, ClientEra]] = {"modern": "modern", "legacy": "legacy"}


class Layers(Acting):
    """One call, layer by layer: `Layers()` as the last line of a cell.

    The story is played over both transports, so that they can be seen side by side.

    Args:
        story: what the client does; it calls a tool by default. Not without `server`.
        server: whom it asks; it should keep nothing between runs.
        call: which of the client's requests is shown, from 1; the opening does not count.
        era: "modern" or "legacy".

    Attributes:
        runs: what was played, by "stdio" and "http".
        error: why the last wish could not be fulfilled, or "".

    Raises:
        ValueError: there is no such call or era, or only one of story and server is given.
        Exception: whatever the story raises, where it did so before it asked for anything.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/index#messages
    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
    """

    _esm = scripts.script((*scripts.COMMON, "acting", "layers"), "{ render: renderLayers }")
    _css = scripts.style("acting", "layers")

    def __init__(
        self,
        story: Story | None = None,
        server: Server | None = None,
        *,
        call: int = 1,
        era: str = "modern",
    ) -> None:
        if (story is None) != (server is None):
            raise ValueError("Give a story and the server that it asks, or neither.")
        self._story = story or _call_a_tool
        self._server = server or _small_server()
        self._change(era, call)
        super().__init__()

    def show_call(self, call: int) -> None:
        """Show another of the client's requests, from 1.

        Raises:
            ValueError: there is no such request.
        """
        self._do(lambda: self._change(self.era, call))

    def use(self, era: str) -> None:
        """Show the same in the other era.

        Raises:
            ValueError: there is no such era, or no such call in it.
        """
        self._do(lambda: self._change(era, self.call))

    def _act(self, wish: Mapping[str, Any]) -> None:
        if wish.get("do") == "era":
            self._change(text_in(wish, "era", 20), self.call)
        elif wish.get("do") == "call":
            text = text_in(wish, "call", 4)
            if not (text.isascii() and text.isdigit()):
                raise ValueError(f"A call has a number from 1 to {MAX_CALLS}, not {text!r}.")
            self._change(self.era, int(text))
        else:
            raise ValueError(f"There is nothing like {wish.get('do')!r:.40} to do here.")

    def _change(self, era: str, call: int) -> None:
        """Play it. Nothing changes where there is no such call."""
        if era not in _ERAS:
            raise ValueError(f"era must be one of {', '.join(_ERAS)}, not {era!r:.40}.")
        runs = {"stdio": self._play(era, Stdio()), "http": self._play(era, StreamableHttp())}
        stdio, http = (exchanges_of(run.recording) for run in runs.values())
        count = min(len(stdio), len(http))
        if not count:
            error = next((run.error for run in runs.values() if run.error is not None), None)
            raise error or ValueError("The story asks for nothing: there is no call to show.")
        if not 1 <= call <= count:
            raise ValueError(f"call must be a number from 1 to {count} in this story, not {call}.")
        self.runs: dict[str, Run] = runs
        self._pairs: list[tuple[Exchange, Exchange]] = list(zip(stdio, http, strict=False))
        self.era, self.call = era, call

    def _play(self, era: str, transport: Stdio | StreamableHttp) -> Run:
        return simulate(self._story, server=self._server, era=_ERAS[era], transport=transport, check=False)

    def _data(self) -> dict[str, Any]:
        stdio, http = self._pairs[self.call - 1]
        calls = [label_of(one) for one, _ in self._pairs]
        return layers_data(stdio, http, self.era, calls, self.call)

    def __repr__(self) -> str:
        """The same text in every run: nbval compares it."""
        return f"Layers(call={self.call}, era={self.era!r})"

    def still_text(self) -> str:
        return layers_text(self.shown)

    def still_html(self) -> str:
        return layers_html(self.shown)


def _small_server() -> Server:
    server = Server("small-server")

    @server.tool()
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return server


async def _call_a_tool(client: Client) -> Any:
    """Call a tool."""
    return await client.call_tool("add", {"a": 2, "b": 3})
