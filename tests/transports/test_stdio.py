"""One message a line."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcpsim.errors import FramingError
from mcpsim.messages import Notification, write_message
from mcpsim.transports.stdio import LineReader, frame


def shown(lines: list[bytes | FramingError]) -> list[bytes | str]:
    return [line if isinstance(line, bytes) else str(line) for line in lines]


TOO_LONG = "A line is longer than the limit of 5 bytes."

CASES: list[tuple[bytes, list[bytes | str], bytes]] = [
    (b"", [], b""),
    (b"a\n", [b"a"], b""),
    (b"a\nb\n", [b"a", b"b"], b""),
    (b"a\r\nb\n", [b"a", b"b"], b""),
    (b"a\r\r\n", [b"a\r"], b""),
    (b"a\rb\n", [b"a\rb"], b""),
    (b"\n\r\n\n", [b"", b"", b""], b""),
    (b"a", [], b"a"),
    (b"a\nb\r", [b"a"], b"b\r"),
    (b"12345\n", [b"12345"], b""),
    (b"12345\r\n", [b"12345"], b""),
    (b"123456\n", [TOO_LONG], b""),
    (b"123456\na\n", [TOO_LONG, b"a"], b""),
    (b"12345\r", [], b"12345\r"),
    (b"12345\r6\n", [TOO_LONG], b""),
    (b"12345\r\r\n", [TOO_LONG], b""),
    (b"1234567890" * 5, [TOO_LONG], b""),
    (b"a\n1234567890\nb\n1234567890\nc", [b"a", TOO_LONG, b"b", TOO_LONG], b"c"),
    (b"\xff\x00\n", [b"\xff\x00"], b""),
]


@pytest.mark.parametrize(("stream", "lines", "left"), CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_lines(stream: bytes, lines: list[bytes | str], left: bytes, size: int) -> None:
    reader = LineReader(max_bytes=5)
    seen = [line for at in range(0, len(stream), size) for line in reader.feed(stream[at : at + size])]
    assert shown(seen) == lines
    assert reader.finish() == left


def test_a_line_that_never_ends_is_reported_at_once_and_kept_nowhere() -> None:
    reader = LineReader(max_bytes=100)
    assert len(reader.feed(b"x" * 101)) == 1
    for _ in range(1000):
        assert reader.feed(b"x" * 1000) == []
    assert reader.finish() == b""


def test_after_the_end_a_reader_is_as_new() -> None:
    reader = LineReader(max_bytes=3)
    assert len(reader.feed(b"abcdef")) == 1
    reader.finish()
    assert reader.feed(b"abc\n") == [b"abc"]
    assert reader.feed(b"ab") == []
    assert reader.finish() == b"ab"
    assert reader.feed(b"c\n") == [b"c"]


def test_frame_adds_the_newline() -> None:
    assert frame(b'{"a":1}') == b'{"a":1}\n'
    assert frame(write_message(Notification("a", {"b": "1\n2\r3"}))).count(b"\n") == 1


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"{\n}", "a newline at byte 1"),
        (b"{}\n", "a newline at byte 2"),
        (b"\r{}", "a carriage return at byte 0"),
        (b"{}\r\n", "a newline at byte 3"),
    ],
)
def test_frame_refuses_what_would_be_two_lines(data: bytes, what: str) -> None:
    with pytest.raises(FramingError, match=what):
        frame(data)


def test_bytes_that_come_one_by_one_take_time_in_proportion() -> None:
    def seconds(count: int) -> float:
        reader = LineReader(max_bytes=10**7)
        start = time.process_time()
        for _ in range(count):
            reader.feed(b"x")
        assert len(reader.finish()) == count
        return time.process_time() - start

    few = min(seconds(20_000) for _ in range(3))
    assert seconds(400_000) < 100 * few + 1  # twenty times the bytes; quadratic would be 400 times the time


STREAM = st.lists(st.sampled_from([b"a", b"bcd", b"\n", b"\r", b"\r\n", b"\x00", "é".encode()])).map(b"".join)


@given(STREAM, st.lists(st.integers(0, 60)), st.integers(1, 6))
@example(b"abcd\r\n", [4, 5], 4)
@settings(max_examples=500)
def test_chunks_make_no_difference(stream: bytes, cuts: list[int], max_bytes: int) -> None:
    whole = LineReader(max_bytes)
    expected = shown(whole.feed(stream)), whole.finish()
    reader = LineReader(max_bytes)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    seen = [line for a, b in itertools.pairwise(edges) for line in reader.feed(stream[a:b])]
    assert (shown(seen), reader.finish()) == expected


@given(st.lists(st.binary(max_size=10).map(lambda data: data.replace(b"\n", b"").replace(b"\r", b""))))
def test_what_is_framed_is_read_back(messages: list[bytes]) -> None:
    reader = LineReader()
    assert reader.feed(b"".join(map(frame, messages))) == messages
    assert reader.finish() == b""


@given(STREAM)
def test_without_a_limit_nothing_is_lost(stream: bytes) -> None:
    reader = LineReader()
    lines = reader.feed(stream)
    again = b"".join(line + b"\n" for line in lines if isinstance(line, bytes)) + reader.finish()
    assert again == stream.replace(b"\r\n", b"\n")
