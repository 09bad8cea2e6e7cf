"""Arguments: what the client is shown is what is enforced, from type hints and from schemas."""

from __future__ import annotations

import datetime
import enum
import functools
import json
import warnings
from collections.abc import Callable
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from talking import call, modern, talk

from mcpsim import Context, Server, ToolError
from mcpsim.errors import RegistrationError
from mcpsim.messages import read_json, write_json
from mcpsim.server.arguments import _is_exact
from mcpsim.server.schemas import MAX_SCHEMA_DEPTH, MAX_SCHEMA_PARTS
from mcpsim.server.tools import Tool, tool_from_function


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Point(BaseModel):
    x: int
    y: int = 0


class Shape(BaseModel):
    name: str
    points: list[Point]
    colour: Colour | None = None


NOTHING = object()


def tool_for(hint: Any, default: Any = NOTHING, name: str = "value") -> Tool:
    """A tool with one argument of this type, which it returns."""
    if default is NOTHING:
        source = f"def f({name}): return {name}"
    else:
        source = f"def f({name}=default): return {name}"
    scope: dict[str, Any] = {"default": default}
    exec(source, scope)
    function = scope["f"]
    function.__annotations__ = {name: hint}
    return tool_from_function(function, name="t", description="", input_schema=None)


def schema_tool(schema: Any, function: Callable[..., Any] | None = None) -> Tool:
    def everything(**arguments: Any) -> Any:
        return arguments

    return tool_from_function(function or everything, name="t", description="", input_schema=schema)


def accepts(tool: Tool, arguments: dict[str, Any]) -> bool:
    try:
        tool.arguments.read(arguments)
    except ToolError:
        return False
    return True


# From type hints

FITS = [
    (int, 5, 5),
    (int, 5.0, 5),  # in JSON Schema 5.0 is an integer
    (int, -0.0, 0),
    (int, 2**70, 2**70),
    (float, 5, 5.0),
    (float, 0.5, 0.5),
    (bool, True, True),
    (str, "", ""),
    (str, "ä\u0000\U0001f600", "ä\u0000\U0001f600"),
    (list[int], [1, 2.0], [1, 2]),
    (list, [1, "a", None], [1, "a", None]),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (dict, {"a": [1]}, {"a": [1]}),
    (int | None, None, None),
    (int | None, 3, 3),
    (int | str, "3", "3"),
    (int | str, 3.0, 3),
    (Literal["a", 1], 1, 1),
    (Literal["a", 1], 1.0, 1),
    (Colour, "red", Colour.RED),
    (Level, 2, Level.HIGH),
    (tuple[int, str], [1, "a"], (1, "a")),
    (set[str], ["a", "b"], {"a", "b"}),
    (Any, {"a": [1.5]}, {"a": [1.5]}),
    (datetime.date, "2026-07-28", datetime.date(2026, 7, 28)),
    (Annotated[int, Field(ge=1, le=3)], 3, 3),
    (Point, {"x": 1.0}, Point(x=1)),
    (
        Shape,
        {"name": "line", "points": [{"x": 1}, {"x": 2, "y": 3}], "colour": "blue"},
        Shape(name="line", points=[Point(x=1), Point(x=2, y=3)], colour=Colour.BLUE),
    ),
]


@pytest.mark.parametrize(
    ("hint", "given_value", "expected"),
    FITS,
    ids=lambda one: str(sorted(one)) if isinstance(one, set) else str(one),
)
def test_what_fits_reaches_the_handler_in_its_type(hint: Any, given_value: Any, expected: Any) -> None:
    tool = tool_for(hint)
    (value,) = tool.arguments.read({"value": given_value}).values()
    assert value == expected
    assert type(value) is type(expected)
    jsonschema.validate({"value": given_value}, tool.arguments.schema)


