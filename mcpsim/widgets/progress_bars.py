"""Progress bars of calls in flight, driven by what arrives, with a Stop button for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import anyio
import traitlets

from mcpsim.client.client import Client
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import ProtocolError
from mcpsim.recording import Recording
from mcpsim.recording.run import Run
from mcpsim.server.server import Server
from mcpsim.simulation.simulate import simulate
from mcpsim.transports.link import Stdio, StreamableHttp
from mcpsim.widgets import scripts
from mcpsim.widgets.acting import Acting, whole_in
from mcpsim.widgets.progress_bars_view import at, bars_data, bars_html, bars_text, moment_at, pressed
from mcpsim.widgets.text import clock

ToolCall = str | tuple[str, Mapping[str, Any]]

MAX_CALLS: Final = 12
# How long the client stays after its calls, so that what comes late is seen.
STAYS_S: Final = 1.0
_US_PER_S: Final = 1_000_000


class ProgressBars(Acting):
    """Calls in flight, each with a bar: `ProgressBars(server, [("search", {"seconds": 2})])`.

    All calls are sent at the same time, by a real client to a real server on the virtual clock. The bars
    follow what arrives: step, play, or go to the end. A Stop button leaves the call as any caller would, and
    the client sends what its transport has for that. It plays the run again with that one change: what came
    before is the same, byte for byte.

    Args:
        server: whose tools are called; or a function that makes it, where its handlers keep something: each
            press of Stop plays the run again, with a new one.
        calls: the tools to call: a name, or a name and its arguments; 1 to 12 of them.
        transport: as of `simulate`.
        era: the client's era.
        client: the client's description, in place of `era`.

    Attributes:
        run: what was played, to its end.
        moment: how far the picture is, from 0 (nothing was sent yet).
        error: why the last wish could not be fulfilled, or "".

    Raises:
        ValueError: there are no calls, or too many.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation
    """

    _esm = scripts.script((*scripts.COMMON, "acting", "progress"), "{ render: renderProgress }")
    _css = scripts.style("acting", "progress")

    moment = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        server: Server | Callable[[], Server],
        calls: Sequence[ToolCall],
        *,
        transport: Stdio | StreamableHttp | None = None,
        era: ClientEra = "modern",
        client: Client | None = None,
    ) -> None:
        if isinstance(calls, str) or not 1 <= len(calls) <= MAX_CALLS:
            raise ValueError(f"calls must be a list of 1 to {MAX_CALLS} calls.")
        self._calls: tuple[tuple[str, Mapping[str, Any]], ...] = tuple(
            (one, {}) if isinstance(one, str) else one for one in calls
        )
        self._make: Callable[[], Server] = (lambda: server) if isinstance(server, Server) else server
        self._transport = transport if transport is not None else Stdio()
        self._client = client if client is not None else Client(era=era)
        self._play({})
        super().__init__()

    @property
    def recording(self) -> Recording:
        """What crossed the wire."""
        return self.run.recording

    @property
    def stops(self) -> Mapping[int, float]:
        """Which calls are stopped, and when, in milliseconds since the run began."""
        return {call: at_us / 1000 for call, at_us in self._stops.items()}

    def stop(self, call: int, at_ms: float) -> None:
        """Stop a call at a moment, as the button does.

        Args:
            call: which one, from 0.
            at_ms: when, in milliseconds since the run began.

        Raises:
            ValueError: there is no such call, or it is not in flight then.
        """
        self._do(lambda: self._stop(call, round(at_ms * 1000)))

    def start_over(self) -> None:
        """Let nothing be stopped, and go back to the beginning."""
        self._do(self._reset)

    @traitlets.validate("moment")
    def _keep_moment_within(self, proposal: Any) -> int:
        return max(0, min(int(proposal["value"]), len(self._bars["moments"])))

    def _act(self, wish: Mapping[str, Any]) -> None:
        if wish.get("do") == "stop":
            call = whole_in(wish, "call", 0, len(self._calls) - 1)
            moments = self._bars["moments"]
            moment = whole_in(wish, "moment", 0, len(moments))
            # Where several things happen at one time, those that were not shown yet come before the press.
            self._stop(call, moments[moment - 1]["at_us"] + 1 if moment else 0, moment)
        elif wish.get("do") == "reset":
            self._reset()
        else:
            raise ValueError(f"There is nothing like {wish.get('do')!r:.40} to do here.")

    def _reset(self) -> None:
        self._play({})
        self.moment = 0

    def _stop(self, call: int, at_us: int, moment: int | None = None) -> None:
        if not 0 <= call < len(self._calls):
            raise ValueError(f"There is no call {call}; there are {len(self._calls)}, from 0.")
        known = at(self._bars["calls"][call], moment_at(self._bars, at_us))
        if known is None or not known["flight"]:
            raise ValueError(f"{self._bars['calls'][call]['label']} is not in flight at {clock(at_us)}.")
        before = self._pressed
        self._play({**self._stops, call: at_us})
        # What came before this press is the same in the new run, and so are the presses before it.
        self._pressed = {
            one: before[one] if one in before and stop_us <= at_us else moment_at(self._bars, stop_us)
            for one, stop_us in self._stops.items()
        }
        if moment is not None:
            self._pressed[call] = moment

    def _play(self, stops: Mapping[int, int]) -> None:
        calls = self._calls
        server = self._make()

        async def call_and_stop(client: Client) -> list[str]:
            """Call several tools at once, and stop some of them."""
            outcomes = ["" for _ in calls]

            async def one(index: int, name: str, arguments: Mapping[str, Any]) -> None:
                at_us = stops.get(index)
                deadline = float("inf") if at_us is None else at_us / _US_PER_S
                with anyio.CancelScope(deadline=deadline):
                    try:
                        result = await client.call_tool(name, arguments, on_progress=_follow)
                    except ProtocolError as error:
                        outcomes[index] = str(error)
                    else:
                        outcomes[index] = " ".join(getattr(part, "text", "") for part in result.content)

            async with anyio.create_task_group() as tasks:
                for index, (name, arguments) in enumerate(calls):
                    tasks.start_soon(one, index, name, arguments)
            await anyio.sleep(STAYS_S)
            return outcomes

        self.run: Run = simulate(
            call_and_stop,
            server=server,
            client=self._client,
            transport=self._transport,
            title="Calls in flight",
        )
        self._bars = bars_data(self.run.recording)
        self._stops = dict(stops)
        # In which moment the picture was when Stop was pressed, by call.
        self._pressed: dict[int, int] = {}
        self._name = server.name

    def _data(self) -> dict[str, Any]:
        return {
            "title": "Progress bars",
            "transport": "stdio" if isinstance(self._transport, Stdio) else "Streamable HTTP",
            "era": str(self._client.preferred_era),
            "stops": len(self._stops),
            "pressed": [
                pressed(call, self._pressed[i]) if i in self._pressed else None
                for i, call in enumerate(self._bars["calls"])
            ],
            **self._bars,
        }

    def __repr__(self) -> str:
        """The same text in every run: nbval compares it."""
        return f"ProgressBars({self._name!r}, {len(self._calls)} calls, {len(self._stops)} stopped)"

    def still_text(self) -> str:
        return bars_text(self.shown)

    def still_html(self) -> str:
        return bars_html(self.shown)


def _follow(progress: float, total: float | None, message: str | None) -> None:
    """Asks for progress. What comes is read from the recording."""
