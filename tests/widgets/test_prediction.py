"""What there is to predict: the right answer is what comes, and whatever else is offered cannot come."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mcpsim import Client, Context, Recording, Server, StreamableHttp, simulate
from mcpsim.audit.rule import MUST
from mcpsim.course.stories import STORIES
from mcpsim.eras.methods import METHODS
from mcpsim.eras.modern import request_meta
from mcpsim.eras.revisions import LATEST_MODERN
from mcpsim.recording.events import DELIVERED, Event
from mcpsim.widgets.prediction import MAX_ASKED
from mcpsim.widgets.steps import steps_of
from mcpsim.widgets.view import player_data


def played() -> Iterator[Any]:
    for name, story in STORIES.items():
        for era in story.eras:
            yield pytest.param(name, era, story.ways[0], id=f"{name}-{era}")


def recording_of(name: str, era: Any, way: str) -> Recording:
    transport = StreamableHttp() if way == "http" else None
    return STORIES[name].play(era=era, transport=transport, check=False).recording


def asked(data: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[Any], list[tuple[Any, str]]]]:
    """Each step that is asked about, what is right, and what is wrong with its reason."""
    found = data["predictions"]
    for number, choices in found["asked"].items():
        right = [found["moves"][move] for move, reason in choices if reason < 0]
        wrong = [
            (found["moves"][move], found["reasons"][reason][0]) for move, reason in choices if reason >= 0
        ]
        assert len(right) == 1
        yield data["steps"][int(number) - 1], right[0], wrong


@pytest.mark.parametrize(("name", "era", "way"), tuple(played()))
def test_the_right_answer_is_what_comes_and_no_other_is(name: str, era: str, way: str) -> None:
    data = player_data(recording_of(name, era, way))
    kinds = {"request": "request", "notification": "notification", "response": "result", "error": "error"}
    count = 0
    for step, right, wrong in asked(data):
        count += 1
        assert right[:2] == [step["from"], step["to"]]
        assert (kinds[step["kind"]] if right[2] != "input" else "response") in (right[2], step["kind"])
        assert right[3] in step["label"] or right[2] == "error"
        moves = [tuple(right), *(tuple(move) for move, _ in wrong)]
        assert 3 <= len(moves) == len(set(moves)) <= 4
        assert all(why.endswith(".") for _, why in wrong)
    assert count


def body_of(move: list[str], request_id: int, era: str) -> dict[str, Any]:
    _, _, kind, method = move
    if kind == "request":
        # Without the metadata of a modern request the audit would take it for a legacy one.
        meta = {"_meta": request_meta(LATEST_MODERN, {}, None)} if era == "modern" else {}
        return {"jsonrpc": "2.0", "id": "made-up", "method": method, "params": meta}
    if kind == "notification":
        return {"jsonrpc": "2.0", "method": method, "params": {}}
    if kind == "error":
        return {"jsonrpc": "2.0", "id": request_id, "error": {"code": -32603, "message": "no"}}
    told = {"resultType": "input_required", "requestState": "x"} if kind == "input" else {}
    return {"jsonrpc": "2.0", "id": request_id, "result": told}


# The rules about who sends what, and when. What a made-up body breaks beside that proves nothing.
ABOUT_MOVES = {
    "response-answers-a-request",
    "method-in-negotiated-revision",
    "method-in-this-revision",
    "stdio-server-sends-no-requests",
    "stdio-client-sends-no-responses",
    "initialize-is-first",
    "mrtr-only-on-these-methods",
}


def found_wrong(recording: Recording, step: int, move: list[str], era: str) -> bool:
    """Whether the audit finds that this cannot come in place of a step."""
    here = steps_of(recording).all[step - 1]
    frame = here.event.frame
    # An answer to nobody: an id that was never used on this connection.
    body = json.dumps(body_of(move, 987_654, era)).encode() + b"\n"
    sent = here.event._replace(party=move[0], peer=move[1], data=body)
    after = here.event.at_us + 1
    arrived = Event(after, DELIVERED, move[1], move[0], frame=frame, connection=here.event.connection)
    report = Recording(recording.header, (*recording.events[: here.index], sent, arrived)).audit()
    return any(report.events[one.index] >= here.index and one.rule in ABOUT_MOVES for one in report.findings)


@pytest.mark.parametrize("name", ["first-call", "three-pages", "one-question", "two-rounds", "ask-the-model"])
def test_the_audit_agrees_that_it_cannot_come(name: str) -> None:
    looked = 0
    for era in STORIES[name].eras:
        recording = recording_of(name, era, "stdio")
        # Of the beginning of a connection it knows too little to judge.
        known = {"modern": 1}.get(era, 4)
        for step, _, wrong in asked(player_data(recording)):
            for move, why in wrong if step["n"] > known else ():
                looked += 1
                assert found_wrong(recording, step["n"], move, step["era"]), (era, step["n"], move, why)
    assert looked > 5


def test_a_run_of_equal_notifications_is_asked_about_once_and_the_choices_change() -> None:
    server = Server("reports")

    @server.tool()
    async def export(context: Context) -> str:
        """Build it."""
        for part in range(1, 6):
            await context.report_progress(part, 5)
        return "done"

    async def calls(client: Client) -> None:
        """Call it."""
        await client.call_tool("export", on_progress=lambda *_: None)

    found = list(asked(player_data(simulate(calls, server=server).recording)))
    assert [right[2:] for _, right, _ in found] == [
        ["request", "tools/call"],
        ["notification", "notifications/progress"],
        ["result", "tools/call"],
    ]
    offered = [tuple(move) for _, _, wrong in found for move, _ in wrong]
    assert len(set(offered)) >= len(offered) - 1
    for _, _, wrong in found:
        # Each for a reason of its own.
        assert len({"".join(why.split("`")[::2]) for _, why in wrong}) == len(wrong)


def test_one_request_at_a_time_is_not_what_is_asked() -> None:
    # Both are open, and either may be answered first: the answer to the other one is never wrong.
    data = player_data(recording_of("two-reports-at-once", "modern", "stdio"))
    waiting = 0
    for step, right, wrong in asked(data):
        open_now = sum(
            one["opened"] < step["n"] and (one["ended"] is None or one["ended"] >= step["n"])
            for one in data["requests"]
        )
        waiting = max(waiting, open_now)
        for move, _ in wrong:
            if open_now and right[3] == "tools/call":
                assert move[:3] != ["server", "client", "result"] or move[3] != "tools/call"
    assert waiting == 2


def test_what_breaks_a_rule_is_not_asked() -> None:
    for name, era in (
        ("cursor-made-up", "legacy"),
        ("one-answer-is-missing", None),
        ("state-is-sealed", None),
    ):
        data = player_data(STORIES[name].play(era=era, check=False).recording)
        assert any(one["level"] == MUST for one in data["findings"])
        for step, _, _ in asked(data):
            levels = [data["findings"][pin]["level"] for pin in step.get("pins", ())]
            assert MUST not in levels, name


def test_a_result_is_wrong_where_the_request_had_to_fail() -> None:
    found = [
        (right, wrong)
        for name in ("version-from-the-future", "ask-what-it-is", "nobody-to-ask")
        for era in STORIES[name].eras
        for _, right, wrong in asked(player_data(recording_of(name, era, "stdio")))
        if right[2] == "error" and any(move[:2] == right[:2] and move[2] == "result" for move, _ in wrong)
    ]
    assert any("had to fail" in why for _, wrong in found for _, why in wrong)


def test_every_recording_made_by_hand(recording: Recording) -> None:
    for step, right, wrong in asked(player_data(recording)):
        assert right[0] != right[1]
        assert len(wrong) >= 2
        assert not step["copy_of"]


def test_only_so_many_are_asked(made) -> None:
    data = player_data(made.long(2 * MAX_ASKED))
    assert len(data["predictions"]["asked"]) == MAX_ASKED
    # They are few, and are written once.
    assert len(data["predictions"]["moves"]) < 40
    assert len(json.dumps(data["predictions"])) < 50 * MAX_ASKED


def test_every_method_has_a_direction_that_is_known() -> None:
    assert {row.direction for row in METHODS} == {"to_server", "to_client", "both"}