DOES_NOT_FIT = [
    (int, 5.5),
    (int, "5"),
    (int, True),
    (int, None),
    (float, "1"),
    (float, True),
    (float, 10**399),  # no double holds it
    (bool, 1),
    (bool, "yes"),
    (str, 5),
    (str, None),
    (list[int], [1, "a"]),
    (list[int], {"0": 1}),
    (dict[str, int], {"a": "1"}),
    (dict[str, int], [1]),
    (int | None, "3"),
    (Literal["a", 1], True),
    (Literal["a", 1], "b"),
    (Colour, "green"),
    (Level, 3),
    (Level, True),
    (tuple[int, str], [1]),
    (tuple[int, str], [1, "a", 2]),
    (set[str], ["a", "a"]),
    (datetime.date, "yesterday"),
    (Annotated[int, Field(ge=1, le=3)], 4),
    (Point, {"y": 1}),
    (Point, {"x": "1"}),
    (Shape, {"name": "line", "points": [{"y": 1}]}),
]


@pytest.mark.parametrize(("hint", "value"), DOES_NOT_FIT, ids=str)
def test_what_does_not_fit_is_refused_by_name(hint: Any, value: Any) -> None:
    with pytest.raises(ToolError, match="value"):
        tool_for(hint).arguments.read({"value": value})


@pytest.mark.parametrize(
    ("hint", "same"),
    [
        (int, True),
        (list[Point], True),
        (dict[str, float | None], True),
        (set[int], False),
        (list[Colour], False),
    ],
    ids=str,
)
def test_the_schema_is_asked_as_well_only_where_it_may_say_more(hint: Any, same: bool) -> None:
    # Checking twice would be right everywhere, and slow.
    assert _is_exact(tool_for(hint).arguments.schema) is same


def test_missing_extra_and_default_arguments() -> None:
    tool = tool_for(int, 7)
    assert tool.arguments.read({}) == {"value": 7}
    assert tool.arguments.schema["properties"]["value"] == {"type": "integer", "default": 7}
    assert "required" not in tool.arguments.schema
    with pytest.raises(ToolError, match="value: Field required"):
        tool_for(int).arguments.read({})
    with pytest.raises(ToolError, match="other"):
        tool.arguments.read({"other": 1})
    with pytest.raises(ToolError) as caught:
        tool_for(Shape).arguments.read({"value": {"points": [{"x": "a"}]}, "other": 1})
    assert all(where in str(caught.value) for where in ("value.name", "value.points.0.x", "other"))


def test_what_two_tools_are_alike_in_is_not_shared() -> None:
    yes, one, text = (tool_for(int, default).arguments for default in (True, 1, "1"))
    shown = [each.schema["properties"]["value"]["default"] for each in (yes, one, text)]
    assert shown == [True, 1, "1"]
    assert [type(each) for each in shown] == [bool, int, str]
    assert [type(each.read({})["value"]) for each in (yes, one, text)] == [bool, int, str]
    one.schema["properties"]["value"]["default"] = 2
    again = tool_for(int, 1).arguments
    assert again.schema["properties"] == {"value": {"type": "integer", "default": 1}}


def test_what_a_fraction_is_by_default_is_kept_apart() -> None:
    defaults = (0.0, -0.0, 1.0, 1)
    shown = [tool_for(float, default).arguments.schema["properties"]["value"] for default in defaults]
    assert [repr(one["default"]) for one in shown] == ["0.0", "-0.0", "1.0", "1"]


