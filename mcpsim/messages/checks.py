"""Is this JSON value one message? If not, which rule does it break?

The rules stand in tables, in the order in which they are asked. Reading a good message does not touch
them: `from_object` looks for the four good shapes first.

https://modelcontextprotocol.io/specification/2026-07-28/basic/index#messages
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeGuard, cast

from mcpsim.errors import INVALID_REQUEST, MalformedMessage
from mcpsim.messages.envelopes import (
    ErrorResponse,
    Message,
    Notification,
    Request,
    Response,
    is_request_id,
    show_integer,
    show_text,
)

Members: TypeAlias = dict[str, Any]


def from_object(obj: Any) -> Message:
    """Turn a parsed JSON value into the message that it is.

    Raises:
        MalformedMessage: with -32600 and, where the value has a valid `id`, that id.
    """
    message = _recognize(cast(Members, obj)) if isinstance(obj, dict) else None
    if message is None:
        raise _malformed(obj)
    return message


def _recognize(obj: Members) -> Message | None:
    if obj.get("jsonrpc") != "2.0":
        return None
    method = obj.get("method")
    if isinstance(method, str):
        params: Members | None = obj.get("params")
        if "result" in obj or "error" in obj or not (isinstance(params, dict) or "params" not in obj):
            return None
        if "id" not in obj:
            return Notification(method, params)
        id: Any = obj["id"]
        return Request(id, method, params) if is_request_id(id) else None
    has_result = "result" in obj
    if has_result == ("error" in obj) or "method" in obj:
        return None
    id = obj.get("id")
    if has_result:
        result: Any = obj["result"]
        return Response(id, obj["result"]) if isinstance(result, dict) and is_request_id(id) else None
    if not (id is None or is_request_id(id)) or not isinstance(obj["error"], dict):
        return None
    error = cast(Members, obj["error"])
    code = error.get("code")
    message = error.get("message")
    if not _is_integer(code) or not isinstance(message, str):
        return None
    return ErrorResponse(id, code, message, error.get("data"))


@dataclass(frozen=True, slots=True)
class Check:
    """One rule: `breaks` tells whether a value breaks it, `sentence` says so."""

    breaks: Callable[[Members], bool]
    sentence: Callable[[Members], str]


def _is_integer(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


ENVELOPE_CHECKS: Final[tuple[Check, ...]] = (
    Check(lambda obj: not obj, lambda obj: "An empty object is not a message."),
    Check(
        lambda obj: "jsonrpc" not in obj,
        lambda obj: 'The member `jsonrpc` is missing; every message says "jsonrpc": "2.0".',
    ),
    Check(
        lambda obj: obj["jsonrpc"] != "2.0",
        lambda obj: f'`jsonrpc` is {show_value(obj["jsonrpc"])}; it must be the string "2.0".',
    ),
    Check(
        lambda obj: "result" in obj and "error" in obj,
        lambda obj: "`result` and `error` stand together; a response has exactly one of them.",
    ),
    Check(
        lambda obj: "method" in obj and ("result" in obj or "error" in obj),
        lambda obj: (
            f"`method` and `{'result' if 'result' in obj else 'error'}` stand together; "
            "a message is a request or a response, not both."
        ),
    ),
    Check(
        lambda obj: not obj.keys() & {"method", "result", "error"},
        lambda obj: (
            "It has no `method`, no `result` and no `error`, so it is neither a request, "
            "a notification nor a response."
        ),
    ),
)

REQUEST_CHECKS: Final[tuple[Check, ...]] = (
    Check(
        lambda obj: not isinstance(obj["method"], str),
        lambda obj: f"`method` is {show_value(obj['method'])}; it must be a string.",
    ),
    Check(
        lambda obj: "id" in obj and obj["id"] is None,
        lambda obj: (
            "`id` is null; a request needs a string or an integer, and a notification has no `id` at all."
        ),
    ),
    Check(
        lambda obj: "id" in obj and not is_request_id(obj["id"]),
        lambda obj: f"`id` is {show_value(obj['id'])}; it must be a string or an integer.",
    ),
    Check(
        lambda obj: isinstance(obj.get("params"), list),
        lambda obj: "`params` is an array; JSON-RPC allows that, MCP does not: it must be an object.",
    ),
    Check(
        lambda obj: "params" in obj and not isinstance(obj["params"], dict),
        lambda obj: f"`params` is {show_value(obj['params'])}; it must be an object, or be left out.",
    ),
)

RESULT_CHECKS: Final[tuple[Check, ...]] = (
    Check(
        lambda obj: "id" not in obj,
        lambda obj: "A response without `id` answers nothing; it must repeat the id of its request.",
    ),
    Check(
        lambda obj: not is_request_id(obj["id"]),
        lambda obj: (
            f"`id` is {show_value(obj['id'])}; a response repeats the id of its request, "
            "which is a string or an integer."
        ),
    ),
    Check(
        lambda obj: not isinstance(obj["result"], dict),
        lambda obj: f"`result` is {show_value(obj['result'])}; it must be an object.",
    ),
)

ERROR_CHECKS: Final[tuple[Check, ...]] = (
    Check(
        lambda obj: obj.get("id") is not None and not is_request_id(obj["id"]),
        lambda obj: (
            f"`id` is {show_value(obj['id'])}; an error repeats the id of its request, which is "
            "a string or an integer, and leaves it out only when the request could not be read."
        ),
    ),
    Check(
        lambda obj: not isinstance(obj["error"], dict),
        lambda obj: f"`error` is {show_value(obj['error'])}; it must be an object with `code` and `message`.",
    ),
    Check(
        lambda obj: "code" not in obj["error"],
        lambda obj: "`error` has no `code`; it must be an integer.",
    ),
    Check(
        lambda obj: not _is_integer(obj["error"]["code"]),
        lambda obj: f"The `code` of `error` is {show_value(obj['error']['code'])}; it must be an integer.",
    ),
    Check(
        lambda obj: "message" not in obj["error"],
        lambda obj: "`error` has no `message`; it must be a string.",
    ),
    Check(
        lambda obj: not isinstance(obj["error"]["message"], str),
        lambda obj: f"The `message` of `error` is {show_value(obj['error']['message'])}; it must be text.",
    ),
)


def _malformed(value: Any) -> MalformedMessage:
    if isinstance(value, list):
        sentence = "A batch is not one message: this is an array, and a message is an object."
        return MalformedMessage(INVALID_REQUEST, sentence)
    if not isinstance(value, dict):
        return MalformedMessage(INVALID_REQUEST, f"A message is an object, and this is {show_value(value)}.")
    obj = cast(Members, value)
    shape = REQUEST_CHECKS if "method" in obj else RESULT_CHECKS if "result" in obj else ERROR_CHECKS
    for check in ENVELOPE_CHECKS + shape:
        if check.breaks(obj):
            id = obj.get("id")
            return MalformedMessage(
                INVALID_REQUEST,
                check.sentence(obj),
                id if is_request_id(id) else None,
                expects_answer=_expects_answer(obj),
            )
    raise AssertionError("from_object refuses a message that breaks none of the rules")


def _expects_answer(obj: Members) -> bool:
    # What has a method and no id is a notification, however broken; what has a result or an error and no
    # method is a response. Answering either could go back and forth for ever.
    if "method" in obj:
        return "id" in obj
    return "result" not in obj and "error" not in obj


def show_value(value: Any) -> str:
    """Say in a few words what a JSON value is: `null`, `the number 1.5`, `the string "a"`, `an array`."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return f"the number {show_integer(value)}"
        case float():
            return f"the number {value!r}"
        case str():
            return f"the string {show_text(value)}"
        case list():
            return "an array"
        case dict():
            return "an object"
        case _:
            return f"no JSON value ({type(value).__name__})"
