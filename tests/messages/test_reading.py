"""Bytes that are one message, and every way in which they are not."""

from __future__ import annotations

import inspect
import json
import math
import sys
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcpsim.errors import INVALID_REQUEST, PARSE_ERROR, MalformedMessage
from mcpsim.messages import (
    DEFAULT_LIMITS,
    Batch,
    ErrorResponse,
    Limits,
    Notification,
    Request,
    Response,
    from_object,
    read_batch,
    read_json,
    read_message,
)
from mcpsim.messages.checks import ENVELOPE_CHECKS, ERROR_CHECKS, REQUEST_CHECKS, RESULT_CHECKS
from mcpsim.messages.diagnosis import first_fault


def refusal(data: bytes, limits: Limits = DEFAULT_LIMITS) -> MalformedMessage:
    with pytest.raises(MalformedMessage) as caught:
        read_message(data, limits)
    return caught.value


GOOD = [
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', Request(1, "ping")),
    (b'{"jsonrpc":"2.0","id":0,"method":"ping","params":{}}', Request(0, "ping", {})),
    (b'{"jsonrpc":"2.0","id":"","method":"a","params":{"x":[1,null]}}', Request("", "a", {"x": [1, None]})),
    (b' {"method":"ping","id":-7,"jsonrpc":"2.0"}\n', Request(-7, "ping")),
    (b'{"jsonrpc":"2.0","method":"notifications/initialized"}', Notification("notifications/initialized")),
    (b'{"jsonrpc":"2.0","id":"a","result":{}}', Response("a", {})),
    (b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}', ErrorResponse(1, -1, "m")),
    (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m","data":[0]}}',
        ErrorResponse(1, -1, "m", [0]),
    ),
    # JSON-RPC 2.0 writes null where the id could not be read, the MCP schema leaves it out.
    (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}', ErrorResponse(None, -32700, "m")),
    (b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}', ErrorResponse(None, -32700, "m")),
    # Members that nobody knows are not forbidden.
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","extra":[true]}', Request(1, "ping")),
    ('{"jsonrpc":"2.0","id":"é","method":"ping"}'.encode(), Request("é", "ping")),
    (b'{"jsonrpc":"2.0","id":"\\ud83d\\ude00","method":"ping"}', Request("😀", "ping")),
    (b'{"jsonrpc":"2.0","id":' + b"9" * 400 + b',"method":"ping"}', Request(10**400 - 1, "ping")),
]


@pytest.mark.parametrize(("data", "message"), GOOD, ids=range(len(GOOD)))
def test_a_good_message_is_read(data: bytes, message: object) -> None:
    assert read_message(data) == message
    assert read_batch(data) == message


UNREADABLE = [
    (b"", "it is empty", 0),
    (b" \n", "nothing to read", 0),
    (b"\xef\xbb\xbf{}", "byte order mark", 0),
    (b'{"a":"\xff"}', "not UTF-8", 6),
    (b'{"a":"\xed\xa0\x80"}', "not UTF-8", 6),  # a surrogate written as three bytes
    ('{"é":"'.encode() + b"\xc3", "not UTF-8", 7),
    (b'{"a":"\\ud800"}', "\\ud800 is half of a surrogate pair", 6),
    (b'{"a":"\\uDFFF\\ud800"}', "\\uDFFF is half", 6),
    (b'["\\ud83d\\ud83d\\ude00"]', "\\ud83d is half", 2),
    (b'{"\\udc00":1}', "\\udc00 is half", 2),
    (b'{"a":1,"b":{"c":1,"c":2}}', 'the key "c" stands twice', 18),
    (b'{"a":1,"\\u0061":2}', 'the key "a" stands twice', 7),
    ('["é",NaN]'.encode(), "JSON has no NaN", 6),
    (b"[Infinity]", "JSON has no Infinity", 1),
    (b"[-Infinity]", "JSON has no -Infinity", 1),
    (b"[1e400]", "too large for a double", 1),
    (b"[-1.5e309]", "too large for a double", 1),
    (b"[1" + b"0" * 400 + b"]", "more than 400 digits", 1),
    (b"[0." + b"1" * 400 + b"]", "more than 400 digits", 1),
    (b"[-1e-" + b"0" * 400 + b"]", "more than 400 digits", 1),
    (b"[" * 65 + b"]" * 65, "nested more than 64 deep", 64),
    (b'{"a":' * 65 + b"1" + b"}" * 65, "nested more than 64 deep", 320),
    (b'["[[[",' + b"[" * 64 + b"]" * 64 + b"]", "nested more than 64 deep", 70),
    (b"[1,]", "a value", 3),
    (b"[,1]", "a value", 1),
    (b"[1 2]", "',' or ']'", 3),
    (b'{"a":1,}', "a key in double quotes", 7),
    (b"{a:1}", "a key in double quotes or '}'", 1),
    (b'{"a" 1}', "':'", 5),
    (b'{"a":1 "b":2}', "',' or '}'", 7),
    (b'{"a":}', "a value", 5),
    (b"{'a':1}", "a key in double quotes", 1),
    (b'["a\nb"]', "U+000A must be escaped", 3),
    (b'["\\x41"]', "no such escape", 2),
    (b'["\\u12"]', "no such escape", 2),
    (b'["abc', "a string is not closed", 1),
    (b"[01]", "',' or ']'", 2),
    (b"[+1]", "a value", 1),
    (b"[1.]", "',' or ']'", 2),
    (b"[-]", "a value", 1),
    (b"nul", "a value", 0),
    (b"{} {}", "something follows", 3),
    (b"[", "the text ends", 1),
    (b'{"a":1', "the text ends", 6),
    (b"}", "a value", 0),
    (b"{}\x00", "something follows", 2),
]


