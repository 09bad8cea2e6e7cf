"""The benches of the built-in stories: every knob that is offered changes something, and none has to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from mcpsim.course import STORIES, bench
from mcpsim.course.benches import PARTS
from mcpsim.recording.run import Run
from mcpsim.simulation.knobs import BenchPlan, Knob
from mcpsim.transports.link import Stdio, StreamableHttp

PEERS = ("era", "server_era", "transport")
FAULTY = ("fault", "message", "by_ms")
names = pytest.mark.parametrize("name", STORIES)


def what_happened(run: Run) -> object:
    """All that is not said by the header alone, which names the knobs."""
    return (run.recording.events, run.value, repr(run.error))


def values_of(knob: Knob, settings: dict[str, Any]) -> list[Any]:
    """Some values of a knob, the extremes among them."""
    if knob.kind == "choice":
        return list(knob.choices(settings))
    if knob.kind == "switch":
        return [False, True]
    if knob.high <= 10:
        return [*range(int(knob.low), int(knob.high) + 1), *([None] if knob.none else [])]
    return [knob.low, knob.high, *([None] if knob.none else [])]


def stages(plan: BenchPlan) -> Iterator[dict[str, Any]]:
    """Every combination of the eras and the transports."""
    offered = {knob.name: list(knob.choices({})) for knob in plan.knobs if knob.name in PEERS}
    for values in product(*offered.values()):
        yield dict(zip(offered, values, strict=True))


@names
def test_untouched_it_is_the_story_itself(name: str) -> None:
    story = STORIES[name]
    plan = bench(name)
    knobs = {knob.name for knob in plan.knobs}
    for era, way in product(story.eras, story.ways):
        given = {"era": era, "transport": way}
        run = plan.play(**{key: value for key, value in given.items() if key in knobs})
        told = story.play(era=era, transport=Stdio() if way == "stdio" else StreamableHttp())
        assert run.recording.to_jsonl() == told.recording.to_jsonl()
        assert run.value == told.value


@names
def test_every_value_of_every_knob_changes_what_happens(name: str) -> None:
    plan = bench(name)
    idle = {
        (knob.name, value)
        for knob in plan.knobs
        if knob.name not in FAULTY
        for value in values_of(knob, {})
        if value != knob.default
    }
    for stage in stages(plan):
        untouched = what_happened(plan.play(**stage))
        for knob, value in sorted(idle, key=repr):
            base = stage if knob not in PEERS else {key: stage[key] for key in stage if key != knob}
            before = untouched if knob not in PEERS else what_happened(plan.play(**base))
            if what_happened(plan.play(**{**base, knob: value})) != before:
                idle.discard((knob, value))
    assert idle == set()


@names
def test_every_fault_that_is_offered_happens(name: str) -> None:
    plan = bench(name)
    by_name = {knob.name: knob for knob in plan.knobs}
    settings = {knob.name: knob.default for knob in plan.knobs}
    messages = by_name["message"].choices(settings)
    kinds = [kind for kind in by_name["fault"].choices({}) if kind != "none"]
    assert messages
    assert len(kinds) == 5
    untouched = plan.play()
    own = STORIES[name].faults
    for number, message in enumerate(messages):
        # All kinds for some of the messages, and one kind for each.
        for kind in kinds if number in (0, len(messages) - 1) else kinds[number % 5 :][:1]:
            run = plan.play(fault=kind, message=message)
            assert [fault for fault in run.unused_faults if fault not in own] == [], (kind, message)
            assert what_happened(run) != what_happened(untouched)


def test_a_knob_that_changes_nothing_is_not_offered() -> None:
    def offered(name: str) -> list[str]:
        return [knob.name for knob in bench(name).knobs if knob.name not in FAULTY]

    assert offered("first-call") == ["era", "server_era", "transport", "latency_ms"]
    assert offered("fresh-then-stale") == ["server_era", "transport", "latency_ms", "cache", "ttl_ms"]
    assert offered("header-and-body-differ") == ["server_era", "latency_ms"]
    assert offered("two-rounds")[4:] == ["answer_1", "answer_2"]
    assert set(PARTS) <= set(STORIES)


def test_a_setting_does_what_it_says() -> None:
    assert bench("three-pages").play(page_size=2).value == [2, 2, 2, 1]
    assert bench("one-question").play(answer="decline").value == "No seat reserved in IC 31"
    assert bench("report-stopped").play(stop_ms=None).value == "finished"
    assert bench("report-with-progress").play(stop_ms=300).value == "stopped"
    shared = bench("for-everybody-or-for-one").play(balance_scope="public")
    assert shared.value == ["4 a pack", "ada has 12", "4 a pack", "ada has 12"]


def test_an_error_is_part_of_the_run() -> None:
    run = bench("first-call").play(fault="cut", message="1 tools/call")
    assert "ConnectionClosed" in repr(run.error)
    assert len(run.recording.frames) > 2


def test_the_messages_follow_the_other_settings() -> None:
    (knob,) = [knob for knob in bench("first-call").knobs if knob.name == "message"]
    settings = {one.name: one.default for one in bench("first-call").knobs}
    assert list(knob.choices(settings).items()) == [
        ("1 tools/list", "tools/list"),
        ("1 result of tools/list", "result of tools/list"),
        ("1 tools/call", "tools/call"),
        ("1 result of tools/call", "result of tools/call"),
    ]
    assert next(iter(knob.choices({**settings, "era": "legacy"}))) == "1 initialize"
    pages = bench("three-pages")
    (knob,) = [knob for knob in pages.knobs if knob.name == "message"]
    settings = {one.name: one.default for one in pages.knobs}
    assert "resources/list, the 3rd" in knob.choices(settings).values()
    assert len(knob.choices({**settings, "page_size": 1})) == 14


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"page_size": 0}, "Page size is a whole number from 1 to 10, not 0."),
        ({"page_size": "3"}, "Page size is a whole number from 1 to 10, not '3'."),
        ({"fault": "explode"}, "What goes wrong is one of 'none', 'drop'"),
        (
            {"fault": "drop", "message": "9 tools/call"},
            "With which message is one of '1 resources/list', '1 result of resources/list'",
        ),
        (
            {"pages": 3},
            "There is no knob 'pages'. The knobs are: era, server_era, transport, latency_ms,",
        ),
    ],
)
def test_what_a_knob_cannot_be_is_refused(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match="^" + text.replace(".", r"\.")):
        bench("three-pages").play(**given)


def test_a_story_that_is_not_there() -> None:
    with pytest.raises(LookupError, match=r"no story 'three-page'\. Did you mean three-pages"):
        bench("three-page")


def test_its_text_is_the_same_in_every_run() -> None:
    text = "<Bench of 'first-call': era, server_era, transport, latency_ms, fault, message, by_ms>"
    assert repr(bench("first-call")) == text


def test_a_run_with_other_knobs_is_not_called_what_the_story_says_of_its_own() -> None:
    three = bench("three-pages")
    assert "three on a page" in three.play().recording.header["title"]
    assert "three on a page" in three.play(latency_ms=50, era="legacy").recording.header["title"]
    title = three.play(page_size=2).recording.header["title"]
    assert title == "The story three-pages, as the knobs stand (modern)"
