"""From envelopes to bytes: compact JSON in UTF-8, on one line."""

from __future__ import annotations

import json
from typing import Any, Final, cast

from pydantic_core import to_json

from mcpsim.errors import FramingError
from mcpsim.messages.envelopes import Message, Notification, Request, Response, show_text
from mcpsim.messages.limits import DEFAULT_LIMITS

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def write_json(value: Any) -> bytes:
    """Write a value as compact JSON in UTF-8, without a newline. Keys keep their order.

    Raises:
        FramingError: when JSON cannot carry the value: NaN or an infinity, half of a surrogate pair, a
            key that is not a string, an object of Python that is no JSON value, or one inside itself.
    """
    try:
        if _is_plain(value):
            data = to_json(value)
            if len(data) <= _SURE_DIGITS or _LONG_NUMBER not in data.translate(_DIGITS_ALIKE):
                return data
    except (ValueError, RecursionError):
        pass
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


def write_for_readers(message: Message) -> bytes:
    """Write one message as `write_message` does, where a reader with the usual limits takes so many bytes.

    Raises:
        FramingError: as `write_json`; or the message has more bytes than that. It would be skipped by who
            gets it, and its sender would wait in vain.
    """
    data = write_message(message)
    if len(data) > DEFAULT_LIMITS.max_bytes:
        what = f"{message.method} " if isinstance(message, Request | Notification) else ""
        raise FramingError(
            f"The message {what}has {len(data)} bytes; readers take {DEFAULT_LIMITS.max_bytes} at most."
        )
    return data


def to_object(message: Message) -> dict[str, Any]:
    """Turn a message into the JSON object that stands on the wire, as a new dict.

    An error whose `id` is None has no `id`, as the MCP schema has it
    (https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-responses).
    """
    if isinstance(message, Request):
        if message.params is None:
            return {"jsonrpc": "2.0", "id": message.id, "method": message.method}
        return {"jsonrpc": "2.0", "id": message.id, "method": message.method, "params": message.params}
    if isinstance(message, Response):
        return {"jsonrpc": "2.0", "id": message.id, "result": message.result}
    if isinstance(message, Notification):
        if message.params is None:
            return {"jsonrpc": "2.0", "method": message.method}
        return {"jsonrpc": "2.0", "method": message.method, "params": message.params}
    error: dict[str, Any] = {"code": message.code, "message": message.message}
    if message.data is not None:
        error["data"] = message.data
    if message.id is None:
        return {"jsonrpc": "2.0", "error": error}
    return {"jsonrpc": "2.0", "id": message.id, "error": error}


# What pydantic's writer writes exactly as the standard library does. Not float: 1e16 and 1e+16. Classes that
# are derived from these are left to the standard library too.
_SAME_LEAVES: Final = frozenset({str, int, bool, type(None)})
# As few digits as Python can be told to refuse in an integer; pydantic's writer would write any.
_SURE_DIGITS: Final = 640
_LONG_NUMBER: Final = b"0" * (_SURE_DIGITS + 1)
_DIGITS_ALIKE: Final = bytes.maketrans(b"123456789", b"000000000")


def _is_plain(value: Any) -> bool:
    """Say whether a value is strings, integers, booleans and null in dicts and lists, and nothing else.

    Every message passes here: nearly all are plain, and no other writing is as fast.
    """
    kind: type[Any] = value.__class__
    if kind is dict:
        members: dict[Any, Any] = value
        for key, item in members.items():
            if key.__class__ is not str or (item.__class__ not in _SAME_LEAVES and not _is_plain(item)):
                return False
        return True
    if kind is list:
        items: list[Any] = value
        return all(map(_is_plain, items))
    return kind in _SAME_LEAVES


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
