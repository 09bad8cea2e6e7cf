"""Reading a recording once from front to back: what each frame is, and which request it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mcpsim.eras.pages import LEGACY, MODERN, era_of_revision
from mcpsim.errors import MalformedMessage
from mcpsim.messages import (
    PROGRESS_TOKEN,
    PROTOCOL_VERSION,
    SUBSCRIPTION_ID,
    Batch,
    ErrorResponse,
    Notification,
    Request,
    Response,
    meta_of,
)
from mcpsim.recording import Frame, Head, Recording, events

REQUEST: Final = "request"
RESPONSE: Final = "response"
ERROR: Final = "error"
NOTIFICATION: Final = "notification"
BATCH: Final = "batch"
MALFORMED: Final = "malformed"
HTTP: Final = "http"
STDERR: Final = "stderr"

VERSION_HEADER: Final = "mcp-protocol-version"
HANDSHAKE: Final = frozenset({"initialize", "notifications/initialized"})

ANSWERED: Final = "answered"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"
OPEN: Final = "open"


@dataclass(slots=True)
class Call:
    """A request and what became of it.

    Attributes:
        frame: the number of the frame that carries it.
        index: the event at which it was sent.
        ended: the event at which the sender stopped waiting; None where that never happened.
        outcome: "open", "answered", "failed" (an error came back) or "cancelled".
        answers: how many responses were sent for it.
    """

    frame: int
    index: int
    request: Request
    sender: str
    receiver: str
    connection: int
    exchange: int
    era: str
    ended: int | None = None
    outcome: str = OPEN
    answers: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What one frame turned out to be.

    Attributes:
        kind: "request", "response", "error", "notification", "batch", "malformed", "http" (a head and no
            message) or "stderr".
        era: "modern" or "legacy".
        from_server: whether it travels from the server's side to the client's.
        call: the request that it is, answers, reports on or cancels; None where there is none.
        late: whether the request was no longer waiting when the answer was sent.
        version: the protocol version that a handshake on this connection has agreed on by now; "" where
            none has.
    """

    kind: str
    era: str
    from_server: bool
    call: Call | None = None
    late: bool = False
    version: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """All readings of a recording.

    Attributes:
        readings: by frame number.
        calls: the requests, in the order of sending.
        closings: for the index of a `closed` event, the request whose stream was closed.
        eras: the era of each connection as it was last seen.
        openings: for each HTTP exchange, the frame that opened it.
        streams: for each HTTP exchange with an event stream, the event at which that began.
    """

    readings: Mapping[int, Reading]
    calls: tuple[Call, ...]
    closings: Mapping[int, Call]
    eras: Mapping[int, str]
    openings: Mapping[int, Frame]
    streams: Mapping[int, int]


def read(recording: Recording) -> Conversation:
    """Read a recording. The time it takes grows linearly with the number of events."""
    return _Reader(recording).read()


def headers_of(head: Head | None) -> dict[str, str]:
    """The headers with their names in small letters; of a name that comes twice, the first."""
    found: dict[str, str] = {}
    for name, value in (head or {}).get("headers", ()):
        found.setdefault(name.lower(), value)
    return found


def is_event_stream(head: Head | None) -> bool:
    """Whether the head is that of a response whose body is an event stream."""
    if head is None or "status" not in head:
        return False
    return headers_of(head).get("content-type", "").lower().startswith("text/event-stream")


_Key = tuple[int, str, str, type, str | int]


