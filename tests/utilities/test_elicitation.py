"""Forms: which schemas they may have in which revision, and which answers fit them."""

from __future__ import annotations

from datetime import date
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from mcpsim.eras.asking import RULES, rules_of
from mcpsim.errors import ElicitationSchemaError
from mcpsim.utilities.elicitation import (
    check_form,
    faults_of_content,
    faults_of_value,
    form_of,
    is_form,
    is_timestamp,
    is_uri,
    is_url,
    kind_of,
    missing_fields,
    names_user,
    options_of,
    with_defaults,
)

LATEST = rules_of("2026-07-28")
BEFORE = rules_of("2025-06-18")


def form(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


# Each field, its kind, whether 2025-06-18 has it too, values that fit, and values that do not.
FIELDS: list[tuple[str, dict[str, Any], bool, list[Any], list[Any]]] = [
    ("string", {"type": "string"}, True, ["", "x", "ü"], [1, True, None, ["x"], {}]),
    ("string", {"type": "string", "title": "T", "description": "D"}, True, ["x"], [1.5]),
    (
        "string",
        {"type": "string", "minLength": 2, "maxLength": 3},
        True,
        ["ab", "abc", "🎈🎈"],
        ["a", "abcd"],
    ),
    ("string", {"type": "string", "default": "x"}, False, ["y"], [0]),
    (
        "string",
        {"type": "string", "format": "email"},
        True,
        ["a@b", "a.b+c@example.com"],
        ["", "a", "@b", "a@", "a b@c", "a@b@c", "a@b..c"],
    ),
    (
        "string",
        {"type": "string", "format": "uri"},
        True,
        ["https://example.com/", "urn:x:y", "mailto:a@b"],
        ["", "/x", "example.com", "https://a b", "https:"],
    ),
    (
        "string",
        {"type": "string", "format": "date"},
        True,
        ["2026-07-28", "2024-02-29", "2000-02-29"],
        [
            "2026-7-28",
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-04-31",
            "2026-00-10",
            "28.7.2026",
            "٢٠٢٦-٠٧-٢٨",
        ],
    ),
    (
        "string",
        {"type": "string", "format": "date-time"},
        True,
        ["2026-07-28T10:30:00Z", "2026-07-28t10:30:60.125+05:30", "2026-07-28T23:59:59-00:00"],
        [
            "2026-07-28",
            "2026-07-28 10:30:00Z",
            "2026-07-28T10:30:00",
            "2026-07-28T24:00:00Z",
            "2026-02-30T10:30:00Z",
        ],
    ),
    (
        "number",
        {"type": "number", "minimum": 0, "maximum": 1.5},
        True,
        [0, 1, 1.5, 0.25],
        [-1, 2, "1", True, None],
    ),
    (
        "integer",
        {"type": "integer", "minimum": -2, "maximum": 2},
        True,
        [-2, 0, 2, 1.0],
        [3, 0.5, "1", False],
    ),
    ("number", {"type": "number", "default": 0.5}, False, [1], ["x"]),
    ("integer", {"type": "integer", "default": 3}, False, [1], ["x"]),
    ("boolean", {"type": "boolean"}, True, [True, False], [0, 1, "true", None]),
    ("boolean", {"type": "boolean", "default": False}, True, [True], [0]),
    ("choice", {"type": "string", "enum": ["a", "b"]}, True, ["a", "b"], ["c", "", 1, ["a"]]),
    ("choice", {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}, True, ["a"], ["A"]),
    ("choice", {"type": "string", "enum": ["a", "b"], "default": "b"}, False, ["a"], ["A"]),
    (
        "titled choice",
        {
            "type": "string",
            "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}],
            "default": "a",
        },
        False,
        ["a", "b"],
        ["A", "c", 1],
    ),
    (
        "choices",
        {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "minItems": 1, "maxItems": 2},
        False,
        [["a"], ["b", "c"]],
        [[], ["a", "b", "c"], ["d"], "a", [1], {}],
    ),
    (
        "choices",
        {
            "type": "array",
            "title": "T",
            "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
            "default": ["a", "b"],
        },
        False,
        [[], ["a"]],
        [["A"], "a"],
    ),
]


@pytest.mark.parametrize(("kind", "field", "before", "fit", "unfit"), FIELDS, ids=str)
def test_every_kind_of_field(kind: str, field: Any, before: bool, fit: list[Any], unfit: list[Any]) -> None:
    schema = form(x=field)
    assert kind_of(field) == kind
    check_form(schema, LATEST)
    assert is_form(schema)
    if before:
        check_form(schema, BEFORE)
    else:
        with pytest.raises(ElicitationSchemaError):
            check_form(schema, BEFORE)
    for value in fit:
        assert faults_of_content(schema, {"x": value}) == [], value
    for value in unfit:
        (fault,) = faults_of_content(schema, {"x": value})
        assert fault.startswith("x: ")


WRONG: list[tuple[Any, str]] = [
    ({}, 'its type must be "object"'),
    ({"type": "array", "properties": {}}, 'its type must be "object"'),
    ({"type": "object"}, "its properties must be an object"),
    ({"type": "object", "properties": []}, "its properties must be an object"),
    ({"type": "object", "properties": {}, "required": "x"}, "a list of names"),
    ({"type": "object", "properties": {}, "required": ["x"]}, "'x', which is no property"),
    ({"type": "object", "properties": {}, "additionalProperties": False}, "'additionalProperties'"),
    (form(x=7), "x: a field is an object"),
    (form(x={}), "x: the type None"),
    (form(x={"type": "object", "properties": {}}), "A form is flat"),
    (form(x={"type": "null"}), "A form is flat"),
    (form(x={"type": ["string", "null"]}), "A form is flat"),
    (form(x={"type": "array", "items": {"type": "object"}}), "something in it"),
    (form(x={"type": "array"}), "items must be an object"),
    (form(x={"type": "array", "items": {"enum": ["a"]}}), 'items must be "string"'),
    (form(x={"type": "array", "items": {"type": "string", "enum": ["a"], "pattern": "."}}), "'pattern'"),
    (form(x={"type": "string", "pattern": "."}), "'pattern'"),
    (form(x={"type": "string", "format": "ipv4"}), "format must be one of"),
    (form(x={"type": "string", "title": 7}), "title must be a text"),
    (form(x={"type": "string", "minLength": -1}), "minLength must be a whole number"),
    (form(x={"type": "string", "maxLength": 1.5}), "maxLength must be a whole number"),
    (form(x={"type": "string", "minLength": 3, "maxLength": 2}), "nothing fits"),
    (form(x={"type": "number", "minimum": "0"}), "minimum must be a number"),
    (form(x={"type": "number", "exclusiveMinimum": 0}), "'exclusiveMinimum'"),
    (form(x={"type": "number", "minimum": 3, "maximum": 2}), "nothing fits"),
    (form(x={"type": "string", "enum": []}), "something in it"),
    (form(x={"type": "string", "enum": ["a", 1]}), "a list of texts"),
    (form(x={"type": "string", "enum": ["a", "a"]}), "stands there twice"),
    (form(x={"type": "string", "enum": ["a"], "enumNames": ["A", "B"]}), "a text for each member"),
    (form(x={"type": "string", "oneOf": [{"const": "a"}]}), "const and title"),
    (form(x={"type": "string", "default": 7}), "its default: must be a text"),
    (form(x={"type": "string", "enum": ["a"], "default": "b"}), "its default: must be one of"),
    (form(x={"type": "integer", "minimum": 5, "default": 3}), "its default: must be 5 or more"),
    (form(x={"type": "string", "description": "\ud800"}), "cannot be sent"),
]


@pytest.mark.parametrize(("schema", "said"), WRONG, ids=str)
def test_what_a_form_may_not_be(schema: Any, said: str) -> None:
    with pytest.raises(ElicitationSchemaError) as raised:
        check_form(schema, LATEST)
    assert said in str(raised.value)


def test_only_revisions_with_forms_are_asked_about_them() -> None:
    assert [version for version, rules in RULES.items() if rules.forms] == [
        "2025-06-18",
        "2025-11-25",
        "2026-07-28",
    ]
    assert [version for version, rules in RULES.items() if rules.elicitation_ids] == ["2025-11-25"]


# A client is less strict with the schemas of others


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        (form(), True),
        (form(x={"type": "string", "pattern": "."}), True),
        ({**form(), "additionalProperties": False}, True),
        (form(x={"type": "object"}), False),
        (form(x={"type": "string", "minLength": "2"}), False),
        (form(x={"type": "number", "maximum": None}), False),
        ({**form(), "required": 7}, False),
        (form(x=7), False),
        ({"type": "object"}, False),
        ({"properties": {}}, False),
        (7, False),
        (None, False),
    ],
    ids=str,
)
def test_a_client_shows_what_it_can(schema: Any, shown: bool) -> None:
    assert is_form(schema) == shown


