"""The small parts: text, pretty JSON, raw bytes, heights."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsim.eras.pages import era_of_revision, spec_url
from mcpsim.recording import events
from mcpsim.widgets import layout
from mcpsim.widgets.layout import lay_out
from mcpsim.widgets.pretty import MAX_LINES, MAX_STRING, pretty
from mcpsim.widgets.raw import MAX_RAW, raw_of
from mcpsim.widgets.steps import steps_of
from mcpsim.widgets.text import clock, duration, one_end, one_line, visible

# ---------------------------------------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    ("named", "revision"),
    [
        ("modern", "2026-07-28"),
        ("legacy", "2025-11-25"),
        ("2026-07-28", "2026-07-28"),
        ("2027-01-01", "2026-07-28"),
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-11-25"),
    ],
)
def test_addresses(named, revision):
    assert spec_url(named, "basic/index#meta") == (
        f"https://modelcontextprotocol.io/specification/{revision}/basic/index#meta"
    )


def test_eras_of_revisions():
    assert era_of_revision("2026-07-28") == "modern"
    assert era_of_revision("2025-11-25") == "legacy"


# --------------------------------------------------------------------------------------------------- text


def test_what_cannot_be_seen_gets_a_name():
    assert visible("a\u202eb\x00c\u200bd") == "a‹U+202E›b‹U+0000›c‹U+200B›d"


def test_what_can_be_seen_stays():
    text = "plain, é, 日本語, שלום, مرحبا, 👩‍🔧, a\tb"
    assert visible(text) == text


def test_one_line():
    assert one_line("a\r\nb\nc", 10) == "a⏎b⏎c"
    assert one_line("x" * 50, 10) == "x" * 10 + "…"


@given(st.text(), st.integers(1, 30))
def test_one_line_is_short_and_one_line(text, limit):
    shown = one_line(text, limit)
    assert "\n" not in shown
    assert len(shown) <= 2 * limit + 1


@pytest.mark.parametrize(
    ("us", "at", "long"),
    [
        (0, "0 ms", "0 ms"),
        (1_500, "1.5 ms", "1.5 ms"),
        (120_000, "120 ms", "120 ms"),
        (4_140_000, "4.14 s", "4.14 s"),
        (300_540_000, "300.54 s", "5.009 min"),
        (300_000_000, "300 s", "5 min"),
        (7_200_000_000, "7,200 s", "2 h"),
    ],
)
def test_times(us, at, long):
    assert (clock(us), duration(us)) == (at, long)


# --------------------------------------------------------------------------------------------------- JSON

words = st.text(st.characters(codec="utf-8"), max_size=20)
numbers = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_pretty_is_the_same_value(value):
    assert json.loads(pretty(value).text) == value


@given(json_values)
def test_every_path_has_the_line_that_begins_it(value):
    shown = pretty(value)
    lines = shown.text.split("\n")
    for path, line in shown.lines.items():
        if path and isinstance(path[-1], str):
            assert lines[line].lstrip().startswith(('"', "\\"))


def test_numbers_stay_as_they_are():
    assert pretty([42, 42.0, -0.0, 1e300]).text == "[\n  42,\n  42.0,\n  -0.0,\n  1e+300\n]"


def test_pretty_is_bounded():
    shown = pretty({"long": "x" * 5_000, "many": list(range(1_000))}).text
    assert "x" * MAX_STRING in shown
    assert "x" * (MAX_STRING + 1) not in shown
    assert "(5,000 characters)" in shown
    assert shown.count("\n") == MAX_LINES
    assert shown.endswith("more lines: see the raw bytes")


def test_deep_values_are_cut():
    value: object = 1
    for _ in range(500):
        value = [value]
    assert "[ … ]" in pretty(value).text


def test_nothing_in_pretty_turns_the_text_around():
    shown = pretty({"\u202e": "\u2028\u200b\x1b"}).text
    assert shown == '{\n  "\\u202e": "\\u2028\\u200b\\u001b"\n}'


# ---------------------------------------------------------------------------------------------- raw bytes


def raw(recording, step: int = 1) -> str:
    return raw_of(recording.frames[step - 1])[0].text


def test_a_line_of_stdio_shows_its_newline(made):
    pen = made.Pen()
    pen.send("client", "server", b'{"a":1}\n')
    assert raw(pen.done("x")) == '{"a":1}⏎'


def test_a_request_shows_its_head(made):
    assert raw(made.modern_stream()).startswith(
        "POST /mcp HTTP/1.1\nContent-Type: application/json\nAccept: application/json, text/event-stream\n"
        "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: export_report\n"
        'Content-Length: 338\n\n{"jsonrpc":"2.0"'
    )


def test_the_first_event_shows_the_head_of_the_stream(made):
    text = raw(made.modern_stream(), 2)
    assert text.startswith(
        "HTTP/1.1 200 OK\nContent-Type: text/event-stream\nX-Accel-Buffering: no\n\nevent: "
    )
    assert "Content-Length" not in text
    assert raw(made.modern_stream(), 3).startswith("event: message⏎\ndata: {")


def test_a_header_cannot_pass_for_two(made):
    text = raw(made.hostile(), 8)
    assert "X: a\\x0d\\x0aB: c" in text
    assert "\nB: c" not in text


def test_bytes_that_are_not_text_are_shown_as_escapes(made):
    assert "\\xff\\xfe" in raw(made.hostile(), 5)


def test_what_arrived_is_shown_where_it_differs(made):
    pen = made.Pen()
    frame = pen.send("client", "server", b"one\n", arrives=False)
    pen.arrive(frame, "server", "client", changed=b"two\n")
    blocks = raw_of(pen.done("x").frames[0])
    assert [block.text for block in blocks] == ["one⏎", "two⏎"]
    assert blocks[1].title.startswith("As it arrived")


def test_raw_is_bounded(made):
    pen = made.Pen()
    pen.send("client", "server", "é".encode() * 50_000)
    text = raw(pen.done("x"))
    assert len(text) < MAX_RAW
    assert text.endswith("… (100,001 bytes)")
    assert "\\x" not in text


def test_a_response_without_a_status_says_so(made):
    pen = made.Pen()
    pen.send("server", "client", b"{}", exchange=1, head={"headers": [["A", "b"]]})
    assert raw(pen.done("x")).startswith("(the trace has no status here)\nA: b\n")


# ------------------------------------------------------------------------------------------------ heights


def test_later_is_never_higher(recording):
    if [event.at_us for event in recording.events] != sorted(event.at_us for event in recording.events):
        return  # Not in order of time, so there is nothing to keep.
    heights = list(lay_out(recording).y.values())
    assert heights == sorted(heights)


def test_steps_have_room_for_their_labels(recording):
    found = lay_out(recording)
    heights = [found.y[step.index] for step in steps_of(recording).all]
    assert all(b - a >= layout.ROW for a, b in pairwise(heights))


def test_a_label_is_clear_of_what_arrived_before(made):
    recording = made.legacy_handshake()
    found = lay_out(recording)
    for before, after in pairwise(recording.events):
        if before.kind == events.DELIVERED and after.kind == events.SENT:
            here, there = (found.y[recording.events.index(event)] for event in (before, after))
            assert there - here >= layout.LABEL


def test_a_message_that_takes_time_leans(made):
    recording = made.modern_progress()
    found = lay_out(recording)
    sent = next(i for i, e in enumerate(recording.events) if e.kind == events.SENT)
    arrived = next(i for i, e in enumerate(recording.events) if e.kind == events.DELIVERED)
    assert found.y[arrived] > found.y[sent]


def test_a_message_that_takes_no_time_is_level(made):
    pen = made.Pen(latency_ms=0)
    pen.send("client", "server", b"{}")
    assert len(set(lay_out(pen.done("x")).y.values())) == 1


@pytest.mark.parametrize("to_scale", [False, True])
def test_two_that_leave_and_arrive_together_end_apart_and_in_order(made, to_scale):
    pen = made.Pen()
    pen.send("client", "server", b"{}")
    pen.wait(400)
    frames = [pen.send("server", "client", b"{}", arrives=False) for _ in range(2)]
    pen.wait(20)
    for frame in frames:
        pen.arrive(frame, "client", "server")
    recording = pen.done("x")
    found = lay_out(recording, to_scale=to_scale)
    sent = [found.y[i] for i, event in enumerate(recording.events) if event.kind == events.SENT][1:]
    ends = [found.y[i] for i, event in enumerate(recording.events) if event.kind == events.DELIVERED][1:]
    assert sent[1] > sent[0]
    assert ends[1] - ends[0] >= layout.APART
    assert ends[0] >= sent[0]


def test_to_scale_a_label_is_clear_of_what_arrived_and_of_what_is_not_to_scale(recording):
    found = lay_out(recording, to_scale=True)
    frames = {frame.index for frame in recording.frames}
    arrived = 0
    for index, event in enumerate(recording.events):
        if index in frames and arrived:
            assert found.y[index] - arrived >= layout.LABEL
        if event.kind == events.DELIVERED:
            arrived = found.y[index]
    for wait in found.waits:
        if wait.text:
            assert wait.bottom - wait.y > layout.LABEL


def test_a_long_wait_is_named_and_takes_little_room(made):
    found = lay_out(made.dropped())
    assert [wait.text for wait in found.waits] == ["5 min pass"]
    assert found.height < 600


# ----------------------------------------------------------------------------------------------- to scale


def test_the_same_time_is_equally_high(made):
    pen = made.Pen()
    for ms in (0, 20, 20, 20, 40, 20):
        pen.wait(ms)
        pen.recorder.note("client", "tick")
    found = lay_out(pen.done("x"), to_scale=True)
    heights = list(found.y.values())
    assert [b - a for a, b in pairwise(heights)] == [50, 50, 50, 100, 50]
    assert (found.waits, found.us_per_px) == ((), 24_000 / 60)


def test_what_is_not_to_scale_is_said(made):
    pen = made.Pen()
    for ms in (0, 20, 20, 20, 20, 1, 300_000):
        pen.wait(ms)
        pen.recorder.note("client", "tick")
    found = lay_out(pen.done("x"), to_scale=True)
    assert [wait.text for wait in found.waits] == ["", "5 min, not to scale"]
    heights = list(found.y.values())
    stretched, cut = found.waits
    assert (stretched.top, stretched.bottom) == (heights[4], heights[5])
    assert (cut.top, cut.bottom) == (heights[5], heights[6])


def test_later_is_lower_to_scale_too(recording):
    found = lay_out(recording, to_scale=True)
    heights = list(found.y.values())
    assert heights == sorted(heights)
    steps = [found.y[step.index] for step in steps_of(recording).all]
    assert all(b - a >= layout.ROW for a, b in pairwise(steps))


def test_a_moment_between_two_events_is_between_them(made):
    pen = made.Pen()
    pen.recorder.note("client", "a")
    pen.wait(100)
    pen.recorder.note("client", "b")
    found = lay_out(pen.done("x"), to_scale=True)
    first, last = found.y.values()
    assert found.at_time(50_000) == (first + last) // 2
    assert (found.at_time(-1), found.at_time(10**9)) == (first, last)


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("It says “cut sho…”.", "It says “cut sho…”"),
        ("It was cut sho….", "It was cut sho…"),
        ("It says “Why?”.", "It says “Why?”"),
        ("It says “Stop.”. Then it stops.", "It says “Stop.” Then it stops."),
        ("A path such as “../../etc”.", "A path such as “../../etc”."),
        ("It says “done”.", "It says “done”."),
    ],
)
def test_a_sentence_has_one_end(text: str, ended: str) -> None:
    assert one_end(text) == ended
