"""The progress bars without a browser: real notifications move each bar, and Stop sends a real signal."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from mcpsim import Client, Context, Drop, Server, Stdio, StreamableHttp, simulate
from mcpsim.course import STORIES
from mcpsim.course.servers import workshop
from mcpsim.messages import Notification
from mcpsim.recording import Recording
from mcpsim.widgets.progress_bars import ProgressBars
from mcpsim.widgets.progress_bars_view import at, bars_data

CALLS = [("export", {"parts": 4}), ("search", {"seconds": 1}), ("saw", {"seconds": 0.5})]
EXPORT, SEARCH, SAW = 0, 1, 2


def shop() -> Server:
    made = workshop()

    @made.tool()
    async def export(context: Context, parts: int) -> str:
        """Build a report, part by part."""
        for part in range(1, parts + 1):
            await anyio.sleep(0.3)
            await context.report_progress(part, parts, f"Part {part}")
        return "report.pdf"

    return made


def bars(**more: Any) -> ProgressBars:
    return ProgressBars(shop, CALLS, **more)


def told(widget: ProgressBars, call: int) -> list[str]:
    name = widget.shown["calls"][call]["id"]
    return [one["text"] for one in widget.shown["moments"] if one["call"] == name]


def last(widget: ProgressBars, call: int) -> dict[str, Any]:
    return widget.shown["calls"][call]["changes"][-1]


def test_a_bar_is_where_the_notifications_put_it() -> None:
    widget = bars()
    values = [(one["progress"], one["total"]) for one in widget.shown["calls"][EXPORT]["changes"]]
    assert list(dict.fromkeys(values)) == [(None, None), (1, 4), (2, 4), (3, 4), (4, 4)]
    arrived = [
        frame
        for frame in widget.recording.frames
        if isinstance(frame.parsed, Notification) and frame.parsed.method == "notifications/progress"
    ]
    moved = [one for one in widget.shown["moments"] if one["text"].startswith("Progress arrives")]
    assert [one["at_us"] for one in moved] == [frame.arrived_us for frame in arrived]
    assert last(widget, EXPORT)["outcome"] == "report.pdf"
    assert last(widget, EXPORT)["client"] == "has the answer"
    assert {one["total"] for one in widget.shown["calls"][SEARCH]["changes"]} == {None}
    assert last(widget, SAW)["value"] == "no progress yet"
    assert not widget.run.audit().findings


def test_stop_on_stdio_sends_a_notification() -> None:
    widget = bars()
    before = widget.recording.events
    widget.stop(EXPORT, 700)
    after = widget.recording.events
    assert [one for one in before if one.at_us < 700_000] == [one for one in after if one.at_us < 700_000]
    assert told(widget, EXPORT)[-3:] == [
        "The client sends `notifications/cancelled` for request #1.",
        "The cancellation arrives.",
        "The server stops the work.",
    ]
    assert last(widget, EXPORT)["progress"] == 2
    sent = [frame.parsed for frame in widget.recording.frames if isinstance(frame.parsed, Notification)]
    assert [one.params for one in sent if one.method == "notifications/cancelled"] == [{"requestId": 1}]
    assert not widget.run.audit().findings


def test_stop_on_streamable_http_closes_the_stream() -> None:
    widget = bars(transport=StreamableHttp())
    widget.stop(SEARCH, 500)
    assert told(widget, SEARCH)[-2:] == [
        "The client closes the response stream: on Streamable HTTP that is the cancellation.",
        "The server stops the work.",
    ]
    sent = [frame.parsed for frame in widget.recording.frames if isinstance(frame.parsed, Notification)]
    assert "notifications/cancelled" not in [one.method for one in sent]


def test_stop_in_the_legacy_era_is_a_notification_on_http_too() -> None:
    widget = bars(transport=StreamableHttp(), era="legacy")
    widget.stop(SEARCH, 500)
    said = told(widget, SEARCH)
    assert "The client closes the stream. In this era that does not cancel the request." in said
    assert said[-2:] == ["The cancellation arrives.", "The server stops the work."]
    assert [url.split("/")[4] for url in widget.shown["urls"]] == ["2025-11-25"] * 2


def test_an_answer_that_comes_too_late_is_ignored() -> None:
    widget = bars()
    widget.stop(SAW, 530)
    assert told(widget, SAW)[-3:] == [
        "The client sends `notifications/cancelled` for request #3.",
        "The answer arrives too late: the client has stopped waiting, and ignores it.",
        "The cancellation arrives when the work is done already: the server may ignore it.",
    ]
    assert last(widget, SAW)["outcome"] == "stopped; the answer came too late"
    assert "Ignored: an answer to #3" in widget.recording.transcript()


def test_several_stops_and_starting_over() -> None:
    widget = bars()
    first = widget.recording.sha256()
    widget.stop(EXPORT, 400)
    widget.stop(SEARCH, 600)
    assert widget.stops == {EXPORT: 400, SEARCH: 600}
    assert repr(widget) == "ProgressBars('workshop', 3 calls, 2 stopped)"
    widget.moment = 5
    widget.start_over()
    assert widget.recording.sha256() == first
    assert widget.moment == 0


def test_the_button_stops_what_is_in_flight_at_the_moment_that_is_shown() -> None:
    widget = bars()
    moments = widget.shown["moments"]
    moment = next(i for i, one in enumerate(moments, start=1) if one["text"].startswith("Progress arrives"))
    widget.moment = moment
    widget.asked = {"n": 1, "do": "stop", "call": EXPORT, "moment": moment}
    assert widget.shown["error"] == ""
    assert widget.shown["n"] == 1
    assert widget.moment == moment
    assert widget.shown["moments"][:moment] == moments[:moment]
    stopped = at(widget.shown["calls"][EXPORT], moment + 1)
    assert stopped is not None
    assert not stopped["flight"]


def test_a_press_is_shown_until_it_is_sent() -> None:
    widget = bars()
    moments = widget.shown["moments"]
    # At this time more happens than is shown yet: that comes before the press takes effect.
    moment = next(i for i in range(1, len(moments)) if moments[i]["at_us"] == moments[i - 1]["at_us"] > 0)
    widget.asked = {"n": 1, "do": "stop", "call": EXPORT, "moment": moment}
    shown = widget.shown
    press = shown["pressed"][EXPORT]
    assert shown["pressed"][1:] == [None, None]
    assert press["moment"] == moment
    assert press["sent"]
    assert press["until"] > moment + 1
    sent = shown["moments"][press["until"] - 1]
    assert "notifications/cancelled" in sent["text"]
    # A press on the other call before that one does not move it to a time when it was not made.
    widget.asked = {"n": 2, "do": "stop", "call": SEARCH, "moment": 2}
    again = widget.shown["pressed"]
    assert again[1]["moment"] == 2
    assert widget.shown["moments"][again[0]["moment"] - 1]["at_us"] <= widget.stops[0] * 1000
    widget.start_over()
    assert widget.shown["pressed"] == [None, None, None]


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"do": "stop", "call": 9, "moment": 3}, "call must be a whole number from 0 to 2."),
        ({"do": "stop", "call": 2, "moment": 21}, "saw(seconds: 0.5) is not in flight at "),
        ({"do": "stop", "call": 0, "moment": 99_999}, "moment must be a whole number from 0 to "),
        ({"do": "stop", "call": None, "moment": 1}, "call must be a whole number from 0 to 2."),
        ({"do": 7}, "There is nothing like 7 to do here."),
    ],
)
def test_a_wish_that_makes_no_sense_is_told(wish: dict[str, Any], why: str) -> None:
    widget = bars()
    before = widget.recording
    widget.asked = {"n": 1, **wish}
    assert widget.error.startswith(why)
    assert widget.recording is before


def test_a_cell_gets_an_error_as_an_error() -> None:
    widget = bars()
    with pytest.raises(ValueError, match="is not in flight at 5 s"):
        widget.stop(SAW, 5_000)
    with pytest.raises(ValueError, match="There is no call 7"):
        widget.stop(7, 100)
    with pytest.raises(ValueError, match="1 to 12 calls"):
        ProgressBars(shop, [])
    with pytest.raises(ValueError, match="1 to 12 calls"):
        ProgressBars(shop, "search")


def test_tool_errors_and_protocol_errors_are_outcomes() -> None:
    widget = ProgressBars(shop, ["look_around", "nothing", ("saw", {"seconds": "long"})])
    kinds = [last(widget, call)["client"] for call in range(3)]
    assert kinds == ["has the answer", "has an error", "has an error"]
    assert last(widget, 1)["outcome"].startswith("-32602: ")


def test_what_is_lost_is_said() -> None:
    async def story(client: Client) -> None:
        with anyio.move_on_after(2):
            await client.call_tool("search", {"seconds": 0.5}, on_progress=lambda *_: None)

    faults = [Drop("notifications/progress"), Drop("result of tools/call")]
    data = bars_data(simulate(story, server=shop(), faults=faults).recording)
    texts = [one["text"] for one in data["moments"]]
    assert any(text.startswith("A progress notification does not arrive: ") for text in texts)
    assert any(text.startswith("The answer does not arrive: ") for text in texts)


@pytest.mark.parametrize(
    "params", [{"progress": 5}, {"progress": 5, "total": 2}, {"progress": True}, {"progress": "x"}]
)
def test_what_does_not_increase_moves_no_bar(params: dict[str, Any]) -> None:
    def line(sender: str, message: dict[str, Any]) -> bytes:
        return json.dumps({"from": sender, "message": {"jsonrpc": "2.0", **message}}).encode() + b"\n"

    call = {"id": 1, "method": "tools/call", "params": {"name": "x", "_meta": {"progressToken": "t"}}}
    progress = [
        {"method": "notifications/progress", "params": {"progressToken": "t", **each}}
        for each in ({"progress": 5, "total": 10, "message": "a\u202eb"}, params)
    ]
    trace = line("client", call) + b"".join(line("server", each) for each in progress)
    data = bars_data(Recording.from_interchange(trace))
    assert data["calls"][0]["changes"][-1]["progress"] == 5
    assert data["calls"][0]["changes"][-1]["total"] == 10
    assert data["calls"][0]["changes"][-1]["message"] == "a‹U+202E›b"
    assert "it is ignored" in data["moments"][-1]["text"]


# The others break rules, which has nothing to do with the bars.
LAWFUL = [name for name, one in STORIES.items() if not one.breaks and name != "version-from-the-future"]


@pytest.mark.parametrize("name", LAWFUL)
def test_every_story_can_be_shown(name: str) -> None:
    data = bars_data(STORIES[name].play().recording)
    assert json.loads(json.dumps(data)) == data


def test_the_still_pictures_run_nothing_and_stay_the_same() -> None:
    widget = bars()
    assert widget.still_text() == bars().still_text()
    assert "<script" not in widget.still_html()
    assert "#1 export(parts: 4)" in widget.still_html()


def test_a_server_that_is_given_as_it_is() -> None:
    widget = ProgressBars(shop(), [("search", {"seconds": 1})], transport=Stdio(latency_ms=0))
    assert last(widget, 0)["outcome"] == "Looked into 5 drawers"
