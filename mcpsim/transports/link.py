"""The in-process pair: bytes from a client to a server and back, with latency and faults, recorded.

The link carries bytes, not messages: a broken frame is possible and arrives as it is. Nothing is known here
of the loop; a clock in whole microseconds is handed in.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final, Protocol

import anyio
from anyio.abc import TaskGroup

from mcpsim.errors import ConnectionClosed, MalformedMessage
from mcpsim.messages import Batch, Notification, Request, read_batch
from mcpsim.recording.events import Head
from mcpsim.recording.frames import message_bytes
from mcpsim.recording.recorder import Recorder
from mcpsim.transports.faults import Change, Cut, Delay, Drop, Duplicate, FaultPlan, Reorder
from mcpsim.transports.http import EVENT_STREAM_TYPE, Headers, HttpHead, HttpRequest
from mcpsim.transports.streams import HttpReply, Look
from mcpsim.transports.twists import Outgoing, Twist, fitting, framed, is_streamed, several
from mcpsim.transports.wakeup import Bell

# How many messages a direction takes in one moment before it makes the sender give control back: a handler
# that sends for ever would otherwise never do it.
BURST: Final = 1_000

ACCEPTED: Final = 202

TO_SERVER: Final = "to server"
TO_CLIENT: Final = "to client"


@dataclass(frozen=True, slots=True)
class Transport:
    """The base of the two transports of a simulation.

    Attributes:
        latency_ms: how long every message is on its way, in milliseconds.
        jitter_ms: up to how much longer, drawn for each message by itself.
    """

    latency_ms: float = 20.0
    jitter_ms: float = 0.0

    def __post_init__(self) -> None:
        if not all(math.isfinite(ms) and ms >= 0 for ms in (self.latency_ms, self.jitter_ms)):
            raise ValueError(
                f"latency_ms and jitter_ms must be 0 or more milliseconds, not {self.latency_ms} and "
                f"{self.jitter_ms}."
            )


@dataclass(frozen=True, slots=True)
class Stdio(Transport):
    """A process's standard input and output: two pipes.

    Attributes:
        latency_ms: how long every message is on its way, in milliseconds.
        jitter_ms: up to how much longer, drawn for each message by itself.
    """

    name = "stdio"


@dataclass(frozen=True, slots=True)
class StreamableHttp(Transport):
    """An HTTP endpoint: every message of the client is a request of its own.

    Attributes:
        latency_ms, jitter_ms: as for `Stdio`.
        keep_alive_s: after how many quiet seconds an event stream gets a comment; None for never.
        resumable: whether legacy clients may take a broken stream up again.
        retry_ms: how long a client shall wait before it does so, in milliseconds.
    """

    keep_alive_s: float | None = None
    resumable: bool = False
    retry_ms: int = 1_000

    name = "http"


class Clock(Protocol):
    """Whole microseconds since the run began."""

    def __call__(self) -> int: ...


class Alarm(Protocol):
    """Something that will happen, unless it is cancelled."""

    def cancel(self) -> None: ...


class SetAlarm(Protocol):
    """Calls `ring` at a time, in whole microseconds since the run began."""

    def __call__(self, at_us: int, ring: Callable[[], Any]) -> Alarm: ...


@dataclass(slots=True)
class Wiring:
    """What all pipes of a run share.

    Attributes:
        set_alarm: wakes a reader when something arrives. A timeout of anyio would do it too, and take longer
            than all the rest of the way.
        is_quiet: tells whether nobody but who asks has anything to do at this moment.
        twist: changes what peers are about to send, or None.
        latency_us, jitters: of the transport.
        edits: whether anything is sent in place of something else.
    """

    clock: Clock
    set_alarm: SetAlarm
    recorder: Recorder
    transport: Transport
    plan: FaultPlan
    seed: int | str
    is_quiet: Callable[[], bool] = lambda: False
    twist: Twist | None = None
    latency_us: int = field(init=False)
    jitters: bool = field(init=False)
    edits: bool = field(init=False)

    def __post_init__(self) -> None:
        self.latency_us = round(self.transport.latency_ms * 1000)
        self.jitters = self.transport.jitter_ms > 0
        self.edits = self.plan.edits

    def travel_us(self, label: str, what: str) -> int:
        """How long something is on its way, in microseconds.

        Every draw is keyed by what it is for, so that one message more or less does not change the others.

        Args:
            label: the link and the direction.
            what: the message, by the key that `Keys` gives it, or what else travels, such as the end.
        """
        transport = self.transport
        if not self.jitters:
            return self.latency_us
        drawn = Random(f"{self.seed}:{label}:{what}").random()
        return round((transport.latency_ms + drawn * transport.jitter_ms) * 1000)


class Keys:
    """Names the messages of a direction: by id where they have one, otherwise by method and number."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def next(self, body: bytes) -> str:
        """The key of the next message; the same message again gets another one."""
        kind = _kind(body)
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{kind}:{count}"


