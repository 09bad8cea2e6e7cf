"""Headers, the values that they repeat, and server-sent events."""

from __future__ import annotations

import itertools
import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcpsim.errors import FramingError
from mcpsim.messages import PROTOCOL_VERSION, Notification, Request
from mcpsim.transports.http import (
    NAME_SOURCE,
    Headers,
    HttpHead,
    HttpRequest,
    Mirrored,
    SseEvent,
    SseReader,
    accepts,
    decode_header_value,
    encode_header_value,
    header_problems,
    http_text,
    mirrored,
    modern_headers,
    origin_allowed,
    sse_comment,
    sse_event,
)

VERSION = "2026-07-28"
META = {"_meta": {PROTOCOL_VERSION: VERSION}}
CALL = Request(1, "tools/call", {"name": "get_weather", "arguments": {}, **META})
LIST = Request(2, "tools/list", META)

# --- Headers --------------------------------------------------------------------------------------

LINES = [("Accept", "a"), ("X-One", "1"), ("accept", "b"), ("x-two", "2")]


def test_headers_are_found_in_any_case_and_keep_their_spelling() -> None:
    headers = Headers(LINES)
    assert headers.get("ACCEPT") == "a"
    assert headers.get_all("accept") == ("a", "b")
    assert headers.get("none") is None
    assert headers.get("none", "x") == "x"
    assert headers.get_all("none") == ()
    assert "x-ONE" in headers
    assert "none" not in headers
    assert 1 not in headers
    assert headers.items() == tuple(LINES)
    assert list(headers) == ["Accept", "X-One", "accept", "x-two"]
    assert len(headers) == 4
    assert headers.to_dict() == {"Accept": "a, b", "X-One": "1", "x-two": "2"}


def test_headers_do_not_change() -> None:
    headers = Headers(LINES)
    assert headers.with_("aCCEPT", "c").items() == (("aCCEPT", "c"), ("X-One", "1"), ("x-two", "2"))
    assert headers.with_("New", "n").items() == (*LINES, ("New", "n"))
    assert headers.without("ACCEPT").items() == (("X-One", "1"), ("x-two", "2"))
    assert headers.without("none") == headers
    assert headers.items() == tuple(LINES)


def test_headers_are_equal_whatever_the_case_of_their_names() -> None:
    assert Headers({"A": "1", "b": "2"}) == Headers([("a", "1"), ("B", "2")])
    assert hash(Headers({"A": "1"})) == hash(Headers({"a": "1"}))
    assert Headers({"A": "x"}) != Headers({"A": "X"})
    assert Headers({"A": "1", "B": "2"}) != Headers({"B": "2", "A": "1"})
    assert Headers() != {}
    assert Headers(Headers(LINES)) == Headers(LINES)
    assert repr(Headers({"A": "1"})) == "Headers([('A', '1')])"


# --- As text --------------------------------------------------------------------------------------


def test_a_request_as_text() -> None:
    request = HttpRequest("POST", "/mcp", Headers({"Content-Type": "application/json"}), '{"é":1}'.encode())
    assert http_text(request) == (
        b"POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n"
        + '{"é":1}'.encode()
    )
    assert http_text(HttpRequest("GET", "/", Headers())) == b"GET / HTTP/1.1\r\n\r\n"


def test_a_response_as_text() -> None:
    head = HttpHead(404, Headers({"content-length": "999", "A": "b"}))
    assert http_text(head, b"abc") == b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\nA: b\r\n\r\nabc"
    assert http_text(HttpHead(202, Headers())) == b"HTTP/1.1 202 Accepted\r\n\r\n"
    assert http_text(HttpHead(799, Headers())) == b"HTTP/1.1 799\r\n\r\n"


@given(st.text(), st.text(), st.text(), st.text())
@example("POST", "/", "a", "b\r\nEvil: 1")
def test_no_value_passes_for_a_header_of_its_own(method: str, path: str, name: str, value: str) -> None:
    text = http_text(HttpRequest(method, path, Headers([(name, value)]))).decode()
    assert len(text.splitlines()) == 3
    assert text.endswith("\r\n\r\n")


# --- Values ---------------------------------------------------------------------------------------