def test_defaults_fill_what_was_left_alone_in_the_order_of_the_form() -> None:
    schema = form(
        a={"type": "string", "default": "x"},
        b={"type": "string"},
        c={"type": "boolean", "default": False},
        d={"type": "array", "items": {"type": "string", "enum": ["p"]}, "default": ["p"]},
    )
    assert list(with_defaults(schema, {"c": True, "b": "y", "z": 1}).items()) == [
        ("a", "x"),
        ("b", "y"),
        ("c", True),
        ("d", ["p"]),
        ("z", 1),
    ]
    assert missing_fields({**schema, "required": ["b", "a"]}, {"a": "x"}) == ["b"]
    assert faults_of_content(schema, {"z": 1}) == ["z: the form has no such field."]


def test_a_long_list_of_options_is_cut() -> None:
    field = {"type": "string", "enum": [f"o{n}" for n in range(100)]}
    (fault,) = faults_of_value(field, "x")
    assert fault.endswith("'o9' and 90 more.")
    assert options_of({"type": "string"}) is None


# Against the reference implementation of JSON Schema

TEXTS = st.text(max_size=6)
NAMES = st.lists(TEXTS, min_size=1, max_size=4, unique=True)


def limits(low: str, high: str, numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.just({}),
        numbers.map(lambda n: {low: n}),
        numbers.map(lambda n: {high: n}),
        st.tuples(numbers, numbers).map(lambda pair: {low: min(pair), high: max(pair)}),
    )


