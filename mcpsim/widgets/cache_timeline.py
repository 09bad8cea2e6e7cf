"""The cache timeline: what is kept, how long it is fresh, and who is served from where."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, Final

import anyio

from mcpsim.client.client import Client
from mcpsim.gateway.gateway import Gateway
from mcpsim.recording import Recording
from mcpsim.recording.run import Run, recording_of
from mcpsim.server.server import Server
from mcpsim.simulation.knobs import Knob, Setting, settle
from mcpsim.simulation.simulate import simulate
from mcpsim.transports.link import StreamableHttp
from mcpsim.utilities.caching import Cache
from mcpsim.widgets import scripts
from mcpsim.widgets.acting import Acting
from mcpsim.widgets.bench_view import knobs_data
from mcpsim.widgets.cache_timeline_view import Mark, timeline_data, timeline_html, timeline_text
from mcpsim.widgets.text import one_line

PRICE: Final = "price://paper"
CHANGES_AT_S: Final = 20.0

KNOBS: Final = (
    Knob.number("ttl_ms", "ttlMs", 0, 120_000, default=30_000, step=1_000, unit="ms"),
    Knob.choice("cache_scope", "cacheScope", {"public": "public", "private": "private"}),
    Knob.choice(
        "caches",
        "Caches of the clients",
        {"own": "each has its own", "shared": "they share one", "none": "none"},
    ),
    Knob.switch("gateway", "A gateway with a cache"),
    Knob.switch("told", "ada is told of changes", hint="ben is not."),
)


class CacheTimeline(Acting):
    """Caches over virtual time: `CacheTimeline(run)`, or `CacheTimeline()` for an example with knobs.

    Each request that can be kept has a lane: bars for what is kept (fresh, then stale), and a mark wherever
    somebody asked, whose shape says who served it.

    Args:
        source: a run or a recording; any will do. None for the example: ada and ben read the price of paper,
            which changes after 20 seconds.
        settings: of the example: `ttl_ms` (milliseconds, from 0 to 120,000), `cache_scope` ("public" or
            "private"), `caches` ("own", "shared" or "none"), `gateway` (whether there is one, with a cache),
            `told` (whether ada subscribes to the price).

    Attributes:
        run: what was played; None where a recording was given.
        recording: what is shown.
        settings: where the knobs of the example stand; empty where there are none.
        error: why the last wish could not be fulfilled, or "".

    Raises:
        TypeError: the source is neither a run nor a recording.
        ValueError: a knob cannot stand there, or there are settings beside a source.

    https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
    """

    _esm = scripts.script((*scripts.COMMON, "acting", "cache"), "{ render: renderCache }")
    _css = scripts.style("acting", "cache")

    def __init__(self, source: Run | Recording | None = None, **settings: Setting) -> None:
        self.run: Run | None = None
        self.settings: dict[str, Setting] = {}
        self._is_example = source is None
        if source is None:
            self._play(settings)
        elif settings:
            raise ValueError("Only the example has settings: CacheTimeline(ttl_ms=5_000).")
        else:
            self.run = source if isinstance(source, Run) else None
            self.recording: Recording = recording_of(source)
            self._timeline = timeline_data(self.recording)
        super().__init__()

    def turn(self, **settings: Setting) -> None:
        """Turn some knobs of the example: the others stay where they are.

        Raises:
            ValueError: a knob cannot stand there, or there are none.
        """
        self._do(lambda: self._turn(settings))

    def _act(self, wish: Mapping[str, Any]) -> None:
        settings: Any = wish.get("settings")
        if wish.get("do") != "turn" or not isinstance(settings, Mapping):
            raise ValueError(f"There is nothing like {wish.get('do')!r:.40} to do here.")
        self._turn({str(name): value for name, value in settings.items()})  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    def _turn(self, settings: Mapping[str, Any]) -> None:
        if not self._is_example:
            raise ValueError("This is a recording: it has no knobs.")
        self._play({**self.settings, **settings})

    def _play(self, given: Mapping[str, Any]) -> None:
        settings = settle(KNOBS, given)
        self.run = _example(settings)
        self.recording = self.run.recording
        self.settings = settings
        marks = [Mark(round(CHANGES_AT_S * 1_000_000), "The price changes at the server.")]
        shared = {"ada": "shared cache", "ben": "shared cache"} if settings["caches"] == "shared" else {}
        self._timeline = timeline_data(self.recording, marks, shared=shared)

    def _data(self) -> dict[str, Any]:
        return {
            "title": "Cache timeline",
            "of": "" if self._is_example else one_line(self.recording.title, 160),
            "knobs": knobs_data(KNOBS, self.settings) if self._is_example else [],
            **self._timeline,
        }

    def __repr__(self) -> str:
        """The same text in every run: nbval compares it."""
        if not self._is_example:
            return f"CacheTimeline({self.recording!r})"
        return f"CacheTimeline({', '.join(f'{name}={value!r}' for name, value in self.settings.items())})"

    def still_text(self) -> str:
        return timeline_text(self.shown)

    def still_html(self) -> str:
        return timeline_html(self.shown)


def _example(settings: Mapping[str, Setting]) -> Run:
    """Two people read a price that changes."""
    shop = Server("price-list", subscribe=True)
    price = [4]

    @shop.resource(
        PRICE,
        mime_type="text/plain",
        ttl_ms=int(settings["ttl_ms"] or 0),
        cache_scope=str(settings["cache_scope"]),
    )
    def paper() -> str:  # pyright: ignore[reportUnusedFunction]
        """The price of paper."""
        return f"{price[0]} a pack"

    shared = Cache()
    caches = {"own": (Cache(), Cache()), "shared": (shared, shared), "none": (None, None)}
    of_ada, of_ben = caches[str(settings["caches"])]

    async def ask(client: Client, *at_s: float) -> None:
        for each in at_s:
            await anyio.sleep_until(each)
            await client.read_resource(PRICE)

    async def change() -> None:
        await anyio.sleep_until(CHANGES_AT_S)
        price[0] = 5
        shop.resource_updated(PRICE)

    async def two_people_read_a_price(ada: Client, ben: Client) -> None:
        """Two people read a price, which changes."""
        async with AsyncExitStack() as stack:
            if settings["told"]:
                await stack.enter_async_context(ada.listen(resource_subscriptions=[PRICE]))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask, ada, 1, 10, 24, 45)
                tasks.start_soon(ask, ben, 5, 27, 40)
                tasks.start_soon(change)

    return simulate(
        two_people_read_a_price,
        server=shop,
        client={
            "ada": Client("ada", principal="ada", cache=of_ada),
            "ben": Client("ben", principal="ben", cache=of_ben),
        },
        transport=StreamableHttp(),
        gateway=Gateway() if settings["gateway"] else None,
    )
