"""The client's side of stdio: one shared line in, one shared line out.

https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import anyio
from anyio.abc import TaskGroup

from mcpsim.client.wire import CLOSE_TIMEOUT_S, Arrived, Deliver, Pending, Settle, answers_in
from mcpsim.errors import ConnectionClosed, FramingError
from mcpsim.messages import Batch, ErrorResponse, Response
from mcpsim.recording.scribe import Scribe
from mcpsim.transports.http import Headers
from mcpsim.transports.stdio import LineReader, frame
from mcpsim.transports.streams import ByteStream, quick


class StdioWire:
    """Lines to and from one server process.

    Args:
        stream: the process's pipes.
        scribe: where to write down what the client notices.
    """

    is_http = False
    session_id = ""

    def __init__(self, stream: ByteStream, scribe: Scribe) -> None:
        self._stream = stream
        self._quick = quick(stream)
        self._scribe = scribe
        self._waiting: list[Pending] = []
        self._raw: list[Pending] = []
        self._failure: Exception | None = None
        self._ended = anyio.Event()
        self._reading = anyio.CancelScope()
        self._lines = LineReader()

    def keep_session(self, keep: bool) -> None:
        """On stdio the process is the session."""

    async def stand(self, headers: Headers) -> None:
        """On stdio everything comes on one pipe."""

    def start(self, tasks: TaskGroup, deliver: Deliver, settle: Settle) -> None:
        if self._quick is not None:
            self._quick.take_at_once(partial(self._look, settle))
        tasks.start_soon(self._read, deliver, name="client: read")

    async def _read(self, deliver: Deliver) -> None:
        try:
            await self._read_lines(deliver)
        finally:
            # Also where the client was cancelled: closing waits for this.
            self._ended.set()

    async def _read_lines(self, deliver: Deliver) -> None:
        lines = self._lines
        ended = ConnectionClosed("The server closed the connection before it answered.")
        with self._reading:
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
        self._failure = ended
        for pending in tuple(self._waiting):
            pending.fail(ended)

    def _look(self, settle: Settle, chunk: bytes) -> Callable[[], None] | None:
        # Raw bytes want to see everything that comes.
        line = None if self._raw else self._lines.only_line(chunk)
        return None if line is None else settle(line)

    async def _take(self, deliver: Deliver, line: bytes | FramingError) -> None:
        if isinstance(line, FramingError):
            self._scribe.note(f"Skipped: {line}")
            return
        arrived = await deliver(line, None)
        for pending in self._raw:
            if _may_belong_to(arrived, pending):
                pending.keep(arrived)
        # An error without an id cannot say what it answers. On a pipe where raw bytes wait for an answer
        # it is most likely theirs.
        if isinstance(arrived, ErrorResponse) and arrived.id is None and self._raw:
            self._raw[0].settle(arrived)

    async def request(self, data: bytes, headers: Headers, pending: Pending) -> None:
        await self._exchange(frame(data), pending)

    def send_now(self, data: bytes, pending: Pending) -> bool:
        if self._quick is None or self._failure is not None or not self._quick.send_now(frame(data)):
            return False
        self._waiting.append(pending)
        return True

    def forget(self, pending: Pending) -> None:
        self._waiting.remove(pending)

    async def post(self, data: bytes, headers: Headers) -> None:
        await self._stream.send(frame(data))

    async def raw(self, data: bytes, headers: Headers, pending: Pending) -> None:
        self._raw.append(pending)
        try:
            # Not through `frame`: a learner may want to send two lines, or half a line.
            await self._exchange(data if data.endswith(b"\n") else data + b"\n", pending)
        finally:
            self._raw.remove(pending)

    async def _exchange(self, data: bytes, pending: Pending) -> None:
        if self._failure is not None:
            raise self._failure
        self._waiting.append(pending)
        try:
            await self._stream.send(data)
            await pending.done.wait()
        finally:
            self._waiting.remove(pending)

    async def close(self, headers: Headers) -> None:
        await self._stream.aclose()
        with anyio.move_on_after(CLOSE_TIMEOUT_S):
            await self._ended.wait()
        if not self._ended.is_set():
            self._scribe.note(f"The server did not end within {CLOSE_TIMEOUT_S:g} s of the end of its input.")
            self._reading.cancel()


def _may_belong_to(arrived: Arrived, pending: Pending) -> bool:
    """Whether a line may have been sent because of raw bytes: not if it is another request's answer."""
    if not isinstance(arrived, Batch | Response | ErrorResponse):
        return True
    return any(answer.id is None or answer.id in pending.ids for answer in answers_in([arrived]))
