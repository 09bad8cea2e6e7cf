"""Every message in every recording that a test makes is judged by the official models when the test ends.

This is a pytest plugin in all but name: `tests/conftest.py` takes its hooks over. What a test breaks on
purpose stands in `tests/support/broken.py`, with the reason.

What is looked at are the recordings of simulations and of live sessions, where the project's peers speak. One
that a test draws by hand, frame by frame, has no peers in it. Recordings with the same messages are judged
once in a test, and of a property test's many no more than `MOST`.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest

from mcpsim.recording import Recorder
from mcpsim.recording.events import SENT
from tests.support.broken import BROKEN, Row
from tests.support.checked import Fault, faults_of

# The recordings of one test that are judged; evenly spread over all that it made.
MOST = 60
# The messages of one recording that are judged: whoever makes more measures something else.
MOST_FRAMES = 3_000

made = pytest.StashKey[list[Recorder]]()
seen = pytest.StashKey[dict[str, set[str]]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Keep every recorder that the project makes while the test is set up and run."""
    recorders = item.stash[made] = []
    begin = Recorder.__init__

    def note(self: Recorder, *args: Any, **named: Any) -> None:
        begin(self, *args, **named)
        if sys._getframe(1).f_globals["__name__"].startswith("mcpsim."):
            recorders.append(self)

    with patch.object(Recorder, "__init__", note):
        try:
            return (yield)
        finally:
            recorders.clear()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    """Judge what the test has recorded. It fails with what is wrong and not said to be."""
    result = yield
    name = item.nodeid.partition("[")[0]
    row = BROKEN.get(name, NOTHING)
    found = list(_faults(item.stash[made], row.by))
    stray = [fault for fault in found if fault.name not in row.messages]
    if stray:
        lines = [f"message {number}, {what}: {why}" for number, what, why in dict.fromkeys(stray)]
        pytest.fail(
            "The test recorded messages that the official models refuse. If that is its purpose, say so in "
            "tests/support/broken.py.\n" + "\n".join(lines[:20]),
            pytrace=False,
        )
    _check_row(item, name, row, {fault.name for fault in found})
    return result


NOTHING = Row("")
# Under an id that the project's peer could read in something which was no request.
ANSWER = "error of a request that was never sent"


def _faults(recorders: list[Recorder], strangers: tuple[str, ...]) -> Iterator[Fault]:
    if "*" in strangers:
        return
    known: set[int] = set()
    step = -(-len(recorders) // MOST) or 1
    for recorder in recorders[::step]:
        sent = [event for event in recorder.events if event.kind == SENT]
        key = hash(tuple((event.party, event.connection, event.data) for event in sent))
        if not sent or len(sent) > MOST_FRAMES or key in known:
            continue
        known.add(key)
        senders = {event.frame: event.party for event in sent}
        for fault in faults_of(recorder.recording({})):
            if senders[fault.frame] not in strangers and not (strangers and fault.name == ANSWER):
                yield fault


def _check_row(item: pytest.Item, name: str, row: Row, broken: set[str]) -> None:
    """What is said to be broken must be so, in one of the test's cases at least."""
    kept = item.session.stash.setdefault(seen, defaultdict(set))
    kept[name] |= broken
    cases = (
        [one for one in item.session.items if one.nodeid.partition("[")[0] == name] if row.messages else []
    )
    chosen = item.config.option.keyword or any("[" in argument for argument in item.config.args)
    if cases and cases[-1] is item and not chosen:
        unfounded = set(row.messages) - kept[name]
        assert not unfounded, f"Said to be broken, but the models accept it: {sorted(unfounded)}"