ENCODED = {
    # The examples of the specification.
    "us-west1": "us-west1",
    "Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=",
    " padded ": "=?base64?IHBhZGRlZCA=?=",
    "line1\nline2": "=?base64?bGluZTEKbGluZTI=?=",
    "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
    # Around them.
    "": "=?base64??=",
    "a b": "a b",
    "a\tb": "a\tb",
    "\ta": "=?base64?CWE=?=",
    "a\x7f": "=?base64?YX8=?=",
    "=?base64?": "=?base64?",
    "a=?base64?x?=": "a=?base64?x?=",
    "=?BASE64?x?=": "=?BASE64?x?=",
    # Starts and ends like the sentinel, if only by sharing a question mark.
    "=?base64?=": "=?base64?PT9iYXNlNjQ/PQ==?=",
    "file:///a b.txt": "file:///a b.txt",
}


@pytest.mark.parametrize(("value", "text"), ENCODED.items())
def test_values_are_plain_or_in_base64(value: str, text: str) -> None:
    assert encode_header_value(value) == text
    assert decode_header_value(text) == value


def test_the_start_and_end_of_the_sentinel_may_not_overlap() -> None:
    assert decode_header_value("=?base64?=") == "=?base64?="


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("=?base64?x?=", "not valid Base64"),
        ("=?base64?YQ?=", "not valid Base64"),  # padding is missing
        ("=?base64?YR==?=", "not valid Base64"),  # bits that mean nothing
        ("=?base64?Y Q==?=", "not valid Base64"),
        ("=?base64?YQ==YQ==?=", "not valid Base64"),
        ("=?base64?_-8=?=", "not valid Base64"),  # the alphabet for URLs
        ("=?base64?/w==?=", "not UTF-8"),
        ("=?base64?7aCA?=", "not UTF-8"),  # half of a surrogate pair
        ("a\nb", "U+000A"),
        ("é", "U+00E9"),
        ("\x7f", "U+007F"),
    ],
)
def test_a_value_that_cannot_be_decoded_is_refused(text: str, what: str) -> None:
    with pytest.raises(FramingError) as caught:
        decode_header_value(text)
    assert what in str(caught.value)


def test_half_of_a_surrogate_pair_cannot_be_a_value() -> None:
    with pytest.raises(FramingError, match="surrogate pair at character 1"):
        encode_header_value("a\ud800")


NO_SURROGATES = st.text(st.characters(exclude_categories=["Cs"]))
NEAR_SENTINEL = st.lists(
    st.sampled_from(["=?base64?", "?=", "=", "?", "a", " ", "\t", "\n", "YQ==", "é"])
).map("".join)


@given(NO_SURROGATES | NEAR_SENTINEL)
@settings(max_examples=500)
def test_every_text_survives_as_a_legal_value(value: str) -> None:
    text = encode_header_value(value)
    assert re.fullmatch(r"[!-~](?:[\t -~]*[!-~])?", text)
    assert decode_header_value(text) == value


@given(st.text() | NEAR_SENTINEL)
@settings(max_examples=300)
def test_any_value_is_decoded_or_refused(text: str) -> None:
    try:
        value = decode_header_value(text)
    except FramingError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - refusing is one of two right outcomes
    else:
        assert text in (value, encode_header_value(value))


# --- Headers that repeat the body -----------------------------------------------------------------


def test_the_headers_of_a_modern_request() -> None:
    assert modern_headers(CALL).items() == (
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", VERSION),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "get_weather"),
    )
    assert "Mcp-Name" not in modern_headers(LIST)
    assert modern_headers(Request(1, "ping"), "x").get("mcp-protocol-version") == "x"
    assert modern_headers(LIST, "other").get("mcp-protocol-version") == "other"
    assert "mcp-protocol-version" not in modern_headers(Request(1, "ping"))
    assert modern_headers(Notification("a/b"), VERSION).get("Mcp-Method") == "a/b"


@pytest.mark.parametrize(("method", "member"), NAME_SOURCE.items())
def test_the_name_header_repeats_what_the_method_names(method: str, member: str) -> None:
    request = Request(1, method, {member: "größe", **META})
    headers = modern_headers(request)
    assert headers.get("Mcp-Name") == "=?base64?Z3LDtsOfZQ==?="
    assert header_problems(headers, request) == []
    assert "Mcp-Name" not in modern_headers(Request(1, method, META))
    assert "Mcp-Name" not in modern_headers(Request(1, method, {member: 7}))