@pytest.mark.parametrize(("data", "what", "at"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_is_no_json_is_a_parse_error_with_a_position(data: bytes, what: str, at: int) -> None:
    error = refusal(data)
    assert error.code == PARSE_ERROR
    assert error.id is None
    assert what in error.message
    assert error.message.endswith(f"(at byte {at}).")


def test_the_limits_can_be_met_and_not_passed() -> None:
    limits = Limits(max_bytes=20, max_depth=3, max_digits=5)
    assert read_json(b"[[[12345]]]", limits) == [[[12345]]]
    assert read_json(b"[-1.23e45]", limits) == [-1.23e45]
    assert read_json(b"1" + b" " * 19, limits) == 1
    assert "at most 20" in refusal(b"1" + b" " * 20, limits).message
    assert "it has 21 bytes" in refusal(b"1" + b" " * 20, limits).message
    assert "more than 3 deep" in refusal(b"[[{},[[]]]]", limits).message
    assert "more than 5 digits" in refusal(b"[123456]", limits).message
    assert "more than 5 digits" in refusal(b"[1.234e56]", limits).message


def test_brackets_in_strings_do_not_count_as_depth() -> None:
    value = ["[{" * 100, '\\"[', {"]}" * 10: "\\" * 3 + "[" * 99}] + [[]] * 100
    assert read_json(json.dumps(value).encode()) == value
    assert read_json(b"[" * 64 + b"]" * 64) is not None


def test_more_digits_than_python_itself_converts_are_an_error_and_no_crash() -> None:
    digits = b"9" * (sys.get_int_max_str_digits() + 1)
    assert "than this Python can read" in refusal(digits, Limits(max_digits=10**6)).message


def test_the_deepest_that_can_be_asked_for_can_be_read() -> None:
    limits = Limits(max_depth=500)
    assert read_json(b"[" * 500 + b"]" * 500, limits) is not None
    assert "more than 500 deep" in refusal(b"[" * 501 + b"]" * 501, limits).message
    assert "more than 500 deep" in refusal(b'{"a":' * 200_000, limits).message


@pytest.mark.parametrize("depth", [-1, 501, 10**9])
def test_a_depth_that_not_every_python_can_read_cannot_be_asked_for(depth: int) -> None:
    with pytest.raises(ValueError, match="must be from 0 to 500"):
        Limits(max_depth=depth)


def test_reading_with_a_stack_that_is_nearly_full_is_an_error_and_no_crash() -> None:
    # The blank keeps it from being read without Python's own stack.
    data = b"[" * 64 + b" " + b"]" * 64
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 50)
    try:
        # From Python 3.12 on, the decoder's own C calls do not count, so there it can be read.
        seen = read_json(data) if sys.version_info >= (3, 12) else refusal(data).message
    finally:
        sys.setrecursionlimit(usual)
    assert seen == read_json(data) or "than this Python can read" in seen


@pytest.mark.parametrize("depth", [64, 199, 200, 201, 254, 255, 256, 500])
def test_what_is_too_deep_for_the_quick_reading_is_read_all_the_same(depth: int) -> None:
    data = b'{"a":' * (depth - 1) + b"[]" + b"}" * (depth - 1)
    value = read_json(data, Limits(max_depth=500))
    for _ in range(depth - 1):
        value = value["a"]
    assert value == []
    twice = data.replace(b"[]", b'{"a":1,"a":1}')
    assert "stands twice" in refusal(twice, Limits(max_depth=500)).message


@pytest.mark.parametrize("pad", [b"", b'"' + b"x" * 1000 + b'",'])
@pytest.mark.parametrize("digits", [30, 31, 32, 40, 400, 5000])
def test_the_digits_of_a_number_are_bounded_in_short_and_long_texts(digits: int, pad: bytes) -> None:
    limits = Limits(max_digits=digits)
    assert read_json(b"[" + pad + b"9" * min(digits, 4000) + b"]", limits) is not None
    assert f"more than {digits} digits" in refusal(b"[" + pad + b"9" * (digits + 1) + b"]", limits).message
    assert "digits" in refusal(b"[" + pad + b"0." + b"3" * digits + b"]", limits).message
    # In a string they are no number.
    assert read_json(b'["' + b"9" * 6000 + b'"]', limits) == ["9" * 6000]


def array_of(count: int, member: bytes) -> bytes:
    return b"[" + b",".join([member] * count)


# Each of these is good until its end, so that the slow and precise reading has to go all the way.
HOSTILE = {
    "open brackets": b"[" * 1_000_000,
    "closed brackets": array_of(250_000, b"[]"),
    "numbers": array_of(250_000, b"1"),
    "escaped quotes": b'"' + b'\\"' * 500_000,
    "backslashes": b'"' + b"\\" * 1_000_001,
    "quotes": b'"' * 1_000_000,
    "surrogates": b'"' + b"\\ud83d\\ude00" * 80_000,
    "digits": b"1" * 1_000_000,
    "exponents": array_of(100_000, b"1e5"),
    "zeros and dots": b"[" + b"0." * 500_000,
    "keys": b"{" + b",".join(b'"%d":1' % n for n in range(80_000)) + b',"1":2}',
    "blanks": b" " * 1_000_000 + b"x",
    "minus signs": b"-" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_of_hostile_text_is_refused_in_time(name: str) -> None:
    start = time.process_time()
    assert refusal(HOSTILE[name]).code == PARSE_ERROR
    assert time.process_time() - start < 5  # anything quadratic would take minutes


NOT_A_MESSAGE: list[tuple[str, str, Any]] = [
    ("[]", "A batch is not one message", None),
    ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "A batch is not one message", None),
    ("null", "this is null", None),
    ("true", "this is true", None),
    ("7", "this is the number 7", None),
    ('"ping"', 'this is the string "ping"', None),
    ("{}", "An empty object", None),
    ('{"id":1,"method":"ping"}', "`jsonrpc` is missing", 1),
    ('{"jsonrpc":"1.0","id":1,"method":"ping"}', '`jsonrpc` is the string "1.0"', 1),
    ('{"jsonrpc":2.0,"id":"a","method":"ping"}', "`jsonrpc` is the number 2.0", "a"),
    ('{"jsonrpc":null,"id":1,"method":"ping"}', "`jsonrpc` is null", 1),
    ('{"jsonrpc":"2.0","id":1}', "no `method`, no `result` and no `error`", 1),
    ('{"jsonrpc":"2.0","id":1,"method":7}', "`method` is the number 7", 1),
    ('{"jsonrpc":"2.0","id":1,"method":null}', "`method` is null", 1),
    ('{"jsonrpc":"2.0","id":null,"method":"ping"}', "`id` is null", None),
    ('{"jsonrpc":"2.0","id":true,"method":"ping"}', "`id` is true", None),
    ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', "`id` is the number 1.5", None),
    ('{"jsonrpc":"2.0","id":1.0,"method":"ping"}', "`id` is the number 1.0", None),
    ('{"jsonrpc":"2.0","id":1e2,"method":"ping"}', "`id` is the number 100.0", None),
    ('{"jsonrpc":"2.0","id":{},"method":"ping"}', "`id` is an object", None),
    ('{"jsonrpc":"2.0","id":[1],"method":"ping"}', "`id` is an array", None),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', "`params` is an array", 1),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","params":null}', "`params` is null", 1),
    ('{"jsonrpc":"2.0","method":"ping","params":"a"}', '`params` is the string "a"', None),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', "`method` and `result` stand together", 1),
    (
        '{"jsonrpc":"2.0","id":1,"method":"ping","error":{"code":1,"message":""}}',
        "`method` and `error` stand together",
        1,
    ),
    (
        '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}',
        "`result` and `error` stand together",
        1,
    ),
    ('{"jsonrpc":"2.0","id":1,"method":null,"result":{}}', "`method` and `result` stand together", 1),
    ('{"jsonrpc":"2.0","result":{}}', "A response without `id`", None),
    ('{"jsonrpc":"2.0","id":null,"result":{}}', "`id` is null", None),
    ('{"jsonrpc":"2.0","id":false,"result":{}}', "`id` is false", None),
    ('{"jsonrpc":"2.0","id":1.0,"result":{}}', "`id` is the number 1.0", None),
    ('{"jsonrpc":"2.0","id":1,"result":null}', "`result` is null", 1),
    ('{"jsonrpc":"2.0","id":1,"result":[]}', "`result` is an array", 1),
    ('{"jsonrpc":"2.0","id":1,"error":null}', "`error` is null", 1),
    ('{"jsonrpc":"2.0","id":1,"error":"no"}', '`error` is the string "no"', 1),
    ('{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}', "`error` has no `code`", 1),
    ('{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"m"}}', 'is the string "1"', 1),
    ('{"jsonrpc":"2.0","id":1,"error":{"code":true,"message":"m"}}', "is true", 1),
    ('{"jsonrpc":"2.0","id":1,"error":{"code":1.0,"message":"m"}}', "is the number 1.0", 1),
    ('{"jsonrpc":"2.0","id":1,"error":{"code":null,"message":"m"}}', "is null", 1),
    ('{"jsonrpc":"2.0","id":1,"error":{"code":1}}', "`error` has no `message`", 1),
    ('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":null}}', "The `message` of `error` is null", 1),
    ('{"jsonrpc":"2.0","id":true,"error":{"code":1,"message":"m"}}', "`id` is true", None),
]


