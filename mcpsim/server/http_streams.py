"""The event streams of a legacy session: answers to POSTs, standing streams (GET), and taking them up again.

A stream is more than the connection that carries it. Where the endpoint makes its streams resumable, each has
a number and its events have ids; when a connection is gone, closed by either side or broken, the stream goes
on without one until the client asks for the rest with GET and `Last-Event-ID`. Each message belongs to one
stream and is sent on no other.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import anyio

from mcpsim.recording.scribe import Scribe
from mcpsim.server.event_log import EventLog, Place, UnknownEvent, read_place
from mcpsim.server.http_reply import BAD_REQUEST, AnswerStream, Refusal, stream_head
from mcpsim.transports.http import sse_event
from mcpsim.transports.streams import HttpReply

#: How many messages may wait on a standing stream that cannot be resumed and whose client does not read.
MAX_WAITING: Final = 10_000
#: How many streams of a session are kept for being taken up again.
MAX_STREAMS: Final = 100


@dataclass(slots=True, eq=False)
class Connection:
    """What carries a stream for a while: one HTTP response."""

    reply: HttpReply
    ended: bool = False

    async def end(self) -> None:
        """Finish the response, once."""
        if not self.ended:
            self.ended = True
            await self.reply.end()


@dataclass(slots=True, eq=False)
class SessionStream:
    """One stream of a session.

    Attributes:
        number: its number in the session, from 1.
        standing: whether a GET opened it; otherwise it answers a POST.
        log: where its events are kept; None where they are not.
        priming: what a new stream begins with, after the head; or b"".
        connection: what carries it at the moment, or None.
        finished: whether nothing more will be put in.
    """

    number: int
    standing: bool
    log: EventLog | None
    priming: bytes
    connection: Connection | None = None
    finished: bool = False
    _sent: int = 0
    _waiting: deque[bytes] = field(default_factory=deque[bytes])
    _writing: anyio.Lock = field(default_factory=anyio.Lock)
    _wake: anyio.Event = field(default_factory=anyio.Event)

    async def connect(self, reply: HttpReply, after: int | None = None) -> Connection:
        """Let a connection carry the stream from here on. The client knows better than we do that a former
        one is gone; that is ended.

        Args:
            after: the number of the last event that the client has; None for a new stream.
        """
        former, self.connection = self.connection, None
        if former is not None:
            await former.end()
        connection = Connection(reply)
        async with self._writing:
            await reply.send(stream_head(), self.priming if after is None else b"")
            self._sent = after or 0
            self.connection = connection
        reply.on_abort(lambda: self._lost(connection))
        self._wake.set()
        return connection

    def _lost(self, connection: Connection) -> None:
        connection.ended = True
        if self.connection is connection:
            self.connection = None
        self._wake.set()

    def put(self, data: bytes) -> bool:
        """Put a message in; False where there is no room for it."""
        if self.log is not None:
            self.log.add(self.number, data)
        elif len(self._waiting) < MAX_WAITING:
            self._waiting.append(data)
        else:
            return False
        self._wake.set()
        return True

    async def flush(self) -> None:
        """Send in order what was put in and not sent yet, as far as there is a connection."""
        async with self._writing:
            while (connection := self.connection) is not None and (event := self._next_event()):
                await connection.reply.send(None, event)

    def _next_event(self) -> bytes:
        if self.log is None:
            return sse_event(self._waiting.popleft()) if self._waiting else b""
        found = self.log.next(Place(self.number, self._sent))
        if found is None:
            return b""
        place, data = found
        self._sent = place.number
        return sse_event(data, id=str(place))

    async def disconnect(self) -> None:
        """Close the connection; the stream goes on without one."""
        connection, self.connection = self.connection, None
        self._wake.set()
        if connection is not None:
            await connection.end()

    def finish(self) -> None:
        """Nothing more will be put in."""
        self.finished = True
        self._wake.set()

    async def carry(self, connection: Connection) -> None:
        """Send what is put in for as long as this connection carries the stream, then close it."""
        try:
            while self.connection is connection:
                self._wake = anyio.Event()
                await self.flush()
                if self.finished:
                    await self.disconnect()
                elif self.connection is connection:
                    await self._wake.wait()
            await connection.end()
        except anyio.get_cancelled_exc_class():
            # Whoever carries the response away has no use for it any more.
            self._lost(connection)
            raise


class SessionStreams:
    """All streams of one session.

    Args:
        resumable: whether events have ids and are kept.
        retry_ms: how long a client shall wait before it connects again, in milliseconds.
        scribe: where to write down what is lost.

    Attributes:
        primes: whether the session's revision knows the event without data that gives out a first id.
    """

    def __init__(self, *, resumable: bool, retry_ms: int, scribe: Scribe) -> None:
        self._log = EventLog() if resumable else None
        self.primes = False
        self._retry_ms = retry_ms
        self._scribe = scribe
        self._next = 1
        self._streams: dict[int, SessionStream] = {}

    @property
    def resumable(self) -> bool:
        """Whether a client can ask for what it has missed."""
        return self._log is not None

    @property
    def can_be_polled(self) -> bool:
        """Whether a client knows what it means when the server closes a connection before the answer."""
        return self._log is not None and self.primes

    def begin(self, *, standing: bool) -> SessionStream:
        """A new stream, without a connection yet."""
        number, self._next = self._next, self._next + 1
        priming = b""
        if self._log is not None and self.primes:
            priming = sse_event(b"", id=str(Place(number, 0)), retry_ms=self._retry_ms)
        stream = self._streams[number] = SessionStream(number, standing, self._log, priming)
        if len(self._streams) > MAX_STREAMS:
            self._forget_oldest()
        return stream

    def _forget_oldest(self) -> None:
        for number, stream in self._streams.items():
            if stream.connection is None and (stream.finished or stream.standing):
                self._forget(number)
                return

    def _forget(self, number: int) -> None:
        self._streams.pop(number, None)
        if self._log is not None:
            self._log.forget(number)

    async def stand(self, reply: HttpReply) -> None:
        """Answer a GET with a new standing stream; returns when its connection is gone."""
        stream = self.begin(standing=True)
        await stream.carry(await stream.connect(reply))
        if not self.resumable:
            self._forget(stream.number)

    async def resume(self, last_event_id: str, reply: HttpReply) -> None:
        """Answer a GET with the rest of a stream; returns when its connection is gone.

        Nothing of another stream is sent. An id that cannot be used is refused with 400: 404 would tell the
        client that its session is over.

        Raises:
            Refusal: there is nothing to resume after that event.
        """
        if self._log is None:
            raise Refusal(BAD_REQUEST, "The streams of this endpoint cannot be resumed.")
        try:
            place = read_place(last_event_id)
            stream = self._streams.get(place.stream)
            if stream is None:
                raise UnknownEvent(f"There is no stream to the event {place} (any more).")
            self._log.check(place)
        except UnknownEvent as error:
            raise Refusal(BAD_REQUEST, f"{error} Open a new stream, without Last-Event-ID.") from None
        await stream.carry(await stream.connect(reply, place.number))

    def put(self, data: bytes) -> None:
        """Send a message that belongs to no request, on one standing stream: the newest that is connected, or
        the newest that may be taken up again. Where there is none it is lost."""
        for stream in self._standing():
            if not stream.put(data):
                self._scribe.note("A message is lost: too many wait on the standing stream.")
            return
        self._scribe.note("A message is lost: the client has opened no standing stream with GET.")

    def _standing(self) -> Iterator[SessionStream]:
        newest = [one for one in reversed(self._streams.values()) if one.standing and not one.finished]
        yield from (one for one in newest if one.connection is not None)
        if self.resumable:
            yield from newest

    def close(self) -> None:
        """The session is over: let every standing stream come to its end. What answers a request ends with
        that request."""
        for stream in self._streams.values():
            if stream.standing:
                stream.finish()


class ResumableAnswer(AnswerStream):
    """The answer to one request of a session, which survives its connection once it has become a stream."""

    def __init__(self, reply: HttpReply, scribe: Scribe, streams: SessionStreams) -> None:
        super().__init__(reply, scribe)
        self._streams = streams
        self._stream: SessionStream | None = None

    async def _begun(self) -> SessionStream:
        if self._stream is None:
            self._stream = self._streams.begin(standing=False)
            await self._stream.connect(self._reply)
        return self._stream

    async def event(self, data: bytes) -> None:
        stream = await self._begun()
        stream.put(data)
        await stream.flush()

    async def finish(self, data: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        if self._stream is None:
            await super().finish(data, status, headers)
            return
        await self.event(data)
        self._stream.finish()
        await self._stream.disconnect()

    async def abandon(self) -> None:
        if self._stream is None:
            await super().abandon()
            return
        self._stream.finish()
        await self._stream.disconnect()

    async def close_early(self) -> bool:
        """Close the connection before the answer; the client comes back for it. False where it would not."""
        if not self._streams.can_be_polled:
            return False
        stream = await self._begun()
        await stream.disconnect()
        return True
