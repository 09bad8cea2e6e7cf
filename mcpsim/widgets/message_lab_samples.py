"""Values that fit: to a schema, and to a question of a server. For the templates of the message lab. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

#: How deep a sample follows a schema.
MAX_DEPTH: Final = 6
MAX_ITEMS: Final = 5

_FORMATS: Final[Mapping[str, str]] = {
    "date": "2030-01-31",
    "date-time": "2030-01-31T09:00:00Z",
    "email": "user@example.com",
    "uri": "https://example.com/",
}
_LEAVES: Final[Mapping[str, Any]] = {"boolean": True, "null": None, "string": "text"}


def sample(schema: Mapping[str, Any], depth: int = 0) -> Any:
    """A value that a JSON Schema takes, as far as its plain keywords tell: what is required is there, and
    what has a default or an example has that."""
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    for name in ("examples", "enum"):
        first = _first(schema.get(name))
        if first is not None:
            return first
    for name in ("oneOf", "anyOf"):
        first = _first(schema.get(name))
        if isinstance(first, dict) and depth < MAX_DEPTH:
            return sample(cast("dict[str, Any]", first), depth + 1)
    kind: Any = schema.get("type")
    kind = _first(kind) if isinstance(kind, list) else kind
    if kind == "object" or "properties" in schema:
        return _object(schema, depth)
    if kind == "array":
        return _array(schema, depth)
    if kind in ("integer", "number"):
        return _number(schema)
    if kind == "string":
        return _string(schema)
    return _LEAVES.get(kind, "text") if isinstance(kind, str) else "text"


def answer_to(request: Any) -> dict[str, Any]:
    """What a user, a model or a host would answer to a question of a server: the result, as it goes on the
    wire. A question that nobody knows gets an empty one."""
    question = cast("dict[str, Any]", request) if isinstance(request, dict) else {}
    params: Any = question.get("params")
    given = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
    method = question.get("method")
    if method == "elicitation/create":
        if given.get("mode") == "url":
            return {"action": "accept"}
        schema: Any = given.get("requestedSchema")
        content: Any = sample(cast("dict[str, Any]", schema)) if isinstance(schema, dict) else {}
        return {"action": "accept", "content": content}
    if method == "sampling/createMessage":
        text = {"type": "text", "text": "What a model would write."}
        return {"role": "assistant", "content": text, "model": "some-model", "stopReason": "endTurn"}
    if method == "roots/list":
        return {"roots": [{"uri": "file:///home/user/project", "name": "Project"}]}
    return {}


def _first(value: Any) -> Any:
    return cast("list[Any]", value)[0] if isinstance(value, list) and value else None


def _object(schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    properties: Any = schema.get("properties")
    required: Any = schema.get("required")
    if not isinstance(properties, dict) or depth >= MAX_DEPTH:
        return {}
    needed = cast("list[Any]", required) if isinstance(required, list) else []
    rows = cast("dict[str, Any]", properties)
    return {
        name: sample(cast("dict[str, Any]", row), depth + 1)
        for name, row in rows.items()
        if isinstance(row, dict) and (name in needed or "default" in row)
    }


def _array(schema: Mapping[str, Any], depth: int) -> list[Any]:
    items: Any = schema.get("items")
    least: Any = schema.get("minItems")
    count = min(least, MAX_ITEMS) if isinstance(least, int) else 0
    if not isinstance(items, dict) or depth >= MAX_DEPTH:
        return []
    return [sample(cast("dict[str, Any]", items), depth + 1)] * max(count, 1)


def _number(schema: Mapping[str, Any]) -> Any:
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(least, int | float):
        return least
    return most if isinstance(most, int | float) and most < 1 else 1


def _string(schema: Mapping[str, Any]) -> str:
    shape = schema.get("format")
    if isinstance(shape, str) and shape in _FORMATS:
        return _FORMATS[shape]
    least: Any = schema.get("minLength")
    text = "text"
    return text * (least // len(text) + 1) if isinstance(least, int) and len(text) < least <= 1000 else text