def titled(names: list[str]) -> list[dict[str, str]]:
    return [{"const": name, "title": name.upper()} for name in names]


SIZES = st.integers(0, 5)
FIELD = st.one_of(
    limits("minLength", "maxLength", SIZES).map(lambda more: {"type": "string", **more}),
    limits("minimum", "maximum", st.integers(-5, 5) | st.floats(-5, 5)).map(
        lambda more: {"type": "number", **more}
    ),
    limits("minimum", "maximum", st.integers(-5, 5)).map(lambda more: {"type": "integer", **more}),
    st.just({"type": "boolean"}),
    NAMES.map(lambda names: {"type": "string", "enum": names}),
    NAMES.map(lambda names: {"type": "string", "oneOf": titled(names)}),
    st.tuples(NAMES, limits("minItems", "maxItems", SIZES)).map(
        lambda pair: {"type": "array", "items": {"type": "string", "enum": pair[0]}, **pair[1]}
    ),
    st.tuples(NAMES, limits("minItems", "maxItems", SIZES)).map(
        lambda pair: {"type": "array", "items": {"anyOf": titled(pair[0])}, **pair[1]}
    ),
)
VALUE = st.one_of(
    TEXTS,
    st.integers(-6, 6),
    st.floats(-6, 6),
    st.booleans(),
    st.none(),
    st.lists(TEXTS, max_size=4),
)


@given(st.data(), FIELD)
def test_a_value_fits_where_json_schema_says_so(data: st.DataObject, field: dict[str, Any]) -> None:
    check_form(form(x=field), LATEST)
    near = st.sampled_from(list(options_of(field) or ("",)))
    value = data.draw(VALUE | near | st.lists(near, max_size=4))
    reference = jsonschema.Draft202012Validator(field).is_valid(value)
    # An array of anything else than its options is refused by both; `anyOf` of texts needs texts.
    assert (list(faults_of_value(field, value)) == []) == reference


@given(
    st.recursive(
        st.none() | st.integers() | TEXTS, lambda inner: st.dictionaries(TEXTS, inner) | st.lists(inner)
    )
)
def test_whatever_is_given_for_a_schema_is_refused_in_words(schema: Any) -> None:
    assert is_form(schema) in (True, False)
    if isinstance(schema, dict):
        with pytest.raises(ElicitationSchemaError):
            check_form(schema, LATEST)


