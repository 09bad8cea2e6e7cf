"""The shapes of what is on the wire: request, notification, response, error response, batch.

https://modelcontextprotocol.io/specification/2026-07-28/basic/index#messages
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

from mcpsim.errors import MalformedMessage

RequestId: TypeAlias = str | int


def is_request_id(value: object) -> bool:
    """Say whether `value` can be the id of a request: a string or an integer.

    `0` and `""` are ids. None is not, although JSON-RPC 2.0 knows it: MCP forbids it
    (https://modelcontextprotocol.io/specification/2026-07-28/basic/index#requests).

    The schema says "number" where the prose says "integer". We follow the prose, and refuse `1.0`
    as well as `1.5`: an answer has to repeat the id, and whether `1.0` comes back as `1` or `1.0`
    depends on the JSON library, so the two sides could not be sure that they mean the same request.
    """
    return isinstance(value, (str, int)) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Request:
    """A call that wants an answer. `params` is None when the message has none."""

    id: RequestId
    method: str
    params: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Notification:
    """A one-way message. Nobody may answer it."""

    method: str
    params: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to a request that went well; `id` is the request's id."""

    id: RequestId
    result: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """The answer to a request that failed.

    `id` is None only when the request could not be read, so that its id is not known: JSON-RPC 2.0
    writes `null` for that, the MCP schema leaves `id` out. Both are read as None; we write it the
    MCP way. `data` is any JSON value; None stands for "no data" and is not written.
    """

    id: RequestId | None
    code: int
    message: str
    data: Any = None


Message: TypeAlias = Request | Notification | Response | ErrorResponse


@dataclass(frozen=True, slots=True)
class Batch:
    """Several messages in one JSON array. A member that is no message stands as its error."""

    members: tuple[Message | MalformedMessage, ...]


# What would break a label out of its line or turn its letters around: control characters, halves of
# surrogate pairs, line separators, marks that change the writing direction. A fixed list instead of
# str.isprintable(), whose answer depends on the Unicode tables of the Python version.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_LABEL_LENGTH = 60


def describe(message: Message) -> str:
    """Give `message` a short label: `tools/call #1`, `result #1`, `error -32602 #"a"`.

    The same message gives the same label everywhere. Ids that are strings stand in quotes, because
    `1` and `"1"` are two different ids. Long methods and ids are cut.
    """
    match message:
        case Request(id=id, method=method):
            return f"{_label(method)} #{_id_label(id)}"
        case Notification(method=method):
            return _label(method)
        case Response(id=id):
            return f"result #{_id_label(id)}"
        case ErrorResponse(id=id, code=code):
            which = "without id" if id is None else f"#{_id_label(id)}"
            return f"error {show_integer(code)} {which}"


def show_integer(value: int) -> str:
    """Write an integer, or its size where it is long: Python refuses to print very long ones."""
    if value.bit_length() > 200:
        return f"(an integer of {value.bit_length()} bits)"
    return str(value)


def show_text(text: str, length: int = _LABEL_LENGTH) -> str:
    """Quote `text` for a sentence: cut to `length` characters, and safe to put on one line."""
    cut = text if len(text) <= length else text[: length - 1] + "…"
    return json.dumps(cut, ensure_ascii=_UNSAFE.search(cut) is not None)


def _label(text: str) -> str:
    quoted = show_text(text)
    # A plain name needs no quotes; one that had to be escaped, or is empty, does.
    return quoted[1:-1] if quoted[1:-1] and "\\" not in quoted else quoted


def _id_label(id: RequestId) -> str:
    return show_text(id) if isinstance(id, str) else show_integer(id)