def _kind(body: bytes) -> str:
    if not body:
        return "nothing"
    try:
        message = read_batch(body)
    except MalformedMessage:
        return "no message"
    if isinstance(message, Batch):
        return "batch"
    if isinstance(message, Notification):
        params = message.params or {}
        about = next((params[key] for key in ("progressToken", "requestId") if key in params), "")
        return f"{message.method} {json.dumps(about)}"
    return f"{'request' if isinstance(message, Request) else 'answer'} {json.dumps(message.id)}"


@dataclass(slots=True)
class Parcel:
    """A frame on its way. `frame` 0 marks the end of the direction, `twin` is a copy that travels with it."""

    due_us: int
    frame: int
    data: bytes
    head: HttpHead | HttpRequest | None = None
    changed: bytes | None = None
    twin: int = 0


@dataclass(slots=True)
class Pipe:
    """One direction. Keeps the order of what is put in, unless a fault says otherwise.

    Attributes:
        cut: called when a fault breaks the connection.
        double: called when a fault doubles an HTTP request.
        orphan: the head of an event stream whose first event does not arrive first: the head does.
        look: what the receiver can take without being woken; see `QuickStream.take_at_once`.
        streams: whether a twist sent something of an event stream.
    """

    wiring: Wiring
    label: str
    sender: str
    receiver: str
    connection: int
    exchange: int = 0
    cut: Callable[[], None] | None = None
    double: Callable[[Parcel], None] | None = None
    orphan: HttpHead | None = None
    look: Look | None = None
    streams: bool = False
    keys: Keys = field(default_factory=Keys)
    _head_to_come: HttpHead | HttpRequest | None = None
    _parcels: deque[Parcel] = field(default_factory=deque[Parcel])
    _last_due_us: int = 0
    _moment_us: int = 0
    _burst: int = 0
    _bell: Bell = field(default_factory=Bell)
    _alarm: Alarm | None = None
    _finished: bool = False
    _broken: str = ""

    async def send(self, data: bytes, head: HttpHead | HttpRequest | None = None) -> None:
        """Send a frame, and give control back where there were very many."""
        self.put(data, head)
        if self._burst > BURST:
            await anyio.lowlevel.checkpoint()

    def put(
        self,
        data: bytes,
        head: HttpHead | HttpRequest | None = None,
        *,
        last: bool = False,
        as_it_is: bool = False,
    ) -> None:
        """Send a frame.

        Args:
            last: whether the sender gives control back next, without beginning anything else.
            as_it_is: whether no twist is asked any more.
        """
        wiring = self.wiring
        if wiring.twist is not None and not as_it_is:
            self._put_twisted(wiring.twist, data, head)
            return
        if wiring.edits:
            data, head = self._edited(data, head)
        frame = wiring.recorder.sent(
            self.sender,
            self.receiver,
            data,
            connection=self.connection,
            exchange=self.exchange,
            head=None if head is None else plain_head(head),
        )
        if self._broken:
            self._lose(frame, self._broken)
            return
        now_us = wiring.clock()
        if now_us != self._moment_us:
            self._moment_us, self._burst = now_us, 0
        self._burst += 1
        if wiring.jitters:
            due_us = now_us + wiring.travel_us(self.label, self.keys.next(self._body(data, head)))
        else:
            # Nothing is drawn, and so nobody asks what the message is.
            due_us = now_us + wiring.latency_us
        if wiring.plan:
            self._put_with_faults(Parcel(due_us, frame, data, head))
        elif last and due_us == now_us and self._bell.is_awaited() and self._is_next(now_us):
            self._hand_over(now_us, frame, data, head)
        else:
            self._enqueue(Parcel(due_us, frame, data, head))

    def _edited(
        self, data: bytes, head: HttpHead | HttpRequest | None
    ) -> tuple[bytes, HttpHead | HttpRequest | None]:
        edit = self.wiring.plan.edit(self.wiring.recorder.next_frame)
        if edit is None:
            return data, head
        one = self.outgoing(data, head).with_data(edit.data)
        message = one.message
        if edit.fit_headers and isinstance(head, HttpRequest) and message is not None:
            one = one.with_headers(fitting(one.headers, message))
        if isinstance(one.head, HttpRequest):
            one = one.with_head(replace(one.head, body=edit.data))
        return framed(one, data), one.head

    def _put_twisted(self, twist: Twist, data: bytes, head: HttpHead | HttpRequest | None) -> None:
        if head is None:
            head, self._head_to_come = self._head_to_come, None
        asked = self.outgoing(data, head)
        given = several(twist(asked), asked)
        if len(given) > 1:
            _check_room(given[0])
        if not given and isinstance(head, HttpHead) and is_event_stream(head):
            # The stream begins all the same, with what comes next.
            self._head_to_come = head
        for at, one in enumerate(given):
            # What is not touched goes out byte for byte: a comment of a stream is no message.
            same = one.data == asked.data and is_streamed(one.head) == is_streamed(head)
            body = data if same and not one.unframed else framed(one, b"" if at else data)
            self.streams = self.streams or (isinstance(one.head, HttpHead) and is_event_stream(one.head))
            self.put(body, one.head, as_it_is=True)

    def outgoing(self, data: bytes, head: HttpHead | HttpRequest | None) -> Outgoing:
        """A frame as a twist sees it."""
        body = self._body(data, head)
        return Outgoing(self.sender, self.receiver, body, head, self.exchange, self.connection)

    def _is_next(self, now_us: int) -> bool:
        return not self._parcels and self._last_due_us <= now_us and self.wiring.is_quiet()

    def _hand_over(self, now_us: int, frame: int, data: bytes, head: HttpHead | HttpRequest | None) -> None:
        """Let a frame arrive for which nobody else can run before the receiver: that needs no alarm."""
        self._last_due_us = now_us
        take = None if self.look is None else self.look(data)
        if take is None:
            self._parcels.append(Parcel(now_us, frame, data, head))
            self._bell.ring()
            return
        self._burst = 0
        self.wiring.recorder.delivered(
            frame, self.receiver, self.sender, connection=self.connection, exchange=self.exchange
        )
        take()

    def _body(self, data: bytes, head: HttpHead | HttpRequest | None) -> bytes:
        return message_bytes(data, None if head is None else plain_head(head), http=self.exchange > 0)

    def _put_with_faults(self, parcel: Parcel) -> None:
        body = self._body(parcel.data, parcel.head)
        fault = self.wiring.plan.hit(
            body,
            sender=self.sender,
            receiver=self.receiver,
            connection=self.connection,
            frame=parcel.frame,
        )
        if isinstance(fault, Drop):
            self._drop(parcel)
        elif isinstance(fault, Cut):
            self._lose(parcel.frame, "the connection was cut")
            if self.cut is not None:
                self.cut()
        elif isinstance(fault, Delay):
            parcel.due_us += round(fault.by_ms * 1000)
            self._enqueue(parcel)
        elif isinstance(fault, Reorder):
            parcel.due_us += round(fault.by_ms * 1000)
            self._leave_head(parcel)
            self._enqueue(parcel, overtaken=True)
        elif isinstance(fault, Duplicate):
            self._duplicate(parcel)
        elif isinstance(fault, Change):
            parcel.changed = _changed(parcel.data, fault, sse=self.exchange > 0 and body != parcel.data)
            self._enqueue(parcel)
        else:
            self._enqueue(parcel)

    def _drop(self, parcel: Parcel) -> None:
        self._lose(parcel.frame, "a fault dropped it")
        if isinstance(parcel.head, HttpHead) and not is_event_stream(parcel.head):
            # The response was this one frame: there is nothing left that could come to an end.
            self._finished = True
        self._leave_head(parcel)

    def _leave_head(self, parcel: Parcel) -> None:
        if isinstance(parcel.head, HttpHead) and is_event_stream(parcel.head):
            self.orphan, parcel.head = parcel.head, None

    def _duplicate(self, parcel: Parcel) -> None:
        if isinstance(parcel.head, HttpRequest):
            self._enqueue(parcel)
            if self.double is not None:
                self.double(parcel)
            return
        copy = self.wiring.recorder.sent(
            self.sender,
            self.receiver,
            parcel.data,
            connection=self.connection,
            exchange=self.exchange,
            head=None if parcel.head is None else plain_head(parcel.head),
            copy_of=parcel.frame,
        )
        if isinstance(parcel.head, HttpHead) and not is_event_stream(parcel.head):
            self._lose(copy, "an HTTP response has only one body")
        else:
            parcel.twin = copy
        self._enqueue(parcel)

    def put_copy(self, parcel: Parcel) -> None:
        """Send a copy of an HTTP request that another pipe carries; it arrives when that one does."""
        head = None if parcel.head is None else plain_head(parcel.head)
        frame = self.wiring.recorder.sent(
            self.sender,
            self.receiver,
            parcel.data,
            connection=self.connection,
            exchange=self.exchange,
            head=head,
            copy_of=parcel.frame,
        )
        self._enqueue(Parcel(parcel.due_us, frame, parcel.data, parcel.head))

    def _enqueue(self, parcel: Parcel, *, overtaken: bool = False) -> None:
        at = len(self._parcels)
        if not at and parcel.due_us >= self._last_due_us:
            # By far the most common: nothing is on its way.
            if not overtaken:
                self._last_due_us = parcel.due_us
            self._parcels.append(parcel)
            self._wake_in_time()
            return
        if not overtaken:
            parcel.due_us = self._last_due_us = max(parcel.due_us, self._last_due_us)
            # Only what a fault holds back is due later than this one, and it is at the end.
            while at and self._parcels[at - 1].due_us > parcel.due_us:
                at -= 1
        self._parcels.insert(at, parcel)
        if not at:
            self._wake_in_time()

    def finish(self) -> None:
        """Nothing more will be put in; the receiver learns it after what is on its way."""
        if not self._finished:
            self._finished = True
            last = max((one.due_us for one in self._parcels), default=0)
            due_us = self.wiring.clock() + self.wiring.travel_us(self.label, "the end")
            self._parcels.append(Parcel(max(due_us, self._last_due_us, last), 0, b""))
            if len(self._parcels) == 1:
                self._wake_in_time()

    def record_end(self, what: str, how: str) -> None:
        """Write down that the sender closed `what` ("stdin", "stdout", "exchange"), and how."""
        self.wiring.recorder.closed(
            self.sender, self.receiver, what, how, connection=self.connection, exchange=self.exchange
        )

    def break_off(self, why: str) -> None:
        """The direction is gone: what is on its way is lost, and the receiver notices at once."""
        if self._broken:
            return
        self._broken = why
        for parcel in self._parcels:
            for frame in (parcel.frame, parcel.twin):
                if frame:
                    self._lose(frame, why)
        self._parcels.clear()
        self._bell.ring()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is on its way."""
        return not self._parcels

    @property
    def is_free(self) -> bool:
        """Whether `send` would neither wait nor raise."""
        return not self._broken and self._burst < BURST

    @property
    def is_broken(self) -> bool:
        """Whether the direction is gone."""
        return bool(self._broken)

    async def get(self) -> Parcel:
        """The next frame, when it has arrived.

        Raises:
            anyio.EndOfStream: the sender finished.
            ConnectionClosed: the direction was broken off.
        """
        while True:
            if self._broken:
                raise ConnectionClosed(f"The connection is gone: {self._broken}.")
            if self._parcels and self._parcels[0].due_us <= self.wiring.clock():
                break
            ring = self._bell.next_ring()
            self._wake_in_time()
            try:
                await ring
            finally:
                self._bell.heard()
                if self._alarm is not None:
                    self._alarm.cancel()
                    self._alarm = None
        parcel = self._parcels.popleft()
        # Whoever sent it has given control back, for the receiver runs in another task.
        self._burst = 0
        if not parcel.frame:
            raise anyio.EndOfStream
        self.wiring.recorder.delivered(
            parcel.frame,
            self.receiver,
            self.sender,
            connection=self.connection,
            exchange=self.exchange,
            changed=parcel.changed,
        )
        if parcel.changed is not None:
            parcel.data = parcel.changed
        if parcel.twin:
            self.wiring.recorder.delivered(
                parcel.twin,
                self.receiver,
                self.sender,
                connection=self.connection,
                exchange=self.exchange,
            )
            parcel.data += parcel.data
        return parcel

    def _wake_in_time(self) -> None:
        """Let the reader, if there is one, wake when the first thing on its way arrives."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._parcels and self._bell.is_awaited():
            self._alarm = self.wiring.set_alarm(self._parcels[0].due_us, self._ring_alarm)

    def _ring_alarm(self) -> None:
        self._alarm = None
        self._bell.ring()

    def _lose(self, frame: int, why: str) -> None:
        self.wiring.recorder.dropped(
            frame, self.sender, self.receiver, why, connection=self.connection, exchange=self.exchange
        )


