"""Schemas of strangers are judged within bounds, and only where that is sure."""

from __future__ import annotations

import time
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsim.audit.json_schemas import NotJudged, Schemas, references_outside
from mcpsim.utilities.schema_bounds import MAX_DEPTH, MAX_PARTS

DRAFT_4 = "http://json-schema.org/draft-04/schema#"


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"inner": schema}}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"$schema": DRAFT_4, "minimum": 0, "exclusiveMinimum": True},
        # A regular expression is not one of Python.
        {"type": "string", "pattern": r"^\p{Lu}\p{L}+$"},
        {"$ref": "#/$defs/nowhere"},
    ],
)
def test_a_valid_schema_has_no_fault(schema: dict[str, Any]) -> None:
    assert Schemas().fault_of(schema) is None


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({"type": "strin"}, "type"),
        ({"minimum": 0, "exclusiveMinimum": True}, "exclusiveMinimum"),
        ({"properties": {"a": {"items": [{"type": "string"}]}}}, "properties.a.items"),
    ],
)
def test_a_schema_that_is_none_has_a_fault(schema: dict[str, Any], where: str) -> None:
    assert (Schemas().fault_of(schema) or "").startswith(f"{where}: ")


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "https://example.com/our-own"},
        {"$schema": 5},
        nested(MAX_DEPTH),
        {"enum": list(range(MAX_PARTS + 1))},
    ],
)
def test_what_is_beyond_the_bounds_is_not_judged(schema: dict[str, Any]) -> None:
    with pytest.raises(NotJudged):
        Schemas().fault_of(schema)


def test_a_misfit_is_named() -> None:
    schema = {"type": "object", "properties": {"hours": {"type": "array", "items": {"maximum": 24}}}}
    misfit = Schemas().misfit(schema, {"hours": [8, 25]})
    assert misfit is not None
    assert (misfit.where, misfit.keyword) == ("hours.1", "maximum")
    assert Schemas().misfit(schema, {"hours": [8, 24]}) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#/$defs/nowhere"},
        {"$ref": "#/title", "title": "no schema"},
        {"not": {"pattern": "a"}},
        {"type": "nothing that there is"},
    ],
)
def test_no_value_is_held_against_what_cannot_be_judged(schema: dict[str, Any]) -> None:
    with pytest.raises(NotJudged):
        Schemas().misfit(schema, "b")


def test_no_regular_expression_is_run() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "pattern": "(a+)+$"}}}
    began = time.perf_counter()
    assert Schemas().misfit(schema, {"name": "a" * 40 + "!"}) is None
    assert time.perf_counter() - began < 5


def test_a_schema_that_grows_while_it_is_used_is_given_up() -> None:
    levels = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**levels, "d30": {"type": "string"}}}
    began = time.perf_counter()
    with pytest.raises(NotJudged):
        Schemas().misfit(schema, 1)
    assert time.perf_counter() - began < 20


def test_references_to_other_places() -> None:
    inside = {
        "$id": "https://example.com/a",
        "$ref": "#/$defs/b",
        "allOf": [{"$ref": "https://example.com/a#/$defs/b"}],
    }
    assert references_outside(inside) == []
    assert references_outside({"items": {"$ref": "https://example.com/c#"}}) == ["https://example.com/c#"]


TYPES = st.sampled_from(["string", "boolean", "integer", "number", "array", "object", "null"])
NAMES = st.sampled_from("abc")
MEMBERS = st.dictionaries(NAMES, st.fixed_dictionaries({}, optional={"type": TYPES}))
PLAIN = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": MEMBERS,
        "required": st.lists(NAMES, unique=True),
        "additionalProperties": st.booleans(),
    },
)
VALUES = st.dictionaries(
    NAMES, st.sampled_from(["", 1, 1.0, 2.5, True, None, [], {}]), max_size=3
) | st.sampled_from([[], "a", None])


@given(PLAIN, VALUES)
def test_the_quick_way_says_what_the_library_says(schema: dict[str, Any], value: Any) -> None:
    fits = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (Schemas().misfit(schema, value) is None) == fits
