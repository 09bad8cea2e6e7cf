"""The interchange form: one JSON object a line, as an observer beside the client would write it down.

The keys are `from`, `message` or `raw` or `raw_b64`, `t_ms`, `transport`, `headers`, `status`,
`http_method`, `exchange`, `event`, `by`, `detail`, `connection`, `hop`, `channel`, `sse_id`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from mcpsim.errors import MalformedMessage, RecordingError
from mcpsim.messages import read_json
from mcpsim.recording import events
from mcpsim.recording.events import Event, Head
from mcpsim.recording.frames import Frame, frames_of
from mcpsim.transports.http import SseEvent, SseReader, sse_event

CLIENT_SIDE: Final = "client"
SERVER_SIDE: Final = "server"
SIDES: Final = (CLIENT_SIDE, SERVER_SIDE)
KEYS: Final = frozenset(
    {
        "from",
        "message",
        "raw",
        "raw_b64",
        "t_ms",
        "transport",
        "headers",
        "status",
        "http_method",
        "exchange",
        "event",
        "by",
        "detail",
        "connection",
        "hop",
        "channel",
        "sse_id",
    }
)

# An interchange event that closes something, and what our own `closed` event calls it.
_CLOSINGS: Final[Mapping[str, tuple[str, str]]] = {
    "response_stream_closed": ("exchange", "closed"),
    "client_aborted": ("exchange", "aborted"),
    "exchange_timeout": ("exchange", "timed out"),
    "stdin_closed": ("stdin", "closed"),
    "stdout_closed": ("stdout", "closed"),
}
_CLOSING_NAMES: Final = {
    ("exchange", "aborted"): "client_aborted",
    ("exchange", "timed out"): "exchange_timeout",
    ("stdin", ""): "stdin_closed",
    ("stdout", ""): "stdout_closed",
}


def to_interchange(sequence: Sequence[Event]) -> list[dict[str, Any]]:
    """The rows of a recording, ordered by when the observer beside the client sees them: what a client
    sends as it leaves, what a server sends as it arrives. What never arrives is not seen."""
    frames = {frame.number: frame for frame in frames_of(sequence)}
    servers = _servers(sequence)
    several = len({event.connection for event in sequence if event.frame}) > 1
    stream_heads: dict[int, Head] = {}
    rows: list[dict[str, Any]] = []
    for event in sequence:
        if event.kind == events.SENT and event.party not in servers:
            row = _frame_row(frames[event.frame], CLIENT_SIDE, event.at_us, frames[event.frame].data, None)
        elif event.kind == events.DELIVERED and event.peer in servers:
            frame = frames[event.frame]
            if frame.exchange and frame.head is not None:
                stream_heads[frame.exchange] = frame.head
            head = stream_heads.get(frame.exchange)
            row = _frame_row(frame, SERVER_SIDE, event.at_us, frame.arrived_data, head)
        elif event.kind == events.CLOSED:
            row = _closed_row(event, servers)
        else:
            continue
        if several:
            row["connection"] = f"c{event.connection}"
        rows.append(row)
    return rows


def _servers(sequence: Sequence[Event]) -> frozenset[str]:
    # On HTTP the side is in the head; on stdio the client is the one that closes stdin or speaks first.
    servers: set[str] = set()
    clients: set[str] = set()
    for event in sequence:
        if event.kind != events.SENT:
            continue
        head: Head = (event.detail or {}).get("head") or {}
        if "status" in head:
            servers.add(event.party)
        elif "method" in head:
            clients.add(event.party)
            servers.add(event.peer)
        elif event.party.startswith(SERVER_SIDE) or event.peer.startswith(CLIENT_SIDE):
            servers.add(event.party)
        elif event.party.startswith(CLIENT_SIDE) or event.peer.startswith(SERVER_SIDE):
            servers.add(event.peer)
        elif event.party not in servers:
            clients.add(event.party)
            servers.add(event.peer)
    return frozenset(servers - clients)


def _frame_row(frame: Frame, side: str, at_us: int, data: bytes, stream_head: Head | None) -> dict[str, Any]:
    row: dict[str, Any] = {"from": side, "t_ms": _ms(at_us)}
    row["transport"] = "http" if frame.is_http else "stdio"
    if frame.is_http:
        row["exchange"] = f"x{frame.exchange}"
    head = frame.head or stream_head
    if head is not None:
        if "method" in head and head["method"] != "POST":
            row["http_method"] = head["method"]
        row["headers"] = dict(head.get("headers", []))
        if "status" in head:
            row["status"] = head["status"]
    if frame.channel:
        row["channel"] = frame.channel
    row.update(_body(frame, data))
    return row


def _body(frame: Frame, data: bytes) -> dict[str, Any]:
    if not data:
        return {}
    body, sse_id = data, None
    if not frame.is_http:
        body = data.removesuffix(b"\n").removesuffix(b"\r")
    elif frame.head is None or data[:1] not in (b"{", b"["):
        found = SseReader().feed(data)
        if len(found) == 1 and isinstance(found[0], SseEvent) and found[0].data:
            body, sse_id = found[0].data, found[0].id
    extra = {"sse_id": sse_id} if sse_id is not None else {}
    if not frame.channel:
        try:
            value = read_json(body)
        except MalformedMessage:
            pass
        else:
            if isinstance(value, dict | list):
                return {**extra, "message": value}
    try:
        return {"raw": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"raw_b64": base64.b64encode(body).decode("ascii")}


def _closed_row(event: Event, servers: frozenset[str]) -> dict[str, Any]:
    detail = event.detail or {}
    what, how = str(detail.get("what", "")), str(detail.get("how", ""))
    side = SERVER_SIDE if event.party in servers else CLIENT_SIDE
    name = _CLOSING_NAMES.get((what, how)) or _CLOSING_NAMES.get((what, "")) or "response_stream_closed"
    row: dict[str, Any] = {"from": side, "t_ms": _ms(event.at_us), "event": name, "by": side}
    row["transport"] = "http" if event.exchange else "stdio"
    if event.exchange:
        row["exchange"] = f"x{event.exchange}"
    if how:
        row["detail"] = how
    return row


def _ms(at_us: int) -> int | float:
    return at_us // 1000 if at_us % 1000 == 0 else at_us / 1000


def from_interchange(rows: Iterable[tuple[int, dict[str, Any]]]) -> tuple[Event, ...]:
    """Events from the rows of a trace, each with the number of its line.

    A trace has one time for each message, so every frame is sent and delivered at that time.

    Raises:
        RecordingError: a row breaks the form; the text names its line.
    """
    reader = _Reader()
    return tuple(event for number, row in rows for event in reader.events(number, row))


class _Reader:
    def __init__(self) -> None:
        self._frames = 0
        self._exchanges: dict[tuple[int, str], int] = {}
        self._open_streams: set[int] = set()
        self._connections: dict[str, int] = {}
        self._last_us = 0

    def events(self, number: int, row: dict[str, Any]) -> Iterator[Event]:
        side = row.get("from")
        if side not in SIDES:
            raise RecordingError(f'Line {number}: `from` must be "client" or "server", not {side!r}.')
        http = self._transport(number, row) == "http"
        connection = self._connections.setdefault(str(row.get("connection", "")), len(self._connections) + 1)
        exchange = self._exchange(row, connection) if http else 0
        at_us = self._time(number, row)
        sender, receiver = _lanes(row, cast("str", side))
        common: dict[str, Any] = {"exchange": exchange, "connection": connection}
        name = row.get("event")
        if name is not None:
            yield _event_row(row, str(name), at_us, sender, receiver, common)
            return
        self._frames += 1
        data, detail = self._payload(number, row, http, exchange, cast("str", side))
        yield Event(at_us, events.SENT, sender, receiver, self._frames, data=data, detail=detail, **common)
        yield Event(at_us, events.DELIVERED, receiver, sender, self._frames, **common)

    def _transport(self, number: int, row: Mapping[str, Any]) -> str:
        named = row.get("transport", "stdio")
        if named not in ("stdio", "http"):
            raise RecordingError(f'Line {number}: `transport` must be "stdio" or "http", not {named!r}.')
        return cast("str", named)

    def _exchange(self, row: Mapping[str, Any], connection: int) -> int:
        key = (connection, str(row.get("exchange", "")))
        return self._exchanges.setdefault(key, len(self._exchanges) + 1)

    def _time(self, number: int, row: Mapping[str, Any]) -> int:
        t_ms = row.get("t_ms")
        if t_ms is None:
            return self._last_us
        if isinstance(t_ms, bool) or not isinstance(t_ms, int | float) or not 0 <= t_ms < 1e15:
            raise RecordingError(f"Line {number}: `t_ms` must be milliseconds from 0, not {t_ms!r}.")
        self._last_us = round(t_ms * 1000)
        return self._last_us

    def _payload(
        self, number: int, row: Mapping[str, Any], http: bool, exchange: int, side: str
    ) -> tuple[bytes, dict[str, Any] | None]:
        body = _body_bytes(number, row)
        detail: dict[str, Any] = {}
        if http:
            head = _head(number, row, side)
            stream = _is_stream(head) or exchange in self._open_streams
            if side == SERVER_SIDE and stream:
                if "raw" not in row and "raw_b64" not in row and body:
                    sse_id = row.get("sse_id")
                    body = sse_event(body, id=None if sse_id is None else str(sse_id))
                if exchange in self._open_streams:
                    head = None
                self._open_streams.add(exchange)
            if head is not None:
                detail["head"] = head
        elif body:
            body += b"\n"
        channel = row.get("channel")
        if channel is not None and channel != "stdout":
            detail["channel"] = str(channel)
        return body, detail or None


def _lanes(row: Mapping[str, Any], side: str) -> tuple[str, str]:
    hop = row.get("hop")
    lanes = tuple(str(hop).split("-", 1)) if hop is not None else SIDES
    if len(lanes) != 2:
        lanes = SIDES
    return lanes if side == CLIENT_SIDE else (lanes[1], lanes[0])


def _event_row(
    row: Mapping[str, Any], name: str, at_us: int, party: str, peer: str, common: Mapping[str, Any]
) -> Event:
    closing = _CLOSINGS.get(name)
    by = row.get("by")
    if by == peer:
        party, peer = peer, party
    if closing is not None:
        what, how = closing
        detail: dict[str, Any] = {"what": what, "how": str(row.get("detail", how))}
        return Event(at_us, events.CLOSED, party, peer, detail=detail, **common)
    text = name if row.get("detail") is None else f"{name}: {_plain(row['detail'])}"
    return Event(at_us, events.NOTE, party, detail={"text": text}, **common)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _head(number: int, row: Mapping[str, Any], side: str) -> Head | None:
    headers = row.get("headers")
    if headers is not None and not isinstance(headers, dict):
        raise RecordingError(f"Line {number}: `headers` must be an object of names and values.")
    named = cast("dict[str, Any]", headers or {})
    head: Head = {"headers": [[name, str(value)] for name, value in named.items()]}
    if side == CLIENT_SIDE:
        head["method"] = str(row.get("http_method", "POST"))
        return head
    status = row.get("status")
    if status is None:
        return head if headers is not None else None
    if isinstance(status, bool) or not isinstance(status, int):
        raise RecordingError(f"Line {number}: `status` must be a whole number, not {status!r}.")
    head["status"] = status
    return head


def _is_stream(head: Head | None) -> bool:
    return head is not None and any(
        name.lower() == "content-type" and value.lower().startswith("text/event-stream")
        for name, value in head.get("headers", ())
    )


def _body_bytes(number: int, row: Mapping[str, Any]) -> bytes:
    given = [key for key in ("message", "raw", "raw_b64") if key in row]
    if len(given) > 1:
        raise RecordingError(f"Line {number}: {' and '.join(given)} exclude each other.")
    if not given:
        return b""
    value = row[given[0]]
    if given[0] == "message":
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass")
    if not isinstance(value, str):
        raise RecordingError(f"Line {number}: `{given[0]}` must be a string.")
    if given[0] == "raw":
        return value.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise RecordingError(f"Line {number}: `raw_b64` is not Base64: {error}") from None
