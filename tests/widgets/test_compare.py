"""Two recordings side by side: what stands beside what, and what differs."""

from __future__ import annotations

import json
import time
from collections.abc import Hashable, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mcpsim.client import Client
from mcpsim.course.stories import STORIES
from mcpsim.recording import Recording
from mcpsim.recording.run import Run
from mcpsim.server import Server
from mcpsim.simulation import simulate
from mcpsim.transports.faults import Delay, Drop
from mcpsim.transports.link import StreamableHttp
from mcpsim.widgets import Comparison
from mcpsim.widgets.compare_view import align, common, comparison_data, names_of
from mcpsim.widgets.steps import steps_of

NAMES = st.sampled_from(list(STORIES))


def played(name: str, **more: Any) -> Run:
    return STORIES[name].play(check=False, **more)


def labels(data: dict[str, Any]) -> list[tuple[str, str, str]]:
    def label(side: str, number: int) -> str:
        return data[side]["steps"][number - 1]["label"] if number else ""

    return [(label("left", row["left"]), label("right", row["right"]), row["state"]) for row in data["rows"]]


def server() -> Server:
    made = Server("desk")

    @made.tool()
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @made.tool()
    def double(a: int) -> int:
        """Double."""
        return 2 * a

    return made


def calls(*names: str) -> Recording:
    async def story(client: Client) -> None:
        for name in names:
            await client.call_tool(name, {"a": 1, "b": 2} if name == "add" else {"a": 1})

    return simulate(story, server=server()).recording


@given(NAMES, NAMES)
@settings(max_examples=40, deadline=None)
def test_every_step_is_in_one_row_and_in_order(left: str, right: str) -> None:
    sides = (played(left).recording, played(right).recording)
    rows = align(*sides)
    for side, numbers in zip(sides, ([row.left for row in rows], [row.right for row in rows]), strict=True):
        assert [number for number in numbers if number] == list(range(1, len(steps_of(side).all) + 1))
    assert all(row.left or row.right for row in rows)
    assert all(not row.elsewhere or not (row.left and row.right) for row in rows)


def test_requests_that_ask_the_same_stand_together() -> None:
    def double(*numbers: int) -> Recording:
        async def story(client: Client) -> None:
            for number in numbers:
                await client.call_tool("double", {"a": number})

        return simulate(story, server=server()).recording

    found = comparison_data(double(1, 2, 3), double(1, 9, 2, 3))
    rows = [(row["left"], row["right"], row["state"]) for row in found["rows"] if row["state"] != "same"]
    assert [(left, state) for left, _, state in rows] == [(0, "only"), (0, "only")]
    # Where none asks the same, the order counts.
    found = comparison_data(double(1, 2, 3), double(1, 9, 3))
    assert {row["state"] for row in found["rows"]} == {"same", "differs"}


@given(NAMES)
@settings(max_examples=15, deadline=None)
def test_a_run_beside_itself_is_the_same_in_every_row(name: str) -> None:
    data = comparison_data(played(name).recording, played(name).recording)
    assert {row["state"] for row in data["rows"]} <= {"same"}
    assert data["summary"].endswith("Nothing differs.")


@given(st.lists(st.integers(0, 3), max_size=14), st.lists(st.integers(0, 3), max_size=14))
def test_common_is_a_longest_common_subsequence(left: list[Hashable], right: list[Hashable]) -> None:
    found = common(left, right)
    assert all(left[here] == right[there] for here, there in found)
    assert [here for here, _ in found] == sorted({here for here, _ in found})
    assert [there for _, there in found] == sorted({there for _, there in found})
    assert len(found) == longest(left, right)