@dataclass(slots=True)
class _Reader:
    recording: Recording
    eras: dict[int, str] = field(default_factory=dict[int, str])
    clients: dict[tuple[int, frozenset[str]], str] = field(
        default_factory=dict[tuple[int, frozenset[str]], str]
    )
    calls: list[Call] = field(default_factory=list[Call])
    waiting: dict[_Key, Call] = field(default_factory=dict[_Key, Call])
    by_token: dict[_Key, Call] = field(default_factory=dict[_Key, Call])
    by_exchange: dict[int, Call] = field(default_factory=dict[int, Call])
    # A batch answers several requests at once.
    answers: dict[int, list[tuple[Call, str]]] = field(default_factory=dict[int, list[tuple[Call, str]]])
    versions: dict[int, str] = field(default_factory=dict[int, str])
    # What was agreed on before the frame at hand.
    version: str = ""

    def read(self) -> Conversation:
        frames = {frame.index: frame for frame in self.recording.frames}
        self._first_impressions()
        readings: dict[int, Reading] = {}
        closings: dict[int, Call] = {}
        for index, event in enumerate(self.recording.events):
            frame = frames.get(index)
            if frame is not None:
                self.version = self.versions.get(frame.connection, "")
                readings[frame.number] = self._frame(frame)
            elif event.kind == events.DELIVERED and event.frame in self.answers:
                for call, outcome in self.answers[event.frame]:
                    _end(call, index, outcome)
            elif event.kind == events.CLOSED and event.exchange in self.by_exchange:
                call = self.by_exchange[event.exchange]
                closings[index] = replace(call)
                # Under legacy rules a lost connection says nothing about the request.
                if call.era == MODERN and event.party == call.sender:
                    _end(call, index, CANCELLED)
        openings: dict[int, Frame] = {}
        streams: dict[int, int] = {}
        for frame in self.recording.frames:
            if frame.head is not None and "method" in frame.head:
                openings.setdefault(frame.exchange, frame)
            if frame.exchange and is_event_stream(frame.head):
                streams.setdefault(frame.exchange, frame.index)
        return Conversation(readings, tuple(self.calls), closings, self.eras, openings, streams)

    def _first_impressions(self) -> None:
        # Messages without a mark of their era belong to the era that their connection shows first.
        named = self.recording.header.get("era")
        fallback = named if named in (LEGACY, MODERN) else None
        speaks = False
        for frame in self.recording.frames:
            if speaks and frame.connection in self.eras:
                continue
            for message in _messages(frame):
                speaks = speaks or isinstance(message, Request)
                era = _marked_era(frame, message)
                if era is not None:
                    self.eras.setdefault(frame.connection, era)
        # A request without per-request metadata, and nothing modern around it, is how legacy peers talk.
        default = fallback or (LEGACY if speaks and not self.eras else MODERN)
        for frame in self.recording.frames:
            self.eras.setdefault(frame.connection, default)

    def _frame(self, frame: Frame) -> Reading:
        messages = _messages(frame)
        for message in messages:
            era = _marked_era(frame, message)
            if era is not None:
                self.eras[frame.connection] = era
        era = self.eras[frame.connection]
        if not messages:
            return self._without_message(frame, era)
        readings = [self._message(frame, message, era) for message in messages]
        if isinstance(frame.parsed, Batch):
            return replace(readings[0], kind=BATCH)
        return readings[0]

    def _without_message(self, frame: Frame, era: str) -> Reading:
        call = self.by_exchange.get(frame.exchange) if frame.exchange else None
        # HTTP can do without a message; an empty line of stdio is something that is not one.
        kind = STDERR if frame.channel else HTTP if frame.parsed is None and frame.is_http else MALFORMED
        from_server = self._from_server(frame, None)
        if isinstance(frame.parsed, Batch):
            kind = BATCH
        if kind == MALFORMED and frame.sender != getattr(call, "receiver", None):
            call = None
        return self._reading(kind, call.era if call else era, from_server, call)

    def _reading(
        self, kind: str, era: str, from_server: bool, call: Call | None = None, late: bool = False
    ) -> Reading:
        return Reading(kind, era, from_server, call, late, self.version)

    def _message(self, frame: Frame, message: Request | Notification | Response | ErrorResponse, era: str):
        from_server = self._from_server(frame, message)
        match message:
            case Request():
                return self._reading(REQUEST, era, from_server, self._request(frame, message, era))
            case Notification():
                call = self._related(frame, message)
                if call is not None and message.method != "notifications/cancelled":
                    era = call.era
                return self._reading(NOTIFICATION, era, from_server, call)
            case _:
                return self._answer(frame, message, era, from_server)

    def _request(self, frame: Frame, request: Request, era: str) -> Call:
        key = _key(frame.connection, frame.sender, frame.receiver, request.id)
        if frame.copy_of and key in self.waiting:
            return self.waiting[key]
        call = Call(
            frame.number,
            frame.index,
            request,
            frame.sender,
            frame.receiver,
            frame.connection,
            frame.exchange,
            era,
        )
        self.calls.append(call)
        self.waiting[key] = call
        token = meta_of(request.params).get(PROGRESS_TOKEN)
        if isinstance(token, str | int):
            self.by_token[_key(frame.connection, frame.sender, frame.receiver, token)] = call
        if frame.exchange and not self._is_stream_of(frame):
            self.by_exchange[frame.exchange] = call
        return call

    def _is_stream_of(self, frame: Frame) -> bool:
        # A request that a legacy server sends on the stream of a client's request does not own the stream.
        return frame.head is None or "status" in frame.head

    def _related(self, frame: Frame, message: Notification) -> Call | None:
        params = message.params or {}
        if message.method == "notifications/cancelled":
            return self._cancelled(frame, params.get("requestId"))
        token = params.get(PROGRESS_TOKEN)
        if message.method == "notifications/progress" and isinstance(token, str | int):
            return self.by_token.get(_key(frame.connection, frame.receiver, frame.sender, token))
        listening = meta_of(params).get(SUBSCRIPTION_ID)
        if isinstance(listening, str | int):
            return self.waiting.get(_key(frame.connection, frame.receiver, frame.sender, listening))
        return self.by_exchange.get(frame.exchange) if frame.head is None or "status" in frame.head else None

    def _cancelled(self, frame: Frame, id: object) -> Call | None:
        if not isinstance(id, str | int):
            return None
        call = self.waiting.get(_key(frame.connection, frame.sender, frame.receiver, id))
        if call is not None:
            _end(call, frame.index, CANCELLED)
            return call
        # The server may end a subscription, though the request is the other side's; nothing else.
        call = self.waiting.get(_key(frame.connection, frame.receiver, frame.sender, id))
        ends = call is not None and call.request.method == "subscriptions/listen"
        if ends and call is not None and frame.arrived_us is not None:
            self.answers.setdefault(frame.number, []).append((call, CANCELLED))
        return call

    def _answer(
        self, frame: Frame, message: Response | ErrorResponse, era: str, from_server: bool
    ) -> Reading:
        call = None
        if message.id is not None:
            call = self.waiting.get(_key(frame.connection, frame.receiver, frame.sender, message.id))
        elif frame.exchange:
            call = self.by_exchange.get(frame.exchange)
        kind, outcome = (RESPONSE, ANSWERED) if isinstance(message, Response) else (ERROR, FAILED)
        if call is None:
            return self._reading(kind, era, from_server)
        if isinstance(message, Response) and call.request.method == "initialize":
            self.versions[frame.connection] = str(message.result.get("protocolVersion", ""))
        late = call.outcome != OPEN or call.answers > 0
        call.answers += 1
        self.answers.setdefault(frame.number, []).append((call, outcome))
        return self._reading(kind, call.era, from_server, call, late)

    def _from_server(
        self, frame: Frame, message: Request | Notification | Response | ErrorResponse | None
    ) -> bool:
        head = frame.head
        if frame.exchange:
            return head is None or "status" in head or "method" not in head
        pair = (frame.connection, frozenset((frame.sender, frame.receiver)))
        client = self.clients.get(pair)
        if client is None:
            client = self._guess_client(frame, message)
            if message is not None:
                self.clients[pair] = client
        return frame.sender != client

    def _guess_client(
        self, frame: Frame, message: Request | Notification | Response | ErrorResponse | None
    ) -> str:
        for name, other in ((frame.sender, frame.receiver), (frame.receiver, frame.sender)):
            if name.startswith("client") or other.startswith("server"):
                return name
        speaks_first = isinstance(message, Request | Notification) and not frame.channel
        return frame.sender if speaks_first else frame.receiver


