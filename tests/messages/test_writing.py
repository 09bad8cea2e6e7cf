"""Messages to bytes, and back."""

from __future__ import annotations

import json
from collections import OrderedDict
from enum import IntEnum
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types.jsonrpc import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from mcpsim.errors import FramingError
from mcpsim.messages import (
    CLIENT_CAPABILITIES,
    PROTOCOL_VERSION,
    ErrorResponse,
    Message,
    Notification,
    Request,
    Response,
    describe,
    from_object,
    is_request_id,
    read_json,
    read_message,
    to_object,
    write_json,
    write_message,
)

META = {PROTOCOL_VERSION: "2026-07-28", CLIENT_CAPABILITIES: {}, "progressToken": 0}
CALL = Request(1, "tools/call", {"name": "größe", "arguments": {"n": [1, 2.5, None, True]}, "_meta": META})

WRITTEN: list[tuple[Message, str, str, type]] = [
    (
        CALL,
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"größe","arguments":'
        '{"n":[1,2.5,null,true]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        '"io.modelcontextprotocol/clientCapabilities":{},"progressToken":0}}}',
        "tools/call #1",
        JSONRPCRequest,
    ),
    (Request("1", "ping"), '{"jsonrpc":"2.0","id":"1","method":"ping"}', 'ping #"1"', JSONRPCRequest),
    (
        Request(0, "tools/list", {}),
        '{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{}}',
        "tools/list #0",
        JSONRPCRequest,
    ),
    (
        Notification("notifications/initialized"),
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        "notifications/initialized",
        JSONRPCNotification,
    ),
    (
        Notification("notifications/progress", {"progressToken": 0, "progress": 0.5}),
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":0.5}}',
        "notifications/progress",
        JSONRPCNotification,
    ),
    (
        Response(1, {"resultType": "complete", "tools": []}),
        '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[]}}',
        "result #1",
        JSONRPCResponse,
    ),
    (
        ErrorResponse(1, -32602, "No."),
        '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"No."}}',
        "error -32602 #1",
        JSONRPCError,
    ),
    (
        ErrorResponse("a", -32022, "No.", {"supported": ["2026-07-28"]}),
        '{"jsonrpc":"2.0","id":"a","error":{"code":-32022,"message":"No.","data":{"supported":["2026-07-28"]}}}',
        'error -32022 #"a"',
        JSONRPCError,
    ),
    (
        ErrorResponse(None, -32700, "No."),
        '{"jsonrpc":"2.0","error":{"code":-32700,"message":"No."}}',
        "error -32700 without id",
        JSONRPCError,
    ),
]


@pytest.mark.parametrize(("message", "text", "label", "model"), WRITTEN, ids=range(len(WRITTEN)))
def test_a_message_is_written_compact_in_order_and_read_back(
    message: Message, text: str, label: str, model: type
) -> None:
    data = write_message(message)
    assert data.decode() == text
    assert read_message(data) == message
    assert describe(message) == label


WITH_ID = [
    (row[0], row[3]) for row in WRITTEN if not isinstance(row[0], ErrorResponse) or row[0].id is not None
]


@pytest.mark.parametrize(("message", "model"), WITH_ID, ids=range(len(WITH_ID)))
def test_the_official_models_take_what_is_written(message: Message, model: type) -> None:
    assert type(jsonrpc_message_adapter.validate_json(write_message(message))) is model


def test_what_the_official_models_write_is_read() -> None:
    request = JSONRPCRequest(jsonrpc="2.0", id=7, method="tools/call", params={"name": "a", "_meta": {}})
    assert read_message(request.model_dump_json(exclude_none=True).encode()) == Request(
        7, "tools/call", {"name": "a", "_meta": {}}
    )


def test_the_official_null_for_an_unknown_id_is_read() -> None:
    # Here the official model follows JSON-RPC 2.0 ("id": null) and we write what the MCP schema says (no id).
    error = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=-32700, message="No."))
    data = error.model_dump_json().encode()
    assert b'"id":null' in data
    assert read_message(data) == ErrorResponse(None, -32700, "No.")


def test_a_written_message_is_on_one_line() -> None:
    data = write_message(Notification("a", {"text": "one\ntwo\rthree\u2028four\u0085"}))
    assert b"\n" not in data
    assert b"\r" not in data
    assert read_message(data) == Notification("a", {"text": "one\ntwo\rthree\u2028four\u0085"})


def test_to_object_is_a_new_dict_and_from_object_its_inverse() -> None:
    for message, *_ in WRITTEN:
        assert from_object(to_object(message)) == message
        assert to_object(message) is not to_object(message)


class Size(IntEnum):
    SMALL = 1


class Point(NamedTuple):
    x: int
    y: int


class Word(str):
    pass


def test_subclasses_of_what_json_has_are_written_as_what_they_are() -> None:
    value = OrderedDict([(Word("b"), Size.SMALL), ("a", Point(1, 2)), ("t", (True, ()))])
    assert write_json(value) == b'{"b":1,"a":[1,2],"t":[true,[]]}'


class Circle(dict[str, Any]):
    def __init__(self) -> None:
        super().__init__()
        self["self"] = self


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


