"""One line of a file: a JSON object, read with bounds, written in one form only.

Both file formats are JSON Lines, and both may come from strangers. More is taken here than on the wire: a
trace may hold what a peer sent wrongly, such as half of a surrogate pair.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final, NoReturn, cast

from pydantic_core import from_json

from mcpsim.errors import RecordingError

MAX_FILE_BYTES: Final = 256_000_000
MAX_LINES: Final = 2_000_000
MAX_LINE_BYTES: Final = 32_000_000
MAX_DEPTH: Final = 200

# A string that never ends goes to the end: without that, each quote in it would be tried once more.
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
_ALL_BUT_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_OPENING: Final = frozenset(b"[{")
_DIGITS_ALIKE: Final = bytes.maketrans(b"123456789E", b"000000000e")
_LONG_NUMBER: Final = b"0" * 100


def split_lines(data: bytes, what: str) -> list[tuple[int, bytes]]:
    """The lines of a file that are not blank, each with its number from 1.

    Raises:
        RecordingError: the file is too long; the text names the bound.
    """
    if len(data) > MAX_FILE_BYTES:
        raise RecordingError(f"{what} has {len(data)} bytes; the limit is {MAX_FILE_BYTES}.")
    count = data.count(b"\n") + 1
    if count > MAX_LINES:
        raise RecordingError(f"{what} has {count} lines; the limit is {MAX_LINES}.")
    # Some editors put a byte order mark at the beginning of a file.
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def read_line(line: bytes, number: int) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        RecordingError: the line is no JSON object, or larger or deeper than the bounds; the text names the
            line and the reason.
    """
    value = read_value(line, number)
    if not isinstance(value, dict):
        raise RecordingError(f"Line {number} is not a JSON object.")
    return cast("dict[str, Any]", value)


def line_reader(data: bytes) -> Callable[[bytes, int], dict[str, Any]]:
    """A `read_line` for the lines of one file: what takes a look at every number is done for all of them at
    once."""
    if _may_be_infinite(data):
        return read_line

    def read(line: bytes, number: int) -> dict[str, Any]:
        if len(line) <= MAX_LINE_BYTES and line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
            try:
                value = from_json(line, allow_inf_nan=False)
            except ValueError:
                # It may still be taken below; if not, the reason is said there.
                pass
            else:
                if isinstance(value, dict):
                    return cast("dict[str, Any]", value)
        return read_line(line, number)

    return read


def read_value(line: bytes, number: int) -> Any:
    """Read any JSON value.

    Raises:
        RecordingError: as `read_line`.
    """
    if len(line) > MAX_LINE_BYTES:
        raise RecordingError(f"Line {number} has {len(line)} bytes; the limit is {MAX_LINE_BYTES}.")
    if depth_of(line) > MAX_DEPTH:
        raise RecordingError(f"Line {number} is nested deeper than {MAX_DEPTH} objects and arrays.")
    try:
        return parse(line)
    except UnicodeDecodeError as error:
        raise RecordingError(f"Line {number} is not UTF-8 (at byte {error.start}).") from None
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"Line {number} is not JSON: {error}.") from None


def parse(data: bytes) -> Any:
    """Read a JSON text of any length and depth, without what only Python takes for JSON.

    Raises:
        ValueError, RecursionError: it is none, or not UTF-8.
    """
    if not _may_be_infinite(data):
        # Twice as fast. What it does not take may still be taken below, such as half of a surrogate pair.
        try:
            return from_json(data, allow_inf_nan=False)
        except ValueError:
            pass
    return json.loads(data.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_read_float)


def _may_be_infinite(data: bytes) -> bool:
    """Whether a number in a text could be beyond what a double holds: it has an exponent of three digits, or
    so many digits that a smaller exponent is enough."""
    alike = data.translate(_DIGITS_ALIKE)
    return b"0e000" in alike or b"0e+000" in alike or _LONG_NUMBER in alike


def write_line(value: Any, what: str) -> bytes:
    """Write a value as one line of JSON with its newline: the same value gives the same bytes.

    Raises:
        RecordingError: JSON cannot carry the value; the text says where it stands (`what`) and why.
    """
    try:
        try:
            return _compact(value).encode("utf-8") + b"\n"
        except UnicodeEncodeError:
            # Half of a surrogate pair: UTF-8 cannot carry it, an escape can.
            return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordingError(f"{what} holds what JSON cannot carry: {error}.") from None


def is_whole(value: Any, most: int) -> bool:
    """Whether a value is a whole number from 0 to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


_compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def depth_of(line: bytes) -> int:
    """How deep the objects and arrays of a JSON text are nested; 0 where it has too few to be deeper than
    the bound."""
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return 0
    depth = deepest = 0
    for bracket in _STRING.sub(b"", line).translate(None, _ALL_BUT_BRACKETS):
        depth += 1 if bracket in _OPENING else -1
        deepest = max(deepest, depth)
    return deepest


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _read_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("a number in it is beyond what a double holds")
    return value