MEMBERS = [
    "enum",
    "oneOf",
    "items",
    "default",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "enumNames",
    "format",
]
ODD = (
    st.sampled_from(["string", "array", "object", "number", "date"])
    | st.none()
    | st.integers()
    | st.lists(
        TEXTS | st.none() | st.lists(TEXTS) | st.dictionaries(st.sampled_from(["const", "title"]), TEXTS)
    )
    | st.dictionaries(st.sampled_from(["type", "enum", "anyOf"]), st.lists(TEXTS | st.lists(TEXTS)) | TEXTS)
)


@given(
    st.sampled_from(["string", "number", "integer", "boolean", "array"]),
    st.dictionaries(st.sampled_from(MEMBERS), ODD, min_size=1, max_size=3),
    VALUE,
)
def test_half_valid_fields_break_nothing(type_: str, members: dict[str, Any], value: Any) -> None:
    schema = form(x={"type": type_, **members})
    try:
        check_form(schema, LATEST)
    except ElicitationSchemaError:
        pass
    else:
        assert is_form(schema)
    # A client may get any of these from a foreign server.
    if is_form(schema):
        assert isinstance(faults_of_content(schema, with_defaults(schema, {"x": value})), list)


@pytest.mark.parametrize("year", [1900, 1996, 2000, 2023, 2024, 2100])
def test_the_calendar(year: int) -> None:
    field = {"type": "string", "format": "date"}
    for month in range(14):
        for day in (0, 1, 28, 29, 30, 31, 32):
            try:
                date(year, month, day)
                exists = True
            except ValueError:
                exists = False
            assert (not list(faults_of_value(field, f"{year:04}-{month:02}-{day:02}"))) == exists


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("2025-01-12T15:00:58Z", True),
        ("2025-01-12T15:00:58.123+01:00", True),
        ("2025-01-12T15:00", True),
        ("2025-01-12", True),
        ("2025-01-12 15:00:58Z", False),
        ("2025-13-12", False),
        ("2025-01-12T25:00:00Z", False),
        ("12.1.2025", False),
        ("", False),
    ],
)
def test_a_moment_by_iso_8601(text: str, fits: bool) -> None:
    assert is_timestamp(text) == fits


def test_a_uri_is_absolute() -> None:
    assert is_uri("https://example.com/a?b=c#d")
    assert not is_uri("//example.com/")


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "HTTP://example.com:8080/a?b#c",
        "http://[::1]:80/",
        "http://localhost",
        "app:open/1",
        "https://example.com:/",
        "https://user@example.com/",
        "https://example.com?q=@",
    ],
)
def test_a_url_leads_somewhere(url: str) -> None:
    assert is_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "https:",
        "https://",
        "https:///a",
        "http://:80/",
        "http://[::1",
        "http://a:99999/",
        "http://a:b/",
        "/a",
        "",
    ],
)
def test_a_url_that_leads_nowhere(url: str) -> None:
    assert not is_url(url)


def test_a_url_may_name_a_user() -> None:
    assert names_user("https://ann@example.com/")
    assert names_user("https://ann:secret@example.com")
    assert not names_user("https://example.com/@ann")
    assert not names_user("https://example.com?to=ann@example.com")


def test_a_model_that_has_no_schema_is_refused() -> None:
    class Strange(BaseModel):
        model_config = {"arbitrary_types_allowed": True}
        thing: object = 7
        call: type[int] | None = None

        @classmethod
        def model_json_schema(cls, *args: Any, **more: Any) -> Any:
            from pydantic.errors import PydanticInvalidForJsonSchema

            raise PydanticInvalidForJsonSchema("no")

    with pytest.raises(ElicitationSchemaError, match="no JSON Schema"):
        form_of(Strange)


@pytest.mark.parametrize("given", [None, 5, "text", [1], int, object()])
def test_what_is_no_form_is_refused(given: Any) -> None:
    with pytest.raises(ElicitationSchemaError, match="a JSON Schema or a pydantic model class"):
        form_of(given)
