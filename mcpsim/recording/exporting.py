"""From events to rows of the interchange form."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from mcpsim.errors import MalformedMessage
from mcpsim.messages import read_json
from mcpsim.recording import events
from mcpsim.recording.events import Event, Head
from mcpsim.recording.frames import Frame, frames_of
from mcpsim.recording.interchange import CLIENT_SIDE, CUT, HTTP, INTERMEDIARIES, SERVER_SIDE, STDIO
from mcpsim.transports.http import Headers, SseEvent, SseReader, sse_event

_CLOSING_NAMES: Final = {
    ("exchange", "aborted"): "client_aborted",
    ("exchange", "timed out"): "exchange_timeout",
    ("stdin", ""): "stdin_closed",
    ("stdout", ""): "stdout_closed",
    ("the pipes", ""): "stdout_closed",
}


def to_interchange(sequence: Sequence[Event]) -> list[dict[str, Any]]:
    """The rows of a recording, in the order in which the observer sees them.

    Notes of our own, handlers, states and the copies that a fault made of a client's message are not seen
    there, and left out.
    """
    return [row for _, row in to_numbered_interchange(sequence)]


def to_numbered_interchange(sequence: Sequence[Event]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a recording, each with the index of the event that it shows."""
    return _Observer(sequence).rows()