def _messages(frame: Frame) -> list[Request | Notification | Response | ErrorResponse]:
    parsed = frame.parsed
    if parsed is None or isinstance(parsed, MalformedMessage):
        return []
    if isinstance(parsed, Batch):
        return [member for member in parsed.members if not isinstance(member, MalformedMessage)]
    return [parsed]


def _marked_era(frame: Frame, message: Request | Notification | Response | ErrorResponse) -> str | None:
    if isinstance(message, Response | ErrorResponse):
        return None
    if message.method in HANDSHAKE:
        return LEGACY
    if PROTOCOL_VERSION in meta_of(message.params):
        return MODERN
    if frame.head is None or "method" not in frame.head or not isinstance(message, Request):
        return None
    revision = headers_of(frame.head).get(VERSION_HEADER)
    return None if revision is None else era_of_revision(revision)


def _key(connection: int, sender: str, receiver: str, id: str | int) -> _Key:
    # 1 and "1" are two ids.
    return connection, sender, receiver, type(id), id


def _end(call: Call, index: int, outcome: str) -> None:
    if call.ended is None:
        call.ended = index
        call.outcome = outcome


def params_of(message: object) -> dict[str, Any]:
    """The parameters of a request or notification, or the result of a response; {} where there is none."""
    if isinstance(message, Request | Notification):
        return message.params or {}
    return message.result if isinstance(message, Response) else {}