def _changed(data: bytes, fault: Change, *, sse: bool) -> bytes | None:
    """The bytes after a change of the message in them; None where there is nothing to change."""
    if not sse:
        changed = data.replace(fault.old, fault.new)
    else:
        # The lines around the message are the transport's, and stay.
        field, lines = b"data: ", data.split(b"\n")
        changed = b"\n".join(
            field + line.removeprefix(field).replace(fault.old, fault.new) if line.startswith(field) else line
            for line in lines
        )
    return None if changed == data else changed


def _check_room(first: Outgoing) -> None:
    if isinstance(first.head, HttpHead) and not is_event_stream(first.head):
        raise ValueError(
            "A twist sends several messages as one HTTP response that is no event stream. Make it one: "
            "with_header('Content-Type', 'text/event-stream')."
        )


def is_event_stream(head: HttpHead) -> bool:
    """Whether the body of a response is a stream of server-sent events."""
    return (head.headers.get("Content-Type") or "").lower().startswith(EVENT_STREAM_TYPE)


def plain_head(head: HttpHead | HttpRequest) -> Head:
    """A head as plain JSON values, for a recording."""
    headers = [[name, value] for name, value in head.headers.items()]
    if isinstance(head, HttpRequest):
        return {"method": head.method, "path": head.path, "headers": headers}
    return {"status": head.status, "headers": headers}


