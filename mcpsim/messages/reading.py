"""From bytes to JSON values, strictly, and from there to one envelope or a batch.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/index (UTF-8) and
https://modelcontextprotocol.io/specification/2026-07-28/basic/index#messages (JSON-RPC 2.0)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, cast

from pydantic_core import from_json, to_json

from mcpsim.errors import INVALID_REQUEST, PARSE_ERROR, MalformedMessage
from mcpsim.messages.checks import from_object
from mcpsim.messages.diagnosis import Fault, count_digits, first_fault, surrogate_half
from mcpsim.messages.envelopes import Batch, Message
from mcpsim.messages.limits import DEFAULT_LIMITS, Limits

# Why all of these are -32700 and not -32600. The specification gives -32700 for text that is not
# JSON, and is silent about text that only some JSON parsers take. A second key of the same name, one
# half of a surrogate pair, a number beyond a double: RFC 8259 calls what happens then unpredictable,
# and RFC 7493 (I-JSON) forbids them. One peer would read a different message than the other, so there
# is no one message whose shape could be wrong (-32600). The bounds on size, depth and digits are the
# parser's own, which RFC 8259 section 9 allows: the text was not read, so nothing is known of its shape.
# For the same reason such an error never carries an id: nothing in an unreadable text can be trusted.


def read_json(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Any:
    """Read one JSON value.

    Stricter than `json.loads`: UTF-8 without a byte order mark, no key twice in an object, no half of
    a surrogate pair, no `NaN` or `Infinity`, no number that a double turns into infinity, and within
    `limits` (bytes, levels, digits).

    Raises:
        MalformedMessage: with -32700 and no id; the text says what is wrong and at which byte.
    """
    size = len(data)
    if size > limits.max_bytes:
        raise _unreadable(f"it has {size} bytes, and at most {limits.max_bytes} are accepted")
    # Only a text with more opening brackets than levels can be too deep.
    brackets = data.count(b"[") + data.count(b"{")
    too_deep = brackets > limits.max_depth and _too_deep(data, limits.max_depth)
    has_short = size <= limits.max_digits or _has_short_numbers(data, limits.max_digits)
    if not too_deep and has_short:
        # What its value is written as again, byte for byte, has no key twice, and nothing else that we
        # refuse: what is written never has. Most peers write so, and no other reading is as fast.
        try:
            value = from_json(data, allow_inf_nan=False)
            if to_json(value) == data:
                return value
        except ValueError:
            pass
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _unreadable("the bytes are not UTF-8", error.start) from None
    if too_deep:
        raise _explain(text, limits)
    # Only a text with more bytes than max_digits can hold a number that is too long.
    decode = _decoder(limits.max_digits if size > limits.max_digits else None, has_short)
    try:
        value = decode(text)
    except (ValueError, RecursionError):
        raise _explain(text, limits) from None
    if "\\u" in text and surrogate_half(text) is not None:
        raise _explain(text, limits)
    return value


def read_message(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Message:
    """Read the bytes of one message: a line of stdio, an HTTP body, the data of a server-sent event.

    Members that JSON-RPC does not name are ignored: it does not forbid them.

    Raises:
        MalformedMessage: -32700 when the bytes are not JSON that we accept (see `read_json`), -32600
            when they are JSON but not one message; its `id` is that of the message where it has one.
    """
    return from_object(read_json(data, limits))


def read_batch(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Message | Batch:
    """Read one message or an array of them, for the revisions that have batches.

    A member that is not a message does not spoil the others: it stands in the batch as the
    MalformedMessage that tells why.

    Raises:
        MalformedMessage: as `read_message`; also -32600 for an empty array, as JSON-RPC 2.0 has it.
    """
    value = read_json(data, limits)
    if not isinstance(value, list):
        return from_object(value)
    if not value:
        raise MalformedMessage(INVALID_REQUEST, "An empty array is not a batch: it holds no message.")
    return Batch(tuple(_member(item) for item in cast(list[Any], value)))


def _member(item: Any) -> Message | MalformedMessage:
    try:
        return from_object(item)
    except MalformedMessage as error:
        return error


class _NotAccepted(ValueError):
    """Stops the standard library's decoder; the reason is found by `first_fault`."""


