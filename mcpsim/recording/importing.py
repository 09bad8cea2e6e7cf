"""From rows of the interchange form to events."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from mcpsim.errors import FramingError, RecordingError
from mcpsim.recording import events
from mcpsim.recording.events import Event, Head
from mcpsim.recording.interchange import (
    BODIES,
    CLIENT_SIDE,
    CLOSINGS,
    HTTP,
    HTTP_ONLY,
    KEYS,
    SERVER_SIDE,
    SIDES,
    STDIO,
)
from mcpsim.recording.lines import is_whole
from mcpsim.recording.words import show
from mcpsim.transports.http import EVENT_STREAM_TYPE, sse_event

MAX_TIME_MS: Final = 10**14
CHANNELS: Final = ("stdout", "stderr")
_CONTENTS: Final = (*BODIES, "event")
_PLAIN: Final = frozenset({"from", "message", "t_ms", "transport", "connection"})
_PLAIN_HTTP: Final = frozenset({*_PLAIN, "exchange", "headers", "status"})
_PLAIN_EVENT: Final = frozenset({"from", "event", "by", "detail", "t_ms", "transport", "connection"})
_PLAIN_HTTP_EVENT: Final = frozenset({*_PLAIN_EVENT, "exchange"})

Row = Mapping[str, Any]


def from_interchange(rows: Iterable[tuple[int, dict[str, Any]]]) -> tuple[Event, ...]:
    """Events from the rows of a trace, each with the number of its line.

    A trace has one time for each message, so every frame is sent and delivered at that time. A key that the
    form does not have is left out, and a note says so.

    Raises:
        RecordingError: a row breaks the form; the text names its line.
    """
    reader = RowReader()
    return tuple(event for number, row in rows for event in reader.events(number, row))


class _Numbers:
    """Numbers for names, in the order of appearance. A name such as `x7` gets the 7, if that is free, so that
    what was exported keeps its numbers."""

    def __init__(self, letter: str) -> None:
        self._named: dict[tuple[int, str], int] = {}
        self._taken: set[int] = set()
        self._pattern = re.compile(rf"{letter}([1-9][0-9]{{0,6}})")

    def of(self, connection: int, name: str) -> int:
        key = (connection, name)
        if key not in self._named:
            match = self._pattern.fullmatch(name)
            number = int(match[1]) if match else 1
            while number in self._taken:
                number += 1
            self._taken.add(number)
            self._named[key] = number
        return self._named[key]


class RowReader:
    """Reads one row after the other, and remembers which streams are open."""

    def __init__(self) -> None:
        self._frames = 0
        self._exchanges = _Numbers("x")
        self._connections = _Numbers("c")
        self._open_streams: set[int] = set()
        self._last_us = 0

    def events(self, number: int, row: dict[str, Any]) -> Iterator[Event]:
        """The events of one row.

        Raises:
            RecordingError: the row breaks the form. The reader can go on with the next row.
        """
        side = _one_of(number, row, "from", SIDES, None)
        http = _one_of(number, row, "transport", (STDIO, HTTP), STDIO) == HTTP
        connection = self._connections.of(0, _name(number, row, "connection"))
        exchange = self._exchanges.of(connection, _name(number, row, "exchange")) if http else 0
        at_us = self._time(number, row)
        client, server = _hop(number, row["hop"]) if "hop" in row else SIDES
        sender, receiver = (client, server) if side == CLIENT_SIDE else (server, client)
        common: dict[str, Any] = {"exchange": exchange, "connection": connection}
        _check_keys(number, row, http=http)
        if "event" in row:
            yield _event_row(number, row, at_us, sender, receiver, common)
        else:
            self._frames += 1
            data, detail = self._payload(number, row, exchange, side)
            yield Event(
                at_us, events.SENT, sender, receiver, self._frames, data=data, detail=detail, **common
            )
            yield Event(at_us, events.DELIVERED, receiver, sender, self._frames, **common)
        unknown = sorted(row.keys() - KEYS)
        if unknown:
            text = f"Line {number} has more than the form knows; left out: {', '.join(map(show, unknown))}."
            yield Event(at_us, events.NOTE, sender, detail={"text": text}, **common)

    def _time(self, number: int, row: Row) -> int:
        t_ms = _time_of(number, row)
        if t_ms is not None:
            self._last_us = round(t_ms * 1000)
        return self._last_us

    def _payload(
        self, number: int, row: Row, exchange: int, side: str
    ) -> tuple[bytes, dict[str, Any] | None]:
        body = _body(number, row)
        detail: dict[str, Any] = {}
        if exchange:
            head: Head | None = _head(number, row, side)
            if side == SERVER_SIDE and (
                _is_stream(head) or "sse_id" in row or exchange in self._open_streams
            ):
                if "message" in row:
                    body = _event(number, row, body)
                if exchange in self._open_streams:
                    head = None
                self._open_streams.add(exchange)
            if head is not None:
                detail["head"] = head
        else:
            body += b"\n"
        channel = _one_of(number, row, "channel", CHANNELS, "stdout")
        if channel != "stdout":
            detail["channel"] = channel
        return body, detail or None


def check_row(number: int, row: Row) -> None:
    """Check a row without making events of it.

    Args:
        number: the number of its line.
        row: what was read as JSON.

    Raises:
        RecordingError: what `RowReader.events` raises for it, wherever it stands.
    """
    if _is_plain(row) or _is_plain_http(row) or _is_plain_event(row):
        return
    side = _one_of(number, row, "from", SIDES, None)
    http = "transport" in row and _one_of(number, row, "transport", (STDIO, HTTP), STDIO) == HTTP
    if "connection" in row:
        _name(number, row, "connection")
    if http:
        _name(number, row, "exchange")
    _time_of(number, row)
    if "hop" in row:
        _hop(number, row["hop"])
    _check_keys(number, row, http=http)
    if "event" in row:
        _event_row(number, row, 0, "", "", {})
        return
    # What was read as JSON can be written as JSON.
    is_message = "message" in row
    if not is_message:
        _body(number, row)
    if http:
        _head(number, row, side)
        if is_message and side == SERVER_SIDE and "sse_id" in row:
            _event(number, row, b"")
    if "channel" in row:
        _one_of(number, row, "channel", CHANNELS, "stdout")


def _is_plain(row: Row) -> bool:
    """Whether a row is a message on a pipe, as most are, and nothing can be wrong with it."""
    t_ms = row.get("t_ms", 0)
    return (
        row.keys() <= _PLAIN
        and "message" in row
        and row.get("from") in SIDES
        and row.get("transport", STDIO) == STDIO
        and isinstance(row.get("connection", ""), str)
        and type(t_ms) in (int, float)
        and 0 <= t_ms <= MAX_TIME_MS
    )


def _is_plain_http(row: Row) -> bool:
    """Whether a row is a message of an exchange with an ordinary head, and nothing can be wrong with it."""
    t_ms, status, headers = row.get("t_ms", 0), row.get("status", 0), row.get("headers")
    return (
        row.get("transport") == HTTP
        and row.keys() <= _PLAIN_HTTP
        and "message" in row
        and row.get("from") in SIDES
        and type(row.get("connection", "")) is str
        and type(row.get("exchange", "")) is str
        and type(t_ms) in (int, float)
        and 0 <= t_ms <= MAX_TIME_MS
        and type(status) is int
        and 0 <= status <= 999
        and type(headers) is dict
        and all(type(one) is str for one in cast("dict[str, Any]", headers).values())
    )


def _is_plain_event(row: Row) -> bool:
    """Whether a row is an event with what most have, and nothing can be wrong with it."""
    t_ms, is_http = row.get("t_ms", 0), row.get("transport", STDIO) == HTTP
    return (
        row.keys() <= (_PLAIN_HTTP_EVENT if is_http else _PLAIN_EVENT)
        and row.get("from") in SIDES
        and row.get("by", CLIENT_SIDE) in SIDES
        and row.get("transport", HTTP) in (STDIO, HTTP)
        and type(row.get("connection", "")) is str
        and type(row.get("exchange", "")) is str
        and type(t_ms) in (int, float)
        and 0 <= t_ms <= MAX_TIME_MS
        and type(row.get("event")) is str
        and row["event"] != ""
        and type(row.get("detail", "")) is str
    )


def _one_of(number: int, row: Row, key: str, allowed: tuple[str, ...], default: str | None) -> str:
    value = row.get(key, default)
    if value not in allowed:
        known = " or ".join(f'"{one}"' for one in allowed)
        raise RecordingError(f"Line {number}: `{key}` must be {known}, not {show(value)}.")
    return cast("str", value)


def _time_of(number: int, row: Row) -> float | None:
    t_ms = row.get("t_ms")
    if t_ms is None:
        return None
    if isinstance(t_ms, bool) or not isinstance(t_ms, int | float) or not 0 <= t_ms <= MAX_TIME_MS:
        raise RecordingError(f"Line {number}: `t_ms` must be milliseconds from 0, not {show(t_ms)}.")
    return t_ms


def _name(number: int, row: Row, key: str) -> str:
    value = row.get(key, "")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RecordingError(f"Line {number}: `{key}` must be a name or a number, not {show(value)}.")
    return str(value)


def _hop(number: int, value: Any) -> tuple[str, str]:
    client, _, server = value.partition("-") if isinstance(value, str) else ("", "", "")
    if not client or not server or client == server:
        raise RecordingError(f'Line {number}: `hop` must be like "client-gateway", not {show(value)}.')
    return client, server


def _check_keys(number: int, row: Row, *, http: bool) -> None:
    given = [key for key in _CONTENTS if key in row]
    if len(given) > 1:
        raise RecordingError(f"Line {number}: `{given[0]}` and `{given[1]}` exclude each other.")
    if http:
        return
    if not row.keys().isdisjoint(HTTP_ONLY):
        misplaced = next(key for key in HTTP_ONLY if key in row)
        raise RecordingError(
            f'Line {number}: `{misplaced}` belongs to HTTP; such a row says "transport": "http".'
        )
    if not given:
        raise RecordingError(f"Line {number} says nothing: a row of stdio has one of {', '.join(_CONTENTS)}.")


def _event_row(number: int, row: Row, at_us: int, party: str, peer: str, common: Mapping[str, Any]) -> Event:
    name, detail = row["event"], row.get("detail")
    if not isinstance(name, str) or not name:
        raise RecordingError(f"Line {number}: `event` must be a name, not {show(name)}.")
    if "by" in row and _one_of(number, row, "by", SIDES, None) != row["from"]:
        party, peer = peer, party
    closing = CLOSINGS.get(name)
    if closing is not None:
        what, how = closing
        said = how if detail is None else _plain(detail)
        closed: dict[str, Any] = {"what": what, "how": said, "event": name}
        return Event(at_us, events.CLOSED, party, peer, detail=closed, **common)
    kept: dict[str, Any] = {"text": name if detail is None else f"{name}: {_plain(detail)}", "event": name}
    if detail is not None:
        kept["detail"] = detail
    return Event(at_us, events.NOTE, party, detail=kept, **common)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _head(number: int, row: Row, side: str) -> Head:
    headers = row.get("headers")
    if headers is not None and not isinstance(headers, dict):
        raise RecordingError(f"Line {number}: `headers` must be an object of names and values.")
    lines = [
        [name, text]
        for name, value in cast("dict[str, Any]", headers or {}).items()
        for text in _header_values(number, name, value)
    ]
    head: Head = {"headers": lines}
    if side == CLIENT_SIDE:
        method = row.get("http_method", "POST")
        if not isinstance(method, str):
            raise RecordingError(f"Line {number}: `http_method` must be a name, not {show(method)}.")
        head["method"] = method
        return head
    status = row.get("status")
    if status is None:
        # Not nothing: without a head a frame would be one more event of a stream.
        return head
    if not is_whole(status, 999):
        raise RecordingError(f"Line {number}: `status` must be a whole number up to 999, not {show(status)}.")
    head["status"] = status
    return head


def _header_values(number: int, name: str, value: Any) -> list[str]:
    """The values of one name: a string, or a list of them where the header stands there several times."""
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not all(isinstance(one, str | int | float) and not isinstance(one, bool) for one in values):
        raise RecordingError(f"Line {number}: the header {show(name)} must be a string, not {show(value)}.")
    return [str(one) for one in values]


def _is_stream(head: Head) -> bool:
    return any(
        name.lower() == "content-type" and value.lower().startswith(EVENT_STREAM_TYPE)
        for name, value in head.get("headers", ())
    )


def _event(number: int, row: Row, body: bytes) -> bytes:
    id = _name(number, row, "sse_id") if "sse_id" in row else None
    try:
        return sse_event(body, id=id)
    except FramingError as error:
        raise RecordingError(f"Line {number}: {error}") from None


def _body(number: int, row: Row) -> bytes:
    key = next((key for key in BODIES if key in row), None)
    if key is None:
        return b""
    value = row[key]
    if key == "message":
        try:
            return _dump(value, ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            return _dump(value, ascii=True).encode("ascii")
    if not isinstance(value, str):
        raise RecordingError(f"Line {number}: `{key}` must be a string, not {show(value)}.")
    if key == "raw":
        return value.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RecordingError(f"Line {number}: `raw_b64` is not Base64: {error}.") from None


def _dump(value: Any, *, ascii: bool) -> str:
    return json.dumps(value, ensure_ascii=ascii, separators=(",", ":"))
