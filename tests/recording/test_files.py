"""Saved recordings: the same bytes every time, and a clear error for everything that is no recording."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcpsim.errors import RecordingError
from mcpsim.recording import Event, Recording, event_lines, lines
from mcpsim.recording.events import KINDS
from tests.simulation.check_stories import checked_runs

HEADER = b'{"format":"mcpsim-recording","version":1,"title":"t","parties":["client","server"]}\n'
SENT = {"at_us": 0, "kind": "sent", "party": "client", "peer": "server", "frame": 1, "text": "{}"}

texts = st.text(max_size=8)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
headers = st.lists(st.lists(texts, min_size=2, max_size=2), max_size=3)
heads = st.fixed_dictionaries({"headers": headers}, optional={"status": st.integers(0, 999), "method": texts})


@st.composite
def event_lists(draw: st.DrawFn) -> tuple[Event, ...]:
    """Any events that keep to the rules: every frame has its number, and at most one end."""
    found: list[Event] = []
    frames = 0
    open_frames: list[int] = []
    for _ in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(KINDS))
        common: dict[str, Any] = {
            "at_us": draw(st.integers(0, 10**15)),
            "party": draw(texts),
            "peer": draw(texts),
            "exchange": draw(st.integers(0, 5)),
            "connection": draw(st.integers(0, 5)),
        }
        extra = draw(st.dictionaries(texts.filter(lambda key: key not in KNOWN), json_values, max_size=2))
        if kind == "sent":
            frames += 1
            open_frames.append(frames)
            detail = draw(st.none() | st.fixed_dictionaries({}, optional={"head": heads, "channel": texts}))
            found.append(
                Event(
                    kind=kind,
                    frame=frames,
                    data=draw(st.binary(max_size=12)),
                    detail=_joined(detail, extra),
                    **common,
                )
            )
        elif kind in ("delivered", "dropped"):
            if not open_frames:
                continue
            frame = open_frames.pop(draw(st.integers(0, len(open_frames) - 1)))
            found.append(
                Event(kind=kind, frame=frame, data=draw(st.none() | st.binary(max_size=5)), **common)
            )
        else:
            detail = draw(st.none() | json_values.filter(lambda value: isinstance(value, dict)))
            if kind != "state":
                detail = {key: value for key, value in (detail or {}).items() if key not in KNOWN}
            found.append(Event(kind=kind, detail=_joined(detail, extra), **common))
    return tuple(found)


KNOWN = {"head", "copy_of", "channel", "why", "what", "how", "name", "id", "outcome", "text"}


def _joined(detail: dict[str, Any] | None, extra: dict[str, Any]) -> dict[str, Any] | None:
    return {**(detail or {}), **extra} if detail is not None or extra else None


recordings = st.builds(
    Recording,
    st.fixed_dictionaries(
        {},
        optional={
            "title": texts,
            "parties": st.lists(texts, max_size=3),
            "seed": json_values,
            "any": json_values,
        },
    ),
    event_lists(),
)


@given(recordings)
def test_what_is_written_is_read_back_and_written_the_same(recording: Recording) -> None:
    data = recording.to_jsonl()
    again = Recording.from_jsonl(data)
    assert again == recording
    assert again.to_jsonl() == data
    assert again.sha256() == recording.sha256()
    assert data.count(b"\n") == len(recording.events) + 1


@given(recordings)
def test_whatever_is_in_it_can_be_shown_and_exported(recording: Recording) -> None:
    text = recording.transcript()
    assert all(len(line) <= 100 for line in text.split("\n"))
    text.encode("utf-8")
    assert repr(recording) == repr(Recording.from_jsonl(recording.to_jsonl()))
    assert isinstance(recording.parties, tuple)
    rows = [json.loads(line) for line in recording.to_interchange().splitlines()]
    assert len(rows) <= len(recording.events)
    assert len(recording.frames) == sum(event.kind == "sent" for event in recording.events)


def test_half_of_a_surrogate_pair_survives() -> None:
    recording = Recording({"title": "\ud800"}, (Event(0, "note", "client", detail={"text": "a\udfffb"}),))
    data = recording.to_jsonl()
    assert Recording.from_jsonl(data) == recording
    assert Recording.from_jsonl(data).to_jsonl() == data
    assert recording.transcript() == "0 ms  client  note: a\\udfffb"


@pytest.mark.parametrize("name", ["format", "version"])
def test_a_header_cannot_fake_the_format(name: str) -> None:
    recording = Recording({name: "mine", "title": "t"}, ())
    assert json.loads(recording.to_jsonl())["format"] == "mcpsim-recording"
    assert Recording.from_jsonl(recording.to_jsonl()).header == {"title": "t"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1: {2, 3}}])
def test_what_json_cannot_carry_is_refused_when_it_is_written(value: Any) -> None:
    with pytest.raises(RecordingError, match=r"^Event 1 holds what JSON cannot carry"):
        Recording({}, (Event(0, "state", "client", detail={"x": value}),)).to_jsonl()
    with pytest.raises(RecordingError, match=r"^The header holds what JSON cannot carry"):
        Recording({"seed": value}, ()).to_jsonl()


# Files that are no recording.


def read_or_refuse(data: bytes, read: Callable[[bytes], Recording] = Recording.from_jsonl) -> Recording | str:
    """The recording, or the text of the error. Nothing else may be raised."""
    try:
        return read(data)
    except RecordingError as error:
        return str(error)


@settings(max_examples=150)
@given(st.binary(max_size=200))
@example(b"")
@example(b"\n\n")
@example(b"\xef\xbb\xbf")
@example("{}".encode("utf-16"))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    for found in (
        read_or_refuse(data),
        read_or_refuse(HEADER + data),
        read_or_refuse(data, Recording.from_interchange),
    ):
        if isinstance(found, str):
            assert found.endswith(".")
        else:
            assert found.to_jsonl() == Recording.from_jsonl(found.to_jsonl()).to_jsonl()
            found.transcript()


@settings(max_examples=150)
@given(
    st.lists(st.dictionaries(st.sampled_from([*SENT, "b64", "detail", "exchange"]), json_values), max_size=3)
)
def test_any_objects_are_refused_or_read(rows: list[dict[str, Any]]) -> None:
    data = HEADER + b"".join(lines.write_line(row, "row") for row in rows)
    found = read_or_refuse(data)
    if isinstance(found, str):
        assert found.startswith("Line ")
    else:
        found.transcript()
        found.to_interchange()
        repr(found)


@settings(max_examples=200)
@given(st.data())
def test_a_recording_with_one_value_changed_is_refused_or_can_be_shown(data: st.DataObject) -> None:
    whole = RUNS[data.draw(st.integers(0, len(RUNS) - 1))]
    rows = [json.loads(line) for line in whole.splitlines()]
    row = rows[data.draw(st.integers(0, len(rows) - 1))]
    while True:
        key = data.draw(st.sampled_from(sorted(row)))
        if not isinstance(row[key], dict) or not row[key] or data.draw(st.booleans()):
            break
        row = row[key]
    row[key] = data.draw(json_values)
    changed = b"".join(lines.write_line(one, "row") for one in rows)
    found = read_or_refuse(changed)
    if isinstance(found, str):
        assert "Line " in found
        return
    found.transcript()
    found.to_interchange()
    repr(found)
    assert Recording.from_jsonl(found.to_jsonl()) == found


RUNS = [run.recording.to_jsonl() for name, run in checked_runs() if "given_up" in name or "duplicate" in name]


def test_a_file_that_was_cut_at_any_byte_is_refused_or_shorter() -> None:
    whole = RUNS[0]
    for at in range(0, len(whole), 37):
        found = read_or_refuse(whole[:at])
        assert isinstance(found, str) or whole.startswith(found.to_jsonl().rstrip(b"\n"))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "The recording is empty."),
        (b"{}\n", 'Line 1: a recording begins with {"format":"mcpsim-recording", ...}.'),
        (b"[]\n", "Line 1 is not a JSON object."),
        (b"\xff\n", "Line 1 is not UTF-8 (at byte 0)."),
        (HEADER.replace(b"1", b"2", 1), "Line 1: format version 2 is not known; 1 is."),
        (HEADER.replace(b"1", b"true", 1), "Line 1: format version true is not known; 1 is."),
        (HEADER.replace(b'"t"', b"5"), "Line 1: `title` must be a string, not 5."),
        (HEADER.replace(b'"server"', b"5"), 'Line 1: `parties` must be a list of names, not ["client", 5].'),
        (HEADER + b"\n\n{", "Line 4 is not JSON: Expecting property name enclosed in double quotes"),
        (HEADER + b'{"at_us": NaN}', "Line 2 is not JSON: NaN is no JSON value."),
        (HEADER + b'{"at_us": 1e999}', "Line 2 is not JSON: a number in it is beyond what a double holds."),
        (HEADER + b'{"at_us": -1}', "Line 2: `at_us` must be a whole number of microseconds from 0, not -1."),
        (
            HEADER + b'{"at_us": 1.0}',
            "Line 2: `at_us` must be a whole number of microseconds from 0, not 1.0.",
        ),
        (
            HEADER + b'{"at_us": true}',
            "Line 2: `at_us` must be a whole number of microseconds from 0, not true.",
        ),
        (
            HEADER + b'{"at_us": 0, "kind": "sang"}',
            f'Line 2: `kind` is "sang"; known kinds are {", ".join(KINDS)}.',
        ),
        (HEADER + b'{"at_us": 0, "kind": ["sent"]}', 'Line 2: `kind` is ["sent"]; known'),
        (HEADER + b'{"at_us": 0, "kind": "note"}', "Line 2: `party` must be a name, not null."),
        (
            HEADER + b'{"at_us": 0, "kind": "note", "party": "a", "peer": 1}',
            "Line 2: `peer` must be a name, not 1.",
        ),
        (
            HEADER + b'{"at_us": 0, "kind": "note", "party": "a", "exchange": -1}',
            "Line 2: `exchange` must be a whole number from 0, not -1.",
        ),
        (
            HEADER + b'{"at_us": 0, "kind": "note", "party": "a", "detail": []}',
            "Line 2: `detail` must be an object, not [].",
        ),
        (
            HEADER + b'{"at_us": 0, "kind": "note", "party": "a", "detail": {"text": 1}}',
            "Line 2: `detail.text` must be a string, not 1.",
        ),
        (
            HEADER
            + b'{"at_us": 0, "kind": "sent", "party": "a", "frame": 1, "detail": {"head": {"headers": [1]}}}',
            "Line 2: `detail.head` must be the head of an HTTP request or response, with headers as",
        ),
        (
            HEADER + b'{"at_us": 0, "kind": "handler_started", "party": "a", "detail": {"id": 1.5}}',
            "Line 2: `detail.id` must be a string or a whole number, not 1.5.",
        ),
        (
            HEADER + b'{"at_us": 0, "kind": "sent", "party": "a", "frame": 1, "text": "", "b64": ""}',
            "Line 2: the bytes of a frame are one string, `text` or `b64`.",
        ),
        (
            HEADER + b'{"at_us": 0, "kind": "sent", "party": "a", "frame": 1, "b64": "?"}',
            "Line 2: the bytes of the frame cannot be read: ",
        ),
        (
            HEADER + b'{"at_us": 0, "kind": "sent", "party": "a", "frame": 1, "text": "\\ud800"}',
            "Line 2: the bytes of the frame cannot be read: ",
        ),
        (
            HEADER + b'{"at_us": 0, "kind": "sent", "party": "a"}',
            "Line 2: `frame` is 0; every sent frame has its own number, from 1.",
        ),
        (
            HEADER + b'{"at_us": 0, "kind": "dropped", "party": "a", "frame": 7}',
            "Line 2: frame 7 cannot be dropped here; it was never sent.",
        ),
    ],
)
def test_the_error_names_the_line_and_the_reason(data: bytes, text: str) -> None:
    with pytest.raises(RecordingError) as raised:
        Recording.from_jsonl(data)
    assert str(raised.value).startswith(text)
    assert len(str(raised.value)) < 300


def test_a_frame_is_sent_once_and_ends_once() -> None:
    sent = lines.write_line(SENT, "row")
    delivered = sent.replace(b'"sent"', b'"delivered"')
    with pytest.raises(RecordingError, match="Line 3: `frame` is 1; every sent frame has its own number"):
        Recording.from_jsonl(HEADER + sent + sent)
    with pytest.raises(
        RecordingError, match="Line 4: frame 1 cannot be delivered here; it was delivered or dropped"
    ):
        Recording.from_jsonl(HEADER + sent + delivered + delivered)


# Bounds.


@pytest.mark.parametrize("deep", [b"[" * 100_000, b'{"a":' * 100_000, b'"\\\\"' + b"[" * 300 + b"]" * 300])
@pytest.mark.parametrize("read", [Recording.from_jsonl, Recording.from_interchange])
def test_depth_is_bounded(deep: bytes, read: Any) -> None:
    with pytest.raises(RecordingError, match=r"^Line 1 is nested deeper than 200 objects and arrays\.$"):
        read(b'{"a":' + deep + b"}")


def test_brackets_in_strings_are_no_depth() -> None:
    detail = {"text": "[" * 5000 + '\\"{' * 5000, "deep": json.loads("[" * 150 + "]" * 150)}
    recording = Recording({}, (Event(0, "note", "a", detail=detail),))
    assert Recording.from_jsonl(recording.to_jsonl()) == recording


def test_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "big.jsonl"
    file.write_bytes(HEADER + b" " * 200)
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 50)
    with pytest.raises(RecordingError, match=f"Line 1 has {len(HEADER) - 1} bytes; the limit is 50"):
        Recording.load(file)
    monkeypatch.setattr(lines, "MAX_LINES", 2)
    with pytest.raises(RecordingError, match="The recording has 3 lines; the limit is 2"):
        Recording.from_jsonl(b"{}\n{}\n")
    monkeypatch.setattr(lines, "MAX_FILE_BYTES", 100)
    with pytest.raises(RecordingError, match="The trace has 101 bytes; the limit is 100"):
        Recording.from_interchange(b" " * 101)
    monkeypatch.setattr("mcpsim.recording.recording.MAX_FILE_BYTES", 100)
    with pytest.raises(RecordingError, match=r"big\.jsonl is larger than the limit of 100 bytes"):
        Recording.load(file)


def test_a_number_with_thousands_of_digits_is_refused() -> None:
    with pytest.raises(RecordingError, match="Line 1 is not JSON: Exceeds the limit"):
        Recording.from_jsonl(b'{"a": ' + b"9" * 50_000 + b"}")
    with pytest.raises(RecordingError, match="Line 2: `at_us` must be"):
        Recording.from_jsonl(HEADER + b'{"at_us": %d}' % 10**30)


def test_a_hostile_file_takes_no_time() -> None:
    for line in (b'{"a":"' + b"\\" * 1_000_000, b'"' * 1_000_001, b"[]" * 500_000, b'{"' + b"[{" * 500_000):
        with pytest.raises(RecordingError):
            Recording.from_interchange(line)


# Files.


def test_a_file_is_told_by_its_first_line(tmp_path: Path) -> None:
    own, trace = tmp_path / "own.jsonl", tmp_path / "a trace.jsonl"
    recording = Recording.from_jsonl(RUNS[0])
    recording.save(own)
    trace.write_bytes(recording.to_interchange())
    assert Recording.load(own) == recording
    assert Recording.load(str(trace)).title == "a trace"
    assert Recording.load(trace).header["source"] == "import"


def test_what_cannot_be_read_is_said_without_its_path(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"^nothing\.jsonl cannot be read: No such file or directory\.$"):
        Recording.load(tmp_path / "nothing.jsonl")
    with pytest.raises(RecordingError, match=r"cannot be read: Is a directory\.$"):
        Recording.load(tmp_path)


def test_the_numbers_of_the_bounds_fit_a_float() -> None:
    event = Event(event_lines.MAX_TIME_US, "note", "a", detail={"text": "late"})
    recording = Recording({}, (event,))
    assert Recording.from_jsonl(recording.to_jsonl()) == recording
    assert repr(recording).endswith("1 events, 100000000000000 ms>")
