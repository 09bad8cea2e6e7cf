"""The bench without a browser: what a run comes to, what differs, and what goes to the browser."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mcpsim import Bench, Client, Drop, Knob, simulate
from mcpsim.course import bench, help_desk
from mcpsim.recording.run import Run
from mcpsim.widgets import player_data
from mcpsim.widgets.bench_view import (
    COLUMNS,
    MAX_ROWS,
    Row,
    cells_of,
    knobs_data,
    place,
    row_of,
    rows_data,
    runs_html,
    runs_text,
    sentence,
    turned,
)

SIZE = Knob.number("size", "Size", 0, 9, default=3, unit="cm")
HOW = Knob.choice("how", "How", {"a": "in the first way", "b": "in the other way"}, only={"size": (3, 4)})
ROW = Row(1, {"size": 3, "how": "a"}, None, 4, 1_000, 20_000, 1, 0, 2, 0, '"good"', False)


def levels_of(run: Run) -> list[str]:
    return [finding["level"] for finding in player_data(run.recording)["findings"]]


def of(name: str) -> Bench:
    return Bench.of(bench(name))


@pytest.fixture
def widget() -> Bench:
    return of("fresh-then-stale")


def messages_to_the_browser(widget: Bench, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(widget, "_send", lambda message, buffers=None: sent.append(message))
    return sent


# ------------------------------------------------------------------------------------- what a run came to


def test_a_run_as_a_row() -> None:
    run = bench("fresh-then-stale").play()
    row = row_of(run, (), {}, levels=levels_of(run))
    assert (row.messages, row.cache_hits, row.must, row.should, row.notes) == (4, 1, 0, 0, 0)
    assert row.size == sum(len(frame.data) for frame in run.recording.frames)
    assert row.took_us == 35_100_000
    assert row.outcome == "4 a pack; 4 a pack; 4 a pack"
    assert not row.failed


def test_headers_are_bytes_too_and_a_gateway_has_a_cache() -> None:
    run = bench("for-everybody-or-for-one").play()
    row = row_of(run, (), {}, levels=None)
    assert row.cache_hits == 1
    assert row.size > sum(len(frame.data) for frame in run.recording.frames) + 1_000
    assert (row.must, row.should, row.notes) == (None, None, None)
    assert cells_of(row, None)[4].text == "not audited"


def test_findings_are_counted_by_their_level() -> None:
    run = bench("cursor-made-up").play()
    row = row_of(run, (), {}, levels=levels_of(run))
    assert (row.must, row.should, row.notes) == (0, 2, len(run.audit().hints))


def test_a_run_that_ends_with_an_error() -> None:
    run = bench("first-call").play(server_era="legacy")
    row = row_of(run, (), {}, levels=levels_of(run))
    assert row.failed
    assert row.outcome.startswith(f"{type(run.error).__name__}: ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "finished"),
        (object(), "finished"),
        ("é\n", '"é\\n"'),
        (["x" * 900], None),
        (["a\nb", "c"], "a\\nb; c"),
        ([3, 1], "[3, 1]"),
        ([], "[]"),
        ([["a"]], '[["a"]]'),
    ],
)
def test_what_a_story_returned_in_few_words(value: object, text: str | None) -> None:
    run = replace(bench("first-call").play(), value=value)
    outcome = row_of(run, (), {}, levels=[]).outcome
    assert outcome == text or (text is None and len(outcome) < 200)


def test_a_fault_without_effect_is_told() -> None:
    async def story(client: Client) -> None:
        await client.list_tools()

    run = simulate(story, server=help_desk(), faults=[Drop("tools/call", nth=2)])
    row = row_of(run, (), {}, levels=[])
    assert row.idle == ("drop tools/call, number 2",)
    assert "Without effect, because its message never came: drop tools/call, number 2." in sentence(row, None)


# ---------------------------------------------------------------------------------------- what is different


def test_what_was_turned() -> None:
    assert turned((SIZE, HOW), {"size": 3, "how": "a"}, {"size": 3, "how": "a"}) == ()
    assert turned((SIZE, HOW), {"size": 3, "how": "a"}, {"size": 4, "how": "b"}) == (
        "Size: 3 cm → 4 cm",
        "How: in the first way → in the other way",
    )
    # What does not matter any more is not worth a word; what matters now is.
    assert turned((SIZE, HOW), {"size": 3, "how": "a"}, {"size": 9, "how": "a"}) == ("Size: 3 cm → 9 cm",)
    assert turned((SIZE, HOW), {"size": 9, "how": "a"}, {"size": 3, "how": "a"}) == (
        "Size: 9 cm → 3 cm",
        "How: in the first way",
    )


def test_differences_are_signs_and_words() -> None:
    later = replace(
        ROW, number=2, messages=6, size=900, took_us=1_520_000, must=1, notes=None, outcome='"bad"'
    )
    told = {column.heading: cell for column, cell in zip(COLUMNS, cells_of(later, ROW), strict=True)}
    assert told["Messages"] == ("6", "▲ 2", "2 more than in the run before")
    assert told["Bytes"] == ("900", "▼ 100", "100 less than in the run before")
    assert told["Virtual time"] == ("1.52 s", "▲ 1.5 s", "1.5 s more than in the run before")
    assert told["Cache hits"] == ("1", "", "")
    assert told["Broken (MUST)"][1] == "▲ 1"
    assert told["Notes"] == ("not audited", "changed", "before: 0")
    assert told["Outcome"] == ('"bad"', "changed", 'before: "good"')


def test_the_newest_run_comes_first_and_old_ones_go() -> None:
    rows = [replace(ROW, number=n, messages=n, changed=(f"{n}",) if n > 1 else None) for n in range(1, 12)]
    found = rows_data(rows)
    assert [row["number"] for row in found] == list(range(11, 11 - MAX_ROWS, -1))
    # The last that is shown is compared with one that is not.
    assert [row["cells"][0]["change"] for row in found] == ["▲ 1"] * MAX_ROWS
    assert rows_data(rows[:1])[0]["changed"] == ["as the story has it"]
    json.dumps(found, allow_nan=False)


def test_a_run_in_a_sentence() -> None:
    assert sentence(ROW, None) == "Run 1: 4 messages, 1,000 bytes, 20 ms. It ended well."
    again = replace(ROW, number=2, messages=4)
    assert sentence(again, ROW).endswith("All that is in the table is as in the run before.")
    failed = replace(ROW, messages=1, failed=True)
    assert sentence(failed, ROW) == "Run 1: 1 message, 1,000 bytes, 20 ms. It ended with an error."


def test_the_table_as_text_and_as_html() -> None:
    rows = [ROW, replace(ROW, number=2, changed=("<b>x</b>",), messages=5, outcome="<script>")]
    assert runs_text(rows).splitlines()[0] == "Run 2 (<b>x</b>)"
    assert "Messages 5 (▲ 1), Bytes 1,000, " in runs_text(rows)
    table = runs_html(rows)
    assert "<td>&lt;b&gt;x&lt;/b&gt;</td><td>5 (▲ 1)</td>" in table
    assert "<script>" not in table
    assert table.count("<tr>") == 3


def test_sealed_state_is_no_difference_and_other_content_is() -> None:
    def sent(text: str) -> list[dict[str, Any]]:
        return [step("a"), {**step("b"), "json": text}]

    old = sent('{\n  "requestState": "abc",\n  "x": 1\n}')
    assert place(old, sent('{\n  "requestState": "xyz",\n  "x": 1\n}'), 2) == 2
    assert place([*old, step("c")], [*sent('{\n  "requestState": "abc",\n  "x": 2\n}'), step("c")], 3) == 2


def step(label: str, at_us: int = 0) -> dict[str, Any]:
    return {"kind": "request", "label": label, "gist": "", "from": "client", "to": "server", "at_us": at_us}


@pytest.mark.parametrize(
    ("before", "after", "cursor", "stands"),
    [
        ("abcd", "abcd", 3, 3),
        ("abcd", "abxy", 2, 2),
        ("abcd", "abxy", 4, 3),
        ("abcd", "ab", 4, 2),
        ("abcd", "ab", 2, 2),
        ("ab", "abcd", 2, 2),
        ("abcd", "xbcd", 3, 1),
        ("abcd", "xbcd", 0, 0),
        ("ab", "", 2, 0),
        ("", "ab", 0, 0),
    ],
)
def test_where_the_player_stands(before: str, after: str, cursor: int, stands: int) -> None:
    old, new = [step(label) for label in before], [step(label, 500) for label in after]
    assert place(old, new, cursor) == stands


def test_what_there_is_to_choose_is_only_found_out_where_it_matters() -> None:
    asked: list[object] = []

    def values(settings: Any) -> dict[str, str]:
        asked.append(settings)
        return {"x": "one", "y": "two"}

    which = Knob.choice("which", "Which", values, only={"size": (4,)})
    (_, idle) = knobs_data((SIZE, which), {"size": 3, "which": ""})
    assert (idle["matters"], idle["choices"], asked) == (False, [], [])
    (_, active) = knobs_data((SIZE, which), {"size": 4, "which": "y"})
    assert (active["matters"], active["choices"]) == (True, [["x", "one"], ["y", "two"]])
    assert active["value"] == "y"


# ------------------------------------------------------------------------------------------------ the widget


def test_a_knob_is_turned_from_python(widget: Bench) -> None:
    assert [row.cache_hits for row in widget.rows] == [1]
    widget.turn(ttl_ms=60_000)
    assert [row.cache_hits for row in widget.rows] == [2, 1]
    assert widget.settings["ttl_ms"] == 60_000
    assert widget.run is not None
    assert widget.recording is widget.run.recording
    assert len(widget.data["steps"]) == len(player_data(widget.recording)["steps"])
    with pytest.raises(ValueError, match="Time to live is a whole number"):
        widget.turn(ttl_ms=-1)
    with pytest.raises(ValueError, match="With which message is one of '1 resources/read'"):
        widget.turn(fault="drop", message="9 resources/read")
    assert len(widget.rows) == 2


def test_the_same_settings_are_the_same_run(widget: Bench) -> None:
    widget.turn(ttl_ms=30_000)
    assert len(widget.rows) == 1
    # By how much a message comes late does not matter where none does.
    widget.turn(by_ms=5_000)
    assert len(widget.rows) == 1
    assert widget.settings["by_ms"] == 5_000
    widget.turn(fault="delay")
    assert len(widget.rows) == 2
    assert widget.rows[0].changed == (
        "What goes wrong: nothing → comes late (delay)",
        "With which message: resources/read, the 1st",
        "By how much: 5,000 ms",
    )


def test_one_message_goes_to_the_browser_for_a_change(widget: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = messages_to_the_browser(widget, monkeypatch)
    widget.set_state({"asked": {"n": 1, "settings": {"cache": False}}})
    (update,) = [message for message in sent if message["method"] == "update"]
    assert {"data", "shown"} <= set(update["state"]) <= {"data", "shown", "cursor", "playing", "link"}
    assert update["state"]["shown"]["n"] == 1
    assert [row["number"] for row in update["state"]["shown"]["rows"]] == [2, 1]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"n": 1},
        {"n": 1, "settings": None},
        {"n": 1, "settings": 7},
        {"n": 1, "settings": {"ttl_ms": "long"}},
        {"n": 1, "settings": {"nothing": 1}},
        {"n": 1, "settings": [["ttl_ms", [1]]]},
    ],
)
def test_nonsense_from_a_browser_is_told_and_changes_nothing(widget: Bench, asked: Any) -> None:
    widget.asked = {"n": 0, "settings": {}}
    before = widget.recording
    widget.set_state({"asked": asked})
    assert widget.shown["error"].startswith("There is no run for these settings. ")
    assert widget.recording is before
    widget.set_state({"asked": {"n": 2, "settings": {"ttl_ms": 60_000}}})
    assert widget.shown["error"] == ""
    assert widget.error == ""


def test_the_player_keeps_its_step_or_goes_to_what_is_different() -> None:
    widget = of("two-rounds")
    widget.cursor = 4
    widget.turn(latency_ms=300)
    assert widget.cursor == 4
    widget.turn(answer_2="decline")
    assert widget.cursor == 4
    widget.cursor = len(widget.data["steps"])
    widget.turn(answer_1="decline")
    first = widget.data["steps"][widget.cursor - 1]
    # What the user answers comes before what the client makes of it.
    assert (first["kind"], first["label"]) == ("answer", "declines")
    assert widget.rows[0].outcome == '"Nothing booked"'


def test_the_error_of_a_story_is_shown_beside_how_far_it_came() -> None:
    widget = of("first-call")
    widget.turn(fault="cut", message="1 tools/call")
    assert widget.shown["error"].startswith("The story ended with an error. ConnectionClosed: ")
    assert widget.rows[0].failed
    assert widget.data["steps"][0]["label"] == "tools/list #1"
    widget.turn(fault="none")
    assert widget.shown["error"] == ""


def test_a_play_function_that_fails_is_no_traceback() -> None:
    plan = bench("first-call")

    def play(size: int) -> Run:
        if size > 5:
            raise RuntimeError(f"Too large: {size}")
        return plan.play()

    widget = Bench(play, [SIZE], title="Sizes")
    widget.turn(size=6)
    assert widget.error == "RuntimeError: Too large: 6"
    assert widget.shown["error"] == "There is no run for these settings. RuntimeError: Too large: 6"
    assert widget.settings == {"size": 6}
    assert widget.shown["knobs"][0]["value"] == 6
    assert len(widget.rows) == 1
    broken = Bench(play, [replace(SIZE, default=9)])
    assert broken.run is None
    assert broken.rows == ()
    assert broken.shown["error"].endswith("RuntimeError: Too large: 9")
    assert "RuntimeError: Too large: 9" in broken._repr_mimebundle_()[0]["text/plain"]
    broken.turn(size=1)
    assert len(broken.rows) == 1


def test_values_that_cannot_be_found_out_are_no_traceback() -> None:
    def fail(settings: Any) -> dict[str, str]:
        raise RuntimeError("nobody knows")

    knobs = [SIZE, Knob.choice("which", "Which", fail, only={"size": (4,)})]
    widget = Bench(lambda **settings: bench("first-call").play(), knobs)
    widget.set_state({"asked": {"n": 1, "settings": {"size": 4}}})
    assert widget.shown["error"] == "There is no run for these settings. RuntimeError: nobody knows"
    # It stands where it stood, with nothing to choose, and the others can be turned.
    assert [knob["name"] for knob in widget.shown["knobs"]] == ["size", "which"]
    widget.set_state({"asked": {"n": 2, "settings": {"size": 5}}})
    assert widget.shown["error"] == ""


def test_two_knobs_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two knobs of the name 'size'"):
        Bench(lambda size: bench("first-call").play(), [SIZE, SIZE])


def test_its_text_is_the_same_in_every_run() -> None:
    texts = []
    for _ in range(2):
        widget = of("first-call")
        widget.turn(latency_ms=0)
        bundle, _ = widget._repr_mimebundle_()
        texts.append((repr(widget), bundle["text/plain"], bundle["text/html"]))
    assert texts[0] == texts[1]
    name, plain, html = texts[0]
    assert name.startswith("Bench('List the tools and call one', era='modern', server_era='both', transport=")
    assert plain.startswith("List the tools and call one\nClient's era: modern; Server's eras: both; ")
    assert "Run 2 (Latency: 20 ms → 0 ms)" in plain
    assert "client → server  tools/list" in plain
    assert '<figure role="img"' in html
    assert "<caption>The last runs of this bench</caption>" in html


def test_the_script_is_one_module() -> None:
    script = str(of("first-call")._esm)
    assert script.count("export default") == 1
    assert "class View " in script
    assert "class BenchView" in script