# Names that mean something to pydantic, to its models, or to Python.
@pytest.mark.parametrize(
    "name",
    [
        "schema",
        "json",
        "copy",
        "model_config",
        "model_fields",
        "title",
        "properties",
        "_private",
        "self",
        "cls",
        "data",
    ],
)
def test_an_argument_may_have_any_name(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tool = tool_for(int, name=name)
    assert tool.arguments.schema["properties"] == {name: {"type": "integer"}}
    assert tool.arguments.read({name: 5}) == {name: 5}
    assert not accepts(tool, {"argument_0": 5})


def test_the_schema_has_the_descriptions_and_none_of_the_titles() -> None:
    def draw(
        title: Annotated[str, Field(description="What to write.")], shape: Shape, context: Context
    ) -> None: ...

    schema = tool_from_function(draw, name="t", description="", input_schema=None).definition()["inputSchema"]
    assert list(schema["properties"]) == ["title", "shape"]
    assert schema["properties"]["title"] == {"type": "string", "description": "What to write."}
    assert schema["required"] == ["title", "shape"]
    assert schema["additionalProperties"] is False
    assert '"title":' not in json.dumps({**schema, "properties": {}})
    assert schema["type"] == "object"


def test_a_tool_without_parameters_takes_an_empty_object_only() -> None:
    tool = tool_from_function(lambda: "", name="t", description="", input_schema=None)
    assert tool.arguments.schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert accepts(tool, {})
    assert not accepts(tool, {"a": 1})


class Handler:
    """A handler that is an object."""

    def __call__(self, value: int) -> int:
        return value

    def method(self, value: int) -> int:
        return value


def plain(other: str, value: int) -> int:
    return value


@pytest.mark.parametrize(
    "handler",
    [Handler(), Handler().method, functools.partial(plain, "x")],
    ids=["object", "method", "partial"],
)
def test_all_kinds_of_functions(handler: Any) -> None:
    tool = tool_from_function(handler, name="t", description="", input_schema=None)
    assert tool.arguments.schema["properties"]["value"] == {"type": "integer"}
    assert accepts(tool, {"value": 1})
    assert not accepts(tool, {"value": "1"})


def star(*values: int) -> None: ...
def star_star(**values: int) -> None: ...
def positional(value: int, /) -> None: ...
def unresolved(value: NoSuchType) -> None: ...  # noqa: F821
def no_schema(value: Callable[[], int]) -> None: ...
def strange(value: object.__class__) -> None: ...
def unknown_class(value: Server) -> None: ...


@pytest.mark.parametrize(
    "handler",
    [star, star_star, positional, unresolved, no_schema, unknown_class],
    ids=lambda one: one.__name__,
)
def test_functions_that_cannot_be_tools(handler: Any) -> None:
    with pytest.raises(RegistrationError, match="Tool 't'"):
        tool_from_function(handler, name="t", description="", input_schema=None)


def test_a_handler_without_a_name_needs_one() -> None:
    with pytest.raises(RegistrationError, match="needs a name"):
        tool_from_function(Handler(), name=None, description="", input_schema=None)


# Shown is enforced: for JSON's own types the tool accepts exactly what the schema accepts.

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([1.0, 1.5, -2.0, 2**63, 1e300])
    | st.sampled_from(["", "a", "b", "1", "red", "2026-07-28"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "y", "a"]), inner, max_size=3)
    ),
    max_leaves=6,
)
HINTS: list[Any] = [
    int,
    float,
    bool,
    str,
    list,
    list[int],
    list[str | None],
    dict,
    dict[str, float],
    dict[str, list[bool]],
    int | None,
    int | str,
    float | bool | None,
    Literal["a", 1, True, None],
    Literal[1, 2],
    Colour,
    Level,
    Level | None,
    tuple[int, str],
    set[int],
    Point,
    list[Point],
    Shape | None,
    Annotated[int, Field(ge=0, lt=2)],
    Annotated[str, Field(min_length=1, max_length=1)],
    Annotated[list[int], Field(max_length=1)],
    Any,
]
HINTED = {str(hint): tool_for(hint) for hint in HINTS} | {
    f"{hint} with a default": tool_for(hint, None) for hint in (int | None, str | None)
}


@settings(max_examples=300)
@given(
    st.sampled_from(sorted(HINTED)),
    st.dictionaries(st.sampled_from(["value"] * 5 + ["other"]), values, max_size=2),
)
def test_the_tool_accepts_exactly_what_its_schema_accepts(name: str, arguments: dict[str, Any]) -> None:
    tool = HINTED[name]
    as_sent = read_json(write_json(arguments))
    validator = jsonschema.Draft202012Validator(dict(tool.arguments.schema))
    assert accepts(tool, as_sent) == validator.is_valid(as_sent), tool.arguments.schema


SCHEMAS: list[dict[str, Any]] = [
    {"type": "object"},
    {"type": "object", "additionalProperties": False},
    {"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]},
    {"type": "object", "properties": {"value": {"enum": [1, "a", None]}}},
    {
        "type": "object",
        "properties": {"value": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/p"}]}},
        "$defs": {"p": {"type": "object", "required": ["x"]}},
    },
    {"type": "object", "propertyNames": {"maxLength": 5}, "minProperties": 1},
    {"type": "object", "properties": {"value": {"prefixItems": [{"type": "integer"}], "items": False}}},
    {"type": "object", "if": {"required": ["value"]}, "then": {"required": ["other"]}},
    {"type": "object", "properties": {"value": {"format": "date"}}},
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"value": {"items": [{"type": "integer"}], "additionalItems": False}},
    },
]


