"""Every peer that misbehaves breaks its rule and no other, its twin none, and every rule has such a peer."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable

import pytest

import mcpsim.course.misbehaving as package
from mcpsim.audit.rule import MUST
from mcpsim.course import MISBEHAVING
from mcpsim.course.misbehaving import TOPICS, Misbehaviour
from mcpsim.course.misbehaving.base import party_of
from tests.audit.try_cases import COMPANIONS


def each(some: Iterable[Misbehaviour]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("one", [pytest.param(one, id=one.name) for one in some])


@each(MISBEHAVING.values())
def test_it_breaks_its_rule_and_no_other_that_must_hold(one: Misbehaviour) -> None:
    # One run for all that is looked at: there are several hundred peers.
    run = one.play()
    assert run.recording == one.play().recording
    assert one.party in {party_of(frame.sender) for frame in run.recording.frames}
    report = run.audit()
    assert report.skipped == ()
    assert {found.party for found in report.findings if found.rule == one.rule} == {one.party}, report
    others = {found.rule for found in report.findings if found.level == MUST} - {one.rule}
    assert others <= (COMPANIONS.get(one.rule, set()) if is_provoked(one) else set()), report


def is_provoked(one: Misbehaviour) -> bool:
    """Whether the other side begins."""
    return one in TOPICS["what the other side does wrong"]


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


@each(MISBEHAVING.values())
def test_its_name_and_sentence(one: Misbehaviour) -> None:
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", one.name)
    assert one.name.startswith(f"{one.party}-")
    assert one.sentence.endswith(".")
    assert ". " not in one.sentence


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
