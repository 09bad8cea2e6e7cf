"""Every peer that misbehaves breaks its rule and no other; its twin does not."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import pytest

import mcpsim.course.misbehaving as package
from mcpsim.audit.rule import MUST
from mcpsim.course import MISBEHAVING
from mcpsim.course.misbehaving import Misbehaviour
from mcpsim.course.misbehaving.base import party_of

EACH = pytest.mark.parametrize("one", [pytest.param(one, id=name) for name, one in MISBEHAVING.items()])


@EACH
def test_it_plays_the_same_twice_and_differs_from_its_twin(one: Misbehaviour) -> None:
    first, again = one.play().recording.to_jsonl(), one.play().recording.to_jsonl()
    assert first == again
    assert one.play_well().recording.to_jsonl() != first


@EACH
def test_its_twin_is_a_normal_peer(one: Misbehaviour) -> None:
    # That its messages are valid is seen to for every test.
    assert one.play_well().error is None


@EACH
def test_its_name_and_sentence(one: Misbehaviour) -> None:
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", one.name)
    assert one.sentence[0].isupper()
    assert one.sentence.endswith(".")
    lanes = {frame.sender for frame in one.play().recording.frames}
    assert one.party in {party_of(lane) for lane in lanes}


@EACH
def test_the_audit_names_its_rule_and_no_other_that_must_hold(one: Misbehaviour) -> None:
    report = one.play().audit()
    assert report.skipped == ()
    assert {found.party for found in report.findings if found.rule == one.rule} == {one.party}, report
    assert {found.rule for found in report.findings if found.level == MUST} <= {one.rule}, report


@EACH
def test_the_audit_finds_nothing_in_its_twin(one: Misbehaviour) -> None:
    report = one.play_well().audit()
    assert report.skipped == ()
    assert not [found for found in report.findings if found.level == MUST or found.rule == one.rule], report


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
