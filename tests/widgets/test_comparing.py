"""What each message is compared with, what a request state holds, and what the parties remember."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpsim import StreamableHttp
from mcpsim.course import STORIES
from mcpsim.recording import Recording
from mcpsim.utilities.request_state import Binding, digest_of_request, seal
from mcpsim.widgets import player_data
from mcpsim.widgets.pretty import meta_blocks, pretty
from mcpsim.widgets.sealed import MAX_STATE, inside


def compared(recording: Recording) -> dict[int, list[tuple[int, str, list[str]]]]:
    """By step: the other step, what that is, and the paths with their signs."""
    signs = {"added": "+", "removed": "-", "changed": "~"}
    return {
        step["n"]: [
            (one["step"], one["what"], [signs[row[1]] + row[0] for row in one["rows"]])
            for one in step["compared"]
        ]
        for step in player_data(recording)["steps"]
        if step.get("compared")
    }


def test_pages_are_compared_with_the_page_before():
    found = compared(STORIES["three-pages"].play(era="modern").recording)
    assert found[3] == [(1, "the request for page 1", ["~id", "+params.cursor"])]
    assert found[5] == [(3, "the request for page 2", ["~id", "~params.cursor"])]
    ((step, what, paths),) = found[6]
    assert (step, what) == (4, "page 2")
    assert "-result.nextCursor" in paths
    assert "+result.resources.0 (“report-2025”)" in paths


def test_every_round_is_compared_with_the_first_try():
    recording = STORIES["two-rounds"].play(era="modern").recording
    steps = player_data(recording)["steps"]
    asked = [step["n"] for step in steps if step["label"].startswith("tools/call")]
    found = compared(recording)
    assert asked[0] not in found
    for later in asked[1:]:
        ((step, what, paths),) = found[later]
        assert (step, what) == (asked[0], "the first try")
        assert {"~id", "+params.inputResponses", "+params.requestState"} <= set(paths)


def test_an_answer_is_compared_with_the_answer_to_the_like_request():
    found = compared(STORIES["fresh-then-stale"].play(era="modern").recording)
    # The step between is a note: what came from the cache crossed no wire.
    assert found[4] == [(1, "an earlier request of this kind", ["~id"])]
    assert found[5][0][:2] == (2, "the answer to an earlier request of this kind")


def test_what_a_gateway_passes_on_is_compared_with_what_it_got():
    found = compared(STORIES["any-replica-will-do"].play(era="modern", transport=StreamableHttp()).recording)
    assert found[2] == [(1, "what the gateway got", ["+header via"])]


def test_reports_are_compared_with_the_report_before(made):
    found = compared(made.modern_progress())
    assert 2 not in found
    assert found[3] == [(2, "the notification before", ["~params.progress", "~params.message"])]


def test_what_arrived_is_compared_with_what_was_sent(made):
    pen = made.Pen()
    sent = made.write(made.request(1, "tools/call", {"name": "a"}))
    frame = pen.recorder.sent("client", "server", sent, connection=1)
    pen.recorder.delivered(
        frame, "server", "client", connection=1, changed=sent.replace(b'"name":"a"', b'"name":"b"')
    )
    assert compared(pen.done("x"))[1] == [(0, "what was sent, before a fault changed it", ["~params.name"])]


def test_the_lines_of_what_changed(made):
    steps = player_data(STORIES["three-pages"].play(era="modern").recording)["steps"]
    lines = steps[2]["json"].split("\n")
    (one,) = steps[2]["compared"]
    for path, _, _, _, line in one["rows"]:
        assert f'"{path.rsplit(".", 1)[-1]}":' in lines[line]


@pytest.mark.parametrize(
    "name", ["first-call", "list-grows-between-pages", "two-rounds", "two-reports-at-once"]
)
def test_no_comparison_points_forward_or_at_itself(name):
    for era in ("modern", "legacy"):
        for number, found in compared(STORIES[name].play(era=era).recording).items():
            for step, what, _ in found:
                assert 0 < step < number
                assert what


# ------------------------------------------------------------------------------------------- the `_meta` keys


def test_the_lines_of_meta():
    shown = pretty({"params": {"_meta": {"a": 1, "b": {"c": 2}}, "arguments": {"_meta": {"x": 1}}}})
    lines = shown.text.split("\n")
    ((first, last),) = meta_blocks(shown)
    assert lines[first].strip() == '"_meta": {'
    assert lines[last] == "    },"
    assert last - first == 5


def test_meta_on_one_line_and_meta_that_is_cut():
    assert meta_blocks(pretty({"_meta": {}})) == [(1, 1)]
    assert meta_blocks(pretty({"_meta": 3})) == [(1, 1)]
    cut = pretty({"_meta": {str(n): n for n in range(1_000)}})
    assert meta_blocks(cut) == [(1, len(cut.text.split("\n")) - 1)]


# ---------------------------------------------------------------------------------------------- request state


def sealed(payload: Any, **more: Any) -> str:
    binding = Binding("alice", "tools/call", digest_of_request("desk", {"name": "t"}))
    return seal(payload, b"k" * 32, binding, expires_ms=more.pop("expires_ms", 300_020), **more)


def test_what_the_server_sees_inside():
    rows = dict(inside(sealed({"asked": ["seat"]}, nonce="n-1")))
    assert json.loads(rows["what it wrote down"]) == {"asked": ["seat"]}
    assert rows["for whom"] == "alice"
    assert rows["for which request"].startswith("tools/call, with the parameters")
    assert rows["good until"] == "300.02 s on the clock of the run"
    assert "once" in rows["how often"]
    assert "HMAC-SHA256" in rows["signature"]
    assert dict(inside(sealed(1, expires_ms=1_790_000_000_000)))["good until"].endswith(
        "on the server's clock"
    )


@pytest.mark.parametrize(
    "state",
    ["", ".", "x", "x.y", "\ud800.\ud800", "e30.abc", "W10.x", "é.é", "." * 50, "A" * (MAX_STATE + 1) + ".x"],
)
def test_a_state_of_another_make_stays_closed(state):
    assert inside(state) == ()


def test_who_holds_a_state_and_until_when():
    data = player_data(STORIES["one-question"].play(era="modern").recording)
    (held,) = data["held"]
    steps = {step["n"]: step for step in data["steps"]}
    assert held["party"] == "client"
    assert held["label"] == "tools/call #1"
    assert steps[held["until"]]["label"].startswith("tools/call #2")
    (state,) = data["states"]
    assert state["given"]
    carrying = [step["n"] for step in data["steps"] if step.get("state", -1) == 0]
    assert carrying[-1] == held["until"]


def test_a_state_that_no_server_gave(made):
    pen = made.Pen()
    pen.send("client", "server", made.request(1, "tools/call", {"name": "t", "requestState": sealed(1)}))
    data = player_data(pen.done("x"))
    assert data["held"] == []
    assert [state["given"] for state in data["states"]] == [False]


# -------------------------------------------------------------------------------------------------- memory


def test_what_nothing_means(made):
    assert player_data(made.modern_progress())["nothing"] == {
        "client": "Nothing.",
        "server": "Nothing. Each request brings along all that the server needs to answer it.",
    }
    assert player_data(made.legacy_handshake())["nothing"]["server"] == "Nothing: no session is open."
    assert player_data(made.gateway())["nothing"]["gateway"] == "Nothing: it passes messages on."
    trace = made.modern_progress()
    read_in = player_data(type(trace).from_interchange(trace.to_interchange()))
    assert set(read_in["nothing"].values()) == {"Not known: the trace does not say."}


def test_until_when_what_is_kept_is_fresh():
    data = player_data(STORIES["fresh-then-stale"].play(era="modern").recording)
    (client,) = [card for card in data["memory"] if card["party"] == "client"]
    kept = [row for at in client["at"] for row in at["rows"] if row[0].startswith("kept: ")]
    assert kept
    for _, _, _, until, since in kept:
        assert 0 <= since < until
    assert {until for *_, until, _ in kept} == {30_040_000, 65_080_000}


def test_who_has_a_request(made):
    (one,) = player_data(made.modern_progress())["requests"]
    assert (one["opened"], one["reached"], one["answered"]) == (1, 1, 5)
    lost = player_data(made.dropped())["requests"][0]
    assert lost["answered"] is None