@lru_cache(maxsize=16)
def _decoder(max_digits: int | None, has_short: bool) -> Callable[[str], Any]:
    """Make a decoder that stops at what we refuse.

    Args:
        max_digits: of any number; None where the text has no more bytes.
        has_short: whether it is known that no integer has more digits. A fraction may: it has its digits in
            two places.
    """

    def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            raise _NotAccepted
        return members

    def read_float(number: str) -> float:
        if max_digits is not None and len(number) > max_digits and count_digits(number) > max_digits:
            raise _NotAccepted
        value = float(number)
        if value in (_INFINITY, -_INFINITY):
            raise _NotAccepted
        return value

    def read_integer(number: str) -> int:
        if max_digits is not None and len(number) > max_digits and count_digits(number) > max_digits:
            raise _NotAccepted
        return int(number)

    def refuse(constant: str) -> Any:
        raise _NotAccepted

    return json.JSONDecoder(
        object_pairs_hook=read_object,
        parse_float=read_float,
        # Any function here is slower than the decoder's own way, so only where it is needed.
        parse_int=None if has_short else read_integer,
        parse_constant=refuse,
    ).decode


# No double needs more digits than this, where it is written as short as can be.
_DIGITS_OF_A_DOUBLE: Final = 32
_DIGITS_ALIKE: Final = bytes.maketrans(b"123456789", b"000000000")


def _has_short_numbers(data: bytes, max_digits: int) -> bool:
    """Say whether no integer in the text can have more than `max_digits` digits."""
    if max_digits < _DIGITS_OF_A_DOUBLE:
        return False
    return b"0" * (max_digits + 1) not in data.translate(_DIGITS_ALIKE)


_INFINITY = float("inf")
_BRACKETS_ALIKE = bytes.maketrans(b"{}", b"[]")
_ALL_BUT_QUOTES_AND_BRACKETS = bytes(set(range(256)) - set(b'"[]{}'))


def _too_deep(data: bytes, max_depth: int) -> bool:
    """Say whether brackets outside of strings nest deeper than `max_depth`, without nesting calls.

    Works by whole-text operations only, because every long list of tools comes through here.
    """
    if b"\\" in data:
        # Within strings a backslash escapes what follows; elsewhere it is an error that ends the reading.
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = data.translate(_BRACKETS_ALIKE, _ALL_BUT_QUOTES_AND_BRACKETS)
    # Taking out two quotes with nothing between them leaves every other mark inside or outside as it was.
    brackets = b"".join(marks.replace(b'""', b"").split(b'"')[::2])
    # Each pass takes the innermost pairs away, and with them one level.
    left = brackets
    for _ in range(max_depth):
        if not left:
            return False
        shorter = left.replace(b"[]", b"")
        if len(shorter) == len(left):
            break
        left = shorter
    if not left:
        return False
    # Too deep, or not in pairs: count.
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket == _OPEN else -1
        if depth > max_depth:
            return True
    return False


_OPEN = ord("[")


def _explain(text: str, limits: Limits) -> MalformedMessage:
    fault = first_fault(text, limits)
    if fault is None:
        # Not the text's fault: the stack is nearly full, or max_digits is above Python's own limit.
        fault = Fault("it is nested deeper, or a number in it is longer, than this Python can read", 0)
    return _unreadable(fault.what, len(text[: fault.at].encode("utf-8")))


def _unreadable(what: str, at_byte: int | None = None) -> MalformedMessage:
    where = "" if at_byte is None else f" (at byte {at_byte})"
    return MalformedMessage(PARSE_ERROR, f"This cannot be read as JSON: {what}{where}.")
