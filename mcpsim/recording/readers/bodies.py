"""The text of a message as the interchange form holds it: as a value where it is one clean JSON message, and
otherwise as the text itself."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final, NamedTuple, cast

from mcpsim.errors import MalformedMessage, RecordingError
from mcpsim.messages import Limits, read_json
from mcpsim.recording import lines

_LIMITS: Final = Limits(max_bytes=lines.MAX_LINE_BYTES, max_depth=lines.MAX_DEPTH)


class Body(NamedTuple):
    """A body that was read.

    Attributes:
        part: what it is in a row: `message`, `raw` or `raw_b64`; {} where there is none.
        value: the JSON value, also of a text that not every parser takes; None where it is no JSON.
    """

    part: dict[str, str | Any]
    value: Any


def body_of(data: bytes) -> Body:
    """Read the whole body of an HTTP request or response, or the data of a server-sent event. Nothing is
    refused: this was on the wire."""
    if not data.strip():
        return Body({}, None)
    value = _clean(data)
    if value is not None:
        return Body({"message": value}, value)
    try:
        return Body({"raw": data.decode("utf-8")}, _any(data))
    except UnicodeDecodeError:
        return Body({"raw_b64": base64.b64encode(data).decode("ascii")}, None)


def is_jsonrpc(value: Any) -> bool:
    """Whether a JSON value is meant as a message of JSON-RPC, or as an array of such messages."""
    if isinstance(value, list):
        return any(_is_message(one) for one in cast("list[Any]", value))
    return _is_message(value)


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    members = cast("dict[str, Any]", value)
    return "jsonrpc" in members or (
        "id" in members and any(name in members for name in ("method", "result", "error"))
    )


def message_of(data: bytes, *, is_message: Callable[[Any], bool] = is_jsonrpc) -> Body:
    """Read a text of a log that should be a message. A log may have cut it off, so what is no JSON proves
    nothing about who sent it.

    Args:
        is_message: says whether a JSON value is what should be there.

    Raises:
        RecordingError: it is no JSON, or no message. The text says why, without saying where.
    """
    # First the reader that says no at once: a log may have many lines that are no messages.
    try:
        value = lines.read_value(data, 0)
    except RecordingError as error:
        raise RecordingError(str(error).replace("Line 0", "It", 1)) from None
    if not is_message(value):
        raise RecordingError("It is JSON, but no JSON-RPC message.")
    clean = _clean(data)
    return Body({"raw": data.decode("utf-8")} if clean is None else {"message": clean}, value)


def _clean(data: bytes) -> Any:
    try:
        value = read_json(data.strip(b" \t\r\n"), _LIMITS)
    except MalformedMessage:
        return None
    return cast("Any", value) if isinstance(value, dict | list) else None


def _any(data: bytes) -> Any:
    try:
        return lines.read_value(data, 0)
    except RecordingError:
        return None
