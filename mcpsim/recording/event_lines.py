"""Events as lines of a saved recording, and back."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from mcpsim.errors import RecordingError
from mcpsim.recording import events
from mcpsim.recording.events import KINDS, Event
from mcpsim.recording.lines import is_whole, read_line, write_line
from mcpsim.recording.words import show

# About three thousand years; far below where an integer no longer fits a float.
MAX_TIME_US: Final = 10**17
MAX_NUMBER: Final = 10**9


def write_event(event: Event, number: int) -> bytes:
    """One event as a line. What has its default value is left out.

    Args:
        number: the event's number from 1, for the error.

    Raises:
        RecordingError: its detail holds what JSON cannot carry.
    """
    row: dict[str, Any] = {"at_us": event.at_us, "kind": event.kind, "party": event.party}
    if event.peer:
        row["peer"] = event.peer
    if event.frame:
        row["frame"] = event.frame
    if event.exchange:
        row["exchange"] = event.exchange
    if event.connection != 1:
        row["connection"] = event.connection
    if event.data is not None:
        try:
            row["text"] = event.data.decode("utf-8")
        except UnicodeDecodeError:
            row["b64"] = base64.b64encode(event.data).decode("ascii")
    if event.detail is not None:
        row["detail"] = event.detail
    return write_line(row, f"Event {number}")


def read_events(lines: Iterable[tuple[int, bytes]]) -> tuple[Event, ...]:
    """Read what `write_event` wrote.

    Args:
        lines: each with its number in the file.

    Raises:
        RecordingError: a line is no event, or it contradicts an earlier one; the text names the line and the
            reason.
    """
    reader = EventReader()
    return tuple(reader.read(line, number) for number, line in lines)


class EventReader:
    """Reads one line after the other, and remembers what was sent and what became of it."""

    def __init__(self) -> None:
        self._sent: set[int] = set()
        self._ended: set[int] = set()

    def read(self, line: bytes, number: int) -> Event:
        """The event of one line.

        Raises:
            RecordingError: as `read_events`. The reader can go on with the next line.
        """
        event = _read_event(read_line(line, number), number)
        if event.kind == events.SENT:
            if not event.frame or event.frame in self._sent:
                raise RecordingError(
                    f"Line {number}: `frame` is {event.frame}; every sent frame has its own number, from 1."
                )
            self._sent.add(event.frame)
        elif event.kind in (events.DELIVERED, events.DROPPED):
            if event.frame not in self._sent or event.frame in self._ended:
                why = "delivered or dropped before" if event.frame in self._sent else "never sent"
                raise RecordingError(
                    f"Line {number}: frame {event.frame} cannot be {event.kind} here; it was {why}."
                )
            self._ended.add(event.frame)
        return event


def _read_event(row: dict[str, Any], number: int) -> Event:
    at_us, kind = row.get("at_us"), row.get("kind")
    if not is_whole(at_us, MAX_TIME_US):
        raise RecordingError(
            f"Line {number}: `at_us` must be a whole number of microseconds from 0, not {show(at_us)}."
        )
    if kind not in KINDS:
        raise RecordingError(f"Line {number}: `kind` is {show(kind)}; known kinds are {', '.join(KINDS)}.")
    names = {key: row.get(key, default) for key, default in (("party", None), ("peer", ""))}
    for key, value in names.items():
        if not isinstance(value, str):
            raise RecordingError(f"Line {number}: `{key}` must be a name, not {show(value)}.")
    numbers = {key: row.get(key, default) for key, default in _NUMBERS}
    for key, value in numbers.items():
        if not is_whole(value, MAX_NUMBER):
            raise RecordingError(f"Line {number}: `{key}` must be a whole number from 0, not {show(value)}.")
    detail = row.get("detail")
    if detail is not None:
        _check_detail(cast("str", kind), detail, number)
    data = _data(row, number)
    return Event(cast("int", at_us), cast("str", kind), data=data, detail=detail, **names, **numbers)


_NUMBERS: Final = (("frame", 0), ("exchange", 0), ("connection", 1))


def _data(row: Mapping[str, Any], number: int) -> bytes | None:
    text, b64 = row.get("text"), row.get("b64")
    if text is None and b64 is None:
        return None
    if (text is not None and b64 is not None) or not isinstance(b64 if text is None else text, str):
        raise RecordingError(f"Line {number}: the bytes of a frame are one string, `text` or `b64`.")
    try:
        return base64.b64decode(b64, validate=True) if b64 is not None else cast("str", text).encode("utf-8")
    except (ValueError, binascii.Error) as error:
        raise RecordingError(f"Line {number}: the bytes of the frame cannot be read: {error}.") from None


def _check_detail(kind: str, detail: Any, number: int) -> None:
    if not isinstance(detail, dict):
        raise RecordingError(f"Line {number}: `detail` must be an object, not {show(detail)}.")
    members = cast("dict[str, Any]", detail)
    for key, (fits, wanted) in _DETAILS.get(kind, {}).items():
        if key in members and not fits(members[key]):
            raise RecordingError(f"Line {number}: `detail.{key}` must be {wanted}, not {show(members[key])}.")


Fits = tuple[Callable[[Any], bool], str]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _is_head(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    head = cast("dict[str, Any]", value)
    headers: Any = head.get("headers", [])
    return (
        _is_text(head.get("method", ""))
        and _is_text(head.get("path", ""))
        and is_whole(head.get("status", 0), 999)
        and isinstance(headers, list)
        and all(_is_pair(line) for line in cast("list[Any]", headers))
    )


def _is_pair(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    pair = cast("list[Any]", value)
    return len(pair) == 2 and _is_text(pair[0]) and _is_text(pair[1])


_TEXT: Final[Fits] = (_is_text, "a string")
_HANDLER: Final[Mapping[str, Fits]] = {
    "name": _TEXT,
    "id": (_is_id, "a string or a whole number"),
    "outcome": _TEXT,
}
# What readers of a recording rely on. Other members are kept, and so is everything in a state.
_DETAILS: Final[Mapping[str, Mapping[str, Fits]]] = {
    events.SENT: {
        "head": (_is_head, "the head of an HTTP request or response, with headers as [name, value] pairs"),
        "copy_of": (lambda value: is_whole(value, MAX_NUMBER), "the number of a frame"),
        "channel": _TEXT,
    },
    events.DROPPED: {"why": _TEXT},
    events.CLOSED: {"what": _TEXT, "how": _TEXT},
    events.HANDLER_STARTED: _HANDLER,
    events.HANDLER_FINISHED: _HANDLER,
    events.HANDLER_CANCELLED: _HANDLER,
    events.NOTE: {"text": _TEXT},
}
