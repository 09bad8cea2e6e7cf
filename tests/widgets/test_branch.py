"""What a player offers after a step, and what it makes of what the browser sends."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsim import course
from mcpsim.client import Client
from mcpsim.course.misbehaving import MISBEHAVING
from mcpsim.course.stories import STORIES
from mcpsim.errors import McpSimError
from mcpsim.recording.run import Run
from mcpsim.server import Context, Server
from mcpsim.simulation import simulate
from mcpsim.simulation.branching import (
    CrashServer,
    DelayNext,
    DropNext,
    DuplicateNext,
    EditNext,
    PressStop,
)
from mcpsim.simulation.knobs import Knob
from mcpsim.transports.link import StreamableHttp
from mcpsim.widgets import Bench, Player
from mcpsim.widgets.branch_view import change_of, choices_data, events_before
from mcpsim.widgets.branching import NO_RUN
from mcpsim.widgets.display import _show_run  # pyright: ignore[reportPrivateUsage]


def step_of(player: Player, label: str) -> int:
    return next(step["n"] for step in player.data["steps"] if step["label"].startswith(label))


def wish(player: Player, step: Any, change: Any = None) -> dict[str, Any]:
    """What the browser does: one trait there, one trait back."""
    n = player.branch_asked.get("n", 0) + 1
    player.set_state({"branch_asked": {"n": n, "step": step, **({"change": change} if change else {})}})
    shown = player.branch_shown
    assert shown["n"] == n
    return json.loads(json.dumps(shown))


def choices(player: Player, step: int) -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in wish(player, step)["form"]["choices"]}


def labelled(shown: dict[str, Any]) -> list[tuple[str, str]]:
    right = shown["branch"]["right"]["steps"]
    return [
        (right[row["right"] - 1]["label"] if row["right"] else "", row["state"])
        for row in shown["branch"]["rows"]
    ]


def test_nothing_is_worked_out_before_somebody_asks() -> None:
    player = Player(STORIES["first-call"].play())
    assert player.branch_shown == {}
    assert player.no_branch == ""


def test_a_message_gets_lost_and_both_runs_stand_side_by_side() -> None:
    player = Player(STORIES["first-call"].play())
    step = step_of(player, "tools/call") - 1
    form = wish(player, step)["form"]
    assert form["next"] == f"step {step + 1}, client → server: tools/call"
    shown = wish(player, step, {"id": "drop"})
    assert shown["error"] == ""
    found = shown["branch"]
    assert found["names"] == ["first run", "branch"]
    assert [row["state"] for row in found["rows"][:step]] == ["same"] * step
    assert found["start"] == step + 1
    assert found["rows"][step]["changes"] == [["arrives", "arrives", "is lost: a fault dropped it"]]
    assert ("notifications/cancelled", "only") in labelled(shown)
    assert found["ended"].startswith("The story ended with an error. RequestTimeout: No answer to tools/call")
    assert found["told"] == "The next message (client → server) is lost on the way."


def test_where_the_findings_are_left_out_a_branch_has_none_of_its_own() -> None:
    run = MISBEHAVING["server-tells-of-changes-undeclared"].play()
    found = [
        wish(Player(run, findings=findings), 0, {"id": "delay", "ms": "5"})["branch"]["right"]["findings"]
        for findings in (True, False)
    ]
    assert [len(each) for each in found] == [1, 0]


def report_run() -> Run:
    desk = Server("report-desk")

    @desk.tool()
    async def export_report(context: Context, parts: int = 5) -> str:
        """Build the sales report."""
        for part in range(1, parts + 1):
            await anyio.sleep(0.4)
            await context.report_progress(part, parts, f"Built part {part} of {parts}")
        return "sales-report.pdf"

    async def ask(client: Client) -> object:
        return await client.call_tool("export_report", {"parts": 5}, on_progress=lambda *_: None)

    return simulate(ask, server=desk)


def test_a_copy_stands_alone_and_what_says_the_same_stands_together() -> None:
    player = Player(report_run())
    steps = player.data["steps"]
    reports = [step["n"] for step in steps if "progress" in step["label"]]
    assert len(reports) == 5
    for n in [*reports, 7]:
        found = wish(player, n - 1, {"id": "duplicate"})["branch"]
        right = found["right"]["steps"]
        alone = [row for row in found["rows"] if row["state"] != "same"]
        # The copy, and what the client notes about it.
        assert [(row["left"], row["state"]) for row in alone] == [(0, "only"), (0, "only")]
        assert [right[row["right"] - 1].get("copy_of") for row in alone] == [n, None]
        pairs = [(row["left"], row["right"]) for row in found["rows"] if row["left"] and row["right"]]
        said = [(steps[here - 1]["gist"], right[there - 1]["gist"]) for here, there in pairs]
        assert all(before == after for before, after in said)


def test_a_request_that_comes_twice_has_one_answer_beside_the_answer() -> None:
    player = Player(report_run())
    found = wish(player, 0, {"id": "duplicate"})["branch"]
    first, answer = (next(row for row in found["rows"] if row["left"] == n) for n in (1, 7))
    assert (first["right"], first["state"]) == (1, "same")
    assert answer["state"] == "differs"


def test_what_a_story_prints_is_shown_and_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    async def tells(client: Client) -> None:
        """Say what came."""
        await client.list_tools()
        print("\u202e read")

    player = Player(simulate(tells, server=course.help_desk()))
    capsys.readouterr()
    shown = wish(player, 1, {"id": "duplicate"})["branch"]
    assert shown["printed"] == "‹U+202E› read"
    assert capsys.readouterr().out == ""
    # A cell that plays it has what it prints below it, as always.
    player.branch(1, DuplicateNext())
    assert "read" in capsys.readouterr().out


def test_a_note_about_what_is_ignored_says_which_message_that_is() -> None:
    server = Server("reports")

    @server.tool()
    async def export(context: Context) -> str:
        """Build it."""
        for part in range(1, 4):
            await context.report_progress(part, 3)
            await anyio.sleep(0.2)
        return "done"

    async def calls(client: Client) -> None:
        """Call it."""
        await client.call_tool("export", on_progress=lambda *_: None)

    player = Player(simulate(calls, server=server))
    step = step_of(player, "notifications/progress")
    steps = wish(player, step, {"id": "stop 1 1"})["branch"]["right"]["steps"]
    note = next(one for one in steps if one["kind"] == "note")
    assert note["what"].endswith(f"It is the message of step {step}, which arrives now.")


def test_an_edited_message_stands_beside_the_one_that_it_was() -> None:
    player = Player(STORIES["first-call"].play())
    step = step_of(player, "tools/call") - 1
    text = choices(player, step)["edit"]["fields"][0]["value"]
    edited = json.loads(text)
    edited["params"]["name"] = "nothing"
    row = wish(player, step, {"id": "edit", "text": json.dumps(edited, indent=2)})["branch"]["rows"][step]
    assert (row["left"], row["right"], row["state"]) == (step + 1, step + 1, "differs")
    assert [place for place, _, _ in row["changes"]] == ["params.name"]


def test_what_is_no_json_is_said_and_sent() -> None:
    player = Player(STORIES["first-call"].play())
    step = step_of(player, "tools/call") - 1
    found = wish(player, step, {"id": "edit", "text": "{not json"})["branch"]
    assert found["told"].endswith("What is sent is not JSON, and goes out as it was typed.")
    assert found["right"]["steps"][step]["kind"] == "malformed"
    assert (found["rows"][step]["left"], found["rows"][step]["right"]) == (step + 1, step + 1)


def test_what_is_not_possible_is_not_offered_and_why() -> None:
    player = Player(STORIES["first-call"].play(era="legacy"))
    last = choices(player, player.steps)
    assert {id: one["why"] for id, one in last.items() if one["why"]} == {
        "drop": "Nothing is sent after this step.",
        "delay": "Nothing is sent after this step.",
        "duplicate": "Nothing is sent after this step.",
        "edit": "Nothing is sent after this step.",
        "stop": "No request of a client is in flight at this step.",
        "answer": "No question is open at this step: nobody was asked, or the answer is given.",
    }
    assert choices(player, 1)["stop 1 1"]["why"] == "A client must not cancel `initialize`."
    refused = wish(player, player.steps, {"id": "drop"})
    assert refused["error"] == "Nothing is sent after this step."


def test_stop_and_another_answer() -> None:
    player = Player(STORIES["one-question"].play(era="legacy"))
    step = step_of(player, "elicitation/create")
    offered = choices(player, step)
    stop = next(id for id in offered if id.startswith("stop"))
    assert offered[stop]["label"] == "Press Stop: cancel tools/call #2"
    stopped = wish(player, step, {"id": stop})["branch"]
    assert stopped["wanted"]
    assert stopped["ended"].startswith("The story ended there, as the user's Stop wants it")
    answer = offered["answer 1 1"]
    action, content = answer["fields"]
    assert action["values"][0] == ["accept", "accept (as before)"]
    assert action["value"] == "decline"
    filled = {**json.loads(content["value"]), "seat": "window"}
    other = wish(player, step, {"id": "answer 1 1", "action": "accept", "content": json.dumps(filled)})
    asked = [row["changes"] for row in other["branch"]["rows"] if row["state"] == "differs"]
    assert asked[0] == [["result.content.seat", '"aisle"', '"window"']]
    wrong = wish(player, step, {"id": "answer 1 1", "action": "accept", "content": "{no"})
    assert wrong["error"].startswith("What is filled in is not JSON")


def test_a_crash_with_another_start_over_http() -> None:
    player = Player(STORIES["first-call"].play(transport=StreamableHttp()))
    step = step_of(player, "tools/call")
    assert [field["name"] for field in choices(player, step)["crash server"]["fields"]] == ["restart"]
    shown = wish(player, step, {"id": "crash server", "restart": "200"})
    assert "It is started again 200 ms later" in shown["branch"]["told"]


def test_from_python() -> None:
    player = Player(STORIES["first-call"].play())
    step = step_of(player, "tools/call")
    branched = player.branch(step, CrashServer())
    assert branched.after == events_before(player.recording, step)
    assert type(branched.run.error).__name__ == "ConnectionClosed"
    with pytest.raises(ValueError, match="no step 99"):
        player.branch(99, DropNext())


def test_a_recording_alone_cannot_be_played_again() -> None:
    player = Player(STORIES["first-call"].play().recording)
    assert player.no_branch == NO_RUN
    assert wish(player, 1) == {"n": 1, "error": NO_RUN}
    with pytest.raises(McpSimError, match="Only the recording is here"):
        player.branch(1, DropNext())


def test_another_recording_takes_the_run_away() -> None:
    player = Player(STORIES["first-call"].play())
    player.recording = STORIES["two-rounds"].play().recording
    assert player.no_branch == NO_RUN
    live = Player(Run(STORIES["first-call"].play().recording))
    assert "not played on the virtual clock" in live.no_branch


def test_a_bench_branches_the_run_that_it_shows() -> None:
    bench = Bench.of(course.bench("one-question"))
    assert bench.no_branch == ""
    assert wish(bench, 1, {"id": "drop"})["branch"]["warning"] == ""
    bench.turn(transport="http")
    assert wish(bench, 1, {"id": "drop"})["branch"]["warning"] == ""


def test_a_bench_that_begins_without_a_run() -> None:
    def play(broken: bool) -> Run:
        if broken:
            raise ValueError("It cannot be played like this.")
        return STORIES["first-call"].play()

    bench = Bench(play, [Knob.switch("broken", "Broken", default=True)])
    assert bench.no_branch == NO_RUN
    bench.turn(broken=False)
    assert bench.no_branch == ""


def test_a_run_is_shown_with_its_branches() -> None:
    assert "application/vnd.jupyter.widget-view+json" in _show_run(STORIES["first-call"].play())


def test_a_server_that_keeps_something_is_told_about() -> None:
    server, calls = Server("counter"), list[None]()

    @server.tool()
    def count() -> int:
        """How often it was called."""
        calls.append(None)
        return len(calls)

    async def story(client: Client) -> None:
        await client.call_tool("count", {})

    shown = wish(Player(simulate(story, server=server)), 0, {"id": "delay", "ms": 10})
    assert "keeps something between runs" in shown["branch"]["warning"]


def test_a_number_that_is_none_is_refused_in_words() -> None:
    player = Player(STORIES["first-call"].play())
    assert wish(player, 1, {"id": "delay", "ms": "soon"})["error"] == (
        "ms must be a number of milliseconds, not 'soon'."
    )


READ: dict[str, tuple[dict[str, Any], object]] = {
    "a delay": ({"id": "delay", "ms": "250"}, DelayNext(250)),
    "a stop": ({"id": 'stop 2 "a b"'}, PressStop(2, "a b")),
    "a crash": ({"id": "crash server-2", "restart": ""}, CrashServer("server-2")),
    "an edit": ({"id": "edit", "text": "[ 1 ]", "headers": False}, EditNext(b"[1]", fit_headers=False)),
}


@pytest.mark.parametrize("name", READ)
def test_what_the_browser_sends_is_read(name: str) -> None:
    given_, change = READ[name]
    assert change_of(given_)[0] == change


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
IDS = st.sampled_from(("drop", "delay", "edit", "stop 1 1", "stop x", "answer 1 1", "answer", "crash", "??"))


@given(
    JSON
    | st.fixed_dictionaries({"id": IDS | JSON, "ms": JSON, "text": JSON, "action": JSON, "restart": JSON})
)
def test_whatever_comes_is_a_change_or_refused_in_words(value: Any) -> None:
    with suppress(ValueError):
        assert change_of(value)


@pytest.mark.parametrize("step", [None, "1", True, -1, 10_000, 1.5])
def test_a_step_that_is_none_is_refused_in_words(step: Any) -> None:
    shown = wish(Player(STORIES["first-call"].play()), step)
    assert shown["error"]
    assert "form" not in shown


def test_hostile_text_stays_text() -> None:
    async def story(client: Client) -> None:
        await client.request("x\u202e<script>" * 40, {})

    run = simulate(story, server=Server("desk"), check=False)
    here = choices_data(run.recording, 1)
    stop = next(one for one in here["choices"] if one["id"].startswith("stop"))
    assert "\u202e" not in stop["label"]
    assert len(stop["label"]) < 140