class _Observer:
    def __init__(self, sequence: Sequence[Event]) -> None:
        self._sequence = sequence
        self._frames = {frame.number: frame for frame in frames_of(sequence)}
        self._clients = _who_asks_whom(sequence)
        lanes = {lane for pair in self._clients for lane in pair}
        clients, servers = {client for client, _ in self._clients}, {server for _, server in self._clients}
        self._between = (clients & servers) | (lanes & INTERMEDIARIES)
        # A connection without one message can close, too.
        seen = {event.connection for event in sequence if event.frame or event.kind == events.CLOSED}
        self._several = len(seen) > 1
        self._heads: dict[int, Head] = {
            frame.exchange: frame.head
            for frame in self._frames.values()
            if frame.head is not None and "status" in frame.head
        }
        # How many frames of each exchange, or of each connection on stdio, still have to arrive at a client.
        self._expected: dict[tuple[int, int], int] = {}
        for frame in self._frames.values():
            if frame.fate == "delivered" and not self._is_client(frame.sender, frame.receiver):
                where = (frame.connection, frame.exchange)
                self._expected[where] = self._expected.get(where, 0) + 1
        self._held: dict[tuple[int, int], list[tuple[int, Event]]] = {}

    def rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for index, event in enumerate(self._sequence):
            yield from self._seen(index, event)

    def _seen(self, index: int, event: Event) -> Iterator[tuple[int, dict[str, Any]]]:
        if event.kind == events.SENT:
            frame = self._frames[event.frame]
            if self._is_client(event.party, event.peer) and not frame.copy_of:
                yield index, self._frame_row(frame, CLIENT_SIDE, event.at_us, frame.data)
        elif event.kind == events.DELIVERED:
            frame = self._frames.get(event.frame)
            if frame is not None and not self._is_client(frame.sender, frame.receiver):
                yield from self._arrival(index, event, frame)
        elif event.kind == events.CLOSED:
            yield from self._closing(index, event)
        elif event.kind == events.NOTE and _event_name(event):
            yield index, self._note_row(event)

    def _is_client(self, party: str, peer: str) -> bool:
        if (party, peer) in self._clients:
            return True
        return (peer, party) not in self._clients and _rank(party) < _rank(peer)

    def _arrival(self, index: int, event: Event, frame: Frame) -> Iterator[tuple[int, dict[str, Any]]]:
        yield index, self._frame_row(frame, SERVER_SIDE, event.at_us, frame.arrived_data)
        where = (frame.connection, frame.exchange)
        self._expected[where] -= 1
        if not self._expected[where]:
            for index_of_closing, closing in self._held.pop(where, ()):
                yield index_of_closing, self._closed_row(closing, event.at_us)

    def _closing(self, index: int, event: Event) -> Iterator[tuple[int, dict[str, Any]]]:
        # The end of what a server sends is seen after everything that it sent before.
        where = (event.connection, event.exchange)
        if self._expected.get(where) and not self._is_client(event.party, event.peer):
            self._held.setdefault(where, []).append((index, event))
        else:
            yield index, self._closed_row(event, event.at_us)

    def _common(self, event: Event | Frame, side: str, at_us: int, pair: tuple[str, str]) -> dict[str, Any]:
        row: dict[str, Any] = {"from": side, "t_ms": at_us // 1000 if at_us % 1000 == 0 else at_us / 1000}
        row["transport"] = HTTP if event.exchange else STDIO
        if event.exchange:
            row["exchange"] = f"x{event.exchange}"
        if self._several:
            row["connection"] = f"c{event.connection}"
        client, server = pair
        if client in self._between or server in self._between:
            first = client if client in self._between else CLIENT_SIDE
            second = server if server in self._between else SERVER_SIDE
            # Names that the form cannot hold are left out, and not written so that nobody can read them.
            if first and second and first != second and "-" not in first:
                row["hop"] = f"{first}-{second}"
        return row

    def _frame_row(self, frame: Frame, side: str, at_us: int, data: bytes) -> dict[str, Any]:
        pair = (frame.sender, frame.receiver) if side == CLIENT_SIDE else (frame.receiver, frame.sender)
        row = self._common(frame, side, at_us, pair)
        head = frame.head or (self._heads.get(frame.exchange) if side == SERVER_SIDE else None)
        # A head outside of an exchange has no place in the form.
        if head is not None and frame.is_http:
            if head.get("method", "POST") != "POST":
                row["http_method"] = head.get("method")
            headers = Headers((name, value) for name, value in head.get("headers", ())).to_dict()
            if headers:
                row["headers"] = headers
            if "status" in head:
                row["status"] = head["status"]
        if frame.channel:
            row["channel"] = frame.channel
        row.update(_body(frame, data))
        return row

    def _closed_row(self, event: Event, at_us: int) -> dict[str, Any]:
        detail = event.detail or {}
        what, how = str(detail.get("what", "")), str(detail.get("how", ""))
        is_client = self._is_client(event.party, event.peer) and how != CUT
        pair = (event.party, event.peer)
        if not self._is_client(event.party, event.peer):
            pair = (event.peer, event.party)
        row = self._common(event, CLIENT_SIDE if is_client else SERVER_SIDE, at_us, pair)
        names = _CLOSING_NAMES
        name = _event_name(event) or names.get((what, how)) or names.get((what, ""))
        row["event"] = name or "response_stream_closed"
        if how != CUT:
            row["by"] = row["from"]
        if how:
            row["detail"] = how
        return row

    def _note_row(self, event: Event) -> dict[str, Any]:
        """Something that stood in an imported trace under a name of its own."""
        detail = event.detail or {}
        is_server = _rank(event.party) == _SERVER_RANK or any(event.party == one for _, one in self._clients)
        pair = next((pair for pair in self._clients if event.party in pair), ("", ""))
        row = self._common(event, SERVER_SIDE if is_server else CLIENT_SIDE, event.at_us, pair)
        row["event"] = _event_name(event)
        if "detail" in detail:
            row["detail"] = detail["detail"]
        return row


def _event_name(event: Event) -> str:
    name = (event.detail or {}).get("event")
    return name if isinstance(name, str) else ""


def _who_asks_whom(sequence: Sequence[Event]) -> dict[tuple[str, str], None]:
    """The pairs (client, server) of a recording. On HTTP the head says it, and otherwise the names of the
    lanes; where they do not, whoever speaks first is the client."""
    pairs: dict[tuple[str, str], None] = {}
    for event in sequence:
        pair, swapped = (event.party, event.peer), (event.peer, event.party)
        if event.kind != events.SENT or pair in pairs or swapped in pairs:
            continue
        head: Head = (event.detail or {}).get("head") or {}
        answers = "status" in head or ("method" not in head and _rank(event.party) > _rank(event.peer))
        pairs[swapped if answers else pair] = None
    return pairs


_SERVER_RANK: Final = 3


def _rank(lane: str) -> int:
    if lane.startswith(SERVER_SIDE):
        return _SERVER_RANK
    if lane in INTERMEDIARIES:
        return 2
    return 1 if lane.startswith(CLIENT_SIDE) else 0


def _body(frame: Frame, data: bytes) -> dict[str, Any]:
    """`message` where the frame holds one clean JSON value and nothing else, otherwise its text or bytes."""
    if not data and frame.is_http:
        return {}
    body, extra = data, dict[str, Any]()
    if not frame.is_http:
        body = data.removesuffix(b"\n").removesuffix(b"\r")
    elif data[:1] not in (b"{", b"["):
        found = SseReader().feed(data)
        event = found[0] if len(found) == 1 else None
        # What else an event can hold (a type, a retry time, a comment) only its own text tells.
        if isinstance(event, SseEvent) and event.data and sse_event(event.data, id=event.id) == data:
            body = event.data
            if event.id is not None:
                extra["sse_id"] = event.id
    # On stdio a message is one line: where it is several, that is part of what there is to see.
    if not frame.channel and (frame.is_http or b"\n" not in body):
        try:
            value = read_json(body)
        except MalformedMessage:
            value = None
        if isinstance(value, dict | list) and _keeps_numbers(body, value):
            return {**extra, "message": value}
    text = data if frame.is_http else body
    try:
        return {"raw": text.decode("utf-8")}
    except UnicodeDecodeError:
        return {"raw_b64": base64.b64encode(text).decode("ascii")}


_FRACTION: Final = re.compile(rb"[0-9][.eE][0-9+-]")


def _keeps_numbers(body: bytes, value: Any) -> bool:
    """Whether the numbers in a JSON text are the same after it was read as `value` and written again."""
    if not _FRACTION.search(body):
        return True
    try:
        return _exactly(body) == _exactly(json.dumps(value))
    except InvalidOperation:
        # An exponent beyond what even a decimal number holds.
        return False


def _exactly(text: str | bytes) -> Any:
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)
