"""From envelopes to bytes: compact JSON in UTF-8, on one line."""

from __future__ import annotations

import json
from typing import Any, Final, cast

from mcpsim.errors import FramingError
from mcpsim.messages.envelopes import ErrorResponse, Message, Notification, Request, Response, show_text

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def write_json(value: Any) -> bytes:
    """Write a value as compact JSON in UTF-8, without a newline. Keys keep their order.

    Raises:
        FramingError: when JSON cannot carry the value: NaN or an infinity, half of a surrogate pair, a
            key that is not a string, an object of Python that is no JSON value, or one inside itself.
    """
    try:
        # json.dumps would quietly turn the key 1 into "1" and None into "null".
        if _has_only_string_keys(value):
            return _encode(value).encode("utf-8")
    except (ValueError, TypeError, RecursionError):
        pass
    raise FramingError(_first_problem(value))


def write_message(message: Message) -> bytes:
    """Write one message as compact JSON in UTF-8, without a newline.

    The members stand in the order jsonrpc, id, method, params, or jsonrpc, id, result or error. The
    envelope is written as it is; what is checked is only that JSON can carry it.

    Raises:
        FramingError: as `write_json`.
    """
    return write_json(to_object(message))


def to_object(message: Message) -> dict[str, Any]:
    """Turn a message into the JSON object that stands on the wire, as a new dict.

    An error whose `id` is None has no `id`, as the MCP schema has it
    (https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-responses).
    """
    match message:
        case Request(id=id, method=method, params=None):
            return {"jsonrpc": "2.0", "id": id, "method": method}
        case Request(id=id, method=method, params=params):
            return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        case Notification(method=method, params=None):
            return {"jsonrpc": "2.0", "method": method}
        case Notification(method=method, params=params):
            return {"jsonrpc": "2.0", "method": method, "params": params}
        case Response(id=id, result=result):
            return {"jsonrpc": "2.0", "id": id, "result": result}
        case ErrorResponse(id=id, code=code, message=text, data=data):
            error: dict[str, Any] = {"code": code, "message": text}
            if data is not None:
                error["data"] = data
            if id is None:
                return {"jsonrpc": "2.0", "error": error}
            return {"jsonrpc": "2.0", "id": id, "error": error}


_LEAVES: Final = frozenset({str, int, float, bool, type(None)})


def _has_only_string_keys(value: Any) -> bool:
    """Look at every key. A value inside itself raises RecursionError.

    Every message passes here, so the usual types are told by `type(...) is` and the rest comes last.
    """
    kind: type[Any] = value.__class__
    if kind is dict or issubclass(kind, dict):
        members: dict[Any, Any] = value
        for key, item in members.items():
            if type(key) is not str and not isinstance(key, str):
                return False
            if type(item) not in _LEAVES and not _has_only_string_keys(item):
                return False
    elif issubclass(kind, (list, tuple)):
        items: list[Any] = value
        for item in items:
            if type(item) not in _LEAVES and not _has_only_string_keys(item):
                return False
    return True


# Far above what any reader takes, and far below what would take long to walk.
_DEEPEST: Final = 2000


def _first_problem(value: Any) -> str:
    """Say what in `value` JSON cannot carry, and where; walks without nesting calls."""
    todo: list[tuple[str, int, Any]] = [("the value", 0, value)]
    while todo:
        where, depth, item = todo.pop()
        if depth > _DEEPEST:
            return f"It is nested more than {_DEEPEST} deep, or contains itself; JSON cannot carry that."
        if isinstance(item, dict):
            members = cast(dict[Any, Any], item)
            for key in members:
                if not isinstance(key, str):
                    return f"A key in {where} is of type {type(key).__name__}; JSON has only strings as keys."
                if problem := _text_problem(key):
                    return f"A key in {where} {problem}"
            steps = [(show_text(key, 20), item) for key, item in members.items()]
            todo += [(_inside(where, step), depth + 1, item) for step, item in reversed(steps)]
        elif isinstance(item, (list, tuple)):
            steps = [(str(at), item) for at, item in enumerate(cast(list[Any], item))]
            todo += [(_inside(where, step), depth + 1, item) for step, item in reversed(steps)]
        elif isinstance(item, str):
            if problem := _text_problem(item):
                return f"The string at {where} {problem}"
        elif not (item is None or isinstance(item, (bool, int, float))):
            return f"At {where} stands an object of type {type(item).__name__}, which is no JSON value."
        elif _is_not_written(item):
            return f"The number at {where} is not one that JSON can carry (NaN, infinite, or too long)."
    return "It is nested too deep to be written here."


def _inside(where: str, step: str) -> str:
    path = where.removeprefix("the value")
    # Only the last steps are of use, and a path into a deep value would be as long as it is deep.
    return "the value" + (path if len(path) < 200 else "[…]") + f"[{step}]"


def _text_problem(text: str) -> str | None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"holds half of a surrogate pair at character {error.start}; UTF-8 cannot carry that."
    return None


def _is_not_written(number: Any) -> bool:
    try:
        _encode(number)
    except ValueError:
        return True
    return False