@pytest.mark.parametrize(("text", "what", "id"), NOT_A_MESSAGE, ids=range(len(NOT_A_MESSAGE)))
def test_what_is_no_message_is_an_invalid_request(text: str, what: str, id: Any) -> None:
    error = refusal(text.encode())
    assert error.code == INVALID_REQUEST
    assert what in error.message
    assert error.message.endswith(".")
    assert error.id == id
    assert type(error.id) is type(id)


def test_each_rule_of_the_tables_is_broken_by_one_of_the_cases() -> None:
    messages = {refusal(text.encode()).message for text, _, _ in NOT_A_MESSAGE}
    for checks in (ENVELOPE_CHECKS, REQUEST_CHECKS, RESULT_CHECKS, ERROR_CHECKS):
        for check in checks:
            said = {
                check.sentence(obj)
                for text, _, _ in NOT_A_MESSAGE
                if isinstance(obj := json.loads(text), dict) and says(check, obj)
            }
            assert said & messages


def says(check: Any, obj: dict[str, Any]) -> bool:
    try:
        return check.breaks(obj)
    except (KeyError, TypeError):  # a rule is only asked after the rules before it
        return False


def test_an_error_shows_long_and_strange_values_short_and_on_one_line() -> None:
    error = refusal(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x", "params": "\n\u2028" * 10_000}).encode()
    )
    assert len(error.message) < 500
    assert len(error.message.splitlines()) == 1
    assert "\\n" in error.message