@pytest.mark.parametrize("method", ["größe", "a\nb", " a", "", "a\ud800"])
def test_a_method_that_no_header_can_carry_is_refused(method: str) -> None:
    with pytest.raises(FramingError, match="Mcp-Method cannot carry"):
        modern_headers(Request(1, method))
    with pytest.raises(FramingError, match="MCP-Protocol-Version cannot carry"):
        modern_headers(LIST, method)


def test_the_names_of_the_headers_may_be_in_any_case() -> None:
    lower = Headers((name.lower(), value) for name, value in modern_headers(CALL).items())
    assert header_problems(lower, CALL) == []


GOOD = modern_headers(CALL)
PROBLEMS: list[tuple[Headers, Request, list[list[str]]]] = [
    (GOOD, CALL, []),
    (GOOD.with_("Mcp-Name", "=?base64?Z2V0X3dlYXRoZXI=?="), CALL, []),  # encoded without need
    (GOOD.with_("Mcp-Name", " get_weather\t"), CALL, []),  # blanks around a value are not part of it
    (modern_headers(LIST).with_("Mcp-Name", "a"), LIST, []),  # nothing in the body that it could repeat
    (
        Headers(),
        CALL,
        [
            ["MCP-Protocol-Version is missing", f'"{VERSION}"', PROTOCOL_VERSION],
            ["Mcp-Method is missing", '"tools/call"'],
            ["Mcp-Name is missing", '"get_weather"', "params.name"],
        ],
    ),
    (Headers(), Request(1, "a/b"), [["MCP-Protocol-Version is missing"], ["Mcp-Method is missing", '"a/b"']]),
    (
        GOOD.with_("mcp-protocol-version", "2025-11-25"),
        CALL,
        [["MCP-Protocol-Version", '"2025-11-25"', f'"{VERSION}"']],
    ),
    (GOOD.with_("Mcp-Method", "Tools/Call"), CALL, [["Mcp-Method", '"Tools/Call"', '"tools/call"']]),
    (GOOD.with_("Mcp-Method", "=?base64?dG9vbHMvY2FsbA==?="), CALL, [["Mcp-Method", '"tools/call"']]),
    (GOOD.with_("Mcp-Name", "Get_weather"), CALL, [["Mcp-Name", '"Get_weather"', '"get_weather"']]),
    (GOOD.with_("Mcp-Name", ""), CALL, [["Mcp-Name", '""', '"get_weather"']]),
    (
        GOOD.with_("Mcp-Name", "=?base64?eA==?="),
        CALL,
        [["Mcp-Name", '"=?base64?eA==?="', '"x" decoded', '"get_weather"']],
    ),
    (GOOD.with_("Mcp-Name", "=?base64?x?="), CALL, [["Mcp-Name", "not valid Base64", '"get_weather"']]),
    (GOOD.with_("Mcp-Name", "é"), CALL, [["Mcp-Name", "U+00E9", '"get_weather"']]),
    (GOOD.with_("Mcp-Method", "tools/\x00"), CALL, [["Mcp-Method", "U+0000", '"tools/call"']]),
    (
        Headers([*GOOD.items(), ("mcp-name", "get_weather")]),
        CALL,
        [["Mcp-Name stands there 2 times"]],
    ),
    # The body lacks the value: that is the body's fault, and another error code.
    (modern_headers(LIST, VERSION), Request(1, "tools/list"), []),
    (GOOD, Request(1, "tools/call", {"name": 7, **META}), []),
    (GOOD.with_("Mcp-Name", "\n"), Request(1, "tools/call", META), [["Mcp-Name", "U+000A", "has none"]]),
]


@pytest.mark.parametrize(("headers", "message", "problems"), PROBLEMS, ids=range(len(PROBLEMS)))
def test_headers_are_compared_with_the_body(
    headers: Headers, message: Request, problems: list[list[str]]
) -> None:
    found = header_problems(headers, message)
    assert len(found) == len(problems)
    for sentence, parts in zip(found, problems, strict=True):
        assert sentence.endswith(".")
        for part in parts:
            assert part in sentence


