"""The watchdogs of a process share one thread, and each of them bites whom it watches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from mcpsim import Client, Server, simulate
from mcpsim.errors import Stuck
from mcpsim.simulation import Simulation, VirtualTimeLoop

LIMIT_S = 0.2


async def story(client: Client) -> None:
    await client.ping()
    await client.ping()


def threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "mcpsim watchdogs"]


def for_ever() -> None:
    while True:
        pass


def run(callback: Callable[[], object], limit_s: float = LIMIT_S) -> None:
    loop = VirtualTimeLoop(step_limit_s=limit_s)
    try:
        loop.call_soon(callback)
        loop.run_until(lambda: loop.steps > 0)
    finally:
        loop.close()


def test_many_runs_and_many_steps_start_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda self: (started.append(self.name), start(self)))
    for _ in range(20):
        simulate(story, server=Server("a"), era="legacy")
    with Simulation(story, server=Server("a"), era="legacy") as simulation:
        while simulation.step():
            pass
    # More than one only where the machine stood still in between.
    assert len(started) < 5
    assert len(threads()) <= 1


def test_a_shorter_limit_than_that_of_the_run_before_counts() -> None:
    run(lambda: None, limit_s=1_000.0)
    begin = time.monotonic()
    with pytest.raises(Stuck, match=r"ran for 0\.2 s without giving control back"):
        run(for_ever)
    assert time.monotonic() - begin < 8


def test_of_two_runs_inside_each_other_the_inner_one_is_ended() -> None:
    ended: list[str] = []

    def outer() -> None:
        with pytest.raises(Stuck, match="for_ever"):
            run(for_ever)
        ended.append("inner")

    run(outer)
    assert ended == ["inner"]


def test_runs_in_several_threads_are_ended_each_in_its_own() -> None:
    ended: list[str] = []

    def in_a_thread(name: str) -> None:
        with pytest.raises(Stuck, match="for_ever"):
            run(for_ever)
        ended.append(name)

    names = ["first", "second", "third"]
    runs = [threading.Thread(target=in_a_thread, args=(name,)) for name in names]
    for one in runs:
        one.start()
    for one in runs:
        one.join(30)
    assert sorted(ended) == names


def test_nothing_bites_after_a_run() -> None:
    with pytest.raises(Stuck):
        run(for_ever)
    until = time.monotonic() + LIMIT_S * 4
    while time.monotonic() < until:
        pass


def test_the_thread_ends_when_there_is_nothing_to_watch() -> None:
    run(lambda: None)
    until = time.monotonic() + 20
    while threads() and time.monotonic() < until:
        time.sleep(0.02)
    assert threads() == []
    with pytest.raises(Stuck):
        run(for_ever)
