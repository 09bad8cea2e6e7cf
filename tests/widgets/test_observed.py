"""A trace from elsewhere: one time for each message, and connections that share two lanes."""

from __future__ import annotations

import json
from typing import Any

from mcpsim import Stdio, StreamableHttp
from mcpsim.course import STORIES
from mcpsim.recording import Recording
from mcpsim.widgets import player_data


def steps_of(recording: Recording) -> list[dict[str, Any]]:
    return player_data(recording)["steps"]


def mixed() -> Recording:
    """What a collector makes of three connections to one server."""
    rows: list[dict[str, Any]] = []
    for name, story in (("c1", "ping-both-ways"), ("c2", "three-pages"), ("c3", "three-pages")):
        lines = STORIES[story].play().recording.to_interchange().splitlines()
        rows += [{**json.loads(line), "connection": name} for line in lines]
    rows.sort(key=lambda row: row["t_ms"])
    return Recording.from_interchange("\n".join(map(json.dumps, rows)).encode())


def test_each_step_of_a_mixed_trace_says_on_which_connection_it_is() -> None:
    trace = mixed()
    rows = [json.loads(line) for line in trace.to_interchange().splitlines()]
    steps = steps_of(trace)
    assert [step["connection"] for step in steps] == [row["connection"] for row in rows]
    assert all(step["gist"].split(", ")[0] == step["connection"] for step in steps)


def test_where_the_lanes_tell_connections_apart_nothing_is_added() -> None:
    run = STORIES["any-replica-will-do"].play()
    assert not [step for step in steps_of(run.recording) if "connection" in step]
    one = Recording.from_interchange(STORIES["three-pages"].play().recording.to_interchange())
    assert not [step for step in steps_of(one) if "connection" in step]


def test_replicas_that_share_a_lane_are_told_apart() -> None:
    run = STORIES["any-replica-will-do"].play()
    steps = steps_of(Recording.from_interchange(run.recording.to_interchange()))
    named = {step.get("connection", "") for step in steps if step["to"] == "server"}
    assert len(named) == 3
    assert "" not in named
    assert not [step for step in steps if step["from"] == "client" and "connection" in step]


def test_a_reconnecting_client_of_a_simulation_needs_no_names() -> None:
    run = STORIES["process-is-started-again"].play()
    assert len({event.connection for event in run.recording.events}) > 1
    assert not [step for step in steps_of(run.recording) if "connection" in step]


def test_nobody_knows_how_long_a_message_of_a_trace_was_on_the_way() -> None:
    assert {step["took"] for step in steps_of(mixed()) if "took" in step} == {""}
    played = STORIES["three-pages"].play().recording
    assert {step["took"] for step in steps_of(played) if "took" in step} == {"20 ms"}


def test_nobody_saw_a_request_of_a_trace_arrive() -> None:
    assert {one["reached"] for one in player_data(mixed())["requests"]} == {None}


def test_a_message_is_compared_with_one_of_its_own_connection() -> None:
    steps = steps_of(mixed())
    compared = [(step["n"], one["step"]) for step in steps for one in step.get("compared", ())]
    assert compared
    for number, other in compared:
        assert steps[number - 1]["connection"] == steps[other - 1]["connection"]


def test_a_connection_that_breaks_is_closed_by_nobody() -> None:
    steps = steps_of(STORIES["server-dies-and-comes-back"].play().recording)
    assert [step["label"] for step in steps if step["kind"] == "closed"] == ["the connection is cut"]


def test_a_trace_with_connections_of_each_transport_names_both() -> None:
    rows: list[dict[str, Any]] = []
    for name, transport in (("c1", Stdio()), ("c2", StreamableHttp())):
        run = STORIES["first-call"].play(transport=transport)
        lines = run.recording.to_interchange().splitlines()
        rows += [{**json.loads(line), "connection": name} for line in lines]
    trace = Recording.from_interchange("\n".join(map(json.dumps, rows)).encode())
    assert player_data(trace)["transport"] == "stdio and Streamable HTTP"
    assert player_data(mixed())["transport"] == "stdio"
    assert player_data(run.recording)["transport"] == "http"
