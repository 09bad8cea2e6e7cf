"""The client's side of stdio: one shared line in, one shared line out.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
"""

from __future__ import annotations

import anyio
from anyio.abc import TaskGroup

from mcpsim.client.wire import Deliver, Pending, Reply
from mcpsim.errors import ConnectionClosed, FramingError, MalformedMessage
from mcpsim.messages import Batch, ErrorResponse, Message, Response
from mcpsim.recording.scribe import Scribe
from mcpsim.transports.http import Headers
from mcpsim.transports.stdio import LineReader, frame
from mcpsim.transports.streams import ByteStream


class StdioWire:
    """Lines to and from one server process.

    Args:
        stream: the process's pipes.
        scribe: where to write down what the client notices.
    """

    is_http = False

    def __init__(self, stream: ByteStream, scribe: Scribe) -> None:
        self._stream = stream
        self._scribe = scribe
        self._waiting: list[Pending] = []
        self._watchers: list[list[Message | Batch | MalformedMessage]] = []
        self._raw_waiting: list[Pending] = []
        self._ended: Exception | None = None

    def start(self, tasks: TaskGroup, deliver: Deliver) -> None:
        tasks.start_soon(self._read, deliver, name="client: read")

    async def _read(self, deliver: Deliver) -> None:
        lines = LineReader()
        ended = ConnectionClosed("The server closed the connection before it answered.")
        while True:
            try:
                chunk = await self._stream.receive()
            except anyio.EndOfStream:
                break
            except ConnectionClosed as error:
                # The stream knows more: that it was cut, or how the process ended.
                ended = error
                break
            for line in lines.feed(chunk):
                await self._take(deliver, line)
        leftover = lines.finish()
        if leftover:
            self._scribe.note(
                f"The server's output ended in the middle of a message of {len(leftover)} bytes."
            )
        self._ended = ended
        for pending in tuple(self._waiting):
            pending.fail(self._ended)

    async def _take(self, deliver: Deliver, line: bytes | FramingError) -> None:
        if isinstance(line, FramingError):
            self._scribe.note(f"Skipped: {line}")
            return
        message = await deliver(line, None)
        for watcher in self._watchers:
            watcher.append(message)
        # An error without an id cannot say what it answers. On a pipe where raw bytes wait for an answer
        # it is most likely theirs.
        if isinstance(message, ErrorResponse) and message.id is None and self._raw_waiting:
            self._raw_waiting[0].settle(message)

    async def request(self, data: bytes, headers: Headers, pending: Pending) -> None:
        if self._ended is not None:
            raise self._ended
        self._waiting.append(pending)
        try:
            await self._stream.send(frame(data))
            await pending.done.wait()
        finally:
            self._waiting.remove(pending)

    async def post(self, data: bytes, headers: Headers) -> None:
        await self._stream.send(frame(data))

    async def raw(self, data: bytes, headers: Headers, pending: Pending) -> Reply:
        if self._ended is not None:
            raise self._ended
        watcher: list[Message | Batch | MalformedMessage] = []
        self._watchers.append(watcher)
        self._waiting.append(pending)
        self._raw_waiting.append(pending)
        try:
            # Not through `frame`: a learner may want to send two lines, or half a line.
            await self._stream.send(data if data.endswith(b"\n") else data + b"\n")
            await pending.done.wait()
        finally:
            self._watchers.remove(watcher)
            self._waiting.remove(pending)
            self._raw_waiting.remove(pending)
        if pending.failure is not None:
            raise pending.failure
        own = [
            one for one in watcher if not isinstance(one, Response | ErrorResponse) or one is pending.answer
        ]
        return Reply(None, Headers(), tuple(own))

    async def close(self, headers: Headers) -> None:
        await self._stream.aclose()
