"""What a report says of a row, it says of that very row: of a recording, of a file, and in the player."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpsim import Client, Recording, Server, Stdio, StreamableHttp, simulate
from mcpsim.audit import Report, audit
from mcpsim.course import STORIES
from mcpsim.course.stories.story import Story
from mcpsim.recording import events
from mcpsim.recording.exporting import to_interchange
from mcpsim.recording.readers import read_trace
from mcpsim.widgets.steps import steps_of
from tests.support.plans import Plan

WAYS = {"stdio": Stdio, "http": StreamableHttp}
PLAYS = [(name, era, way) for name, story in STORIES.items() for era in story.eras for way in story.ways]
IDS = ["-".join(play) for play in PLAYS]


def recorded(name: str, era: Any, way: str, **more: Any) -> Recording:
    return STORIES[name].play(era=era, transport=WAYS[way](), check=False, **more).recording


def bounded(name: str) -> Story:
    """The story, stopped after a long time: where a message is lost, some wait for ever."""
    story = STORIES[name]

    @functools.wraps(story.story)
    async def stopped(*clients: Any, **more: Any) -> Any:
        with anyio.move_on_after(600):
            return await story.story(*clients, **more)

    return replace(story, story=stopped)


@pytest.mark.parametrize(("era", "revision"), [("legacy", "2025-11-25"), ("modern", "2026-07-28")])
def test_a_finding_names_a_page_of_the_era_in_which_the_run_was_played(era: Any, revision: str) -> None:
    async def story(client: Client) -> None:
        await client.send_raw(b'{"jsonrpc": "2.0", "method": 5}\n')

    run = simulate(story, server=Server("desk"), era=era, check=False)
    assert run.audit().findings
    assert {one.spec[:10] for one in run.audit().findings} == {revision}
    # What a stranger's file says there may be anything.
    bare = Recording({**run.recording.header, "era": {"client": ["modern"]}}, run.recording.events)
    assert bare.audit().findings


def told(report: Report) -> tuple[Any, ...]:
    return report.findings, report.annotations, report.incomplete


def assert_rows_are_pinned(recording: Recording) -> None:
    """Each row belongs to the step of the message, or of the closing, that it shows."""
    rows = to_interchange(recording.events)
    seen = recording.audit().events
    assert len(seen) == len(rows)
    steps = steps_of(recording)
    frames = {frame.index: frame for frame in recording.frames}
    for index, row in zip(seen, rows, strict=True):
        step = steps.all[steps.at(index) - 1]
        assert step.index == index
        if "event" in row:
            assert step.event.kind in (events.CLOSED, events.NOTE)
            continue
        frame = frames[index]
        data = frame.data if row["from"] == "client" else frame.arrived_data
        if "message" in row:
            assert json.loads(replace(frame, data=data).body) == row["message"]
        elif "raw" in row:
            text = row["raw"].encode()
            assert text == (data if frame.is_http else data.removesuffix(b"\n").removesuffix(b"\r"))


@pytest.mark.parametrize(("name", "era", "way"), PLAYS, ids=IDS)
def test_a_story_in_every_form(name: str, era: str, way: str, tmp_path: Path) -> None:
    recording = recorded(name, era, way)
    assert_rows_are_pinned(recording)
    report = recording.audit()
    recording.save(tmp_path / "saved.jsonl")
    for other in (
        Recording.load(tmp_path / "saved.jsonl").audit(),
        audit(read_trace((tmp_path / "saved.jsonl").read_bytes())),
    ):
        assert (told(other), other.events) == (told(report), report.events)
    data = recording.to_interchange()
    of_rows = audit(json.loads(line) for line in data.splitlines())
    assert told(audit(read_trace(data))) == told(of_rows)
    (tmp_path / "rows.jsonl").write_bytes(data)
    assert told(Recording.load(tmp_path / "rows.jsonl").audit()) == told(of_rows)
    # The rows do not tell what the wire did: a recording of it knows more, and blames nobody for that.
    assert set(report.findings) <= set(of_rows.findings)
    if not any(frame.arrived_data != frame.data or frame.copy_of for frame in recording.frames):
        assert told(report) == told(of_rows)


@settings(max_examples=40)
@given(st.randoms(use_true_random=False))
def test_whatever_the_wire_does(random: Random) -> None:
    plan = Plan.drawn(random)
    transport = WAYS[plan.way](latency_ms=plan.latency_ms, jitter_ms=plan.jitter_ms)
    run = bounded(plan.story).play(
        era=plan.era, transport=transport, seed=plan.seed, faults=plan.faults, check=False
    )
    assert_rows_are_pinned(run.recording)
    assert [one.why for one in run.recording.audit().skipped if "failed" in one.why] == []