@dataclass(slots=True)
class End:
    """One end of a stdio connection: a QuickStream."""

    incoming: Pipe
    outgoing: Pipe
    closing: str
    _closed: bool = False

    async def send(self, data: bytes) -> None:
        pipe = self.outgoing
        if pipe.is_broken or self._closed:
            raise ConnectionClosed("The connection is gone: nobody reads any more.")
        await pipe.send(data)

    def send_now(self, data: bytes) -> bool:
        pipe = self.outgoing
        if self._closed or not pipe.is_free:
            return False
        pipe.put(data, last=True)
        return True

    def take_at_once(self, look: Look) -> None:
        self.incoming.look = look

    def is_quiet(self) -> bool:
        return self.incoming.is_empty and self.incoming.wiring.is_quiet()

    async def receive(self) -> bytes:
        return (await self.incoming.get()).data

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        pipe = self.outgoing
        if not pipe.is_broken:
            pipe.record_end(self.closing, "closed")
            pipe.finish()


def stdio_pair(wiring: Wiring, client: str, server: str) -> tuple[End, End, int]:
    """The client's and the server's end of a new stdio connection, and the connection's number."""
    connection = wiring.recorder.new_connection()
    label = f"{client}-{server}"
    there = Pipe(wiring, f"{label}:{TO_SERVER}", client, server, connection)
    back = Pipe(wiring, f"{label}:{TO_CLIENT}", server, client, connection)

    def cut() -> None:
        wiring.recorder.closed(client, server, "the pipes", "cut", connection=connection)
        there.break_off("the connection was cut")
        back.break_off("the connection was cut")

    there.cut = back.cut = cut
    return End(back, there, "stdin"), End(there, back, "stdout"), connection


