"""The rules of `x-mcp-header`, and how values go into headers and are compared there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpsim.errors import ParameterHeaderError
from mcpsim.messages import Request
from mcpsim.transports.http import Headers, modern_headers
from mcpsim.utilities import parameter_headers
from mcpsim.utilities.parameter_headers import MAX_INTEGER, ParameterHeader, header_faults, mirrored_arguments


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def header(name: Any, type: Any = "string", **more: Any) -> dict[str, Any]:
    return {"type": type, "x-mcp-header": name, **more}


def test_annotations_are_found_along_chains_of_properties() -> None:
    found = parameter_headers.annotations(
        schema(
            region=header("Region"),
            plain={"type": "string"},
            deep=schema(deeper=schema(count=header("X-Count_1", "integer"))),
            flag=header("flag", "boolean"),
        )
    )
    assert found == (
        ParameterHeader(("region",), "Mcp-Param-Region", "string"),
        ParameterHeader(("deep", "deeper", "count"), "Mcp-Param-X-Count_1", "integer"),
        ParameterHeader(("flag",), "Mcp-Param-flag", "boolean"),
    )


@pytest.mark.parametrize(
    "found",
    [
        # Here it is the name of a property, or a member of a value: not an annotation.
        schema(**{"x-mcp-header": {"type": "string"}}),
        schema(a={"type": "object", "default": header("A"), "examples": [header("A")]}),
        schema(a={"enum": [header("A")]}, b={"const": header("B")}),
        {"type": "object", "$defs": {"x-mcp-header": {"type": "string"}}},
        {},
        True,
        None,
        [],
    ],
)
def test_what_is_no_annotation(found: Any) -> None:
    assert parameter_headers.annotations(found) == ()


WRONG_NAMES = ["", " ", "a b", "a:b", "a\r\nb", "a\n", "é", "(a)", "a/b", "\x00", "a,b", '"a"']


@pytest.mark.parametrize("name", WRONG_NAMES)
def test_a_name_is_a_token(name: str) -> None:
    with pytest.raises(ParameterHeaderError, match="must be a token"):
        parameter_headers.annotations(schema(a=header(name)))


@pytest.mark.parametrize("name", [1, None, True, ["A"], {}])
def test_a_name_is_a_string(name: Any) -> None:
    with pytest.raises(ParameterHeaderError, match="must be a string"):
        parameter_headers.annotations(schema(a=header(name)))


@pytest.mark.parametrize("type", ["number", "object", "array", "null", ["string", "null"], None, 5])
def test_only_primitive_types(type: Any) -> None:
    with pytest.raises(ParameterHeaderError, match="must be of the type integer, string or boolean"):
        parameter_headers.annotations(schema(a=header("A", type)))


@pytest.mark.parametrize(
    "wrong",
    [
        {**header("A"), "type": "object"},  # the root itself
        schema(a={"type": "array", "items": header("A")}),
        schema(a={"type": "array", "prefixItems": [header("A")]}),
        schema(a={"anyOf": [header("A"), {"type": "null"}]}),
        {"type": "object", "oneOf": [schema(a=header("A"))]},
        {"type": "object", "allOf": [schema(a=header("A"))]},
        {"type": "object", "not": schema(a=header("A"))},
        {"type": "object", "if": schema(a=header("A"))},
        {"type": "object", "then": schema(a=header("A"))},
        {"type": "object", "else": schema(a=header("A"))},
        {"type": "object", "$defs": {"a": header("A")}, "properties": {"a": {"$ref": "#/$defs/a"}}},
        {"type": "object", "patternProperties": {"^a": header("A")}},
        {"type": "object", "additionalProperties": header("A")},
        {"type": "object", "dependentSchemas": {"a": schema(b=header("A"))}},
        {"type": "object", "unheard": {"of": header("A")}},
    ],
)
def test_only_where_properties_alone_lead(wrong: Any) -> None:
    with pytest.raises(ParameterHeaderError, match="through `properties` alone"):
        parameter_headers.annotations(wrong)


def test_names_differ_in_more_than_their_case() -> None:
    with pytest.raises(ParameterHeaderError, match=r"a and b\.c both ask for Mcp-Param-REGION"):
        parameter_headers.annotations(schema(a=header("Region"), b=schema(c=header("REGION"))))


def test_a_schema_may_be_nested_deeply() -> None:
    deep: Any = header("A")
    for _ in range(5_000):
        deep = schema(a=deep)
    (found,) = parameter_headers.annotations(deep)
    assert len(found.path) == 5_000


ANNOTATED = parameter_headers.annotations(
    schema(
        region=header("Region"),
        count=header("Count", "integer"),
        flag=header("Flag", "boolean"),
        deep=schema(name=header("Deep")),
    )
)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, {}),
        ({"region": "us", "count": 42, "flag": True}, {"Region": "us", "Count": "42", "Flag": "true"}),
        ({"region": "", "count": -7, "flag": False}, {"Region": "", "Count": "-7", "Flag": "false"}),
        ({"region": None, "deep": {"name": None}}, {}),
        ({"deep": {"name": "x"}}, {"Deep": "x"}),
        ({"deep": "no object"}, {}),
        ({"region": {"an": "object"}, "count": 1.5, "flag": []}, {}),  # refused by the schema, not here
        ({"count": 42.0}, {"Count": "42"}),
        ({"count": MAX_INTEGER}, {"Count": str(MAX_INTEGER)}),
        ({"count": -MAX_INTEGER}, {"Count": str(-MAX_INTEGER)}),
    ],
)
def test_what_a_call_repeats(arguments: Any, expected: dict[str, str]) -> None:
    rows = mirrored_arguments(ANNOTATED, arguments)
    assert {row.header.removeprefix("Mcp-Param-"): row.value for row in rows} == expected
    assert all(row.encoded for row in rows)


@pytest.mark.parametrize("count", [MAX_INTEGER + 1, -MAX_INTEGER - 1, 2.0**60, 10**300])
def test_integers_beyond_the_safe_range_cannot_be_repeated(count: Any) -> None:
    with pytest.raises(ParameterHeaderError, match="Mcp-Param-Count"):
        mirrored_arguments(ANNOTATED, {"count": count})


@pytest.mark.parametrize("count", [MAX_INTEGER + 1, -MAX_INTEGER - 1, 2.0**60])
def test_a_server_takes_no_integer_beyond_the_safe_range_either(count: Any) -> None:
    """https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header"""
    headers = Headers({"Mcp-Param-Count": str(int(count))})
    (fault,) = header_faults(headers, ANNOTATED, {"count": count})
    assert f"params.arguments.count is beyond {MAX_INTEGER}" in fault


def sent(arguments: Any) -> Headers:
    message = Request(1, "tools/call", {"name": "a", "arguments": arguments})
    return modern_headers(message, "2026-07-28", mirrored_arguments(ANNOTATED, arguments))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "region": TEXT | st.none(),
        "count": st.integers(-MAX_INTEGER, MAX_INTEGER) | st.none(),
        "flag": st.booleans() | st.none(),
        "deep": st.fixed_dictionaries({}, optional={"name": TEXT}),
        "other": TEXT,
    },
)


@given(ARGUMENTS)
@example({"region": "=?base64?literal?="})
@example({"region": " padded "})
@example({"region": "Hello, 世界"})
@example({"region": "line1\nline2"})
def test_what_the_client_sends_the_server_accepts(arguments: Any) -> None:
    assert header_faults(sent(arguments), ANNOTATED, arguments) == []


@given(one=ARGUMENTS, other=ARGUMENTS)
def test_what_belongs_to_other_arguments_is_a_fault(one: Any, other: Any) -> None:
    differ = [
        row.header
        for row in ANNOTATED
        if parameter_headers.value_at(one, row.path) != parameter_headers.value_at(other, row.path)
    ]
    faults = header_faults(sent(one), ANNOTATED, other)
    assert len(faults) == len(differ)
    assert all(name in fault for name, fault in zip(differ, faults, strict=True))


@pytest.mark.parametrize(
    ("lines", "arguments", "says"),
    [
        ({}, {"region": "us"}, "is missing; the body says 'us' (params.arguments.region)"),
        ({"Mcp-Param-Region": "us"}, {}, "the body has none"),
        ({"Mcp-Param-Region": "us"}, {"region": None}, "the body has none"),
        ({"Mcp-Param-Region": "us"}, {"region": "US"}, "the body says 'US'"),
        ({"Mcp-Param-Region": "us"}, {"region": ["us"]}, "the body something else"),
        ({"Mcp-Param-Region": "=?base64?!!?="}, {"region": "us"}, "not valid Base64"),
        ({"Mcp-Param-Region": "=?base64?/w==?="}, {"region": "us"}, "not UTF-8"),
        ({"Mcp-Param-Region": "ü"}, {"region": "ü"}, "HTTP does not allow"),
        ({"Mcp-Param-Count": "43"}, {"count": 42}, "the body says '42'"),
        ({"Mcp-Param-Count": "42.5"}, {"count": 42}, "the body says '42'"),
        ({"Mcp-Param-Count": "4_2"}, {"count": 42}, "the body says '42'"),
        ({"Mcp-Param-Count": "٤٢"}, {"count": 42}, "HTTP does not allow"),
        ({"Mcp-Param-Flag": "True"}, {"flag": True}, "the body says 'true'"),
        ({"Mcp-Param-Flag": "1"}, {"flag": True}, "the body says 'true'"),
        ({"Mcp-Param-Deep": "a"}, {"deep": {"name": "b"}}, "params.arguments.deep.name"),
        (
            [("Mcp-Param-Region", "us"), ("mcp-param-region", "us")],
            {"region": "us"},
            "stands there 2 times",
        ),
    ],
)
def test_what_does_not_agree(lines: Any, arguments: Any, says: str) -> None:
    (fault,) = header_faults(Headers(lines), ANNOTATED, arguments)
    assert says in fault.replace('"', "'")


@pytest.mark.parametrize(
    ("lines", "arguments"),
    [
        ({"mcp-param-REGION": "us"}, {"region": "us"}),  # names have no case
        ({"Mcp-Param-Region": "=?base64?dXM=?="}, {"region": "us"}),  # encoded without need
        ({"Mcp-Param-Region": "  us\t"}, {"region": "us"}),  # blanks around a value are not part of it
        ({"Mcp-Param-Count": "42.0"}, {"count": 42}),  # integers are compared as numbers
        ({"Mcp-Param-Count": "042"}, {"count": 42}),
        ({"Mcp-Param-Count": "42"}, {"count": 42.0}),
        ({"Mcp-Param-Unknown": "anything"}, {}),  # nobody asked for it
    ],
)
def test_what_agrees(lines: Any, arguments: Any) -> None:
    assert header_faults(Headers(lines), ANNOTATED, arguments) == []


def test_an_integer_that_no_header_can_hold_is_compared_in_bounded_time() -> None:
    headers = Headers({"Mcp-Param-Count": "9" * 100_000})
    assert header_faults(headers, ANNOTATED, {"count": 10**5_000})
    assert header_faults(headers, ANNOTATED, {"count": 1})