def test_a_value_that_python_made_and_json_cannot_hold_is_no_message() -> None:
    with pytest.raises(MalformedMessage, match="no JSON value"):
        from_object(object())
    with pytest.raises(MalformedMessage, match="no JSON value"):
        from_object({"jsonrpc": "2.0", "id": b"1", "method": "ping"})
    with pytest.raises(MalformedMessage, match="an integer of"):
        from_object({"jsonrpc": 10**5000})


def test_a_batch_keeps_its_good_members() -> None:
    batch = read_batch(b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2},[],7]')
    assert isinstance(batch, Batch)
    good, *bad = batch.members
    assert good == Request(1, "ping")
    assert [type(member) for member in bad] == [MalformedMessage] * 3
    assert [member.id for member in bad if isinstance(member, MalformedMessage)] == [2, None, None]


def test_an_empty_batch_is_an_invalid_request() -> None:
    with pytest.raises(MalformedMessage, match="An empty array is not a batch") as caught:
        read_batch(b" [ ] ")
    assert caught.value.code == INVALID_REQUEST


def test_a_batch_that_is_no_json_is_a_parse_error() -> None:
    with pytest.raises(MalformedMessage) as caught:
        read_batch(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert caught.value.code == PARSE_ERROR


# --- Properties -----------------------------------------------------------------------------------

PUNCTUATION = ["{", "}", "[", "]", ",", ":", " ", "\n", '"', "\\", "\x00", "\u2028", "\ufeff", "é", "😀"]
STRINGS = ['"a"', '"b":', '"\\u0061"', "\\ud800", "\\udc00", "\\n", '"jsonrpc":"2.0"', '"id":', '"method":']
SCALARS = ["0", "1", "-", "1.5", "e", "E9", "1e999", "9" * 50, "true", "null", "NaN", "-Infinity"]
JSON_PIECES = st.sampled_from([*PUNCTUATION, *STRINGS, *SCALARS, '"result":{}', '"error":'])
JSON_LIKE = st.lists(JSON_PIECES, max_size=25).map("".join)
TIGHT = Limits(max_bytes=10_000, max_depth=4, max_digits=40)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)

