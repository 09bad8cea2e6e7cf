"""Judges of a server: the simulator, the audit, and, where they are installed, the official peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mcpsim.course.judging.outside import outside_rulings
from mcpsim.course.judging.ruling import Judgement, Outcome, Ruling
from mcpsim.course.judging.simulated import AtRest, Simulator
from mcpsim.course.judging.tour import Plan
from mcpsim.server import Server

__all__ = ["Judgement", "Outcome", "Ruling", "judge"]

LIVE: Final = "judge(..., live=True) asks this one. It needs a real socket."


def judge(
    server: Server | Callable[[], Server] | str,
    *,
    calls: Mapping[str, Mapping[str, Any]] | None = None,
    answers: Mapping[str, Any] | None = None,
    at_rest: AtRest | None = None,
    live: bool = False,
    suite: str | None = None,
) -> Judgement:
    """Let all judges look at a server.

    Six of them play runs in the simulator, in the eras that the server speaks, over both transports and with
    several seeds: lists, calls, questions, stop, faults, and the audit of all these runs. The others are the
    official Python SDK and the official conformance suite. They are asked where `live` is true, and say so
    where they are not installed.

    Args:
        server: the server; or a function that makes it, so that every run has a fresh one; or, as for
            `mcpsim serve`, `"module:name"`. With that name the official SDK starts it as a process too.
        calls: what each tool is called with, by name. A tool without required arguments need not be there.
        answers: what the user puts into the fields of forms, by name. Other fields get their default, or
            something that fits.
        at_rest: called after each run; returns whether nothing is left of it, such as a machine that is hot.
        live: whether to ask the judges outside of this package. They talk to the server over a real socket.
        suite: the folder of the npm package of the conformance suite; None: where npm puts it, in a folder
            `node_modules` here or above.

    Raises:
        ServerNotFound: there is no such module, name or server.
    """
    make = _maker(server)
    plan = Plan(calls or {}, answers or {})
    inside = Simulator(make, plan, at_rest).rulings()
    if live:
        outside = outside_rulings(make, plan, server if isinstance(server, str) else None, suite)
    else:
        outside = tuple(
            Ruling(name, Outcome.NOT_ASKED, LIVE) for name in ("official SDK", "conformance suite")
        )
    return Judgement(make().name, (*inside, *outside))


def _maker(server: Server | Callable[[], Server] | str) -> Callable[[], Server]:
    if isinstance(server, str):
        # Processes and sockets do not exist everywhere.
        from mcpsim.live import load_server

        name = server
        return lambda: load_server(name)
    if isinstance(server, Server):
        return lambda: server
    return server