def test_more_values_can_be_repeated_and_compared() -> None:
    region = Mirrored("Mcp-Param-Region", "params.arguments.region", " eu ", True)
    nothing = Mirrored("Mcp-Param-City", "params.arguments.city", None, True)
    headers = modern_headers(CALL, extra=[region, nothing])
    assert headers.get("mcp-param-region") == "=?base64?IGV1IA==?="
    assert "mcp-param-city" not in headers
    assert header_problems(headers, CALL, extra=[region, nothing]) == []
    assert len(header_problems(GOOD, CALL, extra=[region, nothing])) == 1
    assert [row.header for row in mirrored(CALL)] == ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"]


@given(NO_SURROGATES, st.sampled_from(sorted(NAME_SOURCE)))
@settings(max_examples=200)
def test_our_own_headers_have_no_problems(name: str, method: str) -> None:
    request = Request(1, method, {NAME_SOURCE[method]: name, **META})
    assert header_problems(modern_headers(request), request) == []


@given(st.text(), st.text(), st.text())
def test_any_headers_are_compared_without_an_exception(version: str, method: str, name: str) -> None:
    headers = Headers({"MCP-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name})
    for sentence in header_problems(headers, CALL):
        assert len(sentence.splitlines()) == 1
        sentence.encode("utf-8")


# --- Accept and Origin ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accept", "json", "events"),
    [
        ([], True, True),
        (["application/json, text/event-stream"], True, True),
        (["application/json", "text/event-stream"], True, True),
        (["Application/JSON"], True, False),
        (["text/event-stream;charset=utf-8"], False, True),
        (["*/*"], True, True),
        (["text/*"], False, True),
        (["*/*, text/event-stream;q=0"], True, False),
        (["text/*;q=0, text/event-stream"], False, True),
        (["application/json;q=0.000 , */*;q=0.1"], False, True),
        (["application/json; Q=0"], False, False),
        (["application/json;q=0.5"], True, False),
        (["application/json;q=x"], True, False),
        (["application/json;q="], True, False),
        ([""], False, False),
        (["text/html"], False, False),
        (["application/jsonx, xapplication/json"], False, False),
        ([",,;q=1,"], False, False),
    ],
)
def test_accept(accept: list[str], json: bool, events: bool) -> None:
    headers = Headers(("accept", line) for line in accept)
    assert accepts(headers, "application/json") is json
    assert accepts(headers, "text/event-stream") is events


@given(st.text(st.sampled_from("*/;q=.,01 abtextjson-")))
def test_any_accept_header_has_an_answer(text: str) -> None:
    assert accepts(Headers({"Accept": text}), "text/event-stream") in (True, False)


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://localhost", True),
        ("https://localhost:8443", True),
        ("http://127.0.0.1:6274", True),
        ("http://[::1]:3000", True),
        ("HTTP://LOCALHOST", True),
        ("https://app.example", True),
        ("https://app.example:444", False),
        ("http://app.example", False),
        ("https://evil.example", False),
        ("http://localhost.evil.example", False),
        ("http://localhost@evil.example", False),
        ("http://localhost:80.evil.example", False),
        ("http://127.0.0.1.evil.example", False),
        ("http://127a0a0a1", False),
        ("http://localhost:", False),
        ("http://localhost:٣", False),
        ("http://localhost/", False),
        ("http://localhost\n", False),
        ("ftp://localhost", False),
        ("localhost", False),
        ("null", False),
        ("", False),
    ],
)
def test_origin(origin: str, allowed: bool) -> None:
    assert origin_allowed(Headers({"origin": origin}), frozenset({"https://app.example"})) is allowed


def test_no_origin_passes_and_two_do_not() -> None:
    assert origin_allowed(Headers())
    assert not origin_allowed(Headers([("Origin", "http://localhost"), ("Origin", "http://localhost")]))


# --- Server-sent events ---------------------------------------------------------------------------


def shown(found: list[SseEvent | FramingError]) -> list[SseEvent | str]:
    return [item if isinstance(item, SseEvent) else str(item) for item in found]