Handle = Callable[[HttpRequest, HttpReply], Awaitable[None]]


class HttpLink:
    """Carries one client's HTTP requests to an endpoint in the same process.

    Args:
        handle: the endpoint.
        tasks: where the endpoint's work on each request runs.
        label: what the draws of this link are keyed by, where there are several between the same two.
    """

    def __init__(
        self,
        wiring: Wiring,
        client: str,
        server: str,
        handle: Handle,
        tasks: TaskGroup,
        *,
        label: str = "",
    ) -> None:
        self._wiring = wiring
        self._client = client
        self._server = server
        self._handle = handle
        self._tasks = tasks
        self._keys = Keys()
        self._label = label or f"{client}-{server}"
        self._copies: list[Exchange] = []
        self._beside: list[Exchange] = []
        self.connection = wiring.recorder.new_connection()

    async def open(self, request: HttpRequest) -> Exchange:
        """Send a request; the endpoint works on it in a task of its own."""
        label = self._label
        if self._wiring.transport.jitter_ms:
            label += f":{self._keys.next(request.body)}"
        opened = self._exchange(label)
        if self._wiring.twist is not None:
            self._open_twisted(self._wiring.twist, opened, request)
            return opened
        self._send(opened, label, request)
        return opened

    def _send(self, opened: Exchange, label: str, request: HttpRequest) -> None:
        copies: list[Parcel] = []
        opened.there.double = copies.append
        opened.there.put(request.body, request, as_it_is=True)
        self._begin(opened)
        for parcel in copies:
            self._double(f"{label}:copy", parcel)

    def _open_twisted(self, twist: Twist, opened: Exchange, request: HttpRequest) -> None:
        asked = opened.there.outgoing(request.body, request)
        given = several(twist(asked), asked)
        own = next((one for one in given if not one.added), None)
        for one in given:
            exchange = opened if one is own else self._exchange(f"{opened.there.label}:beside")
            head = one.head if isinstance(one.head, HttpRequest) else request
            self._send(exchange, exchange.there.label, replace(head, body=one.data))
            if one is not own:
                self._beside.append(exchange)
                self._tasks.start_soon(exchange.read_away, name=f"client: HTTP exchange {one.exchange}")
        if own is None:
            # It never went out, and its sender does not know that.
            opened.back.orphan = HttpHead(ACCEPTED, Headers())
            opened.back.finish()

    def _exchange(self, label: str) -> Exchange:
        wiring = self._wiring
        exchange = wiring.recorder.new_exchange()
        there = Pipe(wiring, f"{label}:{TO_SERVER}", self._client, self._server, self.connection, exchange)
        back = Pipe(wiring, f"{label}:{TO_CLIENT}", self._server, self._client, self.connection, exchange)
        opened = Exchange(there, back, self._tasks)
        there.cut = back.cut = opened.cut
        return opened

    def _double(self, label: str, parcel: Parcel) -> None:
        exchange = self._exchange(label)
        exchange.back.break_off("it answers a copy, and nobody waits for that")
        exchange.there.put_copy(parcel)
        self._copies.append(exchange)
        self._begin(exchange)

    def hang_up(self) -> None:
        """The client is gone: whoever sent copies of its requests does not wait for their answers either.

        A response stream may have no other end, as that of a subscription.
        """
        for exchange in self._copies:
            exchange.reply.abort()
        self._copies.clear()
        for exchange in self._beside:
            exchange.abort()
        self._beside.clear()

    def _begin(self, exchange: Exchange) -> None:
        if not exchange.there.is_empty:
            name = f"server: HTTP exchange {exchange.back.exchange}"
            self._tasks.start_soon(self._serve, exchange, name=name)

    async def _serve(self, exchange: Exchange) -> None:
        try:
            parcel = await exchange.there.get()
        except ConnectionClosed:
            return
        head = parcel.head
        if isinstance(head, HttpRequest):
            await self._handle(HttpRequest(head.method, head.path, head.headers, parcel.data), exchange.reply)