def longest(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    row = [0] * (len(right) + 1)
    for one in left:
        before = 0
        for n, other in enumerate(right, 1):
            before, row[n] = row[n], before + 1 if one == other else max(row[n], row[n - 1])
    return row[-1]


def test_two_long_lists_with_nothing_in_common_take_no_time() -> None:
    began = time.perf_counter()
    assert common(range(20_000), range(30_000, 50_000)) == []
    reversed_ = common(list(range(5_000)), list(range(5_000))[::-1])
    assert len(reversed_) == 1
    assert time.perf_counter() - began < 5


def test_the_handshake_has_no_partner() -> None:
    data = comparison_data(played("first-call", era="legacy").recording, played("first-call").recording)
    assert labels(data)[:5] == [
        ("initialize #1", "", "only"),
        ("result #1 initialize", "", "only"),
        ("notifications/initialized", "", "only"),
        ("tools/list #2", "tools/list #1", "differs"),
        ("result #2 tools/list", "result #1 tools/list", "differs"),
    ]
    assert data["names"] == ["legacy", "modern"]
    assert data["summary"] == (
        "legacy: 7 messages, modern: 4 messages. Only in legacy: initialize, result of initialize, "
        "notifications/initialized. 4 steps are in both and differ."
    )


def test_the_last_answer_stands_beside_the_last_one() -> None:
    data = comparison_data(played("two-rounds", era="legacy").recording, played("two-rounds").recording)
    found = labels(data)
    assert ("tools/call #2", "tools/call #1", "differs") in found
    assert ("result #2 tools/call", "result #3 tools/call", "differs") in found
    assert "a result that asks for input (2 times), tools/call once more (2 times)" in data["summary"]


def test_a_call_more_or_less_does_not_shift_the_others() -> None:
    data = comparison_data(calls("add", "double", "add"), calls("double", "add"))
    found = [(left, right) for left, right, _ in labels(data) if "tools/call" in (left or right)]
    assert found == [
        ("tools/call #1", ""),
        ("result #1 tools/call", ""),
        ("tools/call #2", "tools/call #1"),
        ("result #2 tools/call", "result #1 tools/call"),
        ("tools/call #3", "tools/call #2"),
        ("result #3 tools/call", "result #2 tools/call"),
    ]
    # Other ids alone are no difference.
    assert [row["state"] for row in data["rows"]][2:6] == ["same"] * 4


def test_what_was_lost_is_a_difference_and_what_is_late_is_told() -> None:
    story = STORIES["first-call"]
    plain, lost = story.play(), story.play(faults=[Drop("result of tools/call")], check=False)
    data = comparison_data(plain.recording, lost.recording)
    differing = [row for row in data["rows"] if row["state"] == "differs"]
    assert [row["changes"] for row in differing] == [[["arrives", "arrives", "is lost: a fault dropped it"]]]
    assert data["names"] == ["without the fault", "with it"]
    late = comparison_data(plain.recording, story.play(faults=[Delay("tools/call", by_ms=500)]).recording)
    after = ["500 ms later"] * (len(late["rows"]) - 3)
    assert [row["later"] for row in late["rows"]] == ["", "", "arrives 500 ms later", *after]
    assert late["summary"].endswith("Only times differ.")


def test_what_comes_in_another_order_is_not_said_to_be_missing() -> None:
    story = STORIES["two-reports-at-once"]
    plain = story.play()
    first = next(one for one in plain.recording.frames if getattr(one.parsed, "method", "") == "tools/call")
    late = story.play(faults=[Delay(frame=first.number, by_ms=50)], transport=StreamableHttp(), check=False)
    data = comparison_data(story.play(transport=StreamableHttp()).recording, late.recording)
    moved = [row for row in data["rows"] if row["state"] == "moved"]
    assert moved
    assert all(row["elsewhere"] for row in moved)
    assert sum(bool(row["left"]) for row in moved) == sum(bool(row["right"]) for row in moved)
    assert "Only in" not in data["summary"]
    assert "In another order" in data["summary"]


def test_through_a_gateway_the_call_stands_beside_the_call() -> None:
    name = "any-replica-will-do"
    run = played(name)
    rows = labels(comparison_data(run.recording, run.recording))
    assert all(left == right for left, right, _ in rows)


def test_headings() -> None:
    run = played("first-call")
    assert names_of(run.recording, played("first-call", transport=StreamableHttp()).recording) == (
        "stdio",
        "Streamable HTTP",
    )
    assert names_of(run.recording, run.recording) == ("first", "second")
    other = Recording({**run.recording.header, "title": "Other"}, run.recording.events)
    assert names_of(run.recording, other)[1] == "Other"


def test_two_thousand_messages_are_aligned_in_a_moment() -> None:
    left, right = calls(*["add"] * 1_000), calls(*["add", "double"] * 500)
    began = time.perf_counter()
    rows = align(left, right)
    assert time.perf_counter() - began < 3
    assert sum(bool(row.left and row.right) for row in rows) >= 1_000


def test_an_empty_recording() -> None:
    data = comparison_data(Recording({}, ()), Recording({}, ()))
    assert data["rows"] == []
    assert data["summary"] == "first: 0 messages, second: 0 messages. Nothing differs."


def test_the_data_is_plain_json_and_the_same_each_time() -> None:
    sides = (played("one-question", era="legacy").recording, played("one-question").recording)
    data = comparison_data(*sides)
    assert json.loads(json.dumps(data)) == data
    assert comparison_data(*sides) == data


def test_the_widget_as_text_and_as_html() -> None:
    shown = Comparison(played("first-call", era="legacy"), played("first-call"), names=("old <b>", "new"))
    assert repr(shown) == "Comparison('old <b>', 'new')"
    lines = shown.still_text().splitlines()
    assert lines[0] == shown.summary
    assert lines[3].startswith("client → server: initialize #1")
    assert lines[3].endswith("◇")
    assert "old &lt;b&gt;" in shown.still_html()
    assert "<b>" not in shown.still_html()
    assert shown.still_html().count("<tr>") == shown.rows + 1
    shown.cursor = 99
    assert shown.cursor == shown.rows


def test_a_name_out_of_a_header_is_short_and_can_be_sent() -> None:
    left = Recording({"transport": "\ud800\u202e" + "x" * 10_000}, ())
    name, other = names_of(left, Recording({"transport": "stdio"}, ()))
    assert name.startswith("‹U+D800›‹U+202E›x")
    assert len(name) < 100
    assert other == "stdio"