@settings(max_examples=200)
@given(
    st.sampled_from(range(len(SCHEMAS))),
    st.dictionaries(st.sampled_from(["value", "other"]), values, max_size=2),
)
def test_a_raw_schema_is_enforced_as_it_is_shown(which: int, arguments: dict[str, Any]) -> None:
    tool = schema_tool(SCHEMAS[which])
    assert tool.definition()["inputSchema"] == SCHEMAS[which]
    validator = jsonschema.validators.validator_for(SCHEMAS[which], default=jsonschema.Draft202012Validator)
    assert accepts(tool, arguments) == validator(SCHEMAS[which]).is_valid(arguments)
    if accepts(tool, arguments):
        assert tool.arguments.read(arguments) == arguments


# Schemas that are refused, at registration


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def circle() -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"a": schema}
    return schema


REFUSED = [
    (True, "is a JSON object"),
    ([], "is a JSON object"),
    ({}, 'must have "type": "object"'),
    ({"type": "array"}, 'must have "type": "object"'),
    ({"type": ["object"]}, 'must have "type": "object"'),
    ({"type": "object", "properties": []}, "is not valid"),
    ({"type": "object", "minProperties": "1"}, "is not valid"),
    ({"type": "object", "properties": {"a": {"type": "text"}}}, "is not valid"),
    (
        {"$schema": "https://example.com/my-dialect", "type": "object"},
        "dialect 'https://example.com/my-dialect'",
    ),
    ({"$schema": 7, "type": "object"}, "dialect 7"),
    ({"$schema": ["x"], "type": "object"}, "dialect"),
    ({"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}, "not fetched"),
    ({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}, "not fetched"),
    ({"type": "object", "properties": {"a": {"$ref": "other.json"}}}, "not fetched"),
    ({"type": "object", "properties": {"a": {"$ref": "http://["}}}, "uri-reference|not fetched"),
    ({"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}, "no schema inside"),
    ({"type": "object", "properties": {"a": {"$ref": "#anchor"}}}, "no schema inside"),
    ({"type": "object", "properties": {"a": {"$ref": "#/type"}}}, "no schema inside"),
    ({"type": "object", "properties": {"a": {"$ref": "#/type/x"}}}, "no schema inside"),
    ({"type": "object", "properties": {"a": {"$dynamicRef": "#x"}}}, "no schema inside"),
    ({"type": "object", "allOf": [{"not": {"$ref": "https://example.com/"}}]}, "not fetched"),
    ({"type": "object", "enum": [{}] * MAX_SCHEMA_PARTS}, f"more than {MAX_SCHEMA_PARTS}"),
    (nested(MAX_SCHEMA_DEPTH), f"more than {MAX_SCHEMA_DEPTH}"),
    (circle(), "more than"),
    ({"type": "object", "default": float("nan")}, "cannot be sent"),
    ({"type": "object", "title": "\ud800"}, "cannot be sent"),
    ({"type": "object", "default": {1: 2}}, "cannot be sent"),
]


@pytest.mark.parametrize(("schema", "why"), REFUSED, ids=lambda one: str(one)[:60])
def test_schemas_that_are_refused(schema: Any, why: str) -> None:
    with pytest.raises(RegistrationError, match=why):
        schema_tool(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {"type": "object", "$defs": {"b": {"$anchor": "here"}}, "properties": {"a": {"$ref": "#here"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": True}},
        {
            "$id": "https://example.com/root",
            "type": "object",
            "properties": {"a": {"$ref": "part"}},
            "$defs": {"b": {"$id": "part", "type": "integer"}},
        },
        # Not references: a value, and a property's name.
        {"type": "object", "default": {"$ref": "https://example.com/"}},
        {"type": "object", "properties": {"$ref": {"type": "string"}}},
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"a": {"$ref": "#/definitions/b"}},
            "definitions": {"b": {}},
        },
    ],
    ids=str,
)
def test_references_inside_of_the_schema_are_followed(schema: Any) -> None:
    assert accepts(schema_tool(schema), {})


def test_each_dialect_by_its_own_rules() -> None:
    arguments = {"value": [1, 2]}
    for dialect, accepted in (
        ("https://json-schema.org/draft/2020-12/schema", False),
        ("http://json-schema.org/draft-07/schema#", True),  # knows no prefixItems
    ):
        value = {"prefixItems": [{"type": "string"}]}
        schema = {"$schema": dialect, "type": "object", "properties": {"value": value}}
        assert accepts(schema_tool(schema), arguments) is accepted


def test_a_schema_that_leads_round_in_circles_ends() -> None:
    schema = {"type": "object", "allOf": [{"$ref": "#"}]}
    with pytest.raises(ToolError, match="too deeply"):
        schema_tool(schema).arguments.read({})


def test_later_changes_of_the_schema_change_nothing() -> None:
    schema = {"type": "object", "properties": {"value": {"type": "integer"}}}
    tool = schema_tool(schema)
    schema["properties"]["value"]["type"] = "string"  # type: ignore[index]
    assert tool.definition()["inputSchema"]["properties"]["value"] == {"type": "integer"}
    assert accepts(tool, {"value": 1})


# A raw schema and the function that it is for


def takes(value: int, other: str = "") -> Any:
    return value, other


OPEN = {"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]}


def test_what_a_schema_allows_and_a_function_has_no_parameter_for_is_left_out() -> None:
    tool = schema_tool(OPEN, takes)
    assert tool.arguments.read({"value": 1, "more": 2, "other": "x"}) == {"value": 1, "other": "x"}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "object"}, "cannot do without 'value'"),
        ({**OPEN, "required": []}, "cannot do without 'value'"),
        ({**OPEN, "properties": {**OPEN["properties"], "third": {}}}, "no parameter for third"),
    ],
)
def test_a_schema_that_does_not_fit_the_function(schema: Any, why: str) -> None:
    with pytest.raises(RegistrationError, match=why):
        schema_tool(schema, takes)


def test_the_context_is_not_an_argument() -> None:
    def wants(context: Context, **more: Any) -> Any:
        return more

    with pytest.raises(RegistrationError, match="gets the Context"):
        schema_tool({"type": "object", "properties": {"context": {}}}, wants)
    tool = schema_tool({"type": "object"}, wants)
    assert tool.takes_context
    with pytest.raises(ToolError, match="context"):
        tool.arguments.read({"context": 1})

    def hinted(context: Context, value: int = 1) -> str:
        return f"{context.method} {value}"

    server = Server("desk")
    server.tool("hinted")(hinted)
    said = talk(
        server,
        modern(1, "tools/call", call("hinted", {"context": {}})),
        modern(2, "tools/call", call("hinted")),
    )
    assert said.answer(1)["result"]["isError"] is True
    assert said.answer(2)["result"]["content"][0]["text"] == "tools/call 1"


def test_the_context_under_another_name_is_refused() -> None:
    def hinted(ctx: Context, value: int = 1) -> str:
        return f"{ctx.method} {value}"

    with pytest.raises(RegistrationError, match="has the name 'context', not 'ctx'"):
        Server("desk").tool()(hinted)


@pytest.mark.parametrize("decorator", ["tool", "resource", "resource_template", "prompt"])
def test_a_decorator_without_parentheses(decorator: str) -> None:
    with pytest.raises(TypeError, match=rf"needs parentheses: @server\.{decorator}\("):
        getattr(Server("desk"), decorator)(takes)


# Many faults, and large ones


def test_the_text_of_many_or_large_faults_is_bounded() -> None:
    for tool in (
        tool_for(list[int]),
        schema_tool({"type": "object", "properties": {"value": {"items": {"type": "integer"}}}}),
    ):
        with pytest.raises(ToolError) as many:
            tool.arguments.read({"value": ["a"] * 1000})
        assert str(many.value).endswith("and more")
        assert len(str(many.value)) < 4000
        with pytest.raises(ToolError) as large:
            tool.arguments.read({"value": ["a" * 100_000]})
        assert len(str(large.value)) < 1000