def test_events_as_bytes() -> None:
    assert sse_event(b"{}") == b"event: message\ndata: {}\n\n"
    assert sse_event(b"a\nb", event="x", id="7", retry_ms=500) == (
        b"event: x\nid: 7\nretry: 500\ndata: a\ndata: b\n\n"
    )
    assert sse_event(b"", id="7") == b"event: message\nid: 7\ndata: \n\n"
    assert sse_comment() == b":\n\n"
    assert sse_comment("still here") == b": still here\n\n"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"data": b"a\rb"}, "carriage return"),
        ({"event": "a\nb"}, r"type of an event holds U\+000A at character 1"),
        ({"event": "a\rb"}, r"U\+000D"),
        ({"event": ""}, "type of an event is empty"),
        ({"id": "\n"}, r"id of an event holds U\+000A"),
        ({"id": "a\0"}, r"U\+0000"),
        ({"id": "\ud800"}, "surrogate"),
        ({"retry_ms": -1}, "cannot be negative"),
    ],
)
def test_an_event_that_would_not_be_read_back_is_refused(arguments: dict[str, object], what: str) -> None:
    with pytest.raises(FramingError, match=what):
        sse_event(**{"data": b"", **arguments})  # type: ignore[arg-type]


def test_a_comment_is_one_line() -> None:
    with pytest.raises(FramingError, match="comment"):
        sse_comment("a\nb")


A = SseEvent("message", b"a")
TOO_LARGE = "A server-sent event is larger than the limit of 20 bytes."

