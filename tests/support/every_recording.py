"""Every recording that a test makes is judged when the test ends: each message by the official models, and
all of it by the audit.

This is a pytest plugin in all but name: `tests/conftest.py` takes its hooks over. What a test breaks on
purpose stands in `tests/support/broken.py`, with the reason.

What is looked at are the recordings of simulations and of live sessions, where the project's peers speak. One
that a test draws by hand, frame by frame, has no peers in it. Recordings with the same events are judged
once in a test, and of a property test's many no more than `MOST`. What was found is remembered:
many tests play the same story, and it is the same recording to the byte.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from mcpsim.audit import Finding
from mcpsim.recording import Recorder
from mcpsim.recording.events import SENT
from tests.support.broken import BROKEN, Row
from tests.support.checked import Fault, faults_of

# The recordings of one test that are judged; evenly spread over all that it made.
MOST = 60
# The messages of one recording that are judged: whoever makes more measures something else.
MOST_FRAMES = 3_000


class Judgement(NamedTuple):
    """What is wrong with a recording, by whom: the messages with their senders, and the broken rules."""

    faults: tuple[tuple[Fault, str], ...]
    broken: tuple[Finding, ...]


made = pytest.StashKey[list[Recorder]]()
seen = pytest.StashKey[dict[str, set[str]]]()
judged = pytest.StashKey[dict[bytes, Judgement]]()
last_cases = pytest.StashKey[dict[str, pytest.Item]]()


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
    known = item.session.stash.setdefault(judged, {})
    judgements = [_judgement(recorder, known) for recorder in _judged(item.stash[made], row.by)]
    found = [fault for judgement in judgements for fault in _faults(judgement, row.by)]
    broken = {one.rule: one for judgement in judgements for one in _broken(judgement, row.by)}
    stray = [fault for fault in found if fault.name not in row.messages]
    if stray:
        lines = [f"message {number}, {what}: {why}" for number, what, why in dict.fromkeys(stray)]
        pytest.fail(
            "The test recorded messages that the official models refuse. If that is its purpose, say so in "
            "tests/support/broken.py.\n" + "\n".join(lines[:20]),
            pytrace=False,
        )
    unruly = [one for rule, one in broken.items() if rule not in row.rules]
    if unruly:
        lines = [f"row {one.index}, {one.party}, {one.rule}: {one.message}" for one in unruly]
        pytest.fail(
            "The test recorded what breaks rules. If that is its purpose, say so in "
            "tests/support/broken.py.\n" + "\n".join(lines[:20]),
            pytrace=False,
        )
    _check_row(item, name, row, {fault.name for fault in found} | broken.keys())
    return result


NOTHING = Row("")
# Under an id that the project's peer could read in something which was no request.
ANSWER = "error of a request that was never sent"


def _judged(recorders: list[Recorder], strangers: tuple[str, ...]) -> Iterator[Recorder]:
    """The recorders that are looked at, each of those to which the same happened once."""
    if "*" in strangers:
        return
    known: set[int] = set()
    step = -(-len(recorders) // MOST) or 1
    for recorder in recorders[::step]:
        sent = sum(event.kind == SENT for event in recorder.events)
        key = hash(tuple((one.kind, one.party, one.connection, one.data) for one in recorder.events))
        if 0 < sent <= MOST_FRAMES and key not in known:
            known.add(key)
            yield recorder


def _judgement(recorder: Recorder, known: dict[bytes, Judgement]) -> Judgement:
    """What is wrong with a recording; looked up where one with the same events was judged before."""
    events = list(recorder.events)
    digest = hashlib.sha256(pickle.dumps(events)).digest()
    found = known.get(digest)
    if found is None:
        recording = recorder.recording({})
        senders = {event.frame: event.party for event in events if event.kind == SENT}
        report = recording.audit()
        assert report.skipped == ()
        faults = tuple((fault, senders[fault.frame]) for fault in faults_of(recording))
        found = known[digest] = Judgement(faults, tuple(report.broken))
    return found


def _faults(judgement: Judgement, strangers: tuple[str, ...]) -> Iterator[Fault]:
    for fault, sender in judgement.faults:
        if sender not in strangers and not (strangers and fault.name == ANSWER):
            yield fault


def _broken(judgement: Judgement, strangers: tuple[str, ...]) -> Iterator[Finding]:
    return (one for one in judgement.broken if one.party not in strangers)


def _check_row(item: pytest.Item, name: str, row: Row, broken: set[str]) -> None:
    """What is said to be broken must be so, in one of the test's cases at least."""
    kept = item.session.stash.setdefault(seen, defaultdict(set))
    kept[name] |= broken
    if not row.messages and not row.rules:
        return
    chosen = item.config.option.keyword or any("[" in argument for argument in item.config.args)
    if _last_case(item.session, name) is item and not chosen:
        unfounded = {*row.messages, *row.rules} - kept[name]
        assert not unfounded, f"Said to be broken, but nothing says so: {sorted(unfounded)}"


def _last_case(session: pytest.Session, name: str) -> pytest.Item:
    """The last of a test's cases. All tests are gone through once: there are thousands."""
    if last_cases not in session.stash:
        session.stash[last_cases] = {one.nodeid.partition("[")[0]: one for one in session.items}
    return session.stash[last_cases][name]