CANNOT_BE_WRITTEN: list[tuple[Any, str]] = [
    (float("nan"), "The number at the value is not one that JSON can carry"),
    ({"a": [0, float("inf")]}, 'The number at the value["a"][1] '),
    ({"a": {"b": float("-inf")}}, 'The number at the value["a"]["b"] '),
    (10**5000, "The number at the value is not one"),
    ("a\ud800", "The string at the value holds half of a surrogate pair at character 1"),
    ({"a": ["\udfff"]}, 'The string at the value["a"][0] holds half'),
    ({"a": {"\ud83d\ude00": 1}}, 'A key in the value["a"] holds half of a surrogate pair'),
    ({1: 2}, "A key in the value is of type int"),
    ({"a": [{None: 2}]}, 'A key in the value["a"][0] is of type NoneType'),
    ([({True: 2},)], "A key in the value[0][0] is of type bool"),
    (OrderedDict([(1.5, 2)]), "A key in the value is of type float"),
    ({(1, 2): 2}, "A key in the value is of type tuple"),
    (b"bytes", "At the value stands an object of type bytes"),
    ({"a": {1, 2}}, 'At the value["a"] stands an object of type set'),
    ({"a": [object()]}, 'At the value["a"][0] stands an object of type object'),
    (Circle(), "contains itself"),
    (nested(100_000), "It is nested more than 2000 deep"),
    (nested(1_500), "It is nested too deep"),
]


@pytest.mark.parametrize(("value", "what"), CANNOT_BE_WRITTEN, ids=range(len(CANNOT_BE_WRITTEN)))
def test_what_json_cannot_carry_is_refused(value: Any, what: str) -> None:
    with pytest.raises(FramingError) as caught:
        write_json(value)
    assert what in str(caught.value)
    assert str(caught.value).endswith(".")
    with pytest.raises(FramingError):
        write_message(Request(1, "a", {"value": value}))


def test_the_place_of_a_deep_problem_is_told_short() -> None:
    value: Any = float("nan")
    for _ in range(300):
        value = {"a long key of an object": value}
    with pytest.raises(FramingError) as caught:
        write_json(value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("value", ["a", "", "\n", 0, 1, -1, 10**100])
def test_request_ids(value: Any) -> None:
    assert is_request_id(value)


@pytest.mark.parametrize("value", [None, True, False, 1.0, 1.5, [], {}, b"1", object()])
def test_what_is_no_request_id(value: Any) -> None:
    assert not is_request_id(value)


@pytest.mark.parametrize(
    ("message", "label"),
    [
        (Request("a b", "x y"), 'x y #"a b"'),
        (Request("\n", "x\u202ey"), '"x\\u202ey" #"\\n"'),
        (Request("é", ""), '"" #"é"'),
        (Request('"', "\ud800"), '"\\ud800" #"\\""'),
        (Response(10**5000, {}), "result #(an integer of 16610 bits)"),
        (Response(-7, {}), "result #-7"),
        (Response("x" * 100, {}), f'result #"{"x" * 59}…"'),
        (Notification("m" * 61), "m" * 59 + "…"),
    ],
)
def test_a_label_is_short_and_stays_on_its_line(message: Message, label: str) -> None:
    assert describe(message) == label


# --- Properties -----------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=15,
)
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=5)
IDS = st.integers() | TEXT
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(Request, IDS, TEXT, st.none() | OBJECTS),
    st.builds(Notification, TEXT, st.none() | OBJECTS),
    st.builds(Response, IDS, OBJECTS),
    st.builds(ErrorResponse, st.none() | IDS, st.integers(), TEXT, VALUES),
)


@given(MESSAGES)
@settings(max_examples=300)
def test_every_message_is_read_back_as_it_was(message: Message) -> None:
    data = write_message(message)
    again = read_message(data)
    assert again == message
    assert write_message(again) == data
    assert b"\n" not in data
    assert b"\r" not in data


@given(MESSAGES)
def test_every_message_has_a_short_label_on_one_line(message: Message) -> None:
    label = describe(message)
    assert label
    assert len(label) < 1000
    assert len(label.splitlines()) == 1
    label.encode("utf-8")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.none() | st.floats(), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(ANYTHING)
@settings(max_examples=500)
def test_any_value_is_written_exactly_or_refused(value: Any) -> None:
    try:
        data = write_json(value)
    except FramingError:
        assert not can_be_json(value)
    else:
        assert can_be_json(value)
        assert read_json(data) == json.loads(json.dumps(value))
        assert data == as_the_standard_library(value)


def as_the_standard_library(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def test_every_character_is_written_as_the_standard_library_writes_it() -> None:
    for plane in range(0, 0x110000, 0x10000):
        text = "".join(map(chr, range(plane, plane + 0x10000))).encode("utf-8", "ignore").decode()
        assert write_json([text, {text: text}]) == as_the_standard_library([text, {text: text}])


@pytest.mark.parametrize(
    "value", [2**63, -(2**63), -(2**63) - 1, 10**400, 10**639, 10**640, 10**4299, -0.0, 1e16]
)
def test_numbers_are_written_as_the_standard_library_writes_them(value: float) -> None:
    assert write_json([value, True]) == as_the_standard_library([value, True])
    assert write_json({"a": value}) == as_the_standard_library({"a": value})


@pytest.mark.parametrize("depth", [1, 200, 254, 255, 256, 500])
def test_a_deep_value_is_written(depth: int) -> None:
    assert write_json(nested(depth)) == b"[" * depth + b"1" + b"]" * depth


@pytest.mark.parametrize("make", [Size, Word, str, int])
def test_a_class_derived_from_what_json_has_is_written_alike(make: Any) -> None:
    assert write_json([make(1)]) == as_the_standard_library([make(1)])


def can_be_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and can_be_json(key) for key in value) and all(
            map(can_be_json, value.values())
        )
    if isinstance(value, (list, tuple)):
        return all(map(can_be_json, value))
    if isinstance(value, float):
        return value - value == 0
    if isinstance(value, str):
        return not any("\ud800" <= char <= "\udfff" for char in value)
    return not isinstance(value, bytes)