STREAMS: list[tuple[bytes, list[SseEvent | str], bool]] = [
    (b"", [], False),
    (b"data: a\n\n", [A], False),
    (b"data: a\r\n\r\n", [A], False),
    (b"data: a\r\r", [A], False),
    (b"data: a\r\n\ndata: a\n\r\n", [A, A], False),
    (b"\xef\xbb\xbfdata: a\n\n", [A], False),
    (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", [], False),  # only one mark is ignored
    (b"data: a\n\n\xef\xbb\xbfdata: a\n\n", [A], False),
    (b"\xef\xbb", [], True),
    (b"data:a\n\n", [A], False),
    (b"data:  a\n\n", [SseEvent("message", b" a")], False),
    (b"data: a\ndata: b\n\n", [SseEvent("message", b"a\nb")], False),
    (b"data\n\n", [SseEvent("message", b"")], False),
    (b"data\ndata\n\n", [SseEvent("message", b"\n")], False),
    (b"data: a:b\n\n", [SseEvent("message", b"a:b")], False),
    (b"event: x\ndata: a\n\ndata: a\n\n", [SseEvent("x", b"a"), A], False),
    (b"event:\ndata: a\n\n", [A], False),
    (b"event: x\n\ndata: a\n\n", [A], False),
    (b"id: 1\ndata:\n\n", [SseEvent("message", b"", "1")], False),
    (b"id: 1\n\n", [], False),
    (b"id\ndata: a\n\n", [SseEvent("message", b"a", "")], False),
    (b"id: 1\0\ndata: a\n\n", [A], False),
    (b"retry: 10\ndata: a\n\n", [SseEvent("message", b"a", None, 10)], False),
    (b"retry: 1x\ndata: a\n\n", [A], False),
    (b"retry: -1\ndata: a\n\n", [A], False),
    (b"retry:\ndata: a\n\n", [A], False),
    (b"retry: \xd9\xa3\ndata: a\n\n", [A], False),  # a digit, but none of 0-9
    (b":\n\n: ping\n\ndata: a\n: x\n\n", [A], False),
    (b": 78901234567890\n" * 9 + b"data: a\n\n", [A], False),  # comments do not add up
    (b"Data: a\nother: b\n\n", [], False),
    (b" data: a\n\n", [], False),
    (b"\n\n\r\n\r", [], False),
    (b"data: \xff\xe2\x80\xa8\x0b\n\n", [SseEvent("message", b"\xff\xe2\x80\xa8\x0b")], False),
    (b"event: \xff\ndata: a\n\n", [SseEvent("�", b"a")], False),
    (b"data: a", [], True),
    (b"data: a\n", [], True),
    (b": a", [], False),
    (b": a\n", [], False),
    (b"data: 78901234567890\n\n", [SseEvent("message", b"78901234567890")], False),
    (b"data: 789012345678901\n\ndata: a\n\n", [TOO_LARGE, A], False),
    (b"data: 789\ndata: 789\nxyz\n\ndata: a\n\n", [TOO_LARGE, A], False),
    (
        b"data: 789\nid: 1\n\ndata: 78901234567890123\nid: 2",
        [SseEvent("message", b"789", "1"), TOO_LARGE],
        True,
    ),
    (b": 7890123456789012345\n\ndata: a\n\n", [TOO_LARGE, A], False),
]


@pytest.mark.parametrize(("stream", "events", "left"), STREAMS, ids=range(len(STREAMS)))
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_streams(stream: bytes, events: list[SseEvent | str], left: bool, size: int) -> None:
    reader = SseReader(max_bytes=20)
    seen = [item for at in range(0, len(stream), size) for item in reader.feed(stream[at : at + size])]
    assert shown(seen) == events
    assert reader.finish() is left


def test_id_and_retry_time_count_also_without_data() -> None:
    reader = SseReader()
    assert reader.last_event_id is None
    assert reader.retry_ms is None
    assert reader.feed(b"id: 7\nretry: 0500\n\n") == []
    assert reader.last_event_id == "7"
    assert reader.retry_ms == 500
    assert reader.feed(b"data: a\n\n") == [A]
    assert reader.last_event_id == "7"
    reader.feed(b"id: 8\nretry: 1\n")  # not complete, so it does not count yet
    assert reader.last_event_id == "7"
    assert reader.finish() is True
    assert reader.last_event_id == "7"
    assert reader.retry_ms == 500


def test_a_retry_time_of_any_length_is_read() -> None:
    reader = SseReader()
    reader.feed(b"retry: " + b"9" * 10_000 + b"\n\n")
    assert reader.retry_ms == 10**15
    reader.feed(b"retry: " + b"0" * 10_000 + b"\n\n")
    assert reader.retry_ms == 0


def test_an_event_that_never_ends_is_reported_at_once() -> None:
    reader = SseReader(max_bytes=100)
    assert len(reader.feed(b"data: " + b"x" * 95)) == 1
    for _ in range(1000):
        assert reader.feed(b"x\n" * 500) == []
    assert reader.feed(b"\ndata: a\n\n") == [A]


def test_bytes_that_come_one_by_one_take_time_in_proportion() -> None:
    def seconds(count: int) -> float:
        reader = SseReader(max_bytes=10**7)
        start = time.process_time()
        reader.feed(b"data:")
        for _ in range(count):
            reader.feed(b"x")
        assert reader.feed(b"\n\n") == [SseEvent("message", b"x" * count)]
        return time.process_time() - start

    few = min(seconds(20_000) for _ in range(3))
    assert seconds(400_000) < 100 * few + 1  # twenty times the bytes; quadratic would be 400 times the time


PIECES = [
    b"data: a",
    b"data",
    b":",
    b"id: 1",
    b"id: \0",
    b"event: x",
    b"retry: 5",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
]
STREAM = st.lists(st.sampled_from([*PIECES, b"\xef\xbb\xbf", b"\xff", b" "])).map(b"".join)


@given(STREAM, st.lists(st.integers(0, 80)), st.integers(1, 25))
@example(b"data: a\r\ndata: a\n\n", [8, 8], 25)  # an empty chunk between CR and LF
@settings(max_examples=800)
def test_chunks_make_no_difference(stream: bytes, cuts: list[int], max_bytes: int) -> None:
    whole = SseReader(max_bytes)
    expected = shown(whole.feed(stream)), whole.last_event_id, whole.retry_ms, whole.finish()
    reader = SseReader(max_bytes)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    seen = [item for a, b in itertools.pairwise(edges) for item in reader.feed(stream[a:b])]
    assert (shown(seen), reader.last_event_id, reader.retry_ms, reader.finish()) == expected


FIELD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"))


@given(
    st.lists(
        st.builds(
            SseEvent,
            FIELD.filter(bool),
            st.binary().map(lambda data: data.replace(b"\r", b"")),
            st.none() | FIELD,
            st.none() | st.integers(0, 10**15),
        )
    )
)
def test_events_are_read_back_as_they_were(events: list[SseEvent]) -> None:
    reader = SseReader()
    stream = b"".join(
        sse_comment("between") + sse_event(item.data, event=item.event, id=item.id, retry_ms=item.retry_ms)
        for item in events
    )
    assert reader.feed(stream) == events
    assert reader.finish() is False


@given(st.binary())
@settings(max_examples=300)
def test_any_stream_gives_events(stream: bytes) -> None:
    reader = SseReader(max_bytes=30)
    for item in reader.feed(stream):
        assert isinstance(item, (SseEvent, FramingError))
