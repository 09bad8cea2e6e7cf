"""Every peer that misbehaves breaks its rule and no other, its twin none, and every rule has such a peer."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

import pytest

import mcpsim.course.misbehaving as package
from mcpsim.audit import RULES
from mcpsim.audit.rule import MUST
from mcpsim.course import MISBEHAVING
from mcpsim.course.misbehaving import TOPICS, Misbehaviour
from mcpsim.course.misbehaving.base import party_of
from mcpsim.messages import Request
from mcpsim.simulation.branching import DelayNext, branch
from tests.audit.try_cases import COMPANIONS
from tests.support.cases import case

#: Why no peer of a simulation breaks a rule, although the traces of other programs can show that.
WITHOUT_PEER: Final = {
    "legacy-answer-means-initialize-on-http": "Nothing tells that a client over HTTP will not come back.",
    "http-closed-stream-is-silent": "What a simulated server sends into a closed stream comes to nobody.",
    "http-one-post-a-message": "A simulated HTTP request has one body.",
    "stderr-is-no-error": "A simulated server has no stderr.",
    "stdio-client-closes-stdin-first": "A simulated client can end a server by closing its stdin only.",
    "subscription-opened-again-after-restart": "A new process of a simulated server is a new connection.",
    "timeout-cancels-request": "A simulated client that has waited too long closes the response, as one does "
    "that needs it no longer.",
}


#: What the other side does wrong, where a peer misbehaves by the way in which it takes that.
WITH_IT: Final = {**COMPANIONS, "http-session-id-missing-is-400": {"http-session-id-is-sent"}}


def each(some: Iterable[Misbehaviour]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("one", [pytest.param(one, id=one.name) for one in some])


@each(MISBEHAVING.values())
def test_it_breaks_its_rule_and_no_other_that_must_hold(one: Misbehaviour) -> None:
    # One run for all that is looked at: there are several hundred peers.
    run = one.play()
    assert run.recording == one.play().recording
    # Another server and another client play a branch: what differs there comes from its change alone.
    assert branch(run, 0, DelayNext(0)).drift is None
    assert one.party in {party_of(frame.sender) for frame in run.recording.frames}
    report = run.audit()
    assert report.skipped == ()
    assert {found.party for found in report.findings if found.rule == one.rule} == {one.party}, report
    others = {found.rule for found in report.findings if found.level == MUST} - {one.rule}
    assert others <= WITH_IT.get(one.rule, set()), report


# That the messages of a test are valid is seen to for every test. The official models know no tasks.
@each(one for topic, some in TOPICS.items() if topic != "tasks" for one in some)
def test_its_twin_is_a_normal_peer(one: Misbehaviour) -> None:
    check_twin(one)


@each(TOPICS["tasks"])
def test_its_twin_is_a_normal_peer_with_tasks(one: Misbehaviour) -> None:
    check_twin(one)


def check_twin(one: Misbehaviour) -> None:
    well = one.play_well()
    assert well.error is None
    report = well.audit()
    assert report.skipped == ()
    assert not [found for found in report.findings if found.level == MUST or found.rule == one.rule], report


def test_names_and_sentences() -> None:
    for one in MISBEHAVING.values():
        with case(one.name):
            assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", one.name)
            assert one.name.startswith(f"{one.party}-")
            assert len(one.name) <= 45
            assert one.sentence.startswith(f"The {one.party}")
            assert one.sentence.endswith(".")
            assert ". " not in one.sentence


def test_every_rule_has_a_peer_or_a_reason_and_not_both() -> None:
    rules = {rule.id for rule in RULES}
    broken = {one.rule for one in MISBEHAVING.values()}
    assert broken <= rules
    assert broken | WITHOUT_PEER.keys() == rules
    assert not broken & WITHOUT_PEER.keys()


def test_no_two_have_the_same_sentence() -> None:
    twice = [
        text for text, count in Counter(one.sentence for one in MISBEHAVING.values()).items() if count > 1
    ]
    assert not twice


def test_every_topic_is_in_the_table() -> None:
    modules = [
        importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
    ]
    found = [
        one
        for module in modules
        for name, value in inspect.getmembers(module)
        if name.isupper() and isinstance(value, tuple)
        for one in value
        if isinstance(one, Misbehaviour)
    ]
    assert {one.name for one in found} == set(MISBEHAVING)


def test_the_three_lines_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.strip() for line in (package.__doc__ or "").splitlines() if line.startswith("    ")]
    assert len(lines) == 3
    exec("\n".join(lines), {})
    assert "request-is-answered-once (server)" in capsys.readouterr().out


def test_what_is_the_same_in_both_runs_is_refused() -> None:
    one = next(iter(MISBEHAVING.values()))
    with pytest.raises(ValueError, match="nothing that tells the wrong run from the right one"):
        Misbehaviour(
            "client-does-nothing",
            "client",
            one.rule,
            "The client does.",
            one.story,
            one.server,
            "modern",
            "stdio",
        )


def test_nobodys_own_request_changes_the_list_that_is_read_again() -> None:
    # A list MUST NOT change as a side effect of other requests on the connection: the fault is another one.
    frames = MISBEHAVING["client-relies-on-a-list-that-has-changed"].play().recording.frames
    asked = {frame.sender: frame.parsed.method for frame in frames if isinstance(frame.parsed, Request)}
    told = [frame.receiver for frame in frames if b"tools/list_changed" in frame.data]
    assert asked == {"ada": "tools/call", "ben": "tools/call"}
    assert told == ["ada"]
    assert [frame.sender for frame in frames if b'"close"' in frame.data and frame.receiver == "server"] == [
        "ben"
    ]