UNICODE_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('abc:"{', max_size=3), inner, max_size=4)
    ),
    max_leaves=15,
)


def only_a_malformed_message(data: bytes, limits: Limits) -> None:
    for read in (read_json, read_message, read_batch):
        error = None
        try:
            read(data, limits)
        except MalformedMessage as refused:
            error = refused
        if error:
            assert error.code in (PARSE_ERROR, INVALID_REQUEST)
            assert error.message.encode("utf-8").endswith(b".")


@given(st.binary(max_size=60))
@settings(max_examples=300)
def test_any_bytes_give_a_message_or_a_malformed_message(data: bytes) -> None:
    only_a_malformed_message(data, TIGHT)


@given(JSON_LIKE)
@settings(max_examples=500)
def test_any_text_that_looks_like_json_gives_a_message_or_a_malformed_message(text: str) -> None:
    only_a_malformed_message(text.encode(), TIGHT)


@given(VALUES, st.data())
@settings(max_examples=200)
def test_a_message_with_a_few_bytes_changed_gives_a_message_or_a_malformed_message(
    value: Any, data: st.DataObject
) -> None:
    good = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"v": value}}).encode()
    at = data.draw(st.integers(0, len(good)))
    bad = good[:at] + data.draw(st.binary(max_size=3)) + good[at + data.draw(st.integers(0, 3)) :]
    only_a_malformed_message(bad, Limits())


def compact(value: Any) -> str:
    """As most peers write it, and as nothing is read more quickly."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


TEXTS = JSON_LIKE | VALUES.map(json.dumps) | UNICODE_VALUES.map(compact)


@given(TEXTS)
@settings(max_examples=800)
@example('{"a":{"a":{"a":{"a":{}}}}}')
@example('{"a":1,"a":1}')
@example("[1e999]")
@example("0" * 50)
@example('{"a":{"b":1,"b":1}}')
@example('{"a":1,"\\u0061":1}')
@example("[-0,-0.0,1e5,100000.0,1e16,1e+16]")
@example("1e400")
def test_the_fast_and_the_precise_reading_agree(text: str) -> None:
    try:
        value = read_json(text.encode(), TIGHT)
    except MalformedMessage:
        assert first_fault(text, TIGHT) is not None
    else:
        assert first_fault(text, TIGHT) is None
        # Not `==`, for which 1 is True and 1.0, and 0.0 is -0.0.
        assert repr(value) == repr(json.loads(text))


@given(TEXTS)
@settings(max_examples=300)
def test_only_what_the_standard_library_reads_is_read_and_only_for_a_reason_not(text: str) -> None:
    doubles: list[Any] = []

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(members)) < len(members):
            doubles.append(members)
        return dict(members)

    try:
        value = json.loads(text, object_pairs_hook=pairs)
    except ValueError:
        assert refusal(text.encode()).code == PARSE_ERROR
        return
    strange = doubles or any(map(is_strange, leaves(value))) or depth(value) > 64
    if strange:
        assert refusal(text.encode()).code == PARSE_ERROR
    else:
        assert read_json(text.encode()) == value


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *(leaf for item in value.values() for leaf in leaves(item))]
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, list) else [value]


def depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def is_strange(leaf: Any) -> bool:
    if isinstance(leaf, str):
        return any("\ud800" <= char <= "\udfff" for char in leaf)
    if isinstance(leaf, float):
        return not math.isfinite(leaf)
    return isinstance(leaf, int) and len(str(abs(leaf))) > 400
