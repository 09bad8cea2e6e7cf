"""The judges that are no part of this package: the official Python SDK, and the official conformance suite.

Neither is needed. Each of them talks to the server over a real socket, or a process's pipes.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcpsim.course.judging.ruling import Outcome, Ruling
from mcpsim.course.judging.tour import Plan
from mcpsim.errors import McpSimError
from mcpsim.recording.run import single
from mcpsim.server import Server

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

SDK: Final = "official SDK"
SUITE: Final = "conformance suite"
NO_BROWSER: Final = "A browser has no sockets to serve on. Ask this one on a machine of your own."

Maker = Callable[[], Server]


def outside_rulings(
    make: Maker, plan: Plan, name: str | None = None, suite: str | None = None
) -> tuple[Ruling, ...]:
    """What the official peers say, or that they are not there.

    Args:
        make: makes the server.
        plan: how it is tried.
        name: how `mcpsim serve` names the server; None where it cannot be started as a process.
        suite: the folder of the conformance suite; None to look for it.
    """
    if sys.platform == "emscripten":
        return tuple(Ruling(judge, Outcome.NOT_THERE, NO_BROWSER) for judge in (SDK, SUITE))
    return (_ask_sdk(make, plan, name), _ask_suite(make, suite))


def _ask_sdk(make: Maker, plan: Plan, name: str | None) -> Ruling:
    # Imported here: nobody else has to wait for the SDK, or have it.
    try:
        from mcpsim.course.judging.with_sdk import visit
    except ImportError as error:
        missing = f"There is no package mcp in version 2.3 or later here: pip install mcp. ({error})"
        return Ruling(SDK, Outcome.NOT_THERE, missing)
    try:
        with _served(make) as (portal, url):
            server = make()
            has = _what(server)
            routes = [[_Way("HTTP", url, era) for era in _eras(server)]]
            if name is not None:
                command = (sys.executable, "-m", "mcpsim", "serve", name, "--stdio")
                routes.append([_Way("stdio", command, era) for era in _eras(server)])
            # A server as a process knows nothing of the one on the socket. What two clients at once do to the
            # latter is another question.
            under_way = [portal.start_task_soon(_go, route, visit, plan, has) for route in routes]
            went = {way: seen for one in under_way for way, seen in one.result().items()}
    except NotHere as error:
        return Ruling(SDK, Outcome.NOT_THERE, str(error))
    ways = [way for same_era in zip(*routes, strict=True) for way in same_era]
    for way in ways:
        if isinstance(error := went.get(way), Exception):
            fault = single(error)
            text = " ".join(str(fault).split())
            return Ruling(SDK, Outcome.NOT_YET, f"In {way}: {type(fault).__name__}: {text}")
    return Ruling(SDK, Outcome.PASSED, f"Its client was here: {', '.join(map(str, ways))}. {went[ways[-1]]}")


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to a server: the transport, its URL or command, and the era of the client."""

    transport: str
    where: str | tuple[str, ...]
    era: str

    def __str__(self) -> str:
        return f"{self.era} over {self.transport}"


async def _go(
    route: Sequence[_Way], visit: Callable[..., Awaitable[str]], plan: Plan, has: Mapping[str, bool]
) -> dict[_Way, str | Exception]:
    """Go one way after the other, up to the first that leads nowhere."""
    went: dict[_Way, str | Exception] = {}
    for way in route:
        try:
            went[way] = await visit(way.where, way.era, plan, has)
        except Exception as error:
            went[way] = error
            break
    return went


def _ask_suite(make: Maker, folder: str | None) -> Ruling:
    from mcpsim.course.judging.with_suite import NoSuite, find_suite

    try:
        suite = find_suite(Path(folder) if folder is not None else None)
    except NoSuite as error:
        return Ruling(SUITE, Outcome.NOT_THERE, str(error))
    try:
        with _served(make) as (_, url):
            server = make()
            has = _what(server)
            played = [one for era in _eras(server) for one in suite.play(url, era, has)]
    except NotHere as error:
        return Ruling(SUITE, Outcome.NOT_THERE, str(error))
    faults = [one for one in played if one.faults]
    if faults:
        first = faults[0]
        return Ruling(SUITE, Outcome.NOT_YET, f"{first.scenario} ({first.era}): {first.faults[0]}")
    names = sorted({one.scenario for one in played})
    # Some are played in both eras.
    told = f"{len(names)} scenarios that need no particular tools, in {len(played)} runs"
    return Ruling(SUITE, Outcome.PASSED, f"{told}: {', '.join(names)}.")


class NotHere(McpSimError):
    """Nobody can serve on a socket here."""


@contextmanager
def _served(make: Maker) -> Generator[tuple[BlockingPortal, str]]:
    """The server on a socket, in an event loop of a thread of its own: a notebook's own loop runs already."""
    from anyio.from_thread import start_blocking_portal

    from mcpsim.live import serve_http

    with start_blocking_portal() as portal:
        serving = portal.wrap_async_context_manager(serve_http(make()))
        try:
            url = serving.__enter__()
        except McpSimError as error:
            raise NotHere(str(error)) from None
        try:
            yield portal, url
        finally:
            serving.__exit__(None, None, None)


def _what(server: Server) -> dict[str, bool]:
    return {"tools": bool(server.tools), "resources": bool(server.resources)}


def _eras(server: Server) -> tuple[str, ...]:
    return ("modern", "legacy") if server.era == "both" else (server.era,)