class Exchange:
    """One HTTP exchange: the client's end, and (as `reply`) the server's."""

    def __init__(self, there: Pipe, back: Pipe, tasks: TaskGroup) -> None:
        self.there = there
        self.back = back
        self.reply = LinkReply(self)
        self._tasks = tasks
        self._first: Parcel | None = None
        self._done = False

    async def head(self) -> HttpHead:
        try:
            self._first = parcel = await self.back.get()
        except anyio.EndOfStream:
            self._done = True
            if self.back.orphan is not None:
                return self.back.orphan
            raise ConnectionClosed("The server closed the connection without a response.") from None
        head = parcel.head or self.back.orphan
        if not isinstance(head, HttpHead):
            raise ConnectionClosed("What came back does not begin with a response head.")
        return head

    async def receive(self) -> bytes:
        first, self._first = self._first, None
        if first is not None and first.data:
            return first.data
        if self._done:
            raise anyio.EndOfStream
        try:
            return (await self.back.get()).data
        except anyio.EndOfStream:
            self._done = True
            raise

    async def read_away(self) -> None:
        """Read the response for nobody."""
        with suppress(anyio.EndOfStream, ConnectionClosed):
            await self.head()
            while True:
                await self.receive()

    def abort(self) -> None:
        """The client closes the response stream. The server notices one latency later."""
        if self._done or self.back.is_broken:
            return
        pipe = self.there
        pipe.record_end("exchange", "aborted")
        self.back.break_off("the client closed the response stream")
        # Where the run is over, as for a call that a story left behind, there is no server left to tell.
        with suppress(RuntimeError):
            self._tasks.start_soon(self._tell_server, name="link: abort")

    async def _tell_server(self) -> None:
        pipe = self.there
        await anyio.sleep(pipe.wiring.travel_us(pipe.label, "the abort") / 1_000_000)
        self.reply.abort()

    def cut(self) -> None:
        """A fault breaks this exchange: both ends notice at once."""
        self.there.record_end("exchange", "cut")
        self.there.break_off("the connection was cut")
        self.back.break_off("the connection was cut")
        self.reply.abort()


class LinkReply:
    """The server's end of an HTTP exchange."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._streaming = False
        self._ended = False
        self._aborted = False
        self._callbacks: list[Callable[[], None]] = []

    @property
    def exchange(self) -> int:
        return self._exchange.back.exchange

    async def send(self, head: HttpHead | None, body: bytes) -> None:
        if self._aborted:
            return
        if head is not None:
            self._streaming = is_event_stream(head)
        await self._exchange.back.send(body, head)

    async def end(self) -> None:
        if self._ended or self._aborted:
            return
        self._ended = True
        pipe = self._exchange.back
        if (self._streaming or pipe.streams) and not pipe.is_broken:
            # Only a stream has an end worth showing; a JSON body ends with itself.
            pipe.record_end("exchange", "complete")
        pipe.finish()

    def on_abort(self, callback: Callable[[], None]) -> None:
        if self._aborted:
            callback()
        else:
            self._callbacks.append(callback)

    def abort(self) -> None:
        """The client is gone."""
        if self._aborted or self._ended:
            return
        self._aborted = True
        for callback in self._callbacks:
            callback()
